"""The namespace `torch.special`.

Written by docs/torch_stubs.py from what is there at run time: change that, not this.
"""

from builtins import bool as _bool, bytes as _bytes, complex as _complex, float as _float
from builtins import int as _int, str as _str, type as _type
from collections.abc import Callable, Iterator, Sequence
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

def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(x)."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of erf."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Elementwise exp2."""
def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-x))."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Elementwise expm1."""
def gammainc(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularized lower incomplete gamma function of a = input and x = other."""
def gammaincc(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularized upper incomplete gamma function of a = input and x = other."""
def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of |gamma(x)|."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Elementwise log1p."""
def log_softmax(
    input: Tensor, dim: _Sizes, dtype: _dtype | None = None, *, out: Tensor | None = None
) -> Tensor:
    """log(softmax(x)), without overflow."""
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(x / (1 - x)); with eps, of x clamped to [eps, 1 - eps]."""
def logsumexp(
    input: Tensor, dim: _Sizes, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """log(sum(exp(x))) along dimensions, without overflow."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of digamma."""
def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma."""
def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest number with so many decimals, halves to even; a derivative of 0."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(pi x) / (pi x), and 1 at 0."""
def softmax(
    input: Tensor, dim: _Sizes, dtype: _dtype | None = None, *, out: Tensor | None = None
) -> Tensor:
    """exp(x) over its sum along a dimension."""
def xlogy(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """x * log(y), and 0 where x is 0."""
