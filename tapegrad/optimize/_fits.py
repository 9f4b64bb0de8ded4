"""least_squares and curve_fit: SciPy's on trees, with exact Jacobians and derivatives."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, overload

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad._core.values import in_trace, is_array
from tapegrad._errors import (
    InputError,
    NotDifferentiableError,
    ShapeMismatchError,
    describe,
    message,
    name_of,
)
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
from tapegrad.optimize._constraints import bounds_of
from tapegrad.optimize._covariance import Curvature
from tapegrad.optimize._minimize import no_covariance
from tapegrad.optimize._objective import Residuals
from tapegrad.optimize._parameters import Parameters, as_start
from tapegrad.optimize._result import CurveFit, Result
from tapegrad.optimize._watching import Watch, watched

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")


LOSSES: dict[str, Callable[[Value], Any]] = {
    "linear": lambda z: z,
    "soft_l1": lambda z: 2 * (np.sqrt(1 + z) - 1),
    "huber": lambda z: np.where(z <= 1, z, 2 * np.sqrt(np.where(z <= 1, 1.0, z)) - 1),
    "cauchy": np.log1p,
    "arctan": np.arctan,
}
DENSE = 500  # parameters up to which a Jacobian is a matrix


@overload
def least_squares(
    fun: Function,
    x0: list[float] | NDArray[np.integer[Any]],
    args: Any = (),
    *,
    method: str | None = None,
    bounds: Any = None,
    jac: str = "auto",
    loss: str | Callable[[Value], Any] = "linear",
    f_scale: float = 1.0,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    callback: Callable[[Any], Any] | None = None,
    progress: Progress = None,
) -> Result[NDArray[np.float64]]: ...
@overload
def least_squares(
    fun: Function,
    x0: int,
    args: Any = (),
    *,
    method: str | None = None,
    bounds: Any = None,
    jac: str = "auto",
    loss: str | Callable[[Value], Any] = "linear",
    f_scale: float = 1.0,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    callback: Callable[[Any], Any] | None = None,
    progress: Progress = None,
) -> Result[float]: ...
@overload
def least_squares(
    fun: Function,
    x0: T,
    args: Any = (),
    *,
    method: str | None = None,
    bounds: Any = None,
    jac: str = "auto",
    loss: str | Callable[[Value], Any] = "linear",
    f_scale: float = 1.0,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    callback: Callable[[Any], Any] | None = None,
    progress: Progress = None,
) -> Result[T]: ...
@folding
def least_squares(
    fun: Function,
    x0: Any,
    args: Any = (),
    *,
    method: str | None = None,
    bounds: Any = None,
    jac: str = "auto",
    loss: str | Callable[[Value], Any] = "linear",
    f_scale: float = 1.0,
    tol: float | None = None,
    options: dict[str, Any] | None = None,
    callback: Callable[[Any], Any] | None = None,
    progress: Progress = None,
) -> Result[Any]:
    """The least sum of squares of a function, by `scipy.optimize.least_squares`.

    Like that of `minimize`, the result can be differentiated.

    Parameters
    ----------
    fun : callable
        `fun(x, *args)` returns the residuals, a tree of arrays.
    x0 : pytree
        Where to start, as in `minimize`.
    args : tuple, default ()
        Further arguments of fun; what is no tuple is the only one.
    method : {"trf", "dogbox", "lm"}, optional
        A method of SciPy's; "trf" by default. "lm" takes no bounds.
    bounds : tuple, list or Bounds, optional
        As in `minimize`.
    jac : {"auto", "dense", "sparse", "products"}, default "auto"
        The form of the Jacobian: a matrix, a sparse matrix (see `tapegrad.sparse`) or a
        LinearOperator, the last two for "trf" and "dogbox". "auto" is dense up to 500 parameters
        and for "lm", else sparse.
    loss : str or callable, default "linear"
        A loss of SciPy's ("linear", "soft_l1", "huber", "cauchy", "arctan"), or a function of the
        squares of the scaled residuals.
    f_scale : float, default 1.0
        What residuals are divided by before the loss, as in SciPy.
    tol : float, optional
        For SciPy's ftol, xtol and gtol.
    options : dict, optional
        Further arguments of SciPy's function.
    callback : callable, optional
        Gets the tree after each iteration; True stops. Needs SciPy 1.16; not for "lm".
    progress : bool or type, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm.

    Returns
    -------
    Result
        In it `fun` holds the residuals in one vector, `grad` the gradient of half the sum of
        squares (or of losses), and `covariance` is that of `curve_fit` without sigma.

    Raises
    ------
    ImportError
        If SciPy is missing.
    InputError
        If loss or jac is none of these, or no parameter is of a floating or complex dtype.
    OutputError
        If fun returns no residuals.
    NotDifferentiableError
        If f_scale, or what loss closes over, is traced.

    See Also
    --------
    curve_fit : Of a model to data.
    minimize : Any function, and what is raised inside a transform.

    Examples
    --------
    >>> from tapegrad import optimize
    >>> t = np.linspace(0, 1, 5)
    >>> def residuals(p, y):
    ...     return p["a"] * np.exp(-p["k"] * t) - y
    >>> found = optimize.least_squares(residuals, {"a": 1.0, "k": 1.0}, 2 * np.exp(-3 * t))
    >>> round(float(found.x["a"]), 6), round(float(found.x["k"]), 6)
    (2.0, 3.0)
    """
    call = f"optimize.least_squares({name_of(fun)})"
    x0, args = as_start(x0), as_args(args)
    parameters = Parameters(call, x0)
    limits = bounds_of(call, parameters, _ends(x0, bounds))
    if not callable(loss) and loss not in LOSSES:
        raise InputError(
            message(call, f"a loss of {', '.join(LOSSES)}, or a function", repr(loss), "See SciPy")
        )
    if in_trace(f_scale) or callable(loss) and Lifted(loss).values:
        raise NotDifferentiableError(
            f"{call}: not differentiable by f_scale, nor by what loss closes over. Write the sum "
            "of the losses as a function for optimize.minimize."
        )
    fit = _Fit(call, parameters, method, jac, loss, f_scale, tol, options, callback, progress)
    leaves = flatten((x0, args, limits))[0]
    if not any(map(in_trace, leaves)) and not Lifted(fun).values:
        return fit.run(fun, limits, args)
    return fit.differentiable(fun, limits, args)


def _ends(x0: Any, bounds: Any) -> Any:
    """SciPy's `(low, high)` of lists, about an array of parameters, as arrays."""
    if not isinstance(bounds, tuple) or not is_array(x0):
        return bounds
    return tuple(np.array(end, float) if isinstance(end, list | tuple) else end for end in bounds)


