"""Makers: how single arguments of the samples are drawn, given what was drawn before them.

A maker is a Python function of a `Draw`. Functions of functions (`written`, `settled`, ...) make
the call of a sample from the function that it is a sample of.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tapegrad import testing
from tapegrad.testing import strategies

ABSENT = types.SimpleNamespace()  # a parameter that is not passed


@functools.lru_cache(maxsize=4096)
def _strategy(dtype: Any, shape: Any, low: float, high: float, phase: float) -> Any:
    """One strategy for all draws alike: Hypothesis looks through each new one before it draws."""
    return testing.arrays(dtype, shape, low=low, high=high, phase=phase)


shapes = functools.cache(testing.shapes)
axes_of = functools.cache(strategies.axes)
orders_of = functools.cache(strategies.permutations)
wider_than = functools.cache(strategies.shapes_broadcast_from)
masks_of = functools.cache(functools.partial(testing.arrays, bool))
spd_of = functools.cache(strategies.positive_definite_matrices)


@functools.cache
def broadcasting_with(shape: tuple[int, ...]) -> Any:
    """Shapes that broadcast with another one, either way, of 3 dimensions or as many as it has."""
    wider = wider_than(shape, min(len(shape) + 1, max(len(shape), 3)))
    return strategies.shapes_broadcasting_to(wider)


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
        made = self(_strategy(self.dtype, shape, low, high, phase))
        self.arrays.append(made)
        return made

    def part(self, part: Any) -> Any:
        if isinstance(part, types.FunctionType):
            return part(self)
        return self(part) if isinstance(part, st.SearchStrategy) else part


def array(*shape: int, dims: tuple[int, int] = (0, 3), side: int = 0) -> Any:
    """An array of a shape, or of any with so many dimensions and sides of `side` to 3."""
    drawn = shape or shapes(*dims, min_side=side)
    return lambda d: d.array(drawn)


def beside(d: Draw) -> Any:
    """An array that broadcasts with x, either way."""
    return d.array(d(broadcasting_with(d.x.shape)))


def like(d: Draw) -> Any:
    return d.array(d.x.shape)


def axis(d: Draw) -> Any:
    return d(axes_of(d.x.ndim, "one"))


def axis_or_none(d: Draw) -> Any:
    return d(axes_of(d.x.ndim, ("one", "none")))


def axes(d: Draw) -> Any:
    """None, one axis, or a tuple of axes, some of them negative."""
    return d(axes_of(d.x.ndim))


def permutation(d: Draw) -> Any:
    return d(st.none() | orders_of(d.x.ndim))


def mask(d: Draw) -> Any:
    return np.asarray(d(masks_of(d.x.shape)))


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
    return d(wider_than(d.x.shape))


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


def core_shape(d: Draw, core: tuple[str, ...]) -> tuple[int, ...]:
    """Core sides by letter after 0 or 1 loop sides, the same letter the same side."""
    sides = d.__dict__.setdefault("sides", {})
    lead = d.__dict__.setdefault("lead", d(st.lists(st.integers(1, 2), max_size=1)))
    lead = lead if d(st.booleans()) else []
    return (*lead, *(sides.setdefault(c, d(st.integers(1, 3))) for c in core))


def matrix(*core: str) -> Any:
    """Arrays with core sides by letter after 0 or 1 loop sides, the same letter the same side."""
    return lambda d: d.array(core_shape(d, core))


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
    d.arrays.append(d(spd_of(d.dtype, core_shape(d, ("n", "n")))))
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
    """Eigenvalues, and of the eigenvectors what their arbitrary signs leave determined.

    In ascending order: which LAPACK finds first may change from a matrix to one beside it.
    """

    def result(a: Any) -> Any:
        values, vectors = function(a)
        order = np.argsort(values.real, axis=-1)
        squares = np.take_along_axis(vectors * vectors, order[..., None, :], -1)
        return np.take_along_axis(values, order, -1), squares

    return result
