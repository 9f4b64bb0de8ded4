"""Samples of tapegrad.rules.creation."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from makers import array, beside
from sampling import FLAGS, pick, sample

ENDS = array(dims=(0, 2)), beside
COUNT = st.integers(0, 4)
AXIS = pick(0, -1)

sample(np.linspace, *ENDS, COUNT, endpoint=FLAGS, axis=AXIS)
sample(np.logspace, *ENDS, COUNT, endpoint=FLAGS, base=pick(10.0, 2, 0.5), axis=AXIS)
sample(np.geomspace, *ENDS, COUNT, endpoint=FLAGS, axis=AXIS, on=(0.5, 3.0))
