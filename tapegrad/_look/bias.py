"""Overhead of watching that no clock within it sees, measured.

Knows small programs, which it runs with and without a watch. Must not know what is shown.

A turn runs each program both ways. Of each time the least of the last turns counts, as what else
the machine does only adds to it: too much would be taken off otherwise where it is busy. Nothing
is taken off within a turn, by what the same turn has found: the least of such differences would be
that of the turn which took off too much.
"""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable
from time import perf_counter_ns as now
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tapegrad._look.calls import READ, WRITE
from tapegrad._look.clock import FIELDS, UNSEEN, Costs
from tapegrad._look.events import Watch, watched
from tapegrad._profile.events import AGAIN, BACKWARD, FUNCTION, PROGRAM, REPLAY, TANGENT, WHOLE
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.recording import Recording
from tapegrad._transforms.reverse import grad

STEPS = 60  # of a program
KEPT = 10  # turns; the first profile has so many
MORE = 3  # turns of a later profile
FRESH = 10**9  # nanoseconds for which turns are as good as new

Program = Callable[[Any], Any]
Times = TypeVar("Times")

_lock = threading.Lock()
_turns: deque[dict[str, float]] = deque(maxlen=KEPT)
_measured = [0]  # when the last turn was


def costs() -> Costs:
    """Nanoseconds that watching takes beside what a clock sees."""
    with _lock:
        if not _turns or now() - _measured[0] > FRESH:
            for _ in range(MORE if _turns else KEPT):
                _turns.append(contextvars.Context().run(_turn))  # outside of all transforms
            _measured[0] = now()
        return _costs({name: min(one[name] for one in _turns) for name in _turns[0]})


def _costs(least: dict[str, float]) -> Costs:
    """Result of the times."""
    passing, logging = (
        max(0.0, least[f"{name}, seen"] - least[name]) / STEPS for name in ("passing", "logging")
    )

    def per(name: str, more: float = 0.0, count: int = STEPS) -> float:
        more += passing * least.get(f"{name}, passed", 0) + logging * least.get(
            f"{name}, logged", 0
        )
        return (least[f"{name}, seen"] - least[name] - more) / count

    events = 3 * STEPS + 1  # of a program
    nothing = least["nothing"] / STEPS
    call, step = per("calls", count=events), per("steps", count=events)
    # Time around a call lies between calls, and cannot be taken off the calls' own time.
    around = min(least["between calls"] / events - nothing, call)
    within = call - around
    between = least["between steps"] / events
    tangent = per("tangents", call * events, events) / 2
    run_within = least["run, within"] / STEPS - nothing
    run_around = least["run, around"] / STEPS
    transform = per("gradients") - 2 * (run_within + run_around) - call - step
    runs = PROGRAM, REPLAY, AGAIN
    inner: dict[int | str, float] = {
        FUNCTION: within,
        READ: within + max(0.0, per("reads", call * events) - call),
        WRITE: within + max(0.0, per("writes", call * events) - call),
        BACKWARD: step - between,
        TANGENT: tangent,
        **dict.fromkeys(runs, run_within),
    }
    outer = {
        FUNCTION: around,
        BACKWARD: between,
        TANGENT: tangent,
        **dict.fromkeys(runs, run_around),
        REPLAY: run_around + max(0.0, transform),  # a transform has one
    }
    return Costs(
        _whole(passing),
        _whole(logging),
        {kind: _whole(time) for kind, time in inner.items()},
        {kind: _whole(time) for kind, time in outer.items()},
    )


def _whole(time: float) -> int:
    return max(0, round(time))


# -- programs -------------------------------------------------------------------------------------


def _calls(x: Any) -> Any:
    y = x[0]
    for _ in range(STEPS):
        y = np.sin(y) * 1.01 + y
    return y


def _reads(x: Any) -> Any:
    y = x[0]
    for i in range(STEPS):
        y = np.sin(x[i]) * 1.01 + y
    return y


def _writes(x: Any) -> Any:
    y = x[0]
    z = x + 1.0
    for i in range(STEPS):
        z[i] = y = np.sin(y) * 1.01 + y
    return y


def _tangents(x: Any) -> Any:
    return jvp(_calls, (x,), (x,))


def _gradients(x: Any) -> Any:
    for _ in range(STEPS):
        _gradient(x[0])


_gradient = grad(np.sin)


def _nothing(_: Any) -> None:
    pass


# -- measuring -----------------------------------------------------------------------------------


class _Times(NamedTuple):
    """Of a program, in nanoseconds; of that, between its calls, and the steps of the replay.

    passed, logged: how often what `Costs.passing` and `Costs.logging` are of was paid in it.
    """

    forward: float
    backward: float = 0
    between: tuple[float, float] = (0, 0)
    passed: int = 0
    logged: int = 0


