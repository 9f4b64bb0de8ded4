"""Derivatives of a trial held against measured ones: of both modes, and of the gradient.

Knows claims, kinks, and where a function has no derivative although it seems smooth along a line.
Must not know other laws.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad.testing._laws.agreement import allowance, shaken, spread_of
from tapegrad.testing._laws.claims import (
    CLAIMS,
    Claim,
    Round,
    is_outside,
    rounding_of,
    rounds_of,
    weights_of,
)
from tapegrad.testing._laws.naming import finding_of, place_words
from tapegrad.testing._laws.report import Finding, Skipped
from tapegrad.testing._laws.trial import Trial, coarseness_of
from tapegrad.testing._measuring.bounds import (
    BROKEN,
    Bounds,
    bounds_of,
    describe_place,
    first_of,
    outside,
    weighted,
)
from tapegrad.testing._measuring.lines import measure_along, pack, place_of
from tapegrad.testing._measuring.verdicts import KINK, NOISY, SMOOTH, UNDEFINED, Measured

NEARBY = 12  # points at which the slopes beside a kink are looked at,
BESIDE = 2.0**-12  # so far away, of the size of each leaf


def against_differences(trial: Trial, law: str) -> list[Finding]:
    """A mode against what was measured, in all rounds."""
    for number, each in enumerate(rounds_of(trial)):
        codes = each.measured.verdict
        if number == 0 and codes.size and np.all(np.isin(codes, (NOISY, UNDEFINED))):
            CLAIMS[law](trial, each)  # it runs, at least
            raise Skipped(describe_place(each.measured, 0))
        findings = _judged(trial, law, each)
        if findings:
            return findings
    return []


def _judged(trial: Trial, law: str, each: Round) -> list[Finding]:
    claim = CLAIMS[law](trial, each)
    if first_of(each.measured, *BROKEN) is not None:
        if trial.options.kinks == "fail":
            return [Finding(law, place_words(trial, each, claim))]
        trial.noted(place_words(trial, each))
    if not is_outside(trial, claim):
        return []
    noise = _noise_of_claim(trial, law, each)
    claim = _allowed_for(claim, noise)
    if not is_outside(trial, claim) or _settled_beside(trial, law, each, claim):
        return []
    at = int(np.argmax(outside(claim.value, claim.bounds, claim.allowed)))
    return [finding_of(trial, law, each, float(noise[at]))]


def _noise_of_claim(trial: Trial, law: str, each: Round) -> Any:
    """Change of the claim where the point moves by its last bits, or those that count."""
    random = np.random.default_rng(0)
    first = CLAIMS[law](trial, each).value
    within = coarseness_of(each.measured)
    rows = []
    for _ in range(3):
        with contextlib.suppress(Exception):  # outside of the domain: each has its own errors
            other = trial.moved([shaken(random, x, within) for x in trial.leaves])
            other.shared["bars"] = trial.bars
            rows.append(CLAIMS[law](other, each).value)
        trial.evaluations += 1
    if not rows or any(row.shape != first.shape for row in rows):
        return np.zeros_like(first)
    return spread_of(np.stack([*rows, first]), first)


def _allowed_for(claim: Claim, noise: Any) -> Claim:
    """The claim with what noise may do to it; beside a kink it jumps, which is no noise."""
    quiet = np.where(noise < 1e-2 * np.abs(claim.value), noise, 0.0)
    return claim._replace(allowed=claim.allowed + 8 * quiet)


# --- Where there is no derivative although a line seems smooth -----------------------------------


def _settled_beside(trial: Trial, law: str, each: Round, claim: Claim) -> bool:
    """Whether the function has no derivative here, and the claim is one of those nearby.

    The median of three equal numbers has a slope in each direction, and no derivative: its slopes
    do not add up. Then any value between the slopes at points nearby is right.
    """
    if trial.options.kinks == "fail" or not np.all(np.isfinite(claim.value)):
        return False
    if first_of(each.measured, *BROKEN) is None and _adds_up(trial, each):
        return False
    found = bounds_of(each.measured)
    low, high = found.low.copy(), found.high.copy()
    random = np.random.default_rng(1)
    for _ in range(NEARBY):
        turn = [dot * random.uniform(-BESIDE, BESIDE, np.shape(dot)) for dot in trial.dots]
        leaves = [(x + dot).astype(x.dtype) for x, dot in zip(trial.leaves, turn, strict=True)]
        beside = trial.measure(each.dots, leaves, within=BESIDE / 64)
        is_known = beside.verdict == SMOOTH
        low = np.where(is_known, np.fmin(low, beside.slope), low)
        high = np.where(is_known, np.fmax(high, beside.slope), high)
    bounds = Bounds(low, high, found.error + 4 * BESIDE * (np.abs(low) + np.abs(high)))
    if law == "gradient":
        bounds = weighted(bounds, weights_of(trial))
    if np.any(outside(claim.value, bounds, claim.allowed) > 0):
        return False
    trial.noted("a kink lies here: slopes along directions do not add up to a derivative")
    return True


def _adds_up(trial: Trial, each: Round) -> bool:
    """Whether the slope along a sum of directions is the sum of their slopes."""
    random = np.random.default_rng(2)
    for _ in range(4):
        one = [dot * random.uniform(-1.0, 1.0, np.shape(dot)) for dot in each.dots]
        one = [part.astype(dot.dtype) for part, dot in zip(one, each.dots, strict=True)]
        one = trial.promises.along(one) if trial.promised else one
        other = [dot - part for dot, part in zip(each.dots, one, strict=True)]
        a, b, whole = trial.measure(one), trial.measure(other), each.measured
        with silence():
            gap = np.abs(a.slope + b.slope - whole.slope)
            size = np.abs(a.slope) + np.abs(b.slope) + np.abs(whole.slope)
            error = 4 * (a.error + b.error + whole.error) + 1e-3 * size
            if np.any(gap > error) or first_of(a, KINK) is not None:
                return False
    return True


# --- Second derivatives --------------------------------------------------------------------------


def measured_gradient(trial: Trial, gradient: Any) -> Measured:
    """The slopes of the gradient along the first direction."""
    if "gradient" not in trial.shared:
        trial.shared["gradient"] = measure_along(
            gradient, trial.leaves, trial.dots, value=tuple(trial.gradient)
        )
    found: Measured = trial.shared["gradient"]
    return found


FINE = 1e6  # times the size of the gradient: what a second derivative says changes at once


def _is_too_fine(trial: Trial, claimed: Sequence[Any]) -> bool:
    """Whether the gradient is said to change by many times its size within a tiny step.

    As beside a matrix that is singular but for rounding: the steps of differences that would see
    this are lost in the noise of the gradient.
    """
    largest = max((float(np.max(np.abs(bar), initial=0.0)) for bar in trial.gradient), default=0.0)
    return any(float(np.max(np.abs(each), initial=0.0)) > FINE * largest for each in claimed)


def second_against_differences(
    trial: Trial, gradient: Any, claimed: Sequence[Any]
) -> list[Finding]:
    """Derivatives of the gradient against its differences, element by element."""
    value = tuple(trial.gradient)
    measured = measured_gradient(trial, gradient)
    codes = measured.verdict
    if codes.size and np.all(np.isin(codes, (NOISY, UNDEFINED))):
        raise Skipped("the gradient: " + describe_place(measured, 0))
    if _is_too_fine(trial, claimed):
        raise Skipped("the gradient changes at steps too small to be looked at")
    claim = Claim(
        pack(claimed),
        allowance(claimed, rounding_of(trial), trial.gradient_sizes),
        bounds_of(measured),
    )
    broken = first_of(measured, *BROKEN)
    if broken is not None:
        trial.noted("of the gradient: " + describe_place(measured, broken))
    if not is_outside(trial, claim):
        return []
    other = trial.derived(gradient, value)
    noise = _noise_of_claim(other, "jvp", Round(trial.dots, measured))
    claim = _allowed_for(claim, noise)
    each = Round(trial.dots, measured)
    if not is_outside(trial, claim) or _settled_beside(other, "jvp", each, claim):
        return []
    at = int(np.argmax(outside(claim.value, claim.bounds, claim.allowed)))
    number, index, _ = place_of(trial.leaves, at)
    where = f" at {list(index)}" if index else ""
    text = (
        f"the second derivative by {trial.names[number]}{where} is wrong\n"
        f"expected {measured.slope[at]:.9g} ± {measured.error[at]:.1g} by differences of the "
        f"gradient\ngot      {claim.value[at]:.9g} ± {float(np.ravel(noise)[at]):.1g} by forward "
        "over reverse"
    )
    return [
        Finding(
            "mixed_modes",
            text,
            float(measured.slope[at]),
            float(claim.value[at]),
            float(measured.error[at]),
            float(np.ravel(noise)[at]),
            trial.names[number],
            index,
        )
    ]
