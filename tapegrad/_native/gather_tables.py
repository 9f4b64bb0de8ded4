"""Functions of NumPy's that only move elements, as tables of where each element comes from.

Knows how a table is found, by calling the function, and tried. Must not know paths.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from tapegrad._program.program import Node, value_of

# Those that make views are not among them: the native back end knows each by itself.
MOVES: frozenset[Any] = frozenset(
    getattr(np, name)
    for name in "pad tile repeat resize rot90 triu tril diag diagflat roll".split()
)
LARGEST = 1 << 20  # elements that are moved by a table

Table = tuple[Any, Any, Any]  # flat positions, where an element is one, and what it is elsewhere


def tables_of(node: Node, x: int, value: Any) -> tuple[Any, Any] | None:
    """The result of a call that moves the elements of `value`, its argument x, and its table.

    Of a tuple of results there is a table for each, None for those that are None. None for a call
    that does more than moving elements.
    """
    plain = type(value) is np.ndarray
    if not (plain or isinstance(value, np.floating)):
        return None
    if value.dtype.kind != "f" or value.size > LARGEST:
        return None

    def call(v: Any) -> Any:
        return value_of(node, {x: v if plain else v[()]})  # type: ignore[arg-type]

    out = call(value)
    if type(out) is not tuple:
        table = _table(call, value)
        return None if table is None else (out, table)
    tables: list[Table | None] = []
    for k, part in enumerate(out):
        table = None if part is None else _table(partial(_part_of, call, k), value)
        if table is None and part is not None:
            return None
        tables.append(table)
    return out, tuple(tables)


def _part_of(call: Callable[[Any], Any], k: int, value: Any) -> Any:
    return call(value)[k]


def _table(call: Callable[[Any], Any], like: Any) -> Table | None:
    """Of which element each one of a result is, where it is one, and what it is elsewhere.

    None for a call that does more than moving elements.
    """
    n = like.size
    numbers = np.arange(1, n + 1, dtype=like.dtype).reshape(like.shape)
    first, second = call(numbers.copy("K")), call(numbers + n)
    if type(first) is not np.ndarray or first.dtype != like.dtype or first.size > LARGEST:
        return None
    mask = first != second
    table = np.where(mask, first, 1).astype(np.int64) - 1
    if 2 * n >= 1 << (22 if like.dtype.itemsize == 4 else 50) or (table < 0).any():
        return None
    if not first.size or (table >= n).any():
        return None
    draw = np.random.default_rng(0)
    for unusual in ((), (np.nan,), (np.inf, -np.inf)):
        x = draw.standard_normal(like.shape).astype(like.dtype)
        x.reshape(-1)[: len(unusual)] = unusual[:n]
        expected = np.where(mask, x.reshape(-1)[table], first)
        if not np.array_equal(call(x), expected, equal_nan=True):
            return None
    return table, mask, np.where(mask, 0, first).astype(like.dtype)


__all__ = ["MOVES", "tables_of"]
