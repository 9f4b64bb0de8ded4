"""Normalization: batch, instance, layer, group and RMS norms, and local response.

Knows PyTorch's parameters, checks and running statistics. Must not know modules, nor how an array
is normalized (`_rules.normalizing`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import Traced, in_trace, is_mapped, shown_value
from tapegrad._warning import warn
from tapegrad.torch._dtypes import require_kind
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._graph.versions import count_write
from tapegrad.torch._ops.call_plans import planned
from tapegrad.torch._ops.create.fill import C_NAMES
from tapegrad.torch._ops.declare import OPERATIONS, private
from tapegrad.torch._ops.elementwise.arithmetic import quotient
from tapegrad.torch._ops.making import kept_by
from tapegrad.torch._rules.blockwise import constant_of
from tapegrad.torch._rules.normalizing import moments, moments_kept, normalized
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._tensor.writes import is_plain, overwrite

Shape = int | Sequence[int]


def _check_dtypes(input: Tensor, *parts: Tensor | None) -> None:
    """RuntimeError for parameters of another dtype, but single ones beside a half input."""
    given = [part.dtype for part in parts if part is not None]
    if all(kind is input.dtype for kind in given):
        return
    if any(kind.itemsize != 4 or not kind.is_floating_point for kind in given):
        raise RuntimeError("mixed dtype (CPU): expect parameter to have scalar type of Float")
    if input.dtype.itemsize != 2 or not input.dtype.is_floating_point:
        raise RuntimeError("mixed dtype (CPU): all inputs must share same datatype.")


# --- Batch and instance norm --------------------------------------------------------------------


def _per_channel(part: Value, ndim: int) -> Value:
    """One number a channel, in a shape that broadcasts to (n, channels, ...)."""
    return part if part is None or ndim == 2 else np.reshape(part, (-1, *(1,) * (ndim - 2)))


def _check_channels(channels: int, **parts: Value) -> None:
    for name, part in parts.items():
        if part is not None and math.prod(part.shape) != channels:
            raise RuntimeError(
                f"{name} should contain {channels} elements not {math.prod(part.shape)}"
            )


@private("NativeBatchNormBackward0", planned=True)
def _batch_norm(
    input: Value, weight: Value, bias: Value, axes: tuple[int, ...], eps: float
) -> Value:
    require_kind(input.dtype, "batch_norm")
    shape = input.shape
    aligned = None if len(shape) == 2 else (shape[1], *(1,) * (len(shape) - 2))
    return normalized(input, weight, bias, axes, eps, aligned=aligned)


@private("NativeBatchNormBackward0", planned=True)
def _scaled(
    input: Value, mean: Value, variance: Value, weight: Value, bias: Value, eps: float
) -> Value:
    """Normalization by given statistics: one factor and one term a channel."""
    require_kind(input.dtype, "batch_norm")
    ndim = len(input.shape)
    given = input.dtype
    factor = 1 / np.sqrt(variance + eps)
    if weight is not None:
        factor = factor * weight
    term = -mean * factor if bias is None else bias - mean * factor
    out = input * _per_channel(factor, ndim) + _per_channel(term, ndim)
    return out if out.dtype == given else out.astype(given)


def _is_mapped(value: Value) -> bool:
    """Whether a vmap maps over a value."""
    while isinstance(value, Traced):
        value = value._value
    return is_mapped(value)


def _statistics_of(input: Tensor, axes: tuple[int, ...], eps: float, out: Tensor) -> Any:
    """Mean and variance of a call that made `out`; both as arrays."""
    value: Any = input._value
    found = moments_kept(kept_by(out))
    if found is None and value.dtype.itemsize != 2 and type(value) is np.ndarray:
        found = moments(value, axes, eps)
    if found is None:
        if _is_mapped(value):
            raise RuntimeError(
                "Batch norm got a batched tensor as input while the running_mean or running_var, "
                "which will be updated in place, were not batched.\nPlease modify the model "
                "without running statistics, or call .eval() before vmap."
            )
        value = shown_value(value)
        return np.mean(value, axes), np.var(value, axes)
    mean, variance = found
    shape: Any = -1
    if len(axes) != value.ndim - 1:
        shape = [side for axis, side in enumerate(value.shape) if axis - value.ndim not in axes]
    return mean.reshape(shape), variance.reshape(shape)


def count_batch(counter: Tensor) -> None:
    """Add 1 to the number of batches."""
    if is_plain(counter):
        counter._value += 1
        count_write(counter)
        return
    with no_grad():
        OPERATIONS["add_"](counter, 1)


@functools.lru_cache(maxsize=1 << 8)
def _factors(dtype: np.dtype[Any], momentum: float) -> tuple[Value, Value]:
    """1 - momentum and momentum, as the cheapest operands."""
    constant = constant_of(dtype)
    return constant(1 - momentum), constant(momentum)


def _update(running: Tensor | None, found: Value, momentum: float) -> None:
    """Move running statistics towards those of a batch."""
    if running is None:
        return
    if is_plain(running) and running._value.dtype == found.dtype and not in_trace(found):
        value = running._value
        rest, share = _factors(value.dtype, momentum)
        np.multiply(value, rest, value)
        np.add(value, np.multiply(found, share), value)
        count_write(running)
        return
    with no_grad():
        before = shown_value(running._value)
        overwrite(running, (before * (1 - momentum) + found * momentum).astype(before.dtype))


def _bessel(count: float) -> float:
    """The factor from a variance over n elements to the one over n - 1."""
    return count / (count - 1) if count > 1 else math.nan


@functools.lru_cache(maxsize=1 << 8)
def _bessel_of(dtype: np.dtype[Any], count: int) -> Value:
    """The same as the cheapest operand."""
    return constant_of(dtype)(_bessel(count))


def _size_words(shape: Sequence[int]) -> str:
    return f"torch.Size({list(shape)})"


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float | None = 0.1,
    eps: float = 1e-05,
) -> Any:
    """Each channel with mean 0 and variance 1 over the batch, times weight plus bias.

    bias: A term for each channel.
    training: Normalize by the statistics of the input, towards which the running ones move, in
        place; else by the running ones.
    momentum: How far the running statistics move towards those of the input.
    ValueError: For one value a channel in training.
    RuntimeError: For shapes and dtypes that do not fit, and for no running statistics where they
        are needed.

    >>> F.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    mean, variance = running_mean, running_var
    if training and _fit(input, mean) and _fit(input, variance):
        mean = variance = None  # they decide nothing
    out = _by_channels(input, mean, variance, weight, bias, training, eps)
    if training and (running_mean is not None or running_var is not None):
        shape = input._value.shape
        count = math.prod(shape) // max(shape[1], 1)
        if count:
            found, spread = _statistics_of(input, _but_channels(len(shape)), eps, out)
            part = 0.0 if momentum is None else momentum
            _update(running_mean, found, part)
            _update(running_var, np.multiply(spread, _bessel_of(spread.dtype, count)), part)
    return out


