"""Continuous distributions that are powers, quotients and the like of simpler ones.

Knows exponential, uniform and gamma numbers. Must not know other families.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad.torch._dtypes import finfo
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._formulas import formulas
from tapegrad.torch.distributions._gammas import Gamma
from tapegrad.torch.distributions._location import Exponential, Uniform, uniform
from tapegrad.torch.distributions._number_transforms import (
    AffineTransform,
    ExpTransform,
    PowerTransform,
)
from tapegrad.torch.distributions._wrapped import TransformedDistribution
from tapegrad.torch.distributions.distribution import (
    Distribution,
    broadcast,
    constrained,
    of_part,
)

Shape = Sequence[int]
_where, _ones_like, _zeros_like = (OPERATIONS[n] for n in ("where", "ones_like", "zeros_like"))
EULER = 0.5772156649015329


class Weibull(TransformedDistribution):
    """Powers of exponential numbers z: scale * z ** (1 / concentration).

    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.Weibull(2.0, 1.0)
    >>> p.mean, p.log_prob(torch.tensor(2.0))
    (tensor(2.), tensor(-1.6931))
    """

    arg_constraints = constrained(scale=constraints.positive, concentration=constraints.positive)
    support = constraints.positive
    _formulas = formulas(
        mean=lambda p: p.scale * p._moment(1),
        mode=lambda p: (
            p.scale * ((p.concentration - 1) / p.concentration) ** p.concentration.reciprocal()
        ),
        variance=lambda p: p.scale.pow(2) * (p._moment(2) - p._moment(1) ** 2),
    )

    def __init__(self, scale: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast(scale, concentration)
        base = Exponential(_ones_like(self.scale), validate_args=validate_args)
        parts = [PowerTransform(1 / self.concentration), AffineTransform(0, self.scale)]
        super().__init__(base, parts, validate_args=validate_args)

    def _moment(self, order: int) -> Any:
        """The mean of the powers of what has the scale 1."""
        return (1 + order / self.concentration).lgamma().exp()

    def entropy(self) -> Tensor:
        k = self.concentration
        return EULER * (1 - 1 / k) + (self.scale / k).log() + 1


class Pareto(TransformedDistribution):
    """Numbers above `scale`, of densities in proportion to x^-(alpha + 1).

    scale (Tensor or float): The least value, positive.
    alpha (Tensor or float): The power by which the tail falls, positive.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.Pareto(1.0, 3.0)
    >>> p.mean, p.log_prob(torch.tensor(2.0))
    (tensor(1.5000), tensor(-1.6740))
    """

    arg_constraints = constrained(alpha=constraints.positive, scale=constraints.positive)
    _formulas = formulas(
        mode=lambda p: p.scale,
        entropy=lambda p: (p.scale / p.alpha).log() + (1 + p.alpha.reciprocal()),
    )

    def __init__(self, scale: Any, alpha: Any, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        super().__init__(
            base, [ExpTransform(), AffineTransform(0, self.scale)], validate_args=validate_args
        )

    @property
    def support(self) -> constraints.Constraint:
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))


class Kumaraswamy(TransformedDistribution):
    """Powers of uniform numbers u: (1 - u ** (1 / concentration0)) ** (1 / concentration1).

    concentration1 (Tensor or float): The power of x in the distribution function 1 - (1 -
        x^concentration1)^concentration0.
    concentration0 (Tensor or float): The outer power there; both are positive.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.Kumaraswamy(2.0, 3.0)
    >>> p.mean, p.cdf(torch.tensor(0.5))
    (tensor(0.4571), tensor(0.5781))
    """

    arg_constraints = constrained(
        concentration1=constraints.positive, concentration0=constraints.positive
    )
    support = constraints.unit_interval
    has_rsample = True
    _formulas = formulas(
        mean=lambda p: p._moment(1),
        variance=lambda p: p._moment(2) - p.mean.pow(2),
    )

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast(concentration1, concentration0)
        zeros = _zeros_like(self.concentration0)
        base = Uniform(zeros, zeros + 1, validate_args=validate_args)
        parts = [
            PowerTransform(self.concentration0.reciprocal()),
            AffineTransform(1.0, -1.0),
            PowerTransform(self.concentration1.reciprocal()),
        ]
        super().__init__(base, parts, validate_args=validate_args)

    def _moment(self, order: int) -> Any:
        a, b = self.concentration1, self.concentration0
        more = 1 + order / a
        return b * (more.lgamma() + b.lgamma() - (more + b).lgamma()).exp()

    @property
    def mode(self) -> Tensor:
        """The value of the greatest density, NaN where that is at an end."""
        a, b = self.concentration1, self.concentration0
        inside = (a >= 1) & (b >= 1) & (a * b > 1)
        share = _where(inside, (a - 1) / (a * b - 1), math.nan)
        return share ** a.reciprocal()

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        harmonic = (b + 1).digamma() + EULER
        return (1 - b.reciprocal()) + (1 - a.reciprocal()) * harmonic - a.log() - b.log()


class InverseGamma(TransformedDistribution):
    """The reciprocals of gamma numbers.

    rate (Tensor or float): The rate of the gamma numbers, by which their reciprocals are
        multiplied; positive.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.InverseGamma(3.0, 4.0)
    >>> p.mean, p.variance
    (tensor(2.), tensor(4.))
    """

    arg_constraints = constrained(concentration=constraints.positive, rate=constraints.positive)
    support = constraints.positive
    has_rsample = True
    _formulas = formulas(
        mean=lambda p: _where(p.concentration > 1, p.rate / (p.concentration - 1), math.inf),
        mode=lambda p: p.rate / (p.concentration + 1),
    )

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        super().__init__(base, PowerTransform(-_ones_like(base.rate)), validate_args=validate_args)

    concentration: Tensor = of_part("base_dist.concentration", "The shape parameter.")
    rate: Tensor = of_part("base_dist.rate", "The rate of the gamma numbers.")

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        found = self.rate.square() / ((a - 1).square() * (a - 2))
        return _where(a > 2, found, math.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class FisherSnedecor(Distribution):
    """The quotient of two means of squares, of `df1` and of `df2` normal numbers.

    df1 (Tensor or float): The degrees of freedom of the numerator, positive.
    df2 (Tensor or float): Those of the denominator, positive.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.FisherSnedecor(3.0, 6.0)
    >>> p.mean, p.log_prob(torch.tensor(1.0))
    (tensor(1.5000), tensor(-0.9829))
    """

    has_rsample = True
    arg_constraints = constrained(df1=constraints.positive, df2=constraints.positive)
    support = constraints.positive

    def __init__(self, df1: Any, df2: Any, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast(df1, df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        df2 = _where(self.df2 > 2, self.df2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        found = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return _where(self.df1 > 2, found, math.nan)

    @property
    def variance(self) -> Tensor:
        df1, df2 = self.df1, _where(self.df2 > 4, self.df2, math.nan)
        return 2 * df2.pow(2) * (df1 + df2 - 2) / (df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        one, two = (
            Gamma(0.5 * df, df, validate_args=False).rsample(sample_shape)
            for df in (self.df1, self.df2)
        )
        tiny = finfo(self.df2.dtype).tiny
        return (one / two.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Any) -> Tensor:
        value = self._checked(value)
        one, two, ratio = self.df1 * 0.5, self.df2 * 0.5, self.df1 / self.df2
        shapes = (one + two).lgamma() - one.lgamma() - two.lgamma()
        powers = one * ratio.log() + (one - 1) * value.log()
        return shapes + powers - (one + two) * (ratio * value).log1p()


class GeneralizedPareto(Distribution):
    """Excess over a threshold `loc`: the limit of tails, of the power -1 / concentration.

    loc (Tensor or float): The threshold.
    scale (Tensor or float): What draws above it are multiplied by, positive.
    concentration (Tensor or float): Above 0 for heavy tails; 0 for exponential ones; below 0 the
        values end at `loc - scale / concentration`.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.GeneralizedPareto(0.0, 1.0, 0.5)
    >>> p.mean, p.cdf(torch.tensor(2.0))
    (tensor(2.), tensor(0.7500))
    """

    has_rsample = True
    arg_constraints = constrained(
        loc=constraints.real, scale=constraints.positive, concentration=constraints.real
    )
    _formulas = formulas(
        rsample=lambda p, shape: p.icdf(uniform(p.loc, shape)),
        mode=lambda p: p.loc,
        entropy=lambda p: p.scale.log() + p.concentration + 1,
    )

    def __init__(
        self, loc: Any, scale: Any, concentration: Any, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast(loc, scale, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def _cases(self) -> tuple[Any, Any]:
        """Where the concentration is zero, and a concentration that is not."""
        k = self.concentration
        none = OPERATIONS["isclose"](k, _zeros_like(k))
        return none, _where(none, 1.0, k)

    def _argument(self, value: Any) -> Any:
        return (self._checked(value) - self.loc) / self.scale

    def log_prob(self, value: Any) -> Tensor:
        y, (none, k) = self._argument(value), self._cases()
        powers = -(1 + 1 / k) * (k * y).log1p()
        return _where(none, -y, powers) - self.scale.log()

    def _log_survival(self, value: Any) -> Any:
        y, (none, k) = self._argument(value), self._cases()
        return _where(none, -y, -(k * y).log1p() / k)

    def cdf(self, value: Any) -> Tensor:
        return -self._log_survival(value).expm1()

    def icdf(self, value: Any) -> Tensor:
        none, k = self._cases()
        left = (-value).log1p()
        return self.loc + self.scale * _where(none, -left, (-k * left).expm1() / k)

    @property
    def mean(self) -> Tensor:
        k = self.concentration
        safe = _where(k < 1, k, 0.5)
        return _where(k < 1, self.loc + self.scale / (1 - safe), math.inf)

    @property
    def variance(self) -> Tensor:
        k = self.concentration
        safe = _where(k < 0.5, k, 0.25)
        found = self.scale**2 / ((1 - safe) ** 2 * (1 - 2 * safe))
        return _where(k < 0.5, found, math.inf)

    @property
    def support(self) -> constraints.Constraint:
        k = self.concentration
        safe = _where(k < 0, k, -1.0)
        return constraints.interval(
            self.loc, _where(k < 0, self.loc - self.scale / safe, math.inf)
        )
