"""A program as text: one line a call, and the ways that it goes where it asks for a value.

Knows nodes and blocks. Must not know how a program is recorded or run.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._errors import describe
from tapegrad._program.functions import ATTRIBUTES, METHODS
from tapegrad._program.passes import Block
from tapegrad._program.program import HOLE, UNKNOWN, Node, Ref, Step

WIDTH = 44  # of a call, before what is said of its value
FEW = 4  # elements of an array that is written out
LONGEST = 40  # letters of another object


def listing(block: Block, inputs: Sequence[Any]) -> str:
    """The text of a program that begins with a block."""
    lines = [f"v{i} = input {i}  # {describe(x)}" for i, x in enumerate(inputs)]
    pending: list[tuple[Block | str, int]] = [(block, 0)]
    while pending:
        part, depth = pending.pop()
        indent = "    " * depth
        if isinstance(part, str):
            lines.append(indent + part)
            continue
        lines += [indent + line_of(at, node) for at, node in part.nodes]
        lines += [f"{indent}write to input {i}: {word(ref)}" for i, ref in part.writes]
        if part.out is not None:
            lines.append(f"{indent}return {', '.join(map(word, part.out.leaves))}")
        if part.read is None:
            continue
        asked = f"{name_of(part.read.question)}(v{part.read.at})"
        for key, child in reversed(part.children.items()):
            alone = len(part.children) == 1
            pending.append((child, depth if alone else depth + 1))
            verb = "assume" if alone else "if"
            pending.append((f"{verb} {asked} is {_answer(key)}{'' if alone else ':'}", depth))
    return "\n".join(lines)


def line_of(at: int, node: Node) -> str:
    """A call and what it makes."""
    call = f"v{at} = {_call(node)}"
    nameless = node.dtype is None or node.dtype is UNKNOWN
    about = node.kind.__name__ if nameless else describe(_Like(node))
    return f"{call:<{WIDTH}}  # {about}"


class _Like:
    """Says of a node's value what `describe` asks."""

    def __init__(self, node: Node) -> None:
        self.shape, self.dtype = node.shape, node.dtype


def _call(node: Node) -> str:
    if node.steps is None:
        return _of(node.function, node.args, node.kwargs)
    target = word(node.args[0])
    for step in node.steps:
        target = _taken(target, step)
    whole = word(node.args[0])
    if node.function is operator.setitem and len(node.args) == 3:
        _, index, value = node.args
        return f"{whole}, with {target}[{_index(index)}] = {word(value)}"
    rest = [*map(word, node.args[1:]), *_named(node.kwargs)]
    return f"{whole}, after {name_of(node.function)}({', '.join([target, *rest])})"


def _index(index: Any) -> str:
    text = word(index)
    return text[1:-1] if type(index) is tuple and len(index) > 1 else text


def _taken(target: str, step: Step) -> str:
    if step.function is operator.getitem:
        return f"{target}[{_index(step.args[1])}]"
    args = [target if arg is HOLE else word(arg) for arg in step.args]
    return f"{name_of(step.function)}({', '.join([*args, *_named(step.kwargs)])})"


def _of(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> str:
    if function is operator.getitem:
        return f"{word(args[0])}[{_index(args[1])}]"
    return f"{name_of(function)}({', '.join([*map(word, args), *_named(kwargs)])})"


def _named(kwargs: dict[str, Any]) -> list[str]:
    return [f"{name}={word(value)}" for name, value in kwargs.items()]


def name_of(function: Any) -> str:
    """The name of a function in the text."""
    for table in (ATTRIBUTES, METHODS):
        if function in table:
            return f".{table[function]}"
    owner = getattr(function, "__self__", None)
    name = str(getattr(function, "__name__", "call"))
    if isinstance(owner, np.ufunc):  # np.add.reduce
        return f"{owner.__name__}.{name}"
    if name == "call":
        name = str(getattr(function, "__qualname__", name))
    return name


def word(value: Any) -> str:
    """An argument in the text."""
    kind = type(value)
    if kind is Ref:
        return f"v{value.at}"
    if kind is tuple or kind is list:
        inner = ", ".join(map(word, value))
        if kind is list:
            return f"[{inner}]"
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if kind is dict:
        return f"{{{', '.join(f'{key!r}: {word(part)}' for key, part in value.items())}}}"
    if kind is slice:
        parts = (value.start, value.stop, value.step)
        shown = ["" if part is None else word(part) for part in parts]
        return ":".join(shown if parts[2] is not None else shown[:2])
    if value is Ellipsis:
        return "..."
    if kind is np.ndarray:
        few = value.size <= FEW and not value.dtype.hasobject
        return str(value.tolist()) if few else f"constant {describe(value)}"
    if issubclass(kind, np.generic):
        return str(value)
    text = repr(value)
    return text if len(text) <= LONGEST else kind.__name__


def _answer(key: Any) -> str:
    """The answer of a read, from the key of what follows."""
    return word(key[-1]) if key[0] is not np.ndarray else f"an array {key[1]}"


__all__ = ["listing"]
