"""Samples of tapegrad.rules.shape."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from makers import (
    alike_and_axis,
    array,
    axes,
    axis,
    axis_or_none,
    beside,
    joined,
    like,
    other_shape,
    parts_and_axis,
    permutation,
    several,
    wider_shape,
)
from sampling import N1, SMALL, X1, X2, X, each, pick, sample

sample(np.reshape, X, other_shape, order=pick("C", "F"))
sample(np.ravel, X, order=pick("C", "F"))
each([np.transpose], X, permutation)
sample(np.matrix_transpose, X2)
sample(np.swapaxes, X1, axis, axis)
sample(np.moveaxis, X1, axis, axis)
sample(np.rollaxis, X1, axis, lambda d: d(st.integers(-d.x.ndim, d.x.ndim)))
sample(np.squeeze, array(1, 3, 1), axis=pick(None, 0, -1, (0, 2)))
sample(np.expand_dims, X, axis=pick(0, -1, (0, -1)))
sample(np.flip, X, axis=axes)
sample(np.rot90, X2, SMALL, axes=pick((0, 1), (1, 0), (-2, -1)))
sample(np.fliplr, X2)
sample(np.flipud, X1)
sample(np.roll, X1, st.integers(-4, 4), axis=axis_or_none)
sample(np.copy, X)
each([np.atleast_1d, np.atleast_2d, np.atleast_3d], X)
sample(np.broadcast_to, X, wider_shape)
sample(np.broadcast_arrays, X, beside)
sample(np.repeat, N1, lambda d: d(st.integers(0, 3)), axis=axis_or_none)
sample(np.tile, X, st.integers(0, 2) | st.lists(st.integers(0, 2), max_size=4).map(tuple))
sample(np.concatenate, parts_and_axis, via=joined)
sample(np.stack, alike_and_axis, via=joined)
each([np.hstack, np.vstack, np.dstack, np.column_stack], several(array(2, 2)))
sample(np.append, X1, like, axis=axis_or_none)
sample(np.block, lambda d: [[array(2, 1)(d), array(2, 2)(d)], [array(1, 3)(d)]])
sample(np.split, array(2, 4), pick(2, [1, 3], [3, 1]), axis=pick(1, -1))
sample(np.array_split, X1, st.integers(1, 4), axis=axis)
each([np.hsplit], array(2, 4), pick(2, [1, 3]))
each([np.vsplit], array(4, 2), pick(2, [1, 3]))
each([np.dsplit], array(1, 2, 4), pick(2, [1, 3]))
sample(np.pad, N1, pick(0, 2, (1, 2)), mode=pick("constant", "edge", "wrap", "symmetric"))
