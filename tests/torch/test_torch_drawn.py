"""Thousands of drawn programs under both libraries: their transcripts agree, but for a table.

A program has a family and a number: `pytest -k "stacks"` runs one family, and
`drawn.run(library, "stacks", 17)` one program alone. UNEXPLAINED is how many programs of each
family still part from PyTorch without a reason; it may only fall.
"""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from drawn import FAMILIES, Draw, differences, run
from explained_differences import Where, explanation
from pytorch_answers import of_pytorch

import tapegrad.torch as torch

for name in ("modules", "functional", "optim", "hooks", "autograd", "profiler"):
    importlib.import_module(f"drawn_{name}")

PROGRAMS = 180
FEW = {"profiles": 120, "schedules_of_profiles": 60}  # slow to start
# How many answers of PyTorch are stored: fewer where they are large, or slow to compare with.
STORED = {
    "stacks": 12, "optimizers": 24, "embeddings": 30, "module_hooks": 60, "functional": 90,
    "graphs": 120, "errors_of_modules": 120, "profiles": 4, "schedules_of_profiles": 8,
}  # fmt: skip
UNEXPLAINED: dict[str, int] = {}


def parted(theirs, name, number):
    """Unexplained differences between the transcript of PyTorch and ours."""

    ours = run(torch, name, number)

    def reason(entry, other, place, x, y):
        return explanation(Where(name, entry, other, place, ours), x, y)

    return [difference for row, difference in differences(ours, theirs, reason) if row is None]


def check(name, numbers, transcripts):
    apart = {
        number: parted(theirs, name, number)
        for number, theirs in zip(numbers, transcripts, strict=True)
    }
    apart = {number: found[0] for number, found in apart.items() if found}
    known = UNEXPLAINED.get(name, 0)
    shown = "\n".join(f"{name} {number}: {found}" for number, found in apart.items())
    assert len(apart) <= known, f"{len(apart)} programs part, known are {known}\n{shown}"


@pytest.mark.part(4)
@pytest.mark.parametrize("name", FAMILIES)
def test_transcripts_agree(name):
    numbers = range(STORED.get(name, PROGRAMS))
    check(name, numbers, of_pytorch(lambda t: [run(t, name, n) for n in numbers], digits=12))


@pytest.mark.peers("torch")
@pytest.mark.parametrize("name", STORED)
def test_more_transcripts_agree(name):
    pytorch = pytest.importorskip("torch")
    numbers = range(STORED[name], FEW.get(name, PROGRAMS))
    check(name, numbers, (run(pytorch, name, number) for number in numbers))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_program_is_the_same_at_each_run(name):
    if name in FEW:
        pytest.skip("a profile takes long to start, and its families have one draw like the rest")
    first, second = run(torch, name, 3), run(torch, name, 3)
    assert not differences(first, second, lambda *_: None)
    assert len(first) > 1


def test_a_difference_is_seen():
    """The comparison itself: another value, another text and another end are told apart."""
    value = ["sum", np.ones(2)]
    assert not differences([value], [value], lambda *_: None)
    assert differences([value], [["sum", np.array([1, 1 + 1e-6])]], lambda *_: None)
    assert differences([value], [["raised", ["error", "ValueError", "x"]]], lambda *_: None)
    assert differences([value], [value, value], lambda *_: None)


def test_data_are_drawn_by_family_and_number():
    assert np.array_equal(Draw("stacks", 4).numbers(3), Draw("stacks", 4).numbers(3))
    assert not np.array_equal(Draw("stacks", 4).numbers(3), Draw("stacks", 5).numbers(3))
