"""Which calls the native back end computes itself, and the instructions of each.

Knows NumPy's elementwise functions but the elementary ones, which `vector_math.py` has. Must not
know programs, nor loops.

Every instruction here gives NumPy's bits.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._native.lanes import hexadecimal
from tapegrad._native.single_math import SINGLES
from tapegrad._native.vector_math import FORMULAS
from tapegrad._program import elementwise

TYPES = {  # in registers
    np.dtype("f8"): "double",
    np.dtype("f4"): "float",
    np.dtype("i8"): "i64",
    np.dtype("i4"): "i32",
    np.dtype("i2"): "i16",
    np.dtype("i1"): "i8",
    np.dtype("u8"): "i64",
    np.dtype("u4"): "i32",
    np.dtype("u2"): "i16",
    np.dtype("u1"): "i8",
    np.dtype("?"): "i1",
}
STORED = {dtype: "i8" if text == "i1" else text for dtype, text in TYPES.items()}
DOUBLE, SINGLE, BOOL = np.dtype("f8"), np.dtype("f4"), np.dtype("?")

# Operators by the ufunc that they call for arrays: also those that other passes leave alone.
UFUNC_OF: dict[Any, np.ufunc] = {
    **elementwise.UFUNC_OF,
    operator.pos: np.positive,
    operator.pow: np.power,
    operator.and_: np.bitwise_and,
    operator.or_: np.bitwise_or,
    operator.xor: np.bitwise_xor,
    operator.invert: np.invert,
    operator.lshift: np.left_shift,
    operator.rshift: np.right_shift,
}

_FLOAT = {
    np.add: "fadd {t} {0}, {1}",
    np.subtract: "fsub {t} {0}, {1}",
    np.multiply: "fmul {t} {0}, {1}",
    np.divide: "fdiv {t} {0}, {1}",
    np.negative: "fneg {t} {0}",
}
_WHOLE = {
    np.add: "add {t} {0}, {1}",
    np.subtract: "sub {t} {0}, {1}",
    np.multiply: "mul {t} {0}, {1}",
    np.negative: "sub {t} zeroinitializer, {0}",
    np.bitwise_and: "and {t} {0}, {1}",
    np.bitwise_or: "or {t} {0}, {1}",
    np.bitwise_xor: "xor {t} {0}, {1}",
}
_TRUTH = {
    np.add: "or {t} {0}, {1}",
    np.multiply: "and {t} {0}, {1}",
    np.bitwise_and: "and {t} {0}, {1}",
    np.bitwise_or: "or {t} {0}, {1}",
    np.bitwise_xor: "xor {t} {0}, {1}",
    np.logical_and: "and {t} {0}, {1}",
    np.logical_or: "or {t} {0}, {1}",
    np.logical_xor: "xor {t} {0}, {1}",
    np.not_equal: "xor {t} {0}, {1}",
    np.maximum: "or {t} {0}, {1}",
    np.minimum: "and {t} {0}, {1}",
    np.fmax: "or {t} {0}, {1}",
    np.fmin: "and {t} {0}, {1}",
}
_INTRINSICS = {
    np.sqrt: "sqrt",
    np.absolute: "fabs",
    np.fabs: "fabs",
    np.floor: "floor",
    np.ceil: "ceil",
    np.trunc: "trunc",
    np.rint: "rint",
    np.copysign: "copysign",
}
_COMPARISONS: dict[Any, tuple[str, str]] = {
    np.less: ("olt", "slt"),
    np.less_equal: ("ole", "sle"),
    np.greater: ("ogt", "sgt"),
    np.greater_equal: ("oge", "sge"),
    np.equal: ("oeq", "eq"),
    np.not_equal: ("une", "ne"),
}


class Where:
    """The operation of `np.where`, beside the ufuncs."""


class Cast:
    """The operation of `astype`."""


class NotFinite:
    """Whether a number is infinite or NaN."""


class Outside:
    """Whether an index is beyond an axis of a length, from either end."""

    def __init__(self, length: int, least: int) -> None:
        self.length, self.least = length, least


class Scan:
    """The operation of `accumulate`: along an axis, each element combined with those before."""

    def __init__(self, ufunc: np.ufunc, axis: int) -> None:
        self.ufunc, self.axis = ufunc, axis


class Bits:
    """The operation of `view` with another dtype of the same size."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.dtype = dtype