def _turn() -> dict[str, float]:
    """Each time, measured once; and how often what is unseen was paid."""
    found = _parts()
    plain, seen = _warm(_run, _calls), _seen(_calls)
    found |= {
        "steps": plain.backward,
        "steps, seen": seen.backward,
        "between calls": seen.between[0],
        "between steps": seen.between[1],
    }
    reads = _warm(_run, _reads), _seen(_reads)
    writes = _warm(_run, _writes), _seen(_writes)
    tangents = _warm(_time_of, _tangents), _seen_whole(_tangents)
    gradients = _warm(_time_of, _gradients), _seen_whole(_gradients)
    for name, before, after in (
        ("calls", plain.forward, seen),
        ("reads", reads[0].forward, reads[1]),
        ("writes", writes[0].forward, writes[1]),
        ("tangents", *tangents),
        ("gradients", *gradients),
    ):
        found |= {
            name: before,
            f"{name}, seen": after.forward,
            f"{name}, passed": after.passed,
            f"{name}, logged": after.logged,
        }
    return found


def _warm(run: Callable[[Program], Times], program: Program) -> Times:
    """A run as a program that nobody watches has it: not the first one after a watch.

    Python has then forgotten where it found the attributes that were switched, and looks them up
    anew: up to a fourth of the time of these programs.
    """
    run(program)
    return run(program)


def _run(call: Program) -> _Times:
    def timed(recording: Recording) -> _Times:
        (x,) = recording.inputs([np.ones(STEPS)])
        begun = now()
        y = call(x)
        between = now()
        recording.finish(y)
        slot = recording.slot_of(y)
        before = now()
        recording.pull([slot], [np.ones(())])
        return _Times(between - begun, now() - before)

    return Recording("profile").run(timed)


_MANY = 10**9
_COUNTED = Costs(passing=1, logging=_MANY)  # what is unseen is the counts, in one number


def _seen(program: Program) -> _Times:
    watch = Watch(costs=_COUNTED)
    with watched(watch):
        _run(watch.within(program, PROGRAM, "program"))
    sums = _sums(watch)
    forward, backward = sums[PROGRAM] + sums[FUNCTION], sums[REPLAY] + sums[BACKWARD]
    return _Times(forward, backward, (sums[PROGRAM], sums[REPLAY]), *_counts(watch))


def _time_of(program: Program) -> float:
    begun = now()
    program(np.ones(STEPS))
    return now() - begun


def _seen_whole(program: Program) -> _Times:
    watch = Watch(costs=_COUNTED)
    with watched(watch):
        watch.within(_time_of, WHOLE, "program")(program)
    sums = _sums(watch)
    return _Times(sum(sums.values()), 0, (0, 0), *_counts(watch))


def _counts(watch: Watch) -> tuple[int, int]:
    """How many calls passed, and how many entries were logged."""
    logged, passed = divmod(watch.local.thread.unseen, _MANY)
    return passed, logged


def _sums(watch: Watch) -> dict[int, float]:
    watch.costs = Costs()
    for field in UNSEEN:
        watch.records[field::FIELDS] = [0] * (len(watch.records) // FIELDS)
    kinds = (WHOLE, PROGRAM, FUNCTION, REPLAY, BACKWARD, TANGENT, AGAIN)
    sums = dict.fromkeys(kinds, 0.0)
    for event in watch.events():
        sums[event.kind] += event.own
    return sums


def _parts() -> dict[str, float]:
    """Time of the functions that stand in for others, of a function that does nothing."""
    entries: list[Any] = []
    watch = Watch()
    thread = watch.local.thread
    called, run = watch.called(_nothing, str), watch.within(_nothing, AGAIN, "run")
    logged = watch._log_of(entries.append, {})
    with watched(watch, places=False):
        thread.inside, thread.kind = True, FUNCTION
        passing = _time(called)
        appended, logging = _time(entries.append, (0,)), _time(logged, (0,))
        thread.inside, thread.kind = False, -1
        nothing = _time(_nothing)
        watch.within(lambda: _time(run), REPLAY, "runs")()
    sums = _sums(watch)
    return {
        "nothing": nothing,
        "passing": nothing,
        "passing, seen": passing,
        "logging": appended,
        "logging, seen": logging,
        "run, within": sums[AGAIN],
        "run, around": sums[REPLAY],
    }


def _time(function: Callable[[Any], Any], given: Any = 0) -> float:
    """Of the calls of a function."""
    begun = now()
    for _ in range(STEPS):
        function(given)
    called = now()
    for _ in range(STEPS):
        pass
    return called - begun - (now() - called)


__all__ = ["costs"]
