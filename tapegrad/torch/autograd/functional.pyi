"""The namespace `torch.autograd.functional`.

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

from typing import TypeVar

In = TypeVar("In")  # a tensor or a tuple of tensors, which the gradients are, too
Out = TypeVar("Out")
@overload
def hessian(
    func: Callable[[Tensor], Tensor],
    inputs: Tensor,
    create_graph: _bool = False,
    strict: _bool = False,
    vectorize: _bool = False,
    outer_jacobian_strategy: _str = "reverse-mode",
) -> Tensor: ...
@overload
def hessian(
    func: Callable[..., Tensor],
    inputs: tuple[Tensor, ...],
    create_graph: _bool = False,
    strict: _bool = False,
    vectorize: _bool = False,
    outer_jacobian_strategy: _str = "reverse-mode",
) -> tuple[tuple[Tensor, ...], ...]: ...
@overload
def hessian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: _bool = False,
    strict: _bool = False,
    vectorize: _bool = False,
    outer_jacobian_strategy: _str = "reverse-mode",
) -> Any:
    """The Hessian of a scalar function: a tensor of shape `input.shape + input.shape`."""
def hvp(
    func: Callable[..., Tensor],
    inputs: In,
    v: Any = None,
    create_graph: _bool = False,
    strict: _bool = False,
) -> tuple[Tensor, In]:
    """The value of a scalar function, and the product of its Hessian and a vector v."""
@overload
def jacobian(
    func: Callable[[Tensor], Tensor],
    inputs: Tensor,
    create_graph: _bool = False,
    strict: _bool = False,
    vectorize: _bool = False,
    strategy: _str = "reverse-mode",
) -> Tensor: ...
@overload
def jacobian(
    func: Callable[..., Tensor],
    inputs: tuple[Tensor, ...],
    create_graph: _bool = False,
    strict: _bool = False,
    vectorize: _bool = False,
    strategy: _str = "reverse-mode",
) -> tuple[Tensor, ...]: ...
@overload
def jacobian(
    func: Callable[[Tensor], tuple[Tensor, ...]],
    inputs: Tensor,
    create_graph: _bool = False,
    strict: _bool = False,
    vectorize: _bool = False,
    strategy: _str = "reverse-mode",
) -> tuple[Tensor, ...]: ...
@overload
def jacobian(
    func: Callable[..., tuple[Tensor, ...]],
    inputs: tuple[Tensor, ...],
    create_graph: _bool = False,
    strict: _bool = False,
    vectorize: _bool = False,
    strategy: _str = "reverse-mode",
) -> tuple[tuple[Tensor, ...], ...]: ...
@overload
def jacobian(
    func: Callable[..., Any],
    inputs: Any,
    create_graph: _bool = False,
    strict: _bool = False,
    vectorize: _bool = False,
    strategy: _str = "reverse-mode",
) -> Any:
    """The Jacobian: for each output and input a tensor of shape `out.shape + input.shape`."""
def jvp(
    func: Callable[..., Out],
    inputs: In,
    v: Any = None,
    create_graph: _bool = False,
    strict: _bool = False,
) -> tuple[Out, Out]:
    """The value, and the product of the Jacobian and a vector v."""
def vhp(
    func: Callable[..., Tensor],
    inputs: In,
    v: Any = None,
    create_graph: _bool = False,
    strict: _bool = False,
) -> tuple[Tensor, In]:
    """The value of a scalar function, and the product of a vector v and its Hessian."""
def vjp(
    func: Callable[..., Out],
    inputs: In,
    v: Any = None,
    create_graph: _bool = False,
    strict: _bool = False,
) -> tuple[Out, In]:
    """The value, and the product of a vector v and the Jacobian."""
