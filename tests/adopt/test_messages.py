"""Texts that only errors show do not keep adopted code from being a program."""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad

X = np.array([0.3, 0.7, 1.9])


def by_str(x):
    text = "x: " + str(x[0]) + " of " + repr(x)
    assert x[0] < 5, text
    return np.sum(x**2)


def by_others(x):
    text = f"x: {x[0]:.3f} and {x}"
    if x[1] > 5:
        text = "{} {}".format(x[0], x[1])  # noqa: UP032
        raise ValueError(text)
    other = "%s %s" % (x[0], x[1])  # noqa: UP031
    if x[2] > 5:
        raise ValueError("there: " + other) from None
    return np.sum(x**3)


@pytest.mark.parametrize("f", [by_str, by_others])
def test_a_text_that_only_an_error_shows(f):
    slope = tapegrad.grad(tapegrad.adopt(f))
    fast = tapegrad.compile(slope, backend="numpy")
    for n in range(5):
        assert np.array_equal(fast(X + n / 8), slope(X + n / 8))
    assert fast.program(X)
    with pytest.raises((AssertionError, ValueError)) as expected:
        f(X + 9)
    with pytest.raises((AssertionError, ValueError)) as found:
        fast(X + 9)
    first, *_ = str(expected.value).splitlines()  # pytest adds others to an assertion's
    assert str(found.value).startswith(first)


def caught(x):
    text = str(float(x[0]))
    try:
        if x[1] > 0:
            raise ValueError(text)  # noqa: TRY301
    except ValueError as error:
        return np.sum(x**2) * len(error.args[0])
    return np.sum(x)


def shown(x):
    text = str(float(x[0]))
    if x[1] < 0:
        raise ValueError(text)
    return np.sum(x**2) * len(text)


def longer(x):
    text = str(float(x[0]))
    text += "0"
    if x[1] < 0:
        raise ValueError(text)
    return np.sum(x**2)


@pytest.mark.parametrize("f", [caught, shown, longer])
@pytest.mark.filterwarnings("ignore::tapegrad.EagerWarning")
def test_a_text_that_something_else_may_see(f):
    slope = tapegrad.grad(tapegrad.adopt(f))
    fast = tapegrad.compile(slope, backend="numpy")
    for first in (0.5, 0.5, 0.5, 0.125, 0.3333333):
        x = np.array([first, 1.0, 2.0])
        assert np.array_equal(fast(x), slope(x))
    with pytest.raises(tapegrad.InputError):
        fast.program(X)
