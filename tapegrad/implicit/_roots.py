"""Roots and fixed points: their solvers, and solvers of the user's own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad._core.values import in_trace, untraced
from tapegrad._errors import InputError, RuleError, message, name_of
from tapegrad._progress import Bar, Progress
from tapegrad._transforms.forward import linearize
from tapegrad._transforms.jacobians import jacfwd
from tapegrad._transforms.tracebacks import folding
from tapegrad._tree import flatten, tree_map
from tapegrad.implicit._closures import Lifted
from tapegrad.implicit._solvers import anderson, newton
from tapegrad.implicit._systems import (
    FALLBACK,
    ConvergenceError,
    LinearSolver,
    closes_over,
    scipy_optimize,
)
from tapegrad.implicit._theorem import Problem
from tapegrad.implicit._unknowns import as_vector

T = TypeVar("T")

SCIPYS = ("hybr", "lm", "broyden1", "broyden2", "anderson", "krylov", "df-sane")


def as_args(args: Any) -> tuple[Any, ...]:
    """The further arguments of a function, which may be one that is not in a tuple."""
    return args if isinstance(args, tuple) and type(args) is tuple else (args,)


def _flat(problem: Problem, args: tuple[Any, ...]) -> Callable[[Value], Any]:
    """The residual of plain vectors; a RuleError for what it closes over."""
    assert problem.unknowns is not None
    unknowns = problem.unknowns

    def residual(v: Value) -> Any:
        return as_vector(problem.residual(unknowns.tree(v), *args))

    return residual


def plain_residual(problem: Problem, args: tuple[Any, ...]) -> Callable[[Any], Any]:
    """The same for plain vectors alone: a RuleError for what the function closes over."""
    residual = _flat(problem, args)

    def checked(v: Any) -> Any:
        out = residual(v)
        if in_trace(out):
            raise closes_over(problem.call, "a function of the equations")
        return out

    return checked


def newton_step(problem: Problem, args: tuple[Any, ...]) -> Callable[[Any, Any], Any]:
    """The step of Newton's method; where the Jacobian is singular, that of least squares."""
    residual = _flat(problem, args)
    linear = problem.linear_solver
    unknowns = problem.unknowns
    assert unknowns is not None

    def dense(v: Any, left: Any) -> Any:
        matrix = jacfwd(residual)(v)
        try:
            return -np.linalg.solve(matrix, left)
        except np.linalg.LinAlgError:
            return -np.linalg.lstsq(matrix, left, rcond=None)[0]

    def step(v: Any, left: Any) -> Any:
        if linear.is_dense(v.size):
            return dense(v, left)
        push = linearize(residual, v)[1]
        try:
            return -linear.solve(
                lambda u: push(u.astype(v.dtype)), left, False, unknowns.tree, unknowns.vector
            )
        except ConvergenceError:
            if linear.method != "auto" or v.size > FALLBACK:
                raise
            return dense(v, left)

    return step


def _newton(problem: Problem, x0: Any, args: tuple[Any, ...], bar: Bar, *, most: int = 100) -> Any:
    assert problem.unknowns is not None
    start = np.asarray(problem.unknowns.vector(x0))
    residual, step = plain_residual(problem, args), newton_step(problem, args)
    found = newton(residual, step, start, most=most, bar=bar)
    return problem.unknowns.tree(found)


def _scipys(problem: Problem, method: str, x0: Any, args: tuple[Any, ...], bar: Bar) -> Any:
    """A root by a method of SciPy's with the exact Jacobian, improved by Newton's method."""
    assert problem.unknowns is not None
    unknowns, residual = problem.unknowns, _flat(problem, args)
    plain = plain_residual(problem, args)
    exact = {"jac": jacfwd(residual)} if method in ("hybr", "lm") else {}
    start = np.asarray(unknowns.vector(x0))

    def counted(v: Any) -> Any:
        bar.step()
        return plain(v)

    found = scipy_optimize(problem.call).root(counted, start, method=method, **exact)
    return _newton(problem, unknowns.tree(found.x.astype(start.dtype)), args, bar, most=3)


def _choice(call: str, solver: Any, own: dict[str, Function], theirs: tuple[str, ...]) -> Any:
    """The solver of a name, `(problem, x0, args, bar) -> x`; or None, where the user gave one."""
    if callable(solver):
        return None
    if solver in own:
        return own[solver]
    if solver in theirs:
        return lambda problem, x0, args, bar: _scipys(problem, solver, x0, args, bar)
    known = ", ".join(map(repr, (*own, *theirs)))
    raise InputError(
        message(call, f"a solver of {known}, or a function", repr(solver), "Leave it away")
    )


