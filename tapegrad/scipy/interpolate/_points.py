"""Polynomials and rational functions through points: Krogh, barycentric, Lagrange, Pade."""

from __future__ import annotations

import operator
from math import factorial
from typing import Any

import numpy as np
import scipy.interpolate
from numpy.typing import NDArray

from tapegrad._core.types import Function, Value
from tapegrad._core.values import lift, raw_value, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy._mirrored import Mirrored, is_plain, of_plain, raw
from tapegrad.scipy._questions import agreed
from tapegrad.scipy.interpolate._pieces import as_float, beside, places, rows


class _OnAxis(Mirrored):
    """Base of functions evaluated along one axis of its values."""

    def _placed(self, out: Value, x: Value, axis: int, lead: int = 0) -> Any:
        if axis == 0:
            return out
        order, n = list(range(out.ndim)), x.ndim
        head, rest = order[:lead], order[lead:]
        rest = rest[n : n + axis] + rest[:n] + rest[n + axis :]
        return np.transpose(out, head + rest)


class KroghInterpolator(_OnAxis, scipy.interpolate.KroghInterpolator):
    """Polynomial through points, as SciPy's KroghInterpolator, with derivatives.

    They are those by points asked, xi and yi.

    Parameters
    ----------
    xi : array_like, shape (n,)
        The nodes. Where one repeats, yi holds derivatives, as in SciPy; such points stay together.
    yi : array_like
        The values; their axis `axis` has length n.
    axis : int, default 0
        The axis of yi along which xi varies.

    See Also
    --------
    BarycentricInterpolator : The same polynomial in another form.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> p = KroghInterpolator(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 4.0]))
    >>> tapegrad.grad(p)(1.5)
    np.float64(3.0)
    """

    _theirs = scipy.interpolate.KroghInterpolator
    _differentiable = ("xi", "c")

    def __init__(self, xi: Any, yi: Any, axis: int = 0) -> None:
        self._check(xi, yi, axis)
        xi, yi = as_float(xi), as_float(yi)
        self.xi = xi
        _set_values(self, yi, axis)
        c = _differences(xi, self.yi)
        self.c = np.concatenate([c, np.zeros_like(c[:1])])

    def __call__(self, x: Any) -> NDArray[Any]:
        """Values at points."""
        return self.derivative(x, 0)

    def derivatives(self, x: Any, der: Any = None) -> Any:
        """Return the value and derivatives at points.

        Parameters
        ----------
        x : array_like
            The points.
        der : int, optional
            How many to return, the value being the first; all by default.

        Returns
        -------
        array
            Along a new first axis the value, the first derivative and so on.
        """
        x = as_float(x)
        count = self.xi.shape[0] if der is None else der if np.ndim(der) == 0 else max(der) + 1
        out = np.stack(self._at(x, int(count)))
        return self._placed(out, x, self._y_axis, 1)

    def derivative(self, x: Any, der: int = 1) -> Any:
        """Return one derivative at points.

        Parameters
        ----------
        x : array_like
            The points.
        der : int, default 1
            Its order.

        Returns
        -------
        array
            The derivative.
        """
        x = as_float(x)
        return self._placed(self._at(x, der + 1)[der], x, self._y_axis)

    def _at(self, x: Value, count: int) -> list[Any]:
        """Newton's form by Horner's scheme, and that of its derivatives."""
        shape = self._y_extra_shape
        rank = len(shape)
        zero = np.zeros((*x.shape, *shape)) + 0.0 * beside(x, rank)
        found = [zero] * count
        coefficients = np.reshape(self.c[: self.n], (self.n, *shape))
        for node, c in zip(self.xi[::-1], coefficients[::-1], strict=True):
            step = beside(x - node, rank)
            found = [
                found[0] * step + c,
                *(found[j] * step + j * found[j - 1] for j in range(1, count)),
            ]
        return found


def _set_values(of: Any, yi: Value, axis: int) -> None:
    """Set what SciPy's classes hold of values."""
    of._y_axis = axis % yi.ndim
    y = np.moveaxis(yi, of._y_axis, 0)
    of.n, of._y_extra_shape = y.shape[0], y.shape[1:]
    of.yi = np.reshape(y, (of.n, -1))
    of.r = of.yi.shape[1]
    of.dtype = np.dtype(complex if yi.dtype.kind == "c" else float).type


