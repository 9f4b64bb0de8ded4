"""The namespace for type checkers and editors: what the transforms make of a function's types.

Written by docs/namespace_stub.py, from `__init__.py` and docs/namespace_signatures.py: change
those, not this. The package itself is checked without it: inside, a function is any callable.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import (
    Any,
    Concatenate,
    Generic,
    Literal,
    Never,
    ParamSpec,
    Self,
    TypeAlias,
    TypeVar,
    TypeVarTuple,
    overload,
    type_check_only,
)

import numpy as np
from numpy.typing import NDArray

from tapegrad import autograd as autograd
from tapegrad import cmath as cmath
from tapegrad import dask as dask
from tapegrad import implicit as implicit
from tapegrad import math as math
from tapegrad import numpy as numpy
from tapegrad import optimize as optimize
from tapegrad import rules as rules
from tapegrad import scipy as scipy
from tapegrad import sparse as sparse
from tapegrad import testing as testing
from tapegrad import torch as torch
from tapegrad import tree as tree
from tapegrad._adopt.adoption import AdoptWarning as AdoptWarning
from tapegrad._adopt.adoption import adopt as adopt
from tapegrad._arrays.traced import Array as Array
from tapegrad._compile.compiled import Backend
from tapegrad._config import config as config
from tapegrad._core.forms import composite as composite
from tapegrad._core.forms import constant as constant
from tapegrad._core.forms import elementwise as elementwise
from tapegrad._core.forms import general as general
from tapegrad._core.forms import linear as linear
from tapegrad._core.forms import multilinear as multilinear
from tapegrad._core.forms import unsupported as unsupported
from tapegrad._errors import BatchingError as BatchingError
from tapegrad._errors import ChangedConstantError as ChangedConstantError
from tapegrad._errors import ConversionError as ConversionError
from tapegrad._errors import ConversionWarning as ConversionWarning
from tapegrad._errors import EagerWarning as EagerWarning
from tapegrad._errors import ExactTieWarning as ExactTieWarning
from tapegrad._errors import InputError as InputError
from tapegrad._errors import LeakedValueError as LeakedValueError
from tapegrad._errors import MissingRuleError as MissingRuleError
from tapegrad._errors import NonFiniteError as NonFiniteError
from tapegrad._errors import NotDifferentiableError as NotDifferentiableError
from tapegrad._errors import OutOfMemoryError as OutOfMemoryError
from tapegrad._errors import OutputError as OutputError
from tapegrad._errors import RuleError as RuleError
from tapegrad._errors import ShapeMismatchError as ShapeMismatchError
from tapegrad._errors import StaleProgramError as StaleProgramError
from tapegrad._errors import TapegradError as TapegradError
from tapegrad._look.memory import MemoryReport as MemoryReport
from tapegrad._look.memory import memory_report as memory_report
from tapegrad._look.nan_search import debug_nans as debug_nans
from tapegrad._look.profile import Profile as Profile
from tapegrad._look.profile import profile as profile
from tapegrad._look.view import TapeView as TapeView
from tapegrad._look.view import tape as tape
from tapegrad._progress import Progress
from tapegrad._transforms.chunks import ChunkSize
from tapegrad._transforms.reverse import IndependentOutputWarning as IndependentOutputWarning
from tapegrad._tree import register as register_pytree
from tapegrad.scipy._kinds import Elementwise

__version__: str

__all__ = [
    "AdoptWarning",
    "Array",
    "BatchingError",
    "ChangedConstantError",
    "ConversionError",
    "ConversionWarning",
    "EagerWarning",
    "ExactTieWarning",
    "IndependentOutputWarning",
    "InputError",
    "LeakedValueError",
    "MemoryReport",
    "MissingRuleError",
    "NonFiniteError",
    "NotDifferentiableError",
    "OutOfMemoryError",
    "OutputError",
    "Profile",
    "RuleError",
    "ShapeMismatchError",
    "StaleProgramError",
    "TapeView",
    "TapegradError",
    "adopt",
    "checkpoint",
    "checkpoint_sequence",
    "compile",
    "composite",
    "config",
    "constant",
    "custom_jvp",
    "custom_vjp",
    "debug_nans",
    "elementwise",
    "elementwise_grad",
    "general",
    "ggnvp",
    "grad",
    "hessian",
    "hvp",
    "jacfwd",
    "jacobian",
    "jacrev",
    "jvp",
    "linear",
    "linear_transpose",
    "linearize",
    "memory_report",
    "multilinear",
    "primitive",
    "profile",
    "register_pytree",
    "rules",
    "stop_gradient",
    "tape",
    "unsupported",
    "value_and_grad",
    "vhp",
    "vjp",
    "vmap",
]

# The bound lets a lambda's body do anything with its parameters, of which no types are known.
_A = TypeVar("_A", bound=Any)
_B = TypeVar("_B", bound=Any)
_C = TypeVar("_C", bound=Any)
_X = TypeVar("_X", bound=Any)
_Y = TypeVar("_Y", bound=Any)
_S = TypeVar("_S")
_R = TypeVar("_R")
_Aux = TypeVar("_Aux")
_F = TypeVar("_F", bound=Callable[..., Any])
_P = ParamSpec("_P")
_Q = ParamSpec("_Q")
_Args = TypeVarTuple("_Args")
_Number = TypeVar("_Number", bound=np.generic)
_Key = TypeVar("_Key")
_U = TypeVar("_U", bound=_Ufunc)

_Ufunc: TypeAlias = np.ufunc | _OfUfunc | Elementwise
_Argnames: TypeAlias = str | Sequence[str]
# Primals of other counts.
_Many: TypeAlias = list[Any] | tuple[Any, Any, Any, Any, *tuple[Any, ...]]

@type_check_only
class _Transformed(Generic[_P, _R]):
    """A function as a transform returns it: called as its parameters say, a method in a class."""

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: _Transformed[Concatenate[Any, _Q], _R], instance: object, owner: type | None = None
    ) -> Callable[_Q, _R]: ...

@type_check_only
class _Gradient(Generic[_A, _P]):
    """A gradient by the first argument, whose type it has.

    Of a function without types that is the type of what is passed: `Any` alone fits `Never`.
    """

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]

    @overload
    def __call__(
        self: _Gradient[Never, _P], x: _S, /, *args: _P.args, **kwargs: _P.kwargs
    ) -> _S: ...
    @overload
    def __call__(self, x: _A, /, *args: _P.args, **kwargs: _P.kwargs) -> _A: ...
    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Callable[_P, _A]: ...

@type_check_only
class _ValueAndGradient(Generic[_A, _P, _R]):
    """The same with the value."""

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]

    @overload
    def __call__(
        self: _ValueAndGradient[Never, _P, _R], x: _S, /, *args: _P.args, **kwargs: _P.kwargs
    ) -> tuple[_R, _S]: ...
    @overload
    def __call__(self, x: _A, /, *args: _P.args, **kwargs: _P.kwargs) -> tuple[_R, _A]: ...
    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self, instance: object, owner: type | None = None
    ) -> Callable[_P, tuple[_R, _A]]: ...

@type_check_only
class _Compiled(_Transformed[_P, _R]):
    def program(self, *args: _P.args, **kwargs: _P.kwargs) -> str: ...
    def source(self, *args: _P.args, **kwargs: _P.kwargs) -> str: ...
    def explain(self) -> str: ...
    def prepare(self, *args: _P.args, **kwargs: _P.kwargs) -> _Compiled[_P, _R]: ...
    def wait(self, timeout: float | None = None) -> bool: ...

@type_check_only
class _Mapped(Generic[_P, _R]):
    """A function of examples, with the parameters of one.

    Arguments have an axis more than those of one example, for which a number became an array.
    """

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]

    @overload
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @overload
    def __call__(self, *args: Any, **kwargs: Any) -> _R: ...
    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type | None = None) -> Callable[..., _R]: ...

@type_check_only
class _OfUfunc:
    """A derivative of one of NumPy's ufuncs by its first argument, whose type it has."""

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]

    def __call__(self, x: _A, /, *args: Any, **kwargs: Any) -> _A: ...