@folding
def root(
    fun: Function,
    x0: T,
    args: Any = (),
    *,
    solver: str | Function = "newton",
    tol: float | None = None,
    linear_solver: str | Function = "auto",
    symmetric: bool = False,
    preconditioner: Function | None = None,
    linear_tol: float | None = None,
    maxiter: int | None = None,
    progress: Progress = None,
) -> T:
    """A root of equations, as a differentiable function of their parameters.

    It is differentiable by args and by what fun closes over, inside grad, jvp, vmap and compile,
    to any order.

    Parameters
    ----------
    fun : callable
        `fun(x, *args)` returns what is to be zero: as many numbers as x has, in any containers.
    x0 : pytree
        Where the solver starts: numbers and arrays of a floating or complex dtype; the derivative
        by it is zero.
    args : tuple, default ()
        Further arguments of fun, trees; what is no tuple is the only one.
    solver : str or callable, default "newton"
        "newton" (with halved steps), a method of `scipy.optimize.root` ("hybr", "lm", "broyden1",
        "broyden2", "anderson", "krylov", "df-sane"), or a function `solver(fun, x0)` that gets fun
        as a function of x alone. It runs on plain values, so it may be any program.
    tol : float, optional
        The residual that is allowed, relative to what fun changes by if x and args do by their own
        size; by default eps^0.4 (5e-7 in float64).
    linear_solver : str or callable, default "auto"
        How derivatives solve systems of the Jacobian at the root: "auto" (the matrix itself up to
        400 unknowns, then GMRES, or CG where symmetric), "lu", "cg", "gmres", "bicgstab", "minres"
        (by products with vectors; SciPy's), or a function `(matvec, b) -> x` of trees like x.
    symmetric : bool, default False
        Whether that Jacobian is its own transpose.
    preconditioner : callable, optional
        A linear function of trees like x that about undoes the Jacobian.
    linear_tol : float, optional
        The residual that an iteration may leave; see `solve`.
    maxiter : int, optional
        How long such an iteration may run; see `solve`.
    progress : bool or type, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm. A function for a solver shows none.

    Returns
    -------
    pytree
        The x with `fun(x, *args) = 0`, with the containers, shapes and dtypes of x0.

    Raises
    ------
    ConvergenceError
        If the residual is not small.
    NotDifferentiableError
        If, in a derivative, the Jacobian is singular.
    InputError
        If a solver is unknown, or x0 is not of a floating or complex dtype.
    ShapeMismatchError
        If there are not as many equations as unknowns.
    RuleError
        If fun depends on a traced value that is neither in `args` nor in its closure.
    ImportError
        If a solver is SciPy's, and SciPy is missing.

    See Also
    --------
    custom_root : Derivatives for a solver of your own.
    fixed_point : Equations of the form fun(x) = x.
    tapegrad.optimize.root : SciPy's options, and how it was found.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> def side(area):
    ...     return root(lambda x: x * x - area, 1.0)
    >>> float(side(9.0)), float(tapegrad.grad(side)(9.0))
    (3.0, 0.16666666666666666)
    """
    call = f"implicit.root({name_of(fun)})"
    chosen = _choice(call, solver, {"newton": _newton}, SCIPYS)
    system = LinearSolver(
        call,
        linear_solver,
        symmetric=symmetric,
        preconditioner=preconditioner,
        tol=linear_tol,
        maxiter=maxiter,
    )
    lifted = Lifted(fun)

    def residual(x: Any, args: tuple[Any, ...], values: list[Any]) -> Any:
        return lifted.with_values(values)(x, *args)

    def find(x0: Any, given: tuple[Any, ...]) -> Any:
        if chosen is None:
            args, values = given
            inner = lifted.with_values(values)
            assert callable(solver)
            return solver(lambda x: inner(x, *args), x0)
        with Bar(call, progress) as bar:
            return chosen(problem, x0, given, bar)

    problem = Problem(call, residual, find, system, tol=tol, like=x0)
    return problem.solve(x0, (as_args(args), lifted.values))


def _iterated(problem: Problem, x0: Any, args: tuple[Any, ...], bar: Bar, *, depth: int) -> Any:
    assert problem.unknowns is not None
    residual = plain_residual(problem, args)
    start = np.asarray(problem.unknowns.vector(x0))
    found = anderson(lambda v: v + residual(v), start, depth=depth, bar=bar)
    return problem.unknowns.tree(found)


