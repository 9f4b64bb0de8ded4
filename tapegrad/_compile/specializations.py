"""Specializations of a compiled function: what is known of the calls of one signature.

Knows what a program is recorded into, and after what there is none. Must not know how a call is
recorded, nor who runs it.
"""

from __future__ import annotations

from typing import Any

from tapegrad._compile.worth import Trial
from tapegrad._core.types import Function
from tapegrad._program.numpy_program import KEPT_BYTES
from tapegrad._program.program import Segment

MOST_NOT_FINITE = 4  # calls of a program with derivatives that are not finite


class Specialization:
    """Knowledge of the calls of one signature: their program, or why there is none."""

    __slots__ = (
        "around",
        "careful",
        "eager",
        "held",
        "key",
        "not_finite",
        "opaque",
        "outside",
        "paths",
        "raised",
        "restarts",
        "root",
        "runner",
        "trial",
        "why",
        "written",
    )

    def __init__(self, count: int) -> None:
        self.careful = False  # whether it also goes the ways of calls with infinities and NaNs
        self.begin_anew(count)
        self.eager = False  # whether its calls are the function's own
        self.why: str | None = None  # and the reason
        self.outside = 0  # the version of the surroundings
        self.around: Any = ()  # the state of packages whose objects there are
        self.restarts = 0
        self.paths = 0
        self.key: Any = None  # of its signature
        self.trial: Trial | None = None  # while it is open whether the function itself is faster
        self.opaque: set[Function] = set()  # functions that are calls of the program
        self.raised = 0  # calls in which one of NumPy's raised, and f did not
        self.not_finite = 0  # calls in which a derivative met infinities or NaNs
        self.written: set[int] = set()  # inputs into which it writes on some path

    def begin_anew(self, count: int) -> None:
        """Forget what was recorded."""
        self.root = Segment(None, count)
        self.root.careful = self.careful
        self.runner: Any = None
        self.held: frozenset[int] | None = None  # leaves that hold their array, and it is written

    @property
    def is_final(self) -> bool:
        """Whether no other runner takes the place of its own."""
        return self.runner is None or getattr(self.runner, "is_final", True)

    @property
    def is_built(self) -> bool:
        """Whether no machine code is being built for it."""
        return getattr(self.runner, "inputs", None) is None

    @property
    def is_native(self) -> bool:
        """Whether machine code makes its calls."""
        return getattr(self.runner, "status", "").startswith("machine code")

    @property
    def bytes(self) -> int:
        """How much memory it keeps between calls."""
        size = getattr(self.runner, "bytes", 0)
        return size if size <= KEPT_BYTES else 0

    def hold(self, written: frozenset[int]) -> str | None:
        """Take up which leaves hold an array that is written to; why that is no program's."""
        before, self.held = self.held, written
        return None if before in (None, written) else "it writes into other tensors in other calls"

    def meet_infinities(self, count: int) -> bool:
        """Count a call with derivatives that are not finite; whether all begins anew after it.

        The program is then recorded with all that is asked about infinities and NaNs as branches.
        """
        self.not_finite += 1
        if self.careful or (self.runner is not None and self.not_finite < MOST_NOT_FINITE):
            return False
        self.careful, self.opaque = True, set()
        self.begin_anew(count)
        return True


__all__ = ["Specialization"]
