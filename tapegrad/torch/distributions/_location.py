"""Continuous distributions with a location or a scale: a draw is a function of a plain draw.

Knows their densities. Must not know other families.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar, Self

from tapegrad.torch._dtypes import finfo
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._formulas import formulas
from tapegrad.torch.distributions.distribution import (
    Distribution,
    ExponentialFamily,
    broadcast,
    constrained,
)

Shape = Sequence[int]
_rand, _randn = OPERATIONS["rand"], OPERATIONS["randn"]
_HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


def uniform(like: Any, shape: Any) -> Any:
    """Uniform numbers in (0, 1), which never are 0, of a tensor's dtype."""
    return _rand(size=tuple(shape), dtype=like.dtype).clamp(min=finfo(like.dtype).tiny)


def normal(like: Any, shape: Any) -> Any:
    """Standard normal numbers of a tensor's dtype."""
    return _randn(size=tuple(shape), dtype=like.dtype)


class _Centered(Distribution):
    """A distribution whose density is greatest at its mean, `loc`."""

    loc: Tensor
    _formulas = formulas(
        mean=lambda p: p.loc,
        mode=lambda p: p.loc,
    )


class _LocationScale(_Centered):
    """loc + scale * z, of a z that the subclass draws."""

    has_rsample = True
    arg_constraints = constrained(loc=constraints.real, scale=constraints.positive)
    _formulas = formulas(rsample=lambda p, shape: p.loc + p.scale * p._standard(shape))

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _standard(self, shape: Any) -> Any:
        raise NotImplementedError

    def _argument(self, value: Any) -> Any:
        return (self._checked(value) - self.loc) / self.scale


class Normal(_LocationScale, ExponentialFamily):
    """The normal distribution of mean `loc` and standard deviation `scale`.

    scale (Tensor or float): The standard deviation, positive; the two are broadcast.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.Normal(torch.tensor([0.0, 1.0]), 2.0)
    >>> p.log_prob(torch.zeros(2))
    tensor([-1.6121, -1.7371])
    >>> p.cdf(torch.ones(2)), p.variance
    (tensor([0.6915, 0.5000]), tensor([4., 4.]))
    """

    _formulas = formulas(
        _standard=lambda p, shape: normal(p.loc, shape),
        stddev=lambda p: p.scale,
        variance=lambda p: p.scale**2,
        log_prob=lambda p, z: -0.5 * z * z - p.scale.log() - _HALF_LOG_TAU,
        cdf=lambda p, z: 0.5 * (1 + (z / math.sqrt(2)).erf()),
        icdf=lambda p, x: p.loc + p.scale * (2 * x - 1).erfinv() * math.sqrt(2),
        entropy=lambda p: 0.5 + _HALF_LOG_TAU + p.scale.log(),
        _natural_params=lambda p: (p.loc / p.scale.pow(2), -0.5 * p.scale.pow(2).reciprocal()),
        _log_normalizer=lambda p, x, y: -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log(),
        _mean_carrier_measure=lambda p: 0,
    )


class Laplace(_LocationScale):
    """The Laplace distribution: exp(-|x - loc| / scale) / (2 scale).

    scale (Tensor or float): The mean distance from it, positive.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.Laplace(0.0, 1.0)
    >>> p.log_prob(torch.tensor(1.0)), p.variance
    (tensor(-1.6931), tensor(2.))
    """

    _formulas = formulas(
        variance=lambda p: 2 * p.scale**2,
        stddev=lambda p: math.sqrt(2) * p.scale,
        log_prob=lambda p, z: -(2 * p.scale).log() - z.abs(),
        cdf=lambda p, z: 0.5 - 0.5 * z.sign() * (-z.abs()).expm1(),
        entropy=lambda p: 1 + (2 * p.scale).log(),
    )

    def _standard(self, shape: Any) -> Any:
        u = uniform(self.loc, shape) - 0.5
        return -u.sign() * (-2 * u.abs()).clamp(min=-1 + 1e-7).log1p()

    def icdf(self, value: Any) -> Tensor:
        u = value - 0.5
        return self.loc - self.scale * u.sign() * (-2 * u.abs()).log1p()


class Cauchy(_LocationScale):
    """The Cauchy distribution, which has no mean.

    Its density is 1 / (pi scale (1 + z²)) with z = (x - loc) / scale.

    loc (Tensor or float): The median.
    scale (Tensor or float): Half of the distance of the quartiles, positive.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.Cauchy(0.0, 1.0)
    >>> p.cdf(torch.tensor([-1.0, 0.0, 1.0])), p.mean
    (tensor([0.2500, 0.5000, 0.7500]), tensor(nan))
    """

    _formulas = formulas(
        _standard=lambda p, shape: (math.pi * (uniform(p.loc, shape) - 0.5)).tan(),
        mean=lambda p: OPERATIONS["full_like"](p.loc.detach(), math.nan),
        variance=lambda p: OPERATIONS["full_like"](p.loc.detach(), math.inf),
        log_prob=lambda p, z: -math.log(math.pi) - p.scale.log() - (z * z).log1p(),
        cdf=lambda p, z: z.atan() / math.pi + 0.5,
        icdf=lambda p, x: (math.pi * (x - 0.5)).tan() * p.scale + p.loc,
        entropy=lambda p: math.log(4 * math.pi) + p.scale.log(),
    )


