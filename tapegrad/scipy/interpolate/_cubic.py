"""Cubic interpolants by slopes at the knots: CubicSpline, Pchip, Akima, Hermite."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.interpolate

from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad.scipy._mirrored import of_plain
from tapegrad.scipy.interpolate._pieces import as_float, beside, tridiagonal
from tapegrad.scipy.interpolate._polynomials import PPoly


class CubicHermiteSpline(PPoly, scipy.interpolate.CubicHermiteSpline):
    """Cubic interpolant of values and slopes, as SciPy's CubicHermiteSpline, with derivatives.

    They are those by points asked, x, y and dydx.

    Parameters
    ----------
    x : array_like, shape (n,)
        The knots, ascending.
    y : array_like
        The values; their axis `axis` has length n.
    dydx : array_like
        The slopes, of the shape of y.
    axis : int, default 0
        The axis of the values along which x varies.
    extrapolate : bool or "periodic", optional
        Whether points outside belong to the first and the last piece (True, the default), give NaN
        (False), or are taken within the period.

    See Also
    --------
    PPoly : Its methods.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> f = CubicHermiteSpline([0.0, 1.0], [0.0, 1.0], [0.0, 3.0])
    >>> tapegrad.grad(f)(0.5)
    np.float64(0.75)
    """

    _theirs = scipy.interpolate.CubicHermiteSpline

    def __init__(self, x: Any, y: Any, dydx: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, y, dydx = as_float(x), as_float(y), as_float(dydx)
        self._check(x, y, dydx, axis=axis)
        axis = axis % y.ndim
        slopes = np.moveaxis(dydx, axis, 0)
        self._by_slopes(x, np.moveaxis(y, axis, 0), slopes, axis, extrapolate)

    def _by_slopes(self, x: Value, y: Value, s: Value, axis: int, extrapolate: Any) -> None:
        h = beside(x[1:] - x[:-1], y.ndim - 1)
        slope = (y[1:] - y[:-1]) / h
        t = (s[:-1] + s[1:] - 2 * slope) / h
        c = np.stack([t / h, (slope - s[:-1]) / h - t, s[:-1], y[:-1]])
        extrapolate = True if extrapolate is None else extrapolate
        self._keep(c=c, x=x, extrapolate=extrapolate, axis=axis)


class PchipInterpolator(CubicHermiteSpline, scipy.interpolate.PchipInterpolator):
    """Cubic interpolant that keeps the shape, as SciPy's PchipInterpolator, with derivatives.

    They are those by points asked, x and y.

    Parameters
    ----------
    x : array_like, shape (n,)
        The knots, ascending.
    y : array_like
        The values; their axis `axis` has length n.
    axis : int, default 0
        The axis of the values along which x varies.
    extrapolate : bool or "periodic", optional
        Whether points outside belong to the first and the last piece (True, the default), give NaN
        (False), or are taken within the period.

    See Also
    --------
    PPoly : Its methods.

    Notes
    -----
    The slope at a knot is a harmonic mean (Fritsch and Butland, SIAM J. Sci. Stat. Comput. 5,
    1984), zero where the data turn: there it stays zero.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> by_values = tapegrad.grad(lambda y: PchipInterpolator(x, y)(1.0))(x**2)
    >>> by_values.tolist()
    [0.0, 1.0, 0.0, 0.0]
    """

    _theirs = scipy.interpolate.PchipInterpolator

    def __init__(self, x: Any, y: Any, axis: int = 0, extrapolate: Any = None) -> None:
        x, y = as_float(x), as_float(y)
        self._check(x, y, axis=axis)
        axis = axis % y.ndim
        y = np.moveaxis(y, axis, 0)
        self._by_slopes(x, y, pchip_slopes(x, y), axis, extrapolate)


def pchip_slopes(x: Value, y: Value) -> Any:
    """The slopes of y (along axis 0) at x."""
    h = beside(x[1:] - x[:-1], y.ndim - 1)
    m = (y[1:] - y[:-1]) / h
    if y.shape[0] == 2:
        return np.concatenate([m, m])
    before, after = m[:-1], m[1:]
    sign = np.sign(untraced(m))
    turns = (sign[1:] != sign[:-1]) | (sign[1:] == 0) | (sign[:-1] == 0)
    one, two = 2 * h[1:] + h[:-1], h[1:] + 2 * h[:-1]
    before, after = (np.where(turns, 1.0, part) for part in (before, after))
    mean = (one + two) / (one / before + two / after)
    inner = np.where(turns, 0.0, mean)
    first = _pchip_end(h[0], h[1], m[0], m[1])
    last = _pchip_end(h[-1], h[-2], m[-1], m[-2])
    return np.concatenate([first[None], inner, last[None]])


def _pchip_end(h0: Value, h1: Value, m0: Value, m1: Value) -> Any:
    """The slope at an end, by three points, which keeps the shape."""
    d = ((2 * h0 + h1) * m0 - h0 * m1) / (h0 + h1)
    signs = [np.sign(untraced(part)) for part in (d, m0, m1)]
    too_steep = (signs[1] != signs[2]) & (np.abs(untraced(d)) > 3 * np.abs(untraced(m0)))
    return np.where(signs[0] != signs[1], 0.0, np.where(too_steep, 3 * m0, d))


class Akima1DInterpolator(CubicHermiteSpline, scipy.interpolate.Akima1DInterpolator):
    """Cubic interpolant by local slopes, as SciPy's Akima1DInterpolator, with derivatives.

    They are those by points asked, x and y. The weights are of absolute values of differences:
    where one is zero, its derivative is too.

    Parameters
    ----------
    x : array_like, shape (n,)
        The knots, ascending.
    y : array_like
        The values; their axis `axis` has length n.
    axis : int, default 0
        The axis of the values along which x varies.
    method : {"akima", "makima"}, default "akima"
        Akima's slopes, or the modified ones.
    extrapolate : bool or "periodic", optional
        As of `PPoly`, but False by default.

    Raises
    ------
    NotImplementedError
        Of another method.

    See Also
    --------
    PPoly : Its methods.

    Notes
    -----
    Akima, Journal of the ACM 17 (1970).

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> x = np.linspace(0, 2, 9)
    >>> bool(abs(tapegrad.grad(Akima1DInterpolator(x, np.sin(x)))(0.8) - np.cos(0.8)) < 0.01)
    True
    """

    _theirs = scipy.interpolate.Akima1DInterpolator

    def __init__(
        self, x: Any, y: Any, axis: int = 0, *, method: str = "akima", extrapolate: Any = None
    ) -> None:
        x, y = as_float(x), as_float(y)
        if method not in {"akima", "makima"}:
            raise NotImplementedError(f"`method`={method} is unsupported.")
        self._check(x, y, axis=axis, method=method)
        axis = axis % y.ndim
        y = np.moveaxis(y, axis, 0)
        extrapolate = False if extrapolate is None else extrapolate
        self._by_slopes(x, y, akima_slopes(x, y, method), axis, extrapolate)

    def extend(self, c: Any, x: Any, right: bool = True) -> None:
        """Raise NotImplementedError, as SciPy does.

        Parameters
        ----------
        c, x : array_like
            Not used.
        right : bool, default True
            Not used.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError("Extending a 1-D Akima interpolator is not yet implemented")


