"""A picture of the graph behind a tensor, as text in the DOT language of Graphviz.

Knows nodes and tensors. Must not know entries, or draw: Graphviz does.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tapegrad.torch._engine.saved_names import PLACES
from tapegrad.torch._graph.node import AccumulateGrad, Node
from tapegrad.torch._tensor.tensor import Tensor


class Picture(str):
    """DOT text. `source` is the text too, and `save(path)` writes it to a file."""

    __slots__ = ()

    @property
    def source(self) -> str:
        """The text."""
        return str(self)

    def save(self, path: Any) -> Path:
        """Write the text to a file, for `dot -Tsvg <file>`; the path of the file."""
        found = Path(path)
        found.write_text(self, encoding="utf-8")
        return found


def make_dot(
    var: Any, params: Mapping[str, Tensor] | None = None, *, show_saved: bool = False
) -> Picture:
    """The graph behind a tensor, or behind several, as DOT text.

    Nodes are grey, leaves that require grad are blue with their shapes, and the results green.

    var (Tensor or sequence of Tensor): The results.
    params (dict): Names for leaves, as `dict(model.named_parameters())`.
    show_saved: Also show the tensors that nodes keep, in orange.
    -> Picture: A str with a method `save(path)`, for Graphviz to draw.

    >>> x = torch.ones(2, requires_grad=True)
    >>> print(torch.autograd.graph.make_dot((x * x).sum(), {"x": x}).count("->"))
    5
    """
    names = {id(leaf): name for name, leaf in (params or {}).items()}
    results = var if isinstance(var, (tuple, list)) else (var,)
    lines = ["digraph {", '  node [shape=box style=filled fontname="monospace" fontsize=10]']
    stack: list[Node] = []
    for result in results:
        lines.append(f'  "{id(result)}" [label="{_size(result)}" fillcolor=darkolivegreen1]')
        root = result.grad_fn if result.grad_fn is not None else None
        if root is not None:
            lines.append(f'  "{id(root)}" -> "{id(result)}"')
            stack.append(root)
    seen: set[Node] = set()
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        label = "AccumulateGrad" if isinstance(node, AccumulateGrad) else node.name()
        lines.append(f'  "{id(node)}" [label="{label}" fillcolor=lightgrey]')
        if isinstance(node, AccumulateGrad):
            leaf = node.variable
            said = f"{names[id(leaf)]}\\n {_size(leaf)}" if id(leaf) in names else _size(leaf)
            lines.append(f'  "{id(leaf)}" [label="{said}" fillcolor=lightblue]')
            lines.append(f'  "{id(leaf)}" -> "{id(node)}"')
        if show_saved:
            lines += _saved_lines(node)
        for parent, _ in node.next_functions:
            if parent is not None:
                lines.append(f'  "{id(parent)}" -> "{id(node)}"')
                stack.append(parent)
    return Picture("\n".join([*lines, "}"]))


def _size(tensor: Tensor) -> str:
    return f"({', '.join(map(str, tensor.shape))})"


def _saved_lines(node: Node) -> list[str]:
    """The boxes of what a node keeps."""
    lines = []
    for word in PLACES.get(type(node).__name__, ()):
        value = getattr(node, f"_saved_{word}")
        if isinstance(value, Tensor):
            key = f"{id(node)}{word}"
            said = f"{word}\\n {_size(value)}"
            lines.append(f'  "{key}" [label="{said}" fillcolor=orange]')
            lines.append(f'  "{key}" -> "{id(node)}" [dir=none]')
    return lines
