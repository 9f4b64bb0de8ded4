"""Verdict on a library's call on differentiated values: right, refused, or silently wrong.

The result of a call, and its arguments afterwards, are compared with NumPy's; its derivative
with differences of NumPy's results, wherever these converge. test_never_silent.py asks tapegrad,
docs/benchmarks/never_silent.py counts for other libraries too.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from generic_calls import DIFFERENTIATED, MATRIX, Pattern, Program, is_floating

STEP = 1e-4

# --- NumPy's answer -----------------------------------------------------------------------------


class Expected(NamedTuple):
    """NumPy's leaves; for each floating one its derivative along the tangents, NaN if unknown."""

    leaves: list[Any]
    slopes: list[Any]


def inputs_of(pattern: Pattern, *, symmetric: bool) -> tuple[Any, ...]:
    return tuple(
        x + x.T if symmetric and x is MATRIX else x.copy()
        for x in (DIFFERENTIATED[name] for name in pattern.names)
    )


def tangents_of(pattern: Pattern, *, symmetric: bool) -> tuple[Any, ...]:
    """Fixed directions without structure; symmetric ones for functions that read a triangle."""
    return tuple(x.copy() for x in drawn_tangents(pattern.names, symmetric))


@functools.cache
def drawn_tangents(names: tuple[str, ...], symmetric: bool) -> tuple[Any, ...]:
    random = np.random.default_rng(7)
    made = []
    for name in names:
        like = DIFFERENTIATED[name]
        tangent = random.uniform(0.3, 1.0, like.shape) * random.choice([-1, 1], like.shape)
        if like.dtype.kind == "c":
            tangent = tangent + 1j * random.uniform(0.3, 1.0, like.shape)
        if symmetric and like is MATRIX:
            tangent = tangent + tangent.T
        made.append(np.asarray(tangent))
    return tuple(made)


def expected(
    program: Program, inputs: tuple[Any, ...], tangents: tuple[Any, ...]
) -> Expected | None:
    """None where NumPy raises at the inputs themselves."""

    def at(step: float) -> list[Any] | None:
        moved = (np.asarray(x + step * t) for x, t in zip(inputs, tangents, strict=True))
        with contextlib.suppress(Exception):
            return program(*moved)
        return None

    middle = at(0.0)
    if middle is None:
        return None
    others = [at(step) for step in (0.0, -STEP, -STEP / 2, STEP / 2, STEP)]
    slopes = []
    for i, leaf in enumerate(middle):
        if is_floating(leaf):
            nearby = [leaves[i] for leaves in others if leaves and len(leaves) == len(middle)]
            slopes.append(slope_of(np.asarray(leaf), nearby))
    return Expected(middle, slopes)


def slope_of(middle: Any, others: list[Any]) -> Any:
    """The derivative from five values on a line, NaN wherever these are no smooth function."""
    shapes = {np.shape(other) for other in others}
    if len(others) < 5 or shapes != {middle.shape}:
        return np.full(middle.shape, np.nan)
    again, low, lower, upper, high = (np.asarray(other) for other in others)
    wide, narrow = (high - low) / (2 * STEP), (upper - lower) / STEP
    slope = (4 * narrow - wide) / 3
    scale = 1e-3 * (1 + np.abs(slope)) + noise_of(slope)
    bent = np.abs(high - 2 * middle + low) / STEP  # of order STEP, unless there is a kink
    settled = np.abs(wide - narrow) < 1e-2 * scale + noise_of(slope)
    smooth = settled & (bent < 30 * scale) & (again == middle)
    return np.where(smooth, slope, np.nan)


def noise_of(slope: Any) -> float:
    """How far rounding can carry a difference quotient."""
    return float(8 * np.finfo(slope.dtype).eps / STEP)


# --- A library's answer -------------------------------------------------------------------------


class Answer(NamedTuple):
    """All leaves without tracing, and the derivative: tangents of the floating leaves in forward
    mode; in reverse mode the inner product of the inputs' cotangents with their tangents."""

    leaves: list[Any]
    tangents: list[Any] | None
    product: Any


class Outcome(enum.Enum):
    REFUSED_BY_NUMPY = "NumPy itself raises"
    REFUSED = "the library raises"
    RIGHT = "right"
    WRONG = "silently wrong"


# A mode gets the program, its inputs, their tangents, and cotangents of the floating leaves.
Mode = Callable[[Program, tuple[Any, ...], tuple[Any, ...], list[Any]], Answer]


