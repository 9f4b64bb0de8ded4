"""Splines and piecewise polynomials of several variables, each variable with knots of its own.

RectBivariateSpline, bisplev, NdBSpline and NdPPoly: differentiable by the points asked, the values
(or coefficients) and the knots.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.interpolate
from numpy.typing import NDArray

from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy._mirrored import Mirrored, of_plain, raw
from tapegrad.scipy.interpolate._basis import (
    design_matrix,
    interpolating,
    not_a_knot,
    spline_at,
    tensor_basis_at,
)
from tapegrad.scipy.interpolate._bsplines import splantider
from tapegrad.scipy.interpolate._pieces import (
    as_float,
    beside,
    differentiated,
    evaluated,
    horner,
    integrated,
    places,
    rows,
)
from tapegrad.scipy.interpolate._polynomials import PPoly


def coordinates(xi: Any, ndim: int) -> Any:
    """Points (..., ndim) of an array or a tuple of arrays."""
    if isinstance(xi, tuple):
        parts = np.broadcast_arrays(*map(as_float, xi))
        return np.stack(list(parts), axis=-1)
    xi = as_float(xi)
    if xi.ndim == 1:
        return xi[:, None] if ndim == 1 else np.reshape(xi, (-1, ndim))
    return xi


def tensor_at(
    knots: Sequence[Any], degrees: Sequence[int], c: Value, points: Value, nu: Sequence[int]
) -> Any:
    """Tensor product splines at points (count, ndim): (count, ...)."""
    ndim = len(knots)
    sizes, rest = c.shape[:ndim], c.shape[ndim:]
    flat = np.reshape(c, (int(np.prod(sizes)), *rest))
    weight, index = tensor_basis_at(knots, degrees, sizes, points, nu)
    return np.sum(beside(weight, len(rest)) * rows(flat, index), axis=tuple(range(1, ndim + 1)))


def tensor_coefficients(
    grid: Sequence[Any], values: Value, degrees: Sequence[int], knots: Sequence[Any]
) -> Any:
    """The coefficients of the tensor product spline through values on a grid."""
    for i, (x, k, t) in enumerate(zip(grid, degrees, knots, strict=True)):
        along = interpolating(x, np.moveaxis(values, i, 0), t, k, [], [])
        values = np.moveaxis(along, 0, i)
    return values


class RectBivariateSpline(Mirrored, scipy.interpolate.RectBivariateSpline):
    """Spline on a grid of two variables, as SciPy's RectBivariateSpline, with derivatives.

    They are those by points asked, x, y and z where s is 0. As in SciPy, points outside are moved
    to the border.

    Parameters
    ----------
    x : array_like, shape (m,)
        The first coordinates, ascending.
    y : array_like, shape (n,)
        The second coordinates, ascending.
    z : array_like, shape (m, n)
        The values.
    bbox : sequence of four floats, optional
        The ends of x and of y; those of the data where they are None.
    kx, ky : int, default 3
        The degrees.
    s : float, default 0
        How smooth it is.
    **options : object
        SciPy's others.

    Attributes
    ----------
    tck : tuple of array
        Knots of x, knots of y, and coefficients in a row.
    degrees : tuple of int
        The degrees.

    Raises
    ------
    NotDifferentiableError
        Of traced values with s > 0, which chooses knots by the values.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> x = np.arange(5.0)
    >>> f = RectBivariateSpline(x, x, np.outer(x, x**2))
    >>> round(float(tapegrad.grad(lambda y: f.ev(1.5, y))(2.5)), 9)
    7.5
    """

    _theirs = scipy.interpolate.RectBivariateSpline
    _differentiable = ("tck",)

    def __init__(
        self,
        x: Any,
        y: Any,
        z: Any,
        bbox: Any = (None, None, None, None),
        kx: int = 3,
        ky: int = 3,
        s: float = 0,
        **options: Any,
    ) -> None:
        if s != 0:
            raise NotDifferentiableError(
                "scipy.interpolate.RectBivariateSpline: with s > 0 the knots depend on the "
                "values, and have no derivative. Take s=0."
            )
        self._check(x, y, z, bbox, kx, ky, s, **options)
        x, y, z = as_float(x), as_float(y), as_float(z)
        knots = [
            _boxed(v, k, bbox[2 * i : 2 * i + 2]) for i, (v, k) in enumerate([(x, kx), (y, ky)])
        ]
        c = tensor_coefficients([x, y], np.reshape(z, (x.shape[0], y.shape[0])), [kx, ky], knots)
        self.tck, self.degrees, self.fp = (*knots, np.reshape(c, (-1,))), (kx, ky), 0.0

    @property
    def _c(self) -> Any:
        tx, ty, c = self.tck
        kx, ky = self.degrees
        return np.reshape(c, (tx.shape[0] - kx - 1, ty.shape[0] - ky - 1))

    def _clipped(self, x: Value, at: int) -> Any:
        t, k = self.tck[at], self.degrees[at]
        return np.clip(x, t[k], t[t.shape[0] - k - 1])

    def __call__(
        self, x: Any, y: Any, dx: int = 0, dy: int = 0, grid: bool = True
    ) -> NDArray[Any]:
        """Values, or derivatives, on the grid of x and y, or at points with `grid=False`."""
        x, y = as_float(x), as_float(y)
        if not grid:
            return self.ev(x, y, dx, dy)
        plain = raw(x, y)
        if plain is not None and any(np.any(np.diff(v) < 0) for v in plain):
            raise ValueError("x and y must be sorted to `grid` them")
        x, y = np.reshape(x, (-1,)), np.reshape(y, (-1,))
        (tx, ty, _), (kx, ky) = self.tck, self.degrees
        along = spline_at(tx, self._c, kx, self._clipped(x, 0), dx)
        return np.transpose(spline_at(ty, np.transpose(along), ky, self._clipped(y, 1), dy))

    def ev(self, xi: Any, yi: Any, dx: int = 0, dy: int = 0) -> Any:
        """Return values, or derivatives, at points.

        Parameters
        ----------
        xi, yi : array_like
            The coordinates, which broadcast.
        dx, dy : int, default 0
            The orders of the derivatives.

        Returns
        -------
        array
            The values.
        """
        x, y = np.broadcast_arrays(as_float(xi), as_float(yi))
        shape = x.shape
        parts = [self._clipped(np.reshape(v, (-1,)), i) for i, v in enumerate((x, y))]
        points = np.stack(parts, axis=-1)
        return np.reshape(tensor_at(self.tck[:2], self.degrees, self._c, points, [dx, dy]), shape)

    def integral(self, xa: Any, xb: Any, ya: Any, yb: Any) -> Any:
        """Return the integral over a rectangle, zero outside of the grid.

        Parameters
        ----------
        xa, xb, ya, yb : float
            The limits of x and of y.

        Returns
        -------
        float
            The integral.
        """
        values = self._c
        for at, (a, b) in enumerate([(xa, xb), (ya, yb)]):
            t, k = self.tck[at], self.degrees[at]
            t, c, k = splantider((as_float(t), values, k))
            c = c[: t.shape[0] - k - 1]
            first, last = (
                spline_at(t, c, k, np.clip(as_float(v), t[k], t[t.shape[0] - k - 1]))
                for v in (a, b)
            )
            values = last - first
        return values


def _boxed(x: Value, k: int, box: Any) -> Any:
    """The knots of an interpolating spline over a box, as FITPACK places them."""
    t = not_a_knot(x, k)
    ends = [np.full(k + 1, end, dtype=float) if end is not None else None for end in box]
    first = t[: k + 1] if ends[0] is None else ends[0]
    last = t[t.shape[0] - k - 1 :] if ends[1] is None else ends[1]
    return np.concatenate([first, t[k + 1 : t.shape[0] - k - 1], last])


class NdPPoly(Mirrored, scipy.interpolate.NdPPoly):
    """Piecewise polynomials of several variables, as SciPy's NdPPoly, with derivatives.

    They are those by points asked, coefficients and breaks.

    Parameters
    ----------
    c : array_like, shape (k1, ..., m1, ..., ...)
        The coefficients: for each variable an axis of powers, the highest first, then for each an
        axis of pieces.
    x : sequence of array_like
        The breaks of each variable.
    extrapolate : bool, optional
        Whether points outside belong to the outer pieces (True, the default) or give NaN.

    Attributes
    ----------
    c : array
        The coefficients.
    x : tuple of array
        The breaks.
    extrapolate : bool
        How points outside are treated.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> p = NdPPoly(np.array([[[[1.0]], [[0.0]]]]), ([0.0, 2.0], [0.0, 2.0]))
    >>> tapegrad.grad(lambda x: p(x)[0])(np.array([0.5, 0.5]))
    array([0., 1.])
    """

    _theirs = scipy.interpolate.NdPPoly
    _differentiable = ("c", "x")

    def __init__(self, c: Any, x: Any, extrapolate: Any = None) -> None:
        self.c, self.x = as_float(c), tuple(map(as_float, x))
        self.extrapolate = True if extrapolate is None else bool(extrapolate)
        self._check(c, x, extrapolate)

    def __call__(self, x: Any, nu: Any = None, extrapolate: Any = None) -> NDArray[Any]:
        """Values, or derivatives `nu`, at points (..., ndim)."""
        extrapolate = self.extrapolate if extrapolate is None else bool(extrapolate)
        ndim = len(self.x)
        x = coordinates(x, ndim)
        points = np.reshape(x, (-1, ndim))
        nu = [0] * ndim if nu is None else [int(n) for n in nu]
        sizes, rest = self.c.shape[ndim : 2 * ndim], self.c.shape[2 * ndim :]
        index: Any = 0
        outside = np.zeros(points.shape[0], bool)
        offsets, still = [], untraced(points)
        for i, breaks in enumerate(self.x):
            at = places(breaks, points[:, i], 0, sizes[i] - 1)
            index = index * sizes[i] + at
            offsets.append(points[:, i] - rows(breaks, at))
            ends = untraced(breaks)
            outside = outside | (still[:, i] < ends[0]) | (still[:, i] > ends[-1])
        degrees = self.c.shape[:ndim]
        order = (*range(ndim, 2 * ndim), *range(ndim), *range(2 * ndim, self.c.ndim))
        by_cell = np.reshape(np.transpose(self.c, order), (-1, *degrees, *rest))
        values = rows(by_cell, index)
        for i in range(ndim):
            parts = [values[:, j] for j in range(degrees[i])]
            values = horner(parts, beside(offsets[i], parts[0].ndim - 1), nu[i])
        if not extrapolate:
            values = np.where(beside(outside, len(rest)), np.nan, values)
        return np.reshape(values, (*x.shape[:-1], *rest))

    def _along(self, axis: int, function: Any) -> Any:
        """The coefficients after a function of those along one axis."""
        ndim = len(self.x)
        c = np.moveaxis(self.c, (axis, ndim + axis), (0, 1))
        return np.moveaxis(function(c), (0, 1), (axis, ndim + axis))

    def derivative(self, nu: Any) -> Any:
        """Return the derivative.

        Parameters
        ----------
        nu : sequence of int
            How many times along each axis; negative numbers integrate.

        Returns
        -------
        NdPPoly
            The derivative.
        """
        return self._changed([int(n) for n in nu])

    def antiderivative(self, nu: Any) -> Any:
        """Return the integral.

        Parameters
        ----------
        nu : sequence of int
            How many times along each axis; negative numbers differentiate.

        Returns
        -------
        NdPPoly
            The integral.
        """
        return self._changed([-int(n) for n in nu])

    def _changed(self, nu: list[int]) -> Any:
        made = self.construct_fast(self.c, self.x, self.extrapolate)
        for axis, n in enumerate(nu):
            if n > 0:
                made.c = made._along(axis, lambda c, n=n: differentiated(c, n))
            for _ in range(-n):
                made.c = made._along(axis, lambda c, i=axis: integrated(c, self.x[i]))
        return made

    def integrate_1d(self, a: Any, b: Any, axis: int, extrapolate: Any = None) -> Any:
        """Return the integral along one axis.

        Parameters
        ----------
        a, b : float
            The limits.
        axis : int
            The axis.
        extrapolate : bool, optional
            That of this object by default.

        Returns
        -------
        NdPPoly, PPoly or array
            A function of the other variables: a PPoly of one, a value if there is none.
        """
        extrapolate = self.extrapolate if extrapolate is None else bool(extrapolate)
        ndim = len(self.x)
        axis = axis % ndim
        c = np.moveaxis(as_float(self.c), (axis, ndim + axis), (0, 1))
        breaks = as_float(self.x[axis])
        whole = integrated(c, breaks)
        ends = [evaluated(whole, breaks, as_float(v), 0, extrapolate) for v in (a, b)]
        rest = tuple(x for i, x in enumerate(self.x) if i != axis)
        if not rest:
            return ends[1] - ends[0]
        kind: Any = PPoly if len(rest) == 1 else NdPPoly
        breaks = rest[0] if len(rest) == 1 else rest
        return kind.construct_fast(ends[1] - ends[0], breaks, extrapolate)

    def integrate(self, ranges: Any, extrapolate: Any = None) -> Any:
        """Return the integral over a box.

        Parameters
        ----------
        ranges : sequence of pair of float
            The limits of each variable.
        extrapolate : bool, optional
            That of this object by default.

        Returns
        -------
        array
            The integral, of the shape of a value.
        """
        extrapolate = self.extrapolate if extrapolate is None else bool(extrapolate)
        c, ndim = as_float(self.c), len(self.x)
        for i, (a, b) in enumerate(ranges):
            left = ndim - i
            moved = np.moveaxis(c, (0, left), (0, 1))
            breaks = as_float(self.x[i])
            whole = integrated(moved, breaks)
            ends = [evaluated(whole, breaks, as_float(v), 0, extrapolate) for v in (a, b)]
            c = ends[1] - ends[0]
        return c


class NdBSpline(Mirrored, scipy.interpolate.NdBSpline):
    """Tensor product spline, as SciPy's NdBSpline, with derivatives.

    They are those by points asked, knots and coefficients.

    Parameters
    ----------
    t : tuple of array_like
        The knots of each variable.
    c : array_like, shape (n1, n2, ..., ...)
        The coefficients.
    k : int or tuple of int
        The degrees.
    extrapolate : bool, optional
        Whether points outside belong to the outer pieces (True, the default) or give NaN.

    Attributes
    ----------
    t : tuple of array
        The knots.
    c : array
        The coefficients.
    k : tuple of int
        The degrees.
    extrapolate : bool
        How points outside are treated.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> t = np.array([0.0, 0.0, 1.0, 1.0])
    >>> f = lambda c: NdBSpline((t, t), c, 1)(np.array([[0.5, 0.5]]))[0]
    >>> tapegrad.grad(f)(np.ones((2, 2)))
    array([[0.25, 0.25],
           [0.25, 0.25]])
    """

    _theirs = scipy.interpolate.NdBSpline
    _differentiable = ("t", "c")

    def __init__(self, t: Any, c: Any, k: Any, *, extrapolate: Any = None) -> None:
        t, c = tuple(map(as_float, t)), as_float(c)
        self._k = (k,) * len(t) if np.ndim(k) == 0 else tuple(k)
        self._check(t, c, self._k, extrapolate=extrapolate)
        self._keep(t=t, c=c, extrapolate=extrapolate is None or bool(extrapolate))

    def __call__(self, xi: Any, *, nu: Any = None, extrapolate: Any = None) -> NDArray[Any]:
        """Values, or derivatives `nu`, at points (..., ndim)."""
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        ndim = len(self.t)
        xi = as_float(xi)
        points = np.reshape(xi, (-1, ndim))
        orders = [0] * ndim if nu is None else [int(n) for n in nu]
        knots, degrees = tuple(map(as_float, self.t)), tuple(int(k) for k in self.k)
        sizes = [t.shape[0] - k - 1 for t, k in zip(knots, degrees, strict=True)]
        c = as_float(self.c)[tuple(slice(size) for size in sizes)]
        out = tensor_at(knots, degrees, c, points, orders)
        if not extrapolate:
            outside, still = np.zeros(points.shape[0], bool), untraced(points)
            for i, (t, k, size) in enumerate(zip(knots, degrees, sizes, strict=True)):
                low, high = untraced(t[k]), untraced(t[size])
                outside = outside | (still[:, i] < low) | (still[:, i] > high)
            out = np.where(beside(outside, out.ndim - 1), np.nan, out)
        return np.reshape(out, (*xi.shape[:-1], *out.shape[1:]))

    @classmethod
    def design_matrix(cls, xvals: Any, t: Any, k: Any, extrapolate: bool = True) -> Any:
        """Return the sparse matrix of the products of basis functions at points.

        Parameters
        ----------
        xvals : array_like, shape (points, ndim)
            The points.
        t : tuple of array_like
            The knots of each variable.
        k : int or tuple of int
            The degrees.
        extrapolate : bool, default True
            Changes nothing, as in SciPy: points outside belong to the outer pieces.

        Returns
        -------
        SparseArray or scipy.sparse.csr_array
            A row a point, a column a coefficient, counted along the last variable first; the last
            column is that of the last function that is not zero.

        Raises
        ------
        NotDifferentiableError
            Inside a vmap that maps over points or knots.
        """
        xvals, knots = as_float(xvals), tuple(map(as_float, t))
        plain = raw(xvals, knots)
        if plain is not None:
            cls._theirs.design_matrix(*plain, k, extrapolate)
        degrees = [operator.index(n) for n in np.broadcast_to(k, len(knots))]
        return design_matrix("NdBSpline.design_matrix", xvals, knots, degrees)


@of_plain(scipy.interpolate.bisplev)
def bisplev(x: Any, y: Any, tck: Any, dx: int = 0, dy: int = 0) -> Any:
    """Evaluate a spline on a grid, as SciPy's bisplev, differentiably by both.

    Parameters
    ----------
    x, y : array_like, shape (m,) and (n,)
        The coordinates of the grid, or numbers.
    tck : tuple
        Knots tx and ty, coefficients c in a row, degrees kx and ky.
    dx, dy : int, default 0
        The orders of the derivatives.

    Returns
    -------
    array, shape (m, n)
        The values, without the axes of one element.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> t = np.array([0.0, 0.0, 1.0, 1.0])
    >>> f = lambda c: bisplev(0.5, 0.5, (t, t, c, 1, 1))
    >>> tapegrad.grad(f)(np.ones(4))
    array([0.25, 0.25, 0.25, 0.25])
    """
    tx, ty, c, kx, ky = tck
    shape = [1 if np.ndim(v) == 0 else len(v) for v in (x, y)]
    knots = as_float(tx), as_float(ty)
    axes = []
    for v, t, k in zip((x, y), knots, (kx, ky), strict=True):
        axes.append(np.clip(np.reshape(as_float(v), (-1,)), t[k], t[t.shape[0] - k - 1]))
    pairs = np.broadcast_arrays(np.expand_dims(axes[0], 1), np.expand_dims(axes[1], 0))
    points = np.stack([np.reshape(v, (-1,)) for v in pairs], axis=-1)
    c = np.reshape(as_float(c), (knots[0].shape[0] - kx - 1, knots[1].shape[0] - ky - 1))
    out = np.reshape(tensor_at(knots, [kx, ky], c, points, [dx, dy]), shape)
    for axis in (1, 0):
        if shape[axis] == 1:
            out = np.reshape(out, (*out.shape[:axis], *out.shape[axis + 1 :]))
    return out


__all__ = [
    "NdBSpline",
    "NdPPoly",
    "RectBivariateSpline",
    "bisplev",
    "coordinates",
    "tensor_at",
    "tensor_coefficients",
]