@type_check_only
class _Custom(Generic[_P, _R]):
    __name__: str
    __qualname__: str
    __wrapped__: Callable[_P, _R]
    function: Callable[_P, _R]

    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: _Custom[Concatenate[Any, _Q], _R], instance: object, owner: type | None = None
    ) -> Callable[_Q, _R]: ...

class custom_vjp(_Custom[_P, _R]):
    nondiff_argnums: tuple[int, ...]
    def __init__(
        self, function: Callable[_P, _R], nondiff_argnums: int | Sequence[int] = ()
    ) -> None: ...
    def defvjp(
        self, forward: Callable[..., tuple[_R, Any]], backward: Callable[..., Sequence[Any]]
    ) -> None: ...

class custom_jvp(_Custom[_P, _R]):
    nondiff_argnums: tuple[int, ...]
    def __init__(
        self, function: Callable[_P, _R], nondiff_argnums: int | Sequence[int] = ()
    ) -> None: ...
    def defjvp(self, jvp: _F) -> _F: ...
    def defjvps(self, *jvps: Callable[..., Any] | None) -> None: ...

class primitive(_Custom[_P, _R]):
    def __init__(self, function: Callable[_P, _R]) -> None: ...

@overload
def grad(  # type: ignore[overload-overlap, unused-ignore]
    f: _Ufunc,
    argnums: Literal[0] | None = None,
    *,
    argnames: None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _OfUfunc: ...
@overload
def grad(
    f: Callable[Concatenate[_A, _P], Any],
    argnums: Literal[0] | None = None,
    *,
    argnames: None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Gradient[_A, _P]: ...
@overload
def grad(
    f: Callable[Concatenate[_X, _A, _P], Any],
    argnums: Literal[1],
    *,
    argnames: None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_X, _A, _P], _A]: ...
@overload
def grad(
    f: Callable[Concatenate[_X, _Y, _A, _P], Any],
    argnums: Literal[2],
    *,
    argnames: None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_X, _Y, _A, _P], _A]: ...
@overload
def grad(
    f: Callable[Concatenate[_A, _P], Any],
    argnums: tuple[Literal[0]],
    *,
    argnames: None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_A, _P], tuple[_A]]: ...
