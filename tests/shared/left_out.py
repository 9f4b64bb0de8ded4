"""Tests that a run does not make items of: a parametrized one would be thousands, each to skip.

Of 45,000 items that all tests make, the default run leaves out 10,000 that are slow, and makes one
of all rows that compare with a library that is not installed, and whose answers are not stored
(`tests/torch/pytorch_answers.py`). To make, to order and to send an item to a worker and its
report back takes as long as a short test.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from _pytest.mark.structures import Mark, ParameterSet, get_unpacked_marks

SLOW = ("slow", "slow and not scheduled")  # what `-m` asks for: all slow tests, and those of CI


def marks_of(collector: Any, function: Any) -> Iterator[Mark]:
    """The marks of a test function, of its class and of its module."""
    yield from get_unpacked_marks(function)
    yield from collector.iter_markers()


def is_left_out(collector: Any, function: Any) -> bool:
    """Whether no item of a test function would be of the run, by `-m "not slow"` or `-m slow`.

    A test that the command line names is made, so that pytest can say why it does not run.
    """
    if any("::" in argument for argument in collector.config.args):
        return False
    marks = list(marks_of(collector, function))
    is_slow = any(mark.name == "slow" for mark in marks)
    asked = collector.config.option.markexpr
    if asked == "not slow":
        return is_slow
    if asked == SLOW[1] and any(mark.name == "scheduled" for mark in marks):
        return True
    return asked in SLOW and not is_slow and not any(map(_may_mark, marks))


def _may_mark(mark: Mark) -> bool:
    """Whether single rows may be slow: by their parametrization, or as `part` leaves them out."""
    if mark.name == "part":
        return True
    if mark.name != "parametrize":
        return False
    rows = mark.args[1] if len(mark.args) > 1 else mark.kwargs["argvalues"]
    if not isinstance(rows, (list, tuple, dict, range, str)):
        return True  # an iterator is not to be used up here
    return any(isinstance(row, ParameterSet) and row.marks for row in rows)


def skipped_at_once(collector: Any, name: str, function: Any) -> list[pytest.Function] | None:
    """One item in the place of all that would be skipped; None if their library is installed.

    `@pytest.mark.peers("torch")` names the library, without which no row of a test has anything
    to compare.
    """
    marks = list(marks_of(collector, function))
    peers = next((mark for mark in marks if mark.name == "peers"), None)
    if peers is None or any("::" in argument for argument in collector.config.args):
        return None
    absent = [library for library in peers.args if not is_installed(library)]
    if not absent:
        return None

    def skipped() -> None:
        pytest.skip(f"{' and '.join(absent)} not installed, with which all rows compare")

    skipped.__module__, skipped.__name__ = function.__module__, name
    skipped.pytestmark = [  # type: ignore[attr-defined]
        mark for mark in get_unpacked_marks(function) if mark.name != "parametrize"
    ]
    return [pytest.Function.from_parent(collector, name=name, callobj=skipped)]


@cache
def is_installed(library: str) -> bool:
    """Whether a library could be imported."""
    return importlib.util.find_spec(library) is not None
