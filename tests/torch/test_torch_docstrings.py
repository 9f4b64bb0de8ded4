"""The examples in docstrings of operations run.

Operations are made by a decorator, in a module that is not theirs: doctest's finder, by which
tests/docs/test_docs.py looks for examples in modules, passes them over.
"""

from __future__ import annotations

import doctest
import inspect
import pickle
import re
import subprocess
import sys

import pytest

import tapegrad.torch as torch
from tapegrad.torch._docstrings.examples import EXAMPLES
from tapegrad.torch._docstrings.parameters import WORDS
from tapegrad.torch._docstrings.sections import OfClass, completed, of_member, of_object
from tapegrad.torch._ops.declare import OPERATIONS

FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
SPACES = {
    "torch": OPERATIONS,
    "Tensor": vars(torch.Tensor),
    "linalg": {name: getattr(torch.linalg, name) for name in torch.linalg.__all__},
    "fft": {name: getattr(torch.fft, name) for name in torch.fft.__all__},
    "functional": {
        name: getattr(torch.nn.functional, name) for name in torch.nn.functional.__all__
    },
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


def test_each_row_of_the_examples_stands_in_a_docstring():
    told = "\n".join(examples()) + "\n"
    assert [word for word, text in EXAMPLES.items() if f"{text}\n" not in told] == []
    assert list(EXAMPLES) == sorted(EXAMPLES)


def test_no_docstring_of_a_member_has_places_for_words():
    names = {**vars(torch.nn), **vars(torch.nn.functional)}
    places = {f"{{{word}}}" for word in (*WORDS, "nd")}
    texts = {name: getattr(value, "__doc__", None) or "" for name, value in names.items()}
    left = {name for name, text in texts.items() if any(place in text for place in places)}
    assert {name for name in left if not name.startswith("_")} == set()


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("conv1d", ["Signals, (n, channels, length) or (channels, length).", "dilation : "]),
        ("max_pool3d", ["Maxima over windows of volumes.", ">>> import tapegrad.torch as torch"]),
        ("MaxUnpool2d", ["    The padding of the pooling.", "kernel_size : ", "Examples"]),
        ("ConstantPad3d", ["    The width, or six: left, right, top, bottom, front, back."]),
        ("LazyConv2d", ["padding_mode : ", "    For channels that the groups do not divide,"]),
        ("Dropout", ["    The probability of each; the others are divided by 1 - p.", "Raises"]),
        ("AdaptiveAvgPool1d", ["    The length of the result."]),
        ("LazyConv2d", ["As `Conv2d`, ", "LazyConv2d(8, 3, padding=1)(torch.ones(2, 3, 4, 4))"]),
        ("LeakyReLU", [">>> torch.nn.LeakyReLU(0.25)(torch.tensor([-2.0, 0.5]))"]),
        ("HuberLoss", ['>>> torch.nn.HuberLoss(reduction="none", delta=2.0)(torch.tensor([0.5, ']),
        ("MaxUnpool1d", [">>> torch.nn.MaxUnpool1d(2)(x, places)"]),
    ],
)
def test_members_have_what_their_family_says(name, lines):
    member = getattr(torch.nn.functional, name, None) or getattr(torch.nn, name)
    text = inspect.getdoc(member)
    assert [line for line in lines if line not in text] == []
    assert text.count("Parameters\n---") == 1


def test_an_entry_of_a_member_replaces_that_of_its_family():
    family = (
        "Of {inputs}.\n\nMore.\n\nParameters\n----------\na : int\n    One.\nb : int\n    Two."
    )
    own = "Parameters\n----------\na : int\n    Its own."
    member = of_member(own, family, "pool2d")
    assert member.startswith("Of images.\n\nMore.\n\nParameters")
    assert member.index("One.") < member.index("Its own.")  # of two the last counts
    assert of_member("Its summary.", family, "pool2d").startswith("Its summary.\n\nMore.")
    assert of_member("Its summary.\n\nIts own.", family, "pool2d").count("More.") == 0


def test_short_entries_become_sections():
    def scaled(x: torch.Tensor, p: int = 1, how: str | None = None) -> None:
        """Scale.

        note: this is prose, as its text begins in small letters.

        x: Scores, of any shape, which are described at such length that the line has to be
            wrapped.
        p ({1, 2}): The power.
        -> Tensor: The result.
        ValueError: For another `p`.
        UserWarning: Always.

        >>> 1
        1
        """

    scaled.__annotations__ = {"x": "Tensor", "p": "int", "how": "str | None"}
    assert (
        completed(scaled)
        == """Scale.

note: this is prose, as its text begins in small letters.

Parameters
----------
x : Tensor
    Scores, of any shape, which are described at such length that the line has to be wrapped.
p : {1, 2}, default 1
    The power.
how : str, optional
    PyTorch's parameter.

Returns
-------
Tensor
    The result.

Raises
------
ValueError
    For another `p`.

Warns
-----
UserWarning
    Always.

Examples
--------
>>> 1
1
"""
    )


def test_a_class_has_its_docstring_when_it_is_asked_for():
    class Layer:
        """Scale.

        p: The power.
        """

        def __init__(self, p: int = 1) -> None:
            self.p = p

    class Derived(Layer):
        pass

    Layer.__doc__ = OfClass(Layer.__doc__)
    assert Derived.__doc__ is None
    assert inspect.getdoc(Layer()).endswith("p : int, default 1\n    The power.")
    assert vars(Layer)["__doc__"] == Layer.__doc__


@pytest.mark.slow  # a process of its own
def test_without_docstrings_none_is_made():
    code = """\
import tapegrad.torch as torch
made = [torch.sin, torch.sum, torch.Tensor.add_, torch.nn.functional.conv2d, torch.nn.Linear]
print([each.__doc__ for each in made if each.__doc__])
"""
    run = [sys.executable, "-OO", "-c", code]
    assert subprocess.run(run, capture_output=True, text=True, check=True).stdout == "[]\n"


def test_an_entry_of_no_parameter_is_an_error():
    def misspelt(input, dim: int):
        """Halves.

        input: The numbers.
        dims: The dimension.
        """

    with pytest.raises(ValueError, match=r"entries for no parameters: \{'dims'\}"):
        completed(misspelt)


def test_short_entries_of_other_sections():
    text = of_object(
        "What it is.\n\nx (int, default 1): One.\nYields (int): Two,\n    or three.\n"
        "See also sum: All.\nNotes: Of A. Author.\nAttribute count (int): How many.\n\n>>> 1\n"
    )
    for section in (
        "Parameters\n----------\nx : int, default 1\n    One.",
        "Attributes\n----------\ncount : int\n    How many.",
        "Yields\n------\nint\n    Two, or three.",
        "See Also\n--------\nsum : All.",
        "Notes\n-----\nOf A. Author.",
    ):
        assert section in text


def test_errors_name_the_member_of_a_family():
    with pytest.raises(TypeError, match=r"^max_pool2d\(\) missing 2 required"):
        torch.nn.functional.max_pool2d()
    with pytest.raises(TypeError, match=r"^conv1d\(\) got an unexpected keyword"):
        torch.nn.functional.conv1d(torch.ones(1, 2), torch.ones(1, 1, 2), width=1)
    assert pickle.loads(pickle.dumps(torch.nn.functional.conv3d)) is torch.nn.functional.conv3d


@pytest.mark.slow
def test_examples_run():
    runner, parser = doctest.DocTestRunner(optionflags=FLAGS), doctest.DocTestParser()
    for text, name in examples().items():
        torch.manual_seed(0)
        runner.run(parser.get_doctest(text, {}, name, name, 0))
    assert runner.summarize().failed == 0
