"""B-splines: SciPy's BSpline, and FITPACK's splines as tuples (t, c, k).

Differentiable by points, knots and coefficients.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.interpolate
from numpy.typing import NDArray

from tapegrad._core.types import Value
from tapegrad._core.values import branch_on, itself, raw_value, shown_value, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy._mirrored import Mirrored, as_ours, asked, of_plain, raw
from tapegrad.scipy.interpolate._basis import (
    design_matrix,
    interpolating,
    not_a_knot,
    periodic,
    repeated,
    spline_at,
)
from tapegrad.scipy.interpolate._cubic import CubicSpline
from tapegrad.scipy.interpolate._pieces import as_float, beside, within_period


class BSpline(Mirrored, scipy.interpolate.BSpline):
    """Spline by B-spline coefficients, as SciPy's BSpline, with derivatives.

    They are those by points asked, knots and coefficients.

    Parameters
    ----------
    t : array_like, shape (n + k + 1,)
        The knots, ascending.
    c : array_like
        The coefficients; their axis `axis` has length n or more.
    k : int
        The degree.
    extrapolate : bool or "periodic", optional
        Whether points outside belong to the first and the last piece (True, the default), give NaN
        (False), or are taken within the period.
    axis : int, default 0
        The axis of c that the knots belong to.

    Attributes
    ----------
    t : array
        The knots.
    c : array
        The coefficients.
    k : int
        The degree.
    extrapolate : bool or "periodic"
        How points outside are treated.
    axis : int
        The axis.

    See Also
    --------
    make_interp_spline : Makes one through points.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> t = np.array([0, 0, 0, 1, 2, 2, 2.0])
    >>> tapegrad.grad(lambda c: BSpline(t, c, 2)(0.5))(np.ones(4))
    array([0.25 , 0.625, 0.125, 0.   ])
    """

    _theirs = scipy.interpolate.BSpline
    _differentiable = ("t", "c")

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        self._check(t, c, k, extrapolate, axis)
        t, c = as_float(t), as_float(c)
        axis = axis % c.ndim
        if extrapolate != "periodic":
            extrapolate = bool(extrapolate)
        c = np.moveaxis(c, axis, 0)
        self._keep(t=t, c=c, k=operator.index(k), extrapolate=extrapolate, axis=axis)

    @classmethod
    def construct_fast(cls, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> Any:
        """Make one of coefficients whose axis is in its place, unchecked, as SciPy's method does.

        Parameters
        ----------
        t : array, shape (n + k + 1,)
            The knots.
        c : array, shape (n, ...)
            The coefficients.
        k : int
            The degree.
        extrapolate : bool or "periodic", optional
            Whether points outside belong to the first and the last piece (True, the default), give
            NaN (False), or are taken within the period.
        axis : int, default 0
            The axis of the values to which the points' axes go.

        Returns
        -------
        BSpline
            The spline.
        """
        made = object.__new__(cls)
        made._keep(t=t, c=c, k=k, extrapolate=extrapolate, axis=axis)
        return made

    @property
    def _count(self) -> int:
        return len(self.t) - self.k - 1

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> NDArray[Any]:
        """The value, or the derivative `nu`, at points."""
        x = as_float(x)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        first, last = self.t[self.k], self.t[self._count]
        points = within_period(x, first, last) if extrapolate == "periodic" else x
        out = spline_at(self.t, self.c[: self._count], self.k, points, nu)
        if not extrapolate:
            outside = _outside(*map(untraced, (points, first, last)))
            out = np.where(beside(outside, self.c.ndim - 1), np.nan, out)
        if self.axis != 0:
            order = list(range(out.ndim))
            a, n = self.axis, x.ndim
            out = np.transpose(out, order[n : n + a] + order[:n] + order[n + a :])
        return out

    def derivative(self, nu: int = 1) -> Any:
        """Return the derivative as a BSpline.

        Parameters
        ----------
        nu : int, default 1
            How many times; negative numbers integrate.

        Returns
        -------
        BSpline
            The derivative.
        """
        t, c, k = splder(self.tck, nu)
        return self.construct_fast(t, c, k, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> Any:
        """Return the integral from the first knot on as a BSpline.

        Parameters
        ----------
        nu : int, default 1
            How many times; negative numbers differentiate.

        Returns
        -------
        BSpline
            The integral.
        """
        t, c, k = splantider(self.tck, nu)
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return self.construct_fast(t, c, k, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral from a to b; without extrapolation the spline is zero outside.

        Parameters
        ----------
        a, b : float
            The limits.
        extrapolate : bool or "periodic", optional
            That of this object by default.

        Returns
        -------
        array
            The integral, of the shape of a value.
        """
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        a, b = as_float(a), as_float(b)
        first, last = self.t[self.k], self.t[self._count]
        # Padded, as FITPACK's tuples are: SciPy's splantider cuts k + 1 coefficients off.
        padding = np.zeros((self.k + 1, *self.c.shape[1:]))
        c = np.concatenate([self.c[: self._count], padding])
        t, c, k = splantider((self.t, c, self.k), 1)
        whole = self.construct_fast(t, c, k, True)

        def at(x: Value) -> Any:
            if extrapolate == "periodic":
                turns = np.floor(untraced((x - first) / (last - first)))
                rest = whole(x - turns * (last - first)) - whole(first)
                return turns * (whole(last) - whole(first)) + rest
            return whole(x if extrapolate else np.clip(x, first, last))

        return at(b) - at(a)

    @classmethod
    def basis_element(cls, t: Any, extrapolate: Any = True) -> Any:
        """Return the B-spline of some knots.

        Parameters
        ----------
        t : array_like, shape (k + 2,)
            The knots.
        extrapolate : bool or "periodic", default True
            How points outside are treated.

        Returns
        -------
        BSpline
            One basis function, of degree k.
        """
        t = as_float(t)
        k = len(t) - 2
        low, high = t[:1], t[-1:]
        t = np.concatenate([*[low - 1] * k, t, *[high + 1] * k])
        c = np.zeros(len(t) - k - 1)
        c[k] = 1.0
        return cls.construct_fast(t, c, k, extrapolate)

    @classmethod
    def design_matrix(cls, x: Any, t: Any, k: int, extrapolate: Any = False) -> Any:
        """Return the sparse matrix of the basis functions at points.

        Parameters
        ----------
        x : array_like, shape (points,)
            The points.
        t : array_like, shape (n + k + 1,)
            The knots.
        k : int
            The degree.
        extrapolate : bool or "periodic", default False
            How points outside are treated.

        Returns
        -------
        SparseArray or scipy.sparse.csr_array
            Of shape (points, n).

        Raises
        ------
        NotDifferentiableError
            Inside a vmap that maps over points or knots.
        """
        x, t, k = as_float(x), as_float(t), operator.index(k)
        plain = raw(x, t)
        if plain is not None:
            cls._theirs.design_matrix(*plain, k, extrapolate)
        if extrapolate == "periodic":
            first, last = t[k], t[t.shape[0] - k - 1]
            x = within_period(x, first, last)
        n = t.shape[0] - k - 1
        return design_matrix("BSpline.design_matrix", x[:, None], [t], [k], n)

    def insert_knot(self, x: Any, m: int = 1) -> Any:
        """Return the same spline with another knot (Boehm's algorithm).

        Parameters
        ----------
        x : float
            The knot.
        m : int, default 1
            How often it is inserted.

        Returns
        -------
        BSpline
            The spline.
        """
        return insert(x, self, m, self.extrapolate == "periodic")

    @classmethod
    def from_power_basis(cls, pp: Any, bc_type: Any = "not-a-knot") -> Any:
        """Return the BSpline of a CubicSpline.

        Parameters
        ----------
        pp : CubicSpline
            The spline.
        bc_type : str, default "not-a-knot"
            The conditions that it was made with.

        Returns
        -------
        BSpline
            The spline.

        Raises
        ------
        NotImplementedError
            Of other objects.
        """
        if not isinstance(pp, CubicSpline):
            return super().from_power_basis(pp, bc_type)
        x, y = pp.x, np.concatenate([pp.c[-1], pp(pp.x[-1:])])
        if bc_type == "periodic":
            t, c = periodic(x, y, 3)
        elif bc_type in ("natural", "clamped"):
            t = repeated(x[:1], 3, x, x[-1:])
            ends = [[(1, pp(x[i], 1))] for i in (0, -1)]
            c = interpolating(x, y, t, 3, *ends)
        else:
            t = not_a_knot(x, 3)
            c = interpolating(x, y, t, 3, [], [])
        return cls.construct_fast(t, c, 3, pp.extrapolate, pp.axis)


