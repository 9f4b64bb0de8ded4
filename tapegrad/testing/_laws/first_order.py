"""The laws that first derivatives keep, for any function of leaves at a point.

Knows vjp, jvp and differences. Must not know rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad._errors import describe
from tapegrad._progress import current
from tapegrad._transforms.reverse import vjp
from tapegrad.testing._measuring.directions import (
    FlatFunction,
    central_differences,
    direction,
    step_of,
    widened,
)
from tapegrad.testing._measuring.tolerances import resolution_of, tolerance_of
from tapegrad.testing._promises import Promises


class Subject(NamedTuple):
    """A function under test: of leaves, to a tuple of leaves."""

    call: str  # how messages name the check
    function: FlatFunction
    leaves: tuple[Any, ...]
    names: tuple[str, ...]  # how messages name the leaves


class Exactness(NamedTuple):
    """What a check demands. `wide`: differences in higher precision than the leaves have."""

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
    measured = Measured(subject, exactness)
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
        expected, error = measured.along(dots)
        compared, tight = expected, False
        if pushed is not None:
            compared, tight = (
                _check_jvp(subject, position, pushed, expected, error, exactness),
                True,
            )
        if pullback is not None:
            bars = tuple(direction(random, out) for out in expected)
            found = _check_cotangent(subject, position, pullback(bars))
            _check_adjoint(
                subject,
                position,
                (found, dots[position]),
                (bars, compared),
                exactness,
                0.0 if tight else error,
            )


class Measured:
    """Differences of a subject, along any direction of its leaves."""

    def __init__(self, subject: Subject, exactness: Exactness) -> None:
        self.function = subject.function
        self.plain = subject.function(*subject.leaves)
        self.leaves, power = list(subject.leaves), 1 / 3
        if exactness.wide:
            self.leaves, power = widened(subject.function, self.leaves), 1 / 4
        self.step = exactness.eps or step_of(self.leaves, power)
        self.error = (
            100 * resolution_of(*self.leaves) / self.step
            if exactness.wide
            else tolerance_of(*subject.leaves, *self.plain).differences
        )

    def along(self, dots: list[Tangent]) -> tuple[list[Tangent], float]:
        """The differences, in the dtypes of the results, and their relative error."""
        wide_dots = [dot.astype(leaf.dtype) for dot, leaf in zip(dots, self.leaves, strict=True)]
        found = central_differences(self.function, self.leaves, wide_dots, self.step)
        narrow = [dot.astype(out.dtype) for dot, out in zip(found, self.plain, strict=True)]
        return narrow, self.error


def _check_jvp(
    subject: Subject,
    position: int,
    pushed: tuple[Any, Any],
    expected: list[Tangent],
    error: float,
    exactness: Exactness,
) -> list[Tangent]:
    """The tangents, after a look at their shape, dtype and values."""
    outs, out_dots = pushed
    what = f"the jvp by {subject.names[position]}"
    for out, out_dot, difference in zip(outs, out_dots, expected, strict=True):
        if describe(out_dot) != describe(out):
            fail(
                subject,
                f"{what} has another shape or dtype than the result",
                describe(out),
                describe(out_dot),
            )
        check_close(
            subject,
            f"{what} differs from central differences",
            difference,
            out_dot,
            exactness,
            error,
        )
    return list(out_dots)


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
    outer: tuple[Any, Any],
    exactness: Exactness,
    error: float,
) -> None:
    """Re<vjp(g), t> = Re<g, jvp(t)>; the pairing takes no conjugates, because rules take none."""
    got, size = _pairing([inner[0]], [inner[1]])
    expected, other_size = _pairing(*outer)
    scale = max(1.0, float(size), float(other_size))
    check_close(
        subject,
        f"the vjp by {subject.names[position]} is not the adjoint of "
        + ("the differences" if error else "the jvp")
        + ": Re<vjp(g), t> != Re<g, jvp(t)>",
        np.asarray(expected),
        np.asarray(got),
        exactness,
        error,
        scale=scale,
        like=(*inner, *outer[0]),
    )


def _pairing(bars: Sequence[Cotangent], dots: Sequence[Tangent]) -> tuple[Value, Value]:
    """The real part of the sum of products, and the sum of their sizes, in long doubles."""
    products = [
        np.asarray(bar, np.clongdouble) * np.asarray(dot, np.clongdouble)
        for bar, dot in zip(bars, dots, strict=True)
    ]
    total = sum((np.sum(product.real) for product in products), np.longdouble(0))
    return total, sum((np.sum(np.abs(product)) for product in products), np.longdouble(0))


def check_close(
    subject: Subject,
    what: str,
    expected: Value,
    got: Value,
    exactness: Exactness,
    error: float,
    *,
    scale: float = 1.0,
    like: Sequence[Value] = (),
) -> None:
    """Fail unless two arrays agree to the tolerance of their dtype and of the leaves'."""
    allowed = tolerance_of(*subject.leaves, *(like or (got,))).rounding + error
    rtol = allowed if exactness.rtol is None else exactness.rtol
    atol = allowed * scale if exactness.atol is None else exactness.atol
    size = float(np.max(np.abs(expected), initial=0.0))
    wrong = np.abs(got - expected)
    if not np.all(wrong <= atol + rtol * size):  # also where one of them is NaN
        worst = float(np.max(wrong, initial=0.0))
        fail(subject, f"{what} by {worst:.3g} (allowed {atol + rtol * size:.3g})", expected, got)


def fail(subject: Subject, what: str, expected: Any, got: Any) -> NoReturn:
    """Raise the AssertionError of a law that does not hold."""
    raise AssertionError(f"{subject.call}: {what}.\nexpected {expected}\ngot      {got}")
