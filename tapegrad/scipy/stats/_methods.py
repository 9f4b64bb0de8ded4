"""The methods of SciPy's distributions as primitives, by the formulas of a law.

A method is SciPy's own, called as SciPy calls it. Its derivatives are those of its formula at
y = (x - loc) / scale; outside the support they are zero, and at its ends one-sided. Where SciPy
answers nan, for parameters outside of their domain, so are the derivatives.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from tapegrad import constant, elementwise, general, jvp, primitive, stop_gradient, unsupported
from tapegrad._block import setting
from tapegrad._core.quiet import errstate, silence
from tapegrad._core.values import any_true
from tapegrad.scipy._formula import by_formula
from tapegrad.scipy.stats._ends import AT_INFINITY, NOT_AT_ENDS, area_at, inward, vanishing
from tapegrad.scipy.stats._ends import DENSITIES as AT_ENDS
from tapegrad.scipy.stats._laws import Density, Formulas
from tapegrad.scipy.stats._quadrature import expectation
from tapegrad.scipy.stats._shared import unknown

DENSITIES = ("pdf", "logpdf")
AREAS = ("cdf", "logcdf", "sf", "logsf")
MOMENTS = ("mean", "var", "std", "entropy")

OUTSIDE, INSIDE, LOW, HIGH, FAR = map(float, range(5))  # of a support; FAR: an infinite end

_LEVELS = (0.01, 1e-10)  # of a distribution, from both sides
_FAR_OFF = 100.0  # widths
_AGREE = 1e-5  # a moment and SciPy's, which may be an integral to eight digits


def named(function: Callable[..., Any], distribution: str, method: str) -> primitive:
    """A method of a distribution as a primitive."""
    made = primitive(function)
    vars(made).update(
        __module__="tapegrad.scipy.stats",
        __name__=f"{distribution}.{method}",
        __qualname__=f"{distribution}.{method}",
    )
    return made


def shapes_of(theirs: Any) -> tuple[str, ...]:
    """The names of a distribution's shape parameters."""
    return tuple(theirs.shapes.replace(" ", "").split(",")) if theirs.shapes else ()


# The moments that a call of `stats` asks for, and those known of its parameters.
_TOGETHER: ContextVar[tuple[str, list[Any]] | None] = ContextVar("tapegrad_moments", default=None)


def together(letters: str) -> Any:
    """A block in which the moments of these letters are of one call of SciPy's.

    Of some laws each is an integral, and SciPy computes those of lower order on the way.
    """
    return setting(_TOGETHER, (letters, []))


def shared(theirs: Any, letter: str, value: Callable[..., Any]) -> Callable[..., Any]:
    """SciPy's function for a moment, which takes it from a call for several where there is one."""

    @functools.wraps(value)
    def moment(*parameters: Any, **options: Any) -> Any:
        asked = _TOGETHER.get()
        if asked is None or options:
            return value(*parameters, **options)
        letters, known = asked
        if not known or not all(map(np.array_equal, known[0], parameters)):
            known[:] = parameters, theirs.stats(*parameters, moments=letters)
        found = np.array(known[1][letters.index(letter)])
        return found[()] if letter in "mv" else found

    return moment