class Registers:
    """Where operations write their instructions: a kernel, of vectors of a width."""

    width: int

    def put(self, instruction: str) -> str:
        """Append an instruction; the name of its value."""
        raise NotImplementedError

    def declare(self, text: str) -> None:
        """Have an intrinsic declared."""
        raise NotImplementedError

    def elementary(self, ufunc: np.ufunc, args: list[str]) -> str:
        """A call of a function of `vector_math.py`, of doubles."""
        raise NotImplementedError

    def vector(self, dtype: np.dtype[Any]) -> str:
        return f"<{self.width} x {TYPES[dtype]}>"

    def intrinsic(self, name: str, dtype: np.dtype[Any], args: list[str]) -> str:
        t = self.vector(dtype)
        full = f"@llvm.{name}.v{self.width}{'f64' if dtype == DOUBLE else 'f32'}"
        self.declare(f"declare {t} {full}({', '.join([t] * len(args))})")
        return self.put(f"call {t} {full}({', '.join(f'{t} {a}' for a in args)})")


def literal(value: Any, dtype: np.dtype[Any]) -> str:
    """A number as a constant vector."""
    if dtype.kind == "f":
        return f"splat ({TYPES[dtype]} {hexadecimal(float(dtype.type(value)))})"
    if dtype == BOOL:
        return f"splat (i1 {'true' if value else 'false'})"
    bits = 8 * dtype.itemsize
    whole = int(value) & (1 << bits) - 1
    return f"splat ({TYPES[dtype]} {whole - (whole >> bits - 1 << bits)})"


def holds(dtype: np.dtype[Any], number: Any) -> bool:
    """Whether a dtype has a number of Python's, if both are integers."""
    if type(number) is not int or dtype.kind not in "iu":
        return True
    limits = np.iinfo(dtype)
    return int(limits.min) <= number <= int(limits.max)


def cast(at: Registers, x: str, before: np.dtype[Any], after: np.dtype[Any]) -> str:
    """A value in another dtype."""
    if before == after:
        return x
    a, b = at.vector(before), at.vector(after)
    if after == BOOL:
        return at.put(
            f"fcmp une {a} {x}, zeroinitializer"
            if before.kind == "f"
            else f"icmp ne {a} {x}, zeroinitializer"
        )
    if before.kind == after.kind == "f":
        return at.put(f"{'fptrunc' if before == DOUBLE else 'fpext'} {a} {x} to {b}")
    if before.kind == "f":  # of numbers that are not asked for a range before, any one
        kind = "fptosi" if after.kind == "i" else "fptoui"
        return at.put(f"freeze {b} {at.put(f'{kind} {a} {x} to {b}')}")
    if after.kind == "f":
        return at.put(f"{'sitofp' if before.kind == 'i' else 'uitofp'} {a} {x} to {b}")
    if before == BOOL:
        return at.put(f"zext {a} {x} to {b}")
    if after.itemsize == before.itemsize:
        return x
    wider = "sext" if before.kind == "i" else "zext"
    return at.put(f"{wider if after.itemsize > before.itemsize else 'trunc'} {a} {x} to {b}")


def can_cast(before: np.dtype[Any], after: np.dtype[Any]) -> bool:
    """Whether `cast` gives NumPy's values; of floats beyond the integers any one."""
    known = before in TYPES and after in TYPES
    return known and not (before.kind == "f" and after.kind in "iu")


def _maximum(at: Registers, args: list[str], dtype: np.dtype[Any], condition: str) -> str:
    t, c = at.vector(dtype), f"<{at.width} x i1>"
    a, b = args
    if dtype.kind == "f":
        larger = at.put(f"fcmp o{condition} {t} {a}, {b}")
        missing = at.put(f"fcmp uno {t} {a}, {a}")
        larger = at.put(f"or {c} {larger}, {missing}")
    else:
        larger = at.put(f"icmp {'s' if dtype.kind == 'i' else 'u'}{condition} {t} {a}, {b}")
    return at.put(f"select {c} {larger}, {t} {a}, {t} {b}")


