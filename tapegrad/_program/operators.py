"""The operators and methods of recorded values.

Knows Python's operators and the methods of ndarray by name. Must not know how a call is logged.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.operands import call_other, is_sparse
from tapegrad._core.values import Buffer, Mapped, Traced, innermost
from tapegrad._program.calls import called, is_ours, mutated, with_out
from tapegrad._program.functions import in_place_of, method
from tapegrad._program.recorded import Recorded, RecordedArray, RecordedNumber


def _operator(name: str, function: Callable[..., Any]) -> None:
    def forward(self: Recorded, other: Any) -> Any:
        if type(other) in _PLAIN:
            return called(self.recorder, function, (self, other), {})
        return _operated(self, function, self, other, other)

    def reflected(self: Recorded, other: Any) -> Any:
        if type(other) in _PLAIN:
            return called(self.recorder, function, (other, self), {})
        return _operated(self, function, other, self, other)

    def in_place(self: Recorded, other: Any) -> Any:
        if self.is_number():
            return forward(self, other)
        if not is_ours((other,)):  # it answers as to any array that it is to be written into
            return _UFUNCS[function](self, other, out=self)
        mutated(self, in_place_of(name), (other,), {})
        return self

    for prefix, call in (("", forward), ("r", reflected), ("i", in_place)):
        setattr(Recorded, f"__{prefix}{name}__", call)


def _operated(self: Recorded, function: Any, x: Any, y: Any, other: Any) -> Any:
    kind = type(other)
    if kind not in _PLAIN:
        if issubclass(kind, Buffer) and not is_ours((other.value,)):
            return NotImplemented  # a transform inside is to handle it
        if is_sparse(kind) and function in _OF_SPARSE:
            return call_other(_UFUNCS[function], "__call__", (x, y), {})
        if isinstance(other, (Traced, Mapped)) or getattr(kind, "__array_ufunc__", 0) is None:
            return NotImplemented
        if not isinstance(other, (np.ndarray, np.generic, int, float, complex, list, tuple)):
            return NotImplemented
    return called(self.recorder, function, (x, y), {})


_UFUNCS: dict[Any, np.ufunc] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.divide,
    operator.floordiv: np.floor_divide,
    operator.mod: np.remainder,
    operator.pow: np.power,
    operator.matmul: np.matmul,
    operator.and_: np.bitwise_and,
    operator.or_: np.bitwise_or,
    operator.xor: np.bitwise_xor,
    operator.lshift: np.left_shift,
    operator.rshift: np.right_shift,
}
_OF_SPARSE = frozenset(
    (operator.add, operator.sub, operator.mul, operator.truediv, operator.matmul)
)
_PLAIN = frozenset(
    (RecordedNumber, RecordedArray, int, float, complex, bool, np.ndarray, np.float64)
)


for _name_of, _function in (
    ("add", operator.add),
    ("sub", operator.sub),
    ("mul", operator.mul),
    ("truediv", operator.truediv),
    ("floordiv", operator.floordiv),
    ("mod", operator.mod),
    ("pow", operator.pow),
    ("matmul", operator.matmul),
    ("and", operator.and_),
    ("or", operator.or_),
    ("xor", operator.xor),
    ("lshift", operator.lshift),
    ("rshift", operator.rshift),
):
    _operator(_name_of, _function)


def _comparison(name: str, function: Callable[..., Any]) -> None:
    def compare(self: Recorded, other: Any) -> Any:
        found = _operated(self, function, self, other, other)
        if found is not NotImplemented or isinstance(other, (Traced, Mapped, Buffer)):
            return found
        if getattr(type(other), "__array_ufunc__", 0) is None:
            return found
        # Python would take == of a string, or of None, for a question about identity.
        return called(self.recorder, function, (self, other), {})

    setattr(Recorded, f"__{name}__", compare)


def _unary(name: str, function: Callable[..., Any]) -> None:
    def call(self: Recorded) -> Any:
        return called(self.recorder, function, (self,), {})

    setattr(Recorded, f"__{name}__", call)


for _word in ("eq", "ne", "lt", "le", "gt", "ge"):
    _comparison(_word, getattr(operator, _word))
for _word in ("neg", "pos", "abs", "invert"):
    _unary(_word, getattr(operator, _word))


def _divmod(self: Recorded, other: Any) -> Any:
    return called(self.recorder, divmod, (self, other), {})


def _rdivmod(self: Recorded, other: Any) -> Any:
    return called(self.recorder, divmod, (other, self), {})


for _word, _function in (("__divmod__", _divmod), ("__rdivmod__", _rdivmod)):
    setattr(Recorded, _word, _function)

_PURE_METHODS = (
    "all any argmax argmin argpartition argsort astype choose clip compress conj "
    "conjugate copy cumprod cumsum diagonal dot flatten max mean min nonzero prod ravel repeat "
    "reshape round searchsorted squeeze std sum swapaxes take trace transpose var view"
).split()
_WRITING_METHODS = "fill partition put sort".split()


def _method(name: str) -> None:
    def call(self: Recorded, *args: Any, **kwargs: Any) -> Any:
        inner = innermost((*args, *kwargs.values()))
        if inner is not None and not issubclass(type(inner), Recorded):
            return getattr(np, name)(self, *args, **kwargs)
        out = kwargs.pop("out", None)
        if out is not None:
            return with_out(self.recorder, method(name), (self, *args), kwargs, (out,))
        return called(self.recorder, method(name), (self, *args), kwargs)

    setattr(Recorded, name, call)


def _writing_method(name: str) -> None:
    def call(self: Recorded, *args: Any, **kwargs: Any) -> None:
        mutated(self, method(name), args, kwargs)

    setattr(Recorded, name, call)


for _word in _PURE_METHODS:
    _method(_word)
for _word in _WRITING_METHODS:
    _writing_method(_word)
