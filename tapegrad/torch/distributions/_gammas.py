"""The gamma distribution and those made of it: Chi2, Beta, Dirichlet, StudentT.

Knows that draws are differentiable by the concentration (`_rules.gamma`). Must not know
other families.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import shown_value
from tapegrad.torch._ops.create.generator import Generator, source
from tapegrad.torch._ops.declare import operation
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._rules.gamma import drawn
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._formulas import formulas
from tapegrad.torch.distributions._location import normal
from tapegrad.torch.distributions.distribution import (
    Distribution,
    ExponentialFamily,
    broadcast,
    constrained,
)

Shape = Sequence[int]


@operation("StandardGammaBackward0", method=False, name="_standard_gamma")
def _standard_gamma(input: Value, generator: Generator | None = None) -> Value:
    """Draws of the gamma distribution of rate 1, differentiable by their concentrations."""
    shapes = np.asarray(shown_value(input))
    draws = np.asarray(source(generator).standard_gamma(shapes)).astype(shapes.dtype)
    return drawn(input, draws=np.maximum(draws, np.finfo(shapes.dtype).tiny))


def _log_gamma(x: Any) -> Any:
    return x.lgamma()


class Gamma(ExponentialFamily):
    """The gamma distribution of shape `concentration` and a rate.

    Its density is in proportion to x^(concentration - 1) exp(-rate x).

    rate (Tensor or float): One over the scale, positive.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.Gamma(2.0, 4.0)
    >>> p.mean, p.variance, p.log_prob(torch.tensor(1.0))
    (tensor(0.5000), tensor(0.1250), tensor(-1.2274))
    """

    has_rsample = True
    arg_constraints = constrained(concentration=constraints.positive, rate=constraints.positive)
    support = constraints.nonnegative
    _formulas = formulas(
        mean=lambda p: p.concentration / p.rate,
        mode=lambda p: ((p.concentration - 1) / p.rate).clamp(min=0),
        variance=lambda p: p.concentration / p.rate.pow(2),
        _natural_params=lambda p: (p.concentration - 1, -p.rate),
        _log_normalizer=lambda p, x, y: (x + 1).lgamma() - (x + 1) * (-y).log(),
        _mean_carrier_measure=lambda p: 0,
    )

    def __init__(self, concentration: Any, rate: Any, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        return _standard_gamma(self.concentration.expand(shape)) / self.rate

    def log_prob(self, value: Any) -> Tensor:
        value = self._checked(OPERATIONS["as_tensor"](value, dtype=self.rate.dtype))
        a = self.concentration
        powers = OPERATIONS["xlogy"](a, self.rate) + OPERATIONS["xlogy"](a - 1, value)
        return powers - self.rate * value - _log_gamma(a)

    def cdf(self, value: Any) -> Tensor:
        igamma = OPERATIONS["igamma"]
        return igamma(self.concentration, self.rate * self._checked(value))

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + _log_gamma(a) + (1 - a) * a.digamma()


class Chi2(Gamma):
    """The sum of the squares of `df` standard normal numbers.

    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.Chi2(3.0)
    >>> p.mean, p.variance
    (tensor(3.), tensor(6.))
    """

    arg_constraints = constrained(df=constraints.positive)

    def __init__(self, df: Any, validate_args: bool | None = None) -> None:
        (df,) = broadcast(df)
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    def _given(self, name: str) -> Any:
        return self.df if name == "df" else super()._given(name)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom: twice the concentration."""
        return self.concentration * 2


