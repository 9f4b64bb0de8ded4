"""The operators for type checkers and editors: what they make of a function's types.

Written by docs/namespace_stub.py, from docs/autograd_signatures.py: change those, not this.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, Concatenate, Generic, Literal, Never, overload, type_check_only

import numpy as np
from numpy.typing import NDArray

from tapegrad import _A, _B, _C, _P, _R, _S, _X, _Y, _Aux, _Number, _OfUfunc, _Transformed, _Ufunc
from tapegrad import checkpoint as checkpoint

__all__ = [
    "checkpoint",
    "deriv",
    "elementwise_grad",
    "grad",
    "grad_and_aux",
    "grad_named",
    "hessian",
    "hessian_tensor_product",
    "hessian_vector_product",
    "holomorphic_grad",
    "jacobian",
    "make_ggnvp",
    "make_hvp",
    "make_jvp",
    "make_jvp_reversemode",
    "make_vjp",
    "multigrad_dict",
    "tensor_jacobian_product",
    "value_and_grad",
    "vector_jacobian_product",
]

@type_check_only
class _Gradient(_Transformed[Concatenate[_A, _P], _A], Generic[_A, _P]):
    """A gradient by the first argument, whose type it has; integers count as floats.

    Of a function without types that is the type of what is passed: `Any` alone fits `Never`.
    """

    @overload  # type: ignore[override, unused-ignore]
    def __call__(
        self: _Gradient[int, _P], x: int, /, *args: _P.args, **kwargs: _P.kwargs
    ) -> np.float64: ...
    @overload
    def __call__(
        self: _Gradient[Never, _P], x: _S, /, *args: _P.args, **kwargs: _P.kwargs
    ) -> _S: ...
    @overload
    def __call__(self, x: _A, /, *args: _P.args, **kwargs: _P.kwargs) -> _A: ...

@type_check_only
class _ValueAndGradient(_Transformed[Concatenate[_A, _P], tuple[_R, _A]], Generic[_A, _P, _R]):
    """The same with the value."""

    @overload  # type: ignore[override, unused-ignore]
    def __call__(
        self: _ValueAndGradient[int, _P, _R], x: int, /, *args: _P.args, **kwargs: _P.kwargs
    ) -> tuple[_R, np.float64]: ...
    @overload
    def __call__(
        self: _ValueAndGradient[Never, _P, _R], x: _S, /, *args: _P.args, **kwargs: _P.kwargs
    ) -> tuple[_R, _S]: ...
    @overload
    def __call__(self, x: _A, /, *args: _P.args, **kwargs: _P.kwargs) -> tuple[_R, _A]: ...

@overload
def deriv(
    fun: Callable[Concatenate[_A, _P], _R],
    argnum: Literal[0] = 0,
) -> _Transformed[Concatenate[_A, _P], _R]: ...
@overload
def deriv(
    fun: Callable[Concatenate[_X, _A, _P], _R],
    argnum: Literal[1],
) -> _Transformed[Concatenate[_X, _A, _P], _R]: ...
@overload
def deriv(
    fun: Callable[Concatenate[_X, _Y, _A, _P], _R],
    argnum: Literal[2],
) -> _Transformed[Concatenate[_X, _Y, _A, _P], _R]: ...
@overload
def deriv(
    fun: Callable[Concatenate[_A, _P], _R],
    argnum: tuple[Literal[0]],
) -> _Transformed[Concatenate[_A, _P], _R]: ...
@overload
def deriv(
    fun: Callable[Concatenate[_A, _B, _P], _R],
    argnum: tuple[Literal[0], Literal[1]],
) -> _Transformed[Concatenate[_A, _B, _P], _R]: ...
@overload
def deriv(
    fun: Callable[Concatenate[_A, _B, _C, _P], _R],
    argnum: tuple[Literal[0], Literal[1], Literal[2]],
) -> _Transformed[Concatenate[_A, _B, _C, _P], _R]: ...
@overload
def deriv(
    fun: Callable[_P, _R],
    argnum: int | tuple[int, ...] | list[int],
) -> _Transformed[_P, _R]: ...
@overload
def elementwise_grad(  # type: ignore[overload-overlap, unused-ignore]
    fun: _Ufunc,
    argnum: Literal[0] = 0,
) -> _OfUfunc: ...
@overload
def elementwise_grad(  # type: ignore[overload-overlap, unused-ignore]
    fun: Callable[Concatenate[_A, _P], Any],
    argnum: Literal[0] = 0,
) -> _Gradient[_A, _P]: ...
@overload
def elementwise_grad(
    fun: Callable[Concatenate[_X, _A, _P], Any],
    argnum: Literal[1],
) -> _Transformed[Concatenate[_X, _A, _P], _A]: ...
@overload
def elementwise_grad(
    fun: Callable[Concatenate[_X, _Y, _A, _P], Any],
    argnum: Literal[2],
) -> _Transformed[Concatenate[_X, _Y, _A, _P], _A]: ...
@overload
def elementwise_grad(
    fun: Callable[Concatenate[_A, _P], Any],
    argnum: tuple[Literal[0]],
) -> _Transformed[Concatenate[_A, _P], tuple[_A]]: ...
@overload
def elementwise_grad(
    fun: Callable[Concatenate[_A, _B, _P], Any],
    argnum: tuple[Literal[0], Literal[1]],
) -> _Transformed[Concatenate[_A, _B, _P], tuple[_A, _B]]: ...
@overload
def elementwise_grad(
    fun: Callable[Concatenate[_A, _B, _C, _P], Any],
    argnum: tuple[Literal[0], Literal[1], Literal[2]],
) -> _Transformed[Concatenate[_A, _B, _C, _P], tuple[_A, _B, _C]]: ...
@overload
def elementwise_grad(
    fun: Callable[_P, Any],
    argnum: int | tuple[int, ...] | list[int],
) -> _Transformed[_P, Any]: ...
@overload
def grad(  # type: ignore[overload-overlap, unused-ignore]
    fun: _Ufunc,
    argnum: Literal[0] = 0,
) -> _OfUfunc: ...
@overload
def grad(  # type: ignore[overload-overlap, unused-ignore]
    fun: Callable[Concatenate[_A, _P], Any],
    argnum: Literal[0] = 0,
) -> _Gradient[_A, _P]: ...
@overload
def grad(
    fun: Callable[Concatenate[_X, _A, _P], Any],
    argnum: Literal[1],
) -> _Transformed[Concatenate[_X, _A, _P], _A]: ...
@overload
def grad(
    fun: Callable[Concatenate[_X, _Y, _A, _P], Any],
    argnum: Literal[2],
) -> _Transformed[Concatenate[_X, _Y, _A, _P], _A]: ...
@overload
def grad(
    fun: Callable[Concatenate[_A, _P], Any],
    argnum: tuple[Literal[0]],
) -> _Transformed[Concatenate[_A, _P], tuple[_A]]: ...
@overload
def grad(
    fun: Callable[Concatenate[_A, _B, _P], Any],
    argnum: tuple[Literal[0], Literal[1]],
) -> _Transformed[Concatenate[_A, _B, _P], tuple[_A, _B]]: ...
@overload
def grad(
    fun: Callable[Concatenate[_A, _B, _C, _P], Any],
    argnum: tuple[Literal[0], Literal[1], Literal[2]],
) -> _Transformed[Concatenate[_A, _B, _C, _P], tuple[_A, _B, _C]]: ...
@overload
def grad(
    fun: Callable[_P, Any],
    argnum: int | tuple[int, ...] | list[int],
) -> _Transformed[_P, Any]: ...
@overload
def grad_and_aux(
    fun: Callable[Concatenate[_A, _P], tuple[Any, _Aux]],
    argnum: Literal[0] = 0,
) -> _Transformed[Concatenate[_A, _P], tuple[_A, _Aux]]: ...
@overload
def grad_and_aux(
    fun: Callable[Concatenate[_X, _A, _P], tuple[Any, _Aux]],
    argnum: Literal[1],
) -> _Transformed[Concatenate[_X, _A, _P], tuple[_A, _Aux]]: ...
@overload
def grad_and_aux(
    fun: Callable[Concatenate[_X, _Y, _A, _P], tuple[Any, _Aux]],
    argnum: Literal[2],
) -> _Transformed[Concatenate[_X, _Y, _A, _P], tuple[_A, _Aux]]: ...
@overload
def grad_and_aux(
    fun: Callable[Concatenate[_A, _P], tuple[Any, _Aux]],
    argnum: tuple[Literal[0]],
) -> _Transformed[Concatenate[_A, _P], tuple[tuple[_A], _Aux]]: ...
@overload
def grad_and_aux(
    fun: Callable[Concatenate[_A, _B, _P], tuple[Any, _Aux]],
    argnum: tuple[Literal[0], Literal[1]],
) -> _Transformed[Concatenate[_A, _B, _P], tuple[tuple[_A, _B], _Aux]]: ...
@overload
def grad_and_aux(
    fun: Callable[Concatenate[_A, _B, _C, _P], tuple[Any, _Aux]],
    argnum: tuple[Literal[0], Literal[1], Literal[2]],
) -> _Transformed[Concatenate[_A, _B, _C, _P], tuple[tuple[_A, _B, _C], _Aux]]: ...
@overload
def grad_and_aux(
    fun: Callable[_P, tuple[Any, _Aux]],
    argnum: int | tuple[int, ...] | list[int],
) -> _Transformed[_P, tuple[Any, _Aux]]: ...
def grad_named(fun: Callable[_P, Any], argname: str) -> _Transformed[_P, Any]: ...
@overload
def hessian(
    fun: Callable[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], Any],
    argnum: Literal[0] = 0,
) -> _Transformed[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], NDArray[_Number]]: ...
@overload
def hessian(
    fun: Callable[Concatenate[float, _P], Any],
    argnum: Literal[0] = 0,
) -> _Transformed[Concatenate[float, _P], NDArray[np.float64]]: ...
@overload
def hessian(
    fun: Callable[_P, Any],
    argnum: int | tuple[int, ...] | list[int] = 0,
) -> _Transformed[_P, Any]: ...
@overload
def hessian_tensor_product(
    fun: Callable[Concatenate[_A, _P], Any],
    argnum: Literal[0] = 0,
) -> Callable[..., _A]: ...
@overload
def hessian_tensor_product(
    fun: Callable[Concatenate[_X, _A, _P], Any],
    argnum: Literal[1],
) -> Callable[..., _A]: ...
@overload
def hessian_tensor_product(
    fun: Callable[Concatenate[_X, _Y, _A, _P], Any],
    argnum: Literal[2],
) -> Callable[..., _A]: ...
@overload
def hessian_tensor_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]: ...
@overload
def holomorphic_grad(  # type: ignore[overload-overlap, unused-ignore]
    fun: _Ufunc,
    argnum: Literal[0] = 0,
) -> _OfUfunc: ...
@overload
def holomorphic_grad(
    fun: Callable[Concatenate[_A, _P], Any],
    argnum: Literal[0] = 0,
) -> _Transformed[Concatenate[_A, _P], _A]: ...
@overload
def holomorphic_grad(
    fun: Callable[Concatenate[_X, _A, _P], Any],
    argnum: Literal[1],
) -> _Transformed[Concatenate[_X, _A, _P], _A]: ...
@overload
def holomorphic_grad(
    fun: Callable[Concatenate[_X, _Y, _A, _P], Any],
    argnum: Literal[2],
) -> _Transformed[Concatenate[_X, _Y, _A, _P], _A]: ...
@overload
def holomorphic_grad(
    fun: Callable[Concatenate[_A, _P], Any],
    argnum: tuple[Literal[0]],
) -> _Transformed[Concatenate[_A, _P], tuple[_A]]: ...
@overload
def holomorphic_grad(
    fun: Callable[Concatenate[_A, _B, _P], Any],
    argnum: tuple[Literal[0], Literal[1]],
) -> _Transformed[Concatenate[_A, _B, _P], tuple[_A, _B]]: ...
@overload
def holomorphic_grad(
    fun: Callable[Concatenate[_A, _B, _C, _P], Any],
    argnum: tuple[Literal[0], Literal[1], Literal[2]],
) -> _Transformed[Concatenate[_A, _B, _C, _P], tuple[_A, _B, _C]]: ...
@overload
def holomorphic_grad(
    fun: Callable[_P, Any],
    argnum: int | tuple[int, ...] | list[int],
) -> _Transformed[_P, Any]: ...
@overload
def jacobian(  # type: ignore[overload-overlap, unused-ignore]
    fun: _Ufunc,
    argnum: Literal[0] = 0,
) -> Callable[..., NDArray[Any]]: ...
@overload
def jacobian(
    fun: Callable[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], NDArray[_Number] | _Number],
    argnum: Literal[0] = 0,
) -> _Transformed[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], NDArray[_Number]]: ...
@overload
def jacobian(
    fun: Callable[Concatenate[float, _P], NDArray[np.float64] | float],
    argnum: Literal[0] = 0,
) -> _Transformed[Concatenate[float, _P], NDArray[np.float64]]: ...
@overload
def jacobian(
    fun: Callable[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], float],
    argnum: Literal[0] = 0,
) -> _Transformed[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], NDArray[Any]]: ...
@overload
def jacobian(
    fun: Callable[_P, Any],
    argnum: int | tuple[int, ...] | list[int] = 0,
) -> _Transformed[_P, Any]: ...
@overload
def make_ggnvp(
    f: Callable[Concatenate[_A, _P], _R],
    g: Callable[[_R], Any] = ...,
    f_argnum: Literal[0] = 0,
) -> _Transformed[Concatenate[_A, _P], Callable[[_A], _A]]: ...
@overload
def make_ggnvp(
    f: Callable[_P, Any],
    g: Callable[[Any], Any] = ...,
    f_argnum: int | tuple[int, ...] | list[int] = 0,
) -> _Transformed[_P, Callable[[Any], Any]]: ...
@overload
def make_hvp(
    fun: Callable[Concatenate[_A, _P], Any],
    argnum: Literal[0] = 0,
) -> _Transformed[Concatenate[_A, _P], tuple[Callable[[_A], _A], _A]]: ...
@overload
def make_hvp(
    fun: Callable[Concatenate[_X, _A, _P], Any],
    argnum: Literal[1],
) -> _Transformed[Concatenate[_X, _A, _P], tuple[Callable[[_A], _A], _A]]: ...
@overload
def make_hvp(
    fun: Callable[Concatenate[_X, _Y, _A, _P], Any],
    argnum: Literal[2],
) -> _Transformed[Concatenate[_X, _Y, _A, _P], tuple[Callable[[_A], _A], _A]]: ...
@overload
def make_hvp(
    fun: Callable[_P, Any],
    argnum: int | tuple[int, ...] | list[int],
) -> _Transformed[_P, tuple[Callable[[Any], Any], Any]]: ...
@overload
def make_jvp(
    fun: Callable[Concatenate[_A, _P], _R],
    argnum: Literal[0] = 0,
) -> _Transformed[Concatenate[_A, _P], Callable[[_A], tuple[_R, _R]]]: ...
@overload
def make_jvp(
    fun: Callable[Concatenate[_X, _A, _P], _R],
    argnum: Literal[1],
) -> _Transformed[Concatenate[_X, _A, _P], Callable[[_A], tuple[_R, _R]]]: ...
@overload
def make_jvp(
    fun: Callable[Concatenate[_X, _Y, _A, _P], _R],
    argnum: Literal[2],
) -> _Transformed[Concatenate[_X, _Y, _A, _P], Callable[[_A], tuple[_R, _R]]]: ...
@overload
def make_jvp(
    fun: Callable[Concatenate[_A, _P], _R],
    argnum: tuple[Literal[0]],
) -> _Transformed[Concatenate[_A, _P], Callable[[tuple[_A]], tuple[_R, _R]]]: ...
@overload
def make_jvp(
    fun: Callable[Concatenate[_A, _B, _P], _R],
    argnum: tuple[Literal[0], Literal[1]],
) -> _Transformed[Concatenate[_A, _B, _P], Callable[[tuple[_A, _B]], tuple[_R, _R]]]: ...
@overload
def make_jvp(
    fun: Callable[Concatenate[_A, _B, _C, _P], _R],
    argnum: tuple[Literal[0], Literal[1], Literal[2]],
) -> _Transformed[Concatenate[_A, _B, _C, _P], Callable[[tuple[_A, _B, _C]], tuple[_R, _R]]]: ...
@overload
def make_jvp(
    fun: Callable[_P, _R],
    argnum: int | tuple[int, ...] | list[int],
) -> _Transformed[_P, Callable[[Any], tuple[_R, _R]]]: ...
@overload
def make_jvp_reversemode(
    fun: Callable[Concatenate[_A, _P], NDArray[_Number]],
    argnum: Literal[0] = 0,
) -> _Transformed[Concatenate[_A, _P], Callable[[_A], NDArray[_Number]]]: ...
@overload
def make_jvp_reversemode(
    fun: Callable[Concatenate[_X, _A, _P], NDArray[_Number]],
    argnum: Literal[1],
) -> _Transformed[Concatenate[_X, _A, _P], Callable[[_A], NDArray[_Number]]]: ...
@overload
def make_jvp_reversemode(
    fun: Callable[Concatenate[_X, _Y, _A, _P], NDArray[_Number]],
    argnum: Literal[2],
) -> _Transformed[Concatenate[_X, _Y, _A, _P], Callable[[_A], NDArray[_Number]]]: ...
@overload
def make_jvp_reversemode(
    fun: Callable[_P, Any],
    argnum: int | tuple[int, ...] | list[int],
) -> _Transformed[_P, Callable[[Any], Any]]: ...
@overload
def make_vjp(
    fun: Callable[Concatenate[_A, _P], _R],
    argnum: Literal[0] = 0,
) -> _Transformed[Concatenate[_A, _P], tuple[Callable[[_R], _A], _R]]: ...
@overload
def make_vjp(
    fun: Callable[Concatenate[_X, _A, _P], _R],
    argnum: Literal[1],
) -> _Transformed[Concatenate[_X, _A, _P], tuple[Callable[[_R], _A], _R]]: ...
@overload
def make_vjp(
    fun: Callable[Concatenate[_X, _Y, _A, _P], _R],
    argnum: Literal[2],
) -> _Transformed[Concatenate[_X, _Y, _A, _P], tuple[Callable[[_R], _A], _R]]: ...
@overload
def make_vjp(
    fun: Callable[Concatenate[_A, _P], _R],
    argnum: tuple[Literal[0]],
) -> _Transformed[Concatenate[_A, _P], tuple[Callable[[_R], tuple[_A]], _R]]: ...
@overload
def make_vjp(
    fun: Callable[Concatenate[_A, _B, _P], _R],
    argnum: tuple[Literal[0], Literal[1]],
) -> _Transformed[Concatenate[_A, _B, _P], tuple[Callable[[_R], tuple[_A, _B]], _R]]: ...
@overload
def make_vjp(
    fun: Callable[Concatenate[_A, _B, _C, _P], _R],
    argnum: tuple[Literal[0], Literal[1], Literal[2]],
) -> _Transformed[Concatenate[_A, _B, _C, _P], tuple[Callable[[_R], tuple[_A, _B, _C]], _R]]: ...
@overload
def make_vjp(
    fun: Callable[_P, _R],
    argnum: int | tuple[int, ...] | list[int],
) -> _Transformed[_P, tuple[Callable[[_R], Any], _R]]: ...
def multigrad_dict(fun: Callable[_P, Any]) -> _Transformed[_P, OrderedDict[str, Any]]: ...
@overload
def tensor_jacobian_product(
    fun: Callable[Concatenate[np.ndarray[Any, Any], _P], Any],
    argnum: Literal[0] = 0,
) -> Callable[..., NDArray[Any]]: ...
@overload
def tensor_jacobian_product(
    fun: Callable[Concatenate[float, _P], Any],
    argnum: Literal[0] = 0,
) -> Callable[..., NDArray[Any]]: ...
@overload
def tensor_jacobian_product(fun: Callable[..., Any], argnum: int = 0) -> Callable[..., Any]: ...
@overload
def value_and_grad(  # type: ignore[overload-overlap, unused-ignore]
    fun: Callable[Concatenate[_A, _P], _R],
    argnum: Literal[0] = 0,
) -> _ValueAndGradient[_A, _P, _R]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[_X, _A, _P], _R],
    argnum: Literal[1],
) -> _Transformed[Concatenate[_X, _A, _P], tuple[_R, _A]]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[_X, _Y, _A, _P], _R],
    argnum: Literal[2],
) -> _Transformed[Concatenate[_X, _Y, _A, _P], tuple[_R, _A]]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[_A, _P], _R],
    argnum: tuple[Literal[0]],
) -> _Transformed[Concatenate[_A, _P], tuple[_R, tuple[_A]]]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[_A, _B, _P], _R],
    argnum: tuple[Literal[0], Literal[1]],
) -> _Transformed[Concatenate[_A, _B, _P], tuple[_R, tuple[_A, _B]]]: ...
@overload
def value_and_grad(
    fun: Callable[Concatenate[_A, _B, _C, _P], _R],
    argnum: tuple[Literal[0], Literal[1], Literal[2]],
) -> _Transformed[Concatenate[_A, _B, _C, _P], tuple[_R, tuple[_A, _B, _C]]]: ...
@overload
def value_and_grad(
    fun: Callable[_P, _R],
    argnum: int | tuple[int, ...] | list[int],
) -> _Transformed[_P, tuple[_R, Any]]: ...

hessian_vector_product = hessian_tensor_product
vector_jacobian_product = tensor_jacobian_product