class Methods:
    """Base of the methods of a distribution: its law, and where it holds."""

    def __init__(self, theirs: Any, law: Density) -> None:
        self.theirs, self.law = theirs, law
        self.name = theirs.name
        self.shapes = shapes_of(theirs)
        self.formulas = Formulas(law, len(self.shapes), self.is_continuous)
        self.place = primitive(self._place)
        self.inner_point = primitive(self._inner_point)
        self.width = primitive(self._width)
        self.is_last = primitive(self._is_last)
        self.end_slope = primitive(self._end_slope)
        self.vanishes = primitive(self._vanishes)
        constants = (self.place, self.inner_point, self.width, self.is_last)
        for function in (*constants, self.end_slope, self.vanishes):
            constant(function)

    is_continuous = True

    def _support(self, shapes: tuple[Any, ...]) -> tuple[Any, Any]:
        ends: tuple[Any, Any] = self.theirs.support(*shapes)
        return ends

    def _place(self, y: Any, scale: Any, *shapes: Any) -> Any:
        """`INSIDE` the support, `OUTSIDE`, at an end of it, nan where there is none."""
        low, high = self._support(shapes)
        known = ~(np.isnan(y) | np.isnan(low)) & (scale > 0)
        inside = (y >= low) & (y <= high)
        if not self.is_continuous:
            inside &= np.isfinite(y) & (y == np.floor(y))
            return np.where(known, inside * INSIDE, np.nan)
        place = np.where(known, inside * INSIDE, np.nan)
        at_low, at_high = known & (y == low), known & (y == high)
        if np.any(at_low | at_high):
            place = np.where(at_high, HIGH, np.where(at_low, LOW, place))
            place = np.where((at_low | at_high) & np.isinf(y), FAR, place)
        return place

    def _inner_point(self, y: Any, *shapes: Any) -> Any:
        """A point inside the support."""
        low, high = self._support(shapes)
        with errstate(invalid="ignore"):
            inner = np.where(np.isfinite(high), (low + high) / 2, low + 1.0)
        inner = np.where(np.isfinite(low), inner, np.where(np.isfinite(high), high - 1.0, 0.0))
        if not self.is_continuous:
            inner = np.where(np.isfinite(low), low, np.floor(inner))
        return np.broadcast_to(inner, np.broadcast_shapes(np.shape(y), np.shape(inner))) + 0.0

    def _vanishes(self, y: Any, *shapes: Any) -> Any:
        with silence():
            return np.isneginf(self.theirs.logpdf(y, *shapes))

    def _is_last(self, y: Any, *shapes: Any) -> Any:
        """Whether nothing of the support lies above."""
        return np.greater_equal(y, self._support(shapes)[1])

    def _width(self, *shapes: Any) -> Any:
        """The width of the middle of the distribution."""
        if self.law.points is not None:
            return self.law.points(*shapes)[1] - self._support(shapes)[0]
        return self.theirs.ppf(0.75, *shapes) - self.theirs.ppf(0.25, *shapes)

    def _end_slope(self, y: Any, *shapes: Any) -> Any:
        """The slope of a quantile at an end that is infinite, or where a formula has inf - inf."""
        return np.where(np.isinf(y), np.inf, 1 / np.asarray(self.theirs.pdf(y, *shapes)))

    def checked(self, out: Any, found: Any, parameters: Any, spread: Any = 1.0) -> Any:
        """A moment, or nan where it is not SciPy's: the nodes of its sum miss a part of the law.

        spread: how far from 0 a moment is that counts as 0
        """
        bound = _AGREE * (spread + abs(out))
        known = (abs(stop_gradient(found) - out) <= bound) & np.isfinite(out)
        if not any_true(~known):
            return found
        if not any_true(known):
            return unknown(sum(parameters))
        return np.where(known, found, unknown(sum(parameters)))

    def inside(
        self,
        formula: Callable[..., Any],
        y: Any,
        shapes: tuple[Any, ...],
        scale: Any = 1.0,
        at_ends: Callable[..., Any] | None = None,
    ) -> Any:
        """A formula `(y, *shapes, scale)` where it holds; elsewhere a constant, or nan.

        at_ends: what else holds at ends of the support, of (place, found).
        """
        at, fixed = stop_gradient(y), tuple(map(stop_gradient, shapes))
        place = self.place(at, stop_gradient(scale), *fixed)
        if not any_true(place != INSIDE):
            return formula(y, *shapes, scale)
        inner, nowhere = self.inner_point(at, *fixed), np.isnan(place)
        inner = formula(np.where(place == INSIDE, y, inner), *shapes, scale)
        found = np.where(place == OUTSIDE, 0.0, inner)
        if at_ends is not None:
            found = at_ends(place, found)
        return np.where(nowhere, unknown(sum(shapes, y) + scale), found)

    def signature(self, first: str, rest: str) -> str:
        return ", ".join(filter(None, (first, *self.shapes, rest)))

    def make(self, method: str) -> Any:
        """The method of this name; None for one that is as SciPy has it."""
        raise NotImplementedError

    def expected(self, function: Callable[..., Any], *shapes: Any) -> Any:
        """The mean of `function(y, log_density)`, or of `function(k, log_probability)`."""
        raise NotImplementedError

    def central(self, order: int, *shapes: Any) -> Any:
        """The mean (1), or a central moment."""
        law = self.law
        if order == 1:
            if law.mean is not None:
                return law.mean(*shapes)
            return self.expected(lambda y, _log: y, *shapes)
        if order == 2 and law.variance is not None:
            return law.variance(*shapes)
        mean = np.expand_dims(self.central(1, *shapes), -1)
        return self.expected(lambda y, _log: (y - mean) ** order, *shapes)

    def refused(self, method: str, reason: str) -> primitive:
        made = named(getattr(self.theirs, method), self.name, method)
        unsupported(made, reason=reason)
        return made