class Dirichlet(ExponentialFamily):
    """Vectors of shares: gamma numbers of the concentrations, divided by their sum.

    concentration (Tensor, shape (..., n)): Positive numbers, one for each share.
    ValueError: If `concentration` is a single number; for a parameter out of its range, unless
        `validate_args` is False.

    >>> p = torch.distributions.Dirichlet(torch.tensor([1.0, 3.0]))
    >>> p.mean, p.log_prob(torch.tensor([0.5, 0.5]))
    (tensor([0.2500, 0.7500]), tensor(-0.2877))
    """

    has_rsample = True
    arg_constraints = constrained(
        concentration=constraints.IndependentConstraint(constraints.positive, 1)
    )
    support = constraints.simplex
    _formulas = formulas(
        mean=lambda p: p.concentration / p.concentration.sum(-1, keepdim=True),
        _natural_params=lambda p: (p.concentration - 1,),
        _log_normalizer=lambda p, x: (x + 1).lgamma().sum(-1) - (x + 1).sum(-1).lgamma(),
        _mean_carrier_measure=lambda p: 0,
    )

    def __init__(self, concentration: Any, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        # In double precision, where small concentrations seldom give zeros.
        wide = self.concentration.expand(self._extended_shape(sample_shape)).double()
        made = _standard_gamma(wide)
        kind = np.finfo(self.concentration.dtype.numpy)
        shares = (made / made.sum(-1, keepdim=True)).to(self.concentration.dtype)
        fixed = shares.detach()
        inside = fixed.clamp(min=float(kind.tiny), max=1 - float(kind.epsneg))
        return shares + (inside - fixed)  # which keeps the slope

    def log_prob(self, value: Any) -> Tensor:
        value = self._checked(value)
        a = self.concentration
        powers = OPERATIONS["xlogy"](a - 1, value).sum(-1)
        return powers + _log_gamma(a.sum(-1)) - _log_gamma(a).sum(-1)

    @property
    def mode(self) -> Tensor:
        less = (self.concentration - 1).clamp(min=0)
        mode = less / less.sum(-1, keepdim=True)
        corner = (self.concentration < 1).all(-1)
        if not bool(corner.any()):
            return mode
        classes = mode.shape[-1]
        hot = OPERATIONS["eye"](classes, dtype=mode.dtype)[0]  # of several corners the first
        return OPERATIONS["where"](corner.unsqueeze(-1), hot, mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, keepdim=True)
        a = self.concentration
        return a * (total - a) / (total.pow(2) * (total + 1))

    def entropy(self) -> Tensor:
        a = self.concentration
        count, total = a.shape[-1], a.sum(-1)
        return (
            _log_gamma(a).sum(-1)
            - _log_gamma(total)
            - (count - total) * total.digamma()
            - ((a - 1.0) * a.digamma()).sum(-1)
        )


class Beta(ExponentialFamily):
    """Shares of one of two parts: the Dirichlet distribution of two.

    Its density is in proportion to x^(concentration1 - 1) (1 - x)^(concentration0 - 1).

    concentration1 (Tensor or float): Of the part whose share it is, positive.
    concentration0 (Tensor or float): Of the other part, positive.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.Beta(2.0, 3.0)
    >>> p.mean, p.log_prob(torch.tensor(0.5)).exp()
    (tensor(0.4000), tensor(1.5000))
    """

    has_rsample = True
    arg_constraints = constrained(
        concentration1=constraints.positive, concentration0=constraints.positive
    )
    support = constraints.unit_interval
    _formulas = formulas(
        mean=lambda p: p.concentration1 / (p.concentration1 + p.concentration0),
        mode=lambda p: p._dirichlet.mode[..., 0],
        log_prob=lambda p, x: p._dirichlet.log_prob(OPERATIONS["stack"]([x, 1.0 - x], -1)),
        entropy=lambda p: p._dirichlet.entropy(),
        _natural_params=lambda p: (p.concentration1 - 1, p.concentration0 - 1),
        _log_normalizer=lambda p, x, y: (x + 1).lgamma() + (y + 1).lgamma() - (x + y + 2).lgamma(),
        _mean_carrier_measure=lambda p: 0,
    )

    def __init__(
        self, concentration1: Any, concentration0: Any, validate_args: bool | None = None
    ) -> None:
        one, zero = broadcast(concentration1, concentration0)
        pair = OPERATIONS["stack"]([one, zero], -1)
        self._dirichlet = Dirichlet(pair, validate_args=validate_args)
        super().__init__(one.shape, validate_args=validate_args)

    def _expanded(self, batch_shape: Shape) -> Beta:
        one, zero = self.concentration1, self.concentration0
        return Beta(one.expand(batch_shape), zero.expand(batch_shape), validate_args=False)

    @property
    def concentration1(self) -> Tensor:
        """The concentration of the part whose share it is."""
        return self._dirichlet.concentration[..., 0]

    @property
    def concentration0(self) -> Tensor:
        """The concentration of the other part."""
        return self._dirichlet.concentration[..., 1]

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape)[..., 0]


class StudentT(Distribution):
    """Student's t distribution of `df` degrees of freedom, moved and scaled.

    loc (Tensor or float): The centre.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.StudentT(3.0)
    >>> p.variance, p.log_prob(torch.tensor(0.0))
    (tensor(3.), tensor(-1.0009))
    """

    has_rsample = True
    arg_constraints = constrained(
        df=constraints.positive, loc=constraints.real, scale=constraints.positive
    )
    _formulas = formulas(
        mean=lambda p: OPERATIONS["where"](p.df <= 1, math.nan, p.loc),
        mode=lambda p: p.loc,
    )

    def __init__(
        self, df: Any, loc: Any = 0.0, scale: Any = 1.0, validate_args: bool | None = None
    ) -> None:
        self.df, self.loc, self.scale = broadcast(df, loc, scale)
        self._chi2 = Chi2(self.df, validate_args=False)
        super().__init__(self.df.shape, validate_args=validate_args)

    def _expanded(self, batch_shape: Shape) -> StudentT:
        df, loc, scale = (part.expand(batch_shape) for part in (self.df, self.loc, self.scale))
        return StudentT(df, loc, scale, validate_args=False)

    @property
    def variance(self) -> Tensor:
        where = OPERATIONS["where"]
        safe = where(self.df > 2, self.df, 3.0)
        found = self.scale.pow(2) * safe / (safe - 2)
        found = where(self.df > 2, found, math.inf)
        return where(self.df <= 1, math.nan, found)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        z = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * normal(self.loc, shape) * (z / self.df).rsqrt()

    def log_prob(self, value: Any) -> Tensor:
        y = (self._checked(value) - self.loc) / self.scale
        half = 0.5 * self.df
        scaled = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi)
        constant = scaled + _log_gamma(half) - _log_gamma(half + 0.5)
        return -0.5 * (self.df + 1.0) * (y**2.0 / self.df).log1p() - constant

    def entropy(self) -> Tensor:
        half = 0.5 * self.df
        beta = _log_gamma(half) + math.lgamma(0.5) - _log_gamma(half + 0.5)
        slopes = (half + 0.5).digamma() - half.digamma()
        return self.scale.log() + (half + 0.5) * slopes + 0.5 * self.df.log() + beta
