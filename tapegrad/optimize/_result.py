"""What a method found: the parameters as a tree, and what is made of them when it is asked for."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np

from tapegrad._errors import NotDifferentiableError
from tapegrad.optimize._parameters import Parameters

T = TypeVar("T")


@dataclass(repr=False)
class Result(Generic[T]):
    """What `minimize`, `least_squares`, `root` or `curve_fit` found.

    x: the parameters, a tree like x0. fun: the value there (of `root` and `least_squares` the
    residuals). grad: the gradient there, a tree; of `root` None. nit: iterations. nfev, njev,
    nhev: how often SciPy asked for values, gradients (or Jacobians) and Hessians. runs: how often
    the function was run in all: one gives a value and a gradient, or a Hessian. aux: what the
    function returned beside its value at x, with has_aux. raw: SciPy's own result. Pickled, it
    keeps the covariance and standard_errors that were asked for.
    """

    x: T
    fun: Any
    grad: Any
    success: bool
    message: str
    nit: int | None
    nfev: int
    njev: int
    nhev: int
    runs: int
    aux: Any = None
    raw: Any = None
    parameters: Parameters | None = field(default=None, metadata={"static": True})
    curvature: Callable[[], Any] | None = field(default=None, metadata={"static": True})

    @cached_property
    def covariance(self) -> Any:
        """The covariance matrix of the free parameters in one vector, as `tree.ravel` has them.

        Of `minimize` the inverse of the exact Hessian: the covariance of an estimate if fun is a
        negative logarithm of a likelihood. Of `least_squares` and `curve_fit` the inverse of J^T J
        times the variance of the residuals, 2 cost / (m - n), unless the fit's sigma is absolute.
        Parameters that stand at a bound are taken as known: their rows and columns are zero.
        Infinities, and SciPy's OptimizeWarning, where it cannot be had.
        """
        from scipy.optimize import OptimizeWarning

        self._can("covariance")
        assert self.curvature is not None
        matrix, scale, free = self.curvature()
        found = np.zeros_like(matrix)
        inner = np.ix_(free, free)
        try:
            found[inner] = np.linalg.inv(matrix[inner]) * scale
            good = np.linalg.cond(matrix[inner]) * np.finfo(float).eps < 1 if free.any() else True
        except np.linalg.LinAlgError:
            good = False
        if not (good and np.isfinite(found).all()):
            warnings.warn(
                "the covariance of the parameters could not be estimated: the Hessian is singular",
                OptimizeWarning,
                stacklevel=3,
            )
            found[inner] = np.inf
        return found

    @cached_property
    def standard_errors(self) -> Any:
        """The square roots of the covariance's diagonal, as a tree like x; 0 for constants."""
        self._can("standard_errors")
        assert self.parameters is not None
        with np.errstate(invalid="ignore"):
            return self.parameters.tree_of_numbers(np.sqrt(np.diag(self.covariance)))

    def _can(self, name: str) -> None:
        if self.curvature is None or self.parameters is None:
            raise NotDifferentiableError(
                f"optimize: no {name}: this result was pickled, without the function of which it "
                f"is made. Ask for {name} before, then it is pickled too."
            )

    def __getstate__(self) -> dict[str, Any]:
        # What was minimised is a function of the user's, which need not be picklable.
        return {**vars(self), "parameters": None, "curvature": None}

    def __repr__(self) -> str:
        shown = ["x", "fun", "grad", "success", "message", "nit", "runs"]
        lines = [f"  {name}: {_short(getattr(self, name))}" for name in shown]
        return "\n".join([f"{type(self).__name__}:", *lines])


class CurveFit(Result[Any]):
    """The result of `curve_fit`, which unpacks as SciPy's: `x, covariance = curve_fit(...)`."""

    def __iter__(self) -> Iterator[Any]:
        return iter((self.x, self.covariance))


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else text[:197] + "..."


__all__ = ["CurveFit", "Result"]
