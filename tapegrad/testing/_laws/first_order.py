"""The laws that first derivatives keep, for any function of leaves at a point.

Knows vjp, jvp and differences. Must not know rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad._errors import describe
from tapegrad._progress import current
from tapegrad._transforms.reverse import vjp
from tapegrad.testing._measuring.bounds import SAFETY, describe_place, first_of
from tapegrad.testing._measuring.directions import FlatFunction, direction, scale_of
from tapegrad.testing._measuring.levels import slope_at
from tapegrad.testing._measuring.lines import Line, unpack, widened
from tapegrad.testing._measuring.measure import measure
from tapegrad.testing._measuring.tolerances import resolution_of, tolerance_of
from tapegrad.testing._measuring.verdicts import JUMP, KINK, NOISY, STEEP, UNDEFINED
from tapegrad.testing._promises import Promises

FINEST = 1e-12  # of a slope's size: what a measured one is to be known to
UNSURE = 1e-3  # of it: a slope that is known to less tells nothing
NO_SLOPE = (KINK, STEEP, JUMP, NOISY, UNDEFINED)


class Subject(NamedTuple):
    """A function under test: of leaves, to a tuple of leaves."""

    call: str  # how messages name the check
    function: FlatFunction
    leaves: tuple[Any, ...]
    names: tuple[str, ...]  # how messages name the leaves


class Exactness(NamedTuple):
    """Demands of a check. `wide`: differences in higher precision than the leaves have."""

    wide: bool = False
    eps: float | None = None
    rtol: float | None = None
    atol: float | None = None


def check_first_order(
    subject: Subject, modes: Sequence[str], exactness: Exactness, random: np.random.Generator
) -> None:
    """Forward mode against differences, reverse mode against forward, one leaf at a time."""
    pullback = vjp(subject.function, *subject.leaves)[1] if "rev" in modes else None
    promises = Promises(subject.function, subject.leaves)
    promised = "fwd" not in modes and promises.exist()
    if not subject.leaves:
        return
    differences = Differences(subject, exactness)
    for position in current().over(range(len(subject.leaves))):
        dots = [np.zeros_like(leaf) for leaf in subject.leaves]
        dots[position] = direction(random, subject.leaves[position])
        pushed = None
        if "fwd" in modes:
            pushed, allowed = promises.push(dots)
            if not allowed:
                dots = promises.along(dots)
                pushed = promises.push(dots)[0]
        elif promised:
            dots = promises.along(dots)
        looks = differences.along(position, dots)
        if pushed is not None:
            _check_jvp(subject, position, pushed, looks, exactness)
            looks = iter([Slopes(list(pushed[1]), [0.0] * len(pushed[1]), of="the jvp")])
        if pullback is not None:
            bars = tuple(direction(random, out) for out in differences.plain)
            bar = _check_cotangent(subject, position, pullback(bars))
            _check_adjoint(subject, position, (bar, dots[position]), bars, looks, exactness)


class Slopes(NamedTuple):
    """Derivatives of the results along a direction, and what they may be off by."""

    values: list[Any]
    errors: list[Any]  # of each element,
    relative: float = 0.0  # and by the size of its array
    of: str = "the differences"
    words: str = ""  # what lies at the point, where there is no derivative


class Off(NamedTuple):
    """Error bounds of an array: of each element of it, and by its size."""

    error: Any
    relative: float


class Differences:
    """Differences of a subject, along any direction of its leaves."""

    def __init__(self, subject: Subject, exactness: Exactness) -> None:
        self.function, self.exactness = subject.function, exactness
        self.plain = subject.function(*subject.leaves)
        self.leaves, power = list(subject.leaves), 1 / 3
        self.value = self.plain
        if exactness.wide:
            self.leaves, outs = widened(subject.function, self.leaves)
            power = 1 / 4
            self.value = subject.function(*self.leaves) if outs is None else outs
        # A step that balances rounding against the curvature of a function of values around 1.
        self.step = exactness.eps or resolution_of(*self.leaves) ** power
        self.relative = (
            100 * resolution_of(*self.leaves) / self.step
            if exactness.wide
            else tolerance_of(*subject.leaves, *self.plain).differences
        )

    def along(self, position: int, dots: list[Tangent]) -> Iterator[Slopes]:
        """First a quick look, at one step, whose error a table says; then what is measured.

        At a step of the caller's own there is no other look.
        """
        line = self._line(dots)
        with silence():
            values = self._narrow(slope_at(line, self.step))
        yield Slopes(values, [0.0] * len(values), self.relative)
        if self.exactness.eps is None:
            yield self._measured(position, dots)

    def _line(self, dots: Sequence[Tangent]) -> Line:
        return Line(self.function, self.leaves, dots, value=self.value, widen=None)

    def _measured(self, position: int, dots: list[Tangent]) -> Slopes:
        """Estimates from steps of all sizes, each relative to the size of the leaf that moves."""
        scale = scale_of(self.leaves[position])
        line = self._line([(dot * scale).astype(dot.dtype) for dot in dots])
        found = measure(line, line.precision, line.resolution, enough=FINEST)
        error = np.where(np.isin(found.verdict, NO_SLOPE), np.inf, SAFETY * found.error)
        errors = [np.abs(each.real) + np.abs(each.imag) for each in unpack(error, self.plain)]
        at = first_of(found, *NO_SLOPE)
        words = "" if at is None else describe_place(found, at, scale)
        values = self._narrow(found.slope / scale)
        return Slopes(values, [each / scale for each in errors], words=words)

    def _narrow(self, vector: Any) -> list[Tangent]:
        parts = zip(unpack(vector, self.plain), self.plain, strict=True)
        return [dot.astype(out.dtype) for dot, out in parts]


def _check_jvp(
    subject: Subject,
    position: int,
    pushed: tuple[Any, Any],
    looks: Iterable[Slopes],
    exactness: Exactness,
) -> None:
    """The tangents: their shape, dtype and values."""
    outs, out_dots = pushed
    what = f"the jvp by {subject.names[position]}"
    for out, out_dot in zip(outs, out_dots, strict=True):
        if describe(out_dot) != describe(out):
            fail(
                subject,
                f"{what} has another shape or dtype than the result",
                describe(out),
                describe(out_dot),
            )

    def problem(slopes: Slopes) -> str | None:
        text = f"{what} differs from central differences"
        for expected, error, out_dot in zip(slopes.values, slopes.errors, out_dots, strict=True):
            off = Off(error, slopes.relative)
            found = _apart(subject, text, expected, out_dot, exactness, off)
            if found is not None:
                return found
        return None

    _settle(looks, problem)


def _settle(looks: Iterable[Slopes], problem: Callable[[Slopes], str | None]) -> None:
    """Fail with the last look's problem, unless one look has none."""
    text: str | None = None
    for slopes in looks:
        text = problem(slopes)
        if text is None:
            return
        if slopes.words:
            text += f"\n{slopes.words}"
    raise AssertionError(text)


