"""rule_coverage: what it says of rules whose lines, ways and uses are known."""

from __future__ import annotations

import sys
import threading
from contextlib import suppress
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

import tapegrad
from tapegrad._errors import InputError
from tapegrad.testing import RuleCoverage, rule_coverage
from tapegrad.testing._coverage.functions import all_rules, functions_of


@tapegrad.primitive
def cube(x):
    return x * x * x


def by_x(_, x):
    if np.ndim(x) > 3:
        return 0 * x
    return helped(x)


def helped(x):
    return 3 * x**2 if np.size(x) else x


tapegrad.elementwise(cube, by_x)


@tapegrad.primitive
def scaled(x, y):
    return x * y


tapegrad.general(scaled, vjp=[lambda g, _, x, y: g * y, lambda g, _, x, y: g * x], batch="align")


@tapegrad.custom_vjp
def square(x):
    return x * x


def forward(x):
    return x * x, x


def backward(x, g):
    if x is None:
        raise ValueError(x)
    return (2 * g * x,)


square.defvjp(forward, backward)


def row(report, name):
    (found,) = [one for one in report.rules if one.name == name]
    return found


def test_what_was_used_and_what_was_missing():
    with rule_coverage(__name__) as report:
        tapegrad.grad(cube)(2.0)
    assert row(report, "cube").positions == {"vjp": {0}}
    assert row(report, "cube").dtypes == {"float64"}
    missing = row(report, "cube").missing()
    assert missing[0] == "never by jvp, linearize, vmap"
    line = by_x.__code__.co_firstlineno
    assert f"lines never run: {line + 2}" in missing[1]
    assert missing[2].endswith(f"line {line + 1}: never true: np.ndim(x) > 3")
    assert row(report, "square").missing() == ["never used"]
    (helper,) = report.helpers
    assert (helper.label, helper.missing) == ("helped", [])
    assert helper.branches[0].answers == {True}
    assert report.figures()["rules"] == (1, 3)


def test_each_side_and_each_argument():
    x, y = np.ones(3), np.full(3, 2.0)
    with rule_coverage(__name__) as report:
        tapegrad.grad(lambda x: np.sum(scaled(x, y)))(x)
        tapegrad.jvp(scaled, (x, y), (x, x))
        tapegrad.linearize(scaled, x, y)[1](x, y)
        tapegrad.vmap(scaled)(x, y)
    found = row(report, "scaled")
    assert found.positions.keys() == {"vjp", "jvp", "linearize", "vmap"}
    assert found.positions["vjp"] >= {0}
    assert "vmap" in found.positions


def test_custom_functions():
    with rule_coverage(__name__) as report:
        tapegrad.grad(square)(2.0)
        tapegrad.jvp(square, (2.0,), (1.0,))
        tapegrad.vmap(square)(np.ones(3))
        tapegrad.linearize(square, 2.0)[1](1.0)
    found = row(report, "square")
    assert found.expected == ("vjp", "jvp", "linearize", "vmap")
    assert not [gap for gap in found.missing() if gap.startswith("never by")]
    assert [gap for gap in found.missing() if "never true: x is None" in gap]


def test_rules_that_are_declared_within_the_block():
    with rule_coverage(__name__) as report:

        @tapegrad.custom_jvp
        def inner(x):
            return x + 1

        inner.defjvp(lambda primals, dots: (primals[0] + 1, dots[0]))
        tapegrad.jvp(inner, (1.0,), (1.0,))
    name = "test_rules_that_are_declared_within_the_block.<locals>.inner"
    assert row(report, name).positions == {"jvp": {0}}


@pytest.mark.slow
def test_other_threads_count():
    with rule_coverage(__name__) as report:
        thread = threading.Thread(target=lambda: tapegrad.grad(cube)(2.0))
        thread.start()
        thread.join()
    assert row(report, "cube").positions == {"vjp": {0}}
    assert row(report, "cube").functions[0].seen


def test_blocks_may_be_nested():
    with rule_coverage(__name__) as outer:
        tapegrad.grad(cube)(2.0)
        with rule_coverage(__name__) as inner:
            tapegrad.grad(cube)(2.0)
    with rule_coverage(__name__) as again:
        tapegrad.grad(cube)(2.0)
    with rule_coverage(__name__) as empty:
        pass
    assert str(outer) == str(inner) == str(again)
    assert row(empty, "cube").missing() == ["never used"]


def watchers():
    """Who watches what runs."""
    if sys.version_info < (3, 12):
        return sys.gettrace(), threading.gettrace()
    return [sys.monitoring.get_tool(tool) for tool in range(6)]


@pytest.mark.parametrize("fails", [False, True])
def test_nothing_is_left_in_place(fails):
    before, by = vars(tapegrad._core.forms.Composite)["apply"], watchers()
    with suppress(ZeroDivisionError), rule_coverage(__name__):
        assert watchers() != by
        if fails:
            raise ZeroDivisionError
    assert vars(tapegrad._core.forms.Composite)["apply"] is before
    assert watchers() == by


def test_functions_of_numpy_are_no_part_of_a_rule():
    """A report is about what the author of a rule wrote, also within what these are made of."""
    shown = np.polynomial.polynomial.polyadd
    rule = SimpleNamespace(vjp=[shown, by_x, partial(shown, [1.0]), np.flip, np.vectorize(by_x)])
    assert [own.written for own in functions_of(rule)] == [by_x]
    owners = {own.written.__module__ for rule in all_rules() for own in functions_of(rule)}
    assert not {"numpy", "scipy", "functools"} & {name.partition(".")[0] for name in owners}


@pytest.mark.slow
def test_the_rules_of_tapegrad():
    with rule_coverage("tapegrad.rules") as report:
        tapegrad.grad(lambda x: np.sum(np.sin(x) * x))(np.ones(2))
        tapegrad.vmap(np.var)(np.ones((2, 3)))
    assert row(report, "np.sin").positions == {"vjp": {0}}
    assert row(report, "np.multiply").positions["vjp"] == {0, 1}
    assert "vmap" in row(report, "np.var").positions
    assert not row(report, "np.cos").is_exercised
    assert all(one.module.startswith("tapegrad.rules") for one in report.rules)


@pytest.mark.slow
def test_reports_add_up_and_travel(tmp_path):
    with rule_coverage(__name__) as one:
        tapegrad.grad(cube)(2.0)
    with rule_coverage(__name__) as other:
        tapegrad.jvp(cube, (np.ones((1,) * 4),), (np.ones((1,) * 4),))
    with rule_coverage(__name__) as both:
        tapegrad.grad(cube)(2.0)
        tapegrad.jvp(cube, (np.ones((1,) * 4),), (np.ones((1,) * 4),))
    made = RuleCoverage.from_json(one.to_json())
    assert str(made) == str(one)
    made.merge(RuleCoverage.from_json(other.to_json()))
    assert str(made) == str(both)
    made.save(tmp_path / "report.html")
    assert "never by linearize, vmap" in (tmp_path / "report.html").read_text()
    made.save(tmp_path / "report.txt")
    assert (tmp_path / "report.txt").read_text() == f"{both}\n"
    with pytest.raises(InputError, match="format 1"):
        RuleCoverage.from_json("{}")


def test_modules_are_names():
    with pytest.raises(InputError, match="names of modules"), rule_coverage([tapegrad]):
        pass


@pytest.mark.skipif(sys.version_info < (3, 12), reason="before, there is no sys.monitoring")
def test_the_place_of_hypothesis_is_left_to_it():
    with rule_coverage(__name__):
        # It warns where the place of its own is taken, and pytest makes an error of that.
        assert sys.monitoring.get_tool(3) is None
