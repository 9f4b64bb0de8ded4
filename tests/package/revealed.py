"""The types of a script's public calls, by mypy: which are `Any` though their arguments are not.

`reveal_type` is written around each call of tapegrad, and around its arguments, in a copy of the
script. Knows mypy's notes. Must not know the scripts.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

NOTE = re.compile(r'(\w+)\.py:(\d+):(\d+): note: Revealed type is "(.*)"')
# Of an array the shape and the dtype may be unknown, as in NumPy's own types; what is behind an
# arrow's parameters is what a user passes.
FREE = re.compile(
    r"tuple\[Any, \.\.\.\]|dtype\[Any\]|ndarray\[Any, Any\]|floating\[Any\]|def \([^)]*\)"
)
Place = tuple[int, int]


class Call(NamedTuple):
    """A public call: its text, where its type is said, and where those that it depends on are."""

    text: str
    place: Place
    given: list[Place]
    untyped: bool  # an argument of no type: a lambda, or what is unpacked


def names_of(tree: ast.Module) -> set[str]:
    """The names of the script that are tapegrad's."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = [alias for alias in node.names if alias.name.split(".")[0] == "tapegrad"]
            names |= {alias.asname or "tapegrad" for alias in found}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "tapegrad":
            names |= {alias.asname or alias.name for alias in node.names}
    return names


def root_of(call: ast.expr) -> str:
    """The name with which a chain of attributes and calls begins."""
    root: ast.expr = call
    while isinstance(root, ast.Attribute | ast.Call):
        if isinstance(root, ast.Attribute):
            root = root.value
        else:
            root = root.args[0] if is_revealed(root) else root.func
    return root.id if isinstance(root, ast.Name) else ""


def public_calls(node: ast.AST, names: set[str]) -> Iterator[ast.Call]:
    """Calls of names, of their attributes, and of what such calls return.

    mypy does not look into functions without types; texts have no places.
    """
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Lambda | ast.JoinedStr):
        return
    if isinstance(node, ast.Call) and not is_revealed(node) and root_of(node) in names:
        yield node
    for child in ast.iter_child_nodes(node):
        yield from public_calls(child, names)


def revealing(script: str) -> str:
    """The script with `reveal_type` around its public calls and their arguments."""
    tree = ast.parse(script)
    around: set[tuple[int, int, int, int]] = set()
    for call in public_calls(tree, names_of(tree)):
        for part in (call, *arguments(call)):
            if not isinstance(part, ast.Lambda | ast.Starred):
                around.add((part.lineno, part.col_offset, part.end_lineno, part.end_col_offset))
    lines = [line.encode() for line in script.split("\n")]
    # From the end: of two parts that begin together the shorter is first, as of two that end.
    marks = [(row, column, 1, -end_row, -end) for row, column, end_row, end in around]
    marks += [(row, column, 0, -start_row, -start) for start_row, start, row, column in around]
    for row, column, opens, *_ in sorted(marks, reverse=True):
        text = b"reveal_type(" if opens else b")"
        lines[row - 1] = lines[row - 1][:column] + text + lines[row - 1][column:]
    return b"\n".join(lines).decode()


def arguments(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(word.value for word in call.keywords)]


def is_revealed(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and (node.func.id == "reveal_type")
    )


def calls_of(revealed: str) -> Iterator[Call]:
    """The public calls of a script that `revealing` made."""
    tree = ast.parse(revealed)
    for call in public_calls(tree, names_of(tree)):
        parts = [call.func, *arguments(call)]
        while isinstance(parts[0], ast.Attribute):
            parts[0] = parts[0].value
        inner = [part.args[0] for part in parts if is_revealed(part)]
        untyped = any(isinstance(part, ast.Lambda | ast.Starred) for part in parts)
        text = ast.unparse(call).replace("reveal_type", "")
        yield Call(text, place(call), [place(part) for part in inner], untyped)


def place(node: ast.expr) -> Place:
    return node.lineno, node.col_offset + 1


def is_vague(kind: str) -> bool:
    """Whether a type says `Any`, but for what NumPy's own types leave open."""
    return "Any" in FREE.sub("", kind)


def unknown_calls(revealed: str, types: dict[Place, str]) -> tuple[int, list[str]]:
    """How many calls have a type, and those that have none though all that they are given has.

    types: what mypy said, by place; it says nothing of code that it takes not to be reached.
    """
    known, unknown = 0, []
    for call in calls_of(revealed):
        if call.place not in types:
            continue
        kind = types[call.place]
        given = [types.get(one, "Any") for one in call.given]
        if not is_vague(kind):
            known += 1
        elif not call.untyped and not any(map(is_vague_argument, given)):
            unknown.append(f"line {call.place[0]}: {call.text} is {kind}, of {given}")
    return known, unknown


def is_vague_argument(kind: str) -> bool:
    """The same of an argument: of a function the types of its parameters count."""
    return bool(re.search(r"\bAny\b", re.sub(r"tuple\[Any, \.\.\.\]|dtype\[Any\]", "", kind)))


__all__ = ["NOTE", "is_vague", "revealing", "unknown_calls"]