def _check_cotangent(subject: Subject, position: int, bars: Sequence[Cotangent]) -> Cotangent:
    """The cotangent of one leaf, which has that leaf's shape and dtype."""
    leaf, bar = subject.leaves[position], bars[position]
    if describe(bar) != describe(leaf) or type(bar) is not type(leaf):
        fail(
            subject,
            f"the vjp by {subject.names[position]} has another shape, dtype or type than it",
            f"{type(leaf).__name__} {describe(leaf)}",
            f"{type(bar).__name__} {describe(bar)}",
        )
    return bar


def _check_adjoint(
    subject: Subject,
    position: int,
    inner: tuple[Any, Any],
    bars: Sequence[Cotangent],
    looks: Iterable[Slopes],
    exactness: Exactness,
) -> None:
    """Re<vjp(g), t> = Re<g, jvp(t)>; the pairing takes no conjugates, because rules take none."""
    got, size = _pairing([inner[0]], [inner[1]])

    def problem(slopes: Slopes) -> str | None:
        expected, other_size = _pairing(bars, slopes.values)
        error = sum(
            (np.sum(np.abs(bar) * off) for bar, off in zip(bars, slopes.errors, strict=True)), 0.0
        )
        return _apart(
            subject,
            f"the vjp by {subject.names[position]} is not the adjoint of {slopes.of}: "
            "Re<vjp(g), t> != Re<g, jvp(t)>",
            np.asarray(expected),
            np.asarray(got),
            exactness,
            Off(error, slopes.relative),
            scale=max(1.0, float(size), float(other_size)),
            like=(*inner, *bars),
        )

    _settle(looks, problem)


def _pairing(bars: Sequence[Cotangent], dots: Sequence[Tangent]) -> tuple[Value, Value]:
    """The real part of the sum of products, and the sum of their sizes, in long doubles."""
    products = [
        np.asarray(bar, np.clongdouble) * np.asarray(dot, np.clongdouble)
        for bar, dot in zip(bars, dots, strict=True)
    ]
    total = sum((np.sum(product.real) for product in products), np.longdouble(0))
    return total, sum((np.sum(np.abs(product)) for product in products), np.longdouble(0))


def check_close(
    subject: Subject, what: str, expected: Value, got: Value, exactness: Exactness
) -> None:
    """Fail unless two arrays agree to the tolerance of their dtype and of the leaves'."""
    text = _apart(subject, what, expected, got, exactness, Off(0.0, 0.0))
    if text is not None:
        raise AssertionError(text)


def _apart(
    subject: Subject,
    what: str,
    expected: Value,
    got: Value,
    exactness: Exactness,
    off: Off,
    *,
    scale: float = 1.0,
    like: Sequence[Value] = (),
) -> str | None:
    """How two arrays differ, as text, unless they agree.

    They may differ by the tolerance of the dtypes, or the caller's own, and by what the expected
    one may be off by, if that is little.
    """
    rounding = tolerance_of(*subject.leaves, *(like or (got,))).rounding + off.relative
    rtol = rounding if exactness.rtol is None else exactness.rtol
    atol = rounding * scale if exactness.atol is None else exactness.atol
    size = float(np.max(np.abs(expected), initial=0.0))
    allowed = atol + rtol * size
    is_strict = exactness.wide or exactness.rtol is not None or exactness.atol is not None
    is_known = off.error <= (allowed if is_strict else max(allowed, UNSURE * size))
    wrong = np.abs(got - expected)
    if np.all(is_known) and np.all(wrong <= allowed + off.error):  # not where one of them is NaN
        return None
    worst, error = (float(np.max(each, initial=0.0)) for each in (wrong, off.error))
    unsure = f", differences ± {error:.1g}" if 0 < error < np.inf else ""
    return _told(subject, f"{what} by {worst:.3g} (allowed {allowed:.3g}{unsure})", expected, got)


def fail(subject: Subject, what: str, expected: Any, got: Any) -> NoReturn:
    """Raise the AssertionError of a law that does not hold."""
    raise AssertionError(_told(subject, what, expected, got))


def _told(subject: Subject, what: str, expected: Any, got: Any) -> str:
    return f"{subject.call}: {what}.\nexpected {expected}\ngot      {got}"
