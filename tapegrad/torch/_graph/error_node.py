"""Nodes at which a backward pass ends: those whose derivative is an error, and those of nothing.

Knows rules and nodes. Must not know tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

from tapegrad._core.entry import Spec, parents_of, spec_of
from tapegrad._core.rule import Rule
from tapegrad.torch._graph.node import Node, fresh_node


class _ErrorRule(Rule):
    """The rule of a node whose derivative is an error."""

    form = "unsupported"

    def __init__(self, text: str) -> None:
        super().__init__(_no_function, name="Error")
        self.text = text

    def pull(self, *_: Any) -> NoReturn:
        """Raise RuntimeError."""
        raise RuntimeError(self.text)

    def push(self, *_: Any) -> NoReturn:
        """Raise RuntimeError."""
        raise RuntimeError(self.text)


class _EndRule(Rule):
    """The rule of a node whose gradient goes nowhere."""

    form = "constant"

    def __init__(self) -> None:
        super().__init__(_no_function, name="End")

    def pull(self, *_: Any) -> list[None]:
        """No cotangent."""
        return [None]


def _no_function() -> None:
    """The function of these rules, which is never called."""


class Error(Node):
    """A node whose derivative is an error."""

    __slots__ = ()
    refused: str | None = None  # the message, where looking at the node is an error already


def refuse_node(node: Node, text: str) -> None:
    """Make the derivative of a node an error; it stays what it is to who looks at it."""
    _, out, x, *_ = entry = node._entry
    spec = out if isinstance(out, Spec) else spec_of(out if out is not None else x)
    parents = tuple(parents_of(entry))
    node._entry = _ErrorRule(text), spec, (spec,) * len(parents), {}, parents, None


def error_node(spec: Spec, text: str, parents: Sequence[Node], *, refused: bool = False) -> Node:
    """A node for a result of a shape and dtype, with `parents`; `text` is the error message.

    refused: whether looking at the node is the error already.
    """
    node = fresh_node()
    node.__class__ = Error
    if refused:
        node.refused = text  # type: ignore[attr-defined]
    parents = tuple(parents) or (-1,)  # type: ignore[assignment]
    node._entry = _ErrorRule(text), spec, (spec,) * len(parents), {}, parents, None
    return node


_END = _EndRule()


def end_node(spec: Spec) -> Node:
    """A node for a result of a shape and dtype, whose gradient goes nowhere."""
    node = fresh_node()
    node._entry = _END, spec, (spec,), {}, (-1,), None
    return node
