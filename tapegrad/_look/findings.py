"""A NaN or an infinity that was found, in words.

Knows arrays, and lines of a program. Must not know how it was found.
"""

from __future__ import annotations

import linecache
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._arrays.masked import MaskedElements
from tapegrad._core.values import Mapped, Traced
from tapegrad._errors import NonFiniteError, describe
from tapegrad._look.lines import Site
from tapegrad._tree import children_of


def raw(value: Any) -> Any:
    """A value without any tracing or batching: for a batched one the array of all examples."""
    while isinstance(value, (Traced, Mapped)):
        value = value._value
    return value


def arrays_of(value: Any) -> list[Any]:
    """The floating arrays and numbers of a result, or of an argument: also in containers."""
    found: list[Any] = []
    rest = [value]
    while rest:  # trees may be deeper than Python's stack
        value = rest.pop()
        if type(value) is MaskedElements:
            found += _selected(value)
            continue
        plain = raw(value)
        if isinstance(plain, (np.ndarray, np.generic)):
            if plain.dtype.kind in "fc":
                found.append(np.asarray(plain))
        elif type(plain) is float or type(plain) is complex:
            found.append(np.asarray(plain))
        else:
            parts, _ = children_of(plain) or ([], None)
            rest += parts[::-1]
    return found


def _selected(elements: MaskedElements) -> list[Any]:
    """The array of which elements are picked, with a 1 in place of the others.

    Nothing where the condition has other levels of vmap than the array.
    """
    whole, condition = raw(elements.whole), raw(elements.condition)
    lead = condition.ndim - len(elements.condition.shape)
    before, behind = (1,) * elements.before, (1,) * elements.behind()
    spread = (*condition.shape[:lead], *before, *condition.shape[lead:], *behind)
    if whole.dtype.kind not in "fc" or whole.ndim != len(spread):
        return []
    return [np.where(np.reshape(condition, spread), whole, 1)]


def is_bad(array: Any, *, infinities: bool) -> bool:
    """Whether an array has a NaN, or one or an infinity."""
    if infinities:
        return not bool(np.isfinite(array).all())
    return bool(np.isnan(array).any())


def first_bad(array: Any, *, infinities: bool) -> tuple[int, ...]:
    """The index of the first element that is not finite, or that is NaN."""
    marks = ~np.isfinite(array) if infinities else np.isnan(array)
    return tuple(int(i) for i in np.argwhere(marks)[0])


def error_of(
    what: str,
    operation: str,
    bad: Any,
    args: Sequence[Any],
    site: Site,
    *,
    infinities: bool,
    backward: bool = False,
    others: Sequence[tuple[str, Any]] = (),
) -> NonFiniteError:
    """The error of an operation whose result (or cotangent) `bad` is not finite.

    args: the arguments, as far as they are known. others: further values, with names.
    """
    index = first_bad(bad, infinities=infinities)
    value = bad[index]
    kind = "a NaN" if np.isnan(value) else "an infinity"
    place = f" at element {index if len(index) > 1 else f'[{index[0]}]'}" if index else ""
    known = (array for arg in args for array in arrays_of(arg))
    given = "finite" if all(np.isfinite(array).all() for array in known) else "other"
    lines = [f"{what} {kind} out of {given} numbers{place} of {describe(bad)}."]
    if any(isinstance(arg, Mapped) for arg in args):
        lines.append("  Arrays are those of all examples of the vmap: the first axis counts them.")
    if site:
        frame = site[0]
        lines.append(f'  File "{frame.file}", line {frame.line}, in {frame.function}')
        source = linecache.getline(frame.file, frame.line).strip()
        if source:
            lines.append(f"    {source}")
    named = [(f"argument {i}", arg) for i, arg in enumerate(args)]
    for name, arg in [*named, *others]:
        lines += [f"  {name}: {range_of(array, index)}" for array in arrays_of(arg)]
    error = NonFiniteError("\n".join(lines))
    error.operation, error.backward, error.index = operation, backward, index
    error.value = value.item()
    if site:
        error.file, error.line = site[0].file, site[0].line
    return error


def range_of(array: Any, index: tuple[int, ...]) -> str:
    """An array's range in words, and its element there where the result has the index."""
    if not array.size:
        return f"{describe(array)}, empty"
    words = [describe(array)]
    if array.dtype.kind == "f":
        finite = array[np.isfinite(array)]
        if array.ndim and finite.size:
            words.append(f"from {_number(finite.min())} to {_number(finite.max())}")
        if array.ndim:
            words += _counts(array)
    found = _element(array, index)
    if found is not None:
        words.append(f"there {_number(found)}" if array.ndim else _number(found))
    return ", ".join(words)


def _counts(array: Any) -> list[str]:
    counted = (
        (np.count_nonzero(array == 0), "zeros", "zero"),
        (np.count_nonzero(array < 0), "negative", "negative"),
        (np.count_nonzero(np.isinf(array)), "infinite", "infinite"),
        (np.count_nonzero(np.isnan(array)), "NaN", "NaN"),
    )
    return [f"{count} {many if count > 1 else one}" for count, many, one in counted if count]


def _element(array: Any, index: tuple[int, ...]) -> Any:
    """The element of an argument that broadcasts to the result's shape, or None."""
    if array.ndim > len(index):
        return None
    at = index[len(index) - array.ndim :]
    if any(i >= n and n != 1 for i, n in zip(at, array.shape, strict=True)):
        return None
    return array[tuple(0 if n == 1 else i for i, n in zip(at, array.shape, strict=True))]


def _number(value: Any) -> str:
    number = value.item()
    if isinstance(number, complex) or not math.isfinite(number):
        return str(number)
    return f"{number:.6g}"


__all__ = ["arrays_of", "error_of", "first_bad", "is_bad", "range_of", "raw"]
