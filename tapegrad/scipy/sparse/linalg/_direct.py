"""Direct solvers: spsolve, splu, factorized, spsolve_triangular.

A x = b has the transposed system for its cotangents, which the same factors solve; the cotangent
of an element of A is the product of two solutions at its position.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

from tapegrad._core.forms import general
from tapegrad._core.types import Cotangent, Value
from tapegrad._core.values import branch_on, in_trace, itself
from tapegrad._errors import NotDifferentiableError
from tapegrad._transforms.primitives import primitive
from tapegrad._warning import warn
from tapegrad.scipy.sparse._arrays import SparseArray, matrix_of
from tapegrad.scipy.sparse._construct import is_ours, mirrored


class Factors:
    """Positions of a sparse matrix, with the factors of the last elements that came.

    Replays solve with the elements of the call: these are factorised once.
    """

    def __init__(self, a: SparseArray, options: dict[str, Any]) -> None:
        self.rows, self.columns, self.shape = a.row, a.col, a.shape
        self.options = options
        self._last: tuple[Any, Any] | None = None

    def __eq__(self, other: object) -> bool:
        """Whether others solve the same: so a program knows a call that is made again."""
        if not isinstance(other, Factors):
            return NotImplemented
        pairs = ((self.rows, other.rows), (self.columns, other.columns))
        return (self.shape, self.options) == (other.shape, other.options) and all(
            a is b or type(a) is type(b) is np.ndarray and np.array_equal(a, b) for a, b in pairs
        )

    def __hash__(self) -> int:
        return hash(self.shape)

    def of(self, data: Any) -> Any:
        """SuperLU's factors of the matrix with these elements."""
        last = self._last
        if last is not None and np.array_equal(last[0], data):
            return last[1]
        matrix = scipy.sparse.coo_array((data, (self.rows, self.columns)), shape=self.shape)
        found = scipy.sparse.linalg.splu(matrix.tocsc(), **self.options)
        self._last = data.copy(), found
        return found


def _plain_solve(data: Value, b: Value, factors: Factors, trans: str) -> Value:
    kind = np.result_type(data.dtype, b.dtype, np.float32)
    found = factors.of(data.astype(np.result_type(data.dtype, np.float32)))
    if kind.kind == "c" and found.U.dtype.kind != "c":
        parts = [found.solve(np.ascontiguousarray(part), trans) for part in (b.real, b.imag)]
        return (parts[0] + 1j * parts[1]).astype(kind)
    return found.solve(b.astype(kind), trans).astype(kind)


def _solve_b(
    g: Cotangent, _out: Value, data: Value, _b: Value, factors: Factors, trans: str
) -> Cotangent:
    return SOLVE.apply_bound([data, g], {"factors": factors, "trans": "NT"[trans == "N"]})


def _solve_data(
    g: Cotangent, out: Value, data: Value, b: Value, factors: Factors, trans: str
) -> Cotangent:
    b_bar = _solve_b(g, out, data, b, factors, trans)
    rows, columns = factors.rows, factors.columns
    if trans != "N":
        rows, columns = columns, rows
    products = np.take(b_bar, rows, 0) * np.take(out, columns, 0)
    return -(products if len(b.shape) == 1 else np.sum(products, axis=-1))


SOLVE = general(
    primitive(_plain_solve), vjp=[_solve_data, _solve_b], name="scipy.sparse.linalg.splu.solve"
)


class _Factorization(type):
    """SciPy's factors, of plain matrices, are instances too."""

    def __instancecheck__(cls, instance: Any) -> bool:
        return super().__instancecheck__(instance) or isinstance(instance, _Plain)


_Plain: Any = scipy.sparse.linalg.SuperLU


class SuperLU(metaclass=_Factorization):
    """The factors of a sparse matrix of traced elements, or for traced right sides.

    Parameters
    ----------
    a : SparseArray
        A square matrix.
    **options : object
        Those of SciPy's splu.

    Attributes
    ----------
    shape : tuple of int
        The shape of the matrix.

    Raises
    ------
    ValueError
        If the matrix is not square.

    See Also
    --------
    splu : Makes it.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> from tapegrad.scipy import sparse
    >>> def f(data):
    ...     a = sparse.csc_array((data, [0, 1], [0, 1, 2]), shape=(2, 2))
    ...     return np.sum(sparse.linalg.splu(a).solve(np.ones(2)))
    >>> tapegrad.grad(f)(np.array([1.0, 2.0]))
    array([-1.  , -0.25])
    """

    def __init__(self, a: SparseArray, **options: Any) -> None:
        if a.shape[0] != a.shape[1]:
            raise ValueError("can only factor square matrices")
        self._a = a
        self.shape = a.shape
        self._factors = Factors(a, {k: v for k, v in options.items() if v is not None})

    @property
    def nnz(self) -> int:
        """How many elements the matrix stores."""
        return self._a.nnz

    def solve(self, rhs: Value, trans: str = "N") -> Any:
        """Return the x of A x = rhs.

        Parameters
        ----------
        rhs : array_like, shape (n,) or (n, k)
            The right side, or several.
        trans : {"N", "T", "H"}, default "N"
            Solve with A, its transpose, or its conjugate transpose.

        Returns
        -------
        array, shape (n,) or (n, k)
            The solution.

        Raises
        ------
        ValueError
            Of another `trans`, or a right side that does not fit.
        """
        if trans not in ("N", "T", "H"):
            raise ValueError("trans must be N, T, or H")
        b = rhs if hasattr(rhs, "shape") else np.asarray(rhs)
        b = b if b.dtype.kind in "fc" else b.astype(float)
        if b.ndim not in (1, 2) or b.shape[0] != self.shape[0]:
            raise ValueError(
                f"rhs of shape {b.shape}: expected {self.shape[0]} rows, one or two axes"
            )
        if trans == "H":
            return np.conjugate(self.solve(np.conjugate(b), "T"))
        params = {"factors": self._factors, "trans": trans}
        return SOLVE.apply_bound([self._a.data, b], params)

    def solved_plainly(self, b: Any) -> Any:
        """Return the solution for a plain right side, by the plain values of the elements.

        Parameters
        ----------
        b : array, shape (n,) or (n, k)
            The right side.

        Returns
        -------
        array, shape (n,) or (n, k)
            The solution, a plain array.
        """
        data = branch_on(itself, self._a.data)
        return _plain_solve(data, b, self._factors, "N")

    def __getattr__(self, name: str) -> Any:
        if name in ("L", "U", "perm_r", "perm_c"):
            raise NotDifferentiableError(
                f"splu(A).{name} of traced elements: expected .solve(b). Use "
                "tapegrad.scipy.linalg.lu of A.toarray() for the factors."
            )
        raise AttributeError(name)


