"""Attention: of queries, keys and values, and with several heads.

Knows masks, heads and the checks of their shapes. Must not know modules.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._warning import warn
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._ops.create.generator import draw_uniform
from tapegrad.torch._ops.declare import OPERATIONS, private
from tapegrad.torch._ops.elementwise.activations import softmax_of
from tapegrad.torch._ops.linalg.affine import linear
from tapegrad.torch._tensor.tensor import Tensor

# --- One head -----------------------------------------------------------------------------------


def _check_operands(query: Value, key: Value, value: Value) -> None:
    """Raise RuntimeError for operands of different dtypes, or too few dimensions."""
    parts = (query, key, value)
    words = [word_of(part.dtype).lower() for part in parts]
    if len({part.dtype for part in parts}) > 1:
        raise RuntimeError(
            "Expected query, key, and value to have the same dtype, but got query.dtype: "
            f"{words[0]} key.dtype: {words[1]} and value.dtype: {words[2]} instead."
        )
    ranks = [len(part.shape) for part in parts]
    if min(ranks) < 2:
        raise RuntimeError(
            "Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: "
            f"{ranks[0]} key.dim: {ranks[1]} and value.dim: {ranks[2]} instead."
        )


def _check_mask(mask: Value, query: Value, is_causal: bool) -> None:
    if mask is None:
        return
    if is_causal:
        raise RuntimeError(
            "_scaled_dot_product_attention: Explicit attn_mask should not be set when "
            "is_causal=True"
        )
    if mask.dtype != np.bool_ and mask.dtype != np.float32 and mask.dtype != query.dtype:
        raise RuntimeError(
            "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
            f"attn_mask.dtype: {word_of(mask.dtype).lower()} and  query.dtype: "
            f"{word_of(query.dtype).lower()} instead."
        )


def _shared(part: Value, heads: int, place: int) -> Value:
    """Keys or values of fewer heads, each repeated for the queries that share it."""
    own = part.shape[place]
    if own == heads:
        return part
    if heads % own:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    return np.repeat(part, heads // own, axis=place)


def _attended(
    query: Value,
    key: Value,
    value: Value,
    mask: Value,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
) -> tuple[Value, Value]:
    """The weighted means of the values, and the weights."""
    factor = 1 / math.sqrt(query.shape[-1] or 1) if scale is None else scale
    fused = len(query.shape) == 4 and (mask is None or type(mask) is np.ndarray)
    if not fused and factor > 0:  # as in PyTorch, which keeps neither of the two then
        factor = math.sqrt(factor)
        key = key * factor
    scores = np.matmul(query * factor, np.swapaxes(key, -1, -2))
    empty = None
    if is_causal:
        rows, columns = scores.shape[-2:]
        mask = np.arange(rows)[:, None] >= np.arange(columns)
    if mask is not None and mask.dtype == np.bool_:
        scores = np.where(mask, scores, np.asarray(-np.inf, scores.dtype))
        empty = ~np.any(mask, axis=-1, keepdims=True)
        if not np.any(empty):
            empty = None
    elif mask is not None:
        scores = scores + mask.astype(scores.dtype)
    if empty is not None:
        scores = np.where(empty, 0, scores)
    weights = softmax_of(scores, axis=scores.ndim - 1)
    if empty is not None:
        weights = np.where(empty, 0, weights)
    if dropout_p > 0:
        weights = weights * _dropout(weights, dropout_p)
    return np.matmul(weights, value), weights


def _dropout(weights: Value, p: float) -> Value:
    if p >= 1:
        return np.zeros((), weights.dtype)
    return ((draw_uniform(weights.shape, weights.dtype) >= p) / (1 - p)).astype(weights.dtype)


def _label(query: Tensor, *_: Any, **_words: Any) -> str:
    many = query.ndim == 4
    return "ScaledDotProductFlashAttentionForCpuBackward0" if many else "UnsafeViewBackward0"


@private(_label, name="scaled_dot_product_attention", order="contiguous")
def _attention(
    query: Value,
    key: Value,
    value: Value,
    mask: Value,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Value:
    _check_operands(query, key, value)
    _check_mask(mask, query, is_causal)
    if enable_gqa:
        place = len(query.shape) - 3
        key = _shared(key, query.shape[place], place)
        value = _shared(value, query.shape[place], place)
    return _attended(query, key, value, mask, dropout_p, is_causal, scale)[0]


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """Attention: means of values, weighted by a softmax of products of queries and keys.

    It is `softmax(scale * query @ key.T + mask) @ value`.

    query: Of shape (..., l, e).
    key: Of shape (..., s, e).
    value: Of shape (..., s, v).
    attn_mask: Broadcasts to (..., l, s): True where a query sees a key, or numbers that are added.
    is_causal: Let query i see the keys up to i.
    scale: The factor of the products; 1 / sqrt(e) unless given.
    enable_gqa: Let keys and values have fewer heads, in the third dimension from the end.
    -> Tensor: Of shape (..., l, v). A query that sees no key gets zeros.
    RuntimeError: For operands that do not fit, and for `attn_mask` beside `is_causal`.

    >>> queries, keys = torch.ones(1, 2), torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    >>> F.scaled_dot_product_attention(queries, keys, torch.tensor([[2.0], [4.0]]))
    tensor([[3.]])
    """
    return _attention(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


# --- Several heads ------------------------------------------------------------------------------


def canonical_mask(
    mask: Tensor | None, name: str, other: Any, other_name: str, target: Any, *, check: bool = True
) -> Any:
    """A mask as numbers to add: of booleans, -inf where they are True."""
    if mask is None:
        return None
    boolean = mask._value.dtype == np.bool_
    if not boolean and not mask.dtype.is_floating_point:
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if check and other is not None and mask.dtype != other:
        warn(
            f"Support for mismatched {name} and {other_name} is deprecated. Use same type for "
            "both instead."
        )
    if not boolean:
        return mask
    zeros = OPERATIONS["zeros_like"](mask, dtype=target)
    return zeros.masked_fill_(mask, -math.inf)


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise AssertionError(message)


def _is_batched(
    query: Tensor, key: Tensor, value: Tensor, padding: Any, mask: Any, heads: int
) -> bool:
    """Whether the queries have a batch; AssertionError where the others' ranks do not fit."""
    if query.ndim not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.ndim}-D query "
            "tensor"
        )
    batched = query.ndim == 3
    rank, word = (3, "batched (3-D)") if batched else (2, "unbatched (2-D)")
    _require(
        key.ndim == rank and value.ndim == rank,
        f"For {word} `query`, expected `key` and `value` to be {rank}-D but found {key.ndim}-D "
        f"and {value.ndim}-D tensors respectively",
    )
    _require(
        padding is None or padding.ndim == rank - 1,
        f"For {word} `query`, expected `key_padding_mask` to be `None` or {rank - 1}-D but found "
        f"{0 if padding is None else padding.ndim}-D tensor instead",
    )
    _require(
        mask is None or mask.ndim in (2, 3),
        f"For {word} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
        f"{0 if mask is None else mask.ndim}-D tensor instead",
    )
    if not batched and mask is not None and mask.ndim == 3:
        shape = (heads, query.shape[0], key.shape[0])
        _require(
            tuple(mask.shape) == shape,
            f"Expected `attn_mask` shape to be {shape} but got {mask.shape}",
        )
    return batched


