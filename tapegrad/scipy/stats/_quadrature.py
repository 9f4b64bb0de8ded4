"""Integrals of densities, for what has no closed form.

All are sums over nodes that a replay goes through, so that they have the derivatives of their
integrands. Nodes are laid by double exponential substitutions (Takahasi and Mori, Double
exponential formulas for numerical integration, 1974): exp-sinh toward an end at infinity,
tanh-sinh between two ends. Where they are laid is decided by plain values, and is no part of a
derivative.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad import constant, elementwise, primitive, stop_gradient
from tapegrad._core.quiet import silence
from tapegrad._core.values import any_true
from tapegrad.scipy import _special as sp
from tapegrad.scipy.stats._laws import Formula, slope
from tapegrad.scipy.stats._shared import LOG_2, unknown

# As far as e**-640: what is left there of powers of small exponents, as of gamma of a small shape.
_STEP = 0.05
_TIMES = np.arange(-6.0, 6.0, _STEP)
# exp-sinh: x = exp(pi/2 sinh t), from 0 to infinity.
REACHES = np.exp(np.pi / 2 * np.sinh(_TIMES))
REACH_WEIGHTS = _STEP * np.pi / 2 * np.cosh(_TIMES) * REACHES
# tanh-sinh from 0 to 1: the logarithms of x and 1 - x, and weights.
LOG_X = -np.log1p(np.exp(-np.pi * np.sinh(_TIMES)))
LOG_1_X = -np.log1p(np.exp(np.pi * np.sinh(_TIMES)))
UNIT_WEIGHTS = _STEP * np.pi * np.cosh(_TIMES) * np.exp(LOG_X + LOG_1_X)
_FAINT = -700.0  # logarithms of densities that add nothing


def column(*values: Any) -> list[Any]:
    """Values with a last axis for the nodes."""
    return [np.expand_dims(value, -1) for value in values]


def seen(logpdf: Any) -> Any:
    """Where a density is worth its node, as plain truth values: not where y has underflowed."""
    logs = stop_gradient(logpdf)
    return (logs > _FAINT) & (logs < np.inf)


class Coordinate:
    """A coordinate z on the whole line for the points y of a law."""

    def __init__(self, z: Formula, y: Formula, log_rate: Formula) -> None:
        self.z, self.y = z, y
        self.log_rate = log_rate  # of dy/dz, of z


LINE = Coordinate(lambda y: y, lambda z: z, lambda z: 0 * z)
# for tails that fall like powers, on both sides
ARCSINH = Coordinate(np.arcsinh, np.sinh, lambda z: np.logaddexp(z, -z) - LOG_2)
LOG = Coordinate(np.log, np.exp, lambda z: z)
LOGIT = Coordinate(
    lambda y: np.log(y) - np.log1p(-y),
    sp.expit,
    lambda z: -np.logaddexp(0.0, z) - np.logaddexp(0.0, -z),
)


def tails(
    logpdf: Formula, theirs: Any, count: int, coordinate: Coordinate, known: Any = None
) -> dict[str, Any]:
    """A distribution function, and what it leaves, by the slope of the density: see `Law.cdf`.

    The derivative by a shape is the integral of the density's, from the nearer end. The nodes
    reach as far as the tail does, whose length is its mass over its density.

    theirs: SciPy's distribution; count: of shapes
    known: partials by shapes that have a closed form, by their positions from 1
    """

    @primitive
    def reach(y: Any, *shapes: Any) -> Any:
        with silence():
            lower, density = theirs.cdf(y, *shapes), theirs.pdf(y, *shapes)
            upper = theirs.sf(y, *shapes)
            density = density * np.exp(coordinate.log_rate(coordinate.z(y)))
            length = np.where(lower < 0.5, lower, upper) / density
        length = np.where(np.isfinite(length) & (length > 0), length, 1.0)
        return np.where(lower < 0.5, -length, length)

    constant(reach)

    def mass(y: Any, *shapes: Any) -> Any:
        """Minus what lies beyond y, or what lies before it, by the sign of the reach."""
        length, at = column(reach(y, *shapes), coordinate.z(y))
        given, shapes = sum(shapes), tuple(column(*shapes))

        def log_density(z: Any) -> Any:
            return logpdf(coordinate.y(z), *shapes) + coordinate.log_rate(z)

        nodes = at + length * REACHES
        with silence():
            logs = stop_gradient(log_density(nodes))
        worth, no_number = seen(logs), np.all(np.isnan(logs), axis=-1)  # as where a shape is inf
        nodes = np.where(worth, nodes, at)
        parts = np.where(worth, np.exp(log_density(nodes)), 0.0) * REACH_WEIGHTS
        total = -np.sum(parts * length, axis=-1)
        return np.where(no_number, unknown(given), total) if any_true(no_number) else total

    slopes = [
        (known or {}).get(position) or slope(mass, position) for position in range(1, count + 1)
    ]
    density = _exp_of(logpdf)
    return {
        "cdf": _by_slopes(theirs.cdf, [density, *slopes], 1),
        "sf": _by_slopes(theirs.sf, [density, *slopes], -1),
    }


def _exp_of(logpdf: Formula) -> Formula:
    return lambda *args: np.exp(logpdf(*args))


def _by_slopes(theirs: Any, slopes: list[Formula], sign: int) -> Any:
    """A function of SciPy's by its partials, which take its arguments."""

    @primitive
    def area(*args: Any) -> Any:
        return theirs(*args)

    elementwise(area, *[_times(sign, partial) for partial in slopes], strong=True)
    return area


