"""Minima, free and constrained, by the conditions that hold there (Karush, Kuhn, Tucker).

Bounds and inequalities are in them as equations: x - clip(x - slope, lower, upper) = 0, and
min(g, multiplier) = 0. Where each bound and inequality is either strictly active or not at all,
these are smooth, and the implicit function theorem holds; elsewhere a derivative is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple, TypeVar, overload

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad._core.values import any_true, in_trace, untraced
from tapegrad._errors import InputError, describe, message, name_of
from tapegrad._progress import Bar, Progress
from tapegrad._transforms.jacobians import hessian, jacrev
from tapegrad._transforms.reverse import grad, vjp
from tapegrad._transforms.tracebacks import folding
from tapegrad._tree import LEAF, flatten, flatten_prefix
from tapegrad.implicit._closures import Lifted
from tapegrad.implicit._roots import as_args, newton_step, plain_residual
from tapegrad.implicit._solvers import newton, newton_minimum
from tapegrad.implicit._systems import (
    ConvergenceError,
    LinearSolver,
    closes_over,
    plain,
    scipy_optimize,
)
from tapegrad.implicit._theorem import Problem
from tapegrad.implicit._unknowns import Unknowns, as_vector

T = TypeVar("T")

STRICT = 1e-7  # how far a multiplier and its slack must be apart, relative to the larger ones


class Multipliers(NamedTuple):
    """How much the minimum falls when a constraint is relaxed, one number for each condition.

    Attributes
    ----------
    equality : ndarray
        Those of the equations, in one vector.
    inequality : ndarray
        Those of the inequalities, in one vector; 0 where one does not hold with equality.

    Examples
    --------
    >>> from tapegrad import implicit
    >>> x, found = implicit.argmin(
    ...     lambda x: np.sum(x**2), np.zeros(2), equality=lambda x: np.sum(x) - 1, multipliers=True
    ... )
    >>> found.equality.round(12), found.inequality
    (array([1.]), array([], dtype=float64))
    """

    equality: Any
    inequality: Any


class Minimisation:
    """min fun(x), equality(x) = 0, inequality(x) >= 0, lower <= x <= upper; its conditions.

    What is minimised over is x with the multipliers, as a tuple `(x, equality, inequality)` where
    there are any constraints; else x itself. Each function takes `(x, *args)`.
    """

    def __init__(
        self,
        fun: Function,
        equality: Function | None = None,
        inequality: Function | None = None,
    ) -> None:
        functions = (fun, equality, inequality)
        self.lifted = [None if f is None else Lifted(f) for f in functions]
        self.constrained = equality is not None or inequality is not None

    @property
    def values(self) -> list[list[Any]]:
        """Traced values that the functions close over."""
        return [[] if f is None else f.values for f in self.lifted]

    def functions(self, values: list[list[Any]], args: tuple[Any, ...]) -> list[Any]:
        """The three functions of x alone, None for one that is not there."""
        return [
            None if lifted is None else _fixed(lifted.with_values(own), args)
            for lifted, own in zip(self.lifted, values, strict=True)
        ]

    def residual(self, z: Any, bounds: Any, args: tuple[Any, ...], values: list[list[Any]]) -> Any:
        """The conditions, as many as there are unknowns in z."""
        fun, equality, inequality = self.functions(values, args)
        x, shadow, push = z if self.constrained else (z, np.zeros(0), np.zeros(0))
        slope = as_vector(grad(fun)(x))
        rest = []
        for function, multipliers in ((equality, shadow), (inequality, push)):
            if function is None:
                continue
            out, pull = vjp(lambda x, f=function: as_vector(f(x)), x)
            slope = slope - as_vector(pull(multipliers)[0])
            rest.append(out if function is equality else np.minimum(out, multipliers))
        if bounds is not None:
            flat = as_vector(x)
            lower, upper = bounds
            slope = flat - np.clip(flat - slope, as_vector(lower), as_vector(upper))
        return [slope, *rest] if self.constrained else slope

    def weakness(self, z: Any, bounds: Any, args: tuple[Any, ...], values: list[list[Any]]) -> str:
        """Why the conditions have no derivative at z, or nothing."""
        fun, equality, inequality = self.functions(values, args)
        if bounds is not None:
            # Without bounds the same conditions are the slope of the Lagrangian.
            bare = self.residual(z, None, args, values)
            slope = bare[0] if self.constrained else bare
            x = as_vector(z[0] if self.constrained else z)
            for word, bound, away in (("lower", bounds[0], 1), ("upper", bounds[1], -1)):
                slack = away * (x - as_vector(bound))
                weak = _weak(slack, away * slope, x)
                if weak.any():
                    return _reason(f"{word} bound {int(np.flatnonzero(weak)[0])}")
        if inequality is not None:
            slack = as_vector(inequality(z[0]))
            weak = _weak(slack, z[2], slack)
            if weak.any():
                return _reason(f"inequality {int(np.flatnonzero(weak)[0])}")
        return ""


def _fixed(function: Function, args: tuple[Any, ...]) -> Function:
    def of(x: Any) -> Any:
        return function(x, *args)

    of.__name__ = name_of(function)
    return of


def _weak(slack: Any, multiplier: Any, beside: Any) -> Any:
    """Which hold with equality and do not push; beside: what multipliers are added to."""
    known = np.where(np.isfinite(slack), np.abs(slack), 0.0)
    # A multiplier that is lost in a sum with `beside` cannot be told from zero either.
    finite = np.abs(beside[np.isfinite(beside)])
    lost = 16 * float(np.finfo(finite.dtype).eps) * float(np.max(finite, initial=0.0))
    scale = STRICT * max(1e-300, float(np.max(np.abs(multiplier), initial=0.0)))
    near = STRICT * max(1e-300, float(np.max(known, initial=0.0)), 1.0)
    return (np.abs(multiplier) <= max(scale, lost)) & (np.abs(slack) <= near)


def _reason(what: str) -> str:
    return (
        f"{what} holds with equality, but does not push (its multiplier is zero), so the solution "
        "has a kink in the parameters there. Move the constraint or the parameters a little, or "
        "leave the constraint away."
    )


def full_bounds(call: str, x: Any, bounds: Any) -> Any:
    """`(lower, upper)` as lists of arrays like the leaves of x, None standing for no bound."""
    if bounds is None:
        return None
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise InputError(
            message(
                call,
                "bounds=(lower, upper), each a number, None, or a tree like x",
                describe(bounds),
                "A bound that is missing is None, -np.inf or np.inf",
            )
        )
    leaves, structure = flatten(x)
    found = []
    for bound, absent in zip(bounds, (-np.inf, np.inf), strict=True):
        if bound is None or not np.shape(bound) and flatten(bound)[1] is LEAF:
            entries = [bound] * len(leaves)
        else:
            entries = flatten_prefix(structure, bound, call)
        pairs = zip(entries, leaves, strict=True)
        found.append([_bound(call, absent if b is None else b, leaf) for b, leaf in pairs])
    return ordered(call, *found)


def ordered(call: str, lower: list[Any], upper: list[Any]) -> tuple[list[Any], list[Any]]:
    """Bounds, none of which is above its other."""
    for low, high in zip(lower, upper, strict=True):
        if any_true(untraced(low) > untraced(high)):
            raise InputError(
                message(
                    call,
                    "bounds (lower, upper) with lower <= upper in every element",
                    f"lower {low} above upper {high}",
                    "Exchange them, or mend what computes them",
                )
            )
    return lower, upper


def _bound(call: str, bound: Any, leaf: Any) -> Any:
    """A bound in the shape and dtype of its leaf."""
    shape = np.shape(leaf)
    own = np.shape(bound)
    if isinstance(bound, list | tuple) or own not in ((), shape):
        raise InputError(
            message(
                call,
                f"a bound of the shape {shape}, or a number",
                describe(bound),
                "Pass (lower, upper), each None, a number, or a tree like x; np.inf is no bound",
            )
        )
    return np.broadcast_to(bound, shape) + np.zeros(shape, getattr(leaf, "dtype", float))


# --- Solving ----------------------------------------------------------------------------------


def _newton_minimum(call: str, fun: Function, x0: Any, bar: Bar) -> Any:
    """A free minimum by Newton's method."""
    unknowns = Unknowns(call, x0)

    def of(v: Value) -> Any:
        return fun(unknowns.tree(v))

    gradient = grad(of)
    start = np.asarray(unknowns.vector(x0))
    first = of(start)
    if in_trace(first):
        raise closes_over(call, "the function")
    return unknowns.tree(newton_minimum(of, gradient, hessian(of), start, bar=bar))


