"""LU factors: elimination with pivots that are found on the values.

Knows NumPy's functions. Must not know tensors.

NumPy has no LU. The order of the rows is found on plain values, and is a constant to a derivative;
the elimination is written in operations that have derivatives, so that the factors have them too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import is_mapped, untraced
from tapegrad.torch._ops.linalg.checks import require_matrices


def row_order(A: Value, pivot: bool) -> tuple[Any, Any]:
    """The order of the rows that partial pivoting takes, and the swaps as LAPACK counts them."""
    rest = untraced(A)
    if is_mapped(rest):
        return _batched_order(rest, pivot)
    rest = np.array(rest)
    *batch, rows, columns = rest.shape
    rest = rest.reshape(-1, rows, columns)
    order = np.tile(np.arange(rows), (len(rest), 1))
    swaps = np.zeros((len(rest), min(rows, columns)), np.int32)
    for matrix, places, found in zip(rest, order, swaps, strict=True):
        for k in range(min(rows, columns)):
            best = k + int(np.argmax(np.abs(matrix[k:, k]))) if pivot else k
            found[k] = best + 1
            matrix[[k, best]] = matrix[[best, k]]
            places[[k, best]] = places[[best, k]]
            if matrix[k, k] != 0:
                scale = matrix[k + 1 :, k] / matrix[k, k]
                matrix[k + 1 :] -= scale[:, None] * matrix[k]
    return order.reshape(*batch, rows), swaps.reshape(*batch, min(rows, columns))


def _batched_order(rest: Value, pivot: bool) -> tuple[Value, Value]:
    """`row_order` in NumPy's functions of whole arrays, which a vmap can follow."""
    rows, columns = rest.shape[-2:]
    numbers = np.arange(rows)
    order = np.argmax(rest[..., :1] * 0, -1) * 0 + numbers
    swaps = []
    for k in range(min(rows, columns)):
        if pivot:
            best = k + np.argmax(np.abs(rest[..., k:, k]), -1)[..., None]
        else:
            best = order[..., :1] * 0 + k
        swaps.append(best + 1)
        places = np.where(numbers == k, best, np.where(numbers == best, k, numbers))
        rest = np.take_along_axis(rest, places[..., None], -2)
        order = np.take_along_axis(order, places, -1)
        head = rest[..., k : k + 1, k : k + 1]
        safe = np.where(head == 0, np.ones_like(head), head)
        below = np.where((numbers > k)[:, None], rest[..., :, k : k + 1] / safe, 0)
        rest = rest - np.where(head == 0, 0, below) * rest[..., k : k + 1, :]
    return order, np.concatenate(swaps, -1).astype(np.int32)


def eliminated(A: Value, order: Any) -> tuple[Value, Value]:
    """L with ones on its diagonal, and U, for the rows of A in this order.

    A pivot of 0 above zeros alone divides nothing. Above other numbers, as may be without swaps,
    it makes infinities: there is no such L.
    """
    rest = np.take_along_axis(A, order[..., None], axis=-2)
    count = min(A.shape[-2:])
    columns, rows = [], []
    for k in range(count):
        head = rest[..., k : k + 1, k : k + 1]
        empty = np.all(rest[..., k:, k : k + 1] == 0, axis=-2, keepdims=True)
        row, safe = rest[..., k : k + 1, :], np.where(empty, np.ones_like(head), head)
        column = rest[..., :, k : k + 1] / safe
        columns.append(column)
        rows.append(row)
        rest = rest - np.matmul(column, row)
    low, high = np.concatenate(columns, -1), np.concatenate(rows, -2)
    return np.tril(low, -1) + np.eye(*low.shape[-2:], dtype=A.dtype), np.triu(high)


def lu_of(name: str, A: Value, pivot: bool) -> tuple[Value, Value, Value]:
    """P, L and U with `A == P @ L @ U`."""
    require_matrices(name, A)
    order, _ = row_order(A, pivot)
    low, high = eliminated(A, order)
    return permutation(order, A.dtype), low, high


def permutation(order: Any, kind: Any) -> Value:
    """P with `P @ rows in this order == the rows`."""
    rows = order.shape[-1]
    return (np.arange(rows)[:, None] == order[..., None, :]).astype(kind)


def info_of(factors: Any) -> Any:
    """The number of the first zero on the diagonal of U, counted from 1; 0 without one."""
    zero = np.diagonal(factors, axis1=-2, axis2=-1) == 0
    return np.where(np.any(zero, -1), np.argmax(zero, -1) + 1, 0).astype(np.int32)


def packed(name: str, A: Value, pivot: bool) -> tuple[Value, Any]:
    """L below the diagonal and U on and above it, in one matrix, and the swaps of rows."""
    require_matrices(name, A)
    order, swaps = row_order(A, pivot)
    low, high = eliminated(A, order)
    rows, columns = A.shape[-2:]
    if rows > columns:
        gap = np.zeros((*A.shape[:-2], rows - columns, columns), A.dtype)
        return np.tril(low, -1) + np.concatenate([high, gap], -2), swaps
    if columns > rows:
        gap = np.zeros((*A.shape[:-2], rows, columns - rows), A.dtype)
        return np.concatenate([np.tril(low, -1), gap], -1) + high, swaps
    return np.tril(low, -1) + high, swaps


def order_of(swaps: Any, rows: int) -> Any:
    """The order of the rows after the swaps."""
    if is_mapped(swaps):
        return _batched_order_of(swaps, rows)
    flat = swaps.reshape(-1, swaps.shape[-1])
    order = np.tile(np.arange(rows), (len(flat), 1))
    for places, found in zip(order, flat, strict=True):
        for k, best in enumerate(found.tolist()):
            places[[k, best - 1]] = places[[best - 1, k]]
    return order.reshape(*swaps.shape[:-1], rows)


def _batched_order_of(swaps: Value, rows: int) -> Value:
    numbers = np.arange(rows)
    order = swaps[..., :1] * 0 + numbers
    for k in range(swaps.shape[-1]):
        best = swaps[..., k : k + 1] - 1
        places = np.where(numbers == k, best, np.where(numbers == best, k, numbers))
        order = np.take_along_axis(order, places, -1)
    return order
