"""The graph: a node is both the slot of a value and PyTorch's `grad_fn`.

Knows the tape's entries and rules. Must not know the methods of a Tensor.

A functional transform owns a tape, which ends with it. The tape of tensors never ends: the history
of a tensor must live as long as the tensor, and no longer, also if a hook closes a cycle. So the
tape of this layer holds no list. Its slots are nodes, numbered in order of time. A node holds its
entry, and the entry holds the nodes of its arguments. Python frees the history that nobody can
reach.

A node's entry is an entry of the tape without its first item, the slot, which would be the node
itself: (rule, out, x, y, x_node, y_node) or (rule, out, args, params, nodes, None). The node of an
argument without one is -1.
"""

from __future__ import annotations

import operator
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tapegrad._core.entry import PROJECT, Entry, Outputs, Spec, parents_of, spec_of
from tapegrad._core.tape import Tape
from tapegrad._core.types import Function, Params, Slot, Value
from tapegrad._core.values import Traced
from tapegrad.torch._graph.hooks import Handle, Hooks
from tapegrad.torch._graph.names import name_of
from tapegrad.torch._graph.order import next_number

new = object.__new__
GUARD = threading.RLock()  # for state that backward passes of several threads may change


class Node:
    """A call in the graph: `Tensor.grad_fn`.

    A call of the node with the gradients of its results returns those of its arguments, which are
    differentiable themselves. Its class is named after the operation, as `MulBackward0`.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> node = (x**2).grad_fn
    >>> node.name(), node(torch.tensor(1.0))
    ('PowBackward0', tensor(4., grad_fn=<MulBackward0>))
    >>> [(parent.name(), number) for parent, number in node.next_functions]
    [('torch::autograd::AccumulateGrad', 0)]
    """

    __slots__ = ("__dict__", "__weakref__", "_entry", "_number")

    # Names have an underscore: a Function's ctx is its node, and users set any attribute on it.
    _number: int
    _entry: Any  # None at a leaf
    # How many arguments PyTorch's node has, if the entry has more: that of x**2 has x alone.
    _arguments: int | None = None
    _skipped: int = 0  # how many of the first are no arguments of PyTorch's node
    # Attributes that few nodes have; they are in their __dict__.
    _watched: bool = False  # whether a pass must stop at this node, for any of the following
    _hooks: Hooks | None = None  # hooks on the gradient of the result, before the node runs
    _prehooks: Hooks | None = None
    _posthooks: Hooks | None = None
    _retained: Sequence[weakref.ref[Any]] = ()  # tensors that keep their gradient
    _trace: Any = None  # the traceback of the call, in anomaly mode
    _packed: Any = None  # saved tensors as their hooks packed them

    def __ge__(self, start: Slot) -> bool:
        return self._number >= start

    def __lt__(self, start: Slot) -> bool:
        return self._number < start

    def name(self) -> str:
        """The name of the operation's backward function.

        -> str: Such as `MulBackward0`.
        """
        return type(self).__name__

    @property
    def requires_grad(self) -> bool:
        """True: what has no derivative has no node."""
        return True

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for whatever users want to keep with a node."""
        found: dict[Any, Any] = self.__dict__.setdefault("_metadata", {})
        return found

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The nodes of the arguments, each with the number of its result that was used."""
        return tuple(edge_of(parent) for parent in arguments_of(self))

    def register_hook(self, hook: Function) -> Handle:
        """Call `hook(grad_inputs, grad_outputs)` after this node ran.

        hook (callable): Takes two tuples of tensors or None; what it returns, if not None,
            replaces the first.
        -> Handle: Its `remove()` takes the hook away.
        """
        if self._posthooks is None:
            self._posthooks = Hooks()
            watch(self)
        return self._posthooks.add(hook)

    def register_prehook(self, hook: Function) -> Handle:
        """Call `hook(grad_outputs)` before this node runs.

        hook (callable): Takes a tuple of tensors or None; what it returns, if not None, replaces
            it.
        -> Handle: Its `remove()` takes the hook away.
        """
        if self._prehooks is None:
            self._prehooks = Hooks()
            watch(self)
        return self._prehooks.add(hook)

    if TYPE_CHECKING:  # `_engine.node_run` and `_engine.saved_names` add these

        def __call__(self, *gradients: Any) -> Any: ...
        def __getattr__(self, name: str) -> Any: ...
        def __dir__(self) -> list[str]: ...

    def _register_hook_dict(self, hooks: object) -> None:
        raise NotImplementedError("use register_hook")

    def _sequence_nr(self) -> int:
        return self._number

    def __repr__(self) -> str:
        return f"<{type(self).__name__} object at 0x{id(self):x}>"


