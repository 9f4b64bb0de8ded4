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
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, overload

import numpy as np
from numpy.typing import NDArray

from tapegrad._core.types import Value
from tapegrad._errors import InputError, describe, message, name_of
from tapegrad._progress import Bar, Progress
from tapegrad._transforms.reverse import grad
from tapegrad._transforms.tracebacks import folding
from tapegrad.sparse._arrays import as_pattern, as_scipy
from tapegrad.sparse._colouring import colour_columns
from tapegrad.sparse._measured import Measured
from tapegrad.sparse._recovery import Matrix
from tapegrad.sparse._spread import Scheduler, require_scheduler

if TYPE_CHECKING:
    from scipy.sparse import csr_array

P = ParamSpec("P")
MODES = ("auto", "forward", "reverse")


@overload
def jacobian(
    f: np.ufunc,
    argnums: int | Sequence[int] = 0,
    *,
    pattern: Value = None,
    mode: str = "auto",
    scheduler: Scheduler = None,
    progress: Progress = None,
) -> Callable[..., csr_array]: ...
@overload
def jacobian(
    f: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    *,
    pattern: Value = None,
    mode: str = "auto",
    scheduler: Scheduler = None,
    progress: Progress = None,
) -> Callable[P, csr_array]: ...
def jacobian(
    f: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    *,
    pattern: Value = None,
    mode: str = "auto",
    scheduler: Scheduler = None,
    progress: Progress = None,
) -> Callable[P, csr_array]:
    """The Jacobian of a function as a SciPy sparse array.

    Parameters
    ----------
    f : callable
        A function of arrays or pytrees of them, which returns an array or a pytree.
    argnums : int or sequence of int, default 0
        The positional arguments to differentiate by.
    pattern : array_like or sparse array, optional
        Where entries may be other than zero: booleans, or any numbers, of the shape of the
        Jacobian. Without one it is found by running f, which costs a few times as much as f. A
        given one is checked: each result is compared with a product of the Jacobian with a random
        vector.
    mode : {"auto", "forward", "reverse"}, default "auto"
        "forward" measures columns, "reverse" rows, "auto" what takes fewer products; it may
        measure the fullest rows (or columns) one by one. Complex inputs or outputs go forward
        only, as in `tapegrad.jacfwd`.
    scheduler : str, distributed.Client or callable, optional
        Dask computes the products: "threads", "processes", "synchronous", a Client of
        `dask.distributed`, or a get function of Dask. Each task runs f once more where it is
        computed, and takes a share of the products; the result is the same to the bit.
    progress : bool or type, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm.

    Returns
    -------
    callable
        A function of f's arguments that returns a `csr_array`. Rows are the elements of the
        output, columns those of the inputs that `argnums` selects, each in C order; of pytrees,
        and of several arguments, the leaves follow one another. Entries of the pattern that are
        zero at these arguments are stored. Its dtype is that to which NumPy promotes inputs and
        outputs.

    Raises
    ------
    InputError
        If a given pattern misses an entry, or has not two axes; if the pattern that is found has
        more than 10^8 entries; for another mode or scheduler, and for inputs that are not of a
        floating or complex dtype.
    ShapeMismatchError
        If a given pattern has another shape.
    OutputError
        If an output is not of a floating or complex dtype, and for complex ones in reverse mode.
    NotDifferentiableError
        If it is called inside another transform, `tapegrad.compile` excepted.
    ImportError
        If SciPy is missing (extra `tapegrad[scipy]`), or Dask for a scheduler (`tapegrad[dask]`).

    See Also
    --------
    hessian : Second derivatives.
    pattern : Where the entries are.
    tapegrad.jacobian : The dense one.

    Examples
    --------
    >>> import tapegrad.sparse
    >>> tapegrad.sparse.jacobian(lambda x: x[1:] * x[:-1])(np.array([1.0, 2.0, 3.0])).toarray()
    array([[2., 1., 0.],
           [0., 3., 2.]])
    """
    call = f"sparse.jacobian({name_of(f)})"
    if mode not in MODES:
        raise InputError(
            message(call, 'mode "auto", "forward" or "reverse"', repr(mode), "Leave it away")
        )
    require_scheduler(call, scheduler)
    matrix = Matrix(call, pattern, mode, symmetric=False)

    @functools.wraps(f, updated=())
    @folding
    def jacobian_of(*args: P.args, **kwargs: P.kwargs) -> Value:
        with Bar(call, progress):
            return matrix.of(Measured(call, f, argnums, args, kwargs, scheduler))

    return jacobian_of


