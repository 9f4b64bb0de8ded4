"""Functions that others express: each call is that of its definition.

Knows the replays in either direction, by which a settled call is differentiated like its
definition. Must not know which functions exist, nor the class of traced arrays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.entry import Spec
from tapegrad._core.fit import zeros_of
from tapegrad._core.forward_tape import ForwardTape
from tapegrad._core.general import transpose_at
from tapegrad._core.out import write_out
from tapegrad._core.rule import Rule
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Value
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

        None for a call that the definition makes more of. It need not look at what the arrays are:
        where one is neither NumPy's, nor a number, nor of this tape, the definition is called.

        Of calls that are settled by `settle_all`: `linear`, whether they are linear, and `fixed`,
        which arrays are positions.
        """
        super().__init__(function, **options)
        self.definition = definition
        self.several = True
        self.primitive = primitive
        self.linear, self._fixed = linear, frozenset(fixed)

    def apply(self, *args: Any, **kwargs: Any) -> Any:
        if self.deprecated:
            self.refuse_deprecated(kwargs)
        args, kwargs = self.split_out(args, kwargs)
        out = kwargs.pop("out", None)
        result = self.definition(*args, **kwargs)
        return result if out is None else write_out(out, result, self.name)

    def needs(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [not self.linear or at in self._fixed for at in range(len(wanted))], False

    def defined(self, args: Sequence[Value], params: Params) -> Any:
        """The definition's result; arguments that no derivative reads may be specs."""
        arrays = [np.zeros(x.shape, x.dtype) if type(x) is Spec else x for x in args]
        return self.definition(*((arrays,) if self.sequence else arrays), **params)

    def pull(
        self,
        g: Cotangent,
        out: Value,
        args: Sequence[Value],
        params: Params,
        wanted: Sequence[bool],
    ) -> Sequence[Cotangent]:
        return self._pulled(g, args, params, wanted, strong_zeros=False)

    def pull_strongly(
        self,
        g: Cotangent,
        out: Value,
        args: Sequence[Value],
        params: Params,
        wanted: Sequence[bool],
    ) -> Sequence[Cotangent]:
        """The same where every product is a strong one, as in a replay of the definition."""
        return self._pulled(g, args, params, wanted, strong_zeros=True)

    def _pulled(
        self,
        g: Cotangent,
        args: Sequence[Value],
        params: Params,
        wanted: Sequence[bool],
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

    def _at(
        self, given: Sequence[Value], args: Sequence[Value], params: Params, wanted: Sequence[bool]
    ) -> Any:
        """The definition with other values for some of the arguments."""
        values = iter(given)
        mixed = [next(values) if want else x for x, want in zip(args, wanted, strict=True)]
        return self.defined(mixed, params)

    def push(
        self, dots: Sequence[Tangent], out: Value, args: Sequence[Value], params: Params
    ) -> Tangent:
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
            dot = made.slot.tangent
            return zeros_of(out) if dot is None else dot
        finally:
            tape.close()
