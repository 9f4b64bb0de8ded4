"""Samples of tapegrad.rules.differences."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from makers import ABSENT, array, axis, maybe
from sampling import FLAGS, REAL, X1, X, pick, sample


def one(d):
    return d.array(())


def slices(d):
    """Of what np.diff may set before an array: a number, or slices along the last axis."""
    return d.array((*d.x.shape[:-1], 2)) if d(FLAGS) else one(d)


def spacing(side):
    """A number, coordinates, or nothing: what np.gradient may be told of one axis."""

    def made(d):
        if d(FLAGS):
            return d.array(()) + d.dtype.type(3)
        steps = d.array((side,)).real
        return (np.cumsum(steps / 8 + 1)).astype(d.dtype)

    return made


def coordinates(d):
    """No coordinates, those of the axis, or those of every element."""
    shape = d(pick(None, d.x.shape[-1:], d.x.shape))
    return ABSENT if shape is None else d.array(shape)


sample(np.diff, X1, n=st.integers(0, 3), axis=-1, prepend=maybe(slices), append=maybe(slices))
sample(np.ediff1d, X, to_end=maybe(array(2)), to_begin=maybe(one))
sample(
    np.gradient,
    array(3, 4),
    spacing(3),
    spacing(4),
    edge_order=pick(1, 2),
    dtypes=REAL,
)
sample(np.trapezoid, X1, x=coordinates, dx=maybe(one))


def angles(d):
    """Multiples of 3/7: no two of them are close to half a period apart, where unwrap jumps."""
    made = X1(d)
    made[...] = np.round(made * 7 / 3) * 3 / 7
    return made


leap = pick(None, 2.0)


sample(
    np.unwrap,
    angles,
    axis=axis,
    discont=pick(None, 2.0),
    period=pick(3.0, 7),
    on=(-5, 5),
    dtypes=REAL,
)
