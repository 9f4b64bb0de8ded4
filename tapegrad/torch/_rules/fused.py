"""Rules of several steps that are one function: their kernels where calls come again.

Knows rules, and what is planned of a call. Must not know which functions there are.

A function such as a norm or a loss finds much that its derivative needs as well. Where a call runs
for the first time it keeps that in a `Kept` among its parameters. A call that is planned has no
parameters of its own: there `kernels` says how such calls are made, with `Kernels.keep`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._core.entry import Spec
from tapegrad._core.fast.call_plans import Kernels
from tapegrad._core.recorded import OPEN, recorded_among
from tapegrad._core.rule import Rule
from tapegrad._core.types import Params, Values
from tapegrad._core.values import innermost
from tapegrad.torch._rules.generated import generated_kernels


class Kept:
    """Holds what a call has found for its backward pass: a parameter of that call alone."""

    __slots__ = ("found", "instead")

    def __init__(self) -> None:
        self.found: Any = None
        self.instead: Any = None  # an array with the derivatives of the first one: see `Instead`


class Instead(tuple[Any, ...]):
    """Second result of `keep`, after an array that is kept in the place of the first argument.

    The derivatives at that array are those at the argument, to which the program may write.
    """

    __slots__ = ()


class Fused(Rule):
    """A rule with kernels of its own for calls of the object layer that come again."""

    given: Callable[..., Kernels | None] | None = None  # instead of a method

    def call(self, arrays: Values, params: Params) -> Any:
        """The function; of arrays whose calls are recorded it is one call, as of plain ones."""
        found = recorded_among(arrays) if OPEN and not self.sequence else None
        if found is None or innermost(arrays) is not found:
            return super().call(arrays, params)
        return found.call_rule(self, list(arrays), params)

    def kernels(
        self, specs: Sequence[Any], out: Spec, wanted: tuple[bool, ...], **params: Any
    ) -> Kernels | None:
        """The kernels of calls with these arrays, or None for those that the rule leaves.

        specs: of the arrays; an argument that is a number, and the same for all such calls, is
        that number. Products of these kernels are never 0 times an infinity, or the rule is not
        strong.
        """
        if self.given is not None:
            return self.given(specs, out, wanted, **params)
        return generated_kernels(self, specs, out, wanted, params)


__all__ = ["Fused", "Instead", "Kept"]
