"""Piecewise functions of one variable: where points lie, and what polynomials are there.

Knows arrays of coefficients and break points, in functions that have rules: derivatives by the
points, the coefficients and the breaks follow, to any order and under vmap. Must not know SciPy's
classes. A point that is a break belongs to the piece at its right, the last break to the last
piece, as SciPy evaluates; so do its derivatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import solve_banded

from tapegrad._core.forms import general
from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad._core.values import in_trace, innermost, lift, untraced
from tapegrad._transforms.primitives import primitive
from tapegrad.rules.interpolation import ADD_AT_POSITIONS, PLACES, TAKE_POSITIONS


def as_float(x: Any) -> Any:
    """A value, or a list of them, as an array of floats or complex numbers."""
    x = lift(x)
    x = x if in_trace(x) else np.asarray(x)
    return x if x.dtype.kind in "fc" else x.astype(float)


def places(breaks: Value, points: Value, low: int, high: int) -> Any:
    """The positions i with breaks[i] <= point < breaks[i + 1], kept from low to high."""
    found = PLACES.apply_bound([untraced(breaks), untraced(points)], {"side": "right"})
    return np.clip(found - 1, low, high)


def rows(values: Value, at: Any) -> Any:
    """`values[at]` along axis 0; the positions may differ between the examples of a vmap."""
    rest = values.shape[1:]
    size = int(np.prod(rest, dtype=int))
    flat = np.reshape(values, (-1,))
    index = np.expand_dims(at, -1) * size + np.arange(size) if rest else at
    if innermost([index, flat]) is None:
        return np.reshape(np.take(flat, index), (*at.shape, *rest))
    return np.reshape(TAKE_POSITIONS.apply_bound([index, flat], {}), (*at.shape, *rest))


def put(at: Any, values: Value, size: int) -> Any:
    """A row of zeros with values added at positions, which are of the same shape."""
    return ADD_AT_POSITIONS.apply_bound([at, values], {"size": size})


def beside(x: Value, rank: int) -> Any:
    """x with axes behind, to go with arrays of that many more axes."""
    return np.reshape(x, (*x.shape, *(1,) * rank))


def horner(coefficients: list[Any], s: Value, nu: int) -> Any:
    """A derivative of a polynomial, whose highest coefficient comes first."""
    degree = len(coefficients) - 1
    total: Any = None
    for power, c in zip(range(degree, nu - 1, -1), coefficients, strict=False):
        factor = float(np.prod(np.arange(power - nu + 1, power + 1, dtype=float)))
        term = c if nu == 0 else c * factor
        total = term if total is None else total * s + term
    return np.zeros_like(coefficients[-1]) + 0.0 * s if total is None else total


def within_period(points: Value, first: Value, last: Value) -> Any:
    return first + (points - first) % (last - first)


def evaluated(
    c: Value, breaks: Value, points: Value, nu: int, extrapolate: Any, *, down: bool = False
) -> Any:
    """Piecewise polynomials at points: points.shape + c.shape[2:].

    c: (degree + 1, pieces, ...), highest power first, of the distance to the left break
    down: whether the breaks descend
    """
    if extrapolate == "periodic":
        points = within_period(points, breaks[0], breaks[-1])
    pieces, rest = c.shape[1], len(c.shape) - 2
    if down:
        at = places(-untraced(breaks), -untraced(points), 0, pieces - 1)
    else:
        at = places(breaks, points, 0, pieces - 1)
    s = beside(points - rows(breaks, at), rest)
    out = horner([rows(c[j], at) for j in range(c.shape[0])], s, nu)
    if not extrapolate:
        low, high = (breaks[-1], breaks[0]) if down else (breaks[0], breaks[-1])
        outside = (untraced(points) < untraced(low)) | (untraced(points) > untraced(high))
        out = np.where(beside(outside, rest), np.nan, out)
    return out


def differentiated(c: Value, nu: int) -> Any:
    """The coefficients of a derivative."""
    degree = c.shape[0] - 1
    if nu > degree:
        return np.zeros((1, *c.shape[1:]), c.dtype)
    powers = np.arange(degree, nu - 1, -1)
    factors = [float(np.prod(np.arange(p - nu + 1, p + 1, dtype=float))) for p in powers]
    return c[: degree + 1 - nu] * beside(np.array(factors), c.ndim - 1)


def integrated(c: Value, breaks: Value) -> Any:
    """The coefficients of the continuous integral that is zero at the first break."""
    powers = np.arange(c.shape[0], 0, -1.0)
    c = c / beside(powers, c.ndim - 1)
    h = beside(breaks[1:] - breaks[:-1], c.ndim - 2)
    total = c[0]
    for j in range(1, c.shape[0]):
        total = total * h + c[j]
    ends = np.cumsum(total * h, axis=0)
    starts = np.concatenate([np.zeros_like(ends[:1]), ends[:-1]])
    return np.concatenate([c, starts[None]])


def between(
    c: Value, breaks: Value, a: Value, b: Value, extrapolate: Any, *, down: bool = False
) -> Any:
    """The integral from a to b of piecewise polynomials."""
    whole = integrated(c, breaks)
    if extrapolate != "periodic":
        ends = [evaluated(whole, breaks, x, 0, extrapolate, down=down) for x in (a, b)]
        return ends[1] - ends[0]
    first, last = breaks[0], breaks[-1]
    total = evaluated(whole, breaks, last, 0, True, down=down)
    sums = []
    for x in (a, b):
        turns = np.floor((untraced(x) - untraced(first)) / (untraced(last) - untraced(first)))
        inside = x - turns * (last - first)
        sums.append(turns * total + evaluated(whole, breaks, inside, 0, True, down=down))
    return sums[1] - sums[0]


# --- Banded equations ----------------------------------------------------------------------------


@primitive
def banded(ab: Value, b: Value, *, below: int, above: int) -> Value:
    """The solution of a banded system: `ab[above + i - j, j] = a[i, j]`; b may have columns.

    Elements of ab that are outside of the matrix are not read.
    """
    if b.size == 0:
        return np.zeros_like(b)
    flat = np.reshape(b, (b.shape[0], -1))
    found = solve_banded((below, above), ab, flat, check_finite=False)
    return np.reshape(found, b.shape)


def _transposed(ab: Value, below: int, above: int) -> Any:
    """The matrix transposed, as bands with the two widths exchanged."""
    size = ab.shape[1]
    out = []
    for d in range(above, -below - 1, -1):  # a[i, i + d] is the transposed matrix's [i + d, i]
        row = ab[above - d]
        # ab holds a[i, i + d] at i + d; the transposed bands hold it at i.
        if d >= size or -d >= size:
            out.append(np.zeros(size, ab.dtype))
        elif d >= 0:
            out.append(np.concatenate([row[d:], np.zeros(d, ab.dtype)]))
        else:
            out.append(np.concatenate([np.zeros(-d, ab.dtype), row[:d]]))
    return np.stack(out[::-1])


def _times(ab: Value, x: Value, below: int, above: int) -> Any:
    """The product of a banded matrix with x."""
    size, total = x.shape[0], np.zeros_like(x)
    for d in range(-below, above + 1):
        if abs(d) >= size:
            continue
        row = beside(ab[above - d], x.ndim - 1)
        edge = np.zeros_like(x[: abs(d)])
        if d >= 0:
            total = total + np.concatenate([(row * x)[d:], edge])
        else:
            total = total + np.concatenate([edge, (row * x)[:d]])
    return total


def _outer(w: Value, x: Value, below: int, above: int) -> Any:
    """The bands of w x^T, summed over columns."""
    size, out = x.shape[0], []
    axes = tuple(range(1, x.ndim))
    for d in range(above, -below - 1, -1):  # elements [j - d, j]
        if abs(d) >= size:
            out.append(np.zeros(size, x.dtype))
            continue
        edge = np.zeros(abs(d), x.dtype)
        if d >= 0:
            part = np.sum(w[: size - d] * x[d:], axis=axes) if axes else w[: size - d] * x[d:]
            out.append(np.concatenate([edge, part]))
        else:
            part = np.sum(w[-d:] * x[:d], axis=axes) if axes else w[-d:] * x[:d]
            out.append(np.concatenate([part, edge]))
    return np.stack(out)


def _banded_vjp(
    g: Cotangent, out: Value, ab: Value, _b: Value, *, below: int, above: int
) -> tuple[Any, Any]:
    w = banded(_transposed(ab, below, above), g, below=above, above=below)
    return -_outer(w, out, below, above), w


def _banded_jvp(
    dots: list[Tangent], out: Value, ab: Value, b: Value, *, below: int, above: int
) -> Any:
    ab_dot, b_dot = dots
    right = np.zeros_like(out) if b_dot is None else b_dot
    if ab_dot is not None:
        right = right - _times(ab_dot, out, below, above)
    return banded(ab, right, below=below, above=above)


general(banded, vjp=_banded_vjp, jvp=_banded_jvp, name="scipy.linalg.solve_banded")


def tridiagonal(lower: Value, diagonal: Value, upper: Value, b: Value) -> Any:
    """The solution with `lower[i] = a[i + 1, i]` and `upper[i] = a[i, i + 1]`."""
    edge = np.zeros(1)
    ab = np.stack([np.concatenate([edge, upper]), diagonal, np.concatenate([lower, edge])])
    return banded(ab, b, below=1, above=1)


__all__ = [
    "as_float",
    "banded",
    "beside",
    "between",
    "differentiated",
    "evaluated",
    "horner",
    "integrated",
    "places",
    "put",
    "rows",
    "tridiagonal",
    "within_period",
]
