"""Comparisons, logic, bits, choices by condition.

Booleans and positions carry no gradient; the values that are chosen between do.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad._core.values import untraced
from tapegrad.torch._dims import mistyped
from tapegrad.torch._docstrings import sections
from tapegrad.torch._dtypes import REAL, require_kind, word_of
from tapegrad.torch._ops.call_plans import laid_out
from tapegrad.torch._ops.declare import OPERATIONS, Operation, operation, register
from tapegrad.torch._ops.elementwise.arithmetic import both_operators, promoted, wrapping
from tapegrad.torch._ops.fast import (
    operator_for,
    short_comparison,
    short_logic,
)
from tapegrad.torch._rules.declare import elementwise
from tapegrad.torch._tensor.tensor import Tensor

# --- Comparisons --------------------------------------------------------------------------------


def _declare_comparison(word: str, ufunc: np.ufunc, also: str, sign: str) -> None:
    def compute(input: Value, other: Value) -> Value:
        x, y = wrapping(untraced(input), untraced(other))
        if word not in ("eq", "ne"):
            require_kind(x.dtype, f"{word}_cpu", REAL)
        return ufunc(x, y)

    compute.__doc__ = sections.of_two(
        f"Elementwise `input {sign} other`.",
        word,
        ("1.0", "2.0"),
        str(bool(ufunc(1.0, 2.0))),
        returns="Bools, in the shape to which the two broadcast.",
    )
    general = operation(f"{word.capitalize()}Backward0", inplace=True, name=word)(compute)
    call = register(replaces=general)(short_comparison(ufunc, general))
    if also != word:
        register(also)(call)
        register(f"{also}_", function=False)(OPERATIONS[f"{word}_"])
    register(f"__{word}__", function=False, module=__name__)(operator_for(call))


for _line in (
    "eq equal eq ==|ne not_equal not_equal !=|lt less less <|"
    "le less_equal less_equal <=|gt greater greater >|ge greater_equal greater_equal >="
).split("|"):
    _word, _ufunc, _also, _sign = _line.split()
    _declare_comparison(_word, getattr(np, _ufunc), _also, _sign)


@operation("EqualBackward0")
def equal(input: Value, other: Value) -> bool:
    """Whether two tensors have the same shape and elements.

    other: The other tensor.
    """
    x, y = untraced(input), untraced(other)
    return x.shape == y.shape and bool(np.all(np.equal(x, y)))


def _close(input: Value, other: Value, rtol: float, atol: float, equal_nan: bool) -> Value:
    x, y = untraced(input), untraced(other)
    if x.dtype != y.dtype:
        raise RuntimeError(f"{word_of(x.dtype)} did not match {word_of(y.dtype)}")
    if rtol < 0 or atol < 0:
        raise RuntimeError("rtol and atol must be greater than or equal to zero")
    close = np.equal(x, y)
    if equal_nan and x.dtype.kind in "fc":
        close = close | (np.isnan(x) & np.isnan(y))
    if x.dtype.kind == "b" or (rtol == 0 and atol == 0):
        return close
    if x.dtype.kind in "ui":
        x, y = x.astype(np.float64), y.astype(np.float64)
    distance = np.absolute(x - y)
    return close | (np.isfinite(distance) & (distance <= atol + np.absolute(rtol * y)))


@operation("IscloseBackward0")
def isclose(
    input: Value, other: Value, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> Value:
    """Where `|input - other| <= atol + rtol * |other|`.

    -> Tensor: Truth values, in the shape to which the shapes broadcast.
    """
    return _close(input, other, rtol, atol, equal_nan)


@operation("AllcloseBackward0")
def allclose(
    input: Value, other: Value, rtol: float = 1e-05, atol: float = 1e-08, equal_nan: bool = False
) -> bool:
    """Whether `|input - other| <= atol + rtol * |other|` everywhere."""
    return bool(np.all(_close(input, other, rtol, atol, equal_nan)))


# --- Tests of each element ----------------------------------------------------------------------


def _declare_test(word: str, function: Function, what: str) -> None:
    def compute(input: Value) -> Value:
        return function(untraced(input))

    compute.__doc__ = f"Where the {what}.\n\n-> Tensor: Bools, in the shape of `input`."
    operation(f"{word.capitalize()}Backward0", name=word)(compute)


def _is_infinite(sign: int) -> Operation:
    def test(x: Value) -> Value:
        if x.dtype.kind == "c":
            raise RuntimeError("isposinf and isneginf do not support complex inputs.")
        return np.equal(x, sign * np.inf)

    return test


def _is_real(x: Value) -> Value:
    return x.imag == 0 if x.dtype.kind == "c" else np.ones(x.shape, bool)


def _signbit(x: Value) -> Value:
    if x.dtype.kind == "c":
        raise NotImplementedError("signbit is not implemented for complex tensors.")
    return np.signbit(x) if x.dtype.kind == "f" else x < 0


_declare_test("isnan", np.isnan, "elements are NaN")
_declare_test("isinf", np.isinf, "elements are infinite")
_declare_test("isfinite", np.isfinite, "elements are neither infinite nor NaN")
_declare_test("isposinf", _is_infinite(1), "elements are plus infinity")
_declare_test("isneginf", _is_infinite(-1), "elements are minus infinity")
_declare_test("isreal", _is_real, "elements have no imaginary part")
_declare_test("signbit", _signbit, "sign is a minus, that of -0.0 too")


# --- Logic and bits -----------------------------------------------------------------------------


_OPERAND = "other (Tensor or number): The second operands{}; the shapes broadcast."


def _declare_logic(word: str, ufunc: np.ufunc) -> None:
    def compute(input: Value, other: Value) -> Value:
        return ufunc(untraced(input), untraced(other))

    compute.__doc__ = sections.told(
        f"Elementwise {word[8:]} of truth values; numbers but 0 are true.",
        f"{word}(torch.tensor([True, True, False]), torch.tensor([True, False, False]))",
        f"tensor([{ufunc(True, True)!s:>5}, {ufunc(True, False)!s:>5}, False])",
        _OPERAND.format(""),
        "-> Tensor: Bools, in the shape to which the shapes broadcast.",
    )
    general = operation("LogicalBackward0", inplace=True, name=word)(compute)
    register(replaces=general)(short_logic(ufunc, general))


for _word in ("logical_and", "logical_or", "logical_xor"):
    _declare_logic(_word, getattr(np, _word))


@operation("LogicalBackward0", inplace=True)
def logical_not(input: Value) -> Value:
    """Where the elements are 0."""
    return np.logical_not(untraced(input))


logical_not = register(replaces=logical_not)(short_logic(np.logical_not, logical_not))


def _whole(word: str, *operands: Value, bools: bool = True) -> list[Value]:
    """Integers (or booleans) of the same dtype; NotImplementedError for floats."""
    found = wrapping(*map(untraced, operands))
    require_kind(found[0].dtype, f"{word}_cpu", "uib" if bools else "ui")
    return found


def _declare_bits(word: str, ufunc: np.ufunc, sign: str, *, bools: bool = True) -> None:
    def compute(input: Value, other: Value) -> Value:
        return ufunc(*_whole(word, input, other, bools=bools))

    compute.__doc__ = sections.told(
        f"Elementwise {word.replace('_', ' ')} of integers{' and bools' * bools}.",
        f"{word}(torch.tensor([5, 6]), torch.tensor([3, 1]))",
        f"tensor({[int(ufunc(5, 3)), int(ufunc(6, 1))]})",
        _OPERAND.format(", whole numbers or bools" if bools else ", whole numbers"),
    )
    call = operation("BitwiseBackward0", inplace=True, name=word, planned=True)(compute)
    if bools:
        call = register(replaces=call)(short_logic(ufunc, call))

    both_operators(sign, call)


for _word, _sign in (("and", "and"), ("or", "or"), ("xor", "xor")):
    _declare_bits(f"bitwise_{_word}", getattr(np, f"bitwise_{_word}"), _sign)
_declare_bits("bitwise_left_shift", np.left_shift, "lshift", bools=False)
_declare_bits("bitwise_right_shift", np.right_shift, "rshift", bools=False)


@operation("BitwiseBackward0", inplace=True)
def bitwise_not(input: Value) -> Value:
    """All bits inverted; of booleans, `not`."""
    return np.invert(*_whole("bitwise_not", input))


bitwise_not = register(replaces=bitwise_not)(short_logic(np.invert, bitwise_not))


@register("__invert__", function=False)
def _invert(self: Tensor) -> Tensor:
    if self._value.dtype.kind in "fc":
        raise TypeError(
            "~ (operator.invert) is only implemented on integer and Boolean-type tensors"
        )
    return bitwise_not(self)


# --- Choices ------------------------------------------------------------------------------------


def _chosen(condition: Value, x: Value, y: Value) -> Value:
    condition = untraced(condition)
    if not hasattr(condition, "dtype"):
        raise mistyped("where", "condition", 1, "Tensor", condition)
    if condition.dtype.kind != "b" and condition.dtype != np.uint8:
        raise RuntimeError(
            "where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{word_of(condition.dtype)}"
        )
    x, y = promoted(x, y)
    return np.where(condition.astype(bool, copy=False), x, y)


@operation("WhereBackward0", method=False, planned=True)
def where(condition: Value, input: Value = None, other: Value = None) -> Value:
    """`input` where the condition holds, else `other`; of a condition alone its positions.

    condition: Truth values; the shapes broadcast.
    input (Tensor or number): What is taken where the condition holds.
    other (Tensor or number): What is taken elsewhere.
    -> Tensor: The elements that were chosen; for a condition alone `nonzero(condition,
        as_tuple=True)`.
    """
    if input is None and other is None:
        return _positions(untraced(condition))
    if input is None or other is None:
        raise TypeError(
            "where() received an invalid combination of arguments - got (Tensor, Tensor), but "
            "expected a condition alone, or with two branches"
        )
    return _chosen(condition, input, other)


def _as_the_first(value: Value, args: Any) -> Value:
    """In the memory order of the first operand."""
    mask = args[0]._value if args and type(args[0]) is Tensor else None
    turned = type(mask) is np.ndarray and mask.shape == value.shape and mask.flags.fnc
    return np.asfortranarray(value) if turned else value


register(method=False, replaces=where)(laid_out(where, _as_the_first))


@operation("WhereBackward0", function=False, name="where", planned=True)
def _where_of(input: Value, condition: Value, other: Value) -> Value:
    """This tensor where the condition holds, else `other`.

    condition: Truth values; the shapes broadcast.
    other (Tensor or number): What is taken elsewhere.
    """
    return _chosen(condition, input, other)


def _positions(x: Value) -> Value:
    return np.nonzero(x if x.ndim else np.reshape(x, 1))


@operation("NonzeroBackward0")
def nonzero(input: Value, *, as_tuple: bool = False) -> Value:
    """The positions of what is not 0, a row for each; as_tuple: a tensor for each dimension.

    -> Tensor or tuple of Tensors: Whole numbers (count, input.ndim); with `as_tuple` a
        vector a dimension.
    """
    x = untraced(input)
    found = _positions(x)
    if as_tuple:
        return found
    return np.stack(found, axis=1) if x.ndim else np.zeros((len(found[0]), 0), np.int64)


@operation("ArgwhereBackward0")
def argwhere(input: Value) -> Value:
    """The positions of what is not 0, a row for each.

    -> Tensor: Whole numbers (count, input.ndim).
    """
    return nonzero.compute(input)  # type: ignore[attr-defined]


@operation("IsinBackward0", method=False)
def isin(
    elements: Value, test_elements: Value, *, assume_unique: bool = False, invert: bool = False
) -> Value:
    """Where an element is among the test elements.

    elements (Tensor or number): What is looked for, of any shape.
    test_elements (Tensor or number): What is looked through, of any shape.
    assume_unique: Changes nothing: a promise that no element comes twice.
    invert: Whether the answers are inverted.
    -> Tensor: Truth values, in the shape of `elements`.
    """
    x, others = promoted(untraced(elements), untraced(test_elements))
    return np.asarray(np.isin(x, others, assume_unique=assume_unique, invert=invert))


# --- The larger and the smaller -----------------------------------------------------------------


def _first_wins(better: Function) -> tuple[Function, Function]:
    """Partials of fmax and fmin: 1 for x where it is as good or y is NaN, else 1 for y."""

    def by_first(_out: Value, x: Value, y: Value) -> Value:
        x, y = untraced(x), untraced(y)
        return (better(x, y) | (y != y)).astype(x.dtype)

    def by_second(_out: Value, x: Value, y: Value) -> Value:
        x, y = untraced(x), untraced(y)
        return np.logical_not(better(x, y) | (y != y)).astype(y.dtype)

    return by_first, by_second


def _both_win(worse: Function) -> tuple[Function, Function]:
    """Partials of maximum and minimum: 1/2 for both at ties, 1 for both where either is NaN."""

    def share(x: Value, y: Value) -> Value:
        return np.where(worse(x, y), 0, np.where(x == y, 0.5, 1)).astype(x.dtype)

    return (
        lambda _out, x, y: share(untraced(x), untraced(y)),
        lambda _out, x, y: share(untraced(y), untraced(x)),
    )


_maximum = elementwise("MaximumBackward0", *_both_win(operator.lt), strong=True, selects=True)(
    np.maximum
)


_minimum = elementwise("MinimumBackward0", *_both_win(operator.gt), strong=True, selects=True)(
    np.minimum
)


_fmax = elementwise("FmaxBackward0", *_first_wins(operator.ge), strong=True, selects=True)(np.fmax)


_fmin = elementwise("FminBackward0", *_first_wins(operator.le), strong=True, selects=True)(np.fmin)


def _declare_choice(word: str, choose: Function, what: str) -> None:
    def compute(input: Value, other: Value) -> Value:
        x, y = promoted(input, other)
        if x.dtype.kind == "c":
            raise RuntimeError(f"{word} not implemented for complex tensors.")
        return choose(x, y)

    compute.__doc__ = f"Elementwise the {what}."
    operation(f"{word.capitalize()}Backward0", name=word, planned=True)(compute)


_declare_choice("maximum", _maximum, "larger of two; NaN where either is")
_declare_choice("minimum", _minimum, "smaller of two; NaN where either is")
_declare_choice("fmax", _fmax, "larger of two; the other one where one is NaN")
_declare_choice("fmin", _fmin, "smaller of two; the other one where one is NaN")
