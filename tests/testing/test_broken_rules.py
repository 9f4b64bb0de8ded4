"""Rules that are broken on purpose are found, and named; right ones raise no alarm."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import verdicts
from broken_rules import broken_rules, program_of, shows

import tapegrad
from tapegrad._core.rule import REGISTRY

SOME = (0, 60)
SCHEDULED = [pytest.mark.slow, pytest.mark.scheduled]


def test_there_are_a_hundred_and_each_is_undone():
    assert len(broken_rules()) == 100
    x = np.array([0.3, -0.7])
    expected = tapegrad.grad(lambda x: np.sum(np.sin(x)))(x)
    for broken in broken_rules():
        with broken.block():
            pass
    np.testing.assert_array_equal(tapegrad.grad(lambda x: np.sum(np.sin(x)))(x), expected)
    assert all("pull" not in vars(rule) for rule in REGISTRY.values())


@pytest.mark.parametrize(
    "position",
    [p if p in SOME else pytest.param(p, marks=SCHEDULED) for p in range(100)],
)
def test_a_broken_rule_is_found_and_named(position):
    broken = broken_rules()[position]
    program = program_of(position)
    assert shows(broken, program)
    with broken.block(), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        error = verdicts.by_check(program)
    assert error is not None
    assert verdicts.is_blamed(error, broken), error


# The whole figure, over 1,000, is that of `python verdicts.py`.
@pytest.mark.parametrize(
    "numbers", [range(16), pytest.param(range(16, 240), marks=pytest.mark.slow)]
)
def test_right_functions_raise_no_alarm(numbers):
    alarms = [text for number in numbers if (text := verdicts.false_alarm(number))]
    assert not alarms, "\n".join(alarms)
