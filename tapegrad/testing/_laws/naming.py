"""Which element of which argument makes a derivative wrong, and the words that say so.

Knows claims and measurements along directions of a few elements. Must not know the laws.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad.testing._laws.claims import CLAIMS, MODES, Claim, Round, is_outside, rounding_of
from tapegrad.testing._laws.report import Finding
from tapegrad.testing._laws.trial import Trial
from tapegrad.testing._measuring.bounds import BROKEN, Bounds, describe_place, first_of, outside
from tapegrad.testing._measuring.lines import place_of

MOST = 1 << 14  # elements among which the wrong one is sought
ALMOST = 1e-4  # of its size: a derivative that is wrong by less is that of a solver, perhaps
DIRECTION = "along a random direction"


@dataclass(frozen=True)
class Culprit:
    """The element that moves alone in a round; without a name where it is not one alone.

    unit: what the element moves by, if it is real.
    """

    each: Round
    leaf: str = ""
    index: tuple[int, ...] = ()
    unit: float | None = None

    @property
    def where(self) -> str:
        """As a message says it."""
        if not self.leaf:
            return DIRECTION
        return f"by {self.leaf}" + (f" at {list(self.index)}" if self.index else "")


def culprit_of(trial: Trial, each: Round, is_wrong: Callable[[Round], bool]) -> Culprit:
    """The element by which a round is wrong: of halves that half which is wrong."""
    elements = [
        (number, int(at))
        for number, dot in enumerate(each.dots)
        for at in np.flatnonzero(np.ravel(dot) != 0)
    ]
    if len(elements) > MOST or trial.promised or not elements:
        return Culprit(each)
    current = each
    while len(elements) > 1:
        halves = elements[: len(elements) // 2], elements[len(elements) // 2 :]
        for half in halves:
            current = _restricted(trial, each, half)
            if is_wrong(current):
                elements = half
                break
        else:
            return Culprit(each)
    return _alone(trial, current, *elements[0])


def only_element(trial: Trial, each: Round) -> Culprit:
    """The one element that there is, if the function has no other."""
    if len(trial.leaves) == 1 and trial.leaves[0].size == 1:
        return _alone(trial, each, 0, 0)
    return Culprit(each)


def _alone(trial: Trial, each: Round, number: int, at: int) -> Culprit:
    dot = np.ravel(each.dots[number])[at]
    index = tuple(int(i) for i in np.unravel_index(at, np.shape(each.dots[number])))
    unit = float(dot) if dot.dtype.kind == "f" else None
    return Culprit(each, trial.names[number], index, unit)


def _restricted(trial: Trial, each: Round, elements: list[tuple[int, int]]) -> Round:
    """The same direction, in which these elements alone move."""
    dots = []
    for number, dot in enumerate(each.dots):
        kept = np.zeros_like(np.ravel(dot))
        chosen = [at for leaf, at in elements if leaf == number]
        kept[chosen] = np.ravel(dot)[chosen]
        kept = kept.reshape(np.shape(dot))
        dots.append(kept if isinstance(dot, np.ndarray) else kept[()])
    return Round(dots, trial.measure(dots))


# --- Words ---------------------------------------------------------------------------------------


def place_words(trial: Trial, each: Round, claim: Claim | None = None) -> str:
    """Feature at the first kink of a round: by its element, if a claim is to be named too."""
    culprit = only_element(trial, each)
    if claim is not None and not culprit.leaf:
        culprit = culprit_of(
            trial, each, lambda other: first_of(other.measured, *BROKEN) is not None
        )
    at = first_of(culprit.each.measured, *BROKEN)
    assert at is not None
    words = describe_place(culprit.each.measured, at, culprit.unit or 1.0)
    if culprit.unit is None or trial.leaves[0].size > 1 or len(trial.leaves) > 1:
        words += f" ({culprit.where})"
    return words


def finding_of(trial: Trial, law: str, each: Round, noise: float) -> Finding:
    """The finding of a mode that is wrong along the direction of a round."""
    claim_of = CLAIMS[law]
    culprit = culprit_of(trial, each, lambda other: is_outside(trial, claim_of(trial, other)))
    claim = claim_of(trial, culprit.each)
    over = outside(claim.value, claim.bounds, claim.allowed)
    at = int(np.argmax(over))
    scale = culprit.unit or 1.0
    is_scalar = sum(np.size(out) for out in trial.value) == 1 and trial.value[0].dtype.kind == "f"
    if law == "gradient" and is_scalar:
        scale *= float(np.ravel(trial.bars[0])[0])
    value, bounds = float(claim.value[at]) / scale, _scaled(claim.bounds, at, scale)
    error = max(noise / abs(scale), abs(value) * rounding_of(trial))
    error = error if np.isfinite(error) else 0.0
    what = "the gradient" if law == "gradient" else "the tangent"
    if law == "gradient" and not is_scalar:
        what += " (of the results times random weights)"
    if law == "jvp":
        what += _result_words(trial, at)
    text = (
        f"{what} {culprit.where} is wrong\n"
        f"expected {_expected(bounds, value)} by differences of f\n"
        f"got      {shown(value, bounds.low)} ± {error:.1g} by {MODES[law]}"
        + _nearly(bounds, value)
    )
    place = first_of(culprit.each.measured, *BROKEN)
    if place is not None:
        words = describe_place(culprit.each.measured, place, culprit.unit or 1.0)
        says = f", the {'gradient' if law == 'gradient' else 'jvp'} says {value:.6g}"
        text = f"{words}{says} ({culprit.where})\n" + text.split("\n", 1)[1]
    expected = (bounds.low + bounds.high) / 2
    return Finding(law, text, expected, value, bounds.error, error, culprit.leaf, culprit.index)


def _scaled(bounds: Bounds, at: int, scale: float) -> Bounds:
    with silence():
        ends = sorted([float(bounds.low[at]) / scale, float(bounds.high[at]) / scale])
        return Bounds(ends[0], ends[1], float(bounds.error[at]) / abs(scale))


def shown(value: float, other: float) -> str:
    """A number with as many digits as tell it from another one, and no fewer than nine."""
    apart = abs(value - other) / (abs(value) or 1.0)
    digits = 9 if not 0 < apart < 1e-7 else min(17, 3 - int(np.floor(np.log10(apart))))
    return f"{value:.{digits}g}"


def _nearly(bounds: Bounds, value: float) -> str:
    """Other meaning of a tiny difference."""
    size = abs(bounds.low)
    if bounds.low != bounds.high or not abs(value - bounds.low) < ALMOST * size:
        return ""
    return (
        f"\nthey differ by {abs(value - bounds.low) / size:.1g} of their size: if f is an "
        "approximation that is no better (of a solver, a quadrature), give rtol"
    )


def _expected(bounds: Bounds, value: float) -> str:
    if bounds.low == bounds.high:
        return f"{shown(bounds.low, value)} ± {bounds.error:.1g}"
    return f"between {bounds.low:.6g} and {bounds.high:.6g} ± {bounds.error:.1g}"


def _result_words(trial: Trial, at: int) -> str:
    if sum(np.size(out) for out in trial.value) < 2:
        return ""
    number, index, part = place_of(trial.value, at)
    name = f"result {number}" if len(trial.value) > 1 else "the result"
    return f" of {name}{list(index) if index else ''}{' (imaginary part)' if part else ''}"
