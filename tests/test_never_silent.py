"""Over all public callables of NumPy: a call on traced values is right, or raises."""

from __future__ import annotations

import pytest
from answers import TAPEGRAD
from generic_calls import LONG, SHORT, meaningful_calls, public_callables
from judging import Outcome, judge

CALLABLES = public_callables()


def mistakes(function, text):
    judged = (judge(TAPEGRAD, *call) for call in meaningful_calls(function, text))
    return [problem for outcome, problem in judged if outcome is Outcome.WRONG]


@pytest.mark.parametrize("name", CALLABLES)
def test_a_call_is_right_or_raises(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # np.save and its kin
    assert mistakes(CALLABLES[name], SHORT) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLABLES)
def test_a_call_with_rarer_arguments_is_right_or_raises(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mistakes(CALLABLES[name], LONG) == []