def _times(sign: int, partial: Formula) -> Formula:
    return lambda _out, *args: sign * partial(*args)


def expectation(
    function: Callable[..., Any],
    logpdf: Formula,
    points: list[Any],
    width: Any,
    shapes: tuple[Any, ...],
) -> Any:
    """The expectation of `function(y, log_density)` under a law, segment by segment.

    points: the ends of the support and the kinks between them, or any point inside; those may be
    traced. width: a plain value, how wide the law is
    """
    shapes, width = tuple(column(*shapes)), np.expand_dims(width, -1)
    ends = column(*points)
    parts = [
        _of_segment(function, logpdf, start, end, width, shapes)
        for start, end in itertools.pairwise(ends)
    ]
    return sum(parts[1:], parts[0])


def _of_segment(
    function: Callable[..., Any],
    logpdf: Formula,
    start: Any,
    end: Any,
    width: Any,
    shapes: tuple[Any, ...],
) -> Any:
    has_start, has_end = (np.isfinite(stop_gradient(x)) for x in (start, end))
    both = has_start & has_end
    start, end = np.where(has_start, start, 0.0), np.where(has_end, end, 0.0)
    length = np.where(both, end - start, 0.0)
    left, right = np.exp(LOG_X), np.exp(LOG_1_X)  # each exact near its end
    between = np.where(left < 0.5, start + length * left, end - length * right)
    beyond = np.where(has_start, start + width * REACHES, end - width * REACHES)
    nodes = np.where(both, between, beyond)
    weights = np.where(both, length * UNIT_WEIGHTS, width * REACH_WEIGHTS)
    with silence():
        logs = stop_gradient(logpdf(nodes, *shapes))
        worth = seen(logs) & (nodes != start) & (nodes != end)
        inner = np.where(both, (start + end) / 2, np.where(has_start, start + width, end - width))
    nodes = np.where(worth, nodes, inner)
    height = logpdf(nodes, *shapes)
    parts = np.where(worth, np.exp(height) * function(nodes, height), 0.0)
    return np.sum(parts * weights, axis=-1)


__all__ = [
    "ARCSINH",
    "LINE",
    "LOG",
    "LOGIT",
    "LOG_1_X",
    "LOG_X",
    "UNIT_WEIGHTS",
    "column",
    "expectation",
    "seen",
    "tails",
]
