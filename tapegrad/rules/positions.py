"""Calls that only move elements of one array, planned by where each element goes.

A call that gives a view (transpose, reshape, flip ...) is asked once for the view of an array of
its shape, which tells how the axes changed places and which were turned round; its cotangent goes
the same way back. Whatever else moves elements (roll, tile, repeat, pad, triu, diag ...) is told
once how an array of numbers comes out of it, and then is a read by positions, and so are its
cotangent and its tangent. This serves small arrays, whose positions are small too, and cost less
than the calls they stand for. Knows no function by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from tapegrad._core.fast.call_plans import Kernels, Spec, from_rule
from tapegrad._core.types import Cotangent, Function, Tangent, Value

FEW = 1 << 10  # elements, up to which a read by positions is faster than copies of blocks


def moving(function: Function, rule: Any = None) -> Function:
    """The plan of a function that only moves elements: of few by where each one goes.

    Of many it is made from the functions of a rule, if one is given, which is planned alike.
    """

    def plan(x: Spec, out: Spec, /, **params: Any) -> Kernels | None:
        call = partial(function, **params) if params else function
        kernels = moved_by_positions(x, out, call)
        return kernels if kernels or rule is None else from_rule(rule, x, out, params)

    if rule is not None:
        rule.plan = plan
    return plan


def viewing(function: Function) -> Function:
    """The plan of a function that gives a view, or what such a function would give as a copy."""

    def plan(x: Spec, out: Spec, /, **params: Any) -> Kernels | None:
        return moved_by_axes(x, out, partial(function, **params) if params else function)

    return plan


def moved_by_axes(x: Spec, out: Spec, function: Function) -> Kernels | None:
    """Kernels of a call `function(array)` that gives a view with all elements; None for others.

    Either they keep their order in C, or their axes change places and are turned round. An array
    that nothing is written to tells which, at no cost.
    """
    if not x.size or not x.ndim and not out.ndim:
        return None
    asked = np.empty(x.shape, x.dtype)
    made = function(asked)
    if type(made) is not np.ndarray or made.size != x.size or not np.may_share_memory(made, asked):
        return None
    start = made.ctypes.data - asked.ctypes.data
    if not start and made.flags.c_contiguous:
        before, after = x.shape, out.shape
        return moved(lambda a: a.reshape(after), lambda g: g.reshape(before))
    order, turned = [], []
    for side, step in zip(made.shape, made.strides, strict=True):
        for axis in range(x.ndim):
            if axis in order or x.shape[axis] != side:
                continue
            if side == 1 or abs(step) == asked.strides[axis]:
                order.append(axis)
                turned.append(side > 1 and step < 0)
                break
        else:
            return None
    if len(order) != x.ndim:
        return None
    return _moved_axes(tuple(order), turned)


def _moved_axes(order: tuple[int, ...], turned: Sequence[bool]) -> Kernels:
    """The kernels of axes in another order, some of which are then turned round."""
    back = tuple(sorted(range(len(order)), key=order.__getitem__))
    if not any(turned):
        if order == (1, 0):
            return moved(lambda a: a.T, lambda g: g.T)
        return moved(lambda a: a.transpose(order), lambda g: g.transpose(back))
    index = tuple([slice(None, None, -1 if each else None) for each in turned])
    if order == back == tuple(range(len(order))):
        return moved(lambda a: a[index], lambda g: g[index])
    return moved(lambda a: a.transpose(order)[index], lambda g: g[index].transpose(back))


def moved(run: Function, back: Function) -> Kernels:
    """The kernels of a call that moves elements: to the result, and back to the array."""
    return Kernels(run, lambda g, _out, _x: back(g), lambda dot, _out, _x: run(dot), view=True)


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
    except (OverflowError, TypeError, ValueError):  # a constant that is no integer: None, NaN
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
