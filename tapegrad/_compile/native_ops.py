"""Which calls the native back end computes itself, and the instructions of each.

Knows NumPy's elementwise functions but the elementary ones, which `vector_math.py` has. Must not
know programs, nor loops.

Every instruction here gives NumPy's bits.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._compile.lanes import hexadecimal
from tapegrad._compile.vector_math import FORMULAS

TYPES = {  # in registers
    np.dtype("f8"): "double",
    np.dtype("f4"): "float",
    np.dtype("i8"): "i64",
    np.dtype("i4"): "i32",
    np.dtype("?"): "i1",
}
STORED = {dtype: "i8" if text == "i1" else text for dtype, text in TYPES.items()}
DOUBLE, SINGLE, BOOL = np.dtype("f8"), np.dtype("f4"), np.dtype("?")

# Operators by the ufunc that they call for arrays.
UFUNC_OF: dict[Any, np.ufunc] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.divide,
    operator.neg: np.negative,
    operator.pos: np.positive,
    operator.abs: np.absolute,
    operator.pow: np.power,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
    operator.and_: np.bitwise_and,
    operator.or_: np.bitwise_or,
    operator.xor: np.bitwise_xor,
    operator.invert: np.invert,
    operator.iadd: np.add,
    operator.isub: np.subtract,
    operator.imul: np.multiply,
    operator.itruediv: np.divide,
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
    return f"splat ({TYPES[dtype]} {int(value)})"


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
    if after.kind == "f":
        return at.put(f"{'uitofp' if before == BOOL else 'sitofp'} {a} {x} to {b}")
    if before == BOOL:
        return at.put(f"zext {a} {x} to {b}")
    return at.put(f"{'sext' if after.itemsize > before.itemsize else 'trunc'} {a} {x} to {b}")


def can_cast(before: np.dtype[Any], after: np.dtype[Any]) -> bool:
    """Whether `cast` gives NumPy's values; floats beyond the integers differ between machines."""
    known = before in TYPES and after in TYPES
    return known and not (before.kind == "f" and after.kind == "i")


def _maximum(at: Registers, args: list[str], dtype: np.dtype[Any], condition: str) -> str:
    t, c = at.vector(dtype), f"<{at.width} x i1>"
    a, b = args
    if dtype.kind == "f":
        larger = at.put(f"fcmp o{condition} {t} {a}, {b}")
        missing = at.put(f"fcmp uno {t} {a}, {a}")
        larger = at.put(f"or {c} {larger}, {missing}")
    else:
        larger = at.put(f"icmp s{condition} {t} {a}, {b}")
    return at.put(f"select {c} {larger}, {t} {a}, {t} {b}")


def _compared(at: Registers, ufunc: np.ufunc, args: list[str], dtype: np.dtype[Any]) -> str:
    real, whole = _COMPARISONS[ufunc]
    t = at.vector(dtype)
    if dtype.kind == "f":
        return at.put(f"fcmp {real} {t} {args[0]}, {args[1]}")
    if dtype == BOOL:
        whole = whole.replace("s", "u") if whole[0] == "s" else whole
    return at.put(f"icmp {whole} {t} {args[0]}, {args[1]}")


def _sign(at: Registers, x: str, dtype: np.dtype[Any]) -> str:
    t, c = at.vector(dtype), f"<{at.width} x i1>"
    above = at.put(f"fcmp ogt {t} {x}, zeroinitializer")
    below = at.put(f"fcmp olt {t} {x}, zeroinitializer")
    zero = at.put(f"fcmp oeq {t} {x}, zeroinitializer")
    value = at.put(f"select {c} {zero}, {t} zeroinitializer, {t} {x}")
    value = at.put(f"select {c} {above}, {t} {literal(1.0, dtype)}, {t} {value}")
    return at.put(f"select {c} {below}, {t} {literal(-1.0, dtype)}, {t} {value}")


def compute(at: Registers, op: Any, args: list[str], dtype: np.dtype[Any]) -> str:
    """The instructions of an operation whose operands have this dtype."""
    t = at.vector(dtype)
    table = _FLOAT if dtype.kind == "f" else _TRUTH if dtype == BOOL else _WHOLE
    if op in table:
        return at.put(table[op].format(*args, t=t))
    if op is Where:
        return at.put(f"select <{at.width} x i1> {args[0]}, {t} {args[1]}, {t} {args[2]}")
    if op is Cast or op is np.positive or op is np.conjugate:
        return args[0]
    if op in _COMPARISONS:
        return _compared(at, op, args, dtype)
    if op is np.square:
        return at.put(f"{'fmul' if dtype.kind == 'f' else 'mul'} {t} {args[0]}, {args[0]}")
    if op is np.maximum or op is np.minimum:
        return _maximum(at, args, dtype, "gt" if op is np.maximum else "lt")
    if op is np.logical_not or op is np.invert:
        ones = "splat (i1 true)" if dtype == BOOL else literal(-1, dtype)
        return at.put(f"xor {t} {args[0]}, {ones}")
    return _of_floats(at, op, args, dtype)


def _of_floats(at: Registers, op: Any, args: list[str], dtype: np.dtype[Any]) -> str:
    t = at.vector(dtype)
    if op in _INTRINSICS:
        return at.intrinsic(_INTRINSICS[op], dtype, args)
    if op is np.reciprocal:
        return at.put(f"fdiv {t} {literal(1.0, dtype)}, {args[0]}")
    if op is np.sign:
        return _sign(at, args[0], dtype)
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
    return cast(at, at.elementary(op, wide), DOUBLE, SINGLE)


_REALS = {*_FLOAT, *_COMPARISONS, *_INTRINSICS, *FORMULAS, np.square, np.reciprocal, np.sign}
_REALS |= {np.isnan, np.isinf, np.isfinite, np.maximum, np.minimum, np.positive, np.conjugate}
_WHOLES = {*_WHOLE, *_COMPARISONS, np.square, np.maximum, np.minimum, np.invert, np.positive}
_TRUTHS = {*_TRUTH, *_COMPARISONS, np.logical_not, np.invert}
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
    if ufunc in LOGICAL:
        known = all(kind in TYPES or kind in (bool, int, float) for kind in kinds)
        return (BOOL, BOOL) if known else None
    try:
        found = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout))
    except TypeError:
        return None
    operands = set(found[: ufunc.nin])
    if len(operands) != 1 or ufunc.nout != 1:
        return None
    return operands.pop(), found[-1]


# Reductions: what they start from.
REDUCERS: dict[Any, Callable[[np.dtype[Any]], Any]] = {
    np.add: lambda dtype: 0,
    np.multiply: lambda dtype: 1,
    np.maximum: lambda dtype: -np.inf if dtype.kind == "f" else np.iinfo(dtype).min,
    np.minimum: lambda dtype: np.inf if dtype.kind == "f" else np.iinfo(dtype).max,
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
    "Cast",
    "NotFinite",
    "Registers",
    "Where",
    "can_cast",
    "cast",
    "compute",
    "is_known",
    "literal",
    "loop_dtype",
]
