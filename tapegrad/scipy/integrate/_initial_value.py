"""solve_ivp and odeint, differentiable: what a call depends on, and what its result holds.

Knows SciPy's arguments and results. The derivatives are those of `_flow`, or of the steps
(`_steps`). Of plain values both functions are SciPy's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.integrate
from scipy.integrate import OdeSolution

from tapegrad._batched.batching_rules import call_one_by_one
from tapegrad._core.types import Function, Value
from tapegrad._core.values import in_trace, innermost, is_mapped, lift, raw_value
from tapegrad._errors import BatchingError, InputError, NotDifferentiableError, message
from tapegrad._transforms.closures import Hoisted
from tapegrad.scipy._questions import holds_mapped
from tapegrad.scipy.integrate._flow import Problem, crossings, flow
from tapegrad.scipy.integrate._quadrature import as_float
from tapegrad.scipy.integrate._solvers import Settings, Solution, Solver
from tapegrad.scipy.integrate._steps import EXPLICIT, by_steps

GRADIENTS = ("adjoint", "forward", "steps")


def solve_ivp(
    fun: Function,
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: Any = None,
    *,
    gradient: str = "adjoint",
    adjoint: dict[str, Any] | None = None,
    checkpoints: int | None = None,
    **options: Any,
) -> Any:
    """Solve an initial value problem, as SciPy's solve_ivp, with derivatives.

    They are those by all that it depends on: y0, the ends of t_span, the times t_eval, args, and
    every traced value that fun and the events close over. A plain call is SciPy's.

    Parameters
    ----------
    fun : callable
        `fun(t, y, *args)`, which returns an array or a list of shape (size,). SciPy calls it with
        plain numbers.
    t_span : pair of float
        The first and the last time.
    y0 : array_like, shape (size,)
        The state at the first time.
    method : str or OdeSolver, default "RK45"
        SciPy's solver.
    t_eval : array_like, shape (times,), optional
        The times asked; the steps of the solver by default.
    dense_output : bool, default False
        Whether `sol.sol` is there.
    events : callable or list of callable, optional
        SciPy's events, `event(t, y, *args)`.
    vectorized : bool, default False
        Whether fun takes states (size, count).
    args : tuple, optional
        Further arguments of fun and the events.
    gradient : {"adjoint", "forward", "steps"}, default "adjoint"
        How the derivatives are computed, in any order of each:

        - "adjoint": forward mode solves for the sensitivities along with the states; reverse mode
          solves the adjoint equation backward, to the same tolerances or to those of `adjoint`
          (for all steps at once where fun can be mapped and y0 is short). They are derivatives of
          the exact solution, as right as the tolerances say.
        - "forward": the same, but reverse mode takes sensitivities by every element of y0 and the
          parameters, solved forward. For few parameters of stiff problems. Of complex values the
          adjoint is taken.
        - "steps": the exact derivative of the numerical solution for the steps that the solver
          chose, which do not move: methods RK23, RK45 and DOP853, without events.
    adjoint : dict, optional
        Tolerances of the adjoint equation, rtol and atol; with method or max_step it is solved by
        SciPy's solver.
    checkpoints : int, optional
        At most so many states are kept, and the parts between are solved again. By default the
        trajectory is kept as dense output.
    **options : object
        SciPy's others, such as rtol, atol, max_step.

    Returns
    -------
    OdeResult
        `sol.y` (size, times); `sol.t`, whose first and last element move with t_span, the others
        with t_eval (steps that the solver chose are constant); `sol.sol`, by the times asked and
        all of the above; `sol.t_events` and `sol.y_events`, by the implicit function theorem, and
        with them the end where an event is terminal.

    Raises
    ------
    NotDifferentiableError
        Of a traced call whose solution failed, or that asks for the time of an event which changes
        at the rate zero there.
    InputError
        Of another `gradient`.
    BatchingError
        Under vmap without t_eval, or with events or dense_output: the examples are solved one
        after another, at the times t_eval.

    See Also
    --------
    odeint : SciPy's older interface.

    Notes
    -----
    A gradient costs least where fun can be mapped (`tapegrad.vmap`): it does not branch on t or y.
    A jump of fun adds to no derivative by what moves its place: end the solution there, by t_span
    or a terminal event, and start again.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> def left(rate):
    ...     return solve_ivp(lambda t, y: -rate * y, (0, 2), [1.0], rtol=1e-9, atol=1e-9).y[0, -1]
    >>> bool(np.isclose(tapegrad.grad(left)(0.5), -2 * np.exp(-1.0)))
    True
    """
    if gradient not in GRADIENTS:
        raise InputError(
            message("scipy.integrate.solve_ivp", f"gradient in {GRADIENTS}", repr(gradient), "")
        )
    call = _Call(fun, t_span, lift(y0), lift(t_eval), events, args, options)
    settings = {"gradient": gradient, "adjoint": adjoint or {}, "checkpoints": checkpoints}
    rest = {"method": method, "dense_output": dense_output, "vectorized": vectorized}
    if not call.hoisted.values:
        return scipy.integrate.solve_ivp(
            fun, t_span, y0, t_eval=t_eval, events=events, args=args, **rest, **options
        )
    if is_mapped(innermost(call.hoisted.values)):
        return _each_example(call, {**rest, **settings})
    return _Run(call, rest, settings).result()


class _Call:
    """Arguments that a solution depends on, in the order of SciPy's arguments."""

    def __init__(
        self,
        fun: Function,
        t_span: Any,
        y0: Value,
        t_eval: Value,
        events: Any,
        args: Any,
        options: dict[str, Any],
    ) -> None:
        self.fun, self.t_span, self.y0, self.t_eval = fun, tuple(t_span), y0, t_eval
        self.events, self.args, self.options = events, args, options
        self.functions = Hoisted((fun, events, args, options)).then()
        self.hoisted = Hoisted((self.t_span, y0, t_eval, fun, events, args, options))

    def filled(self, values: Sequence[Value]) -> dict[str, Any]:
        """SciPy's arguments with other values in the places of those in a trace."""
        t_span, y0, t_eval, fun, events, args, options = self.hoisted.filled(values)
        names = ("fun", "t_span", "y0", "t_eval", "events", "args")
        given = (fun, t_span, y0, t_eval, events, args)
        return dict(zip(names, given, strict=True)) | options