def _projected(
    query: Any, key: Any, value: Any, weights: list[Any], joint: Any, bias: Any
) -> tuple[Any, Any, Any]:
    """Queries, keys and values times their weights: one product where they are one tensor."""
    size = query.shape[-1]
    if joint is not None and query is key and key is value:
        both = linear(query, joint, bias)
        return both.chunk(3, -1)
    if joint is not None and key is value:
        rest = None if bias is None else bias[size:]
        first = linear(query, joint[:size], None if bias is None else bias[:size])
        k, v = linear(key, joint[size:], rest).chunk(2, -1)
        return first, k, v
    if joint is not None:
        weights = list(joint.chunk(3))
    biases = (None, None, None) if bias is None else bias.chunk(3)
    q, k, v = (
        linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True)
    )
    return q, k, v


def _heads(x: Any, batch: int, heads: int) -> Any:
    """(time, batch, heads * size) as (batch, heads, time, size)."""
    return x.reshape(x.shape[0], batch, heads, x.shape[2] // heads).permute(1, 2, 0, 3)


def _aligned(mask: Any, batch: int, heads: int, sides: tuple[int, int]) -> Any:
    """A mask in a shape that broadcasts to (batch, heads, l, s); RuntimeError for another."""
    whole = sides if mask.ndim == 2 else (batch * heads, *sides)
    if tuple(mask.shape) != whole:
        raise RuntimeError(
            f"The shape of the {mask.ndim}D attn_mask is torch.Size({list(mask.shape)}), but "
            f"should be {whole}."
        )
    return mask.reshape((1, 1, *sides) if mask.ndim == 2 else (batch, heads, *sides))


@private("ViewBackward0", name="weighted_heads")
def _weighted(
    query: Value, key: Value, value: Value, mask: Value, dropout_p: float
) -> tuple[Value, Value]:
    return _attended(query, key, value, mask, dropout_p, False, None)


def _static(x: Any, given: Any, heads: int, size: int, batch: int, name: str) -> Any:
    """The heads of keys or values, or those that are given: (batch * heads, s, size)."""
    if given is None:
        return _heads(x, batch, heads)
    _require(
        given.shape[0] == batch * heads,
        f"expecting {name}.size(0) of {batch * heads}, but got {given.shape[0]}",
    )
    _require(
        given.shape[2] == size, f"expecting {name}.size(2) of {size}, but got {given.shape[2]}"
    )
    return given.reshape(batch, heads, given.shape[1], size)


def _one_more(mask: Any) -> Any:
    """A mask with a column of zeros for one key more."""
    if mask is None:
        return None
    return OPERATIONS["cat"]([mask, mask.new_zeros((*mask.shape[:-1], 1))], -1)


def multi_head_attention_forward(
    query: Any,
    key: Any,
    value: Any,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Any, Any]:
    """Attention with several heads, from the weights that project to them.

    query (Tensor): Of shape (l, batch, size), or (l, size).
    key (Tensor): Of shape (s, batch, size of keys), or (s, size of keys).
    value (Tensor): Of shape (s, batch, size of values), or (s, size of values).
    embed_dim_to_check: What `size` has to be.
    num_heads: How many heads there are: a divisor of `size`.
    in_proj_weight (Tensor or None): Of shape (3 * size, size): what queries, keys and values are
        projected by.
    in_proj_bias (Tensor or None): Of shape (3 * size,): what is added to them.
    bias_k (Tensor or None): A key more, (1, 1, size).
    bias_v (Tensor or None): The value of that key, (1, 1, size).
    out_proj_weight (Tensor): Of shape (size, size): what the heads, side by side, are projected
        by.
    out_proj_bias (Tensor or None): Of shape (size,): what is added to that.
    training: Whether weights are dropped.
    attn_mask (Tensor): Of shape (l, s) or (batch * heads, l, s): True where a key is hidden, or
        numbers that are added.
    use_separate_proj_weight: Project by the next three weights, in place of `in_proj_weight`.
    q_proj_weight (Tensor): Of shape (size, size).
    k_proj_weight (Tensor): Of shape (size, size of keys).
    v_proj_weight (Tensor): Of shape (size, size of values).
    static_k (Tensor): Heads in place of the projected keys, (batch * heads, s, size / heads).
    static_v (Tensor): Heads in place of the projected values, (batch * heads, s, size / heads).
    -> tuple: The result, (l, batch, size) or (l, size), and the weights: (batch, l, s), of each
        head (batch, heads, l, s), or None. They have no batch where the queries have none.
    AssertionError: For shapes and dtypes that do not fit.
    RuntimeError: For an `attn_mask` of another shape, and for `is_causal` without it.

    >>> x, eye, three = torch.eye(2), torch.eye(2), torch.cat([torch.eye(2)] * 3)
    >>> out, weights = F.multi_head_attention_forward(
    ...     x, x, x, 2, 1, three, None, None, None, False, 0.0, eye, None
    ... )
    >>> weights
    tensor([[0.6698, 0.3302],
            [0.3302, 0.6698]])
    """
    batched = _is_batched(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not batched:
        if query is key and key is value:
            query = key = value = query.unsqueeze(1)
        else:
            shared = key is value
            query, key = query.unsqueeze(1), key.unsqueeze(1)
            value = key if shared else value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    target, batch, size = query.shape
    padding_type = None if key_padding_mask is None else key_padding_mask.dtype
    mask_type = None if attn_mask is None else attn_mask.dtype
    padding = canonical_mask(
        key_padding_mask, "key_padding_mask", mask_type, "attn_mask", query.dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module "
            "method `generate_square_subsequent_mask` to create this mask."
        )
    mask = canonical_mask(
        attn_mask, "attn_mask", padding_type, "key_padding_mask", query.dtype, check=False
    )
    _require(
        size == embed_dim_to_check,
        f"was expecting embedding dimension of {embed_dim_to_check}, but got {size}",
    )
    head = size // num_heads
    _require(head * num_heads == size, f"embed_dim {size} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        _require(
            key.shape[:2] == value.shape[:2],
            f"key's sequence and batch dims {key.shape[:2]} do not match value's "
            f"{value.shape[:2]}",
        )
        weights = [q_proj_weight, k_proj_weight, v_proj_weight]
        for name, weight in zip("qkv", weights, strict=True):
            _require(
                weight is not None,
                f"use_separate_proj_weight is True but {name}_proj_weight is None",
            )
        q, k, v = _projected(query, key, value, weights, None, in_proj_bias)
    else:
        _require(
            key.shape == value.shape,
            f"key shape torch.Size({list(key.shape)}) does not match value shape "
            f"torch.Size({list(value.shape)})",
        )
        _require(
            in_proj_weight is not None,
            "use_separate_proj_weight is False but in_proj_weight is None",
        )
        q, k, v = _projected(query, key, value, [], in_proj_weight, in_proj_bias)
    source = key.shape[0]
    if mask is not None:  # before further keys are added
        mask = _aligned(mask, batch, num_heads, (target, source))
    if bias_k is not None and bias_v is not None:
        _require(static_k is None, "bias cannot be added to static key.")
        _require(static_v is None, "bias cannot be added to static value.")
        cat = OPERATIONS["cat"]
        k = cat([k, bias_k.expand(1, batch, size)])
        v = cat([v, bias_v.expand(1, batch, size)])
        mask, padding = _one_more(mask), _one_more(padding)
    q = _heads(q, batch, num_heads)
    k = _static(k, static_k, num_heads, head, batch, "static_k")
    v = _static(v, static_v, num_heads, head, batch, "static_v")
    if add_zero_attn:
        cat, empty = OPERATIONS["cat"], (batch, num_heads, 1, head)
        k, v = cat([k, k.new_zeros(empty)], 2), cat([v, v.new_zeros(empty)], 2)
        mask, padding = _one_more(mask), _one_more(padding)
    if padding is not None:
        _require(
            padding.shape[0] == batch,
            f"Expected key_padded_mask.shape[0] to be {batch}, but got {padding.shape[0]}",
        )
        _require(
            padding.shape[1] == k.shape[2],
            f"Expected key_padded_mask.shape[1] to be {k.shape[2]}, but got {padding.shape[1]}",
        )
        padding = padding.reshape(batch, 1, 1, padding.shape[1])
        mask = padding if mask is None else mask + padding
    dropped, found = dropout_p if training else 0.0, None
    if need_weights:
        out, found = _weighted(q, k, v, mask, dropped)
    else:
        out = scaled_dot_product_attention(q, k, v, mask, dropped)
    out = out.permute(2, 0, 1, 3).reshape(target * batch, size)
    out = linear(out, out_proj_weight, out_proj_bias)
    out = out.reshape(target, batch, out.shape[1])
    if found is None:
        return (out if batched else out.squeeze(1)), None
    if average_attn_weights:
        found = found.mean(1)
    return (out, found) if batched else (out.squeeze(1), found.squeeze(0))


__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]
