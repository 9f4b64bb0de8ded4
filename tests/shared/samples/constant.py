"""Samples of tapegrad.rules.constant."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from makers import array, axes, axis, axis_or_none, beside, like, square
from sampling import FLAGS, LAPACK, N1, REAL, X1, X, each, la, pick, sample

from tapegrad._numpy_versions import EXPIRING

each([np.floor, np.ceil, np.trunc, np.spacing, np.signbit], X, dtypes=REAL)
each([np.rint, np.isfinite, np.isinf, np.isnan, np.logical_not], X)
sample(np.floor_divide, X, beside, dtypes=REAL)
each([np.equal, np.not_equal, np.logical_and, np.logical_or, np.logical_xor], X, beside)
each([np.less, np.less_equal, np.greater, np.greater_equal], X, beside)
each([np.round, np.around], X, decimals=st.integers(0, 2))
each([np.isposinf, np.isneginf], X, dtypes=REAL)
each([getattr(np, name) for name in EXPIRING if name == "fix"], X, dtypes=REAL)
each([getattr(np, name) for name in EXPIRING if name == "in1d"], X, beside)
each([np.argmax, np.argmin, np.argsort], N1, axis=axis_or_none)
sample(np.argpartition, array(3, 4), st.integers(0, 2), axis=axis)
each([np.argwhere, np.nonzero], X1)
each([np.flatnonzero, np.shape, np.ndim, np.size, np.isreal, np.iscomplex], X)
each([np.iscomplexobj, np.isrealobj, np.array2string, np.array_repr], X)
sample(np.array_str, N1)
each([np.count_nonzero, np.any, np.all], X, axis=axes, keepdims=FLAGS)
sample(np.searchsorted, np.array([-1.0, 0.5]), X, side=pick("left", "right"), dtypes=REAL)
sample(np.digitize, X, np.array([-1.0, 0.5]), right=FLAGS, dtypes="df")
each([np.isclose, np.allclose, np.isin, np.array_equiv], X, beside)
each([np.array_equal, np.result_type, np.common_type], X, like)
each([np.shares_memory, np.may_share_memory], X, like)
sample(np.can_cast, lambda d: d.array(()).dtype, np.float64)
sample(np.min_scalar_type, array(2))
sample(np.lexsort, lambda d: (array(3)(d), array(3)(d)))
each([np.zeros_like, np.ones_like], X)
sample(np.full_like, X, lambda d: d.array(d.x.shape[-1:]))
sample(la.matrix_rank, square, dtypes=LAPACK)
sample(np.einsum_path, "ij,jk->ik", array(2, 3), array(3, 2))
