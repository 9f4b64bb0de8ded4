"""PyTorch's operations under `nn.functional`, as compiled programs call them: `native_layer_norm`.

So are `torch.batch_norm` and the like, which take their arguments in another order, and a flag for
CUDA's own kernels. Knows the functions of nets, and what these operations return besides. Must not
know modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad.torch._dtypes import BY_NAME
from tapegrad.torch._graph.node import Node, node_class
from tapegrad.torch._ops.declare import OPERATIONS, register
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.embedding import functions as _embedding
from tapegrad.torch.nn.loss import probabilities as _probabilities
from tapegrad.torch.nn.normalization import functions as _normalizing


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
    """The layer norm, the means, and one over the standard deviations.

    normalized_shape (sequence of int): The sizes of the last dimensions, which are normalized
        together.
    -> tuple of Tensor: The result, and both statistics with dimensions of size 1.

    >>> torch.native_layer_norm(torch.tensor([1.0, 3.0]), (2,), None, None, 0.0)
    (tensor([-1.,  1.]), tensor([2.]), tensor([1.]))
    """
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
    """The group norm, and the means and one over the standard deviations of each group.

    N: The number of examples.
    C: The number of channels.
    HxW: The number of elements of a channel.
    group: Into how many groups the channels are split.
    -> tuple of Tensor: The result, and both statistics, (N, group).

    >>> x = torch.tensor([[[1.0], [3.0]]])
    >>> torch.native_group_norm(x, None, None, 1, 2, 1, 1, 0.0)[1:]
    (tensor([[2.]]), tensor([[1.]]))
    """
    rows = input.reshape(N, C, HxW)
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
    """The batch norm, and in training the means and one over the standard deviations.

    -> tuple of Tensor: The result, and both statistics, (channels,), or without training nothing
        in them.

    >>> x = torch.tensor([[1.0], [3.0]])
    >>> torch.native_batch_norm(x, None, None, None, None, True, 0.1, 0.0)
    (tensor([[-1.],
            [ 1.]]), tensor([2.]), tensor([1.]))
    """
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
    """The tensor with elements replaced by 0 and the others scaled, and which ones were kept.

    input: Of any shape.
    p: The probability of being replaced.
    train (bool or None): Whether any are; None counts as True.
    -> tuple of Tensor: The result, and bools that are True where an element was kept.

    >>> torch.native_dropout(torch.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
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
    """Bags of rows of a matrix, reduced, and what PyTorch returns besides.

    weight: The matrix, (rows, size).
    indices: The numbers of rows, all bags in one row.
    offsets: Where each bag begins.
    mode ({0, 1, 2}): What becomes of the rows of a bag: sum, mean, or maximum.
    per_sample_weights: Factors of the rows, for sums alone.
    include_last_offset: Whether `offsets` ends with the end of the last bag.
    padding_idx: A row that no bag counts.
    -> tuple of Tensor: The result, the bag of each index, the sizes of bags, and which index had
        the greatest element.

    >>> rows = torch.tensor([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    >>> torch.embedding_bag(rows, torch.tensor([0, 2, 1]), torch.tensor([0, 2]))[0]
    tensor([[4., 6.],
            [2., 3.]])
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
    reduction: int = 0,
) -> Any:
    """The function of `nn.functional`, with a number for its reduction.

    input: Logits, of any shape.
    target: Probabilities, of the same shape.
    weight: Factors of the losses, which broadcast.
    pos_weight: Factors of the part of the loss that `target` multiplies, which broadcast.
    reduction: 0 for none, as in PyTorch's own calls without it, 1 for the mean, 2 for the sum.
    -> Tensor: A number, or without reduction the losses.
    ValueError: For different shapes.

    >>> torch.binary_cross_entropy_with_logits(torch.tensor([0.0, 2.0]), torch.ones(2))
    tensor([0.6931, 0.1269])
    """
    return _probabilities.binary_cross_entropy_with_logits(
        input, target, weight, pos_weight=pos_weight, reduction=_REDUCTIONS[reduction]
    )


@register(method=False)
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """A convolution of sequences whose time comes first.

    input: Of shape (time, batch, channels).
    weight: Of shape (width, channels, out channels).
    bias: Of shape (out channels,).
    pad: How many zeros are put before and after the time.
    -> Tensor: Of shape (time, batch, out channels).

    >>> torch.conv_tbc(torch.ones(3, 1, 1), torch.ones(2, 1, 1), torch.zeros(1)).flatten()
    tensor([2., 2.])
    """
    made: Tensor = OPERATIONS["conv1d"](
        input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad
    )
    return _named(made.permute(2, 0, 1).contiguous(), "ConvTbcBackward0")


# --- Norms, with weight and bias before the running statistics ---------------------------------


@register(method=False)
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """Each channel normalized over the batch: `nn.functional.batch_norm` in another order.

    input: Of shape (n, channels, ...).
    weight (Tensor or None): A factor for each channel.
    bias (Tensor or None): A term for each channel.

    >>> x = torch.tensor([[1.0], [3.0]])
    >>> torch.batch_norm(x, torch.tensor([2.0]), None, None, None, True, 0.1, 0.0, False)
    tensor([[-2.],
            [ 2.]])
    """
    return _normalizing.batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )


@register(method=False)
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool,
) -> Any:
    """Each channel of each example normalized: `nn.functional.instance_norm` in another order.

    input: Of shape (n, channels, ...).
    weight (Tensor or None): A factor for each channel.
    bias (Tensor or None): A term for each channel.
    use_input_stats: Normalize by the statistics of the input, towards which the running ones move,
        in place.

    >>> x = torch.tensor([[[1.0, 3.0]]])
    >>> torch.instance_norm(x, torch.tensor([2.0]), None, None, None, True, 0.1, 0.0, False)
    tensor([[[-2.,  2.]]])
    """
    return _normalizing.instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )


@register(method=False)
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Any:
    """`nn.functional.group_norm`, which here also takes a flag for CUDA's own kernels.

    input: Of shape (n, channels, ...).
    weight: A factor for each channel.
    bias: A term for each channel.

    >>> torch.group_norm(torch.tensor([[1.0, 3.0]]), 1, eps=0.0)
    tensor([[-1.,  1.]])
    """
    return _normalizing.group_norm(input, num_groups, weight, bias, eps)


@register(method=False)
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Any:
    """`nn.functional.layer_norm`, which here also takes a flag for CUDA's own kernels.

    input: Of any shape that ends in `normalized_shape`.
    normalized_shape: The sizes of the last dimensions, which are normalized together.
    weight: The factors.
    bias: The terms.
    cudnn_enable: Changes nothing: CUDA's kernels are meant.

    >>> torch.layer_norm(torch.tensor([1.0, 3.0]), (2,), eps=0.0)
    tensor([-1.,  1.])
    """
    return _normalizing.layer_norm(input, normalized_shape, weight, bias, eps)


register(method=False)(_normalizing.rms_norm)


__all__ = ["native_batch_norm", "native_dropout", "native_group_norm", "native_layer_norm"]
