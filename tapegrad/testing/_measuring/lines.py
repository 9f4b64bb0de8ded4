"""Functions of leaves along a direction, as `measuring` looks at them.

Knows leaves, their dtypes, and how real parts of many arrays make one vector. Must not know
transforms.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad.testing._measuring.directions import FlatFunction
from tapegrad.testing._measuring.measure import ENOUGH, measure
from tapegrad.testing._measuring.tolerances import real_dtype, resolution_of
from tapegrad.testing._measuring.verdicts import Measured


def measure_along(
    function: FlatFunction,
    leaves: Sequence[Any],
    dots: Sequence[Any],
    *,
    value: Sequence[Any] | None = None,
    widen: Any = np.float64,
    enough: float = ENOUGH,
    within: float = 1.0,
) -> Measured:
    """The derivative of `function(*leaves)` along a direction, with its error and a verdict.

    function: of floating and complex arrays, to a tuple of such. dots: an array for each leaf, of
    its shape; the direction times 1 should be a change as large as the leaf itself (`scaled`).
    value: the function's result at the leaves, if it is known. widen: a dtype to compute in where
    the leaves are coarser and the function computes in what it is given, or None. within: how far
    along the direction to look at most. Elements of what is measured are those of `pack(results)`.
    """
    line = Line(function, leaves, dots, value=value, widen=widen)
    return measure(line, line.precision, line.resolution, enough=enough, within=within)


def pack(values: Sequence[Any]) -> Any:
    """One vector of the real and imaginary parts of arrays, in float64 or wider."""
    if not values:
        return np.zeros(0)
    wide = np.result_type(np.float64, *(real_dtype(value.dtype) for value in values))
    return np.concatenate([_real_parts(value) for value in values]).astype(wide)


def _real_parts(value: Any) -> Any:
    flat = np.ravel(value)
    return np.concatenate([flat.real, flat.imag]) if flat.dtype.kind == "c" else flat


def unpack(vector: Any, like: Sequence[Any]) -> list[Any]:
    """The arrays of which `pack` made a vector, in its precision and the shapes of others."""
    found, start = [], 0
    for value in like:
        size, is_complex = np.size(value), value.dtype.kind == "c"
        flat = vector[start : start + size]
        if is_complex:
            flat = flat + 1j * vector[start + size : start + 2 * size]
        start += size * (2 if is_complex else 1)
        found.append(flat.reshape(np.shape(value)))
    return found


def place_of(values: Sequence[Any], at: int) -> tuple[int, tuple[int, ...], str]:
    """Where an element of `pack(values)` stands: which array, its index, and "imag" or ""."""
    for number, value in enumerate(values):
        size = np.size(value) * (2 if value.dtype.kind == "c" else 1)
        if at < size:
            flat = at % np.size(value)
            index = tuple(int(i) for i in np.unravel_index(flat, np.shape(value)))
            return number, index, "imag" if at >= np.size(value) else ""
        at -= size
    raise IndexError(at)


def widened(
    function: FlatFunction, leaves: Sequence[Any]
) -> tuple[list[Any], tuple[Any, ...] | None]:
    """The leaves in the widest precision that the function computes in, and its results there.

    In longdouble the differences of a smooth function are exact to all digits of float64. The
    results are None where it takes the leaves as they are alone.
    """
    for dtype in (np.longdouble, np.float64):
        wide = [leaf.astype(np.result_type(leaf.dtype, dtype)) for leaf in leaves]
        outs = _tried(function, wide)
        # LAPACK knows float32 and float64 only; some functions make float64 of what they get.
        if outs is None or dtype is np.longdouble and not any(map(_is_wide, outs)):
            continue
        return wide, outs
    return list(leaves), None


def _tried(function: FlatFunction, leaves: Sequence[Any]) -> tuple[Any, ...] | None:
    """The results, or None if the function does not take such dtypes: each has its own error."""
    try:
        return _owned(function(*map(_own, leaves)))
    except Exception:  # noqa: BLE001
        return None


def _is_wide(out: Any) -> bool:
    return bool(np.result_type(out.dtype, np.longdouble) == out.dtype)


class Line:
    """A function of leaves along a direction, as a function of a number."""

    def __init__(
        self,
        function: FlatFunction,
        leaves: Sequence[Any],
        dots: Sequence[Any],
        *,
        value: Sequence[Any] | None = None,
        widen: Any = np.float64,
    ) -> None:
        self.function = function
        outs = _owned(function(*map(_own, leaves))) if value is None else value
        self.like = tuple((np.shape(out), out.dtype.kind) for out in outs)
        self.leaves = list(leaves)
        self.centre = pack(outs)
        self.precision = precision_of(outs)
        if widen is not None and resolution_of(*leaves, *outs) > np.finfo(widen).eps:
            self._widen(outs, widen)
        self.dots = [
            np.asarray(dot).astype(np.result_type(dot.dtype, leaf.dtype))
            for dot, leaf in zip(dots, self.leaves, strict=True)
        ]
        self.resolution = resolution_of(*self.leaves)

    def _widen(self, outs: Sequence[Any], dtype: Any) -> None:
        """Compute in a wider dtype, if the function does so where it is given that."""
        wide = [leaf.astype(np.result_type(leaf.dtype, dtype)) for leaf in self.leaves]
        found = _tried(self.function, wide)
        if found is None or tuple((np.shape(out), out.dtype.kind) for out in found) != self.like:
            return
        centre, precision = pack(found), precision_of(found)
        if np.max(precision, initial=0.0) > np.finfo(dtype).eps:
            return  # it computes, at least in part, in what it likes
        near = 1e3 * self.precision * (np.abs(centre) + np.max(np.abs(centre), initial=0.0))
        with silence():
            if not np.all(np.abs(centre - self.centre) <= near):
                return  # it is another function in float64, or one that cancels
        self.leaves, self.centre, self.precision = wide, centre, precision

    def __call__(self, t: float) -> Any:
        """The packed results at a place on the line; NaN where the function has none there."""
        if t == 0.0:
            return self.centre
        with silence():
            moved = [_moved(x, t, dot) for x, dot in zip(self.leaves, self.dots, strict=True)]
            try:
                outs = self.function(*moved)
            except Exception:  # noqa: BLE001 - outside of its domain: each library has its errors
                return np.full_like(self.centre, np.nan)
            if tuple((np.shape(out), out.dtype.kind) for out in outs) != self.like:
                return np.full_like(self.centre, np.nan)
            return pack(outs).astype(self.centre.dtype)


def _moved(x: Any, t: float, dot: Any) -> Any:
    change = np.asarray(t).astype(real_dtype(x.dtype)) * dot
    return (x + change).astype(x.dtype) if np.any(dot) else _own(x)


def _own(leaf: Any) -> Any:
    """A copy, so that a function that writes to its arguments changes nothing here."""
    return leaf.copy()


def _owned(outs: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(np.array(out) for out in outs)


def precision_of(outs: Sequence[Any]) -> Any:
    """The spacing of numbers at 1 of each element of `pack(outs)`, by its dtype."""
    if not outs:
        return np.zeros(0)
    return np.concatenate(
        [np.full(np.size(_real_parts(out)), np.finfo(out.dtype).eps, np.float64) for out in outs]
    )
