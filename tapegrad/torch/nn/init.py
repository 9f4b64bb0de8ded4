"""`torch.nn.init`: first values of parameters, written into them without history.

Knows tensors. Must not know modules.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._warning import warn
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._ops.create.generator import Generator
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch._tensor.writes import overwrite

_GAINS = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
_UNIT = (
    "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d sigmoid"
).split()


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The recommended factor on standard deviations for the nonlinearity after a layer."""
    if nonlinearity in _UNIT:
        return 1.0
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def _fans(tensor: Tensor) -> tuple[int, int]:
    """The fan in, the number of inputs of an output, and the fan out, of outputs of an input."""
    if tensor.ndim < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


_calculate_fan_in_and_fan_out = _fans


def _fan(tensor: Tensor, mode: str) -> int:
    word = mode.lower()
    if word not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {word} not supported, please use one of ['fan_in', 'fan_out']")
    return _fans(tensor)[word == "fan_out"]


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Any:
    """Fill with numbers from the uniform distribution between a and b."""
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Any:
    """Fill with numbers from a normal distribution."""
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor: Tensor, val: Value) -> Any:
    """Fill with one value."""
    return _put(tensor, np.asarray(val))


def zeros_(tensor: Tensor) -> Any:
    """Fill with zeros."""
    return constant_(tensor, 0)


def ones_(tensor: Tensor) -> Any:
    """Fill with ones."""
    return constant_(tensor, 1)


def eye_(tensor: Tensor) -> Any:
    """Fill with the identity matrix."""
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _put(tensor, np.eye(*tensor.shape))


def _put(tensor: Tensor, value: Value) -> Any:
    with no_grad():
        filled = np.broadcast_to(value, tensor.shape).astype(tensor._value.dtype)
        return overwrite(tensor, of_value(filled))


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Any:
    """Fill with uniform numbers that keep the variance: X. Glorot, Y. Bengio (2010)."""
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Any:
    """Like xavier_uniform_, from a normal distribution."""
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def _kaiming_deviation(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    return calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Any:
    """Fill with uniform numbers that keep a rectifier's variance: K. He and others (2015)."""
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return tensor
    bound = math.sqrt(3.0) * _kaiming_deviation(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Any:
    """Like kaiming_uniform_, from a normal distribution."""
    if 0 in tensor.shape:
        warn("Initializing zero-element tensors is a no-op")
        return tensor
    return normal_(tensor, 0.0, _kaiming_deviation(tensor, a, mode, nonlinearity), generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Any:
    """Fill with normal numbers, drawn again until they lie between a and b."""
    normal_(tensor, mean, std, generator)
    fresh = of_value(np.empty_like(tensor._value))
    while True:
        outside = (tensor._value < a) | (tensor._value > b)
        if not outside.any():
            return tensor
        normal_(fresh, mean, std, generator)
        _put(tensor, np.where(outside, fresh._value, tensor._value))


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Any:
    """Fill with gain times a matrix whose rows, or columns, are orthonormal."""
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    noise = normal_(of_value(np.empty((rows, columns), tensor._value.dtype)), 0, 1, generator)
    flat = noise._value.T if rows < columns else noise._value
    q, r = np.linalg.qr(flat)
    q = q * np.sign(np.diagonal(r))
    return _put(tensor, (q.T if rows < columns else q).reshape(tensor.shape) * gain)