@folding
def fixed_point(
    fun: Function,
    x0: T,
    args: Any = (),
    *,
    solver: str | Function = "anderson",
    tol: float | None = None,
    linear_solver: str | Function = "auto",
    preconditioner: Function | None = None,
    linear_tol: float | None = None,
    maxiter: int | None = None,
    progress: Progress = None,
) -> T:
    """A fixed point of a function, as a differentiable function of its parameters.

    It is differentiable by args and by what fun closes over. What is raised is as in `root`, of
    fun(x) - x.

    Parameters
    ----------
    fun : callable
        `fun(x, *args)` returns a tree like x.
    x0 : pytree
        Where the solver starts, as in `root`.
    args : tuple, default ()
        Further arguments of fun, trees; what is no tuple is the only one.
    solver : str or callable, default "anderson"
        "anderson" (accelerated iteration), "iterate" (x = fun(x), up to 1000 times), "newton", or
        a function `solver(fun, x0)`.
    tol : float, optional
        The residual that is allowed, as in `root`.
    linear_solver : str or callable, default "auto"
        As in `root`.
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
    pytree
        The x with `fun(x, *args) = x`, with the containers, shapes and dtypes of x0.

    See Also
    --------
    custom_fixed_point : Derivatives for a solver of your own.
    root : Equations of the form fun(x) = 0.

    Notes
    -----
    H. Walker, P. Ni (2011), Anderson acceleration for fixed-point iterations, SIAM J. Numer. Anal.
    49, equation (2.2).

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> def dottie(a):
    ...     return fixed_point(lambda x: np.cos(a * x), 0.5)
    >>> float(dottie(1.0)).__round__(6), float(tapegrad.grad(dottie)(1.0)).__round__(6)
    (0.739085, -0.297474)
    """
    call = f"implicit.fixed_point({name_of(fun)})"
    own: dict[str, Function] = {
        "anderson": functools.partial(_iterated, depth=5),
        "iterate": functools.partial(_iterated, depth=0),
        "newton": _newton,
    }
    chosen = _choice(call, solver, own, ())
    system = LinearSolver(
        call, linear_solver, preconditioner=preconditioner, tol=linear_tol, maxiter=maxiter
    )
    lifted = Lifted(fun)

    def residual(x: Any, args: tuple[Any, ...], values: list[Any]) -> Any:
        return tree_map(lambda image, x: image - x, lifted.with_values(values)(x, *args), x)

    def find(x0: Any, given: tuple[Any, ...]) -> Any:
        if chosen is None:
            args, values = given
            inner = lifted.with_values(values)
            assert callable(solver)
            return solver(lambda x: inner(x, *args), x0)
        with Bar(call, progress) as bar:
            return chosen(problem, x0, given, bar)

    problem = Problem(call, residual, find, system, tol=tol, like=x0)
    return problem.solve(x0, (as_args(args), lifted.values))


def custom_root(
    optimality: Function,
    *,
    has_aux: bool = False,
    tol: float | None = None,
    linear_solver: str | Function = "auto",
    symmetric: bool = False,
    preconditioner: Function | None = None,
    linear_tol: float | None = None,
    maxiter: int | None = None,
) -> Callable[[Function], Function]:
    """A decorator that gives a solver of roots its derivatives.

    The solver is called as `solver(x0, *params)` and returns x, or `(x, aux)`; x0 may be None. It
    runs on plain values, so it may be any program. Its result is differentiable by params, and by
    what `optimality` closes over; what is raised is as in `root`.

    Parameters
    ----------
    optimality : callable
        `optimality(x, *params)` returns what is zero at the solution: as many numbers as x has.
    has_aux : bool, default False
        Whether the solver returns `(x, aux)`. aux has no derivative, and is refused inside vmap
        and compile (RuleError).
    tol : float, optional
        The residual that is allowed, as in `root`.
    linear_solver : str or callable, default "auto"
        As in `root`.
    symmetric : bool, default False
        As in `root`.
    preconditioner : callable, optional
        As in `root`.
    linear_tol : float, optional
        As in `root`.
    maxiter : int, optional
        As in `root`.

    Returns
    -------
    callable
        The decorator: it takes the solver, and returns one that is called in the same way.

    See Also
    --------
    custom_fixed_point : The same for fixed points.

    Notes
    -----
    M. Blondel et al. (2022), Efficient and modular implicit differentiation, NeurIPS 35.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> def ridge_gradient(w, penalty, X, y):
    ...     return X.T @ (X @ w - y) + penalty * w
    >>> @custom_root(ridge_gradient, symmetric=True)
    ... def ridge(w0, penalty, X, y):
    ...     return np.linalg.solve(X.T @ X + penalty * np.eye(X.shape[1]), X.T @ y)
    >>> X, y = np.eye(2), np.array([1.0, 2.0])
    >>> tapegrad.jacobian(ridge, 1)(None, 1.0, X, y)
    array([-0.25, -0.5 ])
    """

    def residual_of(function: Function, x: Any, params: tuple[Any, ...]) -> Any:
        return function(x, *params)

    options = {
        "symmetric": symmetric,
        "preconditioner": preconditioner,
        "tol": linear_tol,
        "maxiter": maxiter,
    }
    return _decorator("custom_root", optimality, residual_of, linear_solver, options, tol, has_aux)


