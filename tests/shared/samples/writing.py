"""Samples of tapegrad.rules.writing."""

from __future__ import annotations

import numpy as np
from makers import array, mask, maybe, positions, written
from sampling import SIDES, N, X, pick, sample

sample(np.copyto, X, lambda d: d.array(d.x.shape[-1:]), where=maybe(mask), via=written)
sample(np.put, N, positions(3), array(2), mode=pick("raise", "wrap", "clip"), via=written)
sample(np.putmask, N, mask, array(2), via=written)
sample(np.place, array(2, 3), np.array([SIDES] * 2), array(2), via=written)
sample(
    np.put_along_axis,
    array(2, 3),
    pick(np.array([[2, 0]]), np.array([[1], [0]])),
    lambda d: d.array(d(pick((2, 1), (1, 1), ()))),
    axis=pick(1, -1),
    via=written,
)
sample(np.fill_diagonal, array(3, 4), lambda d: d.array(()), via=written)
