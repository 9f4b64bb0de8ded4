"""The layers of `tapegrad.torch.nn.padding`.

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


class _Padding(Module):
    padding: _int | Iterable[_int]
    _dims: _int
    _mode: _str
    def __init__(self, padding: _int | Iterable[_int]) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class _ConstantPad(_Padding):
    value: _float
    def __init__(self, padding: _int | Iterable[_int], value: _float) -> None: ...
    def forward(self, input: Tensor) -> Tensor: ...

class ConstantPad1d(_ConstantPad):
    """A value before and after the last dimension."""

class ConstantPad2d(_ConstantPad):
    """A value around images."""

class ConstantPad3d(_ConstantPad):
    """A value around volumes."""

class _ZeroPad(_ConstantPad):
    def __init__(self, padding: _int | Iterable[_int]) -> None: ...

class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """Zeros before and after the last dimension."""

class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """Zeros around images."""

class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """Zeros around volumes."""

class _ReflectionPad(_Padding):
    ...

class ReflectionPad1d(_ReflectionPad):
    """Elements mirrored at the first and the last, which are not repeated."""

class ReflectionPad2d(_ReflectionPad):
    """Images mirrored at their borders, which are not repeated."""

class ReflectionPad3d(_ReflectionPad):
    """Volumes mirrored at their borders, which are not repeated."""

class _ReplicationPad(_Padding):
    ...

class ReplicationPad1d(_ReplicationPad):
    """The first and the last element repeated."""

class ReplicationPad2d(_ReplicationPad):
    """The borders of images repeated."""

class ReplicationPad3d(_ReplicationPad):
    """The borders of volumes repeated."""

class _CircularPad(_Padding):
    def forward(self, input: Tensor) -> Tensor: ...

class CircularPad1d(_CircularPad):
    """Elements from the other end before the first and after the last."""

class CircularPad2d(_CircularPad):
    """Elements from the opposite borders around images."""

class CircularPad3d(_CircularPad):
    """Elements from the opposite borders around volumes."""
