"""Samples of tapegrad.rules.cumulative."""

from __future__ import annotations

import numpy as np
from makers import axis, axis_or_none, maybe
from sampling import FLAGS, X1, each

WIDER = maybe("G")  # dtype=: of more precision than any, and complex

each([np.cumsum, np.cumprod], X1, axis=axis_or_none, dtype=WIDER)
running = [np.cumulative_sum, np.cumulative_prod]
each(running, X1, axis=axis, include_initial=FLAGS, dtype=WIDER)
