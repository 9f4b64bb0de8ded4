"""Recursive filters: in linear time, by every argument.

A filter is A y = B x with banded triangular Toeplitz matrices A and B of the coefficients. The
transpose of such a matrix is the matrix itself between two reversals of time, so every transpose
is a filter run backward. With w the solution of A^T w = g, the cotangents are B^T w by x, and the
products of w with x, and of -w with y, at each lag by b and by a.

Initial conditions are those of the transposed direct form II: a signal of a few elements that is
added to B x.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as ss

from tapegrad._core.forms import composite, general, linear, multilinear
from tapegrad._core.types import Cotangent, Value
from tapegrad._transforms.primitives import primitive
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy.signal._arrays import HERE, as_array, is_constant, padded, part

lfilter, lfilter_zi, lfiltic = (mirror(f, HERE) for f in (ss.lfilter, ss.lfilter_zi, ss.lfiltic))
sosfilt, sosfilt_zi = mirror(ss.sosfilt, HERE), mirror(ss.sosfilt_zi, HERE)
deconvolve = mirror(ss.deconvolve, HERE)

# --- products at each lag


@primitive
def lag_products(w: Value, x: Value, count: int = 1) -> Value:
    """sum(w[..., k:] * x[..., :-k]) for each lag k < count, over all rows."""
    size = w.shape[-1]
    made = np.zeros(count, np.result_type(w.dtype, x.dtype))
    rows = [np.reshape(np.broadcast_to(v, w.shape), (-1, size)) for v in (w, x)]
    for first, second in zip(*rows, strict=True):
        for k in range(min(count, size)):
            made[k] += np.dot(first[k:], second[: size - k])
    return made


def _transpose_by_w(g: Cotangent, _out: Value, _w: Value, x: Value, count: int = 1) -> Cotangent:
    return fixed_or_traced(g, np.ones(1, g.dtype), x)


def _transpose_by_x(g: Cotangent, _out: Value, w: Value, _x: Value, count: int = 1) -> Cotangent:
    return np.flip(fixed_or_traced(g, np.ones(1, g.dtype), np.flip(w, -1)), -1)


multilinear(lag_products, _transpose_by_w, _transpose_by_x)


def _lags(w: Value, x: Value, count: int, axis: int) -> Value:
    return lag_products(np.moveaxis(w, axis, -1), np.moveaxis(x, axis, -1), count=count)


# --- the filter from rest


@primitive
def fixed_filter(x: Value, b: Any = None, a: Any = None, axis: int = -1) -> Value:
    """A filter with constant coefficients."""
    return ss.lfilter(b, a, x, axis)


def _fixed_transpose(
    g: Cotangent, _out: Value, _x: Value, b: Any = None, a: Any = None, axis: int = -1
) -> Cotangent:
    return np.flip(fixed_filter(np.flip(g, axis), b=b, a=a, axis=axis), axis)


linear(fixed_filter, _fixed_transpose, batch="axis")


@primitive
def any_filter(b: Value, a: Value, x: Value, axis: int = -1) -> Value:
    """A filter from rest, which has derivatives by its coefficients too."""
    return ss.lfilter(b, a, x, axis)


def _backward(b: Value, a: Value, g: Cotangent, axis: int) -> Value:
    return np.flip(fixed_or_traced(b, a, np.flip(g, axis), axis), axis)


def _solved(a: Value, g: Cotangent, axis: int) -> Value:
    return _backward(np.ones(1, a.dtype), a, g, axis)


general(
    any_filter,
    vjp=[
        lambda g, _out, _b, a, x, axis=-1: _lags(_solved(a, g, axis), x, _b.shape[0], axis),
        lambda g, out, _b, a, _x, axis=-1: -_lags(_solved(a, g, axis), out, a.shape[0], axis),
        lambda g, _out, b, a, _x, axis=-1: _backward(b, a, g, axis),
    ],
)


def fixed_or_traced(b: Value, a: Value, x: Value, axis: int = -1) -> Value:
    if is_constant(b, a):
        return fixed_filter(x, b=b, a=a, axis=axis)
    return any_filter(b, a, x, axis=axis)


# --- with initial conditions


@primitive
def resumed_filter(x: Value, zi: Value, b: Any = None, a: Any = None, axis: int = -1) -> Value:
    """A filter with constant coefficients that goes on from a state."""
    y, _ = ss.lfilter(b, a, x, axis, zi)
    return y


def _state_transpose(
    g: Cotangent, _out: Value, _x: Value, _zi: Value, b: Any = None, a: Any = None, axis: int = -1
) -> Cotangent:
    w = np.flip(fixed_filter(np.flip(g, axis), b=a[:1], a=a, axis=axis), axis)
    order, size = _zi.shape[axis], w.shape[axis]
    return padded(part(w, None, min(order, size), axis), 0, max(order - size, 0), axis)


linear(
    resumed_filter,
    lambda g, _out, _x, _zi, b=None, a=None, axis=-1: _fixed_transpose(g, _out, _x, b, a, axis),
    _state_transpose,
)


def _lfilter(b: Value, a: Value, x: Value, axis: int = -1, zi: Value = None) -> Any:
    b, a, x = (as_array(value) for value in (b, a, x))
    b, a = np.atleast_1d(b), np.atleast_1d(a)
    if zi is None:
        return fixed_or_traced(b, a, x, axis)
    zi = as_array(zi)
    order = max(b.shape[0], a.shape[0]) - 1
    shape = list(x.shape)
    shape[axis] = order
    if zi.ndim != x.ndim or any(
        own not in (1, side) for own, side in zip(zi.shape, shape, strict=True)
    ):
        raise ValueError(
            f"scipy.signal.lfilter: expected zi of shape {tuple(shape)}, got {zi.shape}."
        )
    if is_constant(b, a) and order:
        kind = np.result_type(b.dtype, a.dtype, x.dtype, zi.dtype)
        full = np.broadcast_to(zi, shape).astype(kind)
        y = resumed_filter(x.astype(kind), full, b=b, a=a, axis=axis)
    else:
        y = fixed_or_traced(b, a, x, axis)
        size = y.shape[axis]
        start = part(zi, None, min(order, size), axis)
        start = padded(start, 0, max(size - order, 0), axis)
        y = y + fixed_or_traced(a[:1], a, start, axis)
    return y, _final_state(b, a, x, y, zi, axis)


def _final_state(b: Value, a: Value, x: Value, y: Value, zi: Value, axis: int) -> Value:
    """State after the last elements: zf[k] = sum over j > k of b[j] x[n+k-j] - a[j] y[n+k-j]."""
    order, size = max(b.shape[0], a.shape[0]) - 1, x.shape[axis]
    state = 0 * part(y, 0, 1, axis) + padded(part(zi, size, None, axis), 0, min(size, order), axis)
    for coefficients, signal in ((b, x), (-a, y)):
        tail = padded(signal, max(order - size, 0), 0, axis)
        end = tail.shape[axis]
        for j in range(1, coefficients.shape[0]):
            piece = part(tail, end - j, end, axis)
            state = state + coefficients[j] / a[0] * padded(piece, 0, order - j, axis)
    return state


composite(lfilter, _lfilter)


def _coefficients(b: Value, a: Value) -> tuple[Value, Value]:
    """Both of one length, and a[0] = 1."""
    b, a = np.atleast_1d(as_array(b)), np.atleast_1d(as_array(a))
    count = max(b.shape[0], a.shape[0])
    b, a = (padded(c, 0, count - c.shape[0], 0) for c in (b, a))
    return b / a[0], a / a[0]


def _lfilter_zi(b: Value, a: Value) -> Value:
    """A unit step in gives a step of height sum(b) / sum(a) out, from this state on."""
    b, a = _coefficients(b, a)
    rest = b[1:] - a[1:] * (np.sum(b) / np.sum(a))
    return np.flip(np.cumsum(np.flip(rest)))


def _lfiltic(b: Value, a: Value, y: Value, x: Value = None) -> Value:
    b, a = _coefficients(b, a)
    order = b.shape[0] - 1
    y = np.atleast_1d(as_array(y))
    x = np.zeros(1, b.dtype) if x is None else np.atleast_1d(as_array(x))
    state = np.zeros(order, np.result_type(b.dtype, y.dtype, x.dtype))
    for coefficients, past in ((b, x), (-a, y)):
        for j in range(1, order + 1):  # b[j] meets what lies 1 to j steps back
            steps = np.flip(padded(past, 0, max(order - past.shape[0], 0), 0)[:j])
            state = state + coefficients[j] * padded(steps, 0, order - j, 0)
    return state


composite(lfilter_zi, _lfilter_zi)
composite(lfiltic, _lfiltic)

# --- sections of second order


@primitive
def fixed_sections(x: Value, sos: Any = None, axis: int = -1) -> Value:
    """A cascade of constant sections."""
    return ss.sosfilt(sos, x, axis)


def _sections_transpose(
    g: Cotangent, _out: Value, _x: Value, sos: Any = None, axis: int = -1
) -> Cotangent:
    return np.flip(fixed_sections(np.flip(g, axis), sos=sos, axis=axis), axis)


linear(fixed_sections, _sections_transpose, batch="axis")


def _sosfilt(sos: Value, x: Value, axis: int = -1, zi: Value = None) -> Any:
    sos, x = sections(sos), as_array(x)
    if zi is None and is_constant(sos):
        return fixed_sections(x, sos=sos, axis=axis)
    if zi is None:
        for section in range(sos.shape[0]):
            x = _lfilter(sos[section, :3], sos[section, 3:], x, axis)
        return x
    zi, states = as_array(zi), []
    for section in range(sos.shape[0]):
        x, state = _lfilter(sos[section, :3], sos[section, 3:], x, axis, zi[section])
        states.append(state)
    return x, np.stack(states)


def sections(sos: Value) -> Value:
    """Sections as SciPy wants them."""
    sos = as_array(sos)
    if sos.ndim != 2 or sos.shape[1] != 6:
        raise ValueError(f"scipy.signal: expected sos of shape (n, 6), got {sos.shape}.")
    return sos


def _sosfilt_zi(sos: Value) -> Value:
    sos, states, scale = sections(sos), [], 1.0
    for section in range(sos.shape[0]):
        b, a = sos[section, :3], sos[section, 3:]
        states.append(scale * _lfilter_zi(b, a))
        scale = scale * (np.sum(b) / np.sum(a))
    return np.stack(states)


composite(sosfilt, _sosfilt)
composite(sosfilt_zi, _sosfilt_zi)


def _deconvolve(signal: Value, divisor: Value) -> tuple[Value, Value]:
    num, den = np.atleast_1d(as_array(signal)), np.atleast_1d(as_array(divisor))
    if num.ndim > 1 or den.ndim > 1:
        raise ValueError(
            f"scipy.signal.deconvolve: expected vectors, got {num.shape} and {den.shape}."
        )
    count = num.shape[0] - den.shape[0] + 1
    if count < 1:
        return np.zeros(0), num
    impulse = padded(np.ones(1, num.dtype), 0, count - 1, 0)
    quotient = _lfilter(num, den, impulse)
    return quotient, num - np.convolve(den, quotient)


composite(deconvolve, _deconvolve)
