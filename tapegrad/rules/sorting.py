"""Sorting: the order is a constant, the sorted values are picked by it."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._rule import composite, plain


def _picked(a: Any, axis: Any, order: Any) -> Any:
    if axis is None:
        a, axis = np.ravel(a), -1
    return np.take_along_axis(a, order(plain(a), axis), axis)


def _sort(
    a: Any, axis: Any = -1, kind: Any = None, order: Any = None, *, stable: Any = None
) -> Any:
    return _picked(a, axis, lambda values, along: np.argsort(values, along, kind or "stable"))


def _partition(
    a: Any, kth: Any, axis: Any = -1, kind: Any = "introselect", order: Any = None
) -> Any:
    return _picked(a, axis, lambda values, along: np.argpartition(values, kth, along, kind))


composite(np.sort, _sort)
composite(np.partition, _partition)
