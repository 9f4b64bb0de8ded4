"""Samples of tapegrad.rules.joining."""

from __future__ import annotations

import numpy as np
from makers import alike_and_axis, array, axis_or_none, joined, like, parts_and_axis, several
from sampling import X1, each, sample

sample(np.concatenate, parts_and_axis, via=joined)
sample(np.stack, alike_and_axis, via=joined)
each([np.hstack, np.vstack, np.dstack, np.column_stack], several(array(2, 2)))
sample(np.append, X1, like, axis=axis_or_none)
sample(np.block, lambda d: [[array(2, 1)(d), array(2, 2)(d)], [array(1, 3)(d)]])
