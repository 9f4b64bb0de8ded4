"""Order statistics: medians, quantiles, percentiles.

The value is NumPy's own. The derivative is that of the elements which it was made from, found by
partitioning again: linear in them, and piecewise linear in `q`. Equal elements share evenly, as
the extrema do; at a `q` that meets an element the slope is the mean of those on either side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.fast.call_plans import Kernels, Spec
from tapegrad._core.forms import general, strong_product
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Value
from tapegrad._core.values import any_true, is_ndarray, untraced
from tapegrad._numpy_versions import refuse_deprecated
from tapegrad.rules.moments import weights_beside
from tapegrad.rules.reduction import axes_of, planned_axes

# --- Elements by rank


def _reduced_axes_last(a: Value, axis: int | tuple[int, ...] | None) -> Value:
    """The array with the axes that are reduced merged into one, the last."""
    if a.ndim == 0 or axis is None:
        return np.reshape(a, (-1,))
    axes = axes_of(a, axis)
    kept = tuple(i for i in range(a.ndim) if i not in axes)
    merged = math.prod([a.shape[i] for i in axes])
    moved = np.transpose(a, kept + tuple(sorted(axes)))
    return np.reshape(moved, (*(a.shape[i] for i in kept), merged))


class _Order:
    """The order of the values in each row, as far as these ranks need it; NaN comes last.

    Ranks are arrays `(..., m)` that broadcast with the rows.
    """

    def __init__(self, values: Value, ranks: list[Value]) -> None:
        self.values = values
        self.last = values.shape[-1] - 1
        wanted = _shared_ranks(ranks)
        if wanted is not None and 8 * wanted.size <= self.last:
            beside = np.concatenate([wanted - 1, wanted, wanted + 1])  # where ties would be
            self.order = np.argpartition(values, np.unique(np.clip(beside, 0, self.last)), -1)
        else:
            self.order = np.argsort(values, -1)
        self.ranked = np.take_along_axis(values, self.order, -1)

    def at(self, ranks: Value) -> Callable[[Value], Value]:
        """The index of the elements of these ranks, for an array of the values' shape."""
        ranks = np.broadcast_to(ranks, (*self.values.shape[:-1], ranks.shape[-1]))
        index = np.take_along_axis(self.order, ranks, -1)
        found = np.take_along_axis(self.ranked, ranks, -1)
        tied = np.zeros(found.shape, bool)
        for beside in (np.maximum(ranks - 1, 0), np.minimum(ranks + 1, self.last)):
            neighbour = np.take_along_axis(self.ranked, beside, -1)
            tied = tied | (beside != ranks) & _alike(neighbour, found)
        if not any_true(tied):
            return lambda part: np.take_along_axis(part, index, -1)
        return lambda part: _shared(part, self.values, found)


def _shared_ranks(ranks: list[Value]) -> Value:
    """All the ranks in order, where they are the same for each row."""
    if any(type(rank) is not np.ndarray or rank.ndim > 1 for rank in ranks):
        return None
    return np.unique(np.concatenate(ranks))


def _alike(x: Value, y: Value) -> Value:
    return (x == y) | ((x != x) & (y != y))


def _shared(part: Value, values: Value, found: Value, chosen: Value = True) -> Tangent:
    """The mean of `part` over all elements whose value is the one found; 0 if there is none."""
    columns = []
    for j in range(found.shape[-1]):
        ties = _alike(values, found[..., j : j + 1]) & chosen
        share = np.maximum(np.sum(ties, axis=-1), 1).astype(np.finfo(values.dtype).dtype)
        columns.append(np.sum(np.where(ties, part, 0), axis=-1) / share)
    return np.stack(columns, axis=-1)


def _counts(values: Value, skip_nan: bool) -> Value:
    """The number of elements of each row that take part, on an axis of length 1."""
    if not skip_nan:
        return np.array([values.shape[-1]])
    return np.sum(values == values, axis=-1, keepdims=True)


