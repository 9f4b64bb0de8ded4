"""Entropies, products with logarithms, and the losses of Huber.

Must not know the other families of special functions.
"""

from __future__ import annotations

import numpy as np

from tapegrad._core.forms import elementwise
from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad.scipy import _special as sp


def _quotient(x: Value, y: Value) -> Value:
    """x / y, and 0 for 0 / 0."""
    return x / np.where((untraced(x) == 0) & (untraced(y) == 0), 1.0, y)


def _log_quotient(x: Value, y: Value) -> Value:
    """log(x / y), also where the quotient overflows."""
    near = np.absolute(untraced(x) - untraced(y)) < 0.5 * np.absolute(untraced(y))
    safe = np.where(near, y, 1.0)
    ratio = np.where(near, x, 1.0)
    return np.where(near, np.log1p((ratio - safe) / safe), np.log(x) - np.log(y))


elementwise(
    sp.xlogy,
    lambda _out, _x, y: np.log(y),
    lambda _out, x, y: _quotient(x, y),
    strong=True,
    along=lambda x, y: x * np.log(y),
)
elementwise(
    sp.xlog1py,
    lambda _out, _x, y: np.log1p(y),
    lambda _out, x, y: _quotient(x, 1 + y),
    strong=True,
)
elementwise(sp.entr, lambda _out, x: -np.log(x) - 1, strong=True)
elementwise(
    sp.rel_entr,
    lambda _out, x, y: _log_quotient(x, y) + 1,
    lambda _out, x, y: -_quotient(x, y),
    strong=True,
)
elementwise(
    sp.kl_div, lambda _out, x, y: _log_quotient(x, y), lambda _out, x, y: _rest(x, y), strong=True
)


def _rest(x: Value, y: Value) -> Value:
    """1 - x / y, and 1 where both are 0."""
    nothing = (untraced(x) == 0) & (untraced(y) == 0)
    return np.where(nothing, 1.0, (y - x) / np.where(nothing, 1.0, y))


def _inside(delta: Value, r: Value) -> Value:
    return np.absolute(untraced(r)) <= untraced(delta)


def _width(delta: Value) -> Value:
    """delta, and NaN below 0, where the loss is infinite."""
    return np.where(untraced(delta) < 0, np.nan, delta)


elementwise(
    sp.huber,
    lambda _out, delta, r: np.where(_inside(delta, r), 0.0, np.absolute(r) - _width(delta)),
    lambda _out, delta, r: np.where(_inside(delta, r), r, _width(delta) * np.sign(r)),
    strong=True,
)


def _pseudo_huber_by_delta(_out: Value, delta: Value, r: Value) -> Value:
    """delta u**4 / (s (s + 1)**2), where u = r / delta and s**2 = 1 + u**2; else it cancels.

    Written by powers of u / s, which is at most 1.
    """
    delta = _width(delta)
    root = np.hypot(delta, r)  # delta s
    share = r / root
    rest = share * (r / (root + delta))
    return root * rest * rest


def _pseudo_huber_by_r(_out: Value, delta: Value, r: Value) -> Value:
    return r * (_width(delta) / np.hypot(delta, r))


elementwise(sp.pseudo_huber, _pseudo_huber_by_delta, _pseudo_huber_by_r, strong=True)