def _outside(points: Any, low: Any, high: Any) -> Any:
    return (points < low) | (points > high)


def _parts(tck: Any) -> tuple[Any, Any, int]:
    if isinstance(tck, scipy.interpolate.BSpline):
        return tck.t, tck.c, tck.k
    t, c, k = tck
    return t, c, k


def _kept(t: Value, c: Value, k: int) -> Any:
    return c[: t.shape[0] - k - 1]


@of_plain(scipy.interpolate.splder)
def splder(tck: Any, n: int = 1) -> Any:
    """Return the derivative of a spline, as SciPy's splder, differentiably by the spline.

    Parameters
    ----------
    tck : tuple or BSpline
        The spline: knots t, coefficients c and degree k.
    n : int, default 1
        How many times; negative numbers integrate.

    Returns
    -------
    tuple or BSpline
        A spline of the kind of the argument.

    Raises
    ------
    ValueError
        If n is above the degree.

    See Also
    --------
    splantider : The integral.

    Examples
    --------
    >>> import numpy as np
    >>> splder(BSpline([0.0, 0.0, 1.0, 1.0], [0.0, 2.0], 1))(0.3)
    array(2.)
    """
    t, c, k = _parts(tck)
    if n < 0:
        return splantider(tck, -n)
    if n > k:
        raise ValueError(f"Order of derivative (n = {n!r}) must be <= order of spline (k = {k!r})")
    t, c = as_float(t), as_float(c)
    c = _kept(t, c, k)
    for _ in range(n):
        width = t[k + 1 : -1] - t[1 : -k - 1]
        flat = untraced(width) == 0
        width = np.where(flat, 1.0, width)
        c = np.where(
            beside(flat, c.ndim - 1), 0.0, k * (c[1:] - c[:-1]) / beside(width, c.ndim - 1)
        )
        t, k = t[1:-1], k - 1
    c = np.concatenate([c, np.zeros((k + 1, *c.shape[1:]))])
    return _as_given((t, c, k), tck)