def akima_slopes(x: Value, y: Value, method: str) -> Any:
    """The slopes of y (along axis 0) at x, by Akima (J. ACM 17, 1970), or as modified."""
    h = beside(x[1:] - x[:-1], y.ndim - 1)
    m = (y[1:] - y[:-1]) / h
    if y.shape[0] == 2:
        return np.concatenate([m, m])
    low = 2 * m[0] - m[1]
    high = 2 * m[-1] - m[-2]
    m = np.concatenate(
        [(2 * low - m[0])[None], low[None], m, high[None], (2 * high - m[-1])[None]]
    )
    change = np.abs(m[1:] - m[:-1])
    if method == "makima":
        change = change + 0.5 * np.abs(m[1:] + m[:-1])
    after, before = change[2:], change[:-2]
    both = after + before
    counts = untraced(both) > 1e-9 * np.max(untraced(both))
    share = before / np.where(counts, both, 1.0)
    bent = m[1:-2] + share * (m[2:-1] - m[1:-2])
    return np.where(counts, bent, 0.5 * (m[3:] + m[:-3]))


class CubicSpline(CubicHermiteSpline, scipy.interpolate.CubicSpline):
    """Twice continuous cubic interpolant, as SciPy's CubicSpline, with derivatives.

    They are those by points asked, x, y and the values in bc_type.

    Parameters
    ----------
    x : array_like, shape (n,)
        The knots, ascending.
    y : array_like
        The values; their axis `axis` has length n.
    axis : int, default 0
        The axis of the values along which x varies.
    bc_type : str or pair, default "not-a-knot"
        The conditions at both ends: "not-a-knot", "periodic", "clamped", "natural", or pairs of an
        order and the value of that derivative.
    extrapolate : bool or "periodic", optional
        As of `PPoly`; "periodic" by default where bc_type is.

    See Also
    --------
    PPoly : Its methods.

    Notes
    -----
    The tridiagonal system for the slopes is solved in time proportional to the number of knots,
    in the derivatives as well.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> x = np.linspace(0, 2, 5)
    >>> by_values = tapegrad.grad(lambda y: CubicSpline(x, y)(1.3))(np.sin(x))
    >>> bool(np.isclose(np.sum(by_values), 1))
    True
    """

    _theirs = scipy.interpolate.CubicSpline

    def __init__(
        self, x: Any, y: Any, axis: int = 0, bc_type: Any = "not-a-knot", extrapolate: Any = None
    ) -> None:
        self._check(x, y, axis, bc_type, extrapolate)
        x, y = as_float(x), as_float(y)
        axis = axis % y.ndim
        y = np.moveaxis(y, axis, 0)
        pair = _conditions(bc_type, y.shape[1:])
        if extrapolate is None:
            extrapolate = "periodic" if pair[0] == "periodic" else True
        self._by_slopes(x, y, spline_slopes(x, y, pair), axis, extrapolate)


