"""Whether two computations of the same numbers agree, as well as their rounding lets them.

Knows vectors that a function of leaves computes in two ways. Must not know what they mean.

First they may differ by some rounding of the largest part of each array. Where they differ by
more, they are computed again at points that differ from the first in their last bits: what two
computations of the same thing differ by because of rounding varies from point to point, and what
they differ by because one is wrong does not.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad.testing._measuring.lines import pack
from tapegrad.testing._measuring.tolerances import resolution_of

ROUNDINGS = 128  # of the size of an array: a few dozen operations, and sums of a hundred terms
NEARBY = 5
Sides = tuple[Sequence[Any], Sequence[Any]]  # the same arrays, computed in two ways


class Difference(NamedTuple):
    """The element at which two sides differ most, by what they are allowed to."""

    at: int  # of the packed arrays
    left: float
    right: float
    allowed: float
    left_noise: float  # what each side changes by where the point moves by its last bits
    right_noise: float


def allowance(values: Sequence[Any], resolution: float, natural: Sequence[float] = ()) -> Any:
    """Rounding bound of each element of packed arrays: by the largest of its own array.

    natural: the size that each array would have if nothing cancelled in it, if that is known.
    """
    parts = []
    for number, value in enumerate(values):
        size = np.size(value) * (2 if value.dtype.kind == "c" else 1)
        sizes = np.abs(np.ravel(value)).astype(np.float64)
        least = float(natural[number]) if natural else 0.0
        largest = float(np.max(sizes, initial=least, where=np.isfinite(sizes)))
        coarse = max(resolution, float(np.finfo(value.dtype).eps))
        parts.append(np.full(size, ROUNDINGS * coarse * largest))
    return np.concatenate(parts) if parts else np.zeros(0)


def differ(
    sides: Callable[[Sequence[Any]], Sides],
    leaves: Sequence[Any],
    *,
    natural: Sequence[float] = (),
    coarse: Callable[[], float] = lambda: 0.0,
    rtol: float | None = None,
    atol: float | None = None,
) -> Difference | None:
    """The worst element in which two sides differ, or None if they agree.

    natural: the size of each array if nothing cancelled in it. coarse: the spacing of numbers at 1
    in which the function seems to compute, which is asked for where the dtypes' own is too fine.
    rtol, atol: the caller's own, in place of what the dtypes tell.
    """
    left_values, right_values = sides(leaves)
    left, right = pack(left_values), pack(right_values)
    if rtol is not None or atol is not None:
        base = (atol or 0.0) + (rtol or 0.0) * np.abs(left)
        return _worst(left, right, base, 0.0 * left, 0.0 * left)
    resolution = resolution_of(*leaves)
    base = np.maximum(
        allowance(left_values, resolution, natural), allowance(right_values, resolution, natural)
    )
    if _agree(left, right, base):
        return None
    within = coarse()
    if within > resolution:
        base = np.maximum(
            allowance(left_values, within, natural), allowance(right_values, within, natural)
        )
        if _agree(left, right, base):
            return None
    lefts, rights = _nearby(sides, leaves, left, within)
    left_noise, right_noise = spread_of(lefts, left), spread_of(rights, right)
    between = spread_of(lefts - rights, left - right)
    # A kink makes the sides jump, together: that is no rounding.
    quiet = 1e-2 * np.maximum(np.abs(left), np.abs(right))
    both = np.minimum(left_noise, right_noise)
    allowed = base + 8 * between + np.where(both < quiet, 4 * both, 0.0)
    return (
        None
        if _agree(left, right, allowed)
        else _worst(left, right, allowed, left_noise, right_noise)
    )


def _agree(left: Any, right: Any, allowed: Any) -> bool:
    with silence():
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        return bool(np.all(same | (np.abs(left - right) <= allowed)))


def _worst(left: Any, right: Any, allowed: Any, *noises: Any) -> Difference | None:
    if _agree(left, right, allowed):
        return None
    with silence():
        same = (left == right) | (np.isnan(left) & np.isnan(right))
        ratio = np.where(same, 0.0, np.abs(left - right) / np.maximum(allowed, 1e-300))
    at = int(np.argmax(np.where(np.isnan(ratio), np.inf, ratio)))
    return Difference(at, *(float(values[at]) for values in (left, right, allowed, *noises)))


def _nearby(
    sides: Callable[[Sequence[Any]], Sides], leaves: Sequence[Any], like: Any, within: float
) -> tuple[Any, Any]:
    """Both sides at points that differ in their last bits."""
    random = np.random.default_rng(0)
    rows = []
    for _ in range(NEARBY):
        with contextlib.suppress(Exception):  # outside of the domain: each has its own errors
            found = [pack(values) for values in sides([shaken(random, x, within) for x in leaves])]
            if found[0].shape == found[1].shape == like.shape:
                rows.append(found)
    if not rows:
        return like[None], like[None]
    return np.stack([row[0] for row in rows]), np.stack([row[1] for row in rows])


def shaken(random: np.random.Generator, leaf: Any, within: float = 0.0) -> Any:
    """A leaf that differs in its last bits, or those that count."""
    steps = random.integers(-4, 5, leaf.shape)
    spacing = max(float(np.finfo(leaf.dtype).eps), within)
    return (leaf * (1 + steps * np.asarray(spacing, leaf.real.dtype))).astype(leaf.dtype)


def spread_of(rows: Any, first: Any) -> Any:
    """By how much the rows differ from each other and from the first; 0 where it is not known."""
    with silence():
        middle = np.median(rows, axis=0)
        spread = np.sqrt(np.mean((rows - middle) ** 2, axis=0))
    return np.where(np.isfinite(spread), spread, 0.0)
