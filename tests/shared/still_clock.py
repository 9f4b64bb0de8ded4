"""A clock that stands still while programs are weighed against their functions."""

import pytest

from tapegrad._compile import worth


@pytest.fixture(autouse=True)
def no_time_passes(monkeypatch):
    """No program is slower than its function: which is decided is no matter of this machine."""
    monkeypatch.setattr(worth, "perf_counter", lambda: 0.0)