# The time when a node, or the tensor of a leaf, was last made to be watched: no later node is.
WATCHED = [0]


def watch(node: Node) -> None:
    """Let passes stop at a node."""
    node._watched = True
    if isinstance(node, AccumulateGrad):
        node.variable._is_hooked, node.variable._hooked_node = True, weakref.ref(node)
    note_watched()


def note_watched() -> None:
    """Let passes look at nodes made until now, and at leaves, for hooks."""
    with GUARD:
        WATCHED[0] = next_number()


def title(node: Node) -> str:
    """The name of a node in messages: users may set an attribute `name` of a Function's."""
    return type(node).__name__


class _OfEngine(Node):
    """A node that belongs to no operation."""

    __slots__ = ()

    def name(self) -> str:
        """The name of PyTorch's own class."""
        return f"torch::autograd::{type(self).__name__}"


class AccumulateGrad(_OfEngine):
    """The node that accumulates the gradient of a leaf, `variable`."""

    __slots__ = ("variable",)

    variable: Any


class CopySlices(_OfEngine):
    """A write through a view: it splits the gradient of the base."""

    __slots__ = ()


class CopyBackwards(_OfEngine):
    """A copy of another tensor, written over the whole of one."""

    __slots__ = ()


class FunctionNode(Node):
    """The node of a custom Function: also the `ctx` of its forward and backward."""

    __slots__ = ()

    def _rule_for(self) -> Any:
        """The rule with which a replay runs this node."""
        raise NotImplementedError

    def _release(self) -> None:
        """Forget the saved tensors."""
        raise NotImplementedError


class PowBackward0(Node):
    """A power whose exponent is a number."""

    __slots__ = ()
    _arguments = 1


class RsubBackward1(Node):
    """A number minus a tensor."""

    __slots__ = ()
    _arguments = 1


class WhereBackward0(Node):
    """A choice: its condition has no place among the arguments."""

    __slots__ = ()
    _skipped = 1


_OWN = (AccumulateGrad, CopyBackwards, CopySlices, PowBackward0, RsubBackward1, WhereBackward0)
_CLASSES: dict[str, type[Node]] = {kind.__name__: kind for kind in _OWN}


def node_class(name: str) -> type[Node]:
    """The class of nodes of a name, such as AddBackward0."""
    found = _CLASSES.get(name)
    if found is None:
        found = _CLASSES.setdefault(name, type(name, (Node,), {"__slots__": ()}))
    return found


def fresh_node() -> Node:
    """A node without a name."""
    node: Node = new(Node)
    node._number = next_number()
    node._entry = None
    return node


class _NoBuffers:
    """An empty set of slots: every write to a traced array copies, as tensors may share memory."""

    def __contains__(self, slot: Slot) -> bool:
        return False

    def add(self, slot: Slot) -> None:
        pass

    def discard(self, slot: Slot) -> None:
        pass


class GraphTape(Tape):
    """The tape of all tensors. It stores each entry in its node, and keeps nothing itself."""

    __slots__ = ()
    has_limits = False

    def __init__(self) -> None:
        super().__init__("the graph of tensors")
        self.level = 0  # outside of every transform
        self.fresh = fresh_node
        self.log = _attach
        self.buffers = _NoBuffers()

    def keep(self, constant: Value) -> Value:
        return constant  # a backward pass refuses a changed constant by its version

    def keep_input(self, leaf: Value) -> Value:
        return leaf

    def keep_params(self, params: Params) -> Params:
        """Parameters of a call: arrays among them are copied, as no version tells of a write."""
        for value in params.values():
            if type(value) is np.ndarray or type(value) is tuple:
                return {name: _kept(value) for name, value in params.items()}
        return params

    def between(self, start: Slot, end: Slot) -> list[Entry]:
        """The entries made after node `start` on which node `end` depends, in order of time."""
        nodes = [node for node in reachable([end]) if node._number > start._number]
        return [(node, *_apart(node._entry)) for node in nodes if node._entry is not None]


def _kept(value: Any) -> Any:
    if type(value) is tuple:
        return tuple(map(_kept, value))
    return value.copy() if type(value) is np.ndarray and value.flags.writeable else value


def _apart(entry: Entry) -> Entry:
    """An entry without what a planned call keeps besides the arguments of its rule."""
    rule, out, x, y, x_node, y_node = entry
    if type(x_node) is not tuple or len(x) <= len(x_node):
        return entry
    return rule, out, x[: len(x_node)], y, x_node, y_node