def _each_example(call: _Call, rest: dict[str, Any]) -> Any:
    """A call of a vmap: one example after another."""
    if call.t_eval is None or call.events is not None or rest["dense_output"]:
        raise BatchingError(
            "scipy.integrate.solve_ivp: under vmap the steps, the events and the dense output "
            "would differ from example to example. Ask for the states at t_eval."
        )
    values = call.hoisted.values
    level = innermost(values).vmap_level

    def one(*values: Value) -> Any:
        found = solve_ivp(**call.filled(values), **rest)
        if not found.success:
            raise NotDifferentiableError(f"scipy.integrate.solve_ivp: {found.message}")
        return found.y

    states = call_one_by_one(level, one, tuple(values), {})
    return _result(call.t_eval, states)


def _result(t: Any, y: Any) -> Any:
    return scipy.integrate._ivp.ivp.OdeResult(
        t=t,
        y=y,
        sol=None,
        t_events=None,
        y_events=None,
        status=0,
        message="The solver successfully reached the end of the integration interval.",
        success=True,
    )


class _Run:
    """One call of solve_ivp on traced values."""

    def __init__(self, call: _Call, rest: dict[str, Any], settings: dict[str, Any]) -> None:
        self.call, self.rest = call, rest
        self.gradient = settings["gradient"]
        self.start, self.end = call.t_span
        state = call.y0 if in_trace(call.y0) else np.asarray(call.y0)
        self.state = state if state.dtype.kind in "fc" else state.astype(float)
        self.parameters = [as_float(x) for x in call.functions.values]
        self.vectorized = rest["vectorized"]
        self.settings = Settings(
            "scipy.integrate.solve_ivp",
            rest["method"],
            {name: x for name, x in call.options.items() if name in _OF_SOLVERS},
            settings["gradient"],
            settings["adjoint"],
            settings["checkpoints"],
        )
        self.start = as_float(self.start)

    def result(self) -> Any:
        values = self.call.hoisted.values
        if any(map(holds_mapped, values)):
            return self._of_examples()
        keeps = self.settings.checkpoints is None
        given = self.call.filled([raw_value(x) for x in values])
        dense_output = self.rest["dense_output"]
        found = scipy.integrate.solve_ivp(
            **given,
            **{**self.rest, "dense_output": keeps or dense_output or self.gradient == "steps"},
        )
        if not found.success:
            raise NotDifferentiableError(
                f"scipy.integrate.solve_ivp: the solution failed ({found.message}), so it has no "
                "derivative. Choose another method or tolerances."
            )
        self.dense = found.sol
        if self.gradient == "steps":
            by_steps(self, found)
        else:
            self._by_flow(found)
        if not dense_output:
            found.sol = None
        return found

    def _of_examples(self) -> Any:
        """A call that a vmap around the derivative maps over: states at t_eval alone."""
        if self.call.t_eval is None or self.call.events is not None or self.gradient == "steps":
            raise BatchingError(
                "scipy.integrate.solve_ivp: under vmap the steps and the events would differ from "
                'example to example. Ask for the states at t_eval, and not for gradient="steps".'
            )
        times = as_float(self.call.t_eval)
        moving = range(len(times)) if in_trace(times) else ()
        problem = self._problem(Solver(self.settings), moving)
        return _result(times, flow(times, *self._given, problem=problem).T)

    @property
    def _given(self) -> tuple[Any, ...]:
        return self.start, self.state, *self.parameters

    def bind(self, parameters: Sequence[Value]) -> Function:
        """The right-hand side, with these in the places of what it closes over."""
        fun, _, args, _ = self.call.functions.filled(parameters)
        return self._right_hand_side(fun, () if args is None else args)

    def _right_hand_side(self, fun: Function, args: Any) -> Function:
        def f(t: Value, y: Value) -> Value:
            out = fun(t, y[:, None], *args) if self.vectorized else fun(t, y, *args)
            return _rate("scipy.integrate.solve_ivp", lift(out), y)

        return f

    def event(self, at: int) -> Function:
        """One of the events as a function of the parameters too."""

        def event(t: Value, y: Value, parameters: Sequence[Value]) -> Value:
            _, events, args, _ = self.call.functions.filled(parameters)
            one = events if callable(events) else events[at]
            return np.reshape(one(t, y, *(() if args is None else args)), ())

        return event

    def _problem(self, solver: Solver, moving: Any) -> Problem:
        return Problem(self.bind, solver, moving, starts=in_trace(self.start))

    def _by_flow(self, found: Any) -> None:
        self._plain = plain = [raw_value(x) for x in self._given]
        kept = None if self.settings.checkpoints is not None else found.sol
        if not len(found.t):  # an event ends it before the first of t_eval, and SciPy gives lists
            found.t, found.y = np.zeros(0), np.zeros((len(self.state), 0))
        solution = Solution(plain, found.t, np.ascontiguousarray(found.y.T), kept)
        solver = Solver(self.settings, solution)
        self._solver: Solver = solver
        ended = self._events(found) if found.t_events is not None else None
        times, moving = self.times(found, ended)
        found.y = flow(times, *self._given, problem=self._problem(solver, moving)).T
        # SciPy's are those of the dense solution, which no write of the program may reach.
        found.t = times.copy() if times is found.t else times
        if self.rest["dense_output"]:
            found.sol = _Dense(self, found.sol)

    def times(self, found: Any, ended: Any = None) -> tuple[Any, Sequence[int]]:
        """The times of the result, and which of them move."""
        if self.call.t_eval is not None:
            if not in_trace(self.call.t_eval):
                return found.t, ()
            times = self.call.t_eval[: len(found.t)]
            return as_float(times), range(len(found.t))
        last = self.end if ended is None else ended
        if not (in_trace(self.start) or in_trace(last)) or len(found.t) < 2:
            return found.t, ()
        first, last = (np.reshape(as_float(x), (1,)) for x in (self.start, last))
        return np.concatenate([first, found.t[1:-1], last]), (0, -1)

    def _events(self, found: Any) -> Any:
        """Make the events of the result traced; where a terminal one has ended it, or None."""
        ended = None
        for i, times in enumerate(found.t_events):
            if not len(times):
                continue
            size = len(times)
            states = np.reshape(found.y_events[i], (size, -1))
            known = Solution(self._plain, times, states, self._dense_kept())
            solver = Solver(self.settings, known)
            problem = self._problem(solver, range(size))
            moved = crossings(times, *self._given, problem=problem, event=self.event(i))
            if in_trace(moved):
                self._require_crossing(i, times, states)
            found.t_events[i] = moved
            found.y_events[i] = flow(moved, *self._given, problem=problem)
            if found.status == 1 and self.call.t_eval is None and times[-1] == found.t[-1]:
                ended = moved[-1]
        return ended

    def _dense_kept(self) -> Any:
        return None if self.settings.checkpoints is not None else self.dense

    def _require_crossing(self, at: int, times: Any, states: Any) -> None:
        """Raise where the event only touches zero, or jumps: its time has no derivative."""
        from tapegrad._transforms.forward import jvp

        parameters = [raw_value(x) for x in self.parameters]
        f, event = self.bind(parameters), self.event(at)
        for t, y in zip(times, states, strict=True):
            given = (np.float64(t), y), (np.float64(1.0), _array(f(t, y)))
            rate = jvp(lambda t, y: event(t, y, parameters) + 0.0 * t, *given)[1]
            if rate == 0:
                raise NotDifferentiableError(
                    f"scipy.integrate.solve_ivp: event {at} changes at the rate zero where it "
                    f"happens, at t={t}, so its time has no derivative."
                )


