"""Values of other libraries, made from arrays, and how their elements are got back.

Each library is a row of the table of test_foreign.py; one that is not installed is left out there.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np


class Plain(np.ndarray):
    """A subclass that changes nothing."""


class Tagged(np.ndarray):
    """A subclass whose own `__array_ufunc__` works on the elements."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [x.view(np.ndarray) if isinstance(x, Tagged) else x for x in inputs]
        if "out" in kwargs:
            kwargs["out"] = tuple(x if x is None else np.asarray(x) for x in kwargs["out"])
        return getattr(ufunc, method)(*plain, **kwargs)


class File:
    """A dataset in a file: no operators, and elements that NumPy reads."""

    def __init__(self, array):
        self.array = array
        self.shape, self.ndim, self.dtype = array.shape, array.ndim, array.dtype

    def __array__(self, dtype=None, copy=None):
        return self.array.copy() if dtype is None else self.array.astype(dtype)


class Library(NamedTuple):
    """How to make a value of an array, and to get the elements of a result."""

    make: Callable[[Any], Any]
    elements: Callable[[Any], Any] = lambda value: value
    kinds: tuple[type, ...] = ()  # results of these classes have elements to get
    plain: Callable[[Any], Any] = lambda array: array  # what stands for the value in NumPy alone


def _dask() -> Library:
    array = importlib.import_module("dask.array")
    return Library(lambda a: array.from_array(a, chunks=2))


def _xarray(data: Callable[[Any], Any] = lambda array: array) -> Library:
    """Labelled arrays around what `data` makes of the elements."""
    xarray = importlib.import_module("xarray")

    def make(a):
        dims = ["i", "j"][: a.ndim]
        coords = {"i": np.arange(len(a)) * 10} if dims else {}
        return xarray.DataArray(data(a), dims=dims, coords=coords)

    return Library(make, lambda value: value.data, (xarray.DataArray,))


def _variable() -> Library:
    xarray = importlib.import_module("xarray")
    return Library(
        lambda a: xarray.Variable(["i", "j"][: a.ndim], a),
        lambda value: value.data,
        (xarray.Variable,),
    )


def _series() -> Library:
    pandas = importlib.import_module("pandas")

    def make(a):
        if a.ndim == 0:
            return pandas.Series([a[()]])
        labels = np.arange(len(a))[::-1]
        return pandas.Series(a, labels) if a.ndim == 1 else pandas.DataFrame(a, labels)

    return Library(make)


def _index() -> Library:
    pandas = importlib.import_module("pandas")
    return Library(lambda a: pandas.Index(np.ravel(a)) if a.ndim < 2 else pandas.DataFrame(a))


def _pint(unit: str) -> Library:
    pint = importlib.import_module("pint")
    registry = pint.UnitRegistry()
    return Library(
        lambda a: registry.Quantity(a, unit),
        lambda value: value.magnitude,
        (registry.Quantity,),
    )


def _astropy() -> Library:
    units = importlib.import_module("astropy.units")
    return Library(lambda a: a * units.m, lambda value: value.value, (units.Quantity,))


def _uncertain() -> Library:
    uncertainties = importlib.import_module("uncertainties")
    return Library(
        lambda a: uncertainties.ufloat(float(np.ravel(a)[0]), 0.1),
        plain=lambda a: float(np.ravel(a)[0]),
    )


LIBRARIES: dict[str, Callable[[], Library]] = {
    "dask": _dask,
    "xarray": _xarray,
    "xarray on Dask": lambda: _xarray(_dask().make),
    "xarray.Variable": _variable,
    "pandas": _series,
    "pandas.Index": _index,
    "pint": lambda: _pint("m"),
    "pint, no unit": lambda: _pint(""),
    "astropy": _astropy,
    "uncertainties": _uncertain,
    "array_api_strict": lambda: Library(importlib.import_module("array_api_strict").asarray),
    "torch": lambda: Library(importlib.import_module("torch").as_tensor),
    "np.ma": lambda: Library(lambda a: np.ma.array(a, mask=a == a.min())),
    "np.matrix": lambda: Library(np.matrix, plain=np.atleast_2d),
    "np.recarray": lambda: Library(lambda a: a.view(np.recarray)),
    "subclass": lambda: Library(lambda a: a.view(Plain)),
    "subclass with __array_ufunc__": lambda: Library(lambda a: a.view(Tagged)),
    "file": lambda: Library(File),
    "Fraction": lambda: Library(lambda a: Fraction(1, 3), plain=lambda a: 1 / 3),
    "Decimal": lambda: Library(lambda a: Decimal("0.25"), plain=lambda a: 0.25),
}
