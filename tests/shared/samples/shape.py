"""Samples of tapegrad.rules.shape."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from makers import (
    array,
    axes,
    axis,
    axis_or_none,
    beside,
    mask,
    other_shape,
    permutation,
    wider_shape,
)
from numpy.lib.stride_tricks import sliding_window_view
from sampling import FLAGS, N1, SMALL, X1, X2, X, each, pick, sample

from tapegrad._numpy_versions import TRIMS_AXES

X01 = array(dims=(0, 1))


def other_size(d):
    """A shape of any size, also where x has no elements."""
    return d(pick(0, 2, (7,), (2, 3), (3, 0), ()))


def masked(function):
    """A function of an array in which some elements are zero and stay so."""
    return lambda x, mask, **params: function(x * mask, **params)


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
sample(np.split, array(2, 4), pick(2, [1, 3], [3, 1]), axis=pick(1, -1))
sample(np.array_split, X1, st.integers(1, 4), axis=axis)
each([np.hsplit], array(2, 4), pick(2, [1, 3]))
each([np.vsplit], array(4, 2), pick(2, [1, 3]))
each([np.dsplit], array(1, 2, 4), pick(2, [1, 3]))
sample(np.astype, X, np.clongdouble, copy=FLAGS)
sample(np.meshgrid, X01, X01, X01, sparse=FLAGS, indexing=pick("xy", "ij"), copy=FLAGS)
sample(np.resize, X, other_size)
trimmed = X if TRIMS_AXES else array(dims=(1, 1))
sample(np.trim_zeros, trimmed, mask, trim=pick("fb", "f", "b"), via=masked)
sample(sliding_window_view, array(3, 4), pick(2, 4), axis=pick(1, -1))
sample(np.unstack, X1, axis=axis)
