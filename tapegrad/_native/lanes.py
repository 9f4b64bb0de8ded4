"""Arithmetic that writes itself down as LLVM's instructions over vectors.

Knows the syntax of LLVM. Must not know formulas, nor programs.

A `Real`, `Whole` or `Truth` is the name of a vector of doubles, 64-bit integers or bits; an
operator appends an instruction to the `Lanes` that the vector belongs to.
"""

from __future__ import annotations

import struct
from typing import Any

MAGIC = 6755399441055744.0  # 1.5 * 2^52: adding it rounds, and leaves a whole number in the bits
MAGIC_BITS = 0x4338000000000000
FAR = 1e6  # beyond which an angle is reduced with as many digits of pi as it takes


def hexadecimal(x: float) -> str:
    """A double as LLVM reads it to the last bit."""
    return f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}"


class Lanes:
    """The instructions of one function of vectors of a width."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.lines: list[str] = []
        self.block = "entry"
        self.count = 0
        self.needs: set[str] = set()  # declarations, and "far"
        self.real, self.whole, self.truth = (f"<{width} x {t}>" for t in ("double", "i64", "i1"))

    def name(self) -> str:
        self.count += 1
        return f"%m{self.count}"

    def __call__(self, instruction: str) -> str:
        name = self.name()
        self.lines.append(f"  {name} = {instruction}")
        return name

    def intrinsic(self, name: str, *args: str) -> str:
        """A call of an intrinsic function of reals."""
        full = f"@llvm.{name}.v{self.width}f64"
        self.needs.add(f"declare {self.real} {full}({', '.join([self.real] * len(args))})")
        return self(f"call {self.real} {full}({', '.join(f'{self.real} {a}' for a in args)})")

    def far_reduced(self, x: Real, r: Real, low: Real, q: Whole) -> tuple[Real, Real, Whole]:
        """r, low and q, but of lanes where x is large from `FAR_FUNCTION`."""
        self.needs.add("far")
        any_ = f"@llvm.vector.reduce.or.v{self.width}i1"
        self.needs.add(f"declare i1 {any_}({self.truth})")
        asked = self(f"call i1 {any_}({self.truth} {(x > FAR).text})")
        n = self.count
        self.lines += [f"  br i1 {asked}, label %far{n}, label %near{n}", f"far{n}:"]
        both = f"{{{self.real}, {self.real}, {self.whole}}}"
        kinds = ((self.real, r.text), (self.real, low.text), (self.whole, q.text))
        given = ", ".join(f"{kind} {text}" for kind, text in kinds)
        out = self(f"call {both} @tg_far_{self.width}({self.real} {x.text}, {given})")
        parts = [self(f"extractvalue {both} {out}, {i}") for i in range(3)]
        self.lines += [f"  br label %near{n}", f"near{n}:"]
        chosen = [
            self(f"phi {kind} [ {text}, %{self.block} ], [ {part}, %far{n} ]")
            for (kind, text), part in zip(kinds, parts, strict=True)
        ]
        self.block = f"near{n}"
        return Real(self, chosen[0]), Real(self, chosen[1]), Whole(self, chosen[2])


class Real:
    """A vector of doubles."""

    __slots__ = ("lanes", "text")

    def __init__(self, lanes: Lanes, text: str) -> None:
        self.lanes, self.text = lanes, text

    def of(self, x: float) -> Real:
        """A constant."""
        return Real(self.lanes, f"splat (double {hexadecimal(x)})")

    def _with(self, operation: str, other: Any, *, turned: bool = False) -> Real:
        if type(other) is not Real:
            other = self.of(other)
        a, b = (other, self) if turned else (self, other)
        return Real(self.lanes, self.lanes(f"{operation} {self.lanes.real} {a.text}, {b.text}"))

    def _asks(self, condition: str, other: Any) -> Truth:
        if type(other) is not Real:
            other = self.of(other)
        lanes = self.lanes
        return Truth(lanes, lanes(f"fcmp {condition} {lanes.real} {self.text}, {other.text}"))

    def __add__(self, other: Any) -> Real:
        return self._with("fadd", other)

    def __radd__(self, other: Any) -> Real:
        return self._with("fadd", other, turned=True)

    def __sub__(self, other: Any) -> Real:
        return self._with("fsub", other)

    def __rsub__(self, other: Any) -> Real:
        return self._with("fsub", other, turned=True)

    def __mul__(self, other: Any) -> Real:
        return self._with("fmul", other)

    def __rmul__(self, other: Any) -> Real:
        return self._with("fmul", other, turned=True)

    def __truediv__(self, other: Any) -> Real:
        return self._with("fdiv", other)

    def __rtruediv__(self, other: Any) -> Real:
        return self._with("fdiv", other, turned=True)

    def __neg__(self) -> Real:
        return Real(self.lanes, self.lanes(f"fneg {self.lanes.real} {self.text}"))

    def __abs__(self) -> Real:
        return Real(self.lanes, self.lanes.intrinsic("fabs", self.text))

    def __lt__(self, other: Any) -> Truth:
        return self._asks("olt", other)

    def __gt__(self, other: Any) -> Truth:
        return self._asks("ogt", other)

    def __ge__(self, other: Any) -> Truth:
        return self._asks("oge", other)

    def __eq__(self, other: object) -> Truth:  # type: ignore[override]
        return self._asks("oeq", other)

    def __ne__(self, other: object) -> Truth:  # type: ignore[override]
        return self._asks("une", other)

    __hash__ = None  # type: ignore[assignment]

    def sqrt(self) -> Real:
        return Real(self.lanes, self.lanes.intrinsic("sqrt", self.text))

    def floor(self) -> Real:
        return Real(self.lanes, self.lanes.intrinsic("floor", self.text))

    def bits(self) -> Whole:
        lanes = self.lanes
        return Whole(lanes, lanes(f"bitcast {lanes.real} {self.text} to {lanes.whole}"))

    def clipped(self, least: float, most: float) -> Real:
        """Within bounds; NaN stays."""
        low = (self < least).select(self.of(least), self)
        return (low > most).select(self.of(most), low)

    def rounded(self) -> tuple[Real, Whole]:
        """The nearest whole number, below 2^51, also as an integer."""
        moved = self + MAGIC
        return moved - MAGIC, moved.bits() - MAGIC_BITS


class Whole:
    """A vector of 64-bit integers."""

    __slots__ = ("lanes", "text")

    def __init__(self, lanes: Lanes, text: str) -> None:
        self.lanes, self.text = lanes, text

    def _with(self, operation: str, other: Any) -> Whole:
        text = other.text if type(other) is Whole else f"splat (i64 {_signed(other)})"
        return Whole(self.lanes, self.lanes(f"{operation} {self.lanes.whole} {self.text}, {text}"))

    def _asks(self, condition: str, other: int) -> Truth:
        lanes = self.lanes
        text = f"splat (i64 {other})"
        return Truth(lanes, lanes(f"icmp {condition} {lanes.whole} {self.text}, {text}"))

    def __add__(self, other: Any) -> Whole:
        return self._with("add", other)

    def __sub__(self, other: Any) -> Whole:
        return self._with("sub", other)

    def __neg__(self) -> Whole:
        lanes = self.lanes
        return Whole(lanes, lanes(f"sub {lanes.whole} zeroinitializer, {self.text}"))

    def __and__(self, other: Any) -> Whole:
        return self._with("and", other)

    def __or__(self, other: Any) -> Whole:
        return self._with("or", other)

    def __xor__(self, other: Any) -> Whole:
        return self._with("xor", other)

    def __lshift__(self, other: int) -> Whole:
        return self._with("shl", other)

    def __rshift__(self, other: int) -> Whole:
        return self._with("ashr", other)

    def __lt__(self, other: int) -> Truth:
        return self._asks("slt", other)

    def __ge__(self, other: int) -> Truth:
        return self._asks("sge", other)

    def bit(self, number: int) -> Truth:
        return (self & (1 << number))._asks("ne", 0)

    def real(self) -> Real:
        """The doubles that have these bits."""
        lanes = self.lanes
        return Real(lanes, lanes(f"bitcast {lanes.whole} {self.text} to {lanes.real}"))

    def small_real(self) -> Real:
        """The integers, below 2^51, as doubles."""
        return (self + MAGIC_BITS).real() - MAGIC


class Truth:
    """A vector of bits."""

    __slots__ = ("lanes", "text")

    def __init__(self, lanes: Lanes, text: str) -> None:
        self.lanes, self.text = lanes, text

    def _with(self, operation: str, other: str) -> Truth:
        return Truth(
            self.lanes, self.lanes(f"{operation} {self.lanes.truth} {self.text}, {other}")
        )

    def __and__(self, other: Truth) -> Truth:
        return self._with("and", other.text)

    def __or__(self, other: Truth) -> Truth:
        return self._with("or", other.text)

    def __invert__(self) -> Truth:
        return self._with("xor", "splat (i1 true)")

    def select(self, yes: Real, no: Real) -> Real:
        lanes = self.lanes
        both = f"{lanes.real} {yes.text}, {lanes.real} {no.text}"
        return Real(lanes, lanes(f"select {lanes.truth} {self.text}, {both}"))


def _signed(x: int) -> int:
    return x - (1 << 64) if x >= 1 << 63 else x


def function_text(name: str, formula: Any, arguments: int, width: int) -> tuple[str, set[str]]:
    """A formula as a function of LLVM's, and what it needs declared."""
    lanes = Lanes(width)
    value = formula(*[Real(lanes, f"%x{i}") for i in range(arguments)])
    given = ", ".join(f"{lanes.real} %x{i}" for i in range(arguments))
    head = f"define internal {lanes.real} @{name}_{width}({given}) noinline nounwind {{\nentry:\n"
    body = "\n".join(lanes.lines)
    return f"{head}{body}\n  ret {lanes.real} {value.text}\n}}\n", lanes.needs