def _scipys_minimum(
    call: str,
    method: str,
    functions: list[Any],
    bounds: Any,
    x0: Any,
    bar: Bar,
) -> Any:
    """A minimum by a method of SciPy's with exact derivatives."""
    optimize = scipy_optimize(call)
    unknowns = Unknowns(call, x0)
    fun, equality, inequality = functions
    start = np.asarray(unknowns.vector(x0), float)

    def flat(function: Function) -> Function:
        return lambda v: as_vector(function(unknowns.tree(v)))

    def guarded(function: Function) -> Function:
        return lambda v: plain(call, function(v), "a constraint")

    def of(v: Value) -> Any:
        return fun(unknowns.tree(v))

    def counted(v: Value) -> Any:
        bar.step()
        return of(v)

    if in_trace(of(start)):
        raise closes_over(call, "the function")
    options: dict[str, Any] = {"jac": grad(of)}
    if method in ("Newton-CG", "trust-exact", "dogleg", "trust-ncg", "trust-krylov"):
        options["hess"] = hessian(of)
    conditions = [("eq", equality), ("ineq", inequality)]
    constraints = [
        {"type": kind, "fun": guarded(flat(function)), "jac": jacrev(flat(function))}
        for kind, function in conditions
        if function is not None
    ]
    if constraints:
        options["constraints"] = constraints
    if bounds is not None:
        lower, upper = (np.asarray(as_vector(bound), float) for bound in bounds)
        options["bounds"] = optimize.Bounds(lower, upper)
        start = np.clip(start, lower, upper)
    tight = {"SLSQP": {"ftol": 1e-12, "maxiter": 1000}, "L-BFGS-B": {"ftol": 1e-14, "gtol": 1e-9}}
    options["options"] = tight.get(method, {})
    found = optimize.minimize(counted, start, method=method, **options)
    return unknowns.tree(found.x.astype(unknowns.dtype))