_OF_SOLVERS = (
    "rtol",
    "atol",
    "max_step",
    "min_step",
    "first_step",
    "jac",
    "jac_sparsity",
    "lband",
    "uband",
)


def _rate(name: str, out: Value, y: Value) -> Any:
    """Value of a right-hand side, as an array like the state."""
    out = np.reshape(out, y.shape) if np.ndim(out) != 1 else _array(out)
    if out.dtype.kind == "c" and y.dtype.kind != "c":  # of which SciPy would take the real part
        raise InputError(
            message(name, "a real rate of a real state", "a complex one", "Pass a complex y0")
        )
    return out


def _array(x: Value) -> Any:
    return x if in_trace(x) else np.asarray(x)


class _Dense:
    """`sol.sol` of a traced call: SciPy's OdeSolution, by the times asked and by the rest.

    Its derivative by t is the right-hand side at the state there.
    """

    def __init__(self, run: _Run, dense: OdeSolution) -> None:
        self._run, self._dense = run, dense

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_dense"], name)

    def __call__(self, t: Any) -> Any:
        t = as_float(lift(t))
        plain = raw_value(t)
        if np.any(plain < self._dense.t_min) or np.any(plain > self._dense.t_max):
            raise InputError(
                message(
                    "scipy.integrate.OdeSolution",
                    f"times from {self._dense.t_min} to {self._dense.t_max}",
                    f"{plain}",
                    "Outside there is no solution to differentiate",
                )
            )
        run = self._run
        times = np.reshape(t, (-1,))
        moving = range(len(times)) if in_trace(t) else ()
        states = flow(times, *run._given, problem=run._problem(run._solver, moving))
        return states[0] if t.ndim == 0 else states.T


