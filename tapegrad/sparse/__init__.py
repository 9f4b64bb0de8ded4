"""Sparse Jacobians and Hessians: the pattern from the tape, the entries from few products.

`jacobian` and `hessian` return SciPy sparse arrays (extra `tapegrad[scipy]`). A matrix with 10^5
columns and 3 entries a row takes 3 products with vectors, not 10^5.

>>> import tapegrad.sparse
>>> def f(x):
...     return np.sum((x[1:] - x[:-1]) ** 2)
>>> tapegrad.sparse.hessian(f)(np.zeros(3)).toarray()
array([[ 2., -2.,  0.],
       [-2.,  4., -2.],
       [ 0., -2.,  2.]])
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._errors import (
    InputError,
    NotDifferentiableError,
    OutputError,
    ShapeMismatchError,
    describe,
    message,
    name_of,
)
from tapegrad._reverse import grad
from tapegrad.sparse._colouring import colour_columns
from tapegrad.sparse._measured import Measured
from tapegrad.sparse._products import Pattern, Plan, plan_columns

Function = Callable[..., Any]
MODES = ("auto", "forward", "reverse")


def jacobian(
    f: Function, argnums: int | Sequence[int] = 0, *, pattern: Any = None, mode: str = "auto"
) -> Function:
    """The Jacobian of f as a SciPy sparse array, a `csr_array`.

    Rows are the elements of the output, columns those of the inputs that `argnums` selects, each
    in C order; of pytrees, and of several arguments, the leaves follow one another.

    `pattern` says where entries may be other than zero (booleans, or a sparse array of any
    numbers). Without one it is found by running f, which costs a few times as much as f. A given
    one is checked: each result is compared with a product of the Jacobian with a random vector.
    `mode`: "forward" measures columns, "reverse" rows, "auto" what takes fewer products, with the
    fullest rows (or columns) apart. Complex inputs or outputs go forward only, as in `jacfwd`.

    Entries of the pattern that are zero at this x are stored. Raises InputError where a given
    pattern misses an entry, and where the pattern is too dense to be of use; ShapeMismatchError
    where it has another shape; NotDifferentiableError inside another transform.

    >>> import tapegrad.sparse
    >>> print(tapegrad.sparse.jacobian(lambda x: x[1:] * x[:-1])(np.array([1.0, 2.0, 3.0])))
    <Compressed Sparse Row sparse array of dtype 'float64'
        with 4 stored elements and shape (2, 3)>
      Coords  Values
      (0, 0)  2.0
      (0, 1)  1.0
      (1, 1)  3.0
      (1, 2)  2.0
    """
    call = f"sparse.jacobian({name_of(f)})"
    if mode not in MODES:
        raise InputError(
            message(call, 'mode "auto", "forward" or "reverse"', repr(mode), "Leave it away")
        )
    matrix = _Matrix(call, pattern, mode, symmetric=False)

    @functools.wraps(f, updated=())
    def jacobian_of(*args: Any, **kwargs: Any) -> Any:
        return matrix.of(Measured(call, f, argnums, args, kwargs))

    return jacobian_of


def hessian(f: Function, argnums: int | Sequence[int] = 0, *, pattern: Any = None) -> Function:
    """The Hessian of a real scalar function as a SciPy sparse array, a `csr_array`.

    It is the sparse Jacobian of the gradient, from Hessian-vector products: for `argnums`,
    `pattern` and what is raised see `jacobian`. A few full rows, as of a parameter that all terms
    share, are measured apart, and their columns known by symmetry.

    >>> import tapegrad.sparse
    >>> print(tapegrad.sparse.hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0])))
    <Compressed Sparse Row sparse array of dtype 'float64'
        with 2 stored elements and shape (2, 2)>
      Coords  Values
      (0, 0)  6.0
      (1, 1)  12.0
    """
    call = f"sparse.hessian({name_of(f)})"
    matrix = _Matrix(call, pattern, "forward", symmetric=True)
    gradient = grad(f, argnums)

    @functools.wraps(f, updated=())
    def hessian_of(*args: Any, **kwargs: Any) -> Any:
        measured = Measured(call, gradient, argnums, args, kwargs)
        if measured.is_complex:
            raise InputError(
                message(
                    call,
                    "real inputs",
                    ", ".join(map(describe, measured.inputs)),
                    "Take real and imaginary parts as two inputs",
                )
            )
        return matrix.of(measured)

    return hessian_of


def pattern(f: Function, argnums: int | Sequence[int] = 0) -> Function:
    """Where the Jacobian of f can be other than zero: a `csr_array` of booleans.

    It is that of the program as it runs on these arguments: it holds wherever f takes the same
    branches. The pattern of a Hessian is `pattern(grad(f))`.

    >>> import tapegrad.sparse
    >>> tapegrad.sparse.pattern(lambda x: x[1:] * x[:-1])(np.zeros(3)).toarray()
    array([[ True,  True, False],
           [False,  True,  True]])
    """
    call = f"sparse.pattern({name_of(f)})"

    @functools.wraps(f, updated=())
    def pattern_of(*args: Any, **kwargs: Any) -> Any:
        found = Measured(call, f, argnums, args, kwargs).pattern()
        return _as_scipy(found, np.ones(found.columns.size, bool))

    return pattern_of


def colour(pattern: Any) -> Any:
    """A colour (0, 1, ...) for each column, different for columns that share a row.

    `pattern` is an array of booleans or a sparse array. Products with one vector of zeros and ones
    a colour give all entries. For rows pass the transpose.

    >>> import tapegrad.sparse
    >>> tapegrad.sparse.colour(np.eye(4) + np.eye(4, k=1))
    array([0, 1, 0, 1])
    """
    given = _as_pattern("sparse.colour", pattern)
    return colour_columns(given.starts, given.columns, (given.shape[1],))


class _Matrix:
    """What one transform keeps from call to call: the given pattern, and the last plan."""

    def __init__(self, call: str, pattern: Any, mode: str, *, symmetric: bool) -> None:
        self.call, self.mode, self.symmetric = call, mode, symmetric
        self.given = None if pattern is None else _as_pattern(call, pattern)
        if self.given is not None and symmetric:
            self.given = _symmetric(call, self.given)
        self.last: tuple[Any, Pattern, _Route] | None = None

    def of(self, measured: Measured) -> Any:
        _scipy()
        pattern = self.given
        if pattern is None:
            pattern = measured.pattern()
            pattern = _symmetric(self.call, pattern) if self.symmetric else pattern
        elif pattern.shape != measured.shape:
            raise ShapeMismatchError(
                message(
                    self.call,
                    f"a pattern of shape {measured.shape}",
                    f"shape {pattern.shape}",
                    "Give it a row for each element of the output, a column for each of the input",
                )
            )
        entries = self._route(measured, pattern).entries(measured)
        if self.given is not None:
            _check(self.call, measured, pattern, entries)
        return _as_scipy(pattern, entries)

    def _route(self, measured: Measured, pattern: Pattern) -> _Route:
        leaves = (measured.inputs, measured.outputs)
        key = ([np.shape(leaf) for part in leaves for leaf in part], measured.is_complex)
        if self.last is not None and self.last[0] == key and self.last[1].same(pattern):
            return self.last[2]
        route = _best(self, measured, pattern)
        self.last = (key, pattern, route)
        return route


class _Route:
    """A plan, by columns or (with `order`) by rows: then it is that of the transpose."""

    def __init__(self, plan: Plan, order: Any = None) -> None:
        self.plan, self.order = plan, order

    def entries(self, measured: Measured) -> Any:
        plan, dtype = self.plan, measured.dtype
        if plan.symmetric:
            return plan.entries(measured.forward, measured.forward, dtype)
        if self.order is None:
            return plan.entries(measured.forward, measured.reverse, dtype)
        found = plan.entries(measured.reverse, measured.forward, dtype)
        entries = np.empty_like(found)
        entries[self.order] = found
        return entries


def _best(matrix: _Matrix, measured: Measured, pattern: Pattern) -> _Route:
    """The route that takes the fewest products."""
    mode, symmetric = matrix.mode, matrix.symmetric
    if measured.is_complex:
        if mode == "reverse":
            raise OutputError(
                message(
                    matrix.call, "real inputs and outputs", "complex ones", 'Pass mode="forward"'
                )
            )
        mode = "forward"
    mixed = symmetric or mode == "auto"
    routes = []
    if mode != "reverse":
        plan = plan_columns(pattern, _shape(measured.inputs), mixed=mixed, symmetric=symmetric)
        routes.append(_Route(plan))
    if mode == "reverse" or mode == "auto" and routes[0].plan.cost > 1:
        turned, order = pattern.transposed()
        plan = plan_columns(turned, _shape(measured.outputs), mixed=mixed, symmetric=False)
        routes.append(_Route(plan, order))
    return min(routes, key=lambda route: route.plan.cost)


def _shape(leaves: list[Any]) -> tuple[int, ...]:
    """The shape in which a row of all elements is an array: that of a single leaf."""
    if len(leaves) == 1:
        return tuple(leaves[0].shape)
    return (sum(math.prod(leaf.shape) for leaf in leaves),)


def _check(call: str, measured: Measured, pattern: Pattern, entries: Any) -> None:
    """Raise InputError where a product with a random vector shows that an entry is missing."""
    random = np.random.default_rng()
    vector = random.choice([-1.0, 1.0], pattern.shape[1]) * random.uniform(
        0.5, 1.5, pattern.shape[1]
    )
    vector = vector.astype(measured.dtype)
    matrix = _as_scipy(pattern, entries)
    with np.errstate(all="ignore"):
        expected, found = measured.forward(vector), matrix @ vector
        scale = abs(matrix) @ np.abs(vector) + np.abs(expected)
        close = np.abs(expected - found) <= np.sqrt(np.finfo(measured.dtype).eps) * scale
        close |= ~np.isfinite(scale) & ~np.isfinite(expected)
    if not close.all():
        raise InputError(
            message(
                call,
                "a pattern with all entries that are not zero",
                f"one that misses some, for instance in row {int(np.argmin(close))}",
                "Leave pattern= away to have it found",
            )
        )


# --- SciPy --------------------------------------------------------------------------------------


def _scipy() -> Any:
    try:
        import scipy.sparse
    except ImportError as error:
        raise ImportError(
            "tapegrad.sparse: its results are SciPy's sparse arrays. Install tapegrad[scipy]."
        ) from error
    return scipy.sparse


def _as_scipy(pattern: Pattern, entries: Any) -> Any:
    kind = np.int32 if max(*pattern.shape, entries.size) < 2**31 else np.int64
    parts = (entries, pattern.columns.astype(kind), pattern.starts.astype(kind))
    return _scipy().csr_array(parts, shape=pattern.shape)


def _as_pattern(call: str, given: Any) -> Pattern:
    """A pattern of what a user gave: a matrix of anything that is zero or not."""
    if not hasattr(given, "tocsr"):
        given = np.asarray(given)
    if given.ndim != 2 or given.dtype.kind not in "biufc":
        raise InputError(
            message(call, "a pattern of two axes", describe(given), "Pass an array of booleans")
        )
    if isinstance(given, np.ndarray):
        rows, columns = np.nonzero(given)
    else:
        rows, columns = given.nonzero()
        order = np.lexsort((columns, rows))
        rows, columns = rows[order], columns[order]
    counts = np.bincount(rows, minlength=given.shape[0])
    return Pattern(
        np.concatenate([[0], np.cumsum(counts)]), columns.astype(np.int64), tuple(given.shape)
    )


def _symmetric(call: str, pattern: Pattern) -> Pattern:
    """The entries of a pattern and of its transpose."""
    if pattern.shape[0] != pattern.shape[1]:
        raise ShapeMismatchError(
            message(call, "a square pattern", f"shape {pattern.shape}", "Pass that of the Hessian")
        )
    turned, _ = pattern.transposed()
    if turned.same(pattern):
        return pattern
    ones = (_as_scipy(part, np.ones(part.columns.size, np.int8)) for part in (pattern, turned))
    return _as_pattern(call, sum(ones, start=next(ones)))


__all__ = ["colour", "hessian", "jacobian", "pattern"]
