"""Iterative solvers: cg, gmres, bicgstab, minres and their kin.

The cotangent of b solves the transposed system by the same method, with the same tolerances in
proportion to its right-hand side: it is as exact as the solution is. A solution that did not
converge (info is not 0) has no derivative.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from tapegrad._core.forms import general
from tapegrad._core.types import Cotangent, Value
from tapegrad._core.values import any_true, holds_in_trace, in_trace, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad._transforms.primitives import primitive
from tapegrad.implicit import solve as solve_implicitly
from tapegrad.implicit._solvers import norm
from tapegrad.implicit._systems import exponent_of, times_power
from tapegrad.scipy.sparse._arrays import SparseArray, matrix_of
from tapegrad.scipy.sparse._construct import is_ours, mirrored

NAMES = ("bicg", "bicgstab", "cg", "cgs", "gcrotmk", "gmres", "lgmres", "minres", "qmr", "tfqmr")


class System:
    """How a system is solved: the method with its options, and where A's elements lie."""

    def __init__(
        self, name: str, options: dict[str, Any], matrix: Any, operator: Any, derived: bool = False
    ) -> None:
        self.name, self.options = name, options
        self.matrix, self.operator = matrix, operator  # one of them is None
        self.derived = derived  # whether it is that of a derivative, not the user's own
        self.method = getattr(scipy.sparse.linalg, name)

    def plain(self, data: Any) -> Any:
        """A, as the method takes it."""
        if self.operator is not None:
            return self.operator
        rows, columns, shape = self.matrix
        return scipy.sparse.coo_array((data, (rows, columns)), shape=shape).tocsr()

    def solve(self, data: Any, b: Any, like: Any) -> tuple[Any, int]:
        """The solution and how the method ended.

        The system of a derivative is solved at the size of one, with the relative tolerance that
        was that of the right-hand side `like`.
        """
        if not self.derived:
            found: tuple[Any, int] = self.method(self.plain(data), b, **self.options)
            return found
        options = dict(self.options)
        absolute, size = options.pop("atol", None), norm(like)
        if absolute:  # SciPy's tolerance at most, as one above b's size would leave nothing of it
            share = min(absolute / size, 1e-5) if size else 1e-5
            options["rtol"] = max(options.get("rtol", 1e-5), share)
        exponent = exponent_of(b)
        x, info = self.method(self.plain(data), times_power(b, -exponent), **options)
        return times_power(x, exponent), info

    def transposed(self) -> System:
        """The system of A^T: preconditioners are turned, and a callback is not called again."""
        options = {
            name: value.T if name in ("M", "M1", "M2") and value is not None else value
            for name, value in self.options.items()
            if name not in ("callback", "callback_type", "x0", "CU", "outer_v")
        }
        if options.get("M1") is not None or options.get("M2") is not None:
            options["M1"], options["M2"] = options.get("M2"), options.get("M1")
        if self.operator is not None:
            return System(self.name, options, None, _transpose_of(self.operator), True)
        rows, columns, shape = self.matrix
        return System(self.name, options, (columns, rows, shape[::-1]), None, True)


def _transpose_of(operator: Any) -> Any:
    """A^T = conj(A^H), of which an operator may know no more than products."""
    return operator.T


def _plain_solve(data: Value, b: Value, like: Value, system: System) -> tuple[Value, Value]:
    x, info = system.solve(data, b, like)
    return x, np.asarray(info)


def _solve_vjp(
    g: Cotangent, out: Value, data: Value, b: Value, like: Value, system: System
) -> tuple[Cotangent, Cotangent, None]:
    x, info = out
    if any_true(untraced(info) != 0):
        raise NotDifferentiableError(
            f"scipy.sparse.linalg.{system.name}: not differentiable where it did not converge "
            f"(info={untraced(info)}). Raise maxiter, lower the tolerance, or pass M."
        )
    turned = system.transposed()
    b_bar, failed = ITERATE.apply_bound(
        [data, g[0], like if system.derived else untraced(b)], {"system": turned}
    )
    if any_true(untraced(failed) != 0):
        raise NotDifferentiableError(
            f"scipy.sparse.linalg.{system.name}: the transposed system of its derivative did not "
            f"converge (info={untraced(failed)}). Raise maxiter, lower the tolerance, or pass M."
        )
    if system.operator is not None:
        return np.zeros(data.shape, data.dtype), b_bar, None
    rows, columns, _ = system.matrix
    return -np.take(b_bar, rows, 0) * np.take(x, columns, 0), b_bar, None


