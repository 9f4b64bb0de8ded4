"""The namespace `torch.signal.windows`.

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

def bartlett(
    M: _int,
    *,
    sym: _bool = True,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """A triangle, 0 at both ends."""
def blackman(
    M: _int,
    *,
    sym: _bool = True,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Three cosines: 0.42 - 0.5 cos(x) + 0.08 cos(2 x)."""
def cosine(
    M: _int,
    *,
    sym: _bool = True,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Half of a wave of the sine."""
def exponential(
    M: _int,
    *,
    center: _float | None = None,
    tau: _float = 1.0,
    sym: _bool = True,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """An exponential that falls off from a center."""
def gaussian(
    M: _int,
    *,
    std: _float = 1.0,
    sym: _bool = True,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """The density of a normal distribution, 1 in the middle."""
def general_cosine(
    M: _int,
    *,
    a: Iterable[_float],
    sym: _bool = True,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Cosines with factors: a[0] - a[1] cos(x) + a[2] cos(2 x) - ..."""
def general_hamming(
    M: _int,
    *,
    alpha: _float = 0.54,
    sym: _bool = True,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """One cosine: alpha - (1 - alpha) cos(x)."""
def hamming(
    M: _int,
    *,
    sym: _bool = True,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """One cosine: 0.54 - 0.46 cos(x)."""
def hann(
    M: _int,
    *,
    sym: _bool = True,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """One cosine: (1 - cos(x)) / 2."""
def kaiser(
    M: _int,
    *,
    beta: _float = 12.0,
    sym: _bool = True,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """A Bessel function of a half circle, with nearly all of its energy in the main lobe."""
def nuttall(
    M: _int,
    *,
    sym: _bool = True,
    dtype: _dtype | None = None,
    layout: Any = None,
    device: _Device | None = None,
    requires_grad: _bool = False,
) -> Tensor:
    """Four cosines, whose side lobes are low."""
