"""Calls with fixed arguments, for functions whose arguments have to fit each other.

A table of calls is a list of `call(function, *args, **params)`; `checked` makes tests of it. Of
arrays and NumPy's numbers derivatives are taken, Python's numbers and lists of them are constants.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

import numpy as np
import pytest

from tapegrad._core.forms import Constant, Unsupported
from tapegrad._core.rule import REGISTRY, rule_of
from tapegrad.scipy._copies import BY_COPY
from tapegrad.testing import check_rule


class Call(NamedTuple):
    function: Any
    args: tuple[Any, ...]
    params: dict[str, Any]


def call(function: Any, *args: Any, **params: Any) -> Call:
    return Call(function, args, params)


class Numbers:
    """Random arrays; each file has its own, so that it draws the same whatever else runs."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def normal(self, *shape: int) -> Any:
        return self.rng.standard_normal(shape)

    def positive(self, *shape: int) -> Any:
        return self.rng.uniform(0.3, 2.0, shape)

    def complex_normal(self, *shape: int) -> Any:
        return self.normal(*shape) + 1j * self.normal(*shape)

    def apart(self, *shape: int) -> Any:
        """Numbers none of which are close, for functions that choose by their order."""
        count = int(np.prod(shape))
        return (self.rng.permutation(count).reshape(shape) - count / 2 + 0.3) / 3


def name_of_call(one: Call) -> str:
    words = [f"{k}={v}" for k, v in one.params.items() if isinstance(v, (str, int, bool))]
    return "-".join([rule_of(one.function).name.removeprefix("scipy."), *words])


def checked(calls: list[Call]) -> Any:
    return pytest.mark.parametrize("one", calls, ids=map(name_of_call, calls))


def check_call(one: Call) -> None:
    """The laws of the call's function, whatever warnings SciPy has for such arguments."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_rule(one.function, *one.args, **one.params)


def undecided(theirs: Any, ours: Any) -> list[str]:
    """Public functions of a module of SciPy's that ours hands on as they are."""
    return [
        name
        for name in dir(theirs)
        if not name.startswith("_")
        and name != "test"
        and callable(getattr(theirs, name))
        and not isinstance(getattr(theirs, name), type)
        and getattr(ours, name) not in REGISTRY
        and not hasattr(getattr(ours, name), BY_COPY)
    ]


def uncalled(module: Any, calls: list[Call]) -> list[str]:
    """Functions with derivatives of a module of ours that no call checks."""
    called = {one.function for one in calls}
    return [
        rule.name
        for function, rule in REGISTRY.items()
        if getattr(function, "__module__", None) == module.__name__
        and not isinstance(rule, (Constant, Unsupported))
        and function not in called
    ]


__all__ = [
    "Numbers",
    "call",
    "check_call",
    "checked",
    "uncalled",
    "undecided",
]