ITERATE = general(primitive(_plain_solve), vjp=_solve_vjp, arrays=3, name="an iterative solver")


OF_FUNCTIONS = ("bicgstab", "cg", "gmres", "minres")


def _by_function(
    name: str,
    A: Any,
    b: Value,
    x0: Any = None,
    *,
    rtol: float = 1e-5,
    maxiter: int | None = None,
    M: Any = None,
    **options: Any,
) -> tuple[Any, int]:
    """A matrix given by its product with a vector, by all that the function closes over.

    It may be linear alone; a system that does not converge raises implicit.ConvergenceError.
    """
    if name not in OF_FUNCTIONS or options:
        raise NotDifferentiableError(
            f"scipy.sparse.linalg.{name} with a function for A: expected one of "
            f"{', '.join(OF_FUNCTIONS)}, with rtol, maxiter and M alone. Pass a matrix, or use "
            "tapegrad.implicit.solve."
        )
    before = None if M is None else lambda v: M @ v
    b = b if hasattr(b, "shape") else np.asarray(b, float)
    x = solve_implicitly(A, b, solver=name, tol=rtol, maxiter=maxiter, preconditioner=before)
    return x, 0


def _is_function(A: Any) -> bool:
    return (
        callable(A)
        and not hasattr(A, "shape")
        and not isinstance(A, scipy.sparse.linalg.LinearOperator)
    )


def _solver(name: str) -> Any:
    theirs = getattr(scipy.sparse.linalg, name)

    @mirrored(theirs)
    def solve(A: Any, b: Any, x0: Any = None, **options: Any) -> tuple[Any, Any]:
        for key, value in options.items():
            if in_trace(value) or holds_in_trace(value) or isinstance(value, SparseArray):
                raise NotDifferentiableError(
                    f"scipy.sparse.linalg.{name}: not differentiable by its argument {key!r}. "
                    "Pass tapegrad.stop_gradient(...) of it if it is a constant."
                )
        if x0 is not None:
            options["x0"] = untraced(x0)  # where a solution starts does not change it
        b = b if hasattr(b, "shape") else np.asarray(b, float)
        if b.ndim == 2 and b.shape[1] == 1:
            b = b[:, 0]
        data, matrix, operator = _parts(name, A, b)
        kind = np.result_type(data.dtype, b.dtype, np.float32)
        if operator is None:
            data = data.astype(kind)
        system = System(name, options, matrix, operator)
        b = b.astype(kind)
        x, info = ITERATE.apply_bound([data, b, untraced(b)], {"system": system})
        return x, info if in_trace(info) else int(untraced(info))

    @functools.wraps(theirs)
    def of_any(A: Any, b: Any, *args: Any, **options: Any) -> tuple[Any, Any]:
        if _is_function(A):
            return _by_function(name, A, b, *args, **options)
        found: tuple[Any, Any] = solve(A, b, *args, **options)
        return found

    of_any.__module__ = solve.__module__
    return of_any


def _parts(name: str, A: Any, b: Value) -> tuple[Any, Any, Any]:
    """The elements of a matrix and their positions, or an operator."""
    if isinstance(A, scipy.sparse.linalg.LinearOperator):
        return np.zeros(0, b.dtype), None, A
    if is_ours(A) or scipy.sparse.issparse(A) or hasattr(A, "shape"):
        a = matrix_of(A)
        return a.data, (a.row, a.col, a.shape), None
    raise NotDifferentiableError(
        f"scipy.sparse.linalg.{name}: expected a matrix, a LinearOperator or a function, got a "
        f"{type(A).__name__}."
    )


SOLVERS = {name: _solver(name) for name in NAMES if hasattr(scipy.sparse.linalg, name)}

__all__ = ["SOLVERS"]