@overload
def grad(
    f: Callable[Concatenate[_A, _B, _P], Any],
    argnums: tuple[Literal[0], Literal[1]],
    *,
    argnames: None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_A, _B, _P], tuple[_A, _B]]: ...
@overload
def grad(
    f: Callable[Concatenate[_A, _B, _C, _P], Any],
    argnums: tuple[Literal[0], Literal[1], Literal[2]],
    *,
    argnames: None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_A, _B, _C, _P], tuple[_A, _B, _C]]: ...
@overload
def grad(
    f: Callable[_P, Any],
    argnums: int,
    *,
    argnames: None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[_P, Any]: ...
@overload
def grad(
    f: Callable[_P, Any],
    argnums: Sequence[int],
    *,
    argnames: None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[_P, tuple[Any, ...]]: ...
@overload
def grad(
    f: Callable[Concatenate[_A, _P], tuple[Any, _Aux]],
    argnums: Literal[0] | None = None,
    *,
    argnames: None = None,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_A, _P], tuple[_A, _Aux]]: ...
@overload
def grad(
    f: Callable[Concatenate[_X, _A, _P], tuple[Any, _Aux]],
    argnums: Literal[1],
    *,
    argnames: None = None,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_X, _A, _P], tuple[_A, _Aux]]: ...
@overload
def grad(
    f: Callable[Concatenate[_X, _Y, _A, _P], tuple[Any, _Aux]],
    argnums: Literal[2],
    *,
    argnames: None = None,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_X, _Y, _A, _P], tuple[_A, _Aux]]: ...
@overload
def grad(
    f: Callable[Concatenate[_A, _P], tuple[Any, _Aux]],
    argnums: tuple[Literal[0]],
    *,
    argnames: None = None,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_A, _P], tuple[tuple[_A], _Aux]]: ...
@overload
def grad(
    f: Callable[Concatenate[_A, _B, _P], tuple[Any, _Aux]],
    argnums: tuple[Literal[0], Literal[1]],
    *,
    argnames: None = None,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_A, _B, _P], tuple[tuple[_A, _B], _Aux]]: ...
@overload
def grad(
    f: Callable[Concatenate[_A, _B, _C, _P], tuple[Any, _Aux]],
    argnums: tuple[Literal[0], Literal[1], Literal[2]],
    *,
    argnames: None = None,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_A, _B, _C, _P], tuple[tuple[_A, _B, _C], _Aux]]: ...
@overload
def grad(
    f: Callable[_P, tuple[Any, _Aux]],
    argnums: int,
    *,
    argnames: None = None,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> _Transformed[_P, tuple[Any, _Aux]]: ...
@overload
def grad(
    f: Callable[_P, tuple[Any, _Aux]],
    argnums: Sequence[int],
    *,
    argnames: None = None,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> _Transformed[_P, tuple[tuple[Any, ...], _Aux]]: ...
@overload
def grad(
    f: Callable[_P, Any],
    argnums: None = None,
    *,
    argnames: str,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[_P, Any]: ...
@overload
def grad(
    f: Callable[_P, Any],
    argnums: None = None,
    *,
    argnames: Sequence[str],
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[_P, dict[str, Any]]: ...
@overload
def grad(
    f: Callable[_P, Any],
    argnums: int | Sequence[int],
    *,
    argnames: _Argnames,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[_P, tuple[tuple[Any, ...], Any]]: ...
@overload
def grad(
    f: Callable[_P, Any],
    argnums: int | Sequence[int] | None = None,
    *,
    argnames: _Argnames | None = None,
    has_aux: bool,
    holomorphic: bool = False,
) -> _Transformed[_P, Any]: ...
@overload
def value_and_grad(  # type: ignore[overload-overlap, unused-ignore]
    f: Callable[Concatenate[_A, _P], _R],
    argnums: Literal[0] | None = None,
    *,
    argnames: None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _ValueAndGradient[_A, _P, _R]: ...
@overload
def value_and_grad(
    f: Callable[Concatenate[_X, _A, _P], _R],
    argnums: Literal[1],
    *,
    argnames: None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_X, _A, _P], tuple[_R, _A]]: ...
@overload
def value_and_grad(
    f: Callable[Concatenate[_X, _Y, _A, _P], _R],
    argnums: Literal[2],
    *,
    argnames: None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_X, _Y, _A, _P], tuple[_R, _A]]: ...
@overload
def value_and_grad(
    f: Callable[Concatenate[_A, _P], _R],
    argnums: tuple[Literal[0]],
    *,
    argnames: None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_A, _P], tuple[_R, tuple[_A]]]: ...
@overload
def value_and_grad(
    f: Callable[Concatenate[_A, _B, _P], _R],
    argnums: tuple[Literal[0], Literal[1]],
    *,
    argnames: None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_A, _B, _P], tuple[_R, tuple[_A, _B]]]: ...
@overload
def value_and_grad(
    f: Callable[Concatenate[_A, _B, _C, _P], _R],
    argnums: tuple[Literal[0], Literal[1], Literal[2]],
    *,
    argnames: None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_A, _B, _C, _P], tuple[_R, tuple[_A, _B, _C]]]: ...
@overload
def value_and_grad(
    f: Callable[_P, _R],
    argnums: int,
    *,
    argnames: None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[_P, tuple[_R, Any]]: ...
@overload
def value_and_grad(
    f: Callable[_P, _R],
    argnums: Sequence[int],
    *,
    argnames: None = None,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[_P, tuple[_R, tuple[Any, ...]]]: ...
@overload
def value_and_grad(
    f: Callable[Concatenate[_A, _P], tuple[_R, _Aux]],
    argnums: Literal[0] | None = None,
    *,
    argnames: None = None,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_A, _P], tuple[tuple[_R, _Aux], _A]]: ...
@overload
def value_and_grad(
    f: Callable[Concatenate[_X, _A, _P], tuple[_R, _Aux]],
    argnums: Literal[1],
    *,
    argnames: None = None,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_X, _A, _P], tuple[tuple[_R, _Aux], _A]]: ...
@overload
def value_and_grad(
    f: Callable[Concatenate[_X, _Y, _A, _P], tuple[_R, _Aux]],
    argnums: Literal[2],
    *,
    argnames: None = None,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_X, _Y, _A, _P], tuple[tuple[_R, _Aux], _A]]: ...
