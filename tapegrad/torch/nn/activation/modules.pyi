"""The layers of `tapegrad.torch.nn.activation`.

Written by docs/torch_stubs.py from what is there at run time: change that, not this.
"""

from builtins import bool as _bool, bytes as _bytes, complex as _complex, float as _float
from builtins import int as _int, str as _str, type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, Literal, NamedTuple, NoReturn, Self, TypeAlias, overload
import os

import numpy as np

from tapegrad.torch import return_types
from tapegrad.torch._dtypes import Size
from tapegrad.torch._dtypes import device as _device, dtype as _dtype
from tapegrad.torch._ops.create.generator import Generator
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.parameter import Parameter

# A number of Python, what stands for a tensor beside one, and integers one a dimension.
_Number: TypeAlias = _int | _float | _bool | _complex
_Operand: TypeAlias = Tensor | _Number | np.ndarray[Any, Any] | np.generic
_Sizes: TypeAlias = _int | Sequence[_int]
_Device: TypeAlias = _device | _str | _int


class ReLU(Module):
    """The maximum of 0 and each element."""

    inplace: _bool
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class SELU(Module):
    """ELU scaled so that it keeps mean 0 and variance 1."""

    inplace: _bool
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class SiLU(Module):
    """The unit `x * sigmoid(x)`."""

    inplace: _bool
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class Mish(Module):
    """The unit `x * tanh(softplus(x))`."""

    inplace: _bool
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class Hardsigmoid(Module):
    """The unit `x / 6 + 1 / 2`, clamped to 0 and 1."""

    inplace: _bool
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class Hardswish(Module):
    """The unit `x * hardsigmoid(x)`."""

    inplace: _bool
    def __init__(self, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class ELU(Module):
    """The unit x, and `alpha * (exp(x) - 1)` below 0."""

    alpha: _float
    inplace: _bool
    def __init__(self, alpha: _float = 1.0, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class CELU(Module):
    """The unit x, and `alpha * (exp(x / alpha) - 1)` below 0."""

    alpha: _float
    inplace: _bool
    def __init__(self, alpha: _float = 1.0, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class LeakyReLU(Module):
    """The unit x, and `negative_slope * x` below 0."""

    negative_slope: _float
    inplace: _bool
    def __init__(self, negative_slope: _float = 0.01, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class RReLU(Module):
    """The unit x with a slope below 0 that is drawn while training, else their mean."""

    lower: _float
    upper: _float
    inplace: _bool
    def __init__(
        self, lower: _float = 0.125, upper: _float = 0.3333333333333333, inplace: _bool = False
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class Threshold(Module):
    """The unit x above a threshold, else a value."""

    threshold: _float
    value: _float
    inplace: _bool
    def __init__(self, threshold: _float, value: _float, inplace: _bool = False) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class Hardtanh(Module):
    """The unit x, clamped."""

    min_val: _float
    max_val: _float
    inplace: _bool
    def __init__(
        self,
        min_val: _float = -1.0,
        max_val: _float = 1.0,
        inplace: _bool = False,
        min_value: _float | None = None,
        max_value: _float | None = None,
    ) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class ReLU6(Hardtanh):
    """The unit x, clamped to 0 and 6."""

    def __init__(self, inplace: _bool = False) -> None: ...

class Tanh(Module):
    """The hyperbolic tangent of each element."""

    def forward(self, input: Tensor) -> Tensor: ...

class Sigmoid(Module):
    """The logistic function of each element, `1 / (1 + exp(-x))`."""

    def forward(self, input: Tensor) -> Tensor: ...

class GELU(Module):
    """The unit x times the normal distribution function of x."""

    approximate: _str
    def __init__(self, approximate: _str = 'none') -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class GLU(Module):
    """One half along a dimension times the sigmoid of the other half."""

    dim: _int
    def __init__(self, dim: _int = -1) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class Hardshrink(Module):
    """The unit x, but 0 where `|x|` is at most `lambd`."""

    lambd: _float
    def __init__(self, lambd: _float = 0.5) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class Softshrink(Module):
    """The unit x, moved towards 0 by `lambd`."""

    lambd: _float
    def __init__(self, lambd: _float = 0.5) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class Softplus(Module):
    """The unit `log(1 + exp(beta * x)) / beta`."""

    beta: _float
    threshold: _float
    def __init__(self, beta: _float = 1.0, threshold: _float = 20.0) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class LogSigmoid(Module):
    """The logarithm of the sigmoid of each element."""

    def forward(self, input: Tensor) -> Tensor: ...

class Softsign(Module):
    """The unit `x / (1 + |x|)`."""

    def forward(self, input: Tensor) -> Tensor: ...

class Tanhshrink(Module):
    """The unit `x - tanh(x)`."""

    def forward(self, input: Tensor) -> Tensor: ...

class Softmax(Module):
    """Exponentials divided by their sum along a dimension."""

    dim: _int | None
    def __init__(self, dim: _int | None = None) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class LogSoftmax(Module):
    """The logarithm of Softmax, without its rounding."""

    dim: _int | None
    def __init__(self, dim: _int | None = None) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class Softmin(Module):
    """The softmax of -x along a dimension."""

    dim: _int | None
    def __init__(self, dim: _int | None = None) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class Softmax2d(Module):
    """The softmax over the channels of images (n, channels, height, width), or of one of them."""

    def forward(self, input: Tensor) -> Tensor: ...

class PReLU(Module):
    """The unit x, and `weight * x` below 0, where the weight is a parameter."""

    num_parameters: _int
    init: _float
    weight: Parameter
    def __init__(
        self,
        num_parameters: _int = 1,
        init: _float = 0.25,
        device: _Device | None = None,
        dtype: _dtype | None = None,
    ) -> None: ...
    def reset_parameters(self) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...
