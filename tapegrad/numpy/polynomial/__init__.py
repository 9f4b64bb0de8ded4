"""NumPy's polynomials, differentiable by coefficients, points and data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.polynomial

if TYPE_CHECKING:  # the names and types are NumPy's
    from numpy.polynomial import (
        Chebyshev,
        Hermite,
        HermiteE,
        Laguerre,
        Legendre,
        Polynomial,
        chebyshev,
        hermite,
        hermite_e,
        laguerre,
        legendre,
        polynomial,
    )
else:
    from tapegrad.numpy.polynomial import (
        chebyshev,
        hermite,
        hermite_e,
        laguerre,
        legendre,
        polynomial,
        polyutils,
    )
    from tapegrad.numpy.polynomial._classes import (
        Chebyshev,
        Hermite,
        HermiteE,
        Laguerre,
        Legendre,
        Polynomial,
    )

__all__ = [
    "Chebyshev",
    "Hermite",
    "HermiteE",
    "Laguerre",
    "Legendre",
    "Polynomial",
    "chebyshev",
    "hermite",
    "hermite_e",
    "laguerre",
    "legendre",
    "polynomial",
    "polyutils",
]


def __getattr__(name: str) -> Any:
    return getattr(numpy.polynomial, name)


def __dir__() -> list[str]:
    return dir(numpy.polynomial)