@overload
def value_and_grad(
    f: Callable[Concatenate[_A, _P], tuple[_R, _Aux]],
    argnums: tuple[Literal[0]],
    *,
    argnames: None = None,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_A, _P], tuple[tuple[_R, _Aux], tuple[_A]]]: ...
@overload
def value_and_grad(
    f: Callable[Concatenate[_A, _B, _P], tuple[_R, _Aux]],
    argnums: tuple[Literal[0], Literal[1]],
    *,
    argnames: None = None,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_A, _B, _P], tuple[tuple[_R, _Aux], tuple[_A, _B]]]: ...
@overload
def value_and_grad(
    f: Callable[Concatenate[_A, _B, _C, _P], tuple[_R, _Aux]],
    argnums: tuple[Literal[0], Literal[1], Literal[2]],
    *,
    argnames: None = None,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> _Transformed[Concatenate[_A, _B, _C, _P], tuple[tuple[_R, _Aux], tuple[_A, _B, _C]]]: ...
@overload
def value_and_grad(
    f: Callable[_P, tuple[_R, _Aux]],
    argnums: int,
    *,
    argnames: None = None,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> _Transformed[_P, tuple[tuple[_R, _Aux], Any]]: ...
@overload
def value_and_grad(
    f: Callable[_P, tuple[_R, _Aux]],
    argnums: Sequence[int],
    *,
    argnames: None = None,
    has_aux: Literal[True],
    holomorphic: bool = False,
) -> _Transformed[_P, tuple[tuple[_R, _Aux], tuple[Any, ...]]]: ...
@overload
def value_and_grad(
    f: Callable[_P, _R],
    argnums: None = None,
    *,
    argnames: str,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[_P, tuple[_R, Any]]: ...
@overload
def value_and_grad(
    f: Callable[_P, _R],
    argnums: None = None,
    *,
    argnames: Sequence[str],
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[_P, tuple[_R, dict[str, Any]]]: ...
@overload
def value_and_grad(
    f: Callable[_P, _R],
    argnums: int | Sequence[int],
    *,
    argnames: _Argnames,
    has_aux: Literal[False] = False,
    holomorphic: bool = False,
) -> _Transformed[_P, tuple[_R, tuple[tuple[Any, ...], Any]]]: ...
@overload
def value_and_grad(
    f: Callable[_P, Any],
    argnums: int | Sequence[int] | None = None,
    *,
    argnames: _Argnames | None = None,
    has_aux: bool,
    holomorphic: bool = False,
) -> _Transformed[_P, Any]: ...
@overload
def elementwise_grad(  # type: ignore[overload-overlap, unused-ignore]
    f: _Ufunc,
    argnums: Literal[0] | None = None,
) -> _OfUfunc: ...
@overload
def elementwise_grad(
    f: Callable[Concatenate[_A, _P], Any],
    argnums: Literal[0] | None = None,
) -> _Transformed[Concatenate[_A, _P], _A]: ...
@overload
def elementwise_grad(
    f: Callable[Concatenate[_X, _A, _P], Any],
    argnums: Literal[1],
) -> _Transformed[Concatenate[_X, _A, _P], _A]: ...
@overload
def elementwise_grad(
    f: Callable[_P, Any],
    argnums: int | Sequence[int],
) -> _Transformed[_P, Any]: ...
@overload
def jacobian(  # type: ignore[overload-overlap, unused-ignore]
    f: _Ufunc,
    argnums: Literal[0] | None = None,
    mode: str = "auto",
    *,
    has_aux: Literal[False] = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> Callable[..., NDArray[Any]]: ...
@overload
def jacobian(
    f: Callable[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], np.ndarray[Any, np.dtype[_Number]] | _Number],
    argnums: Literal[0] | None = None,
    mode: str = "auto",
    *,
    has_aux: Literal[False] = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], NDArray[_Number]]: ...
@overload
def jacobian(
    f: Callable[Concatenate[float, _P], np.ndarray[Any, np.dtype[np.float64]] | float],
    argnums: Literal[0] | None = None,
    mode: str = "auto",
    *,
    has_aux: Literal[False] = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[float, _P], NDArray[np.float64]]: ...
@overload
def jacobian(
    f: Callable[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], float],
    argnums: Literal[0] | None = None,
    mode: str = "auto",
    *,
    has_aux: Literal[False] = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], NDArray[Any]]: ...
@overload
def jacobian(
    f: Callable[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], tuple[np.ndarray[Any, np.dtype[_Number]] | _Number, _Aux]],
    argnums: Literal[0] | None = None,
    mode: str = "auto",
    *,
    has_aux: Literal[True],
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], tuple[NDArray[_Number], _Aux]]: ...
@overload
def jacobian(
    f: Callable[Concatenate[float, _P], tuple[np.ndarray[Any, np.dtype[np.float64]] | float, _Aux]],
    argnums: Literal[0] | None = None,
    mode: str = "auto",
    *,
    has_aux: Literal[True],
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[float, _P], tuple[NDArray[np.float64], _Aux]]: ...
@overload
def jacobian(
    f: Callable[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], tuple[float, _Aux]],
    argnums: Literal[0] | None = None,
    mode: str = "auto",
    *,
    has_aux: Literal[True],
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], tuple[NDArray[Any], _Aux]]: ...
@overload
def jacobian(
    f: Callable[_P, Any],
    argnums: int | Sequence[int] | None = None,
    mode: str = "auto",
    *,
    has_aux: bool = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[_P, Any]: ...
@overload
def jacobian(
    f: Callable[_P, tuple[Any, _Aux]],
    argnums: int | Sequence[int] | None = None,
    mode: str = "auto",
    *,
    has_aux: Literal[True],
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[_P, tuple[Any, _Aux]]: ...
@overload
def jacrev(  # type: ignore[overload-overlap, unused-ignore]
    f: _Ufunc,
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[False] = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> Callable[..., NDArray[Any]]: ...
@overload
def jacrev(
    f: Callable[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], np.ndarray[Any, np.dtype[_Number]] | _Number],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[False] = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], NDArray[_Number]]: ...
@overload
def jacrev(
    f: Callable[Concatenate[float, _P], np.ndarray[Any, np.dtype[np.float64]] | float],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[False] = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[float, _P], NDArray[np.float64]]: ...
@overload
def jacrev(
    f: Callable[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], float],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[False] = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], NDArray[Any]]: ...
