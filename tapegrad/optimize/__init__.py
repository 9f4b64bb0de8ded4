"""Minimisers, fits and root finders over pytrees, with exact derivatives.

SciPy's methods get exact gradients, Hessians and Jacobians (extra `tapegrad[scipy]`), and their
results can be differentiated.

>>> from tapegrad import optimize
>>> import numpy as np
>>> found = optimize.minimize(lambda p: np.sum((p["w"] - 3) ** 2), {"w": np.zeros(2)})
>>> bool(np.allclose(found.x["w"], 3))
True

First-order methods are pure functions, `init` and `update`, and `run` is the loop around them.

>>> done = optimize.run(lambda w: np.sum((w - 3) ** 2), np.zeros(2), optimize.sgd(0.1), steps=100)
>>> bool(np.allclose(done.params, 3))
True
"""

from __future__ import annotations

from typing import Any

from tapegrad.optimize import schedules
from tapegrad.optimize._equations import root, root_scalar
from tapegrad.optimize._fits import curve_fit, least_squares
from tapegrad.optimize._lbfgs import lbfgs
from tapegrad.optimize._loop import Run, run
from tapegrad.optimize._minimize import minimize
from tapegrad.optimize._result import CurveFit, Result
from tapegrad.optimize._updates import (
    Method,
    accumulate,
    adagrad,
    adam,
    adamw,
    add_decayed_weights,
    apply_updates,
    chain,
    clip,
    clip_by_norm,
    lion,
    momentum,
    rmsprop,
    scale,
    scale_by_adam,
    scale_by_rate,
    scale_by_rms,
    scale_by_sign,
    scale_by_sum_of_squares,
    sgd,
)

# SciPy's own, which need no derivative.
_SCIPYS = ("Bounds", "LinearConstraint", "NonlinearConstraint", "minimize_scalar")

__all__ = [
    "Bounds",
    "CurveFit",
    "LinearConstraint",
    "Method",
    "NonlinearConstraint",
    "Result",
    "Run",
    "accumulate",
    "adagrad",
    "adam",
    "adamw",
    "add_decayed_weights",
    "apply_updates",
    "chain",
    "clip",
    "clip_by_norm",
    "curve_fit",
    "lbfgs",
    "least_squares",
    "lion",
    "minimize",
    "minimize_scalar",
    "momentum",
    "rmsprop",
    "root",
    "root_scalar",
    "run",
    "scale",
    "scale_by_adam",
    "scale_by_rate",
    "scale_by_rms",
    "scale_by_sign",
    "scale_by_sum_of_squares",
    "schedules",
    "sgd",
]


def __getattr__(name: str) -> Any:
    if name in _SCIPYS:
        from tapegrad.implicit._systems import scipy_optimize

        return getattr(scipy_optimize(f"optimize.{name}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SCIPYS})
