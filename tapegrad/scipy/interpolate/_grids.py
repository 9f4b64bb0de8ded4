"""Functions of values on a grid: RegularGridInterpolator and interpn.

Differentiable by the points asked, the values and the coordinates of the grid.
"""

from __future__ import annotations

import inspect
import itertools
from typing import Any

import numpy as np
import scipy.interpolate
from numpy.typing import NDArray

from tapegrad import primitive
from tapegrad._core.types import Value
from tapegrad._core.values import branch_on, itself, untraced
from tapegrad.scipy._formula import by_formula
from tapegrad.scipy._mirrored import Mirrored, is_plain, of_plain, raw
from tapegrad.scipy.interpolate._basis import not_a_knot
from tapegrad.scipy.interpolate._cubic import pchip_slopes
from tapegrad.scipy.interpolate._pieces import as_float, beside, horner, places, rows
from tapegrad.scipy.interpolate._tensor_products import (
    RectBivariateSpline,
    coordinates,
    tensor_at,
    tensor_coefficients,
)

_DEGREES = {"slinear": 1, "cubic": 3, "quintic": 5}


@primitive
def _coefficients(values: Any, *grid: Any, method: str, **options: Any) -> Any:
    """Those of the tensor product spline, which SciPy solves for to a tolerance."""
    made = scipy.interpolate.RegularGridInterpolator(grid, values, method, **options)
    return made._spline.c


def _exact(values: Any, *grid: Any, method: str, **_options: Any) -> Any:
    degrees = [_DEGREES[method]] * len(grid)
    knots = [not_a_knot(x, k) for x, k in zip(grid, degrees, strict=True)]
    return tensor_coefficients(grid, values, degrees, knots)


by_formula(_coefficients, _exact, batch="loop")


def _as_theirs(solver: Any) -> Any:
    """SciPy's solver for ours: SciPy compares it with its own."""
    module = getattr(solver, "__module__", None) or ""
    return inspect.unwrap(solver) if module.startswith("tapegrad.scipy.") else solver


class RegularGridInterpolator(Mirrored, scipy.interpolate.RegularGridInterpolator):
    """Interpolant of values on a grid, as SciPy's RegularGridInterpolator, with derivatives.

    They are those by points asked, values and grid. On a plane of the grid the derivative by the
    points is that at the right.

    Parameters
    ----------
    points : sequence of array_like
        The coordinates of the grid, one array an axis, each ascending or descending.
    values : array_like
        The values; the first axes are those of the grid.
    method : str, default "linear"
        "linear", "nearest", "slinear", "cubic", "quintic", "pchip", or a legacy one of SciPy's.
    bounds_error : bool, default True
        Whether points outside raise ValueError.
    fill_value : float or None, default NaN
        The value outside; None extrapolates.
    **options : object
        SciPy's solver and solver_args, which serve plain calls; traced ones solve banded systems,
        one axis after another.

    See Also
    --------
    interpn : The same as a function.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> f = RegularGridInterpolator(([0.0, 1, 2], [0.0, 1]), np.array([[0.0, 1], [2, 3], [6, 7]]))
    >>> tapegrad.grad(lambda x: f(x)[0])(np.array([1.5, 0.5]))
    array([4., 1.])
    """

    _theirs = scipy.interpolate.RegularGridInterpolator
    _differentiable = ("grid", "values", "fill_value")
    _asking = ("__init__",)

    def __init__(
        self,
        points: Any,
        values: Any,
        method: str = "linear",
        bounds_error: bool = True,
        fill_value: Any = np.nan,
        **options: Any,
    ) -> None:
        given = raw(fill_value)
        if "solver" in options:
            options["solver"] = _as_theirs(options["solver"])
        self._options = options
        if is_plain(*points, values) and given is not None:
            super().__init__(points, values, method, bounds_error, given[0], **options)
            self.fill_value = fill_value
            return
        self._check(points, values, method, bounds_error, fill_value, **options)
        grid = [as_float(x) for x in points]
        values = as_float(values)
        for i, x in enumerate(grid):
            falls = branch_on(itself, untraced(x[0]) > untraced(x[-1]))
            if np.reshape(falls, -1)[0]:
                grid[i] = x[::-1]
                values = np.flip(values, axis=i)
        self._keep(grid=tuple(grid), values=values, method=method)
        self.bounds_error, self.fill_value = bounds_error, fill_value

    def __call__(self, xi: Any, method: str | None = None, *, nu: Any = None) -> NDArray[Any]:
        """Values at points (..., ndim), or a tuple of arrays; `nu`: derivatives of splines."""
        ndim = len(self.grid)
        xi = coordinates(xi, ndim)
        self._check_points(xi, method, nu)
        method = self.method if method is None else method
        points = np.reshape(xi, (-1, ndim))
        out = self._at(points, method, nu)
        rank = self.values.ndim - ndim
        still = untraced(points)
        if not self.bounds_error and self.fill_value is not None:
            outside = np.zeros(len(still), bool)
            for i, x in enumerate(self.grid):
                x = untraced(x)
                outside = outside | (still[:, i] < x[0]) | (still[:, i] > x[-1])
            out = np.where(beside(outside, rank), self.fill_value, out)
        missing = np.any(np.isnan(still), axis=-1)
        out = np.where(beside(missing, rank), np.nan, out)
        return np.reshape(out, (*xi.shape[:-1], *self.values.shape[ndim:]))

    def _check_points(self, xi: Value, method: str | None, nu: Any) -> None:
        plain = raw(*self.grid, self.values, xi)
        if plain is not None:
            *grid, values, xi = plain
            options = {} if self.fill_value is None else {"fill_value": 0.0}
            cheap = self._theirs(grid, values, "nearest", self.bounds_error, **options)
            cheap(xi)
            if method is not None or nu is not None:
                self._theirs(grid, values, self.method)(xi, method, nu=nu)

    def _at(self, points: Value, method: str, nu: Any) -> Any:
        ndim, is_legacy = len(self.grid), method.endswith("_legacy")
        method = method.removesuffix("_legacy")
        if method in _DEGREES:
            degrees = [_DEGREES[method]] * ndim
            knots = [not_a_knot(x, k) for x, k in zip(self.grid, degrees, strict=True)]
            if is_legacy:
                c = tensor_coefficients(self.grid, self.values, degrees, knots)
            elif method == self.method and self._is_plain():
                c = self._spline.c
            else:
                options = self._options if method == self.method else {}
                c = _coefficients(self.values, *self.grid, method=method, **options)
            orders = [0] * ndim if nu is None else [int(n) for n in nu]
            return tensor_at(knots, degrees, c, points, orders)
        if method == "pchip":
            return self._pchip(points)
        cells: list[Any] = []
        shares: list[Any] = []
        for i, x in enumerate(self.grid):
            if x.shape[0] == 1:  # constant along this axis
                cells.append(np.zeros(points.shape[0], int))
                shares.append(np.zeros(points.shape[0]))
                continue
            at = places(x, points[:, i], 0, x.shape[0] - 2)
            low, high = rows(x, at), rows(x, at + 1)
            cells.append(at)
            shares.append((points[:, i] - low) / (high - low))
        sizes, rest = self.values.shape[:ndim], self.values.shape[ndim:]
        flat = np.reshape(self.values, (int(np.prod(sizes)), *rest))
        if method == "nearest":
            index: Any = 0
            for at, share, size in zip(cells, shares, sizes, strict=True):
                index = index * size + np.where(untraced(share) <= 0.5, at, at + 1)
            return rows(flat, index)
        total: Any = 0.0
        for corner in itertools.product(*(range(min(size, 2)) for size in sizes)):
            index, weight = 0, 1.0
            for i, side in enumerate(corner):
                index = index * sizes[i] + cells[i] + side
                weight = weight * (shares[i] if side else 1 - shares[i])
            total = total + beside(weight, len(rest)) * rows(flat, index)
        return total

    def _pchip(self, points: Value) -> Any:
        """One axis after another, the last one first, each point on its own line."""
        ndim, count = len(self.grid), points.shape[0]
        values = self.values
        for i in reversed(range(ndim)):
            first = i == ndim - 1
            values = np.moveaxis(values, i if first else i + 1, 0)
            x, p = self.grid[i], points[:, i]
            slopes = pchip_slopes(x, values)
            at = places(x, p, 0, x.shape[0] - 2)
            low, high = rows(x, at), rows(x, at + 1)

            def picked(array: Value, where: Any, first: bool = first) -> Any:
                if first:
                    return rows(array, where)
                flat = np.reshape(array, (-1, *array.shape[2:]))
                return rows(flat, where * count + np.arange(count))

            y0, y1 = picked(values, at), picked(values, at + 1)
            d0, d1 = picked(slopes, at), picked(slopes, at + 1)
            rank = y0.ndim - 1
            h, s = beside(high - low, rank), beside(p - low, rank)
            slope = (y1 - y0) / h
            bend = (d0 + d1 - 2 * slope) / h
            values = horner([bend / h, (slope - d0) / h - bend, d0, y0], s, 0)
        return values


