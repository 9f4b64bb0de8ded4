"""Functions of Python's `math`, `cmath` and `statistics` for values in a trace.

Knows which of NumPy's functions computes each. Python's own function is called first, on the plain
number, so that its errors are as usual (a program may catch OverflowError). The examples of a vmap
have no one number: there NumPy's function alone is called.
"""

from __future__ import annotations

import cmath
import functools
import importlib
import math
import statistics
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._adopt.texts import ShownNumber, refuse_text
from tapegrad._arrays.buffers import value_of
from tapegrad._arrays.builtin import Builtin
from tapegrad._arrays.conversion import gather
from tapegrad._core.forms import elementwise
from tapegrad._core.types import Function, Value
from tapegrad._core.values import (
    UNTRACED_TYPES,
    holds_in_trace,
    in_trace,
    is_mapped,
    is_plain_number,
    is_scalar,
    lift,
    recorded_in,
    untraced,
)

# Python's own function for each of ours.
PLAIN_FUNCTIONS: dict[Any, Any] = {}


def mathematics(name: str) -> Any:
    """A name of `math`, for values in a trace too."""
    return _name_of(math, name, _MATH)


def of_complex(name: str) -> Any:
    """A name of `cmath`, for values in a trace too."""
    return _name_of(cmath, name, _CMATH)


def of_statistics(name: str) -> Any:
    """A name of `statistics`, for values in a trace too."""
    return _name_of(statistics, name, _STATISTICS)


def _name_of(module: Any, name: str, ours: dict[str, Function]) -> Any:
    plain = getattr(module, name)
    function = ours.get(name)
    if function is None:
        return plain
    checks = module is not statistics
    of_iterables = name in _OF_ITERABLES or module is statistics

    @functools.wraps(plain)
    def call(*args: Any, **kwargs: Any) -> Any:
        if of_iterables:  # a generator can be read once
            args = tuple([list(arg) if hasattr(arg, "__next__") else arg for arg in args])
        for value in args:
            if type(value) not in UNTRACED_TYPES and holds_in_trace(value):
                break
        else:
            return plain(*args, **kwargs)
        values = tuple(map(value_of, args))
        if checks:
            known = [untraced(value) for value in values]
            if any(recorded_in(value) is not None for value in values):
                found = function(*values, **kwargs)
                # The program's answer: where it is another one, Python's function has its say.
                if name in _RAISING and not _has_examples(found) and not np.isfinite(found):
                    plain(*map(float, values), **kwargs)
                return found
            if not holds_in_trace(known):
                plain(*known, **kwargs)  # its errors
        return function(*values, **kwargs)

    made: Any = call if module is statistics else Builtin(call)
    PLAIN_FUNCTIONS[made] = plain
    return made


def _has_examples(value: Any) -> bool:
    """Whether a value is one example of a vmap, at any depth."""
    while in_trace(value):
        if is_mapped(value):
            return True
        value = value._value
    return False


# --- math ---------------------------------------------------------------------------------------


def _by_number(function: Function) -> Callable[[Value], Any]:
    """A function of arrays by one of numbers."""
    each = np.frompyfunc(function, 1, 1)

    def call(x: Value) -> Any:
        if issubclass(type(x), np.ndarray) and x.shape:
            return each(x).astype(float)
        return np.float64(function(float(x)))

    call.__name__ = call.__qualname__ = function.__name__
    return call


_2_OVER_ROOT_PI = 2 / math.sqrt(math.pi)
_ERF = elementwise(
    _by_number(math.erf), lambda _out, x: _2_OVER_ROOT_PI * np.exp(-x * x), name="math.erf"
)
_ERFC = elementwise(
    _by_number(math.erfc), lambda _out, x: -_2_OVER_ROOT_PI * np.exp(-x * x), name="math.erfc"
)


def _special(name: str) -> Callable[[Value], Any]:
    def call(x: Value) -> Any:
        return getattr(importlib.import_module("scipy.special"), name)(x)  # which has a rule

    return call


def _log(x: Value, base: Value = None) -> Any:
    return np.log(x) if base is None else np.log(x) / np.log(base)


def _frexp(x: Value) -> tuple[Any, int]:
    exponent = math.frexp(untraced(x))[1]
    return x * 0.5**exponent, exponent


def _modf(x: Value) -> tuple[Any, Any]:
    whole = np.trunc(x)
    return x - whole, whole


