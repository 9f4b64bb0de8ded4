"""Orthogonal polynomials, evaluated: by their argument, their parameters and a degree.

By the argument the derivative is a polynomial of the next lower degree in the same or the next
family (DLMF 18.9.15 to 18.9.28), which is polynomial at the ends of the interval too. Of
degrees that are floats see `_real_degrees`; by them, and by a parameter, see `_parameters`.
"""

from __future__ import annotations

import numpy as np

from tapegrad._core.forms import elementwise
from tapegrad._core.types import Function, Value
from tapegrad._core.values import any_true, untraced
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._parameters import REACH, along, by_parameter, warn_of, whole
from tapegrad.scipy.special._real_degrees import (
    chebyshev_t,
    chebyshev_u,
    gegenbauer,
    jacobi,
    laguerre,
)

_REAL: dict[np.ufunc, Function] = {
    sp.eval_jacobi: jacobi,
    sp.eval_sh_jacobi: lambda n, p, q, x: (
        jacobi(n, p - q, q - 1, 2 * x - 1) / sp.binom(2 * n + p - 1, n)
    ),
    sp.eval_legendre: lambda n, x: jacobi(n, 0.0, 0.0, x),
    sp.eval_sh_legendre: lambda n, x: jacobi(n, 0.0, 0.0, 2 * x - 1),
    sp.eval_gegenbauer: gegenbauer,
    sp.eval_genlaguerre: laguerre,
    sp.eval_laguerre: lambda n, x: laguerre(n, 0.0, x),
    sp.eval_chebyt: chebyshev_t,
    sp.eval_chebyu: chebyshev_u,
    sp.eval_chebyc: lambda n, x: 2 * chebyshev_t(n, x / 2),
    sp.eval_chebys: lambda n, x: chebyshev_u(n, x / 2),
    sp.eval_sh_chebyt: lambda n, x: chebyshev_t(n, 2 * x - 1),
    sp.eval_sh_chebyu: lambda n, x: chebyshev_u(n, 2 * x - 1),
}


def _of_degree(function: np.ufunc, n: Value) -> Function:
    """SciPy's function where the degree is an integer, which it computes by the recurrence."""
    whole = isinstance(n, int) or (hasattr(n, "dtype") and n.dtype.kind in "iu")
    return function if whole else _REAL[function]


def _lower(function: np.ufunc, n: Value, *args: Value) -> Value:
    """The polynomial of degree n - 1, which is 0 for n = 0 also where SciPy says NaN."""
    called = _of_degree(function, n)
    if called is not function:
        found = called(n - 1, *args)
        if any_true(np.isnan(untraced(found))):
            warn_of(function.__name__, "by the argument it is not known to 9 digits there")
        return found
    return np.where(n > 0, function(np.maximum(n, 1) - 1, *args), 0.0)


def _mirrored(n: Value, sum: int) -> Value:
    """The degree of the same polynomial, up to a sign, among those of which one half is negative.

    sum: that of the two degrees, -1 of Legendre's (DLMF 14.9.5), 0 and -2 of Chebyshev's
    """
    return np.where(untraced(n) < sum / 2, sum - n, n)


def _sign(n: Value) -> Value:
    """Of Chebyshev's polynomials of the second kind, whose mirror image is negative."""
    return np.where(untraced(n) < -1, -1.0, 1.0)


def _legendre(n: Value, x: Value) -> Value:
    return _jacobi(_mirrored(n, -1), 0.0, 0.0, x)


def _first(function: np.ufunc, n: Value, x: Value) -> Value:
    """n times the lower polynomial of the second kind, with that function."""
    n = _mirrored(n, 0)
    return n * _lower(function, n, x)


def _second(n: Value, x: Value) -> Value:
    return 2 * _sign(n) * _lower(sp.eval_gegenbauer, _mirrored(n, -2), 2.0, x)


def _along(function: np.ufunc, at: int, reach: float = REACH) -> Function:
    """The partial by the degree or by a parameter."""

    def partial(_out: Value, *args: Value) -> Value:
        called = _of_degree(function, args[0])
        return by_parameter(called, args, at, reach, function.__name__)

    return partial


