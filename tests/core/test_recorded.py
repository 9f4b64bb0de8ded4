"""Functions of the engine as they run for recorded values."""

from __future__ import annotations

import functools
import gc
import weakref

import numpy as np

from tapegrad._core.recorded import as_recorded
from tapegrad._core.sums import summing


def test_a_function_has_one_copy_and_both_are_freed():
    """As of settled calls, which are forgotten where there are too many of them."""
    references = []
    for _ in range(3):  # the first of all, and further ones
        function = summing((2, 4, 3), (2, 1, 3), np.dtype(float))
        copy = as_recorded(function)
        assert copy is not function
        assert as_recorded(function) is copy is as_recorded(function)
        np.testing.assert_array_equal(copy(np.ones((2, 4, 3))), np.full((2, 1, 3), 4.0))
        references += [weakref.ref(function), weakref.ref(copy)]
        del function, copy
    gc.collect()
    assert [reference() for reference in references] == [None] * 6


def test_a_wrapper_has_a_copy_of_its_own():
    function = summing((2, 4, 3), (2, 1, 3), np.dtype(float))
    copy = as_recorded(function)

    @functools.wraps(function)
    def doubled(a):
        return 2 * function(a)

    assert as_recorded(doubled) is not copy
    found = as_recorded(doubled)(np.ones((2, 4, 3)))
    np.testing.assert_array_equal(found, np.full((2, 1, 3), 8.0))
