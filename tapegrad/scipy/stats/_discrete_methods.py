"""The methods of SciPy's discrete distributions as primitives: those of real parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad import constant, primitive, stop_gradient
from tapegrad._core.values import Traced, any_true, innermost
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy._formula import by_formula
from tapegrad.scipy.stats._laws import plain
from tapegrad.scipy.stats._methods import AREAS, INSIDE, MOMENTS, OUTSIDE, Methods, named, shared
from tapegrad.scipy.stats._quadrature import column
from tapegrad.scipy.stats._shared import unknown


class DiscreteMethods(Methods):
    """Of a discrete distribution, of arrays `(k, *shapes, loc)`."""

    is_continuous = False

    def make(self, method: str) -> Any:
        if method in ("pmf", "logpmf") or method in AREAS:
            if method in AREAS and not self.formulas.known:
                return self.refused(method, "tapegrad knows no formula for its slope by a shape")
            return self._of_points(method)
        if method in ("ppf", "isf", "median"):
            made = named(getattr(self.theirs, method), self.name, method)
            constant(made)
            return made
        if method == "rvs":
            return self.refused(
                "rvs",
                "draws are whole numbers, which jump where a parameter moves: differentiate an "
                "expectation by the log-likelihood of the draws, rvs(...) of plain parameters",
            )
        if method in MOMENTS or method in ("_skewness", "_kurtosis"):
            if self.name in _HEAVY and (method not in MOMENTS or method == "entropy"):
                name = "stats" if method.startswith("_") else method
                return self.refused(name, "a sum that converges slowly")
            return self._of_parameters(method)
        return None

    def _constants(self, shapes: tuple[Any, ...], method: str) -> tuple[Any, ...]:
        """The shapes; a whole number among them may not be traced."""
        for name, shape in zip(self.shapes, shapes, strict=True):
            if name in self.law.fixed and isinstance(innermost((shape,)), Traced):
                raise NotDifferentiableError(
                    f"scipy.stats.{self.name}.{method}: not differentiable by {name!r}, which is "
                    f"a whole number. Pass tapegrad.stop_gradient({name})."
                )
        return shapes

    def _of_points(self, method: str) -> primitive:
        of_standard = getattr(
            self.formulas, {"pmf": "pdf", "logpmf": "logpdf"}.get(method, method)
        )
        is_area = method in AREAS

        def formula(k: Any, *parameters: Any) -> Any:
            *given, loc = parameters
            shapes = self._constants(tuple(given), method)
            whole = plain_difference(k, loc)
            if is_area:  # from the last one on, all is below
                whole = np.floor(whole)
                whole = np.where(self.is_last(whole, *map(stop_gradient, shapes)), np.inf, whole)
            return self.inside(lambda y, *rest: of_standard(y, *rest[:-1]), whole, shapes)

        made = named(getattr(self.theirs, method), self.name, method)
        by_formula(
            made, formula, arrays=len(self.shapes) + 2, signature=self.signature("k", "loc=0")
        )
        return made

    def expected(self, function: Callable[..., Any], *shapes: Any) -> Any:
        """The sum of `function(k, log_probability)` by the probabilities."""
        stopped = tuple(np.asarray(plain(x)) for x in shapes)
        first, last = self._support(stopped)
        first = np.where(np.isfinite(first), first, self.theirs.ppf(_RARE, *stopped))
        last = np.where(np.isfinite(last), last, self.theirs.isf(_RARE, *stopped))
        low, high = float(np.nanmin(first)), float(np.nanmax(last))
        if np.isinf(self.theirs.b):  # tails fall like powers of a number: twice as far is enough
            low, high = low - (high - low) * np.isinf(self.theirs.a) - 20, 2 * high - low + 20
        k = np.arange(low, high + 1)
        shapes = tuple(column(*shapes))
        place = self.place(k, 1.0, *map(stop_gradient, shapes))
        k = np.where(place == INSIDE, k, np.nanmax(first))
        logs = self.formulas.logpdf(k, *shapes)
        return np.sum(np.where(place == OUTSIDE, 0.0, np.exp(logs) * function(k, logs)), axis=-1)

    def _of_parameters(self, method: str) -> primitive:
        letter = {"_skewness": "s", "_kurtosis": "k"}.get(method)

        def value(*parameters: Any) -> Any:
            return np.asarray(self.theirs.stats(*parameters, moments=letter))

        def formula(out: Any, *parameters: Any) -> Any:
            *given, loc = parameters
            shapes = self._constants(tuple(given), method)
            if not any_true(np.isfinite(out)):
                return unknown(sum(parameters))
            if method == "mean":
                return self.checked(out, loc + self.central(1, *shapes), parameters)
            if method == "entropy":
                entropy = -self.expected(lambda _k, log: log, *shapes) + 0 * loc
                return self.checked(out, entropy, parameters)
            variance = self.central(2, *shapes) + 0 * loc
            if method == "var":
                return self.checked(out, variance, parameters, 0.0)
            if method == "std":
                return self.checked(out, np.sqrt(variance), parameters, 0.0)
            order = 3 if letter == "s" else 4
            ratio = self.central(order, *shapes) / variance ** (order / 2)
            return self.checked(out, ratio - (3 if letter == "k" else 0), parameters)

        theirs = value if letter else getattr(self.theirs, method)
        if letter or method in ("mean", "var"):
            theirs = shared(self.theirs, letter or method[0], theirs)
        made = named(theirs, self.name, "stats" if letter else method)
        by_formula(
            made,
            formula,
            arrays=len(self.shapes) + 1,
            reads_out=True,
            signature=self.signature("", "loc=0"),
        )
        return made


_RARE = 1e-13
_HEAVY = ("betanbinom", "yulesimon", "zipf")  # probabilities that fall like powers


def plain_difference(k: Any, loc: Any) -> Any:
    """k - loc as constants: whole numbers have no derivative."""
    return np.subtract(stop_gradient(k), stop_gradient(loc))


__all__ = ["DiscreteMethods"]
