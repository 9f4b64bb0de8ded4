"""Tensors made from a range: evenly spaced numbers, and the indices of triangles.

Knows in which precision PyTorch computes them. Must not know operations.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Function, Value
from tapegrad.torch import _dtypes
from tapegrad.torch._ops.create.creation import creation
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._types import Number


def _number(value: Number) -> Number:
    """A Python number for a bound that may be a tensor."""
    return value.item() if isinstance(value, (Tensor, np.generic, np.ndarray)) else value


@creation
def arange(
    start: Number = 0, end: Number = None, step: Number = 1, *, dtype: np.dtype[Any] | None
) -> Value:
    """Numbers from start to before end: `arange(5)`, `arange(1, 2, 0.25)`; ints give ints.

    start: The first number, or with one argument the end.
    step: The distance of neighbours.
    """
    start, end, step = (_number(bound) for bound in (start, end, step))
    if end is None:
        start, end = 0, start
    whole = all(isinstance(bound, int) for bound in (start, end, step))
    given = np.dtype(dtype or (np.int64 if whole else _dtypes.default_float()))
    if step == 0:
        raise RuntimeError("step must be nonzero")
    if not (math.isfinite(start) and math.isfinite(end)):
        raise RuntimeError(f"unsupported range: {start:g} -> {end:g}")
    if (end - start) * step < 0:
        raise RuntimeError("upper bound and lower bound inconsistent with step sign")
    if whole:
        return np.arange(start, end, step).astype(given)
    if given.kind in "iu":
        start, end, step = int(start), int(end), int(step)
        return np.arange(start, end, step).astype(given)
    count = math.ceil((end - start) / step)
    return (start + step * np.arange(count)).astype(given)


def _steps_between(start: Number, end: Number, steps: int | None, given: np.dtype[Any]) -> Value:
    """Evenly spaced numbers, each counted from the nearer end, as PyTorch does."""
    if steps is None or steps < 0:
        raise RuntimeError("number of steps must be non-negative")
    kind = given if given.kind in "fc" and given.itemsize > 2 else np.dtype(np.float32)
    kind = np.dtype(np.float64) if given.kind in "iu" else kind
    first, last = np.asarray(start).astype(kind)[()], np.asarray(end).astype(kind)[()]
    if steps <= 1:
        return np.full(steps, first, kind)
    gap = (last - first) / kind.type(steps - 1)
    places = np.arange(steps).astype(kind)
    return np.where(np.arange(steps) < steps // 2, first + gap * places, last - gap * places[::-1])


@creation
def linspace(start: Number, end: Number, steps: int, *, dtype: np.dtype[Any] | None) -> Value:
    """`steps` numbers evenly from start to end, both included.

    start: The first number.
    end: The last number, included.
    steps: How many numbers.
    """
    start, end = _number(start), _number(end)
    given = np.dtype(dtype or _range_dtype(start, end))
    return _steps_between(start, end, steps, given).astype(given)


@creation
def logspace(
    start: Number, end: Number, steps: int, base: float = 10.0, *, dtype: np.dtype[Any] | None
) -> Value:
    """Powers of `base` whose exponents go evenly from start to end.

    start: The first exponent.
    end: The last exponent, included.
    steps: How many numbers.
    base: The base.
    """
    start, end = _number(start), _number(end)
    given = np.dtype(dtype or _range_dtype(start, end))
    kind = given if given.kind in "fc" else np.dtype(np.float64)
    exponents = _steps_between(start, end, steps, kind)
    with silence():
        return np.power(exponents.dtype.type(base), exponents).astype(given)


def _range_dtype(start: Number, end: Number) -> np.dtype[Any]:
    if isinstance(start, complex) or isinstance(end, complex):
        return _dtypes.default_complex()
    return _dtypes.default_float()


def _declare_indices(word: str, indices: Function, which: str) -> None:
    def compute(row: int, col: int, offset: int = 0, *, dtype: np.dtype[Any] | None) -> Value:
        return np.stack(indices(row, offset, col)).astype(dtype or np.int64)

    compute.__doc__ = f"""The indices of the {which} triangle of a matrix, as a tensor of two rows.

    row: The number of rows.
    col: The number of columns.
    -> Tensor: Whole numbers (2, count), int64 unless another dtype is given.
    """
    creation(compute, word)


_declare_indices("tril_indices", np.tril_indices, "lower")
_declare_indices("triu_indices", np.triu_indices, "upper")
