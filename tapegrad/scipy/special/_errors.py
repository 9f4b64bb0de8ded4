"""The error functions, the normal distribution, and the logistic function.

Must not know the other families of special functions.
"""

from __future__ import annotations

import math

import numpy as np

from tapegrad._core.forms import Over, elementwise
from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._moments import erfc_integral, faddeeva

_ROOT_PI, _ROOT_TAU, _ROOT_2 = math.sqrt(math.pi), math.sqrt(2 * math.pi), math.sqrt(2)
_SLOPE = 2 / _ROOT_PI

# --- error functions
elementwise(sp.erf, lambda _out, x: _SLOPE * np.exp(-x * x))
elementwise(sp.erfc, lambda _out, x: -_SLOPE * np.exp(-x * x))
elementwise(sp.erfi, lambda _out, x: _SLOPE * np.exp(x * x), strong=True)
elementwise(sp.erfinv, lambda out, _x: np.exp(out * out) / _SLOPE, strong=True)
elementwise(sp.erfcinv, lambda out, _x: -np.exp(out * out) / _SLOPE, strong=True)


def _is_complex(x: Value) -> bool:
    return hasattr(x, "dtype") and x.dtype.kind == "c"


def _erfcx_slope(_out: Value, x: Value) -> Value:
    return 1j * faddeeva(1)(1j * x) if _is_complex(x) else -2 * erfc_integral(1)(x)


def _dawson_slope(out: Value, x: Value) -> Value:
    """1 - 2 x D(x), by wofz where that cancels: D is its imaginary part on the real axis."""
    if not _is_complex(x):
        return _ROOT_PI / 2 * np.imag(faddeeva(1)(x + 0j))
    square = untraced(x) * untraced(x)
    far = np.real(square) > 100
    away = np.where(far, x, 11)
    slope = -0.5j * _ROOT_PI * faddeeva(1)(away)
    return np.where(far, slope, 1 - 2 * x * out)


elementwise(sp.erfcx, _erfcx_slope, strong=True)
elementwise(sp.dawsn, _dawson_slope, strong=True)
elementwise(sp.wofz, lambda _out, z: faddeeva(1)(z + 0j), strong=True)


def _voigt(x: Value, sigma: Value, gamma: Value) -> tuple[Value, Value, Value]:
    """Whether the profile is that of Lorentz, a width in place of 0, and the place of wofz."""
    sharp = untraced(sigma) == 0
    width = np.where(sharp, 1, sigma)
    return sharp, width, (x + 1j * gamma) / (width * _ROOT_2)


def _lorentz(x: Value, gamma: Value) -> tuple[Value, Value, Value]:
    """The slopes of gamma / pi / (x**2 + gamma**2), and the second one by x."""
    square = x * x + gamma * gamma
    share = 1 / (np.pi * square * square)
    by_x, by_gamma = -2 * x * gamma * share, (x * x - gamma * gamma) * share
    return by_x, by_gamma, 2 * gamma * share * (4 * x * x / square - 1)


def _voigt_by_x(_out: Value, x: Value, sigma: Value, gamma: Value) -> Value:
    sharp, width, z = _voigt(x, sigma, gamma)
    slope = np.real(faddeeva(1)(z)) / (2 * _ROOT_PI * width * width)
    return np.where(sharp, _lorentz(x, gamma)[0], slope)


def _voigt_by_sigma(_out: Value, x: Value, sigma: Value, gamma: Value) -> Value:
    """The equation of heat: the second derivative by x, times sigma."""
    sharp, width, z = _voigt(x, sigma, gamma)
    slope = np.real(faddeeva(2)(z)) / (2 * _ROOT_TAU * width * width)
    return np.where(sharp, sigma * _lorentz(x, gamma)[2], slope)


def _voigt_by_gamma(_out: Value, x: Value, sigma: Value, gamma: Value) -> Value:
    sharp, width, z = _voigt(x, sigma, gamma)
    slope = -np.imag(faddeeva(1)(z)) / (2 * _ROOT_PI * width * width)
    return np.where(sharp, _lorentz(x, gamma)[1], slope)


elementwise(sp.voigt_profile, _voigt_by_x, _voigt_by_sigma, _voigt_by_gamma, strong=True)

# --- the normal distribution
elementwise(sp.ndtr, lambda _out, x: np.exp(-0.5 * x * x) / _ROOT_TAU)
elementwise(sp.ndtri, lambda out, _p: _ROOT_TAU * np.exp(0.5 * out * out), strong=True)


def _density_over_ndtr(out: Value, x: Value) -> Value:
    """By erfcx, which overflows above 37, below 0 alone."""
    above = np.real(untraced(x)) > 0
    below = 2 / (_ROOT_TAU * sp.erfcx(np.where(above, 0.0, x) * (-1 / _ROOT_2)))
    return np.where(above, np.exp(-0.5 * x * x - out) / _ROOT_TAU, below)


elementwise(sp.log_ndtr, _density_over_ndtr, strong=True)
elementwise(
    sp.ndtri_exp, lambda out, _y: sp.erfcx(out * (-1 / _ROOT_2)) * (_ROOT_TAU / 2), strong=True
)


def _mean_by_p(out: Value, _p: Value, std: Value, x: Value) -> Value:
    z = (x - out) / std
    return -std * _ROOT_TAU * np.exp(0.5 * z * z)


def _std_by_p(out: Value, _mn: Value, p: Value, _x: Value) -> Value:
    z = sp.ndtri(p)  # not the quotient (x - mn) / out, which may be 0 / 0
    return -out / z * _ROOT_TAU * np.exp(0.5 * z * z)


elementwise(sp.nrdtrimn, _mean_by_p, lambda out, _p, std, x: (out - x) / std, 1, strong=True)
elementwise(
    sp.nrdtrisd,
    lambda _out, _mn, p, _x: -1 / sp.ndtri(p),
    _std_by_p,
    lambda _out, _mn, p, _x: 1 / sp.ndtri(p),
    strong=True,
)

# --- Owen's T function: D. B. Owen, Ann. Math. Stat. 27 (1956)


def _angle(h: Value, a: Value) -> Value:
    """a, where it meets h = 0 a finite one."""
    return np.where((untraced(h) == 0) & np.isinf(untraced(a)), 0.0, a)


def _owen_by_h(_out: Value, h: Value, a: Value) -> Value:
    return -np.exp(-0.5 * h * h) * sp.erf(_angle(h, a) * h / _ROOT_2) / (2 * _ROOT_TAU)


def _owen_by_a(_out: Value, h: Value, a: Value) -> Value:
    other = _angle(h, a)
    return np.exp(-0.5 * h * h * (1 + other * other)) / (2 * np.pi * (1 + a * a))


elementwise(sp.owens_t, _owen_by_h, _owen_by_a, strong=True)

# --- the logistic function
elementwise(sp.expit, lambda out, x: out * sp.expit(-x))
elementwise(sp.log_expit, lambda _out, x: sp.expit(-x))
elementwise(sp.logit, Over(lambda _out, p: p * (1 - p)), strong=True)
