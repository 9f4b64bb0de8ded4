"""blame: rules that are wrong for one layout in memory alone, which calls are tried with."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import tapegrad
from tapegrad.testing import blame
from tapegrad.testing._blame.redone import copied

X = np.linspace(0.1, 1.2, 12).reshape(3, 4)


def is_strided(x):
    return not (x.flags.c_contiguous or x.flags.f_contiguous)


def is_fortran(x):
    return x.flags.f_contiguous and not x.flags.c_contiguous


def is_reversed(x):
    return any(stride < 0 for stride in x.strides)


def overlaps(x):
    return len(set(x.strides)) < x.ndim


def is_stretched(x):
    return 0 in x.strides


def is_read_only(x):
    return not x.flags.writeable


def sine(x):
    return np.sin(x)


def by_vjp(is_bad):
    """A sine whose cotangent is doubled for some layouts."""
    made = tapegrad.custom_vjp(sine)
    made.defvjp(
        lambda x: (np.sin(x), is_bad_value(is_bad, x) * np.cos(x)), lambda kept, g: (kept * g,)
    )
    return made


def by_jvp(is_bad):
    """A sine whose tangent is doubled for some layouts."""
    made = tapegrad.custom_jvp(sine)

    def rule(primals, tangents):
        (x,), (dot,) = primals, tangents
        return np.sin(x), is_bad_value(is_bad, x) * np.cos(x) * dot

    made.defjvp(rule)
    return made


def is_bad_value(is_bad, x):
    while not isinstance(x, np.ndarray):
        x = x._value
    return 2 if is_bad(x) else 1


@pytest.mark.part(3)
@pytest.mark.parametrize("make", [by_vjp, by_jvp])
@pytest.mark.parametrize(
    ("is_bad", "view"),
    [
        (is_fortran, lambda x: x.T),
        (is_fortran, lambda x: x.copy(order="F")),
        (is_reversed, lambda x: x[:, ::-1]),
        (is_strided, lambda x: x[:, ::2]),
        (is_strided, lambda x: x[:, 1]),
        (overlaps, lambda x: sliding_window_view(x.ravel(), 3)),
        (is_stretched, lambda x: np.broadcast_to(x, (2, 3, 4))),
        (is_read_only, np.diagonal),
    ],
)
def test_a_rule_that_is_wrong_for_a_view_is_found(make, is_bad, view):
    wrong, right = make(is_bad), make(lambda _: False)
    found = blame(lambda x: np.exp(wrong(view(x))), (X,), order=1)
    assert found.operation == "sine"
    assert blame(lambda x: np.exp(right(view(x))), (X,), order=1) is None


@pytest.mark.parametrize(
    ("is_bad", "x"),
    [
        (is_fortran, X.T),
        (overlaps, sliding_window_view(X.ravel(), 3)),
        (is_stretched, np.broadcast_to(X[0], (3, 4))),
    ],
)
def test_inputs_keep_their_layout(is_bad, x):
    assert blame(by_vjp(is_bad), (x,), order=1).operation == "sine"


@pytest.mark.parametrize(
    "x",
    [X.T, X[::-1], X[:, ::2], sliding_window_view(X[0], 2), np.broadcast_to(X[0], (2, 4)), X[:0]],
)
def test_a_copy_is_laid_out_alike(x):
    copy = copied(x)
    np.testing.assert_array_equal(copy, x)
    assert copy.strides == x.strides or not x.size
    assert copy.flags.writeable == x.flags.writeable
    assert not np.shares_memory(copy, x)


def test_a_write_into_what_came_read_only_is_tried():
    def f(x):
        y = np.broadcast_to(np.sin(x), (2, 3, 4)).copy()
        y[0] = 2 * y[1]
        return np.exp(y)

    assert blame(f, (X,)) is None
