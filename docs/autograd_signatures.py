"""Types of HIPS autograd's operators by a function's types: for docs/namespace_stub.py.

As namespace_signatures.py has them of tapegrad's own transforms; here the arguments to
differentiate by are `argnum`, and integers count as floats.
"""

from __future__ import annotations

from namespace_signatures import PLACES as OUR_PLACES
from namespace_signatures import Form, callable_of, concatenate

Places = list[tuple[str, str, str]]
PLACES: Places = [
    (argnum.replace(" | None = None", " = 0"), given, gradient)
    for argnum, given, gradient in OUR_PLACES[:-2]
]
FIRST = PLACES[0][0]
# Which no overload says: places that are not written out.
OTHERS = "int | tuple[int, ...] | list[int]"
_G = "Callable[[{}], Any] = ..."  # of make_ggnvp
_UFUNC = {"fun": "_Ufunc", "argnum": FIRST}


def _of(result: str, given: str, out: str, argnum: str = FIRST, *, first: bool = False) -> Form:
    """A function of the parameters of `fun`, which returns `result`."""
    types = {"fun": callable_of(concatenate(given), out), "argnum": argnum}
    return Form(f"_Transformed[{concatenate(given)}, {result}]", types, first=first)


def _other(result: str = "Any", out: str = "Any", default: str = "") -> Form:
    types = {"fun": callable_of("_P", out), "argnum": OTHERS + default}
    return Form(f"_Transformed[_P, {result}]", types)


def _by_place(result: str, out: str, places: Places = PLACES) -> list[Form]:
    """Overloads by argnum; in `result` {} stands for what is like the arguments."""
    forms = [
        _of(result.format(gradient), given, out, argnum) for argnum, given, gradient in places
    ]
    return [*forms, _other(result.format("Any"), out)]


def _gradients(kind: str, result: str, out: str) -> list[Form]:
    """The same, where those by the first argument are of a class."""
    by_first = Form(
        kind, {"fun": callable_of(concatenate("_A"), out), "argnum": FIRST}, first=True
    )
    return [by_first, *_by_place(result, out)[1:]]


def _matrices(table: tuple[tuple[str, str, str], ...]) -> list[Form]:
    forms = [_of(matrix, given, out) for given, out, matrix in table]
    return [*forms, _other(default=" = 0")]


# Of the first argument, of the result, and the matrix.
_ARRAY = "np.ndarray[Any, np.dtype[_Number]]"
_HESSIANS = ((_ARRAY, "Any", "NDArray[_Number]"), ("float", "Any", "NDArray[np.float64]"))
_JACOBIANS = (
    (_ARRAY, "NDArray[_Number] | _Number", "NDArray[_Number]"),
    ("float", "NDArray[np.float64] | float", "NDArray[np.float64]"),
    (_ARRAY, "float", "NDArray[Any]"),
)
_OF_UFUNC = Form("_OfUfunc", _UFUNC, first=True)
_MATRIX_OF_UFUNC = Form("Callable[..., NDArray[Any]]", _UFUNC, first=True)
_WITH_VECTORS = [
    Form(
        f"Callable[..., {gradient}]",
        {"fun": callable_of(concatenate(given), "Any"), "argnum": argnum},
    )
    for argnum, given, gradient in PLACES[:3]
]

FORMS: dict[str, list[Form]] = {
    "deriv": _by_place("_R", "_R"),
    "elementwise_grad": [_OF_UFUNC, *_gradients("_Gradient[_A, _P]", "{}", "Any")],
    "grad": [_OF_UFUNC, *_gradients("_Gradient[_A, _P]", "{}", "Any")],
    "grad_and_aux": _by_place("tuple[{}, _Aux]", "tuple[Any, _Aux]"),
    "grad_named": [Form("_Transformed[_P, Any]", {"fun": "Callable[_P, Any]", "argname": "str"})],
    "hessian": _matrices(_HESSIANS),
    "hessian_tensor_product": [
        *_WITH_VECTORS,
        Form("Callable[..., Any]", {"fun": "Callable[..., Any]", "argnum": "int = 0"}),
    ],
    "holomorphic_grad": [_OF_UFUNC, *_by_place("{}", "Any")],
    "jacobian": [_MATRIX_OF_UFUNC, *_matrices(_JACOBIANS)],
    "make_ggnvp": [
        Form(
            f"_Transformed[{concatenate('_A')}, Callable[[_A], _A]]",
            {"f": callable_of(concatenate("_A"), "_R"), "g": _G.format("_R"), "f_argnum": FIRST},
        ),
        Form(
            "_Transformed[_P, Callable[[Any], Any]]",
            {"f": "Callable[_P, Any]", "g": _G.format("Any"), "f_argnum": f"{OTHERS} = 0"},
        ),
    ],
    "make_hvp": _by_place("tuple[Callable[[{0}], {0}], {0}]", "Any", PLACES[:3]),
    "make_jvp": _by_place("Callable[[{}], tuple[_R, _R]]", "_R"),
    "make_jvp_reversemode": [
        *_by_place("Callable[[{}], NDArray[_Number]]", "NDArray[_Number]", PLACES[:3])[:-1],
        _other("Callable[[Any], Any]"),
    ],
    "make_vjp": _by_place("tuple[Callable[[_R], {}], _R]", "_R"),
    "multigrad_dict": [
        Form("_Transformed[_P, OrderedDict[str, Any]]", {"fun": "Callable[_P, Any]"})
    ],
    "tensor_jacobian_product": [
        *(
            Form(
                "Callable[..., NDArray[Any]]",
                {"fun": callable_of(concatenate(given), "Any"), "argnum": FIRST},
            )
            for given in ("np.ndarray[Any, Any]", "float")
        ),
        Form("Callable[..., Any]", {"fun": "Callable[..., Any]", "argnum": "int = 0"}),
    ],
    "value_and_grad": _gradients("_ValueAndGradient[_A, _P, _R]", "tuple[_R, {}]", "_R"),
}

HEADER = '''\
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
'''

CLASSES = '''\
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
'''
