"""CuPy arrays under a transform: from the GPU to the GPU, equal to NumPy's after a copy back."""

from __future__ import annotations

import numpy as np
import pytest
from duck_programs import PROGRAMS, TANGENT, VECTOR

from tapegrad import grad, hvp, jvp, value_and_grad

cupy = pytest.importorskip("cupy", reason="needs CuPy, and a GPU")
pytestmark = [
    pytest.mark.skipif(not cupy.is_available(), reason="needs a GPU"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:cupy"),
]

each_program = pytest.mark.parametrize("name", PROGRAMS)


def agree(found, expected):
    assert isinstance(found, cupy.ndarray)
    assert found.shape == np.shape(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(cupy.asnumpy(found), expected, rtol=1e-9, atol=1e-11)


@each_program
def test_gradient(name):
    agree(grad(PROGRAMS[name])(cupy.asarray(VECTOR)), grad(PROGRAMS[name])(VECTOR))


@each_program
def test_value_and_gradient(name):
    value, gradient = value_and_grad(PROGRAMS[name])(cupy.asarray(VECTOR))
    expected_value, expected_gradient = value_and_grad(PROGRAMS[name])(VECTOR)
    agree(value, expected_value)
    agree(gradient, expected_gradient)


@each_program
def test_jvp(name):
    primals, tangents = (cupy.asarray(VECTOR),), (cupy.asarray(TANGENT),)
    value, tangent = jvp(PROGRAMS[name], primals, tangents)
    expected_value, expected_tangent = jvp(PROGRAMS[name], (VECTOR,), (TANGENT,))
    agree(value, expected_value)
    agree(tangent, expected_tangent)


@each_program
def test_second_derivatives(name):
    primals, tangents = (cupy.asarray(VECTOR),), (cupy.asarray(TANGENT),)
    agree(hvp(PROGRAMS[name], primals, tangents), hvp(PROGRAMS[name], (VECTOR,), (TANGENT,)))