def start_of_multipliers(
    functions: list[Any], bounds: Any, x: Any, *, near: float = 1e-6
) -> tuple[Any, Any]:
    """Multipliers at a plain x by least squares over the constraints that hold with equality.

    near: the slack, relative to sizes, up to which one holds so.
    """
    unknowns = Unknowns("implicit.argmin", x)
    v = np.asarray(unknowns.vector(x))
    fun, equality, inequality = functions
    slope = np.asarray(as_vector(grad(fun)(x)))
    free = np.ones(v.size, bool)
    if bounds is not None:
        lower, upper = (np.asarray(as_vector(bound)) for bound in bounds)
        margin = near * (1 + np.abs(v))
        free = (v > lower + margin) & (v < upper - margin)
    rows, counts, active = [], [], []
    for function in (equality, inequality):
        if function is None:
            counts.append(0)
            active.append(np.zeros(0, bool))
            continue
        out = np.asarray(as_vector(function(x)))
        matrix = jacrev(lambda v, f=function: as_vector(f(unknowns.tree(v))))(v)
        counts.append(out.size)
        holds = np.ones(out.size, bool)
        if function is inequality:
            holds = out <= near * (1 + np.abs(out).max(initial=0.0))
        active.append(holds)
        rows.append(matrix[holds])
    if not rows:
        return np.zeros(0), np.zeros(0)
    stacked = np.concatenate(rows)
    found = np.linalg.lstsq(stacked[:, free].T, slope[free], rcond=None)[0]
    shadow, push = np.zeros(counts[0], v.dtype), np.zeros(counts[1], v.dtype)
    shadow[:] = found[: counts[0]]
    push[active[1]] = np.maximum(found[counts[0] :], 0)
    return shadow, push


def polished(problem: Problem, z: Any, args: tuple[Any, ...], most: int) -> Any:
    """A solution of the conditions, by Newton's method from near it; z itself if that is worse."""
    unknowns = problem.unknowns
    assert unknowns is not None
    residual = plain_residual(problem, args)
    start = np.asarray(unknowns.vector(z))
    step = newton_step(problem, args)
    try:
        return unknowns.tree(newton(residual, step, start, most=most, halvings=10))
    except ConvergenceError:  # of a linear system: what was found may still be near enough
        return z


def _rises(fun: Function, z: Any, exact: Any) -> bool:
    """Whether the function is larger at a polished point, beyond rounding."""
    before, after = (float(np.ravel(fun(x))[0]) for x in (z, exact))
    return after - before > 1e-6 * (abs(before) + abs(after))


