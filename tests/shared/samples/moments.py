"""Samples of tapegrad.rules.moments."""

from __future__ import annotations

import numpy as np
from makers import ABSENT, array, axes, axis_or_none, like, maybe
from sampling import FLAGS, N, each, pick, sample


def number(d):
    return d.array(())


def one_a_variable(d):
    """Whatever fits beside the variables of x, or nothing."""
    return ABSENT if d.x.ndim == 1 else like(d)


def observation_weights(d):
    """A positive weight for each column of x, constant: NumPy takes float64 alone."""
    return [0.5 + 0.25 * i for i in range(d.x.shape[-1])]


def observation_counts(d):
    return np.arange(2, 2 + d.x.shape[-1])


TABLE = array(dims=(1, 2), side=2)

sample(np.mean, N, axis=axes, keepdims=FLAGS, dtype=maybe("G"))
sample(
    np.average, N, axis=axis_or_none, weights=maybe(like), keepdims=FLAGS, on=[(-2, 2), (0.3, 2)]
)
each(
    [np.var, np.std],
    N,
    axis=axes,
    keepdims=FLAGS,
    mean=maybe(number),
    ddof=pick(0, -1, 0.5),
)
sample(
    np.cov,
    TABLE,
    y=maybe(one_a_variable),
    bias=FLAGS,
    fweights=maybe(observation_counts),
    aweights=maybe(observation_weights),
)
sample(np.corrcoef, array(dims=(2, 2), side=2), rowvar=FLAGS, y=maybe(like))
