"""Every test of the object layer draws the same numbers, whatever ran before it."""

from __future__ import annotations

import tapegrad.torch as torch


def pytest_runtest_setup(item):  # no fixture: that takes longer than a seed
    torch.manual_seed(20)