@overload
def jacrev(
    f: Callable[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], tuple[np.ndarray[Any, np.dtype[_Number]] | _Number, _Aux]],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[True],
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], tuple[NDArray[_Number], _Aux]]: ...
@overload
def jacrev(
    f: Callable[Concatenate[float, _P], tuple[np.ndarray[Any, np.dtype[np.float64]] | float, _Aux]],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[True],
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[float, _P], tuple[NDArray[np.float64], _Aux]]: ...
@overload
def jacrev(
    f: Callable[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], tuple[float, _Aux]],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[True],
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], tuple[NDArray[Any], _Aux]]: ...
@overload
def jacrev(
    f: Callable[_P, Any],
    argnums: int | Sequence[int] | None = None,
    *,
    has_aux: bool = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[_P, Any]: ...
@overload
def jacrev(
    f: Callable[_P, tuple[Any, _Aux]],
    argnums: int | Sequence[int] | None = None,
    *,
    has_aux: Literal[True],
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[_P, tuple[Any, _Aux]]: ...
@overload
def jacfwd(  # type: ignore[overload-overlap, unused-ignore]
    f: _Ufunc,
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[False] = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> Callable[..., NDArray[Any]]: ...
@overload
def jacfwd(
    f: Callable[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], np.ndarray[Any, np.dtype[_Number]] | _Number],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[False] = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], NDArray[_Number]]: ...
@overload
def jacfwd(
    f: Callable[Concatenate[float, _P], np.ndarray[Any, np.dtype[np.float64]] | float],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[False] = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[float, _P], NDArray[np.float64]]: ...
@overload
def jacfwd(
    f: Callable[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], float],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[False] = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], NDArray[Any]]: ...
@overload
def jacfwd(
    f: Callable[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], tuple[np.ndarray[Any, np.dtype[_Number]] | _Number, _Aux]],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[True],
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], tuple[NDArray[_Number], _Aux]]: ...
@overload
def jacfwd(
    f: Callable[Concatenate[float, _P], tuple[np.ndarray[Any, np.dtype[np.float64]] | float, _Aux]],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[True],
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[float, _P], tuple[NDArray[np.float64], _Aux]]: ...
@overload
def jacfwd(
    f: Callable[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], tuple[float, _Aux]],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[True],
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], tuple[NDArray[Any], _Aux]]: ...
@overload
def jacfwd(
    f: Callable[_P, Any],
    argnums: int | Sequence[int] | None = None,
    *,
    has_aux: bool = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[_P, Any]: ...
@overload
def jacfwd(
    f: Callable[_P, tuple[Any, _Aux]],
    argnums: int | Sequence[int] | None = None,
    *,
    has_aux: Literal[True],
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[_P, tuple[Any, _Aux]]: ...
@overload
def hessian(
    f: Callable[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], Any],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[False] = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], NDArray[_Number]]: ...