def _with_multipliers(minimisation: Minimisation, call: str, x: Any, args: Any) -> Any:
    """x with multipliers of zero, of the shapes that the constraints have."""
    if not minimisation.constrained:
        return x
    functions = minimisation.functions(minimisation.values, args)
    dtype = Unknowns(call, x).dtype
    sizes = [0 if f is None else as_vector(f(x)).size for f in functions[1:]]
    return (x, *(np.zeros(size, dtype) for size in sizes))


@overload
def argmin(
    fun: Function,
    x0: T,
    args: Any = (),
    *,
    equality: Function | None = None,
    inequality: Function | None = None,
    bounds: Any = None,
    solver: str | Function | None = None,
    multipliers: Literal[False] = False,
    tol: float | None = None,
    linear_solver: str | Function = "auto",
    preconditioner: Function | None = None,
    linear_tol: float | None = None,
    maxiter: int | None = None,
    progress: Progress = None,
) -> T: ...
@overload
def argmin(
    fun: Function,
    x0: T,
    args: Any = (),
    *,
    equality: Function | None = None,
    inequality: Function | None = None,
    bounds: Any = None,
    solver: str | Function | None = None,
    multipliers: Literal[True],
    tol: float | None = None,
    linear_solver: str | Function = "auto",
    preconditioner: Function | None = None,
    linear_tol: float | None = None,
    maxiter: int | None = None,
    progress: Progress = None,
) -> tuple[T, Multipliers]: ...
@overload
def argmin(
    fun: Function,
    x0: Any,
    args: Any = (),
    *,
    equality: Function | None = None,
    inequality: Function | None = None,
    bounds: Any = None,
    solver: str | Function | None = None,
    multipliers: bool,
    tol: float | None = None,
    linear_solver: str | Function = "auto",
    preconditioner: Function | None = None,
    linear_tol: float | None = None,
    maxiter: int | None = None,
    progress: Progress = None,
) -> Any: ...
@folding
def argmin(
    fun: Function,
    x0: Any,
    args: Any = (),
    *,
    equality: Function | None = None,
    inequality: Function | None = None,
    bounds: Any = None,
    solver: str | Function | None = None,
    multipliers: bool = False,
    tol: float | None = None,
    linear_solver: str | Function = "auto",
    preconditioner: Function | None = None,
    linear_tol: float | None = None,
    maxiter: int | None = None,
    progress: Progress = None,
) -> Any:
    """The place where a function is least, as a differentiable function of its parameters.

    The minimum is free or constrained, and differentiable by args, by bounds and by what the
    functions close over. Of constraints that hold with equality, those that push are kept as
    equations in a derivative.

    Parameters
    ----------
    fun : callable
        `fun(x, *args)` returns a real number.
    x0 : pytree
        Where the solver starts: numbers and arrays of a floating or complex dtype (a complex one
        counts as two real unknowns); the derivative by it is zero.
    args : tuple, default ()
        Further arguments of the functions; what is no tuple is the only one.
    equality : callable, optional
        `equality(x, *args)`, a tree of arrays that must be zero.
    inequality : callable, optional
        `inequality(x, *args)`, a tree of arrays that must not be negative.
    bounds : tuple, optional
        `(lower, upper)`, each None, a number, or a tree like x.
    solver : str or callable, optional
        None chooses Newton's method for a free minimum of up to 400 unknowns, SciPy's L-BFGS-B for
        a larger one and with bounds, SLSQP with other constraints; or a method of
        `scipy.optimize.minimize`; or `solver(fun, x0)`, which gets fun as a function of x alone
        (and constraints, if there are any, in its own closure). What a named method finds is made
        exact by Newton's method.
    multipliers : bool, default False
        Whether to return the multipliers too.
    tol : float, optional
        The residual of the conditions that is allowed, as in `root`.
    linear_solver : str or callable, default "auto"
        As in `root`, for the Hessian of fun, or of the Lagrangian.
    preconditioner : callable, optional
        As in `root`.
    linear_tol : float, optional
        As in `root`.
    maxiter : int, optional
        As in `root`.
    progress : bool or type, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm. A function for a solver shows none.

    Returns
    -------
    x : pytree
        The minimum, with the containers, shapes and dtypes of x0.
    multipliers : Multipliers
        The derivatives of the minimum by what the conditions are equal to, or above; only with
        `multipliers`.

    Raises
    ------
    ConvergenceError
        If the conditions of a minimum do not hold.
    NotDifferentiableError
        If, in a derivative, a constraint holds with equality but does not push, as the solution
        has a kink there; or the Hessian is singular.
    InputError
        For bounds of another form, or unknowns that are not of a floating or complex dtype.
    RuleError
        If a function depends on a traced value that is neither in `args` nor in its closure.
    ImportError
        If the method is SciPy's, and SciPy is missing.

    See Also
    --------
    tapegrad.optimize.minimize : The same with all of SciPy's options, and with what was found.

    Notes
    -----
    The conditions are those of W. Karush, H. Kuhn and A. Tucker; their derivative is that of the
    implicit function theorem.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> def nearest(center):  # the nearest point on the line x + y = 1
    ...     distance = lambda x: np.sum((x - center) ** 2)
    ...     return argmin(distance, np.zeros(2), equality=lambda x: np.sum(x) - 1)
    >>> tapegrad.jacobian(nearest)(np.array([1.0, 1.0]))
    array([[ 0.5, -0.5],
           [-0.5,  0.5]])
    """
    call = f"implicit.argmin({name_of(fun)})"
    minimisation = Minimisation(fun, equality, inequality)
    free = bounds is None and not minimisation.constrained
    system = LinearSolver(
        call,
        linear_solver,
        symmetric=free,
        preconditioner=preconditioner,
        tol=linear_tol,
        maxiter=maxiter,
    )

    def find(functions: list[Any], limits: Any, x0: Any) -> Any:
        if callable(solver):
            return solver(functions[0], x0)
        with Bar(call, progress) as bar:
            return _minimum(call, system, solver, functions, limits, x0, bar)

    x, found = minimum_of(
        minimisation,
        x0,
        full_bounds(call, x0, bounds),
        as_args(args),
        find,
        system,
        tol=tol,
        polish=not (callable(solver) and free),
    )
    return (x, found) if multipliers else x


