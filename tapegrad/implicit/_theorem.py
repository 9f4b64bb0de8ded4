"""The implicit function theorem: solutions of equations as functions of their parameters.

F(x, p) = 0 makes x a function of p, with dx = -(dF/dx)^-1 (dF/dp) dp. Two primitives say this:
`solution` finds x, and `applied_inverse` applies the inverse of dF/dx, or of its transpose. The
rule of each is made of derivatives of F and of the second, so there are derivatives of every
order, in both directions; vmap calls them for one example after another, and a program holds them
as calls.

Knows equations F of a vector x. Must not know what they are the equations of.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import general
from tapegrad._core.quiet import silence
from tapegrad._core.types import Cotangent, Function, Tangent, Value
from tapegrad._core.values import in_trace, is_array, is_inexact
from tapegrad._errors import (
    NotDifferentiableError,
    ShapeMismatchError,
    describe,
    message,
)
from tapegrad._transforms.forward import jvp, linearize
from tapegrad._transforms.jacobians import jacfwd
from tapegrad._transforms.primitives import primitive
from tapegrad._transforms.reverse import vjp
from tapegrad._tree import flatten, unflatten
from tapegrad.implicit._solvers import norm
from tapegrad.implicit._systems import (
    FALLBACK,
    ConvergenceError,
    DenseMatrix,
    LinearSolver,
    closes_over,
)
from tapegrad.implicit._unknowns import Unknowns, as_vector

KEPT = 8  # matrices of one problem that are kept, for several products with each


class Problem:
    """Equations `residual(x, *args) = 0`, a solver for them, and the linear solver of derivatives.

    solver: `(x0, args) -> x` of plain trees. weak: `(x, *args) -> str`, which says why a plain
    solution cannot be differentiated, or "". tol: the residual that a solution may have, relative
    to what the equations change by if x and args do by their own size.
    """

    def __init__(
        self,
        call: str,
        residual: Function,
        solver: Callable[[Any, tuple[Any, ...]], Any],
        linear_solver: LinearSolver,
        *,
        tol: float | None = None,
        weak: Function | None = None,
        like: Any = None,
    ) -> None:
        self.call, self.residual, self.solver = call, residual, solver
        self.linear_solver, self.tol, self.weak = linear_solver, tol, weak
        self.unknowns: Unknowns | None = None if like is None else Unknowns(call, like)
        self.structure: Any = None
        self.leaves: list[Any] = []
        self.places: list[int] = []
        self.start: Any = None
        self._matrices: OrderedDict[bytes, DenseMatrix] = OrderedDict()

    # --- Solving ------------------------------------------------------------------------------

    def solve(self, x0: Any, args: tuple[Any, ...]) -> Any:
        """The solution as a tree, differentiable by args."""
        leaves, self.structure = flatten((x0, args))
        self.leaves = leaves
        self.places = [i for i, x in enumerate(leaves) if in_trace(x) or is_array(x)]
        self.count = len(flatten(x0)[0])
        found = solution(*(leaves[i] for i in self.places), problem=self)
        assert self.unknowns is not None
        return self.unknowns.tree(found)

    def trees(self, arrays: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
        """x0 and args, of the arrays among their leaves."""
        filled = list(self.leaves)
        for place, array in zip(self.places, arrays, strict=True):
            filled[place] = array
        x0, args = unflatten(self.structure, filled)
        return x0, args

    def find(self, arrays: Sequence[Any]) -> Any:
        """The solution as a plain vector, checked."""
        x0, args = self.trees(arrays)
        found = self.solver(x0, args)
        if any(map(in_trace, flatten(found)[0])):
            raise closes_over(self.call, "the solver")
        if self.unknowns is None:
            self.unknowns = Unknowns(self.call, found)
        x = np.asarray(self.unknowns.vector(found))
        self._check(x, x0, arrays)
        return x

    def _check(self, x: Any, x0: Any, arrays: Sequence[Any]) -> None:
        """Raise ConvergenceError for a residual that is not small."""
        if not np.isfinite(x).all():
            raise ConvergenceError(
                f"{self.call}: the solution is not finite. Start nearer to it, or choose another "
                "solver."
            )
        active = [i for i in range(len(arrays)) if self._moves(i, arrays)]
        given = [arrays[i] for i in active]

        def of(x: Value, *moved: Value) -> Any:
            return self.equations(x, *_filled(arrays, active, moved))

        with silence():
            # Apart: in x - p = 0 the two changes together would cancel.
            left, change = jvp(lambda x: of(x, *given), (x,), (_sized(x, self._start_of(x0)),))
            changes = [change]
            if given:
                sizes = tuple(_sized(p) for p in given)
                changes.append(jvp(lambda *moved: of(x, *moved), tuple(given), sizes)[1])
        if in_trace(left):
            raise closes_over(self.call, "a function of the equations")
        allowed = self.tol or float(np.finfo(x.dtype).eps) ** 0.4
        error = norm(left)
        scale = float(np.hypot.reduce([norm(change) for change in changes]))
        if error and not error <= allowed * scale < np.inf:
            share = error / scale if 0 < scale < np.inf else np.inf
            raise ConvergenceError(
                f"{self.call}: the solver did not arrive at a solution: the residual's norm is "
                f"{error:.3g}, which is {share:.2g} of its scale "
                f"{scale:.3g} and may be {allowed:.2g} of it. Start nearer, let the solver run "
                "longer, or pass tol= if this is near enough."
            )

    def _moves(self, i: int, arrays: Sequence[Any]) -> bool:
        return self.places[i] >= self.count and is_inexact(arrays[i])

    def _start_of(self, x0: Any) -> Any:
        """x0 as a vector, if it is like the solution."""
        assert self.unknowns is not None
        leaves, structure = flatten(x0)
        if structure != self.unknowns.structure or not leaves:
            return 0.0
        start = as_vector(x0)
        return start if start.size == self.unknowns.size else 0.0

    def equations(self, x: Value, *arrays: Value) -> Any:
        """The residual as a vector, at a vector of unknowns."""
        assert self.unknowns is not None
        _, args = self.trees(arrays)
        out = as_vector(self.residual(self.unknowns.tree(x), *args))
        if out.shape != x.shape:
            raise ShapeMismatchError(
                message(
                    self.call,
                    f"as many equations as unknowns, {x.size}",
                    f"{out.size} ({describe(out)})",
                    "Return one residual for each unknown",
                )
            )
        return out

    # --- Linear systems -----------------------------------------------------------------------

    def apply_inverse(self, transposed: bool, b: Any, x: Any, arrays: Sequence[Any]) -> Any:
        """The plain y with (dF/dx) y = b, or of the transpose."""
        if self.weak is not None and (reason := self._weakness(x, arrays)):
            raise NotDifferentiableError(f"{self.call}: {reason}")
        symmetric = self.linear_solver.symmetric
        b = b.astype(x.dtype, copy=False)
        if self.linear_solver.is_dense(x.size):
            return self._matrix(x, arrays).solve(b, transposed and not symmetric)
        try:
            return self._iterated(transposed and not symmetric, b, x, arrays)
        except ConvergenceError:
            if self.linear_solver.method != "auto" or x.size > FALLBACK:
                raise
            return self._matrix(x, arrays).solve(b, transposed and not symmetric)

    def _weakness(self, x: Any, arrays: Sequence[Any]) -> str:
        assert self.weak is not None
        assert self.unknowns is not None
        return str(self.weak(self.unknowns.tree(x), *self.trees(arrays)[1]))

    def _iterated(self, transposed: bool, b: Any, x: Any, arrays: Sequence[Any]) -> Any:
        assert self.unknowns is not None

        def of(x: Value) -> Any:
            return self.equations(x, *arrays)

        if transposed:
            pull = vjp(of, x)[1]

            def product(v: Value) -> Any:
                return pull(v.astype(x.dtype))[0]

        else:
            push = linearize(of, x)[1]

            def product(v: Value) -> Any:
                return push(v.astype(x.dtype))

        if self.linear_solver.symmetric:
            _check_products(self.call, product, x)
        unknowns = self.unknowns
        return self.linear_solver.solve(product, b, transposed, unknowns.tree, unknowns.vector)

    def _matrix(self, x: Any, arrays: Sequence[Any]) -> DenseMatrix:
        key = b"|".join(np.asarray(part).tobytes() for part in (x, *arrays))
        found = self._matrices.get(key)
        if found is None:
            matrix = _plain(self.call, jacfwd(lambda x: self.equations(x, *arrays))(x))
            if self.linear_solver.symmetric:
                _check_symmetric(self.call, matrix)
            found = self._matrices[key] = DenseMatrix(self.call, matrix)
            while len(self._matrices) > KEPT:
                self._matrices.popitem(last=False)
        return found


def _check_symmetric(call: str, matrix: Any) -> None:
    """Raise NotDifferentiableError for a matrix that was said to be symmetric, and is not."""
    allowed = float(np.finfo(matrix.dtype).eps) ** 0.4 * float(np.max(np.abs(matrix), initial=0.0))
    if np.any(np.abs(matrix - matrix.T) > allowed):
        raise _not_symmetric(call)


def _check_products(call: str, product: Function, x: Any) -> None:
    """The same of a matrix that is known by its products alone: u (A v) = v (A u), for two."""
    u, v = np.random.default_rng(0).standard_normal((2, x.size)).astype(x.dtype)
    image_u, image_v = (_plain(call, product(w)) for w in (u, v))
    allowed = float(np.finfo(x.dtype).eps) ** 0.5 * norm(u) * max(norm(image_u), norm(image_v))
    if abs(float(u @ image_v) - float(v @ image_u)) > allowed:
        raise _not_symmetric(call)


def _not_symmetric(call: str) -> NotDifferentiableError:
    return NotDifferentiableError(
        f"{call}: symmetric=True, and solvers for symmetric matrices (cg, minres), need a "
        "matrix that is its own transpose; this one is not. Leave symmetric away, or choose "
        "another solver."
    )


def _plain(call: str, value: Any) -> Any:
    if in_trace(value):
        raise closes_over(call, "a function of the equations")
    return value


def _sized(x: Any, start: Any = 0.0) -> Any:
    """A direction of the size of x, with signs that are not those of x."""
    size = np.maximum(np.abs(x), np.abs(start))
    size = np.where(np.isfinite(size), size, 0.0)  # an infinite bound does not move
    count = np.arange(np.size(x), dtype=np.uint32).reshape(np.shape(x))
    signs = np.where((count * np.uint32(2654435761)) >> np.uint32(31), -1.0, 1.0)
    return (size * signs).astype(x.dtype)[()]


def _filled(arrays: Sequence[Any], active: Sequence[int], moved: Sequence[Any]) -> list[Any]:
    filled = list(arrays)
    for i, value in zip(active, moved, strict=True):
        filled[i] = value
    return filled


# --- The primitives ---------------------------------------------------------------------------


@primitive
def solution(*arrays: Value, problem: Problem) -> Any:
    """The vector x with F(x, p) = 0; the arrays are the leaves of x0 and of p."""
    return problem.find(arrays)


@primitive
def applied_inverse(*arrays: Value, problem: Problem, transposed: bool) -> Any:
    """The y with A y = b for A = dF/dx, or its transpose; the arrays are b, x and the rest."""
    b, x, *rest = arrays
    return problem.apply_inverse(transposed, b, x, rest)


def _solution_jvp(dots: Sequence[Tangent], out: Value, *arrays: Value, problem: Problem) -> Any:
    moving = [i for i, dot in enumerate(dots) if dot is not None and problem._moves(i, arrays)]
    if not moving:
        return None

    def of(*moved: Value) -> Any:
        return problem.equations(out, *_filled(arrays, moving, moved))

    given = tuple(arrays[i] for i in moving)
    change = jvp(of, given, tuple(dots[i] for i in moving))[1]
    return -applied_inverse(change, out, *arrays, problem=problem, transposed=False)


def _solution_vjp(g: Cotangent, out: Value, *arrays: Value, problem: Problem) -> list[Any]:
    bars: list[Any] = [None] * len(arrays)
    moving = [i for i in range(len(arrays)) if problem._moves(i, arrays)]
    if not moving:
        return bars
    y = applied_inverse(g, out, *arrays, problem=problem, transposed=True)

    def of(*moved: Value) -> Any:
        return problem.equations(out, *_filled(arrays, moving, moved))

    pull = vjp(of, *(arrays[i] for i in moving))[1]
    return _filled(bars, moving, pull(-y))


def _product(y: Value, transposed: bool, problem: Problem, x: Value, arrays: Sequence[Any]) -> Any:
    """A y, or that of the transpose, differentiable by x and the arrays."""

    def of(x: Value) -> Any:
        return problem.equations(x, *arrays)

    if transposed and not problem.linear_solver.symmetric:
        return vjp(of, x)[1](y)[0]
    return jvp(of, (x,), (y,))[1]


def _inverse_jvp(
    dots: Sequence[Tangent], out: Value, *arrays: Value, problem: Problem, transposed: bool
) -> Any:
    right = dots[0]
    moving = [
        i
        for i, dot in enumerate(dots)
        if i and dot is not None and (i == 1 or problem._moves(i - 2, arrays[2:]))
    ]
    if moving:

        def of(*moved: Value) -> Any:
            _, x, *rest = _filled(arrays, moving, moved)
            return _product(out, transposed, problem, x, rest)

        given = tuple(arrays[i] for i in moving)
        change = jvp(of, given, tuple(dots[i] for i in moving))[1]
        right = -change if right is None else right - change
    if right is None:
        return None
    return applied_inverse(right, *arrays[1:], problem=problem, transposed=transposed)


def _inverse_vjp(
    g: Cotangent, out: Value, *arrays: Value, problem: Problem, transposed: bool
) -> list[Any]:
    back = applied_inverse(g, *arrays[1:], problem=problem, transposed=not transposed)
    moving = [1, *(i + 2 for i in range(len(arrays) - 2) if problem._moves(i, arrays[2:]))]

    def of(*moved: Value) -> Any:
        _, x, *rest = _filled(arrays, moving, moved)
        return _product(out, transposed, problem, x, rest)

    pull = vjp(of, *(arrays[i] for i in moving))[1]
    bars: list[Any] = [back, *[None] * (len(arrays) - 1)]
    return _filled(bars, moving, pull(-back))


general(solution, jvp=_solution_jvp, vjp=_solution_vjp, batch="loop")
general(applied_inverse, jvp=_inverse_jvp, vjp=_inverse_vjp, batch="loop")


__all__ = ["Problem"]
