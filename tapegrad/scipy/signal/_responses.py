"""Frequency responses: ratios of polynomials on the unit circle or the imaginary axis."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.signal as ss

from tapegrad._core.forms import composite
from tapegrad._core.types import Value
from tapegrad._core.values import any_true, untraced
from tapegrad.scipy import fft
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy._undetermined import without_derivative
from tapegrad.scipy.signal import _filters as filters
from tapegrad.scipy.signal._arrays import HERE, as_array

freqz, freqs, group_delay = (mirror(f, HERE) for f in (ss.freqz, ss.freqs, ss.group_delay))
freqz_zpk, freqs_zpk, freqz_sos, sosfreqz = (
    mirror(f, HERE) for f in (ss.freqz_zpk, ss.freqs_zpk, ss.freqz_sos, ss.sosfreqz)
)

TURN = 2 * np.pi


def rising(coefficients: Value, x: Value) -> Value:
    """The polynomial with coefficients of rising powers along axis 0, by Horner's scheme."""
    total = coefficients[-1] + 0 * x
    for k in range(coefficients.shape[0] - 2, -1, -1):
        total = coefficients[k] + total * x
    return total


def _is_count(w: Any) -> bool:
    try:
        operator.index(w)
    except TypeError:
        return False
    return True


def _angles(
    w: Any, whole: bool, fs: float, kind: Any, endpoint: bool = False
) -> tuple[Value, int | None]:
    """Angles between 0 and pi or 2 pi of a dtype; and how many, if they are at equal steps."""
    if w is None:
        w = 512
    if _is_count(w):
        count = operator.index(w)
        if count < 0:
            raise ValueError(f"scipy.signal: expected frequencies from 0, got {count}.")
        last = TURN if whole else np.pi
        return np.linspace(0, last, count, endpoint=endpoint and not whole, dtype=kind), count
    w = np.atleast_1d(as_array(w))
    return TURN * w / fs, None


def _real_kind(*arrays: Value) -> Any:
    """Single precision for arrays of single precision."""
    kind = np.result_type(*(x.dtype for x in arrays))
    return np.float32 if kind in (np.float32, np.complex64) else np.float64


def _freqz(
    b: Value,
    a: Value = 1,
    worN: Any = 512,
    whole: bool = False,
    plot: Any = None,
    fs: float = TURN,
    include_nyquist: bool = False,
) -> Any:
    b, a = np.atleast_1d(as_array(b)), np.atleast_1d(as_array(a))
    w, count = _angles(worN, whole, fs, _real_kind(b, a), include_nyquist)
    size = 0
    if count is not None:
        size = count if whole else 2 * (count - 1) if include_nyquist else 2 * count
    if size and b.ndim == a.ndim == 1 and size >= max(b.shape[0], a.shape[0]):
        h = fft.fft(b, size)[:count]
        h = h / (a[0] if a.shape[0] == 1 else fft.fft(a, size)[:count])
    else:
        back = np.exp(-1j * w)
        h = rising(b, back) / rising(a, back)
    w = w * (fs / TURN)
    if plot is not None:
        plot(untraced(w), untraced(h))
    return w, h


def _freqs(b: Value, a: Value, worN: Any = 200, plot: Any = None) -> Any:
    b, a = np.atleast_1d(as_array(b)), np.atleast_1d(as_array(a))
    if worN is None or _is_count(worN):
        w = ss.findfreqs(untraced(b), untraced(a), 200 if worN is None else worN)
    else:
        w = np.atleast_1d(as_array(worN))
    h = rising(np.flip(b, 0), 1j * w) / rising(np.flip(a, 0), 1j * w)
    if plot is not None:
        plot(untraced(w), untraced(h))
    return w, h


def _from_roots(x: Value, roots: Value) -> Value:
    roots = np.atleast_1d(as_array(roots))
    return np.prod(x[..., None] - roots, axis=-1) if roots.shape[0] else x * 0 + 1


def _freqz_zpk(
    z: Value, p: Value, k: Value, worN: Any = 512, whole: bool = False, fs: float = TURN
) -> Any:
    z, p = np.atleast_1d(as_array(z)), np.atleast_1d(as_array(p))
    w, _ = _angles(worN, whole, fs, _real_kind(z, p))
    x = np.exp(1j * w)
    return w * (fs / TURN), k * _from_roots(x, z) / _from_roots(x, p)


def _freqs_zpk(z: Value, p: Value, k: Value, worN: Any = 200) -> Any:
    z, p = as_array(z), as_array(p)
    if worN is None or _is_count(worN):
        count = 200 if worN is None else worN
        w = ss.findfreqs(untraced(z), untraced(p), count, kind="zp")
    else:
        w = np.atleast_1d(as_array(worN))
    return w, k * _from_roots(1j * w, z) / _from_roots(1j * w, p)


def _freqz_sos(sos: Value, worN: Any = 512, whole: bool = False, fs: float = TURN) -> Any:
    sos = filters.sections(sos)
    if not sos.shape[0]:
        raise ValueError("scipy.signal.freqz_sos: expected a section, got none.")
    made = [
        _freqz(sos[section, :3], sos[section, 3:], worN, whole, fs=fs)
        for section in range(sos.shape[0])
    ]
    return made[0][0], functools.reduce(np.multiply, [h for _, h in made])


def _group_delay(
    system: Sequence[Value], w: Any = 512, whole: bool = False, fs: float = TURN
) -> Any:
    b, a = (np.atleast_1d(as_array(c)) for c in system)
    angles, _ = _angles(w, whole, fs, np.float64)
    c = np.convolve(b, np.conjugate(np.flip(a)))
    back = np.exp(-1j * angles)
    denominator = rising(c, back)
    singular = untraced(denominator) == 0
    ratio = rising(c * np.arange(c.shape[0]), back) / np.where(singular, 1, denominator)
    delay = np.real(ratio) - a.shape[0] + 1
    # Where SciPy warns of a zero of the filter, the quotient is rounding, as its slope would be.
    near = np.abs(untraced(denominator)) < 10 * np.finfo(float).eps
    if any_true(near):
        delay = np.where(near, without_derivative(delay, np.real(denominator)), delay)
    delay = np.where(singular, 0, delay)
    return angles * (fs / TURN), delay


composite(freqz, _freqz, batch="loop")
composite(freqs, _freqs, batch="loop")
composite(freqz_zpk, _freqz_zpk, batch="loop")
composite(freqs_zpk, _freqs_zpk, batch="loop")
composite(freqz_sos, _freqz_sos, batch="loop")
composite(sosfreqz, _freqz_sos, batch="loop")
composite(group_delay, _group_delay, batch="loop")
