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
        rho: Function = _LOSSES[loss] if isinstance(loss, str) else lambda z: loss(z)[0]
        self.linear = loss == "linear"
        self.residuals: Function = lambda x: np.reshape(residuals(x), (-1,))

        self.cost: Function = lambda left: 0.5 * scale**2 * np.sum(rho((left / scale) ** 2))
        if self.linear:
            self.cost = lambda left: 0.5 * np.sum(left**2)
        super().__init__(function, lambda x: self.cost(self.residuals(x)), size, limits)

    def outputs(self, x: Any, found: Any) -> dict[Any, Any]:
        # First, so that what the program's objects keep of a call is that of the second.
        slopes = jacfwd(self.residuals)(x) if self.linear and _has_slopes(found) else None
        left = self.residuals(x)
        made = {"fun": left, "fvec": left, "cost": self.cost(left)}
        if self.symmetric and isinstance(found, dict) and "grad" in found:
            made["grad"] = found["grad"]  # which is zero, and stays it
        if slopes is not None:
            made |= self.of_slopes(slopes, left)
        return made

    def of_slopes(self, slopes: Any, left: Any) -> dict[Any, Any]:
        """The parts of the result that come of the Jacobian and the residuals."""
        return {"jac": slopes}


def _has_slopes(found: Any) -> bool:
    """Whether a result tells of the Jacobian: as an array, or by a covariance."""
    part = found.get("jac") if isinstance(found, dict) else found[1]
    part = raw_value(part)
    return isinstance(part, np.ndarray) and bool(np.all(np.isfinite(part)))


def _covariance(slopes: Any) -> dict[Any, Any]:
    """The inverse of the squared Jacobian, which is the second part of a result."""
    try:
        return {1: np.linalg.inv(slopes.T @ slopes)}
    except np.linalg.LinAlgError:  # SciPy leaves singular directions away
        return {}


def _box(bounds: Any) -> Function | None:
    """Bounds in the form (lower, upper) as arrays like x, or None for none."""
    if not hasattr(bounds, "lb"):
        plain = raw_value(bounds[0]), raw_value(bounds[1])
        free = not holds_traced(bounds) and np.all(np.isneginf(plain[0]) & np.isposinf(plain[1]))
        return None if free else lambda x: like(bounds, x)
    return lambda x: limits_of(bounds, x)


def least_squares(given: Arguments) -> Squares:
    """The conditions at the result of least_squares, and of leastsq."""
    function, of = function_of(given)
    if "bounds" not in given:
        return _Leastsq(function, of, size_of(given))
    return Squares(
        function, of, size_of(given), _box(given["bounds"]), given["loss"], given["f_scale"]
    )


class _Leastsq(Squares):
    """leastsq, whose results are a tuple with the inverse of the squared Jacobian."""

    def of_slopes(self, slopes: Any, left: Any) -> dict[Any, Any]:
        return _covariance(slopes)


class _Fit(Squares):
    """curve_fit: popt, and pcov, in which residuals count where sigma is not absolute."""

    absolute = False

    def of_slopes(self, slopes: Any, left: Any) -> dict[Any, Any]:
        spread = 1.0
        if not self.absolute:
            spread = np.sum(left**2) / (np.size(left) - slopes.shape[1])
        return {place: part * spread for place, part in _covariance(slopes).items()}


def curve_fit(given: Arguments) -> Squares:
    """The conditions at the result of curve_fit."""
    if given["nan_policy"] == "omit":
        raise NotDifferentiableError(
            "scipy.optimize.curve_fit: with nan_policy='omit' there is no derivative. Leave the "
            "points with NaN away before the call."
        )
    f, kwargs = given["f"], given["kwargs"]
    x, y, sigma = (
        as_array(part) if isinstance(part, list | tuple) else part
        for part in (given["xdata"], given["ydata"], given["sigma"])
    )
    lower: Any = None
    if sigma is not None and np.ndim(sigma) == 2 and np.size(sigma) > 1:
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
        if isinstance(found, dict):
            return super().outputs(x, found)
        return {1: np.sqrt(np.sum(self.residuals(x) ** 2))}


def linear(given: Arguments) -> Squares:
    """The conditions at the result of nnls, whose bounds are 0 and infinity, and of lsq_linear."""
    A, b = given["A"], as_array(given["b"])
    A = A if hasattr(A, "shape") else as_array(A)
    bounds = given.get("bounds", (0.0, np.inf))

    def linear(x: Value) -> Any:
        return A @ x - b

    return _Linear(linear, linear, size_of(given), _box(bounds))


__all__ = ["curve_fit", "least_squares", "linear"]
