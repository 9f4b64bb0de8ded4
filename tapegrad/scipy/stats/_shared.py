"""Terms that the formulas of several distributions share."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad import elementwise, primitive, stop_gradient
from tapegrad.scipy import _special as sp

LOG_2 = np.log(2.0)
LOG_PI = np.log(np.pi)
LOG_2PI = np.log(2 * np.pi)
ROOT_2 = np.sqrt(2.0)
ROOT_2PI = np.sqrt(2 * np.pi)

# Follows SciPy's words in the docstring of every rvs.
OF_DRAWS = """
Derivatives
-----------
A draw moves with the parameters along a path that keeps its distribution, so that the gradient of
a mean over draws is, on average, that of the expectation.

- By a location, scale, mean, covariance or scale matrix: the slope of the draw with its standard
  random numbers fixed, which differences of draws with one seed find. Where eigenvalues of a
  covariance are equal NumPy's draws jump as it turns; the path is that of the symmetric root.
- By other shapes (`a` of gamma, degrees of freedom, `alpha` of Dirichlet): implicit
  reparametrisation, in which the draw keeps its probability level, dx/da = -(dF/da) / (dF/dx), of
  Dirichlet the shares one by one. SciPy draws many of these by rejection, where differences of
  draws with one seed are the slope of one branch, whose mean is not that of the expectation; or
  from several random numbers, where they follow another path.
"""

_TERMS = 14
_NEAR = 0.05


def unknown(*values: Any) -> Any:
    """NaN, and so are its derivatives of every order by any of the values."""
    return np.exp(sum(np.nan * x for x in values))


def log_normal(z: Any) -> Any:
    """The log density of the standard normal distribution."""
    return -(LOG_2PI + z * z) / 2


def log1p_over(c: Any, y: Any) -> Any:
    """log(1 + c y) / c, which is y at c = 0, with its derivatives there."""
    u = c * y
    near = abs(u) < _NEAR
    small = np.where(near, u, 0.0)
    series: Any = 1 / _TERMS
    for term in range(_TERMS - 1, 0, -1):
        series = 1 / term - small * series
    safe = np.where(near, 1.0, c)
    return np.where(near, y * series, np.log1p(safe * np.where(near, 1.0, y)) / safe)


def log_sum(logs: Any) -> Any:
    """log(sum(exp(logs))) along the last axis."""
    top = stop_gradient(np.max(logs, axis=-1, keepdims=True))
    return np.log(np.sum(np.exp(logs - top), axis=-1)) + top[..., 0]


@primitive
def log_i0e(z: Any) -> Any:
    """log(i0e(z)) of z >= 0: log(I0(z)) - z, also at 0, where i0e has a kink."""
    return np.log(sp.i0e(z))


elementwise(log_i0e, lambda _out, z: sp.i1e(z) / sp.i0e(z) - 1)


def log_difference(a: Any, b: Any) -> Any:
    """log(exp(a) - exp(b)) of a >= b."""
    return a + np.log(-np.expm1(b - a))


def log_normal_mass(a: Any, b: Any) -> Any:
    """log(ndtr(b) - ndtr(a)) of a <= b, exact in both tails."""
    right = a > 0
    low, high = np.where(right, -b, a), np.where(right, -a, b)
    return log_difference(sp.log_ndtr(high), sp.log_ndtr(low))


def beta_mass(a: Any, b: Any, x: Any, rest: Any) -> Any:
    """The distribution function of beta at x, of which `rest` is left to 1, exact near both."""
    low = stop_gradient(x) < 0.5
    lower = sp.betainc(a, b, np.where(low, x, 0.5))
    return np.where(low, lower, sp.betaincc(b, a, np.where(low, 0.5, rest)))


def log_beta_density(y: Any, a: Any, b: Any) -> Any:
    return sp.xlog1py(b - 1, -y) + sp.xlogy(a - 1, y) - sp.betaln(a, b)


def log_gamma_density(y: Any, a: Any) -> Any:
    return sp.xlogy(a - 1, y) - y - sp.gammaln(a)


__all__ = [
    "LOG_2",
    "LOG_2PI",
    "LOG_PI",
    "OF_DRAWS",
    "ROOT_2",
    "ROOT_2PI",
    "beta_mass",
    "log1p_over",
    "log_beta_density",
    "log_difference",
    "log_gamma_density",
    "log_i0e",
    "log_normal",
    "log_normal_mass",
    "log_sum",
    "unknown",
]
