"""The one table of tolerances by dtype is that of the public checks: no test has its own."""

from __future__ import annotations

import numpy as np

from tapegrad.testing._tolerances import TOLERANCES, tolerance_of


def assert_close(got, expected):
    """Equal shapes, and values equal to the rounding of the coarser dtype; NaN equals NaN."""
    got, expected = np.asarray(got), np.asarray(expected)
    assert got.shape == expected.shape
    inexact = [value for value in (got, expected) if value.dtype.kind in "fc"]
    rounding = tolerance_of(*inexact).rounding
    np.testing.assert_allclose(got, expected, rtol=rounding, atol=rounding)


__all__ = ["TOLERANCES", "assert_close", "tolerance_of"]
