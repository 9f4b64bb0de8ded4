"""Linear systems of the Jacobian at a solution: dense, or by products with vectors.

Knows how to solve them and to judge what came out. Must not know where the equations come from.
Everything here is of plain values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Function, Value
from tapegrad._core.values import in_trace
from tapegrad._errors import (
    InputError,
    NotDifferentiableError,
    RuleError,
    TapegradError,
    message,
)
from tapegrad._transforms.linear_transpose import linear_transpose

DENSE = 400  # up to so many unknowns "auto" solves a dense system
FALLBACK = 3000  # and up to so many where an iteration failed

ITERATIONS = ("cg", "gmres", "bicgstab", "minres")
METHODS = ("auto", "lu", *ITERATIONS)


class ConvergenceError(TapegradError, ArithmeticError):
    """A solution does not solve its equations, or an iteration did not arrive at one."""


class LinearSolver:
    """How systems of a Jacobian are solved: the options that a user chose, checked.

    method: a word of METHODS, or a function `(matvec, b) -> x` of trees like the unknowns.
    symmetric: whether the matrix is its own transpose. preconditioner: a linear function of such
    trees that about undoes the matrix.
    """

    def __init__(
        self,
        call: str,
        method: str | Function = "auto",
        *,
        symmetric: bool = False,
        preconditioner: Function | None = None,
        tol: float | None = None,
        maxiter: int | None = None,
    ) -> None:
        if not callable(method) and method not in METHODS:
            raise InputError(
                message(
                    call,
                    f"a linear solver of {', '.join(map(repr, METHODS))}, or a function",
                    repr(method),
                    "A function gets (matvec, b) and returns x",
                )
            )
        self.call, self.method, self.symmetric = call, method, symmetric
        self.preconditioner, self.tol, self.maxiter = preconditioner, tol, maxiter

    def is_dense(self, size: int) -> bool:
        """Whether systems of this size are solved with the matrix itself."""
        if self.method == "auto":
            return size <= DENSE or not _has_scipy()
        return self.method == "lu"

    def solve(
        self,
        product: Callable[[Value], Value],
        b: Any,
        transposed: bool,
        to_tree: Callable[[Value], Any],
        to_vector: Callable[[Any], Value],
    ) -> Any:
        """The x with product(x) = b, by products with vectors; ConvergenceError if there is none.

        transposed: whether this is the transposed matrix, for the preconditioner. to_tree,
        to_vector: between vectors and the trees that the user's functions take.
        """
        if not np.any(b):
            return np.zeros_like(b)
        exponent = exponent_of(b)
        if callable(self.method) and 4 * abs(exponent) < np.finfo(b.dtype).maxexp:
            exponent = 0  # a function's own tolerance may be absolute
        b = times_power(b, -exponent)
        if callable(self.method):
            found = self.method(lambda v: to_tree(product(to_vector(v))), to_tree(b))
            x = self._plain(to_vector(found))
        else:
            x = self._iterated(product, b, self._preconditioned(transposed, to_tree, to_vector))
        error = float(np.linalg.norm(self._plain(product(x)) - b)) / float(np.linalg.norm(b))
        allowed = 100 * self._tolerance(b.dtype)
        if not error <= allowed:
            raise ConvergenceError(
                f"{self.call}: the linear solver {_word(self.method)} left a residual of "
                f"{error:.2g} of the right-hand side, above {allowed:.2g}. The matrix may be "
                "singular or badly conditioned: pass preconditioner=, another linear solver, or "
                "more iterations (maxiter=)."
            )
        return times_power(x, exponent)

    def _plain(self, value: Any) -> Any:
        return plain(self.call, value, "a function of the equations")

    def _tolerance(self, dtype: np.dtype[Any]) -> float:
        # Second derivatives solve systems whose right-hand sides hold solutions.
        return self.tol or float(np.finfo(dtype).eps) ** 0.75

    def _preconditioned(
        self,
        transposed: bool,
        to_tree: Callable[[Value], Any],
        to_vector: Callable[[Any], Value],
    ) -> Callable[[Value], Value] | None:
        given = self.preconditioner
        if given is None:
            return None

        def of_vector(v: Value) -> Any:
            return to_vector(given(to_tree(v)))

        if self.symmetric or not transposed:
            return of_vector

        def turned(v: Value) -> Any:
            return linear_transpose(of_vector, np.zeros_like(v))(v)[0]

        return turned

    def _iterated(
        self, product: Callable[[Value], Value], b: Any, before: Callable[[Value], Value] | None
    ) -> Any:
        sparse = scipy_sparse_linalg(self.call)
        method = self.method
        if method == "auto":
            method = "cg" if self.symmetric else "gmres"
        shape = (b.size, b.size)
        matrix = sparse.LinearOperator(shape, lambda v: self._plain(product(v)), dtype=b.dtype)
        options: dict[str, Any] = {"rtol": self._tolerance(b.dtype)}
        if before is not None:
            options["M"] = sparse.LinearOperator(shape, before, dtype=b.dtype)
        if self.maxiter is not None:
            options["maxiter"] = self.maxiter
        elif self.method == "auto" and b.size <= FALLBACK:
            # Then the matrix itself is made, which costs a few times as many products.
            options["maxiter"] = b.size // (100 if method == "gmres" else 4) + 1
        if method == "gmres":
            options["restart"] = min(b.size, 50)
            options.setdefault("maxiter", 40)
        x, _ = getattr(sparse, str(method))(matrix, b, **options)
        return np.asarray(x, b.dtype)


def exponent_of(b: Any) -> int:
    """The power of two that an array is about as large as; 0 if it is zero or not finite.

    Iterations look at squares of their right-hand side, which under- and overflow where it does
    not: they are to solve for b / 2**exponent.
    """
    parts = (b.real, b.imag) if b.dtype.kind == "c" else (b,)
    size = max(float(np.max(np.abs(part), initial=0)) for part in parts)
    return int(np.frexp(size)[1]) if np.isfinite(size) else 0


def times_power(x: Any, exponent: int) -> Any:
    """x * 2**exponent, which may itself be out of range."""
    half = exponent // 2
    one = np.ones((), x.real.dtype)
    return x * np.ldexp(one, half) * np.ldexp(one, exponent - half)


class DenseMatrix:
    """A square matrix with its inverse; NotDifferentiableError if it is singular.

    The inverse costs once what three factorisations do; one step of refinement makes its products
    as good as solutions.
    """

    def __init__(self, call: str, matrix: Any) -> None:
        self.matrix = matrix
        try:
            self.inverse = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            raise _singular(call, np.inf) from None
        with silence():
            condition = np.linalg.norm(matrix, 1) * np.linalg.norm(self.inverse, 1)
        if not condition * np.finfo(matrix.dtype).eps < 0.1:
            raise _singular(call, float(condition))

    def solve(self, b: Any, transposed: bool) -> Any:
        """The x with matrix @ x = b."""
        matrix, inverse = self.matrix, self.inverse
        if transposed:
            matrix, inverse = matrix.T, inverse.T
        x = inverse @ b
        return x + inverse @ (b - matrix @ x)


def closes_over(call: str, which: str) -> RuleError:
    """Error where a function depends on a traced value that is no argument of it."""
    return RuleError(
        f"{call}: {which} depends on a traced or batched value that is neither among its "
        "arguments nor in its closure (but in an attribute of a class, say), by which it would "
        "not be differentiated. Pass that value in args."
    )


def plain(call: str, value: Any, which: str = "a function") -> Any:
    """The value, if it is plain; else the RuleError of `closes_over`."""
    if in_trace(value):
        raise closes_over(call, which)
    return value


def _singular(call: str, condition: float) -> NotDifferentiableError:
    return NotDifferentiableError(
        f"{call}: the Jacobian of the equations is singular at the solution (its condition "
        f"number is {condition:.2g}), so the implicit function theorem does not hold: the "
        "solution is not isolated, or it moves infinitely fast. Remove unknowns or equations that "
        "say the same twice, or regularise the problem."
    )


def _word(method: str | Function) -> str:
    return repr(method) if isinstance(method, str) else getattr(method, "__name__", "given")


def _has_scipy() -> bool:
    try:
        scipy_sparse_linalg("")
    except ImportError:
        return False
    return True


def scipy_sparse_linalg(call: str) -> Any:
    """The module; ImportError with the extra to install where SciPy is missing."""
    try:
        import scipy.sparse.linalg
    except ImportError as error:
        raise missing_scipy(call) from error
    return scipy.sparse.linalg


def scipy_optimize(call: str) -> Any:
    """The module; ImportError with the extra to install where SciPy is missing."""
    try:
        import scipy.optimize
    except ImportError as error:
        raise missing_scipy(call) from error
    return scipy.optimize


def missing_scipy(call: str) -> ImportError:
    """Error where SciPy is missing."""
    return ImportError(
        f"{call}: this method is SciPy's. Install tapegrad[scipy], or choose a solver of "
        "tapegrad's own."
    )


__all__ = [
    "FALLBACK",
    "ConvergenceError",
    "DenseMatrix",
    "LinearSolver",
    "closes_over",
    "exponent_of",
    "plain",
    "scipy_optimize",
    "scipy_sparse_linalg",
    "times_power",
]