class _Fit:
    """How a user wants a sum of squares minimised."""

    def __init__(
        self,
        call: str,
        parameters: Parameters,
        method: str | None,
        jac: str,
        loss: str | Callable[[Value], Any],
        f_scale: float,
        tol: float | None,
        options: dict[str, Any] | None,
        callback: Callable[[Any], Any] | None,
        progress: Progress,
    ) -> None:
        self.call, self.parameters, self.method, self.jac = call, parameters, method or "trf", jac
        self.loss, self.f_scale, self.tol = loss, f_scale, tol
        self.options, self.callback, self.progress = options or {}, callback, progress

    def run(self, fun: Function, limits: Any, args: tuple[Any, ...]) -> Result[Any]:
        """The fit of plain values, by SciPy."""
        parameters = self.parameters
        optimize = scipy_optimize(self.call)
        residuals = Residuals(self.call, fun, args, parameters)
        start = parameters.vector(parameters.whole(parameters.free))
        given: dict[str, Any] = {"jac": self._jacobian(residuals), **self.options}
        if self.tol is not None:
            given.update(ftol=self.tol, xtol=self.tol, gtol=self.tol)
        if limits is not None:
            given["bounds"] = tuple(np.array(as_vector(end), float) for end in limits)
        if self.callback is not None:
            given["callback"] = Watch(self.callback, parameters.tree, by_result=False)
        with Bar(self.call, self.progress) as bar:
            raw = optimize.least_squares(
                watched(bar, residuals.values),
                start,
                method=self.method,
                loss=self.loss if not callable(self.loss) else _scipys_loss(self.loss),
                f_scale=self.f_scale,
                **given,
            )
        return self._result(raw, residuals)

    def _jacobian(self, residuals: Residuals) -> Function:
        forms = {
            "dense": residuals.jacobian,
            "sparse": residuals.sparse_jacobian,
            "products": residuals.products,
        }
        form = self.jac
        if form == "auto":
            form = "dense" if self.parameters.size <= DENSE or self.method == "lm" else "sparse"
        if form not in forms or (form != "dense" and self.method == "lm"):
            able = "dense" if self.method == "lm" else ", ".join(forms)
            raise InputError(
                message(
                    self.call,
                    f"a Jacobian that {self.method} takes ({able})",
                    repr(form),
                    "Leave jac away",
                )
            )
        return forms[form]

    def _result(self, raw: Any, residuals: Residuals) -> Result[Any]:
        parameters = self.parameters
        x = np.array(raw.x, float)
        count = int(raw.fun.size)

        def curvature() -> Curvature:
            # SciPy's own is scaled by the slope and the curvature of the loss.
            plain = self.loss == "linear"
            matrix = residuals.jacobian(x) if plain else _dense(raw.jac, x.size)
            scale = _variance(raw.cost, count, x.size)
            return Curvature(matrix.T @ matrix, scale, np.asarray(raw.active_mask) == 0)

        return Result(
            x=parameters.tree(x),
            fun=np.array(raw.fun),
            grad=parameters.tree_of_numbers(np.array(raw.grad)),
            success=bool(raw.success),
            message=str(raw.message),
            nit=raw.get("nit"),
            nfev=int(raw.nfev),
            njev=int(raw.njev or 0),
            nhev=0,
            runs=residuals.runs,
            raw=raw,
            history=tuple(residuals.history),
            parameters=parameters,
            curvature=curvature,
        )

    def differentiable(self, fun: Function, limits: Any, args: tuple[Any, ...]) -> Result[Any]:
        """The fit as a function of whatever is traced."""
        kept: list[Result[Any]] = []
        whole = self.parameters.whole
        lifted = Lifted(fun)

        def residuals_of(free: list[Any], values: list[Any], *args: Any) -> Any:
            return as_vector(lifted.with_values(values)(whole(free), *args))

        def cost(free: list[Any], values: list[Any], *args: Any) -> Any:
            return self._cost(residuals_of(free, values, *args))

        def find(_functions: list[Any], limits: Any, free: list[Any], given: Any) -> Any:
            values, *plain = given
            inner = lifted.with_values(values)
            found = _Fit.__new__(_Fit)
            vars(found).update(vars(self), parameters=Parameters(self.call, free))
            kept[:] = [found.run(lambda free, *a: inner(whole(free), *a), limits, tuple(plain))]
            return kept[0].x

        system = LinearSolver(self.call, symmetric=limits is None)
        minimisation = Minimisation(cost)
        given = (lifted.values, *args)
        free, _ = minimum_of(
            minimisation, self.parameters.free, limits, given, find, system, with_args=True
        )
        found = kept[0]
        found.x, found.fun = whole(free), residuals_of(free, lifted.values, *args)
        found.grad = whole(grad(lambda free: cost(free, lifted.values, *args))(free))
        found.curvature = no_covariance(self.call)
        return found

    def _cost(self, residuals: Value) -> Any:
        """Half the sum of the losses."""
        z = (residuals / self.f_scale) ** 2
        loss = LOSSES[self.loss](z) if isinstance(self.loss, str) else self.loss(z)
        return 0.5 * self.f_scale**2 * np.sum(loss)


