"""minimize: SciPy's methods on trees, with exact derivatives, and differentiable itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from tapegrad._core.types import Function
from tapegrad._core.values import in_trace
from tapegrad._errors import NotDifferentiableError, name_of
from tapegrad._progress import Bar, Progress
from tapegrad._transforms.foreign_names import explaining
from tapegrad._transforms.reverse import grad
from tapegrad._transforms.tracebacks import folding
from tapegrad._tree import flatten
from tapegrad.implicit._closures import Lifted
from tapegrad.implicit._minima import Minimisation, minimum_of
from tapegrad.implicit._roots import as_args
from tapegrad.implicit._systems import LinearSolver, scipy_optimize
from tapegrad.implicit._unknowns import as_vector
from tapegrad.optimize._constraints import Constraint, bounds_of, constraints_of
from tapegrad.optimize._covariance import curvature_of
from tapegrad.optimize._methods import METHODS, chosen, hessian_form
from tapegrad.optimize._objective import Objective
from tapegrad.optimize._parameters import Parameters, as_start
from tapegrad.optimize._result import Result
from tapegrad.optimize._watching import Watch

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")


@overload
def minimize(
    fun: Function,
    x0: list[float] | NDArray[np.integer[Any]],
    args: Any = (),
    method: str | None = None,
    *,
    bounds: Any = None,
    constraints: Any = (),
    equality: Function | None = None,
    inequality: Function | None = None,
    hess: str = "auto",
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    callback: Callable[[Any], Any] | None = None,
    progress: Progress = None,
    has_aux: bool = False,
    compile: bool = False,
) -> Result[NDArray[np.float64]]: ...
@overload
def minimize(
    fun: Function,
    x0: int,
    args: Any = (),
    method: str | None = None,
    *,
    bounds: Any = None,
    constraints: Any = (),
    equality: Function | None = None,
    inequality: Function | None = None,
    hess: str = "auto",
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    callback: Callable[[Any], Any] | None = None,
    progress: Progress = None,
    has_aux: bool = False,
    compile: bool = False,
) -> Result[float]: ...
@overload
def minimize(
    fun: Function,
    x0: T,
    args: Any = (),
    method: str | None = None,
    *,
    bounds: Any = None,
    constraints: Any = (),
    equality: Function | None = None,
    inequality: Function | None = None,
    hess: str = "auto",
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    callback: Callable[[Any], Any] | None = None,
    progress: Progress = None,
    has_aux: bool = False,
    compile: bool = False,
) -> Result[T]: ...
@folding
@explaining(
    hessp="write hess='hvp'; products with the Hessian are made of fun",
    jac="leave it away: fun returns the number alone, and its gradient is made",
)
def minimize(
    fun: Function,
    x0: Any,
    args: Any = (),
    method: str | None = None,
    *,
    bounds: Any = None,
    constraints: Any = (),
    equality: Function | None = None,
    inequality: Function | None = None,
    hess: str = "auto",
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    callback: Callable[[Any], Any] | None = None,
    progress: Progress = None,
    has_aux: bool = False,
    compile: bool = False,
) -> Result[Any]:
    """The minimum of a function by `scipy.optimize.minimize`, with exact derivatives.

    The result can be differentiated by args, bounds, and what the functions close over of a trace:
    by the implicit function theorem, see `tapegrad.implicit.argmin`. The minimum is then made
    exact by Newton's method.

    Parameters
    ----------
    fun : callable
        `fun(x, *args)` returns a real number, or `(number, aux)` with `has_aux`.
    x0 : pytree
        Where to start. Leaves of a floating or complex dtype are moved and keep their shapes and
        dtypes (SciPy computes in float64); all others are constants. A list of real numbers is
        an array, and whole numbers alone are floats, as to SciPy.
    args : tuple, default ()
        Further arguments of the functions; what is no tuple is the only one.
    method : str, optional
        A method of SciPy's; by default BFGS, L-BFGS-B with bounds or more than 500 parameters,
        SLSQP with constraints. Every method that takes gradients gets exact ones, by one run of
        fun each.
    bounds : tuple, list or Bounds, optional
        `(lower, upper)`, each None, a number or a tree like x0; or SciPy's list of pairs for the
        elements, or its Bounds.
    constraints : dict, LinearConstraint, NonlinearConstraint or sequence of them, default ()
        As SciPy's, with functions of the tree (derivatives are exact, so there is no jac); a
        LinearConstraint is about the vector of free parameters.
    equality, inequality : callable, optional
        Functions of `(x, *args)` that must be zero, or not negative.
    hess : {"auto", "dense", "hvp", "sparse"}, default "auto"
        For methods that take Hessians (Newton-CG, trust-ncg, trust-krylov, trust-exact, dogleg,
        trust-constr): a matrix, products with vectors, or a sparse matrix (trust-constr; see
        `tapegrad.sparse`). "auto" is dense up to 64 parameters, then products where the method
        takes them.
    tol : float, optional
        As in SciPy.
    options : dict, optional
        As in SciPy.
    callback : callable, optional
        Gets the tree after each iteration; True stops.
    progress : bool or type, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm.
    has_aux : bool, default False
        Whether fun returns `(number, aux)`.
    compile : bool, default False
        Whether to make a program of the function with its gradient, and of its Hessian
        (`tapegrad.compile`). With `has_aux` there is none.

    Returns
    -------
    Result
        The minimum, and how it was found.

    Raises
    ------
    ImportError
        If SciPy is missing.
    InputError
        If the method is unknown or does not take what was given; if no parameter is of a floating
        or complex dtype; for bounds or constraints of another form.
    OutputError
        If fun does not return one real number.
    ConvergenceError
        If what was found is no minimum, where it is to be differentiated.
    NotDifferentiableError
        If a derivative of the result does not exist: its Hessian is singular, or a bound or an
        inequality holds without pushing.
    RuleError
        If a function depends on a traced value that is neither in `args` nor in its closure.

    See Also
    --------
    tapegrad.implicit.argmin : The minimum alone, to be differentiated.
    least_squares : Sums of squares.
    run : First-order methods.

    Examples
    --------
    >>> from tapegrad import optimize
    >>> def rosenbrock(p):
    ...     return (1 - p["x"]) ** 2 + 100 * (p["y"] - p["x"] ** 2) ** 2
    >>> found = optimize.minimize(rosenbrock, {"x": -1.0, "y": 2.0}, method="trust-exact")
    >>> found.success, round(float(found.x["x"]), 4), round(float(found.x["y"]), 4)
    (True, 1.0, 1.0)
    """
    call = f"optimize.minimize({name_of(fun)})"
    x0, args = as_start(x0), as_args(args)
    parameters = Parameters(call, x0)
    limits = bounds_of(call, parameters, bounds)
    asked = _Asked(call, method, hess, tol, options, callback, progress, has_aux, compile)
    conditions = constraints_of(call, parameters, constraints, equality, inequality, args)
    lifted = [Lifted(f) for f in (fun, *(one.fun for one in conditions))]
    given = (x0, args, limits, [(one.lower, one.upper) for one in conditions])
    traced = any(map(in_trace, flatten(given)[0])) or any(f.values for f in lifted)
    if not traced:
        return asked.run(fun, parameters, limits, conditions, args)
    conditions = constraints_of(call, parameters, constraints, None, None, ())
    return _differentiable(asked, fun, parameters, limits, conditions, args, equality, inequality)


class _Asked:
    """How a user wants something minimised."""

    def __init__(
        self,
        call: str,
        method: str | None,
        hess: str,
        tol: float | None,
        options: dict[str, Any] | None,
        callback: Callable[[Any], Any] | None,
        progress: Progress,
        has_aux: bool,
        compiled: bool,
    ) -> None:
        self.call, self.method, self.hess, self.tol = call, method, hess, tol
        self.options, self.callback, self.progress = options, callback, progress
        self.has_aux, self.compiled = has_aux, compiled

    def run(
        self,
        fun: Function,
        parameters: Parameters,
        limits: Any,
        conditions: list[Constraint],
        args: tuple[Any, ...],
    ) -> Result[Any]:
        """The minimum of plain values, by SciPy."""
        call = self.call
        optimize = scipy_optimize(call)
        method = chosen(
            call,
            self.method,
            parameters.size,
            bounds=limits is not None,
            constraints=bool(conditions),
        )
        objective = Objective(
            call, fun, args, parameters, has_aux=self.has_aux, compiled=self.compiled
        )
        given = _derivatives(call, objective, method, self.hess)
        start = parameters.vector(parameters.whole(parameters.free))
        ends = None
        if limits is not None:
            ends = [np.array(as_vector(end), float) for end in limits]
            given["bounds"] = optimize.Bounds(*ends)
        if conditions:
            exact = method == "trust-constr"
            given["constraints"] = [
                one.as_scipys(call, parameters, hessians=exact) for one in conditions
            ]
        with Bar(call, self.progress) as bar:
            watch = Watch(
                self.callback,
                parameters.tree,
                by_result=method == "trust-constr",
                bar=bar,
                value_at=objective.known_value,
            )
            if self.callback is not None or bar.may_show():
                given["callback"] = watch
            try:
                raw = optimize.minimize(
                    x0=start, method=method, tol=self.tol, options=self.options, **given
                )
            except StopIteration:  # of a method that does not know it
                raw = optimize.OptimizeResult(
                    x=watch.last, success=False, status=99, message="The callback stopped it."
                )
        return _result(raw, method, objective, ends, conditions)


def _derivatives(call: str, objective: Objective, method: str, hess: str) -> dict[str, Any]:
    """The functions that a method takes."""
    form = hessian_form(call, method, hess, objective.parameters.size)
    if not METHODS[method].gradient:
        return {"fun": objective.value}
    given: dict[str, Any] = {
        "fun": lambda v: objective.value_and_grad(v)[0],
        "jac": objective.gradient,
    }
    if form == "dense":
        given["hess"] = objective.hessian
    elif form == "sparse":
        given["hess"] = objective.sparse_hessian
    elif form == "hvp":
        given["hessp"] = objective.hessian_product
    return given


def _result(
    raw: Any, method: str, objective: Objective, ends: Any, conditions: list[Constraint]
) -> Result[Any]:
    """SciPy's result with trees."""
    parameters = objective.parameters
    x = np.array(raw.x, float)
    slope = None
    if METHODS[method].gradient:
        value, slope = objective.value_and_grad(x)
    else:
        value = objective.value(x)
    return Result(
        x=parameters.tree(x),
        fun=value,
        grad=None if slope is None else parameters.tree_of_numbers(slope),
        success=bool(raw.success),
        message=str(raw.message),
        nit=raw.get("nit"),
        nfev=int(raw.get("nfev", objective.runs)),
        njev=int(raw.get("njev", 0)),
        nhev=int(raw.get("nhev", 0)),
        runs=objective.runs,
        aux=objective.aux,
        raw=raw,
        history=tuple(objective.history),
        parameters=parameters,
        curvature=lambda: curvature_of(objective, x, ends, conditions),
    )


