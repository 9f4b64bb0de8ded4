"""Functions that recorded calls name: one object for each method, attribute and kind of write.

Knows NumPy's functions: which of them write, which answer by shapes alone, and whose results have
shapes that depend on values. Must not know recorded values.

Two runs of a function must log the same objects, where `x.sum` or `np.add.reduce` would be another
each time.
"""

from __future__ import annotations

import functools
import inspect
import operator
import types
from collections.abc import Callable, MutableMapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from tapegrad._core.quiet import errstate

Function = Callable[..., Any]


@functools.cache
def method(name: str) -> Function:
    """The function that calls a method of its first argument."""

    def call(x: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(x, name)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    METHODS[call] = name
    return call


METHODS: dict[Any, str] = {}


@functools.cache
def attribute(name: str) -> Function:
    """The function that reads an attribute of its argument."""
    call = operator.attrgetter(name)
    ATTRIBUTES[call] = name
    return call


ATTRIBUTES: dict[Any, str] = {}


@functools.cache
def method_of_ufunc(ufunc: np.ufunc, name: str) -> Function:
    """A method of a ufunc: one object, where `np.add.reduce` is another each time."""
    found: Function = getattr(ufunc, name)
    _SHAPE_KNOWN.add(found)
    return found


# Functions that write into their first argument, and that argument's name.
MUTATORS: dict[Any, tuple[int, str]] = {
    np.copyto: (0, "dst"),
    np.put: (0, "a"),
    np.place: (0, "arr"),
    np.putmask: (0, "a"),
    np.put_along_axis: (0, "arr"),
    np.fill_diagonal: (0, "a"),
}

# Functions that call functions of the program, whose calls are recorded by the definition.
CALLING = {np.piecewise, np.apply_along_axis, np.apply_over_axes}

# Functions that write into their first argument if they are asked to, and how they are.
IN_ARGUMENT: dict[Any, tuple[str, bool]] = {
    np.nan_to_num: ("copy", False),
    np.median: ("overwrite_input", True),
    np.nanmedian: ("overwrite_input", True),
    np.percentile: ("overwrite_input", True),
    np.nanpercentile: ("overwrite_input", True),
    np.quantile: ("overwrite_input", True),
    np.nanquantile: ("overwrite_input", True),
}


def without_writing(function: Any, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
    """A call of one of these as one that writes nothing, and what is to hold its result, or None.

    An input that may be overwritten holds anything then, also what it held before.
    """
    name, writes = IN_ARGUMENT[function]
    bound = inspect.signature(function).bind(*args, **kwargs)
    if bool(bound.arguments.get(name, not writes)) is not writes:
        return args, kwargs, None
    bound.arguments[name] = not writes
    return bound.args, bound.kwargs, bound.args[0] if function is np.nan_to_num else None


# Functions whose answer depends on shapes and dtypes alone.
STATIC = {
    np.shape,
    np.ndim,
    np.size,
    np.result_type,
    np.can_cast,
    np.common_type,
    np.iscomplexobj,
    np.isrealobj,
    np.may_share_memory,
    np.shares_memory,
    np.min_scalar_type,
    np.einsum_path,
    np.broadcast_shapes,
}

# Functions of NumPy's whose result is real or complex by values.
TYPED_BY_VALUES = {
    np.real_if_close,
    np.linalg.eig,
    np.linalg.eigvals,
    np.poly,
    np.roots,
    *[getattr(np.emath, name) for name in np.emath.__all__],
}

# Functions of NumPy's whose result has a shape or a dtype that depends on values.
SHAPED_BY_VALUES = {
    *TYPED_BY_VALUES,
    np.nonzero,
    np.flatnonzero,
    np.argwhere,
    np.where,
    np.unique,
    np.unique_all,
    np.unique_counts,
    np.unique_inverse,
    np.unique_values,
    np.union1d,
    np.intersect1d,
    np.setdiff1d,
    np.setxor1d,
    np.extract,
    np.compress,
    np.trim_zeros,
    np.repeat,
    np.bincount,
    np.delete,
    np.insert,
    np.histogram,
    np.histogram_bin_edges,
    np.histogram2d,
    np.histogramdd,
    np.polydiv,
    np.polyfit,
    np.linalg.lstsq,
    np.split,
    np.array_split,
    np.resize,
    np.tile,
    np.pad,
}


def kinds_of(value: Any) -> Any:
    """The shape and dtype of a result, or those of several."""
    if isinstance(value, (tuple, list)):
        return tuple([kinds_of(part) for part in value])
    dtype = getattr(value, "dtype", None)
    return None if dtype is None else (value.shape, dtype.str)


_ARITHMETIC = frozenset(
    (operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.neg)
)


def makes_an_array_of_its_own(function: Any) -> bool:
    """Whether the result of a call without keywords has memory of its own, and a known shape."""
    return function in _ARITHMETIC or type(function) is np.ufunc and function.nout == 1


@functools.cache
def strictly(function: Function) -> Function:
    """The function that raises where another warns: nothing is known of it, so it is not moved."""

    def call(*args: Any, **kwargs: Any) -> Any:
        kinds = np.geterr().items()
        with errstate(**{kind: "raise" for kind, way in kinds if way == "warn"}):
            return function(*args, **kwargs)

    call.__name__ = call.__qualname__ = getattr(function, "__name__", "call")
    call.__module__ = "strict"
    return call


# Functions of NumPy's that return a view of their argument for some values, and a copy for others.
_VIEWS_BY_VALUES = frozenset((np.trim_zeros, np.real_if_close))


def may_return_an_argument(function: Any) -> bool:
    """Whether a call may return memory of an argument for some values, and its own for others.

    A function of ours does where it finds nothing to do; one of the program may do anything.
    """
    if type(function) is not types.FunctionType or function in METHODS:
        return function in _VIEWS_BY_VALUES
    module = function.__module__ or ""
    return function_of(function) is not function or module.partition(".")[0] != "numpy"


def shape_is_known(function: Any) -> bool:
    """Whether the shapes of the arguments alone say that of a function's result."""
    if isinstance(function, np.ufunc) or function in _SHAPE_KNOWN:
        return True
    module = getattr(function, "__module__", None) or "numpy"
    known = module.partition(".")[0] in ("numpy", "_operator", "operator", "tapegrad")
    if known and type(function) is types.BuiltinFunctionType:
        _SHAPE_KNOWN.add(function)
    return known


_SHAPE_KNOWN: set[Any] = set()


def bits_of(x: Any) -> bytes:
    """The memory of an array, or of a number, in the order of its elements."""
    return np.asarray(x).tobytes()


def set_flat(target: Any, value: Any) -> None:
    """`target.flat = value`."""
    target.flat = value


@functools.cache
def nth(function: Function, position: int) -> Function:
    """A function that returns one of several results of another."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)[position]

    call.__qualname__ = f"{getattr(function, '__qualname__', 'call')}[{position}]"
    return call


@functools.cache
def out_of(function: Function) -> Function:
    """A function as one that writes into its first argument."""

    def call(target: Any, *args: Any, **kwargs: Any) -> None:
        function(*args, **kwargs, out=target)

    call.__qualname__ = getattr(function, "__name__", "call")
    OUT_OF[call] = function
    return call


OUT_OF: dict[Any, Any] = {}


def bound_call(rule: Any) -> Function:
    """`rule.call` as a function of arrays and parameters: one object a rule, which holds it."""
    if isinstance(rule.function, np.ufunc):
        return rule.function
    known: Function | None = vars(rule).get("_bound_call")
    if known is not None:
        return known

    def call(*arrays: Any, **params: Any) -> Any:
        return rule.call(arrays, params)

    call.__qualname__ = rule.name
    call.__module__ = getattr(rule.function, "__module__", None) or "numpy"
    call._tapegrad_rule = rule  # type: ignore[attr-defined]
    rule._bound_call = call
    return call


def function_of(function: Any) -> Any:
    """The function that a call of a rule stands for; any other one itself."""
    rule = getattr(function, "_tapegrad_rule", None)
    return function if rule is None else rule.function


# The kernels of planned calls, with what their rules do instead.
_DEFINED: MutableMapping[Function, Function] = WeakKeyDictionary()


def define(function: Function | None, definition: Function) -> None:
    """Say what a function of our own may be taken apart as."""
    if function is not None and _is_held(function):
        _DEFINED[function] = definition


def defined(function: Function) -> Function:
    """The function that another is taken apart as: its definition, or itself."""
    return _DEFINED.get(function, function) if _is_held(function) else function


def _is_held(function: Function) -> bool:
    """Whether a function can be known without being kept."""
    return type(function) in (types.FunctionType, functools.partial)


def definition_of(rule: Any) -> Function | None:
    """The function of a rule of the object layer, of its arrays and parameters; else None."""
    if "_definition" not in vars(rule):
        rule._definition = _definition_of(rule)
    found: Function | None = rule._definition
    return found


def _definition_of(rule: Any) -> Function | None:
    function = getattr(rule.function, "function", rule.function)
    module = getattr(function, "__module__", None) or ""
    if not module.startswith("tapegrad.torch.") or type(function) is not types.FunctionType:
        return None

    def call(arrays: Any, params: Any) -> Any:
        return function(*arrays, **params)

    call.__qualname__, call.__module__ = rule.name, module
    return call


@functools.cache
def expectation(question: Function, expected: bool) -> Function:
    """A function that tells whether all was as expected until now, and a question's answer is."""

    def call(before: bool, value: Any) -> bool:
        return before and question(value) is expected

    call.__qualname__ = f"assume {question.__name__.strip('_')} {expected}"
    EXPECTATIONS[call] = question, expected
    return call


EXPECTATIONS: dict[Any, tuple[Function, bool]] = {}


@functools.cache
def in_place_of(name: str) -> Function:
    """`target += value`, and its kin, as a function that writes into its first argument."""
    found: Function = getattr(operator, f"i{name}")
    return found


__all__ = [
    "ATTRIBUTES",
    "CALLING",
    "EXPECTATIONS",
    "IN_ARGUMENT",
    "METHODS",
    "MUTATORS",
    "SHAPED_BY_VALUES",
    "STATIC",
    "TYPED_BY_VALUES",
    "attribute",
    "bound_call",
    "define",
    "defined",
    "definition_of",
    "expectation",
    "function_of",
    "in_place_of",
    "kinds_of",
    "makes_an_array_of_its_own",
    "may_return_an_argument",
    "method",
    "method_of_ufunc",
    "nth",
    "out_of",
    "set_flat",
    "shape_is_known",
    "without_writing",
]
