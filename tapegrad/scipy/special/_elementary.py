"""Powers, exponentials, angles in degrees, and the Box-Cox transforms.

Must not know the other families of special functions.
"""

from __future__ import annotations

import math

import numpy as np

from tapegrad._core.forms import Over, constant, elementwise
from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._moments import exp_moment, log_moment
from tapegrad.scipy.special._primitives import unbounded

_LN2, _LN10, _DEGREE = math.log(2), math.log(10), math.pi / 180

# --- exponentials, logarithms and roots
elementwise(sp.cbrt, Over(lambda out, _x: 3 * out * out), strong=True)
elementwise(sp.exp2, lambda out, _x: _LN2 * out, strong=True)
elementwise(sp.exp10, lambda out, _x: _LN10 * out, strong=True)
elementwise(sp.expm1, lambda _out, x: np.exp(x), strong=True)  # see np.expm1
elementwise(sp.log1p, Over(lambda _out, x: 1 + x), strong=True)
elementwise(sp._log1mexp, Over(lambda _out, x: -np.expm1(-x)), name="scipy.special.log1mexp")
elementwise(sp.exprel, lambda _out, x: exp_moment(1)(x), strong=True)

# --- degrees
elementwise(sp.sindg, lambda _out, x: _DEGREE * sp.cosdg(x))
elementwise(sp.cosdg, lambda _out, x: -_DEGREE * sp.sindg(x))
elementwise(sp.tandg, lambda out, _x: _DEGREE * (1 + out * out), strong=True)
elementwise(sp.cotdg, lambda out, _x: -_DEGREE * (1 + out * out), strong=True)
elementwise(
    sp.radian,
    lambda _out, _d, _m, _s: _DEGREE,
    lambda _out, _d, _m, _s: _DEGREE / 60,
    lambda _out, _d, _m, _s: _DEGREE / 3600,
)
elementwise(sp.cosm1, lambda _out, x: -np.sin(x))
constant(sp.round)

# --- powers


def _power_by_base(_out: Value, x: Value, y: Value) -> Value:
    nothing = (untraced(x) == 0) & (untraced(y) == 0)
    return y * x ** np.where(nothing, 1.0, y - 1)


elementwise(sp.powm1, _power_by_base, lambda _out, x, y: sp.xlogy(x**y, x), strong=True)


def power_over(power: Value, log_x: Value, lmbda: Value) -> Value:
    """The derivative of (x**lmbda - 1) / lmbda by lmbda.

    log(x)**2 times the integral of s exp(z s), where z = lmbda log(x), for small z.
    """
    z = lmbda * log_x
    near = np.absolute(untraced(z)) < 2
    base = np.where(near, log_x, 0.0)
    by_moment = base * base * exp_moment(1)(np.where(near, z, 0.0))
    exponent = np.where(near, 1.0, lmbda)
    zero = untraced(power) == 0
    product = np.where(zero, 0.0, power * np.where(zero, 0.0, log_x))
    by_parts = (product - (power - 1) / exponent) / exponent
    return np.where(near, by_moment, by_parts)


def _boxcox_by_lambda(_out: Value, x: Value, lmbda: Value) -> Value:
    return power_over(x**lmbda, np.log(x), lmbda)


def _boxcox1p_by_lambda(_out: Value, x: Value, lmbda: Value) -> Value:
    log = np.log1p(x)
    return power_over(np.exp(lmbda * log), log, lmbda)


elementwise(sp.boxcox, lambda _out, x, lmbda: x ** (lmbda - 1), _boxcox_by_lambda, strong=True)
elementwise(
    sp.boxcox1p,
    lambda _out, x, lmbda: np.exp((lmbda - 1) * np.log1p(x)),
    _boxcox1p_by_lambda,
    strong=True,
)


def _inverse_by_lambda(power: Value, y: Value, lmbda: Value) -> Value:
    """Of (1 + lmbda y)**(1 / lmbda): y**2 times an integral that is 1/2 at lmbda = 0."""
    return -power * y * y * log_moment(1)(lmbda * y)


elementwise(
    sp.inv_boxcox,
    lambda out, y, lmbda: out / (1 + lmbda * y),
    lambda out, y, lmbda: _inverse_by_lambda(out, y, lmbda),
    strong=True,
)
elementwise(
    sp.inv_boxcox1p,
    lambda out, y, lmbda: (1 + out) / (1 + lmbda * y),
    lambda out, y, lmbda: _inverse_by_lambda(1 + out, y, lmbda),
    strong=True,
)

# --- the arithmetic-geometric mean, whose slopes are Carlson's integral R_D: DLMF 19.25.1


_FAR_APART = 1e60  # of two numbers: from here on their mean is a logarithm's to all digits


def _mean_slope(out: Value, a: Value, b: Value) -> Value:
    """By a: DLMF 19.8.5 and 19.25.1; infinite at a = 0, and 0 where b is 0 as the mean is."""
    first, second = untraced(a) == 0, untraced(b) == 0
    end = first | second
    inner = np.where(end, 1.0, a)
    ratio, share = np.where(end, 1.0, b) / inner, out / inner
    far, close = untraced(ratio) > _FAR_APART, untraced(ratio) < 1 / _FAR_APART
    middle = np.where(far | close, 1.0, ratio)
    found = 2 / (3 * np.pi) * share * share * sp.elliprd(0.0, middle * middle, 1.0)
    # The mean of a much larger a is pi / 2 * a / log(4 a / b).
    found = np.where(close, share - 2 / np.pi * share * share, found)
    of_other = out / np.where(far, b, 1.0)
    found = np.where(far, 2 / np.pi * of_other * of_other * np.where(far, ratio, 1.0), found)
    at_end = np.where(first, np.where(second, np.nan, np.inf), 0.0)
    return unbounded(np.where(end, at_end, found), a)


elementwise(sp.agm, _mean_slope, lambda out, a, b: _mean_slope(out, b, a), strong=True)

__all__ = ["power_over"]
