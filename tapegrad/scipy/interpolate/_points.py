"""Polynomials and rational functions through points: Krogh, barycentric, Lagrange, Pade."""

from __future__ import annotations

import operator
from math import factorial
from typing import Any

import numpy as np
import scipy.interpolate
from numpy.typing import NDArray

from tapegrad._core.types import Function, Value
from tapegrad._core.values import lift, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy.interpolate._mirrored import Mirrored, asked, raw
from tapegrad.scipy.interpolate._pieces import as_float, beside, is_plain, places, rows


class _OnAxis(Mirrored):
    """Base of functions evaluated along one axis of its values."""

    _axis: int
    _y: Any

    def _placed(self, out: Value, x: Value, lead: int = 0) -> Any:
        axis = self._axis
        if axis == 0:
            return out
        order, n = list(range(out.ndim)), x.ndim
        head, rest = order[:lead], order[lead:]
        rest = rest[n : n + axis] + rest[:n] + rest[n + axis :]
        return np.transpose(out, head + rest)


class KroghInterpolator(_OnAxis):
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

    def __init__(self, xi: Any, yi: Any, axis: int = 0) -> None:
        if is_plain(xi, yi):
            self._plain = self._theirs(xi, yi, axis)
        xi, yi = as_float(xi), as_float(yi)
        plain = raw(xi, yi)
        if plain is not None and self._plain is None:
            self._theirs(*plain, axis)
        self._axis = axis % yi.ndim
        self.xi, self._y = xi, np.moveaxis(yi, self._axis, 0)
        self._c = _differences(xi, self._y)

    def __call__(self, x: Any) -> NDArray[Any]:
        """Values at points."""
        return self._plain(x) if self._is_plain(x) else self.derivative(x, 0)

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
        if self._is_plain(x):
            return self._plain.derivatives(x, der)
        x = as_float(x)
        count = self.xi.shape[0] if der is None else der if np.ndim(der) == 0 else max(der) + 1
        out = np.stack(self._at(x, int(count)))
        return self._placed(out, x, 1)

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
        if self._is_plain(x):
            return self._plain.derivative(x, der)
        x = as_float(x)
        return self._placed(self._at(x, der + 1)[der], x)

    def _at(self, x: Value, count: int) -> list[Any]:
        """Newton's form by Horner's scheme, and that of its derivatives."""
        rank = self._y.ndim - 1
        zero = np.zeros((*x.shape, *self._y.shape[1:])) + 0.0 * beside(x, rank)
        found = [zero] * count
        for node, c in zip(self.xi[::-1], self._c[::-1], strict=True):
            step = beside(x - node, rank)
            found = [
                found[0] * step + c,
                *(found[j] * step + j * found[j - 1] for j in range(1, count)),
            ]
        return found


def _differences(x: Value, y: Value) -> Any:
    """Divided differences; a node that is repeated stands for its derivatives."""
    n = x.shape[0]
    equal = asked(untraced(x)[1:] == untraced(x)[:-1])
    same = np.zeros(n, int)  # how many equal nodes come before
    if equal is not None:
        for i in range(1, n):
            same[i] = same[i - 1] + 1 if equal[0][i - 1] else 0
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
    if is_plain(xi, yi, x):
        return scipy.interpolate.krogh_interpolate(xi, yi, x, der, axis)
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


class BarycentricInterpolator(_OnAxis):
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

    def __init__(
        self, xi: Any, yi: Any = None, axis: int = 0, *, wi: Any = None, **options: Any
    ) -> None:
        if is_plain(xi, yi, wi):
            if wi is not None:
                options["wi"] = wi
            self._plain = self._theirs(xi, yi, axis, **options)
        elif yi is None:
            raise NotDifferentiableError(
                "scipy.interpolate.BarycentricInterpolator: give yi with xi where one is traced."
            )
        self.xi = as_float(xi)
        self._wi = None if wi is None else as_float(wi)
        self._axis = 0
        if yi is not None:
            self._set(yi, axis)
        plain = raw(self.xi, None if yi is None else as_float(yi))
        if plain is not None and self._plain is None:
            self._theirs(*plain, axis)

    def __setattr__(self, name: str, value: Any) -> None:
        """Nodes and weights may be set by a program that knows better ones, as in SciPy."""
        if name in ("xi", "wi") and "_axis" in self.__dict__:
            if self._is_plain(value):
                setattr(self._plain, name, value)
            else:
                self._plain = None
            name, value = {"xi": "xi", "wi": "_wi"}[name], as_float(value)
        super().__setattr__(name, value)

    def _set(self, yi: Any, axis: Any) -> None:
        yi = as_float(yi)
        self._axis = (0 if axis is None else axis) % yi.ndim
        self._y = np.moveaxis(yi, self._axis, 0)

    def set_yi(self, yi: Any, axis: Any = None) -> None:
        """Take other values at the same nodes.

        Parameters
        ----------
        yi : array_like
            The values.
        axis : int, optional
            The axis of yi along which xi varies; 0 by default.
        """
        if self._is_plain(yi):
            self._plain.set_yi(yi, axis)
        else:
            self._plain = None
        self._set(yi, axis)

    def add_xi(self, xi: Any, yi: Any = None) -> None:
        """Add nodes.

        Parameters
        ----------
        xi : array_like
            More nodes.
        yi : array_like, optional
            Their values.
        """
        if self._is_plain(xi, yi):
            self._plain.add_xi(xi, yi)
        else:
            self._plain = None
        self.xi = np.concatenate([self.xi, as_float(xi)])
        self._wi = None
        if yi is not None:
            added = np.moveaxis(as_float(yi), self._axis, 0)
            self._y = np.concatenate([self._y, added])

    @property
    def _weights(self) -> Any:
        if self._wi is not None:
            return self._wi
        n = self.xi.shape[0]
        apart = np.expand_dims(self.xi, -1) - self.xi + np.eye(n)
        width = np.max(untraced(self.xi)) - np.min(untraced(self.xi))
        return 1 / np.prod(apart * (4 / width), axis=-1)

    def __call__(self, x: Any) -> NDArray[Any]:
        """Values at points."""
        if self._is_plain(x):
            return self._plain(x)
        x = as_float(x)
        return self._placed(barycentric_at(x, self.xi, self._weights, self._y), x)

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
        return self._plain.derivative(x, der) if self._is_plain(x) else self._krogh(x, der)

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
        if self._is_plain(x):
            return self._plain.derivatives(x, der)
        krogh = KroghInterpolator(self.xi, self._y)
        x = as_float(x)
        return self._placed(krogh.derivatives(x, der), x, 1)

    def _krogh(self, x: Any, der: int) -> Any:
        x = as_float(x)
        return self._placed(KroghInterpolator(self.xi, self._y).derivative(x, der), x)


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
    if is_plain(xi, yi, x):
        return scipy.interpolate.barycentric_interpolate(xi, yi, x, axis, der=der, **options)
    p = BarycentricInterpolator(xi, yi, axis)
    if np.ndim(der) == 0:
        return p(x) if der == 0 else p.derivative(x, der)
    return p.derivatives(x, der=np.amax(der) + 1)[der]


