"""Every test of the object layer draws the same numbers, whatever ran before it."""

from __future__ import annotations

import pytest

import tapegrad.torch as torch


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(20)