def _fit(input: Tensor, running: Tensor | None) -> bool:
    """Whether a running statistic is one that an input has, so that no check refuses it."""
    if running is None:
        return True
    x, value = input._value, running._value
    return value.dtype is x.dtype and value.shape == x.shape[1:2]


def _but_channels(ndim: int) -> tuple[int, ...]:
    return (-ndim, *range(2 - ndim, 0))


@planned
def _by_channels(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None,
    bias: Tensor | None,
    training: bool,
    eps: float,
) -> Any:
    """Batch norm with its checks, but for the running statistics that move."""
    count = math.prod(input.shape) // max(input.shape[1], 1)
    if training and count == 1:
        raise ValueError(
            "Expected more than 1 value per channel when training, got input size "
            f"{_size_words(input.shape)}"
        )
    channels = input.shape[1]
    for name, running in (("running_mean", running_mean), ("running_var", running_var)):
        if running is None and not training:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
        _check_channels(channels, **{name: running})
    _check_channels(channels, weight=weight, bias=bias)
    _check_dtypes(input, weight, bias, running_mean, running_var)
    if not training:
        return _scaled(input, running_mean, running_var, weight, bias, eps)
    return _batch_norm(input, weight, bias, _but_channels(input.ndim), eps)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Any:
    """Each channel of each example with mean 0 and variance 1, times weight plus bias.

    running_mean: The mean of each channel in earlier batches.
    running_var: The variance of each channel in earlier batches.
    bias: A term for each channel.
    use_input_stats: Normalize by the statistics of the input, towards which the running ones move,
        in place; else by the running ones.
    momentum: How far the running statistics move towards those of the input.
    ValueError: For one element a channel.
    RuntimeError: For shapes and dtypes that do not fit, and for no running statistics where they
        are needed.

    >>> F.instance_norm(torch.tensor([[[1.0, 3.0], [5.0, 9.0]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """
    if not use_input_stats and (running_mean is None or running_var is None):
        raise RuntimeError(
            "Expected running_mean and running_var to be defined when use_input_stats is false"
        )
    channels = input.shape[1]
    _check_channels(channels, running_mean=running_mean, running_var=running_var)
    _check_channels(channels, weight=weight, bias=bias)
    _check_dtypes(input, weight, bias, running_mean, running_var)
    if not use_input_stats:
        return _scaled(input, running_mean, running_var, weight, bias, eps)
    count = math.prod(input.shape[2:])
    if count == 1:
        raise ValueError(
            "Expected more than 1 spatial element when training, got input size "
            f"{_size_words(input.shape)}"
        )
    axes = tuple(range(2 - input.ndim, 0))
    out = _batch_norm(input, weight, bias, axes, eps)
    if running_mean is not None or running_var is not None:
        mean, variance = _statistics_of(input, axes, eps, out)
        examples = input.shape[0] or math.nan  # no examples leave no statistics
        _update(running_mean, np.sum(mean, 0) / examples, momentum)
        _update(running_var, np.sum(variance, 0) / examples * _bessel(count), momentum)
    return out


