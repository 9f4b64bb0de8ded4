"""Histograms: by the weights, by what the edges are made from, and counts that are constant."""

from __future__ import annotations

import numpy as np
import pytest

from tapegrad import grad, vmap
from tapegrad.testing import check_rule

X = np.array([-1.3, 2.2, 0.4, -2.0, 0.9, -0.8, 1.7])
Y = 0.97 * X[::-1] + 0.013
W = np.linspace(0.3, 1.4, 7)
EDGES = np.array([-2.5, -0.5, 0.2, 3.0])
each_density = pytest.mark.parametrize("density", [None, True])


@each_density
def test_histograms_of_one_dimension(density):
    for weights in (None, W, W.astype(np.float32), W.tolist()):
        check_rule(np.histogram, X, 2, None, density, weights)
        check_rule(np.histogram, X, 5, (-1.21, 1.5), density, weights)
        check_rule(np.histogram, X, EDGES, None, density, weights)
        check_rule(np.histogram, X, EDGES.tolist(), None, density, weights)
    check_rule(np.histogram, X, 3, weights=W + 1j)
    check_rule(np.histogram, X.reshape(7, 1), 3, weights=W.reshape(7, 1), density=density)
    check_rule(np.histogram, [1, 2, 3, 3], 3, weights=W[:4], density=density)


@pytest.mark.slow
@each_density
def test_histograms_of_several_dimensions(density):
    for weights in (None, W, W.tolist()):
        for bins in (2, [2, 3], [EDGES, 2], [EDGES.tolist(), EDGES.tolist()]):
            check_rule(np.histogramdd, np.stack([X, Y], 1), bins, None, density, weights)
            check_rule(np.histogramdd, [X, Y], bins, [None, (-2.1, 2.3)], density, weights)
            check_rule(np.histogram2d, X, Y, bins, None, density, weights)
        check_rule(np.histogram2d, X, Y, EDGES, None, density, weights)
        check_rule(np.histogramdd, X, 3, None, density, weights)


def test_weights_on_edges_and_outside():
    x = np.array([0.0, 1.0, 2.0, 2.5, -1.0, np.nan])

    def second(w):
        return np.histogram(x, [0, 1, 2], weights=w)[0][1]

    np.testing.assert_array_equal(grad(second)(np.ones(6)), [0, 1, 1, 0, 0, 0])
    pairs = np.stack([x[:5], x[:5]], axis=1)
    corner = grad(lambda w: np.histogramdd(pairs, [[0, 1, 2]] * 2, weights=w)[0][1, 1])
    np.testing.assert_array_equal(corner(np.ones(5)), [0, 1, 1, 0, 0])


@pytest.mark.parametrize("bins", [3, "auto", "sqrt"])
def test_edges_move_with_the_outermost_elements(bins):
    check_rule(np.histogram_bin_edges, X, bins)
    np.testing.assert_array_equal(
        grad(lambda x: np.histogram(x, bins)[1][-1])(X), (X.max() == X).astype(float)
    )
    np.testing.assert_array_equal(
        grad(lambda x: np.histogram_bin_edges(x, bins, range=(-3, 3))[0] + 0 * x[0])(X),
        np.zeros(7),
    )


def test_edges_from_traced_ranges_and_bins():
    assert grad(lambda end: np.histogram_bin_edges(X * end / end, 4, (0.0, end))[1])(2.0) == 0.25
    assert grad(lambda x: np.histogram(x, 4, range=(0, x[1]))[1][1])(X)[1] == 0.25
    density = grad(lambda b: np.histogram(X, b, density=True)[0][0])(EDGES)
    width, share = EDGES[1] - EDGES[0], 3 / 7
    np.testing.assert_allclose(density, [share / width**2, -share / width**2, 0, 0])


def test_counts_are_plain():
    def counted(x):
        counts = np.histogram(x, EDGES)[0]
        assert type(counts) is np.ndarray
        return np.sum(x * counts[0])

    np.testing.assert_array_equal(grad(counted)(X), np.full(7, 3.0))


def test_errors_of_histograms_are_numpys():
    for bins, options, error, match in (
        (0, {}, ValueError, "must be positive"),
        ([2, 1], {}, ValueError, "increase monotonically"),
        (2, {"weights": W[:3]}, ValueError, "same shape"),
        (2, {"range": (1, 0)}, ValueError, "larger than min"),
    ):
        with pytest.raises(error, match=match):
            grad(lambda x, b=bins, o=options: np.sum(np.histogram(x, b, **o)[1]))(X)
    with pytest.raises(ValueError, match="same shape"):
        grad(lambda w: np.histogram(X, 2, weights=w)[0][0])(W[:3])
    with pytest.raises(TypeError, match="not supported for weighted"):
        grad(lambda w: np.histogram(X, "auto", weights=w)[0][0])(W)
    with pytest.raises(ValueError, match="same length"):
        grad(lambda x: np.sum(np.histogram2d(x, W[:3])[1]))(X)


# --- bincount


def test_bincount():
    check_rule(np.bincount, [0, 2, 2], W[:3])
    check_rule(np.bincount, np.array([0, 2, 2]), weights=W[:3].astype(np.float32), minlength=7)
    check_rule(np.bincount, np.zeros(0, int), np.zeros(0), 2)
    with pytest.raises(TypeError, match="Cannot cast"):
        grad(lambda x: np.sum(np.bincount(x)))(np.ones(3))
    with pytest.raises(TypeError, match="Cannot cast"):
        grad(lambda w: np.sum(np.bincount([0, 1], w).real))(np.ones(2) + 0j)
    with pytest.raises(ValueError, match="same length"):
        grad(lambda w: np.sum(np.bincount([0, 1], w)))(np.ones(3))


def test_weights_of_several_examples():
    rows = np.arange(6.0).reshape(2, 3)
    counted = vmap(lambda w: np.bincount([0, 1, 1], w))(rows)
    np.testing.assert_array_equal(counted, [[0, 3], [3, 9]])
    filled = vmap(lambda w: np.histogram([1, 2, 3], 2, weights=w)[0])(rows)
    np.testing.assert_array_equal(filled, [[0, 3], [3, 9]])