def _differences(x: Value, y: Value) -> Any:
    """Divided differences; a node that is repeated stands for its derivatives."""
    n = x.shape[0]
    equal = agreed(
        lambda nodes: tuple((nodes[1:] == nodes[:-1]).tolist()),
        *(x, "scipy.interpolate.KroghInterpolator", "which nodes are equal"),
    )
    same = np.zeros(n, int)  # how many equal nodes come before
    for i in range(1, n):
        same[i] = same[i - 1] + 1 if equal[i - 1] else 0
    # column[i] is the difference over nodes i - order ... i
    column = [y[i - same[i]] for i in range(n)]
    out = [column[0]]
    for order in range(1, n):
        before, column = column, list(column)
        for i in range(order, n):
            if same[i] >= order:
                column[i] = y[i - same[i] + order] / factorial(order)
            else:
                column[i] = (before[i] - before[i - 1]) / (x[i] - x[i - order])
        out.append(column[order])
    return np.stack(out)


@of_plain(scipy.interpolate.krogh_interpolate)
def krogh_interpolate(xi: Any, yi: Any, x: Any, der: Any = 0, axis: int = 0) -> Any:
    """Evaluate the polynomial through points, as SciPy's krogh_interpolate, with derivatives.

    They are those by xi, yi and x.

    Parameters
    ----------
    xi : array_like, shape (n,)
        The nodes.
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
    array
        The values, along a new first axis if there are several orders.

    See Also
    --------
    KroghInterpolator : The polynomial as an object.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> by_values = tapegrad.grad(lambda y: krogh_interpolate(np.array([0.0, 2.0]), y, 0.5))
    >>> by_values(np.array([1.0, 3.0]))
    array([0.75, 0.25])
    """
    p = KroghInterpolator(xi, yi, axis)
    if np.ndim(der) == 0:
        return p(x) if der == 0 else p.derivative(x, der)
    return p.derivatives(x, der=np.amax(der) + 1)[der]


def barycentric_at(x: Value, nodes: Value, weights: Value, y: Value) -> Any:
    """A rational function in barycentric form, without a singularity at its nodes.

    With i the nearest node, p(x) = y_i + s N / (1 + s M) for s = x - x_i, where N and M are sums
    over the other nodes j of w_j / w_i / (x - x_j), N with factors y_j - y_i (Berrut and
    Trefethen, SIAM Review 46, 2004, equation 4.2, multiplied out).
    """
    flat = np.reshape(x, (-1,))
    order = np.argsort(untraced(nodes))
    ordered = rows(untraced(nodes), order)
    middle = (ordered[1:] + ordered[:-1]) / 2
    near = rows(order, places(middle, flat, -1, nodes.shape[0]) + 1)
    s = flat - rows(nodes, near)
    itself = np.expand_dims(near, -1) == np.arange(nodes.shape[0])
    apart = np.where(itself, 1.0, np.expand_dims(flat, -1) - np.expand_dims(nodes, 0))
    share = np.expand_dims(weights, 0) / np.expand_dims(rows(weights, near), -1)
    share = np.where(itself, 0.0, share / apart)
    rank = y.ndim - 1
    here = rows(y, near)
    change = np.expand_dims(y, 0) - np.expand_dims(here, 1)
    upper = np.sum(beside(share, rank) * change, axis=1)
    lower = 1 + s * np.sum(share, axis=1)
    out = here + beside(s, rank) * upper / beside(lower, rank)
    return np.reshape(out, (*x.shape, *y.shape[1:]))