# --- Norms of examples --------------------------------------------------------------------------


def _require_tensors(word: str, input: Any, **parts: Any) -> None:
    """PyTorch's TypeError for a parameter that is no tensor; the second one is a shape."""
    given = [(1, "input", input)] + [
        (place, name, part) for place, (name, part) in enumerate(parts.items(), 3)
    ]
    for place, name, part in given:
        if not isinstance(part, Tensor) and (part is not None or place == 1):
            raise TypeError(
                f"{word}(): argument '{name}' (position {place}) must be Tensor, not "
                f"{type(part).__name__}"
            )


def _last(
    input: Value, normalized_shape: Shape, comma: str = ", ", **parts: Value
) -> tuple[int, ...]:
    """The axes that a shape names; RuntimeError where arrays do not fit it."""
    given = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
    if not given:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least "
            f"one element, but got normalized_shape = {given}"
        )
    for name, part in parts.items():
        if part is not None and list(part.shape) != given:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of "
                f"shape {list(part.shape)} and normalized_shape = {given}"
            )
    if list(input.shape[-len(given) :]) != given or len(input.shape) < len(given):
        starred = f"*{comma}" + ", ".join(map(str, given))
        raise RuntimeError(
            f"Given normalized_shape={given}, expected input with shape [{starred}], but got "
            f"input of size{list(input.shape)}"
        )
    return tuple(range(-len(given), 0))


@private("NativeLayerNormBackward0", planned=True, order="contiguous")
def _layer_norm(
    input: Value, axes: tuple[int, ...], weight: Value, bias: Value, eps: float
) -> Value:
    require_kind(input.dtype, "LayerNormKernelImpl")
    return normalized(input, weight, bias, axes, eps)


