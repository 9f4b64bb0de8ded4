"""Histograms and counts: linear in the weights, while the bin of an element is constant.

Edges that NumPy places between the smallest and the largest element depend on these two, and a
density depends on its edges.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import composite, linear
from tapegrad._core.types import Cotangent, Tree, Value
from tapegrad._core.values import (
    branch_on,
    getitem,
    innermost,
    itself,
    lift,
    untraced,
)
from tapegrad._errors import BatchingError
from tapegrad._numpy_versions import BINCOUNT_TAKES_NONE
from tapegrad._warning import warn
from tapegrad.rules.index import plain_array

# --- Edges


def _deep_plain(value: Tree) -> Tree:
    """Bins or ranges without tracing, also inside nested lists."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(_deep_plain, value))
    return untraced(value)


def _edges_of(edges: Value, sample: Value, bins: Any, limits: Tree) -> Value:
    """NumPy's edges, with the derivative by the limits or edges that were given."""
    bins = lift(bins)
    if not isinstance(bins, str) and np.ndim(untraced(bins)) == 1:
        return bins if hasattr(bins, "shape") else edges
    if limits is None:
        if sample.size == 0:
            return edges
        first, last = np.min(sample), np.max(sample)
    else:
        first, last = limits
    if innermost([first, last]) is None:
        return edges
    share = np.linspace(0, 1, edges.shape[0], dtype=edges.dtype)
    # This adds zero, with a derivative: the edges are NumPy's to the last bit.
    return edges + ((1 - share) * (first - untraced(first)) + share * (last - untraced(last)))


def _bin_of(values: Value, edges: Value) -> tuple[Value, Value]:
    """The bin of each value, and whether it is in a bin; the last bin includes both edges."""
    inside = (values >= edges[0]) & (values <= edges[-1])
    found = np.searchsorted(edges, values, side="right") - 1
    return np.clip(found, 0, max(edges.shape[0] - 2, 0)), inside


def _widths(edges: Value) -> Value:
    return (edges[1:] - edges[:-1]).astype(float)


# --- One dimension


def _weighted_histogram(a: Value, edges: Value, weights: Value, bins: Any, range: Tree) -> Value:
    return np.histogram(a, bins, range, weights=weights)[0]


def _weighted_histogram_transpose(
    g: Cotangent, _out: Value, a: Value, edges: Value, _weights: Value, bins: Any, range: Tree
) -> Cotangent:
    found, inside = _bin_of(np.ravel(a), edges)
    return np.reshape(np.where(inside, g[found], 0), _weights.shape)


HISTOGRAM = linear(
    _weighted_histogram, _weighted_histogram_transpose, fixed=2, name="np.histogram"
)


def _histogram(
    a: Value,
    bins: Any = 10,
    range: Tree = None,
    density: bool | None = None,
    weights: Value = None,
) -> tuple[Value, Value]:
    a, weights = lift(a), lift(weights)
    values, plain_bins, limits = plain_array(a), _deep_plain(bins), _deep_plain(range)
    if innermost([weights]) is not None:
        edges = np.histogram_bin_edges(values, plain_bins, limits, np.zeros(weights.shape))
        params = {"bins": plain_bins, "range": limits}
        counts = HISTOGRAM.apply_bound([values, edges, weights], params)
    else:
        counts, edges = np.histogram(values, plain_bins, limits, weights=weights)
    edges = _edges_of(edges, a if hasattr(a, "shape") else values, bins, range)
    if density:
        counts = counts / _widths(edges) / np.sum(counts)
    return counts, edges


def _histogram_bin_edges(
    a: Value, bins: Any = 10, range: Tree = None, weights: Value = None
) -> Value:
    a = lift(a)
    edges = np.histogram_bin_edges(
        untraced(a), _deep_plain(bins), _deep_plain(range), untraced(lift(weights))
    )
    return _edges_of(edges, a, bins, range)


composite(np.histogram, _histogram, batch="loop")
composite(np.histogram_bin_edges, _histogram_bin_edges, batch="loop")


# --- Several dimensions


def _weighted_histogramdd(
    sample: Value, weights: Value, bins: Any, range: Tree, edges: Sequence[Value]
) -> Value:
    return np.histogramdd(sample, bins, range, weights=weights)[0]


