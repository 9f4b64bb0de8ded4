"""Whether programs are worth what they cost: which calls are recorded, and which stay f's own.

Knows counts of calls, and a clock. Must not know how a call is recorded, nor how it runs.

A program costs two recorded runs and its code, as long as 80 small calls, and in every call a look
at what the function reads from outside. It gains what it is faster. So there are two questions.

- Is a signature recorded? The first FREE are, at once. A further one has to come WAIT times first:
  then the calls that it made without a program cost as much as the recorded runs will, and those
  are at most doubled by them, whatever comes later. Where programs are dropped as there are too
  many, later ones wait ever longer; so nothing is recorded over and over.
- Is a program, once recorded, faster than the function? It may be slower only for the look, or
  for the few microseconds that any program takes. Where these are a large part of its call, a few
  calls are the function's own, in turns with calls of the program, and the least times decide.

Where no program can be, the look outside, which may show that one can be now, is made ever less
often, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from time import perf_counter
from typing import Any

FREE = 16  # signatures that are recorded when they come
WAIT = 100  # calls before a further one is: 80 take as long as two recorded runs and their code
PAUSE = 50  # calls whose signature is not looked at, where all that came are the function's own
REST = 8  # calls that are not looked at, where there was no program; then twice as many
MOST_REST = 128  # the most such calls, where state has to be read before a look
MOST_COUNTED = 4096  # signatures whose calls are counted
TURNS = 3  # calls of the program, and as many more of either kind, that are timed
LITTLE = 0.2  # of a program's call, up to which the look and the start may take without a trial
SHORT = 20e-6  # seconds of a program's call, in which its start is a large part
FASTER = 0.9  # of the time of a program's call, below which the function's own is preferred


class Worth:
    """Knowledge of the signatures of one function: which are recorded, which are its own."""

    def __init__(self) -> None:
        self.recorded: set[Any] = set()
        self.waiting: dict[Any, int] = {}  # how often each of them came
        self.own: dict[Any, str] = {}  # why calls of a signature are the function's own
        self.refused: dict[Any, list[int]] = {}  # calls until the next look, and from then on
        self.wait = WAIT
        self.dropped = 0

    def admits(self, signature: Any) -> bool:
        """Count a call, and say whether it is recorded, or a program's already."""
        if signature in self.own:
            return False
        if signature in self.recorded:
            return not self.refused or self._is_asked_again(signature)
        if len(self.recorded) + self.dropped >= FREE:
            count = self.waiting.get(signature, 0) + 1
            if count <= self.wait:
                if count == 1 and len(self.waiting) >= MOST_COUNTED:
                    self.waiting.clear()
                self.waiting[signature] = count
                return False
            self.waiting.pop(signature, None)
        self.recorded.add(signature)
        return True

    @property
    def pause(self) -> int:
        """For how many calls not even their signature is looked at: where all are f's own."""
        return PAUSE if len(self.own) == len(self.recorded) else 0

    def refuse(self, signature: Any) -> None:
        """Take up that no program can be, with what is outside now."""
        self.refused[signature] = [REST, REST]

    def _is_asked_again(self, signature: Any) -> bool:
        """Whether to look if other things are outside, with which there can be a program."""
        rest = self.refused.get(signature)
        if rest is None:
            return True
        rest[0] -= 1
        if rest[0] > 0:
            return False
        rest[1] *= 2
        rest[0] = rest[1]
        return True

    def drop(self, signature: Any, most: int) -> None:
        """Take up that a program had to go; once as many went as may be kept, all wait longer."""
        self.recorded.discard(signature)
        self.dropped += 1
        if self.dropped % most == 0:
            self.wait *= 2

    def why_waiting(self) -> str:
        """Why a signature that came just now is not recorded."""
        return (
            f"it is called with more than {FREE} combinations of shapes, types, and values of "
            f"integers or texts. A further one is recorded when it has come {self.wait} times"
        )


class Rest:
    """Calls that are not looked at, as those before were all the function's own: ever more."""

    def __init__(self) -> None:
        self.left = 0
        self.own = 0  # calls in a row

    def note(self, *, is_own: bool) -> None:
        """Take up whether a call that was looked at was the function's own."""
        self.own = self.own + 1 if is_own else 0
        if self.own >= TURNS:
            self.left = min(1 << self.own, MOST_REST)


class Trial:
    """Calls of a program and of the function in turns, timed, until one of them is chosen."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Start the turns."""
        # Whether the function itself has the turn; from the end.
        self.turns = [False, True] * TURNS + [False] * TURNS
        self.look = self.run = self.own = math.inf  # the least times
        self.waits = False  # for the runner that the program will have

    def is_own_turn(self, *, final: bool) -> bool:
        """Whether the function itself makes this call. final: whether the runner stays."""
        if self.waits and final:
            self.begin()
        return not self.waits and self.turns[-1:] == [True]

    def time_own(self, call: Callable[[], Any], part: Callable[[], float] | None = None) -> Any:
        """A turn of the function itself, or of one around it, which tells its part of the time."""
        start = perf_counter()
        out = call()
        self.own = min(self.own, perf_counter() - start if part is None else part())
        del self.turns[-1:]
        return out

    def time_program(self, look: Callable[[], Any], run: Callable[[], Any]) -> Any:
        """A turn of the program, with a look at the arguments and outside."""
        if self.waits:
            return run()
        start = perf_counter()
        look()
        looked = perf_counter()
        out = run()
        self.run = min(self.run, perf_counter() - looked)
        self.look = min(self.look, looked - start)
        del self.turns[-1:]
        return out

    def verdict(self, *, final: bool) -> str | None:
        """Why calls are the function's own; "" if they are the program's, None while it is open.

        final: whether the runner stays. Of one that does not, the look alone counts.
        """
        if self.waits:
            return None
        whole = self.look + self.run
        following = self.turns[-1:]  # at once, as other threads make calls, too
        if following:  # is the function itself to be timed?
            is_open = following == [False] or self.own < math.inf
            is_clear = self.look <= LITTLE * whole and not 0 < whole < SHORT
            return "" if is_clear and not is_open else None
        if self.own >= FASTER * whole:
            return ""
        if not final and self.own >= FASTER * self.look:
            self.waits = True
            return None
        if self.is_for_the_look:
            return (
                f"to look at what it reads from outside takes longer ({_us(self.look)}) than it "
                f"does itself ({_us(self.own)}). Pass what it reads"
            )
        return f"a call of its program takes {_us(whole)}, and its own {_us(self.own)}"

    @property
    def is_for_the_look(self) -> bool:
        """Whether the look takes more of a call than the program, and is worth a word."""
        return self.look > max(self.run, SHORT)


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} us"


__all__ = ["Rest", "Trial", "Worth"]
