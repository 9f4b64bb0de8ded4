"""Directions in which a matrix stays Hermitian where a rule takes it to be Hermitian by promise.

np.linalg.eigh reads one triangle, and its derivative is that of a function of Hermitian matrices
(docs/kinks.md): differences along other directions measure something else. Which rules promise
that, they declare (`general(..., hermitian=True)`); this watches what tangents reach them, through
whatever the program does with an input before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.forms import watching
from tapegrad._core.values import raw_value
from tapegrad._transforms.forward import jvp
from tapegrad._transforms.reverse import vjp
from tapegrad.testing._measuring.tolerances import resolution_of


class Promises:
    """Directions of the leaves that a function's Hermitian matrices allow."""

    def __init__(self, function: Callable[..., Any], leaves: Sequence[Any]) -> None:
        self.function = function
        self.leaves = tuple(leaves)
        self._projections: dict[int, Any] = {}

    def exist(self) -> bool:
        """Whether a rule of Hermitian matrices takes part in the derivatives.

        In reverse mode: forward mode need not work for a function that is only checked there.
        """
        with watching() as seen:
            out, pullback = vjp(self.function, *self.leaves)
            pullback(out)
        return bool(seen)

    def push(self, dots: Sequence[Any]) -> tuple[Any, bool]:
        """The jvp along a direction, and whether the direction keeps all promises."""
        with watching() as seen:
            pushed = jvp(self.function, self.leaves, tuple(dots))
        return pushed, all(_is_small(_departure(dot), dot) for dot in _tangents(seen))

    def along(self, dots: Sequence[Any]) -> list[Any]:
        """The direction nearest to this one that keeps the promises, each leaf on its own."""
        if self.push(dots)[1]:
            return list(dots)
        return [self._leaf_along(position, dot) for position, dot in enumerate(dots)]

    def _leaf_along(self, position: int, dot: Any) -> Any:
        if not np.any(dot) or self.push(self._only(position, dot))[1]:
            return dot
        if dot.ndim > 1 and dot.shape[-1] == dot.shape[-2]:
            hermitian = ((dot + _adjoint(dot)) / 2).astype(dot.dtype)
            if self.push(self._only(position, hermitian))[1]:
                return hermitian
        return self._projected(position, dot)

    def _only(self, position: int, dot: Any) -> list[Any]:
        dots = [np.zeros_like(leaf) for leaf in self.leaves]
        dots[position] = dot
        return dots

    def _projected(self, position: int, dot: Any) -> Any:
        """The direction without what changes any matrix to one that is not Hermitian.

        For leaves that become a matrix on the way, as a vector that is reshaped.
        """
        if position not in self._projections:
            columns = [self._departures(position, unit) for unit in _units(dot)]
            self._projections[position] = np.stack(columns, axis=1)
        departures = self._projections[position]
        coordinates = _real_parts(dot)
        wrong = np.linalg.lstsq(
            departures, departures @ coordinates, rcond=np.sqrt(np.finfo(float).eps)
        )[0]
        kept = coordinates - wrong
        if dot.dtype.kind == "c":
            kept = kept[: dot.size] + 1j * kept[dot.size :]
        return kept.reshape(dot.shape).astype(dot.dtype)

    def _departures(self, position: int, dot: Any) -> Any:
        """How far the matrices' tangents are from Hermitian, beyond what no direction makes so."""
        found = []
        for given in (dot, np.zeros_like(dot)):
            with watching() as seen:
                jvp(self.function, self.leaves, tuple(self._only(position, given)))
            found.append([_real_parts(_departure(each)) for each in _tangents(seen)])
        return np.concatenate(found[0]) - np.concatenate(found[1])


def _tangents(seen: list[Any]) -> list[Any]:
    """The tangents of matrices; a replay backward has none."""
    return [raw_value(dot) for dot in seen if dot is not None]


def _adjoint(x: Any) -> Any:
    return np.conjugate(np.swapaxes(x, -1, -2))


def _departure(dot: Any) -> Any:
    return dot - _adjoint(dot)


def _is_small(departure: Any, dot: Any) -> bool:
    """Whether it is what rounding makes: a generic direction departs by its own size."""
    size = np.max(np.abs(dot), initial=0.0)
    largest = np.max(np.abs(departure), initial=0.0)
    return not largest > np.sqrt(resolution_of(dot)) * size  # NaN is for other checks to find


def _real_parts(x: Any) -> Any:
    """The coordinates of an array, real and imaginary ones, as a vector of float64."""
    flat = np.ravel(x)
    parts = [flat.real, flat.imag] if x.dtype.kind == "c" else [flat]
    return np.concatenate(parts).astype(np.float64)


def _units(like: Any) -> list[Any]:
    """A basis of the directions of an array over the real numbers."""
    basis = np.eye(like.size, dtype=like.dtype).reshape(like.size, *like.shape)
    return [*basis, *(1j * basis if like.dtype.kind == "c" else ())]
