"""The states of an initial value problem at given times, as a function of all that they depend on.

Knows derivatives of solutions: sensitivities solved along with the states, adjoint equations
solved backward, and how the derivatives of one are made of the other's. SciPy's solvers
are run by `_solvers`. `flow(times, start, state, *parameters)` has rules to any order:

- its tangent is the second half of the flow of the problem for (state, tangent of the state);
- its cotangent, `pulled`, is the solution of the adjoint equation, a function S'(x)^T g. As second
  derivatives are symmetric, the tangent of that along v is the cotangent of x -> (S(x), S'(x) v),
  which is again a flow. So no solver is ever differentiated through.

The adjoint equation: Pontryagin; in this form Chen et al., Neural ordinary differential equations
(NeurIPS 2018), appendix B; the second order by symmetry: Griewank and Walther, Evaluating
Derivatives (2008), chapter 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import general
from tapegrad._core.types import Cotangent, Function, Tangent, Value
from tapegrad._core.values import raw_value
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.primitives import primitive
from tapegrad._transforms.reverse import vjp
from tapegrad.scipy.integrate._solvers import sizes_of


class Problem:
    """An equation y' = f(t, y) whose right-hand side depends on parameters, and its solver.

    bind: of the parameters, the function `f(t, y)`, of a vector y
    solver: a `Solver`, which runs on plain numbers
    moving: the positions among the times that derivatives may ask for
    """

    def __init__(
        self, bind: Function, solver: Any, moving: Sequence[int] = (), *, starts: bool = True
    ) -> None:
        self.bind, self.solver = bind, solver
        self.moving, self.starts = list(moving), starts
        self._tangent: Problem | None = None

    def tangent(self) -> Problem:
        """The problem of (y, dy), whose parameters are these and their tangents."""
        if self._tangent is None:
            self._tangent = Problem(
                self._bind_with_tangents, self.solver.of_pairs(), self.moving, starts=self.starts
            )
        return self._tangent

    def _bind_with_tangents(self, parameters: Sequence[Value]) -> Function:
        count = len(parameters) // 2
        given, dots = tuple(parameters[:count]), tuple(parameters[count:])

        def pair(t: Value, z: Value) -> Value:
            size = z.shape[0] // 2
            y, y_dot = z[:size], z[size:]
            out, out_dot = jvp(lambda y, *p: self.bind(p)(t, y), (y, *given), (y_dot, *dots))
            return np.concatenate([out, out_dot])

        return pair


@primitive
def flow(*arrays: Value, problem: Problem) -> Value:
    """States (times, size) of a problem: arrays `times, start, state, *parameters`."""
    return problem.solver.states(problem, *arrays)


@primitive
def pulled(g: Cotangent, *arrays: Value, problem: Problem) -> Value:
    """The cotangents of the first state and of the parameters, from those of all states."""
    return problem.solver.pulled(problem, g, *arrays)


def _scale_of(arrays: Sequence[Value], dots: Sequence[Tangent]) -> float:
    """A number by which tangents are of the size of what they belong to.

    Solvers compare errors with the tolerances of the states. Tangents of a parameter like 3e7
    would otherwise be all below them.
    """
    largest = 0.0
    for x, dot in zip(arrays, dots, strict=True):
        if dot is not None:
            size, moved = raw_value(x), np.abs(raw_value(dot))
            if moved.ndim == np.ndim(size):  # no vmap maps over one of them alone
                ratios = moved / sizes_of(size)
            else:
                ratios = moved / (np.max(np.abs(size), initial=0.0) or 1.0)
            largest = max(largest, float(np.max(ratios, initial=0.0)))
    return 1 / largest if np.isfinite(largest) and largest > 0 else 1.0


def _flow_jvp(dots: Sequence[Tangent], out: Value, *arrays: Value, problem: Problem) -> Tangent:
    times, start, state, *parameters = arrays
    times_dot, start_dot, state_dot, *parameter_dots = dots
    terms = []
    if start_dot is not None:
        earlier = -problem.bind(parameters)(start, state) * start_dot
        state_dot = earlier if state_dot is None else state_dot + earlier
    moved = [state_dot, *parameter_dots]
    if any(dot is not None for dot in moved):
        scale = _scale_of([state, *parameters], moved)
        filled = [
            np.zeros_like(x) if dot is None else dot * scale
            for x, dot in zip([state, *parameters], moved, strict=True)
        ]
        pair = np.concatenate([state, filled[0]])
        both = flow(times, start, pair, *parameters, *filled[1:], problem=problem.tangent())
        terms.append(both[:, state.shape[0] :] / scale)
    if times_dot is not None and problem.moving:
        terms.append(_rates(problem, out, times, parameters) * times_dot[:, None])
    return sum(terms[1:], terms[0]) if terms else None


def _rates(problem: Problem, states: Value, times: Value, parameters: Sequence[Value]) -> Value:
    """The right-hand side at the times that move, zero at others."""
    f = problem.bind(parameters)
    moving = {at % len(times) for at in problem.moving}
    rest = np.zeros(states.shape[1], states.dtype)
    return np.stack([f(times[i], states[i]) if i in moving else rest for i in range(len(times))])


def _flow_vjp(g: Cotangent, out: Value, *arrays: Value, problem: Problem) -> Any:
    times, start, state, *parameters = arrays
    state_bar, *bars = pulled(g, *arrays, problem=problem)
    times_bar = start_bar = None
    if problem.moving:
        times_bar = np.sum(g * _rates(problem, out, times, parameters), axis=1)
    if problem.starts:
        start_bar = -np.sum(state_bar * problem.bind(parameters)(start, state))
    return times_bar, start_bar, state_bar, *bars


def _along(dots: Sequence[Tangent], arrays: Sequence[Value], problem: Problem) -> Any:
    """The flow at some arrays, and its tangent."""
    out = flow(*arrays, problem=problem)
    dot = _flow_jvp(dots, out, *arrays, problem=problem)
    return out, np.zeros_like(out) if dot is None else dot


def _pulled_jvp(
    dots: Sequence[Tangent], out: Value, g: Cotangent, *arrays: Value, problem: Problem
) -> Any:
    g_dot, *moved = dots
    if all(dot is None for dot in moved):
        return pulled(g_dot, *arrays, problem=problem)
    times, start, *rest = arrays
    _, pull = vjp(lambda *rest: _along(moved, (times, start, *rest), problem), *rest)
    return pull((np.zeros_like(g) if g_dot is None else g_dot, g))


def _pulled_vjp(
    bars: Sequence[Cotangent], out: Value, g: Cotangent, *arrays: Value, problem: Problem
) -> Any:
    moved = [None, None, *bars]
    g_bar, pull = vjp(lambda *arrays: _along(moved, arrays, problem)[1], *arrays)
    return g_bar, *pull(g)


general(flow, jvp=_flow_jvp, vjp=_flow_vjp, name="scipy.integrate.solve_ivp")
general(pulled, jvp=_pulled_jvp, vjp=_pulled_vjp, name="scipy.integrate.solve_ivp")


@primitive
def crossings(times: Value, *arrays: Value, problem: Problem, event: Function) -> Value:
    """Times at which an event of the solution happens, found already; they move with the arrays.

    event: `event(t, y, parameters)`. The implicit function theorem gives their derivatives.
    """
    return np.copy(times)


def _crossings_jvp(
    dots: Sequence[Tangent],
    out: Value,
    _times: Value,
    *arrays: Value,
    problem: Problem,
    event: Function,
) -> Tangent:
    _, *moved = dots
    filled = [
        np.zeros_like(x) if dot is None else dot for x, dot in zip(arrays, moved, strict=True)
    ]

    def at(times: Value, start: Value, state: Value, *parameters: Value) -> Value:
        states = flow(times, start, state, *parameters, problem=problem)
        return np.stack([event(t, y, parameters) for t, y in zip(times, states, strict=True)])

    still = tuple(map(np.zeros_like, arrays))
    by_time = jvp(at, (out, *arrays), (np.ones_like(out), *still))[1]
    by_arrays = jvp(at, (out, *arrays), (np.zeros_like(out), *filled))[1]
    return -by_arrays / by_time


def _crossings_vjp(
    g: Cotangent, out: Value, _times: Value, *arrays: Value, problem: Problem, event: Function
) -> Any:
    parameters = arrays[2:]
    f = problem.bind(parameters)

    def rate(t: Value, y: Value) -> Value:
        moved = np.ones_like(t), f(t, y)
        return jvp(lambda t, y: event(t, y, parameters) + 0.0 * t, (t, y), moved)[1]

    def at(*arrays: Value) -> Value:
        states = flow(out, *arrays, problem=problem)
        return np.stack([event(t, y, arrays[2:]) for t, y in zip(out, states, strict=True)])

    states = flow(out, *arrays, problem=problem)
    by_time = np.stack([rate(t, y) for t, y in zip(out, states, strict=True)])
    return None, *vjp(at, *arrays)[1](-g / by_time)


general(crossings, jvp=_crossings_jvp, vjp=_crossings_vjp, name="scipy.integrate.solve_ivp")


__all__ = ["Problem", "crossings", "flow", "pulled"]