def _dense(matrix: Any, size: int) -> Any:
    """A Jacobian of SciPy's as an array."""
    if hasattr(matrix, "toarray"):
        return matrix.toarray()
    return np.asarray(matrix if isinstance(matrix, np.ndarray) else matrix @ np.eye(size))


def _scipys_loss(loss: Callable[[Value], Any]) -> Callable[[Any], Any]:
    """A function of squared residuals with its two derivatives, as SciPy wants it."""
    first = grad(lambda z: np.sum(loss(z)))
    second = grad(lambda z: np.sum(first(z)))

    def rho(z: Any) -> Any:
        return np.stack([loss(z), first(z), second(z)])

    return rho


def _variance(cost: float, count: int, size: int) -> float:
    """The variance of residuals about a fit; infinite if there are not more than parameters."""
    return 2 * cost / (count - size) if count > size else np.inf


@overload
def curve_fit(
    f: Function,
    xdata: Any,
    ydata: Any,
    p0: list[float] | tuple[float, ...] | NDArray[np.integer[Any]] | None = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    *,
    bounds: Any = None,
    method: str | None = None,
    progress: Progress = None,
    **options: Any,
) -> CurveFit[NDArray[np.float64]]: ...
@overload
def curve_fit(
    f: Function,
    xdata: Any,
    ydata: Any,
    p0: T,
    sigma: Any = None,
    absolute_sigma: bool = False,
    *,
    bounds: Any = None,
    method: str | None = None,
    progress: Progress = None,
    **options: Any,
) -> CurveFit[T]: ...
@folding
@explaining(
    check_finite="leave it away: residuals that are not finite are refused",
    full_output="leave it away: SciPy's own result is in raw",
    nan_policy="pick the data before: keep = np.isfinite(y), then x[keep] and y[keep]",
)
def curve_fit(
    f: Function,
    xdata: Any,
    ydata: Any,
    p0: Any = None,
    sigma: Any = None,
    absolute_sigma: bool = False,
    *,
    bounds: Any = None,
    method: str | None = None,
    progress: Progress = None,
    **options: Any,
) -> CurveFit[Any]:
    """The parameters with which a model is nearest to data, by `least_squares`.

    Parameters
    ----------
    f : callable
        `f(xdata, p)` of a tree of parameters, or `f(xdata, *p)` of numbers; see `p0`. Returns an
        array of the shape of `ydata`.
    xdata : object
        What f gets first. A list or a tuple of numbers is made an array.
    ydata : array_like
        The data.
    p0 : pytree, optional
        Where to start. A tree (a dict, a dataclass, ...) is passed on as one; an array, or a list
        or a tuple of numbers, is passed as numbers, as in SciPy. By default ones, as many as f has
        further parameters.
    sigma : array_like, optional
        Standard deviations of ydata, or their covariance matrix.
    absolute_sigma : bool, default False
        Whether sigma is absolute, or only relative.
    bounds : tuple, list or Bounds, optional
        As in `minimize`; `(low, high)` may hold lists, as in SciPy.
    method : {"trf", "dogbox", "lm"}, optional
        As in `least_squares`.
    progress : bool or type, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm.
    **options : object
        Further arguments of `least_squares` (loss, tol, callback, ...), and SciPy's own (max_nfev,
        x_scale, ...).

    Returns
    -------
    CurveFit
        It unpacks as SciPy's, `x, covariance = curve_fit(...)`; it has `standard_errors`, and can
        be differentiated by all data, by sigma and by what f closes over of a trace.

    Raises
    ------
    InputError
        If p0 is None and the parameters of f are not named.
    TypeError
        If neither `least_squares` nor SciPy's function takes one of the options.
    ShapeMismatchError
        If f(xdata, ...) does not broadcast to the shape of ydata, or sigma does not fit them.

    See Also
    --------
    least_squares : What else is raised.

    Examples
    --------
    >>> from tapegrad import optimize
    >>> t = np.linspace(0, 1, 6)
    >>> x, covariance = optimize.curve_fit(lambda t, a, b: a * t + b, t, 3 * t + 1)
    >>> bool(np.allclose(x, [3, 1]))
    True
    """
    call = f"optimize.curve_fit({name_of(f)})"
    p0, several = _start(call, f, p0)

    def residuals(p: Any, xdata: Any, ydata: Any, sigma: Any) -> Any:
        values = f(xdata, *p) if several else f(xdata, p)
        if not _broadcasts(np.shape(values), np.shape(ydata)):
            raise ShapeMismatchError(
                message(
                    call,
                    f"f(xdata, ...) of the shape of ydata, {np.shape(ydata)}",
                    f"{np.shape(values)}",
                    "Return one value for each of ydata",
                )
            )
        return _weighed(call, np.ravel(values - ydata), sigma)

    residuals.__name__ = name_of(f)
    ydata = ydata if is_array(ydata) or in_trace(ydata) else np.asarray(ydata, float)
    xdata = _numbers(xdata)
    further = {name: options.pop(name) for name in set(options) - _KNOWN}
    if "maxfev" in further:  # SciPy's name with "lm"
        further["max_nfev"] = further.pop("maxfev")
    if further:
        known = inspect.signature(scipy_optimize(call).least_squares).parameters
        for name in further:
            if name not in known:
                raise TypeError(f"curve_fit() got an unexpected keyword argument {name!r}")
        options["options"] = {**options.get("options", {}), **further}
    found = least_squares(
        residuals,
        p0,
        (xdata, ydata, sigma),
        bounds=bounds,
        method=method,
        progress=progress,
        **options,
    )
    fit = CurveFit(**{name: getattr(found, name) for name in CurveFit.__dataclass_fields__})
    inner = found.curvature
    assert inner is not None

    def curvature() -> Curvature:
        # As SciPy's: a parameter at a bound counts as one that is free.
        of_fit = inner()
        scale = 1.0 if absolute_sigma else of_fit.scale
        return Curvature(of_fit.matrix, scale, np.ones_like(of_fit.free))

    fit.curvature = curvature
    return fit


