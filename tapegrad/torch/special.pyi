"""The namespace `torch.special`.

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

def airy_ai(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Airy function Ai."""
def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind, of order 0."""
def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind, of order 1."""
def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind, of order 0."""
def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind, of order 1."""
def chebyshev_polynomial_t(input: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomial t of degree n."""
def chebyshev_polynomial_u(input: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomial u of degree n."""
def chebyshev_polynomial_v(input: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomial v of degree n."""
def chebyshev_polynomial_w(input: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Chebyshev polynomial w of degree n."""
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma at each element."""
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`-x log(x)`, 0 at 0, and minus infinity below."""
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function of each element."""
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(x) of each element."""
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(x**2) erfc(x)`."""
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of erf of each element."""
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of each element."""
def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logistic function of each element, 1 / (1 + exp(-x))."""
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(x) - 1` of each element, exact to rounding near 0."""
def gammainc(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularized lower incomplete gamma function of a = input and x = other."""
def gammaincc(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The regularized upper incomplete gamma function of a = input and x = other."""
def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of abs(gamma(x)) of each element."""
def hermite_polynomial_h(input: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hermite polynomial h of degree n."""
def hermite_polynomial_he(input: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Hermite polynomial he of degree n."""
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(-|x|) i0(x)`."""
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind, of order 1."""
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(-|x|) i1(x)`."""
def laguerre_polynomial_l(input: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Laguerre polynomial l of degree n."""
def legendre_polynomial_p(input: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Legendre polynomial p of degree n."""
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`log(1 + x)` of each element, exact to rounding near 0."""
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of ndtr(x)."""
def log_softmax(
    input: Tensor, dim: _Sizes, dtype: _dtype | None = None, *, out: Tensor | None = None
) -> Tensor:
    """`log(softmax(x))`, without overflow."""
def logit(input: Tensor, eps: _float | None = None, *, out: Tensor | None = None) -> Tensor:
    """`log(x / (1 - x))`, NaN outside of [0, 1]; with eps, of x clamped to [eps, 1 - eps]."""
def logsumexp(
    input: Tensor, dim: _Sizes, keepdim: _bool = False, *, out: Tensor | None = None
) -> Tensor:
    """`log(sum(exp(x)))` along dimensions, without overflow."""
def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind, of order 0."""
def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind, of order 1."""
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind, of order 0."""
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind, of order 1."""
def multigammaln(input: Tensor, p: _int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the gamma function of dimension p; RuntimeError at most (p - 1) / 2."""
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The normal distribution's probability of at most x."""
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of ndtr."""
def polygamma(n: _int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of digamma."""
def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of lgamma at each element."""
def round(input: Tensor, *, decimals: _int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest number with so many decimals, halves to even; a derivative of 0."""
def scaled_modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(x) modified_bessel_k0(x)`."""
def scaled_modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`exp(x) modified_bessel_k1(x)`."""
def shifted_chebyshev_polynomial_t(
    input: Tensor, n: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """Shifted chebyshev polynomial t of degree n."""
def shifted_chebyshev_polynomial_u(
    input: Tensor, n: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """Shifted chebyshev polynomial u of degree n."""
def shifted_chebyshev_polynomial_v(
    input: Tensor, n: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """Shifted chebyshev polynomial v of degree n."""
def shifted_chebyshev_polynomial_w(
    input: Tensor, n: Tensor, *, out: Tensor | None = None
) -> Tensor:
    """Shifted chebyshev polynomial w of degree n."""
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sin(pi x) / (pi x)` of each element, and 1 at 0."""
def softmax(
    input: Tensor, dim: _Sizes, dtype: _dtype | None = None, *, out: Tensor | None = None
) -> Tensor:
    """`exp(x)` over its sum along a dimension."""
def spherical_bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """`sin(x) / x`, and 1 at 0."""
def xlog1py(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`x log(1 + y)`, and 0 where x is 0."""
def xlogy(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """`x * log(y)`, and 0 where x is 0."""
def zeta(input: Tensor, other: _Operand, *, out: Tensor | None = None) -> Tensor:
    """The Hurwitz zeta function: the sum of (k + q) ** -x over k >= 0."""
