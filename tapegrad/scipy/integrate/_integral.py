"""An integral as a function of its limits and of the parameters of its integrand, to any order.

Knows Leibniz's rule, and what to do where that fails. Must not know SciPy's routines: an
`Integrand` brings those that compute it. The derivative of an integral is made of integrals of
derivatives, to the same tolerances.

Leibniz's rule fails where the integrand is singular at a limit that moves: the integrals of its
partials diverge, though that of `1 / sqrt(b - x)` from 0 to b is `2 * sqrt(b)`. Then the variable
is substituted so that the limits stay, `x = a + (b - a) * t`, and the integrand of t is
differentiated. A jump inside would go unseen there, because it moves with t. So a second
substitution, by which inner points move otherwise, has to agree.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import constant, general
from tapegrad._core.quiet import silence
from tapegrad._core.types import Cotangent, Function, Tangent, Value
from tapegrad._core.values import Traced, any_true, in_trace, raw_value, untraced
from tapegrad._errors import RuleError
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.primitives import primitive
from tapegrad._transforms.reverse import vjp
from tapegrad._warning import warn
from tapegrad.scipy.integrate._quick import Quick

Routine = Callable[[Function, Any, Any], tuple[Any, Any]]

_NEXT, _LEAST = 2.0**-51, 1e-300  # what moves a limit inside, by itself and beside zero
_BEND = 0.5  # how much the second substitution moves inner points besides
_AGREED = 1e-5  # of the largest derivative: the two substitutions are equal up to that


class Integrand:
    """An integrand that depends on parameters.

    bind: of the parameters, the function f(u, *outer), whose results all have one shape
    routine: `routine(f, a, b)` returns the integral and an estimate of its error
    moves: whether derivatives may ask for the lower and the upper limit
    known: the arrays and the result of a call that was made already

    `of_slopes` is the routine of the integrals of derivatives: it gives NaN where it cannot vouch
    for a number. `points` are fixed points where pieces of the integral end. `sides` says at which
    limits the integrand may jump: there it counts just inside. `same` tells which parameters are a
    limit: `{2: 1}` if the third one is the upper limit. `outer` are constants: in a nest of
    integrals the variables of those around this one. Integrands that differ in these alone may
    share `programs`, their derivatives by name.
    """

    def __init__(
        self,
        name: str,
        bind: Function,
        routine: Routine,
        moves: tuple[bool, bool],
        known: tuple[Sequence[Any], Any] | None = None,
        *,
        of_slopes: Routine | None = None,
        points: Sequence[float] = (),
        same: dict[int, int] | None = None,
        sides: tuple[bool, bool] = (False, False),
        outer: tuple[Any, ...] = (),
        programs: dict[Any, Any] | None = None,
        path: tuple[Any, ...] = (),
    ) -> None:
        self.name, self.bind, self.routine, self.moves = name, bind, routine, moves
        self.outer, self.programs, self.path = outer, programs, path
        self.known, self.of_slopes, self.points = known, of_slopes or routine, points
        self.same, self.sides = same or {}, sides

    def computed(self, a: Any, b: Any, parameters: Sequence[Any]) -> Any:
        """The integral and its error, of plain numbers."""
        if self.known is not None:
            given, result = self.known
            pairs = zip(given, (a, b, *parameters), strict=True)
            if all(x is y or np.array_equal(x, y, equal_nan=True) for x, y in pairs):
                return result
        f = self.bind(parameters)

        def checked(u: Any) -> Any:
            out = f(u, *self.outer)
            if in_trace(out):
                raise RuleError(
                    f"{self.name}: the integrand depends on a traced value that was not found in "
                    "its closure, its defaults or the attributes of its object. Pass it in args."
                )
            return out

        return self.routine(checked, a, b)

    def tangent(self, moved: Sequence[bool]) -> Integrand:
        """That of the tangent, whose parameters are these and the tangents of those that move."""

        def slope(point: Sequence[Value], values: Sequence[Value]) -> Value:
            given, dots = values[: len(moved)], iter(values[len(moved) :])
            filled = [
                next(dots) if moves else np.zeros_like(x)
                for x, moves in zip(given, moved, strict=True)
            ]
            return jvp(lambda *p: self.bind(p)(*point), tuple(given), tuple(filled))[1]

        return self._slope(slope, tuple(moved))

    def cotangent(self) -> Integrand:
        """That of the cotangents of all parameters in a row; its last parameter is that of f."""

        def slope(point: Sequence[Value], values: Sequence[Value]) -> Value:
            *given, g = values
            _, pull = vjp(lambda *p: self.bind(p)(*point) + np.zeros(np.shape(g)), *given)
            return np.concatenate([np.reshape(bar, (-1,)) for bar in pull(g)])

        return self._slope(slope, "cotangent")

    def _slope(self, slope: Function, key: Any) -> Integrand:
        """That of a derivative, as a function of a point and of its parameters."""
        count = 1 + len(self.outer)
        path = (*self.path, key)

        def run(*values: Value) -> Value:
            return slope(values[:count], values[count:])

        if self.programs is not None:
            run = self.programs.setdefault(path, Quick(run))
        return Integrand(
            self.name,
            lambda parameters: lambda *point: run(*point, *parameters),
            self.of_slopes,
            self.moves,
            points=self.points,
            same=self.same,
            sides=self.sides,
            outer=self.outer,
            programs=self.programs,
            path=path,
        )

    def at_limit(self, which: int, limits: Sequence[Value], parameters: Sequence[Value]) -> Any:
        """The integrand at a limit; zero at one that is infinite, which cannot move."""
        end = limits[which]
        finite = np.isfinite(untraced(end))
        if not any_true(finite):
            return 0.0
        if any_true(~finite):  # of one example of a vmap
            value = self.at_limit(
                which, _put(limits, which, np.where(finite, end, 0.0)), parameters
            )
            return np.where(finite, value, 0.0)
        if self.sides[which]:
            end = end + np.sign(limits[1 - which] - end) * (np.abs(end) * _NEXT + _LEAST)
        return self.bind(parameters)(end, *self.outer)

    def is_smooth_at(
        self, which: int, limits: Sequence[Value], parameters: Sequence[Value]
    ) -> bool:
        """Whether the integrand and its first derivatives are finite at a limit."""
        given = [untraced(x) for x in (*limits, *parameters)]
        if any_true(~np.isfinite(given[which])):
            return True  # it cannot move

        def f(*values: Value) -> Value:
            return self.at_limit(which, values[:2], values[2:])

        with silence():
            out, pull = vjp(f, *given)
            return _is_finite(out, *pull(np.ones_like(out)))

    def substituted(self, a: Any, b: Any, bend: float = 0.0) -> tuple[Any, Any, Integrand]:
        """The limits and the integrand of t, whose first parameters are the limits of x.

        bend: what inner points move besides, for each unit that the limits do.
        """
        ends = [np.ravel(raw_value(end)) for end in (a, b)]
        low, high = 0.0, 1.0
        if not np.all(np.isfinite(ends[1])):
            high, place = untraced(b), _beyond(0, bend)
        elif not np.all(np.isfinite(ends[0])):
            low, high, place = untraced(a), 0.0, _beyond(1, bend)
        else:
            least, most = min(map(np.min, ends)), max(map(np.max, ends))
            falls = bool(np.any(ends[0] > ends[1]))
            inner = sorted((x for x in self.points if least < x < most), reverse=falls)
            place = _between(inner, bend)

        def bind(values: Sequence[Value]) -> Function:
            limits, parameters = values[:2], list(values[2:])
            for k, which in self.same.items():
                parameters[k] = limits[which]
            f = self.bind(parameters)

            def of_t(t: Any) -> Any:
                pieces = [f(x, *self.outer) * slope for x, slope in place(limits, t)]
                return sum(pieces[1:], pieces[0])

            return of_t

        made = Integrand(self.name, bind, self.routine, (False, False), of_slopes=self.of_slopes)
        return low, high, made


def _move(x: Value) -> Value:
    """Zero, with the derivative of x."""
    return x - untraced(x)


def _between(inner: Sequence[float], bend: float) -> Function:
    """The places x(t) and their slopes by t, one a piece between two finite limits."""

    def place(limits: Sequence[Value], t: Any) -> list[tuple[Value, Value]]:
        moved = bend * (_move(limits[1]) - _move(limits[0]))
        marks = [limits[0], *inner, limits[1]]
        return [
            (a + (b - a) * t + moved * (t * (1 - t)), (b - a) + moved * (1 - 2 * t))
            for a, b in itertools.pairwise(marks)
        ]

    return place


def _beyond(which: int, bend: float) -> Function:
    """The same, of the one piece between a limit and infinity."""

    def place(limits: Sequence[Value], t: Any) -> list[tuple[Value, Value]]:
        scale = 1 + bend * _move(limits[which])
        return [(limits[which] + t * scale, scale)]

    return place


@primitive
def integral(a: Any, b: Any, *parameters: Value, integrand: Integrand) -> Value:
    """The integral from a to b."""
    return np.asarray(integrand.computed(a, b, parameters)[0])


@primitive
def error(a: Any, b: Any, *parameters: Value, integrand: Integrand) -> Value:
    """The estimate of its error."""
    return np.asarray(integrand.computed(a, b, parameters)[1])


constant(error, batch="loop")


def _integral_jvp(
    dots: Sequence[Tangent], _out: Value, a: Any, b: Any, *parameters: Value, integrand: Integrand
) -> Tangent:
    moved = [dot is not None for dot in dots]
    given = [dot for dot in dots if dot is not None]
    asked = tuple(move and may for move, may in zip(moved, integrand.moves, strict=False))

    def by_leibniz() -> tuple[Tangent, ...]:
        terms = [
            (integrand.at_limit(which, (a, b), parameters) * dots[which]) * (2 * which - 1)
            for which in (0, 1)
            if asked[which]
        ]
        if any(moved[2:]):
            slope = integrand.tangent(moved[2:])
            rest = [dot for dot in dots[2:] if dot is not None]
            terms.append(integral(a, b, *parameters, *rest, integrand=slope))
        return (sum(terms[1:], terms[0]),) if terms else (None,)

    def by_substitution(low: Any, high: Any, of_t: Integrand, values: Function) -> Value:
        arrays = map(values, (a, b, *parameters, *given))
        return integral(low, high, *arrays, integrand=of_t.tangent(moved))

    return _first_sound((a, b), parameters, integrand, asked, by_leibniz, by_substitution)[0]


def _integral_vjp(
    g: Cotangent, _out: Value, a: Any, b: Any, *parameters: Value, integrand: Integrand
) -> Any:
    def by_leibniz() -> tuple[Cotangent, ...]:
        bars: list[Any] = [None, None]
        for which in (0, 1):
            if integrand.moves[which]:
                bar = np.sum(g * integrand.at_limit(which, (a, b), parameters))
                bars[which] = bar if which else -bar
        if parameters:
            row = integral(a, b, *parameters, g, integrand=integrand.cotangent())
            bars += _parts(row, parameters)
        return tuple(bars)

    def by_substitution(low: Any, high: Any, of_t: Integrand, values: Function) -> Value:
        arrays = map(values, (a, b, *parameters, g))
        return integral(low, high, *arrays, integrand=of_t.cotangent())

    found = _first_sound(
        (a, b), parameters, integrand, integrand.moves, by_leibniz, by_substitution
    )
    return found if len(found) > 1 else tuple(_parts(found[0], (a, b, *parameters)))


def _parts(row: Value, like: Sequence[Value]) -> list[Value]:
    """A row cut into arrays of the shapes of others."""
    bars, start = [], 0
    for x in like:
        size = int(np.prod(x.shape))
        bars.append(np.reshape(row[start : start + size], x.shape))
        start += size
    return bars


def _first_sound(
    limits: tuple[Any, Any],
    parameters: Sequence[Value],
    integrand: Integrand,
    asked: Sequence[bool],
    by_leibniz: Function,
    by_substitution: Function,
) -> tuple[Any, ...]:
    """The derivatives by Leibniz's rule; where these are no numbers, by a substitution.

    `by_substitution` gives one array. What neither can tell is NaN, and a warning says so.
    """
    moving = [which for which in (0, 1) if asked[which]]
    possible = bool(moving and parameters)
    traced = any(isinstance(x, Traced) for x in (*limits, *parameters))
    if possible and traced:
        # To be differentiated again: that of f(b) by b would be infinity less infinity.
        smooth = all(integrand.is_smooth_at(which, limits, parameters) for which in moving)
        if not smooth:
            row = _substituted(limits, integrand, by_substitution)
            if _is_finite(row):
                return (row,)
    found: tuple[Any, ...] = by_leibniz()
    if not _has_nan(*found):
        return found
    if possible:
        row = _substituted(limits, integrand, by_substitution)
        if not _has_nan(row):
            return (row,)
        found = (row,)
    warn(
        f"{integrand.name}: expected an integrand whose derivative has an integral, got one whose "
        "integral does not converge: a derivative is NaN. Substitute a variable in which no "
        "singularity and no jump moves, or loosen the tolerances."
    )
    return found


def _substituted(
    limits: tuple[Any, Any], integrand: Integrand, by_substitution: Function
) -> Value:
    """The derivatives by a substitution: NaN where another one gives other numbers."""
    row = by_substitution(*integrand.substituted(*limits), lambda x: x)
    again = by_substitution(*integrand.substituted(*limits, _BEND), untraced)
    bound = _AGREED * np.max(np.abs(raw_value(row)), initial=0.0) + 1e-7
    return row + np.where(np.abs(untraced(row) - again) <= bound, 0.0, np.nan)


def _put(limits: Sequence[Value], which: int, end: Value) -> list[Value]:
    return [end if k == which else limits[k] for k in (0, 1)]


def _is_finite(*values: Any) -> bool:
    return all(x is None or bool(np.all(np.isfinite(raw_value(x)))) for x in values)


def _has_nan(*values: Any) -> bool:
    return any(x is not None and bool(np.any(np.isnan(raw_value(x)))) for x in values)


general(integral, jvp=_integral_jvp, vjp=_integral_vjp, name="scipy.integrate.quad")


__all__ = ["Integrand", "error", "integral"]
