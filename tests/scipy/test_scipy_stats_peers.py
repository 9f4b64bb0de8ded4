"""scipy.stats against jax.scipy.stats and HIPS autograd."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("scipy")
from tapegrad import grad
from tapegrad.scipy import stats

pytestmark = pytest.mark.peers

X, P = np.array([0.3, 0.9, 2.0]), np.array([0.2, 0.5, 0.7])
CALLS = {
    "bernoulli.logpmf": (np.array([0.0, 1.0, 1.0]), 0.4),
    "beta.logpdf": (P, 1.5, 2.5, 0.0, 1.5),
    "binom.logpmf": (np.array([0.0, 2.0, 3.0]), 4.0, 0.4),
    "cauchy.logcdf": (X, 0.1, 1.5),
    "chi2.logpdf": (X, 3.5, 0.1, 1.5),
    "expon.logpdf": (X, 0.1, 1.5),
    "gamma.logpdf": (X, 2.5, 0.1, 1.5),
    "gamma.logsf": (X, 2.5, 0.1, 1.5),
    "gennorm.logpdf": (X, 1.5),
    "geom.logpmf": (np.array([1.0, 2.0, 4.0]), 0.3),
    "laplace.cdf": (X, 0.1, 1.5),
    "logistic.logpdf": (X, 0.1, 1.5),
    "nbinom.logpmf": (np.array([1.0, 2.0, 4.0]), 3.5, 0.3),
    "norm.logcdf": (X, 0.1, 1.5),
    "norm.logpdf": (X, 0.1, 1.5),
    "norm.ppf": (P, 0.1, 1.5),
    "pareto.logpdf": (X + 1, 2.5),
    "poisson.logpmf": (np.array([0.0, 2.0, 3.0]), 2.5),
    "t.logpdf": (X, 3.5, 0.1, 1.5),
    "truncnorm.logpdf": (X, -1.0, 3.0),
    "uniform.logpdf": (X, 0.1, 2.5),
    "vonmises.logpdf": (X, 1.5),
    "wrapcauchy.logpdf": (X, 0.4),
}
OF_COUNTS = ("bernoulli", "binom", "geom", "nbinom", "poisson")


def places(call, args):
    """The arguments that move: not counts, nor how many there are."""
    first = 1 if call.startswith(OF_COUNTS) else 0
    return tuple(range(2 if call.startswith("binom") else first, len(args)))


@pytest.mark.slow  # JAX compiles for a while
@pytest.mark.parametrize("call", CALLS)
def test_gradients_are_those_of_jax(call):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    name, method = call.split(".")
    args = CALLS[call]
    reference = getattr(getattr(jax.scipy.stats, name), method)
    own = getattr(getattr(stats, name), method)
    where = places(call, args)
    found = grad(lambda *p: np.sum(own(*p)), where)(*args)
    for ours, theirs in zip(
        found, jax.grad(lambda *p: reference(*p).sum(), where)(*args), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-10)


@pytest.mark.slow
def test_multivariate_gradients_are_those_of_jax():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    mean, cov = np.array([0.1, -0.2]), np.array([[2.0, 0.3], [0.3, 1.0]])
    points = np.array([[0.5, 1.0], [-1.0, 0.2]])
    reference = jax.grad(
        lambda *p: jax.scipy.stats.multivariate_normal.logpdf(*p).sum(), (0, 1, 2)
    )(points, mean, cov)
    found = grad(lambda *p: np.sum(stats.multivariate_normal.logpdf(*p)), (0, 1, 2))(
        points, mean, cov
    )
    np.testing.assert_allclose(found[0], reference[0])
    np.testing.assert_allclose(found[1], reference[1])
    symmetric = (reference[2] + reference[2].T) / 2
    np.testing.assert_allclose(found[2], symmetric, rtol=1e-10)
    data, weights = np.array([[0.1, 1.0, -0.4, 2.0], [0.3, -1.0, 0.5, 0.9]]), np.arange(1.0, 5)
    kernels = grad(lambda d: np.sum(stats.gaussian_kde(d, weights=weights).logpdf(points)))(data)
    of_jax = jax.grad(
        lambda d: jax.scipy.stats.gaussian_kde(d, weights=weights).logpdf(points).sum()
    )(data)
    np.testing.assert_allclose(kernels, of_jax, rtol=1e-8)


@pytest.mark.parametrize("call", ["norm.logpdf", "norm.cdf", "t.logpdf"])
def test_gradients_are_those_of_hips_autograd(call):
    autograd = pytest.importorskip("autograd")
    import autograd.scipy.stats as peers

    name, method = call.split(".")
    args = CALLS.get(call, (X, 0.1, 1.5))
    try:
        reference = getattr(getattr(peers, name), method)
    except AttributeError:
        pytest.skip("this HIPS autograd lacks it")
    own = getattr(getattr(stats, name), method)
    where = (0, *range(len(args) - 2, len(args)))
    for at in where:
        found = grad(lambda *p: np.sum(own(*p)), at)(*args)
        expected = autograd.grad(lambda *p: reference(*p).sum(), at)(*args)
        np.testing.assert_allclose(found, expected, rtol=1e-8)
