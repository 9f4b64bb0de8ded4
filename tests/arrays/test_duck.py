"""Dask arrays under a transform: lazy in, lazy out, equal to NumPy's after compute."""

from __future__ import annotations

import numpy as np
import pytest
from duck_programs import PROGRAMS, TANGENT, VECTOR

from tapegrad import grad, hessian, hvp, jacfwd, jacrev, jvp, value_and_grad

dask = pytest.importorskip("dask", reason="needs Dask: pip install tapegrad[dask]")
da = pytest.importorskip("dask.array", reason="needs Dask: pip install tapegrad[dask]")

each_program = pytest.mark.parametrize("name", PROGRAMS)


def refuse(*_, **__):
    raise AssertionError("a lazy array was computed")


@pytest.fixture
def lazy():
    """Any computation of a Dask array fails."""
    with dask.config.set(scheduler=refuse):
        yield


def chunked(x):
    return da.from_array(x, chunks=2)


def agree(found, expected):
    assert isinstance(found, da.Array)
    assert found.shape == np.shape(expected)
    assert found.dtype == expected.dtype
    computed = found.compute(scheduler="synchronous")
    np.testing.assert_allclose(computed, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.part(4)
@each_program
def test_gradient(name, lazy):
    agree(grad(PROGRAMS[name])(chunked(VECTOR)), grad(PROGRAMS[name])(VECTOR))


@pytest.mark.part(6)
@each_program
def test_value_and_gradient(name, lazy):
    value, gradient = value_and_grad(PROGRAMS[name])(chunked(VECTOR))
    expected_value, expected_gradient = value_and_grad(PROGRAMS[name])(VECTOR)
    agree(value, expected_value)
    agree(gradient, expected_gradient)


@pytest.mark.part(8)
@each_program
def test_jvp(name, lazy):
    value, tangent = jvp(PROGRAMS[name], (chunked(VECTOR),), (chunked(TANGENT),))
    expected_value, expected_tangent = jvp(PROGRAMS[name], (VECTOR,), (TANGENT,))
    agree(value, expected_value)
    agree(tangent, expected_tangent)


@pytest.mark.part(32)
@pytest.mark.filterwarnings("ignore::tapegrad.IndependentOutputWarning")  # of a constant slope
@each_program
def test_second_derivatives(name, lazy):
    primals, tangents = (chunked(VECTOR),), (chunked(TANGENT),)
    agree(hvp(PROGRAMS[name], primals, tangents), hvp(PROGRAMS[name], (VECTOR,), (TANGENT,)))

    def steepness(x):
        return np.sum(grad(PROGRAMS[name])(x) ** 2)

    agree(grad(steepness)(*primals), grad(steepness)(VECTOR))


def test_derivatives_by_arrays_beside_lazy_constants():
    matrix = chunked(np.arange(9.0).reshape(3, 3))

    def loss(w):
        return np.sum((matrix @ w - 1.0) ** 2)

    expected = 2 * matrix.T @ matrix
    with dask.config.set(scheduler="synchronous"):
        for derivative in (hessian, lambda f: jacfwd(grad(f)), lambda f: jacrev(grad(f))):
            np.testing.assert_allclose(derivative(loss)(np.ones(3)), expected)
