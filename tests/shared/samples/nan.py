"""Samples of tapegrad.rules.nan."""

from __future__ import annotations

import numpy as np
from makers import array, axis_or_none, mask_or_absent, maybe
from sampling import FLAGS, REAL, each


def holed(d):
    """An array with one NaN in it, where each axis leaves something beside it."""
    made = d.array(array(dims=(0, 3), side=1)(d).shape)
    if made.ndim and min(made.shape) > 1:
        made = made.copy()
        made[(0,) * made.ndim] = np.nan
    d.arrays[:] = [made]
    return made


each(
    [np.nansum, np.nanprod],
    holed,
    axis=axis_or_none,
    keepdims=FLAGS,
    where=mask_or_absent,
    initial=maybe(2.5),
)
each([np.nanmean, np.nanmedian], holed, axis=axis_or_none, keepdims=FLAGS)
each([np.nanmax, np.nanmin], holed, axis=axis_or_none, keepdims=FLAGS, dtypes=REAL)
each([np.nanvar, np.nanstd], holed, axis=axis_or_none, keepdims=FLAGS)
each([np.nancumsum, np.nancumprod], holed, axis=axis_or_none)
each([np.nanargmax, np.nanargmin], holed, axis=axis_or_none, dtypes=REAL)
