"""Rotations: values of SciPy's class, derivatives by differences, and what happens near none."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("scipy")

from scipy.spatial.transform import Rotation as Plain
from scipy_calls import Numbers

from tapegrad import NotDifferentiableError, grad, jacobian
from tapegrad.scipy.spatial.transform import Rotation
from tapegrad.testing import check_grads

_NUMBERS = Numbers(5)
normal = _NUMBERS.normal
VECTORS = normal(3, 3)
QUATERNIONS = normal(5, 4)


def test_values_are_those_of_scipy():
    q = QUATERNIONS
    ours, theirs = Rotation.from_quat(q), Plain.from_quat(q)
    np.testing.assert_allclose(ours.as_matrix(), theirs.as_matrix(), atol=1e-15)
    np.testing.assert_allclose(ours.as_rotvec(), theirs.as_rotvec(), atol=1e-14)
    np.testing.assert_allclose(ours.magnitude(), theirs.magnitude(), atol=1e-14)
    np.testing.assert_allclose(ours.inv().as_quat(True), theirs.inv().as_quat(True), atol=1e-15)
    v = normal(5, 3)
    np.testing.assert_allclose(ours.apply(v), theirs.apply(v), atol=1e-14)
    np.testing.assert_allclose(ours.apply(v, True), theirs.apply(v, inverse=True), atol=1e-14)
    np.testing.assert_allclose(
        (ours * ours[::-1]).as_matrix(), (theirs * theirs[::-1]).as_matrix(), atol=1e-14
    )
    matrices = np.concatenate([theirs.as_matrix(), Plain.from_rotvec(3.1 * np.eye(3)).as_matrix()])
    np.testing.assert_allclose(Rotation.from_matrix(matrices).as_matrix(), matrices, atol=1e-13)
    for seq in ("xyz", "ZYX", "zxz"):
        angles = normal(4, 3)
        np.testing.assert_allclose(
            Rotation.from_euler(seq, angles, degrees=True).as_matrix(),
            Plain.from_euler(seq, angles, degrees=True).as_matrix(),
            atol=1e-15,
        )


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "function",
    [
        lambda v: Rotation.from_rotvec(v).as_matrix(),
        lambda v: Rotation.from_rotvec(v).apply(VECTORS),
        lambda v: Rotation.from_rotvec(0.3 * v).as_rotvec(),
        lambda v: Rotation.from_matrix(Rotation.from_rotvec(v).as_matrix()).as_quat(),
        lambda v: (Rotation.from_rotvec(v) * Rotation.from_euler("ZYX", v)).magnitude(),
    ],
)
def test_derivatives(function):
    check_grads(function, (normal(3, 3),))


def test_a_matrix_that_is_no_rotation_counts_as_the_nearest_one():
    near = Plain.from_rotvec(normal(4, 3)).as_matrix() + 0.1 * normal(4, 3, 3)
    near[1] *= 3
    found = Rotation.from_matrix(near).as_matrix()
    np.testing.assert_allclose(found, Plain.from_matrix(near).as_matrix(), atol=1e-13)
    exact = Plain.from_rotvec(normal(2, 3)).as_matrix()
    for at in (near, exact):
        check_grads(lambda m: Rotation.from_matrix(m).as_matrix(), (at,))
    for wrong in (-np.eye(3), np.zeros((3, 3)), np.stack([np.eye(3), np.diag([1.0, 1, -1])])):
        with pytest.raises(ValueError, match="positive determinant"):
            grad(lambda m: np.sum(Rotation.from_matrix(m).as_quat()))(wrong)
    steep = np.diag([1e-5, 1.0, 1e5]) @ Plain.from_rotvec([0.3, -0.2, 0.5]).as_matrix()
    expected = Plain.from_matrix(steep).as_matrix()
    np.testing.assert_allclose(Rotation.from_matrix(steep).as_matrix(), expected, atol=1e-9)


def test_near_no_rotation():
    derivative = jacobian(lambda v: Rotation.from_rotvec(v).as_rotvec())(np.zeros(3))
    np.testing.assert_allclose(derivative, np.eye(3))
    assert np.array_equal(
        grad(lambda v: Rotation.from_rotvec(v).magnitude())(np.zeros(3)), [0] * 3
    )
    for size in (0.9e-3, 1.1e-3, 1e-6):  # on both sides of the series
        v = size * np.array([0.6, 0.0, 0.8])
        np.testing.assert_allclose(Rotation.from_rotvec(v).as_rotvec(), v, rtol=1e-14)
        np.testing.assert_allclose(
            Rotation.from_rotvec(v).as_quat(), Plain.from_rotvec(v).as_quat(), rtol=1e-14
        )


def test_methods_without_a_derivative():
    rotation = Rotation.from_quat(QUATERNIONS)
    theirs = Plain.from_quat(QUATERNIONS)
    np.testing.assert_allclose(rotation.as_euler("xyz"), theirs.as_euler("xyz"))
    np.testing.assert_allclose(rotation.as_mrp(), theirs.as_mrp())
    for name in ("as_mrp", "as_euler"):
        with pytest.raises(NotDifferentiableError, match=name):
            grad(lambda v, n=name: getattr(Rotation.from_rotvec(v), n)("xyz")[0])(np.ones(3))
    with pytest.raises(AttributeError, match="nonsense"):
        rotation.nonsense()
    assert len(Rotation.from_euler("x", [0.5])) == 1


def test_wrong_shapes_are_named():
    with pytest.raises(ValueError, match="from_matrix"):
        Rotation.from_matrix(np.eye(2))
    with pytest.raises(ValueError, match="from_euler"):
        Rotation.from_euler("xY", np.zeros(2))
    with pytest.raises(ValueError, match=r"\(\.\.\., 3\)"):
        Rotation.from_rotvec(np.zeros(4))
