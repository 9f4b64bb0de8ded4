"""Functions that a solver calls very often: compiled after some calls, where that is possible.

Knows tapegrad.compile. Must not know what the functions compute. A program that NumPy runs is what
the function computes, to the last bit, so the switch cannot be seen.
"""

from __future__ import annotations

from typing import Any

from tapegrad._block import setting
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Function
from tapegrad._core.values import in_trace, innermost
from tapegrad._errors import EagerWarning, TapegradError
from tapegrad._tree import flatten

_FEW = 60  # calls before a program pays


class Quick:
    """A function of arrays and numbers, which may become a program.

    A transform whose replay calls it is not its own: of plain arrays it is a program there too.
    One that reaches values in a trace by itself stays as it is.
    """

    def __init__(self, function: Function) -> None:
        self.function = function
        self.calls = 0
        self.program: Any = None

    def __call__(self, *args: Any) -> Any:
        self.calls += 1
        if self.program is False or any(map(in_trace, args)):
            return self.function(*args)
        if self.calls <= _FEW:
            found = self.function(*args)
            if innermost(flatten(found)[0]) is not None:
                self.program = False
            return found
        if self.program is None:
            from tapegrad._compile.calls import Calls  # here, as few programs need it

            self.program = Calls(self.function, "numpy", check=0, alerts=True)
        return self._run(args)

    def _run(self, args: Any) -> Any:
        try:
            with setting(CURRENT, None):
                return self.program(*args)
        except (TapegradError, EagerWarning):
            # It asks for what no program has; called as it is, it raises what is to be raised.
            self.program = False
            return self.function(*args)


__all__ = ["Quick"]
