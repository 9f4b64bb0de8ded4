"""Divergences of pairs of different families, and of normal vectors of low rank.

Knows that a divergence is a cross entropy less an entropy, and that of a cross entropy it takes a
few means of p: of x, of log x, of exp(t x), and the variance. Registers them with `kl`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tapegrad.torch import linalg
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch.distributions._circle import ContinuousBernoulli
from tapegrad.torch.distributions._discrete import Bernoulli, Binomial, Poisson
from tapegrad.torch.distributions._gammas import Beta, Gamma
from tapegrad.torch.distributions._location import Exponential, Gumbel, Laplace, Normal, Uniform
from tapegrad.torch.distributions._low_rank import LowRankMultivariateNormal
from tapegrad.torch.distributions._powers import EULER, Pareto
from tapegrad.torch.distributions._vectors import MultivariateNormal
from tapegrad.torch.distributions.kl import register_kl

Mean = Callable[[Any], Any]
_where, _full_like = OPERATIONS["where"], OPERATIONS["full_like"]

# --- Means of p ---------------------------------------------------------------------------------


def _of_uniform(function: Mean) -> Mean:
    """The mean of a function over an interval, from its integral."""
    return lambda p: (function(p.high) - function(p.low)) / (p.high - p.low)


def _xlogx(x: Any) -> Any:
    return OPERATIONS["xlogy"](x, x)


LOG: dict[type, Mean] = {
    Beta: lambda p: p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma(),
    Exponential: lambda p: -p.rate.log() - EULER,
    Pareto: lambda p: p.scale.log() + p.alpha.reciprocal(),
    Uniform: lambda p: _of_uniform(_xlogx)(p) - 1,
}
# The mean of exp(t x).
POWER: dict[type, Callable[[Any, Any], Any]] = {
    Exponential: lambda p, t: p.rate / (p.rate - t),
    Gamma: lambda p, t: (1 - t / p.rate) ** -p.concentration,
    Normal: lambda p, t: (p.loc * t + 0.5 * (p.scale * t).pow(2)).exp(),
    Uniform: lambda p, t: _of_uniform(lambda x: (t * x).exp() / t)(p),
}

# --- Cross entropies, by q ----------------------------------------------------------------------


def _against_normal(p: Any, q: Any) -> Any:
    square = q.scale.pow(2)
    spread = p.variance + (p.mean - q.loc).pow(2)
    return 0.5 * (2 * math.pi * square).log() + 0.5 * spread / square


def _against_gamma(p: Any, q: Any) -> Any:
    a = q.concentration
    return a.lgamma() - a * q.rate.log() - (a - 1) * LOG[type(p)](p) + q.rate * p.mean


def _against_gumbel(p: Any, q: Any) -> Any:
    power = (q.loc / q.scale).exp() * POWER[type(p)](p, -1 / q.scale)
    return q.scale.log() + (p.mean - q.loc) / q.scale + power


def _against_beta(p: Any, q: Any) -> Any:
    a, b = q.concentration1, q.concentration0
    rest = _of_uniform(lambda x: -_xlogx(1 - x))(p) - 1  # the mean of log(1 - x)
    return a.lgamma() + b.lgamma() - (a + b).lgamma() - (a - 1) * LOG[Uniform](p) - (b - 1) * rest


Cross = Callable[[Any, Any], Any]
CROSS: list[tuple[type, Cross, tuple[type, ...]]] = [
    (
        Normal,
        _against_normal,
        (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform),
    ),
    (
        Exponential,
        lambda p, q: q.rate * p.mean - q.rate.log(),
        (Beta, ContinuousBernoulli, Gamma, Pareto, Uniform),
    ),
    (Gamma, _against_gamma, (Beta, Exponential, Pareto, Uniform)),
    (Gumbel, _against_gumbel, (Exponential, Gamma, Normal, Uniform)),
    (
        ContinuousBernoulli,
        lambda p, q: -p.mean * q.logits - (-q.probs).log1p() - q._log_norm(),
        (Beta, Uniform),
    ),
    (Uniform, lambda p, q: (q.high - q.low).log(), (Beta, ContinuousBernoulli)),
    (Beta, _against_beta, (Uniform,)),
    (
        Pareto,
        lambda p, q: (q.alpha + 1) * LOG[type(p)](p) - (q.alpha * q.scale**q.alpha).log(),
        (Uniform,),
    ),
]

# Where draws of p lie outside of what q may be, or a mean is infinite.
INFINITE: dict[tuple[type, type], Callable[[Any, Any], Any]] = {
    (Beta, Uniform): lambda p, q: (q.low > 0) | (q.high < 1),
    (ContinuousBernoulli, Uniform): lambda p, q: (q.low > 0) | (q.high < 1),
    (Uniform, Beta): lambda p, q: (p.high > 1) | (p.low < 0),
    (Uniform, ContinuousBernoulli): lambda p, q: (p.high > 1) | (p.low < 0),
    (Uniform, Exponential): lambda p, q: p.low < 0,
    (Uniform, Gamma): lambda p, q: p.low < 0,
    (Uniform, Pareto): lambda p, q: p.low < q.scale,
    (Pareto, Exponential): lambda p, q: p.alpha <= 1,
    (Pareto, Gamma): lambda p, q: p.alpha <= 1,
    (Pareto, Normal): lambda p, q: p.alpha <= 2,
}


def _of_cross(kinds: tuple[type, type], cross: Cross) -> Cross:
    outside = INFINITE.get(kinds)

    def divergence(p: Any, q: Any) -> Any:
        found = cross(p, q) - p.entropy()
        return found if outside is None else _where(outside(p, q), math.inf, found)

    return divergence


for _q, _cross, _kinds in CROSS:
    for _p in _kinds:
        register_kl(_p, _q)(_of_cross((_p, _q), _cross))


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Any, q: Any) -> Any:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


@register_kl(Normal, Laplace)
def _normal_laplace(p: Any, q: Any) -> Any:
    distance = p.loc - q.loc
    z = distance / (p.scale * math.sqrt(2))
    away = p.scale * math.sqrt(2 / math.pi) * (-z.pow(2)).exp() + distance * z.erf()
    return (2 * q.scale).log() + away / q.scale - p.entropy()


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Any:
    scales, shapes = p.scale / q.scale, q.alpha / p.alpha
    found = q.alpha * scales.log() - shapes.log() + shapes - 1
    return _where(p.scale < q.scale, math.inf, found)


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous(p: Any, q: Any) -> Any:
    cross = p.mean * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return cross + p._log_norm() - q._log_norm()


def _always(p: Any, q: Any) -> Any:
    """Infinity: draws of p may lie where q has no density."""
    return OPERATIONS["full"](tuple(p.batch_shape), math.inf, dtype=p.mean.dtype)


_BOUNDED = (Beta, ContinuousBernoulli, Pareto, Uniform)
_ABOVE = (*_BOUNDED, Exponential, Gamma)
for _p, _others in (
    (Beta, (Pareto,)),
    (ContinuousBernoulli, (Pareto,)),
    (Exponential, _BOUNDED),
    (Gamma, _BOUNDED),
    (Gumbel, _ABOVE),
    (Laplace, _ABOVE),
    (Normal, _ABOVE),
    (Pareto, (Beta, ContinuousBernoulli, Uniform)),
    (Poisson, (Bernoulli, Binomial)),
):
    for _q in _others:
        register_kl(_p, _q)(_always)

# --- Normal vectors of low rank -----------------------------------------------------------------


def _squares(q: Any, difference: Any) -> Any:
    """The squared lengths of vectors, measured by the inverse of the covariance of q."""
    if isinstance(q, LowRankMultivariateNormal):
        return q.squares(difference)
    column = difference.unsqueeze(-1)
    batch = OPERATIONS["broadcast_shapes"](column.shape[:-2], q.scale_tril.shape[:-2])
    factor = q.scale_tril.expand((*batch, *q.scale_tril.shape[-2:]))
    column = column.expand((*batch, *column.shape[-2:]))
    return linalg.solve_triangular(factor, column, upper=False).pow(2).sum((-2, -1))


def _log_determinant(p: Any) -> Any:
    low = isinstance(p, LowRankMultivariateNormal)
    return p.log_determinant() if low else 2 * p._half_log_determinant()


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _low_rank(p: Any, q: Any) -> Any:
    if p.event_shape != q.event_shape:
        both = isinstance(p, LowRankMultivariateNormal) and isinstance(q, type(p))
        words = "Low Rank Multivariate Normals" if both else "(Low Rank) Multivariate Normals"
        raise ValueError(
            f"KL-divergence between two {words} with different event shapes cannot be computed"
        )
    columns = p.scale_tril.mT  # each row of these is a vector
    spread = sum(_squares(q, columns.select(-2, row)) for row in range(p.event_shape[0]))
    distance = _squares(q, q.loc - p.loc)
    determinants = _log_determinant(q) - _log_determinant(p)
    return 0.5 * (determinants + spread + distance - p.event_shape[0])
