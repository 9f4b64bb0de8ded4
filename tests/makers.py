"""Makers: how single arguments of the samples are drawn, given what was drawn before them.

A maker is a Python function of a `Draw`. Functions of functions (`written`, `settled`, ...) make
the call of a sample from the function that it is a sample of.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tapegrad.testing import arrays, shapes

ABSENT = types.SimpleNamespace()  # a parameter that is not passed


class Draw:
    """One example while it is drawn."""

    def __init__(self, data: st.DataObject, dtype: str, domains: tuple[tuple[float, float], ...]):
        self.data = data
        self.dtype = np.dtype(dtype)
        self.domains = domains
        self.arrays: list[Any] = []

    @property
    def x(self) -> Any:
        return self.arrays[0]

    def __call__(self, strategy: Any) -> Any:
        return self.data.draw(strategy)

    def array(self, shape: Any) -> Any:
        count = len(self.arrays)
        low, high = self.domains[min(count, len(self.domains) - 1)]
        phase = (0.37 + 0.23 * count) % 1  # another one for each array
        made = self(arrays(self.dtype, shape, low=low, high=high, phase=phase))
        self.arrays.append(made)
        return made

    def part(self, part: Any) -> Any:
        if isinstance(part, types.FunctionType):
            return part(self)
        return self(part) if isinstance(part, st.SearchStrategy) else part


def array(*shape: int, dims: tuple[int, int] = (0, 3), side: int = 0) -> Any:
    """An array of a shape, or of any with so many dimensions and sides of `side` to 3."""
    return lambda d: d.array(shape or shapes(*dims, min_side=side))


def beside(d: Draw) -> Any:
    """An array that broadcasts with x, either way."""
    shape = list(d.x.shape[d(st.integers(0, d.x.ndim)) :])
    for axis in range(len(shape)):
        if shape[axis] == 1:
            shape[axis] = d(st.integers(0, 3))
        elif d(st.booleans()):
            shape[axis] = 1
    lead = d(st.lists(st.integers(1, 2), max_size=1)) if len(shape) == d.x.ndim < 3 else []
    return d.array((*lead, *shape))


def like(d: Draw) -> Any:
    return d.array(d.x.shape)


def axis(d: Draw) -> Any:
    return d(st.integers(-d.x.ndim, d.x.ndim - 1))


def axis_or_none(d: Draw) -> Any:
    return d(st.none()) if d.x.ndim == 0 or d(st.booleans()) else axis(d)


def axes(d: Draw) -> Any:
    """None, one axis, or a tuple of axes, some of them negative."""
    if d.x.ndim == 0 or d(st.booleans()):
        return axis_or_none(d)
    chosen = d(st.permutations(range(d.x.ndim)))[: d(st.integers(0, d.x.ndim))]
    return tuple(a - d.x.ndim if d(st.booleans()) else a for a in chosen)


def permutation(d: Draw) -> Any:
    return d(st.none() | st.permutations(range(d.x.ndim)).map(tuple))


def mask(d: Draw) -> Any:
    chosen = d(st.lists(st.booleans(), min_size=d.x.size, max_size=d.x.size))
    return np.array(chosen, bool).reshape(d.x.shape)


def mask_or_absent(d: Draw) -> Any:
    return mask(d) if d(st.booleans()) else ABSENT


def maybe(part: Any) -> Any:
    return lambda d: d.part(part) if d(st.booleans()) else ABSENT


def other_shape(d: Draw) -> Any:
    """A shape with as many elements as x."""
    kept = [side for side in d.x.shape if side != 1]
    flat = (-1,) if d.x.size else (0,)
    return d(st.sampled_from([flat, d.x.shape[::-1], (1, *kept), (*kept, 1, 1)]))


def wider_shape(d: Draw) -> Any:
    """A shape that x broadcasts to."""
    sides = [d(st.integers(0, 3)) if side == 1 else side for side in d.x.shape]
    return (*d(st.lists(st.integers(0, 2), max_size=1)), *sides)


def positions(count: int | None = None) -> Any:
    """Positions within x, negative ones among them, of any shape or so many."""

    def made(d: Draw) -> Any:
        within = st.integers(-d.x.size, d.x.size - 1)
        flat = d(st.lists(within, min_size=count or 0, max_size=count or 4))
        return np.array(flat, np.intp)

    return made


def several(part: Any, least: int = 1) -> Any:
    """A list or a tuple of arrays."""

    def made(d: Draw) -> Any:
        parts = [d.part(part) for _ in range(d(st.integers(least, 3)))]
        return d(st.sampled_from([list, tuple]))(parts)

    return made


# --- Arrays for one family each ------------------------------------------------------------------


def joined(function: Callable[..., Any]) -> Callable[..., Any]:
    """A joining function of an axis drawn with the parts: `function(parts, axis)` of a pair."""
    return lambda pair: function(pair[0], axis=pair[1])


def parts_and_axis(d: Draw) -> Any:
    """Arrays that agree but along one axis."""
    first = d.array(shapes(1, 3))
    at = axis(d)
    shape = list(first.shape)
    parts = [first]
    for _ in range(d(st.integers(0, 2))):
        shape[at] = d(st.integers(0, 3))
        parts.append(d.array(tuple(shape)))
    return parts, at


def alike_and_axis(d: Draw) -> Any:
    """Arrays of one shape, and an axis of their stack."""
    parts = [d.array(shapes()), *(like(d) for _ in range(d(st.integers(0, 2))))]
    return parts, d(st.integers(-d.x.ndim - 1, d.x.ndim))


def matrix(*core: str) -> Any:
    """Arrays with core sides by letter after 0 or 1 loop sides, the same letter the same side."""

    def made(d: Draw) -> Any:
        sides = d.__dict__.setdefault("sides", {})
        lead = d.__dict__.setdefault("lead", d(st.lists(st.integers(1, 2), max_size=1)))
        lead = lead if d(st.booleans()) else []
        return d.array((*lead, *(sides.setdefault(c, d(st.integers(1, 3))) for c in core)))

    return made


def bare(*core: str) -> Any:
    """As `matrix` without loop sides; sides of 0 are among them."""

    def made(d: Draw) -> Any:
        sides = d.__dict__.setdefault("sides", {})
        return d.array(tuple(sides.setdefault(c, d(st.integers(0, 3))) for c in core))

    return made


def square(d: Draw) -> Any:
    """Well-conditioned square matrices without symmetry."""
    made = matrix("n", "n")(d)
    raised = 0.4 * made + 3 * np.arange(1, made.shape[-1] + 1) * np.eye(made.shape[-1])
    d.arrays[-1] = raised.astype(d.dtype)
    return d.arrays[-1]


def positive(d: Draw) -> Any:
    """Well-conditioned Hermitian positive definite matrices."""
    made = square(d)
    d.arrays[-1] = (made @ np.conj(np.swapaxes(made, -1, -2))).astype(d.dtype)
    return d.arrays[-1]


def symmetric(d: Draw) -> Any:
    """Symmetric matrices with distinct eigenvalues."""
    made = square(d)
    d.arrays[-1] = ((made + np.conj(np.swapaxes(made, -1, -2))) / 2).astype(d.dtype)
    return d.arrays[-1]


def tall(d: Draw) -> Any:
    """Matrices of full rank, square or not, with singular values that are apart."""
    made = matrix("m", "n")(d)
    raised = 0.4 * made + 4 * np.eye(*made.shape[-2:]) * np.arange(1, made.shape[-1] + 1)
    d.arrays[-1] = raised.astype(d.dtype)
    return d.arrays[-1]


def tall_alone(d: Draw) -> Any:
    """One matrix with at least as many rows as columns, of full rank."""
    columns = d(st.integers(1, 3))
    d.array((columns + d(st.integers(0, 1)), columns))
    d.arrays[-1] = (0.4 * d.x + 5 * np.eye(*d.x.shape)).astype(d.dtype)
    return d.x


def tensor(d: Draw) -> Any:
    """A tensor that is a well-conditioned matrix from its last side to the others."""
    made = 0.4 * d.array((2, 3, 6)) + 5 * np.eye(6).reshape(2, 3, 6)
    d.arrays[-1] = made.astype(d.dtype)
    return d.x


def upper(d: Draw) -> Any:
    """Matrices whose eigenvalues are real and apart."""
    made = matrix("n", "n")(d)
    raised = 0.1 * made + 3 * np.arange(1, made.shape[-1] + 1) * np.eye(made.shape[-1])
    d.arrays[-1] = raised.astype(d.dtype)
    return d.arrays[-1]


def written(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that writes to its first argument, as one that returns what was written."""

    def result(x: Any, *args: Any, **params: Any) -> Any:
        y = np.copy(x)
        function(y, *args, **params)
        return y

    return result


def settled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Of np.partition what it promises: the element at one position."""
    return lambda x, kth, axis: np.take(function(x, kth, axis=axis), kth, axis)


def unsigned(function: Callable[..., Any]) -> Callable[..., Any]:
    """Eigenvalues, and of the eigenvectors what their arbitrary signs leave determined."""

    def result(a: Any) -> Any:
        values, vectors = function(a)
        return values, vectors * vectors

    return result
