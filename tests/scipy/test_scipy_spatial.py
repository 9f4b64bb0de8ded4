"""scipy.spatial: laws of distances, and conventions where points coincide."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("scipy")

import scipy.spatial
from scipy_calls import Numbers, call, check_call, checked, uncalled, undecided

from tapegrad import NotDifferentiableError, grad, hessian, jvp, vjp, vmap
from tapegrad.scipy import spatial
from tapegrad.scipy.spatial import distance as sd

_NUMBERS = Numbers(4)
normal = _NUMBERS.normal
positive = _NUMBERS.positive
SMOOTH = [
    "euclidean",
    "sqeuclidean",
    "cityblock",
    "chebyshev",
    "minkowski",
    "canberra",
    "correlation",
    "cosine",
]
POSITIVE = ["braycurtis", "jensenshannon"]
INVERSE = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])


def of_vectors(name, *args):
    return call(getattr(sd, name), *args)


TABLES = [
    *(call(sd.cdist, normal(3, 4), normal(2, 4), metric=name) for name in SMOOTH),
    *(call(sd.cdist, positive(3, 4), positive(2, 4), metric=name) for name in POSITIVE),
    call(sd.cdist, normal(4, 3), normal(3, 3), metric="seuclidean"),
    call(sd.cdist, normal(4, 3), normal(5, 3), metric="mahalanobis"),
    call(sd.cdist, normal(2, 3), normal(2, 3), metric="hamming", w=positive(3)),
    call(sd.pdist, normal(4, 3)),
    call(sd.pdist, normal(4, 3), "mahalanobis", VI=INVERSE),
    call(sd.squareform, normal(6)),
    call(sd.directed_hausdorff, normal(4, 2), normal(5, 2)),
    call(spatial.minkowski_distance_p, normal(2, 3), normal(2, 3), 3),
    call(spatial.minkowski_distance, normal(2, 3), normal(2, 3), 3),
    call(spatial.distance_matrix, normal(2, 3), normal(2, 3)),
    call(spatial.procrustes, normal(5, 2), normal(5, 2)),
]
MANY = [
    *(
        call(sd.cdist, positive(3, 4), positive(2, 4), metric=name, w=positive(4))
        for name in [*SMOOTH, "braycurtis"]
    ),
    *(call(sd.pdist, positive(4, 5), name) for name in [*SMOOTH, *POSITIVE, "seuclidean"]),
    *(call(sd.cdist, normal(3, 4), normal(2, 4), "minkowski", p=p) for p in (1, 3.5, np.inf)),
]


@pytest.mark.part(3)
@checked(TABLES)
def test_a_rule_keeps_the_laws(one):
    check_call(one)


@pytest.mark.slow
@checked(MANY)
def test_a_rule_keeps_the_laws_by_weights_and_parameters(one):
    check_call(one)


@pytest.mark.parametrize("name", [*SMOOTH, *POSITIVE])
def test_distances_of_vectors_are_those_of_tables(name):
    u, v = positive(4), positive(4)
    metric = getattr(sd, name)
    np.testing.assert_allclose(metric(u, v), sd.cdist(u[None], v[None], name)[0, 0])
    found = grad(lambda u, v: metric(u, v) * 1.0, (0, 1))(u, v)
    table = grad(lambda u, v: sd.cdist(u[None], v[None], name)[0, 0], (0, 1))(u, v)
    np.testing.assert_allclose(found, table, atol=1e-14)


def test_every_function_has_a_decision():
    assert set(undecided(scipy.spatial, spatial)) <= {
        "convex_hull_plot_2d",
        "delaunay_plot_2d",
        "tsearch",
        "voronoi_plot_2d",
    }
    assert undecided(scipy.spatial.distance, sd) in ([], ["norm"], ["callable"])
    vectors = {f"scipy.spatial.distance.{name}" for name in (*SMOOTH, *POSITIVE)}
    rest = {"hamming", "jaccard", "mahalanobis", "seuclidean"}
    assert set(uncalled(sd, TABLES)) <= vectors | {f"scipy.spatial.distance.{n}" for n in rest}


def test_vectors_with_matrices_and_variances():
    u, v = normal(3), normal(3)
    expected = grad(lambda u: np.sqrt((u - v) @ INVERSE @ (u - v)))(u)
    np.testing.assert_allclose(grad(sd.mahalanobis)(u, v, INVERSE), expected)
    variances = positive(3)
    expected = grad(lambda w: np.sqrt(np.sum((u - v) ** 2 / w)))(variances)
    np.testing.assert_allclose(grad(sd.seuclidean, 2)(u, v, variances), expected)


def test_points_that_coincide_have_gradient_zero():
    x = np.array([[1.0, 2.0], [1.0, 2.0], [4.0, 6.0]])
    slopes = grad(lambda x: np.sum(sd.pdist(x)))(x)
    np.testing.assert_allclose(slopes, [[-0.6, -0.8], [-0.6, -0.8], [1.2, 1.6]])
    assert np.array_equal(grad(lambda x: sd.cdist(x, x)[0, 1])(x), np.zeros((3, 2)))
    squares = hessian(lambda x: sd.sqeuclidean(x, np.zeros(2)))(np.zeros(2))
    np.testing.assert_allclose(squares, 2 * np.eye(2))


def test_distant_points_keep_their_digits():
    x, y = normal(3, 2) * 1e-3 + 1e6, normal(4, 2) * 1e-3 + 1e6
    found = grad(lambda x: np.sum(sd.cdist(x, y)))(x)
    gaps = x[:, None] - y
    expected = np.sum(gaps / np.linalg.norm(gaps, axis=-1, keepdims=True), axis=1)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_distances_whose_squares_under_or_overflow(scale):
    x, y = np.array([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]]), np.array([[0.0, 0.0], [3.0, 1.0]])
    for f in (
        lambda x, y: np.sum(sd.cdist(x, y)),
        lambda x, y: np.sum(sd.pdist(x)),
        lambda x, y: np.sum(sd.cdist(x, y, "minkowski", p=3)),
        lambda x, y: sd.euclidean(x[0], x[2]),
    ):
        with np.errstate(all="ignore"):
            slope = grad(f)(x * scale, y * scale)
            change = jvp(f, (x * scale, y * scale), (x, y))[1]
        np.testing.assert_allclose(slope, grad(f)(x, y), rtol=1e-13)
        np.testing.assert_allclose(change, jvp(f, (x, y), (x, y))[1], rtol=1e-13)


def test_great_circles():
    u, v = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.6, 0.8])
    t = np.linspace(0, 1, 4)
    value, velocity = jvp(lambda t: spatial.geometric_slerp(u, v, t), (t,), (np.ones(4),))
    np.testing.assert_allclose(value, scipy.spatial.geometric_slerp(u, v, t), atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(velocity, axis=1), np.pi / 2)


def test_a_vmap_of_points_is_a_loop():
    x, y = normal(2, 3, 4), normal(5, 4)
    expected = [scipy.spatial.distance.cdist(one, y) for one in x]
    np.testing.assert_allclose(vmap(lambda x: sd.cdist(x, y))(x), expected)


def test_a_vmap_of_what_steps_is_a_loop():
    x = normal(2, 5, 3)
    for f in (
        lambda x: sd.cdist(x, x[::-1], "yule"),
        lambda x: sd.pdist(x, "jaccard"),
        lambda x: sd.directed_hausdorff(x, x[:2] + 1.0),
        lambda x: sd.directed_hausdorff(x, np.eye(3)),
    ):
        together, parts = vmap(f)(x), [f(one) for one in x]
        if isinstance(together, tuple):
            assert all(np.allclose(own, each) for own, *each in zip(together, *parts, strict=True))
        else:
            np.testing.assert_allclose(together, parts)


def test_procrustes_of_single_precision_is_double():
    x = normal(4, 2).astype(np.float32)
    value = jvp(lambda x: spatial.procrustes(x, x[::-1]), (x,), (x,))[0]
    assert [part.dtype for part in value] == [np.float64] * 3


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0])
def test_minkowski_distances_by_their_order(p):
    x, w = normal(4, 3), positive(3)
    for f in (
        lambda p, x: sd.pdist(x, "minkowski", p=p),
        lambda p, x: sd.cdist(x, x, "minkowski", p=p, w=w),  # with points that coincide
        lambda p, x: sd.minkowski(x[0], x[1], p, w),
    ):
        slope = grad(lambda p, f=f: np.sum(f(p, x)))(p)
        near = (np.sum(f(p + 1e-6, x)) - np.sum(f(p - 1e-6, x))) / 2e-6
        np.testing.assert_allclose(slope, near, rtol=1e-7)
        with_order = grad(lambda p, x, f=f: np.sum(f(p, x)), (0, 1))(p, x)[1]
        np.testing.assert_allclose(with_order, grad(lambda x, f=f: np.sum(f(p, x)))(x))


@pytest.mark.parametrize("box", [2.0, [2.0, 0.0, 1.5]])
def test_distances_in_a_periodic_box_are_those_of_the_nearest_image(box):
    x, at = 0.2 + positive(6, 3) / 2, 5 * normal(4, 3)
    for k, p in ((1, 2), (3, 2), ([2, 5], 3), (2, np.inf)):

        def total(m, x, at, k=k, p=p):
            return np.sum(m.cKDTree(x, boxsize=box).query(at, k, p=p)[0] ** 2)

        slopes = grad(lambda x, at, f=total: f(spatial, x, at), (0, 1))(x, at)
        assert vjp(lambda x, f=total: f(spatial, x, at), x)[0] == pytest.approx(
            total(scipy.spatial, x, at)
        )
        for i, slope in enumerate(slopes):
            dots = [normal(*v.shape) * (i == j) for j, v in enumerate((x, at))]
            ends = [total(scipy.spatial, x + e * dots[0], at + e * dots[1]) for e in (-1e-6, 1e-6)]
            near = (ends[1] - ends[0]) / 2e-6
            np.testing.assert_allclose(np.sum(slope * dots[i]), near, rtol=1e-6, atol=1e-6)


@pytest.mark.filterwarnings("ignore:.*removed in SciPy 1.20:DeprecationWarning")
def test_minkowski_distances_of_single_precision_are_double():
    x, y = (positive(4, 3).astype(np.float32) for _ in range(2))
    for name in ("minkowski_distance", "minkowski_distance_p", "distance_matrix"):
        for p in (1, 2, np.inf):
            found = vjp(lambda x, n=name, p=p: getattr(spatial, n)(x, y, p), x)[0]
            assert found.dtype == np.float64
            np.testing.assert_allclose(found, getattr(scipy.spatial, name)(x, y, p), rtol=1e-14)


def test_distances_of_no_points_have_no_slopes():
    for metric in ("euclidean", "sqeuclidean"):
        one, other = grad(lambda x, y, m=metric: np.sum(sd.cdist(x, y, m)), (0, 1))(
            normal(0, 3), normal(4, 3)
        )
        assert one.shape == (0, 3)
        assert np.array_equal(other, np.zeros((4, 3)))


@pytest.mark.parametrize("kind", ["KDTree", "cKDTree"])
def test_trees_are_pickled_and_copied(kind):
    x, at = positive(9, 2) % 1.0, positive(2) % 1.0
    tree = getattr(spatial, kind)(x, boxsize=1.0)
    expected = getattr(scipy.spatial, kind)(x, boxsize=1.0).query(at, 3)
    for other in (pickle.loads(pickle.dumps(tree)), copy.copy(tree), copy.deepcopy(tree)):
        assert type(other) is type(tree)
        np.testing.assert_array_equal(other.query(at, 3), expected)
        assert other.query_ball_point(at, 0.4) == tree.query_ball_point(at, 0.4)
    slope = grad(lambda x: copy.copy(spatial.KDTree(x)).query(at)[0])(x)
    np.testing.assert_array_equal(slope, grad(lambda x: spatial.KDTree(x).query(at)[0])(x))
    assert np.any(slope)


def test_metrics_of_truth_values():
    u, v = normal(4), normal(4)
    with pytest.raises(NotDifferentiableError, match="weights"):
        grad(lambda w: sd.jaccard(u, v, w))(positive(4))
    with pytest.raises(ValueError, match="unknown metric"):
        grad(lambda u: sd.cdist(u, u, "nonsense")[0, 0])(normal(2, 2))