class FloaterHormannInterpolator(_OnAxis):
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

    _theirs: Any = getattr(scipy.interpolate, "FloaterHormannInterpolator", None)

    def __init__(self, points: Any, values: Any, *, d: int = 3, **options: Any) -> None:
        if is_plain(points, values):
            self._plain = self._theirs(points, values, d=d, **options)
        nodes, y = as_float(points), as_float(values)
        plain = raw(nodes, y)
        if plain is not None and self._plain is None:
            self._theirs(*plain, d=d, **options)
        self._axis = options.get("axis", 0) % y.ndim
        self._nodes, self._y = nodes, np.moveaxis(y, self._axis, 0)
        self._d = operator.index(d)

    @property
    def _weights(self) -> Any:
        """Floater and Hormann, Numer. Math. 107 (2007), the sums after equation 18."""
        z, d = self._nodes, self._d
        n, out = z.shape[0], []
        for k in range(n):
            total: Any = 0.0
            for i in range(max(k - d, 0), min(k + 1, n - d)):
                others = [j for j in range(i, i + d + 1) if j != k]
                total = total + 1 / np.prod(np.abs(z[k] - z[np.array(others, int)]))
            out.append((-1.0) ** (k - d) * total + 0.0 * z[k])
        return np.stack(out)

    def __call__(self, x: Any) -> NDArray[Any]:
        """Values at points."""
        if self._is_plain(x):
            return self._plain(x)
        x = as_float(x)
        out = barycentric_at(np.reshape(x, (-1,)), self._nodes, self._weights, self._y)
        return self._placed(np.reshape(out, (*x.shape, *self._y.shape[1:])), x)


class AAA(Mirrored):
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

    _theirs: Any = getattr(scipy.interpolate, "AAA", None)

    def __init__(self, x: Any, y: Any, **options: Any) -> None:
        if not is_plain(x, y):
            raise NotDifferentiableError(
                "scipy.interpolate.AAA: the support points depend on the data and jump with them, "
                "so it has no derivative by them. Take FloaterHormannInterpolator."
            )
        self._plain = self._theirs(x, y, **options)

    def __call__(self, z: Any) -> NDArray[Any]:
        """Values at points."""
        if is_plain(z):
            return self._plain(z)
        z, p = as_float(z), self._plain
        weights, nodes, y = (
            np.asarray(v) for v in (p.weights, p.support_points, p.support_values)
        )
        if any(v.dtype.kind == "c" and np.any(v.imag) for v in (nodes,)) or z.dtype.kind == "c":
            raise NotDifferentiableError(
                "scipy.interpolate.AAA: differentiable at real points, with real support points."
            )
        return barycentric_at(z, nodes.real, weights, y)


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
    if is_plain(x, w):
        return scipy.interpolate.lagrange(x, w)
    x, w = as_float(x), as_float(w)
    c = _differences(x, w)
    n = x.shape[0]
    total = c[n - 1 :]
    for i in range(n - 2, -1, -1):  # highest power first: total * (t - x[i]) + c[i]
        shifted = np.concatenate([total, np.zeros(1)])
        moved = np.concatenate([np.zeros(1), total * x[i]])
        total = shifted - moved + np.concatenate([np.zeros(total.shape[0]), c[i : i + 1]])
    return np.poly1d(total)


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
    if is_plain(an):
        return scipy.interpolate.pade(an, m, n)
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
