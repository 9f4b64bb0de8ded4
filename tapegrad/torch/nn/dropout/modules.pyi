"""The layers of `tapegrad.torch.nn.dropout`.

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


class _DropoutNd(Module):
    p: _float
    inplace: _bool
    def __init__(self, p: _float = 0.5, inplace: _bool = False) -> None: ...

class Dropout(_DropoutNd):
    """Elements set to 0 at random while training, with the others scaled."""

    def forward(self, input: Tensor) -> Tensor: ...

class Dropout1d(_DropoutNd):
    """Whole channels of signals set to 0 at random while training."""

    def forward(self, input: Tensor) -> Tensor: ...

class Dropout2d(_DropoutNd):
    """Whole channels of images set to 0 at random while training."""

    def forward(self, input: Tensor) -> Tensor: ...

class Dropout3d(_DropoutNd):
    """Whole channels of volumes set to 0 at random while training."""

    def forward(self, input: Tensor) -> Tensor: ...

class AlphaDropout(_DropoutNd):
    """Dropout while training that keeps mean 0 and variance 1, for networks with selu."""

    def forward(self, input: Tensor) -> Tensor: ...

class FeatureAlphaDropout(_DropoutNd):
    """As `AlphaDropout`, of whole channels."""

    def forward(self, input: Tensor) -> Tensor: ...