def _nan_last(values: Value, ranks: list[Value], skip_nan: bool) -> list[Value]:
    """The rank of a NaN for the rows whose result is NaN because of it."""
    missing = np.any(values != values, axis=-1, keepdims=True)
    if skip_nan or not any_true(missing):
        return ranks
    return [np.where(missing, values.shape[-1] - 1, rank) for rank in ranks]


# --- The median: the one in the middle, or the mean of two


def _median_rule(function: Function, *, skip_nan: bool) -> None:
    def jvp(
        dots: Sequence[Tangent],
        _out: Value,
        a: Value,
        axis: int | tuple[int, ...] | None = None,
        overwrite_input: bool = False,
        keepdims: bool = False,
    ) -> Tangent:
        values, part = _reduced_axes_last(untraced(a), axis), _reduced_axes_last(dots[0], axis)
        if values.size == 0:
            return np.zeros(_out.shape, _out.dtype)
        counts = _counts(values, skip_nan)
        ranks = [np.maximum(counts - 1, 0) // 2, np.minimum(counts // 2, values.shape[-1] - 1)]
        ranks = _nan_last(values, ranks, skip_nan)
        order = _Order(values, ranks)
        low, high = (order.at(rank)(part) for rank in ranks)
        return np.reshape(np.where(counts > 0, low / 2 + high / 2, 0), _out.shape)

    rule: Any = general(
        function,
        jvp=jvp,
        arrays=1,
        implementation=_kept(function),
        batch="axis",
        plan=None if skip_nan else lambda x, out, /, **params: _plan_median(rule, x, params),
    )


# By the rule's own functions a gradient costs 6.0 times this (8 elements), 12 (8 x 8), 2.5
# (100 x 100).
def _plan_median(rule: Any, x: Spec, params: Params) -> Kernels | None:
    """The kernels of np.median: it is the element in the middle, or the mean of two.

    Ties and NaN are left to the rule.
    """
    options = dict(params)
    axis, keepdims = options.pop("axis", None), bool(options.pop("keepdims", False))
    along = planned_axes(x, axis, options)
    if along is None or type(along.axis) is tuple:
        return None
    axis, kept, shape, dtype = along.axis, along.kept, x.shape, x.dtype
    size, count = math.prod(kept), int(along.count)
    ranks = [(count - 1) // 2, count // 2][count % 2 :]
    share = 1 / len(ranks)

    def chosen(x: Value) -> list[Value] | None:
        """Where the elements in the middle are, if each of them is alone."""
        parted = np.partition(x, ranks, axis)
        masks = [x == parted.take(rank, axis).reshape(kept) for rank in ranks]
        alone = all(np.count_nonzero(mask) == size for mask in masks)
        return masks if alone and not any_true(x != x) else None

    def pull(g: Cotangent, out: Value, x: Value) -> Cotangent:
        masks = chosen(x)
        if masks is None:
            return rule.pull(g, out, (x,), params, (True,))[0]
        bar = np.zeros(shape, dtype)
        for mask in masks:
            np.copyto(bar, (g * share).reshape(kept), where=mask)
        return bar

    def push(dot: Tangent, out: Value, x: Value) -> Tangent:
        masks = chosen(x)
        if masks is None:
            return rule.push([dot], out, (x,), params)
        parts = [np.add.reduce(np.where(m, dot, 0), axis, None, None, keepdims) for m in masks]
        return parts[0] if len(parts) == 1 else parts[0] / 2 + parts[1] / 2

    def run(a: Value) -> Value:
        return np.median(a, axis=axis, keepdims=keepdims)

    return Kernels(run, pull, push)


def _kept(function: Function) -> Function:
    """The function without overwrite_input: the tape still needs the argument."""

    def called(a: Value, overwrite_input: bool = False, **params: Any) -> Value:
        return function(a, **params)

    return called


_median_rule(np.median, skip_nan=False)
_median_rule(np.nanmedian, skip_nan=True)


# --- Quantiles

# Methods that interpolate, by the two numbers of Hyndman and Fan (1996, "Sample quantiles in
# statistical packages") that place q among n ranks.
_PLACES = {
    "interpolated_inverted_cdf": (0.0, 1.0),
    "hazen": (0.5, 0.5),
    "weibull": (0.0, 0.0),
    "linear": (1.0, 1.0),
    "median_unbiased": (1 / 3.0, 1 / 3.0),
    "normal_unbiased": (3 / 8.0, 3 / 8.0),
}
# Methods that take one element: it is found again by its value.
_DISCRETE = ("inverted_cdf", "closest_observation", "lower", "higher", "nearest")


def _place(q: Value, counts: Value, method: str) -> Value:
    """Where q lies among the ranks, as NumPy computes it: its rounding decides on which side."""
    if method == "linear":
        return (counts - 1) * q
    alpha, beta = _PLACES[method]
    return counts * q + (alpha + q * (1 - alpha - beta)) - 1


def _ranks_passed(counts: Value, method: str) -> Value:
    """The number of ranks that q passes from 0 to 1."""
    return counts + (1 - sum(_PLACES[method]))


def _neighbours(q: Value, counts: Value, method: str) -> tuple[list[Value], Value]:
    """The ranks below, of and above the place of q, and the weight of the slope between them."""
    last = np.maximum(counts - 1, 0)
    place = _place(q, counts, method)
    base = np.floor(place)
    whole = place == base
    # On an element both sides count; at the ends of the range of q there is only one.
    low = np.where(whole & (q > 0), base - 1, base)
    high = np.where(whole & (q == 1), base, base + 1)
    weight = np.where(
        (place >= 0) & (place <= last), np.where(whole & (q > 0) & (q < 1), 0.5, 1), 0
    )
    ranks = [np.clip(rank, 0, last).astype(np.intp) for rank in (low, base, high)]
    return ranks, weight


def _pair(q: Value, counts: Value, method: str) -> list[Value]:
    """The two ranks of which the methods take the mean, often the same twice."""
    if method == "midpoint":
        place = (counts - 1) * q
        ranks = [np.floor(place), np.ceil(place)]
    else:  # averaged_inverted_cdf: the mean only where q is on a step
        place = counts * q - 1
        after = np.floor(place) + 1
        ranks = [np.where(place == np.floor(place), place, after), after]
        ranks = [np.where(place < 0, 0, rank) for rank in ranks]
    return [np.clip(rank, 0, np.maximum(counts - 1, 0)).astype(np.intp) for rank in ranks]


def _interpolated(
    dots: Sequence[Tangent], rows: Value, q: Value, counts: Value, method: str, skip_nan: bool
) -> Tangent:
    """base + (place - floor(place)) * (high - low), and its tangent."""
    values = untraced(rows)
    ranks, weight = _neighbours(untraced(q), counts, method)
    base = ranks[1]
    ranks = _nan_last(values, ranks, skip_nan)
    order = _Order(values, ranks)
    low, at, high = (order.at(rank) for rank in ranks)
    part, q_dot = dots
    terms = []
    if part is not None:
        fraction = (_place(q, counts, method) - base) * weight
        terms.append(at(part) + strong_product(high(part) - low(part), fraction))
    if q_dot is not None:
        slope = (high(rows) - low(rows)) * (weight * _ranks_passed(counts, method))
        terms.append(strong_product(slope, q_dot))
    return terms[0] if len(terms) == 1 else terms[0] + terms[1]


def _paired(
    part: Value, values: Value, q: Value, counts: Value, method: str, skip_nan: bool
) -> Tangent:
    ranks = _nan_last(values, _pair(q, counts, method), skip_nan)
    order = _Order(values, ranks)
    low, high = (order.at(rank)(part) for rank in ranks)
    return low / 2 + high / 2


def _quantile_jvp(whole: int, skip_nan: bool) -> Function:
    """The tangent of a quantile; `whole` is the q of the largest element, 1 or 100."""

    def jvp(
        dots: Sequence[Tangent],
        out: Value,
        a: Value,
        q: Value,
        weights: Value = None,
        axis: int | tuple[int, ...] | None = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: bool = False,
        interpolation: str | None = None,
    ) -> Tangent:
        part, q_dot = dots[0], dots[1]
        a = a if hasattr(a, "shape") else np.asarray(a)
        part = None if part is None else _reduced_axes_last(part, axis)
        rows = _reduced_axes_last(a, axis)
        values, counts = untraced(rows), _counts(untraced(rows), skip_nan)
        q = np.reshape(q if hasattr(q, "shape") else np.asarray(q), (-1,)) / whole
        discrete = weights is not None or method in _DISCRETE
        if values.size == 0 or (
            part is None and (discrete or q_dot is None or method not in _PLACES)
        ):
            return np.zeros(out.shape, out.dtype)
        if discrete:
            found = np.moveaxis(np.reshape(untraced(out), (q.size, *values.shape[:-1])), 0, -1)
            chosen = values == values if skip_nan else np.True_
            if weights is not None:
                beside = weights_beside(untraced(a), axis, untraced(weights))
                weighted = _reduced_axes_last(np.broadcast_to(beside, a.shape), axis) > 0
                chosen = chosen & weighted
            columns = _shared(part, values, found, chosen)
        elif method in _PLACES:
            q_dot = None if q_dot is None else np.reshape(q_dot, (-1,)) / whole
            columns = _interpolated((part, q_dot), rows, q, counts, method, skip_nan)
        else:
            columns = _paired(part, values, untraced(q), counts, method, skip_nan)
        columns = np.where(counts > 0, columns, 0)
        return np.reshape(np.moveaxis(columns, -1, 0), out.shape)

    return jvp


def _quantile_of(function: Function) -> Function:
    """NumPy's function, without the options of its that do not matter or are deprecated."""

    def called(a: Value, q: Value, weights: Value = None, **params: Any) -> Value:
        params.pop("overwrite_input", None)
        if params.pop("interpolation", None) is not None:
            refuse_deprecated(f"np.{function.__name__}", "interpolation", "Write method=.")
        return function(a, q, weights=weights, **params)

    return called


def _quantile_of_examples(called: Function, skip_nan: bool) -> Function:
    """The quantiles of many examples at once where they have the same q, else one by one."""

    def of_examples(
        a: Value,
        q: Value,
        weights: Value = None,
        *,
        axis: int | tuple[int, ...] | None = None,
        **params: Any,
    ) -> Value:
        alike = is_ndarray(q) and bool(np.all(q == q[:1]))
        # The functions that ignore NaN put several axes of q elsewhere.
        turned = skip_nan and (q.ndim > 2 or axis == ())
        if weights is not None or not alike or turned:  # one by one
            options = {**params, "axis": axis}
            each = [None] * len(a) if weights is None else weights
            rows = zip(a, q, each, strict=True)
            return np.stack([called(*row, **options) for row in rows])
        if a.ndim == 1:  # each example is a number, for which NumPy reverses the axes of q
            a, axis, params = np.reshape(a, (-1, 1)), 0, {**params, "keepdims": False}
        ndim = a.ndim - 1
        axes = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        first = q[0] if len(q) else np.zeros(q.shape[1:])
        shifted = tuple(i % ndim + 1 for i in axes)
        if first.ndim == 0:
            return called(a, first, axis=shifted, **params)
        found = np.moveaxis(called(a, np.ravel(first), axis=shifted, **params), 0, 1)
        return np.reshape(found, (len(a), *first.shape, *found.shape[2:]))

    return of_examples


def _quantile_rule(function: Function, *, whole: int, skip_nan: bool) -> None:
    """`whole`: the q of the largest element, 1 or 100."""
    called = _quantile_of(function)
    general(
        function,
        jvp=_quantile_jvp(whole, skip_nan),
        arrays=("a", "q", "weights"),
        implementation=called,
        batch=_quantile_of_examples(called, skip_nan),
    )


_quantile_rule(np.quantile, whole=1, skip_nan=False)
_quantile_rule(np.percentile, whole=100, skip_nan=False)
_quantile_rule(np.nanquantile, whole=1, skip_nan=True)
_quantile_rule(np.nanpercentile, whole=100, skip_nan=True)
