"""Derivative rules, one module a family. Importing this package declares them all."""

from tapegrad.rules import (
    constant,
    creation,
    differences,
    elementwise,
    fft,
    index,
    joining,
    linalg,
    padding,
    products,
    reduction,
    selection,
    shape,
    signal,
    sorting,
    writing,
)

__all__ = [
    "constant",
    "creation",
    "differences",
    "elementwise",
    "fft",
    "index",
    "joining",
    "linalg",
    "padding",
    "products",
    "reduction",
    "selection",
    "shape",
    "signal",
    "sorting",
    "writing",
]