def _conditions(bc_type: Any, shape: tuple[int, ...]) -> list[Any]:
    """At each end the order and the value of a derivative, or a name."""
    named = {"clamped": (1, np.zeros(shape)), "natural": (2, np.zeros(shape))}
    pair = (bc_type, bc_type) if isinstance(bc_type, str) else bc_type
    return [named.get(bc, bc) if isinstance(bc, str) else (bc[0], as_float(bc[1])) for bc in pair]


def spline_slopes(x: Value, y: Value, ends: list[Any]) -> Any:
    """The slopes at the knots of a cubic spline: continuity of second derivatives (de Boor)."""
    n = x.shape[0]
    d = x[1:] - x[:-1]
    h = beside(d, y.ndim - 1)
    m = (y[1:] - y[:-1]) / h
    if n == 2:
        ends = [(1, m[0]) if isinstance(end, str) else end for end in ends]
    if n == 3 and ends[0] == "periodic":
        mean = np.sum(m / h, axis=0) / np.sum(1 / h, axis=0)
        return np.stack([mean] * 3)
    if n == 3 and ends[0] == ends[1] == "not-a-knot":
        # One parabola through three points.
        bend = (m[1] - m[0]) / (h[0] + h[1])
        return np.stack([m[0] - bend * h[0], m[0] + bend * h[0], m[1] + bend * h[1]])
    right = 3 * (h[1:] * m[:-1] + h[:-1] * m[1:])
    middle = 2 * (d[:-1] + d[1:])
    if ends[0] == "periodic":
        return _periodic_slopes(d, h, m, middle, right)
    first, above, start = _end_row(d[:2], h[:2], m[:2], ends[0], 1.0)
    last, below, end = _end_row(d[::-1][:2], h[::-1][:2], m[::-1][:2], ends[1], -1.0)
    diagonal = np.concatenate([first[None], middle, last[None]])
    lower = np.concatenate([d[1:], below[None]])
    upper = np.concatenate([above[None], d[:-1]])
    return tridiagonal(lower, diagonal, upper, np.concatenate([start[None], right, end[None]]))


