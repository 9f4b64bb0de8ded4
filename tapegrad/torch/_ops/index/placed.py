"""Copies of arrays with something written, added or combined at positions.

Knows NumPy's indices, and traced arrays. Must not know PyTorch's functions, or their checks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.forms import General
from tapegrad._core.scatter import add_at
from tapegrad._core.scatter_rows import read_elements
from tapegrad._core.types import Function, Index, Value
from tapegrad._core.values import level_of, lift_to_level_of, lift_to_level_of_index, untraced
from tapegrad.torch._ops.create.fill import filled_as
from tapegrad.torch._ops.elementwise.arithmetic import cast
from tapegrad.torch._tensor.tensor import ndarray


def buffer_for(x: Value, value: Value, index: Index) -> Value:
    """A copy of x that a value can be written into: traced where x or the value is."""
    made = x.copy()
    if hasattr(value, "dtype"):
        made = lift_to_level_of(made, value)
    return lift_to_level_of_index(made, index)


def written(x: Value, index: Index, value: Value) -> Value:
    """A copy of x with a value at an index."""
    made = buffer_for(x, value, index)
    made[index] = value
    return made


def added(x: Value, index: Index, value: Value) -> Value:
    """A copy of x with a value added at an index, twice where a position occurs twice."""
    if _is_plain_sum(x, value, index):
        return _SUMS.apply_bound([x, value], {"index": index})
    made = buffer_for(x, value, index)
    np.add.at(made, index, value)
    return made


def _is_plain_sum(x: Value, value: Value, index: Index) -> bool:
    """Whether nothing is batched, and the value has the shape of the part that it is added to."""
    if not all(type(part) in (ndarray, slice) for part in index):
        return False
    inner, given = untraced(x), untraced(value)
    if type(inner) is not ndarray or type(given) is not ndarray or not inner.shape:
        return False
    if inner.dtype != given.dtype:
        return False
    if all(type(part) is ndarray and part.dtype.kind == "i" for part in index):
        places = np.broadcast_shapes(*[part.shape for part in index])
        return bool((*places, *inner.shape[len(index) :]) == given.shape)
    empty = np.broadcast_to(np.empty((), np.bool_), inner.shape)
    return bool(empty[index].shape == given.shape)


# One node, where np.add.at on a traced copy logs several for positions that occur twice.
_SUMS = General(
    lambda x, value, index: add_at(x.copy(), index, value),
    vjp=[
        lambda g, _out, _x, _value, index: g,
        lambda g, _out, _x, _value, index: read_elements(g, index),
    ],
    name="index_add",
)


# --- Reductions at positions --------------------------------------------------------------------


REDUCTIONS = ("sum", "prod", "mean", "amax", "amin")


def _turns(x: Value, index: Index, shape: tuple[int, ...]) -> Value:
    """For each element of a source, how many before it have the same position."""
    numbers = np.arange(x.size).reshape(x.shape)[index]
    places = np.broadcast_to(numbers, shape).reshape(-1)
    order = np.argsort(places, kind="stable")
    ranked = places[order]
    new = np.concatenate([[True], ranked[1:] != ranked[:-1]])
    starts = np.maximum.accumulate(np.where(new, np.arange(places.size), 0))
    turns = np.empty(places.size, np.int64)
    turns[order] = np.arange(places.size) - starts
    return turns.reshape(shape)


def _in_turns(x: Value, index: Index, value: Value, function: Function) -> Value:
    """`x[index] = function(x[index], value)`, in rounds in which no position occurs twice."""
    shape = np.broadcast_shapes(*(np.shape(part) for part in index))
    value = np.broadcast_to(value, shape)
    index = tuple(np.broadcast_to(part, shape) for part in index)
    turns = _turns(x, index, shape)
    made = buffer_for(x, value, index)
    for turn in range(int(turns.max(initial=-1)) + 1):
        now = turns == turn
        places = tuple(part[now] for part in index)
        made[places] = function(made[places], value[now])
    return made


def multiplied(x: Value, index: Index, value: Value) -> Value:
    """A copy of x multiplied by a value at an index, twice where a position occurs twice."""
    return _in_turns(x, index, value, np.multiply)


def _extreme(x: Value, index: Index, value: Value, ufunc: np.ufunc) -> Value:
    """The greatest (or least) of the elements at each position and the values that go there.

    Ties share the cotangent evenly.
    """
    best = untraced(x).copy()
    ufunc.at(best, index, untraced(value))
    at_x, at_value = best == untraced(x), best[index] == untraced(value)
    count = at_x.astype(x.dtype)
    np.add.at(count, index, at_value.astype(x.dtype))
    share = added(np.where(at_x, x, 0), index, np.where(at_value, value, 0)) / np.maximum(count, 1)
    shared = untraced(share)
    if level_of(share) < 0:
        return best
    finite = np.isfinite(shared)
    return best + np.where(finite, share - np.where(finite, shared, 0), 0)


def _without_self(x: Value, index: Index, reduce: str) -> Value:
    """x with the neutral element of a reduction at an index."""
    neutral: Any = {"sum": 0, "mean": 0, "prod": 1}.get(reduce)
    if neutral is None:
        info = np.finfo(x.dtype) if x.dtype.kind == "f" else np.iinfo(x.dtype)
        bounds = (-np.inf, np.inf) if x.dtype.kind == "f" else (info.min, info.max)
        neutral = bounds[0] if reduce == "amax" else bounds[1]
    return written(x, index, x.dtype.type(neutral))


def reduced_at(x: Value, index: Index, value: Value, reduce: str, *, include_self: bool) -> Value:
    """A copy of x whose elements at an index are combined with a value by a reduction."""
    start = x if include_self else _without_self(x, index, reduce)
    if reduce == "sum":
        return added(start, index, value)
    if reduce == "prod":
        return _in_turns(start, index, value, np.multiply)
    if reduce == "mean":
        ones = np.ones(np.broadcast_shapes(*(np.shape(part) for part in index)), x.dtype)
        first = np.ones(x.shape, x.dtype)
        count = added(first if include_self else _without_self(first, index, "sum"), index, ones)
        total = added(start, index, value)
        return total / count if x.dtype.kind in "fc" else total // count
    return _extreme(start, index, value, np.maximum if reduce == "amax" else np.minimum)


def require_reduction(reduce: str, word: str) -> None:
    """RuntimeError for a word that no reduction has."""
    if reduce not in REDUCTIONS:
        raise RuntimeError(f"{word}(): expected reduce to be one of {REDUCTIONS}, got {reduce!r}")


def filler(value: Value, given: np.dtype[Any], word: str) -> Value:
    """A number or an array of no dimensions, to fill places of an array of a dtype with."""
    if not hasattr(value, "dtype"):
        return filled_as(value, given)
    if value.ndim:
        raise RuntimeError(
            f"{word} only supports a 0-dimensional value tensor, but got tensor with "
            f"{value.ndim} dimension(s)."
        )
    return cast(value, given)
