"""Binomials, factorials and kin, which SciPy writes in Python: by the gamma function."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.special

from tapegrad._core.forms import elementwise
from tapegrad._core.types import Value
from tapegrad._core.values import Traced, any_true, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy import _special as sp
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy.special._expressed import expressed
from tapegrad.scipy.special._parameters import whole

# With repetition, newer SciPys leave values alone that older ones put to 0.
_REPEATS_ANY = scipy.special.comb(0.5, 0.25, repetition=True) != 0


def _refuse_exact(name: str, exact: bool) -> None:
    if exact:
        raise NotDifferentiableError(
            f"scipy.special.{name}: not differentiable with exact=True, which counts in whole "
            "numbers. Pass exact=False."
        )


def _comb(N: Value, k: Value, *, exact: bool = False, repetition: bool = False) -> Value:
    _refuse_exact("comb", exact)
    n, count = untraced(N), untraced(k)
    if repetition:
        if not _REPEATS_ANY:
            return _comb(N + k - 1, k)
        return np.where((count == 0) & (n >= 0), 1.0, sp.binom(N + k - 1, k))
    inside = (count <= n) & (n >= 0) & (count >= 0)
    return np.where(inside, sp.binom(N, k), 0.0)


def _perm(N: Value, k: Value, exact: bool = False) -> Value:
    _refuse_exact("perm", exact)
    n, count = untraced(N), untraced(k)
    inside = (count <= n) & (n >= 0) & (count >= 0)
    return np.where(inside, sp.poch(N - k + 1, k), 0.0)


def _factorial(n: Value, exact: bool = False, extend: str = "zero") -> Value:
    _refuse_exact("factorial", exact)
    result = sp.gamma(n + 1)
    if extend == "complex":
        return result
    if extend != "zero" or n.dtype.kind == "c":
        raise ValueError(
            "scipy.special.factorial: expected extend='complex' for complex n, else 'zero' or "
            f"'complex', got {extend!r}."
        )
    return np.where(untraced(n) < 0, 0.0, result)


def _factorialk(n: Value, k: Value, exact: bool = False, extend: str = "zero") -> Value:
    """SciPy's analytic extension, of which the values at whole n are not the multifactorials."""
    _refuse_exact("factorialk", exact)
    if extend != "complex":
        raise ValueError(
            "scipy.special.factorialk: expected extend='complex' for n that are no integers, got "
            f"{extend!r}."
        )
    growth = np.power(k, (n - 1) / k)
    return growth * sp.gamma(n / k + 1) * sp.rgamma(1 / k + 1)


def _factorial2(n: Value, exact: bool = False, extend: str = "zero") -> Value:
    return _factorialk(n, 2, exact, extend)


def _multigammaln(a: Value, d: Any) -> Value:
    """DLMF 35.3.4."""
    if any_true(untraced(a) <= 0.5 * (d - 1)):
        raise ValueError(f"expected a > 0.5 * (d - 1) = {0.5 * (d - 1):g}.")
    total = d * (d - 1) / 4 * np.log(np.pi) + sp.gammaln(a)
    for j in range(1, int(d)):
        total = total + sp.gammaln(a - j / 2)
    return total


def _diric(x: Value, n: Value) -> Value:
    """sin(n x / 2) / (n sin(x / 2)) is a Chebyshev polynomial of cos(x / 2), smooth everywhere."""
    if isinstance(n, Traced):
        raise NotDifferentiableError(
            "scipy.special.diric: not differentiable by n, which stands for a whole number. Pass "
            "an integer, or tapegrad.stop_gradient(...) of it."
        )
    degree = np.where((n > 0) & (n == np.floor(n)), n, 1)
    values = sp.eval_chebyu(degree.astype(int) - 1, np.cos(x / 2)) / degree
    return np.where((n > 0) & (n == np.floor(n)), values, np.nan)


comb = expressed("comb", _comb)
perm = expressed("perm", _perm)
factorial = expressed("factorial", _factorial)
factorial2 = expressed("factorial2", _factorial2)
factorialk = expressed("factorialk", _factorialk)
multigammaln = expressed("multigammaln", _multigammaln)
polygamma = mirror(scipy.special.polygamma, "tapegrad.scipy.special")
diric = expressed("diric", _diric)
# DLMF 5.15: each polygamma function is the derivative of the one before.
elementwise(polygamma, whole(polygamma, 0), lambda _out, n, x: polygamma(n + 1, x), strong=True)

__all__ = [
    "comb",
    "diric",
    "factorial",
    "factorial2",
    "factorialk",
    "multigammaln",
    "perm",
    "polygamma",
]
