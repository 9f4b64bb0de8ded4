"""A recorded program: what was called, in order, as a tree of segments between reads of values.

Knows nodes, and how to run them one by one, which is the definition of what a program means. Must
not know how a program is recorded, nor how generated code runs it.

A program is functional: a node's value never changes. A write into an array is a node whose value
is a copy of the array with the write done. Where Python asked for a value (`if x > 0`), the
program is cut; what followed is a child of the segment, under the answer.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.quiet import Kinds, errstate, silence
from tapegrad._core.values import own_copy

Function = Callable[..., Any]


class Ref:
    """An argument that is the value of a node, by its position along the path from the root."""

    __slots__ = ("at",)

    def __init__(self, at: int) -> None:
        self.at = at

    def __eq__(self, other: object) -> bool:
        return type(other) is Ref and other.at == self.at

    def __hash__(self) -> int:
        return hash(self.at)

    def __repr__(self) -> str:
        return f"v{self.at}"


class Step(NamedTuple):
    """A view: how it is taken from the array that stands for `HOLE` among the arguments."""

    function: Function
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class _Hole:
    def __repr__(self) -> str:
        return "_"


HOLE = _Hole()

UNKNOWN = np.dtype(object)  # of a result that is real or complex by values
OWN, CONSTANT = -1, -2  # of a node's memory: its own, or that of a constant


class Node:
    """A call: `function(*args, **kwargs)`, with references to earlier nodes among the arguments.

    With `steps` (also none of them: an empty tuple) it is a write: the first argument is copied,
    the view that the steps lead to is handed to the function, and the value is the whole copy.
    """

    __slots__ = (
        "args",
        "dtype",
        "function",
        "kind",
        "kwargs",
        "shape",
        "shares",
        "silent",
        "steps",
        "strides",
        "used",
    )

    def __init__(
        self,
        function: Function,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        steps: tuple[Step, ...] | None = None,
        silent: bool | Kinds = False,
    ) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.steps = steps
        self.used: tuple[int, ...] | None = None  # to which positions it refers, once asked
        # Whether floating-point warnings are off, or what else is done for some kinds of these.
        self.silent = silent
        self.kind: type = object  # of the value: np.ndarray, a NumPy scalar's, float ...
        self.shape: tuple[int, ...] = ()
        self.dtype: Any = None
        self.strides: tuple[int, ...] = ()
        self.shares = OWN  # the node whose memory the value is a view of, or OWN, or CONSTANT

    def describe(self, value: Any, shares: int) -> None:
        """Remember the class, shape and dtype of the value, and whose memory it has."""
        self.kind = kind = type(value)
        if kind is np.ndarray or kind is np.float64:  # most values
            self.shape, self.dtype, self.strides = value.shape, value.dtype, value.strides
        else:
            self.shape = getattr(value, "shape", ())
            self.dtype = getattr(value, "dtype", None)
            self.strides = getattr(value, "strides", ())
        self.shares = shares

    def again(
        self,
        function: Function,
        args: tuple[Any, ...],
        kwargs: dict[str, Any] | None = None,
        steps: tuple[Step, ...] | None = None,
    ) -> Node:
        """Another call whose value is of the same class, shape and layout."""
        made = Node(function, args, kwargs or {}, steps=steps, silent=self.silent)
        made.kind, made.shape, made.dtype = self.kind, self.shape, self.dtype
        made.strides, made.shares = self.strides, self.shares
        return made

    def same(self, other: Node) -> bool:
        """Whether another node is the same call with equal arguments."""
        return (
            self.function is other.function
            and self.kind is other.kind
            and self.shape == other.shape
            and self.dtype == other.dtype
            and self.strides == other.strides
            and self.shares == other.shares
            and self.silent == other.silent
            and len(self.args) == len(other.args)
            and all(map(alike, self.args, other.args))
            and (self.kwargs is other.kwargs or alike(self.kwargs, other.kwargs))
            and (self.steps is other.steps or alike(self.steps, other.steps))
        )


def warns_as(before: bool | Kinds, silent: bool | Kinds) -> bool:
    """Whether a call in one error state may stand for the same one later, in another."""
    return before == silent or before is False or silent is True


def INPUT() -> None:
    """The function of the node that describes an input; it is not called."""


def are_close(a: Any, b: Any) -> bool:
    """Whether two results are the same but for rounding, at the scale of the largest element."""
    if type(a) is not type(b):
        return False
    if a is b:
        return True
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if b.dtype.kind not in "fc":
        return np.array_equal(a, b)
    scale = float(np.max(np.abs(b), initial=0, where=np.isfinite(b)))
    return np.allclose(a, b, rtol=1e-4, atol=1e-4 * scale, equal_nan=True)


def alike(a: Any, b: Any) -> bool:
    """Whether two arguments are the same: equal, of one type, and arrays bit by bit."""
    kind = type(a)
    if kind is not type(b):
        return False
    if kind is Ref:  # most arguments
        return bool(a.at == b.at)
    if a is b:
        return True
    if kind is np.ndarray:
        return (
            a.shape == b.shape
            and a.dtype == b.dtype
            and a.strides == b.strides
            and _same_bits(a, b)
        )
    if kind in (tuple, list) or isinstance(a, tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    if kind is dict:
        return a.keys() == b.keys() and all(alike(a[key], b[key]) for key in a)
    if kind is slice:
        return alike((a.start, a.stop, a.step), (b.start, b.stop, b.step))
    if kind is float and a:
        return bool(a == b) or a != a and _same_bits(np.asarray(a), np.asarray(b))
    if issubclass(kind, (float, complex, np.generic)):
        return _same_bits(np.asarray(a), np.asarray(b))
    try:
        return bool(a == b)
    except Exception:  # noqa: BLE001 - of an object of the program: whatever its == raises
        return False


def _same_bits(a: Any, b: Any) -> bool:
    """Whether arrays of one shape and dtype hold the same bits, as far as these are of numbers."""
    if a.tobytes() == b.tobytes():
        return True
    if a.dtype.char not in "gG":  # between long doubles there may be room, which holds anything
        return False
    same = (a == b) & (np.signbit(a.real) == np.signbit(b.real))
    same &= np.signbit(a.imag) == np.signbit(b.imag)
    return bool(np.all(same | (np.isnan(a) & np.isnan(b))))


WIDEST = 1 << 16  # bytes from the first element of an array to its last, copied with all its gaps


def copied(array: Any) -> Any:
    """A copy that lies in memory as an array does: backwards, with gaps, or broadcast.

    The last bits of an elementary function may depend on that. Of a column of a large matrix, or
    another array in wide gaps, these are narrowed: at most as wide as what lies between them.
    """
    made = array.copy("K")
    if made.strides == array.strides or array.size <= 1:
        return made
    room = sum([abs(step) * (n - 1) for step, n in zip(array.strides, array.shape, strict=True)])
    narrow = room > WIDEST
    strides, packed, low, high = list(array.strides), array.itemsize, 0, array.itemsize
    for axis in sorted(range(array.ndim), key=lambda axis: abs(strides[axis])):
        steps, stride = array.shape[axis] - 1, abs(strides[axis])
        if not steps:
            continue
        if narrow:
            stride = min(stride, 2 * packed)
        packed = max(packed, stride * (steps + 1))
        if strides[axis] < 0:
            low += steps * stride
        else:
            high += steps * stride
        strides[axis] = -stride if strides[axis] < 0 else stride
    memory = np.empty(low + high, np.uint8)
    made = np.ndarray(array.shape, array.dtype, memory, low, strides)
    made[...] = array
    return made


def apart(value: Any, lent: Sequence[Any]) -> Any:
    """A result of a call, with a copy of what has memory of these arrays (and numbers)."""
    kind = type(value)
    if kind is np.ndarray:
        if any(type(x) is np.ndarray and np.may_share_memory(value, x) for x in lent):
            return copied(value)
    elif kind is tuple or kind is list:
        return kind([apart(part, lent) for part in value])
    elif isinstance(value, tuple):
        return kind(*[apart(part, lent) for part in value])
    return value


class Read(NamedTuple):
    """A question about a value, by whose answer the program goes on: `question(value)`."""

    question: Function
    at: int


class Segment:
    """Nodes in a row, and what follows: a read with a child by each answer, or the results."""

    __slots__ = (
        "careful",
        "children",
        "inputs",
        "nodes",
        "out",
        "parent",
        "read",
        "recordings",
        "start",
        "writes",
    )

    def __init__(self, parent: Segment | None, start: int) -> None:
        self.parent = parent
        self.inputs: dict[int, Node] = {}  # of a root: what is known of them
        self.start = start  # the position of the first node along the path
        self.careful = False  # of the first one: whether infinities and NaNs are branches
        self.nodes: list[Node] = []
        self.read: Read | None = None
        self.children: dict[Any, Segment] = {}
        self.recordings = 0  # runs that ended here
        self.out: Any = None  # the result's template, at the end of a path: `Results`
        self.writes: tuple[tuple[int, Any], ...] = ()  # inputs that f has written to

    def describe(self, inputs: Sequence[Any]) -> None:
        """Remember the classes, shapes and layouts of the inputs, the same in each call."""
        for at, value in enumerate(inputs):
            self.inputs[at] = node = Node(INPUT, (), {})
            node.describe(value, OWN)

    @property
    def complete(self) -> bool:
        """Whether it is known what follows the nodes."""
        return self.read is not None or self.out is not None


class Results(NamedTuple):
    """The leaves that a call returns, with references, and how to put them together again."""

    leaves: tuple[Any, ...]
    structure: Any


def answer_key(answer: Any) -> Any:
    """An answer as the key of a child: by type, and by bits, as nan and -0.0 have some."""
    kind = type(answer)
    if kind is float or kind is complex:
        return kind, repr(answer)
    if kind is np.ndarray:
        return kind, answer.shape, answer.dtype.str, answer.tobytes()
    return kind, answer


def filled(template: Any, values: Sequence[Any]) -> Any:
    """Arguments with values in place of references."""
    kind = type(template)
    if kind is Ref:
        return values[template.at]
    if kind is tuple or kind is list:
        return kind([filled(part, values) for part in template])
    if kind is dict:
        return {key: filled(part, values) for key, part in template.items()}
    if kind is slice:
        parts = (template.start, template.stop, template.step)
        return slice(*[filled(part, values) for part in parts])
    return template


def rewritten(template: Any, stand_ins: dict[int, Any]) -> Any:
    """Arguments with what stands for each reference."""
    kind = type(template)
    if kind is Ref:
        return stand_ins.get(template.at, template)
    if kind is tuple or kind is list:
        return kind([rewritten(part, stand_ins) for part in template])
    if kind is dict:
        return {key: rewritten(part, stand_ins) for key, part in template.items()}
    if kind is slice:
        parts = (template.start, template.stop, template.step)
        return slice(*[rewritten(part, stand_ins) for part in parts])
    return template


def renamed(node: Node, stand_ins: dict[int, Any]) -> Node:
    """A call with what stands for each reference, also for the array that its value is of."""
    steps = node.steps
    if steps:
        steps = tuple(
            [
                Step(f, rewritten(args, stand_ins), rewritten(kwargs, stand_ins))
                for f, args, kwargs in steps
            ]
        )
    made = node.again(
        node.function,
        rewritten(node.args, stand_ins),
        rewritten(node.kwargs, stand_ins) if node.kwargs else {},
        steps,
    )
    if node.shares >= 0 and node.shares in stand_ins:
        stands = stand_ins[node.shares]
        made.shares = stands.at if type(stands) is Ref else CONSTANT
    return made


def references(template: Any) -> Iterator[int]:
    """The positions to which arguments refer, in order, repeats included."""
    stack = [template]
    while stack:
        part = stack.pop()
        kind = type(part)
        if kind is Ref:
            yield part.at
        elif kind is tuple or kind is list or isinstance(part, tuple):
            stack.extend(reversed(part))
        elif kind is dict:
            stack.extend(reversed(list(part.values())))
        elif kind is slice:
            stack.extend((part.step, part.stop, part.start))


def references_of(node: Node) -> tuple[int, ...]:
    """The positions to which a node refers: its arguments, and the array that it is a view of.

    The latter is no argument where a call returned views in a list, of which the node is one.
    """
    used = node.used
    if used is None:
        found: list[int] = []
        for part in node.args:
            kind = type(part)
            if kind is Ref:
                found.append(part.at)
            elif kind not in _WITHOUT:
                found.extend(references(part))
        if node.kwargs:
            found.extend(references(node.kwargs))
        for step in node.steps or ():
            found.extend(references(step.args))
            found.extend(references(step.kwargs))
        if node.shares >= 0 and node.shares not in found:
            found.append(node.shares)
        used = node.used = tuple(found)
    return used


_WITHOUT = frozenset((float, int, bool, str, type(None), np.ndarray))


def value_of(node: Node, values: Sequence[Any]) -> Any:
    """The value of a node, from those before it."""
    args = filled(node.args, values)
    kwargs = filled(node.kwargs, values) if node.kwargs else node.kwargs
    if node.steps is None:
        return node.function(*args, **kwargs)
    whole = own_copy(args[0])
    node.function(taken(whole, node.steps, values), *args[1:], **kwargs)
    return whole


def taken(whole: Any, steps: Sequence[Step], values: Sequence[Any]) -> Any:
    """The view of an array that steps lead to, which can be written to if the array can."""
    view = whole
    for function, args, kwargs in steps:
        args = tuple([view if arg is HOLE else filled(arg, values) for arg in args])
        view = function(*args, **filled(kwargs, values))
    if type(view) is np.ndarray and not view.flags.writeable and whole.flags.writeable:
        view.flags.writeable = True  # a rule unlocked the diagonal of an array of its own
    return view


class UnknownAnswer(Exception):  # noqa: N818 - no error: the program has to be recorded further
    """A read got an answer for which nothing has been recorded."""


class NotFiniteError(Exception):
    """The derivatives are not all finite, as they were when the program was recorded."""


SOUND = operator.truth  # the question whether all expected answers came, at the end of a path


def interpret(root: Segment, inputs: Sequence[Any]) -> tuple[Any, list[Any], Segment]:
    """Run a program node by node: the results, all values, and the last segment.

    Raises UnknownAnswer where the program is not known.
    """
    values: list[Any] = list(inputs)
    segment = root
    while True:
        for node in segment.nodes[len(values) - segment.start :]:
            if node.silent is False:
                values.append(value_of(node, values))
                continue
            with silence() if node.silent is True else errstate(**dict(node.silent)):
                values.append(value_of(node, values))
        if segment.read is None:
            break
        question, at = segment.read
        found = segment.children.get(answer_key(question(values[at])))
        if found is None:
            raise NotFiniteError if question is SOUND else UnknownAnswer
        segment = found
    if segment.out is None:
        raise UnknownAnswer
    return filled(segment.out.leaves, values), values, segment


__all__ = [
    "CONSTANT",
    "HOLE",
    "INPUT",
    "OWN",
    "SOUND",
    "UNKNOWN",
    "Function",
    "Node",
    "NotFiniteError",
    "Read",
    "Ref",
    "Results",
    "Segment",
    "Step",
    "UnknownAnswer",
    "alike",
    "answer_key",
    "apart",
    "are_close",
    "copied",
    "filled",
    "interpret",
    "own_copy",
    "references",
    "references_of",
    "renamed",
    "rewritten",
    "taken",
    "value_of",
    "warns_as",
]
