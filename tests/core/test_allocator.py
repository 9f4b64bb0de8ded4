"""Memory that a gradient has freed serves the next one: no pages are asked of the system anew."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

PROGRAM = """
import resource
import numpy as np
import tapegrad

def chain(x):
    y = x
    for _ in range(15):
        y = np.tanh(y) * 1.01 + x
    return np.sum(y)

gradient, x = tapegrad.grad(chain), np.linspace(-1.0, 1.0, 40_000).reshape(200, 200)
for _ in range(3):
    gradient(x)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(10):
    gradient(x)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def pages_asked_for(**variables):
    """How often ten gradients, of 5 MB each, touch a page that the process did not have."""
    clean = {word: text for word, text in os.environ.items() if not word.startswith("MALLOC_")}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**clean, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    return int(run.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what glibc's malloc keeps")
def test_gradients_use_the_memory_that_earlier_ones_have_freed():
    assert pages_asked_for() < 100  # of the 1,200 that one of them fills


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="what glibc's malloc keeps")
def test_a_user_who_sets_the_limits_is_obeyed():
    assert pages_asked_for(MALLOC_TRIM_THRESHOLD_="131072") > 10_000