@overload
def hessian(
    f: Callable[Concatenate[float, _P], Any],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[False] = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[float, _P], NDArray[np.float64]]: ...
@overload
def hessian(
    f: Callable[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], tuple[Any, _Aux]],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[True],
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[np.ndarray[Any, np.dtype[_Number]], _P], tuple[NDArray[_Number], _Aux]]: ...
@overload
def hessian(
    f: Callable[Concatenate[float, _P], tuple[Any, _Aux]],
    argnums: Literal[0] | None = None,
    *,
    has_aux: Literal[True],
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[Concatenate[float, _P], tuple[NDArray[np.float64], _Aux]]: ...
@overload
def hessian(
    f: Callable[_P, Any],
    argnums: int | Sequence[int] | None = None,
    *,
    has_aux: bool = False,
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[_P, Any]: ...
@overload
def hessian(
    f: Callable[_P, tuple[Any, _Aux]],
    argnums: int | Sequence[int] | None = None,
    *,
    has_aux: Literal[True],
    chunk_size: ChunkSize = None,
    progress: Progress = None,
) -> _Transformed[_P, tuple[Any, _Aux]]: ...
@overload
def hvp(f: Callable[[_A], Any], primals: tuple[_A], vectors: tuple[_A]) -> _A: ...
@overload
def hvp(
    f: Callable[[_A, _B], Any],
    primals: tuple[_A, _B],
    vectors: tuple[_A, _B],
) -> tuple[_A, _B]: ...
@overload
def hvp(
    f: Callable[[_A, _B, _C], Any],
    primals: tuple[_A, _B, _C],
    vectors: tuple[_A, _B, _C],
) -> tuple[_A, _B, _C]: ...
@overload
def hvp(f: Callable[..., Any], primals: _Many, vectors: _Many) -> Any: ...
@overload
def vhp(f: Callable[[_A], Any], primals: tuple[_A], vectors: tuple[_A]) -> _A: ...
@overload
def vhp(
    f: Callable[[_A, _B], Any],
    primals: tuple[_A, _B],
    vectors: tuple[_A, _B],
) -> tuple[_A, _B]: ...
@overload
def vhp(
    f: Callable[[_A, _B, _C], Any],
    primals: tuple[_A, _B, _C],
    vectors: tuple[_A, _B, _C],
) -> tuple[_A, _B, _C]: ...
@overload
def vhp(f: Callable[..., Any], primals: _Many, vectors: _Many) -> Any: ...
@overload
def ggnvp(
    f: Callable[[_A], Any],
    primals: tuple[_A],
    vectors: tuple[_A],
    loss: Callable[[Any], Any] | None = None,
) -> _A: ...
@overload
def ggnvp(
    f: Callable[[_A, _B], Any],
    primals: tuple[_A, _B],
    vectors: tuple[_A, _B],
    loss: Callable[[Any], Any] | None = None,
) -> tuple[_A, _B]: ...
@overload
def ggnvp(
    f: Callable[[_A, _B, _C], Any],
    primals: tuple[_A, _B, _C],
    vectors: tuple[_A, _B, _C],
    loss: Callable[[Any], Any] | None = None,
) -> tuple[_A, _B, _C]: ...
@overload
def ggnvp(
    f: Callable[..., Any],
    primals: _Many,
    vectors: _Many,
    loss: Callable[[Any], Any] | None = None,
) -> Any: ...
@overload
def jvp(
    f: Callable[[_A], _R],
    primals: tuple[_A],
    tangents: tuple[_A],
    has_aux: Literal[False] = False,
) -> tuple[_R, _R]: ...
@overload
def jvp(
    f: Callable[[_A], tuple[_R, _Aux]],
    primals: tuple[_A],
    tangents: tuple[_A],
    has_aux: Literal[True],
) -> tuple[_R, _R, _Aux]: ...
@overload
def jvp(
    f: Callable[[_A, _B], _R],
    primals: tuple[_A, _B],
    tangents: tuple[_A, _B],
    has_aux: Literal[False] = False,
) -> tuple[_R, _R]: ...
@overload
def jvp(
    f: Callable[[_A, _B], tuple[_R, _Aux]],
    primals: tuple[_A, _B],
    tangents: tuple[_A, _B],
    has_aux: Literal[True],
) -> tuple[_R, _R, _Aux]: ...
@overload
def jvp(
    f: Callable[[_A, _B, _C], _R],
    primals: tuple[_A, _B, _C],
    tangents: tuple[_A, _B, _C],
    has_aux: Literal[False] = False,
) -> tuple[_R, _R]: ...
@overload
def jvp(
    f: Callable[[_A, _B, _C], tuple[_R, _Aux]],
    primals: tuple[_A, _B, _C],
    tangents: tuple[_A, _B, _C],
    has_aux: Literal[True],
) -> tuple[_R, _R, _Aux]: ...
@overload
def jvp(
    f: Callable[..., _R],
    primals: _Many,
    tangents: _Many,
    has_aux: Literal[False] = False,
) -> tuple[_R, _R]: ...
@overload
def jvp(
    f: Callable[..., tuple[_R, _Aux]],
    primals: _Many,
    tangents: _Many,
    has_aux: Literal[True],
) -> tuple[_R, _R, _Aux]: ...
@overload
def vjp(
    f: Callable[[_A], _R],
    x0: _A,
    *,
    has_aux: Literal[False] = False,
) -> tuple[_R, Callable[[_R], tuple[_A]]]: ...
@overload
def vjp(
    f: Callable[[_A], tuple[_R, _Aux]],
    x0: _A,
    *,
    has_aux: Literal[True],
) -> tuple[_R, Callable[[_R], tuple[_A]], _Aux]: ...
@overload
def vjp(
    f: Callable[[_A, _B], _R],
    x0: _A, x1: _B,
    *,
    has_aux: Literal[False] = False,
) -> tuple[_R, Callable[[_R], tuple[_A, _B]]]: ...
@overload
def vjp(
    f: Callable[[_A, _B], tuple[_R, _Aux]],
    x0: _A, x1: _B,
    *,
    has_aux: Literal[True],
) -> tuple[_R, Callable[[_R], tuple[_A, _B]], _Aux]: ...
@overload
def vjp(
    f: Callable[[_A, _B, _C], _R],
    x0: _A, x1: _B, x2: _C,
    *,
    has_aux: Literal[False] = False,
) -> tuple[_R, Callable[[_R], tuple[_A, _B, _C]]]: ...
@overload
def vjp(
    f: Callable[[_A, _B, _C], tuple[_R, _Aux]],
    x0: _A, x1: _B, x2: _C,
    *,
    has_aux: Literal[True],
) -> tuple[_R, Callable[[_R], tuple[_A, _B, _C]], _Aux]: ...
@overload
def vjp(
    f: Callable[..., _R],
    x0: Any, x1: Any, x2: Any, x3: Any, *primals: Any,
    has_aux: Literal[False] = False,
) -> tuple[_R, Callable[[_R], tuple[Any, ...]]]: ...
@overload
def vjp(
    f: Callable[..., tuple[_R, _Aux]],
    x0: Any, x1: Any, x2: Any, x3: Any, *primals: Any,
    has_aux: Literal[True],
) -> tuple[_R, Callable[[_R], tuple[Any, ...]], _Aux]: ...
@overload
def linearize(
    f: Callable[[_A], _R],
    x0: _A,
    *,
    has_aux: Literal[False] = False,
) -> tuple[_R, Callable[[_A], _R]]: ...
@overload
def linearize(
    f: Callable[[_A], tuple[_R, _Aux]],
    x0: _A,
    *,
    has_aux: Literal[True],
) -> tuple[_R, Callable[[_A], _R], _Aux]: ...
@overload
def linearize(
    f: Callable[[_A, _B], _R],
    x0: _A, x1: _B,
    *,
    has_aux: Literal[False] = False,
) -> tuple[_R, Callable[[_A, _B], _R]]: ...
@overload
def linearize(
    f: Callable[[_A, _B], tuple[_R, _Aux]],
    x0: _A, x1: _B,
    *,
    has_aux: Literal[True],
) -> tuple[_R, Callable[[_A, _B], _R], _Aux]: ...
@overload
def linearize(
    f: Callable[[_A, _B, _C], _R],
    x0: _A, x1: _B, x2: _C,
    *,
    has_aux: Literal[False] = False,
) -> tuple[_R, Callable[[_A, _B, _C], _R]]: ...
@overload
def linearize(
    f: Callable[[_A, _B, _C], tuple[_R, _Aux]],
    x0: _A, x1: _B, x2: _C,
    *,
    has_aux: Literal[True],
) -> tuple[_R, Callable[[_A, _B, _C], _R], _Aux]: ...
@overload
def linearize(
    f: Callable[..., _R],
    x0: Any, x1: Any, x2: Any, x3: Any, *primals: Any,
    has_aux: Literal[False] = False,
) -> tuple[_R, Callable[..., _R]]: ...
@overload
def linearize(
    f: Callable[..., tuple[_R, _Aux]],
    x0: Any, x1: Any, x2: Any, x3: Any, *primals: Any,
    has_aux: Literal[True],
) -> tuple[_R, Callable[..., _R], _Aux]: ...
@overload
def linear_transpose(f: Callable[[_A], _R], x0: _A) -> Callable[[_R], tuple[_A]]: ...
@overload
def linear_transpose(
    f: Callable[[_A, _B], _R],
    x0: _A, x1: _B,
) -> Callable[[_R], tuple[_A, _B]]: ...
@overload
def linear_transpose(
    f: Callable[..., _R],
    x0: Any, x1: Any, x2: Any, *primals: Any,
) -> Callable[[_R], tuple[Any, ...]]: ...
@overload
def vmap(  # type: ignore[overload-overlap, unused-ignore]
    f: _Ufunc,
    in_axes: Any = 0,
    out_axes: Any = 0,
    chunk_size: ChunkSize = None,
    *,
    randomness: str = "error",
    progress: Progress = None,
) -> _Mapped[..., NDArray[Any]]: ...
@overload
def vmap(
    f: Callable[_P, np.ndarray[Any, np.dtype[_Number]]],
    in_axes: Any = 0,
    out_axes: Any = 0,
    chunk_size: ChunkSize = None,
    *,
    randomness: str = "error",
    progress: Progress = None,
) -> _Mapped[_P, NDArray[_Number]]: ...
@overload
def vmap(  # type: ignore[overload-overlap, unused-ignore]
    f: Callable[_P, bool | np.bool],
    in_axes: Any = 0,
    out_axes: Any = 0,
    chunk_size: ChunkSize = None,
    *,
    randomness: str = "error",
    progress: Progress = None,
) -> _Mapped[_P, NDArray[np.bool]]: ...
@overload
def vmap(
    f: Callable[_P, int],
    in_axes: Any = 0,
    out_axes: Any = 0,
    chunk_size: ChunkSize = None,
    *,
    randomness: str = "error",
    progress: Progress = None,
) -> _Mapped[_P, NDArray[np.int64]]: ...
@overload
def vmap(
    f: Callable[_P, float],
    in_axes: Any = 0,
    out_axes: Any = 0,
    chunk_size: ChunkSize = None,
    *,
    randomness: str = "error",
    progress: Progress = None,
) -> _Mapped[_P, NDArray[np.float64]]: ...
@overload
def vmap(
    f: Callable[_P, complex],
    in_axes: Any = 0,
    out_axes: Any = 0,
    chunk_size: ChunkSize = None,
    *,
    randomness: str = "error",
    progress: Progress = None,
) -> _Mapped[_P, NDArray[np.complex128]]: ...
@overload
def vmap(
    f: Callable[_P, _Number],
    in_axes: Any = 0,
    out_axes: Any = 0,
    chunk_size: ChunkSize = None,
    *,
    randomness: str = "error",
    progress: Progress = None,
) -> _Mapped[_P, NDArray[_Number]]: ...
@overload
def vmap(  # type: ignore[overload-overlap, unused-ignore]
    f: Callable[_P, tuple[float, float]],
    in_axes: Any = 0,
    out_axes: Any = 0,
    chunk_size: ChunkSize = None,
    *,
    randomness: str = "error",
    progress: Progress = None,
) -> _Mapped[_P, tuple[NDArray[np.float64], NDArray[np.float64]]]: ...
@overload
def vmap(  # type: ignore[overload-overlap, unused-ignore]
    f: Callable[_P, tuple[float, _R]],
    in_axes: Any = 0,
    out_axes: Any = 0,
    chunk_size: ChunkSize = None,
    *,
    randomness: str = "error",
    progress: Progress = None,
) -> _Mapped[_P, tuple[NDArray[np.float64], _R]]: ...
@overload
def vmap(  # type: ignore[overload-overlap, unused-ignore]
    f: Callable[_P, tuple[_R, float]],
    in_axes: Any = 0,
    out_axes: Any = 0,
    chunk_size: ChunkSize = None,
    *,
    randomness: str = "error",
    progress: Progress = None,
) -> _Mapped[_P, tuple[_R, NDArray[np.float64]]]: ...
@overload
def vmap(
    f: Callable[_P, tuple[float, ...]],
    in_axes: Any = 0,
    out_axes: Any = 0,
    chunk_size: ChunkSize = None,
    *,
    randomness: str = "error",
    progress: Progress = None,
) -> _Mapped[_P, tuple[NDArray[np.float64], ...]]: ...
@overload
def vmap(
    f: Callable[_P, Mapping[_Key, float]],
    in_axes: Any = 0,
    out_axes: Any = 0,
    chunk_size: ChunkSize = None,
    *,
    randomness: str = "error",
    progress: Progress = None,
) -> _Mapped[_P, dict[_Key, NDArray[np.float64]]]: ...
@overload
def vmap(
    f: Callable[_P, _R],
    in_axes: Any = 0,
    out_axes: Any = 0,
    chunk_size: ChunkSize = None,
    *,
    randomness: str = "error",
    progress: Progress = None,
) -> _Mapped[_P, _R]: ...
def stop_gradient(x: _S) -> _S: ...
@overload
def checkpoint(  # type: ignore[overload-overlap, unused-ignore]
    f: _U,
    *,
    save: str = "memory",
    directory: str | os.PathLike[str] | None = None,
) -> _U: ...
@overload
def checkpoint(
    f: Callable[_P, _R],
    *,
    save: str = "memory",
    directory: str | os.PathLike[str] | None = None,
) -> _Transformed[_P, _R]: ...
def checkpoint_sequence(
    step: Callable[[_S, *_Args], _S],
    state: _S,
    n: int,
    *args: *_Args,
    snapshots: int | None = None,
    progress: Progress = None,
    disk: str | os.PathLike[str] | None = None,
    disk_cost: tuple[float, float] | None = None,
    disk_states: int | None = None,
) -> _S: ...
@overload
def compile(
    f: Callable[_P, _R],
    *,
    backend: Backend = "auto",
    check: int = 0,
    threads: int = 1,
) -> _Compiled[_P, _R]: ...
@overload
def compile(
    f: None = None,
    *,
    backend: Backend = "auto",
    check: int = 0,
    threads: int = 1,
) -> Callable[[Callable[_P, _R]], _Compiled[_P, _R]]: ...