def _weighted_histogramdd_transpose(
    g: Cotangent,
    _out: Value,
    sample: Value,
    _weights: Value,
    bins: Any,
    range: Tree,
    edges: Sequence[Value],
) -> Cotangent:
    found, inside = zip(*map(_bin_of, sample.T, edges), strict=True)
    chosen = functools.reduce(np.logical_and, inside)
    return np.where(chosen, getitem(g, found), 0)


HISTOGRAMDD = linear(
    _weighted_histogramdd, _weighted_histogramdd_transpose, fixed=1, name="np.histogramdd"
)


def _columns(sample: Tree) -> list[Value]:
    """One array per dimension, from a sample with a column or a list entry for each."""
    listed = not hasattr(sample, "shape")
    sample = lift(sample)
    sample = sample if hasattr(sample, "shape") else np.asarray(sample)
    if sample.ndim < 2:
        return [np.reshape(sample, (-1,))]
    return list(sample) if listed else [sample[:, i] for i in range(sample.shape[1])]


def _is_several(bins: Any) -> bool:
    return isinstance(bins, (list, tuple)) or getattr(bins, "ndim", 0) > 0


def _histogramdd(
    sample: Tree,
    bins: Any = 10,
    range: Tree = None,
    density: bool | None = None,
    weights: Value = None,
) -> tuple[Value, Sequence[Value]]:
    weights = lift(weights)
    plain_bins, limits = _deep_plain(bins), _deep_plain(range)
    counts, edges = np.histogramdd(untraced(sample), plain_bins, limits, weights=untraced(weights))
    columns = _columns(sample)
    if innermost([weights]) is not None:
        params = {"bins": plain_bins, "range": limits, "edges": tuple(edges)}
        values = np.stack([untraced(column) for column in columns], axis=1)
        counts = HISTOGRAMDD.apply_bound([values, weights], params)
    each = bins if _is_several(bins) else [bins] * len(columns)
    ends = [None] * len(columns) if range is None else range
    edges = type(edges)(map(_edges_of, edges, columns, each, ends))
    if density:
        total = np.sum(counts)
        for axis, line in enumerate(edges):
            shape = [-1 if i == axis else 1 for i, _ in enumerate(edges)]
            counts = counts / np.reshape(_widths(line), shape)
        counts = counts / total
    return counts, edges


def _histogram2d(
    x: Value,
    y: Value,
    bins: Any = 10,
    range: Tree = None,
    density: bool | None = None,
    weights: Value = None,
) -> tuple[Value, Value, Value]:
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if _is_several(bins) and len(bins) not in (1, 2):
        bins = [lift(bins)] * 2  # one set of edges for both
    counts, edges = _histogramdd([x, y], bins, range, density, weights)
    return counts, edges[0], edges[1]


composite(np.histogramdd, _histogramdd, batch="loop")
composite(np.histogram2d, _histogram2d, batch="loop")


# --- bincount


def _counted(x: Value, weights: Value, minlength: int = 0) -> Value:
    return np.bincount(x, weights, minlength)


def _counted_examples(x: Value, weights: Value, minlength: int = 0) -> Value:
    known = branch_on(itself, x)
    sizes = np.maximum(np.max(known, axis=-1, initial=-1) + 1, minlength)
    size = int(np.max(sizes, initial=minlength))
    if np.any(sizes != size):
        raise BatchingError(
            "np.bincount: the number of bins may differ from example to example. Pass a minlength "
            "that is enough for all."
        )
    starts = np.arange(len(x))[:, None] * size
    counts = np.bincount(np.reshape(x + starts, -1), np.reshape(weights, -1), len(x) * size)
    return np.reshape(counts, (len(x), size))


BINCOUNT = linear(
    _counted,
    lambda g, _out, x, _weights, minlength=0: getitem(g, (x,)),
    fixed=1,
    name="np.bincount",
    batch=_counted_examples,
)


def _bincount(x: Value, /, weights: Value = None, minlength: Any = 0) -> Value:
    if minlength is None and BINCOUNT_TAKES_NONE:
        warn(
            "0 should be passed as minlength instead of None; this will error in future.",
            DeprecationWarning,
        )
        minlength = 0
    x, weights = plain_array(x), lift(weights)
    if innermost([x, weights]) is None:
        return np.bincount(x, weights, minlength)
    if weights is None:
        counts = BINCOUNT.apply_bound([x, np.ones(x.shape)], {"minlength": minlength})
        return counts.astype(np.intp)
    return BINCOUNT.apply_bound([x, weights], {"minlength": minlength})


composite(np.bincount, _bincount)