def minimum_of(
    minimisation: Minimisation,
    x0: Any,
    limits: Any,
    args: tuple[Any, ...],
    find: Callable[..., Any],
    system: LinearSolver,
    *,
    tol: float | None = None,
    polish: bool = True,
    with_args: bool = False,
) -> tuple[Any, Multipliers]:
    """The minimum that `find(functions, limits, x0)` finds of plain values, and its multipliers.

    limits: None, or lower and upper bounds as trees like x0. polish: whether Newton's method makes
    what was found exact. with_args: whether find gets args too.
    """
    call = system.call

    def solve(z0: Any, given: tuple[Any, ...]) -> Any:
        limits, args, values = given
        functions = minimisation.functions(values, args)
        x0 = z0[0] if minimisation.constrained else z0
        x = find(functions, limits, x0, args) if with_args else find(functions, limits, x0)
        z = x
        if minimisation.constrained:
            z = (x, *start_of_multipliers(functions, limits, x))
        if not polish:
            return z
        exact = polished(problem, z, given, 20)
        if limits is None and not minimisation.constrained and _rises(functions[0], z, exact):
            return z  # Newton's method went to a saddle or a maximum
        return exact

    z0 = _with_multipliers(minimisation, call, x0, args)
    problem = Problem(
        call,
        minimisation.residual,
        solve,
        system,
        tol=tol,
        weak=minimisation.weakness if minimisation.constrained or limits is not None else None,
        like=z0,
    )
    z = problem.solve(z0, (limits, args, minimisation.values))
    if minimisation.constrained:
        return z[0], Multipliers(z[1], z[2])
    return z, Multipliers(np.zeros(0), np.zeros(0))


def _minimum(
    call: str,
    system: LinearSolver,
    solver: str | None,
    functions: list[Any],
    bounds: Any,
    x0: Any,
    bar: Bar,
) -> Any:
    """A plain minimum by the method that was chosen."""
    fun = functions[0]
    constrained = any(function is not None for function in functions[1:])
    small = system.is_dense(Unknowns(call, x0).size)
    if solver is None:
        solver = "SLSQP" if constrained else "L-BFGS-B"
        if bounds is None and not constrained and small:
            solver = "newton"
    if solver == "newton":
        return _newton_minimum(call, fun, x0, bar)
    return _scipys_minimum(call, solver, functions, bounds, x0, bar)


__all__ = [
    "Minimisation",
    "Multipliers",
    "argmin",
    "full_bounds",
    "minimum_of",
    "ordered",
    "start_of_multipliers",
]
