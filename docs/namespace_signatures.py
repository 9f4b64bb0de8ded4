"""Types of transformed functions: for docs/namespace_stub.py.

A form is one overload: the parameters that have another type in it than the source says, and the
type of the result. All other parameters, all names, their order and their defaults are those of
run time.

`_A`, `_B` and `_C` are arguments that are differentiated, with the containers, shapes and dtypes
of which a gradient comes; they go by position, as at run time, so their names are not kept. `_P`
are the other parameters, `_R` is a result, `_Aux` what a function returns beside it. Where a type
cannot be said (argnums that are not written out, Jacobians of containers) it is `Any`.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Form:
    """One overload: types of parameters by name, `type = default` with a default of its own."""

    result: str
    types: dict[str, str] = field(default_factory=dict)
    # mypy's remark on a form that is tried first because a later one would take its calls too.
    first: bool = False


_NO_AUX, _AUX = "Literal[False] = False", "Literal[True]"


def concatenate(first: str) -> str:
    return f"Concatenate[{first}, _P]"


def callable_of(parameters: str, result: str) -> str:
    return f"Callable[{parameters}, {result}]"


# --- Gradients ----------------------------------------------------------------------------------

# How argnums are written, the parameters up to the last of them, and the type of their gradients.
PLACES = (
    ("Literal[0] | None = None", "_A", "_A"),
    ("Literal[1]", "_X, _A", "_A"),
    ("Literal[2]", "_X, _Y, _A", "_A"),
    ("tuple[Literal[0]]", "_A", "tuple[_A]"),
    ("tuple[Literal[0], Literal[1]]", "_A, _B", "tuple[_A, _B]"),
    ("tuple[Literal[0], Literal[1], Literal[2]]", "_A, _B, _C", "tuple[_A, _B, _C]"),
    ("int", "", "Any"),
    ("Sequence[int]", "", "tuple[Any, ...]"),
)
_NAMED = (
    ("None = None", "str", "Any"),
    ("None = None", "Sequence[str]", "dict[str, Any]"),
    ("int | Sequence[int]", "_Argnames", "tuple[tuple[Any, ...], Any]"),
)
_OF_UFUNC = Form(
    "_OfUfunc",
    {"f": "_Ufunc", "argnums": PLACES[0][0], "argnames": "None = None"} | {"has_aux": _NO_AUX},
    first=True,
)


def _gradients(*, value: bool) -> list[Form]:
    """Overloads of `grad`, or of `value_and_grad`."""
    forms = [] if value else [_OF_UFUNC]
    for aux in (False, True):
        out = "_R" if value else "Any"
        of_f = f"tuple[{out}, _Aux]" if aux else out
        for argnums, parameters, gradient in PLACES:
            given = concatenate(parameters) if parameters else "_P"
            if value:
                found = f"tuple[{of_f}, {gradient}]"
            else:
                found = f"tuple[{gradient}, _Aux]" if aux else gradient
            types = {"f": callable_of(given, of_f), "argnums": argnums, "argnames": "None = None"}
            types["has_aux"] = _AUX if aux else _NO_AUX
            result = f"_Transformed[{given}, {found}]"
            if argnums == PLACES[0][0] and not aux:
                result = "_ValueAndGradient[_A, _P, _R]" if value else "_Gradient[_A, _P]"
            forms.append(Form(result, types, first=result.startswith("_Value")))
    for argnums, names, gradient in _NAMED:
        types = {"f": callable_of("_P", "_R" if value else "Any"), "argnums": argnums}
        types |= {"argnames": names, "has_aux": _NO_AUX}
        found = f"tuple[_R, {gradient}]" if value else gradient
        forms.append(Form(f"_Transformed[_P, {found}]", types))
    types = {"f": callable_of("_P", "Any"), "argnums": "int | Sequence[int] | None = None"}
    types |= {"argnames": "_Argnames | None = None", "has_aux": "bool"}
    return [*forms, Form("_Transformed[_P, Any]", types)]


_ELEMENTWISE = [
    Form("_OfUfunc", {"f": "_Ufunc", "argnums": PLACES[0][0]}, first=True),
    *(
        Form(
            f"_Transformed[{concatenate(parameters)}, _A]",
            {"f": callable_of(concatenate(parameters), "Any"), "argnums": argnums},
        )
        for argnums, parameters, _ in PLACES[:2]
    ),
    Form("_Transformed[_P, Any]", {"f": "Callable[_P, Any]", "argnums": "int | Sequence[int]"}),
]

# --- Matrices of derivatives --------------------------------------------------------------------

_ARRAY = "np.ndarray[Any, np.dtype[_Number]]"
# The first parameter, the result of the function, and the Jacobian.
_JACOBIANS = (
    (_ARRAY, f"{_ARRAY} | _Number", "NDArray[_Number]"),
    ("float", "np.ndarray[Any, np.dtype[np.float64]] | float", "NDArray[np.float64]"),
    (_ARRAY, "float", "NDArray[Any]"),
)
_HESSIANS = ((_ARRAY, "Any", "NDArray[_Number]"), ("float", "Any", "NDArray[np.float64]"))


def _matrices(table: tuple[tuple[str, str, str], ...], *, ufuncs: bool) -> list[Form]:
    """Overloads of transforms that return matrices: of numbers and arrays, then of the rest."""
    first = PLACES[0][0]
    forms = []
    if ufuncs:
        types = {"f": "_Ufunc", "argnums": first, "has_aux": _NO_AUX}
        forms = [Form("Callable[..., NDArray[Any]]", types, first=True)]
    for aux in (False, True):
        for given, of_f, matrix in table:
            out, found = (
                (f"tuple[{of_f}, _Aux]", f"tuple[{matrix}, _Aux]") if aux else (of_f, matrix)
            )
            types = {"f": callable_of(concatenate(given), out), "argnums": first}
            types["has_aux"] = _AUX if aux else _NO_AUX
            forms.append(Form(f"_Transformed[{concatenate(given)}, {found}]", types))
    several = "int | Sequence[int] | None = None"
    types = {"f": callable_of("_P", "Any"), "argnums": several}
    forms.append(Form("_Transformed[_P, Any]", types))
    types = {"f": callable_of("_P", "tuple[Any, _Aux]"), "argnums": several, "has_aux": _AUX}
    return [*forms, Form("_Transformed[_P, tuple[Any, _Aux]]", types)]


# --- Products with vectors ----------------------------------------------------------------------

_COUNTS = ("_A", "_A, _B", "_A, _B, _C")  # of primals whose types are kept


def _products(vectors: str) -> list[Form]:
    """Overloads of `hvp` and its like, by the count of primals."""
    forms = [
        Form(
            given if given == "_A" else f"tuple[{given}]",
            {"f": callable_of(f"[{given}]", "Any")}
            | dict.fromkeys(("primals", vectors), f"tuple[{given}]"),
        )
        for given in _COUNTS
    ]
    types = {"f": "Callable[..., Any]"} | dict.fromkeys(("primals", vectors), "_Many")
    return [*forms, Form("Any", types)]


def _jvp() -> list[Form]:
    forms = []
    for given in (*_COUNTS, "_Many"):
        many = given == "_Many"
        parameters = "..." if many else f"[{given}]"
        primals = dict.fromkeys(("primals", "tangents"), given if many else f"tuple[{given}]")
        types = {"f": callable_of(parameters, "_R"), **primals, "has_aux": _NO_AUX}
        forms.append(Form("tuple[_R, _R]", types))
        types = {"f": callable_of(parameters, "tuple[_R, _Aux]"), **primals, "has_aux": _AUX}
        forms.append(Form("tuple[_R, _R, _Aux]", types))
    return forms


def _written_out(given: str, kept: int = 3) -> str:
    """The primals of a form, one parameter each; "" stands for more than the types of are kept."""
    types = given.split(", ") if given else ["Any"] * (kept + 1)
    words = ", ".join(f"x{n}: {kind}" for n, kind in enumerate(types))
    return words if given else f"{words}, *primals: Any"


def _with_function(result: str) -> list[Form]:
    """Overloads of `vjp` and `linearize`; result: of the function that they return."""
    forms = []
    for given in (*_COUNTS, ""):
        parameters = f"[{given}]" if given else "..."
        back = result.format(parameters=parameters, primals=given or "Any, ...")
        for aux in (False, True):
            types = {
                "f": callable_of(parameters, "tuple[_R, _Aux]" if aux else "_R"),
                "*primals": _written_out(given),
                "has_aux": _AUX if aux else _NO_AUX,
            }
            forms.append(Form(f"tuple[_R, {back}{', _Aux' if aux else ''}]", types))
    return forms


_TRANSPOSES = [
    Form(
        f"Callable[[_R], tuple[{given or 'Any, ...'}]]",
        {
            "f": callable_of(f"[{given}]" if given else "...", "_R"),
            "*primals": _written_out(given, kept=2),
        },
    )
    for given in ("_A", "_A, _B", "")
]

# --- Examples at once, memory and speed ---------------------------------------------------------

# The result of a function of one example, and the same of many.
_MAPPED = (
    (_ARRAY, "NDArray[_Number]"),  # first, since pyright takes it for functions without types
    ("bool | np.bool", "NDArray[np.bool]"),
    ("int", "NDArray[np.int64]"),
    ("float", "NDArray[np.float64]"),
    ("complex", "NDArray[np.complex128]"),
    ("_Number", "NDArray[_Number]"),
    # Numbers in a tuple or a dict are arrays, too: the value beside a gradient, say.
    ("tuple[float, float]", "tuple[NDArray[np.float64], NDArray[np.float64]]"),
    ("tuple[float, _R]", "tuple[NDArray[np.float64], _R]"),
    ("tuple[_R, float]", "tuple[_R, NDArray[np.float64]]"),
    ("tuple[float, ...]", "tuple[NDArray[np.float64], ...]"),
    ("Mapping[_Key, float]", "dict[_Key, NDArray[np.float64]]"),
    ("_R", "_R"),
)
_VMAP = [
    Form("_Mapped[..., NDArray[Any]]", {"f": "_Ufunc"}, first=True),
    *(
        # A bool is an int, and a float may stand for `_R`.
        Form(
            f"_Mapped[_P, {many}]",
            {"f": callable_of("_P", one)},
            first=one.startswith(("bool", "tuple")) and not one.endswith("...]"),
        )
        for one, many in _MAPPED
    ),
]
_COMPILED = "_Compiled[_P, _R]"

FORMS: dict[str, list[Form]] = {
    "grad": _gradients(value=False),
    "value_and_grad": _gradients(value=True),
    "elementwise_grad": _ELEMENTWISE,
    "jacobian": _matrices(_JACOBIANS, ufuncs=True),
    "jacrev": _matrices(_JACOBIANS, ufuncs=True),
    "jacfwd": _matrices(_JACOBIANS, ufuncs=True),
    "hessian": _matrices(_HESSIANS, ufuncs=False),
    "hvp": _products("vectors"),
    "vhp": _products("vectors"),
    "ggnvp": _products("vectors"),
    "jvp": _jvp(),
    "vjp": _with_function("Callable[[_R], tuple[{primals}]]"),
    "linearize": _with_function("Callable[{parameters}, _R]"),
    "linear_transpose": _TRANSPOSES,
    "vmap": _VMAP,
    "stop_gradient": [Form("_S", {"x": "_S"})],
    "checkpoint": [
        Form("_U", {"f": "_U"}, first=True),
        Form("_Transformed[_P, _R]", {"f": "Callable[_P, _R]"}),
    ],
    "checkpoint_sequence": [
        Form("_S", {"step": "Callable[[_S, *_Args], _S]", "state": "_S", "*args": "*args: *_Args"})
    ],
    "compile": [
        Form(_COMPILED, {"f": "Callable[_P, _R]"}),
        Form(f"Callable[[Callable[_P, _R]], {_COMPILED}]", {"f": "None = None"}),
    ],
}

# --- Classes ------------------------------------------------------------------------------------

CLASSES = '''\
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
'''
