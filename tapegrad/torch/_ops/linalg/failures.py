"""Which matrices of a stack a factorization fails on, and what stands for its results then.

Knows LAPACK's codes, which NumPy's functions keep to themselves. Must not know tensors.

A matrix that fails is found only where NumPy has raised, so the usual call pays nothing. Its
result is NaN, and its derivative zero: the function is called with the identity in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import is_mapped, untraced
from tapegrad.torch._ops.linalg.triangular_factors import info_of, packed

Compute = Callable[[Value], Value]


class LinAlgError(RuntimeError):
    """A matrix is singular, or not positive definite, or a decomposition did not converge."""


LinAlgError.__module__ = "tapegrad.torch.linalg"


def tried(message: str, find: Compute, compute: Compute, A: Value) -> Value:
    """The result of a function of NumPy; its LinAlgError becomes PyTorch's.

    message: PyTorch's text, with {batch} for the first matrix that fails, {place} for its code.
    find: the codes of the matrices.
    """
    try:
        return compute(A)
    except np.linalg.LinAlgError as error:
        raise LinAlgError(_told(message, find(untraced(A)))) from error


def with_codes(
    message: str,
    find: Compute,
    compute: Compute,
    A: Value,
    check_errors: bool,
    *,
    rank: int = 2,
    partial: Callable[[Value, Value], Value] | None = None,
) -> tuple[Value, Value]:
    """The result, and LAPACK's codes (...): 0 for success.

    rank: how many dimensions the result has for each matrix. partial: of the matrices and codes,
    the results of those that fail; NaN unless given.
    """
    if check_errors:
        return tried(message, find, compute, A), np.zeros(A.shape[:-2], np.int32)
    try:
        return compute(A), np.zeros(A.shape[:-2], np.int32)
    except np.linalg.LinAlgError:
        codes = find(untraced(A))
    failed = (codes != 0)[..., None]
    made = compute(np.where(failed[..., None], np.eye(A.shape[-1], dtype=A.dtype), A))
    rest = np.array(np.nan, made.dtype) if partial is None else partial(untraced(A), codes)
    return np.where(failed if rank == 1 else failed[..., None], rest, made), codes


def _told(message: str, codes: Any) -> str:
    if is_mapped(codes) or not np.any(codes):
        return message.format(batch="", place="of some order")
    flat = codes.reshape(-1)
    first = int(np.argmax(flat != 0))
    batch = f"(Batch element {first}): " if codes.ndim else ""
    return message.format(batch=batch, place=int(flat[first]))


def zero_pivots(A: Value) -> Value:
    """For each matrix the place of the first zero among the pivots of its LU factors, or 0.

    LAPACK says which matrices have one, by the sign of the determinant. Its place is that of an
    elimination here, which may round otherwise: the last one then.
    """
    singular = np.linalg.slogdet(A)[0] == 0
    factors, _ = packed("linalg.inv", A, True)
    place = info_of(factors)
    return np.where(singular, np.where(place == 0, A.shape[-1], place), 0).astype(np.int32)


def broken_minors(A: Value) -> Value:
    """For each matrix the order of the first leading minor that is not positive, or 0."""
    order = _first_broken(A)
    if is_mapped(A):
        return order
    failed = [_fails(matrix) for matrix in A.reshape(-1, *A.shape[-2:])]
    bad = np.reshape(failed, A.shape[:-2])
    return np.where(bad, np.where(order == 0, A.shape[-1], order), 0).astype(np.int32)


def partial_factor(A: Value, order: Value) -> Value:
    """The lower factors as far as LAPACK comes to where minors of these orders are not positive.

    Of the column where it stops the diagonal is the pivot, and what follows is as in A: this is
    the unblocked algorithm (Golub and Van Loan, Matrix Computations, 4.2.5).
    """
    rows, order = np.arange(A.shape[-1]), order[..., None]
    columns: list[Value] = []
    for k in rows:
        rest = whole = np.where(rows >= k, A[..., :, k], 0)
        for column in columns:
            rest = rest - column * np.conjugate(column[..., k, None])
        pivot = rest[..., k, None].real
        done = k < order - 1
        root = np.sqrt(np.where(done, pivot, 1))
        factor = np.where(rows == k, root, np.where(rows > k, rest, 0) / root)
        stopped = np.where((rows == k) & (k == order - 1), pivot, whole)
        columns.append(np.where(done, factor, stopped).astype(A.dtype))
    return np.stack(columns, -1)


def _fails(matrix: Value) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return True
    return False


def _first_broken(A: Value) -> Value:
    """The same by an elimination, which may round otherwise than LAPACK."""
    rest, order = A, A[..., 0, 0].real * 0
    for k in range(A.shape[-1]):
        pivot = rest[..., k, k].real
        broken = np.logical_not(pivot > 0)
        order = np.where(np.logical_and(order == 0, broken), k + 1, order)
        column = rest[..., :, k]
        scaled = column / np.where(broken, 1, pivot)[..., None]
        rest = rest - scaled[..., :, None] * np.conjugate(column)[..., None, :]
    return np.nan_to_num(order).astype(np.int32)
