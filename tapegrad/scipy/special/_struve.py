"""The Struve functions, by their argument (DLMF 11.4.24, 11.4.26) and by their order."""

from __future__ import annotations

import numpy as np

from tapegrad._core.forms import elementwise
from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad.scipy import _special as sp
from tapegrad.scipy.special._parameters import along

_ROOT_PI = float(np.sqrt(np.pi))


def _power(v: Value, x: Value) -> Value:
    """Term added to the neighbouring orders: (x/2)**v / (sqrt(pi) gamma(v + 3/2))."""
    return (x / 2) ** v * sp.rgamma(v + 1.5) / _ROOT_PI


def _struve_over(x: Value) -> Value:
    """The function of order 0 over its argument, near 0 by the series (DLMF 11.2.1)."""
    near = np.absolute(untraced(x)) < 1e-2
    small = np.where(near, x, 0.0) ** 2
    series = (1 - small / 9 * (1 - small / 25 * (1 - small / 49))) * (2 / np.pi)
    return np.where(near, series, sp.struve(0, x) / np.where(near, 1.0, x))


elementwise(
    sp.struve,
    along(sp.struve, 0),
    lambda _out, v, x: (sp.struve(v - 1, x) - sp.struve(v + 1, x) + _power(v, x)) / 2,
    strong=True,
)
elementwise(
    sp.modstruve,
    along(sp.modstruve, 0),
    lambda _out, v, x: (sp.modstruve(v - 1, x) + sp.modstruve(v + 1, x) + _power(v, x)) / 2,
    strong=True,
)
elementwise(sp.itstruve0, lambda _out, x: sp.struve(0, x), strong=True)
elementwise(sp.it2struve0, lambda _out, x: -_struve_over(x), strong=True)
elementwise(sp.itmodstruve0, lambda _out, x: sp.modstruve(0, x), strong=True)
