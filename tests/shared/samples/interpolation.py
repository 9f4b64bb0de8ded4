"""Samples of tapegrad.rules.interpolation."""

from __future__ import annotations

import numpy as np
from makers import array, maybe
from sampling import X, sample


def knots(d):
    """Places that increase, with distances around 1."""
    steps = d.array((4,)).real
    return (np.cumsum(1 + steps / 8) - 2.5).astype(d.dtype)


number = maybe(lambda d: d.array(()))
sample(np.interp, X, knots, array(4), left=number, right=number, dtypes="df", on=(-3.1, 3.2))
