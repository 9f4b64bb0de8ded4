"""The structures of pytrees in the words of PyTorch's errors.

Knows structures. Must not know tensors.
"""

from __future__ import annotations

from tapegrad._tree import Structure, unflatten


class _Leaf:
    """Stands for any leaf."""

    def __repr__(self) -> str:
        return "*"


def specification(structure: Structure, indent: int = 0) -> str:
    """A structure as PyTorch's `TreeSpec` prints it; None is a leaf there."""
    kind = structure.kind
    if kind is None or kind is type(None):
        return "*"
    indent += 2
    children = [specification(child, indent) for child in structure.children]
    aux = list(structure.aux) if isinstance(structure.aux, tuple) else structure.aux
    return f"TreeSpec({kind.__name__}, {aux}, [{(f',{chr(10)}' + ' ' * indent).join(children)}])"


def outline(structure: Structure) -> str:
    """A structure as its containers print themselves, around stars."""
    return repr(unflatten(structure, [_Leaf()] * _count(structure)))


def _count(structure: Structure) -> int:
    if structure.kind is None:
        return 1
    return sum(_count(child) for child in structure.children)
