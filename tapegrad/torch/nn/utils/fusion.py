"""A linear map and the normalization after it as one linear map, for evaluation.

Knows the attributes of layers, not their classes.
"""

from __future__ import annotations

import copy
from typing import Any

from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.parameter import Parameter


def fuse_conv_bn_eval(conv: Any, bn: Any, transpose: bool = False) -> Any:
    """A copy of a convolution that does what it and a batch normalization after it do.

    Parameters
    ----------
    conv : Module
        The convolution.

    Returns
    -------
    Module
        The copy.

    Raises
    ------
    AssertionError
        Unless both are in evaluation mode and `bn` tracks its statistics.

    >>> conv, bn = torch.nn.Conv1d(2, 3, 2).eval(), torch.nn.BatchNorm1d(3).eval()
    >>> fused, x = torch.nn.utils.fuse_conv_bn_eval(conv, bn), torch.ones(1, 2, 4)
    >>> torch.allclose(fused(x), bn(conv(x)), atol=1e-6)
    True
    """
    fused = _copied(conv, bn)
    fused.weight, fused.bias = fuse_conv_bn_weights(
        fused.weight,
        fused.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        bn.weight,
        bn.bias,
        transpose,
    )
    return fused


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor | None,
    bn_b: Tensor | None,
    transpose: bool = False,
) -> tuple[Any, Any]:
    """The weight and the bias of a convolution that normalizes, too.

    Parameters
    ----------
    conv_w : Tensor
        The weight of the convolution.
    conv_b : Tensor or None
        Its bias.

    Returns
    -------
    tuple of Parameter
        The weight and the bias.

    >>> one, w = torch.ones(1), torch.ones(1, 1, 2)
    >>> torch.nn.utils.fuse_conv_bn_weights(w, None, one, one, 0.0, 2 * one, one)
    (Parameter containing:
    tensor([[[2., 2.]]]), Parameter containing:
    tensor([-1.]))
    """
    dtype = conv_w.dtype if conv_b is None else conv_b.dtype
    given = bn_rm.new_zeros(bn_rm.shape) if conv_b is None else conv_b
    scale = (bn_rv + bn_eps).rsqrt()
    if bn_w is not None:
        scale = bn_w * scale
    sides = [1] * conv_w.dim()
    sides[1 if transpose else 0] = -1
    weight = conv_w * scale.reshape(sides)
    bias = (given - bn_rm) * scale
    if bn_b is not None:
        bias = bias + bn_b
    return (
        Parameter(weight.to(dtype=conv_w.dtype), conv_w.requires_grad),
        Parameter(bias.to(dtype=dtype), given.requires_grad),
    )


def fuse_linear_bn_eval(linear: Any, bn: Any) -> Any:
    """A copy of a linear layer that does what it and a batch normalization after it do.

    Parameters
    ----------
    linear : Module
        The linear layer.

    Returns
    -------
    Module
        The copy.

    Raises
    ------
    AssertionError
        Unless both are in evaluation mode and of as many features.

    >>> linear, bn = torch.nn.Linear(2, 3).eval(), torch.nn.BatchNorm1d(3).eval()
    >>> fused, x = torch.nn.utils.fuse_linear_bn_eval(linear, bn), torch.ones(1, 2)
    >>> torch.allclose(fused(x), bn(linear(x)), atol=1e-6)
    True
    """
    fused = _copied(linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got "
            f"linear.out_features={linear.out_features} and bn.num_features={bn.num_features}"
        )
    fused.weight, fused.bias = fuse_linear_bn_weights(
        fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    )
    return fused


def fuse_linear_bn_weights(
    linear_w: Tensor,
    linear_b: Tensor | None,
    bn_rm: Tensor,
    bn_rv: Tensor,
    bn_eps: float,
    bn_w: Tensor,
    bn_b: Tensor,
) -> tuple[Any, Any]:
    """The weight and the bias of a linear layer that normalizes, too.

    Parameters
    ----------
    linear_w : Tensor
        The weight of the linear layer.
    linear_b : Tensor or None
        Its bias.

    Returns
    -------
    tuple of Parameter
        The weight and the bias.

    >>> one, w = torch.ones(1), torch.ones(1, 2)
    >>> torch.nn.utils.fuse_linear_bn_weights(w, None, one, one, 0.0, 2 * one, one)
    (Parameter containing:
    tensor([[2., 2.]]), Parameter containing:
    tensor([-1.]))
    """
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def _copied(layer: Any, bn: Any) -> Any:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    return copy.deepcopy(layer)


__all__ = [
    "fuse_conv_bn_eval",
    "fuse_conv_bn_weights",
    "fuse_linear_bn_eval",
    "fuse_linear_bn_weights",
]
