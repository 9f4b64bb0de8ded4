"""PyTorch's operations under `nn.functional`, as compiled programs call them: `native_layer_norm`.

Knows the functions of nets, and what these operations return besides. Must not know modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad.torch._dtypes import BY_NAME
from tapegrad.torch._graph.node import Node, node_class
from tapegrad.torch._ops.declare import OPERATIONS, register
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn import _embedding, _normalizing, _probabilities


def _empty(like: Tensor) -> Tensor:
    made: Tensor = like.new_empty(0)
    return made


def _named(made: Tensor, label: str) -> Tensor:
    """A result whose node has the name of PyTorch's."""
    if isinstance(made.node, Node):
        made.node.__class__ = node_class(label)
    return made


def _moments(input: Tensor, dims: Sequence[int], eps: float) -> tuple[Tensor, Tensor]:
    """The means, and one over the standard deviations, with all dimensions."""
    variances, means = OPERATIONS["var_mean"](input, dim=tuple(dims), correction=0, keepdim=True)
    return means, (variances + eps).rsqrt()


@register(method=False)
def native_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`layer_norm`, the means, and one over the standard deviations."""
    made = _normalizing.layer_norm(input, normalized_shape, weight, bias, eps)
    dims = range(input.ndim - len(normalized_shape), input.ndim)
    return (made, *_moments(input.detach(), dims, eps))


@register(method=False)
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, ...]:
    """`group_norm`, and the means and one over the standard deviations of each group."""
    rows = input.reshape(N, C, -1)
    made = _normalizing.group_norm(rows, group, weight, bias, eps).reshape(input.shape)
    means, scales = _moments(input.reshape(N, group, -1), (2,), eps)
    parts = made, means.reshape(N, group), scales.reshape(N, group)
    return tuple(_named(part, "NativeGroupNormBackward0") for part in parts)


@register(method=False)
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """`batch_norm`; in training the means and one over the deviations, else nothing more."""
    made = _normalizing.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    if not training:
        return made, _empty(input), _empty(input)
    dims = [dim for dim in range(input.ndim) if dim != 1]
    means, scales = _moments(input.detach(), dims, eps)
    return made, means.reshape(-1), scales.reshape(-1)


@register(method=False)
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """The tensor with elements replaced by 0 and the others scaled, and which ones were kept."""
    if train is False or p == 0:
        kept = OPERATIONS["ones_like"](input.detach(), dtype=BY_NAME["bool"])
        return _named(input.clone(), "NativeDropoutBackward0"), kept
    kept = OPERATIONS["rand_like"](input.detach()) >= p
    scale = 0.0 if p == 1 else 1 / (1 - p)
    return _named(input * kept * scale, "NativeDropoutBackward0"), kept


_MODES = ("sum", "mean", "max")


@register(method=False)
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Bags of rows reduced by 0 "sum", 1 "mean" or 2 "max", and what PyTorch returns besides.

    These are the bag of each index, the sizes of bags, and which index had the greatest element.
    """
    made = _embedding.embedding_bag(
        indices,
        weight,
        offsets,
        scale_grad_by_freq=scale_grad_by_freq,
        mode=_MODES[mode],
        sparse=sparse,
        per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset,
        padding_idx=padding_idx,
    )
    starts = offsets[:-1] if include_last_offset else offsets
    total = OPERATIONS["tensor"]([indices.shape[0]], dtype=starts.dtype)
    sizes = OPERATIONS["cat"]([starts, total]).diff()
    bags = OPERATIONS["repeat_interleave"](
        OPERATIONS["arange"](sizes.shape[0]).to(indices.dtype), sizes
    )
    if mode == 0:
        return made, bags if made.requires_grad else bags[:0], sizes * 0, sizes * 0
    greatest = sizes
    if mode == 2:
        rows = weight.detach()[indices]
        parts = [
            indices[bags == bag][rows[bags == bag].argmax(0)]
            if size
            else OPERATIONS["full"]((weight.shape[1],), 0, dtype=indices.dtype)
            for bag, size in enumerate(sizes.tolist())
        ]
        greatest = OPERATIONS["stack"](parts)
    return made, bags, sizes, greatest


_REDUCTIONS = ("none", "mean", "sum")


@register(method=False)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    pos_weight: Tensor | None = None,
    reduction: int = 1,
) -> Any:
    """The function of `nn.functional`, with its reduction by number: 0 none, 1 mean, 2 sum."""
    return _probabilities.binary_cross_entropy_with_logits(
        input, target, weight, pos_weight=pos_weight, reduction=_REDUCTIONS[reduction]
    )


@register(method=False)
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution of (time, batch, channels) by (width, channels, channels of the result)."""
    made: Tensor = OPERATIONS["conv1d"](
        input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad
    )
    return _named(made.permute(2, 0, 1).contiguous(), "ConvTbcBackward0")


__all__ = ["native_batch_norm", "native_dropout", "native_group_norm", "native_layer_norm"]
