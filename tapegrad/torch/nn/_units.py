"""Activations as modules: ELU, GELU, Softplus and the others, each holding its parameters.

Knows `Module` and the functions of `nn.functional`. Must not know how these are computed.
"""

from __future__ import annotations

import numpy as np

from tapegrad._warning import warn
from tapegrad.torch._dtypes import as_numpy, default_float, device, dtype
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch.nn import functional
from tapegrad.torch.nn._module import Module
from tapegrad.torch.nn._parameter import Parameter
from tapegrad.torch.nn.init import constant_


def _with_inplace(words: str, inplace: bool) -> str:
    """The `extra_repr` of a module that can write into its argument."""
    if not inplace:
        return words
    return f"{words}, inplace=True" if words else "inplace=True"


def _renamed(word: str) -> None:
    text = f"keyword argument `{word}_value` is deprecated and renamed to `{word}_val`"
    warn(text, FutureWarning)


# --- Units that can write into their argument ---------------------------------------------------


class _Inplace(Module):
    """A unit without parameters but for `inplace`."""

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


class SELU(_Inplace):
    """`nn.functional.selu`: elu, scaled so that it keeps mean 0 and variance 1."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.selu(input, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace("", self.inplace)


class SiLU(_Inplace):
    """`nn.functional.silu`: x * sigmoid(x)."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.silu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace("", self.inplace)


class Mish(_Inplace):
    """`nn.functional.mish`: x * tanh(softplus(x))."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.mish(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace("", self.inplace)


class Hardsigmoid(_Inplace):
    """`nn.functional.hardsigmoid`: x / 6 + 1 / 2, clamped to [0, 1]."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.hardsigmoid(input, self.inplace)


class Hardswish(_Inplace):
    """`nn.functional.hardswish`: x * hardsigmoid(x)."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.hardswish(input, self.inplace)


class ELU(Module):
    """`nn.functional.elu`: x, and alpha * (e**x - 1) below 0."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return functional.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"alpha={self.alpha}", self.inplace)


class CELU(Module):
    """`nn.functional.celu`: x, and alpha * (e**(x / alpha) - 1) below 0."""

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return functional.celu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"alpha={self.alpha}", self.inplace)


class LeakyReLU(Module):
    """`nn.functional.leaky_relu`: x, and negative_slope * x below 0."""

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return functional.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"negative_slope={self.negative_slope}", self.inplace)


class RReLU(Module):
    """`nn.functional.rrelu`: slopes drawn between two numbers while training, else their mean."""

    def __init__(
        self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False
    ) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return functional.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"lower={self.lower}, upper={self.upper}", self.inplace)


class Hardtanh(Module):
    """`nn.functional.hardtanh`: x clamped to [min_val, max_val].

    AssertionError unless max_val is greater than min_val.
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        if min_value is not None:
            _renamed("min")
            min_val = min_value
        if max_value is not None:
            _renamed("max")
            max_val = max_value
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace
        if self.max_val <= self.min_val:
            raise AssertionError(
                f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})"
            )

    def forward(self, input: Tensor) -> Tensor:
        return functional.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"min_val={self.min_val}, max_val={self.max_val}", self.inplace)


class ReLU6(Hardtanh):
    """`nn.functional.relu6`: x clamped to [0, 6]."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return _with_inplace("", self.inplace)


class Threshold(Module):
    """`nn.functional.threshold`: x above a threshold, else a value."""

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return functional.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return _with_inplace(f"threshold={self.threshold}, value={self.value}", self.inplace)


# --- Units that always make a new tensor --------------------------------------------------------


class GELU(Module):
    """`nn.functional.gelu`: x times the normal distribution function of x, or approximately."""

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return functional.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """`nn.functional.glu`: one half along a dimension times the sigmoid of the other half."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return functional.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Hardshrink(Module):
    """`nn.functional.hardshrink`: x, but 0 where |x| is at most lambd."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return functional.hardshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return f"{self.lambd}"


class Softshrink(Module):
    """`nn.functional.softshrink`: x moved towards 0 by lambd."""

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def forward(self, input: Tensor) -> Tensor:
        return functional.softshrink(input, self.lambd)

    def extra_repr(self) -> str:
        return str(self.lambd)


class Softplus(Module):
    """`nn.functional.softplus`: log(1 + e**(beta x)) / beta."""

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return functional.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class LogSigmoid(Module):
    """`nn.functional.logsigmoid`: log(sigmoid(x))."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.logsigmoid(input)


class Softsign(Module):
    """`nn.functional.softsign`: x / (1 + |x|)."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.softsign(input)


class Tanhshrink(Module):
    """`nn.functional.tanhshrink`: x - tanh(x)."""

    def forward(self, input: Tensor) -> Tensor:
        return functional.tanhshrink(input)


class Softmin(Module):
    """`nn.functional.softmin`: the softmax of -x along a dimension."""

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return functional.softmin(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax2d(Module):
    """The softmax over the channels of images (n, channels, height, width), or of one of them.

    ValueError for tensors of other dimensions.
    """

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(
                f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead"
            )
        return functional.softmax(input, -3)


class PReLU(Module):
    """`nn.functional.prelu`: x, and weight * x below 0; the weight is a parameter.

    weight: (num_parameters), one for all or one a channel; it starts as `init`.
    """

    def __init__(
        self,
        num_parameters: int = 1,
        init: float = 0.25,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        given = default_float() if dtype is None else as_numpy(dtype)
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(of_value(np.empty(num_parameters, given)))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to where it starts."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return functional.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"