def _compared(at: Registers, ufunc: np.ufunc, args: list[str], dtype: np.dtype[Any]) -> str:
    real, whole = _COMPARISONS[ufunc]
    t = at.vector(dtype)
    if dtype.kind == "f":
        return at.put(f"fcmp {real} {t} {args[0]}, {args[1]}")
    if dtype.kind != "i" and whole[0] == "s":
        whole = f"u{whole[1:]}"
    return at.put(f"icmp {whole} {t} {args[0]}, {args[1]}")


def _sign(at: Registers, x: str, dtype: np.dtype[Any]) -> str:
    t, c = at.vector(dtype), f"<{at.width} x i1>"
    above = at.put(f"fcmp ogt {t} {x}, zeroinitializer")
    below = at.put(f"fcmp olt {t} {x}, zeroinitializer")
    zero = at.put(f"fcmp oeq {t} {x}, zeroinitializer")
    value = at.put(f"select {c} {zero}, {t} zeroinitializer, {t} {x}")
    value = at.put(f"select {c} {above}, {t} {literal(1.0, dtype)}, {t} {value}")
    return at.put(f"select {c} {below}, {t} {literal(-1.0, dtype)}, {t} {value}")


def _outside(at: Registers, x: str, op: Outside, t: str) -> str:
    kind = t.split(" x ")[1][:-1]
    below = at.put(f"icmp slt {t} {x}, splat ({kind} {op.least})")
    above = at.put(f"icmp sge {t} {x}, splat ({kind} {op.length})")
    return at.put(f"or <{at.width} x i1> {below}, {above}")


def inside(at: Registers, x: str, length: int) -> str:
    """An index counted from the front; 0 where it is outside, which nothing then uses."""
    t, c = at.vector(np.dtype("i8")), f"<{at.width} x i1>"
    moved = at.put(f"add {t} {x}, splat (i64 {length})")
    negative = at.put(f"icmp slt {t} {x}, zeroinitializer")
    x = at.put(f"select {c} {negative}, {t} {moved}, {t} {x}")
    fine = at.put(f"icmp ult {t} {x}, splat (i64 {length})")
    return at.put(f"select {c} {fine}, {t} {x}, {t} zeroinitializer")


def _divided(at: Registers, args: list[str], dtype: np.dtype[Any]) -> tuple[str, str]:
    """The quotient, rounded down, and the remainder, as Python has them; in NumPy's steps."""
    t, c = at.vector(dtype), f"<{at.width} x i1>"
    a, b = args
    rest = at.put(f"frem {t} {a}, {b}")
    plain = at.put(f"fdiv {t} {a}, {b}")
    less = at.put(f"fsub {t} {a}, {rest}")
    quotient = at.put(f"fdiv {t} {less}, {b}")
    some = at.put(f"fcmp une {t} {rest}, zeroinitializer")
    signs = [at.put(f"fcmp olt {t} {x}, zeroinitializer") for x in (b, rest)]
    apart = at.put(f"xor {c} {signs[0]}, {signs[1]}")
    apart = at.put(f"and {c} {some}, {apart}")
    moved = at.put(f"fadd {t} {rest}, {b}")
    fewer = at.put(f"fsub {t} {quotient}, {literal(1.0, dtype)}")
    none = at.intrinsic("copysign", dtype, [literal(0.0, dtype), b])
    rest = at.put(f"select {c} {apart}, {t} {moved}, {t} {rest}")
    rest = at.put(f"select {c} {some}, {t} {rest}, {t} {none}")
    quotient = at.put(f"select {c} {apart}, {t} {fewer}, {t} {quotient}")
    floor = at.intrinsic("floor", dtype, [quotient])
    left = at.put(f"fsub {t} {quotient}, {floor}")
    large = at.put(f"fcmp ogt {t} {left}, {literal(0.5, dtype)}")
    higher = at.put(f"fadd {t} {floor}, {literal(1.0, dtype)}")
    floor = at.put(f"select {c} {large}, {t} {higher}, {t} {floor}")
    any_ = at.put(f"fcmp une {t} {quotient}, zeroinitializer")
    zero = at.intrinsic("copysign", dtype, [literal(0.0, dtype), plain])
    floor = at.put(f"select {c} {any_}, {t} {floor}, {t} {zero}")
    by_zero = at.put(f"fcmp oeq {t} {b}, zeroinitializer")
    floor = at.put(f"select {c} {by_zero}, {t} {plain}, {t} {floor}")
    missing = literal(np.nan, dtype)
    return floor, at.put(f"select {c} {by_zero}, {t} {missing}, {t} {rest}")