def _remainder(x: Value, y: Value) -> Any:
    return x - y * np.round(untraced(x) / untraced(y))


def _isclose(a: Value, b: Value, *, rel_tol: float = 1e-09, abs_tol: float = 0.0) -> bool:
    largest = np.maximum(np.abs(a), np.abs(b))
    return bool(a == b) or bool(
        np.isfinite(largest) & (np.abs(a - b) <= np.maximum(rel_tol * largest, abs_tol))
    )


def _of_list(function: Function) -> Callable[..., Any]:
    """A function of an array for one of an iterable."""
    return lambda values, *rest, **named: function(lift(list(values)), *rest, **named)


def _fsum(values: Any) -> Any:
    x = lift(list(values))
    total = np.sum(x)
    known, rounded = untraced(x), untraced(total)
    if in_trace(known) or not math.isfinite(rounded):
        return total
    return total + (math.fsum(known) - rounded)  # as if it were not rounded on the way


def _answer(function: Function) -> Callable[..., bool]:
    return lambda x: bool(function(x))


def _ulp(x: Value) -> float:
    return math.ulp(untraced(x))


def _nextafter(x: Value, y: Value, **named: Any) -> Any:
    before = untraced(x)
    return x + (math.nextafter(before, untraced(y), **named) - before)


# Functions of `math` that raise where NumPy's give NaN or infinity.
_RAISING = frozenset(
    """
    acos acosh asin atanh cosh exp exp2 expm1 fmod gamma ldexp lgamma log log10 log1p log2 pow
    sinh sqrt
    """.split()
)
_OF_ITERABLES = frozenset(("dist", "fsum", "prod", "sumprod"))
_SAME = """
    sin cos tan sinh cosh tanh exp exp2 expm1 log1p log2 log10 sqrt cbrt degrees radians copysign
    fmod fabs
""".split()
_MATH: dict[str, Any] = {name: getattr(np, name) for name in _SAME} | {
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atan2": np.arctan2,
    "atanh": np.arctanh,
    "ceil": lambda x: math.ceil(np.ceil(x)),
    "dist": lambda p, q: np.sqrt(np.sum((lift(list(p)) - lift(list(q))) ** 2)),
    "erf": _ERF.apply,
    "erfc": _ERFC.apply,
    "floor": lambda x: math.floor(np.floor(x)),
    "fma": lambda x, y, z: x * y + z,
    "frexp": _frexp,
    "fsum": _fsum,
    "gamma": _special("gamma"),
    "hypot": lambda *xs: functools.reduce(np.hypot, xs, 0.0) if len(xs) != 2 else np.hypot(*xs),
    "isclose": _isclose,
    "isfinite": _answer(np.isfinite),
    "isinf": _answer(np.isinf),
    "isnan": _answer(np.isnan),
    "ldexp": lambda x, i: x * 2.0**i,
    "lgamma": _special("gammaln"),
    "log": _log,
    "modf": _modf,
    "nextafter": _nextafter,
    "pow": np.power,
    "prod": lambda xs, *, start=1: np.prod(lift(list(xs))) * start,
    "remainder": _remainder,
    "sumprod": lambda p, q: np.sum(lift(list(p)) * lift(list(q))),
    "trunc": lambda x: int(np.trunc(x)),
    "ulp": _ulp,
}

# --- cmath --------------------------------------------------------------------------------------


def _complex(z: Value) -> Any:
    """A number as a complex one; a part of one that is -0.0 stays: it decides the branch."""
    return z if np.iscomplexobj(z) else z + 0j


def _of(function: Function) -> Callable[..., Any]:
    """NumPy's function of a complex number."""
    return lambda z: function(_complex(z))


_CMATH: dict[str, Any] = {
    name: _of(getattr(np, name)) for name in "sin cos tan sinh cosh tanh exp log10 sqrt".split()
} | {
    "acos": _of(np.arccos),
    "acosh": _of(np.arccosh),
    "asin": _of(np.arcsin),
    "asinh": _of(np.arcsinh),
    "atan": _of(np.arctan),
    "atanh": _of(np.arctanh),
    "isclose": _isclose,
    "isfinite": _answer(np.isfinite),
    "isinf": _answer(np.isinf),
    "isnan": _answer(np.isnan),
    "log": lambda z, base=None: _log(_complex(z), None if base is None else _complex(base)),
    "phase": lambda z: np.angle(z),
    "polar": lambda z: (np.absolute(z), np.angle(z)),
    "rect": lambda r, phi: r * (np.cos(phi) + 1j * np.sin(phi)),
}

