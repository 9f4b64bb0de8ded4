"""PPoly and BPoly: piecewise polynomials, differentiable by points, coefficients and breaks."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import scipy.interpolate
from numpy.typing import NDArray

from tapegrad._core.types import Value
from tapegrad._core.values import branch_on, itself, shown_value, untraced
from tapegrad._errors import BatchingError, InputError, message
from tapegrad.scipy._mirrored import Mirrored, asked, raw
from tapegrad.scipy.interpolate._basis import spline_at
from tapegrad.scipy.interpolate._pieces import (
    as_float,
    beside,
    between,
    differentiated,
    evaluated,
    integrated,
    rows,
)

_Base: Any = scipy.interpolate.PPoly.__base__


class _Piecewise(Mirrored, _Base):
    c: Any
    x: Any
    _differentiable = ("c", "x")

    def __init__(self, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> None:
        self._check(c, x, extrapolate, axis)
        c, x = as_float(c), as_float(x)
        axis = axis % (c.ndim - 1)
        if axis != 0:
            c = np.moveaxis(np.moveaxis(c, axis + 1, 0), axis + 1, 0)
        extrapolate = True if extrapolate is None else extrapolate
        self._keep(c=c, x=x, extrapolate=extrapolate, axis=axis)

    @classmethod
    def construct_fast(cls, c: Any, x: Any, extrapolate: Any = None, axis: int = 0) -> Any:
        """Make one of coefficients whose axis is in its place, unchecked, as SciPy's method does.

        Parameters
        ----------
        c : array, shape (degree + 1, pieces, ...)
            The coefficients.
        x : array, shape (pieces + 1,)
            The breaks.
        extrapolate : bool or "periodic", optional
            Whether points outside belong to the first and the last piece (True, the default), give
            NaN (False), or are taken within the period.
        axis : int, default 0
            The axis of the values to which the points' axes go.

        Returns
        -------
        object
            Of this class.
        """
        made = object.__new__(cls)
        extrapolate = True if extrapolate is None else extrapolate
        made._keep(c=c, x=x, extrapolate=extrapolate, axis=axis)
        return made

    def _descends(self) -> bool:
        return bool(np.all(branch_on(itself, untraced(self.x[-1]) < untraced(self.x[0]))))

    def _asked(self, extrapolate: Any) -> Any:
        return self.extrapolate if extrapolate is None else extrapolate

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> NDArray[Any]:
        """The value, or the derivative `nu`, at points."""
        x = as_float(x)
        out = self._at(x, nu, self._asked(extrapolate))
        if self.axis != 0:
            order = list(range(out.ndim))
            k, n = self.axis, x.ndim
            order = order[n : n + k] + order[:n] + order[n + k :]
            out = np.transpose(out, order)
        return out

    def _at(self, x: Value, nu: int, extrapolate: Any) -> Any:
        raise NotImplementedError

    def extend(self, c: Any, x: Any) -> None:
        """Add breaks and coefficients at the right or the left, as SciPy does.

        Parameters
        ----------
        c : array_like, shape (degree + 1, pieces, ...)
            The coefficients.
        x : array_like, shape (pieces,)
            The breaks.

        Raises
        ------
        ValueError
            If the breaks are on neither side.
        BatchingError
            Under vmap.
        """
        c, x = as_float(c), as_float(x)
        if x.size == 0 and c.size == 0:
            return
        if raw(c, x, self.c, self.x) is None:
            raise BatchingError(
                f"scipy.interpolate.{type(self).__name__}.extend: not under vmap, where the side "
                "would differ from example to example. Concatenate c and x instead."
            )
        down, ends = (
            self._descends(),
            [branch_on(itself, y) for y in (x[0], x[-1], self.x[-1], self.x[0])],
        )
        first, last, right, left = (-y if down else y for y in ends)
        if first >= right:
            action = "append"
        elif last <= left:
            action = "prepend"
        else:
            raise ValueError("`x` is neither on the left or on the right from `self.x`.")
        k = max(c.shape[0], self.c.shape[0])
        own, other = (self._raised(part, k) for part in (self.c, c))
        if action == "append":
            parts, breaks = [own, other], [self.x, x]
        else:
            parts, breaks = [other, own], [x, self.x]
        self.c, self.x = np.concatenate(parts, axis=1), np.concatenate(breaks)

    def _raised(self, c: Value, k: int) -> Any:
        """The coefficients of a higher degree of the same polynomials."""
        return np.concatenate([np.zeros((k - c.shape[0], *c.shape[1:]), c.dtype), c])


class PPoly(_Piecewise, scipy.interpolate.PPoly):
    """Piecewise polynomials by powers, as SciPy's PPoly, with derivatives.

    They are those by points asked, coefficients and breaks. At a break the value and the
    derivatives are those of the piece at its right.

    Parameters
    ----------
    c : array_like, shape (degree + 1, pieces, ...)
        The coefficients, the highest power first, of the distance to the left break.
    x : array_like, shape (pieces + 1,)
        The breaks, ascending or descending.
    extrapolate : bool or "periodic", optional
        Whether points outside belong to the first and the last piece (True, the default), give NaN
        (False), or are taken within the period.
    axis : int, default 0
        The axis of the values, of c less its first axis.

    Attributes
    ----------
    c : array
        The coefficients.
    x : array
        The breaks.
    extrapolate : bool or "periodic"
        How points outside are treated.
    axis : int
        The axis.

    Examples
    --------
    >>> import tapegrad
    >>> p = PPoly([[1.0, 2.0], [0.0, 1.0]], [0.0, 1.0, 2.0])
    >>> tapegrad.grad(p)(1.0)
    np.float64(2.0)
    """

    _theirs = scipy.interpolate.PPoly

    def _at(self, x: Value, nu: int, extrapolate: Any) -> Any:
        return evaluated(self.c, self.x, x, nu, extrapolate, down=self._descends())

    def derivative(self, nu: int = 1) -> Any:
        """Return the derivative, as an object of this class.

        Parameters
        ----------
        nu : int, default 1
            How many times; negative numbers integrate.

        Returns
        -------
        PPoly
            The derivative.
        """
        if nu < 0:
            return self.antiderivative(-nu)
        c = differentiated(self.c, nu)
        return self.construct_fast(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> Any:
        """Return the continuous integral from the first break on.

        Parameters
        ----------
        nu : int, default 1
            How many times; negative numbers differentiate.

        Returns
        -------
        PPoly
            The integral.
        """
        if nu <= 0:
            return self.derivative(-nu)
        c = self.c
        for _ in range(nu):
            c = integrated(c, self.x)
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return self.construct_fast(c, self.x, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral from a to b.

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
        limits = as_float(a), as_float(b)
        extrapolate = self._asked(extrapolate)
        return between(self.c, self.x, *limits, extrapolate, down=self._descends())

    def solve(self, y: Any = 0.0, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Return the points where the value is y.

        They move as the implicit function theorem says. One that lies at a break where the value
        jumps over y moves with the break. A root where the derivative is zero has none: infinity
        or NaN.

        Parameters
        ----------
        y : float, default 0
            The value.
        discontinuity : bool, default True
            Whether jumps over y count.
        extrapolate : bool or "periodic", optional
            That of this object by default.

        Returns
        -------
        array, shape (roots,)
            The points, as SciPy finds them.

        Raises
        ------
        InputError
            Of several functions, and under vmap.
        """
        given = asked(self.c, self.x, y)
        if given is None or self.c.ndim != 2:
            raise InputError(
                message(
                    f"scipy.interpolate.{type(self).__name__}.solve",
                    "one function, outside of vmap",
                    "several, whose roots may be of different numbers",
                    "Solve for each of them",
                )
            )
        plain = scipy.interpolate.PPoly.construct_fast(given[0], given[1], self.extrapolate)
        found = plain.solve(float(given[2]), discontinuity, extrapolate)
        at_break, where = self._jumps(plain, found, float(given[2]))
        roots: Any = found
        for _ in range(2):  # each step doubles the order to which the derivatives are right
            p, slope = (self._at(roots, nu, True) for nu in (0, 1))
            still = ~np.isfinite(found) | at_break
            # A step that is zero up to rounding: the value stays that of SciPy's root.
            step = (p - y) / np.where(still, 1.0, slope)
            step = step - shown_value(step)
            roots = roots - np.where(still, 0.0, step)
        return np.where(at_break, rows(self.x, where), roots)

    def _jumps(self, plain: Any, found: Any, y: float) -> tuple[Any, Any]:
        """Which roots lie where the value jumps, and at which break."""
        where = np.argmin(np.abs(plain.x[:, None] - found), axis=0)
        scale = np.max(np.abs(plain.c[-1]), initial=0.0) + abs(y)
        is_break = plain.x[where] == found
        return is_break & (np.abs(plain(found) - y) > 1e-8 * scale), where

    def roots(self, discontinuity: bool = True, extrapolate: Any = None) -> Any:
        """Return the points where the value is zero: see `solve`.

        Parameters
        ----------
        discontinuity : bool, default True
            Whether jumps over zero count.
        extrapolate : bool or "periodic", optional
            That of this object by default.

        Returns
        -------
        array, shape (roots,)
            The points.
        """
        return self.solve(0.0, discontinuity, extrapolate)

    @classmethod
    def from_spline(cls, tck: Any, extrapolate: Any = None) -> Any:
        """Return the pieces of a spline.

        Parameters
        ----------
        tck : BSpline or tuple
            The spline, or its knots, coefficients and degree.
        extrapolate : bool or "periodic", optional
            That of the BSpline by default, True of a tuple.

        Returns
        -------
        PPoly
            The pieces.
        """
        if not isinstance(tck, (tuple, list)):
            t, c, k = tck.t, tck.c, tck.k
            extrapolate = tck.extrapolate if extrapolate is None else extrapolate
        else:
            t, c, k = tck
        t, c = as_float(t), as_float(c)
        factor, parts = 1.0, []
        for m in range(k + 1):
            parts.append(spline_at(t, c[: len(t) - k - 1], k, t[:-1], m) / factor)
            factor *= m + 1
        return cls.construct_fast(np.stack(parts[::-1]), t, extrapolate)

    @classmethod
    def from_bernstein_basis(cls, bp: Any, extrapolate: Any = None) -> Any:
        """Return the same function as a BPoly, by powers.

        Parameters
        ----------
        bp : BPoly
            The function.
        extrapolate : bool or "periodic", optional
            That of bp by default.

        Returns
        -------
        PPoly
            The function.

        Raises
        ------
        TypeError
            If bp is no BPoly.
        """
        if not isinstance(bp, BPoly):
            return super().from_bernstein_basis(bp, extrapolate)
        extrapolate = bp.extrapolate if extrapolate is None else extrapolate
        return cls.construct_fast(to_powers(bp.c, bp.x), bp.x, extrapolate, bp.axis)


