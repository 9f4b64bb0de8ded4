"""Zeros that meet infinities in lazy arrays: known when Dask computes, and zero as NumPy's are."""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad

da = pytest.importorskip("dask.array")

X = np.array([0.0, 0.25, 1.0, -1.0])

PROGRAMS = {
    "root of a branch not taken": lambda x: np.where(x > 0.5, np.sqrt(x), 0 * x),
    "logarithm": lambda x: np.where(x > 0.5, np.log(x), x),
    "quotient": lambda x: np.where(x > 0.5, 1 / x, x),
    "times zero": lambda x: np.sqrt(x * x) * 0,
    "root of a square": lambda x: np.sqrt(x**2),
    "arcsine": lambda x: np.where(x < 0.5, np.arcsin(x), x),
    "power": lambda x: np.where(x > 0.3, np.power(x, x), x),
    "infinity": lambda x: np.where(x > 2, x * np.inf, x),
    "maximum": lambda x: np.maximum(np.sqrt(x * x), 0.5),
    "norm": lambda x: np.sqrt(np.sum((x * 0) ** 2)) + x,
    "clip": lambda x: np.clip(np.sqrt(np.abs(x)), 0.5, 2),
    "NaN that counts": lambda x: x * np.sqrt(x),
}
LIMITS = {"root of a square", "NaN that counts"}  # where a computed zero meets an infinity
V = np.ones(4)
TRANSFORMS = {
    "grad": lambda f, x: tapegrad.grad(f)(x),
    "hvp": lambda f, x: tapegrad.hvp(f, (x,), (V,)),
    "parameters of NumPy's": lambda f, x: tapegrad.grad(lambda v: f(x * v))(V),
}


@pytest.fixture(autouse=True)
def _synchronous():
    with pytest.importorskip("dask").config.set(scheduler="synchronous"):
        yield


@pytest.mark.part(2)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize(
    ("name", "transform"),
    [(name, "grad") for name in PROGRAMS]
    + [(name, "parameters of NumPy's") for name in ("quotient", "times zero", "infinity")]
    + [("power", "hvp")],
)
def test_lazy_arrays_have_the_derivatives_of_numpys(name, transform):
    def summed(x):
        return np.sum(PROGRAMS[name](x))

    take = TRANSFORMS[transform]
    with np.errstate(all="ignore"):
        expected = np.asarray(take(summed, X))
        found = take(summed, da.from_array(X, chunks=2))
        assert isinstance(found, da.Array)  # nothing was computed
        known = found.compute()
        if name in LIMITS:  # a lazy array has none, and its NaN is not known either
            expected = np.where(np.isnan(expected) | (X == 0) & np.isnan(known), known, expected)
        np.testing.assert_allclose(known, expected, rtol=1e-14)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_arrays_of_a_megabyte_too():
    """A replay that has freed large parameters is made again."""
    x = np.linspace(0.0, 1.0, 50_000)

    def loss(w, x):
        return np.sum(np.where(x > 0.5, np.sqrt(x * w), w))

    with np.errstate(all="ignore"):
        found = tapegrad.grad(loss)(np.ones(50_000), da.from_array(x, chunks=20_000))
        expected = tapegrad.grad(loss)(np.ones(50_000), x)
        np.testing.assert_array_equal(found.compute(), expected)