class BarycentricInterpolator(_OnAxis, scipy.interpolate.BarycentricInterpolator):
    """Polynomial through points, as SciPy's BarycentricInterpolator, with derivatives.

    They are those by points asked, xi, yi and the weights wi.

    Parameters
    ----------
    xi : array_like, shape (n,)
        The nodes.
    yi : array_like, optional
        The values; their axis `axis` has length n.
    axis : int, default 0
        The axis of yi along which xi varies.
    wi : array_like, shape (n,), optional
        The barycentric weights, if they are known.
    **options : object
        SciPy's others.

    Raises
    ------
    NotDifferentiableError
        If xi is traced, and yi is left away.

    Notes
    -----
    A point near a node is evaluated by a form without the singularity there: Berrut and Trefethen,
    SIAM Review 46 (2004), equation 4.2, multiplied out.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> p = BarycentricInterpolator(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 4.0]))
    >>> round(float(tapegrad.grad(p)(1.5)), 12)
    3.0
    """

    _theirs = scipy.interpolate.BarycentricInterpolator
    _differentiable = ("xi", "yi", "wi")
    yi: Any

    def __init__(
        self, xi: Any, yi: Any = None, axis: int = 0, *, wi: Any = None, **options: Any
    ) -> None:
        if yi is None:
            raise NotDifferentiableError(
                "scipy.interpolate.BarycentricInterpolator: give yi with xi where one is traced."
            )
        self._check(xi, yi, axis)
        xi, yi = as_float(xi), as_float(yi)
        self.xi = xi
        _set_values(self, yi, axis)
        self._diff_cij = self._diff_baryint = None
        self.wi = _weights(xi) if wi is None else as_float(wi)

    def set_yi(self, yi: Any, axis: Any = None) -> None:
        """Take other values at the same nodes.

        Parameters
        ----------
        yi : array_like
            The values.
        axis : int, optional
            The axis of yi along which xi varies; that of before by default.
        """
        _set_values(self, as_float(yi), self._y_axis if axis is None else axis)

    def add_xi(self, xi: Any, yi: Any = None) -> None:
        """Add nodes.

        Parameters
        ----------
        xi : array_like
            More nodes.
        yi : array_like, optional
            Their values.
        """
        self.xi = np.concatenate([self.xi, as_float(xi)])
        self.n, self.wi = self.xi.shape[0], _weights(self.xi)
        self._diff_cij = self._diff_baryint = None
        if yi is not None:
            added = np.moveaxis(as_float(yi), self._y_axis, 0)
            self.yi = np.concatenate([self.yi, np.reshape(added, (-1, self.r))])

    def __call__(self, x: Any) -> NDArray[Any]:
        """Values at points."""
        x = as_float(x)
        return self._placed(barycentric_at(x, self.xi, self.wi, self._y), x, self._y_axis)

    @property
    def _y(self) -> Any:
        return np.reshape(self.yi, (self.n, *self._y_extra_shape))

    def derivative(self, x: Any, der: int = 1) -> Any:
        """Return one derivative at points.

        Parameters
        ----------
        x : array_like
            The points.
        der : int, default 1
            Its order.

        Returns
        -------
        array
            The derivative.
        """
        x = as_float(x)
        krogh = KroghInterpolator(self.xi, self._y)
        return self._placed(krogh.derivative(x, der), x, self._y_axis)

    def derivatives(self, x: Any, der: Any = None) -> Any:
        """Return the value and derivatives at points.

        Parameters
        ----------
        x : array_like
            The points.
        der : int, optional
            How many to return, the value being the first; all by default.

        Returns
        -------
        array
            Along a new first axis the value, the first derivative and so on.
        """
        krogh = KroghInterpolator(self.xi, self._y)
        x = as_float(x)
        return self._placed(krogh.derivatives(x, der), x, self._y_axis, 1)


def _weights(nodes: Value) -> Any:
    """The barycentric weights, up to a factor."""
    apart = np.expand_dims(nodes, -1) - nodes + np.eye(nodes.shape[0])
    width = np.max(untraced(nodes)) - np.min(untraced(nodes))
    return 1 / np.prod(apart * (4 / width), axis=-1)


@of_plain(scipy.interpolate.barycentric_interpolate)
def barycentric_interpolate(
    xi: Any, yi: Any, x: Any, axis: int = 0, *, der: Any = 0, **options: Any
) -> Any:
    """Evaluate a polynomial through points, as SciPy's barycentric_interpolate does.

    Differentiable by xi, yi and x.

    Parameters
    ----------
    xi : array_like, shape (n,)
        The nodes.
    yi : array_like
        The values; their axis `axis` has length n.
    x : array_like
        The points asked.
    axis : int, default 0
        The axis of yi along which xi varies.
    der : int or list of int, default 0
        The order of the derivative, or several.
    **options : object
        SciPy's others, of plain calls.

    Returns
    -------
    array
        The values, along a new first axis if there are several orders.

    See Also
    --------
    BarycentricInterpolator : The polynomial as an object.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> by_values = tapegrad.grad(lambda y: barycentric_interpolate(np.array([0.0, 2.0]), y, 0.5))
    >>> by_values(np.array([1.0, 3.0]))
    array([0.75, 0.25])
    """
    p = BarycentricInterpolator(xi, yi, axis)
    if np.ndim(der) == 0:
        return p(x) if der == 0 else p.derivative(x, der)
    return p.derivatives(x, der=np.amax(der) + 1)[der]


