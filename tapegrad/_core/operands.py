"""Meaning of a value of another type beside a traced one: an array, a number, or neither.

Knows NumPy's protocols, and a few libraries by the name of their module. Must not know tapes,
rules, or the classes of traced arrays.

NumPy's own arrays, and arrays that follow it in everything (Dask's, CuPy's), are constants of a
rule. Numbers and plain containers become such arrays. Values that mean more than their numbers
(labels, units, a mask) are never taken for plain ones: their class handles the operation itself,
or the operation is refused.
"""

from __future__ import annotations

import array
import importlib
import numbers
import sys
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from tapegrad._core.types import Params, Value
from tapegrad._core.values import Buffer, Mapped, Traced, lift
from tapegrad._errors import NotDifferentiableError

# Libraries whose values mean more than an array's elements, and how to get the elements. What is
# not listed here is judged by the protocols that it answers.
ELEMENTS = {
    "array_api_strict": "np.asarray of it",
    "astropy": "its .value, in the unit you want",
    "decimal": "float(...) of it",
    "jax": "np.asarray of it",
    "jaxlib": "np.asarray of it",
    "pandas": "its .to_numpy()",
    "pint": "its .magnitude, in the unit you want",
    "scipy": "its .toarray(), or write A @ x or A.dot(x), which need nothing else",
    "torch": "its .detach().numpy()",
    "uncertainties": "its .nominal_value",
    "xarray": "its .data",
}

# The module that knows SciPy's sparse matrices, which have operators of their own: it is imported
# when one of them meets a traced value.
SPARSE = "tapegrad.scipy.sparse"
_LEFT = frozenset(("__matmul__", "__rmatmul__", "__mul__", "__rmul__", "__truediv__"))

_OPERATORS = [
    f"__{side}{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
    for side in ("", "r")
]
_PRIORITY = 0.0  # NumPy's arrays leave an operator to a class of a higher one
_EXPORTS = ("__array__", "__array_interface__", "__array_struct__", "__dlpack__")


def as_operand(other: Value) -> Any:
    """An operand of a ufunc as a rule takes it, NotImplemented, or NotDifferentiableError.

    NotImplemented: the operand's class handles operations on arrays itself, or no operation of
    ours is defined for it.
    """
    return (_TAKEN.get(type(other)) or _learn(type(other)))(other)


def as_arguments(args: tuple[Any, ...], kwargs: Params) -> tuple[tuple[Any, ...], Params]:
    """The arguments of a function of NumPy's as its rule takes them.

    NumPy ignores the labels of a value that does not answer `__array_function__`, and so do ours.
    Raises NotDifferentiableError for a value that is more than its elements to NumPy as well.
    """
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = type(value)
        if kind not in _UNCHANGED and not (
            (kind is list or kind is tuple) and _UNCHANGED.issuperset(map(type, value))
        ):
            break
    else:
        return args, kwargs  # the frequent case
    return tuple(map(_as_argument, args)), {n: _as_argument(v) for n, v in kwargs.items()}


def _as_argument(value: Any) -> Any:
    kind = type(value)
    if kind is list or kind is tuple:
        return kind([_as_argument(part) for part in value])
    taken = _TAKEN.get(kind) or _learn(kind)
    if taken in (_itself, _lifted) and not (taken is _lifted and hasattr(kind, "__array__")):
        if kind in _TAKEN:
            _UNCHANGED.add(kind)
        return value
    known = library_of(kind) in ELEMENTS or issubclass(kind, np.ndarray)
    if not known and (taken is _not_ours or library_of(kind) == "numpy") or callable(value):
        if kind in _TAKEN:
            _UNCHANGED.add(kind)
        return value  # a function, a dtype, a word, a polynomial
    if taken is not _not_ours and taken is not _goes_first:
        return taken(value)
    if issubclass(kind, np.ndarray) or not hasattr(kind, "__array__"):
        raise refusal(value)
    return np.asarray(value)


def follows_numpy(kind: type) -> bool:
    """Whether values of a class are numbers or arrays that mean no more than their elements."""
    return (_TAKEN.get(kind) or _learn(kind)) in (_itself, _lifted, _base_array)


def has_own_functions(kind: type) -> bool:
    """Whether a class, not an array that follows NumPy, handles functions called on its values."""
    own = getattr(kind, "__array_function__", None) is not np.ndarray.__array_function__
    return own and (_TAKEN.get(kind) or _learn(kind)) is _not_ours


def call_other(
    ufunc: np.ufunc, method: str, inputs: Sequence[Value], kwargs: dict[str, Any]
) -> Any:
    """The result of a ufunc by the class of an operand that is not ours to handle.

    Its `__array_ufunc__` may take a traced array for its elements. Raises NotDifferentiableError
    if it takes none.
    """
    others = [x for x in inputs if as_operand(x) is NotImplemented]
    if any(is_sparse(type(x)) for x in others):
        return importlib.import_module(SPARSE).operate(ufunc, method, inputs, kwargs)
    for other in others:
        if getattr(type(other), "__array_ufunc__", None) is not None:
            result = other.__array_ufunc__(ufunc, method, *inputs, **kwargs)
            if result is not NotImplemented:
                return result
    raise refusal(others[0])


def is_sparse(kind: type) -> bool:
    """Whether a class is one of SciPy's sparse matrices."""
    return kind.__module__.startswith("scipy.sparse.") and hasattr(kind, "tocsr")


