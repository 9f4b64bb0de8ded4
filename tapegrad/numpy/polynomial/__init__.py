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
    from tapegrad.numpy.polynomial.chebyshev import Chebyshev
    from tapegrad.numpy.polynomial.hermite import Hermite
    from tapegrad.numpy.polynomial.hermite_e import HermiteE
    from tapegrad.numpy.polynomial.laguerre import Laguerre
    from tapegrad.numpy.polynomial.legendre import Legendre
    from tapegrad.numpy.polynomial.polynomial import Polynomial

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