def _divided_whole(at: Registers, args: list[str], dtype: np.dtype[Any]) -> tuple[str, str]:
    """The same of integers: by 0 it is 0, and the least by -1 is itself."""
    t, c = at.vector(dtype), f"<{at.width} x i1>"
    a, b = args
    by_zero = at.put(f"icmp eq {t} {b}, zeroinitializer")
    if dtype.kind == "u":
        d = at.put(f"select {c} {by_zero}, {t} {literal(1, dtype)}, {t} {b}")
        found = at.put(f"udiv {t} {a}, {d}"), at.put(f"urem {t} {a}, {d}")
        quotient, rest = [
            at.put(f"select {c} {by_zero}, {t} zeroinitializer, {t} {x}") for x in found
        ]
        return quotient, rest
    by_less = at.put(f"icmp eq {t} {b}, {literal(-1, dtype)}")
    unusual = at.put(f"or {c} {by_zero}, {by_less}")
    d = at.put(f"select {c} {unusual}, {t} {literal(1, dtype)}, {t} {b}")
    quotient = at.put(f"sdiv {t} {a}, {d}")
    product = at.put(f"mul {t} {quotient}, {d}")
    rest = at.put(f"sub {t} {a}, {product}")
    some = at.put(f"icmp ne {t} {rest}, zeroinitializer")
    signs = at.put(f"xor {t} {rest}, {d}")
    apart = at.put(f"icmp slt {t} {signs}, zeroinitializer")
    apart = at.put(f"and {c} {some}, {apart}")
    fewer = at.put(f"sub {t} {quotient}, {literal(1, dtype)}")
    quotient = at.put(f"select {c} {apart}, {t} {fewer}, {t} {quotient}")
    moved = at.put(f"add {t} {rest}, {d}")
    rest = at.put(f"select {c} {apart}, {t} {moved}, {t} {rest}")
    negative = at.put(f"sub {t} zeroinitializer, {a}")
    quotient = at.put(f"select {c} {by_less}, {t} {negative}, {t} {quotient}")
    quotient = at.put(f"select {c} {by_zero}, {t} zeroinitializer, {t} {quotient}")
    return quotient, at.put(f"select {c} {unusual}, {t} zeroinitializer, {t} {rest}")


def compute(at: Registers, op: Any, args: list[str], dtype: np.dtype[Any]) -> str:
    """The instructions of an operation whose operands have this dtype."""
    t = at.vector(dtype)
    table = _FLOAT if dtype.kind == "f" else _TRUTH if dtype == BOOL else _WHOLE
    if op in table:
        return at.put(table[op].format(*args, t=t))
    if type(op) is Bits:
        return at.put(f"bitcast {t} {args[0]} to {at.vector(op.dtype)}")
    if type(op) is Outside:
        return _outside(at, args[0], op, t)
    if op is Where:
        return at.put(f"select <{at.width} x i1> {args[0]}, {t} {args[1]}, {t} {args[2]}")
    if op in (Cast, np.positive, np.conjugate) or op is np.absolute and dtype.kind in "ub":
        return args[0]
    if op in _COMPARISONS:
        return _compared(at, op, args, dtype)
    if op is np.square:
        return at.put(f"{'fmul' if dtype.kind == 'f' else 'mul'} {t} {args[0]}, {args[0]}")
    if op is np.floor_divide or op is np.remainder:
        found = _divided(at, args, dtype) if dtype.kind == "f" else _divided_whole(at, args, dtype)
        return found[op is np.remainder]
    if op is np.maximum or op is np.minimum or dtype.kind in "iu" and op in (np.fmax, np.fmin):
        op = {np.fmax: np.maximum, np.fmin: np.minimum}.get(op, op)
        return _maximum(at, args, dtype, "gt" if op is np.maximum else "lt")
    if op is np.logical_not or op is np.invert:
        ones = "splat (i1 true)" if dtype == BOOL else literal(-1, dtype)
        return at.put(f"xor {t} {args[0]}, {ones}")
    if dtype.kind in "iu":
        return _of_integers(at, op, args, dtype)
    return _of_floats(at, op, args, dtype)


