"""The arithmetic operators of the traced array: the hottest code of the library.

Knows the short layout of entries, and the rules of the ufuncs behind the operators. Everything
else (broadcasting, other dtypes, other tapes, views) goes to `ufuncs.binary`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from tapegrad._arrays.interface import give_own_code
from tapegrad._arrays.ties import note_tie
from tapegrad._arrays.traced import Array, Elements, Number
from tapegrad._arrays.ufuncs import binary, product
from tapegrad._arrays.views import PLAIN_TYPES
from tapegrad._core.entry import new
from tapegrad._core.forms import Elementwise, Multilinear
from tapegrad._core.operands import as_operand, call_other, is_sparse, refusal
from tapegrad._core.out import write_out
from tapegrad._core.rule import REGISTRY
from tapegrad._core.types import Value
from tapegrad._core.values import in_trace, untraced
from tapegrad.rules import products as _rules

assert _rules, "the operators' rules are declared by importing them"


Method = Callable[..., Any]
Operation = Callable[[Any, Any], Any]


def _by_class_of(other: Value, ufunc: np.ufunc, x: Value, y: Value) -> Any:
    """An operator that is not ours to handle, as ndarray does it: by the ufunc, if that is known.

    A class without `__array_ufunc__` has its own reflected operator, which Python calls next.
    """
    kind = type(other)
    if getattr(kind, "__array_ufunc__", None) is None and not is_sparse(kind):
        return NotImplemented
    return call_other(ufunc, "__call__", (x, y), {})


def _install(name: str, method: Method, kind: type[Array] = Array) -> None:
    method.__name__ = name
    method.__qualname__ = f"Array.{name}"
    setattr(kind, name, method)


def _operator(ufunc: np.ufunc, function: Operation, name: str, sign: str) -> None:
    """Give Array `__name__`, `__rname__` and `__iname__` from the rule of a ufunc."""
    rule = REGISTRY[ufunc]
    assert isinstance(rule, Elementwise)
    forward = _forward_of(ufunc, function, rule)
    _install(f"_{name}_any", forward)  # for operators that take a path of their own before
    _install(f"__{name}__", forward)
    _install(f"__r{name}__", _reflected_of(ufunc, function, rule))
    _install(f"__i{name}__", _in_place_of(forward, sign), Elements)


# The methods below make the entry and the result statement by statement: they run once for each
# operation of a program, and a function that did this for them would be one more call each time.


def _forward_of(ufunc: np.ufunc, function: Operation, rule: Elementwise) -> Method:
    """The method for `x * y` where x is traced."""
    x_kept, y_kept, out_kept = rule.keeps[True, True]
    x_alone, _, out_alone = rule.keeps[True, False]

    def forward(self: Array, other: Value) -> Any:
        kind = type(other)
        spec = self.spec
        if kind is spec.kind:
            tape = self.tape
            if tape is other.tape and spec is other.spec:
                x = self._value
                y = other._value
                out = function(x, y)
                slot = tape.fresh()
                kept = out if out_kept else None
                x = x if x_kept else None
                y = y if y_kept else None
                tape.log((slot, rule, kept, x, y, self.slot, other.slot))
                made = new(kind)
                made._value = out
                made.slot = slot
                made.tape = tape
                made.spec = spec
                return made
        elif kind is float or kind is int:
            x = self._value
            out = function(x, other)
            tape = self.tape
            slot = tape.fresh()
            kept = out if out_alone else None
            tape.log((slot, rule, kept, x if x_alone else None, other, self.slot, -1))
            made = new(spec.kind)
            made._value = out
            made.slot = slot
            made.tape = tape
            made.spec = spec
            return made
        taken = other if kind in PLAIN_TYPES else as_operand(other)
        if taken is NotImplemented:
            return _by_class_of(other, ufunc, self, other)
        return binary(rule, self, taken)

    return forward


def _reflected_of(ufunc: np.ufunc, function: Operation, rule: Elementwise) -> Method:
    """The method for `x * y` where y alone is traced."""
    _, y_kept, out_kept = rule.keeps[False, True]

    def reflected(self: Array, other: Value) -> Any:
        kind = type(other)
        if kind is float or kind is int:
            y = self._value
            out = function(other, y)
            tape = self.tape
            slot = tape.fresh()
            kept = out if out_kept else None
            tape.log((slot, rule, kept, other, y if y_kept else None, -1, self.slot))
            spec = self.spec
            made = new(spec.kind)
            made._value = out
            made.slot = slot
            made.tape = tape
            made.spec = spec
            return made
        taken = as_operand(other)
        if taken is NotImplemented:
            return _by_class_of(other, ufunc, other, self)
        return binary(rule, taken, self)

    return reflected


def _in_place_of(forward: Method, sign: str) -> Method:
    """The method for `x *= y`, of arrays: for a number Python takes the operator itself."""

    def in_place(self: Array, other: Value) -> Any:
        result = forward(self, other)
        if not isinstance(result, Array):
            if in_trace(other):  # a vmap inside goes first
                return result
            raise refusal(other)  # its class makes another value, in place of writing to x
        return write_out(self, result, f"x {sign}= y")

    return in_place


def _comparison(name: str, function: Operation) -> None:
    """Give Array a comparison, whose result is untraced."""

    def method(self: Array, other: Value) -> Any:
        return function(untraced(self), untraced(other))

    _install(f"__{name}__", method)


def _equality(name: str, function: Operation, ufunc: np.ufunc, untied: np.bool) -> None:
    """The same of `==` and `!=`, where a tie is told of."""

    def method(self: Array, other: Value) -> Any:
        found = function(untraced(self), untraced(other))
        return found if found is untied else note_tie(found, ufunc)

    _install(f"__{name}__", method)


for _name in ("lt", "le", "gt", "ge"):
    _comparison(_name, getattr(operator, _name))
_equality("eq", operator.eq, np.equal, np.False_)
_equality("ne", operator.ne, np.not_equal, np.True_)


def _prefix_operator(ufunc: np.ufunc, name: str) -> None:
    """Give Array a prefix operator or `abs()` from a ufunc."""

    def method(self: Array) -> Any:
        return self.__array_ufunc__(ufunc, "__call__", self)

    _install(f"__{name}__", method)


def _matmul(self: Array, other: Value) -> Any:
    taken = other if type(other) in PLAIN_TYPES else as_operand(other)
    if taken is NotImplemented:
        return _by_class_of(other, np.matmul, self, other)
    return product(_product, self, taken)


def _rmatmul(self: Array, other: Value) -> Any:
    taken = as_operand(other)
    if taken is NotImplemented:
        return _by_class_of(other, np.matmul, other, self)
    return product(_product, taken, self)


_product = cast(Multilinear, REGISTRY[np.matmul])
_install("__matmul__", _matmul, Elements)
_install("__rmatmul__", _rmatmul, Elements)


def _in_place(name: str, function: Operation, sign: str) -> None:
    """Give Array the in-place form of an operator without a rule of two partials."""

    def method(self: Array, other: Value) -> Any:
        return write_out(self, function(self, other), f"x {sign}= y")

    _install(f"__i{name}__", method, Elements)


_in_place("mod", np.remainder, "%")
_in_place("floordiv", np.floor_divide, "//")
_in_place("matmul", np.matmul, "@")
_operator(np.add, operator.add, "add", "+")
_operator(np.subtract, operator.sub, "sub", "-")
_operator(np.multiply, operator.mul, "mul", "*")
_sum_rule = REGISTRY[np.add]
_product_rule = REGISTRY[np.multiply]


def _add(self: Array, other: Value) -> Any:
    """x + y: a path of its own for two traced arrays, because it is the most frequent call."""
    kind = type(other)
    spec = self.spec
    if kind is spec.kind:
        tape = self.tape
        if tape is other.tape and spec is other.spec:
            out = self._value + other._value
            slot = tape.fresh()
            tape.log((slot, _sum_rule, None, None, None, self.slot, other.slot))
            made = new(kind)
            made._value = out
            made.slot = slot
            made.tape = tape
            made.spec = spec
            return made
    return self._add_any(other)


def _mul(self: Array, other: Value) -> Any:
    """x * y, likewise; the entry keeps a number as the other factor."""
    kind = type(other)
    spec = self.spec
    if kind is float:
        out = self._value * other
        tape = self.tape
        slot = tape.fresh()
        tape.log((slot, _product_rule, None, None, other, self.slot, -1))
        made = new(spec.kind)
        made._value = out
        made.slot = slot
        made.tape = tape
        made.spec = spec
        return made
    if kind is spec.kind:
        tape = self.tape
        if tape is other.tape and spec is other.spec:
            x = self._value
            y = other._value
            out = x * y
            slot = tape.fresh()
            tape.log((slot, _product_rule, None, x, y, self.slot, other.slot))
            made = new(kind)
            made._value = out
            made.slot = slot
            made.tape = tape
            made.spec = spec
            return made
    return self._mul_any(other)


_install("__add__", _add)
_install("__mul__", _mul)
_operator(np.divide, operator.truediv, "truediv", "/")
_operator(np.power, operator.pow, "pow", "**")
_square = REGISTRY[np.square]


def _pow(self: Array, other: Value, modulo: None = None) -> Any:
    """x ** y; the square, the most frequent power, has a rule without a singular point."""
    if modulo is not None:
        return NotImplemented
    if type(other) is int and other == 2:
        x = self._value
        out = x * x
        tape = self.tape
        slot = tape.fresh()
        tape.log((slot, _square, None, x, None, self.slot, -1))
        spec = self.spec
        made = new(spec.kind)
        made._value = out
        made.slot = slot
        made.tape = tape
        made.spec = spec
        return made
    return self._pow_any(other)


_install("__pow__", _pow)
_prefix_operator(np.negative, "neg")
_prefix_operator(np.positive, "pos")
_prefix_operator(np.absolute, "abs")
give_own_code(Number, Array)