_KNOWN = set(inspect.signature(least_squares).parameters)


def _numbers(xdata: Any) -> Any:
    """Lists and tuples of plain numbers as an array, as SciPy has them; whatever else as it is."""
    if type(xdata) not in (list, tuple) or any(map(in_trace, flatten(xdata)[0])):
        return xdata
    try:
        return np.asarray(xdata, float)
    except (TypeError, ValueError):
        return xdata


def _start(call: str, f: Function, p0: Any) -> tuple[Any, bool]:
    """Where to start, and whether f takes the parameters one by one."""
    if p0 is None:
        count = len(inspect.signature(f).parameters) - 1
        if count < 1 or any(
            x.kind is x.VAR_POSITIONAL for x in inspect.signature(f).parameters.values()
        ):
            raise InputError(
                message(call, "f(x, a, b, ...) with named parameters", "none", "Pass p0")
            )
        return np.ones(count), True
    if is_array(p0) or in_trace(p0):
        return (p0 * 1.0 if p0.dtype.kind in "biu" else p0), True
    if type(p0) in (list, tuple) and all(np.ndim(x) == 0 for x in p0):
        return np.stack([np.asarray(x, float) for x in p0]), True
    return p0, False


def _broadcasts(shape: tuple[int, ...], to: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, to) == to
    except ValueError:
        return False


def _weighed(call: str, residuals: Value, sigma: Any) -> Any:
    """Residuals in units of their errors."""
    if sigma is None:
        return residuals
    rank = np.ndim(sigma)
    if rank < 2:
        return residuals / np.ravel(sigma)
    if rank == 2 and np.shape(sigma) == (residuals.size, residuals.size):
        return np.linalg.solve(np.linalg.cholesky(sigma), residuals)
    raise ShapeMismatchError(
        message(
            call,
            f"sigma of shape ({residuals.size},), or a covariance matrix of that size",
            describe(sigma),
            "Pass standard deviations of ydata",
        )
    )


__all__ = ["curve_fit", "least_squares"]