def leaves_it_to_us() -> bool:
    """Whether it is an operator of a sparse matrix of SciPy's that asks for a plain array.

    It tries `np.asanyarray(x)`, and leaves the operation to x's reflected operator where it gets
    an object that is no array. So says the frame of the caller's caller, and those below.
    """
    frame: Any = sys._getframe(2)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("scipy.sparse."):
        if frame.f_code.co_name in _LEFT:  # a LinearOperator does not leave it
            return not frame.f_globals["__name__"].startswith("scipy.sparse.linalg.")
        frame = frame.f_back
    return False


def refusal(other: Value) -> NotDifferentiableError:
    """The error of an operand that no rule can take."""
    kind = type(other)
    known = hasattr(kind, "__array_ufunc__") or any(hasattr(kind, name) for name in _EXPORTS)
    advice = elements_of(kind) if known or library_of(kind) in ELEMENTS else "a float or an array"
    return NotDifferentiableError(
        f"{name_of_kind(kind)} beside a traced value: expected a number or a plain array, got a "
        f"{kind.__name__}, which is not only its elements. Pass {advice}."
    )


def name_of_kind(kind: type) -> str:
    """The name of a class with that of its library: `pandas.Series`."""
    library = library_of(kind)
    return kind.__name__ if library == "builtins" else f"{library}.{kind.__name__}"


def elements_of(kind: type) -> str:
    """How a program gets the plain array inside a value, in words."""
    return ELEMENTS.get(library_of(kind), "np.asarray of it")


def library_of(kind: type) -> str:
    """The name of the library that defines a class."""
    return kind.__module__.partition(".")[0]


# --- Treatment of the values of a class ---------------------------------------------------------


def _itself(value: Value) -> Value:
    return value


def _lifted(value: Value) -> Any:
    """A list or tuple as an array, traced if a part is."""
    if not isinstance(value, (list, tuple)):
        return np.asarray(value)
    lifted = lift(value)
    return np.asarray(value) if lifted is value else lifted


def _held(value: Value) -> Any:
    """The value that a buffer of the program holds."""
    return value.value


def _base_array(value: Value) -> Any:
    """A subclass of ndarray that changes no arithmetic, as the array that it is."""
    return value.view(np.ndarray)


def _refused(value: Value) -> NoReturn:
    raise refusal(value)


def _not_ours(_value: Value) -> Any:
    return NotImplemented


def _goes_first(_value: Value) -> Any:
    """Of a class with a higher priority; functions read its elements, as NumPy's do."""
    return NotImplemented


# The way to take the values of a class, learned at the first value. Only classes that a module
# holds by name are remembered: one that a program makes as it runs would be kept alive.
_TAKEN: dict[type, Callable[[Value], Any]] = {}
_MADE_AS_IT_RUNS = 1 << 9  # Py_TPFLAGS_HEAPTYPE: by a class statement, not in C alone
_UNCHANGED: set[type] = set()  # classes whose values `as_arguments` leaves as they are


def _learn(kind: type) -> Callable[[Value], Any]:
    """Decide how values of a class are taken, and remember it for classes that stay."""
    found = _decide(kind)
    if (
        not kind.__flags__ & _MADE_AS_IT_RUNS
        or issubclass(kind, (Traced, Mapped))
        or getattr(sys.modules.get(kind.__module__), kind.__qualname__, None) is kind
    ):
        _TAKEN[kind] = found
    return found


def take_base(kind: type[np.ndarray]) -> None:
    """Take arrays of a subclass of ndarray for plain arrays, whatever it adds to them."""
    _TAKEN[kind] = _base_array
    _UNCHANGED.discard(kind)


def forget(kind: type) -> None:
    """Decide again how values of a class are taken."""
    _TAKEN.pop(kind, None)


def _decide(kind: type) -> Callable[[Value], Any]:
    if issubclass(kind, (Traced, Mapped)):
        return _itself
    if issubclass(kind, Buffer):
        return _held
    if issubclass(kind, np.ndarray):
        return _decide_subclass(kind)
    if issubclass(kind, (bool, int, float, complex, np.generic)):
        return _itself
    if issubclass(kind, (list, tuple, range, array.array, memoryview)):
        return _lifted
    if hasattr(kind, "__array_ufunc__"):
        # An array that answers both protocols stands in for NumPy's: the rules call NumPy on it.
        answers = kind.__array_ufunc__ is not None and hasattr(kind, "__array_function__")
        return _itself if answers and library_of(kind) not in ELEMENTS else _not_ours
    if issubclass(kind, numbers.Real):  # Fraction, and numbers of other libraries
        return float
    if issubclass(kind, numbers.Complex):
        return complex
    if is_sparse(kind):
        return _not_ours
    if any(hasattr(kind, name) for name in _EXPORTS) or hasattr(kind, "__array_priority__"):
        # An array whose own operators may differ from NumPy's, or one without operators (a
        # dataset in a file), which NumPy reads.
        operators = any(hasattr(kind, name) for name in _OPERATORS)
        if not hasattr(kind, "__array__"):
            return _refused
        if operators and getattr(kind, "__array_priority__", 0) > _PRIORITY:
            return _goes_first
        return _refused if operators else _lifted
    return _not_ours


def _decide_subclass(kind: type[np.ndarray]) -> Callable[[Value], Any]:
    if kind is np.ndarray:
        return _itself
    if kind.__array_ufunc__ is not np.ndarray.__array_ufunc__:
        return _not_ours
    changed = any(getattr(kind, name) is not getattr(np.ndarray, name) for name in _OPERATORS)
    return _refused if changed else _base_array


__all__ = [
    "as_arguments",
    "as_operand",
    "call_other",
    "elements_of",
    "follows_numpy",
    "has_own_functions",
    "is_sparse",
    "leaves_it_to_us",
    "library_of",
    "name_of_kind",
    "refusal",
]
