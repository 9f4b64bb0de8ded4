"""blame: of an operation that NumPy's others are made of, the one within is named."""

from __future__ import annotations

import numpy as np
import pytest
from broken_rules import changed, partial_changed, pull_changed

import tapegrad
from tapegrad._core.elementwise import Elementwise
from tapegrad._core.rule import REGISTRY
from tapegrad.testing import blame

X = np.array([0.5, 1.5, 0.7, 1.1, 0.9, 1.3])
A = np.random.default_rng(0).standard_normal((3, 3)) + 3 * np.eye(3)

# The call, and an operation that it is made of, with the argument whose rule is changed.
MADE_OF = {
    "np.kron": (lambda: (np.kron, (A, A.T)), (np.multiply, 0)),
    "np.cross": (lambda: (np.cross, (A, A.T)), (np.multiply, 0)),
    "np.interp": (lambda: (of_interp, (X,)), (np.multiply, 1)),
    "np.linalg.cond": (lambda: (np.linalg.cond, (A,)), (np.divide, 1)),
    "np.gradient": (lambda: (lambda x: np.gradient(x, np.cumsum(x)), (X,)), (np.divide, 1)),
    "np.average": (lambda: (lambda x: np.average(x, weights=x * x), (X,)), (np.divide, 1)),
    "np.corrcoef": (lambda: (np.corrcoef, (A,)), (np.sqrt, 0)),
}
SLOW = {"np.average", "np.cross", "np.gradient", "np.interp", "np.kron", "np.linalg.cond"}


def of_interp(x):
    return np.interp(np.linspace(1.1, 5.2, 4), np.cumsum(x), np.exp(x))


def change_of(function, at, order):
    change = tapegrad.stop_gradient if order == 2 else lambda value: 1.3 * value
    if isinstance(REGISTRY[function], Elementwise):
        return partial_changed(at, lambda value, *_: change(value))
    return pull_changed(change, at)


def differs(f, args, function, change, order):
    """Whether a derivative of f is another one with the rule changed."""

    def first(*args):
        out, pullback = tapegrad.vjp(f, *args)
        return pullback(np.ones_like(out))

    def second(*args):
        return tapegrad.jvp(first, args, tuple(np.cos(x) for x in args))[1]

    of = first if order == 1 else second
    before = of(*args)
    with changed(function, change):
        after = of(*args)
    return not all(map(np.allclose, before, after))


@pytest.mark.parametrize(
    ("name", "order"),
    [
        pytest.param(name, order, marks=[pytest.mark.slow] * (name in SLOW))
        for name in MADE_OF
        for order in (1, 2)
        # The first derivatives of these two are made without np.multiply.
        if not (order == 1 and name in ("np.kron", "np.cross"))
    ],
)
def test_the_operation_within_is_named(name, order):
    make, (function, at) = MADE_OF[name]
    f, args = make()
    change = change_of(function, at, order)
    assert differs(f, args, function, change, order)
    with changed(function, change):
        found = blame(f, args)
    assert found.operation == REGISTRY[function].name
    assert name in found.within
    assert found.order == order


@pytest.mark.slow
def test_a_primitive_of_scipy_is_named_once_as_users_write_it():
    linalg = pytest.importorskip("tapegrad.scipy.linalg", reason="needs SciPy")
    rule = next(
        function
        for function, rule in REGISTRY.items()
        if rule.name == "scipy.linalg.solve_triangular" and rule.form == "general"
    )
    with changed(rule, pull_changed(tapegrad.stop_gradient)):
        found = blame(lambda a: linalg.solve_triangular(np.triu(a), a[0]), (A,))
    assert (found.operation, found.order) == ("scipy.linalg.solve_triangular", 2)
    assert len(found.within) <= 1