def to_powers(c: Value, x: Value) -> Any:
    """Coefficients by powers of the distance to the left break, of Bernstein polynomials'."""
    k = c.shape[0] - 1
    h = beside(x[1:] - x[:-1], c.ndim - 2)
    out = []
    for s in range(k, -1, -1):
        terms = [(-1.0) ** (s - a) * comb(k, a) * comb(k - a, s - a) * c[a] for a in range(s + 1)]
        out.append(sum(terms[1:], terms[0]) / h**s)
    return np.stack(out)


def to_bernstein(c: Value, x: Value) -> Any:
    """The converse of `to_powers`."""
    k = c.shape[0] - 1
    h = beside(x[1:] - x[:-1], c.ndim - 2)
    out = []
    for j in range(k + 1):
        terms = [c[k - a] * h**a * (comb(j, a) / comb(k, a)) for a in range(j + 1)]
        out.append(sum(terms[1:], terms[0]))
    return np.stack(out)


class BPoly(_Piecewise, scipy.interpolate.BPoly):
    """Piecewise polynomials in the Bernstein basis, as SciPy's BPoly, with derivatives.

    They are those by points asked, coefficients and breaks, as of `PPoly`.

    Parameters
    ----------
    c : array_like, shape (degree + 1, pieces, ...)
        The coefficients.
    x : array_like, shape (pieces + 1,)
        The breaks, ascending or descending.
    extrapolate : bool or "periodic", optional
        Whether points outside belong to the first and the last piece (True, the default), give NaN
        (False), or are taken within the period.
    axis : int, default 0
        The axis of the values, of c less its first axis.

    Attributes
    ----------
    c : array
        The coefficients.
    x : array
        The breaks.
    extrapolate : bool or "periodic"
        How points outside are treated.
    axis : int
        The axis.

    See Also
    --------
    PPoly : By powers.

    Examples
    --------
    >>> import tapegrad
    >>> tapegrad.grad(BPoly([[0.0], [0.0], [1.0]], [0.0, 1.0]))(0.5)
    np.float64(1.0)
    """

    _theirs = scipy.interpolate.BPoly

    def _at(self, x: Value, nu: int, extrapolate: Any) -> Any:
        c = to_powers(self.c, self.x)
        return evaluated(c, self.x, x, nu, extrapolate, down=self._descends())

    def derivative(self, nu: int = 1) -> Any:
        """Return the derivative, as an object of this class.

        Parameters
        ----------
        nu : int, default 1
            How many times; negative numbers integrate.

        Returns
        -------
        BPoly
            The derivative.
        """
        if nu < 0:
            return self.antiderivative(-nu)
        c = self.c
        for _ in range(nu):
            k = c.shape[0] - 1
            h = beside(self.x[1:] - self.x[:-1], c.ndim - 2)
            c = k * (c[1:] - c[:-1]) / h if k else np.zeros_like(c)
        return self.construct_fast(c, self.x, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> Any:
        """Return the continuous integral from the first break on.

        Parameters
        ----------
        nu : int, default 1
            How many times; negative numbers differentiate.

        Returns
        -------
        BPoly
            The integral.
        """
        if nu <= 0:
            return self.derivative(-nu)
        c = self.c
        for _ in range(nu):
            h = beside(self.x[1:] - self.x[:-1], c.ndim - 2)
            sums = np.cumsum(c, axis=0) * h / c.shape[0]
            starts = np.cumsum(sums[-1], axis=0)
            starts = np.concatenate([np.zeros_like(starts[:1]), starts[:-1]])
            c = np.concatenate([np.zeros_like(sums[:1]), sums]) + starts
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return self.construct_fast(c, self.x, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """Return the integral from a to b.

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
        c = to_powers(self.c, self.x)
        limits = as_float(a), as_float(b)
        return between(c, self.x, *limits, self._asked(extrapolate), down=self._descends())

    def _raised(self, c: Value, k: int) -> Any:
        while c.shape[0] < k:
            n = c.shape[0]
            share = beside(np.arange(1, n) / n, c.ndim - 1)
            c = np.concatenate([c[:1], share * c[:-1] + (1 - share) * c[1:], c[-1:]])
        return c

    @classmethod
    def from_power_basis(cls, pp: Any, extrapolate: Any = None) -> Any:
        """Return the same function as a PPoly, in the Bernstein basis.

        Parameters
        ----------
        pp : PPoly
            The function.
        extrapolate : bool or "periodic", optional
            That of pp by default.

        Returns
        -------
        BPoly
            The function.

        Raises
        ------
        TypeError
            If pp is no PPoly.
        """
        if not isinstance(pp, PPoly):
            return super().from_power_basis(pp, extrapolate)
        extrapolate = pp.extrapolate if extrapolate is None else extrapolate
        return cls.construct_fast(to_bernstein(pp.c, pp.x), pp.x, extrapolate, pp.axis)

    @classmethod
    def from_derivatives(
        cls, xi: Any, yi: Any, orders: Any = None, extrapolate: Any = None
    ) -> Any:
        """Return the piecewise polynomial with given values and derivatives at the breaks.

        Parameters
        ----------
        xi : array_like, shape (n,)
            The breaks.
        yi : sequence of array_like
            For each break the value, the first derivative and so on.
        orders : int or sequence of int, optional
            The degree of each piece at most.
        extrapolate : bool or "periodic", optional
            Whether points outside belong to the first and the last piece (True, the default), give
            NaN (False), or are taken within the period.

        Returns
        -------
        BPoly
            The polynomials.
        """
        x, ys = as_float(xi), [as_float(y) for y in yi]
        plain = raw(x, *ys)
        if plain is not None:
            cls._theirs.from_derivatives(plain[0], plain[1:], orders, extrapolate)
        count = len(ys)
        limits = orders if orders is not None else [None] * (count - 1)
        limits = [limits] * (count - 1) if isinstance(limits, (int, np.integer)) else limits
        pieces = []
        for i in range(count - 1):
            left, right = _used(ys[i], ys[i + 1], limits[i])
            pieces.append(_hermite_piece(x[i], x[i + 1], left, right))
        k = max(len(ys[i]) + len(ys[i + 1]) for i in range(count - 1))
        dummy = object.__new__(cls)
        raised = [cls._raised(dummy, np.stack(piece)[:, None], k) for piece in pieces]
        return cls.construct_fast(np.concatenate(raised, axis=1), x, extrapolate)


def _used(left: Value, right: Value, order: Any) -> tuple[Any, Any]:
    """How many derivatives count at each end of a piece, as SciPy's BPoly says."""
    if order is None:
        return left, right
    n = order + 1
    low = min(n // 2, len(left))
    high = min(n - low, len(right))
    low = min(n - high, len(left))
    return left[:low], right[:high]


def _hermite_piece(a: Value, b: Value, left: Value, right: Value) -> list[Any]:
    """Bernstein coefficients by the values and derivatives at both ends.

    The j-th derivative at an end is k!/(k-j)! h^-j times the j-th difference of the coefficients
    there.
    """
    na, nb = len(left), len(right)
    k, h = na + nb - 1, b - a
    first: list[Any] = []
    for j in range(na):
        factor = np.prod(np.arange(k - j + 1, k + 1, dtype=float)) if j else 1.0
        value = left[j] * h**j / factor
        for i in range(j):
            value = value - (-1.0) ** (j - i) * comb(j, i) * first[i]
        first.append(value)
    last: list[Any] = []
    for j in range(nb):
        factor = np.prod(np.arange(k - j + 1, k + 1, dtype=float)) if j else 1.0
        value = (-1.0) ** j * right[j] * h**j / factor
        for i in range(j):
            value = value - (-1.0) ** (j - i) * comb(j, i) * last[i]
        last.append(value)
    return first + last[::-1]


__all__ = ["BPoly", "PPoly", "to_bernstein", "to_powers"]