@of_plain(scipy.interpolate.interpn)
def interpn(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    bounds_error: bool = True,
    fill_value: Any = np.nan,
) -> Any:
    """Interpolate values on a grid, as SciPy's interpn, with derivatives.

    They are those by xi, values and points.

    Parameters
    ----------
    points : sequence of array_like
        The coordinates of the grid, one array an axis.
    values : array_like
        The values; the first axes are those of the grid.
    xi : array_like, shape (..., ndim), or tuple of array_like
        The points asked.
    method : str, default "linear"
        A method of `RegularGridInterpolator`, or "splinef2d".
    bounds_error : bool, default True
        Whether points outside raise ValueError.
    fill_value : float or None, default NaN
        The value outside; None extrapolates.

    Returns
    -------
    array
        The values.

    See Also
    --------
    RegularGridInterpolator : The interpolant as an object.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> grid, values = ([0.0, 1, 2], [0.0, 1]), np.array([[0.0, 1], [2, 3], [6, 7]])
    >>> tapegrad.grad(lambda x: interpn(grid, values, x)[0])(np.array([1.5, 0.5]))
    array([4., 1.])
    """
    if method != "splinef2d":
        return RegularGridInterpolator(points, values, method, bounds_error, fill_value)(xi)
    xi = coordinates(xi, 2)
    plain = raw(*map(as_float, points), as_float(values), xi)
    if plain is not None:
        x, y, z, asked = plain
        scipy.interpolate.interpn((x, y), z, asked, method, bounds_error, 0.0)
    flat = np.reshape(xi, (-1, 2))
    spline = RectBivariateSpline(points[0], points[1], values)
    still = untraced(flat)
    outside = np.zeros(len(still), bool)
    for i, x in enumerate(map(as_float, points)):
        x = untraced(x)
        outside = outside | (still[:, i] < x[0]) | (still[:, i] > x[-1])
    out = np.where(outside, fill_value, spline.ev(flat[:, 0], flat[:, 1]))
    return np.reshape(out, xi.shape[:-1])


__all__ = ["RegularGridInterpolator", "interpn"]
