"""Waveforms, by time and by their parameters."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.signal as ss

from tapegrad._core.forms import composite, constant
from tapegrad._core.types import Value
from tapegrad._core.values import branch_on
from tapegrad.scipy import _special as special
from tapegrad.scipy._mirror import expressed_by, mirror
from tapegrad.scipy.signal._arrays import HERE, as_array

chirp, gausspulse, sweep_poly, sawtooth, square = (
    mirror(f, HERE) for f in (ss.chirp, ss.gausspulse, ss.sweep_poly, ss.sawtooth, ss.square)
)
vectorstrength, gauss_spline = mirror(ss.vectorstrength, HERE), mirror(ss.gauss_spline, HERE)

constant(square, arrays=2)  # it steps


def _chirp_phase(
    t: Value, f0: Value, t1: Value, f1: Value, method: str, vertex_zero: bool
) -> Value:
    """2 pi times the integral of the frequency from 0 to t."""
    if method in ("linear", "lin", "li"):
        return 2 * np.pi * (f0 * t + (f1 - f0) / t1 * t * t / 2)
    if method in ("quadratic", "quad", "q"):
        beta = (f1 - f0) / t1**2
        if vertex_zero:
            return 2 * np.pi * (f0 * t + beta * t**3 / 3)
        return 2 * np.pi * (f1 * t + beta * ((t1 - t) ** 3 - t1**3) / 3)
    if method in ("logarithmic", "log", "lo"):
        if branch_on(lambda product: bool(np.any(product <= 0)), f0 * f1):
            raise ValueError("scipy.signal.chirp: expected f0 and f1 of one sign, neither 0.")
        return 2 * np.pi * f0 * t * special.exprel(t / t1 * np.log(f1 / f0))
    if method in ("hyperbolic", "hyp"):
        if branch_on(lambda product: bool(np.any(product == 0)), f0 * f1):
            raise ValueError("scipy.signal.chirp: expected f0 and f1 other than 0.")
        growth = (f0 - f1) / (f1 * t1)  # the frequency is f0 / (1 + growth t)
        period = 1 + growth * t
        before = period > 0  # the singular point; equal frequencies never reach it
        early = t / special.exprel(np.log1p(np.where(before, growth * t, 0)))
        past = np.log(np.absolute(np.where(before, 1, period))) / np.where(before, 1, growth)
        return 2 * np.pi * f0 * np.where(before, early, past)
    raise ValueError(
        "scipy.signal.chirp: expected method='linear', 'quadratic', 'logarithmic' or 'hyperbolic',"
        f" got {method!r}."
    )


def _chirp(
    t: Value,
    f0: Value,
    t1: Value,
    f1: Value,
    method: str,
    phi: Value,
    vertex_zero: bool,
    *,
    complex: bool,
) -> Value:
    phase = _chirp_phase(as_array(t), f0, t1, f1, method, vertex_zero) + np.deg2rad(phi)
    return np.exp(1j * phase) if complex else np.cos(phase)


def _gausspulse(
    t: Value, fc: Value, bw: Value, bwr: Value, tpr: Value, retquad: bool, retenv: bool
) -> Any:
    level = 10.0 ** (bwr / 20.0)
    slope = -((np.pi * fc * bw) ** 2) / (4.0 * np.log(level))
    if isinstance(t, str):
        if t != "cutoff":
            raise ValueError(f"scipy.signal.gausspulse: expected t='cutoff' or times, got {t!r}.")
        return np.sqrt(-np.log(10.0 ** (tpr / 20.0)) / slope)
    t = as_array(t)
    envelope = np.exp(-slope * t * t)
    results = [envelope * np.cos(2 * np.pi * fc * t)]
    if retquad:
        results.append(envelope * np.sin(2 * np.pi * fc * t))
    if retenv:
        results.append(envelope)
    return tuple(results) if len(results) > 1 else results[0]


def _sweep_poly(t: Value, poly: Value, phi: Value = 0) -> Value:
    if isinstance(poly, np.poly1d):
        poly = poly.coeffs
    phase = 2 * np.pi * np.polyval(np.polyint(as_array(poly)), as_array(t))
    return np.cos(phase + phi * (np.pi / 180))


def _sawtooth(t: Value, width: Value = 1) -> Value:
    """Rising for the share `width` of a period, then falling; NaN for a width that is no share."""
    t, width = as_array(t) * 1.0, as_array(width) * 1.0
    turn = np.mod(t, 2 * np.pi)
    rises = turn < width * 2 * np.pi
    up, down = np.where(rises, width, 1.0), np.where(rises, 0.0, width)
    rising = turn / (np.pi * up) - 1
    falling = (np.pi * (down + 1) - turn) / (np.pi * (1 - down))
    valid = (width >= 0) & (width <= 1)
    return np.where(valid, np.where(rises, rising, falling), np.nan)


def _vectorstrength(events: Value, period: Value) -> tuple[Value, Value]:
    """The length and the angle of the mean of the events' phases as unit vectors."""
    events, period = as_array(events), as_array(period)
    if events.ndim > 1 or period.ndim > 1:
        raise ValueError("scipy.signal.vectorstrength: expected vectors or numbers.")
    angles = 2 * np.pi * np.reshape(events, -1) / np.reshape(period, (-1, 1))
    mean = np.mean(np.exp(1j * angles), axis=1)
    strength, phase = np.absolute(mean), np.angle(mean)
    return (strength, phase) if period.ndim else (strength[0], phase[0])


def _gauss_spline(x: Value, n: int) -> Value:
    variance = (n + 1) / 12.0
    x = as_array(x)
    return np.exp(-(x * x) / (2 * variance)) / np.sqrt(2 * np.pi * variance)


expressed_by(chirp, _chirp, batch="loop")
expressed_by(gausspulse, _gausspulse, batch="loop")
composite(sweep_poly, _sweep_poly, batch="loop")
composite(sawtooth, _sawtooth)
composite(vectorstrength, _vectorstrength, batch="loop")
composite(gauss_spline, _gauss_spline)
