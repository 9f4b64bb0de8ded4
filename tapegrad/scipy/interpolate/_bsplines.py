"""B-splines: SciPy's BSpline, and FITPACK's splines as tuples (t, c, k).

Differentiable by points, knots and coefficients.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import scipy.interpolate

from tapegrad._core.types import Value
from tapegrad._core.values import decide, itself, raw_value, shown_value, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy.interpolate._basis import (
    interpolating,
    not_a_knot,
    periodic,
    repeated,
    spline_at,
)
from tapegrad.scipy.interpolate._cubic import CubicSpline
from tapegrad.scipy.interpolate._mirrored import Mirrored, asked, raw
from tapegrad.scipy.interpolate._pieces import as_float, beside, is_plain, within_period


class BSpline(Mirrored):
    """SciPy's BSpline: differentiable by points, knots and coefficients.

    >>> import numpy as np, tapegrad
    >>> t = np.array([0, 0, 0, 1, 2, 2, 2.0])
    >>> tapegrad.grad(lambda c: BSpline(t, c, 2)(0.5))(np.ones(4))
    array([0.25 , 0.625, 0.125, 0.   ])
    """

    _theirs = scipy.interpolate.BSpline

    def __init__(self, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> None:
        if is_plain(t, c):
            self._adopt(self._theirs(t, c, k, extrapolate, axis))
            return
        t, c = as_float(t), as_float(c)
        plain = raw(t, c)
        if plain is not None:
            self._theirs(*plain, k, extrapolate, axis)
        axis = axis % c.ndim
        if extrapolate != "periodic":
            extrapolate = bool(extrapolate)
        self._hold(t, np.moveaxis(c, axis, 0), operator.index(k), extrapolate, axis)

    def _adopt(self, plain: Any) -> None:
        self._plain = plain
        self.t, self.c, self.k = plain.t, plain.c, plain.k
        self.extrapolate, self.axis = plain.extrapolate, plain.axis

    def _hold(self, t: Value, c: Value, k: int, extrapolate: Any, axis: int) -> None:
        self.t, self.c, self.k = t, c, k
        self.extrapolate, self.axis = extrapolate, axis

    @classmethod
    def construct_fast(cls, t: Any, c: Any, k: int, extrapolate: Any = True, axis: int = 0) -> Any:
        """As SciPy's: of coefficients whose axis is in its place, unchecked."""
        made = object.__new__(cls)
        if is_plain(t, c):
            made._adopt(cls._theirs.construct_fast(t, c, k, extrapolate, axis))
        else:
            made._hold(t, c, k, extrapolate, axis)
        return made

    def _wrapped(self, plain: Any) -> Any:
        made = object.__new__(type(self))
        made._adopt(plain)
        return made

    @property
    def tck(self) -> tuple[Any, Any, int]:
        """Knots, coefficients, degree."""
        return self.t, self.c, self.k

    @property
    def _count(self) -> int:
        return len(self.t) - self.k - 1

    def __call__(self, x: Any, nu: int = 0, extrapolate: Any = None) -> Any:
        """The value, or the derivative `nu`, at points."""
        if self._is_plain(x):
            return self._plain(x, nu, extrapolate)
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
        """The derivative as a BSpline."""
        if self._plain is not None:
            return self._wrapped(self._plain.derivative(nu))
        t, c, k = splder(self.tck, nu)
        return self.construct_fast(t, c, k, self.extrapolate, self.axis)

    def antiderivative(self, nu: int = 1) -> Any:
        """The integral from the first knot on as a BSpline."""
        if self._plain is not None:
            return self._wrapped(self._plain.antiderivative(nu))
        t, c, k = splantider(self.tck, nu)
        extrapolate = False if self.extrapolate == "periodic" else self.extrapolate
        return self.construct_fast(t, c, k, extrapolate, self.axis)

    def integrate(self, a: Any, b: Any, extrapolate: Any = None) -> Any:
        """The integral from a to b; without extrapolation the spline is zero outside."""
        if self._is_plain(a, b):
            return self._plain.integrate(a, b, extrapolate)
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        a, b = as_float(a), as_float(b)
        first, last = self.t[self.k], self.t[self._count]
        t, c, k = splantider(self.tck, 1)
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
        """The B-spline of the knots t."""
        if is_plain(t):
            made = object.__new__(cls)
            made._adopt(cls._theirs.basis_element(t, extrapolate))
            return made
        t = as_float(t)
        k = len(t) - 2
        low, high = t[:1], t[-1:]
        t = np.concatenate([*[low - 1] * k, t, *[high + 1] * k])
        c = np.zeros(len(t) - k - 1)
        c[k] = 1.0
        return cls.construct_fast(t, c, k, extrapolate)

    @classmethod
    def design_matrix(cls, x: Any, t: Any, k: int, extrapolate: Any = False) -> Any:
        """SciPy's sparse matrix; NotDifferentiableError of traced points or knots."""
        if not is_plain(x, t):
            raise NotDifferentiableError(
                "scipy.interpolate.BSpline.design_matrix: a sparse matrix of traced elements is "
                "not made. Call the BSpline of np.eye(len(t) - k - 1) at the points instead."
            )
        return cls._theirs.design_matrix(x, t, k, extrapolate)

    def insert_knot(self, x: Any, m: int = 1) -> Any:
        """The same spline with x as another knot, m times (Boehm's algorithm)."""
        if self._is_plain(x):
            return self._wrapped(self._plain.insert_knot(x, m))
        return insert(x, self, m, self.extrapolate == "periodic")

    @classmethod
    def from_power_basis(cls, pp: Any, bc_type: Any = "not-a-knot") -> Any:
        """The BSpline of a CubicSpline."""
        plain = getattr(pp, "_plain", pp)
        if isinstance(plain, scipy.interpolate.CubicSpline):
            made = object.__new__(cls)
            made._adopt(cls._theirs.from_power_basis(plain, bc_type))
            return made
        if not isinstance(pp, CubicSpline):
            raise NotImplementedError(
                f"Only CubicSpline objects are accepted for now. Got {type(pp)} instead."
            )
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


