"""Legendre functions and spherical harmonics.

SciPy computes those of `legendre_p` and its kin with up to two derivatives. Here each of the three
is a function of its own, whose derivative is the next; that of the last is what the differential
equation of the functions says (DLMF 14.2.2).
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.special

from tapegrad._core.forms import elementwise
from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad._transforms.primitives import primitive
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._expressed import expressed
from tapegrad.scipy.special._parameters import along, whole

# --- Legendre functions of real degree


def _lpmv_at_end(m: Value, v: Value, x: Value) -> Value:
    """The derivative at x = 1; at x = -1 for whole degrees, else NaN."""
    m, v, x = untraced(m), untraced(v), untraced(x)
    flat = np.select(
        [m == 1, m == -1, m == 2, m == -2],
        [np.inf, -np.inf, -(v - 1) * v * (v + 1) * (v + 2) / 4, -0.25],
        0.0,
    )
    parity = np.where(v == np.round(v), 1 - 2 * ((v + m + 1) % 2), np.nan)
    return flat * np.where(x > 0, 1.0, parity)


def _lpmv_by_x(_out: Value, m: Value, v: Value, x: Value) -> Value:
    """By the neighbouring orders; of order 0 by a Jacobi function, regular at 1."""
    end = (untraced(x) == 1) | (untraced(x) == -1)
    inside = np.where(end, 0.0, x)
    neighbours = (v + m) * (v - m + 1) * sp.lpmv(m - 1, v, inside) - sp.lpmv(m + 1, v, inside)
    slope = neighbours / (2 * np.sqrt((1 - inside) * (1 + inside)))
    slope = np.where(end, _lpmv_at_end(m, v, x), slope)
    return np.where(untraced(m) == 0, (v + 1) / 2 * sp.eval_jacobi(v - 1, 1.0, 1.0, x), slope)


elementwise(sp.lpmv, whole(sp.lpmv, 0), along(sp.lpmv, 1), _lpmv_by_x, strong=True)

# --- the values and derivatives that SciPy computes together, one by one


def _slopes(call: Callable[..., Any], name: str) -> list[Any]:
    """The value, the first and the second derivative, each as a primitive.

    call: SciPy's function with these, one after another, along the first axis
    """

    def part(order: int) -> Any:
        def compute(*args: Any) -> Any:
            return call(*args, diff_n=order)[order]

        compute.__name__ = compute.__qualname__ = name
        compute.__module__ = "tapegrad.scipy.special"
        return primitive(compute)

    return [part(order) for order in range(3)]


def _whole(name: str, count: int) -> list[Any]:
    """The partials by the degree and the order of a function, which are whole numbers."""
    return [whole(SimpleNamespace(__name__=name), at) for at in range(count)]


_LEGENDRE = _slopes(scipy.special.legendre_p, "legendre_p")


def _third_legendre(_out: Value, n: Value, z: Value) -> Value:
    """By DLMF 18.9.15, three times."""
    return (n + 1) * (n + 2) * (n + 3) / 8 * sp.eval_jacobi(n - 3, 3.0, 3.0, z)


elementwise(
    _LEGENDRE[0], *_whole("legendre_p", 1), lambda _out, n, z: _LEGENDRE[1](n, z), signature="n, z"
)
elementwise(
    _LEGENDRE[1], *_whole("legendre_p", 1), lambda _out, n, z: _LEGENDRE[2](n, z), signature="n, z"
)
elementwise(_LEGENDRE[2], *_whole("legendre_p", 1), _third_legendre, signature="n, z")


def _associated(norm: bool) -> list[Any]:
    """Of (n, m, z, branch_cut)."""

    def call(n: Value, m: Value, z: Value, cut: Value, diff_n: int) -> Any:
        return scipy.special.assoc_legendre_p(n, m, z, branch_cut=cut, norm=norm, diff_n=diff_n)

    parts = _slopes(call, "assoc_legendre_p")

    def third(out: Value, n: Value, m: Value, z: Value, cut: Value) -> Value:
        value, first = parts[0](n, m, z, cut), parts[1](n, m, z, cut)
        width = 1 - z * z
        factor = n * (n + 1.0) - m * m / width
        rest = 2 * m * m * z / (width * width) * value
        return (4 * z * out - (factor - 2) * first + rest) / width

    _chain(parts, "assoc_legendre_p", third, "n, m, z, branch_cut", 0)
    return parts


def _chain(parts: list[Any], name: str, third: Any, signature: str, *rest: int) -> None:
    """Declare the derivative of each part by its third argument."""
    none = _whole(name, 2)
    for order in (0, 1):
        elementwise(
            parts[order],
            *none,
            _following(parts[order + 1]),
            *rest,
            strong=True,
            signature=signature,
        )
    elementwise(parts[2], *none, third, *rest, strong=True, signature=signature)


def _following(part: Any) -> Any:
    return lambda _out, *args: part(*args)


_ASSOCIATED = {norm: _associated(norm) for norm in (False, True)}
_SPHERICAL = _slopes(scipy.special.sph_legendre_p, "sph_legendre_p")


def _third_spherical(out: Value, n: Value, m: Value, theta: Value) -> Value:
    value, first = _SPHERICAL[0](n, m, theta), _SPHERICAL[1](n, m, theta)
    sine, cosine = np.sin(theta), np.cos(theta)
    square = sine * sine
    factor = n * (n + 1.0) - (m * m + 1) / square
    return -cosine / sine * out - factor * first - 2 * m * m * cosine / (square * sine) * value


_chain(_SPHERICAL, "sph_legendre_p", _third_spherical, "n, m, theta")

# --- SciPy's functions


def _check_order(diff_n: Any) -> int:
    order = operator.index(diff_n)
    if not 0 <= order <= 2:
        raise ValueError(f"expected diff_n 0, 1 or 2, got {order}.")
    return order


def _stacked(parts: list[Any], args: tuple[Value, ...], diff_n: Any) -> Value:
    return np.stack([part(*args) for part in parts[: _check_order(diff_n) + 1]])


def _degrees(n: Any, rank: int) -> Any:
    """0 to n along the first axis, before as many axes as the arguments have."""
    return np.arange(operator.index(n) + 1).reshape(-1, *[1] * rank)


def _degrees_and_orders(n: Any, m: Any, *args: Value) -> tuple[Any, Any]:
    """0 to n along the first axis; 0 to m, and -m to -1, along the second."""
    rank = max(np.ndim(untraced(arg)) for arg in args)
    m = abs(operator.index(m))
    orders = np.concatenate([np.arange(m + 1), np.arange(-m, 0)])
    return _degrees(n, rank + 1), orders.reshape(-1, *[1] * rank)


def _legendre_p(n: Value, z: Value, *, diff_n: int = 0) -> Value:
    return _stacked(_LEGENDRE, (n, z), diff_n)


def _legendre_p_all(n: int, z: Value, *, diff_n: int = 0) -> Value:
    return _stacked(_LEGENDRE, (_degrees(n, np.ndim(z)), z), diff_n)


def _assoc_legendre_p(
    n: Value, m: Value, z: Value, *, branch_cut: Any = 2, norm: bool = False, diff_n: int = 0
) -> Value:
    return _stacked(_ASSOCIATED[bool(norm)], (n, m, z, branch_cut), diff_n)


def _assoc_legendre_p_all(
    n: int, m: int, z: Value, *, branch_cut: Any = 2, norm: bool = False, diff_n: int = 0
) -> Value:
    args = (*_degrees_and_orders(n, m, z, branch_cut), z, branch_cut)
    return _stacked(_ASSOCIATED[bool(norm)], args, diff_n)


def _sph_legendre_p(n: Value, m: Value, theta: Value, *, diff_n: int = 0) -> Value:
    return _stacked(_SPHERICAL, (n, m, theta), diff_n)


def _sph_legendre_p_all(n: int, m: int, theta: Value, *, diff_n: int = 0) -> Value:
    return _stacked(_SPHERICAL, (*_degrees_and_orders(n, m, theta), theta), diff_n)


def _sph_harm_y(n: Value, m: Value, theta: Value, phi: Value, *, diff_n: int = 0) -> Any:
    """The part of theta times exp(i m phi); then its gradient, then its Hessian."""
    order = _check_order(diff_n)
    wave = np.exp(1j * m * phi)
    by_theta = [part(n, m, theta) * wave for part in _SPHERICAL[: order + 1]]
    value = by_theta[0]
    if order == 0:
        return value
    turn = 1j * m
    gradient = np.stack([by_theta[1], turn * value], axis=-1)
    if order == 1:
        return value, gradient
    mixed = turn * by_theta[1]
    rows = [[by_theta[2], mixed], [mixed, turn * turn * value]]
    return value, gradient, np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def _sph_harm_y_all(n: int, m: int, theta: Value, phi: Value, *, diff_n: int = 0) -> Any:
    return _sph_harm_y(*_degrees_and_orders(n, m, theta, phi), theta, phi, diff_n=diff_n)


legendre_p = expressed("legendre_p", _legendre_p)
legendre_p_all = expressed("legendre_p_all", _legendre_p_all)
assoc_legendre_p = expressed("assoc_legendre_p", _assoc_legendre_p)
assoc_legendre_p_all = expressed("assoc_legendre_p_all", _assoc_legendre_p_all)
sph_legendre_p = expressed("sph_legendre_p", _sph_legendre_p)
sph_legendre_p_all = expressed("sph_legendre_p_all", _sph_legendre_p_all)
sph_harm_y = expressed("sph_harm_y", _sph_harm_y)
sph_harm_y_all = expressed("sph_harm_y_all", _sph_harm_y_all)

__all__ = [
    "assoc_legendre_p",
    "assoc_legendre_p_all",
    "legendre_p",
    "legendre_p_all",
    "sph_harm_y",
    "sph_harm_y_all",
    "sph_legendre_p",
    "sph_legendre_p_all",
]
