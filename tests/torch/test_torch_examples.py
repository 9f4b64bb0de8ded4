"""The examples of operations that are made by tables run: no module has them by a name."""

from __future__ import annotations

import doctest

import pytest

import tapegrad.torch as torch
from tapegrad.torch._ops.families import OPERATIONS


@pytest.mark.slow
def test_examples_of_operations_run():
    runner = doctest.DocTestRunner()
    finder = doctest.DocTestFinder(recurse=False)
    tests = [
        test
        for name, call in sorted(OPERATIONS.items())
        for test in finder.find(call, name, module=False, globs={"torch": torch})
    ]
    for test in tests:
        runner.run(test)
    assert len([test for test in tests if test.examples]) > 40
    assert runner.summarize().failed == 0


def test_an_operation_in_place_has_the_parameters_of_the_other():
    assert "input : Tensor" in torch.exp_.__doc__
    assert "This tensor itself." in torch.exp_.__doc__
