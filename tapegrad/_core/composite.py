"""Functions that others express: each call is that of its definition.

Knows the replays in either direction, by which a settled call is differentiated like its
definition. Must not know which functions exist, nor the class of traced arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.entry import Spec
from tapegrad._core.fit import is_sound, zeros_of
from tapegrad._core.forward_tape import ForwardTape, tangent_at
from tapegrad._core.general import transpose_at
from tapegrad._core.out import write_out
from tapegrad._core.reads import require_definition
from tapegrad._core.rule import Rule
from tapegrad._core.settled import ALL
from tapegrad._core.tape import hand_over
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Value, Values, Wanted
from tapegrad._core.values import Traced


class Composite(Rule):
    """A function expressed by others, which are called with the arguments as they came.

    A call that is settled has an entry of its own. What it is settled to serves NumPy's own
    arrays; any other replay of the entry takes the definition, on a tape of its own.
    """

    form = "composite"

    def __init__(
        self,
        function: Function,
        definition: Function,
        *,
        primitive: Function | None = None,
        linear: bool = False,
        fixed: Sequence[int] = (),
        **options: Any,
    ) -> None:
        """`primitive`: of the arguments of a call, the `(rule, arrays, params)` it comes to.

        None for a call that the definition makes more of. It is asked once for calls of a kind: of
        one array (`arrays=1`) with its spec in place of it, else with integers in place of all
        arguments but those that are None, of which it returns the ones that the rule gets.

        Of calls that are settled by `settle_all`: `linear`, whether they are linear, and `fixed`,
        which arrays are positions.
        """
        super().__init__(function, **options)
        require_definition(self.name, definition, function)
        self.definition = definition
        self.several = True
        if primitive is not None:
            self.primitive = primitive
            if self._arrays == 1:
                self.calls = {}
            else:
                self.calls_of_all, self.gathers = {}, ALL
        self.linear, self._fixed = linear, frozenset(fixed)

    def apply(self, *args: Any, **kwargs: Any) -> Any:
        if self.deprecated:
            self.refuse_deprecated(kwargs)
        args, kwargs = self.split_out(args, kwargs)
        out = kwargs.pop("out", None)
        result = self.definition(*args, **kwargs)
        return result if out is None else write_out(out, result, self.name)

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        return [not self.linear or at in self._fixed for at in range(len(wanted))], False

    def defined(self, args: Values, params: Params) -> Any:
        """The definition's result; arguments that no derivative reads may be specs."""
        arrays = [np.zeros(x.shape, x.dtype) if type(x) is Spec else x for x in args]
        return self.definition(*((arrays,) if self.sequence else arrays), **params)

    def pull(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        return self._pulled(g, args, params, wanted, strong_zeros=False)

    def pull_strongly(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        """The same where every product is a strong one, as in a replay of the definition."""
        return self._pulled(g, args, params, wanted, strong_zeros=True)

    def _pulled(
        self,
        g: Cotangent,
        args: Values,
        params: Params,
        wanted: Wanted,
        *,
        strong_zeros: bool,
    ) -> Sequence[Cotangent]:
        likes = [
            np.zeros(x.shape, x.dtype) if type(x) is Spec else x
            for x, want in zip(args, wanted, strict=True)
            if want
        ]
        bars = transpose_at(
            lambda given: [self._at(given, args, params, wanted)],
            likes,
            [g],
            strong_zeros=strong_zeros,
        )
        found = iter(bars)
        return [next(found) if want else None for want in wanted]

    def _at(self, given: Sequence[Value], args: Values, params: Params, wanted: Wanted) -> Any:
        """The definition with other values for some of the arguments."""
        values = iter(given)
        mixed = [next(values) if want else x for x, want in zip(args, wanted, strict=True)]
        return self.defined(mixed, params)

    def push(self, dots: Sequence[Tangent], out: Value, args: Values, params: Params) -> Tangent:
        dot = self._pushed(dots, out, args, params, strong=False)
        return dot if is_sound(dot) else self._pushed(dots, out, args, params, strong=True)

    def _pushed(
        self,
        dots: Sequence[Tangent],
        out: Value,
        args: Values,
        params: Params,
        *,
        strong: bool,
    ) -> Tangent:
        """The tangent of the definition's result, on a tape of its own."""
        tape = ForwardTape(self.name)
        if strong:
            tape.be_strong()
        else:
            tape.ask_at_the_end()
        try:
            given = []
            for x, dot in zip(args, dots, strict=True):
                if dot is not None:
                    cell = tape.fresh()
                    cell.tangent = dot
                    x = tape.wrap(np.zeros(x.shape, x.dtype) if type(x) is Spec else x, cell)
                given.append(x)
            made = self.defined(given, params)
            if not isinstance(made, Traced) or made.tape is not tape or made.slot == -1:
                return zeros_of(out)
            dot = tangent_at(made.slot)
            return zeros_of(out) if dot is None else dot
        finally:
            tape.close()
            if tape.root.refused is not None:
                hand_over(tape.root)
