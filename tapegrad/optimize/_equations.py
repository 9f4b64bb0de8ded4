"""root and root_scalar: SciPy's on trees, with exact derivatives, differentiable themselves."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from tapegrad import implicit
from tapegrad._core.types import Function, Value
from tapegrad._core.values import in_trace
from tapegrad._errors import InputError, ShapeMismatchError, message, name_of
from tapegrad._progress import Bar, Progress
from tapegrad._transforms.foreign_names import explaining
from tapegrad._transforms.reverse import grad
from tapegrad._transforms.tracebacks import folding
from tapegrad._tree import flatten
from tapegrad.implicit._closures import Lifted
from tapegrad.implicit._roots import as_args
from tapegrad.implicit._systems import plain, scipy_optimize
from tapegrad.optimize._minimize import no_covariance
from tapegrad.optimize._objective import Residuals
from tapegrad.optimize._parameters import Parameters, as_start
from tapegrad.optimize._result import Result
from tapegrad.optimize._watching import watched

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")


EXACT = ("hybr", "lm")  # methods that take a Jacobian
OTHERS = (
    *("broyden1", "broyden2", "anderson", "linearmixing", "diagbroyden", "excitingmixing"),
    *("krylov", "df-sane"),
)


@overload
def root(
    fun: Function,
    x0: list[float] | NDArray[np.integer[Any]],
    args: Any = (),
    method: str = "hybr",
    *,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    callback: Callable[[Any], Any] | None = None,
    progress: Progress = None,
) -> Result[NDArray[np.float64]]: ...
@overload
def root(
    fun: Function,
    x0: int,
    args: Any = (),
    method: str = "hybr",
    *,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    callback: Callable[[Any], Any] | None = None,
    progress: Progress = None,
) -> Result[float]: ...
@overload
def root(
    fun: Function,
    x0: T,
    args: Any = (),
    method: str = "hybr",
    *,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    callback: Callable[[Any], Any] | None = None,
    progress: Progress = None,
) -> Result[T]: ...
@folding
@explaining(jac="leave it away: fun returns the residuals alone, and their Jacobian is made")
def root(
    fun: Function,
    x0: Any,
    args: Any = (),
    method: str = "hybr",
    *,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    callback: Callable[[Any], Any] | None = None,
    progress: Progress = None,
) -> Result[Any]:
    """A root of equations by `scipy.optimize.root`, with the exact Jacobian.

    The result can be differentiated as that of `tapegrad.implicit.root`.

    Parameters
    ----------
    fun : callable
        `fun(x, *args)` returns what is to be zero: as many numbers as x has, in any containers.
        For "lm" they may be more.
    x0 : pytree
        Where to start, as in `minimize`.
    args : tuple, default ()
        Further arguments of fun; what is no tuple is the only one.
    method : str, default "hybr"
        A method of SciPy's: "hybr" and "lm" take the Jacobian; "krylov", "broyden1" and others do
        without.
    tol : float, optional
        As in SciPy.
    options : dict, optional
        As in SciPy.
    callback : callable, optional
        Gets the tree after each iteration; not for "hybr" and "lm".
    progress : bool or type, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm.

    Returns
    -------
    Result
        The root as `x`, and the residuals there as `fun`; `grad` is None.

    Raises
    ------
    ImportError
        If SciPy is missing.
    InputError
        If the method is unknown, or no unknown is of a floating or complex dtype.
    ShapeMismatchError
        If there are not as many equations as unknowns.
    ConvergenceError
        If what was found is no root, where it is to be differentiated.

    See Also
    --------
    tapegrad.implicit.root : The root alone, and what else is raised in derivatives.
    root_scalar : One unknown.

    Examples
    --------
    >>> from tapegrad import optimize
    >>> def circle_and_line(p):
    ...     return p["x"] ** 2 + p["y"] ** 2 - 2, p["x"] - p["y"]
    >>> found = optimize.root(circle_and_line, {"x": 2.0, "y": 0.5})
    >>> round(float(found.x["x"]), 9), round(float(found.x["y"]), 9)
    (1.0, 1.0)
    """
    call = f"optimize.root({name_of(fun)})"
    x0, args = as_start(x0), as_args(args)
    if method not in (*EXACT, *OTHERS):
        known = ", ".join((*EXACT, *OTHERS))
        raise InputError(message(call, f"a method of {known}", repr(method), "Leave it away"))
    parameters = Parameters(call, x0)

    def run(fun: Function, parameters: Parameters, args: tuple[Any, ...]) -> Result[Any]:
        return _run(call, fun, parameters, args, method, tol, options, callback, progress)

    if not any(map(in_trace, flatten((x0, args))[0])) and not Lifted(fun).values:
        return run(fun, parameters, args)
    kept: list[Result[Any]] = []

    def of_free(free: list[Any], *args: Any) -> Any:
        return fun(parameters.whole(free), *args)

    def solver(inner: Function, free: list[Any]) -> Any:
        kept[:] = [run(inner, Parameters(call, free), ())]
        found = kept[0].x
        # SciPy's methods stop at a residual of 1e-6 or so, whose derivative is that much off.
        return implicit.root(inner, found) if kept[0].success else found

    of_free.__name__ = name_of(fun)
    free = implicit.root(of_free, parameters.free, args, solver=solver)
    found = kept[0]
    found.x = parameters.whole(free)
    found.fun = fun(found.x, *args)
    found.curvature = no_covariance(call)
    return found


def _run(
    call: str,
    fun: Function,
    parameters: Parameters,
    args: tuple[Any, ...],
    method: str,
    tol: float | None,
    options: dict[str, Any] | None,
    callback: Callable[[Any], Any] | None,
    progress: Progress,
) -> Result[Any]:
    """A root of plain values, by SciPy."""
    residuals = Residuals(call, fun, args, parameters)
    start = parameters.vector(parameters.whole(parameters.free))
    count = residuals.values(start).size
    if count != start.size and method != "lm":
        raise ShapeMismatchError(
            message(
                call,
                f"as many equations as unknowns, {start.size}",
                str(count),
                'More equations than unknowns are for method="lm" or optimize.least_squares',
            )
        )
    given: dict[str, Any] = {"jac": residuals.jacobian} if method in EXACT else {}
    if callback is not None and method not in EXACT:
        given["callback"] = lambda v, *_: callback(parameters.tree(v))
    with Bar(call, progress) as bar:
        runs = watched(bar, residuals.values)
        raw = scipy_optimize(call).root(
            runs, start, method=method, tol=tol, options=options, **given
        )
    x = np.array(raw.x, float)
    return Result(
        x=parameters.tree(x),
        fun=fun(parameters.tree(x), *args),
        grad=None,
        success=bool(raw.success),
        message=str(raw.message),
        nit=raw.get("nit"),
        nfev=int(raw.get("nfev", residuals.runs)),
        njev=int(raw.get("njev", 0)),
        nhev=0,
        runs=residuals.runs,
        raw=raw,
        parameters=parameters,
        curvature=no_covariance(call),
    )


@folding
def root_scalar(
    f: Function,
    args: Any = (),
    method: str | None = None,
    *,
    bracket: tuple[float, float] | None = None,
    x0: Any = None,
    x1: Any = None,
    xtol: float | None = None,
    rtol: float | None = None,
    maxiter: int | None = None,
    options: dict[str, Any] | None = None,
    progress: Progress = None,
) -> Result[Any]:
    """A root of one equation by `scipy.optimize.root_scalar`, with exact derivatives.

    The result can be differentiated as that of `root`.

    Parameters
    ----------
    f : callable
        `f(x, *args)` returns one number.
    args : tuple, default ()
        Further arguments of f; what is no tuple is the only one.
    method : str, optional
        By default "brentq" between the ends of a bracket, else "newton" from x0. "halley" takes
        the second derivative too, "bisect", "brenth", "ridder" and "toms748" a bracket, "secant"
        x0 and x1.
    bracket : tuple of float, optional
        `(low, high)`, plain numbers between whose values f changes sign.
    x0, x1 : float, optional
        Where to start.
    xtol, rtol : float, optional
        As in SciPy.
    maxiter : int, optional
        As in SciPy.
    options : dict, optional
        As in SciPy.
    progress : bool or type, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm.

    Returns
    -------
    Result
        The root as `x`, a float64, and the value there as `fun`; `grad` is None.

    Raises
    ------
    ImportError
        If SciPy is missing.
    InputError
        If neither bracket nor x0 is given, or the bracket is traced.
    ShapeMismatchError
        If f returns more than one number.

    See Also
    --------
    root : Several unknowns, and what is raised inside a transform.

    Examples
    --------
    >>> from tapegrad import optimize
    >>> float(optimize.root_scalar(lambda x: x**3 - 8, bracket=(0, 5)).x).__round__(9)
    2.0
    """
    call = f"optimize.root_scalar({name_of(f)})"
    args = as_args(args)
    if bracket is None and x0 is None:
        raise InputError(
            message(call, "bracket=(low, high), or x0", "neither", "Pass where to look")
        )
    if any(map(in_trace, flatten(bracket)[0])):
        raise InputError(
            message(
                call,
                "bracket=(low, high) of plain numbers: the root does not move with it",
                "a traced value",
                "Pass float(tapegrad.stop_gradient(low)), or x0, which may be traced",
            )
        )
    method = method or ("brentq" if bracket is not None else "newton")
    given = {"bracket": bracket, "x1": x1, "xtol": xtol, "rtol": rtol, "maxiter": maxiter}

    def run(f: Function, start: Any) -> Result[Any]:
        runs = [0]

        def counted(g: Function) -> Function:
            def of(x: float) -> float:
                runs[0] += 1
                return float(plain(call, g(x)))

            return of

        slope = grad(f)
        derivatives: dict[str, Any] = {}
        if method in ("newton", "halley"):
            derivatives["fprime"] = counted(slope)
        if method == "halley":
            derivatives["fprime2"] = counted(grad(slope))
        with Bar(call, progress) as bar:
            steps = watched(bar, counted(f))
            raw = scipy_optimize(call).root_scalar(
                steps, method=method, x0=start, options=options, **given, **derivatives
            )
        return Result(
            x=np.float64(raw.root),
            fun=np.float64(f(np.float64(raw.root))),
            grad=None,
            success=bool(raw.converged),
            message=str(raw.flag),
            nit=int(raw.iterations),
            nfev=int(raw.function_calls),
            njev=0,
            nhev=0,
            runs=runs[0],
            raw=raw,
            curvature=no_covariance(call),
        )

    start = None if x0 is None else x0 * 1.0

    if not any(map(in_trace, flatten((x0, args))[0])) and not Lifted(f).values:
        return run(lambda x: _number(call, f(x, *args)), start)
    kept: list[Result[Any]] = []

    def solver(inner: Function, x: Any) -> Any:
        kept[:] = [run(inner, None if start is None else float(x))]
        return kept[0].x

    def of(x: Value, *args: Any) -> Any:
        return _number(call, f(x, *args))

    first = sum(bracket) / 2 if start is None and bracket is not None else start
    x = implicit.root(of, first, args, solver=solver)
    found = kept[0]
    found.x, found.fun = x, f(x, *args)
    return found


def _number(call: str, value: Value) -> Any:
    if getattr(value, "size", 1) != 1:
        raise ShapeMismatchError(
            message(call, "a function that returns one number", f"{value.size}", "See root")
        )
    return np.reshape(value, ()) if getattr(value, "shape", ()) else value


__all__ = ["root", "root_scalar"]
