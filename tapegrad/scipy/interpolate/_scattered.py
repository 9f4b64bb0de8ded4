"""Interpolation of scattered points: radial basis functions, triangles, nearest neighbours."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import scipy.interpolate
from numpy.typing import NDArray

from tapegrad._core.types import Value
from tapegrad._core.values import branch_on, itself, lift, untraced
from tapegrad._errors import BatchingError, NotDifferentiableError
from tapegrad.scipy._mirrored import Mirrored, asked, is_plain, of_plain, raw
from tapegrad.scipy.interpolate._one_dimension import interp1d
from tapegrad.scipy.interpolate._pieces import as_float, beside, rows
from tapegrad.scipy.interpolate._tensor_products import coordinates


def _root(q: Value) -> Any:
    """The square root, without the infinite slope where points meet: there it has slope zero."""
    is_zero = untraced(q) == 0
    return np.where(is_zero, 0.0, np.sqrt(np.where(is_zero, 1.0, q)))


def _times_log(q: Value) -> Any:
    is_zero = untraced(q) == 0
    return np.where(is_zero, 0.0, 0.5 * q * np.log(np.where(is_zero, 1.0, q)))


# Of the square of the scaled distance.
_KERNELS: dict[str, Any] = {
    "linear": lambda q: -_root(q),
    "thin_plate_spline": _times_log,
    "cubic": lambda q: q * _root(q),
    "quintic": lambda q: -q * q * _root(q),
    "multiquadric": lambda q: -np.sqrt(q + 1),
    "inverse_multiquadric": lambda q: 1 / np.sqrt(q + 1),
    "inverse_quadratic": lambda q: 1 / (q + 1),
    "gaussian": lambda q: np.exp(-q),
}
_LEAST = {"multiquadric": 0, "linear": 0, "thin_plate_spline": 1, "cubic": 1, "quintic": 2}


def _squares(x: Value, y: Value) -> Any:
    """Squared distances of all pairs of rows."""
    d = np.expand_dims(x, 1) - np.expand_dims(y, 0)
    return np.sum(d * d, axis=-1)


class RBFInterpolator(Mirrored, scipy.interpolate.RBFInterpolator):
    """Interpolant by radial functions, as SciPy's RBFInterpolator, with derivatives.

    They are those by x, y, d, smoothing and epsilon, of all kernels and polynomials of any degree.
    Where points meet, kernels that have a kink there (linear) have the derivative zero.

    Parameters
    ----------
    y : array_like, shape (n, ndim)
        The points of the data.
    d : array_like, shape (n, ...)
        The values.
    neighbors : int, optional
        How many nearest points count; all by default.
    smoothing : float or array_like, shape (n,), default 0
        How far values may be missed.
    kernel : str, default "thin_plate_spline"
        SciPy's name of the radial function.
    epsilon : float, optional
        The factor of distances; 1 by default.
    degree : int, optional
        Of the polynomial that is added; the kernel's least one by default, 0 at least.

    Raises
    ------
    NotDifferentiableError
        Of traced values with `neighbors`, which jump from point to point.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> y = np.array([[0.0], [1.0], [2.0]])
    >>> grad = tapegrad.grad(lambda d: RBFInterpolator(y, d)(np.array([[0.5]]))[0])(np.ones(3))
    >>> bool(np.isclose(np.sum(grad), 1))
    True
    """

    _theirs = scipy.interpolate.RBFInterpolator
    _differentiable = ("y", "epsilon", "_coeffs", "_shift", "_scale")

    def __init__(
        self,
        y: Any,
        d: Any,
        neighbors: Any = None,
        smoothing: Any = 0.0,
        kernel: str = "thin_plate_spline",
        epsilon: Any = None,
        degree: Any = None,
    ) -> None:
        if neighbors is not None:
            _refuse_neighbors()
        self._check(y, d, None, smoothing, kernel, epsilon, degree)
        y, d, smoothing = as_float(y), as_float(d), as_float(smoothing)
        kernel, count = kernel.lower(), y.shape[0]
        self.y, self.kernel, self.neighbors = y, kernel, None
        self.d, self.d_shape, self.d_dtype = np.reshape(d, (count, -1)), d.shape[1:], d.dtype
        self.smoothing = np.reshape(smoothing + np.zeros(count), (count,))
        self.epsilon = 1.0 if epsilon is None else as_float(epsilon)
        least = _LEAST.get(kernel, -1)
        degree = max(least, 0) if degree is None else int(degree)
        self.powers = _monomials(y.shape[1], degree)
        # The middle and the half width of the points do not change the function.
        still = untraced(y)
        low, high = np.min(still, axis=0), np.max(still, axis=0)
        self._shift, width = (low + high) / 2, (high - low) / 2
        self._scale = np.where(width == 0, 1.0, width)
        self._coeffs = self._solved()

    def _solved(self) -> Any:
        count, extra = self.y.shape[0], len(self.powers)
        kernel = _KERNELS[self.kernel](_squares(self.y, self.y) * self.epsilon**2)
        kernel = kernel + np.eye(count) * np.reshape(self.smoothing, (1, count))
        flat = self.d
        if extra:
            p = self._monomials_at(self.y)
            upper = np.concatenate([kernel, p], axis=1)
            lower = np.concatenate([np.transpose(p), np.zeros((extra, extra))], axis=1)
            kernel = np.concatenate([upper, lower])
            flat = np.concatenate([flat, np.zeros((extra, flat.shape[1]))])
        return np.linalg.solve(kernel, flat)

    def _monomials_at(self, x: Value) -> Any:
        x = (x - self._shift) / self._scale
        columns = []
        for powers in self.powers:
            column = np.ones(x.shape[0])
            for i, power in enumerate(powers):
                for _ in range(power):
                    column = column * x[:, i]
            columns.append(column)
        return np.stack(columns, axis=1)

    def __call__(self, x: Any) -> NDArray[Any]:
        """Values at points (count, ndim)."""
        if self.neighbors is not None:
            _refuse_neighbors()
        x = as_float(x)
        if x.ndim != 2:
            raise ValueError("`x` must be a 2-dimensional array.")
        if x.shape[1] != self.y.shape[1]:
            raise ValueError(f"Expected the second axis of `x` to have length {self.y.shape[1]}.")
        values = _KERNELS[self.kernel](_squares(x, self.y) * self.epsilon**2)
        if len(self.powers):
            values = np.concatenate([values, self._monomials_at(x)], axis=1)
        c = self._coeffs
        if self.d_dtype == np.complex128 and c.dtype == np.float64:
            c = c[:, ::2] + 1j * c[:, 1::2]  # as SciPy holds complex numbers
        return np.reshape(values @ c, (x.shape[0], *self.d_shape))


def _refuse_neighbors() -> None:
    raise NotDifferentiableError(
        "scipy.interpolate.RBFInterpolator: with neighbors the value jumps where other points "
        "become the nearest, so it has no derivative. Leave neighbors=None."
    )


def _monomials(ndim: int, degree: int) -> Any:
    """The powers of all monomials up to a degree."""
    found = [
        [one.count(i) for i in range(ndim)]
        for total in range(degree + 1)
        for one in itertools.combinations_with_replacement(range(ndim), total)
    ]
    return np.array(found, dtype=int).reshape(-1, ndim)


# Of the distance r and epsilon, by SciPy's older class.
_OLD_KERNELS: dict[str, Any] = {
    "multiquadric": lambda q, e: np.sqrt(q / e**2 + 1),
    "inverse": lambda q, e: 1 / np.sqrt(q / e**2 + 1),
    "inverse_multiquadric": lambda q, e: 1 / np.sqrt(q / e**2 + 1),
    "gaussian": lambda q, e: np.exp(-q / e**2),
    "linear": lambda q, _e: _root(q),
    "cubic": lambda q, _e: q * _root(q),
    "quintic": lambda q, _e: q * q * _root(q),
    "thin_plate": lambda q, _e: _times_log(q),
}


class Rbf(Mirrored, scipy.interpolate.Rbf):
    """Interpolant by radial functions, as SciPy's older Rbf, with derivatives.

    They are those by coordinates, values, smooth, epsilon and the points asked.

    Parameters
    ----------
    *args : array_like
        The coordinates of the data, one array each, and the values last.
    **kwargs : object
        SciPy's: function, epsilon, smooth, norm, mode.

    Raises
    ------
    NotDifferentiableError
        Of traced values with another norm than "euclidean", or a function of the user's own.

    See Also
    --------
    RBFInterpolator : The newer class.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> f = Rbf(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 4.0]))
    >>> bool(np.isclose(tapegrad.grad(lambda x: f(x))(0.5), (f(0.5001) - f(0.4999)) / 2e-4))
    True
    """

    _theirs = scipy.interpolate.Rbf
    _differentiable = ("xi", "epsilon", "nodes")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        function = kwargs.get("function", "multiquadric")
        self.norm, self.mode = kwargs.get("norm", "euclidean"), kwargs.get("mode", "1-D")
        self.function = re.sub("[ -]", "_", function).lower() if isinstance(function, str) else ""
        if self.function not in _OLD_KERNELS or self.norm != "euclidean":
            self._refuse()
        *points, d = (as_float(x) for x in args)
        points = [np.reshape(x, (-1,)) for x in points]
        self._check(*points, d, **kwargs)
        self.xi, self.N = np.stack(points), points[0].shape[0]
        self.di = d if self.mode == "N-D" else np.reshape(d, (-1,))
        self._target_dim = d.shape[-1] if self.mode == "N-D" else 1
        self.epsilon, self.smooth = self._width(kwargs.get("epsilon")), kwargs.get("smooth", 0.0)
        matrix = self._kernel(np.transpose(self.xi)) - np.eye(self.N) * self.smooth
        self.nodes = np.linalg.solve(matrix, self.di)

    def _kernel(self, points: Value) -> Any:
        squares = _squares(points, np.transpose(self.xi))
        return _OLD_KERNELS[self.function](squares, self.epsilon)

    def _width(self, epsilon: Any) -> Any:
        if epsilon is not None:
            return epsilon
        edges = np.max(self.xi, axis=1) - np.min(self.xi, axis=1)
        is_wide = branch_on(itself, untraced(edges) != 0)
        wide = np.flatnonzero(np.reshape(is_wide, (-1, edges.shape[0]))[0])
        return np.prod(edges[wide] / self.N ** (1 / wide.size)) ** (1 / wide.size)

    def _refuse(self) -> None:
        raise NotDifferentiableError(
            "scipy.interpolate.Rbf: differentiable with the Euclidean norm and the functions "
            f"{sorted(_OLD_KERNELS)} alone."
        )

    def __call__(self, *args: Any) -> NDArray[Any]:
        """Values at points, one array a coordinate."""
        if self.norm != "euclidean" or self.function not in _OLD_KERNELS:
            self._refuse()
        parts = np.broadcast_arrays(*map(as_float, args))
        shape = parts[0].shape
        points = np.stack([np.reshape(x, (-1,)) for x in parts], axis=-1)
        out = self._kernel(points) @ self.nodes
        return np.reshape(out, (*shape, *out.shape[1:]))


class LinearNDInterpolator(Mirrored, scipy.interpolate.LinearNDInterpolator):
    """Linear interpolant on triangles, as SciPy's LinearNDInterpolator, with derivatives.

    They are those by points asked, values and data points. The triangulation is constant: data
    points move their triangles along.

    Parameters
    ----------
    points : array_like, shape (n, ndim), tuple of array_like or Delaunay
        The points of the data, or their triangulation.
    values : array_like, shape (n, ...)
        The values.
    fill_value : float, default NaN
        The value outside.
    rescale : bool, default False
        Whether coordinates are scaled to the unit cube first.

    Raises
    ------
    BatchingError
        Under vmap over the data points.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> f = LinearNDInterpolator(points, np.array([0.0, 2.0, 3.0]))
    >>> tapegrad.grad(lambda x: f(x)[0])(np.array([0.25, 0.25]))
    array([2., 3.])
    """

    _theirs = scipy.interpolate.LinearNDInterpolator
    _differentiable = ("points", "values", "fill_value")

    def __init__(
        self, points: Any, values: Any, fill_value: Any = np.nan, rescale: bool = False
    ) -> None:
        from scipy.spatial import Delaunay

        given = points.points if isinstance(points, Delaunay) else points
        data = coordinates(given, 2) if isinstance(given, tuple) else as_float(given)
        values = as_float(values)
        plain = asked(data)
        if plain is None:
            raise BatchingError(
                "scipy.interpolate.LinearNDInterpolator: under vmap the triangulations would "
                "differ from example to example. Make it outside, of data that all share."
            )
        # SciPy's triangles, of which the values are others.
        still = points if isinstance(points, Delaunay) else plain[0]
        checked = raw(values)
        order = np.arange(data.shape[0]) if checked is None else checked[0]
        super().__init__(still, order, rescale=rescale)
        self._set_points(data)
        self.values_shape = values.shape[1:]
        self.values = np.reshape(values, (values.shape[0], -1))
        self.fill_value = fill_value

    def _set_points(self, data: Value) -> None:
        if not is_plain(data):
            self.points = self._scaled(data)

    def _scaled(self, x: Value) -> Any:
        scale = getattr(self, "scale", None)
        return x if scale is None else (x - self.offset) / scale

    def __call__(self, *args: Any) -> NDArray[Any]:
        """Values at points (..., ndim), or one array a coordinate."""
        ndim = self.points.shape[1]
        xi = coordinates(args[0] if len(args) == 1 else tuple(args), ndim)
        points = self._scaled(np.reshape(xi, (-1, ndim)))
        found = self.tri.find_simplex(branch_on(itself, points))
        if found.ndim != 1:
            raise BatchingError(
                "scipy.interpolate.LinearNDInterpolator: not under vmap; pass arrays of points."
            )
        corners = self.tri.simplices[np.maximum(found, 0)]
        vertices = self.points[corners]
        last = vertices[:, -1]
        edges = np.swapaxes(vertices[:, :-1] - np.expand_dims(last, 1), 1, 2)
        share = np.linalg.solve(edges, np.expand_dims(points - last, -1))[..., 0]
        weights = np.concatenate([share, 1 - np.sum(share, axis=1, keepdims=True)], axis=1)
        out = np.sum(beside(weights, 1) * self.values[corners], axis=1)
        out = np.where(beside(found < 0, 1), self.fill_value, out)
        return np.reshape(out, (*xi.shape[:-1], *self.values_shape))


class NearestNDInterpolator(Mirrored, scipy.interpolate.NearestNDInterpolator):
    """Value of the nearest point, as SciPy's NearestNDInterpolator, differentiable by values.

    By the points it has slope zero.

    Parameters
    ----------
    x : array_like, shape (n, ndim), or tuple of array_like
        The points of the data.
    y : array_like, shape (n, ...)
        The values.
    rescale : bool, default False
        Whether coordinates are scaled to the unit cube first.
    tree_options : dict, optional
        SciPy's options of its tree.

    Raises
    ------
    BatchingError
        Under vmap over the data points.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> x = np.array([[0.0, 0.0], [1.0, 0.0]])
    >>> f = lambda y: NearestNDInterpolator(x, y)(np.array([[0.9, 0.1]]))[0]
    >>> tapegrad.grad(f)(np.array([1.0, 2.0]))
    array([0., 1.])
    """

    _theirs = scipy.interpolate.NearestNDInterpolator
    _differentiable = ("values",)

    def __init__(self, x: Any, y: Any, rescale: bool = False, tree_options: Any = None) -> None:
        data = coordinates(x, 2) if isinstance(x, tuple) else as_float(x)
        plain = asked(data)
        if plain is None:
            raise BatchingError(
                "scipy.interpolate.NearestNDInterpolator: not under vmap over the data points."
            )
        super().__init__(plain[0], np.arange(data.shape[0]), rescale, tree_options)
        self.values = as_float(y)

    def __call__(self, *args: Any, **query_options: Any) -> NDArray[Any]:
        """Values at points (..., ndim), or one array a coordinate."""
        xi = coordinates(args[0] if len(args) == 1 else tuple(args), self.points.shape[1])
        if raw(xi) is None:
            raise BatchingError(
                "scipy.interpolate.NearestNDInterpolator: not under vmap; pass arrays of points."
            )
        distance, at = self.tree.query(self._scale_x(branch_on(itself, xi)), **query_options)
        is_known = np.isfinite(distance)
        out = rows(as_float(self.values), np.where(is_known, at, 0))
        if is_known.all():
            return out
        return np.where(beside(is_known, out.ndim - is_known.ndim), out, np.nan)


class CloughTocher2DInterpolator(Mirrored, scipy.interpolate.CloughTocher2DInterpolator):
    """Smooth interpolant on triangles, SciPy's CloughTocher2DInterpolator, of plain values alone.

    The slopes at the data come of an iteration that stops at a tolerance.

    Parameters
    ----------
    points : array_like, shape (n, 2), or tuple of array_like
        The points of the data.
    values : array_like, shape (n, ...)
        The values.
    *args, **options : object
        SciPy's others: fill_value, tol, maxiter, rescale.

    Raises
    ------
    NotDifferentiableError
        Of traced values and points.

    See Also
    --------
    LinearNDInterpolator : Differentiable.

    Examples
    --------
    >>> import numpy as np
    >>> points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> f = CloughTocher2DInterpolator(points, points[:, 0])
    >>> bool(np.allclose(f([[0.25, 0.5]]), 0.25))
    True
    """

    _theirs = scipy.interpolate.CloughTocher2DInterpolator

    def __init__(self, points: Any, values: Any, *args: Any, **options: Any) -> None:
        _refuse_clough()

    def __call__(self, *args: Any) -> Any:
        """Values at points."""
        _refuse_clough()


def _refuse_clough() -> None:
    raise NotDifferentiableError(
        "scipy.interpolate.CloughTocher2DInterpolator: not differentiable (its slopes come of an "
        "iteration that stops at a tolerance). Take LinearNDInterpolator or RBFInterpolator."
    )


@of_plain(scipy.interpolate.griddata)
def griddata(
    points: Any,
    values: Any,
    xi: Any,
    method: str = "linear",
    fill_value: Any = np.nan,
    rescale: bool = False,
) -> Any:
    """Interpolate scattered points, as SciPy's griddata, with derivatives.

    Linear by all arguments, nearest by values, cubic in one dimension.

    Parameters
    ----------
    points : array_like, shape (n, ndim), or tuple of array_like
        The points of the data.
    values : array_like, shape (n, ...)
        The values.
    xi : array_like, shape (..., ndim), or tuple of array_like
        The points asked.
    method : {"linear", "nearest", "cubic"}, default "linear"
        How values between are found.
    fill_value : float, default NaN
        The value outside.
    rescale : bool, default False
        Whether coordinates are scaled to the unit cube first.

    Returns
    -------
    array
        The values.

    Raises
    ------
    NotDifferentiableError
        Of traced values with "cubic" in two dimensions.
    BatchingError
        Under vmap over the data points.

    See Also
    --------
    LinearNDInterpolator : The linear interpolant as an object.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> points = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    >>> f = lambda x: griddata(points, np.array([0.0, 2.0, 3.0]), x)[0]
    >>> tapegrad.grad(f)(np.array([[0.25, 0.25]]))
    array([[2., 3.]])
    """
    first = points[0] if isinstance(points, tuple) and len(points) == 1 else points
    if not isinstance(first, tuple) and (lift(first).ndim < 2 or lift(first).shape[-1] == 1):
        return _griddata_1d(first, values, xi, method, fill_value)
    if method == "nearest":
        return NearestNDInterpolator(points, values, rescale=rescale)(xi)
    if method == "linear":
        return LinearNDInterpolator(points, values, fill_value, rescale)(xi)
    _refuse_clough()
    return None


def _griddata_1d(points: Any, values: Any, xi: Any, method: str, fill_value: Any) -> Any:
    if isinstance(xi, tuple):
        (xi,) = xi
    points = np.reshape(as_float(points), (-1,))
    order = branch_on(itself, np.argsort(untraced(points), axis=-1))
    if order.ndim != 1:
        raise BatchingError("scipy.interpolate.griddata: not under vmap over the data points.")
    fill_value = "extrapolate" if method == "nearest" else fill_value
    f = interp1d(
        points[order],
        as_float(values)[order],
        kind=method,
        axis=0,
        bounds_error=False,
        fill_value=fill_value,
    )
    return f(xi)


__all__ = [
    "CloughTocher2DInterpolator",
    "LinearNDInterpolator",
    "NearestNDInterpolator",
    "RBFInterpolator",
    "Rbf",
    "griddata",
]
