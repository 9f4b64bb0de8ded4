"""Samples of tapegrad.rules.padding."""

from __future__ import annotations

import numpy as np
from sampling import N1, REAL, pick, sample

MODES = "constant edge linear_ramp maximum mean median minimum reflect symmetric wrap"
sample(np.pad, N1, pick(0, 2, (1, 2)), mode=pick(*MODES.split()), dtypes=REAL)
