"""A solution that is known, as a function of all that a call depends on.

Knows the implicit function theorem (`tapegrad.implicit`), and when to trust it at a point that is
as near to a solution as SciPy's tolerances say. Must not know SciPy's arguments or results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.values import in_trace, without_traces
from tapegrad._errors import ChangedConstantError, NotDifferentiableError
from tapegrad.implicit._systems import ConvergenceError, LinearSolver, closes_over
from tapegrad.implicit._theorem import Problem
from tapegrad.scipy.optimize._conditions import Conditions

# How far a solution may be, beside its own size or that of what it was searched in: as loose as
# the tolerances of derivative-free methods; tight where SciPy says that it has failed.
_NEAR, _TIGHT = 1e-3, 1e-5


class _Known(Problem):
    """Equations whose solution was found: it is checked when a derivative is asked for."""

    def __init__(self, call: Any, name: str, conditions: Conditions, like: Any) -> None:
        hoisted = call.conditions
        super().__init__(
            name,
            lambda z, _success, _value, values: hoisted(values).equations(z),
            lambda z, given: hoisted(given[2]).settled(z),
            LinearSolver(name, symmetric=conditions.symmetric),
            weak=lambda z, _success, _value, values: hoisted(values).weakness_at(z),
            like=like,
        )
        self.run, self.hoisted = call, hoisted
        self._sound: set[bytes] = set()
        self.asks = getattr(conditions, "constrained", False)  # whether multipliers are found

    def __eq__(self, other: object) -> bool:
        """Whether another solves the same: so a program knows a call that is made again."""
        if not isinstance(other, _Known):
            return NotImplemented
        same = self is other or self.run == other.run and self._constants() == other._constants()
        return same and self.linear_solver.symmetric == other.linear_solver.symmetric

    def __hash__(self) -> int:
        return hash(self.call)

    def _constants(self) -> Any:
        """The equations without their arrays."""
        places = set(self.places)
        rest = [repr(x) for i, x in enumerate(self.leaves) if i not in places]
        return self.call, self.structure, self.places, rest

    def _check(self, x: Any, x0: Any, arrays: Sequence[Any]) -> None:
        if self.asks:
            self.run.look()

    def apply_inverse(self, transposed: bool, b: Any, x: Any, arrays: Sequence[Any]) -> Any:
        """The plain y with (dF/dx) y = b, where x is near to a solution."""
        self.run.look()
        key = b"|".join(np.asarray(part).tobytes() for part in (x, *arrays))
        if key not in self._sound:
            self._require(x, arrays)
            self._sound = {key}
        return super().apply_inverse(transposed, b, x, arrays)

    def _require(self, x: Any, arrays: Sequence[Any]) -> None:
        """Raise ConvergenceError where a step of Newton's method would lead away from x."""
        success, value, values = self.trees(arrays)[1]
        assert self.unknowns is not None
        conditions = self.hoisted(values)
        found = conditions.point(self.unknowns.tree(x))
        again = conditions.of(found)
        if not in_trace(again) and not np.allclose(again, value, equal_nan=True):
            raise ChangedConstantError(
                f"{self.call}: the function has another value at the solution than when SciPy was "
                "called, so an object or array that it reads has changed since. Pass what changes "
                "in args, or leave it as it is until the transform has returned."
            )
        left = self.equations(x, *arrays)
        if in_trace(left):
            raise closes_over(self.call, "a function of the equations")
        step = _inf(left)
        if np.any(left):
            try:
                step = super().apply_inverse(False, left, x, arrays)
            except NotDifferentiableError as error:
                raise NotDifferentiableError(f"{error} {self._words()}") from None
        size = max(float(np.max(np.abs(found), initial=0.0)), conditions.size or 1.0)
        away = conditions.point(self.unknowns.tree(step))
        move = float(np.max(np.abs(away), initial=0.0)) if np.any(left) else 0.0
        near = _NEAR if conditions.lenient or np.all(success) else _TIGHT
        if not move <= near * size:
            raise ConvergenceError(
                f"{self.call}: SciPy's solver did not arrive at a solution that has a derivative: "
                f"Newton's method would move it by {move:.2g}. It may have stopped early, or at a "
                f"jump or kink. {self._words()}"
            )

    def _words(self) -> str:
        words = self.run.message()
        return f"SciPy says: {words}" if words else ""


def _inf(like: Any) -> Any:
    return np.full_like(like, np.inf)


def known(name: str, call: Any, conditions: Conditions, x: Any, success: Any) -> Any:
    """x as a differentiable function of the values that a call depends on."""
    z = conditions.unknowns(x)
    problem = _Known(call, name, conditions, z)
    value = without_traces(conditions.of(x))
    return conditions.point(problem.solve(z, (success, value, call.hoisted.values)))


__all__ = ["known"]
