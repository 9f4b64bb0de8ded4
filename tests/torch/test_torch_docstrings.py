"""The examples in docstrings of operations run.

Operations are made by a decorator, in a module that is not theirs: doctest's finder, by which
tests/docs/test_docs.py looks for examples in modules, passes them over.
"""

from __future__ import annotations

import doctest
import inspect
import re

import pytest

import tapegrad.torch as torch
from tapegrad.torch._ops.declare import OPERATIONS

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SPACES = {
    "torch": OPERATIONS,
    "Tensor": vars(torch.Tensor),
    "linalg": {name: getattr(torch.linalg, name) for name in torch.linalg.__all__},
    "fft": {name: getattr(torch.fft, name) for name in torch.fft.__all__},
    "functional": vars(torch.nn.functional),
    "special": {name: getattr(torch.special, name) for name in torch.special.__all__},
}


def examples() -> dict[str, str]:
    """The docstrings that have an example, by a name that has it."""
    found: dict[str, str] = {}
    for space, names in SPACES.items():
        for name, value in names.items():
            text = getattr(value, "__doc__", None) or ""
            if inspect.isfunction(value) and ">>>" in text:
                found.setdefault(text, f"{space}.{name}")
    return found


def test_examples_name_no_function_of_pythons_that_torch_has_too():
    """`float` and `bool` are dtypes where the examples run in the namespace of `torch`."""
    shadowed = re.compile(r"(?<![\w.])(float|bool|int|range|round|complex)\(")
    lines = [line for text in examples() for line in text.splitlines() if ">>>" in line]
    assert not [line for line in lines if shadowed.search(line)]


@pytest.mark.slow
def test_examples_run():
    runner, parser = doctest.DocTestRunner(optionflags=FLAGS), doctest.DocTestParser()
    for text, name in examples().items():
        torch.manual_seed(0)
        runner.run(parser.get_doctest(text, {}, name, name, 0))
    assert runner.summarize().failed == 0
