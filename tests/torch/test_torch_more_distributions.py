"""The distributions of powers, mixtures, matrices and relaxed classes; transforms; divergences."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from agreement import agree
from pytorch_answers import of_pytorch

pytest.importorskip("scipy")

from scipy import integrate, stats

import tapegrad.torch as torch

RNG = np.random.default_rng(7)
R = RNG.normal(size=3)
P = RNG.uniform(0.6, 2.0, size=3)
Q = RNG.uniform(0.4, 1.7, size=(2, 3))
U = RNG.uniform(0.1, 0.4, size=3)
W = RNG.uniform(0.1, 0.9, size=(2, 3))
SHARES = RNG.dirichlet(np.ones(3), size=2)
S = RNG.normal(size=(3, 3))
L = np.tril(S, -1) + np.diag(P)
D = torch.distributions

# (name, parameters by name, values)
TABLE = [
    ("Weibull", {"scale": P, "concentration": P + 1}, Q),
    ("Pareto", {"scale": P, "alpha": P + 3}, P + Q),
    ("Kumaraswamy", {"concentration1": P + 1, "concentration0": P}, W),
    ("FisherSnedecor", {"df1": P + 3, "df2": P + 6}, Q),
    ("GeneralizedPareto", {"loc": R, "scale": P, "concentration": U}, R + Q),
    ("GeneralizedPareto", {"loc": R, "scale": P, "concentration": 0 * U}, R + Q),
    ("GeneralizedPareto", {"loc": R, "scale": P, "concentration": -U}, R + 0.3 * Q),
    ("InverseGamma", {"concentration": P + 3, "rate": Q}, Q),
    ("ContinuousBernoulli", {"probs": U}, W),
    ("ContinuousBernoulli", {"probs": np.full(3, 0.5)}, W),
    ("ContinuousBernoulli", {"logits": R}, W),
    ("VonMises", {"loc": R, "concentration": 4 * P}, Q),
    ("LowRankMultivariateNormal", {"loc": R, "cov_factor": S[:, :2], "cov_diag": P}, Q),
    ("NegativeBinomial", {"total_count": 4 * P, "probs": U}, np.array([0.0, 3.0, 1.0])),
    ("NegativeBinomial", {"total_count": 4 * P, "logits": R}, np.array([0.0, 3.0, 1.0])),
    ("Wishart", {"df": P + 4, "scale_tril": L}, (L @ L.T)[None] * P[:, None, None]),
    ("Wishart", {"df": P + 4, "covariance_matrix": L @ L.T}, L @ L.T),
    ("Wishart", {"df": P + 4, "precision_matrix": L @ L.T}, L @ L.T),
    ("OneHotCategoricalStraightThrough", {"probs": W}, np.eye(3)[[0, 2]]),
    ("RelaxedBernoulli", {"temperature": 0.7, "probs": U}, W),
    ("RelaxedBernoulli", {"temperature": 0.7, "logits": R}, W),
    ("RelaxedOneHotCategorical", {"temperature": 0.7, "probs": W}, SHARES),
    ("RelaxedOneHotCategorical", {"temperature": 0.7, "logits": Q}, SHARES),
    ("LogisticNormal", {"loc": R[:2], "scale": P[:2]}, SHARES),
]
ROWS = pytest.mark.parametrize("row", TABLE, ids=lambda row: f"{row[0]}-{'-'.join(row[1])}")
INEXACT = {"VonMises"}  # polynomials of the handbook, to 1e-7


def made(library, row, arrays=None):
    name, parameters, _ = row
    given = iter(arrays) if arrays is not None else None
    options = {}
    for word, value in parameters.items():
        if isinstance(value, np.ndarray):
            options[word] = next(given) if given is not None else library.tensor(value)
        else:
            options[word] = library.tensor(value, dtype=library.float64)
    return getattr(library.distributions, name)(**options)


def arrays_of(row):
    return [value for value in row[1].values() if isinstance(value, np.ndarray)]


def against_pytorch(row, call, *more):
    count = len(arrays_of(row))

    def both(library, *tensors):
        return call(made(library, row, tensors[:count]), *tensors[count:])

    agree(both, *arrays_of(row), *more, name=False, tolerance=1e-8)


@ROWS
def test_as_pytorchs(row):
    name = row[0]
    if name == "GeneralizedPareto":
        pytest.skip("PyTorch's has single precision alone; scipy's is compared with")
    if name == "Wishart" and "scale_tril" in row[1]:
        pytest.skip("PyTorch's gradient is of numbers above the diagonal, too")
    against_pytorch(row, lambda p, x: p.log_prob(x), row[2])
    for word in ("mean", "variance", "mode"):
        if (name, word) != ("Kumaraswamy", "mode"):  # PyTorch's is NaN
            against_pytorch(row, lambda p, word=word: getattr(p, word))
    against_pytorch(row, lambda p: p.entropy())
    if name != "InverseGamma":  # PyTorch has no derivative of its cdf by the shape
        against_pytorch(row, lambda p, x: p.cdf(x), row[2])
        against_pytorch(row, lambda p, x: p.icdf(x), U)


@ROWS
def test_shapes_reprs_and_supports(row):
    def seen(library):
        p = made(library, row)
        shapes = [tuple(x) for x in (p.batch_shape, p.event_shape, p.sample((4, 2)).shape)]
        return repr(p), repr(p.support), p.has_rsample, shapes

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mine = seen(torch)
    assert mine == of_pytorch(seen)


@pytest.mark.part(3)
@ROWS
def test_draws_are_in_the_support_and_have_the_moments(row):
    torch.manual_seed(5)
    p = made(torch, row)
    x = p.sample((10_000,))
    assert x.dtype == torch.float64
    assert bool(p.support.check(x[:50]).all())
    wide = p.expand((5, *p.batch_shape))
    assert tuple(wide.sample().shape) == (5, *p.batch_shape, *p.event_shape)
    assert tuple(wide.log_prob(x[0]).shape) == (5, *p.batch_shape)
    if row[0].startswith("Relaxed") or row[0] == "LogisticNormal":
        return
    if row[0] == "VonMises":
        angle = torch.atan2(x.sin().mean(0), x.cos().mean(0))
        assert abs(torch.cos(angle - p.mean) - 1).max() < 1e-3
        length = (x - p.mean).cos().mean(0)
        np.testing.assert_allclose(1 - length.numpy(), p.variance.numpy(), atol=0.02)
        return
    spread = p.variance.sqrt().numpy()
    assert (abs(x.mean(0).numpy() - p.mean.numpy()) < 6 * spread / 100 + 1e-12).all()
    if row[0] not in ("FisherSnedecor", "InverseGamma", "Pareto", "GeneralizedPareto"):
        np.testing.assert_allclose(x.std(0).numpy(), spread, rtol=0.1)


@pytest.mark.part(2)
@pytest.mark.parametrize(
    "row",
    [r for r in TABLE if r[0] in ("Weibull", "Pareto", "Kumaraswamy", "FisherSnedecor")]
    + [r for r in TABLE if r[0] in ("GeneralizedPareto", "InverseGamma", "ContinuousBernoulli")],
    ids=lambda row: row[0],
)
def test_densities_integrate_to_the_moments(row):
    p = made(torch, row)
    place = (0,) * len(p.batch_shape)

    def density(x):
        value = torch.full(tuple(p.batch_shape), float(x), dtype=torch.float64)
        return p.log_prob(value)[place].exp().item()

    low = p.support.lower_bound
    high = getattr(p.support, "upper_bound", np.inf)
    low, high = (float(b[place]) if hasattr(b, "shape") else float(b) for b in (low, high))
    for part in (p, getattr(p, "base_dist", p)):
        part._validate_args = False
    options = {"limit": 200}
    total = integrate.quad(density, low, high, **options)[0]
    mean = integrate.quad(lambda x: x * density(x), low, high, **options)[0]
    np.testing.assert_allclose(total, 1, rtol=1e-6)
    np.testing.assert_allclose(mean, p.mean[place].item(), rtol=1e-5)
    try:
        entropy = p.entropy()[place].item()
    except NotImplementedError:
        return
    found = integrate.quad(lambda x: -density(x) * np.log(density(x) or 1), low, high, **options)
    np.testing.assert_allclose(found[0], entropy, rtol=1e-5, atol=1e-6)


OF_SCIPY = {
    "Weibull": lambda scale, concentration: stats.weibull_min(concentration, scale=scale),
    "Pareto": lambda scale, alpha: stats.pareto(alpha, scale=scale),
    "FisherSnedecor": lambda df1, df2: stats.f(df1, df2),
    "GeneralizedPareto": lambda loc, scale, concentration: stats.genpareto(
        concentration, loc, scale
    ),
    "InverseGamma": lambda concentration, rate: stats.invgamma(concentration, scale=rate),
    "VonMises": lambda loc, concentration: stats.vonmises(concentration, loc),
}


@pytest.mark.parametrize("row", [r for r in TABLE if r[0] in OF_SCIPY], ids=lambda row: row[0])
def test_log_prob_as_scipys(row):
    found = made(torch, row).log_prob(torch.tensor(row[2])).numpy()
    exact = 1e-6 if row[0] in INEXACT else 1e-9
    np.testing.assert_allclose(found, OF_SCIPY[row[0]](**row[1]).logpdf(row[2]), exact, exact)


def test_wishart_as_scipys():
    p = D.Wishart(torch.tensor(5.5, dtype=torch.float64), scale_tril=torch.tensor(L))
    theirs = stats.wishart(5.5, L @ L.T)
    x = theirs.rvs(random_state=0)
    np.testing.assert_allclose(p.log_prob(torch.tensor(x)).item(), theirs.logpdf(x), 1e-10)
    np.testing.assert_allclose(p.entropy().item(), theirs.entropy(), 1e-10)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_lkj(size):
    torch.manual_seed(0)
    concentration = np.array([0.7, 1.0, 3.0])
    drawn = D.LKJCholesky(size, torch.tensor(concentration)).sample((2000,))
    assert bool(D.constraints.corr_cholesky.check(drawn).all())
    of_last = (drawn @ drawn.mT)[..., -1, 0]
    # Each correlation is, scaled to (0, 1), of a beta distribution.
    half = concentration + (size - 2) / 2
    np.testing.assert_allclose(of_last.var(0).numpy(), 1 / (2 * half + 1), rtol=0.1)
    agree(
        lambda t, c, x: t.distributions.LKJCholesky(size, c).log_prob(x),
        concentration,
        drawn[0].numpy(),
        name=False,
        tolerance=1e-9,
    )


def mixture(t, weights, loc, scale, event=False):
    parts = t.distributions.Normal(loc, scale)
    if event:
        parts = t.distributions.Independent(parts, 1)
    return t.distributions.MixtureSameFamily(t.distributions.Categorical(weights), parts)


def test_mixtures():
    for call in (
        lambda p, x: p.log_prob(x),
        lambda p, x: p.cdf(x),
        lambda p, x: p.mean,
        lambda p, x: p.variance,
    ):
        agree(
            lambda t, w, loc, scale, x, call=call: call(mixture(t, w, loc, scale), x),
            *(W, LOC, Q, R[:2]),
            name=False,
        )
    for call in (lambda p, x: p.log_prob(x), lambda p, x: p.mean, lambda p, x: p.variance):
        agree(
            lambda t, w, loc, scale, x, call=call: call(mixture(t, w, loc, scale, True), x),
            *(W[0, :2], LOC, Q, R),
            name=False,
        )


def test_draws_of_a_mixture():
    torch.manual_seed(0)
    for event, weights in ((False, W), (True, W[0, :2])):
        p = mixture(torch, *map(torch.tensor, (weights, LOC, Q)), event)
        x = p.sample((40_000,))
        assert tuple(x.shape[1:]) == (*p.batch_shape, *p.event_shape)
        np.testing.assert_allclose(x.mean(0).numpy(), p.mean.numpy(), atol=0.05)
        np.testing.assert_allclose(x.var(0).numpy(), p.variance.numpy(), rtol=0.1)
        assert tuple(p.expand((4, *p.batch_shape)).sample((2,)).shape[:2]) == (2, 4)


def test_draws_pass_gradients():
    p = torch.tensor(W, requires_grad=True)
    hot = D.OneHotCategoricalStraightThrough(p).rsample()
    assert bool(((hot - hot.round()).abs() < 1e-12).all())
    weights = torch.tensor(RNG.normal(size=W.shape))
    (mine,) = torch.autograd.grad((hot * weights).sum(), p)
    (theirs,) = torch.autograd.grad(((p / p.sum(-1, keepdim=True)) * weights).sum(), p)
    np.testing.assert_allclose(mine.numpy(), theirs.numpy())
    for row in TABLE:
        leaves = [torch.tensor(x, requires_grad=True) for x in arrays_of(row)]
        distribution = made(torch, row, leaves)
        if distribution.has_rsample and row[0] != "OneHotCategoricalStraightThrough":
            found = torch.autograd.grad(distribution.rsample((3,)).sum(), leaves)
            assert all(bool(g.isfinite().all()) for g in found)


# --- Transforms and constraints -----------------------------------------------------------------

VECTOR = RNG.normal(size=(2, 3))
MATRIX = RNG.normal(size=(2, 3, 3))
TRANSFORMS = [
    (lambda t: t.AbsTransform(), P),
    (lambda t: t.StickBreakingTransform(), VECTOR),
    (lambda t: t.SoftmaxTransform(), VECTOR),
    (lambda t: t.LowerCholeskyTransform(), MATRIX),
    (lambda t: t.PositiveDefiniteTransform(), MATRIX),
    (lambda t: t.CorrCholeskyTransform(), VECTOR),
    (lambda t: t.CorrCholeskyTransform(), RNG.normal(size=(2, 10))),
    (lambda t: t.ReshapeTransform((3, 3), (9,)), MATRIX),
    (lambda t: t.IndependentTransform(t.ExpTransform(), 1), VECTOR),
    (lambda t: t.CatTransform([t.ExpTransform(), t.identity_transform], -1, [1, 2]), VECTOR),
    (lambda t: t.CatTransform([t.ExpTransform(), t.SigmoidTransform()], 0), VECTOR),
    (lambda t: t.StackTransform([t.ExpTransform(), t.SigmoidTransform()], 0), VECTOR),
    (
        lambda t: t.ComposeTransform([t.AffineTransform(0.1, 2.0), t.StickBreakingTransform()]),
        VECTOR,
    ),
    (lambda t: t.ComposeTransform([t.ReshapeTransform((3,), (3, 1)), t.ExpTransform()]), VECTOR),
    (lambda t: t.AffineTransform(0.5, -2.0, event_dim=1), VECTOR),
    (lambda t: t.StickBreakingTransform().inv, SHARES),
]
LOC = RNG.normal(size=(2, 3))  # drawn here: the stored answers are to what comes after TRANSFORMS


def compared(library, number, x):
    transform = TRANSFORMS[number][0](library.distributions.transforms)
    y = transform(x)
    found = [y, transform.inv(y)]
    if transform.bijective:
        found.append(transform.log_abs_det_jacobian(x, y))
    return tuple(found)


@pytest.mark.parametrize("number", range(len(TRANSFORMS)))
def test_transforms_as_pytorchs(number):
    x = TRANSFORMS[number][1]
    agree(lambda t, x: compared(t, number, x), x, name=False)

    def seen(t):
        made = TRANSFORMS[number][0](t.distributions.transforms)
        names = [repr(part) for part in (made, made.domain, made.codomain)]
        return names, tuple(made.forward_shape(x.shape))

    assert seen(torch) == of_pytorch(seen)


@pytest.mark.parametrize("number", range(len(TRANSFORMS)))
def test_inverses_and_jacobians(number):
    transform = TRANSFORMS[number][0](D.transforms)
    x = torch.tensor(TRANSFORMS[number][1])
    y = transform(x)
    assert bool(transform.codomain.check(y).all())
    assert tuple(y.shape) == tuple(transform.forward_shape(x.shape))
    assert tuple(transform.inv(y).shape) == tuple(transform.inverse_shape(y.shape))
    np.testing.assert_allclose(transform(transform.inv(y)).numpy(), y.numpy(), 1e-6)
    if not transform.bijective:
        return
    np.testing.assert_allclose(transform.inv(y).numpy(), x.numpy(), 1e-6, 1e-9)
    if isinstance(transform.domain, (D.constraints.stack, D.constraints.cat)):
        return
    one = x.reshape((-1, *x.shape[x.dim() - transform.domain.event_dim :]))[0]

    def free(one):
        """The value without the numbers that follow from the others."""
        y = transform(one)
        kind = type(getattr(transform, "codomain", None)).__name__
        if kind == "Simplex":
            return y[..., :-1]
        if kind == "CorrCholesky":
            rows, columns = torch.tril_indices(y.shape[-1], y.shape[-1], -1)
            return y[rows, columns]
        return y

    if type(transform.domain).__name__ == "Simplex":
        return
    matrix = torch.autograd.functional.jacobian(free, one).reshape((one.numel(), one.numel()))
    expected = torch.linalg.slogdet(matrix)[1].item()
    found = transform.log_abs_det_jacobian(one, transform(one)).sum().item()
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-8)


def test_a_cache_gives_the_same_tensor_back():
    for transform in (D.ExpTransform(1), D.ComposeTransform([D.ExpTransform()], cache_size=1)):
        x = torch.tensor(R)
        y = transform(x)
        assert transform(x) is y
        assert transform.inv(y) is x
    plain = D.ExpTransform()
    assert plain.with_cache(0) is plain
    assert plain.with_cache(1) == plain
    assert D.AffineTransform(0.0, 1.0) != D.AffineTransform(0.0, 2.0)
    assert D.ExpTransform().inv.inv == D.ExpTransform()


CONSTRAINTS = [
    *("real", "positive", "nonnegative", "unit_interval", "simplex", "real_vector"),
    *("lower_cholesky", "positive_definite", "positive_semidefinite", "corr_cholesky"),
]


def constraint_rows(c):
    yield from ((word, getattr(c, word)) for word in CONSTRAINTS)
    yield "between", c.interval(2.0, 5.0)
    yield "half open", c.half_open_interval(-1.0, 1.0)
    yield "below", c.less_than(-2.0)
    yield "parts", c.cat([c.positive, c.interval(1.0, 2.0)], -1, [1, 2])
    yield "rows", c.stack([c.positive, c.unit_interval], 0)


@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_what_leads_to_a_constraint(registry):
    lead = getattr(D, registry)
    for word, constraint in constraint_rows(D.constraints):
        try:
            transform = lead(constraint)
        except NotImplementedError:
            assert registry == "biject_to"
            assert word.split("_")[0] in ("lower", "positive")
            continue
        x = torch.tensor(MATRIX[0] if constraint.event_dim == 2 and "corr" not in word else VECTOR)
        assert bool(constraint.check(transform(x)).all()), word
        assert transform.bijective or registry == "transform_to"


def test_a_registry_takes_more():
    class Odd(D.constraints.Constraint):
        pass

    with pytest.raises(NotImplementedError, match="Cannot transform _Odd constraints"):
        D.biject_to(Odd())
    D.biject_to.register(Odd)(lambda constraint: D.ExpTransform())
    assert D.biject_to(Odd()) == D.ExpTransform()
    with pytest.raises(TypeError, match="Expected constraint to be either a Constraint subclass"):
        D.biject_to.register(5, 5)
    with pytest.raises(NotImplementedError, match="event_dim cannot be determined statically"):
        _ = D.constraints.dependent.event_dim
    assert D.constraints.dependent(event_dim=2).event_dim == 2


# --- Divergences --------------------------------------------------------------------------------

PAIRS = {
    "Bernoulli": {"probs": U},
    "Beta": {"concentration1": P, "concentration0": P + 0.3},
    "Binomial": {"total_count": 4.0, "probs": U},
    "ContinuousBernoulli": {"probs": U},
    "Exponential": {"rate": P},
    "Gamma": {"concentration": P, "rate": P[::-1].copy()},
    "Gumbel": {"loc": R, "scale": P},
    "Laplace": {"loc": R, "scale": P},
    "LowRankMultivariateNormal": {"loc": R, "cov_factor": S[:, :2], "cov_diag": P},
    "MultivariateNormal": {"loc": R + 0.3, "scale_tril": L},
    "Normal": {"loc": R, "scale": P},
    "Pareto": {"scale": P, "alpha": P + 2},
    "Poisson": {"rate": P},
    "Uniform": {"low": U - 0.05, "high": U + 0.5},
    "Wishart": {"df": P + 4, "scale_tril": L},
}


def pair(t, name, tensors):
    words = PAIRS[name]
    given = [next(tensors) if isinstance(v, np.ndarray) else v for v in words.values()]
    return getattr(t.distributions, name)(**dict(zip(words, given, strict=True)))


def formulas(library):
    known = library.distributions.kl._KL_REGISTRY
    return [(p.__name__, q.__name__) for p, q in known if p.__name__ in PAIRS]


def test_divergences_as_pytorchs():
    pairs = of_pytorch(formulas)
    assert len(pairs) > 60
    for one, other in pairs:
        arrays = [v for n in (one, other) for v in PAIRS[n].values() if isinstance(v, np.ndarray)]

        def call(t, *tensors, one=one, other=other):
            given = iter(tensors)
            p = pair(t, one, given)
            return t.distributions.kl_divergence(p, pair(t, other, given))

        agree(call, *arrays, name=False, nan_gradients=False, tolerance=1e-7)


FINITE = [
    *itertools.product(("Beta", "Exponential", "Gamma", "Pareto", "Uniform"), ("Normal",)),
    ("Uniform", "Exponential"),
    ("Uniform", "Gamma"),
    ("Uniform", "Beta"),
    ("Uniform", "ContinuousBernoulli"),
    ("Gamma", "Exponential"),
    ("Exponential", "Gumbel"),
    ("Gamma", "Gumbel"),
    ("Normal", "Gumbel"),
    ("Normal", "Laplace"),
    ("Beta", "Gamma"),
    ("Pareto", "Exponential"),
]


@pytest.mark.part(3)
@pytest.mark.parametrize(("one", "other"), FINITE)
def test_divergences_are_means_over_draws(one, other):
    torch.manual_seed(1)
    arrays = [v for n in (one, other) for v in PAIRS[n].values()]
    given = iter([torch.tensor(x) for x in arrays])
    p = pair(torch, one, given)
    q = pair(torch, other, given)
    x = p.sample((50_000,))
    found = (p.log_prob(x) - q.log_prob(x)).numpy()
    error = 6 * found.std(0) / np.sqrt(len(x))
    exact = D.kl_divergence(p, q).numpy()
    assert (abs(found.mean(0) - exact) < error + 1e-9).all()


def test_a_divergence_of_wisharts_is_a_mean_over_draws():
    torch.manual_seed(0)
    p, q = (D.Wishart(torch.tensor(df), scale_tril=torch.tensor(L)) for df in (P + 4, P + 5))
    x = p.sample((20_000,))
    found = (p.log_prob(x) - q.log_prob(x)).numpy()
    exact = D.kl_divergence(p, q).detach().numpy()
    assert (abs(found.mean(0) - exact) < 6 * found.std(0) / np.sqrt(len(x))).all()


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        *(
            (n, PAIRS[n])
            for n in ("Beta", "ContinuousBernoulli", "Exponential", "Gamma", "Normal")
        ),
        ("Bernoulli", {"probs": U}),
        ("Dirichlet", {"concentration": Q}),
        ("Wishart", {"df": P + 4, "scale_tril": L}),
    ],
)
def test_exponential_families_know_their_entropy(name, parameters):
    p = getattr(D, name)(**{word: torch.tensor(x) for word, x in parameters.items()})
    assert isinstance(p, D.ExponentialFamily)
    found = D.ExponentialFamily.entropy(p).detach().numpy()
    np.testing.assert_allclose(found, p.entropy().numpy(), 1e-6)


ERRORS = [
    lambda t, d: d.LKJCholesky(1),
    lambda t, d: d.Wishart(t.tensor(3.0), t.tensor(1.0)),
    lambda t, d: d.Wishart(t.tensor(3.0)),
    lambda t, d: d.Wishart(t.tensor(0.5), t.eye(2)),
    lambda t, d: d.LowRankMultivariateNormal(t.tensor(1.0), t.ones(2), t.ones(2)),
    lambda t, d: d.LowRankMultivariateNormal(t.ones(2), t.ones(2), t.ones(2)),
    lambda t, d: d.LowRankMultivariateNormal(t.ones(2), t.ones(3, 2), t.ones(2)),
    lambda t, d: d.LowRankMultivariateNormal(t.ones(2), t.ones(2, 2), t.ones(3)),
    lambda t, d: d.MixtureSameFamily(1, d.Normal(t.zeros(2), t.ones(2))),
    lambda t, d: d.MixtureSameFamily(d.Categorical(t.ones(2)), 1),
    lambda t, d: d.MixtureSameFamily(d.Categorical(t.ones(3)), d.Normal(t.zeros(2), t.ones(2))),
    lambda t, d: d.MixtureSameFamily(
        d.Categorical(t.ones(4, 2)), d.Normal(t.zeros(3, 2), t.ones(3, 2))
    ),
    lambda t, d: d.NegativeBinomial(t.tensor(2.0)),
    lambda t, d: d.ContinuousBernoulli(t.tensor(0.5)).log_prob(t.tensor(2.0)),
    lambda t, d: d.TransformedDistribution(d.Normal(0.0, 1.0), d.StickBreakingTransform()),
    lambda t, d: d.TransformedDistribution(d.Normal(0.0, 1.0), 3),
    lambda t, d: d.Transform(cache_size=2),
    lambda t, d: d.ReshapeTransform((3,), (2, 2)),
    lambda t, d: d.ReshapeTransform((4,), (2, 2)).inverse_shape((3, 4)),
    lambda t, d: d.CorrCholeskyTransform().forward_shape((4,)),
    lambda t, d: d.StickBreakingTransform().forward_shape(()),
    lambda t, d: d.ReshapeTransform((4,), (2, 2)).event_dim,
    lambda t, d: d.CatTransform([d.ExpTransform()], lengths=[1, 2]),
    lambda t, d: d.IndependentTransform(d.ExpTransform(), 2)(t.ones(2)),
    lambda t, d: d.biject_to(d.constraints.boolean),
    lambda t, d: d.kl_divergence(
        d.LowRankMultivariateNormal(t.ones(2), t.ones(2, 1), t.ones(2)),
        d.LowRankMultivariateNormal(t.ones(3), t.ones(3, 1), t.ones(3)),
    ),
]


@pytest.mark.parametrize("number", range(len(ERRORS)))
def test_errors(number):
    def said(library):
        with pytest.raises((ValueError, NotImplementedError, AssertionError)) as error:
            ERRORS[number](library, library.distributions)
        return type(error.value).__name__, " ".join(str(error.value).split())

    assert said(torch) == of_pytorch(said)


def test_a_wishart_of_few_degrees_warns():
    with pytest.warns(UserWarning, match="Low df values detected"):
        D.Wishart(1.2, torch.eye(2))


class Standard(torch.distributions.Independent):
    """A user's distribution, which expands as PyTorch's classes have it."""

    def __init__(self, size: int) -> None:
        base = torch.distributions.Normal(torch.zeros(size), torch.ones(size))
        super().__init__(base, 1)

    def expand(self, batch_shape: Any, new: Any = None) -> Any:
        return super().expand(batch_shape, self._get_checked_instance(Standard, new))


def test_a_subclass_expands_to_its_class() -> None:
    expanded = Standard(3).expand((4,))
    assert type(expanded) is Standard
    assert (expanded.batch_shape, expanded.event_shape) == ((4,), (3,))
    assert expanded.sample().shape == (4, 3)

    class Other(Standard):
        def __init__(self) -> None:
            super().__init__(2)

    with pytest.raises(NotImplementedError, match=r"must also define a custom \.expand"):
        Other().expand((4,))
