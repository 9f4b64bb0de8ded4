"""Activations as modules.

Knows `Module` and the functions. Must not know how these are computed.
"""

from __future__ import annotations

from tapegrad._warning import warn
from tapegrad.torch._dtypes import device, dtype
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn import functional
from tapegrad.torch.nn.contents import own_names
from tapegrad.torch.nn.init import constant_
from tapegrad.torch.nn.module.factory import add_parameters
from tapegrad.torch.nn.module.layers import layer
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.parameter import Parameter

# --- Units that can write into their argument ---------------------------------------------------


@layer("relu", shows="inplace?")
class ReLU(Module):
    """The maximum of 0 and each element."""


@layer("selu", shows="inplace?")
class SELU(Module):
    """ELU scaled so that it keeps mean 0 and variance 1."""


@layer("silu", shows="inplace?")
class SiLU(Module):
    """The unit `x * sigmoid(x)`."""


@layer("mish", shows="inplace?")
class Mish(Module):
    """The unit `x * tanh(softplus(x))`."""


@layer("hardsigmoid")
class Hardsigmoid(Module):
    """The unit `x / 6 + 1 / 2`, clamped to 0 and 1."""


@layer("hardswish")
class Hardswish(Module):
    """The unit `x * hardsigmoid(x)`."""


@layer("elu", shows="alpha inplace?")
class ELU(Module):
    """The unit x, and `alpha * (exp(x) - 1)` below 0."""


@layer("celu", shows="alpha inplace?")
class CELU(Module):
    """The unit x, and `alpha * (exp(x / alpha) - 1)` below 0."""


@layer("leaky_relu", shows="negative_slope inplace?")
class LeakyReLU(Module):
    """The unit x, and `negative_slope * x` below 0."""


@layer("rrelu", shows="lower upper inplace?")
class RReLU(Module):
    """The unit x with a slope below 0 that is drawn while training, else their mean.

    >>> torch.nn.RReLU(0.25, 0.75).eval()(torch.tensor([-1.0, 2.0]))
    tensor([-0.5000,  2.0000])
    """


@layer("threshold", shows="threshold value inplace?")
class Threshold(Module):
    """The unit x above a threshold, else a value."""


class Hardtanh(Module):
    """The unit x, clamped.

    min_val: The least value.
    max_val: The largest value.
    min_value: The older name of `min_val`, which warns.
    max_value: The older name of `max_val`, which warns.
    AssertionError: Unless `max_val` is greater than `min_val`.
    """

    _in_repr = "min_val max_val inplace?"

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        self.inplace = inplace
        self.min_val = _renamed("min", min_value, min_val)
        self.max_val = _renamed("max", max_value, max_val)
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )

    def forward(self, input: Tensor) -> Tensor:
        return functional.hardtanh(input, self.min_val, self.max_val, self.inplace)


class ReLU6(Hardtanh):
    """The unit x, clamped to 0 and 6."""

    _in_repr = "inplace?"

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)


def _renamed(word: str, given: float | None, usual: float) -> float:
    """A bound under its older name, which warns, or under its own."""
    if given is None:
        return usual
    text = f"keyword argument `{word}_value` is deprecated and renamed to `{word}_val`"
    warn(text, FutureWarning)
    return given


# --- Units that always make a new tensor --------------------------------------------------------


@layer("tanh", "")
class Tanh(Module):
    """The hyperbolic tangent of each element."""


@layer("sigmoid", "")
class Sigmoid(Module):
    """The logistic function of each element, `1 / (1 + exp(-x))`."""


@layer("gelu", shows="approximate!")
class GELU(Module):
    """The unit x times the normal distribution function of x.

    approximate ({"none", "tanh"}): Whether that is approximated by a tanh.
    """


@layer("glu", shows="dim")
class GLU(Module):
    """One half along a dimension times the sigmoid of the other half."""


@layer("hardshrink", shows="=lambd")
class Hardshrink(Module):
    """The unit x, but 0 where `|x|` is at most `lambd`."""


@layer("softshrink", shows="=lambd")
class Softshrink(Module):
    """The unit x, moved towards 0 by `lambd`."""


@layer("softplus", shows="beta threshold")
class Softplus(Module):
    """The unit `log(1 + exp(beta * x)) / beta`."""


@layer("logsigmoid")
class LogSigmoid(Module):
    """The logarithm of the sigmoid of each element."""


@layer("softsign")
class Softsign(Module):
    """The unit `x / (1 + |x|)`."""


@layer("tanhshrink")
class Tanhshrink(Module):
    """The unit `x - tanh(x)`."""


@layer("softmax", "dim", shows="dim")
class Softmax(Module):
    """Exponentials divided by their sum along a dimension."""


@layer("log_softmax", "dim", shows="dim")
class LogSoftmax(Module):
    """The logarithm of Softmax, without its rounding."""


@layer("softmin", "dim", shows="dim")
class Softmin(Module):
    """The softmax of -x along a dimension."""


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


@layer("prelu", inputs="input")
class PReLU(Module):
    """The unit x, and `weight * x` below 0, where the weight is a parameter.

    num_parameters: The size of the weight: one for all, or one for each channel.
    init: Where the weight starts.

    >>> torch.nn.PReLU()(torch.tensor([-1.0, 2.0]))
    tensor([-0.2500,  2.0000], grad_fn=<PreluKernelBackward0>)
    """

    _in_repr = "num_parameters"
    weight: Parameter

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        add_parameters(self, dtype, device, weight=(num_parameters,))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to where it starts."""
        constant_(self.weight, self.init)


__all__ = list(own_names(__name__))
