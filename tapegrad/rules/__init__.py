"""Derivative rules, one module a family. Importing this package declares them all."""

from tapegrad.rules import (
    constant,
    creation,
    differences,
    elementwise,
    fft,
    index,
    linalg,
    products,
    reduction,
    shape,
    sorting,
)

__all__ = [
    "constant",
    "creation",
    "differences",
    "elementwise",
    "fft",
    "index",
    "linalg",
    "products",
    "reduction",
    "shape",
    "sorting",
]