class _PlainLU:
    """SciPy's factors of a constant matrix; a traced right side takes the rule."""

    def __init__(self, a: Any, options: dict[str, Any]) -> None:
        self._plain = scipy.sparse.linalg.splu(a, **options)
        self._a, self._options = a, options
        self._ours: SuperLU | None = None

    def solve(self, rhs: Value, trans: str = "N") -> Any:
        if not in_trace(rhs):
            return self._plain.solve(rhs, trans)
        if self._ours is None:
            self._ours = SuperLU(matrix_of(self._a), **self._options)
            data = self._ours._a.data.astype(np.result_type(self._a.dtype, np.float32))
            self._ours._factors._last = data, self._plain
        return self._ours.solve(rhs, trans)

    # SciPy's class, from which none can derive, answers isinstance.
    __class__ = property(lambda self: _Plain)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plain, name)


def splu(A: Any, **options: Any) -> Any:
    """Factor a sparse matrix, as SciPy's splu does, differentiably by it and by right sides.

    Parameters
    ----------
    A : sparse array, shape (n, n)
        SciPy's, or one of traced elements.
    **options : object
        Those of SciPy's splu.

    Returns
    -------
    object
        With `solve(b, trans="N")`: a SuperLU of traced elements, else what has SciPy's factors
        too.

    Raises
    ------
    ValueError
        If the matrix is not square.

    See Also
    --------
    factorized : The same as a function of the right side.

    Examples
    --------
    >>> import numpy as np, tapegrad, scipy.sparse
    >>> from tapegrad.scipy.sparse.linalg import splu
    >>> factors = splu(scipy.sparse.csc_array([[2.0, 0.0], [1.0, 4.0]]))
    >>> tapegrad.grad(lambda b: np.sum(factors.solve(b)))(np.ones(2))
    array([0.375, 0.25 ])
    """
    return SuperLU(matrix_of(A), **options) if is_ours(A) else _PlainLU(A, options)


def factorized(A: Any) -> Callable[[Value], Any]:
    """Return a function that solves A x = b, as SciPy's factorized does.

    Parameters
    ----------
    A : sparse array, shape (n, n)
        SciPy's, or one of traced elements.

    Returns
    -------
    callable
        Takes b and returns x, differentiable by both A and b.

    See Also
    --------
    splu : The same as an object.

    Examples
    --------
    >>> import numpy as np, tapegrad, scipy.sparse
    >>> from tapegrad.scipy.sparse.linalg import factorized
    >>> solve = factorized(scipy.sparse.csc_array([[2.0, 0.0], [1.0, 4.0]]))
    >>> tapegrad.grad(lambda b: np.sum(solve(b)))(np.ones(2))
    array([0.375, 0.25 ])
    """
    found = splu(A if is_ours(A) else A.tocsc())

    def solve(b: Value) -> Any:
        return found.solve(b)

    return solve


@mirrored(scipy.sparse.linalg.spsolve)
def spsolve(A: Any, b: Any, permc_spec: str | None = None, use_umfpack: bool = True) -> Any:
    if isinstance(b, SparseArray) or scipy.sparse.issparse(b):
        b = b.toarray()
    b = b if hasattr(b, "shape") else np.asarray(b)
    if b.ndim == 2 and b.shape[1] == 1:
        b = b[:, 0]
    try:
        return SuperLU(matrix_of(A), permc_spec=permc_spec).solve(b)
    except RuntimeError as error:
        if "singular" not in str(error):
            raise
        warn("Matrix is exactly singular", scipy.sparse.linalg.MatrixRankWarning)
        return (b + np.sum(matrix_of(A).data)) * np.nan  # by both, unknown


@mirrored(scipy.sparse.linalg.spsolve_triangular)
def spsolve_triangular(
    A: Any,
    b: Any,
    lower: bool = True,
    overwrite_A: bool = False,
    overwrite_b: bool = False,
    unit_diagonal: bool = False,
) -> Any:
    a = matrix_of(A)
    keep = (a.col < a.row) if lower else (a.col > a.row)
    if not unit_diagonal:
        keep = keep | (a.col == a.row)
    at = np.flatnonzero(keep)
    data, rows, columns = a.data[at], a.row[at], a.col[at]
    if unit_diagonal:
        ones = np.arange(a.shape[0])
        data = np.concatenate([data, np.ones(len(ones), a.dtype)])
        rows, columns = np.concatenate([rows, ones]), np.concatenate([columns, ones])
    try:
        return SuperLU(SparseArray(data, (rows, columns), a.shape), permc_spec="NATURAL").solve(b)
    except RuntimeError as error:
        raise np.linalg.LinAlgError("A is singular: zero entry on diagonal.") from error


__all__ = ["SuperLU", "factorized", "splu", "spsolve", "spsolve_triangular"]