@of_plain(scipy.interpolate.splantider)
def splantider(tck: Any, n: int = 1) -> Any:
    """Return the integral of a spline, as SciPy's splantider, differentiably by the spline.

    Parameters
    ----------
    tck : tuple or BSpline
        The spline: knots t, coefficients c and degree k.
    n : int, default 1
        How many times; negative numbers differentiate.

    Returns
    -------
    tuple or BSpline
        A spline of the kind of the argument, zero at the first knot.

    See Also
    --------
    splder : The derivative.

    Examples
    --------
    >>> import numpy as np
    >>> splantider(BSpline([0.0, 0.0, 1.0, 1.0], [0.0, 2.0], 1))(1.0)
    array(1.)
    """
    t, c, k = _parts(tck)
    if n < 0:
        return splder(tck, -n)
    t, c = as_float(t), as_float(c)
    c = _kept(t, c, k)
    for _ in range(n):
        width = beside(t[k + 1 :] - t[: -k - 1], c.ndim - 1)
        c = np.cumsum(c * width, axis=0) / (k + 1)
        c = np.concatenate([np.zeros_like(c[:1]), c])
        t, k = np.concatenate([t[:1], t, t[-1:]]), k + 1
    c = np.concatenate([c, *[c[-1:]] * (k + 1)])
    return _as_given((t, c, k), tck)