def odeint(
    func: Function,
    y0: Any,
    t: Any,
    args: Any = (),
    Dfun: Any = None,
    col_deriv: Any = 0,
    full_output: Any = 0,
    ml: Any = None,
    mu: Any = None,
    rtol: Any = None,
    atol: Any = None,
    tcrit: Any = None,
    h0: float = 0.0,
    hmax: float = 0.0,
    hmin: float = 0.0,
    ixpr: Any = 0,
    mxstep: int = 0,
    mxhnil: int = 0,
    mxordn: int = 12,
    mxords: int = 5,
    printmessg: Any = 0,
    tfirst: bool = False,
    *,
    gradient: str = "adjoint",
    adjoint: dict[str, Any] | None = None,
    checkpoints: int | None = None,
) -> Any:
    """Solve an initial value problem, as SciPy's odeint, with derivatives.

    They are those by y0, the times t, args and what func closes over. A plain call is SciPy's. The
    backward solution and the trajectory that it follows are those of `solve_ivp` with LSODA and
    the same tolerances.

    Parameters
    ----------
    func : callable
        `func(y, t, *args)`, which returns an array or a list of shape (size,).
    y0 : array_like, shape (size,)
        The state at the first time.
    t : array_like, shape (times,)
        The times.
    args : tuple, default ()
        Further arguments of func.
    Dfun : callable, optional
        The Jacobian of func.
    col_deriv : bool, default False
        Whether Dfun returns derivatives down columns.
    full_output : bool, default False
        Whether SciPy's further output is returned.
    ml, mu : int, optional
        Bands of the Jacobian.
    rtol, atol : float, optional
        Tolerances, 1.49012e-8 by default.
    tcrit : array_like, optional
        Times at which to be careful.
    h0, hmax, hmin : float, default 0
        The first, the largest and the least step; 0 lets the solver choose.
    ixpr : bool, default False
        Whether SciPy prints changes of its method.
    mxstep : int, default 0
        The most steps between two times; 0 lets the solver choose.
    mxhnil : int, default 0
        The most messages.
    mxordn, mxords : int, default 12 and 5
        The highest orders of the nonstiff and the stiff method.
    printmessg : bool, default False
        Whether SciPy prints a message at the end.
    tfirst : bool, default False
        Whether func is `func(t, y, *args)`.
    gradient : {"adjoint", "forward"}, default "adjoint"
        As of `solve_ivp`.
    adjoint : dict, optional
        As of `solve_ivp`.
    checkpoints : int, optional
        As of `solve_ivp`.

    Returns
    -------
    array, shape (times, size)
        The states; with `full_output` a pair of them and SciPy's dict.

    Raises
    ------
    InputError
        Of another `gradient`.
    NotDifferentiableError
        Of a traced call whose solution failed.
    BatchingError
        Of `full_output` under vmap.

    See Also
    --------
    solve_ivp : SciPy's newer interface.

    Notes
    -----
    A traced call heeds rtol, atol, tcrit, h0, hmax, hmin and mxstep; the other options of the
    solver count in plain calls, and with `full_output`.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> def left(rate):
    ...     return odeint(lambda y, t: -rate * y, 1.0, [0.0, 2.0])[-1, 0]
    >>> bool(np.isclose(tapegrad.grad(left)(0.5), -2 * np.exp(-1.0)))
    True
    """
    options = {
        "Dfun": Dfun,
        "col_deriv": col_deriv,
        "ml": ml,
        "mu": mu,
        "rtol": rtol,
        "atol": atol,
        "tcrit": tcrit,
        "h0": h0,
        "hmax": hmax,
        "hmin": hmin,
        "ixpr": ixpr,
        "mxstep": mxstep,
        "mxhnil": mxhnil,
        "mxordn": mxordn,
        "mxords": mxords,
        "printmessg": printmessg,
    }
    y0, t = lift(y0), lift(t)
    hoisted = Hoisted((func, args))
    if innermost([y0, t, *hoisted.values]) is None:
        return scipy.integrate.odeint(
            func, y0, t, args, full_output=full_output, tfirst=tfirst, **options
        )
    if gradient not in GRADIENTS[:2]:
        raise InputError(
            message("scipy.integrate.odeint", f"gradient in {GRADIENTS[:2]}", repr(gradient), "")
        )

    then = hoisted.then()

    def bind(parameters: Sequence[Value]) -> Function:
        func, args = then.filled(parameters)
        args = args if isinstance(args, tuple) else (args,)

        def f(t: Value, y: Value) -> Value:
            out = func(t, y, *args) if tfirst else func(y, t, *args)
            return _rate("scipy.integrate.odeint", lift(out), y)

        return f

    kept = {name: options[name] for name in ("hmax", "hmin", "h0", "mxstep", "tcrit")}
    settings = Settings(
        "scipy.integrate.odeint",
        "LSODA",
        {
            "rtol": 1.49012e-8 if rtol is None else rtol,
            "atol": 1.49012e-8 if atol is None else atol,
        },
        gradient,
        adjoint or {},
        checkpoints,
        states=_odeint_with(kept),
    )
    times = as_float(t)
    state = np.reshape(as_float(y0), (-1,))
    moving = range(len(times)) if in_trace(t) else ()
    problem = Problem(bind, Solver(settings), moving, starts=in_trace(t))
    parameters = [as_float(x) for x in hoisted.values]
    solver: Any = problem.solver
    if not full_output:
        return flow(times, times[0], state, *parameters, problem=problem)
    if any(map(holds_mapped, [times, state, *parameters])):
        raise BatchingError("scipy.integrate.odeint: under vmap there is no full_output.")
    plain = [raw_value(x) for x in (times, state, *parameters)]
    func, args = hoisted.filled(plain[2:])
    states, info = scipy.integrate.odeint(
        func, plain[1], plain[0], args, full_output=1, tfirst=tfirst, **options
    )
    solver.solution = Solution([plain[0][0], *plain[1:]], plain[0], states, None)
    return flow(times, times[0], state, *parameters, problem=problem), info


def _odeint_with(kept: dict[str, Any]) -> Function:
    def states(f: Function, state: Any, start: Any, times: Any, options: dict[str, Any]) -> Any:
        found, info = scipy.integrate.odeint(
            f, state, times, tfirst=True, full_output=1, **kept, **options
        )
        if info["message"] != "Integration successful.":
            raise NotDifferentiableError(
                f"scipy.integrate.odeint: the solution failed ({info['message']}), so it has no "
                "derivative. Allow more steps (mxstep) or other tolerances."
            )
        return found

    return states


__all__ = ["EXPLICIT", "odeint", "solve_ivp"]
