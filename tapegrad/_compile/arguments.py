"""Arguments and results of compiled calls: recorded values in their place, and what they tell.

Knows leaves, the objects that hold an array, and what a run may have done with them. Must not know
programs, nor when a call is recorded.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Iterable
from typing import Any

import numpy as np

from tapegrad._compile.signatures import STATIC, Changing
from tapegrad._core.values import recorded_in
from tapegrad._program.containers import CONTAINERS, closed, opened, with_held
from tapegrad._program.program import alike, copied
from tapegrad._program.recorded import Recorded
from tapegrad._program.recorder import Recorder
from tapegrad._tree import children_of, flatten


def array_of(leaf: Any) -> Any:
    """The array of an object that holds one; any other leaf itself."""
    holder = CONTAINERS.get(type(leaf))
    return leaf if holder is None else holder.array(leaf)


def copies(leaves: list[Any]) -> list[Any]:
    """The leaves with copies of their arrays, into which a function may write."""
    made: dict[int, Any] = {}
    for leaf in leaves:
        found = opened(leaf)
        if found is not None:
            made[id(leaf)] = closed(copied(found[0]), found[1])
        elif type(leaf) is np.ndarray:
            made[id(leaf)] = copied(leaf)
    return [made.get(id(leaf), leaf) for leaf in leaves]


def note_writes(positions: Iterable[int], leaves: list[Any]) -> None:
    """Say to objects among the leaves that their arrays have been written into."""
    for position in positions:
        CONTAINERS[type(leaves[position])].written(leaves[position])


def with_recorded(leaves: list[Any], recorder: Recorder) -> tuple[list[Any], dict[int, Recorded]]:
    """The leaves with recorded values in them, and these by the leaf; an object twice is one."""
    given: list[Any] = []
    recorded: dict[int, Recorded] = {}
    made: dict[int, Any] = {}
    for position, leaf in enumerate(leaves):
        kind = type(leaf)
        if kind not in STATIC and not isinstance(leaf, enum.Enum):
            value, rest = opened(leaf) or (leaf.number if kind is Changing else leaf, None)
            own = copy_of_argument(value) if type(value) is np.ndarray else value
            x = recorded[position] = Recorded(own, len(recorded), recorder)
            if rest is None and kind is not np.ndarray:
                leaf = x
            else:
                if id(leaf) not in made:
                    made[id(leaf)] = x if rest is None else closed(x, rest)
                leaf = made[id(leaf)]
        given.append(leaf)
    return given, recorded


def copy_of_argument(array: Any) -> Any:
    """A copy of an array, which can be written to if that can."""
    copy = copied(array)
    copy.flags.writeable = array.flags.writeable
    return copy


def written_inputs(values: list[Recorded], inputs: list[Any], recorder: Recorder) -> set[int]:
    """The inputs into which a run has written: also where no call says so, as code in C may."""
    return {
        i
        for i, x in enumerate(values)
        if x.memory.version or recorder.unfit is not None and not alike(x.memory.owner, inputs[i])
    }


def has_more(tree: Any) -> bool:
    """Whether a dataclass or a namedtuple in a tree has attributes besides its fields."""
    rest = [tree]
    while rest:
        x = rest.pop()
        found = children_of(x)
        if found is None:
            continue
        rest += found[0]
        kind: Any = type(x)
        own = getattr(x, "__dict__", None)
        if own and not own.keys() <= getattr(kind, "__dataclass_fields__", own).keys():
            return True
        if own and hasattr(kind, "_make"):
            return True
    return False


def opened_results(out: Any) -> tuple[list[Any], Any, str | None]:
    """The leaves of a result, with arrays for objects, the structure; why there is no program."""
    leaves, structure = flatten(out)
    rests: list[Any] = []
    refused = "it returns an object with attributes beside its fields" if has_more(out) else None
    for i, leaf in enumerate(leaves):
        holder = CONTAINERS.get(type(leaf))
        value, rest = leaf, None
        if holder is not None:
            refused = refused or holder.refusal(leaf)
            found = opened(leaf)
            value, rest = (leaf, None) if found is None else found
        if not issubclass(type(value), Recorded) and not is_constant(value):
            refused = refused or f"it returns a {type(leaf).__name__}"
        leaves[i] = value
        rests.append(rest)
    return leaves, with_held(structure, rests), refused


def refusal(given: list[Any], leaves: list[Any], recorded: dict[int, Recorded]) -> str | None:
    """Why what a run did with its arguments is nothing that a program does."""
    own = {id(given[i]): x for i, x in reversed(recorded.items())}  # an object has the first
    for position, x in recorded.items():
        one, leaf = given[position], leaves[position]
        holder = CONTAINERS.get(type(leaf))
        if holder is not None:
            found, before = opened(one), opened(leaf)
            if found is None or before is None or found[1] != before[1]:
                return holder.refusal(one) or "it changes more of a tensor than its elements"
            if found[0] is not own[id(one)]:
                return "it gives a tensor that is an argument another array"
        elif x.steps or x.shape != np.shape(leaf):
            return "it changes the shape of an array that is an argument: return a reshaped one"
        elif type(leaf) is np.ndarray and x.flags.writeable != leaf.flags.writeable:
            return "it sets the flags of an array"
    return None


def why_changed(args: Any, kwargs: Any, given: list[Any], structure: Any) -> str | None:
    """Why the containers of the arguments are no longer as they were given; None if they are."""
    leaves, found = flatten((args, kwargs))
    if len(leaves) == len(given) and all(map(operator.is_, leaves, given)) and found == structure:
        return None
    return "it changes a list, a dict or an object that is an argument: return what is new"


def is_or_holds_recorded(value: Any) -> bool:
    """Whether a value is a recorded one, traced or not, or a tuple with one."""
    if issubclass(type(value), tuple):
        return any(map(is_or_holds_recorded, value))
    return recorded_in(value) is not None


def may_overlap(x: Any) -> bool:
    """Whether two elements of an array may lie at the same place."""
    flags = x.flags
    if flags.c_contiguous or flags.f_contiguous:
        return False
    span = x.itemsize
    for stride, length in sorted(
        (abs(s), n) for s, n in zip(x.strides, x.shape, strict=True) if n > 1
    ):
        if stride < span:
            return True
        span += stride * (length - 1)
    return False


def is_constant(leaf: Any) -> bool:
    """Whether a result that was not recorded is one that each call can return."""
    return isinstance(leaf, (np.ndarray, np.generic, float, complex)) or type(leaf) in STATIC


def own_array(leaf: Any, taken: set[int]) -> Any:
    """A result's leaf as an array of the caller's own."""
    value = leaf._value if issubclass(type(leaf), Recorded) else leaf
    if type(value) is not np.ndarray:
        return value
    if not issubclass(type(leaf), Recorded) or value.base is not None or id(value) in taken:
        value = value.copy("K")
    taken.add(id(value))
    return value


__all__ = [
    "array_of",
    "copies",
    "has_more",
    "is_or_holds_recorded",
    "may_overlap",
    "note_writes",
    "opened_results",
    "own_array",
    "refusal",
    "why_changed",
    "with_recorded",
    "written_inputs",
]
