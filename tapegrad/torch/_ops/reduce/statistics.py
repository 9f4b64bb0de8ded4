"""Order statistics and counts: medians, quantiles, modes, histograms, sets, covariances.

The lower of two middle elements is PyTorch's median. Along a dimension the element whose index is
returned gets the gradient; the median of everything shares it among equal elements.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import is_ndarray, untraced
from tapegrad.rules.reduction import extremum_vjp
from tapegrad.torch._dims import along_one, wrapped
from tapegrad.torch._docstrings.sections import told
from tapegrad.torch._dtypes import require_kind
from tapegrad.torch._ops.declare import operation, register
from tapegrad.torch._ops.elementwise.arithmetic import cast, floating
from tapegrad.torch._ops.fast import short_reading
from tapegrad.torch._ops.reduce.extrema import taken, taken_one
from tapegrad.torch._rules.declare import Declared, general
from tapegrad.torch._rules.symbols import is_own
from tapegrad.torch._types import Dim, TensorLike
from tapegrad.torch.return_types import pair

# --- Medians ------------------------------------------------------------------------------------


def _middle(values: Value, skip_nan: bool) -> Value:
    """The places of the lower middle elements along the last axis; of a NaN if there is one.

    Of equal elements it is the one in the middle. To order values takes a fifth of the time of
    ordering their places.
    """
    if not values.size:
        return np.zeros(values.shape[:-1], np.int64)
    missing = values != values
    count = np.sum(~missing, -1, keepdims=True)
    if not skip_nan:
        size = values.shape[-1]
        count = np.where(np.any(missing, -1, keepdims=True), count * 2 + 1, size)
    rank = np.maximum(count - 1, 0) // 2
    if is_own(values) and np.all(rank == (first := rank.item(0))):
        ordered = np.partition(values, first, -1)  # NaN last
    else:
        ordered = np.sort(values, -1)
    middle = np.take_along_axis(ordered, rank, -1)
    among = (values == middle) | (missing & (middle != middle))
    before = np.where(middle == middle, rank - np.sum(values < middle, -1, keepdims=True), 0)
    if np.any(before):
        among &= np.cumsum(among, -1) > before
    return np.argmax(among, -1)


def _of_everything(label: str, skip_nan: bool) -> Declared:
    @general(label, lambda g, out, x: extremum_vjp(g, out, x), batch="loop")
    def median_of_all(x: Value) -> Value:
        flat = np.reshape(x, -1)
        return flat[_middle(flat, skip_nan)] if flat.size else flat.dtype.type(np.nan)

    return median_of_all


def _declare_median(word: str, skip_nan: bool) -> None:
    label = word.capitalize()
    of_everything = _of_everything(f"{label}Backward0", skip_nan)

    def name_of(input: TensorLike, dim: Dim = None, *rest: Any, **words: Any) -> str:
        return f"{label}Backward{0 if dim is None else 1}"

    def compute(input: Value, dim: Dim = None, keepdim: bool = False) -> Any:
        require_kind(input.dtype, f"{word}_cpu", "fuiV")
        if dim is None:
            if input.dtype.kind == "f":
                return of_everything(input)
            flat = np.reshape(input, -1)
            return flat[_middle(flat, skip_nan)]
        array, axis = along_one(input, dim)
        if not array.shape[axis]:
            raise IndexError(f"{word}(): Expected reduction dim {axis} to have non-zero size.")
        places = _middle(np.moveaxis(untraced(array), axis, -1), skip_nan)
        return pair(word, *taken_one(array, places, axis, keepdim and input.ndim > 0))

    which = " of the elements that are not NaN" if skip_nan else ""
    compute.__doc__ = told(
        f"The median{which}, of two middle ones the lower.",
        f"{word}(torch.tensor([3.0, torch.nan, 2.0]))",
        f"tensor({'2.' if skip_nan else 'nan'})",
        "dim (int): The dimension that is reduced; all unless given.",
        "-> Tensor or named tuple: The median; with `dim` the elements `values` and their "
        "positions `indices`.",
    )
    general = operation(name_of, name=word)(compute)
    register(replaces=general)(short_reading(general, f"{label}Backward1", 0, None))


_declare_median("median", skip_nan=False)
_declare_median("nanmedian", skip_nan=True)


@operation("KthvalueBackward0")
def kthvalue(input: Value, k: int, dim: int = -1, keepdim: bool = False) -> Any:
    """The k-th smallest element along a dimension, and where it is.

    k: The rank, counted from 1.
    -> named tuple: The elements `values`, and their positions `indices`.
    """
    array, axis = along_one(input, dim)
    if not 1 <= k <= array.shape[axis]:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {axis}")
    order = np.argsort(untraced(array), axis, kind="stable")
    places = np.take(order, k - 1, axis)
    return pair("kthvalue", *taken_one(array, places, axis, keepdim and input.ndim > 0))


register(replaces=kthvalue)(short_reading(kthvalue, "KthvalueBackward0", 1))


@operation("ModeBackward0")
def mode(input: Value, dim: int = -1, keepdim: bool = False) -> Any:
    """The most frequent element along a dimension, the smallest of such, and its last place.

    -> named tuple: The elements `values`, and their positions `indices`.
    """
    array, axis = along_one(input, dim)
    rows = np.moveaxis(untraced(array), axis, -1)
    if not rows.shape[-1]:
        raise IndexError(f"mode(): Expected reduction dim {axis} to have non-zero size.")
    order = np.argsort(rows, -1, kind="stable")
    ranked = np.take_along_axis(rows, order, -1)
    positions = np.arange(rows.shape[-1])
    begins = np.concatenate(
        [np.ones_like(ranked[..., :1], bool), ranked[..., 1:] != ranked[..., :-1]], -1
    )
    start = np.maximum.accumulate(np.where(begins, positions, 0), -1)
    last = np.argmax(positions - start, -1)  # where the first of the longest runs ends
    places = np.take_along_axis(order, np.expand_dims(last, -1), -1)[..., 0]
    return pair("mode", *taken_one(array, places, axis, keepdim and input.ndim > 0))


register(replaces=mode)(short_reading(mode, "ModeBackward0", 0))


# --- Quantiles ----------------------------------------------------------------------------------

_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(
    input: Value, q: Value, dim: Dim, keepdim: bool, method: str, word: str, skip_nan: bool
) -> Value:
    if method not in _METHODS:
        raise RuntimeError(
            f"{word}() interpolation must be one of linear, lower, higher, midpoint or nearest, "
            f"but got {method}"
        )
    if input.dtype.kind != "f":
        raise RuntimeError(f"{word}() input tensor must be either float or double dtype")
    if not input.size:
        raise RuntimeError(f"{word}() input tensor must be non-empty")
    if not hasattr(q, "dtype"):
        q = np.asarray(q, input.dtype)
    elif q.dtype != input.dtype:
        raise RuntimeError(f"{word}() q tensor must be same dtype as the input tensor")
    if q.ndim > 1:
        raise RuntimeError(f"{word}() q must be a scalar or 1D tensor")
    if is_ndarray(untraced(q)) and not np.all((untraced(q) >= 0) & (untraced(q) <= 1)):
        raise RuntimeError(f"{word}() q values must be in the range [0, 1]")
    axis = None if dim is None else wrapped(dim, input.ndim)
    flat = dim is None or not input.ndim
    rows = np.reshape(input, -1) if flat else np.moveaxis(input, axis or 0, -1)
    found = _of_rows(rows, np.reshape(q, -1), method, skip_nan)
    return _placed(found, q, input, None if flat else axis, keepdim)


def _of_rows(rows: Value, q: Value, method: str, skip_nan: bool) -> Value:
    """Quantiles along the last axis, one column for each q."""
    values = untraced(rows)
    order = np.argsort(values, -1, kind="stable")
    missing = values != values
    count = np.sum(~missing, -1, keepdims=True) if skip_nan else np.asarray([values.shape[-1]])
    place = q * np.maximum(count - 1, 0).astype(rows.dtype)
    known = untraced(place)
    if method == "nearest":
        place = known = np.round(known)
    below = np.ceil(known) if method == "higher" else np.floor(known)
    above = np.ceil(known) if method in ("linear", "midpoint") else below
    if not skip_nan:
        absent = np.any(missing, -1, keepdims=True)
        last = values.shape[-1] - 1
        below, above = np.where(absent, last, below), np.where(absent, last, above)
    shape = (*values.shape[:-1], q.shape[0])
    low, high = (
        taken(rows, np.take_along_axis(order, _positions(ranks, shape), -1), -1)
        for ranks in (below, above)
    )
    if method not in ("linear", "midpoint"):
        return low
    weight = rows.dtype.type(0.5) if method == "midpoint" else place - np.floor(known)
    return low + weight * (high - low) if method == "linear" else low / 2 + high / 2


def _positions(ranks: Value, shape: tuple[int, ...]) -> Value:
    return np.broadcast_to(ranks.astype(np.intp), shape)


def _placed(found: Value, q: Value, input: Value, axis: int | None, keepdim: bool) -> Value:
    """Quantiles with the dimension of q in front (none for one q), the reduced one kept or not."""
    found = np.moveaxis(found, -1, 0)
    if keepdim and axis is not None:
        found = np.expand_dims(found, axis + 1)
    elif keepdim:
        found = np.reshape(found, (-1, *(1,) * input.ndim))
    return found if q.ndim else found[0]


def _declare_quantile(word: str, skip_nan: bool) -> None:
    def compute(
        input: Value,
        q: Value,
        dim: Dim = None,
        keepdim: bool = False,
        *,
        interpolation: str = "linear",
    ) -> Value:
        return _quantile(input, q, dim, keepdim, interpolation, word, skip_nan)

    which = "n elements that are not NaN" if skip_nan else "n elements"
    compute.__doc__ = told(
        f"Those of {which} whose rank is q * (n - 1), interpolated; q from 0 to 1.",
        f"{word}(torch.tensor([1.0, 2.0, 4.0, torch.nan]), 0.5)",
        f"tensor({'2.' if skip_nan else 'nan'})",
        "q (float or Tensor): One rank, or a vector of them.",
        "dim (int): The dimension that is reduced; the flat tensor unless given.",
        'interpolation: Between two elements: "linear", "lower", "higher", "midpoint" or '
        '"nearest".',
        "-> Tensor: The elements; of a vector `q` along a first dimension.",
    )
    operation("SqueezeBackward4", name=word)(compute)


_declare_quantile("quantile", skip_nan=False)
_declare_quantile("nanquantile", skip_nan=True)


# --- Counting -----------------------------------------------------------------------------------


@operation("HistcBackward0")
def histc(input: Value, bins: int = 100, min: float = 0, max: float = 0) -> Value:
    """Counts in bins of equal width from min to max; where these are equal, of the data.

    input: Real numbers, of any shape.
    bins: The number of bins.
    min (float): The lower end.
    max (float): The upper end.
    -> Tensor: The counts (bins,), in the dtype of `input`.
    """
    x = untraced(input)
    if bins <= 0:
        raise RuntimeError(f"torch.histogram(): bins must be > 0, but got {bins} for dimension 0")
    low, high = (x.min(), x.max()) if min == max and x.size else (min, max)
    if not (np.isfinite(low) and np.isfinite(high)):
        raise RuntimeError(f"torch.histc: range of [{low:g}, {high:g}] is not finite")
    if low == high:
        low, high = low - 1, high + 1
    if not low < high:
        raise RuntimeError("torch.histc: max must be larger than min")
    inside = x[(x >= low) & (x <= high)]
    return np.histogram(inside, int(bins), (float(low), float(high)))[0].astype(x.dtype)


@operation("BincountBackward0")
def bincount(input: Value, weights: Value = None, minlength: int = 0) -> Value:
    """How often each number from 0 on occurs, or the sum of its weights.

    input: A vector of whole numbers, none negative.
    weights: The weight of each number.
    minlength: The least length of the result.
    -> Tensor: A vector: int64, or with weights in their dtype or float64.
    """
    x = untraced(input)
    if x.ndim != 1 or x.dtype.kind not in "ui" or (x.size and x.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if weights is None:
        return np.bincount(x, minlength=minlength)
    found = np.bincount(x, weights, minlength)
    return cast(found, weights.dtype) if weights.dtype.kind == "f" else found


def _unique(
    input: Value,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: Dim = None,
) -> Value:
    """The distinct elements in order, or slices along `dim`; their places; their counts.

    dim (int): The dimension whose slices are compared; the flat tensor unless given.
    -> Tensor or tuple of Tensors: The elements; then the positions in them, and the counts,
        where asked for.
    """
    axis = None if dim is None else wrapped(dim, input.ndim)
    x = untraced(input)
    _, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, axis=axis, equal_nan=False
    )
    flat = np.reshape(input, -1) if axis is None else input
    values = np.take(flat, first, axis=0 if axis is None else axis)
    inverse = np.reshape(inverse, x.shape if axis is None else -1)
    return _with_asked(values, inverse, counts, return_inverse, return_counts)


def _with_asked(
    values: Value, inverse: Value, counts: Value, wants_inverse: bool, wants: bool
) -> Any:
    parts = [values]
    if wants_inverse:
        parts.append(inverse)
    if wants:
        parts.append(counts)
    return parts[0] if len(parts) == 1 else tuple(parts)


def _unique_consecutive(
    input: Value, return_inverse: bool = False, return_counts: bool = False, dim: Dim = None
) -> Value:
    """The elements, or slices along `dim`, that differ from the one before.

    dim (int): The dimension whose slices are compared; the flat tensor unless given.
    -> Tensor or tuple of Tensors: The elements; then the positions in them, and the counts,
        where asked for.
    """
    flat = np.reshape(input, -1) if dim is None else input
    axis = 0 if dim is None else wrapped(dim, input.ndim)
    x = np.moveaxis(untraced(flat), axis, 0)
    rows = np.reshape(x, (x.shape[0], math.prod(x.shape[1:])))
    begins = np.ones(len(rows), bool)
    begins[1:] = np.any(rows[1:] != rows[:-1], axis=1)
    first = np.flatnonzero(begins)
    inverse = np.cumsum(begins) - 1
    if dim is None:
        inverse = np.reshape(inverse, input.shape)
    counts = np.diff(np.append(first, len(rows)))
    values = np.take(flat, first, axis=axis)
    return _with_asked(values, inverse, counts, return_inverse, return_counts)


unique = operation("Unique2Backward0", name="unique")(_unique)
unique_consecutive = operation("UniqueConsecutiveBackward0", name="unique_consecutive")(
    _unique_consecutive
)


# --- Covariances --------------------------------------------------------------------------------


@operation("SqueezeBackward0")
def cov(
    input: Value, *, correction: int = 1, fweights: Value = None, aweights: Value = None
) -> Value:
    """The covariances of variables in rows over observations in columns.

    input: A matrix (variables, observations), or a vector of observations.
    correction: What the divisor is less than the number of observations.
    fweights: How often each observation counts: whole numbers.
    aweights: The weight of each observation: not negative.
    -> Tensor: (variables, variables), of a vector one number.
    """
    if input.ndim > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with "
            f"{input.ndim} dimensions"
        )
    x = floating(input)
    return np.cov(x, ddof=correction, fweights=fweights, aweights=aweights, dtype=x.dtype)


@operation("ClampBackward1")
def corrcoef(input: Value) -> Value:
    """The correlation coefficients of variables in rows over observations in columns.

    input: A matrix (variables, observations), or a vector of observations.
    -> Tensor: (variables, variables), of a vector one number.
    """
    if input.ndim > 2:
        raise RuntimeError("corrcoef(): expected input to have two or fewer dimensions")
    x = floating(input)
    return np.corrcoef(x, dtype=x.dtype)
