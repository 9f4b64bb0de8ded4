"""Kinks inside a function: a call that has no derivative where it was made, in a smooth whole.

Knows the calls that a function makes, measurements of each by itself, and laws as functions of a
trial. min(max(x, 0), x) is smooth, and two of its operations have a kink at 0: what the rules give
for these is right by itself, and their product is not the slope. Must not know single rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._transforms.reverse import vjp
from tapegrad.testing._blame import blame
from tapegrad.testing._blame.calls import Call, Watch, unwatched, watched
from tapegrad.testing._blame.kinks import apart, beside, is_at_kink
from tapegrad.testing._blame.search import quietly
from tapegrad.testing._laws.report import Finding, Skipped
from tapegrad.testing._laws.slopes import against_differences
from tapegrad.testing._laws.trial import Trial
from tapegrad.testing._measuring.directions import FlatFunction

NEARBY = 3  # points at which the law has to hold

Law = Callable[[Trial], list[Finding]]


def kink_inside(trial: Trial) -> str:
    """The first call that has a kink or a jump where it was made, in words; "" if none has."""
    return _kinks(trial)[0]


def _kinks(trial: Trial) -> tuple[str, bool]:
    if "inside" not in trial.shared:
        trial.shared["inside"] = _kinks_of(trial)
    found: tuple[str, bool] = trial.shared["inside"]
    return found


def is_kink_alone(trial: Trial, law: Law, findings: Sequence[Finding], seed: int) -> bool:
    """Whether a law fails only because of a kink inside the function.

    Some call lies at a kink, and what its rule says is between the slopes there; the law holds at
    points nearby; and no operation is wrong by itself.
    """
    got = [finding.got for finding in findings]
    if any(each is None or not np.all(np.isfinite(each)) for each in got):
        return False
    where, are_right = _kinks(trial)
    if not where or not are_right:
        return False
    return _holds_nearby(trial, law) and culprit(trial, seed) is None


def culprit(trial: Trial, seed: int) -> Any:
    """Verdict of `blame` on the function; it is asked once."""
    if "culprit" not in trial.shared:
        trial.shared["culprit"] = blame(trial.f, trial.args, seed=seed)
    return trial.shared["culprit"]


def _holds_nearby(trial: Trial, law: Law) -> bool:
    random = np.random.default_rng([trial.options.seed, 5000])
    held = 0
    for _ in range(NEARBY):
        other = trial.moved([beside(random, leaf) for leaf in trial.leaves])
        try:
            found = law(other)
            held += not found
        except Skipped:
            found = []
        except Exception:  # noqa: BLE001 - outside of the domain: each has its own errors
            return False
        finally:
            trial.evaluations += other.evaluations
        if found:
            return False
    return held > 0


# --- Calls ---------------------------------------------------------------------------------------


def _kinks_of(trial: Trial) -> tuple[str, bool]:
    """The first call at a kink, in words, and whether the rules of all such are right there."""
    watch = Watch()
    random = np.random.default_rng([trial.options.seed, 6000])
    where, are_right = "", True
    with quietly():
        with watched(watch), suppress(Exception):  # what was noted before is looked at
            vjp(trial.function, *trial.copies())
        for call in _all(watch.calls):
            with unwatched(), suppress(Exception):  # at points that the program did not choose
                if call.redone is None or not is_at_kink(call.redone, random):
                    continue
                where = where or call.operation + _line(watch, call)
                are_right = are_right and _is_right(trial, *apart(call.redone))
    return where, are_right


def _is_right(trial: Trial, function: FlatFunction, leaves: Sequence[Value]) -> bool:
    """Whether both modes say of a call by itself what lies between the slopes there."""
    alone = Trial(function, leaves, trial.options._replace(differences="auto", kinks="accept"))
    for law in ("gradient", "jvp"):
        with suppress(Skipped):
            if against_differences(alone, law):
                return False
    return True


def _all(calls: Sequence[Call]) -> Iterator[Call]:
    for call in calls:
        yield call
        yield from _all(call.calls)


def _line(watch: Watch, call: Call) -> str:
    site = watch.site(call)
    return f' (File "{site[0].file}", line {site[0].line})' if site else ""
