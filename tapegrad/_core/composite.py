"""Functions that others express: each call is that of its definition.

Knows the replays in either direction, by which a planned call is differentiated like its
definition. Must not know which functions exist, nor the class of traced arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.careful import pull_function, reach_of, spread
from tapegrad._core.entry import Spec
from tapegrad._core.fit import zeros_of
from tapegrad._core.forward_tape import ForwardTape, tangent_at
from tapegrad._core.general import transpose_at
from tapegrad._core.out import write_out
from tapegrad._core.reads import require_definition
from tapegrad._core.rule import ALL, Rule, given_alone
from tapegrad._core.tape import hand_over
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Value, Values, Wanted
from tapegrad._core.values import Traced


class Composite(Rule):
    """A function expressed by others, which are called with the arguments as they came.

    A call that is planned has an entry of its own. What it is planned as serves NumPy's own
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

        Of planned calls of several arrays: `linear`, whether they are linear, and `fixed`,
        which arrays are positions.
        """
        super().__init__(function, **options)
        require_definition(self.name, definition, function)
        self.definition = definition
        self.several = True
        if primitive is not None:
            self.primitive = primitive
            self.calls = {}
            if not self.plans_one:
                self.leading_arrays = ALL
        self.linear, self._fixed = linear, frozenset(fixed)

    def apply(self, *args: Any, **kwargs: Any) -> Any:
        if self.deprecated:
            self.refuse_deprecated(kwargs)
        args, kwargs = self.split_out(args, given_alone(kwargs))
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
        definition, values = self.definition_at(out, args, params, wanted)
        return spread(transpose_at(lambda given: [definition(given)], values, [g]), wanted)

    def pull_strongly(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        """`pull` where a zero cotangent absorbs what it meets."""
        definition, values = self.definition_at(out, args, params, wanted)
        found = spread(pull_function(definition, values, g, reach_of(g)), wanted)
        return [pair and pair[0] for pair in found]

    def definition_at(self, _out: Value, args: Values, params: Params, wanted: Wanted) -> Any:
        """The definition as a function of the wanted arguments, and their values.

        Replays that tell structural zeros from others go through it, and so do limits.
        """
        values = [
            np.zeros(x.shape, x.dtype) if type(x) is Spec else x
            for x, want in zip(args, wanted, strict=True)
            if want
        ]
        return lambda given: self._at(given, args, params, wanted), values

    def _at(self, given: Sequence[Value], args: Values, params: Params, wanted: Wanted) -> Any:
        """The definition with other values for some of the arguments."""
        values = iter(given)
        mixed = [next(values) if want else x for x, want in zip(args, wanted, strict=True)]
        return self.defined(mixed, params)

    def push(self, dots: Sequence[Tangent], out: Value, args: Values, params: Params) -> Tangent:
        tape = ForwardTape(self.name)
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
            found = tangent_at(made.slot)
            return zeros_of(out) if found is None else found
        finally:
            tape.close()
            if tape.root.refused is not None:
                hand_over(tape.root)
