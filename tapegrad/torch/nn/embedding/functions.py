"""Embeddings: rows of a matrix looked up by whole numbers, one by one or in bags.

Knows PyTorch's parameters and checks. Must not know modules.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.forms import Linear
from tapegrad._core.types import Cotangent, Index, Value
from tapegrad._core.values import Scatter, getitem, is_mapped, shown_value, untraced
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._graph.names import name_nodes
from tapegrad.torch._ops.declare import private, register
from tapegrad.torch._ops.fast import are_positions, short_lookup
from tapegrad.torch._rules.declare import Declared
from tapegrad.torch._tensor.tensor import Tensor, ndarray, of_value
from tapegrad.torch._tensor.writes import overwrite
from tapegrad.torch._types import TensorLike

# --- Rows ---------------------------------------------------------------------------------------


def _looked_up(
    weight: Value, indices: Value, padding_idx: int = -1, by_freq: bool = False
) -> Value:
    return weight[indices]


def _spread(
    g: Cotangent,
    _out: Value,
    _weight: Value,
    indices: Value,
    padding_idx: int = -1,
    by_freq: bool = False,
) -> Any:
    """The gradient of the rows: none for padding, perhaps divided by how often a row occurs."""
    if padding_idx >= 0:
        g = np.where((indices == padding_idx)[..., None], 0, g)
    if by_freq:
        _, places, counts = np.unique(indices, return_inverse=True, return_counts=True)
        g = g / counts[places].reshape(indices.shape)[..., None].astype(g.dtype)
    return Scatter((indices,), g)


_ROWS = Declared(_looked_up)
_ROWS.rule = Linear(_ROWS, [_spread], arrays=1, name="embedding", batch="loop")
name_nodes(_ROWS.rule, "EmbeddingBackward0")


def _whole_numbers(indices: Value, word: str) -> Value:
    """Indices as an array; RuntimeError for another dtype."""
    if indices.dtype not in (np.dtype(np.int64), np.dtype(np.int32)):
        made = of_value(np.zeros(0, indices.dtype)).type().replace("tapegrad.", "")
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: "
            f"Long, Int; but got {made} instead (while checking arguments for {word})"
        )
    return indices


def _check_range(indices: Value, rows: int) -> None:
    found = shown_value(indices)
    if found.size and (found.min() < 0 or found.max() >= rows):
        raise IndexError("index out of range in self")


@private("EmbeddingBackward0")
def _embedding(weight: Value, indices: Value, padding_idx: int, by_freq: bool) -> Value:
    if len(weight.shape) != 2:
        raise RuntimeError("'weight' must be 2-D")
    indices = _whole_numbers(indices, "embedding")
    _check_range(indices, weight.shape[0])
    if padding_idx < 0 and not by_freq:
        return getitem(weight, indices)  # where the indices may differ between examples of a vmap
    indices = untraced(indices)
    params: dict[str, Any] = {"indices": indices}
    if padding_idx >= 0:
        params["padding_idx"] = padding_idx
    if by_freq:
        params["by_freq"] = True
    return _ROWS(weight, **params)


def _rows_of_words(weight: Value, indices: TensorLike, padding_idx: int, by_freq: bool) -> Index:
    """The index of `_embedding` where it is an array of rows without padding."""
    given = indices._value if type(indices) is Tensor else None
    if type(given) is not ndarray or padding_idx >= 0 or by_freq or weight.ndim != 2:
        return None
    return given.copy() if are_positions(given, weight.shape[0]) else None


_embedding = short_lookup(_embedding, _rows_of_words, "EmbeddingBackward0")


def _require_dense(sparse: bool) -> None:
    if sparse:
        raise NotImplementedError(
            "sparse=True: expected a dense gradient, as there are no sparse tensors. Leave sparse "
            "out: the values of the gradient are the same."
        )


def _row_of_padding(padding_idx: int | None, rows: int, word: str = "Padding_idx") -> int:
    """The row that gets no gradient, -1 for none; AssertionError outside of the matrix."""
    if padding_idx is None:
        return -1
    if not -rows <= padding_idx < rows:
        raise AssertionError(f"{word} must be within num_embeddings")
    return padding_idx % rows


def embedding_renorm_(
    weight: Tensor, indices: Tensor, max_norm: float, norm_type: float = 2.0
) -> Any:
    """Scale the given rows of a matrix down to a norm of at most `max_norm`, in place.

    indices: The numbers of the rows.
    max_norm: The largest norm that these rows are left with.
    -> Tensor: The matrix itself.
    TypeError: For a `max_norm` that is no number.

    >>> torch.embedding_renorm_(torch.tensor([[3.0, 4.0], [0.6, 0.8]]), torch.tensor([0, 1]), 1.0)
    tensor([[0.6000, 0.8000],
            [0.6000, 0.8000]])
    """
    if not isinstance(max_norm, (int, float, np.generic, Tensor)):
        raise TypeError(
            "embedding_renorm_(): argument 'max_norm' (position 3) must be float, not "
            f"{type(max_norm).__name__}"
        )
    with no_grad():
        rows = np.unique(shown_value(indices._value))
        matrix = shown_value(weight._value).copy()
        norms = np.linalg.norm(matrix[rows], norm_type, axis=1)
        factors = np.where(norms > max_norm, max_norm / (norms + 1e-7), 1)
        matrix[rows] = matrix[rows] * factors[:, None].astype(matrix.dtype)
        overwrite(weight, matrix)
    return weight


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """Rows of a matrix, looked up by whole numbers.

    input: The numbers of rows, int64 or int32, of any shape.
    padding_idx: A row that gets no gradient.
    -> Tensor: Of shape `(*input.shape, size)`.
    IndexError: For a row outside.
    RuntimeError: For another dtype of `input`, and a `weight` that is no matrix.
    NotImplementedError: For `sparse=True`.

    >>> F.embedding(torch.tensor([2, 0]), torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))
    tensor([[4., 5.],
            [0., 1.]])
    """
    _require_dense(sparse)
    place = -1
    if padding_idx is not None:
        place = _row_of_padding(padding_idx, weight.shape[0])
    if max_norm is not None:
        _check_range(_whole_numbers(input._value, "embedding"), weight.shape[0])
        embedding_renorm_(weight, input, max_norm, norm_type)
    return _embedding(weight, input, place, scale_grad_by_freq)


# --- Bags ---------------------------------------------------------------------------------------


def _summed(rows: Value, firsts: Value, counts: Value) -> Value:
    """The sums of stretches of rows, none of them empty, that follow one another."""
    return np.add.reduceat(rows, firsts, axis=0)


def _repeated(g: Cotangent, _out: Value, _rows: Value, firsts: Value, counts: Value) -> Cotangent:
    return np.repeat(g, counts, axis=0)


_SUMS = Declared(_summed)
_SUMS.rule = Linear(_SUMS, [_repeated], arrays=1, name="sums_of_bags", batch="loop")


def _by_bags(rows: Value, firsts: Value, counts: Value) -> Value:
    """The sum of each bag of rows; zeros for a bag without rows."""
    filled = counts > 0
    if not np.any(filled):  # on the graph of the rows all the same
        return np.broadcast_to(np.sum(rows, axis=0), (len(counts), *rows.shape[1:]))
    if np.all(counts == counts[0]):
        return np.sum(np.reshape(rows, (len(counts), int(counts[0]), *rows.shape[1:])), axis=1)
    sums = _SUMS(rows, firsts=firsts[filled], counts=counts[filled])
    if np.all(filled):
        return sums
    place = np.where(filled, np.cumsum(filled) - 1, len(sums))
    padded = np.concatenate([sums, np.zeros_like(rows, shape=(1, *rows.shape[1:]))])
    return padded[place]


def _places_of_maxima(rows: Value, firsts: Value, counts: Value) -> Value:
    """For each bag and column the first row with the greatest value: (filled bags, columns).

    As in PyTorch a NaN is the greatest where it is the first of its bag, and else the least.
    """
    starts, counts = firsts[counts > 0], counts[counts > 0]
    from_start = np.arange(len(rows)) - np.repeat(starts, counts)
    rows = np.where(np.isnan(rows), np.where(from_start == 0, np.inf, -np.inf)[:, None], rows)
    if is_mapped(rows):
        grid = starts[:, None] + np.minimum(np.arange(np.max(counts)), counts[:, None] - 1)
        return starts[:, None] + np.argmax(rows[grid], axis=1)
    greatest = np.maximum.reduceat(rows, starts, axis=0)
    hits = rows == np.repeat(greatest, counts, axis=0)
    numbers = np.where(hits, np.arange(len(rows))[:, None], len(rows) - 1)
    return np.minimum.reduceat(numbers, starts, axis=0)


def _greatest(weight: Value, indices: Value, firsts: Value, counts: Value) -> Value:
    filled = counts > 0
    if not np.any(filled):
        nothing = np.sum(weight[indices], axis=0)
        return np.broadcast_to(nothing, (len(counts), weight.shape[1]))
    places = _places_of_maxima(untraced(weight)[indices], firsts, counts)
    found = weight[getitem(indices, places), np.arange(weight.shape[1])]
    if np.all(filled):
        return found
    place = np.where(filled, np.cumsum(filled) - 1, len(places))
    return np.concatenate([found, np.zeros_like(weight, shape=(1, weight.shape[1]))])[place]


@private("EmbeddingBagBackward0")
def _embedding_bag(
    weight: Value,
    indices: Value,
    offsets: Value,
    mode: str,
    per_sample_weights: Value,
    padding_idx: int,
    by_freq: bool,
) -> Value:
    indices, offsets = untraced(indices), untraced(offsets)
    counts = np.diff(np.append(offsets, len(indices)))
    kept = indices != padding_idx
    if not np.all(kept):
        bags = np.repeat(np.arange(len(counts)), counts)[kept]
        counts = np.bincount(bags, minlength=len(counts))
        indices = indices[kept]
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights[kept]
    firsts = np.cumsum(counts) - counts
    if mode == "max":
        return _greatest(weight, indices, firsts, counts)
    rows = _ROWS(weight, indices=indices, **({"by_freq": True} if by_freq else {}))
    if per_sample_weights is not None:
        rows = rows * per_sample_weights[:, None]
    out = _by_bags(rows, firsts, counts)
    if mode == "mean":
        out = out / np.maximum(counts, 1)[:, None].astype(out.dtype)
    return out


def _check_bags(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None,
    include_last_offset: bool,
    is_added: bool,
) -> tuple[Any, Any]:
    """The indices as one row, and where the bags begin, as arrays.

    is_added: whether PyTorch adds rows as it finds them, in which it has other words for errors.
    """
    indices = _whole_numbers(shown_value(input._value), "embedding_bag")
    if input.ndim == 2:
        if offsets is not None:
            raise ValueError(
                "if input is 2D, then offsets has to be None, as input is treated is a mini-batch "
                "of fixed length sequences. However, found offsets of type "
                f"{_type_words(offsets)}"
            )
        starts = np.arange(input.shape[0]) * input.shape[1]
        indices = indices.reshape(-1)
    elif input.ndim == 1:
        if not isinstance(offsets, Tensor):
            raise ValueError("offsets has to be a 1D Tensor but got None")
        if offsets.ndim != 1:
            raise ValueError("offsets has to be a 1D Tensor")
        starts = shown_value(offsets._value)
        if len(starts) and starts[0] != 0:
            raise RuntimeError(
                "offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start "
                f"from position 0. However, got {starts[0]}"
            )
        if len(starts) and starts[-1] > len(indices):
            raise RuntimeError(
                f"offsets[-1] can not be greater than input's length {len(indices)} but got "
                f"offsets[-1] of {starts[-1]}"
            )
        if include_last_offset:
            indices, starts = indices[: starts[-1]], starts[:-1]
    else:
        raise ValueError(
            f"input has to be 1D or 2D Tensor, but got Tensor of dimension {input.ndim}"
        )
    wrong = indices[(indices < 0) | (indices >= weight.shape[0])]
    if wrong.size and not is_added:
        raise RuntimeError(
            "embedding_bag: Expected idx >= 0 && idx < num_embeddings but found idx to be "
            f"{wrong[0]}"
        )
    if wrong.size:
        place = int(np.flatnonzero(indices == wrong[0])[0])
        raise RuntimeError(
            f"Index {place} of input takes value {wrong[0]} which is not in the valid range "
            f"[0, {weight.shape[0]})"
        )
    return indices, starts


def _type_words(value: TensorLike) -> str:
    return str(type(value)).replace("tapegrad.torch._tensor.tensor", "torch")


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """Means, sums or maxima of bags of rows of a matrix.

    input: The numbers of rows, int64 or int32: (bags, length), or all bags in one row.
    offsets: Where each bag begins in `input`, if that is one row.
    per_sample_weights: Factors of the rows, in the shape of `input`, for sums alone.
    include_last_offset: Whether `offsets` ends with the end of the last bag.
    padding_idx: A row that no bag counts.
    -> Tensor: Of shape (bags, size); zeros for a bag without rows.
    ValueError: For shapes that do not fit, and another `mode`.
    RuntimeError: For rows outside, and dtypes that do not fit.
    NotImplementedError: For `sparse=True`, and for factors with another mode than "sum".

    >>> rows = torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    >>> F.embedding_bag(torch.tensor([[0, 2], [1, 1]]), rows)
    tensor([[2., 3.],
            [2., 3.]])
    """
    _require_dense(sparse)
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: If per_sample_weights ({_shape_words(per_sample_weights)}) is not "
            f"None, then it must have the same shape as the input ({_shape_words(input)})"
        )
    if per_sample_weights is not None and per_sample_weights.dtype is not weight.dtype:
        first, second = (x.type().replace("tapegrad.", "") for x in (weight, per_sample_weights))
        raise RuntimeError(
            "Expected tensor for argument #1 'weight' to have the same type as tensor for "
            f"argument #1 'per_sample_weights'; but type {first} does not equal "
            f"{second} (while checking arguments for embedding_bag)"
        )
    if weight.ndim != 2:
        raise ValueError(
            f"weight has to be a 2D Tensor, but got Tensor of dimension {weight.ndim}"
        )
    if mode not in ("sum", "mean", "max"):
        raise ValueError("mode has to be one of sum, mean or max")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(
            "embedding_bag: per_sample_weights was not None. per_sample_weights is only supported "
            f"for mode='sum' (got mode='{mode}'). Please open a feature request on GitHub."
        )
    is_added = mode != "max" and padding_idx is None and weight._value.dtype.itemsize < 8
    indices, starts = _check_bags(input, weight, offsets, include_last_offset, is_added)
    if mode == "max" and scale_grad_by_freq:
        raise ValueError("max mode does not support scaling the gradient by the frequency")
    place = -1
    if padding_idx is not None:
        if not -weight.shape[0] <= padding_idx < weight.shape[0]:
            rows = weight.shape[0]
            raise RuntimeError(
                f"padding_idx must be within the number of embeddings, -{rows} through "
                f"{rows - 1}, but got {padding_idx}"
            )
        place = padding_idx % weight.shape[0]
    if max_norm is not None:
        embedding_renorm_(weight, of_value(indices), max_norm, norm_type)
    factors: Any = None
    if per_sample_weights is not None:
        factors = per_sample_weights.reshape(-1)[: len(indices)]
    return _embedding_bag(weight, indices, starts, mode, factors, place, scale_grad_by_freq)


def _shape_words(x: Tensor) -> str:
    return f"torch.Size({list(x.shape)})"


def _of_torch(
    weight: Tensor,
    indices: Tensor,
    padding_idx: int = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """As `nn.functional.embedding`, but with the matrix first.

    indices: The numbers of rows, int64 or int32, of any shape.
    padding_idx: A row that gets no gradient; none if below 0.
    -> Tensor: Of shape `(*indices.shape, size)`.
    IndexError: For a row outside.
    RuntimeError: For another dtype of `indices`, and a `weight` that is no matrix.
    NotImplementedError: For `sparse=True`.

    >>> torch.embedding(torch.tensor([[0.0, 1.0], [2.0, 3.0]]), torch.tensor([1, 0]))
    tensor([[2., 3.],
            [0., 1.]])
    """
    place = None if padding_idx < 0 else padding_idx
    return embedding(indices, weight, place, None, 2.0, scale_grad_by_freq, sparse)


register("embedding", method=False)(_of_torch)
register(method=False)(embedding_renorm_)


__all__ = ["embedding", "embedding_bag"]
