"""Texts that only errors show, in adopted code: no reason for a recording to give up.

Knows Python's syntax. Must not know what a value in a trace is.

    text = "n: " + str(n)
    assert n > 0, text

The text is made in each call, and seen in none but one that fails. So what is shown in it is the
plain value, of which no recording hears, and the error tells the recording.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

UNSEEN, SHOWN = "__tapegrad_unseen__", "__tapegrad_shown__"
_TEXTS = frozenset(("str", "repr", "format"))
_BY_NAME = frozenset(("locals", "vars", "eval", "exec"))


def told_late(body: list[Any], nodes: Callable[[Any], Iterator[Any]], own: Any) -> int:
    """Rewrite the texts of a function that only its errors show; how many places have changed.

    nodes: all nodes of a tree; own: whether a name may mean what the program has bound it to.
    """
    assigned: dict[str, list[ast.Assign]] = {}
    names: Counter[tuple[str, bool]] = Counter()  # by whether they are read
    errors: list[Any] = []
    every = [node for part in body for node in nodes(part)]
    for node in every:
        if isinstance(node, ast.Assign):
            if len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                assigned.setdefault(node.targets[0].id, []).append(node)
        elif isinstance(node, ast.Name):
            names[node.id, isinstance(node.ctx, ast.Load)] += 1
        elif isinstance(node, (ast.Assert, ast.Raise)):
            errors.append(node)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            for name in node.names:
                names[name, False] += 1
    if not errors or not assigned or any(names[name, True] for name in _BY_NAME):
        return 0
    shown = [(node, _read(nodes, _message(node))) for node in errors]
    in_errors = sum((found for _, found in shown), Counter[str]())
    late = {
        name
        for name, found in assigned.items()
        if in_errors[name] == names[name, True] > 0 and names[name, False] == len(found)
    }
    values = [node.value for name in late for node in assigned[name]]
    count = sum(_hide(node, own) for value in values for node in nodes(value))
    for node, found in shown if count else ():
        if late & found.keys():
            _wrap(node, "msg" if isinstance(node, ast.Assert) else "exc", SHOWN)
    return count


def _message(node: Any) -> Any:
    return node.msg if isinstance(node, ast.Assert) else node.exc


def _read(nodes: Callable[[Any], Iterator[Any]], tree: Any) -> Counter[str]:
    """How often each name is read in an expression."""
    found = nodes(tree) if tree is not None else ()
    return Counter(x.id for x in found if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load))


def _hide(node: Any, own: Callable[[str], bool]) -> int:
    """Have a text made of plain values."""
    if isinstance(node, ast.FormattedValue):
        return _wrap(node, "value", UNSEEN)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
        if not _is_text(node.left):
            return 0
        if isinstance(node.right, ast.Tuple):
            return _wrap_all(node.right.elts)
        return _wrap(node, "right", UNSEEN)
    if isinstance(node, ast.Call) and not node.keywords:
        function = node.func
        is_text = False
        if isinstance(function, ast.Name):
            is_text = function.id in _TEXTS and not own(function.id)
        elif isinstance(function, ast.Attribute):
            is_text = function.attr == "format" and _is_text(function.value)
        return _wrap_all(node.args) if is_text else 0
    return 0


def _is_text(node: Any) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _wrap_all(parts: list[Any]) -> int:
    for at, part in enumerate(parts):
        if not isinstance(part, ast.Starred):
            parts[at] = _called(UNSEEN, part)
    return len(parts)


def _wrap(node: Any, name: str, helper: str) -> int:
    setattr(node, name, _called(helper, getattr(node, name)))
    return 1


def _called(helper: str, part: Any) -> Any:
    name = ast.copy_location(ast.Name(helper, ast.Load()), part)
    return ast.copy_location(ast.Call(name, [part], []), part)


__all__ = ["SHOWN", "UNSEEN", "told_late"]