class Gumbel(_LocationScale):
    """The Gumbel distribution: the limit of maxima of exponential tails.

    Its distribution function is exp(-exp(-(x - loc) / scale)).

    loc (Tensor or float): The mode.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.Gumbel(0.0, 1.0)
    >>> p.mean, p.cdf(torch.tensor(0.0))
    (tensor(0.5772), tensor(0.3679))
    """

    _formulas = formulas(
        _standard=lambda p, shape: -(-uniform(p.loc, shape).log()).log(),
        mean=lambda p: p.loc + p.scale * _EULER,
        stddev=lambda p: math.pi / math.sqrt(6) * p.scale,
        variance=lambda p: p.stddev**2,
        cdf=lambda p, z: (-(-z).exp()).exp(),
        icdf=lambda p, x: p.loc - p.scale * (-x.log()).log(),
        entropy=lambda p: p.scale.log() + (1 + _EULER),
    )

    def log_prob(self, value: Any) -> Tensor:
        z = -self._argument(value)
        return z - z.exp() - self.scale.log()


_EULER = 0.5772156649015329


class Uniform(Distribution):
    """The uniform distribution from `low` to before `high`.

    low (Tensor or float): The least value.
    high (Tensor or float): The end, greater than `low`.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.Uniform(1.0, 3.0)
    >>> p.log_prob(torch.tensor(2.0)), p.mean
    (tensor(-0.6931), tensor(2.))
    """

    has_rsample = True
    arg_constraints = constrained(low=constraints.dependent, high=constraints.dependent)
    _formulas = formulas(
        mean=lambda p: (p.high + p.low) / 2,
        mode=lambda p: math.nan * p.high,
        stddev=lambda p: (p.high - p.low) / 12**0.5,
        variance=lambda p: (p.high - p.low).pow(2) / 12,
        cdf=lambda p, x: ((x - p.low) / (p.high - p.low)).clamp(min=0, max=1),
        icdf=lambda p, x: x * (p.high - p.low) + p.low,
        entropy=lambda p: (p.high - p.low).log(),
    )

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        if self._validate_args and not bool((self.low < self.high).all()):
            raise ValueError("Uniform is not defined when low>= high")

    @property
    def support(self) -> constraints.Constraint:
        return constraints.Interval(self.low, self.high)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        u = _rand(size=tuple(self._extended_shape(sample_shape)), dtype=self.low.dtype)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value: Any) -> Tensor:
        value = self._checked(value)
        inside = (self.low <= value) & (self.high > value)
        return inside.type_as(self.low).log() - (self.high - self.low).log()


class _Half(Distribution):
    """The absolute value of a distribution around 0."""

    has_rsample = True
    arg_constraints = constrained(scale=constraints.positive)
    support = constraints.nonnegative
    whole: ClassVar[type[_LocationScale]]
    _formulas = formulas(
        cdf=lambda p, x: 2 * p._base.cdf(x) - 1,
        entropy=lambda p: p._base.entropy() - math.log(2),
        mode=lambda p: OPERATIONS["zeros_like"](p.scale),
    )

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        (self.scale,) = broadcast(scale)
        self._base = self.whole(0.0, self.scale, validate_args=False)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def _expanded(self, batch_shape: Shape) -> Self:
        return type(self)(self.scale.expand(batch_shape), validate_args=False)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._base.rsample(sample_shape).abs()

    def log_prob(self, value: Any) -> Tensor:
        value = self._checked(value)
        found = self._base.log_prob(value) + math.log(2)
        return OPERATIONS["where"](value >= 0, found, -math.inf)

    def icdf(self, prob: Any) -> Tensor:
        return self._base.icdf((prob + 1) / 2)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class HalfNormal(_Half):
    """The absolute value of normal numbers around 0.

    scale (Tensor or float): The standard deviation of the normal numbers, positive.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.HalfNormal(1.0)
    >>> p.mean, p.cdf(torch.tensor(1.0))
    (tensor(0.7979), tensor(0.6827))
    """

    whole = Normal
    _formulas = formulas(
        mean=lambda p: p.scale * math.sqrt(2 / math.pi),
        variance=lambda p: p.scale.pow(2) * (1 - 2 / math.pi),
    )


class HalfCauchy(_Half):
    """The absolute value of Cauchy numbers around 0.

    scale (Tensor or float): The median, positive.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.HalfCauchy(2.0)
    >>> p.cdf(torch.tensor(2.0)), p.mean
    (tensor(0.5000), tensor(inf))
    """

    whole = Cauchy
    _formulas = formulas(
        mean=lambda p: OPERATIONS["full_like"](p.scale.detach(), math.inf),
        variance=lambda p: p._base.variance,
    )


class Exponential(ExponentialFamily):
    """The exponential distribution of a rate: rate * exp(-rate * x).

    rate (Tensor or float): One over the mean, positive.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.Exponential(2.0)
    >>> p.mean, p.log_prob(torch.tensor(0.0))
    (tensor(0.5000), tensor(0.6931))
    """

    has_rsample = True
    arg_constraints = constrained(rate=constraints.positive)
    support = constraints.nonnegative
    _formulas = formulas(
        mean=lambda p: p.rate.reciprocal(),
        mode=lambda p: OPERATIONS["zeros_like"](p.rate),
        stddev=lambda p: p.rate.reciprocal(),
        variance=lambda p: p.rate.pow(-2),
        rsample=lambda p, shape: -uniform(p.rate, shape).log() / p.rate,
        log_prob=lambda p, x: p.rate.log() - p.rate * x,
        cdf=lambda p, x: 1 - (-p.rate * x).exp(),
        icdf=lambda p, x: -(-x).log1p() / p.rate,
        entropy=lambda p: 1.0 - p.rate.log(),
        _natural_params=lambda p: (-p.rate,),
        _log_normalizer=lambda p, x: -(-x).log(),
        _mean_carrier_measure=lambda p: 0,
    )

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)
