"""Between patterns and SciPy's sparse arrays.

Knows SciPy's arrays, and what users may give as a pattern.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import in_trace
from tapegrad._errors import InputError, ShapeMismatchError, describe, message
from tapegrad._program.containers import CONTAINERS, Container
from tapegrad.sparse._products import Pattern
from tapegrad.sparse._scipy import scipy_sparse


class _Places(NamedTuple):
    """The pattern of a result of a compiled function: the same object, or equal."""

    pattern: Pattern

    def __eq__(self, other: object) -> bool:
        return type(other) is _Places and self.pattern.same(other.pattern)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.pattern.shape)


def _open(array: Any) -> tuple[Value, Any] | None:
    """The entries of a result if they are recorded; other arrays are the program's own."""
    return (array.data, array.places) if in_trace(array.data) else None


def _held(pattern: Pattern, entries: Value) -> Value:
    """`as_scipy` for entries in a trace."""
    made: Any = as_scipy(pattern, np.zeros(entries.shape, entries.dtype))
    CONTAINERS.setdefault(
        type(made),
        Container(
            _open,
            lambda places, array: as_scipy(places.pattern, array),
            lambda _: None,
            lambda _: None,
            lambda array: array.data,
        ),
    )
    made.data, made.places = entries, _Places(pattern)
    return made


def as_scipy(pattern: Pattern, entries: Value) -> Value:
    """A pattern with entries as a `csr_array`."""
    if in_trace(entries):
        return _held(pattern, entries)
    kind = np.int32 if max(*pattern.shape, entries.size) < 2**31 else np.int64
    parts = (entries, pattern.columns.astype(kind), pattern.starts.astype(kind))
    return scipy_sparse().csr_array(parts, shape=pattern.shape)


def as_pattern(call: str, given: Value) -> Pattern:
    """A pattern of what a user gave: a matrix of anything that is zero or not."""
    if not hasattr(given, "tocsr"):
        given = np.asarray(given)
    if given.ndim != 2 or given.dtype.kind not in "biufc":
        raise InputError(
            message(call, "a pattern of two axes", describe(given), "Pass an array of booleans")
        )
    rows, columns = (np.asarray(part, np.int64) for part in given.nonzero())
    # A sparse array may name a place twice, and in any order.
    places = np.unique(rows * given.shape[1] + columns)
    rows, columns = np.divmod(places, max(given.shape[1], 1))
    counts = np.bincount(rows, minlength=given.shape[0])
    return Pattern(np.concatenate([[0], np.cumsum(counts)]), columns, tuple(given.shape))


def symmetric_pattern(call: str, pattern: Pattern) -> Pattern:
    """The entries of a pattern and of its transpose."""
    if pattern.shape[0] != pattern.shape[1]:
        raise ShapeMismatchError(
            message(call, "a square pattern", f"shape {pattern.shape}", "Pass that of the Hessian")
        )
    turned, _ = pattern.transposed()
    if turned.same(pattern):
        return pattern
    ones = (as_scipy(part, np.ones(part.columns.size, np.int8)) for part in (pattern, turned))
    return as_pattern(call, sum(ones, start=next(ones)))
