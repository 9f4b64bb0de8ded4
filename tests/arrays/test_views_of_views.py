"""Chains of views of views: what is done to one view does not depend on how many lie before it."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tapegrad import grad, jvp, linearize, vjp, vmap

X = np.linspace(0.1, 0.9, 16).reshape(4, 4)
V = np.cos(np.arange(16.0)).reshape(4, 4)

# Two views, each of the one before it.
STEPS = {
    "reshape": lambda y: y.reshape(16).reshape(4, 4),
    "transpose": lambda y: y.T[:].T,
    "reversed": lambda y: np.swapaxes(y, 0, 1)[::-1],
    "new axes": lambda y: np.squeeze(y[:, None, :], 1),
    "order K": lambda y: np.ravel(y, order="K").reshape(y.shape),
    "0-d": lambda y: y.reshape(()).reshape(1),
    "real": lambda y: y.real.T,
}
TRANSFORMS = {
    "grad": lambda f: grad(f)(X),
    "vjp": lambda f: vjp(f, X)[1](1.0)[0],
    "jvp": lambda f: jvp(f, (X,), (V,))[1],
    "linearize": lambda f: linearize(f, X)[1](V),
    "jvp of grad": lambda f: jvp(grad(f), (X,), (V,))[1],
    "vmap of grad": lambda f: vmap(grad(f))(np.stack([X, V])),
}


def lengthened(step, use, length):
    """A program with a chain of views, whose last ones are used as often as there are views."""

    def program(x):
        whole = x * (1j if step == "real" else 1.0)
        if step == "0-d":
            whole = whole[:1, 0] * 1.0
        views = [whole]
        for _ in range(length):
            views.append(STEPS[step](views[-1]))
        total = 0.0
        for i in range(length):
            total = total + np.real(use(whole, views[-1], views[i + 1], x[i % 4, 1]))
        return total + np.sum(np.real(whole) ** 2)

    return program


def writes(_whole, last, _view, number):
    last[...] = number
    return np.sum(last)


def reads(whole, last, _view, number):
    whole[:1] = number
    return np.sum(last)


def reads_each(whole, _last, view, number):
    whole[:1] = number
    return np.sum(view * view)


def writes_each(_whole, _last, view, number):
    view[(0,) * view.ndim] = number
    return number


def writes_where(_whole, last, _view, number):
    last[np.ones(last.shape, bool)] = number
    return np.sum(last)


USES = [writes, reads, reads_each, writes_each, writes_where]


def lines_run(transform, f):
    """How many lines a transform runs, those of NumPy among them: a count needs no clock."""
    count = 0

    def trace(_frame, event, _arg):
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        transform(f)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.part(9)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("step", STEPS)
def test_the_cost_of_a_use_does_not_grow_with_the_chain(step, use):
    for name in ("grad", "jvp", "jvp of grad"):
        transform = TRANSFORMS[name]
        transform(lengthened(step, use, 5))  # what is learned once
        short, long = (lines_run(transform, lengthened(step, use, n)) for n in (15, 60))
        assert long < 4.6 * short, name


@pytest.mark.part(3)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("step", STEPS)
def test_a_use_of_a_long_chain_is_differentiated(step, use):
    f = lengthened(step, use, 7)
    slope = (f(X + 1e-6 * V) - f(X - 1e-6 * V)) / 2e-6
    gradient = TRANSFORMS["grad"](f)
    np.testing.assert_allclose(np.sum(gradient * V), slope, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(TRANSFORMS["vjp"](f), gradient, rtol=1e-12)
    for name in ("jvp", "linearize"):
        np.testing.assert_allclose(TRANSFORMS[name](f), np.sum(gradient * V), rtol=1e-9)
    np.testing.assert_allclose(TRANSFORMS["vmap of grad"](f)[0], gradient, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_hundred_thousand_views_of_views(name):
    def f(x):
        whole = x * 1.0
        y = whole
        for i in range(100_000):
            y = y.T if i % 3 else y[::-1]
        y[0] *= x[0]
        return np.sum(whole * whole) + np.sum(y**3)

    def short(x):  # the same permutation: twelve steps are the identity
        y = x * 1.0
        for i in range(100_000 % 12):
            y = y.T if i % 3 else y[::-1]
        y[0] *= x[0]
        return np.sum(y * y) + np.sum(y**3)

    np.testing.assert_allclose(TRANSFORMS[name](f), TRANSFORMS[name](short), rtol=1e-12)
