"""scipy.cluster.vq: distances to the nearest of given centres."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.cluster.vq as plain
from scipy_calls import Numbers, call, check_call, checked, uncalled, undecided

from tapegrad import InputError, NotDifferentiableError, compile, grad, vjp, vmap
from tapegrad.scipy import cluster
from tapegrad.scipy.cluster import vq as ours

normal = Numbers(11).normal
POINTS, CENTRES = normal(7, 3), normal(4, 3)
CALLS = [
    call(ours.vq, POINTS, CENTRES),
    call(ours.vq, POINTS[:, 0], CENTRES[:, 0]),
    call(ours.py_vq, POINTS, CENTRES),
    call(ours.whiten, POINTS),
]


@checked(CALLS)
def test_a_rule_keeps_the_laws(one):
    check_call(one)


def test_every_function_has_a_decision_and_a_call():
    inner = {name for name in undecided(plain, ours) if name not in plain.__all__}
    assert set(undecided(plain, ours)) == inner
    assert uncalled(ours, CALLS) == []
    assert cluster.hierarchy.linkage(POINTS).shape == (6, 4)


def test_codes_and_distances_are_scipys():
    codes, distances = plain.vq(POINTS, CENTRES)
    for found in (ours.vq(POINTS, CENTRES), vjp(ours.vq, POINTS, CENTRES)[0]):
        np.testing.assert_array_equal(found[0], codes)
        np.testing.assert_allclose(found[1], distances, rtol=1e-14)
    by_centres = grad(lambda c: np.sum(ours.vq(POINTS, c)[1] ** 2) / 2)(CENTRES)
    expected = [np.sum(CENTRES[k] - POINTS[codes == k], axis=0) for k in range(4)]
    np.testing.assert_allclose(by_centres, expected, rtol=1e-13, atol=1e-15)


def test_under_vmap_and_in_a_program_the_nearest_centre_is_looked_up_again():
    points = np.stack([POINTS, POINTS[::-1] * 1.5])
    slope = grad(lambda x, c: np.sum(ours.vq(x, c)[1] ** 2), (0, 1))
    alone = [slope(x, CENTRES) for x in points]
    for at, found in enumerate(vmap(slope, (0, None))(points, CENTRES)):
        np.testing.assert_allclose(found, [one[at] for one in alone], rtol=1e-13)
    fast = compile(slope)
    for x, expected in zip((*points, *points), alone * 2, strict=True):
        np.testing.assert_allclose(fast(x, CENTRES)[1], expected[1], rtol=1e-13)


def test_an_observation_on_its_centre_and_columns_that_do_not_vary():
    by_point = grad(lambda x: np.sum(ours.vq(x, CENTRES)[1]))(CENTRES[1:2])
    np.testing.assert_array_equal(by_point, np.zeros((1, 3)))
    flat = np.array([[1.0, 2.0], [1.0, 3.0]])
    with pytest.warns(RuntimeWarning, match="standard deviation"):
        expected = plain.whiten(flat)
    value, pull = vjp(ours.whiten, flat)
    np.testing.assert_array_equal(value, expected)
    np.testing.assert_array_equal(pull(np.ones((2, 2)))[0][:, 0], [1, 1])


def test_what_is_refused_names_the_reason():
    with pytest.raises(NotDifferentiableError, match=r"scipy\.cluster\.vq\.kmeans.*vq"):
        grad(lambda x: ours.kmeans(x, 2)[1])(POINTS)
    with pytest.raises(InputError, match="obs of 1 or 2 axes"):
        grad(lambda x: np.sum(ours.vq(x, CENTRES)[1]))(normal(2, 3, 3))
    with pytest.raises(ValueError, match=r"same number of features|shape|dimension"):
        grad(lambda x: np.sum(ours.vq(x, CENTRES)[1]))(normal(2, 2))