def _as_given(found: Any, tck: Any) -> Any:
    """A result of the kind of the argument: a BSpline of one, else a tuple."""
    if not isinstance(tck, scipy.interpolate.BSpline):
        return found
    if isinstance(found, scipy.interpolate.BSpline):
        return as_ours(found)
    t, c, k = found
    return BSpline.construct_fast(t, c, k, tck.extrapolate, tck.axis)


@of_plain(scipy.interpolate.splev)
def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """Evaluate a spline at points, as SciPy's splev, differentiably by all of them.

    Parameters
    ----------
    x : array_like
        The points.
    tck : tuple or BSpline
        The spline: knots t, coefficients c (or a list of them) and degree k.
    der : int, default 0
        The order of the derivative, up to k.
    ext : {0, 1, 2, 3}, default 0
        Outside: 0 extrapolates, 1 gives zero, 2 raises, 3 gives the value at the end.

    Returns
    -------
    array or list of array
        The values, a list if c is one.

    Raises
    ------
    ValueError
        Of a point outside with ext=2, and of another der or ext.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> from tapegrad.scipy.interpolate import splrep
    >>> tck = splrep(np.arange(6.0), np.arange(6.0) ** 2)
    >>> round(float(tapegrad.grad(lambda x: splev(x, tck))(1.5)), 9)
    3.0
    """
    t, c, k = _parts(tck)
    if isinstance(c, (list, tuple)) and np.ndim(c[0]) > 0:
        return [splev(x, (t, one, k), der, ext) for one in c]
    x, t, c = as_float(x), as_float(t), as_float(c)
    if not 0 <= der <= k:
        raise ValueError(f"0<=der={der}<=k={k} must hold")
    if ext not in (0, 1, 2, 3):
        raise ValueError(f"ext = {ext} not in (0, 1, 2, 3) ")
    low, high = t[k], t[t.shape[0] - k - 1]
    outside = _outside(*map(untraced, (x, low, high)))
    if ext == 2 and np.any(raw_value(outside)):
        raise ValueError("A value in x is outside of the domain of the spline.")
    points = np.clip(x, low, high) if ext == 3 and der == 0 else x  # as SciPy does
    out = spline_at(t, _kept(t, c, k), k, points, der)
    return np.where(beside(outside, c.ndim - 1), 0.0, out) if ext == 1 else out


@of_plain(scipy.interpolate.splint)
def splint(a: Any, b: Any, tck: Any, full_output: Any = 0) -> Any:
    """Integrate a spline, as SciPy's splint, differentiably by all arguments.

    It is zero outside of its knots.

    Parameters
    ----------
    a, b : float
        The limits.
    tck : tuple or BSpline
        The spline: knots t, coefficients c and degree k.
    full_output : int, default 0
        Of plain calls: whether SciPy's second output is returned.

    Returns
    -------
    float
        The integral.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> tck = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.0, 2.0, 0.0, 0.0]), 1
    >>> round(float(tapegrad.grad(lambda b: splint(0.0, b, tck))(0.5)), 9)
    1.0
    """
    t, c, k = _parts(tck)
    spline = BSpline.construct_fast(as_float(t), as_float(c), k, False)
    return spline.integrate(a, b)


