"""Functions that look at numbers to decide how to go on, under vmap: one example after another.

Each example goes its own way, also where a transform inside of the vmap differentiates it: such a
call is one entry on the tape, whose derivative is that of each example.

Must not know single functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tapegrad._batched.batching_rules import call_one_by_one
from tapegrad._core.careful import spread
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Value, Values, Wanted
from tapegrad._core.values import innermost, is_inexact, is_mapped, lift
from tapegrad._errors import BatchingError, name_of
from tapegrad._transforms.closures import Hoisted
from tapegrad._transforms.custom import CustomCall
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.reverse import vjp
from tapegrad._tree import flatten, unflatten
from tapegrad.scipy._questions import holds_mapped


def of_examples(function: Function, args: Any, kwargs: Any = None) -> Any:
    """The result of a call; of values of a vmap that of each example, stacked.

    It may return objects, the parts of which besides arrays and numbers are equal for all.
    """
    hoisted = Hoisted((args, kwargs or {}))
    if not any(map(holds_mapped, hoisted.values)):
        return function(*args, **(kwargs or {}))
    inner = innermost(hoisted.values)
    if is_mapped(inner):
        call = _Apart(function, hoisted, is_number)
        return call.whole(call_one_by_one(inner.vmap_level, call, tuple(hoisted.values), {}))
    return _OfExamples(function, hoisted).result()


class _Apart:
    """A call as a function of the traced values in its arguments, which returns a tuple of parts.

    The rest of a result is kept, and has to be the same in all calls. It may hold values of a vmap
    that are no numbers to differentiate, as ranks and counts.
    """

    def __init__(
        self, function: Function, hoisted: Hoisted, is_part: Callable[[Any], bool]
    ) -> None:
        self.function, self.hoisted, self.is_part = function, hoisted, is_part
        self.kept: Any = None

    def __call__(self, *values: Value) -> tuple[Value, ...]:
        leaves, structure = self.leaves(values)
        is_part = list(map(self.is_part, leaves))
        parts = tuple(x for x, is_one in zip(leaves, is_part, strict=True) if is_one)
        rest = [None if is_one else x for x, is_one in zip(leaves, is_part, strict=True)]
        kept = structure, is_part, rest
        if self.is_part is is_number and self.kept is not None and self.kept != kept:
            raise BatchingError(
                f"vmap: parts of {name_of(self.function)}'s result that are no numbers differ "
                "from example to example. Loop over the examples."
            )
        self.kept = kept
        return parts

    def leaves(self, values: Sequence[Value]) -> tuple[list[Any], Any]:
        args, kwargs = self.hoisted.filled(values)
        leaves, structure = flatten(of_examples(self.function, args, kwargs))
        return list(map(lift, leaves)), structure

    def whole(self, parts: Sequence[Value]) -> Any:
        """The result of which these are the parts."""
        structure, is_part, rest = self.kept
        given = iter(parts)
        leaves = [next(given) if is_one else x for x, is_one in zip(rest, is_part, strict=True)]
        return unflatten(structure, leaves)


class _OfExamples(CustomCall):
    """A call on values of a transform inside of a vmap, as one entry on its tape.

    What no derivative asks for is left out, in either direction: a zero in its place would meet
    infinities.
    """

    def __init__(self, function: Function, hoisted: Hoisted) -> None:
        self.hoisted = hoisted
        self.active = [k for k, x in enumerate(hoisted.values) if is_inexact(x)]
        self.whole = _Apart(function, hoisted, is_inexact)
        super().__init__(name_of(function), self._forward, None, None)

    def result(self) -> Any:
        values = self.hoisted.values
        return self.whole.whole(self.apply_bound([values[k] for k in self.active], {}))

    def _forward(self, *args: Value) -> tuple[Value, ...]:
        return self.whole(*self._all_values(range(len(args)), args, self._still(args, ())))

    def _still(self, args: Values, moving: Sequence[int]) -> list[Any]:
        """All values of the call but those of some arguments."""
        found = list(self.hoisted.values)
        for i, k in enumerate(self.active):
            found[k] = None if i in moving else args[i]
        return found

    def _all_values(self, moving: Sequence[int], given: Values, still: Values) -> list[Any]:
        found = list(still)
        for i, x in zip(moving, given, strict=True):
            found[self.active[i]] = x
        return found

    def _along(self, moving: Sequence[int], still: Values, outputs: Sequence[int]) -> Function:
        """Some outputs as a function of some arguments, of one example."""
        _, is_part, _ = self.whole.kept  # a number there may be one of Python's here
        places = [place for place, is_one in enumerate(is_part) if is_one]

        def along(*given: Value) -> list[Any]:
            leaves, _ = self.whole.leaves(self._all_values(moving, given, still))
            return [leaves[places[k]] for k in outputs]

        return along

    def pull(
        self, g: Cotangent, out: Value, args: Values, params: Params, wanted: Wanted
    ) -> Sequence[Cotangent]:
        outputs = [k for k, bar in enumerate(g) if bar is not None]
        moving = [i for i, want in enumerate(wanted) if want]

        def pulled(g: Values, given: Values, still: Values) -> Any:
            return vjp(self._along(moving, still, outputs), *given)[1](list(g))

        def pull(g: Sequence[Cotangent], args: Values) -> Any:
            given = [args[i] for i in moving]
            return of_examples(pulled, (g, given, self._still(args, moving)))

        return spread(self._pulled(pull, [g[k] for k in outputs], args), wanted)

    def push(self, dots: Sequence[Tangent], out: Value, args: Values, params: Params) -> Tangent:
        moving = [i for i, dot in enumerate(dots) if dot is not None]

        def pushed(dots: Values, given: Values, still: Values) -> Any:
            along = self._along(moving, still, range(len(out)))
            return tuple(jvp(along, tuple(given), tuple(dots))[1])

        given = [args[i] for i in moving]
        return of_examples(pushed, ([dots[i] for i in moving], given, self._still(args, moving)))


def is_number(leaf: Any) -> bool:
    """Whether a part of a result is an array or a number."""
    return hasattr(leaf, "__array__") or isinstance(leaf, (bool, int, float, complex))


__all__ = ["is_number", "of_examples"]
