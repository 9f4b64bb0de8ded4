"""`torch.nn.init`: first values of parameters, written into them without history.

Knows tensors. Must not know modules.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np

from tapegrad._core.types import Value
from tapegrad._warning import warn
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._ops.create.generator import Generator
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch._tensor.writes import overwrite

_Init = TypeVar("_Init", bound=Callable[..., Tensor])
_GAINS = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}
_EMPTY = "Initializing zero-element tensors is a no-op"
_UNIT = (
    "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d sigmoid"
).split()


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The recommended factor on standard deviations for the nonlinearity after a layer.

    nonlinearity: "linear", "conv1d" and other convolutions, "sigmoid", "tanh", "relu",
        "leaky_relu" or "selu".
    param: The slope of "leaky_relu" below 0; 0.01 unless given.
    -> float: The factor.
    ValueError: For another word, and for a slope that is no number.

    >>> torch.nn.init.calculate_gain("leaky_relu", 1.0)
    1.0
    """
    if nonlinearity in _UNIT:
        return 1
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


_calculate_fan_in_and_fan_out = _fans  # under PyTorch's name, which libraries import


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    word = mode.lower()
    if word not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {word} not supported, please use one of ['fan_in', 'fan_out']")
    return _fans(tensor)[word == "fan_out"]


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers from the uniform distribution between a and b.

    b: The bound above.

    >>> x = torch.nn.init.uniform_(torch.empty(100), 2.0, 3.0)
    >>> bool(((x >= 2) & (x < 3)).all())
    True
    """
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with numbers from a normal distribution.

    >>> torch.nn.init.normal_(torch.empty(2, 3)).shape
    torch.Size([2, 3])
    """
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def constant_(tensor: Tensor, val: Value) -> Tensor:
    """Fill with one value.

    val (float): The value.

    >>> torch.nn.init.constant_(torch.empty(2), 3.0)
    tensor([3., 3.])
    """
    return _put(tensor, np.asarray(val))


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    >>> torch.nn.init.zeros_(torch.empty(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0)


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    >>> torch.nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1)


