"""Elementwise arithmetic, the operators, and the functions of one variable of the hot path.

Knows PyTorch's promotion and parameters, and NumPy's functions. Must not know views or writes, or
how the short paths of the operators make their entries (`fast`).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad._core.values import memory_of
from tapegrad.torch import _dtypes
from tapegrad.torch._docstrings import sections
from tapegrad.torch._dtypes import REAL, contiguous_format, default_float, require_kind
from tapegrad.torch._formats import check_rank, rank_of
from tapegrad.torch._ops.create.fill import C_NAMES
from tapegrad.torch._ops.declare import Operation, alias, by_tensor, operation, register
from tapegrad.torch._ops.fast import (
    is_operand,
    operator_for,
    short_pair,
    short_single,
)
from tapegrad.torch._rules.bfloat16 import converted
from tapegrad.torch._rules.declare import elementwise
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._types import MemoryFormat, Number, TensorLike

# --- Promotion ----------------------------------------------------------------------------------


def cast(array: Value, given: np.dtype[Any]) -> Value:
    """An array of another dtype; itself where it has it."""
    return array if array.dtype == given else converted(array, given)


def floating(array: Value) -> Value:
    """An array with integers and booleans as floats of the default dtype."""
    return array if array.dtype.kind in "fc" else array.astype(default_float())


def promoted(*operands: Value) -> list[Value]:
    """Arrays and Python numbers brought to the dtype that PyTorch gives them together.

    RuntimeError for an integer beyond the range of that dtype; `wrapping` is without.
    """
    try:
        return wrapping(*operands, strict=True)
    except OverflowError:
        name = _dtypes.result_of(operands).name
        word = C_NAMES.get(name, name)
        raise RuntimeError(f"value cannot be converted to type {word} without overflow") from None


def wrapping(*operands: Value, strict: bool = False) -> list[Value]:
    """As `promoted`, for operators: integers beyond the range wrap around, as in PyTorch."""
    target = _dtypes.result_of(operands)
    return [
        cast(operand, target)
        if hasattr(operand, "astype")
        else _number_in(operand, target, strict=strict)
        for operand in operands
    ]


def _number_in(number: Number, given: np.dtype[Any], *, strict: bool) -> Any:
    try:
        return np.asarray(number, given)[()]
    except OverflowError:
        if strict or not -(2**63) <= int(number) < 2**64:
            raise
        return np.asarray(number).astype(given)[()]


def copied_like(given: Value, old: Value) -> Value:
    """An array with the dtype and shape of another one, as `copy_` wants it."""
    if given.dtype.kind == "c" and old.dtype.kind != "c":
        given = np.real(given)
    given = cast(given, old.dtype)
    if given.shape == old.shape:
        return given.copy()
    return np.broadcast_to(given, old.shape).copy()


# --- Arithmetic ---------------------------------------------------------------------------------


@operation("AddBackward0", inplace=True, planned=True, first="alpha")
def add(input: Value, other: Value, *, alpha: Number = 1) -> Value:
    """`input + alpha * other`.

    other (Tensor or number): The second operand; the shapes broadcast.
    alpha: The factor of `other`; RuntimeError where it does not fit the dtypes.
    """
    x, y = wrapping(input, other)
    return np.add(x, scaled(y, alpha))


@operation("SubBackward0", inplace=True, planned=True, first="alpha")
def sub(input: Value, other: Value, *, alpha: Number = 1) -> Value:
    """`input - alpha * other`.

    other (Tensor or number): What is subtracted; the shapes broadcast.
    alpha: The factor of `other`.
    """
    refuse_truth(input, other)
    x, y = wrapping(input, other)
    return np.subtract(x, scaled(y, alpha))


def refuse_truth(*operands: Value) -> None:
    """Raise RuntimeError where an operand of a subtraction is boolean."""
    logical = [isinstance(x, bool) or getattr(x, "dtype", None) == np.bool_ for x in operands]
    if all(logical):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` "
            "or `logical_xor()` operator instead."
        )
    if any(logical):
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are "
            "trying to invert a mask, use the `~` or `logical_not()` operator instead."
        )


def scaled(array: Value, alpha: Number) -> Value:
    """An array times alpha; RuntimeError for an alpha of a greater category than the array."""
    if type(alpha) is int and alpha == 1:
        return array
    kind, kind_of_alpha = array.dtype.kind, np.result_type(alpha).kind
    if kind_of_alpha == "b" and kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if kind in "biu" and kind_of_alpha in "fc":
        raise RuntimeError(
            "For integral input tensors, argument alpha must not be a floating point number."
        )
    if kind == "f" and kind_of_alpha == "c":
        raise RuntimeError(
            "For non-complex input tensors, argument alpha must not be a complex number."
        )
    return cast(array * _number_in(alpha, array.dtype, strict=False), array.dtype)


@elementwise("RsubBackward1", -1, 1)
def _difference_from(x: Value, y: Value) -> Value:
    """y - x, as a node whose first argument is x."""
    return np.subtract(y, x)


def _rsub_name(input: TensorLike, other: TensorLike, **_kwargs: Any) -> str:
    return "RsubBackward0" if isinstance(other, Tensor) else "RsubBackward1"


@operation(_rsub_name, method=False, planned=True)
def rsub(input: Value, other: Value, *, alpha: Number = 1) -> Value:
    """`other - alpha * input`.

    other (Tensor or number): What is subtracted from; the shapes broadcast.
    alpha: The factor of `input`.
    """
    refuse_truth(input, other)
    x, y = wrapping(input, other)
    return _difference_from(scaled(x, alpha), y)


@operation("MulBackward0", inplace=True, planned=True)
def mul(input: Value, other: Value) -> Value:
    """`input * other`.

    other (Tensor or number): The second factors; the shapes broadcast.
    """
    return np.multiply(*wrapping(input, other))


# The core's rule reads the quotient, which a program may write to: PyTorch's reads x and y.
@elementwise(
    "DivBackward0", lambda _out, _x, y: 1 / y, lambda _out, x, y: -((x / y) / y), strong=True
)
def quotient(x: Value, y: Value) -> Value:
    """x / y of floats."""
    return np.true_divide(x, y)


@elementwise("FloorDivideBackward0", 0, 0)
def floor_quotient(x: Value, y: Value) -> Value:
    """x / y, rounded down."""
    return np.floor_divide(x, y)


@elementwise("DivBackward2", 0, 0)
def _quotient_towards_zero(x: Value, y: Value) -> Value:
    return np.trunc(np.true_divide(x, y))


def _div_name(input: TensorLike, other: TensorLike, *, rounding_mode: str | None = None) -> str:
    return "DivBackward0" if rounding_mode is None else "DivBackward2"


@operation(_div_name, inplace=True, planned=True)
def div(input: Value, other: Value, *, rounding_mode: str | None = None) -> Value:
    """`input / other`; rounding_mode: "trunc" towards zero, "floor" downwards.

    other (Tensor or number): The divisors; the shapes broadcast.
    """
    if rounding_mode is None:
        target = _dtypes.result_of((input, other))
        kind = target if target.kind in "fc" else default_float()
        x, y = (cast(z, kind) if hasattr(z, "astype") else kind.type(z) for z in (input, other))
        return quotient(x, y)
    x, y = wrapping(input, other)
    if rounding_mode not in ("trunc", "floor"):
        raise RuntimeError(
            "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found "
            f"'{rounding_mode}'"
        )
    if rounding_mode == "floor":
        return floor_quotient(x, y)
    if x.dtype.kind in "iu":
        return np.trunc(x / y).astype(x.dtype)
    return _quotient_towards_zero(x, y)


@operation(by_tensor("Pow", 1, "exponent"), inplace=True, planned=True)
def pow(input: Value, exponent: Value) -> Value:  # noqa: A001
    """`input ** exponent`."""
    if isinstance(exponent, (int, float)) and not hasattr(input, "astype"):
        raise TypeError("pow(): expected a Tensor as one of its arguments")
    x, y = promoted(input, exponent)
    if x.dtype.kind == "b":
        raise NotImplementedError("\"pow\" not implemented for 'Bool'")
    if x.dtype.kind in "iu" and np.any(np.less(y, 0)):
        raise RuntimeError("Integers to negative integer powers are not allowed.")
    if not hasattr(exponent, "dtype"):
        return np.power(x, exponent if x.dtype.kind == "f" and type(exponent) is not bool else y)
    return np.power(x, y)


add = register(replaces=add)(short_pair(np.add, "AddBackward0", add, warns=False, whole=True))
sub = register(replaces=sub)(short_pair(np.subtract, "SubBackward0", sub, warns=False, whole=True))
mul = register(replaces=mul)(short_pair(np.multiply, "MulBackward0", mul, warns=False, whole=True))
div = register(replaces=div)(short_pair(quotient, "DivBackward0", div, warns=True))
pow = register(replaces=pow)(  # noqa: A001
    short_pair(np.power, "PowBackward0", pow, warns=True, of_tensors="PowBackward1")
)


# --- Operators ----------------------------------------------------------------------------------


def inplace_operator(word: str) -> Operation:
    """An operator like `+=`, by the method that writes in place."""

    def inplace(self: Tensor, other: TensorLike) -> Any:
        if type(other) is Tensor or type(other) is float or is_operand(other):
            return getattr(self, word)(other)
        return NotImplemented

    return inplace


def both_operators(sign: str, call: Operation) -> None:
    """Register an operation as `x % y`, also with a number on the left, and as `x %= y`."""
    register(f"__{sign}__", function=False, module=__name__)(operator_for(call))
    register(f"__r{sign}__", function=False, module=__name__)(operator_for(call, reflected=True))
    register(f"__i{sign}__", function=False)(inplace_operator(f"{call.__name__}_"))


_of_tensor = functools.partial(register, function=False, module=__name__)

_call: Any
for _sign, _call in (("add", add), ("sub", sub), ("mul", mul), ("truediv", div), ("pow", pow)):
    _of_tensor(f"__{_sign}__")(_call.operator)
    _word = {"truediv": "div"}.get(_sign, _sign) + "_"
    _of_tensor(f"__i{_sign}__")(inplace_operator(_word))
for _sign, _call in (("add", add), ("mul", mul)):
    _of_tensor(f"__r{_sign}__")(_call.operator)  # they commute
_of_tensor("__rpow__")(operator_for(pow, reflected=True))
_of_tensor("__rsub__")(operator_for(rsub))


# --- Functions of one variable ------------------------------------------------------------------


def declare_single(
    function: Function,
    word: str,
    label: str,
    doc: str,
    value: str,
    *,
    at: str = "0.5",
    real_only: bool = False,
    short: bool = True,
    warns: bool = True,
) -> None:
    """Declare a function of one tensor, whose integers become floats.

    label: of the node, without `Backward0`. value: what it gives at `at`. real_only: whether it
    refuses complex numbers. short: whether it has a short path. warns: whether NumPy may warn.
    """
    label = f"{label}Backward0"

    def compute(input: Value) -> Value:
        if real_only:
            require_kind(input.dtype, f"{word}_cpu", REAL)
        return function(floating(input))

    compute.__name__ = word
    compute.__doc__ = sections.of_one(doc, word, at, value, real_only=real_only)
    general = operation(label, inplace=True, name=word, planned=True)(compute)
    if short:
        register(replaces=general)(short_single(function, label, general, warns=warns))


# As PyTorch's they read the result alone: a program may write to the argument.
_expm1 = elementwise("Expm1Backward0", lambda out, _x: out + 1, strong=True)(np.expm1)
tanh_of = elementwise("TanhBackward0", lambda out, _x: 1 - out * out)(np.tanh)


# NumPy's name, the node's, whether NumPy may warn, PyTorch's name, the value at 0.5 (of acosh at
# 1.5), and what it is.
_SINGLE = """\
exp|Exp|1|exp|1.6487|`e` to the power of each element
exp2|Exp2|1|exp2|1.4142|2 to the power of each element
expm1|Expm1|1|expm1|0.6487|`exp(x) - 1` of each element, exact to rounding near 0
log|Log|1|log|-0.6931|The natural logarithm of each element
log2|Log2|1|log2|-1.|The logarithm of each element to base 2
log10|Log10|1|log10|-0.3010|The logarithm of each element to base 10
log1p|Log1P|1|log1p|0.4055|`log(1 + x)` of each element, exact to rounding near 0
sqrt|Sqrt|1|sqrt|0.7071|The square root of each element
sin|Sin|0|sin|0.4794|The sine of each element, in radians
cos|Cos|0|cos|0.8776|The cosine of each element, in radians
tan|Tan|0|tan|0.5463|The tangent of each element, in radians
sinh|Sinh|1|sinh|0.5211|The hyperbolic sine of each element
cosh|Cosh|1|cosh|1.1276|The hyperbolic cosine of each element
tanh|Tanh|0|tanh|0.4621|The hyperbolic tangent of each element
arcsin|Asin|1|asin|0.5236|The angle in radians whose sine is the element
arccos|Acos|1|acos|1.0472|The angle in radians whose cosine is the element
arctan|Atan|0|atan|0.4636|The angle in radians whose tangent is the element
arcsinh|Asinh|0|asinh|0.4812|The inverse hyperbolic sine of each element
arccosh|Acosh|1|acosh|0.9624|The inverse hyperbolic cosine of each element
arctanh|Atanh|1|atanh|0.5493|The inverse hyperbolic tangent of each element
"""
for _line in _SINGLE.splitlines():
    _name, _label, _warns, _word, _value, _summary = _line.split("|")
    _function = {"expm1": _expm1, "tanh": tanh_of}.get(_name, getattr(np, _name))
    _at = "1.5" if _word == "acosh" else "0.5"
    declare_single(_function, _word, _label, f"{_summary}.", _value, at=_at, warns=_warns == "1")


@operation("NegBackward0", inplace=True, planned=True)
def neg(input: Value) -> Value:
    """`-input`."""
    if input.dtype.kind == "b":
        raise RuntimeError(
            "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to "
            "invert a mask, use the `~` or `logical_not()` operator instead."
        )
    return np.negative(input)


neg = register(replaces=neg)(short_single(np.negative, "NegBackward0", neg, warns=False))
_of_tensor("__neg__")(neg)


@operation("AbsBackward0", inplace=True, planned=True)
def abs(input: Value) -> Value:  # noqa: A001
    """The absolute value."""
    return np.absolute(input)


_of_tensor("__abs__")(abs)
PI = math.pi


# --- Copies -------------------------------------------------------------------------------------


@operation("CloneBackward0", planned=True)
def clone(input: Value, *, memory_format: MemoryFormat = None) -> Value:
    """A copy that passes the gradient on; in the memory order of the tensor by default.

    memory_format: The order of the elements in memory; that of `input` unless given.
    -> Tensor: A copy with memory of its own.
    """
    # The copy of an expanded tensor is contiguous: NumPy would put the expanded axis last.
    if rank_of(memory_format) is not None:
        check_rank(input, memory_format)
        return np.moveaxis(np.moveaxis(input, 1, -1).copy("C"), -1, 1)
    anew = memory_format is contiguous_format or 0 in memory_of(input).strides
    return input.copy("C" if anew else "K")


# --- Other names --------------------------------------------------------------------------------

for _line in (
    "neg negative|sub subtract|mul multiply|div divide true_divide|abs absolute|asin arcsin|"
    "acos arccos|atan arctan|asinh arcsinh|acosh arccosh|atanh arctanh"
).split("|"):
    alias(*_line.split())
