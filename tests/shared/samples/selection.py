"""Samples of tapegrad.rules.selection."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from makers import array, axis, beside, maybe
from sampling import N1, SIDES, X1, X2, pick, sample

sample(
    np.choose,
    np.array([[0, 1, 1], [1, 0, 5]]),
    lambda d: [array(2, 3)(d), array(3)(d)],
    mode=pick("clip", "wrap"),
)
sample(
    np.select,
    lambda d: [SIDES, d(pick(SIDES, ~SIDES, np.array([[True], [False]])))],
    lambda d: [array(2, 3)(d), beside(d)],
    default=maybe(array(3)),
)
sample(
    np.piecewise,
    array(3),
    pick([SIDES], [SIDES, ~SIDES], SIDES),
    pick([lambda x: x**2, lambda x: 3 * x], [lambda x: np.sin(x), 2.0], [1.5, np.exp]),
)
sample(
    np.insert,
    X1,
    pick(0, [0, 0], slice(0, 1)),
    lambda d: d.array(d(pick((), (1,)))),
    axis=lambda d: d(pick(None)) if 0 in d.x.shape else d(st.none() | st.just(axis(d))),
)
sample(np.delete, N1, pick(0, -1, [0], slice(None, None, 2)), axis=axis)
FUNCTIONS = pick(lambda x: x**2, np.sum, lambda x: np.stack([x[0], np.sum(x)]))
sample(np.apply_along_axis, lambda d: d(FUNCTIONS), st.integers(-2, 1), array(2, 3))
sample(np.apply_over_axes, np.sum, X2, pick(0, (0, -1)))
