"""How exact a derivative has to be: one table by dtype, and the steps of differences."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.types import Value


class Tolerance(NamedTuple):
    """Relative errors: what rounding may do, and what differences in the same dtype may add."""

    rounding: float
    differences: float


# By the real dtype of a result; a complex one has the row of its parts. In float16 and float32
# rules round once an operation, and sums of a few dozen terms are what the checks see.
TOLERANCES: dict[np.dtype[Any], Tolerance] = {
    np.dtype(np.float16): Tolerance(2e-2, 2e-1),
    np.dtype(np.float32): Tolerance(1e-4, 1e-2),
    np.dtype(np.float64): Tolerance(1e-10, 1e-6),
    np.dtype(np.longdouble): Tolerance(1e-10, 1e-6),
}


@cache
def real_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype of the parts of a complex dtype, and a real one as it is."""
    return np.dtype(dtype).type(0).real.dtype


def tolerance_of(*values: Value) -> Tolerance:
    """The row of the coarsest dtype among these values."""
    rows = [TOLERANCES[real_dtype(value.dtype)] for value in values]
    return max(rows, default=TOLERANCES[np.dtype(np.float64)])


def resolution_of(*values: Value) -> float:
    """The coarsest spacing of numbers at 1 among the dtypes of these values."""
    return max((_spacing(value.dtype) for value in values), default=2.0**-52)


@cache
def _spacing(dtype: Any) -> float:
    return float(np.finfo(dtype).eps)