def _end_row(d: Value, h: Value, m: Value, end: Any, sign: float) -> tuple[Any, Any, Any]:
    """The equation at an end: its two elements and its right-hand side, seen from that end."""
    if isinstance(end, str):  # not-a-knot: the third derivatives of the first two pieces agree
        both = d[0] + d[1]
        wide = h[0] + h[1]
        right = ((h[0] + 2 * wide) * h[1] * m[0] + h[0] ** 2 * m[1]) / wide
        return d[1], both, right
    order, value = end
    if order == 1:
        return 1.0 + 0.0 * d[0], 0.0 * d[0], value + 0.0 * m[0]
    return 2 * d[0], d[0], 3 * m[0] * h[0] - sign * 0.5 * value * h[0] ** 2


def _periodic_slopes(d: Value, h: Value, m: Value, middle: Value, right: Value) -> Any:
    """The cyclic system: the slope at the last knot but one is eliminated.

    The unknowns are the slopes at knots 0 ... n - 2.
    """
    wrap = 3 * (h[0] * m[-1] + h[-1] * m[0])
    diagonal = np.concatenate([(2 * (d[-1] + d[0]))[None], middle])
    sides = np.concatenate([wrap[None], right])
    upper, lower = np.concatenate([d[-1:], d[:-2]]), d[1:]  # a[i, i + 1], a[i + 1, i]
    count = diagonal.shape[0]
    zeros = np.zeros(count - 3) if count > 2 else np.zeros(0)
    column = np.concatenate([-d[:1], zeros, -d[-3:-2]]) if count > 2 else -d[:1] - d[-3:-2]
    parts = (lower[: count - 2], diagonal[:-1], upper[: count - 2])
    one = tridiagonal(*parts, sides[:-1])
    two = beside(tridiagonal(*parts, column), m.ndim - 1)
    # The last equation: d[-1] s[n-3] + 2 (d[-1] + d[-2]) s[n-2] + d[-2] s[0] = sides[-1]
    upper_part = sides[-1] - d[-2] * one[0] - d[-1] * one[-1]
    lower_part = diagonal[-1] + d[-2] * two[0] + d[-1] * two[-1]
    s = upper_part / lower_part
    body = one + s * two
    return np.concatenate([body, s[None], body[:1]])


@of_plain(scipy.interpolate.pchip_interpolate)
def pchip_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Evaluate a PchipInterpolator, as SciPy's pchip_interpolate, with derivatives.

    They are those by xi, yi and x.

    Parameters
    ----------
    xi : array_like, shape (n,)
        The knots, ascending.
    yi : array_like
        The values; their axis `axis` has length n.
    x : array_like
        The points asked.
    der : int or list of int, default 0
        The order of the derivative, or several.
    axis : int, default 0
        The axis of yi along which xi varies.

    Returns
    -------
    array or list of array
        The values, a list if there are several orders.

    See Also
    --------
    PchipInterpolator : The interpolant as an object.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> xi = np.array([0.0, 1.0, 2.0])
    >>> tapegrad.grad(lambda yi: pchip_interpolate(xi, yi, 1.0))(xi**2).tolist()
    [0.0, 1.0, 0.0]
    """
    p = PchipInterpolator(xi, yi, axis=axis)
    if np.ndim(der) == 0:
        return p(x, der)
    return [p(x, nu) for nu in der]


__all__ = [
    "Akima1DInterpolator",
    "CubicHermiteSpline",
    "CubicSpline",
    "PchipInterpolator",
    "akima_slopes",
    "pchip_interpolate",
    "pchip_slopes",
    "spline_slopes",
]
