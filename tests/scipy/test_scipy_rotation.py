"""Rotations: values of SciPy's class, derivatives by differences, and what happens near none."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.spatial.transform as scipys
from scipy.spatial.transform import Rotation as Plain
from scipy_calls import Numbers

from tapegrad import BatchingError, NotDifferentiableError, grad, hessian, jacobian, jvp, vmap
from tapegrad.scipy.spatial import transform
from tapegrad.scipy.spatial.transform import Rotation
from tapegrad.testing import check_grads

_NUMBERS = Numbers(5)
normal = _NUMBERS.normal
VECTORS = normal(3, 3)
QUATERNIONS = normal(5, 4)


def slerp_of(kind):
    return scipys.Slerp if kind is Plain else transform.Slerp


V5 = normal(5, 3)
V4 = normal(5, 4)
VALUES = [
    lambda R, q: R.from_quat(q).as_matrix(),
    lambda R, q: R.from_quat(q).as_rotvec(),
    lambda R, q: R.from_quat(q).as_mrp(),
    lambda R, q: R.from_mrp(q[:, :3]).as_matrix(),
    lambda R, q: R.from_quat(q).magnitude(),
    lambda R, q: R.from_quat(q).inv().as_quat(True),
    lambda R, q: R(q, scalar_first=True).as_quat(canonical=True, scalar_first=True),
    lambda R, q: R.from_quat(q).apply(V5),
    lambda R, q: R.from_quat(q).apply(V5, inverse=True),
    lambda R, q: (R.from_quat(q) * R.from_quat(q)[::-1]).as_matrix(),
    lambda R, q: (Plain.from_quat(QUATERNIONS) * R.from_quat(q)).as_matrix(),
    lambda R, q: (R.from_quat(q) * Plain.from_quat(QUATERNIONS)).as_matrix(),
    lambda R, q: (R.from_quat(q) ** 0.4).as_matrix(),
    lambda R, q: R.concatenate([R.from_quat(q), R.from_quat(q[0])]).as_matrix(),
    lambda R, q: np.stack([r.as_matrix() for r in R.from_quat(q)]),
    *(
        lambda R, q, s=s: R.from_euler(s, q[:, :3], degrees=True).as_matrix()
        for s in ("xyz", "ZYX", "zxz")
    ),
    *(
        lambda R, q, s=s, d=d: R.from_quat(q).as_euler(s, degrees=d)
        for s, d in (("xyz", False), ("ZXZ", True))
    ),
    lambda R, q: R.from_quat(q[0]).as_davenport(np.eye(3), "e"),
    lambda R, q: R.from_davenport(np.eye(3)[:2], "i", q[:, :2]).as_matrix(),
    lambda R, q: R.from_quat(q).mean(weights=q[:, 0] ** 2).as_matrix(),
    lambda R, q: R.align_vectors(q[:, :3], V5)[0].as_matrix(),
    lambda R, q: R.from_euler("xyz", [q[0, 0], 0.3, q[1, 1]]).as_quat(),
    lambda R, q: slerp_of(R)(np.arange(5.0), R.from_quat(q))(np.array([0.3, 2.7])).as_matrix(),
    lambda R, q: slerp_of(R)(np.arange(5.0), Plain.from_rotvec(V5))(q[0, 0] ** 2).as_matrix(),
    lambda R, q: R.from_euler("x", q[0, 0]).as_matrix(),
    lambda R, q: R.from_euler("x", q[0, :1]).as_matrix(),
    lambda R, q: R.from_euler("x", q[:, :1]).as_matrix(),
]


# What decides how to go on, which the examples of a vmap may do differently.
DECIDING = [
    lambda R, q: R.from_quat(q).reduce(R.create_group("O")).as_matrix(),
    lambda R, q: R.from_quat(q[1]).reduce(None, R.create_group("T"), True)[0].as_matrix(),
    lambda R, q: R.align_vectors(V5, q[:, :3], weights=q[:, 3] ** 2)[1],
]


@pytest.mark.parametrize("f", [*VALUES, *DECIDING])
def test_values_are_those_of_scipy(f):
    expected = f(Plain, QUATERNIONS)
    np.testing.assert_array_equal(f(Rotation, QUATERNIONS), expected)
    value = jvp(lambda q: f(Rotation, q), (QUATERNIONS,), (QUATERNIONS,))[0]
    np.testing.assert_allclose(value, expected, atol=1e-14)


def test_single_precision_is_double():
    q = QUATERNIONS.astype(np.float32)
    for f in (
        lambda R, q: R.from_quat(q).as_matrix(),
        lambda R, q: R.from_euler("xyz", q[:, :3]).as_quat(),
    ):
        value = jvp(lambda q, f=f: f(Rotation, q), (q,), (q,))[0]
        assert value.dtype == np.float64
        np.testing.assert_allclose(value, f(Plain, q), atol=1e-14)


def test_plain_rotations_are_scipys():
    r = Rotation.from_quat(QUATERNIONS)
    theirs = Plain.from_quat(QUATERNIONS)
    assert isinstance(r, Plain)
    for found in (r[0], r * r, r.inv(), r**2, r.mean(), Rotation.random(2, rng=1), r * theirs, *r):
        assert type(found) is Rotation
    times = np.arange(5.0)
    at = [L.Slerp(times, x)(2.3).as_quat() for L, x in ((transform, r), (scipys, theirs))]
    np.testing.assert_array_equal(*at)
    rigid = transform.RigidTransform.from_components(V5, r)
    expected = scipys.RigidTransform.from_components(V5, theirs)
    np.testing.assert_array_equal(rigid.as_matrix(), expected.as_matrix())
    np.testing.assert_array_equal(
        r.as_davenport(np.eye(3), "e"), theirs.as_davenport(np.eye(3), "e")
    )
    assert r.approx_equal(theirs).all()
    assert (len(r), r.shape, r[0].single) == (len(theirs), theirs.shape, True)
    for wrong in (
        lambda L: L.from_quat(np.zeros(4)),
        lambda L: L.from_matrix(np.eye(2)),
        lambda L: L.from_euler("xY", np.zeros(2)),
        lambda L: L.from_rotvec(np.zeros(4)),
    ):
        assert error(lambda w=wrong: w(Rotation)) == error(lambda w=wrong: w(Plain)) != ""


def error(f):
    try:
        f()
    except ValueError as caught:
        return str(caught)
    return ""


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "function",
    [
        lambda v: Rotation.from_rotvec(v).as_matrix(),
        lambda v: Rotation.from_rotvec(v).apply(VECTORS),
        lambda v: Rotation.from_rotvec(0.3 * v).as_rotvec(),
        lambda v: Rotation.from_matrix(Rotation.from_rotvec(v).as_matrix()).as_quat(),
        lambda v: (Rotation.from_rotvec(v) * Rotation.from_euler("ZYX", v)).magnitude(),
        lambda v: (Rotation.from_rotvec(VECTORS) ** v[0, 0]).as_matrix(),
        lambda v: Rotation.from_rotvec(v).as_euler("ZXZ"),
        lambda v: transform.Slerp(np.cumsum(v[0] ** 2), Plain.from_rotvec(VECTORS))(
            np.sum(v[0] ** 2) / 2 + v[0, 0] ** 2 / 2
        ).as_matrix(),
        lambda v: transform.Slerp([0, 1, 2], Rotation.from_rotvec(v))(v[0] ** 2).as_matrix(),
        lambda v: Rotation.from_rotvec(v).as_davenport(np.eye(3), "e"),
        lambda v: Rotation.from_rotvec(v).mean(weights=v[0] ** 2).as_matrix(),
        lambda v: Rotation.from_rotvec(v).reduce(Rotation.create_group("O")).as_matrix(),
        lambda v: Rotation.align_vectors(v, VECTORS)[0].as_matrix(),
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


def test_near_no_rotation_to_second_order():
    curved = hessian(lambda v: Rotation.from_rotvec(v).as_quat()[3])(np.zeros(3))
    np.testing.assert_allclose(curved, -np.eye(3) / 4, atol=1e-15)


@pytest.mark.parametrize("sequence", ["xyz", "ZXZ"])
def test_angles_in_a_gimbal_lock_have_no_derivative(sequence):
    locked = Plain.from_euler(sequence, [0.3, np.pi / 2 if sequence == "xyz" else 0.0, 0.2])

    def angles(quaternions):
        return Rotation.from_quat(quaternions).as_euler(sequence)

    both = np.stack([locked.as_quat(), QUATERNIONS[0]])
    with pytest.warns(RuntimeWarning), pytest.warns(UserWarning, match="Gimbal"):
        value, change = jvp(angles, (both,), (both,))
    assert np.isnan(change[0]).all()
    assert np.isfinite(change[1]).all()
    with pytest.warns(UserWarning, match="Gimbal"):
        np.testing.assert_allclose(value, Plain.from_quat(both).as_euler(sequence), atol=1e-7)


def test_methods_without_a_derivative():
    rotation = Rotation.from_quat(QUATERNIONS)

    def written(v):
        rotation[0] = Rotation.from_rotvec(v)

    with pytest.raises(NotDifferentiableError, match="concatenate"):
        grad(written)(np.ones(3))
    with pytest.raises(AttributeError, match="nonsense"):
        rotation.nonsense()
    with pytest.raises(TypeError, match="unsupported operand"):
        2 * rotation


UNDER_VMAP = [
    *VALUES,
    lambda R, q: slerp_of(R)([0, 1, 2], Plain.from_rotvec(V5[:3]))(q[0] ** 2 % 2).as_matrix(),
    lambda R, q: slerp_of(R)(np.cumsum(q[0] ** 2), Plain.from_rotvec(V5[:4]))(
        q[0, 0] ** 2 + 0.3 * q[0, 1] ** 2
    ).as_quat(),
    lambda R, q: R.from_davenport(np.eye(3) * q[0, 0], "i", q[:, :3]).as_quat(),
    lambda R, q: R.align_vectors(q[:1, :3], V5[:1])[0].as_matrix(),
    lambda R, q: R.from_matrix(np.eye(3) + 0.1 * q[:3, :1] * q[0, :3]).as_quat(),
    lambda R, q: (R.from_quat(q) ** q[0, 0]).as_matrix(),
]


@pytest.mark.part(6)
@pytest.mark.parametrize("f", UNDER_VMAP)
def test_under_vmap(f):
    stack = np.stack([QUATERNIONS, 0.9 * QUATERNIONS[[1, 2, 3, 4, 0]]])
    expected = [f(Plain, q) for q in stack]
    np.testing.assert_allclose(vmap(lambda q: f(Rotation, q))(stack), expected, atol=1e-13)
    slopes = vmap(lambda q: jvp(lambda q: f(Rotation, q), (q,), (V4,))[1])(stack)
    each = [jvp(lambda q: f(Rotation, q), (q,), (V4,))[1] for q in stack]
    np.testing.assert_allclose(slopes, each, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("f", DECIDING)
def test_decisions_are_refused_under_vmap(f):
    with pytest.raises(BatchingError, match=r"Rotation\.\w+: .*Loop over the examples"):
        vmap(lambda q: f(Rotation, q))(QUATERNIONS[None])


def test_input_is_checked_under_vmap():
    slerp = transform.Slerp([0, 1], Plain.from_rotvec(V5[:2]))
    with pytest.raises(ValueError, match="within the range"):
        vmap(lambda t: slerp(t).as_quat())(np.array([0.5, 1.5]))
    with pytest.raises(ValueError, match="strictly increasing"):
        vmap(lambda t: transform.Slerp(t, Plain.from_rotvec(V5[:2]))(0.5).as_quat())(
            np.array([[0.0, 1.0], [1.0, 0.0]])
        )
    with pytest.raises(ValueError, match="orthogonal"):
        vmap(lambda a: Rotation.from_davenport(a, "e", np.ones(2)).as_quat())(np.ones((2, 2, 3)))
    locked = Plain.from_euler("xyz", [0.3, np.pi / 2, 0.2]).as_quat()
    with pytest.warns(UserWarning, match="Gimbal"):
        found = vmap(lambda q: Rotation.from_quat(q).as_euler("xyz"))(
            np.stack([QUATERNIONS[0], locked])
        )
    expected = Rotation.from_quat(QUATERNIONS[0]).as_euler("xyz")
    np.testing.assert_allclose(found[0], expected, atol=1e-14)


def test_wrong_shapes_are_named():
    for f, match in (
        (lambda v: Rotation.from_matrix(v * np.eye(2)), r"\(\.\.\., 3, 3\)"),
        (lambda v: Rotation.from_euler("xY", v * np.zeros(2)), "Expected axes"),
        (lambda v: Rotation.from_rotvec(v * np.zeros(4)), r"\(\.\.\., 3\)"),
        (lambda v: Rotation.from_quat(v * np.zeros(4)), "zero norm"),
    ):
        with pytest.raises(ValueError, match=match):
            grad(lambda v, f=f: np.sum(f(v).as_quat()))(1.0)
