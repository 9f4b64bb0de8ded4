"""Result of a method: the parameters as a tree, and values made of them on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np

from tapegrad._core.quiet import errstate
from tapegrad._errors import NotDifferentiableError
from tapegrad._look.curves import curve_svg
from tapegrad._look.tables import table_html
from tapegrad._tree import flatten, unflatten
from tapegrad.optimize._covariance import Curvature, covariance_of
from tapegrad.optimize._parameters import Parameters

if TYPE_CHECKING:
    from numpy.typing import NDArray

T = TypeVar("T")


@dataclass(repr=False)
class Result(Generic[T]):
    """Result of `minimize`, `least_squares`, `root` or `curve_fit`.

    Pickled, it keeps the `covariance` and `standard_errors` that were asked for. A notebook shows
    it as a table, with the curve of `history`.

    Attributes
    ----------
    x : pytree
        The parameters, a tree like x0.
    fun : scalar or pytree
        The value there; of `root` and `least_squares` the residuals.
    grad : pytree or None
        The gradient there, a tree like x with 0 for constants; None where the method takes no
        gradients, and of `root`.
    success : bool
        Whether SciPy's method says that it has arrived.
    message : str
        What it says.
    nit : int or None
        Iterations, where the method counts them.
    nfev, njev, nhev : int
        How often SciPy asked for values, for gradients (or Jacobians) and for Hessians.
    runs : int
        How often the function was run in all: one run gives a value and a gradient, or a Hessian.
    aux : object
        What the function returned beside its value at x, with `has_aux`.
    raw : scipy.optimize.OptimizeResult
        SciPy's own result, about vectors.
    history : tuple of float
        The values of fun in the order in which they were asked for; of `least_squares` and
        `curve_fit` half the sums of squares, of `root` none.
    covariance : ndarray
        The covariance matrix of the free parameters.
    standard_errors : pytree
        The roots of its diagonal, as a tree like x.

    Examples
    --------
    >>> from tapegrad import optimize
    >>> found = optimize.minimize(lambda p: np.sum((p - 1.0) ** 2), np.zeros(2))
    >>> found.success, found.x.round(6)
    (True, array([1., 1.]))
    >>> found.covariance
    array([[0.5, 0. ],
           [0. , 0.5]])
    """

    x: T
    fun: Any
    grad: Any
    success: bool
    message: str
    nit: int | None
    nfev: int
    njev: int
    nhev: int
    runs: int
    aux: Any = None
    raw: Any = None
    history: tuple[float, ...] = field(default=(), metadata={"static": True})
    parameters: Parameters | None = field(default=None, metadata={"static": True})
    curvature: Callable[[], Curvature] | None = field(default=None, metadata={"static": True})

    @cached_property
    def covariance(self) -> NDArray[np.float64]:
        """The covariance matrix of the free parameters in one vector, as `tree.ravel` has them.

        Of `minimize` it is the inverse of the exact Hessian: the covariance of an estimate if fun
        is a negative logarithm of a likelihood. Of `least_squares` and `curve_fit` it is the
        inverse of J^T J times the variance of the residuals, 2 cost / (m - n), unless the fit's
        sigma is absolute.

        Parameters that stand at a bound are taken as known: their rows and columns are zero (of
        `curve_fit`, as of SciPy's, they count as free). So are constraints that hold: the
        covariance is that of the Lagrangian's Hessian in the directions along them.

        Raises
        ------
        NotDifferentiableError
            If the result is a root, was pickled before this was asked for, or stands inside a
            transform.

        Warns
        -----
        scipy.optimize.OptimizeWarning
            If the covariance cannot be had, and is infinite: the Hessian is singular or, at what
            is no minimum, not positive.
        """
        self._can("covariance")
        assert self.curvature is not None
        return covariance_of(self.curvature())

    @cached_property
    def standard_errors(self) -> T:
        """The square roots of the covariance's diagonal, as a tree like x; 0 for constants.

        Raises
        ------
        NotDifferentiableError
            If there is no covariance.
        """
        self._can("standard_errors")
        assert self.parameters is not None
        with errstate(invalid="ignore"):
            return self.parameters.tree_of_numbers(np.sqrt(np.diag(self.covariance)))

    def _can(self, name: str) -> None:
        if self.curvature is None or self.parameters is None:
            raise NotDifferentiableError(
                f"optimize: no {name}: this result was pickled, without the function of which it "
                f"is made. Ask for {name} before, then it is pickled too."
            )

    def __getstate__(self) -> dict[str, Any]:
        # The objective is a function of the user's, which need not be picklable.
        return {**vars(self), "parameters": None, "curvature": None}

    def _shown(self) -> list[list[str]]:
        values = {
            name: getattr(self, name) for name in ("x", *self._found(), "success", "message")
        }
        if self.nit is not None:
            values["nit"] = self.nit
        values["runs"] = self.runs
        return [[name, _short(value)] for name, value in values.items()]

    def _found(self) -> tuple[str, ...]:
        """Lines about the parameters, beside themselves."""
        return ("fun", "grad")

    def __repr__(self) -> str:
        lines = [f"  {name}: {text}" for name, text in self._shown()]
        return "\n".join([f"{type(self).__name__}:", *lines])

    def _repr_html_(self) -> str:
        """The same as a table for a notebook, with the curve of the values."""
        table = table_html((type(self).__name__, ""), self._shown(), right=(False, False))
        return table + curve_svg(self.history, "value", "run of the function")


class CurveFit(Result[T]):
    """The result of `curve_fit`, which unpacks as SciPy's: `x, covariance = curve_fit(...)`.

    Attributes
    ----------
    x : ndarray or pytree
        The parameters, in one array where `f` takes them one by one.
    covariance : ndarray
        Their covariance matrix.

    See Also
    --------
    Result : What else it has.

    Examples
    --------
    >>> from tapegrad import optimize
    >>> t = np.linspace(0, 1, 6)
    >>> fit = optimize.curve_fit(lambda t, a, b: a * t + b, t, 3 * t + 1 + 0.01 * np.cos(40 * t))
    >>> x, covariance = fit
    >>> bool(np.all(fit.standard_errors == np.sqrt(np.diag(covariance))))
    True
    """

    @overload
    def __iter__(self: CurveFit[NDArray[np.float64]]) -> Iterator[NDArray[np.float64]]: ...
    @overload
    def __iter__(self) -> Iterator[Any]: ...
    def __iter__(self) -> Iterator[Any]:
        return iter((self.x, self.covariance))

    def _found(self) -> tuple[str, ...]:
        known = self.curvature is not None or "standard_errors" in vars(self)
        return ("standard_errors",) if known else ()


def _short(value: Any) -> str:
    """A value in a few words; NumPy's numbers as Python writes them."""
    leaves, structure = flatten(value)
    plain = [leaf.item() if isinstance(leaf, np.generic) else leaf for leaf in leaves]
    text = repr(unflatten(structure, plain))
    return text if len(text) <= 200 else text[:197] + "..."


__all__ = ["CurveFit", "Result"]