def hessian(
    f: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    *,
    pattern: Value = None,
    scheduler: Scheduler = None,
    progress: Progress = None,
) -> Callable[P, csr_array]:
    """The Hessian of a real scalar function as a SciPy sparse array.

    It is the sparse Jacobian of the gradient, from Hessian-vector products. A few full rows, as of
    a parameter that all terms share, are measured one by one, and symmetry gives their columns.

    Parameters
    ----------
    f : callable
        A function of real arrays or pytrees of them, which returns a real scalar.
    argnums : int or sequence of int, default 0
        The positional arguments to differentiate by.
    pattern : array_like or sparse array, optional
        As in `jacobian`; what is on one side of the diagonal counts for the other side too.
    scheduler : str, distributed.Client or callable, optional
        As in `jacobian`.
    progress : bool or type, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm.

    Returns
    -------
    callable
        A function of f's arguments that returns a `csr_array`, square; rows and columns are
        ordered as the columns in `jacobian`.

    Raises
    ------
    InputError
        If an input is complex; else as in `jacobian`.
    OutputError
        If f does not return a real scalar.
    ShapeMismatchError, NotDifferentiableError, ImportError
        As in `jacobian`.

    See Also
    --------
    jacobian : First derivatives.
    tapegrad.hessian : The dense one.

    Examples
    --------
    >>> import tapegrad.sparse
    >>> tapegrad.sparse.hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0])).toarray()
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    call = f"sparse.hessian({name_of(f)})"
    require_scheduler(call, scheduler)
    matrix = Matrix(call, pattern, "forward", symmetric=True)
    gradient = grad(f, argnums)

    @functools.wraps(f, updated=())
    @folding
    def hessian_of(*args: P.args, **kwargs: P.kwargs) -> Value:
        with Bar(call, progress):
            measured = Measured(call, gradient, argnums, args, kwargs, scheduler)
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


@overload
def pattern(
    f: np.ufunc, argnums: int | Sequence[int] = 0, *, progress: Progress = None
) -> Callable[..., csr_array]: ...
@overload
def pattern(
    f: Callable[P, Any], argnums: int | Sequence[int] = 0, *, progress: Progress = None
) -> Callable[P, csr_array]: ...
def pattern(
    f: Callable[P, Any], argnums: int | Sequence[int] = 0, *, progress: Progress = None
) -> Callable[P, csr_array]:
    """The places where the Jacobian of a function can be other than zero.

    The pattern is that of the program as it runs on these arguments: it holds wherever f takes the
    same branches. That of a Hessian is `pattern(grad(f))`.

    Parameters
    ----------
    f : callable
        A function of arrays or pytrees of them, which returns an array or a pytree.
    argnums : int or sequence of int, default 0
        The positional arguments to differentiate by.
    progress : bool or type, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm.

    Returns
    -------
    callable
        A function of f's arguments that returns a `csr_array` of booleans, of the shape of the
        Jacobian.

    Raises
    ------
    InputError
        If the pattern has more than 10^8 entries.
    NotDifferentiableError
        If it is called inside another transform, `tapegrad.compile` excepted.
    ImportError
        If SciPy is missing.

    See Also
    --------
    jacobian : The entries too.

    Examples
    --------
    >>> import tapegrad.sparse
    >>> tapegrad.sparse.pattern(lambda x: x[1:] * x[:-1])(np.zeros(3)).toarray()
    array([[ True,  True, False],
           [False,  True,  True]])
    """
    call = f"sparse.pattern({name_of(f)})"

    @functools.wraps(f, updated=())
    @folding
    def pattern_of(*args: P.args, **kwargs: P.kwargs) -> Value:
        with Bar(call, progress):
            found = Measured(call, f, argnums, args, kwargs).pattern()
        return as_scipy(found, np.ones(found.columns.size, bool))

    return pattern_of


def colour(pattern: Value, *, progress: Progress = None) -> NDArray[np.intp]:
    """A colour for each column of a pattern, different for columns that share a row.

    One product for each colour, with a vector of zeros and ones, gives all entries of a Jacobian.

    Parameters
    ----------
    pattern : array_like or sparse array
        Booleans, or any numbers, of shape (rows, columns). For rows pass the transpose.
    progress : bool or type, optional
        A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never
        (False), or a class like tqdm.

    Returns
    -------
    ndarray
        Integers 0, 1, ... of shape (columns,).

    Raises
    ------
    InputError
        If the pattern has not two axes.

    See Also
    --------
    pattern : What can be coloured.

    Examples
    --------
    >>> import tapegrad.sparse
    >>> tapegrad.sparse.colour(np.eye(4) + np.eye(4, k=1))
    array([0, 1, 0, 1])
    """
    given = as_pattern("sparse.colour", pattern)
    with Bar("sparse.colour", progress):
        return colour_columns(given.starts, given.columns, (given.shape[1],))


__all__ = ["colour", "hessian", "jacobian", "pattern"]
