"""The tensors that custom Functions save for their backward.

Knows nodes, versions and the hooks of saved tensors. Must not know how a Function is called.

A saved output must not refer to its node, because the node refers to the saved output: reference
counting could not free such a cycle. So it is kept as a value and the number of the output, and
gets its node when it is unpacked.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

from tapegrad._core.entry import PROJECT
from tapegrad._core.types import Value
from tapegrad.torch._graph import modes
from tapegrad.torch._graph.node import FunctionNode, Node, edge_of, fresh_node
from tapegrad.torch._graph.versions import Version, changed_text, version_of
from tapegrad.torch._tensor.tensor import LEAF, Tensor, accumulator_of, of_value

TWICE = (
    "Trying to backward through the graph a second time (or directly access saved tensors after "
    "they have already been freed). Saved intermediate values of the graph are freed when you "
    "call .backward() or autograd.grad(). Specify retain_graph=True if you need to backward "
    "through the graph a second time or if you need to access saved tensors after calling "
    "backward."
)


class Saved:
    """One saved tensor."""

    __slots__ = ("count", "hooks", "kept", "node", "output", "packed", "place", "version")

    hooks: Any  # of saved tensors, if there are any: then these keep the tensor
    output: int | None  # which output of the Function it is
    place: weakref.ref[Node] | None  # the node of that, of several outputs

    def __init__(self, tensor: Tensor, owner: FunctionNode) -> None:
        version = tensor._version_of
        if version is None:
            version = version_of(tensor)
        self.version, self.count = version, version.count
        self.hooks = self.place = self.output = None
        node: Any = tensor.node
        # A leaf is kept itself, as it has no node to set again.
        self.kept: Any = tensor
        if node is owner:  # the only result
            self.output, node, self.kept = 0, None, tensor._value
        elif node is not None and node is not LEAF:
            self.kept = tensor._value
            self.output = output_number(tensor, owner)
            if self.output is not None:
                self.place, node = weakref.ref(node), None
        self.node = node
        mode = modes.MODE.get()
        if mode is not None and mode.saved:
            self.pack(tensor, mode.saved[-1])

    def pack(self, tensor: Tensor, hooks: Any) -> None:
        """Keep what a pair of hooks packs the tensor into, in its place."""
        self.packed = hooks.pack_tensor(tensor)
        self.hooks, self.kept = hooks, None
        if tensor.node is LEAF:  # the tensor that the hooks return gets the node of the leaf
            self.node = accumulator_of(tensor)

    def unpacked(self, owner: FunctionNode) -> Tensor:
        """The tensor, with its node. Raises RuntimeError if it was changed since."""
        if self.hooks is not None:
            return self._placed(self.hooks.unpack(self.packed), owner)
        if self.version.count != self.count:
            self._raise_changed(owner)
        if isinstance(self.kept, Tensor):
            return self.kept
        return self._placed(self.kept, owner)

    def _placed(self, value: Value, owner: FunctionNode) -> Tensor:
        node = self.node
        if self.output is not None:
            node = owner if self.place is None else self._output_node(owner, self.place)
        made = of_value(value, node)
        made._version_of = self.version
        return made

    def _output_node(self, owner: FunctionNode, place: weakref.ref[Node]) -> Node:
        """The node of one of several outputs: the existing one, because there must not be two."""
        node = place()
        if node is None:
            node = output_node(owner, self.output or 0)
            self.place = weakref.ref(node)
        return node

    def _raise_changed(self, owner: FunctionNode) -> None:
        value = self.kept._value if isinstance(self.kept, Tensor) else self.kept
        maker: tuple[Node, int] | None = None
        if self.output is not None:
            maker = owner, self.output
        elif isinstance(self.node, Node):
            maker = _maker_of(value, self.node, self.version)
        raise RuntimeError(changed_text(value, maker, self.version.count, self.count))


def _maker_of(value: Value, node: Node, version: Version) -> tuple[Node, int] | None:
    """The node of the last write to a saved tensor, or else the one that it was saved with."""
    tensor = None if version.writer is None else version.writer()
    if tensor is not None and tensor._value is value:
        node = tensor.grad_fn or node
    maker, position = edge_of(node)
    return None if maker is None or maker._entry is None else (maker, position)


def output_node(owner: FunctionNode, position: int) -> Node:
    """The node of one of several outputs of a Function."""
    node = fresh_node()
    node._entry = PROJECT, None, position, len(owner._entry[1]), owner, None
    return node


def output_number(tensor: Tensor, owner: FunctionNode) -> int | None:
    """Which of several outputs of a Function a tensor is, by number; None if it is no output."""
    node = tensor.node
    entry = node._entry if isinstance(node, Node) else None
    if entry is not None and entry[0] is PROJECT and entry[4] is owner:
        return int(entry[2])
    return None


def save(owner: FunctionNode, tensors: Iterable[Tensor | None]) -> tuple[Saved | None, ...]:
    """Tensors as `Saved`, which their Function's node can keep; TypeError for anything else."""
    found = []
    for tensor in (tensors := tuple(tensors)):
        if tensor is not None and not isinstance(tensor, Tensor):
            check_saveable(tensors, "save_for_backward")
        found.append(None if tensor is None else Saved(tensor, owner))
    return tuple(found)


def check_saveable(tensors: tuple[object, ...], call: str) -> None:
    """Raise TypeError for anything but tensors and None."""
    for position, tensor in enumerate(tensors):
        if tensor is not None and not isinstance(tensor, Tensor):
            raise TypeError(
                f"{call} can only save variables, but argument {position} is of type "
                f"{type(tensor).__name__}"
            )


__all__ = ["TWICE", "Saved", "check_saveable", "output_node", "save"]
