"""The benchmark's programs by hand are the same programs: losses and gradients agree."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

import tapegrad.torch as torch

BENCHMARKS = Path(__file__).parents[2] / "docs" / "benchmarks"
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(BENCHMARKS)
    PROGRAMS = importlib.import_module("object_programs").PROGRAMS
    BY_HAND = importlib.import_module("object_programs_by_hand").BY_HAND

FLOAT32 = 1e-4  # of the largest element: sums of thousands of numbers, some of which cancel


def assert_same(found, right):
    assert found.shape == right.shape
    np.testing.assert_allclose(found, right, rtol=0, atol=FLOAT32 * np.abs(right).max())


def test_each_program_is_there():
    assert sorted(BY_HAND) == sorted(PROGRAMS)


@pytest.mark.part(3)
@pytest.mark.parametrize("medium", [False, True], ids=["small", "medium"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_by_hand(name, medium, monkeypatch):
    losses, backward = [], torch.Tensor.backward

    def kept(loss):
        losses.append(loss.detach().numpy())
        backward(loss)

    monkeypatch.setattr(torch.Tensor, "backward", kept)
    step, by_hand = PROGRAMS[name](torch, medium), BY_HAND[name](medium)
    earlier = []
    for _ in range(2):  # the second step finds no trace of the first
        expected = [grad.numpy().copy() for grad in step()]
        loss, found = by_hand()
        np.testing.assert_allclose(loss, losses[-1], rtol=FLOAT32)
        for grad, right in zip(found, expected, strict=True):
            assert grad.dtype == np.float32
            assert_same(grad, right)
            assert not any(np.shares_memory(grad, other) for other in earlier)
        earlier += found
