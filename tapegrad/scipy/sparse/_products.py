"""Products of sparse matrices with dense arrays, as rules.

A constant matrix is linear in the array, and a tape keeps the matrix alone. A matrix whose stored
elements are traced has a product that is linear in each.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from tapegrad._core.forms import linear, multilinear
from tapegrad._core.types import Cotangent, Value
from tapegrad._transforms.primitives import primitive

# --- A constant matrix, in compressed rows or columns


def _compressed(data: Any, indices: Any, indptr: Any, shape: Any, by_columns: bool) -> Any:
    kind = scipy.sparse.csc_array if by_columns else scipy.sparse.csr_array
    return kind((data, indices, indptr), shape=shape, copy=False)


def _plain_times(x: Value, **matrix: Any) -> Value:
    return _compressed(**matrix) @ x


def _times_transpose(g: Cotangent, _out: Value, _x: Value, **matrix: Any) -> Cotangent:
    flipped = {**matrix, "shape": matrix["shape"][::-1], "by_columns": not matrix["by_columns"]}
    return TIMES.apply_bound([g], flipped)


def _times_examples(x: Value, **matrix: Any) -> Value:
    """One product with the vectors of all examples."""
    columns = np.moveaxis(x, 0, -1)
    flat = np.reshape(columns, (columns.shape[0], -1))
    made = TIMES.apply_bound([flat], matrix)
    return np.moveaxis(np.reshape(made, (made.shape[0], *columns.shape[1:])), -1, 0)


TIMES = linear(
    primitive(_plain_times),
    _times_transpose,
    arrays=1,
    name="scipy.sparse: A @ x",
    batch=_times_examples,
)


def times(matrix: Any, x: Value) -> Any:
    """A constant sparse matrix, or a vector of one axis, times a vector, or a matrix."""
    if matrix.ndim == 1:
        return times(matrix.reshape((1, -1)).tocsr(), x)[0]
    found = matrix if matrix.format in ("csr", "csc") else matrix.tocsr()
    if found.ndim != 2 or x.ndim not in (1, 2) or found.shape[1] != x.shape[0]:
        raise ValueError(
            f"matmul: dimension mismatch: a sparse matrix of shape {matrix.shape} times an array "
            f"of shape {x.shape}"
        )
    parts = {"data": found.data, "indices": found.indices, "indptr": found.indptr}
    by_columns = found.format == "csc"
    return TIMES.apply_bound([x], {**parts, "shape": found.shape, "by_columns": by_columns})


# --- Traced elements at constant positions


def _plain_product(data: Value, x: Value, rows: Any, columns: Any, shape: Any) -> Value:
    return scipy.sparse.coo_array((data, (rows, columns)), shape=shape) @ x


def _product_data(
    g: Cotangent, _out: Value, _data: Value, x: Value, rows: Any, columns: Any, shape: Any
) -> Cotangent:
    products = np.take(g, rows, 0) * np.take(x, columns, 0)
    return products if len(x.shape) == 1 else np.sum(products, axis=-1)


def _product_x(
    g: Cotangent, _out: Value, data: Value, _x: Value, rows: Any, columns: Any, shape: Any
) -> Cotangent:
    return product(data, g, columns, rows, shape[::-1])


PRODUCT = multilinear(
    primitive(_plain_product), _product_data, _product_x, name="scipy.sparse: A @ x"
)


def product(data: Value, x: Value, rows: Any, columns: Any, shape: Any) -> Any:
    """A matrix with these elements at these positions, times a vector or a matrix."""
    return PRODUCT.apply_bound([data, x], {"rows": rows, "columns": columns, "shape": shape})


# --- Sums of elements that share a position


def _plain_summed(data: Value, places: Any, count: int) -> Value:
    column = np.zeros(len(places), int)
    return scipy.sparse.coo_array((data, (places, column)), shape=(count, 1)).toarray()[:, 0]


def _summed_transpose(g: Cotangent, _out: Value, _x: Value, places: Any, count: int) -> Cotangent:
    return g[places]


SUMMED = linear(
    primitive(_plain_summed), _summed_transpose, arrays=1, name="scipy.sparse: A.toarray()"
)


def summed(data: Value, places: Any, count: int) -> Any:
    """The sums of the elements that share a place, of `count` places."""
    return SUMMED.apply_bound([data], {"places": places, "count": count})


__all__ = ["product", "summed", "times"]