def custom_fixed_point(
    function: Function,
    *,
    has_aux: bool = False,
    tol: float | None = None,
    linear_solver: str | Function = "auto",
    preconditioner: Function | None = None,
    linear_tol: float | None = None,
    maxiter: int | None = None,
) -> Callable[[Function], Function]:
    """A decorator that gives a solver of fixed points its derivatives.

    It is `custom_root` for equations of this form.

    Parameters
    ----------
    function : callable
        `function(x, *params)` returns a tree like x, and x itself at the solution.
    has_aux : bool, default False
        As in `custom_root`.
    tol : float, optional
        The residual that is allowed, as in `root`.
    linear_solver : str or callable, default "auto"
        As in `root`.
    preconditioner : callable, optional
        As in `root`.
    linear_tol : float, optional
        As in `root`.
    maxiter : int, optional
        As in `root`.

    Returns
    -------
    callable
        The decorator: it takes the solver, and returns one that is called in the same way.

    See Also
    --------
    custom_root : What the solver is, and what is raised.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> @custom_fixed_point(lambda x, a: (x + a / x) / 2)
    ... def heron(x, a):
    ...     for _ in range(20):
    ...         x = (x + a / x) / 2
    ...     return x
    >>> float(tapegrad.grad(heron, 1)(1.0, 4.0))
    0.25
    """

    def residual_of(function: Function, x: Any, params: tuple[Any, ...]) -> Any:
        return tree_map(lambda image, x: image - x, function(x, *params), x)

    options = {"preconditioner": preconditioner, "tol": linear_tol, "maxiter": maxiter}
    return _decorator(
        "custom_fixed_point", function, residual_of, linear_solver, options, tol, has_aux
    )


def _decorator(
    word: str,
    function: Function,
    residual_of: Callable[[Function, Any, tuple[Any, ...]], Any],
    linear_solver: str | Function,
    options: dict[str, Any],
    tol: float | None,
    has_aux: bool,
) -> Callable[[Function], Function]:
    """The decorator of a solver, of which `residual_of` makes the equations."""

    def decorate(solver: Function) -> Function:
        call = f"{word}({name_of(solver)})"
        system = LinearSolver(call, linear_solver, **options)

        @functools.wraps(solver)
        def solved(x0: Any, *params: Any) -> Any:
            conditions, own = Lifted(function), Lifted(solver)
            kept: list[Any] = []

            def residual(
                x: Any, params: tuple[Any, ...], values: list[Any], _own: list[Any]
            ) -> Any:
                return residual_of(conditions.with_values(values), x, params)

            def find(x0: Any, given: tuple[Any, ...]) -> Any:
                params, _, values = given
                out = own.with_values(values)(x0, *params)
                if not has_aux:
                    return out
                if not isinstance(out, tuple) or len(out) != 2:
                    raise RuleError(
                        message(call, "(x, aux), for has_aux=True", repr(out), "Return both")
                    )
                kept[:] = [out[1]]
                return out[0]

            problem = Problem(call, residual, find, system, tol=tol)
            given = (params, conditions.values, own.values)
            if has_aux and any(map(_is_mapped, flatten((x0, given))[0])):
                raise RuleError(
                    f"{call}: what it returns beside x (has_aux=True) is plain, which vmap and "
                    "compile cannot map or record. Leave it away there."
                )
            x = problem.solve(x0, given)
            return (x, kept[0]) if has_aux else x

        return solved

    return decorate


def _is_mapped(x: Any) -> bool:
    plain = untraced(x)
    return in_trace(plain)


__all__ = [
    "as_args",
    "custom_fixed_point",
    "custom_root",
    "fixed_point",
    "newton_step",
    "plain_residual",
    "root",
]
