"""The namespace `torch.fft`.

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

# A number of Python, what stands for a tensor beside one, and integers one a dimension.
_Number: TypeAlias = _int | _float | _bool | _complex
_Operand: TypeAlias = Tensor | _Number | np.ndarray[Any, Any] | np.generic
_Sizes: TypeAlias = _int | Sequence[_int]
_Device: TypeAlias = _device | _str | _int

def fft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Fourier transform along one axis."""
def fft2(
    input: Tensor,
    s: _Operand | None = None,
    dim: _Sizes = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Fourier transform along several axes."""
def fftfreq(
    n: _int,
    d: _float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """The frequencies (n,) of `fft` of n points at distance d, in cycles per unit of d."""
def fftn(
    input: Tensor,
    s: _Operand | None = None,
    dim: _Sizes | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Fourier transform along several axes."""
def fftshift(
    input: Tensor, dim: _Sizes | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The elements moved so that the frequency 0 is in the middle."""
def hfft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real transform of a Hermitian signal, given by its first half, along one axis."""
def hfft2(
    input: Tensor,
    s: _Operand | None = None,
    dim: _Sizes = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real transform of a Hermitian signal along several axes."""
def hfftn(
    input: Tensor,
    s: _Operand | None = None,
    dim: _Sizes | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real transform of a Hermitian signal along several axes."""
def ifft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `fft` along one axis."""
def ifft2(
    input: Tensor,
    s: _Operand | None = None,
    dim: _Sizes = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse transform along several axes."""
def ifftn(
    input: Tensor,
    s: _Operand | None = None,
    dim: _Sizes | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse transform along several axes."""
def ifftshift(
    input: Tensor, dim: _Sizes | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `fftshift`."""
def ihfft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `hfft` along one axis."""
def ihfft2(
    input: Tensor,
    s: _Operand | None = None,
    dim: _Sizes = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of the transform of a Hermitian signal along several axes."""
def ihfftn(
    input: Tensor,
    s: _Operand | None = None,
    dim: _Sizes | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of the transform of a Hermitian signal along several axes."""
def irfft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `rfft` along one axis."""
def irfft2(
    input: Tensor,
    s: _Operand | None = None,
    dim: _Sizes = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of the transform of real numbers along several axes."""
def irfftn(
    input: Tensor,
    s: _Operand | None = None,
    dim: _Sizes | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of the transform of real numbers along several axes."""
def rfft(
    input: Tensor,
    n: _int | None = None,
    dim: _int = -1,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The first half of `fft` of real numbers along one axis."""
def rfft2(
    input: Tensor,
    s: _Operand | None = None,
    dim: _Sizes = (-2, -1),
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Fourier transform of real numbers, half of the last axis, along several axes."""
def rfftfreq(
    n: _int,
    d: _float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """The frequencies (n // 2 + 1,) of `rfft` of n points at distance d."""
def rfftn(
    input: Tensor,
    s: _Operand | None = None,
    dim: _Sizes | None = None,
    norm: _str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The Fourier transform of real numbers, half of the last axis, along several axes."""
