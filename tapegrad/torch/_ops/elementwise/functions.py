"""The rest of the elementwise functions: rounding, remainders, bounds, roots, special functions.

Knows PyTorch's promotion and derivatives. Arithmetic and the functions of the hot path are in
`arithmetic`, activations in `activations`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.fit import Over
from tapegrad._core.forms import Elementwise
from tapegrad._core.rule import REGISTRY
from tapegrad._core.types import Function, Value
from tapegrad._core.values import any_true, untraced
from tapegrad.rules.kinks import ratio
from tapegrad.torch._docstrings import sections
from tapegrad.torch._dtypes import REAL, require_kind, word_of
from tapegrad.torch._ops.declare import (
    OPERATIONS,
    add_inplace,
    alias,
    by_tensor,
    operation,
    register,
)
from tapegrad.torch._ops.elementwise.arithmetic import (
    both_operators,
    cast,
    declare_single,
    floating,
    floor_quotient,
    promoted,
    wrapping,
)
from tapegrad.torch._ops.fast import operator_for, short_division, short_single
from tapegrad.torch._rules import gamma, remainders, special
from tapegrad.torch._rules.blockwise import clipped
from tapegrad.torch._rules.declare import elementwise
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._types import Number, TensorLike

# --- Rounding: the derivative is 0, but a node is there as in PyTorch ---------------------------


def _declare_rounding(word: str, ufunc: np.ufunc) -> None:
    label = f"{word.capitalize()}Backward0"
    rounded = elementwise(label, 0, strong=True, selects=True)(lambda x: ufunc(x))

    def compute(input: Value) -> Value:
        require_kind(input.dtype, f"{word}_cpu", REAL)
        return rounded(input) if input.dtype.kind == "f" else np.copy(input)

    compute.__doc__ = f"Elementwise {word}; a derivative of 0."
    operation(label, name=word, inplace=True)(compute)


for _word in ("floor", "ceil", "trunc"):
    _declare_rounding(_word, getattr(np, _word))
alias("trunc", "fix")


@elementwise("RoundBackward0", 0, 0, strong=True, selects=True)
def _rounded(x: Value, decimals: int) -> Value:
    return np.round(x, decimals)


@operation(
    lambda input, *, decimals=0: f"RoundBackward{1 if decimals else 0}", name="round", inplace=True
)
def _round(input: Value, *, decimals: int = 0) -> Value:
    """The nearest number with so many decimals, halves to even; a derivative of 0."""
    require_kind(input.dtype, "round_cpu", REAL)
    return _rounded(input, decimals) if input.dtype.kind == "f" else np.copy(input)


@elementwise("FracBackward0", 1)
def _fraction(x: Value) -> Value:
    return x - np.trunc(x)


@operation("FracBackward0", inplace=True)
def frac(input: Value) -> Value:
    """The fractional part, with the sign of the element.

    NotImplementedError: For whole numbers, bools and complex numbers.
    """
    require_kind(input.dtype, "frac_cpu", "f")
    return _fraction(input)


# --- Remainders ---------------------------------------------------------------------------------


def require_divisor(x: Value, y: Value) -> None:
    """Raise RuntimeError where integers are divided by 0."""
    if x.dtype.kind in "bui" and np.any(untraced(y) == 0):
        raise RuntimeError("ZeroDivisionError")


@operation(by_tensor("Fmod", 1, "other"), inplace=True, planned=True)
def fmod(input: Value, other: Value) -> Value:
    """The remainder with the sign of the dividend.

    other (Tensor or number): The divisors; the shapes broadcast.
    RuntimeError: If whole numbers are divided by 0.
    """
    x, y = wrapping(input, other)
    require_divisor(x, y)
    return remainders.fmod(x, y)


@operation(by_tensor("Remainder", 1, "other"), inplace=True, planned=True)
def remainder(input: Value, other: Value) -> Value:
    """The remainder with the sign of the divisor, as Python's %; a zero has the dividend's.

    other (Tensor or number): The divisors; the shapes broadcast.
    RuntimeError: If whole numbers are divided by 0.
    """
    x, y = wrapping(input, other)
    require_kind(x.dtype, "remainder_cpu", "fuiV")
    require_divisor(x, y)
    return remainders.remainder(x, y)


@operation("FloorDivideBackward0", inplace=True)
def floor_divide(input: Value, other: Value) -> Value:
    """The quotient rounded down; a derivative of 0.

    other (Tensor or number): The divisors; the shapes broadcast.
    RuntimeError: If whole numbers are divided by 0.
    """
    x, y = wrapping(input, other)
    require_kind(x.dtype, "div_floor_cpu", "fuiV")
    require_divisor(x, y)
    return floor_quotient(x, y)


fmod = register(replaces=fmod)(short_division(np.fmod, fmod, remainders.fmod))
remainder = register(replaces=remainder)(
    short_division(np.remainder, remainder, remainders.remainder)
)
floor_divide = register(replaces=floor_divide)(
    short_division(np.floor_divide, floor_divide, np.floor_divide)
)
both_operators("mod", remainder)
both_operators("floordiv", floor_divide)


# --- Bounds: an element on a bound gets the gradient, the bound none ----------------------------


def _inside(_out: Value, x: Value, low: Value, high: Value) -> Value:
    x = untraced(x)
    return ((x >= untraced(low)) & (x <= untraced(high))).astype(x.dtype)


def _below(_out: Value, x: Value, low: Value, high: Value) -> Value:
    low = untraced(low)
    return ((untraced(x) < low) & (low < untraced(high))).astype(x.dtype)


def _above(_out: Value, x: Value, low: Value, high: Value) -> Value:
    high = untraced(high)
    return ((untraced(x) > high) | (high < untraced(low))).astype(x.dtype)


@elementwise("ClampBackward1", _inside, _below, _above, strong=True, selects=True)
def _clamped(x: Value, low: Value, high: Value) -> Value:
    if _is_number(low) and _is_number(high):
        return clipped(x, low, high)
    return np.minimum(np.maximum(x, low), high)


NUMBERS = (float, int)


def _is_number(bound: Value) -> bool:
    """Whether a bound is one number, if also as an array of no dimensions."""
    if type(bound) in NUMBERS or isinstance(bound, np.generic):
        return True
    return type(bound) is np.ndarray and not bound.ndim


@elementwise(
    "ClampMinBackward0",
    lambda _out, x, low: (untraced(x) >= untraced(low)).astype(x.dtype),
    lambda _out, x, low: (untraced(x) < untraced(low)).astype(x.dtype),
    strong=True,
    selects=True,
)
def _at_least(x: Value, low: Value) -> Value:
    return clipped(x, low, np.inf) if _is_number(low) else np.maximum(x, low)


@elementwise(
    "ClampMaxBackward0",
    lambda _out, x, high: (untraced(x) <= untraced(high)).astype(x.dtype),
    lambda _out, x, high: (untraced(x) > untraced(high)).astype(x.dtype),
    strong=True,
    selects=True,
)
def _at_most(x: Value, high: Value) -> Value:
    return clipped(x, -np.inf, high) if _is_number(high) else np.minimum(x, high)


def _label_of_clamp(input: TensorLike, min: TensorLike = None, max: TensorLike = None) -> str:
    return f"ClampBackward{0 if isinstance(min, Tensor) or isinstance(max, Tensor) else 1}"


@operation(_label_of_clamp, inplace=True, planned=True)
def clamp(input: Value, min: Value = None, max: Value = None) -> Value:
    """The elements clamped to bounds: numbers or tensors, of which one may be None.

    min, max: The bounds, which broadcast with `input`; not both may be None.
    RuntimeError: If both bounds are None, or for complex numbers.
    """
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    given = [bound for bound in (min, max) if bound is not None]
    if input.dtype.kind == "c":
        raise RuntimeError("clamp is not supported for complex types")
    x, *bounds = promoted(input, *given)
    if min is None:
        return _at_most(x, *bounds)
    return _at_least(x, *bounds) if max is None else _clamped(x, *bounds)


alias("clamp", "clip")


@operation(by_tensor("ClampMin", 1, "min"), inplace=True, planned=True)
def clamp_min(input: Value, min: Value) -> Value:
    """The elements clamped to a lower bound."""
    return _at_least(*promoted(input, min))


@operation(by_tensor("ClampMax", 1, "max"), inplace=True, planned=True)
def clamp_max(input: Value, max: Value) -> Value:
    """The elements clamped to an upper bound."""
    return _at_most(*promoted(input, max))


# --- Functions of one variable ------------------------------------------------------------------


# A quotient of quotients stays in range where the square of the result does not.
_reciprocal = elementwise(
    "ReciprocalBackward0", Over(lambda out, _x: -1 / out, of_out=True), strong=True
)(np.reciprocal)


@elementwise("RsqrtBackward0", lambda out, _x: -0.5 * out * out * out, strong=True)
def _rsqrt(x: Value) -> Value:
    return 1 / np.sqrt(x)


@elementwise("SigmoidBackward0", lambda out, _x: out * (1 - out))
def sigmoid_of(x: Value) -> Value:
    """1 / (1 + exp(-x)): where exp(-x) overflows to infinity, 0 is right."""
    return 1 / (1 + np.exp(-x))


def _slope_of_logit(_out: Value, x: Value) -> Value:
    known = untraced(x)
    x = np.where((known < 0) | (known > 1), np.nan, x)  # as the value is there
    return 1 / (x * (1 - x))


@elementwise("LogitBackward0", _slope_of_logit, strong=True)
def _logit(x: Value) -> Value:
    return np.log(x / (1 - x))


for _function, _word, _value, _doc in (
    (_reciprocal, "reciprocal", "2.", "1 / x of each element."),
    (_rsqrt, "rsqrt", "1.4142", "1 / sqrt(x) of each element."),
    (sigmoid_of, "sigmoid", "0.6225", "The logistic function of each element, 1 / (1 + exp(-x))."),
    (special.erf, "erf", "0.5205", "The error function of each element."),
    (special.erfc, "erfc", "0.4795", "1 - erf(x) of each element."),
    (special.erfinv, "erfinv", "0.4769", "The inverse of erf of each element."),
    (special.lgamma, "lgamma", "0.5724", "The logarithm of abs(gamma(x)) of each element."),
    (special.digamma, "digamma", "-1.9635", "The derivative of lgamma at each element."),
    (np.deg2rad, "deg2rad", "0.0087", "Degrees as radians."),
    (np.rad2deg, "rad2deg", "28.6479", "Radians as degrees."),
    (np.sinc, "sinc", "0.6366", "`sin(pi x) / (pi x)` of each element, and 1 at 0."),
):
    _label = {"deg2rad": "Deg2Rad", "rad2deg": "Rad2Deg"}.get(_word, _word.capitalize())
    _real = _word in ("erf", "erfc", "erfinv", "lgamma", "digamma", "deg2rad", "rad2deg")
    _short = isinstance(_function, np.ufunc) or _function is _reciprocal
    declare_single(_function, _word, _label, _doc, _value, real_only=_real, short=_short)

_reciprocal_of, _product = OPERATIONS["reciprocal"], OPERATIONS["mul"]
register("__rtruediv__", function=False, module=__name__)(
    operator_for(lambda self, other: _product(_reciprocal_of(self), other))
)


@operation("PowBackward0", inplace=True, planned=True)
def square(input: Value) -> Value:
    """`x * x` of each element."""
    return np.square(input if input.dtype.kind != "b" else input.astype(np.int64))


register(replaces=square)(short_single(np.square, "PowBackward0", square, warns=True))


@operation("LogitBackward0", inplace=True)
def logit(input: Value, eps: float | None = None) -> Value:
    """`log(x / (1 - x))`, NaN outside of [0, 1]; with eps, of x clamped to [eps, 1 - eps].

    eps: How far from 0 and 1 the elements are kept. Of bounds that cross, the lower one holds.
    """
    require_kind(input.dtype, "logit_cpu", REAL)
    x = floating(input)
    if eps is None:
        return _logit(x)
    low, high, known = x.dtype.type(eps), x.dtype.type(1 - eps), untraced(x)
    return _logit(np.where(known < low, low, np.where(known > high, high, x)))


@operation("PolygammaBackward0", method=False)
def polygamma(n: int, input: Value) -> Value:
    """The n-th derivative of digamma.

    n: The order of the derivative, from 0 on.
    input: The points, of any shape.
    """
    return special.polygamma(floating(input), n)


@register("polygamma", function=False)
def _polygamma_of(self: Tensor, n: int) -> Tensor:
    """The n-th derivative of digamma.

    n: The order of the derivative, from 0 on.
    -> Tensor: A value for each element.
    """
    made: Tensor = polygamma(n, self)
    return made


def _polygamma_into(input: Value, n: int) -> Value:
    """The n-th derivative of digamma.

    n: The order of the derivative, from 0 on.
    """
    return special.polygamma(floating(input), n)


add_inplace("polygamma", _polygamma_into, "PolygammaBackward1", {}, operation=_polygamma_of)


def _pair(word: str, input: Value, other: Value) -> tuple[Value, Value]:
    x, y = promoted(input, other)
    require_kind(x.dtype, word, "f")
    return x, y


@operation("IgammaBackward0", inplace=True)
def igamma(input: Value, other: Value) -> Value:
    """The regularized lower incomplete gamma function of a = input and x = other.

    Differentiable by `other`; NotImplementedError by `input`.

    other (Tensor or number): The points x, which are not negative.
    """
    return gamma.lower(*_pair("igamma_cpu", input, other))


@operation("IgammacBackward0", inplace=True)
def igammac(input: Value, other: Value) -> Value:
    """The regularized upper incomplete gamma function of a = input and x = other.

    other (Tensor or number): The points x, which are not negative.
    """
    return gamma.upper(*_pair("igammac_cpu", input, other))


@operation("SignBackward0", inplace=True)
def sign(input: Value) -> Value:
    """-1, 0 or 1; a derivative of 0."""
    if input.dtype.kind == "c":
        raise NotImplementedError(
            "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use "
            "torch.sgn instead."
        )
    return _flat_sign(input)


@elementwise("SignBackward0", 0, strong=True, selects=True)
def _flat_sign(x: Value) -> Value:
    return _sign(x)


def _sign(x: Value) -> Value:
    """The sign; of NaN 0, as in PyTorch."""
    if x.dtype.kind == "b":
        return np.copy(x)
    signs = np.sign(x)
    missing = untraced(x) != untraced(x)
    return np.where(missing, 0, signs) if x.dtype.kind == "f" and any_true(missing) else signs


@operation("SgnBackward0", inplace=True)
def sgn(input: Value) -> Value:
    """The sign; of complex numbers x / |x|."""
    return _sign(input) if input.dtype.kind == "c" else _flat_sign(input)


@operation("NanToNumBackward0", inplace=True)
def nan_to_num(
    input: Value,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> Value:
    """NaN and infinities replaced; by default by 0 and the largest finite numbers.

    nan: What stands for NaN; 0 unless given.
    posinf: What stands for infinity; the largest finite number unless given.
    neginf: What stands for minus infinity; the least finite number unless given.
    """
    if input.dtype.kind not in "fc":
        return np.copy(input)
    return np.nan_to_num(input, nan=0.0 if nan is None else nan, posinf=posinf, neginf=neginf)


@register("__pos__", function=False)
@register()
def positive(input: Tensor) -> Tensor:
    """The tensor itself; RuntimeError for booleans.

    -> Tensor: The tensor itself.
    RuntimeError: For bools.
    """
    if input._value.dtype.kind == "b":
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


# --- Complex parts ------------------------------------------------------------------------------


@operation("ConjBackward0")
def conj(input: Value) -> Value:
    """The complex conjugate; of real tensors the tensor itself.

    -> Tensor: A new tensor; `input` itself if it is real.
    """
    return np.conj(input) if input.dtype.kind == "c" else input


@operation("ConjPhysicalBackward0", inplace=True)
def conj_physical(input: Value) -> Value:
    """The complex conjugate."""
    return np.conj(input) if input.dtype.kind == "c" else np.copy(input)


@operation("AngleBackward0")
def angle(input: Value) -> Value:
    """The angle of complex numbers in radians; of real ones 0 or pi."""
    x = floating(input)
    if x.dtype.kind == "c":
        return np.angle(x)
    return _half_turn(x)


@elementwise("AngleBackward0", 0)
def _half_turn(x: Value) -> Value:
    turned = np.where(x < 0, np.asarray(np.pi, x.dtype), np.asarray(0, x.dtype))
    return np.where(x != x, x, turned)


# --- Functions of two variables -----------------------------------------------------------------


def _xlogy_by_x(_out: Value, x: Value, y: Value) -> Value:
    absent = (untraced(x) == 0) & (untraced(y) <= 0)
    if not any_true(absent):
        return np.log(y)
    return np.where(absent, 0, np.log(np.where(absent, 1, y)))


@elementwise("XlogyBackward0", _xlogy_by_x, lambda _out, x, y: x / y, strong=True)
def _xlogy(x: Value, y: Value) -> Value:
    found = np.where(x == 0, 0, x * np.log(y)).astype(np.result_type(x, y))
    return np.where(y != y, y, found)


_copysign = elementwise(
    "CopysignBackward0", lambda out, x, _y: np.sign(untraced(x)) * np.sign(untraced(out)), 0
)(np.copysign)


_heaviside = elementwise("HeavisideBackward0", 0, 0)(np.heaviside)


def _declare_pair(
    word: str,
    function: Function,
    label: str,
    doc: str,
    value: str,
    *,
    inplace: bool = True,
    floats: bool = True,
) -> None:
    def compute(input: Value, other: Value) -> Value:
        x, y = promoted(input, other)
        return function(floating(x), floating(y)) if floats else function(x, y)

    compute.__doc__ = sections.of_two(doc, word, ("4.0", "6.0"), value)
    operation(f"{label}Backward0", name=word, inplace=inplace)(compute)


def _of_inputs(ufunc: np.ufunc, function: Function | None = None) -> list[Function]:
    """The partials of the core's rule, of a result computed anew: a program may write to it.

    function: how, if not by the ufunc.
    """
    of = ufunc if function is None else function

    def anew(partial: Any) -> Function:
        return lambda _out, x, y: partial(of(x, y), x, y)

    rule = REGISTRY[ufunc]
    assert isinstance(rule, Elementwise)
    return [anew(partial) for partial in rule.partials]


_MANY = 1024  # elements


def _log_of_sum(x: Value, y: Value) -> Value:
    found: Value = _logaddexp(x, y)
    return found


@elementwise("LogaddexpBackward0", *_of_inputs(np.logaddexp, _log_of_sum))
def _logaddexp(x: Value, y: Value) -> Value:
    """Of many a tenth of the time of np.logaddexp, which takes one pair after another."""
    if x.size + y.size < _MANY:
        return np.logaddexp(x, y)
    most = np.maximum(x, y)
    found = most + np.log1p(np.exp(np.minimum(x, y) - most))
    endless = np.isinf(most)  # of two equal ones the difference is NaN
    return np.where(endless, most, found) if np.any(endless) else found


@elementwise("Logaddexp2Backward0", *_of_inputs(np.logaddexp2))
def _logaddexp2(x: Value, y: Value) -> Value:
    return np.logaddexp2(x, y)


@elementwise("HypotBackward0", lambda out, x, _y: ratio(x, out), lambda out, _x, y: ratio(y, out))
def _hypot(x: Value, y: Value) -> Value:
    return np.hypot(x, y)


def _logaddexp_of_any(x: Value, y: Value) -> Value:
    if x.dtype.kind != "c":
        return _logaddexp(x, y)
    first: Value = np.real(untraced(x)) >= np.real(untraced(y))
    large: Value = np.where(first, x, y)
    small: Value = np.where(first, y, x)
    plain = untraced(small)
    same: Value = (plain == untraced(large)) & ~np.isfinite(plain)  # whose difference is NaN
    return large + np.where(same, math.log(2), np.log1p(np.exp(np.where(same, 0, small - large))))


_declare_pair("atan2", np.arctan2, "Atan2", "The angle of the point (other, input).", "0.5880")
_declare_pair("hypot", _hypot, "Hypot", "`sqrt(input**2 + other**2)`.", "7.2111")
_declare_pair(
    "logaddexp", _logaddexp_of_any, "Logaddexp", "`log(e**x + e**y)`.", "6.1269", inplace=False
)
_declare_pair(
    "logaddexp2", _logaddexp2, "Logaddexp2", "`log2(2**x + 2**y)`.", "6.3219", inplace=False
)
_declare_pair("xlogy", _xlogy, "Xlogy", "`x * log(y)`, and 0 where x is 0.", "7.1670")
_declare_pair(
    "copysign", _copysign, "Copysign", "The size of one and the sign of the other.", "4."
)
_declare_pair("nextafter", np.nextafter, "Nextafter", "The next number in a direction.", "4.0000")
alias("atan2", "arctan2")


def _declare_whole(word: str, ufunc: np.ufunc, doc: str, value: str) -> None:
    def compute(input: Value, other: Value) -> Value:
        x, y = promoted(untraced(input), untraced(other))
        require_kind(x.dtype, f"{word}_cpu", "ui")
        return ufunc(x, y)

    compute.__doc__ = sections.of_two(doc, word, ("4", "6"), value, kinds=", integers")
    operation(f"{word.capitalize()}Backward0", name=word, inplace=True)(compute)


_declare_whole("gcd", np.gcd, "The greatest common divisor.", "2")
_declare_whole("lcm", np.lcm, "The least common multiple.", "12")


@operation("HeavisideBackward0", inplace=True)
def heaviside(input: Value, values: Value) -> Value:
    """0 below zero, 1 above, `values` at it; a derivative of 0.

    values: What the result is where `input` is 0, of its dtype; the shapes broadcast.
    """
    if input.dtype != values.dtype:
        raise RuntimeError("heaviside is not yet implemented for tensors with different dtypes.")
    if input.dtype.kind in "bui":
        return np.heaviside(input, values).astype(input.dtype)
    return _heaviside(input, values)


@elementwise(
    "LdexpBackward0",
    lambda _out, _x, y: np.power(2.0, y).astype(y.dtype),
    lambda out, _x, _y: out * math.log(2),
    strong=True,
)
def _ldexp(x: Value, y: Value) -> Value:
    x, power = promoted(x, np.power(2.0, y).astype(y.dtype))
    return np.multiply(x, power)


@operation("LdexpBackward0", inplace=True)
def ldexp(input: Value, other: Value) -> Value:
    """`input * 2**other`."""
    if other.dtype.kind in "bui" and input.dtype.kind in "fbui":
        return np.ldexp(floating(input), other)  # the power alone may overflow
    kind = floating(other).dtype if other.dtype.kind in "fcV" else floating(input).dtype
    return _ldexp(input, cast(other, kind))


@operation("PowBackward0", inplace=True)
def float_power(input: Value, exponent: Value) -> Value:
    """`input ** exponent` in double precision.

    -> Tensor: The powers, of torch.float64 or torch.complex128.

    >>> torch.float_power(torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64), 2)
    tensor([1., 4., 9.], dtype=torch.float64)
    """
    kinds = [
        x.dtype.kind if hasattr(x, "dtype") else np.asarray(x).dtype.kind
        for x in (input, exponent)
    ]
    wide = np.complex128 if "c" in kinds else np.float64
    x, y = (x.astype(wide) if hasattr(x, "astype") else x for x in (input, exponent))
    return np.power(x, y)


# --- Functions of three variables ---------------------------------------------------------------


@elementwise(
    "LerpBackward0",
    lambda _out, _x, _y, w: 1 - w,
    lambda _out, _x, _y, w: w,
    lambda _out, x, y, _w: y - x,
)
def _lerp(x: Value, y: Value, w: Value) -> Value:
    near = np.absolute(w) < 0.5
    return np.where(near, x + w * (y - x), y - (y - x) * (1 - w))


@operation(by_tensor("Lerp", 2, "weight"), inplace=True, planned=True)
def lerp(input: Value, end: Value, weight: Value) -> Value:
    """`input + weight * (end - input)`.

    end: What a weight of 1 gives, of the dtype of `input`; the shapes broadcast.
    weight (Tensor or number): How far to go from `input` to `end`; its shape broadcasts.
    """
    if input.dtype != end.dtype:
        raise RuntimeError(
            f"expected dtype {word_of(input.dtype)} for `end` but got dtype {word_of(end.dtype)}"
        )
    return _lerp(input, end, weight)


@operation("AddcmulBackward0", inplace=True, planned=True, first="value")
def addcmul(input: Value, tensor1: Value, tensor2: Value, *, value: Number = 1) -> Value:
    """`input + value * tensor1 * tensor2`."""
    x, y, z = promoted(input, tensor1, tensor2)
    product = np.multiply(y, z)
    return np.add(x, product if value == 1 else product * value)


@operation("AddcdivBackward0", inplace=True, planned=True, first="value")
def addcdiv(input: Value, tensor1: Value, tensor2: Value, *, value: Number = 1) -> Value:
    """`input + value * tensor1 / tensor2`.

    >>> torch.addcdiv(torch.ones(2), torch.tensor([1.0, 2.0]), torch.tensor([2.0, 8.0]), value=2)
    tensor([2.0000, 1.5000])
    """
    x, y, z = promoted(input, tensor1, tensor2)
    if x.dtype.kind not in "fc":
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future release "
            "addcdiv will perform a true division of tensor1 and tensor2."
        )
    quotient = np.true_divide(y, z)
    return np.add(x, quotient if value == 1 else quotient * value)
