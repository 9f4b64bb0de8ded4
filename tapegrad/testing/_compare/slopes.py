"""Reference for the gradients of all libraries: slopes along directions, measured.

Knows NumPy and `_laws/lines.py`. In longdouble where the function computes in it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad.testing._compare.libraries import Problem
from tapegrad.testing._measuring.bounds import bounds_of
from tapegrad.testing._measuring.directions import direction, scale_of, scaled
from tapegrad.testing._measuring.lines import measure_along, widened
from tapegrad.testing._measuring.verdicts import Measured

Array = Any

ENOUGH = 1e-13  # to what part of its size a slope is measured, where it can be
MOST = 64  # real parts of arguments that are moved one by one
DIRECTIONS = 8  # at random, of more


class Along(NamedTuple):
    """A direction, and between what the slope along it lies."""

    dots: list[Array]
    low: float
    high: float
    error: float


class Reference:
    """The slopes of the weighted results, along each argument's parts or along some directions."""

    def __init__(self, problem: Problem, seed: int) -> None:
        flat = problem.flat(np, lambda x: x)

        def loss(*leaves: Array) -> tuple[Array, ...]:
            outs = [np.asarray(out) for out in flat(*leaves)]
            return (np.asarray(problem.weighted(outs)),)

        self.leaves = widened(loss, problem.leaves)[0]
        parts = sum(leaf.size * (2 if leaf.dtype.kind == "c" else 1) for leaf in self.leaves)
        self.is_whole = parts <= MOST
        self.words: set[str] = set()
        self.along: list[Along] = []
        for dots in self._units() if self.is_whole else self._random(seed):
            measured = measure_along(loss, self.leaves, dots, enough=ENOUGH)
            self._note(dots, measured)

    def _note(self, dots: list[Array], measured: Measured) -> None:
        self.words |= measured.words()
        bounds = bounds_of(measured)
        low, high = float(bounds.low[0]), float(bounds.high[0])
        self.along.append(Along(dots, low, high, float(measured.error[0])))

    def _units(self) -> list[list[Array]]:
        """Each element of each argument by its size; then the imaginary parts."""
        found = []
        for number, leaf in enumerate(self.leaves):
            for i in range(leaf.size):
                for unit in (1.0, 1j) if leaf.dtype.kind == "c" else (1.0,):
                    dots = [np.zeros_like(each) for each in self.leaves]
                    dots[number].reshape(-1)[i] = unit * scale_of(leaf)
                    found.append(dots)
        return found

    def _random(self, seed: int) -> list[list[Array]]:
        random = np.random.default_rng(seed)
        return [
            scaled([direction(random, leaf) for leaf in self.leaves], self.leaves)
            for _ in range(DIRECTIONS)
        ]

    @property
    def size(self) -> float:
        """The largest of the slopes, by which errors are divided."""
        sizes = [max(abs(each.low), abs(each.high)) for each in self.along]
        return max((size for size in sizes if np.isfinite(size)), default=0.0) or 1.0

    @property
    def error(self) -> float:
        """Error bound of the slopes, relative to the largest."""
        known = [each.error for each in self.along if np.isfinite(each.error)]
        return max(known, default=0.0) / self.size

    def error_of(self, gradients: Sequence[Array]) -> float:
        """How far gradients are from the slopes at most, relative to the largest of these."""
        worst = 0.0
        for each in self.along:
            slope = sum(
                float(np.sum(np.real(g * dot)))
                for g, dot in zip(gradients, each.dots, strict=True)
            )
            if not np.isfinite(slope):
                return np.inf if np.isfinite(each.low) and np.isfinite(each.high) else 0.0
            worst = max(worst, each.low - slope, slope - each.high)
        return worst / self.size

    def gradients(self) -> list[Array] | None:
        """The gradient that the slopes give, where each argument's parts were moved."""
        if not self.is_whole:
            return None
        rest = iter(self.along)
        found = []
        for leaf in self.leaves:
            is_complex = leaf.dtype.kind == "c"
            values = np.zeros(leaf.size, complex if is_complex else float)
            for i in range(leaf.size):
                values[i] = _middle(next(rest)) / scale_of(leaf)
                if is_complex:
                    values[i] -= 1j * _middle(next(rest)) / scale_of(leaf)
            found.append(values.reshape(leaf.shape))
        return found


def _middle(each: Along) -> float:
    return 0.5 * (each.low + each.high)
