"""From one run of a function to its sparse Jacobian: which way, and a check of given patterns.

Knows plans, and what a measured function offers. Must not know tapes or rules.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._core.types import Index, Value
from tapegrad._core.values import in_trace
from tapegrad._errors import InputError, OutputError, ShapeMismatchError, message
from tapegrad.sparse._arrays import as_pattern, as_scipy, symmetric_pattern
from tapegrad.sparse._colouring import fewest_products
from tapegrad.sparse._measured import Measured
from tapegrad.sparse._products import Pattern, Plan, plan_columns


class Matrix:
    """State of one transform from call to call: the given pattern, and the last plan."""

    def __init__(self, call: str, pattern: Value, mode: str, *, symmetric: bool) -> None:
        self.call, self.mode, self.symmetric = call, mode, symmetric
        self.given = None if pattern is None else as_pattern(call, pattern)
        if self.given is not None and symmetric:
            self.given = symmetric_pattern(call, self.given)
        self.last: tuple[Any, Pattern, _Route] | None = None

    def of(self, measured: Measured) -> Value:
        """The matrix of one run."""
        pattern = self.given
        if pattern is None:
            pattern = measured.pattern()
            pattern = symmetric_pattern(self.call, pattern) if self.symmetric else pattern
        elif pattern.shape != measured.shape:
            raise ShapeMismatchError(
                message(
                    self.call,
                    f"a pattern of shape {measured.shape}",
                    f"shape {pattern.shape}",
                    "Give it a row for each element of the output, a column for each of the input",
                )
            )
        entries = self._route(measured, pattern).entries(measured)
        if self.given is not None:
            _check(self.call, measured, pattern, entries)
        return as_scipy(pattern, entries)

    def _route(self, measured: Measured, pattern: Pattern) -> _Route:
        leaves = (measured.inputs, measured.outputs)
        key = ([np.shape(leaf) for part in leaves for leaf in part], measured.is_complex)
        if self.last is not None and self.last[0] == key and self.last[1].same(pattern):
            return self.last[2]
        route = _best(self, measured, pattern)
        self.last = (key, pattern, route)
        return route


class _Route:
    """A plan, by columns or (with `order`) by rows: then it is that of the transpose."""

    def __init__(self, plan: Plan, order: Index | None = None) -> None:
        self.plan, self.order = plan, order

    def entries(self, measured: Measured) -> Value:
        plan, dtype, products = self.plan, measured.dtype, measured.products
        if plan.symmetric:
            return plan.entries(products, "forward", "forward", dtype)
        if self.order is None:
            return plan.entries(products, "forward", "reverse", dtype)
        found = plan.entries(products, "reverse", "forward", dtype)
        entries = np.empty_like(found)
        entries[self.order] = found
        return entries


def _best(matrix: Matrix, measured: Measured, pattern: Pattern) -> _Route:
    """The route that takes the fewest products."""
    mode, symmetric = matrix.mode, matrix.symmetric
    if measured.is_complex:
        if mode == "reverse":
            raise OutputError(
                message(
                    matrix.call, "real inputs and outputs", "complex ones", 'Pass mode="forward"'
                )
            )
        mode = "forward"
    if symmetric or mode == "forward":
        return _by_columns(measured, pattern, mixed=symmetric, symmetric=symmetric)
    if mode == "reverse":
        return _by_rows(measured, *pattern.transposed(), mixed=False)
    turned, order = pattern.transposed()
    by_columns = fewest_products(pattern.starts, mixed=True)
    by_rows = fewest_products(turned.starts, mixed=True)
    if by_columns <= by_rows:
        first = _by_columns(measured, pattern, mixed=True, symmetric=False)
        if first.plan.cost <= by_rows:
            return first
        second = _by_rows(measured, turned, order, mixed=True)
    else:
        first = _by_rows(measured, turned, order, mixed=True)
        if first.plan.cost <= by_columns:
            return first
        second = _by_columns(measured, pattern, mixed=True, symmetric=False)
    return min(first, second, key=lambda route: route.plan.cost)


def _by_columns(measured: Measured, pattern: Pattern, *, mixed: bool, symmetric: bool) -> _Route:
    shape = _shape(measured.inputs)
    return _Route(plan_columns(pattern, shape, mixed=mixed, symmetric=symmetric))


def _by_rows(measured: Measured, turned: Pattern, order: Index, *, mixed: bool) -> _Route:
    shape = _shape(measured.outputs)
    return _Route(plan_columns(turned, shape, mixed=mixed, symmetric=False), order)


def _shape(leaves: list[Value]) -> tuple[int, ...]:
    """The shape of the array of all elements: that of a single leaf, otherwise one axis."""
    if len(leaves) == 1:
        return tuple(leaves[0].shape)
    return (sum(math.prod(leaf.shape) for leaf in leaves),)


def _check(call: str, measured: Measured, pattern: Pattern, entries: Value) -> None:
    """Raise InputError where a product with a random vector shows that an entry is missing."""
    if in_trace(entries):
        raise InputError(
            message(
                call,
                "no pattern within tapegrad.compile, where products with random vectors cannot "
                "check it",
                "one",
                "Leave pattern= away to have it found",
            )
        )
    random = np.random.default_rng()
    vector = random.choice([-1.0, 1.0], pattern.shape[1]) * random.uniform(
        0.5, 1.5, pattern.shape[1]
    )
    vector = vector.astype(measured.dtype)
    matrix = as_scipy(pattern, entries)
    with silence():
        expected, found = measured.forward(vector), matrix @ vector
        scale = abs(matrix) @ np.abs(vector) + np.abs(expected)
        close = np.abs(expected - found) <= np.sqrt(np.finfo(measured.dtype).eps) * scale
        close |= ~np.isfinite(scale) & ~np.isfinite(expected)
    if not close.all():
        raise InputError(
            message(
                call,
                "a pattern with all entries that are not zero",
                f"one that misses some, for instance in row {int(np.argmin(close))}",
                "Leave pattern= away to have it found",
            )
        )