def of_theirs(plain: Any) -> Any:
    made = object.__new__(BSpline)
    made._adopt(plain)
    return made


def _parts(tck: Any) -> tuple[Any, Any, int]:
    if isinstance(tck, (BSpline, scipy.interpolate.BSpline)):
        return tck.t, tck.c, tck.k
    t, c, k = tck
    return t, c, k


def _plain_tck(tck: Any) -> Any:
    return getattr(tck, "_plain", None) or (tck.tck if isinstance(tck, BSpline) else tck)


def _kept(t: Value, c: Value, k: int) -> Any:
    return c[: t.shape[0] - k - 1]


def splder(tck: Any, n: int = 1) -> Any:
    """SciPy's splder: the derivative of a spline (t, c, k), differentiable by t and c."""
    t, c, k = _parts(tck)
    if is_plain(t, c):
        return _as_given(scipy.interpolate.splder(_plain_tck(tck), n), tck)
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


def splantider(tck: Any, n: int = 1) -> Any:
    """SciPy's splantider: the integral of a spline (t, c, k), differentiable by t and c."""
    t, c, k = _parts(tck)
    if is_plain(t, c):
        return _as_given(scipy.interpolate.splantider(_plain_tck(tck), n), tck)
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
    if not isinstance(tck, (BSpline, scipy.interpolate.BSpline)):
        return found
    if isinstance(found, scipy.interpolate.BSpline):
        return of_theirs(found)
    if isinstance(found, BSpline):
        return found
    t, c, k = found
    return BSpline.construct_fast(t, c, k, tck.extrapolate, tck.axis)


def splev(x: Any, tck: Any, der: int = 0, ext: int = 0) -> Any:
    """SciPy's splev: a spline (t, c, k) at points, differentiable by all of them.

    ext: 0 extrapolates, 1 gives zero outside, 2 raises ValueError, 3 gives the value at the end.
    """
    t, c, k = _parts(tck)
    several = isinstance(c, (list, tuple)) and np.ndim(c[0]) > 0
    if is_plain(x, t, *c) if several else is_plain(x, t, c):
        return scipy.interpolate.splev(x, _plain_tck(tck), der, ext)
    if several:
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


def splint(a: Any, b: Any, tck: Any, full_output: Any = 0) -> Any:
    """SciPy's splint: the integral of a spline, zero outside its knots, by all arguments."""
    t, c, k = _parts(tck)
    if is_plain(a, b, t, c):
        return scipy.interpolate.splint(a, b, _plain_tck(tck), full_output)
    spline = BSpline.construct_fast(as_float(t), as_float(c), k, False)
    return spline.integrate(a, b)


def spalde(x: Any, tck: Any) -> Any:
    """SciPy's spalde: all derivatives of a spline at points, by all arguments."""
    t, c, k = _parts(tck)
    if is_plain(x, t, c):
        return scipy.interpolate.spalde(x, _plain_tck(tck))
    x = as_float(x)
    out = np.stack([splev(x, tck, nu) for nu in range(k + 1)], axis=-1)
    return list(out) if x.ndim else out


def sproot(tck: Any, mest: int = 10) -> Any:
    """SciPy's sproot: the roots of a cubic spline, which move with its knots and coefficients."""
    t, c, k = _parts(tck)
    if is_plain(t, c):
        return scipy.interpolate.sproot(_plain_tck(tck), mest)
    plain = asked(as_float(t), as_float(c))
    if plain is None or k != 3:
        raise ValueError("sproot works only for cubic (k=3) splines, outside of vmap")
    roots: Any = scipy.interpolate.sproot((*plain, k), mest)
    for _ in range(2):
        step = splev(roots, tck) / splev(roots, tck, 1)
        roots = roots - (step - shown_value(step))
    return roots


def insert(x: Any, tck: Any, m: int = 1, per: Any = 0) -> Any:
    """SciPy's insert: the same spline with another knot (Boehm's algorithm), by all arguments."""
    t, c, k = _parts(tck)
    if is_plain(x, t, c):
        return _as_given(scipy.interpolate.insert(x, _plain_tck(tck), m, per), tck)
    if per or raw(as_float(t), as_float(x)) is None:
        raise NotDifferentiableError(
            "scipy.interpolate.insert: not differentiable with per=True, nor under vmap."
        )
    x, t, c = as_float(x), as_float(t), as_float(c)
    c = _kept(t, c, k)
    for _ in range(m):
        count = c.shape[0]
        found = np.searchsorted(untraced(t), untraced(x), "right")
        ell = int(np.clip(decide(itself, found) - 1, k, count - 1))
        middle = slice(ell - k + 1, ell + 1)
        share = beside((x - t[middle]) / (t[ell + 1 : ell + k + 1] - t[middle]), c.ndim - 1)
        mixed = share * c[middle] + (1 - share) * c[ell - k : ell]
        c = np.concatenate([c[: ell - k + 1], mixed, c[ell:]])
        t = np.concatenate([t[: ell + 1], x[None], t[ell + 1 :]])
    if not isinstance(tck, BSpline):
        c = np.concatenate([c, np.zeros((k + 1, *c.shape[1:]))])
    return _as_given((t, c, k), tck)


__all__ = [
    "BSpline",
    "insert",
    "of_theirs",
    "spalde",
    "splantider",
    "splder",
    "splev",
    "splint",
    "sproot",
]