def _two_over_pi(words: int) -> list[int]:
    """The bits of 2/pi, in words of 64, after one word of zeros; by Machin's formula."""
    bits = 64 * words + 64

    def arccot(n: int) -> int:
        term = (1 << bits) // n
        total, k, sign = term, 1, -1
        while term:
            term //= n * n
            k += 2
            total += sign * (term // k)
            sign = -sign
        return total

    pi = 4 * (4 * arccot(5) - arccot(239))
    value = (1 << (2 * bits + 1)) // pi >> 64
    return [0, *(value >> 64 * (words - 1 - i) & (1 << 64) - 1 for i in range(words))]


def far_text(width: int) -> str:
    """`tg_far`: r, low and q of x = q pi/2 + r for x beyond FAR; else as given. For vectors, too.

    x is m 2^e with m of 53 bits. Of 2/pi those 192 bits are taken that matter modulo 4 in the
    product with m, at the position where the product's two highest bits are q.
    """
    r, v, w = f"<{width} x double>", f"<{width} x i64>", "{double, double, i64}"
    full, given = f"{{{r}, {r}, {v}}}", f"{r} %x, {r} %r, {r} %l, {v} %q"
    lines = [
        f"define internal {full} @tg_far_{width}({given}) noinline nounwind {{",
    ]
    before = ("poison", "poison", "poison")
    for i in range(width):
        lines += [
            f"  %x{i} = extractelement {r} %x, i64 {i}",
            f"  %r{i} = extractelement {r} %r, i64 {i}",
            f"  %l{i} = extractelement {r} %l, i64 {i}",
            f"  %q{i} = extractelement {v} %q, i64 {i}",
            f"  %o{i} = call {w} @tg_far(double %x{i}, double %r{i}, double %l{i}, i64 %q{i})",
        ]
        kinds = ((r, "double", "a"), (r, "double", "b"), (v, "i64", "c"))
        for k, (t, part, letter) in enumerate(kinds):
            lines += [
                f"  %{letter}p{i} = extractvalue {w} %o{i}, {k}",
                f"  %{letter}{i} = insertelement {t} {before[k]}, {part} %{letter}p{i}, i64 {i}",
            ]
        before = (f"%a{i}", f"%b{i}", f"%c{i}")
    lines += [
        f"  %s0 = insertvalue {full} poison, {r} {before[0]}, 0",
        f"  %s1 = insertvalue {full} %s0, {r} {before[1]}, 1",
        f"  %s2 = insertvalue {full} %s1, {v} {before[2]}, 2",
        f"  ret {full} %s2",
        "}",
    ]
    return "\n".join(lines) + "\n"


PI_WORDS = 21

FAR_FUNCTION = (
    f"@tg_two_over_pi = internal constant [{PI_WORDS + 1} x i64] ["
    + ", ".join(f"i64 {_signed(word)}" for word in _two_over_pi(PI_WORDS))
    + "]\n"
    + f"""
declare i64 @llvm.fshl.i64(i64, i64, i64)
declare i64 @llvm.ctlz.i64(i64, i1)
define internal {{double, double, i64}} @tg_far(double %x, double %r, double %l, i64 %q)
nounwind {{
  %far = fcmp ogt double %x, {hexadecimal(FAR)}
  %finite = fcmp olt double %x, 0x7FF0000000000000
  %go = and i1 %far, %finite
  br i1 %go, label %reduce, label %as_is
as_is:
  %y0 = insertvalue {{double, double, i64}} poison, double %r, 0
  %y1 = insertvalue {{double, double, i64}} %y0, double %l, 1
  %y2 = insertvalue {{double, double, i64}} %y1, i64 %q, 2
  ret {{double, double, i64}} %y2
reduce:
  %bits = bitcast double %x to i64
  %biased = lshr i64 %bits, 52
  %low52 = and i64 %bits, 4503599627370495
  %m = or i64 %low52, 4503599627370496
  %start = sub i64 %biased, 1013 ; e - 2 + 64, where e is biased - 1075
  %word = lshr i64 %start, 6
  %shift = and i64 %start, 63
  %p0 = getelementptr i64, ptr @tg_two_over_pi, i64 %word
  %p1 = getelementptr i64, ptr %p0, i64 1
  %p2 = getelementptr i64, ptr %p0, i64 2
  %p3 = getelementptr i64, ptr %p0, i64 3
  %w0 = load i64, ptr %p0
  %w1 = load i64, ptr %p1
  %w2 = load i64, ptr %p2
  %w3 = load i64, ptr %p3
  %f2 = call i64 @llvm.fshl.i64(i64 %w0, i64 %w1, i64 %shift)
  %f1 = call i64 @llvm.fshl.i64(i64 %w1, i64 %w2, i64 %shift)
  %f0 = call i64 @llvm.fshl.i64(i64 %w2, i64 %w3, i64 %shift)
  %wm = zext i64 %m to i128
  %g0 = zext i64 %f0 to i128
  %g1 = zext i64 %f1 to i128
  %a0 = mul i128 %wm, %g0
  %a1 = mul i128 %wm, %g1
  %a2 = mul i64 %m, %f2
  %a0h = lshr i128 %a0, 64
  %b1 = add i128 %a1, %a0h
  %b1l = trunc i128 %b1 to i64
  %b1s = lshr i128 %b1, 64
  %b1h = trunc i128 %b1s to i64
  %c2 = add i64 %a2, %b1h
  %c0 = trunc i128 %a0 to i64
  %half = add i64 %c2, {1 << 61}
  %quarter = lshr i64 %half, 62
  %t2 = call i64 @llvm.fshl.i64(i64 %c2, i64 %b1l, i64 2)
  %t1 = call i64 @llvm.fshl.i64(i64 %b1l, i64 %c0, i64 2)
  %t0 = shl i64 %c0, 2
  %negative = icmp slt i64 %t2, 0
  %mask = sext i1 %negative to i64
  %u2 = xor i64 %t2, %mask
  %u1 = xor i64 %t1, %mask
  %u0 = xor i64 %t0, %mask
  %lz = call i64 @llvm.ctlz.i64(i64 %u2, i1 false)
  %n2 = call i64 @llvm.fshl.i64(i64 %u2, i64 %u1, i64 %lz)
  %n1 = call i64 @llvm.fshl.i64(i64 %u1, i64 %u0, i64 %lz)
  %top = and i64 %n2, -2048
  %rest = and i64 %n2, 2047
  %rest1 = shl i64 %rest, 53
  %n1s = lshr i64 %n1, 11
  %next = or i64 %rest1, %n1s
  %top1 = lshr i64 %top, 1
  %next1 = lshr i64 %next, 1
  %hi0 = sitofp i64 %top1 to double
  %lo0 = sitofp i64 %next1 to double
  %e1 = sub i64 960, %lz ; 2^(-63-lz)
  %e1s = shl i64 %e1, 52
  %s1 = bitcast i64 %e1s to double
  %e2 = sub i64 907, %lz ; 2^(-116-lz)
  %e2s = shl i64 %e2, 52
  %s2 = bitcast i64 %e2s to double
  %hi = fmul double %hi0, %s1
  %lo = fmul double %lo0, %s2
  %p = fmul double %hi, {hexadecimal(1.5707963267948966)}
  %hib = bitcast double %hi to i64
  %hibm = and i64 %hib, -134217728
  %hh = bitcast i64 %hibm to double
  %hl = fsub double %hi, %hh
  %k1 = fmul double %hh, {hexadecimal(1.5707963109016418)}
  %k2 = fsub double %k1, %p
  %k3 = fmul double %hh, {hexadecimal(1.5893254712295857e-08)}
  %k4 = fadd double %k2, %k3
  %k5 = fmul double %hl, {hexadecimal(1.5707963109016418)}
  %k6 = fadd double %k4, %k5
  %k7 = fmul double %hl, {hexadecimal(1.5893254712295857e-08)}
  %k8 = fadd double %k6, %k7
  %k9 = fmul double %hi, {hexadecimal(6.123233995736766e-17)}
  %k10 = fmul double %lo, {hexadecimal(1.5707963267948966)}
  %k11 = fadd double %k9, %k10
  %k12 = fadd double %k8, %k11
  %r0 = fadd double %p, %k12
  %r1 = fsub double %r0, %p
  %r2 = fsub double %k12, %r1
  %nr = fneg double %r0
  %nl = fneg double %r2
  %rr = select i1 %negative, double %nr, double %r0
  %rl = select i1 %negative, double %nl, double %r2
  %z0 = insertvalue {{double, double, i64}} poison, double %rr, 0
  %z1 = insertvalue {{double, double, i64}} %z0, double %rl, 1
  %z2 = insertvalue {{double, double, i64}} %z1, i64 %quarter, 2
  ret {{double, double, i64}} %z2
}}
"""
)


__all__ = [
    "FAR_FUNCTION",
    "Lanes",
    "Real",
    "Truth",
    "Whole",
    "far_text",
    "function_text",
    "hexadecimal",
]