elementwise(
    jacobi,
    along(jacobi, 0),
    along(jacobi, 1),
    along(jacobi, 2),
    lambda _out, n, a, b, x: (n + a + b + 1) / 2 * jacobi(n - 1, a + 1, b + 1, x),
    strong=True,
    signature="n, a, b, x",
)
elementwise(
    gegenbauer,
    along(gegenbauer, 0),
    along(gegenbauer, 1),
    lambda _out, n, a, x: 2 * a * gegenbauer(n - 1, a + 1, x),
    strong=True,
    signature="n, a, x",
)
elementwise(
    laguerre,
    along(laguerre, 0),
    along(laguerre, 1),
    lambda _out, n, a, x: -laguerre(n - 1, a + 1, x),
    strong=True,
    signature="n, a, x",
)
elementwise(
    chebyshev_t,
    along(chebyshev_t, 0),
    lambda _out, n, x: n * chebyshev_u(n - 1, x),
    strong=True,
    signature="n, x",
)
elementwise(
    chebyshev_u,
    along(chebyshev_u, 0),
    lambda _out, n, x: 2 * gegenbauer(n - 1, 2.0, x),
    strong=True,
    signature="n, x",
)

# --- SciPy's functions


def _jacobi(n: Value, a: Value, b: Value, x: Value) -> Value:
    return (n + a + b + 1) / 2 * _lower(sp.eval_jacobi, n, a + 1, b + 1, x)


def _sh_jacobi(_out: Value, n: Value, p: Value, q: Value, x: Value) -> Value:
    """By the Jacobi polynomials that SciPy scales by the leading coefficient."""
    jacobi = _lower(sp.eval_jacobi, n, p - q + 1, q, 2 * x - 1)
    return (n + p) * jacobi / sp.binom(2 * n + p - 1, n)


elementwise(
    sp.eval_jacobi,
    _along(sp.eval_jacobi, 0),
    _along(sp.eval_jacobi, 1),
    _along(sp.eval_jacobi, 2),
    lambda _out, n, a, b, x: _jacobi(n, a, b, x),
    strong=True,
)
elementwise(
    sp.eval_sh_jacobi,
    _along(sp.eval_sh_jacobi, 0, 0.25),
    _along(sp.eval_sh_jacobi, 1, 0.25),
    _along(sp.eval_sh_jacobi, 2),
    _sh_jacobi,
    strong=True,
)
elementwise(
    sp.eval_legendre, _along(sp.eval_legendre, 0), lambda _out, n, x: _legendre(n, x), strong=True
)
elementwise(
    sp.eval_sh_legendre,
    _along(sp.eval_sh_legendre, 0),
    lambda _out, n, x: 2 * _legendre(n, 2 * x - 1),
    strong=True,
)
elementwise(
    sp.eval_gegenbauer,
    _along(sp.eval_gegenbauer, 0),
    _along(sp.eval_gegenbauer, 1),
    lambda _out, n, a, x: 2 * a * _lower(sp.eval_gegenbauer, n, a + 1, x),
    strong=True,
)
elementwise(
    sp.eval_genlaguerre,
    _along(sp.eval_genlaguerre, 0),
    _along(sp.eval_genlaguerre, 1),
    lambda _out, n, a, x: -_lower(sp.eval_genlaguerre, n, a + 1, x),
    strong=True,
)
elementwise(
    sp.eval_laguerre,
    _along(sp.eval_laguerre, 0),
    lambda _out, n, x: -_lower(sp.eval_genlaguerre, n, 1.0, x),
    strong=True,
)

# --- Chebyshev polynomials

elementwise(
    sp.eval_chebyt,
    _along(sp.eval_chebyt, 0),
    lambda _out, n, x: _first(sp.eval_chebyu, n, x),
    strong=True,
)
elementwise(
    sp.eval_chebyu, _along(sp.eval_chebyu, 0), lambda _out, n, x: _second(n, x), strong=True
)
elementwise(
    sp.eval_chebyc,
    _along(sp.eval_chebyc, 0),
    lambda _out, n, x: _first(sp.eval_chebys, n, x),
    strong=True,
)
elementwise(
    sp.eval_chebys,
    _along(sp.eval_chebys, 0),
    lambda _out, n, x: _second(n, x / 2) / 2,
    strong=True,
)
elementwise(
    sp.eval_sh_chebyt,
    _along(sp.eval_sh_chebyt, 0),
    lambda _out, n, x: 2 * _first(sp.eval_sh_chebyu, n, x),
    strong=True,
)
elementwise(
    sp.eval_sh_chebyu,
    _along(sp.eval_sh_chebyu, 0),
    lambda _out, n, x: 2 * _second(n, 2 * x - 1),
    strong=True,
)

# --- Hermite polynomials, which SciPy has for whole degrees alone

elementwise(
    sp.eval_hermite,
    whole(sp.eval_hermite, 0),
    lambda _out, n, x: 2 * n * _lower(sp.eval_hermite, n, x),
    strong=True,
)
elementwise(
    sp.eval_hermitenorm,
    whole(sp.eval_hermitenorm, 0),
    lambda _out, n, x: n * _lower(sp.eval_hermitenorm, n, x),
    strong=True,
)
