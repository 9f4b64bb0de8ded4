"""Counts in bins, segments, and distinct elements under PyTorch's older names.

Knows NumPy's functions. Must not know linear algebra.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad.torch import return_types
from tapegrad.torch._dims import wrapped
from tapegrad.torch._dtypes import require_kind
from tapegrad.torch._ops.declare import operation
from tapegrad.torch._ops.reduce.statistics import _unique
from tapegrad.torch._rules.declare import elementwise, general, refused

# --- Histograms ---------------------------------------------------------------------------------


def _edges(column: Value, bins: Any, bounds: Any) -> Value:
    """The edges of bins along one dimension: given, or of equal width."""
    if not isinstance(bins, int):
        return np.asarray(untraced(bins))
    if bounds is None:
        low, high = (column.min(), column.max()) if column.size else (0.0, 1.0)
        if low == high:
            low, high = low - 0.5, high + 0.5
    else:
        low, high = bounds
    return np.linspace(low, high, bins + 1).astype(column.dtype)


def _counted(word: str, columns: Value, edges: list[Value], weight: Value, density: bool) -> Value:
    x = untraced(columns)
    require_kind(x.dtype, "histogramdd", "f")
    weights = None if weight is None else untraced(weight).reshape(-1)
    finite = np.all(np.isfinite(x), -1)
    kept = None if weights is None else weights[finite]
    found, _ = np.histogramdd(x[finite], edges, weights=kept, density=density)
    return found.astype(x.dtype)


@general(
    "NotImplemented",
    refused("derivative for aten::histogram is not implemented", RuntimeError),
)
def _histogram(x: Value, bins: Any, bounds: Any, weight: Value, density: bool) -> Any:
    flat = x.reshape(-1)
    if flat.dtype.kind != "f":
        _counted("histogram", flat[:, None], [], None, density)
    edges = _edges(flat, bins, bounds)
    return _counted("histogram", flat[:, None], [edges], weight, density), edges


@operation("NotImplemented")
def histogram(
    input: Value,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Value = None,
    density: bool = False,
) -> Any:
    """Counts, or sums of weights, of the elements in bins, and the edges of these.

    It has no derivative.

    input: Floating numbers, of any shape.
    bins (int or Tensor): The number of bins, or their edges in ascending order.
    range (sequence of floats): The outermost edges; the least and the greatest element
        unless given.
    weight: The weight of each element, in the shape of `input`.
    -> named tuple: The counts or sums `hist` (n,), and the edges `bin_edges` (n + 1,).
    """
    bounds = None if range is None else (float(range[0]), float(range[1]))
    given = None if weight is None else untraced(weight)
    bins = bins if isinstance(bins, int) else np.asarray(untraced(bins))
    return return_types.histogram(*_histogram(input, bins, bounds, given, density))


@operation("NotImplemented", method=False)
def histogramdd(
    input: Value,
    bins: Any,
    *,
    range: Sequence[float] | None = None,
    weight: Value = None,
    density: bool = False,
) -> Any:
    """Counts of points, with coordinates along the last dimension, in boxes; and the edges.

    input: Points (..., d), of a floating dtype.
    bins (int, sequence of ints or sequence of Tensors): The number of bins, one for all or one a
        coordinate; or their edges.
    range (sequence of floats): The outermost edges of each coordinate, one after the
        other.
    weight: The weight of each point.
    -> named tuple: The counts or sums `hist`, and the edges `bin_edges`, a tensor for each
        coordinate.
    """
    x = untraced(input).reshape(-1, input.shape[-1])
    count = x.shape[1]
    sides = [bins] * count if isinstance(bins, int) else list(bins)
    if len(sides) != count:
        raise RuntimeError(
            "histogramdd: The size of bins must be equal to the innermost dimension of the input."
        )
    bounds = [None] * count if range is None else list(zip(range[::2], range[1::2], strict=True))
    require_kind(x.dtype, "histogramdd", "f")
    edges = [_edges(x[:, k], sides[k], bounds[k]) for k in np.arange(count).tolist()]
    return return_types.histogramdd(_counted("histogramdd", x, edges, weight, density), (*edges,))


# --- Segments -----------------------------------------------------------------------------------

_EMPTY = {"sum": 0.0, "mean": np.nan, "max": -np.inf, "min": np.inf, "prod": 1.0}


@operation("SegmentReduceBackward0", method=False)
def segment_reduce(
    data: Value,
    reduce: str,
    *,
    lengths: Value = None,
    indices: Value = None,
    offsets: Value = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> Value:
    """Consecutive segments along an axis reduced: "sum", "mean", "max", "min" or "prod".

    data: The elements, of a floating dtype.
    reduce: How a segment becomes one element.
    lengths: How long the segments are; several dimensions are the leading ones of `data`.
    indices: Not supported, as in PyTorch.
    offsets: Where the segments begin, and the last one ends.
    axis: The axis.
    unsafe: Whether the lengths are not checked.
    initial: What each reduction begins with; what an empty segment gives.
    -> Tensor: The reductions, one a segment along the axis.
    """
    if reduce not in _EMPTY:
        raise RuntimeError(f"segment_reduce(): unsupported reduction {reduce!r}")
    if lengths is None and offsets is None:
        raise RuntimeError("segment_reduce(): Either lengths or offsets must be defined.")
    axis = wrapped(axis, data.ndim)
    if indices is not None:
        raise RuntimeError("segment_reduce(): indices based reduction is not supported yet.")
    if lengths is not None:
        sizes = np.asarray(untraced(lengths))
        if sizes.ndim - 1 != axis:
            raise RuntimeError(
                "segment_reduce(): Expected axis to be the last dimension of lengths but got "
                f"{axis}."
            )
        if not unsafe and np.any(sizes.sum(-1) != data.shape[axis]):
            raise RuntimeError(
                "segment_reduce(): Expected all rows of lengths along axis to sum to "
                "data.size(lengths.dim()-1) when !unsafe."
            )
        if not unsafe and sizes.min(initial=0) < 0:
            raise RuntimeError("lengths contains negative value!")
        ends = np.cumsum(sizes, -1)
        starts = ends - sizes
    else:
        places = np.asarray(untraced(offsets))
        starts, ends = places[..., :-1], places[..., 1:]
    lead = starts.shape[:-1]
    rows = [
        np.stack(
            [
                _reduced(data[place], reduce, *pair, initial)
                for pair in zip(starts[place].tolist(), ends[place].tolist(), strict=True)
            ]
        )
        for place in np.ndindex(lead)
    ]
    made = np.stack(rows)
    return made.reshape(*lead, *made.shape[1:])


def _reduced(rows: Value, reduce: str, start: int, end: int, initial: float | None) -> Value:
    part = rows[start:end]
    kind = rows.dtype
    if start == end:
        value = _EMPTY[reduce] if initial is None else initial
        return np.full(rows.shape[1:], value, kind) + 0 * np.sum(rows[:0], 0)
    if reduce in ("sum", "mean"):
        total = np.sum(part, 0)
        total = total if initial is None else total + kind.type(initial)
        return total / kind.type(end - start) if reduce == "mean" else total
    if reduce == "prod":
        made = np.prod(part, 0)
        return made if initial is None else made * kind.type(initial)
    made = (np.max if reduce == "max" else np.min)(part, 0)
    if initial is None:
        return made
    return (np.maximum if reduce == "max" else np.minimum)(made, kind.type(initial))


# --- Distinct elements --------------------------------------------------------------------------

_NONE = np.zeros(0, np.int64)


def _or_nothing(found: tuple[Value, ...], *asked: bool) -> tuple[Value, ...]:
    """The first of what was found, and of the rest nothing for what is not asked for."""
    rest = zip(found[1:], asked, strict=True)
    return found[0], *(part if wanted else _NONE.copy() for part, wanted in rest)


@operation("UniqueBackward0", method=False, name="_unique")
def _older(input: Value, sorted: bool = True, return_inverse: bool = False) -> Any:
    """The distinct elements, and where each element is among them; else nothing."""
    made = _unique(input, sorted, return_inverse)
    return made if return_inverse else (made, _NONE.copy())


@operation("Unique2Backward0", method=False, name="_unique2")
def _old(
    input: Value, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False
) -> Any:
    """The distinct elements, their places and their counts; nothing for what is not asked for."""
    return _or_nothing(_unique(input, sorted, True, True), return_inverse, return_counts)


@operation("UniqueDimBackward0", method=False)
def unique_dim(
    input: Value,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    """The distinct slices along a dimension, their places and their counts.

    -> tuple of Tensors: The slices, the positions in them, and the counts.
    """
    return _or_nothing(_unique(input, sorted, True, True, dim), return_inverse, return_counts)


@operation("NonzeroStaticBackward0")
def nonzero_static(input: Value, *, size: int, fill_value: int = -1) -> Value:
    """The coordinates of the first `size` elements that are not 0, then rows of `fill_value`.

    size: The number of rows.
    fill_value: What stands in rows that no element has.
    -> Tensor: Whole numbers (size, input.ndim).
    """
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    found = np.argwhere(untraced(input))[:size]
    made = np.full((size, input.ndim), fill_value, np.int64)
    made[: len(found)] = found
    return made


def _exponents(x: Value) -> Value:
    x = untraced(x)
    return np.where(np.isfinite(x), np.frexp(x)[1], 0).astype(np.int32)


@elementwise("FrexpBackward0", lambda _out, _x, exponents: np.ldexp(1.0, -exponents), 0)
def _mantissas(x: Value, exponents: Value) -> Value:
    return np.ldexp(x, -exponents)


@operation("FrexpBackward0")
def frexp(input: Value) -> Any:
    """Mantissas from 0.5 to before 1, and exponents of 2.

    input: Floating numbers, of any shape.
    -> named tuple: The mantissas `mantissa`, and the exponents `exponent` (int32).
    """
    if input.dtype.kind != "f":
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    exponents = _exponents(input)
    return return_types.frexp(_mantissas(input, exponents), exponents)
