"""Plans that are made from a rule's own functions, and how few are written by hand."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tapegrad
from tapegrad._core.entry import spec_of
from tapegrad._core.fast.call_plans import CallPlan
from tapegrad._core.rule import REGISTRY
from tapegrad.rules.positions import moved_by_axes

RULES = Path(tapegrad.__file__).parent / "rules"
# A plan by hand repeats what the functions of its rule say. Those that are made from what a
# function does, or share a function with the rule, have other names.
BY_HAND = re.compile(r"\bplan=(?:_plan_|plan,|None if skip_nan)")


def test_few_plans_are_written_by_hand():
    """One declaration may stand for two functions: of np.var and np.std, of np.max and np.min."""
    found = sum(len(BY_HAND.findall(path.read_text("utf-8"))) for path in RULES.glob("*.py"))
    assert found + 2 <= 32


@pytest.mark.parametrize(
    "shape", [(5,), (1,), (2, 3), (3, 1), (1, 4), (2, 3, 4), (2, 1, 3), (2, 2)]
)
@pytest.mark.parametrize(
    "function",
    [
        np.transpose,
        np.flip,
        np.squeeze,
        lambda x: np.flip(x, -1),
        lambda x: np.moveaxis(x, 0, -1),
        lambda x: np.swapaxes(x, 0, -1),
        lambda x: np.expand_dims(x, (0, -1)),
        lambda x: np.reshape(x, (-1, 1)),
        lambda x: np.reshape(x, -1),
        lambda x: np.flip(np.transpose(x), 0),
        lambda x: np.transpose(np.flip(x, 0)),
    ],
)
def test_a_view_is_planned_by_where_its_axes_go(function, shape):
    x = np.random.default_rng(0).standard_normal(shape)
    out = function(x)
    kernels = moved_by_axes(spec_of(x), spec_of(out), function)
    assert kernels is not None
    turned = x[..., ::-1].copy()[..., ::-1]
    for each in (x, np.asfortranarray(x), turned):
        made = kernels.run(each)
        np.testing.assert_array_equal(made, out, strict=True)
        np.testing.assert_array_equal(kernels.pull(made, None, None), x, strict=True)
        np.testing.assert_array_equal(kernels.push(each, None, None), out, strict=True)
    assert np.may_share_memory(kernels.run(x), x)


@pytest.mark.parametrize(
    "function",
    [
        np.copy,
        lambda x: x[1:],
        lambda x: np.broadcast_to(x, (2, *x.shape)),
        lambda x: np.diagonal(x),
        lambda x: np.reshape(x, -1, order="F"),
        lambda x: x * 2,
    ],
)
def test_what_is_no_view_of_all_elements_is_left_to_the_rule(function):
    x = np.arange(6.0).reshape(2, 3)
    assert moved_by_axes(spec_of(x), spec_of(function(x)), function) is None


def last_plan(f, x):
    """The parameters of the call that is logged last, when it comes the third time."""
    seen = []

    def g(x):
        y = f(x)
        seen.append(x.tape.entries[-1][4])
        return np.sum(y)

    for _ in range(3):
        tapegrad.grad(g)(x)
    return seen[-1]


@pytest.mark.fast_path
def test_calls_of_rules_without_a_plan_are_planned():
    x = np.random.default_rng(0).standard_normal((3, 3))
    assert REGISTRY[np.nanprod].plan is None
    for function in (np.linalg.inv, lambda x: np.vdot(x, x), lambda x: np.matmul(x, x)):
        plan = last_plan(function, x)
        assert type(plan) is CallPlan
        assert plan.single is (function is np.linalg.inv)


def test_a_plan_from_a_rule_lets_zeros_absorb_where_the_rule_does():
    """The slope of a double root is infinite; a root that the loss does not read has no part."""
    p = np.array([1.0, -4.0, 5.0, -2.0])  # roots 2, 1, 1

    def f(p):
        r = np.roots(p)
        return np.sum(np.real(r) * np.array([1.0, 0.0, 0.0]))

    first = tapegrad.grad(f)(p)
    for _ in range(3):
        np.testing.assert_array_equal(tapegrad.grad(f)(p), first)