def judge(
    modes: Sequence[Mode],
    function: Callable[..., Any],
    pattern: Pattern,
    symmetric: bool,
    reference: Callable[..., Any] | None = None,
) -> tuple[Outcome, str]:
    """How a library does at one call, and what is wrong with it.

    `reference`: the function of NumPy's that a library's own has to agree with.
    """
    program = Program(function, pattern)
    inputs = inputs_of(pattern, symmetric=symmetric)
    tangents = tangents_of(pattern, symmetric=symmetric)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        known = expected(Program(reference or function, pattern), inputs, tangents)
        if known is None:
            return Outcome.REFUSED_BY_NUMPY, ""
        cotangents = [cotangent_of(slope) for slope in known.slopes]
        outcome = Outcome.REFUSED
        for mode in modes:
            answer = None
            with contextlib.suppress(Exception):  # which error it is, other tests ask
                answer = mode(program, inputs, tangents, cotangents)
            if answer is not None:
                outcome = Outcome.RIGHT
                problem = mistake(answer, known, cotangents)
                if problem:
                    return Outcome.WRONG, f"{pattern.text}: {problem}"
        return outcome, ""


def cotangent_of(slope: Any) -> Any:
    """Weights where the derivative is known, else 0."""
    weights = np.cos(np.arange(slope.size) + 0.3).reshape(slope.shape)
    if slope.dtype.kind == "c":
        weights = weights + 1j * np.sin(weights)
    return np.where(np.isnan(slope), 0, weights).astype(slope.dtype)


def mistake(answer: Answer, known: Expected, cotangents: list[Any]) -> str:
    if len(answer.leaves) != len(known.leaves):
        return f"{len(answer.leaves)} results for NumPy's {len(known.leaves)}"
    if any(
        leaf is None is not like for leaf, like in zip(answer.leaves, known.leaves, strict=True)
    ):
        return ""  # a function that does not know the class: nobody can compute with None
    for leaf, like in zip(answer.leaves, known.leaves, strict=True):
        problem = difference(leaf, like)
        if problem:
            return problem
    if answer.tangents is not None:
        for tangent, slope in zip(answer.tangents, known.slopes, strict=True):
            clear = ~np.isnan(slope)
            if not close(np.asarray(tangent)[clear], slope[clear], noise_of(slope)):
                return f"tangent {np.asarray(tangent)!r}, by differences {slope!r}"
    # Zero times NaN is NaN: only infinite partials pay for strong zeros.
    defined = all(np.all(np.isfinite(leaf)) for leaf in known.leaves if is_floating(leaf))
    if answer.product is not None and defined:
        by_differences = sum(
            np.sum((g * np.where(np.isnan(slope), 0, slope)).real)
            for g, slope in zip(cotangents, known.slopes, strict=True)
        )
        noise = sum(noise_of(slope) * slope.size for slope in known.slopes)
        if not close(np.asarray(answer.product), np.asarray(by_differences), noise):
            return f"derivative {answer.product!r} backward, by differences {by_differences!r}"
    return ""


def close(found: Any, slope: Any, noise: float) -> bool:
    within = 1e-5 * (1 + np.max(np.abs(slope), initial=0)) + noise
    return np.allclose(found, slope, rtol=1e-4, atol=within)


def difference(leaf: Any, like: Any) -> str:
    """In what a plain leaf differs from NumPy's, as text."""
    if isinstance(leaf, (str, bytes)) and isinstance(like, (str, bytes)):
        return ""  # a text may name the class
    if not isinstance(like, (np.ndarray, np.generic, bool, int, float, complex)):
        return "" if type(leaf) is type(like) else f"{leaf!r} for NumPy's {like!r}"
    found, wanted = np.asarray(leaf), np.asarray(like)
    if found.dtype == object != wanted.dtype:
        return "an array of objects"
    if found.shape != wanted.shape or found.dtype != wanted.dtype:
        return f"{found.dtype}{found.shape} for NumPy's {wanted.dtype}{wanted.shape}"
    if wanted.dtype.kind in "fc":
        equal = np.allclose(found, wanted, rtol=1e-9, atol=1e-11, equal_nan=True)
    else:
        equal = np.array_equal(found, wanted)
    return "" if equal else f"the value {leaf!r} for NumPy's {like!r}"
