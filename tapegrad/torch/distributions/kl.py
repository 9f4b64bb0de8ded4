"""Kullback-Leibler divergences of pairs of distributions.

Knows the formulas by pair of classes. Must not know how distributions draw.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tapegrad.torch import linalg
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.distributions._discrete import (
    Bernoulli,
    Binomial,
    Categorical,
    Geometric,
    OneHotCategorical,
    Poisson,
)
from tapegrad.torch.distributions._gammas import Beta, Dirichlet, Gamma
from tapegrad.torch.distributions._location import (
    Cauchy,
    Exponential,
    Gumbel,
    HalfCauchy,
    HalfNormal,
    Laplace,
    Normal,
    Uniform,
)
from tapegrad.torch.distributions._vectors import MultivariateNormal
from tapegrad.torch.distributions._wrapped import Independent, TransformedDistribution
from tapegrad.torch.distributions.distribution import Distribution, ExponentialFamily

Formula = Callable[[Any, Any], Any]
_FORMULAS: dict[tuple[type, type], Formula] = {}
_where = OPERATIONS["where"]
_EULER = 0.5772156649015329


def register_kl(type_p: Any, type_q: Any) -> Callable[[Formula], Formula]:
    """Decorate a function `(p, q)` as the divergence of two classes and their subclasses.

    type_p (type): A subclass of `Distribution`.
    type_q (type): Another, or the same.
    -> callable: The decorator; it returns the function as it is.
    TypeError: For something else than subclasses of `Distribution`.
    See also kl_divergence: Calls the function whose classes are nearest to those of p and q.

    >>> class Unit(torch.distributions.Normal):
    ...     def __init__(self, loc):
    ...         super().__init__(loc, 1.0)
    >>> @torch.distributions.register_kl(Unit, Unit)
    ... def formula(p, q):
    ...     return 0.5 * (p.loc - q.loc) ** 2
    >>> torch.distributions.kl_divergence(Unit(torch.tensor(0.0)), Unit(torch.tensor(2.0)))
    tensor(2.)
    """
    for word, kind in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(kind, type):  # packages have classes that stand for distributions
            raise TypeError(f"Expected {word} to be a Distribution subclass but got {kind}")

    def decorate(formula: Formula) -> Formula:
        _FORMULAS[type_p, type_q] = formula
        return formula

    return decorate


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """The mean under p of `p.log_prob(x) - q.log_prob(x)`.

    p: The distribution whose draws are meant.
    q: The one that it is compared with.
    -> Tensor: Of the shape of the batch.
    NotImplementedError: For a pair of classes without a formula.
    See also register_kl: Add a formula.

    >>> d = torch.distributions
    >>> d.kl_divergence(d.Normal(0.0, 1.0), d.Normal(torch.tensor([0.0, 1.0]), 1.0))
    tensor([0.0000, 0.5000])
    """
    matches = [
        (type(p).__mro__.index(a) + type(q).__mro__.index(b), formula)
        for (a, b), formula in _FORMULAS.items()
        if isinstance(p, a) and isinstance(q, b)
    ]
    if not matches:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {type(p).__name__} and q type "
            f"{type(q).__name__}"
        )
    return min(matches, key=lambda match: match[0])[1](p, q)


def _zero_log(p: Any, ratio: Any) -> Any:
    """p * log(ratio), 0 where p is."""
    return _where(p == 0, 0.0, p * _where(p == 0, 1.0, ratio).log())


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Any:
    ratio = (p.scale / q.scale).pow(2)
    distance = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + distance - 1 - ratio.log())


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Any:
    ratio = p.scale / q.scale
    distance = (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * (-distance / p.scale).exp() - 1


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Any:
    # Chyzak and Nielsen, A closed-form formula for the KL divergence between Cauchy
    # distributions, 2019
    sums = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return sums.log() - (4 * p.scale * q.scale).log()


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Any:
    ratio, distance = p.scale / q.scale, (q.loc - p.loc) / q.scale
    tail = (distance + (1 + ratio).lgamma()).exp()
    return -ratio.log() - distance + _EULER * (ratio - 1) + tail - 1


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Any:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Any:
    ratio = q.rate / p.rate
    return ratio - ratio.log() - 1


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Any:
    found = ((q.high - q.low) / (p.high - p.low)).log()
    return _where((q.low > p.low) | (q.high < p.high), math.inf, found)


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    shapes = b.lgamma() - a.lgamma() + (a - b) * a.digamma()
    return b * (p.rate / q.rate).log() + shapes + (q.rate - p.rate) * (a / p.rate)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Any:
    a, b = p.concentration, q.concentration
    total = a.sum(-1)
    shapes = total.lgamma() - b.sum(-1).lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    return shapes + ((a - b) * (a.digamma() - total.digamma().unsqueeze(-1))).sum(-1)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Any:
    yes = _zero_log(p.probs, p.probs / q.probs)
    no = _zero_log(1 - p.probs, (1 - p.probs) / (1 - q.probs))
    return yes + no


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Any:
    if bool((p.total_count < q.total_count).any()):
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    never = (-p.probs).log1p() - (-q.probs).log1p()
    found = p.total_count * (p.probs * (p.logits - q.logits) + never)
    return _where(p.total_count > q.total_count, math.inf, found)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Any:
    terms = p.probs * (p.logits - q.logits)
    terms = _where(q.probs == 0, math.inf, terms)
    return _where(p.probs == 0, 0.0, terms).sum(-1)


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot "
            "be computed"
        )
    size = p.event_shape[0]
    determinants = q._half_log_determinant() - p._half_log_determinant()
    batch = OPERATIONS["broadcast_shapes"](p.batch_shape, q.batch_shape)
    factor = q._unbroadcasted_scale_tril.expand((*batch, size, size))
    ratio = linalg.solve_triangular(
        factor, p._unbroadcasted_scale_tril.expand((*batch, size, size)), upper=False
    )
    distance = (q.loc - p.loc).unsqueeze(-1).expand((*batch, size, 1))
    z = linalg.solve_triangular(factor, distance, upper=False)
    squares = ratio.pow(2).sum((-2, -1)) + z.pow(2).sum((-2, -1))
    return determinants + 0.5 * (squares - size)


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Any:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    found = kl_divergence(p.base_dist, q.base_dist)
    count = p.reinterpreted_batch_ndims
    return found.sum(tuple(range(-count, 0))) if count else found


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Any:
    # F. Nielsen, R. Nock, Entropies and cross-entropies of exponential families, 2010
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences"
        )
    normalizer, params, means = p._normalizer()
    found = q._log_normalizer(*q._natural_params) - normalizer
    for mine, theirs, mean in zip(params, q._natural_params, means, strict=True):
        found = found - p._summed((theirs - mine) * mean)
    return found


# Of one class, in a line; the parts of some are of other classes.
_OF_ONE: dict[type[Distribution], Formula] = {
    HalfNormal: lambda p, q: _normal(p._base, q._base),
    HalfCauchy: lambda p, q: _cauchy(p._base, q._base),
    Beta: lambda p, q: _dirichlet(p._dirichlet, q._dirichlet),
    OneHotCategorical: lambda p, q: _categorical(p._categorical, q._categorical),
    Geometric: lambda p, q: -p.entropy() - (-q.probs).log1p() / p.probs - q.logits,
    Poisson: lambda p, q: p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate),
}
for _kind, _formula in _OF_ONE.items():
    register_kl(_kind, _kind)(_formula)

__all__ = ["kl_divergence", "register_kl"]
