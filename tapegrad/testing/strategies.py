"""Hypothesis strategies for the arguments of numerical functions (extra `tapegrad[test]`).

Arrays by domain, structure, dtype, layout and view; pytrees; shapes, axes, indices, einsums. Each
keeps a promise, which its docstring states. Failing examples shrink to small and simple ones, and
are printed as NumPy code to paste (`import numpy as np`). Arguments that cannot be met raise
InputError at the call.

>>> import numpy as np
>>> from hypothesis import given
>>> from tapegrad.testing import check_rule, strategies
>>> @given(strategies.positive_definite_matrices(shape=(3, 3), condition=50.0))
... def check(a):
...     check_rule(np.linalg.cholesky, a)
>>> check()
"""

from tapegrad.testing._programs.drawing import programs
from tapegrad.testing._programs.own import own_operation
from tapegrad.testing._strategies.arrays import arrays
from tapegrad.testing._strategies.dtypes import dtypes
from tapegrad.testing._strategies.einsums import Einsum, einsums
from tapegrad.testing._strategies.indices import indices
from tapegrad.testing._strategies.layouts import layouts
from tapegrad.testing._strategies.matrices import (
    degenerate_matrices,
    full_rank_matrices,
    low_rank_matrices,
    orthogonal_matrices,
    positive_definite_matrices,
    stochastic_matrices,
    symmetric_matrices,
    triangular_matrices,
)
from tapegrad.testing._strategies.shapes import (
    axes,
    broadcastable_shapes,
    permutations,
    shapes,
    shapes_broadcast_from,
    shapes_broadcasting_to,
    square_shapes,
)
from tapegrad.testing._strategies.trees import Layer, Point, Registered, pytrees
from tapegrad.testing._strategies.views import View, overlapping_views, views
from tapegrad.testing._strategies.zeros import scipy_sparse_arrays, sparse_arrays

__all__ = [
    "Einsum",
    "Layer",
    "Point",
    "Registered",
    "View",
    "arrays",
    "axes",
    "broadcastable_shapes",
    "degenerate_matrices",
    "dtypes",
    "einsums",
    "full_rank_matrices",
    "indices",
    "layouts",
    "low_rank_matrices",
    "orthogonal_matrices",
    "overlapping_views",
    "own_operation",
    "permutations",
    "positive_definite_matrices",
    "programs",
    "pytrees",
    "scipy_sparse_arrays",
    "shapes",
    "shapes_broadcast_from",
    "shapes_broadcasting_to",
    "sparse_arrays",
    "square_shapes",
    "stochastic_matrices",
    "symmetric_matrices",
    "triangular_matrices",
    "views",
]
