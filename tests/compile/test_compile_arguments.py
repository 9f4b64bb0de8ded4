"""Arguments into which a program may write: their elements lie apart, and so do they."""

from __future__ import annotations

import types

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from tapegrad._compile.arguments import may_overlap
from tapegrad._compile.recorded_run import are_apart

no_surroundings = types.SimpleNamespace(
    shares_memory=lambda arrays: False, holds_none_of=lambda arrays: True
)
SHARED = types.SimpleNamespace(
    shares_memory=lambda arrays: True, holds_none_of=lambda arrays: False
)


def lies_apart(x):
    """Whether no two elements of an array have the same place, by all places."""
    place = np.zeros(x.shape, int)
    for stride, indices in zip(x.strides, np.indices(x.shape), strict=True):
        place += stride * indices
    return np.unique(place).size == x.size


PARTS = st.sampled_from(
    [
        slice(None),
        slice(1, None),
        slice(None, None, 2),
        slice(None, None, -2),
        slice(1, 2),
        None,
        0,
    ]
)


@draws(60, 1000)
@given(
    index=st.lists(PARTS, max_size=5),
    order=st.permutations(range(8)),
    letter=st.sampled_from("CF"),
)
def test_views_by_slices_lie_apart(index, order, letter):
    """Also those with axes of one element, whose strides mean nothing."""
    whole = np.zeros((3, 4, 5), order=letter)
    while sum(part is not None for part in index) > whole.ndim:
        index.pop()
    x = np.asarray(whole[tuple(index)])
    x = x.transpose([axis for axis in order if axis < x.ndim])
    assert lies_apart(x)
    assert not may_overlap(x)


@pytest.mark.parametrize(
    "x",
    [
        np.broadcast_to(np.zeros(3), (2, 3)),
        np.broadcast_to(0.0, (2,)),
        np.broadcast_to(np.zeros((3, 1)), (3, 4)),
        sliding_window_view(np.zeros(6), 3),
        sliding_window_view(np.zeros((4, 4)), (2, 2)),
        sliding_window_view(np.zeros(6), 3)[::2],
        as_strided(np.zeros(9), (3, 3), (16, 8)),
        as_strided(np.zeros(9), (1, 3, 3), (0, 8, 16)),
    ],
)
def test_views_with_elements_at_one_place_are_told(x):
    assert not lies_apart(x)
    assert may_overlap(x)
    assert not are_apart({0}, [x], no_surroundings)
    assert are_apart({0}, [np.array(x)], no_surroundings)


def test_arguments_are_apart_if_what_is_written_to_is_nobody_elses():
    whole = np.zeros((4, 4))
    left, right, middle = whole[:, :2], whole[:, 2:], whole[:, 1:3]
    locked = np.zeros(3)
    locked.flags.writeable = False
    assert are_apart({0}, [left, np.ones(2), 3.0], no_surroundings)
    assert not are_apart({0}, [left, middle], no_surroundings)
    assert not are_apart({1}, [left, middle], no_surroundings)
    assert not are_apart({0}, [locked], no_surroundings)
    assert are_apart({0}, [left[:, None], locked], no_surroundings)
    assert are_apart(set(), [left, left, locked], no_surroundings)
    assert not are_apart({0}, [left, left], no_surroundings)
    assert are_apart({0}, [left.copy(), right, middle], no_surroundings)
    assert not are_apart({0}, [left], SHARED)
