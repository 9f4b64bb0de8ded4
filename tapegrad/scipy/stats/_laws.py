"""Formulas to differentiate a distribution: a formula for its density, and for its tails.

A law is a distribution in standard form, of location 0 and scale 1, at points inside its support.
Its formulas are NumPy code over `(y, *shapes)`. Of the distribution function, of its complement
and of their logarithms a law gives those that are exact in both tails; the others follow. The
values that a program sees are SciPy's: a formula is there to be differentiated, so that
`log(1 - exp(v))` may lose digits that its derivative `1 / (1 - exp(-v))` keeps.

Must not know the objects of `scipy.stats`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tapegrad import elementwise, jvp, primitive

Formula = Callable[..., Any]


@dataclass(frozen=True)
class Density:
    """A distribution in standard form. Every formula takes `(y, *shapes)`.

    pdf: in place of exp(logpdf), where it has a derivative that minus infinity does not have
    cdf, sf: differentiated by the shapes alone; by y their slopes are the density and its negative
    even: the density is symmetric about 0, for all shapes
    support: the ends `(*shapes)`, where they depend on the shapes
    kinks: the points `(*shapes)` between which the density is smooth; a tuple, in order
    points: of a law from a finite end to infinity, plain points `(*shapes)` that divide it for
        quadrature, in order, in place of quantiles; what is farther off than the last is a tail
    score: partials of `logpdf` by y and by each shape, in place of those of the formula; for speed
    area_slopes: those by y of `cdf`, `sf`, `logcdf` and `logsf`, of a law without shapes; the same
    mean, variance, entropy: of the shapes, in place of quadrature (or, of a discrete law, of a
        sum; that has no such entropy)
    """

    logpdf: Formula
    pdf: Formula | None = None
    cdf: Formula | None = None
    sf: Formula | None = None
    logcdf: Formula | None = None
    logsf: Formula | None = None
    even: bool = False
    support: Formula | None = None
    kinks: Formula | None = None
    points: Formula | None = None
    score: tuple[Formula, ...] = ()
    area_slopes: Mapping[str, Formula] = field(default_factory=dict)
    mean: Formula | None = None
    variance: Formula | None = None
    entropy: Formula | None = None
    fixed: tuple[str, ...] = ()  # shapes that are whole numbers, and have no derivative


def plain(x: Any) -> Any:
    """The values of an argument, without traces and batches."""
    while hasattr(x, "_value"):
        x = x._value
    return x


def slope(function: Formula, position: int) -> Formula:
    """The partial derivative of an elementwise function by the argument at a position."""

    def partial(*args: Any) -> Any:
        shape = np.broadcast_shapes(*[np.shape(arg) for arg in args])
        at = np.broadcast_to(args[position], shape)

        def moved(value: Any) -> Any:
            return function(*args[:position], value, *args[position + 1 :])

        return jvp(moved, (at,), (np.ones(shape),))[1]

    return partial


def by_density(cdf: Formula, density: Formula, count: int) -> Any:
    """A distribution function, whose slope by y is a density: 1 + count arguments."""

    @primitive
    def area(*args: Any) -> Any:
        return cdf(*args)

    elementwise(
        area,
        lambda _out, *args: density(*args),
        *[_unread_out(slope(cdf, position)) for position in range(1, count + 1)],
        strong=True,
    )
    return area


def _unread_out(partial: Formula) -> Formula:
    return lambda _out, *args: partial(*args)


def log1mexp(v: Any) -> Any:
    """log(1 - exp(v)) of v <= 0 (Maechler, Accurately computing log(1 - exp(-abs(a))), 2012)."""
    near = v > -0.6931471805599453
    far = np.log1p(-np.exp(np.where(near, -1.0, v)))
    return np.where(near, np.log(-np.expm1(np.where(near, v, -1.0))), far)


class Formulas:
    """The formulas of a law by the names of SciPy's methods: pdf, logpdf, cdf and so on."""

    def __init__(self, law: Density, count: int, is_continuous: bool) -> None:
        self.law = law
        self.logpdf = law.logpdf
        cdf, sf, logcdf, logsf = law.cdf, law.sf, law.logcdf, law.logsf
        if cdf is not None and is_continuous:
            cdf = by_density(cdf, self.pdf, count)
        if sf is not None and is_continuous:
            sf = by_density(sf, lambda *args: -self.pdf(*args), count)
        if law.even:
            cdf, sf = _both(cdf, sf)
            logcdf, logsf = _both(logcdf, logsf)
        self._cdf, self._sf, self._logcdf, self._logsf = cdf, sf, logcdf, logsf
        self.known = any(f is not None for f in (cdf, sf, logcdf, logsf))

    def pdf(self, *args: Any) -> Any:
        law = self.law
        return np.exp(law.logpdf(*args)) if law.pdf is None else law.pdf(*args)

    def cdf(self, *args: Any) -> Any:
        if self._cdf is not None:
            return self._cdf(*args)
        if self._logcdf is not None:
            return np.exp(self._logcdf(*args))
        if self._logsf is not None:
            return -np.expm1(self._logsf(*args))
        assert self._sf is not None
        return 1 - self._sf(*args)

    def sf(self, *args: Any) -> Any:
        if self._sf is not None:
            return self._sf(*args)
        if self._logsf is not None:
            return np.exp(self._logsf(*args))
        if self._logcdf is not None:
            return -np.expm1(self._logcdf(*args))
        assert self._cdf is not None
        return 1 - self._cdf(*args)

    def logcdf(self, *args: Any) -> Any:
        if self._logcdf is not None:
            return self._logcdf(*args)
        if self._cdf is None and self._logsf is not None:
            return log1mexp(self._logsf(*args))
        return np.log(self.cdf(*args))

    def logsf(self, *args: Any) -> Any:
        if self._logsf is not None:
            return self._logsf(*args)
        if self._sf is None and self._logcdf is not None:
            return log1mexp(self._logcdf(*args))
        return np.log(self.sf(*args))

    def shape_slope(self, position: int) -> Formula:
        """The partial of the distribution function by a shape, exact in both tails."""
        lower = slope(self.cdf, position)
        if self._sf is None and self._logsf is None:
            return lower
        if self._cdf is None and self._logcdf is None:
            upper = slope(self.sf, position)
            return lambda *args: -upper(*args)
        upper = slope(self.sf, position)

        def of_nearer_tail(*args: Any) -> Any:
            return np.where(self.cdf(*args) < 0.5, lower(*args), -upper(*args))

        return of_nearer_tail


def _both(left: Formula | None, right: Formula | None) -> tuple[Formula | None, Formula | None]:
    """The two tails of a symmetric law, of which one was given."""
    if left is None and right is None:
        return None, None
    return left or _mirrored(right), right or _mirrored(left)


def _mirrored(function: Any) -> Formula:
    return lambda y, *shapes: function(-y, *shapes)


__all__ = ["Density", "Formulas", "by_density", "log1mexp", "plain", "slope"]
