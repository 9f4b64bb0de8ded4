"""`torch.signal.windows` beside SciPy's, which have the same formulas."""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad.torch as torch
from tapegrad.torch.signal import windows

PARAMETERS = {
    "exponential": {"tau": 2.0},
    "gaussian": {"std": 1.5},
    "general_cosine": {"a": [0.3, 0.5, 0.2]},
    "general_hamming": {"alpha": 0.6},
    "kaiser": {"beta": 5.0},
}


@pytest.mark.parametrize("name", windows.__all__)
@pytest.mark.parametrize("sym", [True, False])
def test_windows_are_those_of_scipy(name, sym):
    scipy = pytest.importorskip("scipy.signal.windows")
    given = PARAMETERS.get(name, {})
    for count in (0, 1, 2, 5, 8):
        made = getattr(windows, name)(count, sym=sym, dtype=torch.float64, **given)
        right = getattr(scipy, name)(count, sym=sym, **given)
        np.testing.assert_allclose(made.numpy(), right, atol=1e-14)
    assert getattr(windows, name)(3, requires_grad=True, **given).requires_grad


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: windows.hann(-1), "requires non-negative window length, got M=-1"),
        (lambda: windows.hann(3, dtype=torch.int32), "hann expects floating point dtypes"),
        (lambda: windows.gaussian(3, std=0), "Standard deviation must be positive"),
        (lambda: windows.exponential(3, tau=0), "Tau must be positive"),
        (lambda: windows.exponential(3, center=1), "Center must be None for symmetric windows"),
        (lambda: windows.kaiser(3, beta=-1), "beta must be non-negative"),
        (lambda: windows.general_cosine(3, a=[]), "Coefficients cannot be empty"),
    ],
)
def test_windows_say_what_they_expected(call, words):
    with pytest.raises(ValueError, match=words):
        call()
