"""Least squares: what holds at a fit, and what its result says of the parameters' errors.

Knows SciPy's arguments, losses and weights. Must not know transforms of calls.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad._core.values import holds_traced, raw_value
from tapegrad._errors import NotDifferentiableError
from tapegrad._transforms.jacobians import jacfwd
from tapegrad.scipy.optimize._conditions import (
    Arguments,
    Minimum,
    as_array,
    function_of,
    like,
    limits_of,
    size_of,
)

# SciPy's losses rho of squares z.
_LOSSES: dict[str, Function] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (np.sqrt(1 + z) - 1),
    "huber": lambda z: np.where(z <= 1, z, 2 * np.sqrt(np.where(z <= 1, 1.0, z)) - 1),
    "cauchy": np.log1p,
    "arctan": np.arctan,
}


class Squares(Minimum):
    """The least sum of squares of residuals, or of a loss of them."""

    def __init__(
        self,
        function: Function,
        residuals: Function,
        size: float,
        limits: Function | None = None,
        loss: Any = "linear",
        scale: Any = 1.0,
    ) -> None:
        rho = _LOSSES.get(loss) if isinstance(loss, str) else lambda z: loss(z)[0]
        self.linear = loss == "linear"
        assert rho is not None
        self.residuals = lambda x: np.reshape(residuals(x), (-1,))

        def cost(x: Value) -> Any:
            return 0.5 * scale**2 * np.sum(rho((self.residuals(x) / scale) ** 2))

        def half(x: Value) -> Any:
            return 0.5 * np.sum(self.residuals(x) ** 2)

        super().__init__(function, half if self.linear else cost, size, limits)

    def covariance(self, x: Any) -> Any:
        """The inverse of the squared Jacobian."""
        slopes = jacfwd(self.residuals)(x)
        return np.linalg.inv(slopes.T @ slopes)

    def outputs(self, x: Any, found: Any) -> dict[Any, Any]:
        made = super().outputs(x, found)
        made |= {"fun": self.residuals(x), "fvec": self.residuals(x), "cost": made["fun"]}
        made.pop("jac", None)
        if self.linear and isinstance(found, dict) and np.ndim(found.get("jac")) == 2:
            made["jac"] = jacfwd(self.residuals)(x)
        return made


def _box(bounds: Any) -> Function | None:
    """Bounds in the form (lower, upper) as arrays like x, or None for none."""
    if not hasattr(bounds, "lb"):
        plain = raw_value(bounds[0]), raw_value(bounds[1])
        free = not holds_traced(bounds) and np.all(np.isneginf(plain[0]) & np.isposinf(plain[1]))
        return None if free else lambda x: like(bounds, x)
    return lambda x: limits_of(bounds, x)


def least_squares(given: Arguments) -> Squares:
    """What holds at the result of least_squares, and of leastsq."""
    function, of = function_of(given)
    if "bounds" not in given:
        return _Leastsq(function, of, size_of(given))
    return Squares(
        function, of, size_of(given), _box(given["bounds"]), given["loss"], given["f_scale"]
    )


class _Leastsq(Squares):
    """leastsq, whose results are a tuple with the inverse of the squared Jacobian."""

    def outputs(self, x: Any, found: Any) -> dict[Any, Any]:
        made = super().outputs(x, found)
        if len(found) == 5 and found[1] is not None:
            made[1] = self.covariance(x)
        return made


class _Fit(Squares):
    """curve_fit: popt, and pcov, in which residuals count where sigma is not absolute."""

    absolute = False

    def outputs(self, x: Any, found: Any) -> dict[Any, Any]:
        made = super().outputs(x, found)
        if self.linear and found[1] is not None and np.all(np.isfinite(raw_value(found[1]))):
            residuals = self.residuals(x)
            spread = 1.0
            if not self.absolute:
                spread = np.sum(residuals**2) / (np.size(residuals) - np.size(x))
            made[1] = self.covariance(x) * spread
        return made


def curve_fit(given: Arguments) -> Squares:
    """What holds at the result of curve_fit."""
    if given["nan_policy"] == "omit":
        raise NotDifferentiableError(
            "scipy.optimize.curve_fit: with nan_policy='omit' there is no derivative. Leave the "
            "points with NaN away before the call."
        )
    f, kwargs = given["f"], given["kwargs"]
    x, y = (as_array(part) if isinstance(part, list | tuple) else part for part in (given["xdata"], given["ydata"]))
    sigma = None if given["sigma"] is None else as_array(given["sigma"])
    lower = None
    if np.ndim(sigma) == 2 and np.size(sigma) > 1:
        lower = np.linalg.cholesky(sigma)

    def residuals(p: Value) -> Any:
        left = as_array(f(x, *p)) - y
        if sigma is None:
            return left
        return left / sigma if lower is None else np.linalg.solve(lower, left)

    made = _Fit(
        f,
        residuals,
        size_of(given),
        _box(given["bounds"]),
        kwargs.get("loss", "linear"),
        kwargs.get("f_scale", 1.0),
    )
    made.absolute = given["absolute_sigma"]
    return made


class _Linear(Squares):
    """nnls and lsq_linear: A x is as near to b as the bounds allow."""

    def outputs(self, x: Any, found: Any) -> dict[Any, Any]:
        if isinstance(found, tuple):
            return {1: np.sqrt(np.sum(self.residuals(x) ** 2))}
        return super().outputs(x, found)


def linear(given: Arguments) -> Squares:
    """What holds at the result of nnls, whose bounds are 0 and infinity, and of lsq_linear."""
    A, b = given["A"], as_array(given["b"])
    A = A if hasattr(A, "shape") else as_array(A)
    bounds = given.get("bounds", (0.0, np.inf))

    def linear(x: Value) -> Any:
        return A @ x - b

    return _Linear(linear, linear, size_of(given), _box(bounds))


__all__ = ["curve_fit", "least_squares", "linear"]