def _of_integers(at: Registers, op: Any, args: list[str], dtype: np.dtype[Any]) -> str:
    t, c = at.vector(dtype), f"<{at.width} x i1>"
    if op is np.sign:
        sign = "s" if dtype.kind == "i" else "u"
        above = at.put(f"icmp {sign}gt {t} {args[0]}, zeroinitializer")
        negative = at.put(f"ashr {t} {args[0]}, {literal(8 * dtype.itemsize - 1, dtype)}")
        one = at.put(f"zext {c} {above} to {t}")
        return at.put(f"or {t} {negative}, {one}") if dtype.kind == "i" else one
    if op is np.absolute:
        other = at.put(f"sub {t} zeroinitializer, {args[0]}")
        below = at.put(f"icmp slt {t} {args[0]}, zeroinitializer")
        return at.put(f"select {c} {below}, {t} {other}, {t} {args[0]}")
    assert op in (np.left_shift, np.right_shift)
    a, b = args
    bits = 8 * dtype.itemsize
    fine = at.put(f"icmp ult {t} {b}, splat ({TYPES[dtype]} {bits})")
    b = at.put(f"select {c} {fine}, {t} {b}, {t} zeroinitializer")
    if op is np.left_shift:
        out, beyond = at.put(f"shl {t} {a}, {b}"), "zeroinitializer"
    elif dtype.kind == "u":
        out, beyond = at.put(f"lshr {t} {a}, {b}"), "zeroinitializer"
    else:
        out = at.put(f"ashr {t} {a}, {b}")
        beyond = at.put(f"ashr {t} {a}, splat ({TYPES[dtype]} {bits - 1})")
    return at.put(f"select {c} {fine}, {t} {out}, {t} {beyond}")


_SCALES: dict[Any, float] = {
    np.deg2rad: math.pi / 180,
    np.radians: math.pi / 180,
    np.rad2deg: 180 / math.pi,
    np.degrees: 180 / math.pi,
}


def _without_nan(at: Registers, op: Any, args: list[str], dtype: np.dtype[Any]) -> str:
    """`fmax` and `fmin`: of a number and a NaN, the number."""
    t, c = at.vector(dtype), f"<{at.width} x i1>"
    a, b = args
    larger = at.put(f"fcmp o{'ge' if op is np.fmax else 'le'} {t} {a}, {b}")
    missing = at.put(f"fcmp uno {t} {b}, {b}")
    chosen = at.put(f"or {c} {larger}, {missing}")
    return at.put(f"select {c} {chosen}, {t} {a}, {t} {b}")


def _step(at: Registers, args: list[str], dtype: np.dtype[Any]) -> str:
    t, c = at.vector(dtype), f"<{at.width} x i1>"
    x, middle = args
    above = at.put(f"fcmp ogt {t} {x}, zeroinitializer")
    below = at.put(f"fcmp olt {t} {x}, zeroinitializer")
    zero = at.put(f"fcmp oeq {t} {x}, zeroinitializer")
    value = at.put(f"select {c} {zero}, {t} {middle}, {t} {x}")
    value = at.put(f"select {c} {above}, {t} {literal(1.0, dtype)}, {t} {value}")
    return at.put(f"select {c} {below}, {t} zeroinitializer, {t} {value}")


def _of_floats(at: Registers, op: Any, args: list[str], dtype: np.dtype[Any]) -> str:
    t = at.vector(dtype)
    if op in _INTRINSICS:
        return at.intrinsic(_INTRINSICS[op], dtype, args)
    if op is np.reciprocal:
        return at.put(f"fdiv {t} {literal(1.0, dtype)}, {args[0]}")
    if op is np.sign:
        return _sign(at, args[0], dtype)
    if op in _SCALES:
        factor = dtype.type(_SCALES[op])
        return at.put(f"fmul {t} {args[0]}, {literal(factor, dtype)}")
    if op in (np.fmax, np.fmin):
        return _without_nan(at, op, args, dtype)
    if op is np.heaviside:
        return _step(at, args, dtype)
    if op is np.isnan:
        return at.put(f"fcmp uno {t} {args[0]}, {args[0]}")
    if op in (np.isinf, np.isfinite, NotFinite):
        size = at.intrinsic("fabs", dtype, args)
        condition = {np.isinf: "oeq", np.isfinite: "one"}.get(op, "ueq")
        return at.put(f"fcmp {condition} {t} {size}, {literal(np.inf, dtype)}")
    assert op in FORMULAS
    if dtype == DOUBLE:
        return at.elementary(op, args)
    wide = [cast(at, x, SINGLE, DOUBLE) for x in args]
    return cast(at, at.elementary(SINGLES.get(op, op), wide), DOUBLE, SINGLE)


