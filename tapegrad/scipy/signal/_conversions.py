"""Between transfer functions, zeros and poles, sections and state spaces; transformed filters.

Roots are `np.roots`, polynomials from them `np.poly`. Where roots meet, derivatives are infinite.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as ss

from tapegrad._core.forms import composite
from tapegrad._core.types import Function, Value
from tapegrad._core.values import branch_on, untraced
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy.signal import _filters as filters
from tapegrad.scipy.signal._arrays import HERE, as_array, padded

normalize, tf2zpk, zpk2tf = (mirror(f, HERE) for f in (ss.normalize, ss.tf2zpk, ss.zpk2tf))
tf2ss, ss2tf, ss2zpk, zpk2ss = (
    mirror(f, HERE) for f in (ss.tf2ss, ss.ss2tf, ss.ss2zpk, ss.zpk2ss)
)
sos2tf, sos2zpk = mirror(ss.sos2tf, HERE), mirror(ss.sos2zpk, HERE)
bilinear, bilinear_zpk = mirror(ss.bilinear, HERE), mirror(ss.bilinear_zpk, HERE)
lp2lp, lp2hp, lp2bp, lp2bs = (mirror(f, HERE) for f in (ss.lp2lp, ss.lp2hp, ss.lp2bp, ss.lp2bs))
lp2lp_zpk, lp2hp_zpk, lp2bp_zpk, lp2bs_zpk = (
    mirror(f, HERE) for f in (ss.lp2lp_zpk, ss.lp2hp_zpk, ss.lp2bp_zpk, ss.lp2bs_zpk)
)
kaiser_beta, kaiser_atten = mirror(ss.kaiser_beta, HERE), mirror(ss.kaiser_atten, HERE)


def _vector(c: Any) -> Value:
    return np.atleast_1d(as_array(c))


def _leading_zeros(c: Value, tolerance: float) -> int:
    """How many coefficients vanish before the first that does not."""

    def count(values: Any) -> int:
        small = np.all(np.abs(np.atleast_2d(values)) <= tolerance, axis=0)
        return int(np.argmin(small)) if not small.all() else max(small.size - 1, 0)

    found: int = branch_on(count, c)
    return found


def _normalize(b: Value, a: Value) -> tuple[Value, Value]:
    num, den = as_array(b), _vector(a)
    den = den[_leading_zeros(den, 0.0) :]
    num, den = np.atleast_2d(num) / den[0], den / den[0]
    num = num[:, _leading_zeros(num, 1e-14) :]
    return (num[0] if num.shape[0] == 1 else num), den


def _tf2zpk(b: Value, a: Value) -> tuple[Value, Value, Value]:
    b, a = _normalize(b, a)
    return np.roots(b / b[0]), np.roots(a), b[0]


def _poly(roots: Value) -> Value:
    return np.poly(roots) if roots.shape[0] else np.ones(1)


def _zpk2tf(z: Value, p: Value, k: Value) -> tuple[Value, Value]:
    z, p, k = _vector(z), _vector(p), _vector(k)
    if z.ndim > 1:
        rows = [k[min(i, k.shape[0] - 1)] * _poly(z[i]) for i in range(z.shape[0])]
        return np.stack(rows), _poly(p)
    return k * _poly(z), _poly(p)


def _tf2ss(num: Value, den: Value) -> tuple[Value, Value, Value, Value]:
    num, den = _normalize(num, den)
    num = np.atleast_2d(num)
    order = den.shape[0]
    if num.shape[1] > order:
        raise ValueError(
            "scipy.signal.tf2ss: expected a proper transfer function, got a numerator of "
            f"{num.shape[1]} and a denominator of {order} coefficients."
        )
    num = padded(num, order - num.shape[1], 0, 1)
    direct = num[:, :1]
    if order == 1:
        zeros = np.zeros((1, 1))
        return zeros, np.zeros((1, 1)), np.zeros((direct.shape[0], 1)), direct
    first = -den[None, 1:]
    a = np.concatenate([first, np.eye(order - 2, order - 1, dtype=first.dtype)])
    return a, np.eye(order - 1, 1), num[:, 1:] - direct * den[1:], direct


def _ss2tf(A: Value, B: Value, C: Value, D: Value, input: int = 0) -> tuple[Value, Value]:
    a, b, c, d = _matrices(A, B, C, D)
    if input >= d.shape[1]:
        raise ValueError(f"scipy.signal.ss2tf: expected an input below {d.shape[1]}, got {input}.")
    b, d = b[:, input : input + 1], d[:, input : input + 1]
    if not a.shape[0]:
        return np.reshape(d, -1), np.ones(1)
    den = np.poly(a)
    rows = [np.poly(a - b @ c[i : i + 1]) + (d[i] - 1) * den for i in range(d.shape[0])]
    return np.stack(rows), den


def _matrices(*matrices: Any) -> tuple[Value, ...]:
    return tuple(np.atleast_2d(as_array(m)) for m in matrices)


def _ss2zpk(A: Value, B: Value, C: Value, D: Value, input: int = 0) -> Any:
    return _tf2zpk(*_ss2tf(A, B, C, D, input))


def _zpk2ss(z: Value, p: Value, k: Value) -> Any:
    return _tf2ss(*_zpk2tf(z, p, k))


def _sos2tf(sos: Value) -> tuple[Value, Value]:
    sos = filters.sections(sos)
    b, a = sos[0, :3], sos[0, 3:]
    for section in range(1, sos.shape[0]):
        b, a = np.convolve(b, sos[section, :3]), np.convolve(a, sos[section, 3:])
    return b, a


def _sos2zpk(sos: Value) -> tuple[Value, Value, Value]:
    """Roots of a section that has fewer than two lie at 0."""
    sos = filters.sections(sos)
    zeros, poles, gain = [], [], 1.0
    for section in range(sos.shape[0]):
        z, p, k = _tf2zpk(sos[section, :3], sos[section, 3:])
        zeros.append(padded(z + 0j, 0, 2 - z.shape[0], 0))
        poles.append(padded(p + 0j, 0, 2 - p.shape[0], 0))
        gain = gain * k
    return np.concatenate(zeros), np.concatenate(poles), gain


# --- transformed filters: each power of s becomes a polynomial


def _powers(up: Value, down: Value, degree: int) -> list[Value]:
    """up**k * down**(degree - k), as coefficients of falling powers."""
    made = []
    for k in range(degree + 1):
        product: Value = np.ones(1)
        for factor in [up] * k + [down] * (degree - k):
            product = np.convolve(product, factor)
        made.append(product)
    return made


def _substituted(b: Value, a: Value, up: Value, down: Value) -> tuple[Value, Value]:
    """b and a with s = up / down, both times the same power of down."""
    b, a = _vector(b), _vector(a)
    b, a = b[_leading_zeros(b, 0.0) :], a[_leading_zeros(a, 0.0) :]
    powers = _powers(up, down, max(b.shape[0], a.shape[0]) - 1)
    made = []
    for c in (b, a):
        count = c.shape[0]
        terms = [c[count - 1 - k] * powers[k] for k in range(count)]
        longest = max(term.shape[0] for term in terms)
        made.append(sum(padded(term, longest - term.shape[0], 0, 0) for term in terms))
    return made[0], made[1]


def _bilinear(b: Value, a: Value, fs: Value = 1.0) -> tuple[Value, Value]:
    rate = 2 * fs
    return _normalize(*_substituted(b, a, np.array([1.0, -1.0]) * rate, np.array([1.0, 1.0])))


def _lp2lp(b: Value, a: Value, wo: Value = 1.0) -> tuple[Value, Value]:
    up = np.stack([1 / _number(wo), 0 * _number(wo)])
    return _normalize(*_substituted(b, a, up, np.ones(1)))


def _lp2hp(b: Value, a: Value, wo: Value = 1.0) -> tuple[Value, Value]:
    return _normalize(*_substituted(b, a, np.reshape(_number(wo), 1), np.array([1.0, 0.0])))


def _lp2bp(b: Value, a: Value, wo: Value = 1.0, bw: Value = 1.0) -> tuple[Value, Value]:
    return _normalize(*_substituted(b, a, *_band(wo, bw)))


def _lp2bs(b: Value, a: Value, wo: Value = 1.0, bw: Value = 1.0) -> tuple[Value, Value]:
    up, down = _band(wo, bw)
    return _normalize(*_substituted(b, a, down, up))


def _number(x: Any) -> Value:
    return as_array(x) * 1.0


def _band(wo: Value, bw: Value) -> tuple[Value, Value]:
    """s**2 + wo**2 and bw * s."""
    wo, bw = _number(wo), _number(bw)
    return np.stack([0 * wo + 1, 0 * wo, wo * wo]), np.stack([bw, 0 * bw])


# --- the same of zeros and poles


def _shares(z: Value, p: Value) -> tuple[Value, Value, int]:
    z, p = _vector(z), _vector(p)
    degree = p.shape[0] - z.shape[0]
    if degree < 0:
        raise ValueError(
            f"scipy.signal: expected no more zeros than poles, got {z.shape[0]} and {p.shape[0]}."
        )
    return z, p, degree


def _bilinear_zpk(z: Value, p: Value, k: Value, fs: Value) -> Any:
    z, p, degree = _shares(z, p)
    rate = 2 * fs
    gain = k * np.real(np.prod(rate - z) / np.prod(rate - p))
    zeros = np.concatenate([(rate + z) / (rate - z), -np.ones(degree)])
    return zeros, (rate + p) / (rate - p), gain


def _lp2lp_zpk(z: Value, p: Value, k: Value, wo: Value = 1.0) -> Any:
    z, p, degree = _shares(z, p)
    return wo * z, wo * p, k * wo**degree


def _lp2hp_zpk(z: Value, p: Value, k: Value, wo: Value = 1.0) -> Any:
    z, p, degree = _shares(z, p)
    gain = k * np.real(np.prod(-z) / np.prod(-p))
    return np.concatenate([wo / z, np.zeros(degree)]), wo / p, gain


def _both(x: Value, wo: Value) -> Value:
    """The two roots of s**2 - 2 x s + wo**2."""
    # Before the square, and not by x + 0j: the sign of zero says which root comes first.
    x = x.astype(np.complex128)
    apart = np.sqrt(x * x - wo * wo)
    return np.concatenate([x + apart, x - apart])


def _lp2bp_zpk(z: Value, p: Value, k: Value, wo: Value = 1.0, bw: Value = 1.0) -> Any:
    z, p, degree = _shares(z, p)
    zeros = np.concatenate([_both(z * bw / 2, wo), np.zeros(degree)])
    return zeros, _both(p * bw / 2, wo), k * bw**degree


def _lp2bs_zpk(z: Value, p: Value, k: Value, wo: Value = 1.0, bw: Value = 1.0) -> Any:
    z, p, degree = _shares(z, p)
    gain = k * np.real(np.prod(-z) / np.prod(-p))
    at = 1j * wo * np.ones(degree)
    zeros = np.concatenate([_both(bw / 2 / z, wo), at, -at])
    return zeros, _both(bw / 2 / p, wo), gain


def _kaiser_beta(a: Value) -> Value:
    """The three pieces of Kaiser's formula (Oppenheim and Schafer, section 7.5.3)."""
    at = untraced(a)
    if at > 50:
        return 0.1102 * (a - 8.7)
    return 0.5842 * (a - 21) ** 0.4 + 0.07886 * (a - 21) if at > 21 else 0.0 * a


def _kaiser_atten(numtaps: int, width: Value) -> Value:
    return 2.285 * (numtaps - 1) * np.pi * width + 7.95


_DEFINED: dict[Any, Function] = {
    normalize: _normalize,
    tf2zpk: _tf2zpk,
    zpk2tf: _zpk2tf,
    tf2ss: _tf2ss,
    ss2tf: _ss2tf,
    ss2zpk: _ss2zpk,
    zpk2ss: _zpk2ss,
    sos2tf: _sos2tf,
    sos2zpk: _sos2zpk,
    bilinear: _bilinear,
    bilinear_zpk: _bilinear_zpk,
    lp2lp: _lp2lp,
    lp2hp: _lp2hp,
    lp2bp: _lp2bp,
    lp2bs: _lp2bs,
    lp2lp_zpk: _lp2lp_zpk,
    lp2hp_zpk: _lp2hp_zpk,
    lp2bp_zpk: _lp2bp_zpk,
    lp2bs_zpk: _lp2bs_zpk,
    kaiser_beta: _kaiser_beta,
    kaiser_atten: _kaiser_atten,
}
for _function, _definition in _DEFINED.items():
    composite(_function, _definition, batch="loop")
