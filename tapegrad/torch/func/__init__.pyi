"""The namespace `torch.func`.

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

from typing import Concatenate, ParamSpec, Protocol, TypeVar
from tapegrad._transforms.chunks import ChunkSize

P = ParamSpec("P")
A = TypeVar("A", bound=Any)  # which lets the body of a lambda do anything with it
B = TypeVar("B", bound=Any)
R = TypeVar("R")
Aux = TypeVar("Aux")
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)

class _Gradient(Protocol[A, P]):
    # A class, since mypy takes the gradient of a lambda for a function without types.
    def __call__(self, x: A, /, *args: P.args, **kwargs: P.kwargs) -> A: ...

class _HasForward(Protocol[Result_co]):
    @property
    def forward(self) -> Callable[..., Result_co]: ...
@overload
def functional_call(
    module: _HasForward[Result_co],
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[_str, Any] | None = None,
    *,
    tie_weights: _bool = True,
    strict: _bool = False,
) -> Result_co: ...
@overload
def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[_str, Any] | None = None,
    *,
    tie_weights: _bool = True,
    strict: _bool = False,
) -> Any:
    """Call a module with other tensors in the places of its parameters and buffers."""
@overload
def grad(
    func: Callable[Concatenate[A, P], R],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
) -> _Gradient[A, P]: ...
@overload
def grad(
    func: Callable[Concatenate[A, P], tuple[R, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
) -> Callable[Concatenate[A, P], tuple[A, Aux]]: ...
@overload
def grad(
    func: Callable[P, Any], argnums: _int | tuple[_int, ...] = 0, has_aux: _bool = False
) -> Callable[P, Any]:
    """The gradient of a function that returns a 0-d tensor."""
@overload
def grad_and_value(
    func: Callable[Concatenate[A, P], R],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
) -> Callable[Concatenate[A, P], tuple[A, R]]: ...
@overload
def grad_and_value(
    func: Callable[Concatenate[A, P], tuple[R, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
) -> Callable[Concatenate[A, P], tuple[A, tuple[R, Aux]]]: ...
@overload
def grad_and_value(
    func: Callable[P, Any], argnums: _int | tuple[_int, ...] = 0, has_aux: _bool = False
) -> Callable[P, Any]:
    """The gradient of a function that returns a 0-d tensor, and its value."""
@overload
def hessian(
    func: Callable[Concatenate[Tensor, P], Tensor], argnums: Literal[0] = 0
) -> Callable[Concatenate[Tensor, P], Tensor]: ...
@overload
def hessian(func: Callable[P, Any], argnums: _int | tuple[_int, ...] = 0) -> Callable[P, Any]:
    """The Hessian, forward over reverse: of shape `out.shape + argument.shape * 2`."""
@overload
def jacfwd(
    func: Callable[Concatenate[Tensor, P], Tensor],
    argnums: Literal[0] = 0,
    has_aux: Literal[False] = False,
    *,
    randomness: _str = "error",
) -> Callable[Concatenate[Tensor, P], Tensor]: ...
@overload
def jacfwd(
    func: Callable[Concatenate[Tensor, P], tuple[Tensor, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    randomness: _str = "error",
) -> Callable[Concatenate[Tensor, P], tuple[Tensor, Aux]]: ...
@overload
def jacfwd(
    func: Callable[P, Any],
    argnums: _int | tuple[_int, ...] = 0,
    has_aux: _bool = False,
    *,
    randomness: _str = "error",
) -> Callable[P, Any]:
    """The Jacobian in forward mode: of shape `out.shape + argument.shape`, of real numbers."""
@overload
def jacrev(
    func: Callable[Concatenate[Tensor, P], Tensor],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[False] = False,
    chunk_size: ChunkSize = None,
) -> Callable[Concatenate[Tensor, P], Tensor]: ...
@overload
def jacrev(
    func: Callable[Concatenate[Tensor, P], tuple[Tensor, Aux]],
    argnums: Literal[0] = 0,
    *,
    has_aux: Literal[True],
    chunk_size: ChunkSize = None,
) -> Callable[Concatenate[Tensor, P], tuple[Tensor, Aux]]: ...
@overload
def jacrev(
    func: Callable[P, Any],
    argnums: _int | tuple[_int, ...] = 0,
    *,
    has_aux: _bool = False,
    chunk_size: ChunkSize = None,
) -> Callable[P, Any]:
    """The Jacobian in reverse mode: of shape `out.shape + argument.shape`, of real numbers."""
@overload
def jvp(
    func: Callable[[A], R],
    primals: tuple[A],
    tangents: tuple[A],
    *,
    strict: _bool = False,
    has_aux: Literal[False] = False,
) -> tuple[R, R]: ...
@overload
def jvp(
    func: Callable[..., R],
    primals: Any,
    tangents: Any,
    *,
    strict: _bool = False,
    has_aux: Literal[False] = False,
) -> tuple[R, R]: ...
@overload
def jvp(
    func: Callable[..., tuple[R, Aux]],
    primals: Any,
    tangents: Any,
    *,
    strict: _bool = False,
    has_aux: Literal[True],
) -> tuple[R, R, Aux]: ...
@overload
def jvp(
    func: Callable[..., Any],
    primals: Any,
    tangents: Any,
    *,
    strict: _bool = False,
    has_aux: _bool = False,
) -> tuple[Any, ...]:
    """The value of a function, and its derivative in one direction, in forward mode."""
@overload
def linearize(func: Callable[[A], R], *primals: *tuple[A]) -> tuple[R, Callable[[A], R]]: ...
@overload
def linearize(func: Callable[..., R], *primals: Any) -> tuple[R, Callable[..., R]]:
    """The value of a function, and its derivative as a function of the direction."""
def stack_module_state(models: Sequence[Any]) -> tuple[dict[_str, Any], dict[_str, Any]]:
    """The parameters and buffers of several modules of one kind, stacked along a new dimension."""
@overload
def vjp(
    func: Callable[[A], R], *primals: *tuple[A], has_aux: Literal[False] = False
) -> tuple[R, Callable[..., tuple[A]]]: ...
@overload
def vjp(
    func: Callable[[A, B], R], *primals: *tuple[A, B], has_aux: Literal[False] = False
) -> tuple[R, Callable[..., tuple[A, B]]]: ...
@overload
def vjp(
    func: Callable[[A], tuple[R, Aux]], *primals: *tuple[A], has_aux: Literal[True]
) -> tuple[R, Callable[..., tuple[A]], Aux]: ...
@overload
def vjp(
    func: Callable[..., R], *primals: Any, has_aux: Literal[False] = False
) -> tuple[R, Callable[..., tuple[Any, ...]]]: ...
@overload
def vjp(
    func: Callable[..., tuple[R, Aux]], *primals: Any, has_aux: Literal[True]
) -> tuple[R, Callable[..., tuple[Any, ...]], Aux]: ...
@overload
def vjp(func: Callable[..., Any], *primals: Any, has_aux: _bool = False) -> tuple[Any, ...]:
    """The value of a function, and its derivative in reverse mode."""
def vmap(
    func: Callable[Parameters, Result],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: _str = 'error',
    *,
    chunk_size: ChunkSize | None = None,
) -> Callable[Parameters, Result]:
    """Apply a function of one example to many, along a dimension of the tensors given."""
