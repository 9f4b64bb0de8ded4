"""The arithmetic operators of batched values, with a short path for two values of one rank.

Knows the class of batched values. Must not know how other calls compute: for other ranks, arrays
that all examples share, and other vmaps, the operator calls the ufunc, and so `array.py`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._arrays.interface import give_own_code
from tapegrad._batched.array import Batched, BatchedArray, BatchedNumber, batched, new
from tapegrad._core.types import Value


def _operator(name: str, ufunc: np.ufunc, function: Callable[[Any, Any], Any]) -> None:
    """Give Batched an operator; operands of one rank, and numbers, take the short path."""

    def forward(self: Batched, other: Value) -> Any:
        vmap_level = self.vmap_level
        kind = type(other)
        if vmap_level.open:
            if kind is BatchedArray or kind is BatchedNumber:
                x, y = self._value, other._value
                if other.vmap_level is vmap_level and x.ndim == y.ndim:
                    made = new(kind)  # `batched`, written out
                    made._value = function(x, y)
                    made.vmap_level = vmap_level
                    return made
            elif kind is float or kind is int:
                return batched(function(self._value, other), vmap_level)
        if getattr(kind, "__array_ufunc__", 0) is None:
            return NotImplemented
        return ufunc(self, other)

    def reflected(self: Batched, other: Value) -> Any:
        if self.vmap_level.open and (type(other) is float or type(other) is int):
            return batched(function(other, self._value), self.vmap_level)
        if getattr(type(other), "__array_ufunc__", 0) is None:
            return NotImplemented
        return ufunc(other, self)

    for method, prefix in ((forward, ""), (reflected, "r")):
        method.__name__ = f"__{prefix}{name}__"
        method.__qualname__ = f"Batched.{method.__name__}"
        setattr(Batched, method.__name__, method)


_operator("add", np.add, operator.add)
_operator("sub", np.subtract, operator.sub)
_operator("mul", np.multiply, operator.mul)
_operator("truediv", np.divide, operator.truediv)
_operator("pow", np.power, operator.pow)


def _in_place(name: str, ufunc: np.ufunc) -> None:
    """Give Batched `x += y`: a write into an array, but a new value for a number, as in NumPy."""

    def method(self: Batched, other: Value) -> Any:
        if self.is_number():
            return ufunc(self, other)
        return ufunc(self, other, out=(self,))

    method.__name__ = f"__i{name}__"
    method.__qualname__ = f"Batched.{method.__name__}"
    setattr(Batched, method.__name__, method)


for _name, _ufunc in (
    ("add", np.add),
    ("sub", np.subtract),
    ("mul", np.multiply),
    ("truediv", np.divide),
    ("floordiv", np.floor_divide),
    ("mod", np.remainder),
    ("pow", np.power),
    ("and", np.bitwise_and),
    ("or", np.bitwise_or),
    ("xor", np.bitwise_xor),
    ("lshift", np.left_shift),
    ("rshift", np.right_shift),
):
    _in_place(_name, _ufunc)
give_own_code(BatchedNumber, Batched)