class _Rational(_OnAxis, scipy.interpolate.AAA.__base__):
    """Base of rational functions in barycentric form."""

    _differentiable = ("_support_points", "_support_values", "weights")

    def __call__(self, z: Any) -> NDArray[Any]:
        """Values at points."""
        z, nodes = as_float(z), self._support_points
        if z.dtype.kind == "c" or np.any(np.imag(raw_value(nodes))):
            raise NotDifferentiableError(
                f"scipy.interpolate.{type(self).__name__}: differentiable at real points, with "
                "real support points."
            )
        flat = np.reshape(z, (-1,))
        out = barycentric_at(flat, np.real(nodes), self.weights, self._support_values)
        return self._placed(np.reshape(out, (*z.shape, *self._shape)), z, self._axis)


class FloaterHormannInterpolator(_Rational, scipy.interpolate.FloaterHormannInterpolator):
    """Rational function through points, as SciPy's FloaterHormannInterpolator, with derivatives.

    They are those by points asked, points and values.

    Parameters
    ----------
    points : array_like, shape (n,)
        The nodes.
    values : array_like
        The values; axis 0, or `axis`, has length n.
    d : int, default 3
        The degree of the polynomials that are blended.
    **options : object
        SciPy's others, as axis.

    Notes
    -----
    Floater and Hormann, Numerische Mathematik 107 (2007).

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> x = np.linspace(0, 2, 9)
    >>> slope = tapegrad.grad(FloaterHormannInterpolator(x, np.sin(x)))(0.8)
    >>> bool(abs(slope - np.cos(0.8)) < 1e-3)
    True
    """

    _theirs = scipy.interpolate.FloaterHormannInterpolator

    def __init__(self, points: Any, values: Any, *, d: int = 3, **options: Any) -> None:
        self._check(points, values, d=d, **options)
        nodes, y = as_float(points), as_float(values)
        self._axis = options.get("axis", 0) % y.ndim
        y = np.moveaxis(y, self._axis, 0)
        order = np.argsort(untraced(nodes))
        nodes, y, self._shape = rows(nodes, order), rows(y, order), y.shape[1:]
        self._support_points, self._support_values = nodes, y
        self.weights = _blended(nodes, operator.index(d))
        self._poles = self._residues = self._roots = None


def _blended(z: Value, d: int) -> Any:
    """Floater and Hormann, Numer. Math. 107 (2007), the sums after equation 18."""
    n, out = z.shape[0], []
    for k in range(n):
        total: Any = 0.0
        for i in range(max(k - d, 0), min(k + 1, n - d)):
            others = [j for j in range(i, i + d + 1) if j != k]
            total = total + 1 / np.prod(np.abs(z[k] - z[np.array(others, int)]))
        out.append((-1.0) ** (k - d) * total + 0.0 * z[k])
    return np.stack(out)


class AAA(_Rational, scipy.interpolate.AAA):
    """Rational approximation, as SciPy's AAA, differentiable by the points asked.

    The algorithm chooses its support points by the data, and jumps with them.

    Parameters
    ----------
    x : array_like, shape (n,)
        The points of the data.
    y : array_like, shape (n,)
        The values.
    **options : object
        SciPy's others.

    Raises
    ------
    NotDifferentiableError
        If data are traced, and at traced complex points or with complex support points.

    See Also
    --------
    FloaterHormannInterpolator : Differentiable by the data too.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> x = np.linspace(0, 2, 30)
    >>> bool(np.isclose(tapegrad.grad(AAA(x, np.exp(x)))(0.77), np.exp(0.77)))
    True
    """

    _theirs = scipy.interpolate.AAA

    def __init__(self, x: Any, y: Any, **options: Any) -> None:
        raise NotDifferentiableError(
            "scipy.interpolate.AAA: the support points depend on the data and jump with them, "
            "so it has no derivative by them. Take FloaterHormannInterpolator."
        )