_REALS = {*_FLOAT, *_COMPARISONS, *_INTRINSICS, *FORMULAS, np.square, np.reciprocal, np.sign}
_REALS |= {
    np.floor_divide,
    np.remainder,
    np.isnan,
    np.isinf,
    np.isfinite,
    np.maximum,
    np.minimum,
    np.positive,
    np.conjugate,
}
_WHOLES = {
    np.floor_divide,
    np.remainder,
    *_WHOLE,
    *_COMPARISONS,
    np.square,
    np.maximum,
    np.minimum,
    np.invert,
    np.positive,
}
_WHOLES |= {np.absolute, np.left_shift, np.right_shift, np.sign, np.fmax, np.fmin}
_TRUTHS = {*_TRUTH, *_COMPARISONS, np.logical_not, np.invert, np.absolute}
LOGICAL: frozenset[Any] = frozenset(
    (np.logical_and, np.logical_or, np.logical_xor, np.logical_not)
)


def is_known(ufunc: Any, dtype: np.dtype[Any]) -> bool:
    """Whether an elementwise function of operands of a dtype has instructions here."""
    table = _REALS if dtype.kind == "f" else _TRUTHS if dtype == BOOL else _WHOLES
    return dtype in TYPES and ufunc in table


def loop_dtype(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> tuple[Any, Any] | None:
    """The dtypes in which a ufunc computes: of its operands, if one for all, and of its result.

    `kinds` are dtypes, or Python's types for its numbers.
    """
    return _loop_dtype(ufunc, tuple([BOOL if kind is bool else kind for kind in kinds]))


@functools.cache
def _loop_dtype(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> tuple[Any, Any] | None:
    if ufunc in LOGICAL:
        known = all(kind in TYPES or kind in (bool, int, float) for kind in kinds)
        return (BOOL, BOOL) if known else None
    if all(kind is int or kind is float for kind in kinds):  # NumPy takes an array among them
        kinds = tuple([np.dtype(kind) for kind in kinds])
    try:
        found = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
    except TypeError:
        return None
    operands = set(found[: ufunc.nin])
    if len(operands) != 1 or ufunc.nout != 1:
        return None
    of = operands.pop()
    if ufunc is np.divide and of.kind in "iu" and found[-1] == DOUBLE:
        of = DOUBLE  # NumPy has loops of its own for small integers
    return of, found[-1]


def least_and_most(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    """The least and the largest number of a dtype."""
    if dtype == BOOL:
        return False, True
    if dtype.kind == "f":
        return -np.inf, np.inf
    limits = np.iinfo(dtype)
    return int(limits.min), int(limits.max)


# Reductions: what they start from.
REDUCERS: dict[Any, Callable[[np.dtype[Any]], Any]] = {
    np.add: lambda dtype: 0,
    np.multiply: lambda dtype: 1,
    np.maximum: lambda dtype: least_and_most(dtype)[0],
    np.minimum: lambda dtype: least_and_most(dtype)[1],
    np.logical_or: lambda dtype: False,
    np.logical_and: lambda dtype: True,
}

__all__ = [
    "BOOL",
    "DOUBLE",
    "LOGICAL",
    "REDUCERS",
    "STORED",
    "TYPES",
    "UFUNC_OF",
    "Bits",
    "Cast",
    "NotFinite",
    "Outside",
    "Registers",
    "Scan",
    "Where",
    "can_cast",
    "cast",
    "compute",
    "holds",
    "inside",
    "is_known",
    "literal",
    "loop_dtype",
]
