"""Sums, moments and order statistics of labelled elements.

The elements are sorted by their labels once; what NumPy does of segments has derivatives then.
Labels and indices are constants, and so are positions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.ndimage as ni

from tapegrad._core.forms import composite
from tapegrad._core.types import Function, Value
from tapegrad._core.values import untraced
from tapegrad.scipy._mirror import mirror
from tapegrad.scipy.ndimage._images import HERE, as_array

sum_labels = mirror(ni.sum_labels, HERE)
sum = mirror(ni.sum, HERE)  # noqa: A001
mean, variance, standard_deviation = (
    mirror(f, HERE) for f in (ni.mean, ni.variance, ni.standard_deviation)
)
minimum, maximum, median = (mirror(f, HERE) for f in (ni.minimum, ni.maximum, ni.median))
extrema, center_of_mass = mirror(ni.extrema, HERE), mirror(ni.center_of_mass, HERE)


class _Groups(NamedTuple):
    """Elements in the order of their labels; empty groups have no segment."""

    elements: Value
    order: Any  # positions in the flat image
    starts: Any
    counts: Any
    segments: Any  # of each group that is asked for, its segment, or 0
    found: Any
    shape: tuple[int, ...]  # of the result

    def reduced(self, function: Any, elements: Value) -> Value:
        """A ufunc over each group; zero for an empty one."""
        if not self.starts.size:
            return np.zeros(self.shape, elements.dtype)
        of_segments = function.reduceat(elements, self.starts)
        chosen = of_segments[self.segments]
        return np.reshape(np.where(self.found, chosen, 0), self.shape)

    def sizes(self) -> Any:
        counts = self.counts[self.segments] if self.counts.size else 0 * self.segments
        return np.reshape(np.where(self.found, counts, 0), self.shape).astype(float)


def _groups(input: Value, labels: Any, index: Any) -> _Groups:
    x = as_array(input)
    labels = None if labels is None else np.asarray(untraced(labels))
    if labels is not None and labels.shape != x.shape:
        shape = np.broadcast_shapes(x.shape, labels.shape)
        x, labels = np.broadcast_to(x, shape), np.broadcast_to(labels, shape)
    flat = np.reshape(x, -1)
    if labels is None:
        own, asked = np.zeros(flat.shape[0], int), np.array(0)
    elif index is None:
        own, asked = (labels.reshape(-1) > 0).astype(int), np.array(1)
    else:
        own, asked = labels.reshape(-1), np.asarray(untraced(index))
    order = np.argsort(own, kind="stable")
    known, starts, counts = np.unique(own[order], return_index=True, return_counts=True)
    segments = np.searchsorted(known, asked.reshape(-1))
    segments[segments >= known.size] = 0
    found = known[segments] == asked.reshape(-1) if known.size else np.zeros(asked.size, bool)
    return _Groups(flat[order], order, starts, counts, segments, found, asked.shape)


def _summed(input: Value, labels: Any, index: Any) -> _Groups:
    groups = _groups(input, labels, index)
    if groups.shape and groups.elements.dtype == np.float32:  # as SciPy sums of several
        groups = groups._replace(elements=groups.elements.astype(np.float64))
    return groups


def _sum_labels(input: Value, labels: Any = None, index: Any = None) -> Value:
    groups = _summed(input, labels, index)
    return groups.reduced(np.add, groups.elements)


def _mean(input: Value, labels: Any = None, index: Any = None) -> Value:
    groups = _summed(input, labels, index)
    return groups.reduced(np.add, groups.elements) / groups.sizes()


def _variance(input: Value, labels: Any = None, index: Any = None) -> Value:
    groups = _summed(input, labels, index)
    elements = groups.elements
    means = np.add.reduceat(elements, groups.starts) / groups.counts
    centred = elements - np.repeat(means, groups.counts)
    return groups.reduced(np.add, centred * np.conjugate(centred)) / groups.sizes()


def _standard_deviation(input: Value, labels: Any = None, index: Any = None) -> Value:
    squared = _variance(input, labels, index)
    equal = squared == 0  # where the derivative is 0 by convention
    return np.where(equal, 0, np.sqrt(np.where(equal, 1, squared)))


def _extreme(function: Any) -> Function:
    def definition(input: Value, labels: Any = None, index: Any = None) -> Value:
        groups = _groups(input, labels, index)
        if not groups.shape and not groups.found:
            raise ValueError(f"scipy.ndimage: expected elements of label {index}, got none.")
        return groups.reduced(function, groups.elements)

    return definition


def _median(input: Value, labels: Any = None, index: Any = None) -> Value:
    groups = _groups(input, labels, index)
    elements = groups.elements
    members = np.split(elements, groups.starts[1:])
    # Of a label that is absent SciPy has NaN, or among several the least element of the first.
    absent = np.min(members[0]) if groups.shape and elements.size else elements.dtype.type(np.nan)
    medians = [
        np.median(members[s]) if found else absent
        for s, found in zip(groups.segments, groups.found, strict=True)
    ]
    stacked = np.stack(medians) if medians else np.zeros(0, elements.dtype)
    return np.reshape(stacked, groups.shape)


_minimum, _maximum = _extreme(np.minimum), _extreme(np.maximum)


def _extrema(input: Value, labels: Any = None, index: Any = None) -> Any:
    plain = ni.extrema(untraced(input), untraced(labels), untraced(index))
    least, most = _minimum(input, labels, index), _maximum(input, labels, index)
    return least, most, plain[2], plain[3]


def _center_of_mass(input: Value, labels: Any = None, index: Any = None) -> Any:
    x = as_array(input)
    total = _sum_labels(x, labels, index)
    lines = [
        _sum_labels(x * grid.astype(float), labels, index) / total
        for grid in np.ogrid[tuple(slice(0, side) for side in x.shape)]
    ]
    if not total.ndim:
        return tuple(line[()] for line in lines)
    return [tuple(line) for line in np.stack(lines).T]


composite(sum_labels, _sum_labels)
composite(sum, _sum_labels)
composite(mean, _mean)
composite(variance, _variance)
composite(standard_deviation, _standard_deviation)
composite(minimum, _minimum)
composite(maximum, _maximum)
composite(median, _median)
composite(extrema, _extrema)
composite(center_of_mass, _center_of_mass)
