"""Functions of arrays as the calls of NumPy that they make: what generated kernels are made of.

Knows NumPy's protocols. Must not know rules, or how the calls are made again (`generated`).

A rule's function gets symbols in the place of small arrays of its own. A symbol has a shape, a
dtype and a sample value, and notes each call; two calls of the same function with the same
operands are one symbol, so that a derivative finds what the forward pass has computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.fast.sums import summing
from tapegrad._core.types import Value


class UnrecordableError(TypeError):
    """A function asks a symbol for its value, or calls what no symbol is given to."""


class Trace:
    """The symbols of a call, in order."""

    def __init__(self) -> None:
        self.known: dict[Any, Symbol] = {}
        self.symbols: list[Symbol] = []

    def input(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Symbol:
        make = np.empty if math.prod(shape) >= _MANY else np.ones
        return Symbol(self, "input", None, (), make(shape, dtype))

    def close(self) -> None:
        """Let go of the symbols, and with them of their samples."""
        self.known.clear()
        self.symbols.clear()

    def note(self, kind: str, function: Any, operands: tuple[Any, ...]) -> Symbol:
        """The symbol of a call: function(*operands), or of a method named so."""
        key = kind, function, *map(_key_of, operands)
        found = self.known.get(key)
        if found is None:
            given = [part.value if type(part) is Symbol else part for part in operands]
            if kind == "ufunc" and _is_large(given):
                sample = _sample(function, given)
            else:
                call = getattr(given.pop(0), function) if kind == "method" else function
                sample = call(*given)
            if not isinstance(sample, (np.ndarray, np.generic)):
                raise UnrecordableError(function)
            found = self.known[key] = Symbol(self, kind, function, operands, sample)
        return found


_MANY = 1 << 14  # elements of a sample, from which nothing is computed


def _is_large(operands: list[Any]) -> bool:
    return any(isinstance(part, np.ndarray) and part.size >= _MANY for part in operands)


def _sample(ufunc: Any, operands: list[Any]) -> Value:
    """An array as a ufunc makes it, in memory that nothing has touched."""
    shape = np.broadcast_shapes(*map(np.shape, operands))
    if not isinstance(ufunc, np.ufunc):  # np.clip
        return np.empty(shape, operands[0].dtype)
    kinds = [getattr(part, "dtype", type(part)) for part in operands]
    return np.empty(shape, ufunc.resolve_dtypes((*kinds, None))[-1])


def _key_of(operand: Any) -> Any:
    if type(operand) is Symbol:
        return operand
    if isinstance(operand, (np.ndarray, np.generic)):
        return operand.shape, operand.dtype, operand.tobytes()
    if isinstance(operand, (tuple, list)):
        return tuple(map(_key_of, operand))
    if isinstance(operand, slice):
        return slice, operand.start, operand.stop, operand.step
    sign = math.copysign(1.0, operand) if type(operand) is float else 0
    return type(operand), operand, sign


class Symbol:
    """Stands for an array in a trace."""

    __slots__ = ("function", "kind", "number", "operands", "trace", "value")

    def __init__(
        self, trace: Trace, kind: str, function: Any, operands: tuple[Any, ...], value: Value
    ) -> None:
        self.trace, self.kind, self.function, self.value = trace, kind, function, value
        self.operands, self.number = operands, len(trace.symbols)
        trace.symbols.append(self)

    shape: Any = property(lambda self: self.value.shape)
    dtype: Any = property(lambda self: self.value.dtype)
    ndim: Any = property(lambda self: self.value.ndim)
    size: Any = property(lambda self: self.value.size)
    flags: Any = property(lambda self: self.value.flags)
    real: Any = property(lambda self: self if self.value.dtype.kind == "f" else _refuse(self))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        if method == "reduce":
            return _reduced(ufunc, *args, **kwargs)
        if method != "__call__" or kwargs or ufunc.nout != 1:
            raise UnrecordableError(ufunc)
        return called(self.trace, ufunc, args)

    def __array_function__(self, function: Any, _types: Any, args: Any, kwargs: Any) -> Any:
        way = _FUNCTIONS.get(function)
        if way is None:
            raise UnrecordableError(function)
        return way(*args, **kwargs)

    def astype(self, dtype: Any, copy: bool = True) -> Symbol:
        same = self.dtype == dtype
        return self if same and not copy else self.trace.note("method", "astype", (self, dtype))

    def reshape(self, *shape: Any) -> Symbol:
        given = shape[0] if len(shape) == 1 and not isinstance(shape[0], int) else shape
        if tuple(given) == self.shape:
            return self
        return self.trace.note("method", "reshape", (self, tuple(given)))

    def ravel(self, *order: str) -> Symbol:
        return self if self.ndim == 1 else self.trace.note("method", "ravel", (self, *order))

    def swapaxes(self, first: int, second: int) -> Symbol:
        return self.trace.note("method", "swapaxes", (self, first, second))

    def dot(self, other: Any) -> Symbol:
        return self.trace.note("method", "dot", (self, other))

    def __getitem__(self, index: Any) -> Symbol:
        return self.trace.note("method", "__getitem__", (self, index))

    __hash__ = object.__hash__


def _refuse(*_args: Any, **_kwargs: Any) -> Any:
    raise UnrecordableError


def _operators() -> None:
    for word, ufunc in {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "truediv": np.divide,
        "pow": np.power,
        "matmul": np.matmul,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }.items():
        setattr(Symbol, f"__{word}__", lambda x, y, by=ufunc: by(x, y))
        setattr(Symbol, f"__r{word}__", lambda x, y, by=ufunc: by(y, x))
    for word, ufunc in {
        "lt": np.less,
        "le": np.less_equal,
        "gt": np.greater,
        "ge": np.greater_equal,
        "eq": np.equal,
        "ne": np.not_equal,
    }.items():
        setattr(Symbol, f"__{word}__", lambda x, y, by=ufunc: by(x, y))
    for word, ufunc in {"neg": np.negative, "invert": np.invert, "abs": np.absolute}.items():
        setattr(Symbol, f"__{word}__", lambda x, by=ufunc: by(x))
    for word in ("bool", "float", "int", "index", "len", "iter", "array", "setitem"):
        setattr(Symbol, f"__{word}__", _refuse)


_operators()


def is_own(x: Value) -> bool:
    """Whether a value is NumPy's own array, or a symbol for one: derivatives need no graph."""
    return type(x) is np.ndarray or type(x) is Symbol


