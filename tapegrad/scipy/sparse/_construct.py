"""SciPy's constructors of sparse arrays, of traced elements at constant positions.

Of plain arguments they are SciPy's own and return what SciPy returns.
"""

from __future__ import annotations

import abc
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse

from tapegrad._core.values import holds_in_trace, lift
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy.sparse._arrays import SparseArray, matrix_of, of
from tapegrad.scipy.sparse._base import FORMATS
from tapegrad.scipy.sparse._matrices import SparseMatrix


def is_ours(*values: Any) -> bool:
    """Whether one of some arguments, or a part of it, is traced or a SparseArray."""
    for value in values:
        if isinstance(value, SparseArray) or holds_in_trace(value):
            return True
        if isinstance(value, (list, tuple)) and any(map(is_ours, value)):
            return True
    return False


def mirrored(theirs: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A function that is SciPy's unless an argument is ours."""

    def decorate(definition: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(theirs, updated=())
        def call(*args: Any, **kwargs: Any) -> Any:
            if is_ours(*args, *kwargs.values()):
                return definition(*args, **kwargs)
            return theirs(*args, **kwargs)

        call.__module__ = definition.__module__.rpartition("._")[0]
        return call

    return decorate


# --- One array


def _shape(shape: Any, coords: Any) -> Any:
    if shape is not None:
        return shape if np.ndim(shape) else (shape,)
    return tuple(int(np.max(part, initial=-1)) + 1 for part in coords)


def _positions(part: Any) -> Any:
    found = np.asarray(part)
    return found if found.dtype.kind in "iu" else found.astype(np.intp)  # as of an empty list


def _compressed(format: str, parts: Any, shape: Any) -> SparseArray:
    data, indices, indptr = parts
    indices, indptr = _positions(indices), _positions(indptr)
    major = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    coords: tuple[Any, ...] = (major, indices) if format == "csr" else (indices, major)
    if shape is None:
        first = len(indptr) - 1
        other = int(np.max(indices, initial=-1)) + 1
        shape = (first, other) if format == "csr" else (other, first)
    if np.size(shape) == 1:
        coords = (indices,)
    return SparseArray(lift(data)[: indptr[-1]], coords, _shape(shape, coords), format)


def _blocks(parts: Any, shape: Any) -> SparseArray:
    data, indices, indptr = parts
    data = lift(data)
    skeleton = scipy.sparse.bsr_array(
        (np.arange(1.0, data.size + 1).reshape(data.shape), indices, indptr), shape=shape
    ).tocoo()
    places = skeleton.data.astype(int) - 1
    return SparseArray(np.ravel(data)[places], skeleton.coords, skeleton.shape, "bsr")


def _diagonals(parts: Any, shape: Any) -> SparseArray:
    data, offsets = np.atleast_2d(lift(parts[0])), np.atleast_1d(np.asarray(parts[1]))
    if shape is None:
        raise ValueError("expected a shape argument")
    i, j = np.meshgrid(np.arange(len(offsets)), np.arange(data.shape[1]), indexing="ij")
    rows, columns = j - offsets[i], j
    inside = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    return SparseArray(data[i[inside], j[inside]], (rows[inside], columns[inside]), shape, "dia")


def _made(format: str, arg: Any, shape: Any, dtype: Any) -> SparseArray:
    if isinstance(arg, SparseArray):
        made = arg.asformat(format)
    elif isinstance(arg, tuple) and len(arg) == 3 and format in ("csr", "csc"):
        made = _compressed(format, arg, shape)
    elif isinstance(arg, tuple) and len(arg) == 3 and format == "bsr":
        made = _blocks(arg, shape)
    elif isinstance(arg, tuple) and len(arg) == 2 and format == "dia":
        made = _diagonals(arg, shape)
    elif (
        isinstance(arg, tuple) and len(arg) == 2 and isinstance(arg[1], (tuple, list, np.ndarray))
    ):
        coords = tuple(_positions(part) for part in arg[1])
        made = SparseArray(lift(arg[0]), coords, _shape(shape, coords)).asformat(format)
    else:
        made = of(np.atleast_1d(lift(arg))).asformat(format)
    if made.nnz != made.data.shape[0]:
        raise ValueError(
            f"{format}_array: expected as many elements as positions, got {made.data.shape[0]} "
            f"elements and {made.nnz} positions"
        )
    return made if dtype is None else made.astype(dtype)


def _construct(
    name: str,
    arg1: Any,
    shape: Any = None,
    dtype: Any = None,
    copy: bool = False,
    blocksize: Any = None,
    *,
    maxprint: int | None = None,
) -> SparseArray:
    kind, _, end = name.partition("_")
    if kind in ("lil", "dok"):
        raise NotDifferentiableError(
            f"scipy.sparse.{name} of traced values: expected plain ones. Use "
            "tapegrad.scipy.sparse.csr_array((data, (rows, columns)), shape=shape)."
        )
    if end == "matrix" and not isinstance(arg1, tuple | SparseArray):
        arg1 = np.atleast_2d(lift(arg1))
    made = _kind(_made(kind, arg1, shape, dtype), matrix=end == "matrix")
    return made.copy() if copy else made


def _kind(a: SparseArray, *, matrix: bool) -> SparseArray:
    """The same as an array or as a matrix of SciPy's."""
    kind = SparseMatrix if matrix else SparseArray
    return a if type(a) is kind else kind(a.data, a.coords, a.shape, a.format)


def _as_among(a: SparseArray, *others: Any) -> SparseArray:
    """The same as a matrix, unless one of those from which it comes is a sparse array."""
    arrays = (
        isinstance(x, scipy.sparse.sparray) or isinstance(x, SparseArray) and not x.of_matrix
        for x in others
    )
    return _kind(a, matrix=not any(arrays))


class _Constructor(abc.ABCMeta):
    """The classes here: SciPy's to call, to ask for, and to derive from.

    Called with plain arguments one makes an object of SciPy's class, of which it is a subclass
    that is equal to it; of others it makes a SparseArray.
    """

    _theirs: Any

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if not cls._is_ours():
            return super().__call__(*args, **kwargs)
        if is_ours(*args, *kwargs.values()):
            return _construct(cls.__name__, *args, **kwargs)
        return cls._theirs(*args, **kwargs)

    def _is_ours(cls) -> bool:
        """Whether it is no class of a program's, which derives from one here."""
        return "_theirs" in vars(cls)

    def __instancecheck__(cls, instance: Any) -> bool:
        if isinstance(instance, SparseArray):
            kind = "matrix" if instance.of_matrix else "array"
            return cls._is_ours() and cls.__name__ == f"{instance.format}_{kind}"
        return type.__instancecheck__(cls._theirs if cls._is_ours() else cls, instance)

    def __subclasscheck__(cls, subclass: Any) -> bool:
        # By the order of bases alone: ABCMeta's asks all subclasses, and thus here again.
        return type.__subclasscheck__(cls._theirs if cls._is_ours() else cls, subclass)

    def __eq__(cls, other: object) -> bool:
        return cls is other or cls._is_ours() and cls._theirs is other

    def __hash__(cls) -> int:
        return hash(cls._theirs) if cls._is_ours() else super().__hash__()


_EXAMPLE = """

Examples
--------
>>> from tapegrad.scipy.sparse import {name}
>>> {name}([[1.0, 0.0], [0.0, 2.0]]).toarray()
array([[1., 0.],
       [0., 2.]])
"""


def _constructor(name: str) -> Any:
    theirs = getattr(scipy.sparse, name)
    contents = {
        "_theirs": theirs,
        # Its examples print by SciPy's own settings of doctest: here is another one.
        "__doc__": inspect.cleandoc(theirs.__doc__).partition("Examples\n---")[0].rstrip()
        + _EXAMPLE.format(name=name),
        "__module__": "tapegrad.scipy.sparse",
        "__signature__": inspect.signature(theirs),
    }
    return _Constructor(name, (theirs,), contents)


csr_array, csc_array, coo_array = map(_constructor, ("csr_array", "csc_array", "coo_array"))
bsr_array, dia_array = map(_constructor, ("bsr_array", "dia_array"))
lil_array, dok_array = map(_constructor, ("lil_array", "dok_array"))
csr_matrix, csc_matrix, coo_matrix = map(_constructor, ("csr_matrix", "csc_matrix", "coo_matrix"))
bsr_matrix, dia_matrix = map(_constructor, ("bsr_matrix", "dia_matrix"))
lil_matrix, dok_matrix = map(_constructor, ("lil_matrix", "dok_matrix"))

# --- Diagonals


@mirrored(scipy.sparse.diags_array)
def diags_array(
    diagonals: Any,
    /,
    *,
    offsets: Any = 0,
    shape: Any = None,
    format: str | None = None,
    dtype: Any = None,
) -> SparseArray:
    single = np.ndim(offsets) == 0
    if single and (
        hasattr(diagonals, "shape")
        and len(diagonals.shape) == 1
        or holds_in_trace(diagonals)
        and all(np.ndim(part) == 0 for part in diagonals)
    ):
        diagonals = [diagonals]
    steps = [int(offsets)] if single else [int(k) for k in offsets]
    given = [np.atleast_1d(lift(part)) for part in diagonals]
    if len(given) != len(steps):
        raise ValueError("Different number of diagonals and offsets.")
    if shape is None:
        side = given[0].shape[0] + abs(steps[0])
        shape = (side, side)
    parts, rows, columns = [], [], []
    for part, k in zip(given, steps, strict=True):
        count = min(shape[0] + min(k, 0), shape[1] - max(k, 0))
        if part.shape[0] not in (1, count) and part.shape[0] < count:
            raise ValueError(
                f"Diagonal length (index {k}: {part.shape[0]} at offset {k}) does not agree with "
                f"array size ({shape[0]}, {shape[1]})."
            )
        parts.append(np.broadcast_to(part, (count,)) if part.shape[0] == 1 else part[:count])
        rows.append(np.arange(count) - min(k, 0))
        columns.append(np.arange(count) + max(k, 0))
    coords = np.concatenate(rows), np.concatenate(columns)
    made = SparseArray(np.concatenate(parts), coords, shape, "dia").asformat(format)
    return made if dtype is None else made.astype(dtype)


@mirrored(scipy.sparse.diags)
def diags(
    diagonals: Any,
    offsets: Any = 0,
    shape: Any = None,
    format: str | None = None,
    dtype: Any = None,
) -> SparseArray:
    found = diags_array(diagonals, offsets=offsets, shape=shape, format=format, dtype=dtype)
    return _kind(found, matrix=True)


@mirrored(scipy.sparse.spdiags)
def spdiags(
    data: Any, diags: Any, m: Any = None, n: Any = None, format: str | None = None
) -> SparseArray:
    shape = m if n is None else (m, n)
    values = np.atleast_2d(lift(data))
    shape = (values.shape[1], values.shape[1]) if shape is None else shape
    return _kind(_diagonals((values, diags), shape).asformat(format), matrix=True)


# --- Several arrays


@mirrored(scipy.sparse.block_array)
def block_array(
    blocks: Sequence[Sequence[Any]], *, format: str | None = None, dtype: Any = None
) -> SparseArray:
    grid = [[None if block is None else matrix_of(block) for block in line] for line in blocks]
    heights = [_side([b.shape[0] for b in line if b is not None], "row") for line in grid]
    columns_of = zip(*grid, strict=True)
    widths = [_side([b.shape[1] for b in col if b is not None], "column") for col in columns_of]
    data, rows, columns = [], [], []
    for i, line in enumerate(grid):
        for j, block in enumerate(line):
            if block is not None:
                data.append(block.data)
                rows.append(block.row + sum(heights[:i]))
                columns.append(block.col + sum(widths[:j]))
    coords = np.concatenate(rows), np.concatenate(columns)
    shape = sum(heights), sum(widths)
    made = SparseArray(np.concatenate(data), coords, shape).asformat(format)
    return made if dtype is None else made.astype(dtype)


def _side(sides: list[int], what: str) -> int:
    if len(set(sides)) != 1:
        raise ValueError(f"blocks of one {what} have incompatible or no sizes: {sides}")
    return sides[0]


@mirrored(scipy.sparse.bmat)
def bmat(blocks: Any, format: str | None = None, dtype: Any = None) -> SparseArray:
    found = block_array(blocks, format=format, dtype=dtype)
    return _as_among(found, *(block for line in blocks for block in line))


@mirrored(scipy.sparse.hstack)
def hstack(blocks: Any, format: str | None = None, dtype: Any = None) -> SparseArray:
    return bmat([list(blocks)], format=format, dtype=dtype)


@mirrored(scipy.sparse.vstack)
def vstack(blocks: Any, format: str | None = None, dtype: Any = None) -> SparseArray:
    return bmat([[b] for b in blocks], format=format, dtype=dtype)


@mirrored(scipy.sparse.block_diag)
def block_diag(mats: Any, format: str | None = None, dtype: Any = None) -> SparseArray:
    given = [matrix_of(np.atleast_2d(m) if not hasattr(m, "tocsr") else m) for m in mats]
    count = len(given)
    grid: list[list[Any]] = [[None] * count for _ in range(count)]
    for i, block in enumerate(given):
        grid[i][i] = block
    return _as_among(block_array(grid, format=format, dtype=dtype), *mats)


@mirrored(scipy.sparse.kron)
def kron(A: Any, B: Any, format: str | None = None) -> SparseArray:
    a, b = matrix_of(A), matrix_of(B)
    made = SparseArray(
        np.ravel(np.expand_dims(a.data, 1) * b.data),
        (
            (a.row[:, None] * b.shape[0] + b.row).ravel(),
            (a.col[:, None] * b.shape[1] + b.col).ravel(),
        ),
        (a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]),
    )
    return _as_among(made.asformat(format), A, B)


@mirrored(scipy.sparse.kronsum)
def kronsum(A: Any, B: Any, format: str | None = None) -> SparseArray:
    a, b = matrix_of(A), matrix_of(B)
    left = kron(scipy.sparse.eye_array(b.shape[0]), a)
    made = left + kron(b, scipy.sparse.eye_array(a.shape[0]))
    return _as_among(made.asformat(format), A, B)


def _part(A: Any, keep: Callable[[Any, Any], Any], format: str | None) -> SparseArray:
    a = matrix_of(A)
    at = np.flatnonzero(keep(a.row, a.col))
    made = SparseArray(a.data[at], (a.row[at], a.col[at]), a.shape, a.format)
    return _as_among(made.asformat(format), A)


@mirrored(scipy.sparse.tril)
def tril(A: Any, k: int = 0, format: str | None = None) -> SparseArray:
    return _part(A, lambda i, j: j <= i + k, format)


@mirrored(scipy.sparse.triu)
def triu(A: Any, k: int = 0, format: str | None = None) -> SparseArray:
    return _part(A, lambda i, j: j >= i + k, format)


# --- Axes and positions


@mirrored(scipy.sparse.swapaxes)
def swapaxes(A: Any, axis1: int, axis2: int) -> Any:
    order = list(range(A.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return of(A).transpose(order)


@mirrored(scipy.sparse.permute_dims)
def permute_dims(A: Any, axes: Any = None, copy: bool = False) -> Any:
    return of(A).transpose(axes, copy)


@mirrored(scipy.sparse.expand_dims)
def expand_dims(A: Any, /, *, axis: int = 0) -> Any:
    if not -A.ndim - 1 <= axis <= A.ndim:
        raise ValueError(f"Invalid axis {axis} for a sparse array of {A.ndim} axes")
    at = axis % (A.ndim + 1)
    return of(A).reshape((*A.shape[:at], 1, *A.shape[at:]))


@mirrored(scipy.sparse.find)
def find(A: Any) -> Any:
    a = matrix_of(A)
    rows, columns = a.nonzero()
    return rows, columns, a[rows, columns]


# --- Questions


def _asks(theirs: Callable[[Any], bool], kinds: Any) -> Callable[[Any], bool]:
    """A question about a class, as SciPy's, to which a SparseMatrix may answer too."""

    @functools.wraps(theirs)
    def ask(x: Any) -> bool:
        return theirs(x) or isinstance(x, SparseMatrix) and x.format in kinds

    ask.__module__ = "tapegrad.scipy.sparse"
    return ask


isspmatrix = _asks(scipy.sparse.isspmatrix, FORMATS)
isspmatrix_csr, isspmatrix_csc, isspmatrix_coo, isspmatrix_dia, isspmatrix_bsr = (
    _asks(getattr(scipy.sparse, f"isspmatrix_{kind}"), (kind,)) for kind in FORMATS[:5]
)
isspmatrix_lil, isspmatrix_dok = (
    _asks(getattr(scipy.sparse, f"isspmatrix_{kind}"), (kind,)) for kind in FORMATS[5:]
)


def issparse(x: Any) -> bool:
    """Return whether x is a sparse array or matrix: SciPy's, or a SparseArray.

    Parameters
    ----------
    x : object
        Anything.

    Returns
    -------
    bool
        Whether it is.

    Examples
    --------
    >>> import scipy.sparse
    >>> issparse(scipy.sparse.eye_array(2)), issparse([[1.0]])
    (True, False)
    """
    return isinstance(x, SparseArray) or bool(scipy.sparse.issparse(x))


__all__ = [
    "block_array",
    "block_diag",
    "bmat",
    "bsr_array",
    "bsr_matrix",
    "coo_array",
    "coo_matrix",
    "csc_array",
    "csc_matrix",
    "csr_array",
    "csr_matrix",
    "dia_array",
    "dia_matrix",
    "diags",
    "diags_array",
    "dok_array",
    "dok_matrix",
    "expand_dims",
    "find",
    "hstack",
    "issparse",
    "isspmatrix",
    "isspmatrix_bsr",
    "isspmatrix_coo",
    "isspmatrix_csc",
    "isspmatrix_csr",
    "isspmatrix_dia",
    "isspmatrix_dok",
    "isspmatrix_lil",
    "kron",
    "kronsum",
    "lil_array",
    "lil_matrix",
    "permute_dims",
    "spdiags",
    "swapaxes",
    "tril",
    "triu",
    "vstack",
]