def eye_(tensor: Tensor) -> Tensor:
    """Fill with the identity matrix.

    tensor: What is filled, of two dimensions.
    ValueError: For other dimensions.

    >>> torch.nn.init.eye_(torch.empty(2, 3))
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _put(tensor, np.eye(*tensor.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill with the kernels of the convolution that leaves channels as they are.

    tensor: What is filled: (out channels, in channels / groups, ...), of three to five dimensions.
    groups: Those of the convolution.
    ValueError: For other dimensions, and out channels that the groups do not divide.

    >>> torch.nn.init.dirac_(torch.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.shape[0] % groups:
        raise ValueError("dim 0 must be divisible by groups")
    made = np.zeros(tensor.shape)
    per_group = tensor.shape[0] // groups
    middle = tuple(side // 2 for side in tensor.shape[2:])
    for channel in range(min(per_group, tensor.shape[1])):
        place: Any = (slice(channel, None, per_group), channel, *middle)
        made[place] = 1
    return _put(tensor, made)


def _put(tensor: Tensor, value: Value) -> Tensor:
    with no_grad():
        filled = np.broadcast_to(value, tensor.shape).astype(tensor._value.dtype)
        return overwrite(tensor, of_value(filled))


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with uniform numbers that keep the variance from layer to layer.

    ValueError: For less than two dimensions.
    Notes: X. Glorot, Y. Bengio, Understanding the difficulty of training deep feedforward neural
        networks (2010): the bound is `gain * sqrt(6 / (fan_in + fan_out))`.

    >>> bool((torch.nn.init.xavier_uniform_(torch.empty(3, 3)).abs() <= 1).all())
    True
    """
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Fill with normal numbers that keep the variance from layer to layer.

    ValueError: For less than two dimensions.
    Notes: X. Glorot, Y. Bengio, Understanding the difficulty of training deep feedforward neural
        networks (2010): the deviation is `gain * sqrt(2 / (fan_in + fan_out))`.

    >>> torch.nn.init.xavier_normal_(torch.empty(3, 3)).shape
    torch.Size([3, 3])
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def _kaiming_deviation(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float:
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with uniform numbers that keep the variance of a net with rectifiers.

    a: The slope of "leaky_relu" below 0.
    mode ({"fan_in", "fan_out"}): Whether the variance is kept forward, or of gradients backward.
    nonlinearity: What follows the layer, a name for `calculate_gain`.
    -> Tensor: The tensor itself; one without elements stays as it is, with a warning.
    ValueError: For less than two dimensions, and other words.
    Notes: K. He and others, Delving deep into rectifiers (2015): the bound is `gain * sqrt(3 /
        fan)`.

    >>> x = torch.nn.init.kaiming_uniform_(torch.empty(3, 6), nonlinearity="relu")
    >>> bool((x.abs() <= 1).all())
    True
    """
    if 0 in tensor.shape:
        warn(_EMPTY)
        return tensor
    bound = math.sqrt(3.0) * _kaiming_deviation(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Fill with normal numbers that keep the variance of a net with rectifiers.

    a: The slope of "leaky_relu" below 0.
    mode ({"fan_in", "fan_out"}): Whether the variance is kept forward, or of gradients backward.
    nonlinearity: What follows the layer, a name for `calculate_gain`.
    -> Tensor: The tensor itself; one without elements stays as it is, with a warning.
    ValueError: For less than two dimensions, and other words.
    Notes: K. He and others, Delving deep into rectifiers (2015): the deviation is `gain /
        sqrt(fan)`.

    >>> torch.nn.init.kaiming_normal_(torch.empty(3, 6), mode="fan_out").shape
    torch.Size([3, 6])
    """
    if 0 in tensor.shape:
        warn(_EMPTY)
        return tensor
    return normal_(tensor, 0.0, _kaiming_deviation(tensor, a, mode, nonlinearity), generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Fill with numbers from a normal distribution cut off below a and above b.

    Where much of the distribution lies between them, numbers are drawn again until they do; else
    uniform ones are, and kept with a probability that is proportional to the density.

    b: The largest number.
    -> Tensor: The tensor itself. It warns where the mean is far outside.

    >>> x = torch.nn.init.trunc_normal_(torch.empty(100), a=-1.0, b=1.0)
    >>> bool((x.abs() <= 1).all())
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of "
            "values may be incorrect."
        )
    if tensor.is_meta:
        return tensor
    kept = _below((b - mean) / std) - _below((a - mean) / std)
    draw = _by_rejection if kept > 0.3 else _by_density
    return _put(tensor, draw(tensor, mean, std, (a, b), generator))


def _below(x: float) -> float:
    """The probability of a standard normal number below x."""
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def _by_rejection(
    tensor: Tensor, mean: float, std: float, ends: tuple[float, float], generator: Any
) -> Value:
    fresh = of_value(np.empty_like(tensor._value))
    made = normal_(fresh, mean, std, generator)._value.copy()
    low, high = np.asarray(ends, made.dtype)
    while True:
        outside = (made < low) | (made > high)
        if not outside.any():
            return made
        made = np.where(outside, normal_(fresh, mean, std, generator)._value, made)


def _by_density(
    tensor: Tensor, mean: float, std: float, ends: tuple[float, float], generator: Any
) -> Value:
    fresh = of_value(np.empty_like(tensor._value))
    peak = (max(ends[0], min(mean, ends[1])) - mean) / std
    made = uniform_(fresh, *ends, generator)._value.copy()
    pending = np.ones(made.shape, bool)
    while True:
        chance = np.exp((peak**2 - ((made - mean) / std) ** 2) / 2)
        pending &= uniform_(fresh, 0.0, 1.0, generator)._value > chance
        if not pending.any():
            return made
        made = np.where(pending, uniform_(fresh, *ends, generator)._value, made)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """Fill with gain times a matrix whose rows, or columns, are orthonormal.

    tensor: What is filled; of more than two dimensions, a matrix of the first one and all others
        together.
    ValueError: For less than two dimensions.
    Notes: A. Saxe and others, Exact solutions to the nonlinear dynamics of learning in deep linear
        neural networks (2013).

    >>> q = torch.nn.init.orthogonal_(torch.empty(3, 2))
    >>> torch.allclose(q.T @ q, torch.eye(2), atol=1e-6)
    True
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if not tensor.numel():
        return tensor
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    noise = normal_(of_value(np.empty((rows, columns), tensor._value.dtype)), 0, 1, generator)
    flat = noise._value.T if rows < columns else noise._value
    q, r = np.linalg.qr(flat)
    q = q * np.sign(np.diagonal(r))
    return _put(tensor, (q.T if rows < columns else q).reshape(tensor.shape) * gain)


def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Fill with normal numbers, of which a share in each column is 0.

    tensor: What is filled, of two dimensions.
    sparsity: The share.
    std: The standard deviation of the others.
    ValueError: For other dimensions.
    Notes: J. Martens, Deep learning via Hessian-free optimization (2010).

    >>> (torch.nn.init.sparse_(torch.empty(4, 3), 0.5) == 0).sum(0)
    tensor([2, 2, 2])
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if tensor.is_meta:
        return tensor
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    normal_(tensor, 0, std, generator)
    made = tensor._value.copy()
    for column in range(columns):
        order = uniform_(of_value(np.empty(rows)), generator=generator)._value.argsort()
        made[order[:zeros], column] = 0
    return _put(tensor, made)


_OLDER = """\
`{name}_` under its older name.

*args: The arguments of `{name}_`.
**kwargs: The same, by their names.
-> Tensor: The tensor that was given.
FutureWarning: At each call.

>>> import warnings
>>> with warnings.catch_warnings(action="ignore"):
...     torch.nn.init.{name}({arguments}).dtype
torch.float32
"""


def _older(function: _Init, arguments: str = "torch.empty(2, 3)") -> _Init:
    """A function under its name without the underscore, which PyTorch deprecates.

    arguments: those of the example in its docstring.
    """
    name = function.__name__.rstrip("_")

    def older(*args: Any, **kwargs: Any) -> Any:
        warn(f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.", FutureWarning)
        return function(*args, **kwargs)

    older.__name__ = older.__qualname__ = name
    older.__doc__ = _OLDER.format(name=name, arguments=arguments)
    return cast("_Init", older)


uniform = _older(uniform_)
normal = _older(normal_)
constant = _older(constant_, "torch.empty(2, 3), 1.0")
eye = _older(eye_)
dirac = _older(dirac_, "torch.empty(2, 3, 1)")
xavier_uniform = _older(xavier_uniform_)
xavier_normal = _older(xavier_normal_)
kaiming_uniform = _older(kaiming_uniform_)
kaiming_normal = _older(kaiming_normal_)
orthogonal = _older(orthogonal_)
sparse = _older(sparse_, "torch.empty(2, 3), 0.5")

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]


def __dir__() -> list[str]:
    return __all__