@planned
def layer_norm(
    input: Tensor,
    normalized_shape: Shape,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Any:
    """The last dimensions with mean 0 and variance 1 together, times weight plus bias.

    input: Of shape `(..., *normalized_shape)`.
    weight: Factors, of the shape `normalized_shape`.
    bias: Terms, of the shape `normalized_shape`.
    RuntimeError: For shapes and dtypes that do not fit.
    TypeError: For an argument that is no tensor.

    >>> F.layer_norm(torch.tensor([[1.0, 3.0], [5.0, 9.0]]), (2,))
    tensor([[-1.0000,  1.0000],
            [-1.0000,  1.0000]])
    """
    _require_tensors("layer_norm", input, weight=weight, bias=bias)
    axes = _last(input, normalized_shape, weight=weight, bias=bias)
    _check_dtypes(input, weight, bias)
    return _layer_norm(input, axes, weight, bias, eps)


@private("MulBackward0", planned=True)
def _rms_norm(input: Value, axes: tuple[int, ...], weight: Value, eps: float) -> Value:
    return normalized(input, weight, None, axes, eps, centred=False)


@planned
def rms_norm(
    input: Tensor, normalized_shape: Shape, weight: Tensor | None = None, eps: float | None = None
) -> Any:
    """The last dimensions divided by the root of their mean square, times weight.

    input: Of shape `(..., *normalized_shape)`.
    weight: Factors, of the shape `normalized_shape`.
    eps: Added to the mean square; the machine epsilon of the dtype unless given.
    RuntimeError: For shapes that do not fit.
    TypeError: For an argument that is no tensor.

    >>> F.rms_norm(torch.tensor([1.0, 7.0]), (2,))
    tensor([0.2000, 1.4000])
    """
    _require_tensors("rms_norm", input, weight=weight)
    axes = _last(input, normalized_shape, comma="", weight=weight)
    require_kind(input._value.dtype, "rms_norm", "fVc")
    if weight is not None and weight.dtype is not input.dtype:
        kinds = (C_NAMES.get(x.dtype.name, x.dtype.name) for x in (input, weight))
        warn(
            "Mismatch dtype between input and weight: input dtype = {}, weight dtype = {}, Cannot "
            "dispatch to fused implementation.".format(*kinds)
        )
    if eps is None:
        half = input._value.dtype.itemsize == 2
        eps = float(np.finfo(np.float32 if half else input._value.dtype).eps)
    return _rms_norm(input, axes, weight, eps).to(input.dtype)


@private("NativeGroupNormBackward0", planned=True)
def _group_norm(input: Value, groups: int, weight: Value, bias: Value, eps: float) -> Value:
    require_kind(input.dtype, "GroupNormKernelImpl")
    shape = input.shape
    each = shape[1] // groups
    split = (shape[0], groups, each, *shape[2:])
    aligned = (groups, each, *(1,) * (len(shape) - 2))
    axes = tuple(range(1 - len(shape), 0))
    return normalized(input, weight, bias, axes, eps, split=split, aligned=aligned)


@planned
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Any:
    """Groups of channels of each example with mean 0 and variance 1, times weight plus bias.

    bias: A term for each channel.
    RuntimeError: Where the groups do not divide the channels, and for shapes and dtypes that do
        not fit.
    ValueError: For one element a group.
    TypeError: For an argument that is no tensor.

    >>> F.group_norm(torch.tensor([[1.0, 3.0, 5.0, 9.0]]), 2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    shape = list(input.shape)
    per_group = [shape[0] * shape[1] // num_groups, num_groups, *shape[2:]]
    if math.prod((per_group[0], *shape[2:])) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {per_group}"
        )
    _require_tensors("group_norm", input, weight=weight, bias=bias)
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if shape[1] % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {shape} and num_groups={num_groups}"
        )
    for name, part in (("weight", weight), ("bias", bias)):
        if part is not None and list(part.shape) != shape[1:2]:
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in "
                f"input, but got {name} of shape {list(part.shape)} and input of shape {shape}"
            )
    _check_dtypes(input, weight, bias)
    return _group_norm(input, num_groups, weight, bias, eps)


# --- Local response -----------------------------------------------------------------------------


@private("DivBackward0")
def _local_response(input: Value, size: int, alpha: float, beta: float, k: float) -> Value:
    squares = np.square(input)
    widths = [(0, 0)] * len(input.shape)
    widths[1] = (size // 2, (size - 1) // 2)
    padded = np.pad(squares, widths)
    channels = input.shape[1]
    total = padded[:, :channels]
    for offset in range(1, size):
        total = total + padded[:, offset : offset + channels]
    return quotient(input, (total * (alpha / size) + k) ** beta)


def local_response_norm(
    input: Tensor, size: int, alpha: float = 0.0001, beta: float = 0.75, k: float = 1.0
) -> Any:
    """Each element divided by (k + alpha * mean of squares)**beta over neighbouring channels.

    input: Of shape (n, channels, ...), with at least three dimensions.
    -> Tensor: Of the shape of `input`.
    ValueError: For less than three dimensions.

    >>> F.local_response_norm(torch.ones(1, 2, 1), 2, alpha=3.0, beta=1.0)
    tensor([[[0.4000],
             [0.2500]]])
    """
    if input.ndim < 3:
        raise ValueError(
            "Expected 3D or higher dimensionality                          input (got "
            f"{input.ndim} dimensions)"
        )
    if not input.numel():
        return input
    return _local_response(input, size, alpha, beta, k)


@private("CrossMapLRN2dBackward", name="cross_map_norm")
def cross_map_norm(input: Value, size: int, alpha: float, beta: float, k: float) -> Value:
    """`CrossMapLRN2d`: a local response norm over the windows of `_windows`."""
    if input.ndim != 4:
        raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.ndim}D instead.")
    windows = _windows(input.shape[1], size).astype(input.dtype)
    total = np.einsum("ij,njhw->nihw", windows, np.square(input))
    return input * (total * (alpha / size) + k) ** -beta


def _windows(channels: int, size: int) -> Value:
    """For each channel those that it is normalized by, as 0 and 1.

    PyTorch moves a window by a step, taking in a channel and giving one up, but begins to give up
    with the second: the first channel stays in every window.
    """
    ahead = (size - 1) // 2
    reach = np.arange(channels) - np.arange(channels)[:, None]
    inside = (reach <= ahead) & (reach >= -ahead)
    inside[:, :1] |= reach[:, :1] < 0
    return inside


__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "rms_norm",
]
