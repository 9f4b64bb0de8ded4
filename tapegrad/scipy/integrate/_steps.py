"""Derivatives through the steps of an explicit Runge-Kutta method.

Knows the tableaux of SciPy's RK23, RK45 and DOP853, and repeats the steps that the solver
accepted in functions that have rules. The lengths of the steps are constants, but for the first
and the last one where the ends of the interval move.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.integrate

from tapegrad._core.types import Function, Value
from tapegrad._core.values import in_trace
from tapegrad._errors import InputError, message

EXPLICIT: dict[str, Any] = {
    name: getattr(scipy.integrate, name) for name in ("RK23", "RK45", "DOP853")
}


def by_steps(run: Any, found: Any) -> None:
    """Replace the states of a result of solve_ivp by the same ones with derivatives.

    `run` knows the call: its method, its right-hand side, start, end and first state.
    """
    method = run.settings.method
    method = EXPLICIT.get(method, method) if isinstance(method, str) else method
    if method not in EXPLICIT.values():
        raise InputError(
            message(
                "scipy.integrate.solve_ivp",
                f'a method in {sorted(EXPLICIT)} with gradient="steps"',
                f"method={run.settings.method!r}",
                'Take gradient="adjoint" or gradient="forward"',
            )
        )
    if found.t_events is not None or run.rest["dense_output"]:
        raise InputError(
            message(
                "scipy.integrate.solve_ivp",
                'neither events nor dense_output with gradient="steps"',
                "events" if found.t_events is not None else "dense_output=True",
                'Take gradient="adjoint" or gradient="forward"',
            )
        )
    times, _ = run.times(found)
    points = found.sol.ts
    steps = _Steps(method, run.bind(run.parameters), _moving_ends(points, run))
    asked = times if run.call.t_eval is not None else None
    found.y = steps.states(run.state, asked, found, points).T
    found.t = times


def _moving_ends(points: Any, run: Any) -> list[Any]:
    """The times of the steps, the first and the last of them as the caller gave them."""
    moved = list(points)
    if in_trace(run.start):
        moved[0] = run.start
    if in_trace(run.end):
        moved[-1] = run.end
    return moved


class _Steps:
    """The steps of one method, for one right-hand side."""

    def __init__(self, method: Any, f: Function, times: Sequence[Any]) -> None:
        self.method, self.f, self.times = method, f, times

    def states(self, state: Value, asked: Any, found: Any, points: Any) -> Any:
        """The states at the times asked for, or at all steps, one a row."""
        forward = points[-1] >= points[0]
        rows = [state] if asked is None else []
        plain, done = found.t, 0
        rate = self.f(self.times[0], state)
        for k in range(len(points) - 1):
            t, h = self.times[k], self.times[k + 1] - self.times[k]
            stages, after = self._step(t, h, state, rate)
            if asked is None:
                rows.append(after)
            else:
                until = points[k + 1]
                end = int(np.count_nonzero(plain <= until if forward else plain >= until))
                if end > done:
                    piece = self._interpolant(t, h, state, after, stages)
                    rows += [piece((asked[i] - t) / h) for i in range(done, end)]
                done = end
            state, rate = after, stages[-1]
        if not rows:
            return np.zeros((0, *state.shape), state.dtype)
        return np.stack(rows)

    def _step(self, t: Value, h: Value, state: Value, rate: Value) -> tuple[list[Any], Any]:
        method = self.method
        count = method.n_stages
        stages = [rate]
        for s in range(1, count):
            inside = state + _sum(method.A[s][:s], stages) * h
            stages.append(self.f(t + method.C[s] * h, inside))
        after = state + h * _sum(method.B, stages)
        stages.append(self.f(t + h, after))
        return stages, after

    def _interpolant(
        self, t: Value, h: Value, before: Value, after: Value, stages: list[Any]
    ) -> Function:
        method = self.method
        if method is not EXPLICIT["DOP853"]:
            columns = [_sum(column, stages) for column in method.P.T]

            def polynomial(x: Value) -> Value:
                total = columns[-1] * x
                for column in columns[-2::-1]:
                    total = (total + column) * x
                return before + h * total

            return polynomial
        return self._dop853(t, h, before, after, list(stages))

    def _dop853(
        self, t: Value, h: Value, before: Value, after: Value, stages: list[Any]
    ) -> Function:
        """Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I, section II.6."""
        method = self.method
        for a, c in zip(method.A_EXTRA, method.C_EXTRA, strict=True):
            inside = before + _sum(a[: len(stages)], stages) * h
            stages.append(self.f(t + c * h, inside))
        moved = after - before
        first, last = stages[0], stages[method.n_stages]
        parts = [
            moved,
            h * first - moved,
            2 * moved - h * (last + first),
            *(h * _sum(row, stages) for row in method.D),
        ]

        def polynomial(x: Value) -> Value:
            total = np.zeros_like(moved)
            for i, part in enumerate(reversed(parts)):
                total = (total + part) * (x if i % 2 == 0 else 1 - x)
            return before + total

        return polynomial


def _sum(weights: Any, stages: Sequence[Value]) -> Value:
    terms = [w * stage for w, stage in zip(weights, stages, strict=True) if w != 0]
    if not terms:
        return np.zeros_like(stages[0])
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


__all__ = ["EXPLICIT", "by_steps"]
