"""The layers of `tapegrad.torch.nn.distance`.

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


class CosineSimilarity(Module):
    """The cosines of the angles between vectors along a dimension."""

    dim: _int
    eps: _float
    def __init__(self, dim: _int = 1, eps: _float = 1e-08) -> None: ...
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor: ...

class PairwiseDistance(Module):
    """The norms of differences along the last dimension."""

    p: _float
    eps: _float
    keepdim: _bool
    def __init__(self, p: _float = 2.0, eps: _float = 1e-06, keepdim: _bool = False) -> None: ...
    def forward(self, x1: Tensor, x2: Tensor) -> Tensor: ...
