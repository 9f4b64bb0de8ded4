"""Jacobians by differences for `solve_bvp`, whose steps are constants.

SciPy chooses a step by the magnitude of what it changes, which has no slope at 0. An equation has
the same solution by whatever steps, so no derivative goes through them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad import stop_gradient
from tapegrad._core.types import Function, Value
from tapegrad.scipy._copies import in_place_of

_ROOT_OF_EPS = float(np.finfo(float).eps) ** 0.5


def _differences(f: Function, args: Sequence[Value], place: int, f0: Value) -> list[Value]:
    """The derivatives of f(*args) by each component of one argument, as SciPy computes them."""
    at = args[place]
    steps = stop_gradient(_ROOT_OF_EPS * (1 + np.abs(at)))
    found = []
    for i in range(at.shape[0]):
        chosen = np.reshape(np.arange(at.shape[0]) == i, (-1,) + (1,) * (at.ndim - 1))
        moved = np.where(chosen, at + steps, at)
        step = stop_gradient(moved[i] - at[i])
        found.append((f(*args[:place], moved, *args[place + 1 :]) - f0) / step)
    return found


@in_place_of("scipy.integrate._bvp")
def estimate_fun_jac(fun: Function, x: Value, y: Value, p: Value, f0: Value = None) -> Any:
    f0 = fun(x, y, p) if f0 is None else f0
    by_y = np.stack(_differences(fun, (x, y, p), 1, f0), axis=1)
    by_p = _differences(fun, (x, y, p), 2, f0)
    return by_y, np.stack(by_p, axis=1) if by_p else None


@in_place_of("scipy.integrate._bvp")
def estimate_bc_jac(bc: Function, ya: Value, yb: Value, p: Value, bc0: Value = None) -> Any:
    args = (ya, yb, p)
    bc0 = bc(*args) if bc0 is None else bc0
    found = [_differences(bc, args, place, bc0) for place in range(3)]
    return tuple([np.stack(rows, axis=1) if rows else None for rows in found])
