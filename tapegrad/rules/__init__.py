"""Derivative rules, one module a family. Importing this package declares them all."""

from tapegrad.rules import (
    constant, elementwise, index, reduction, shape, sorting,
)

__all__ = [
    "constant", "elementwise", "index", "reduction", "shape", "sorting",
]
