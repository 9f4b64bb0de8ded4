"""`torch.distributions`: densities, entropies and divergences as PyTorch's; laws of draws."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import agree
from pytorch_answers import of_pytorch

pytest.importorskip("scipy")

from scipy import stats

import tapegrad.torch as torch
from tapegrad._errors import NotDifferentiableError
from tapegrad.torch._rules.gamma import slope_of_draws

RNG = np.random.default_rng(1)
R = RNG.normal(size=3)
P = RNG.uniform(0.3, 2.0, size=3)
Q = RNG.uniform(0.4, 1.7, size=(2, 3))
U = RNG.uniform(0.1, 0.9, size=3)
W = RNG.uniform(0.1, 0.9, size=(2, 3))
S = RNG.normal(size=(3, 3))
L = np.tril(S, -1) + np.diag(P)

# (name, parameters by name, values)
TABLE = [
    ("Normal", {"loc": R, "scale": P}, Q),
    ("Laplace", {"loc": R, "scale": P}, Q),
    ("Cauchy", {"loc": R, "scale": P}, Q),
    ("Gumbel", {"loc": R, "scale": P}, Q),
    ("LogNormal", {"loc": R, "scale": P}, Q),
    ("HalfNormal", {"scale": P}, Q),
    ("HalfCauchy", {"scale": P}, Q),
    ("Exponential", {"rate": P}, Q),
    ("Uniform", {"low": R - 3, "high": R + 3}, R),
    ("Gamma", {"concentration": P, "rate": Q}, Q),
    ("Chi2", {"df": P}, Q),
    ("Beta", {"concentration1": P, "concentration0": Q}, W),
    ("Dirichlet", {"concentration": Q}, Q / Q.sum(-1, keepdims=True)),
    ("StudentT", {"df": P + 2, "loc": R, "scale": Q}, Q),
    ("Bernoulli", {"probs": U}, np.array([0.0, 1.0, 1.0])),
    ("Bernoulli", {"logits": R}, np.array([0.0, 1.0, 1.0])),
    ("Geometric", {"probs": U}, np.array([0.0, 3.0, 1.0])),
    ("Geometric", {"logits": R}, np.array([0.0, 3.0, 1.0])),
    ("Binomial", {"total_count": 5, "probs": U}, np.array([0.0, 3.0, 5.0])),
    ("Binomial", {"total_count": 5, "logits": R}, np.array([0.0, 3.0, 5.0])),
    ("Poisson", {"rate": P}, np.array([0.0, 3.0, 1.0])),
    ("Categorical", {"probs": W}, np.array([0, 2])),
    ("Categorical", {"logits": Q}, np.array([[0, 2], [1, 1]])),
    ("OneHotCategorical", {"probs": W}, np.eye(3)[[0, 2]]),
    ("Multinomial", {"total_count": 4, "probs": U}, np.array([1.0, 2.0, 1.0])),
    ("MultivariateNormal", {"loc": R, "scale_tril": L}, Q),
    ("MultivariateNormal", {"loc": R, "covariance_matrix": L @ L.T}, Q),
    ("MultivariateNormal", {"loc": R, "precision_matrix": L @ L.T}, Q),
]
ROWS = pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]}-{'-'.join(row[1])}")
PROPERTIES = ["mean", "variance", "stddev", "mode"]


def made(library, row, arrays=None):
    name, parameters, _ = row
    given = iter(arrays) if arrays is not None else None
    options = {}
    for word, value in parameters.items():
        if isinstance(value, np.ndarray):
            options[word] = next(given) if given is not None else library.tensor(value)
        else:
            options[word] = value
    return getattr(library.distributions, name)(**options)


def arrays_of(row):
    return [value for value in row[1].values() if isinstance(value, np.ndarray)]


def against_pytorch(row, call, *more):
    def both(library, *tensors):
        count = len(arrays_of(row))
        return call(library, made(library, row, tensors[:count]), *tensors[count:])

    agree(both, *arrays_of(row), *more, name=False, tolerance=1e-9)


@ROWS
def test_log_prob(row):
    against_pytorch(row, lambda _, p, x: p.log_prob(x), row[2])


@ROWS
def test_entropy(row):
    if row[0] == "Multinomial":  # PyTorch computes it in single precision
        expected = stats.multinomial(4, U / U.sum()).entropy()
        np.testing.assert_allclose(made(torch, row).entropy().numpy(), expected, 1e-12)
        return
    against_pytorch(row, lambda _, p: p.entropy())


@pytest.mark.parametrize("name", ["cdf", "icdf"])
@ROWS
def test_cdf(row, name):
    if row[0] in ("Gamma", "Chi2") and name == "cdf":
        # PyTorch has no derivative of it by the shape, and raises in the gradient.
        def seen(library):
            return made(library, row).cdf(library.tensor(row[2])).numpy()

        np.testing.assert_allclose(seen(torch), of_pytorch(seen), 1e-9)
        return
    against_pytorch(row, lambda _, p, x: getattr(p, name)(x), row[2] if name == "cdf" else U)


@pytest.mark.parametrize("name", PROPERTIES)
@ROWS
def test_moments(row, name):
    if (row[0], name) == ("HalfCauchy", "stddev"):
        return  # infinite, as the variance
    against_pytorch(row, lambda _, p: getattr(p, name))


@ROWS
def test_shapes_reprs_and_supports(row):
    def seen(library):
        p = made(library, row)
        support = None if row[0] == "Uniform" else repr(p.support)
        shapes = [tuple(x) for x in (p.batch_shape, p.event_shape, p.sample((4, 2)).shape)]
        return repr(p), p.has_rsample, support, shapes, str(p.sample().dtype)

    assert seen(torch) == of_pytorch(seen)
    mine = made(torch, row)
    drawn = mine.sample((4, 2))
    wide = mine.expand((5, *mine.batch_shape))
    assert tuple(wide.sample().shape) == (5, *mine.batch_shape, *mine.event_shape)
    assert tuple(wide.log_prob(drawn[0, 0]).shape) == (5, *mine.batch_shape)


@ROWS
def test_divergence(row):
    other = (
        row[0],
        {k: v * 0.9 if k not in ("total_count", "high") else v for k, v in row[1].items()},
    )

    def call(library, p):
        return library.distributions.kl_divergence(p, made(library, (*other, None)))

    against_pytorch(row, call)


OF_SCIPY = {
    "Normal": lambda loc, scale: stats.norm(loc, scale),
    "Laplace": lambda loc, scale: stats.laplace(loc, scale),
    "Cauchy": lambda loc, scale: stats.cauchy(loc, scale),
    "Gumbel": lambda loc, scale: stats.gumbel_r(loc, scale),
    "LogNormal": lambda loc, scale: stats.lognorm(scale, scale=np.exp(loc)),
    "HalfNormal": lambda scale: stats.halfnorm(scale=scale),
    "HalfCauchy": lambda scale: stats.halfcauchy(scale=scale),
    "Exponential": lambda rate: stats.expon(scale=1 / rate),
    "Uniform": lambda low, high: stats.uniform(low, high - low),
    "Gamma": lambda concentration, rate: stats.gamma(concentration, scale=1 / rate),
    "Chi2": lambda df: stats.chi2(df),
    "Beta": lambda concentration1, concentration0: stats.beta(concentration1, concentration0),
    "StudentT": lambda df, loc, scale: stats.t(df, loc, scale),
    "Geometric": lambda probs: stats.geom(probs, -1),
    "Bernoulli": lambda probs: stats.bernoulli(probs),
    "Binomial": lambda total_count, probs: stats.binom(total_count, probs),
    "Poisson": lambda rate: stats.poisson(rate),
    "Multinomial": lambda total_count, probs: stats.multinomial(total_count, probs / probs.sum()),
    "MultivariateNormal": lambda loc, scale_tril: stats.multivariate_normal(
        loc, scale_tril @ scale_tril.T
    ),
}


BY_OTHER_WORDS = {"logits", "covariance_matrix", "precision_matrix"}
OF_BOTH = [row for row in TABLE if row[0] in OF_SCIPY and BY_OTHER_WORDS.isdisjoint(row[1])]


@pytest.mark.parametrize("row", OF_BOTH, ids=lambda row: row[0])
def test_log_prob_as_scipys(row):
    name, parameters, value = row
    theirs = OF_SCIPY[name](**parameters)
    log_prob = theirs.logpmf if hasattr(theirs, "pmf") else theirs.logpdf
    found = made(torch, row).log_prob(torch.tensor(value)).numpy()
    np.testing.assert_allclose(found, log_prob(value), 1e-10, 1e-12)


@ROWS
def test_draws_have_the_moments(row):
    torch.manual_seed(3)
    distribution = made(torch, row)
    x = distribution.sample((40_000,))
    if row[0] in ("Cauchy", "HalfCauchy", "Categorical"):
        if row[0] == "Categorical":
            share = (x == 1).double().mean(0)
            np.testing.assert_allclose(
                share.numpy(), distribution.probs[..., 1].numpy(), atol=0.02
            )
        else:
            assert abs(distribution.cdf(x).mean() - 0.5).max() < 0.02
        return
    spread = distribution.stddev.numpy()
    assert (abs(x.mean(0).numpy() - distribution.mean.numpy()) < 6 * spread / 200).all()
    if row[0] not in ("LogNormal", "StudentT"):
        np.testing.assert_allclose(x.std(0).numpy(), spread, rtol=0.1)


# (shape a, draw x, dx/da), by 50 digits of mpmath at quantiles from 1e-4 to 1 - 1e-4
SLOPES = [
    (0.001, 9.82165964406889e-47, 1.0348231948431981e-41),
    (0.001, 1.5010281472784444, 673.6411738802667),
    (0.05, 5.844632057286446e-81, 2.153700435406775e-77),
    (0.05, 5.844632057286505e-21, 5.3876891750963356e-18),
    (0.05, 5.573878440746256e-07, 0.0001549779825748879),
    (0.05, 0.07631711390918905, 3.51795960477596),
    (0.05, 4.624100822100498, 18.859098569289177),
    (0.4, 7.415354682956746e-11, 4.312677345484947e-09),
    (0.4, 0.0023488772409990064, 0.03525487001397505),
    (0.4, 0.14507814164343544, 0.7821570674747038),
    (0.4, 1.1298428254726487, 2.3248674173058994),
    (0.4, 7.160260326340921, 4.322868715112565),
    (1.0, 0.0001000050003333584, 0.0009634063112691449),
    (1.0, 0.10536051565782636, 0.29996020805967094),
    (1.0, 0.6931471805599455, 0.9680448304420446),
    (1.0, 2.302585092994046, 1.7351460060823989),
    (1.0, 9.210340371976292, 2.896294011889523),
    (2.7, 0.05687062840026728, 0.08638309837406064),
    (2.7, 0.9214898011040845, 0.5902490450964719),
    (2.7, 2.3749804077000483, 0.9965570640121734),
    (2.7, 4.902324587159055, 1.4119301191977043),
    (2.7, 13.300941012107012, 2.1206876645912427),
    (40.0, 20.62223218403021, 0.7079568230145016),
    (40.0, 32.13892223408757, 0.8983104694869083),
    (40.0, 39.6671650106891, 0.9999874282474619),
    (40.0, 48.28910180763351, 1.1016952726790126),
    (40.0, 67.89126055732686, 1.2930606905992805),
    (10000.0, 9632.36824111517, 0.9814052785711653),
    (10000.0, 9872.060875049736, 0.9935921468545164),
    (10000.0, 9999.666668642047, 0.9999999998024547),
    (10000.0, 10128.367373674177, 1.0064078532341088),
    (10000.0, 10376.185652970515, 1.0185947375951276),
]


@pytest.mark.parametrize(("a", "x", "slope"), SLOPES)
def test_the_slope_of_gamma_draws(a, x, slope):
    np.testing.assert_allclose(slope_of_draws(np.array(x), np.array(a)), slope, 1e-10)


@pytest.mark.slow
def test_gradients_of_draws():
    torch.manual_seed(0)
    a = torch.full((200_000,), 1.3, dtype=torch.float64).requires_grad_()
    x = torch.distributions.Gamma(a, 2.0).rsample()
    assert type(x.grad_fn).__name__ == "DivBackward0"
    (slope,) = torch.autograd.grad(x.sum(), a, create_graph=True)
    assert abs(slope.mean().item() - 0.5) < 0.01  # d mean / da = 1 / rate
    with pytest.raises(NotDifferentiableError, match="not differentiable again"):
        torch.autograd.grad(slope.sum(), a)
    _, tangent = torch.func.jvp(
        lambda a: torch.distributions.Gamma(a, 2.0).rsample(), (a.detach(),), (a.detach(),)
    )
    assert abs(tangent.mean().item() - 0.5 * 1.3) < 0.02


def test_the_score_of_a_normal_draw():
    torch.manual_seed(0)
    loc = torch.tensor([0.5, -1.0]).requires_grad_()
    scale = torch.tensor([1.0, 2.0]).requires_grad_()
    p = torch.distributions.Independent(torch.distributions.Normal(loc, scale), 1)
    x = p.rsample()
    z = ((x - loc) / scale).detach()
    grads = torch.autograd.grad(x.sum(), [loc, scale])
    np.testing.assert_allclose(grads[0].numpy(), 1.0)
    np.testing.assert_allclose(grads[1].numpy(), z.numpy(), rtol=1e-5)
    assert p.log_prob(x).shape == ()


TRANSFORMS = [
    lambda d: d.transforms.ExpTransform(),
    lambda d: d.transforms.SigmoidTransform(),
    lambda d: d.transforms.TanhTransform(),
    lambda d: d.transforms.SoftplusTransform(),
    lambda d: d.transforms.AffineTransform(0.5, -2.0),
    lambda d: d.transforms.ComposeTransform(
        [d.transforms.AffineTransform(0.5, 2.0), d.transforms.ExpTransform()]
    ),
    lambda d: d.transforms.SigmoidTransform().inv,
]


@pytest.mark.parametrize("number", range(len(TRANSFORMS)))
def test_transforms(number):
    def jacobian(library, x):
        transform = TRANSFORMS[number](library.distributions)
        y = transform(x)
        return y, transform.inv(y), transform.log_abs_det_jacobian(x, y)

    agree(jacobian, U, name=False)

    def density(library, loc, x):
        d = library.distributions
        p = d.TransformedDistribution(d.Normal(loc, 1.0), [TRANSFORMS[number](d)])
        return p.log_prob(x), p.cdf(x)

    agree(density, R, U, name=False)


ERRORS = [
    lambda t, d: d.Normal(t.tensor(0.0), t.tensor(-1.0)),
    lambda t, d: d.Normal(0.0, 1.0).log_prob(0.5),
    lambda t, d: d.Normal(t.zeros(3), 1.0).log_prob(t.zeros(2)),
    lambda t, d: d.Normal(t.zeros(2), t.ones(2)).log_prob(t.tensor([1.0, float("nan")])),
    lambda t, d: d.Bernoulli(),
    lambda t, d: d.Bernoulli(probs=t.tensor(2.0)),
    lambda t, d: d.Bernoulli(probs=t.tensor(0.5)).log_prob(t.tensor(0.25)),
    lambda t, d: d.Categorical(t.tensor(1.0)),
    lambda t, d: d.Categorical(t.ones(3)).log_prob(t.tensor(5)),
    lambda t, d: d.Poisson(t.tensor(1.0)).rsample(),
    lambda t, d: d.kl_divergence(d.Uniform(0.0, 1.0), d.Cauchy(0.0, 1.0)),
    lambda t, d: d.Independent(d.Normal(0.0, 1.0), 1),
    lambda t, d: d.MultivariateNormal(t.zeros(2)),
    lambda t, d: d.MultivariateNormal(t.zeros(2), t.tensor([[1.0, 2.0], [2.0, 1.0]])),
    lambda t, d: d.Dirichlet(t.tensor(1.0)),
    lambda t, d: d.Chi2(t.tensor(-1.0)),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    def said(library):
        with pytest.raises((ValueError, NotImplementedError)) as error:
            ERRORS[number](library, library.distributions)
        return type(error.value).__name__, str(error.value)

    assert said(torch) == of_pytorch(said)


def test_degrees_of_freedom_are_checked_although_gamma_has_them_as_its_concentration():
    with pytest.raises(ValueError, match=r"Expected parameter df .* of distribution Chi2\(\)"):
        torch.distributions.Chi2(-1.0)
    assert torch.distributions.Chi2(-1.0, validate_args=False).df == -1.0


def test_a_subclass_gives_the_factor_of_a_covariance_as_gpytorch_does():
    class Lazy(torch.distributions.MultivariateNormal):
        def __init__(self, loc, covariance):
            self.loc, self.covariance = loc, covariance
            torch.distributions.Distribution.__init__(
                self, torch.Size(), loc.shape, validate_args=False
            )

        @property
        def _unbroadcasted_scale_tril(self):
            return torch.linalg.cholesky(self.covariance)

    loc, covariance = torch.zeros(2), torch.tensor([[2.0, 0.5], [0.5, 1.0]])
    x = torch.tensor([0.5, -1.0])
    plain = torch.distributions.MultivariateNormal(loc, covariance)
    assert Lazy(loc, covariance).log_prob(x) == plain.log_prob(x)
