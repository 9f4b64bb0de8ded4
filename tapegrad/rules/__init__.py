"""Derivative rules, one module per family.

Importing this package declares them all, but for those of `numpy.fft` and `numpy.polynomial`,
which NumPy imports when a program asks for them: see `_core.rule.LATE`.
"""

from importlib import import_module as _import_module

from tapegrad.rules import (
    constant,
    creation,
    cumulative,
    decompositions,
    differences,
    einsum,
    elementwise,
    emath,
    histogram,
    index,
    interpolation,
    joining,
    least_squares,
    linalg,
    moments,
    nan,
    norms,
    padding,
    polynomials,
    products,
    recurrence,
    reduction,
    segments,
    selection,
    shape,
    signal,
    sorting,
    spectra,
    statistics,
    ufunc_at,
    unsupported,
    writing,
)


def __getattr__(name: str) -> object:
    if name in ("fft", "series"):
        return _import_module(f"tapegrad.rules.{name}")
    raise AttributeError(f"module 'tapegrad.rules' has no attribute {name!r}")


__all__ = [
    "constant",
    "creation",
    "cumulative",
    "decompositions",
    "differences",
    "einsum",
    "elementwise",
    "emath",
    "fft",
    "histogram",
    "index",
    "interpolation",
    "joining",
    "least_squares",
    "linalg",
    "moments",
    "nan",
    "norms",
    "padding",
    "polynomials",
    "products",
    "recurrence",
    "reduction",
    "segments",
    "selection",
    "series",
    "shape",
    "signal",
    "sorting",
    "spectra",
    "statistics",
    "ufunc_at",
    "unsupported",
    "writing",
]
