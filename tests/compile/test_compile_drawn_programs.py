"""compile: programs that are drawn, and functions that drawn ones once found wrong."""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from program_differences import BOTH, DERIVATIVES, KINDS, differences

import tapegrad
from tapegrad.testing import Program, programs
from tapegrad.testing._programs.drawing import random_program

BACKENDS = ("numpy", "interpreter")


def at_drawn_points(f, x):
    """A function of x and whole numbers of its shape, as a program that was drawn."""
    program = Program("", (x, np.zeros(x.shape, int)))
    program._function = f
    return program


def by_remainders(x, n):
    rest = np.remainder(x[:1], x * 0.5)
    scaled = np.sum(x[n > 1]) * rest
    last = rest * np.linalg.norm(scaled) + np.sqrt(np.sum(np.abs(rest * scaled)))
    return np.sum(last) + np.sum(scaled)


def test_recorded_calls_with_a_nan_are_the_functions_own():
    program = at_drawn_points(by_remainders, np.zeros((3, 4), np.float32))
    assert differences(program, "hvp", "numpy") is None  # its tangents are computed again


def by_products(x, n):
    scaled = np.prod(x, axis=1, keepdims=True) * x
    other = x + 1 if np.sum(scaled) > 7 / 25 - 1 else x * scaled
    return np.sum(other ** (n % 3) + scaled**2 - other**0.5) + np.sum(other)


def by_powers(x, n):
    return np.sum(np.float_power(x[..., :1], x)) + np.sum(x * 0.5)


def by_rows(x, n):
    half = small = x * 0.5
    for _ in range(4):
        if not np.sum(np.abs(small)) > 1:
            break
        small = small / 2
    angle = np.arcsin(x)
    powers = angle ** (n % 3) + angle**2 - angle**0.5
    gathered = x[n[:, 0] % len(x)] + half[np.arange(len(x))[::-1]] * x[2]
    rows = tapegrad.vmap(lambda row, other: row * np.sum(other) + other)(small + half, gathered)
    return np.sum(rows) + np.sum(powers)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("f", "shape", "transform"),
    [
        (by_products, (3, 3), "jvp of grad"),
        (by_powers, (3, 4), "hvp"),
        (by_rows, (3, 4), "hvp"),
    ],
)
def test_strong_tangents_are_recorded_as_they_are_pushed(f, shape, transform):
    program = at_drawn_points(f, np.zeros(shape))
    assert differences(program, transform, "numpy") is None  # sums of tangents beside NaNs


@pytest.mark.parametrize("backend", BACKENDS)
@draws(4, 100)
@given(program=programs(8, **KINDS), transform=st.sampled_from(sorted(DERIVATIVES)))
def test_drawn_programs(program, transform, backend):
    assert differences(program, transform, backend) is None


@pytest.mark.scheduled
@pytest.mark.parametrize("hundred", range(100))
def test_many_drawn_programs(hundred):
    names = sorted(DERIVATIVES)
    for seed in range(100 * hundred, 100 * hundred + 100):
        program = random_program(seed, 1 + seed % 8, **KINDS)
        assert differences(program, names[seed // 8 % len(names)], BOTH) is None
