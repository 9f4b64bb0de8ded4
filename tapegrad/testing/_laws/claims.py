"""Claims of both modes on a trial's derivative along a direction, and its bounds.

Knows both modes and measurements. Must not know what follows from a claim that is out of bounds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad.testing._laws.agreement import ROUNDINGS, allowance
from tapegrad.testing._laws.trial import Trial
from tapegrad.testing._measuring.bounds import Bounds, bounds_of, outside, weighted
from tapegrad.testing._measuring.lines import pack
from tapegrad.testing._measuring.tolerances import resolution_of
from tapegrad.testing._measuring.verdicts import Measured

UNSEEN = 30.0  # times the error of what was measured: smaller parts may be wrong unseen


class Round(NamedTuple):
    """A direction, and what was measured along it."""

    dots: Sequence[Any]
    measured: Measured


class Claim(NamedTuple):
    """A derivative along a direction as a mode says it, and between what it may lie."""

    value: Any
    allowed: Any  # what rounding may have done to it
    bounds: Bounds


def rounds_of(trial: Trial) -> list[Round]:
    """Directions in which together each element is large enough to be seen.

    The first one moves all elements. What the gradient says to be lost in the error of that is
    moved again without the rest; and what is still lost, in steps of 1 where leaves are smaller.
    """
    if "rounds" in trial.shared:
        found: list[Round] = trial.shared["rounds"]
        return found
    rounds = [Round(trial.dots, trial.measured)]
    trial.shared["rounds"] = rounds
    try:
        bars = trial.gradient
    except Exception:  # noqa: BLE001 - there is no reverse mode: its own law says so
        return rounds
    if trial.promised:
        return rounds
    seen = [np.zeros(np.shape(leaf), bool) for leaf in trial.leaves]
    for larger in (False, True):
        error = float(np.sum(np.abs(pack(trial.bars)) * rounds[-1].measured.error))
        if not np.isfinite(error) or not error:
            break
        parts = [np.abs(bar * dot) for bar, dot in zip(bars, rounds[-1].dots, strict=True)]
        seen = [old | (part > UNSEEN * error) for old, part in zip(seen, parts, strict=True)]
        if all(np.all(each) for each in seen):
            break
        dots = [_without(dot, each) for dot, each in zip(trial.dots, seen, strict=True)]
        if larger:
            dots = [_enlarged(dot, leaf) for dot, leaf in zip(dots, trial.leaves, strict=True)]
            if all(np.array_equal(a, b) for a, b in zip(dots, rounds[-1].dots, strict=True)):
                break
        rounds.append(Round(dots, trial.measure(dots)))
    return rounds


def _without(dot: Any, seen: Any) -> Any:
    kept = np.where(seen, np.zeros((), dot.dtype), dot)
    return kept if isinstance(dot, np.ndarray) else kept[()]


def _enlarged(dot: Any, leaf: Any) -> Any:
    size = float(np.max(np.abs(leaf), initial=0.0))
    return (dot / size).astype(dot.dtype) if 0 < size < 0.5 else dot


# --- Claims --------------------------------------------------------------------------------------


def reverse_claim(trial: Trial, each: Round) -> Claim:
    """Re<vjp(g), t>, which Re<g, slopes> bounds."""
    products = [bar * dot for bar, dot in zip(trial.gradient, each.dots, strict=True)]
    with silence():
        # Zero times infinity is zero: an element that does not move says nothing.
        parts = [np.where(dot == 0, 0.0, part.real) for dot, part in _pairs(each.dots, products)]
        parts = [np.asarray(part, np.longdouble) for part in parts]
        value = np.atleast_1d(sum((np.sum(part) for part in parts), np.longdouble(0)))
        size = float(sum((np.sum(np.abs(part)) for part in parts), np.longdouble(0)))
    allowed = rounding_of(trial) * max(size, trial.pairing_size) * ROUNDINGS
    return Claim(
        value, np.atleast_1d(allowed), weighted(bounds_of(each.measured), weights_of(trial))
    )


def _pairs(a: Sequence[Any], b: Sequence[Any]) -> list[tuple[Any, Any]]:
    return list(zip(a, b, strict=True))


def weights_of(trial: Trial) -> Any:
    """Weights of the results in a cotangent's pairing with their slopes."""
    return pack([np.conjugate(bar) for bar in trial.bars])  # Re(g y) = Re g Re y - Im g Im y


def rounding_of(trial: Trial) -> float:
    """The coarsest spacing of numbers at 1 among those of a trial."""
    return max(resolution_of(*trial.leaves), resolution_of(*trial.value))


def forward_claim(trial: Trial, each: Round) -> Claim:
    """The tangents, which the slopes bound."""
    out_dots = (trial.forward if each.dots is trial.dots else trial.push(each.dots))[1]
    allowed = allowance(out_dots, rounding_of(trial), trial.sizes)
    return Claim(pack(out_dots), allowed, bounds_of(each.measured))


CLAIMS = {"gradient": reverse_claim, "jvp": forward_claim}
MODES = {"gradient": "vjp", "jvp": "jvp"}


def is_outside(trial: Trial, claim: Claim) -> bool:
    """Whether any element of a claim is out of bounds, or of the caller's own tolerance."""
    allowed = claim.allowed
    options = trial.options
    if options.rtol is not None or options.atol is not None:
        with silence():
            allowed = (options.atol or 0.0) + (options.rtol or 0.0) * np.abs(claim.value)
    return bool(np.any(outside(claim.value, claim.bounds, allowed) > 0))