def _attach(entry: Entry) -> None:
    node = entry[0]
    node._entry = entry[1:]
    if isinstance(entry[2], Outputs):  # the nodes of the results refer to this one: no cycle
        outputs = Outputs(entry[2] if _are_read(entry) else map(spec_of, entry[2]))
        outputs.slots = (-1,) * len(outputs)
        node._entry = entry[1], outputs, *entry[3:]
    if type(node) is Node:
        node.__class__ = node_class(name_of(entry[1]))


def _are_read(entry: Entry) -> bool:
    """Whether the derivative of a call reads its results: else a program may write to them."""
    rule, slots = entry[1], entry[5]
    if getattr(rule, "form", None) != "general" or not all(hasattr(x, "shape") for x in entry[2]):
        return True
    return bool(rule.needed(tuple([slot != -1 for slot in slots]))[1])


GRAPH = GraphTape()


def array_on_graph(value: Value, node: Node) -> Value:
    """A value and its node as a traced array of the core, on which rules log themselves."""
    return GRAPH.wrap(value, node)


def is_on_graph(value: Value) -> bool:
    """Whether a value is a traced array of this layer's tape."""
    return isinstance(value, Traced) and value.tape is GRAPH


class GradientEdge(NamedTuple):
    """The destination of a tensor's gradient.

    Attribute node (Node): The node.
    Attribute output_nr (int): The number of one of its results.
    Attribute ownership_token (object, optional): The tensor, which keeps the node alive.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> torch.autograd.graph.get_gradient_edge(x.exp()).output_nr
    0
    """

    node: Node
    output_nr: int
    ownership_token: Any = None  # the tensor, which keeps the node alive


# --- Walking ------------------------------------------------------------------------------------


def arguments_of(node: Node) -> Iterator[Slot]:
    """The nodes (or -1) of the arguments of a call, one per argument."""
    entry = node._entry
    if entry is None:
        return
    rule = entry[0]
    if entry[5] is not None and getattr(rule, "unary", False):
        yield entry[4]
        return
    yield from parents_of(entry)[node._skipped : node._arguments]


def edge_of(parent: Slot) -> tuple[Node | None, int]:
    """A parent as PyTorch shows it: the node of the call, and the number of the result."""
    if parent == -1:
        return None, 0
    entry = parent._entry
    if entry is not None and entry[0] is PROJECT:
        return entry[4], entry[2]
    return parent, 0


def reachable(roots: Iterable[Node]) -> list[Node]:
    """All nodes on which the given ones depend, and these, in order of time."""
    return made_since(roots, 0)


def made_since(roots: Iterable[Node], start: int) -> list[Node]:
    """Of the given nodes and those on which they depend, the ones made after number `start`."""
    stack = [node for node in roots if node._number > start]
    seen = set(stack)
    while stack:
        entry = stack.pop()._entry
        if entry is None:
            continue
        for parent in parents_of(entry):
            if parent != -1 and parent._number > start and parent not in seen:
                seen.add(parent)
                stack.append(parent)
    return sorted(seen, key=number_of)


number_of: Callable[[Node], int] = operator.attrgetter("_number")


# --- Freeing ------------------------------------------------------------------------------------


class _Freed:
    """The placeholder for the values of an entry that a backward pass has freed."""

    def __repr__(self) -> str:
        return "freed"


FREED = _Freed()


def freed(entry: tuple[Any, ...]) -> tuple[Any, ...]:
    """An entry without the arrays that it kept; the same entry if it kept none."""
    rule, out, x, y, x_node, y_node = entry
    if y_node is not None:
        if out is None and x is None and y is None:
            return entry
        return rule, FREED, None, None, x_node, y_node
    if type(x_node) is tuple:
        for value in x:
            if type(value) is np.ndarray:  # the frequent case
                return rule, FREED, (), {}, x_node, None
        if any(map(_is_kept, (*_parts(out), *x))) or _holds_array(y):
            return rule, FREED, (), {}, x_node, None
    elif _holds_array(y):  # an index, which has no derivative but is kept for that of the others
        return rule, FREED, None, None, x_node, None
    return entry


def _holds_array(index: Any) -> bool:
    if type(index) is tuple:
        return any(type(part) is np.ndarray for part in index)
    return type(index) is np.ndarray


def kept_values(entry: tuple[Any, ...]) -> list[Value]:
    """The arrays that an entry keeps for its derivative."""
    _, out, x, y, x_node, y_node = entry
    if y_node is not None:
        return [value for value in (out, x, y) if type(value) is np.ndarray]
    if type(x_node) is not tuple or out is FREED:
        return []
    return [value for value in (*_parts(out), *x) if isinstance(value, np.ndarray)]


def _parts(out: Value) -> Any:
    return out if isinstance(out, tuple) else (out,)


def _is_kept(value: Value) -> bool:
    return value is not None and type(value) is not Spec and hasattr(value, "shape")