def called(trace: Trace, ufunc: np.ufunc, args: tuple[Any, ...]) -> Any:
    """A ufunc of symbols and constants: the same numbers, but for a rounding, in fewer steps."""
    if ufunc.signature is not None:
        return trace.note("call", ufunc, args)
    first, *others = args
    if (ufunc is np.negative or ufunc is np.absolute) and first.function is np.negative:
        (inner,) = first.operands
        return inner if ufunc is np.negative else np.absolute(inner)
    if ufunc is np.multiply or ufunc is np.divide:
        (second,) = others
        if _is_one(second) and type(first) is Symbol:
            return first
        if ufunc is np.multiply:
            if _is_one(first):
                return second
            if type(second) is Symbol and second.function is np.negative:
                return np.negative(np.multiply(first, second.operands[0]))
            for x, y in ((first, second), (second, first)):  # a product by a reciprocal
                is_quotient = type(y) is Symbol and y.function is np.divide
                if is_quotient and _is_one(y.operands[0]) and np.shape(_value(x)) == y.shape:
                    return np.divide(x, y.operands[1])
    return trace.note("ufunc", ufunc, args)


def summed(bar: Value, shape: tuple[int, ...]) -> Value:
    """A cotangent summed to a shape that broadcasts to its own."""
    if bar.shape == shape:
        return bar
    if is_own(bar):
        total: Any = summing(bar.shape, shape, bar.dtype)
        return total(bar) if type(bar) is np.ndarray else bar.trace.note("call", total, (bar,))
    lead = len(bar.shape) - len(shape)
    aligned = (*(1,) * lead, *shape)
    axes = tuple([a for a, side in enumerate(aligned) if a < lead or side != bar.shape[a]])
    return np.reshape(np.sum(bar, axes, keepdims=True), shape)


def _value(x: Any) -> Any:
    return x.value if type(x) is Symbol else x


def _is_one(x: Any) -> bool:
    return (type(x) is int or type(x) is float) and x == 1


def _reduced(
    ufunc: np.ufunc,
    x: Symbol,
    axis: Any = 0,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    **rest: Any,
) -> Symbol:
    if dtype is not None or out is not None or rest:
        raise UnrecordableError(ufunc)
    if type(axis) is list:
        axis = tuple(axis)
    return x.trace.note("call", ufunc.reduce, (x, axis, None, None, bool(keepdims)))


def _sum(x: Symbol, axis: Any = None, **words: Any) -> Symbol:
    return _reduced(np.add, x, axis, **words)


def _where(condition: Value, x: Value, y: Value) -> Symbol:
    trace = next(part.trace for part in (condition, x, y) if type(part) is Symbol)
    return trace.note("call", np.where, (condition, x, y))


def _concatenate(parts: Any, axis: int = 0) -> Symbol:
    trace = next(part.trace for part in parts if type(part) is Symbol)
    return trace.note("call", joined, (axis, *parts))


def joined(axis: int, *parts: Value) -> Value:
    return np.concatenate(parts, axis)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where,
    np.clip: lambda x, low, high: x.trace.note("ufunc", np.clip, (x, low, high)),
    np.concatenate: _concatenate,
    np.sum: _sum,
    np.reshape: lambda x, shape: x.reshape(shape),
    np.expand_dims: lambda x, axis: x.reshape(np.expand_dims(x.value, axis).shape),
    np.squeeze: lambda x, axis=None: x.reshape(np.squeeze(x.value, axis).shape),
    np.swapaxes: lambda x, first, second: x.swapaxes(first, second),
    np.ravel: lambda x: x.ravel(),
    np.dot: lambda x, y: x.dot(y) if type(x) is Symbol else y.trace.note("call", np.dot, (x, y)),
    np.real: lambda x: x.real,
    np.shape: lambda x: x.shape,
}