@of_plain(scipy.interpolate.spalde)
def spalde(x: Any, tck: Any) -> Any:
    """Return all derivatives of a spline at points, as SciPy's spalde, differentiably by both.

    Parameters
    ----------
    x : array_like
        The points.
    tck : tuple or BSpline
        The spline: knots t, coefficients c and degree k.

    Returns
    -------
    array or list of array
        The value and k derivatives at each point, a list of several points.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> from tapegrad.scipy.interpolate import splrep
    >>> tck = splrep(np.arange(6.0), np.arange(6.0) ** 2)
    >>> slopes = tapegrad.jacrev(lambda x: spalde(x, tck))(1.5)
    >>> bool(np.allclose(slopes, [3.0, 2.0, 0.0, 0.0]))
    True
    """
    t, c, k = _parts(tck)
    x = as_float(x)
    out = np.stack([splev(x, tck, nu) for nu in range(k + 1)], axis=-1)
    return list(out) if x.ndim else out


@of_plain(scipy.interpolate.sproot)
def sproot(tck: Any, mest: int = 10) -> Any:
    """Return the roots of a cubic spline, as SciPy's sproot, which move with it.

    Parameters
    ----------
    tck : tuple or BSpline
        The spline: knots t, coefficients c and degree k.
    mest : int, default 10
        The most roots.

    Returns
    -------
    array, shape (roots,)
        The roots.

    Raises
    ------
    ValueError
        Of another degree than 3, and under vmap.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> from tapegrad.scipy.interpolate import make_interp_spline
    >>> x = np.arange(6.0)
    >>> root = lambda y: sproot(make_interp_spline(x, y))[0]
    >>> bool(np.isclose(np.sum(tapegrad.grad(root)(x - 2.5)), -1))
    True
    """
    t, c, k = _parts(tck)
    plain = asked(as_float(t), as_float(c))
    if plain is None or k != 3:
        raise ValueError("sproot works only for cubic (k=3) splines, outside of vmap")
    roots: Any = scipy.interpolate.sproot((*plain, k), mest)
    for _ in range(2):
        step = splev(roots, tck) / splev(roots, tck, 1)
        roots = roots - (step - shown_value(step))
    return roots


@of_plain(scipy.interpolate.insert)
def insert(x: Any, tck: Any, m: int = 1, per: Any = 0) -> Any:
    """Return the same spline with another knot, as SciPy's insert, differentiably by both.

    Parameters
    ----------
    x : float
        The knot.
    tck : tuple or BSpline
        The spline: knots t, coefficients c and degree k.
    m : int, default 1
        How often it is inserted.
    per : bool, default False
        Whether the spline is periodic.

    Returns
    -------
    tuple or BSpline
        A spline of the kind of the argument.

    Raises
    ------
    NotDifferentiableError
        Of traced values with per=True, and under vmap.

    Notes
    -----
    Boehm's algorithm.

    Examples
    --------
    >>> import numpy as np
    >>> spline = BSpline([0.0, 0.0, 1.0, 1.0], [0.0, 2.0], 1)
    >>> insert(0.5, spline).t
    array([0. , 0. , 0.5, 1. , 1. ])
    """
    t, c, k = _parts(tck)
    if per or raw(as_float(t), as_float(x)) is None:
        raise NotDifferentiableError(
            "scipy.interpolate.insert: not differentiable with per=True, nor under vmap."
        )
    x, t, c = as_float(x), as_float(t), as_float(c)
    c = _kept(t, c, k)
    for _ in range(m):
        count = c.shape[0]
        found = np.searchsorted(untraced(t), untraced(x), "right")
        ell = int(np.clip(branch_on(itself, found) - 1, k, count - 1))
        middle = slice(ell - k + 1, ell + 1)
        share = beside((x - t[middle]) / (t[ell + 1 : ell + k + 1] - t[middle]), c.ndim - 1)
        mixed = share * c[middle] + (1 - share) * c[ell - k : ell]
        c = np.concatenate([c[: ell - k + 1], mixed, c[ell:]])
        t = np.concatenate([t[: ell + 1], x[None], t[ell + 1 :]])
    if not isinstance(tck, scipy.interpolate.BSpline):
        c = np.concatenate([c, np.zeros((k + 1, *c.shape[1:]))])
    return _as_given((t, c, k), tck)


__all__ = ["BSpline", "insert", "spalde", "splantider", "splder", "splev", "splint", "sproot"]
