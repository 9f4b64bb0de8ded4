"""Random programs on PyTorch and on the object layer: all that programs can see must agree.

Values, gradients, requires_grad, is_leaf, versions, what hooks saw, and the types of errors; but
for what docs/torch.md explains (`tensor_programs.is_explained`).
"""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import given, note
from tensor_programs import Machine, difference, programs

import tapegrad.torch as torch


def check(program):
    pytorch = pytest.importorskip("torch")
    theirs = Machine(pytorch).run(program)
    ours = Machine(torch).run(program)
    note(repr(program))
    assert difference(ours, theirs, program) is None


@pytest.mark.peers("torch")
@draws(50, 2000)
@given(programs)
def test_programs_agree(program):
    check(program)


def test_a_difference_is_seen():
    """The comparison itself: a trace differs from one with another value in it."""
    program = ([(2, True, 0)], [("sin", 0, 0, 0), ("backward", 1, 0, 0)])
    ours = Machine(torch).run(program)
    again = Machine(torch).run(program)
    assert difference(ours, again) is None
    again[0][1][1][0][0] += 1e-6
    assert difference(ours, again) is not None
    assert not np.array_equal(ours[0][1][1][0], again[0][1][1][0])
