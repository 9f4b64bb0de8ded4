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

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc


class _LocationScale(_Centered):
    """loc + scale * z, of a z that the subclass draws."""

    has_rsample = True
    arg_constraints = constrained(loc=constraints.real, scale=constraints.positive)

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _standard(self, shape: Any) -> Any:
        raise NotImplementedError

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.loc + self.scale * self._standard(self._extended_shape(sample_shape))

    def _standardized(self, value: Any) -> Any:
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

    def _standard(self, shape: Any) -> Any:
        return normal(self.loc, shape)

    @property
    def stddev(self) -> Tensor:
        return self.scale

    @property
    def variance(self) -> Tensor:
        return self.scale**2

    def log_prob(self, value: Any) -> Tensor:
        z = self._standardized(value)
        return -0.5 * z * z - self.scale.log() - _HALF_LOG_TAU

    def cdf(self, value: Any) -> Tensor:
        return 0.5 * (1 + (self._standardized(value) / math.sqrt(2)).erf())

    def icdf(self, value: Any) -> Tensor:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + _HALF_LOG_TAU + self.scale.log()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return self.loc / self.scale.pow(2), -0.5 * self.scale.pow(2).reciprocal()

    def _log_normalizer(self, *natural_params: Any) -> Any:
        x, y = natural_params
        return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()

    @property
    def _mean_carrier_measure(self) -> float:
        return 0


