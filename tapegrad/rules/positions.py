"""Calls that only move elements of one array, planned by where each element goes.

Whatever moves elements (roll, tile, repeat, pad, triu, diag ...) is told once how an array of
numbers comes out of it, and then is a read by positions, and so are its cotangent and its tangent.
This serves small arrays, whose positions are small too, and cost less than the calls they stand
for. Knows no function by name.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.fast.call_plans import Kernels, Spec
from tapegrad._core.types import Cotangent, Function, Tangent, Value

FEW = 1 << 10  # elements, up to which a read by positions is faster than copies of blocks


def moved_by_positions(x: Spec, out: Spec, function: Function) -> Kernels | None:
    """Kernels of a call `function(array)` for few elements; None if it does more than move them.

    It may repeat elements, drop some, and put numbers of its own between them.
    """
    count, total = x.size, out.size
    if not 0 < count <= FEW or not 0 < total <= FEW or x.dtype is not out.dtype:
        return None
    if not x.ndim or not out.ndim:  # NumPy reads numbers, not arrays, at 0-d positions
        return None
    numbers = np.arange(count).reshape(x.shape)
    try:
        source = function(numbers)
        moved = _moved(function, numbers, source)
    except OverflowError:  # a constant beyond the integers
        return None
    if moved is None:
        return None
    if moved.all():
        run = _read(source, function)
        push: Function = lambda dot, _out, _x: dot.take(source)  # noqa: E731 - as `pull` below
    else:
        to, of = np.flatnonzero(moved), source[moved]
        run = _filled(function, x, to, of)

        def push(dot: Tangent, _out: Value, _x: Value) -> Tangent:
            made = np.zeros(out.shape, out.dtype)
            made.put(to, dot.take(of))
            return made

    pull = _collected(x, np.flatnonzero(moved), source[moved])
    return Kernels(run, lambda g, _out, _x: pull(g), push)


def _moved(function: Function, numbers: Any, source: Any) -> Any:
    """Where the result of the numbers has one of them, not a number of the function's own.

    None if the function does not put each number somewhere as it is.
    """
    others = numbers + numbers.size
    shifted, squares = function(others), function(others * others)
    if not source.dtype is shifted.dtype is squares.dtype is numbers.dtype:
        return None
    moved = shifted != source
    if not np.array_equal(squares, np.where(moved, shifted * shifted, source)):
        return None  # it computes with them
    elements = source[moved]
    if not np.array_equal(shifted[moved], elements + numbers.size):
        return None
    return moved if ((elements >= 0) & (elements < numbers.size)).all() else None


def _read(source: Any, function: Function) -> Function:
    """The call as a read of an array that lies in C order; memory of others is NumPy's matter."""

    def run(a: Value) -> Value:
        return a.take(source) if a.flags.c_contiguous else function(a)

    return run


def _filled(function: Function, x: Spec, to: Any, of: Any) -> Function:
    """The call as a copy of what it gives beside the elements, with these put into it."""
    empty = function(np.zeros(x.shape, x.dtype))
    if len(of) == x.size and (of == np.arange(x.size)).all():

        def run(a: Value) -> Value:
            if not a.flags.c_contiguous:
                return function(a)
            made = empty.copy()
            made.put(to, a)
            return made

    else:

        def run(a: Value) -> Value:
            if not a.flags.c_contiguous:
                return function(a)
            made = empty.copy()
            made.put(to, a.take(of))
            return made

    return run


def _collected(x: Spec, to: Any, of: Any) -> Function:
    """The sum for each element `of` the array of the cotangents at the positions `to`."""
    shape, dtype = x.shape, x.dtype
    counts = np.bincount(of, minlength=x.size)
    most = int(counts.max())
    if most == counts.min():  # each element comes as often as the others
        at = to[np.argsort(of, kind="stable")].reshape(x.size, most).T.reshape(most, *shape)
        if most == 1:
            (at,) = at
            return lambda g: g.take(at)
        return lambda g: np.add.reduce(g.take(at), 0)
    if most == 1:

        def pull(g: Cotangent) -> Cotangent:
            bar = np.zeros(shape, dtype)
            bar.put(of, g.take(to))
            return bar

        return pull
    order = np.argsort(of, kind="stable")
    sorted_to, present = to[order], np.flatnonzero(counts)
    starts = np.concatenate([[0], np.cumsum(counts[present])[:-1]])

    def pull_sums(g: Cotangent) -> Cotangent:
        bar = np.zeros(shape, dtype)
        bar.put(present, np.add.reduceat(g.take(sorted_to), starts))
        return bar

    return pull_sums


def rolled(a: Value, moves: Sequence[Any]) -> Value:
    """A copy whose blocks have changed places: pairs of an index to write and one to read."""
    made = np.empty_like(a)
    for to, of in moves:
        made[to] = a[of]
    return made


def roll_moves(shape: tuple[int, ...], shift: int, axis: int) -> list[Any]:
    """The blocks of a roll along an axis."""
    size = shape[axis]
    shift %= max(size, 1)
    lead = (slice(None),) * axis
    if not shift or not math.prod(shape):
        return [((*lead, slice(None)), (*lead, slice(None)))]
    return [
        ((*lead, slice(shift, None)), (*lead, slice(None, -shift))),
        ((*lead, slice(None, shift)), (*lead, slice(-shift, None))),
    ]
