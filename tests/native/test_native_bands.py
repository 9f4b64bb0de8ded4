"""The native back end: loop nests that are done together by blocks of an axis."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from test_native import assert_close, runner_of

import tapegrad
from tapegrad._native import bands
from tapegrad._native.bands import Band


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def heat(x):
    for _ in range(3):
        x = np.concatenate([x[:1], x[1:-1] + 0.1 * (x[2:] - 2 * x[1:-1] + x[:-2]), x[-1:]])
    return np.sum(x**2)


def softmax(x):
    y = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return np.sum((y / np.sum(y, axis=-1, keepdims=True)) ** 2)


PROGRAMS = {
    "rosenbrock": (rosenbrock, (603,)),
    "heat": (heat, (151,)),
    "heat of rows": (heat, (40, 7)),
    "against the order": (lambda x: np.sum(np.sin(x[::-1] * x)[3:] * x[:-3]), (131,)),
    "every second": (lambda x: np.sum((x[::2] * x[1::2])[1:] - x[2::2] ** 3), (180,)),
    "two axes": (
        lambda x: np.sum((x[1:-1, 2:] + x[1:-1, :-2] + x[2:, 1:-1] - x[:-2, 1:-1]) ** 2),
        (45, 21),
    ),
    "sums of rows": (softmax, (50, 11)),
    "sums of rows of nine": (softmax, (90, 9)),
    "sums of columns": (lambda x: np.sum(np.sum(np.tanh(x[1:] * x[:-1]), axis=0) ** 2), (70, 9)),
    "sums between": (
        lambda x: np.sum((x[:, 1:] * np.sum(x, axis=1, keepdims=True) - x[:, :-1] ** 2) ** 2),
        (100, 9, 6),
    ),
}


def bands_of(fast):
    path = runner_of(fast).paths[0].path
    return path, [step for _, _, _, step in path.steps if type(step) is Band]


@pytest.mark.parametrize("block", [400, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("dtype", ["f8", pytest.param("f4", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", PROGRAMS)
def test_blocks_compute_the_same(monkeypatch, name, dtype, block):
    for constant, value in (("MANY", 32), ("LARGE", 1), ("CACHED", block)):
        monkeypatch.setattr(bands, constant, value)
    f, shape = PROGRAMS[name]
    x = np.random.default_rng(5).standard_normal(shape).astype(dtype)
    both = tapegrad.value_and_grad(f)
    fast = tapegrad.compile(both, backend="llvm")
    for _ in range(4):
        assert_close(fast(x), both(x), 256)
    assert bands_of(fast)[1]


@pytest.mark.parametrize("columns", [2, 3, 8])
def test_vectors_go_across_short_rows(columns):
    x = np.random.default_rng(7).standard_normal((261, columns))
    both = tapegrad.value_and_grad(softmax)
    fast = tapegrad.compile(both, backend="llvm")
    for _ in range(4):
        assert_close(fast(x), both(x), 256)
    path = runner_of(fast).paths[0].path
    nests = [step for _, _, _, step in path.steps]
    assert {nest[0].shape for nest in nests[:-1]} <= {(261,), ()}
    largest = tapegrad.compile(lambda x: (np.max(x, axis=1), np.sum(x, axis=1)), backend="llvm")
    for _ in range(4):
        assert_close(largest(x), (np.max(x, axis=1), np.sum(x, axis=1)), 4)


def test_a_large_stencil_has_no_large_scratch_array():
    x = np.random.default_rng(6).standard_normal(100_003)
    both = tapegrad.value_and_grad(rosenbrock)
    fast = tapegrad.compile(both, backend="llvm")
    for _ in range(4):
        assert_close(fast(x), both(x), 256)
    path, (band,) = bands_of(fast)
    assert len(band.members) == 3  # two terms, their sum, whether it is finite
    assert path.bytes < 10_000


def test_small_programs_have_no_bands():
    fast = tapegrad.compile(tapegrad.value_and_grad(rosenbrock), backend="llvm")
    for _ in range(4):
        fast(np.linspace(0, 1, 1000))
    assert not bands_of(fast)[1]
