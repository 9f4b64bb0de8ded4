"""Of what no row would be run no items are made; a test of a table tells all rows that fail."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from left_out import is_left_out, skipped_at_once
from tables import all_rows


def quick():
    """No mark at all."""


@pytest.mark.slow
def slow():
    """Slow in each row."""


@pytest.mark.slow
@pytest.mark.scheduled
def scheduled():
    """Slow, and of the weekly run alone."""


@pytest.mark.parametrize("x", [1, pytest.param(2, marks=pytest.mark.slow)])
def partly_slow(x):
    """Slow in one row."""


@pytest.mark.part(2)
def in_part(x):
    """Slow in the rows that the default run leaves out."""


@pytest.mark.parametrize("x", (x for x in range(2)))
def of_an_iterator(x):
    """Rows that nobody knows before they are made."""


@pytest.mark.peers("a_library_of_nobody", "numpy")
@pytest.mark.parametrize("x", range(3))
def of_an_absent_peer(x):
    """Rows that all need a library that is not there."""


@pytest.mark.peers("numpy")
def of_a_peer():
    """A peer that is installed."""


def module(expression, *arguments, marks=()):
    config = SimpleNamespace(args=arguments, option=SimpleNamespace(markexpr=expression))
    return SimpleNamespace(config=config, iter_markers=lambda: iter(marks))


@pytest.mark.parametrize(
    ("expression", "left_out"),
    [
        ("not slow", {slow, scheduled}),
        ("slow", {quick, of_an_absent_peer, of_a_peer}),
        ("slow and not scheduled", {quick, scheduled, of_an_absent_peer, of_a_peer}),
        ("slow or not slow", set()),
        ("slow and peers", set()),
        ("", set()),
    ],
)
def test_no_items_are_made_of_what_no_row_is_run(expression, left_out):
    every = {
        quick,
        slow,
        scheduled,
        partly_slow,
        in_part,
        of_an_iterator,
        of_an_absent_peer,
        of_a_peer,
    }
    assert {f for f in every if is_left_out(module(expression, "tests"), f)} == left_out
    assert not any(is_left_out(module(expression, "tests/test_a.py::slow"), f) for f in every)


def test_the_mark_of_a_module_counts():
    marked = module("not slow", marks=[pytest.mark.slow.mark])
    assert is_left_out(marked, quick)


def test_one_item_is_skipped_for_all_that_need_an_absent_library(request):
    parent = request.node.parent
    for function in (quick, slow, partly_slow, of_a_peer):
        assert skipped_at_once(parent, function.__name__, function) is None
    (item,) = skipped_at_once(parent, "of_an_absent_peer", of_an_absent_peer)
    assert item.name == "of_an_absent_peer"
    assert [mark.name for mark in item.own_markers] == ["peers"]
    with pytest.raises(pytest.skip.Exception, match="a_library_of_nobody not installed"):
        item.obj()


def test_all_rows_of_a_table_are_run_and_told():
    run = []

    def table():
        with all_rows() as row:
            for x in (4, 0, 2, "a"):
                with row(x):
                    run.append(x)
                    assert 4 / x < 3

    with pytest.raises(ExceptionGroup, match="2 of 4 rows failed") as raised:
        table()
    assert run == [4, 0, 2, "a"]
    assert [type(error) for error in raised.value.exceptions] == [ZeroDivisionError, TypeError]
    assert [error.__notes__ for error in raised.value.exceptions] == [
        ["in the row 0"],
        ["in the row a"],
    ]


def test_a_table_without_rows_is_no_test():
    with pytest.raises(AssertionError, match="no rows"), all_rows():
        pass
