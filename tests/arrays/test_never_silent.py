"""Over all public callables of NumPy: a call on traced values is right, or raises."""

from __future__ import annotations

import numpy as np
import pytest
from answers import TAPEGRAD, by_name
from generic_calls import (
    LONG,
    METHODS,
    OBJECTS,
    SHORT,
    expressions,
    meaningful_calls,
    ndarray_method,
    public_callables,
    public_ufuncs,
)
from judging import Outcome, judge

import tapegrad.numpy

CALLABLES = public_callables()
UFUNCS = public_ufuncs()
# NumPy's own vectorised loops of these combine the first element with the last one alone.
WRONG_IN_NUMPY = {("np.arctan2", "reduce"), ("np.arctan2", "reduceat")}
WRONG_IN_NUMPY |= {("np.pow", "reduce"), ("np.pow", "reduceat")}
# Of memory and of files, not of values; byteswap and the like reinterpret bytes.
PRIVATE = {"getfield", "setfield", "setflags", "tofile", "dump", "dumps", "byteswap", "resize"}
NDARRAY = [
    name
    for name in dir(np.ndarray)
    if callable(getattr(np.ndarray, name)) and not name.startswith("__") and name not in PRIVATE
]


def mistakes(function, text, ours=None):
    """Errors in the calls of a function of NumPy's, or with those of ours by its name."""
    judged = (
        judge(TAPEGRAD, ours or function, *call, reference=function)
        for _, *call in meaningful_calls(function, text)
    )
    return [problem for outcome, problem in judged if outcome is Outcome.WRONG]


@pytest.mark.part(9)
@pytest.mark.parametrize("name", CALLABLES)
def test_a_call_is_right_or_raises(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # np.save and its kin
    assert mistakes(CALLABLES[name], SHORT) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLABLES)
def test_a_call_with_rarer_arguments_is_right_or_raises(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert mistakes(CALLABLES[name], LONG) == []


# --- tapegrad.numpy -----------------------------------------------------------------------------


# Objects, whose elements the expressions below read.
ITERATORS = {"np.ndenumerate", "np.nditer"}
REPLACED = [name for name, function in CALLABLES.items() if by_name(name) is not function]
REPLACED = [name for name in REPLACED if name not in ITERATORS]


@pytest.mark.part(6)
@pytest.mark.parametrize("name", REPLACED)
def test_a_call_of_our_namespace_is_right_or_raises(name):
    assert mistakes(CALLABLES[name], SHORT, by_name(name)) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", REPLACED)
def test_a_call_of_our_namespace_with_rarer_arguments_is_right_or_raises(name):
    assert mistakes(CALLABLES[name], LONG, by_name(name)) == []


# --- Expressions --------------------------------------------------------------------------------


@pytest.mark.part(3)
@pytest.mark.parametrize("expression", expressions(OBJECTS), ids=lambda pattern: pattern.text)
@pytest.mark.parametrize("space", [np, tapegrad.numpy], ids=["numpy", "tapegrad.numpy"])
def test_an_expression_is_right_or_raises(space, expression):
    outcome, problem = judge(
        TAPEGRAD, lambda use: use(space), expression, False, lambda use: use(np)
    )
    assert outcome is not Outcome.WRONG, problem


# --- Methods ------------------------------------------------------------------------------------


@pytest.mark.part(3)
@pytest.mark.parametrize(
    ("name", "method"),
    [(n, m) for n in UFUNCS for m in METHODS if (n, m) not in WRONG_IN_NUMPY],
)
def test_a_method_of_a_ufunc_is_right_or_raises(name, method):
    assert mistakes(getattr(UFUNCS[name], method), METHODS[method]) == []


@pytest.mark.part(3)
@pytest.mark.parametrize("name", NDARRAY)
def test_a_method_of_an_array_is_right_or_raises(name):
    assert mistakes(ndarray_method(name), SHORT) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NDARRAY)
def test_a_method_with_rarer_arguments_is_right_or_raises(name):
    assert mistakes(ndarray_method(name), LONG) == []
