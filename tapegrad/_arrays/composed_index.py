"""Parts of parts: the one index that selects what two basic indices select one after the other.

Knows integers, slices, None and Ellipsis in an index. Must not know arrays, traced or not.

A loop that cuts a piece off again and again (`w, v = v[:3], v[3:]`) makes a part of a part of a
part. With one index for all of them each part is read from the whole array: neither a read nor its
derivative depends on how many parts lie in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import index as as_int
from typing import Any

from tapegrad._core.types import Index

Shape = tuple[int, ...]


def composed(shape: Shape, first: Index, then: Index) -> Any:
    """The basic index i with `x[i]` for `x[first][then]`, of an x of this shape.

    Both indices are basic. The result is None if no basic index does that, or if `then` is out of
    bounds, which is left to NumPy to say.

    >>> composed((10,), slice(2, None), slice(None, None, -1))
    slice(9, 1, -1)
    >>> composed((10, 4), (slice(2, None), 1), 3)
    (5, 1)
    """
    try:
        kind = type(first)
        if kind is slice:  # the frequent case: of the first axis alone
            taken: Any = range(shape[0])[first]
            kind = type(then)
            if kind is int:
                return taken[then]
            if kind is slice:
                return as_slice(taken[then])
            if kind is tuple and then:
                kind = type(then[0])
                if kind is int:
                    return (taken[then[0]], *then[1:])
                if kind is slice:
                    return (as_slice(taken[then[0]]), *then[1:])
        elif kind is int:
            return (first, *then) if type(then) is tuple else (first, then)
        elif kind is tuple:
            parts = _composed_by_axis(shape, first, then if type(then) is tuple else (then,))
            if parts is not None:
                return parts
        return _composed(shape, first, then)
    except (IndexError, TypeError, ValueError):
        return None


def _composed_by_axis(
    shape: Shape, first: tuple[Any, ...], then: tuple[Any, ...]
) -> tuple[Any, ...] | None:
    """The same for integers and slices alone, which are most indices; None for others."""
    parts: list[Any] = []
    count = 0
    for size, part in zip(shape, first, strict=False):
        kind = type(part)
        if kind is slice:
            if count < len(then):
                taken: Any = range(size)[part]
                again = then[count]
                count += 1
                kind = type(again)
                if kind is int:
                    part = taken[again]
                elif kind is slice:
                    part = as_slice(taken[again])
                else:
                    return None
        elif kind is not int:
            return None
        parts.append(part)
    if len(parts) < len(first):
        return None
    return (*parts, *then[count:])


def as_slice(taken: range) -> slice:
    """The slice that selects the positions of a range, none of which is negative."""
    stop: int | None = taken.stop
    if not taken:
        return slice(0, 0)
    if taken.stop < 0:
        stop = None  # a slice would count it from the end
    return slice(taken.start, stop, None if taken.step == 1 else taken.step)


def _composed(shape: Shape, first: Index, then: Index) -> Any:
    outer = _by_axis(shape, first)
    inner_shape = tuple(
        1 if part is None else len(part) for part in outer if type(part) is not int
    )
    inner = iter(_by_axis(inner_shape, then))
    parts: list[Any] = []
    for part in outer:
        if type(part) is int:
            parts.append(part)
            continue
        again = _next_axis(inner, parts)
        if part is None:  # an axis of length 1, which `then` drops, keeps or empties
            if type(again) is not int:
                if len(again) != 1:
                    return None
                parts.append(None)
        else:
            parts.append(part[again] if type(again) is int else as_slice(part[as_slice(again)]))
    parts.extend(inner)  # new axes at the end
    if _has_ellipsis(then) and all(type(part) is int for part in parts):
        parts.append(Ellipsis)  # it selects a 0-d array, without it a number
    return tuple(parts)


def _next_axis(inner: Iterator[Any], parts: list[Any]) -> Any:
    """Part of the next axis that an index takes; its new axes before that go to `parts`."""
    for part in inner:
        if part is not None:
            return part
        parts.append(None)
    raise IndexError


def _has_ellipsis(index: Index) -> bool:
    return index is Ellipsis or type(index) is tuple and Ellipsis in index


def _by_axis(shape: Shape, index: Index) -> list[Any]:
    """The position (an int) or positions (a range) taken of each axis, with None for new axes."""
    given = index if type(index) is tuple else (index,)
    used = sum(part is not None and part is not Ellipsis for part in given)
    room = len(shape) - used  # axes that an Ellipsis stands for
    found: list[Any] = []
    axis = 0
    for part in given:
        if part is None:
            found.append(None)
        elif part is Ellipsis:
            found += map(range, shape[axis : axis + room])
            axis += room
        else:
            taken = range(shape[axis])
            found.append(taken[part] if type(part) is slice else taken[as_int(part)])
            axis += 1
    found += map(range, shape[axis:])
    return found


__all__ = ["as_slice", "composed"]