# --- statistics ---------------------------------------------------------------------------------


def _spread(function: Function, ddof: int, name: str) -> Callable[..., Any]:
    def call(data: Any, center: Value = None, **named: Value) -> Any:
        x = lift(list(data))
        center = named.pop(name, center)
        if named:
            raise TypeError(f"got an unexpected keyword argument {next(iter(named))!r}")
        middle = np.mean(x) if center is None else center
        return function(np.sum((x - middle) ** 2) / (len(x) - ddof))

    return call


def _fmean(data: Any, weights: Any = None) -> Any:
    return np.average(lift(list(data)), weights=None if weights is None else lift(list(weights)))


_STATISTICS: dict[str, Any] = {
    "fmean": _fmean,
    "geometric_mean": _of_list(lambda x: np.exp(np.mean(np.log(x)))),
    "harmonic_mean": _of_list(lambda x: len(x) / np.sum(1 / x)),
    "mean": _of_list(np.mean),
    "median": _of_list(np.median),
    "pstdev": _spread(np.sqrt, 0, "mu"),
    "pvariance": _spread(lambda x: x, 0, "mu"),
    "stdev": _spread(np.sqrt, 1, "xbar"),
    "variance": _spread(lambda x: x, 1, "xbar"),
}


NAMES = frozenset((*_MATH, *_CMATH, *_STATISTICS))

# --- builtins -----------------------------------------------------------------------------------


def as_float(x: Any = 0.0) -> Any:
    """`float(x)` in adopted code: a value in a trace stays one, as a number."""
    if is_plain_number(x):
        return float(x)
    if type(x) is ShownNumber:
        refuse_text("float", x)
    x = _by_method(value_of(x), "__float__")
    if not in_trace(x):
        return float(x)
    if x.shape:
        float(np.ones(x.shape))  # NumPy's error, or its warning
    if x.dtype.kind == "c":
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    return x.reshape(())[()] if x.shape else x[()]


def _by_method(x: Any, name: str) -> Any:
    """An object of adopted code as the value in a trace that its `__float__` gives, if it does."""
    method = getattr(type(x), name, None)
    if not isinstance(method, types.FunctionType) or in_trace(x):
        return x
    made = value_of(method(x))
    return made if in_trace(made) else x


def as_complex(*args: Any, **kwargs: Any) -> Any:
    """`complex(x)` and `complex(re, im)` in adopted code, likewise."""
    for x in args:
        if type(x) is ShownNumber:
            refuse_text("complex", x)
    args = tuple([_by_method(value_of(x), "__complex__") for x in args])
    kwargs = {name: _by_method(value_of(x), "__complex__") for name, x in kwargs.items()}
    if not any(map(in_trace, (*args, *kwargs.values()))):
        return complex(*args, **kwargs)
    parts = dict(zip(("real", "imag"), args, strict=False)) | kwargs
    real, imag = parts.get("real", 0.0), parts.get("imag", 0.0)
    if not in_trace(imag) and imag == 0 and math.copysign(1.0, imag.real) < 0:
        made = np.conj(real + 0j)  # 1j * -0.0 is 0j, on the other side of a branch cut
    else:
        made = real + 1j * imag
    return made.reshape(())[()] if made.shape else made[()]


def as_type(kind: Any, x: Any) -> Any:
    """`dtype(x)` and `np.float64(x)` in adopted code, likewise; another call is as usual."""
    if isinstance(kind, type):
        if kind is float:
            return as_float(x)
        if kind is complex:
            return as_complex(x)
        if type(x) is ShownNumber:
            refuse_text(kind.__name__, x)
        if issubclass(kind, np.inexact) and holds_in_trace(value := value_of(x)):
            return gather(value, kind.__name__).astype(kind)
    return kind(x)


def has_attribute(x: Any, name: str) -> bool:
    """`hasattr(x, name)` in adopted code: a number has no length."""
    if in_trace(x) and is_scalar(x) and not hasattr(x.__class__, name):
        return False
    return hasattr(x, name)


def type_of(x: Any) -> type:
    """`type(x)` in adopted code: of a value in a trace the type that it stands for."""
    held = value_of(x)
    shown: type = x.__class__ if in_trace(held) or held is not x else type(x)
    return shown
