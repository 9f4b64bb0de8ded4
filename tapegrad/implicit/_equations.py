"""Linear systems whose matrix is a function, the product with a vector."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

from tapegrad._core.types import Function
from tapegrad._core.values import in_trace
from tapegrad._errors import name_of
from tapegrad._transforms.jacobians import jacfwd
from tapegrad._transforms.tracebacks import folding
from tapegrad._tree import tree_map
from tapegrad.implicit._closures import Lifted
from tapegrad.implicit._roots import as_args
from tapegrad.implicit._systems import DenseMatrix, LinearSolver, closes_over
from tapegrad.implicit._theorem import Problem
from tapegrad.implicit._unknowns import as_vector

T = TypeVar("T")


@folding
def solve(
    matvec: Function,
    b: T,
    args: Any = (),
    *,
    solver: str | Function = "auto",
    symmetric: bool = False,
    preconditioner: Function | None = None,
    tol: float | None = None,
    maxiter: int | None = None,
) -> T:
    """The solution of a linear system whose matrix is a function, the product with a vector.

    It is differentiable by b, by args and by what matvec closes over.

    Parameters
    ----------
    matvec : callable
        `matvec(x, *args)`, a linear function of a tree like b, which returns one.
    b : pytree
        The right-hand side: numbers and arrays of a floating or complex dtype.
    args : tuple, default ()
        Further arguments of matvec; what is no tuple is the only one.
    solver : str or callable, default "auto"
        "auto" (the matrix itself up to 400 unknowns, made by products with all unit vectors at
        once; then GMRES, or CG where symmetric), "lu", "cg", "gmres", "bicgstab", "minres"
        (SciPy's), or a function `(matvec, b) -> x`. The same solves the systems of derivatives,
        reverse mode with the transposed product, which tapegrad makes of matvec.
    symmetric : bool, default False
        Whether the matrix is its own transpose. With "cg" and "minres" it has to be, and with "cg"
        positive definite.
    preconditioner : callable, optional
        A linear function of a tree like b that about undoes matvec.
    tol : float, optional
        The residual that an iteration may leave, relative to b; by default eps^0.75 (2e-12 in
        float64).
    maxiter : int, optional
        How long SciPy's iteration may run, in its own units.

    Returns
    -------
    pytree
        The x with `matvec(x, *args) = b`, with the containers, shapes and dtypes of b.

    Raises
    ------
    InputError
        If the solver is unknown, or b is not of a floating or complex dtype.
    NotDifferentiableError
        If the matrix is singular or, in a derivative, not symmetric though it was said to be.
    ConvergenceError
        If an iteration does not arrive.
    RuleError
        If matvec depends on a traced value that is neither in `args` nor in its closure.
    ImportError
        If the solver is SciPy's, and SciPy is missing.

    See Also
    --------
    root : Equations that are not linear.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> def compliance(k):
    ...     load = np.array([1.0, 2.0])
    ...     return load @ solve(lambda x: k * x, load, symmetric=True)
    >>> tapegrad.grad(compliance)(np.array([1.0, 4.0]))
    array([-1.  , -0.25])
    """
    call = f"implicit.solve({name_of(matvec)})"
    if solver in ("cg", "minres"):
        symmetric = True
    system = LinearSolver(
        call,
        solver,
        symmetric=symmetric,
        preconditioner=preconditioner,
        tol=tol,
        maxiter=maxiter,
    )
    lifted = Lifted(matvec)

    def residual(x: Any, b: Any, args: tuple[Any, ...], values: list[Any]) -> Any:
        image = lifted.with_values(values)(x, *args)
        return tree_map(lambda image, b: image - b, image, b)

    def find(_: Any, given: tuple[Any, ...]) -> Any:
        b, args, values = given
        unknowns = problem.unknowns
        assert unknowns is not None
        inner = lifted.with_values(values)

        def product(v: Any) -> Any:
            return as_vector(inner(unknowns.tree(v), *args))

        right = np.asarray(unknowns.vector(b))
        if system.is_dense(right.size):
            matrix = jacfwd(product)(np.zeros_like(right))
            if in_trace(matrix):
                raise closes_over(call, "matvec")
            return unknowns.tree(DenseMatrix(call, matrix).solve(right, transposed=False))
        found = system.solve(product, right, False, unknowns.tree, unknowns.vector)
        return unknowns.tree(found)

    problem = Problem(call, residual, find, system, tol=tol and 100 * tol, like=b)
    return problem.solve((), (b, as_args(args), lifted.values))


__all__ = ["solve"]