class Laplace(_LocationScale):
    """The Laplace distribution: exp(-|x - loc| / scale) / (2 scale).

    scale (Tensor or float): The mean distance from it, positive.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.Laplace(0.0, 1.0)
    >>> p.log_prob(torch.tensor(1.0)), p.variance
    (tensor(-1.6931), tensor(2.))
    """

    def _standard(self, shape: Any) -> Any:
        u = uniform(self.loc, shape) - 0.5
        return -u.sign() * (-2 * u.abs()).clamp(min=-1 + 1e-7).log1p()

    @property
    def variance(self) -> Tensor:
        return 2 * self.scale**2

    @property
    def stddev(self) -> Tensor:
        return math.sqrt(2) * self.scale

    def log_prob(self, value: Any) -> Tensor:
        return -(2 * self.scale).log() - self._standardized(value).abs()

    def cdf(self, value: Any) -> Tensor:
        z = self._standardized(value)
        return 0.5 - 0.5 * z.sign() * (-z.abs()).expm1()

    def icdf(self, value: Any) -> Tensor:
        u = value - 0.5
        return self.loc - self.scale * u.sign() * (-2 * u.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()


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

    def _standard(self, shape: Any) -> Any:
        return (math.pi * (uniform(self.loc, shape) - 0.5)).tan()

    @property
    def mean(self) -> Tensor:
        return OPERATIONS["full_like"](self.loc.detach(), math.nan)

    @property
    def variance(self) -> Tensor:
        return OPERATIONS["full_like"](self.loc.detach(), math.inf)

    def log_prob(self, value: Any) -> Tensor:
        z = self._standardized(value)
        return -math.log(math.pi) - self.scale.log() - (z * z).log1p()

    def cdf(self, value: Any) -> Tensor:
        return self._standardized(value).atan() / math.pi + 0.5

    def icdf(self, value: Any) -> Tensor:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()


class Gumbel(_LocationScale):
    """The Gumbel distribution: the limit of maxima of exponential tails.

    Its distribution function is exp(-exp(-(x - loc) / scale)).

    loc (Tensor or float): The mode.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.Gumbel(0.0, 1.0)
    >>> p.mean, p.cdf(torch.tensor(0.0))
    (tensor(0.5772), tensor(0.3679))
    """

    def _standard(self, shape: Any) -> Any:
        return -(-uniform(self.loc, shape).log()).log()

    @property
    def mean(self) -> Tensor:
        return self.loc + self.scale * _EULER

    @property
    def stddev(self) -> Tensor:
        return math.pi / math.sqrt(6) * self.scale

    @property
    def variance(self) -> Tensor:
        return self.stddev**2

    def log_prob(self, value: Any) -> Tensor:
        z = -self._standardized(value)
        return z - z.exp() - self.scale.log()

    def cdf(self, value: Any) -> Tensor:
        return (-(-self._standardized(value)).exp()).exp()

    def icdf(self, value: Any) -> Tensor:
        return self.loc - self.scale * (-value.log()).log()

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + _EULER)


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

    def __init__(self, low: Any, high: Any, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)
        if self._validate_args and not bool((self.low < self.high).all()):
            raise ValueError("Uniform is not defined when low>= high")

    @property
    def support(self) -> constraints.Constraint:
        return constraints.Interval(self.low, self.high)

    @property
    def mean(self) -> Tensor:
        return (self.high + self.low) / 2

    @property
    def mode(self) -> Tensor:
        return math.nan * self.high

    @property
    def stddev(self) -> Tensor:
        return (self.high - self.low) / 12**0.5

    @property
    def variance(self) -> Tensor:
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        u = _rand(size=tuple(self._extended_shape(sample_shape)), dtype=self.low.dtype)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value: Any) -> Tensor:
        value = self._checked(value)
        inside = (self.low <= value) & (self.high > value)
        return inside.type_as(self.low).log() - (self.high - self.low).log()

    def cdf(self, value: Any) -> Tensor:
        return ((self._checked(value) - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Any) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()


class _Half(Distribution):
    """The absolute value of a distribution around 0."""

    has_rsample = True
    arg_constraints = constrained(scale=constraints.positive)
    support = constraints.nonnegative
    whole: ClassVar[type[_LocationScale]]

    def __init__(self, scale: Any, validate_args: bool | None = None) -> None:
        (self.scale,) = broadcast(scale)
        self._base = self.whole(0.0, self.scale, validate_args=False)
        super().__init__(self.scale.shape, validate_args=validate_args)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Self:
        return type(self)(self.scale.expand(batch_shape), validate_args=False)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._base.rsample(sample_shape).abs()

    def log_prob(self, value: Any) -> Tensor:
        value = self._checked(value)
        found = self._base.log_prob(value) + math.log(2)
        return OPERATIONS["where"](value >= 0, found, -math.inf)

    def cdf(self, value: Any) -> Tensor:
        return 2 * self._base.cdf(self._checked(value)) - 1

    def icdf(self, prob: Any) -> Tensor:
        return self._base.icdf((prob + 1) / 2)

    def entropy(self) -> Tensor:
        return self._base.entropy() - math.log(2)

    @property
    def mode(self) -> Tensor:
        return OPERATIONS["zeros_like"](self.scale)

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

    @property
    def mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def variance(self) -> Tensor:
        return self.scale.pow(2) * (1 - 2 / math.pi)


class HalfCauchy(_Half):
    """The absolute value of Cauchy numbers around 0.

    scale (Tensor or float): The median, positive.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.HalfCauchy(2.0)
    >>> p.cdf(torch.tensor(2.0)), p.mean
    (tensor(0.5000), tensor(inf))
    """

    whole = Cauchy

    @property
    def mean(self) -> Tensor:
        return OPERATIONS["full_like"](self.scale.detach(), math.inf)

    @property
    def variance(self) -> Tensor:
        return self._base.variance


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

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def mode(self) -> Tensor:
        return OPERATIONS["zeros_like"](self.rate)

    @property
    def stddev(self) -> Tensor:
        return self.rate.reciprocal()

    @property
    def variance(self) -> Tensor:
        return self.rate.pow(-2)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return -uniform(self.rate, self._extended_shape(sample_shape)).log() / self.rate

    def log_prob(self, value: Any) -> Tensor:
        return self.rate.log() - self.rate * self._checked(value)

    def cdf(self, value: Any) -> Tensor:
        return 1 - (-self.rate * self._checked(value)).exp()

    def icdf(self, value: Any) -> Tensor:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - self.rate.log()

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        return (-self.rate,)

    def _log_normalizer(self, *natural_params: Any) -> Any:
        (x,) = natural_params
        return -(-x).log()

    @property
    def _mean_carrier_measure(self) -> float:
        return 0