@of_plain(scipy.interpolate.lagrange)
def lagrange(x: Any, w: Any) -> Any:
    """Return the polynomial through points, as SciPy's lagrange, differentiable by both arguments.

    Parameters
    ----------
    x : array_like, shape (n,)
        The nodes.
    w : array_like, shape (n,)
        The values.

    Returns
    -------
    numpy.poly1d
        The polynomial, of degree n - 1.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> tapegrad.grad(lambda w: lagrange(np.array([0.0, 2.0]), w)(0.5))(np.array([1.0, 3.0]))
    array([0.75, 0.25])
    """
    x, w = as_float(x), as_float(w)
    c = _differences(x, w)
    n = x.shape[0]
    total = c[n - 1 :]
    for i in range(n - 2, -1, -1):  # highest power first: total * (t - x[i]) + c[i]
        shifted = np.concatenate([total, np.zeros(1)])
        moved = np.concatenate([np.zeros(1), total * x[i]])
        total = shifted - moved + np.concatenate([np.zeros(total.shape[0]), c[i : i + 1]])
    return np.poly1d(total)


@of_plain(scipy.interpolate.pade)
def pade(an: Any, m: int, n: Any = None) -> Any:
    """Return a rational approximation of a power series, as SciPy's pade, differentiable by it.

    Parameters
    ----------
    an : array_like, shape (size,)
        The coefficients of the series, the constant one first.
    m : int
        The degree of the denominator.
    n : int, optional
        The degree of the numerator; size - 1 - m by default.

    Returns
    -------
    tuple of numpy.poly1d
        The numerator and the denominator.

    Examples
    --------
    >>> import warnings, numpy as np, tapegrad
    >>> def at_one(an):
    ...     with warnings.catch_warnings(action="ignore"):  # deprecated from SciPy 1.18 on
    ...         p, q = pade(an, 1)
    ...     return p(1.0) / q(1.0)
    >>> at_one([1.0, 1.0, 0.25]), tapegrad.grad(at_one)(np.array([1.0, 1.0, 0.25]))[0]
    (np.float64(2.3333333333333335), np.float64(1.0))
    """
    an = as_float(an)
    plain = raw(an)
    if plain is not None:
        scipy.interpolate.pade(plain[0], m, n)
    n = an.shape[0] - 1 - m if n is None else n
    size = m + n + 1
    an = an[:size]
    padded = np.concatenate([np.zeros(m), an])
    # Columns of q: a[row - 1], ..., a[row - m], zero before the first.
    columns = [-padded[m - j : m - j + size] for j in range(1, m + 1)]
    unit = np.eye(size, n + 1)
    matrix = np.concatenate([unit, np.stack(columns, axis=1)], axis=1) if m else unit
    pq = np.linalg.solve(matrix, an)
    q = np.concatenate([np.ones(1), pq[n + 1 :]])
    return np.poly1d(pq[: n + 1][::-1]), np.poly1d(q[::-1])


def approximate_taylor_polynomial(
    f: Function, x: Any, degree: int, scale: Any, order: Any = None
) -> Any:
    """Return Taylor's polynomial of a function by its values, as SciPy's function does.

    Differentiable by x and what f closes over.

    Parameters
    ----------
    f : callable
        Takes an array of points.
    x : float
        Where the polynomial is about.
    degree : int
        Its degree.
    scale : float
        The width of the interval in which f is called.
    order : int, optional
        The order of the polynomial through the values; `degree` by default.

    Returns
    -------
    numpy.poly1d
        The polynomial, of the distance to x.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> second = lambda x: approximate_taylor_polynomial(np.sin, x, 2, 1.0, 8).coeffs[0]
    >>> bool(abs(tapegrad.grad(second)(0.5) + np.cos(0.5) / 2) < 1e-4)
    True
    """
    order = degree if order is None else order
    n = order + 1
    nodes = scale * np.cos(np.linspace(0, np.pi, n, endpoint=bool(n % 1))) + x
    values = lift(f(nodes))
    if is_plain(x, scale, values):
        return scipy.interpolate.approximate_taylor_polynomial(f, x, degree, scale, order)
    d = KroghInterpolator(nodes, values).derivatives(x, der=degree + 1)
    factors = np.array([float(factorial(i)) for i in range(degree + 1)])
    return np.poly1d((d / factors)[::-1])


__all__ = [
    "AAA",
    "BarycentricInterpolator",
    "FloaterHormannInterpolator",
    "KroghInterpolator",
    "approximate_taylor_polynomial",
    "barycentric_interpolate",
    "krogh_interpolate",
    "lagrange",
    "pade",
]
