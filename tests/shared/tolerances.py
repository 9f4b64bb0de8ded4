"""The one table of tolerances by dtype is that of the public checks: no test has its own."""

from __future__ import annotations

import numpy as np

from tapegrad.testing._measuring.tolerances import TOLERANCES, tolerance_of


def assert_close(got, expected, *sources):
    """Equal shapes, and values equal to the rounding of the coarsest dtype; NaN equals NaN.

    sources: what they are computed from, where that may be coarser.
    """
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    inexact = [value for value in (got, expected, *sources) if value.dtype.kind in "fc"]
    rounding = tolerance_of(*inexact).rounding
    np.testing.assert_allclose(got, expected, rtol=rounding, atol=rounding)


__all__ = ["TOLERANCES", "assert_close", "tolerance_of"]
