"""Quotients that are 0/0 where eigenvalues or singular values are equal, or singular values zero.

For a function that is differentiable there the quotients have limits (vectors may rotate among
themselves without changing the function). The limits depend on how cotangents change with the
eigenvalues, which `derivatives_along` finds in the log of the replay. For functions that are not
differentiable there, such as one of the vectors or the largest eigenvalue, the result is finite
and depends on NumPy's choice of vectors.

Values count as equal if they differ by no more than 8 n eps times the largest.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tapegrad._core.directions import derivatives_along
from tapegrad._core.types import Index, Tangent, Value
from tapegrad._core.values import (
    any_true,
    branch_on,
    itself,
    untraced,
)
from tapegrad.rules.matrices import column, row


def are_close(distance: Value, w: Value) -> Value:
    """Which distances between eigen- or singular values are zero to a solver's precision."""
    distance, w = untraced(distance), untraced(w)
    if type(w) is np.ndarray and w.ndim == 1 and w.size:  # of one matrix, at a third of the time
        tolerance = 8 * w.size * np.finfo(w.dtype).eps * np.maximum.reduce(np.abs(w))
        return np.abs(distance) <= tolerance
    size = np.max(np.abs(w), axis=-1, initial=0)
    tolerance = 8 * w.shape[-1] * np.finfo(w.dtype).eps * size
    beside = (1,) * (np.ndim(distance) - np.ndim(size))
    return np.abs(distance) <= np.reshape(tolerance, (*np.shape(size), *beside))


def over_differences(x: Value, w: Value) -> Value:
    """x_ij / (w_j - w_i), zero on the diagonal."""
    return _over_pairs(x, row(w) - column(w), w, -1)


def over_conjugate_differences(x: Value, w: Value) -> Value:
    """x_ij / conj(w_j - w_i), zero on the diagonal."""
    return _over_pairs(x, np.conjugate(row(w) - column(w)), w, -1)


def over_sums(x: Value, w: Value) -> Value:
    """x_ij / (w_j + w_i)."""
    return _over_pairs(x, row(w) + column(w), w, 1)


def over_columns(x: Value, w: Value) -> Value:
    """x_ij / w_j."""
    zero = are_close(w, w)
    close = np.broadcast_to(row(zero), x.shape)
    result = np.where(close, 0, x / np.where(close, 1, row(w)))
    for direction in _directions(w, zero):
        limit = _series(_changes(x, w, direction), row(w))
        result = result + np.where(close, row(direction) * limit, 0)
    return result


def _over_pairs(x: Value, distance: Value, w: Value, sign: int) -> Value:
    """x_ij / distance_ij for distances w_j + sign * w_i; where both vanish, the limit.

    Along (e_j + sign * e_i) / 2 the distance grows by one.
    """
    close = are_close(distance, w)
    result = np.where(close, 0, x / np.where(close, 1, distance))
    limits = close & ~np.eye(w.shape[-1], dtype=bool) if sign < 0 else close
    if not any_true(limits):
        return result
    if replays_to_come(w):
        return result + _limits_of_pairs(x, distance, w, limits, sign)
    # A first derivative is linear in the direction: one per index is enough, not one per pair.
    both = 2 + 2 * (sign > 0) * np.eye(w.shape[-1])
    directions = list(_directions(w, limits.any(axis=-1)))
    for direction, change in zip(directions, derivatives_along(x, w, directions), strict=True):
        share = (row(direction) + sign * column(direction)) / both.astype(direction.dtype)
        result = result + np.where(limits, share * change, 0)
    return result


def _limits_of_pairs(x: Value, distance: Value, w: Value, limits: Value, sign: int) -> Value:
    total = np.zeros(limits.shape, x.dtype)
    involved = _in_any_example(limits, limits.ndim)
    for *matrix, i, j in np.argwhere(np.triu(involved)):
        direction = _tangent(w, (*matrix, j)) + sign * _tangent(w, (*matrix, i))
        direction = direction / (4 if i == j else 2)
        changes = _changes(x, w, direction)
        place = np.zeros(limits.shape, bool)
        place[(*matrix, i, j)] = True
        total = total + np.where(place & limits, _series(changes, distance), 0)
        if i != j:  # (j, i) has the opposite direction where that is a difference
            place = np.swapaxes(place, -1, -2)
            total = total + np.where(place & limits, sign * _series(changes, sign * distance), 0)
    return total


def _changes(x: Value, w: Value, direction: Tangent) -> list[Value]:
    """Derivatives of x along a direction: the first, and one more for each replay to come."""
    changes = derivatives_along(x, w, [direction])
    for _ in range(replays_to_come(w)):
        changes += derivatives_along(changes[-1], w, [direction])
    return changes


def _series(changes: list[Value], distance: Value) -> Value:
    """x / distance where both are zero, from derivatives as the distance d grows by one.

    x(0) = 0 = x(d) - x'(d) d + x''(d) d**2 / 2 - ..., so the quotient is x'(d) - x''(d) d / 2 +
    x'''(d) d**2 / 6 - ... The terms after the first are zero where d is; each of them contributes
    to one of the higher derivatives.
    """
    total, factor = changes[0], 1.0
    for order, change in enumerate(changes[1:], 2):
        factor = -factor * distance / order
        total = total + change * factor
    return total


def replays_to_come(w: Value) -> int:
    """How often the replay that uses a rule's own result may be differentiated again."""
    tape = getattr(w, "tape", None)
    if tape is None or not tape.root.singular:
        return 0
    count = 0
    while tape is not None:
        tape, count = tape.parent, count + 1
    return count


def _directions(w: Value, involved: Value) -> Iterator[Tangent]:
    """Unit tangents of w, one for each index that is involved.

    A first derivative may go along all matrices of a stack at once; a second one must not.
    """
    if replays_to_come(w):
        for place in np.argwhere(_in_any_example(involved, w.ndim)):
            yield _tangent(w, place)
    else:
        for index in np.flatnonzero(_in_any_example(involved, 1)):
            yield _tangent(w, (..., index))


def _in_any_example(condition: Value, ndim: int) -> Value:
    """Where in its last `ndim` axes a condition holds for any matrix of the stack or example."""
    found = branch_on(itself, condition)
    return found.any(axis=tuple(range(found.ndim - ndim)))


def _tangent(w: Value, place: Index) -> Tangent:
    tangent = np.zeros(w.shape, w.dtype)
    tangent[tuple(place)] = 1
    return tangent
