"""Matrices of which SciPy reads a part: a triangle, a diagonal, three diagonals.

A matrix that is symmetric or Hermitian by promise has symmetric cotangents, as that of
np.linalg.eigh (docs/kinks.md). Of triangles and diagonals the rest is not read, and its cotangent
is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Cotangent, Tangent, Value
from tapegrad.rules.matrices import adjoint, column, diagonal, hermitian_part, transposed
from tapegrad.scipy.linalg._inputs import core


def _from_triangle(a: Value, lower: bool = True) -> Value:
    half = np.tril(a, -1) if lower else np.triu(a, 1)
    eye = np.eye(a.shape[-1], dtype=a.dtype)
    return half + adjoint(half) + eye * column(np.real(diagonal(a)))


def _from_triangle_vjp(g: Cotangent, _out: Value, _a: Value, lower: bool = True) -> Cotangent:
    return hermitian_part(g)


def _from_triangle_jvp(
    dots: Sequence[Tangent], _out: Value, _a: Value, lower: bool = True
) -> Tangent:
    return hermitian_part(dots[0])


PROMISED = core(
    _from_triangle,
    vjp=[_from_triangle_vjp],
    jvp=_from_triangle_jvp,
    hermitian=True,
    name="the Hermitian matrix of a triangle",
    batch="(m,m)",
)


def promised(a: Value, lower: bool = True) -> Any:
    """The Hermitian matrix that has the lower (or the upper) triangle of a matrix."""
    return PROMISED.apply_bound([a], {"lower": lower})


_WORDS = {
    None: "general",
    "gen": "general",
    "banded": "general",
    "her": "hermitian",
    "sym": "symmetric",
    "pos": "positive definite",
}


def structured(a: Value, assume_a: str | None = None, lower: bool = False) -> Any:
    """The matrix that SciPy reads from another one, by the word for its structure."""
    word = _WORDS.get(assume_a, assume_a)
    if word == "general":
        return a
    if word in ("hermitian", "positive definite") or word == "symmetric" and a.dtype.kind != "c":
        return promised(a, lower)
    if word == "symmetric":
        half = np.tril(a) if lower else np.triu(a)
        return half + transposed(np.tril(a, -1) if lower else np.triu(a, 1))
    if word == "diagonal":
        return a * np.eye(a.shape[-1], dtype=a.dtype)
    if word == "tridiagonal":
        return np.triu(np.tril(a, 1), -1)
    if word == "upper triangular":
        return np.triu(a)
    if word == "lower triangular":
        return np.tril(a)
    raise ValueError(f"{assume_a} is not a recognized matrix structure")


__all__ = ["promised", "structured"]
