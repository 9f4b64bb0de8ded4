"""`torch.batch_norm` and the like: the operations under those of `nn.functional`.

They take their arguments in another order, weight and bias before the running statistics, and a
flag for CUDA's own kernels. Knows the functions of nets. Must not know modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad.torch._ops.declare import register
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn import _normalizing


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

    Parameters
    ----------
    input : Tensor
        Of shape (n, channels, ...).
    weight : Tensor or None
        A factor for each channel.
    bias : Tensor or None
        A term for each channel.
    running_mean : Tensor or None
        The mean of each channel in earlier batches.
    running_var : Tensor or None
        The variance of each channel in earlier batches.
    training : bool
        Normalize by the statistics of the input, towards which the running ones move, in place.
    momentum : float
        How far they move.
    eps : float
        Added to the variance before the root is taken.
    cudnn_enabled : bool
        Changes nothing: CUDA's kernels are meant.

    Returns
    -------
    Tensor
        Of the shape and dtype of the input.

    Examples
    --------
    >>> import tapegrad.torch as torch
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

    Parameters
    ----------
    input : Tensor
        Of shape (n, channels, ...).
    weight : Tensor or None
        A factor for each channel.
    bias : Tensor or None
        A term for each channel.
    running_mean : Tensor or None
        The mean of each channel in earlier batches.
    running_var : Tensor or None
        The variance of each channel in earlier batches.
    use_input_stats : bool
        Normalize by the statistics of the input, towards which the running ones move, in place.
    momentum : float
        How far they move.
    eps : float
        Added to the variance before the root is taken.
    cudnn_enabled : bool
        Changes nothing: CUDA's kernels are meant.

    Returns
    -------
    Tensor
        Of the shape and dtype of the input.

    Examples
    --------
    >>> import tapegrad.torch as torch
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

    Parameters
    ----------
    input : Tensor
        Of shape (n, channels, ...).
    num_groups : int
        Into how many groups the channels are split.
    weight : Tensor, optional
        A factor for each channel.
    bias : Tensor, optional
        A term for each channel.
    eps : float, default 1e-05
        Added to the variance before the root is taken.
    cudnn_enabled : bool, default True
        Changes nothing: CUDA's kernels are meant.

    Returns
    -------
    Tensor
        Of the shape and dtype of the input.

    Examples
    --------
    >>> import tapegrad.torch as torch
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

    Parameters
    ----------
    input : Tensor
        Of any shape that ends in `normalized_shape`.
    normalized_shape : sequence of ints
        The sizes of the last dimensions, which are normalized together.
    weight : Tensor, optional
        The factors.
    bias : Tensor, optional
        The terms.
    eps : float, default 1e-05
        Added to the variance before the root is taken.
    cudnn_enable : bool, default True
        Changes nothing: CUDA's kernels are meant.

    Returns
    -------
    Tensor
        Of the shape and dtype of the input.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.layer_norm(torch.tensor([1.0, 3.0]), (2,), eps=0.0)
    tensor([-1.,  1.])
    """
    return _normalizing.layer_norm(input, normalized_shape, weight, bias, eps)


register(method=False)(_normalizing.rms_norm)

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm"]
