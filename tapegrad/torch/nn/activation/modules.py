"""Activations as modules.

Knows `Module` and the functions. Must not know how these are computed.
"""

from __future__ import annotations

from tapegrad._warning import warn
from tapegrad.torch._dtypes import device, dtype, require_cpu
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn import functional
from tapegrad.torch.nn.init import constant_
from tapegrad.torch.nn.module.factory import empty_parameter
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.parameter import Parameter

# --- Activations --------------------------------------------------------------------------------


class _Inplace(Module):
    """A unit that can write into its argument."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        words = super().extra_repr(), "inplace=True" if self.inplace else ""
        return ", ".join(filter(None, words))


class ReLU(_Inplace):
    """The maximum of 0 and each element."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.relu(input, inplace=self.inplace)


class Tanh(Module):
    """The hyperbolic tangent of each element."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.tanh(input)


class Sigmoid(Module):
    """The logistic function of each element, `1 / (1 + exp(-x))`."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.sigmoid(input)


class _AlongDim(Module):
    _in_repr = "dim"

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim


class Softmax(_AlongDim):
    """Exponentials divided by their sum along a dimension."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.softmax(input, self.dim)


class LogSoftmax(_AlongDim):
    """The logarithm of Softmax, without its rounding.

    dim: The dimension along which the exponentials of the results sum to 1; leaving it out warns
        at the call.
    """

    def forward(self, input: Tensor) -> Tensor:
        return functional.log_softmax(input, self.dim)


def _renamed(word: str) -> None:
    text = f"keyword argument `{word}_value` is deprecated and renamed to `{word}_val`"
    warn(text, FutureWarning)


# --- Units that can write into their argument ---------------------------------------------------


class SELU(_Inplace):
    """ELU scaled so that it keeps mean 0 and variance 1."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.selu(input, self.inplace)


class SiLU(_Inplace):
    """The unit `x * sigmoid(x)`."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.silu(input, inplace=self.inplace)


class Mish(_Inplace):
    """The unit `x * tanh(softplus(x))`."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.mish(input, inplace=self.inplace)


class Hardsigmoid(_Inplace):
    """The unit `x / 6 + 1 / 2`, clamped to 0 and 1."""

    extra_repr = Module.extra_repr  # PyTorch's shows nothing

    def forward(self, input: Tensor) -> Tensor:
        return functional.hardsigmoid(input, self.inplace)


class Hardswish(_Inplace):
    """The unit `x * hardsigmoid(x)`."""

    extra_repr = Module.extra_repr  # PyTorch's shows nothing

    def forward(self, input: Tensor) -> Tensor:
        return functional.hardswish(input, self.inplace)


class ELU(_Inplace):
    """The unit x, and `alpha * (exp(x) - 1)` below 0."""

    _in_repr = "alpha"

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return functional.elu(input, self.alpha, self.inplace)


class CELU(_Inplace):
    """The unit x, and `alpha * (exp(x / alpha) - 1)` below 0."""

    _in_repr = "alpha"

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.alpha = alpha

    def forward(self, input: Tensor) -> Tensor:
        return functional.celu(input, self.alpha, self.inplace)


class LeakyReLU(_Inplace):
    """The unit x, and `negative_slope * x` below 0.

    negative_slope: The slope below 0.
    """

    _in_repr = "negative_slope"

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.negative_slope = negative_slope

    def forward(self, input: Tensor) -> Tensor:
        return functional.leaky_relu(input, self.negative_slope, self.inplace)


class RReLU(_Inplace):
    """The unit x with a slope below 0 that is drawn while training, else their mean.

    lower: The least slope.
    upper: The largest slope.

    >>> torch.nn.RReLU(0.25, 0.75).eval()(torch.tensor([-1.0, 2.0]))
    tensor([-0.5000,  2.0000])
    """

    _in_repr = "lower upper"

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__(inplace)
        self.lower = lower
        self.upper = upper

    def forward(self, input: Tensor) -> Tensor:
        return functional.rrelu(input, self.lower, self.upper, self.training, self.inplace)


class Hardtanh(_Inplace):
    """The unit x, clamped.

    min_val: The least value.
    max_val: The largest value.
    min_value: The older name of `min_val`, which warns.
    max_value: The older name of `max_val`, which warns.
    AssertionError: Unless `max_val` is greater than `min_val`.
    """

    _in_repr = "min_val max_val"

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__(inplace)
        if min_value is not None:
            _renamed("min")
            min_val = min_value
        if max_value is not None:
            _renamed("max")
            max_val = max_value
        self.min_val = min_val
        self.max_val = max_val
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )

    def forward(self, input: Tensor) -> Tensor:
        return functional.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh):
    """The unit x, clamped to 0 and 6."""

    _in_repr = ""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


class Threshold(_Inplace):
    """The unit x above a threshold, else a value.

    threshold: The threshold.
    """

    _in_repr = "threshold value"

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__(inplace)
        self.threshold = threshold
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return functional.threshold(input, self.threshold, self.value, self.inplace)


# --- Units that always make a new tensor --------------------------------------------------------


class GELU(Module):
    """The unit x times the normal distribution function of x.

    approximate ({"none", "tanh"}): Whether that is approximated by a tanh.
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return functional.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """One half along a dimension times the sigmoid of the other half.

    dim: The dimension, of an even size.
    """

    _in_repr = "dim"

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return functional.glu(input, self.dim)


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Hardshrink(_Shrink):
    """The unit x, but 0 where `|x|` is at most `lambd`.

    lambd: The bound.
    """

    def forward(self, input: Tensor) -> Tensor:
        return functional.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """The unit x, moved towards 0 by `lambd`.

    lambd: By how much.
    """

    def forward(self, input: Tensor) -> Tensor:
        return functional.softshrink(input, self.lambd)


class Softplus(Module):
    """The unit `log(1 + exp(beta * x)) / beta`.

    beta: How sharp the bend is.
    threshold: Above it `beta * x` is taken as it is.
    """

    _in_repr = "beta threshold"

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return functional.softplus(input, self.beta, self.threshold)


class LogSigmoid(Module):
    """The logarithm of the sigmoid of each element."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.logsigmoid(input)


class Softsign(Module):
    """The unit `x / (1 + |x|)`."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.softsign(input)


class Tanhshrink(Module):
    """The unit `x - tanh(x)`."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.tanhshrink(input)


class Softmin(_AlongDim):
    """The softmax of -x along a dimension."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.softmin(input, self.dim)


class Softmax2d(Module):
    """The softmax over the channels of images (n, channels, height, width), or of one of them.

    A call raises ValueError for tensors of other dimensions.

    >>> torch.nn.Softmax2d()(torch.zeros(2, 1, 1)).flatten()
    tensor([0.5000, 0.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return functional.softmax(input, -3)


class PReLU(Module):
    """The unit x, and `weight * x` below 0, where the weight is a parameter.

    num_parameters: The size of the weight: one for all, or one for each channel.
    init: Where the weight starts.

    >>> torch.nn.PReLU()(torch.tensor([-1.0, 2.0]))
    tensor([-0.2500,  2.0000], grad_fn=<PreluKernelBackward0>)
    """

    _in_repr = "num_parameters"

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        require_cpu(device)
        self.num_parameters = num_parameters
        self.init = init
        self.weight: Parameter = empty_parameter((num_parameters,), dtype, device)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to where it starts."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return functional.prelu(input, self.weight)


__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "SELU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Softmax2d",
    "Softmin",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Tanh",
    "Tanhshrink",
    "Threshold",
]
