"""Samples of tapegrad.rules.products."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from makers import array, bare, matrix, square
from sampling import LAPACK, SMALL, X2, X, each, la, pick, sample

from tapegrad._numpy_versions import HAS_MATVEC

sample(np.dot, bare("i", "j"), bare("j", "k"))
sample(np.inner, bare("i", "j"), bare("k", "j"))
sample(np.vdot, bare("i", "j"), bare("i", "j"))
each([np.matmul, la.matmul], matrix("i", "j"), matrix("j", "k"))
each([np.vecdot, la.vecdot], matrix("i"), matrix("i"))
if HAS_MATVEC:
    each([np.matvec], matrix("i", "j"), matrix("j"))
each([f for f in (getattr(np, "vecmat", None),) if f], matrix("i"), matrix("i", "j"))
each([np.tensordot, la.tensordot], array(2, 1, 3), array(1, 3, 2), axes=pick(2, ([1, -1], [0, 1])))
# NumPy 2.4's einsum writes past the end of its result for axes of no elements: none is here.
sample(np.einsum, pick("ij,jk", "ij,jk->j", "...j,jk->k..."), array(2, 3), array(3, 1))
each([np.outer], X, X)
each([la.outer], bare("i"), bare("j"))
sample(np.kron, bare("i", "j"), bare("k", "l"))
each([np.cross, la.cross], array(2, 3), array(2, 3))
sample(la.multi_dot, lambda d: [bare("i", "j")(d), bare("j", "k")(d), bare("k", "l")(d)])
sample(la.matrix_power, square, st.integers(-2, 3), dtypes=LAPACK)
each([np.trace], X2, offset=SMALL)
each([la.trace, la.diagonal], X2, offset=SMALL)
sample(la.matrix_transpose, X2)
