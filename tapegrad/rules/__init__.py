"""Derivative rules, one module a family. Importing this package declares them all."""

from tapegrad.rules import (
    constant,
    elementwise,
    index,
    linalg,
    products,
    reduction,
    shape,
    sorting,
)

__all__ = [
    "constant",
    "elementwise",
    "index",
    "linalg",
    "products",
    "reduction",
    "shape",
    "sorting",
]