def _joined(functions: list[Function]) -> Function | None:
    """Several functions of a tree as one that returns all their vectors."""
    if not functions:
        return None
    return lambda x, *args: [as_vector(f(x, *args)) for f in functions]


def _differentiable(
    asked: _Asked,
    fun: Function,
    parameters: Parameters,
    limits: Any,
    conditions: list[Constraint],
    args: tuple[Any, ...],
    equality: Function | None,
    inequality: Function | None,
) -> Result[Any]:
    """The minimum as a function of whatever is traced."""
    kept: list[Result[Any]] = []

    def value(free: list[Any], *args: Any) -> Any:
        out = fun(parameters.whole(free), *args)
        return out[0] if asked.has_aux else out

    def of_free(function: Function) -> Function:
        return lambda free, *args: function(parameters.whole(free), *args)

    parts = [
        [one.part(which, parameters.whole) for one in conditions if one.has(which)]
        for which in (0, 1)
    ]
    for given, those in ((equality, parts[0]), (inequality, parts[1])):
        if given is not None:
            those.append(of_free(given))
    minimisation = Minimisation(value, *map(_joined, parts))

    def find(functions: list[Any], limits: Any, free: list[Any]) -> Any:
        plain, *rest = functions
        inner = Parameters(asked.call, free)
        given = [
            Constraint(f, 0.0, upper, None, kind)
            for f, upper, kind in zip(rest, (0.0, np.inf), ("eq", "ineq"), strict=True)
            if f is not None
        ]
        callback = asked.callback
        told = None if callback is None else lambda free: callback(parameters.whole(free))
        quiet = _Asked(
            asked.call,
            asked.method,
            asked.hess,
            asked.tol,
            asked.options,
            told,
            asked.progress,
            has_aux=False,
            compiled=asked.compiled,
        )
        kept[:] = [quiet.run(plain, inner, limits, given, ())]
        return kept[0].x

    system = LinearSolver(asked.call, symmetric=limits is None and not minimisation.constrained)
    free, _ = minimum_of(minimisation, parameters.free, limits, args, find, system)
    x = parameters.whole(free)
    out = fun(x, *args)
    slope = grad(lambda free: value(free, *args))(free)
    found = kept[0]
    found.x, found.fun, found.grad = x, out, parameters.whole(slope)
    if asked.has_aux:
        found.fun, found.aux = out
    found.curvature = no_covariance(asked.call)
    return found


def no_covariance(call: str) -> Callable[[], Any]:
    """Stand-in for the curvature of a result inside a transform: an error."""

    def refuse() -> Any:
        raise NotDifferentiableError(
            f"{call}: no covariance: a root has none, and inside a transform write "
            "np.linalg.inv(tapegrad.hessian(f)(x))."
        )

    return refuse


__all__ = ["minimize", "no_covariance"]
