"""`ode`: SciPy's class of solvers that are told to take each step, with derivatives of its states.

Knows SciPy's class. The derivatives are those of `_flow`, from one state to the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.integrate

from tapegrad._arrays.buffers import is_inside
from tapegrad._core.types import Function, Value
from tapegrad._core.values import in_trace, lift, raw_value, untraced
from tapegrad._errors import BatchingError, NotDifferentiableError
from tapegrad._transforms.closures import Hoisted
from tapegrad.scipy.integrate._flow import Problem, flow
from tapegrad.scipy.integrate._quadrature import as_float
from tapegrad.scipy.integrate._solvers import Settings, Solution, Solver

_METHODS = {"dopri5": "RK45", "dop853": "DOP853"}


class ode(scipy.integrate.ode):
    """SciPy's ode, whose states have derivatives.

    They are those by the first state, the times, the parameters and what f closes over, to the
    tolerances of the integrator. The states themselves are SciPy's.

    Parameters
    ----------
    f : callable
        `f(t, y, *f_params)`, which returns an array or a list of shape (size,).
    jac : callable, optional
        Its Jacobian by y, `jac(t, y, *jac_params)`.

    Raises
    ------
    NotDifferentiableError
        If an integration inside a transform fails.
    BatchingError
        Under vmap and compile: take solve_ivp.

    See Also
    --------
    solve_ivp : SciPy's newer interface.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> def left(rate):
    ...     solver = ode(lambda t, y: -rate * y).set_integrator("dopri5", rtol=1e-9)
    ...     return solver.set_initial_value(1.0, 0.0).integrate(2.0)[0]
    >>> bool(np.isclose(tapegrad.grad(left)(0.5), -2 * np.exp(-1.0)))
    True
    """

    f: Any
    f_params: Any
    jac: Any
    jac_params: Any
    _state: Any = None  # y, where it is in a trace
    _time: Any = 0.0  # t, which may be in one

    @property
    def y(self) -> Any:
        """The state."""
        return self._y if self._state is None else self._state

    def set_initial_value(self, y: Any, t: Any = 0.0) -> Any:
        y, self._time = lift(y), lift(t)
        _refuse_examples((y, self._time))
        self._state = np.reshape(as_float(y), (-1,)) if in_trace(y) else None
        return super().set_initial_value(raw_value(y), raw_value(self._time))

    def integrate(self, t: Any, step: bool = False, relax: bool = False) -> Any:
        if self._state is None and not is_inside():
            self._time = t
            return super().integrate(t, step, relax)
        t = lift(t)
        held = self.f, self.f_params, self.jac, self.jac_params
        hoisted = Hoisted(held)
        given = (self._time, self._state, t)
        if not (hoisted.values or any(map(in_trace, given))):
            self._time = t
            return super().integrate(t, step, relax)
        _refuse_examples((*given, *hoisted.values))
        before, state = self._y, self.y
        plain = hoisted.filled([raw_value(x) for x in hoisted.values])
        self.f, self.f_params, self.jac, self.jac_params = plain
        try:
            super().integrate(raw_value(t), step, relax)
        finally:
            self.f, self.f_params, self.jac, self.jac_params = held
        if not self.successful():
            raise NotDifferentiableError(
                "scipy.integrate.ode: the integration failed, so it has no derivative. Allow more "
                "steps (nsteps) or other tolerances."
            )
        end = self.t if step or relax else t
        self._state = self._after(hoisted, before, state, end)
        self._time = end
        return self._state

    def _after(self, hoisted: Hoisted, before: Any, state: Any, end: Any) -> Any:
        """The state at the end of an integration, as a function of all that it depends on."""
        then = hoisted.then()

        def bind(parameters: Sequence[Value]) -> Function:
            f, params, _, _ = then.filled(parameters)

            def rate(t: Value, y: Value) -> Any:
                out = lift(f(t, y, *params))
                return np.reshape(out if in_trace(out) else np.asarray(out), y.shape)

            return rate

        start = as_float(self._time)
        times = np.stack([start, as_float(end)])
        parameters = [as_float(x) for x in hoisted.values]
        known = [start, state, *parameters]
        solution = Solution(
            [raw_value(x) for x in known], raw_value(times), np.stack([before, self._y]), None
        )
        integrator = self._integrator
        method = _METHODS.get(type(integrator).__name__, "LSODA")
        options = {"rtol": max(integrator.rtol, 1e-12), "atol": integrator.atol}
        settings = Settings("scipy.integrate.ode", method, options, "adjoint", {}, None)
        moving = (1,) if in_trace(end) else ()
        problem = Problem(bind, Solver(settings, solution), moving, starts=in_trace(start))
        return flow(times, start, as_float(state), *parameters, problem=problem)[1]


def _refuse_examples(values: Sequence[Any]) -> None:
    for value in values:
        if in_trace(untraced(value)):  # not only traced: an example of a vmap, or recorded
            raise BatchingError(
                "scipy.integrate.ode: an object that takes steps has no examples of a vmap, and "
                "is no part of a program. Take scipy.integrate.solve_ivp."
            )


__all__ = ["ode"]