class ContinuousMethods(Methods):
    """Of a continuous distribution, of arrays `(x, *shapes, loc, scale)`."""

    def __init__(self, theirs: Any, law: Density) -> None:
        super().__init__(theirs, law)
        self.areas = [
            area_at(self._end(which), self._end_density, len(self.shapes)) for which in (0, 1)
        ]
        self.vanishing = vanishing(len(self.shapes) + 1)
        self.moves = law.support is not None
        self.inward = [
            inward(self._end(which), which, len(self.shapes) if self.moves else 0)
            for which in (0, 1)
        ]

    def _end(self, which: int) -> Callable[..., Any]:
        return lambda *shapes: self._ends(shapes)[which]

    def make(self, method: str) -> Any:
        if method in DENSITIES or method in AREAS:
            return self._of_points(method)
        if method in ("ppf", "isf"):
            return self._of_levels(method)
        if method == "rvs":
            return self._of_draws()
        if method in MOMENTS:
            return self._of_parameters(method)
        if method in ("_skewness", "_kurtosis"):
            return self._standardized(method)
        return None

    def _of_points(self, method: str) -> primitive:
        of_standard = getattr(self.formulas, method)

        def scaled(y: Any, *rest: Any) -> Any:
            *shapes, scale = rest
            found = of_standard(y, *shapes)
            if method == "pdf":
                return found / scale
            return found - np.log(scale) if method == "logpdf" else found

        def formula(x: Any, *parameters: Any) -> Any:
            *shapes, loc, scale = parameters
            y = (x - loc) / scale

            def at_ends(place: Any, found: Any) -> Any:
                return self._with_ends(method, place, found, (x, y, tuple(shapes), scale))

            return self.inside(scaled, y, tuple(shapes), scale, at_ends)

        made = named(getattr(self.theirs, method), self.name, method)
        by_formula(
            made,
            formula,
            arrays=len(self.shapes) + 3,
            signature=self.signature("x", "loc=0, scale=1"),
            quick=self._quick(method),
        )
        return made

    def _with_ends(
        self, method: str, place: Any, found: Any, args: tuple[Any, Any, tuple[Any, ...], Any]
    ) -> Any:
        """Result inside, with one-sided derivatives at the ends of the support.

        args: x, y, shapes, scale. At infinity x has a slope of zero, which is no structural one;
        a logarithm that is minus infinity there has none.
        """
        x, y, shapes, scale = args
        inner = self.inner_point(stop_gradient(y), *map(stop_gradient, shapes))
        for which, end in enumerate((self.theirs.a, self.theirs.b)):
            here = place == (LOW, HIGH)[which]
            if (self.moves or np.isfinite(end)) and any_true(here):
                at_end = self._at_end(method, which, here, (y, inner, shapes, scale))
                found = np.where(here, at_end, found)
        far = place == FAR
        if any_true(far):
            found = np.where(far, AT_INFINITY[method](x), found)
        return found

    def _at_end(
        self, method: str, which: int, here: Any, args: tuple[Any, Any, tuple[Any, ...], Any]
    ) -> Any:
        """A method at points that are an end; args: y, inner points, shapes, scale."""
        y, inner, shapes, scale = args
        if self.name in NOT_AT_ENDS:
            return unknown(sum(shapes, y) + scale)
        y = np.where(here, y, inner)
        fixed = stop_gradient(y), *map(stop_gradient, shapes)
        gap = fixed[0] - self._ends(fixed[1:])[which]
        y = self.inward[which](y, gap, *(shapes if self.moves else ()))
        vanishes = self.vanishes(*fixed)
        fails = _like_those(here, vanishes | ~np.isfinite(self.formulas.pdf(*fixed)))
        if method == "pdf":
            return self._end_density(y, fails, inner, *shapes) / scale
        if method == "logpdf":
            found = _one_of(
                _like_those(here, vanishes),
                lambda y: self.formulas.logpdf(y, *shapes),
                lambda y: np.log(self._end_density(y, fails, inner, *shapes)),
                y,
                inner,
            )
            return found - np.log(scale)
        area = self.areas[which](y, fails, inner, *shapes)
        if method == ("logsf" if which else "logcdf"):
            return np.log(0.0 - area if which else area)  # of no negative zero
        if method.startswith("log"):
            return np.log1p(area if which else -area)
        return area if method == "cdf" else -area

    def _end_density(self, y: Any, fails: Any, inner: Any, *shapes: Any) -> Any:
        """The density at an end, as a power where its formula has no number, or vanishes."""
        power = AT_ENDS.get(self.name)

        def as_power(y: Any) -> Any:
            if power is not None:
                return power(y, *shapes)
            vanishes = self.vanishes(stop_gradient(y), *map(stop_gradient, shapes))
            zero = self.vanishing(y, *shapes)
            return np.where(vanishes, zero, 1 / zero)  # infinite, without a slope

        return _one_of(fails, as_power, lambda y: self.formulas.pdf(y, *shapes), y, inner)

    def _quick(self, method: str) -> Callable[..., Any] | None:
        """The cotangents `(g, args, wanted)` of a method's arguments by the law's own slopes."""
        if method == "logpdf" and self.law.score:
            return functools.partial(self._by_slopes, self.law.score, True)
        if method in self.law.area_slopes:
            return functools.partial(self._by_slopes, (self.law.area_slopes[method],), False)
        return None

    def _by_slopes(
        self, slopes: Sequence[Any], per_scale: bool, g: Any, args: Any, wanted: Any
    ) -> list[Any] | None:
        """Cotangents by slopes of y and of each shape, if all points are inside.

        per_scale: whether the logarithm of the scale is subtracted.
        """
        x, *shapes, loc, scale = args
        is_number = np.ndim(scale) == 0
        if not (scale > 0 if is_number else np.all(np.greater(scale, 0))):
            return None
        if shapes and np.any(np.isnan(self._support(tuple(shapes))[0])):
            return None
        y = (x - loc) / scale
        if not self._surely_inside(y):
            return None
        bar = slopes[0](y, *shapes) * g
        bar /= scale
        bars = [bar if wanted[0] else None]
        for partial, want in zip(slopes[1:], wanted[1:], strict=False):
            bars.append(partial(y, *shapes) * g if want else None)
        by_loc, by_scale = wanted[-2:]
        bars.append((-_total(bar) if np.ndim(loc) == 0 else -bar) if by_loc else None)
        if not by_scale:
            bars.append(None)
        elif is_number:
            shape = np.shape(bar)
            total = np.vdot(bar, y if np.shape(y) == shape else np.broadcast_to(y, shape))
            if per_scale:
                each = g if np.shape(g) == shape else np.broadcast_to(g, shape)
                total = total + _total(each) / scale
            bars.append(-total)
        else:
            bars.append(-(bar * y + g / scale) if per_scale else -(bar * y))
        return bars

    def _surely_inside(self, y: Any) -> bool:
        """Whether all points are finite, and inside of a support that no shape moves."""
        low, high = self.theirs.a, self.theirs.b
        if not np.isfinite(_total(y)):
            return False
        return bool(
            (low == -np.inf or np.min(y, initial=np.inf) > low)
            and (high == np.inf or np.max(y, initial=-np.inf) < high)
        )

    def _slopes(self) -> list[Callable[..., Any]]:
        """How a quantile at a fixed level moves with each shape: of y, shapes."""
        slopes = [
            self.formulas.shape_slope(position) for position in range(1, len(self.shapes) + 1)
        ]
        support = self.law.support
        logpdf = self.formulas.logpdf

        def moved(at: int) -> Callable[..., Any]:
            def by_shape(y: Any, *shapes: Any) -> Any:
                with silence():
                    slope, height = slopes[at](y, *shapes), logpdf(y, *shapes)
                    # A median where the density is 0, as of dgamma: no shape moves it.
                    fixed = (stop_gradient(slope) == 0) & np.isneginf(stop_gradient(height))
                    change = -slope * np.exp(np.where(fixed, 0.0, -height))
                    ends = self._ends(shapes)
                    low, high = y == ends[0], y == ends[1]
                    at_low, at_high = 0.0, 0.0
                    if support is not None:
                        at_low, at_high = _ends_slope(support, at, shapes)
                    return np.where(low, at_low, np.where(high, at_high, change))

            return by_shape

        return [moved(at) for at in range(len(self.shapes))]

    def _ends(self, shapes: tuple[Any, ...]) -> tuple[Any, Any]:
        if self.law.support is None:
            return self.theirs.a, self.theirs.b
        low, high = self.law.support(*shapes)
        return low, high

    def _of_levels(self, method: str) -> primitive:
        """By the implicit function theorem: cdf(quantile, shapes) = level."""
        sign = 1.0 if method == "ppf" else -1.0
        logpdf = self.formulas.logpdf

        def by_level(out: Any, q: Any, *parameters: Any) -> Any:
            *shapes, loc, scale = parameters
            with silence():
                y = (out - loc) / scale
                slope = np.exp(-logpdf(y, *shapes))
                level, found = stop_gradient(q), stop_gradient(slope)
                unknown = np.isnan(found) | np.isinf(stop_gradient(y))
                unknown = unknown & ((level == 0) | (level == 1))
                if any_true(unknown):
                    ends = self.end_slope(stop_gradient(y), *map(stop_gradient, shapes))
                    slope = np.where(unknown, ends, slope)
                return sign * scale * np.where(np.isnan(out), np.nan, slope)

        def at_shape(by_shape: Callable[..., Any]) -> Callable[..., Any]:
            def partial(out: Any, _q: Any, *parameters: Any) -> Any:
                *shapes, loc, scale = parameters
                return scale * by_shape((out - loc) / scale, *shapes)

            return partial

        def by_scale(out: Any, _q: Any, *parameters: Any) -> Any:
            *_, loc, scale = parameters
            return (out - loc) / scale

        made = named(getattr(self.theirs, method), self.name, method)
        elementwise(
            made,
            by_level,
            *map(at_shape, self._slopes()),
            lambda out, *_rest: np.where(np.isnan(out), np.nan, 1.0),
            by_scale,
            strong=True,
            signature=self.signature("q", "loc=0, scale=1"),
        )
        return made

    def _of_draws(self) -> primitive:
        """By the same theorem at the level that was drawn (Figurnov, Mohamed and Mnih, 2018)."""
        slopes = self._slopes()

        def partials(out: Any, parameters: tuple[Any, ...], wanted: list[bool]) -> list[Any]:
            *shapes, loc, scale = parameters
            y = (out - loc) / scale
            found: list[Any] = [
                scale * slope(y, *shapes) if want else None
                for slope, want in zip(slopes, wanted, strict=False)
            ]
            return [*found, np.ones_like(out), y]

        def vjp_at(at: int) -> Callable[..., Any]:
            def vjp(g: Any, out: Any, *parameters: Any, **_options: Any) -> Any:
                wanted = [i == at for i in range(len(parameters))]
                return g * partials(out, parameters, wanted)[at]

            return vjp

        def tangent(dots: Any, out: Any, *parameters: Any, **_options: Any) -> Any:
            wanted = [dot is not None for dot in dots]
            terms = [
                dot * partial
                for dot, partial in zip(dots, partials(out, parameters, wanted), strict=True)
                if dot is not None
            ]
            return sum(terms[1:], terms[0]) + np.zeros_like(out)

        made = named(self.theirs.rvs, self.name, "rvs")
        general(
            made,
            vjp=[vjp_at(at) for at in range(len(self.shapes) + 2)],
            jvp=tangent,
            signature=self.signature("", "loc=0, scale=1, size=1, random_state=None"),
            arrays=len(self.shapes) + 2,
        )
        return made

    def expected(self, function: Callable[..., Any], *shapes: Any) -> Any:
        """The expectation of a function `(y, log_density)` in standard form."""
        shapes = tuple(np.asarray(x) if type(x) in (int, float) else x for x in shapes)
        stopped = tuple(map(stop_gradient, shapes))
        low, high = self._ends(shapes)
        width = self.width(*stopped)
        like = stop_gradient(sum(map(np.zeros_like, shapes), np.zeros(())))
        kinks = self.law.kinks
        # Kinks move with the shapes: what the slope jumps by there is in the second derivative.
        inner = self.inner_points(*stopped) if kinks is None else kinks(*shapes)
        if self.law.points is not None:
            width = inner[-1] - inner[0]
        if self.law.support is not None:
            middle = inner[len(inner) // 2]
            low, high = (self._but_far(end, middle, width, stopped) for end in (low, high))
        found = expectation(
            function,
            self.formulas.logpdf,
            [point + like for point in (low, *inner, high)],
            width,
            tuple(x + like for x in shapes),
        )
        if kinks is None:
            return found
        # A piece of no width has no nodes, and grows with a shape.
        touching = (stop_gradient(inner[0]) == low) | (stop_gradient(inner[-1]) == high)
        return np.where(touching, unknown(found), found) if any_true(touching) else found

    def _but_far(self, end: Any, middle: Any, width: Any, shapes: tuple[Any, ...]) -> Any:
        """An end of the support; a constant where it is far off and the density ends smoothly.

        Nodes that follow it would move far with a shape: what they have of weight and rounding
        errors would be multiplied by as much.
        """
        at = stop_gradient(end)
        far = abs(at - middle) > _FAR_OFF * width
        return np.where(far & self.vanishes(at, *shapes), at, end)

    def inner_points(self, *shapes: Any) -> list[Any]:
        """Plain points that divide a law into its middle, its sides, and next to nothing.

        A finite end of the support may be far off, and move fast with a shape: the nodes that
        follow it have little weight then.
        """
        if self.law.points is not None:
            return list(self.law.points(*shapes))
        found = self.__dict__.get("_quantiles")
        if found is None:

            def quantiles(*shapes: Any) -> Any:
                ppf, isf = self.theirs.ppf, self.theirs.isf
                below = [np.asarray(ppf(level, *shapes)) for level in _LEVELS]
                above = [np.asarray(isf(level, *shapes)) for level in _LEVELS]
                low, high = self.theirs.support(*shapes)
                points = [np.asarray(ppf(0.5, *shapes))]
                for k, point in enumerate(below):  # outwards, each within the last
                    inside = (point < points[0]) & _apart(point, low, at_infinity=k == 0)
                    points.insert(0, np.where(inside, point, points[0]))
                for k, point in enumerate(above):
                    inside = (point > points[-1]) & _apart(point, high, at_infinity=k == 0)
                    points.append(np.where(inside, point, points[-1]))
                return np.stack(np.broadcast_arrays(*points))

            found = self.__dict__["_quantiles"] = primitive(quantiles)
            constant(found)
        levels = found(*shapes)
        return [levels[k] for k in range(2 * len(_LEVELS) + 1)]

    def entropy(self, *shapes: Any) -> Any:
        """The entropy in standard form."""
        if self.law.entropy is not None:
            return self.law.entropy(*shapes)
        return -self.expected(lambda _y, log_density: log_density, *shapes)

    def _of_parameters(self, method: str) -> primitive:
        def formula(out: Any, *parameters: Any) -> Any:
            *shapes, loc, scale = parameters
            if method == "mean":
                found = loc + scale * self.central(1, *shapes)
                spread = scale * self.width(*map(stop_gradient, shapes))
                return self.checked(out, found, parameters, stop_gradient(spread))
            if method == "var":
                return self.checked(out, scale**2 * self.central(2, *shapes), parameters, 0.0)
            if method == "std":
                found = scale * np.sqrt(self.central(2, *shapes))
                return self.checked(out, found, parameters, 0.0)
            return self.checked(out, self.entropy(*shapes) + np.log(scale), parameters)

        value = getattr(self.theirs, method)
        if method in ("mean", "var"):
            value = shared(self.theirs, method[0], value)
        made = named(value, self.name, method)
        by_formula(
            made,
            formula,
            arrays=len(self.shapes) + 2,
            reads_out=True,
            signature=self.signature("", "loc=0, scale=1"),
        )
        return made

    def _standardized(self, method: str) -> primitive:
        letter, order = ("s", 3) if method == "_skewness" else ("k", 4)

        def value(*parameters: Any) -> Any:
            return np.asarray(self.theirs.stats(*parameters, moments=letter))

        def formula(out: Any, *parameters: Any) -> Any:
            *shapes, loc, scale = parameters
            spread = np.sqrt(self.central(2, *shapes))
            ratio = self.central(order, *shapes) / spread**order + 0 * (loc + scale)
            return self.checked(out, ratio - (3 if letter == "k" else 0), parameters)

        made = named(shared(self.theirs, letter, value), self.name, "stats")
        by_formula(
            made,
            formula,
            arrays=len(self.shapes) + 2,
            reads_out=True,
            signature=self.signature("", "loc=0, scale=1"),
        )
        return made


def _total(x: Any) -> Any:
    """The sum of all elements; of an array without the time that NumPy's function takes."""
    return np.add.reduce(x, axis=None) if type(x) is np.ndarray else np.sum(x)


def _apart(point: Any, end: Any, *, at_infinity: bool) -> Any:
    """Whether nodes find room between a point and an end: numbers there are not too few.

    The outermost nodes would fall on the end. An end that moves with a shape counts by all of
    the weights next to it.
    """
    finite = np.isfinite(end)
    room = np.abs(point - np.where(finite, end, 0.0)) > 1e12 * np.spacing(np.abs(end))
    return np.where(finite, room, at_infinity & np.isfinite(point))


def _like_those(here: Any, condition: Any) -> Any:
    """A condition where it counts; elsewhere one by which all are alike, if they can be."""
    return np.where(here, condition, any_true(here & condition))


def _one_of(
    condition: Any, first: Callable[..., Any], second: Callable[..., Any], y: Any, inner: Any
) -> Any:
    """One of two functions of y, each where it is meant; elsewhere it gets an inner point."""
    if not any_true(condition):
        return second(y)
    if not any_true(~condition):
        return first(y)
    chosen = first(np.where(condition, y, inner))
    return np.where(condition, chosen, second(np.where(condition, inner, y)))


def _ends_slope(support: Any, at: int, shapes: tuple[Any, ...]) -> tuple[Any, Any]:
    """How the ends of a support move with a shape."""

    def ends(value: Any) -> Any:
        return support(*shapes[:at], value, *shapes[at + 1 :])

    shape = np.broadcast_shapes(*map(np.shape, shapes))
    point = np.broadcast_to(shapes[at], shape) + 0.0
    changes: tuple[Any, Any] = jvp(ends, (point,), (np.ones(shape),))[1]
    return changes


__all__ = [
    "AREAS",
    "DENSITIES",
    "MOMENTS",
    "ContinuousMethods",
    "Methods",
    "named",
    "shapes_of",
    "shared",
    "together",
]
