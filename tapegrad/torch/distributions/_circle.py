"""Distributions on a circle and on (0, 1): VonMises and ContinuousBernoulli.

Knows their normalizers. Must not know other families.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._ops.create.generator import source
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._discrete import _ByProbability, _clamped
from tapegrad.torch.distributions._formulas import formulas
from tapegrad.torch.distributions._location import uniform
from tapegrad.torch.distributions.distribution import (
    Distribution,
    ExponentialFamily,
    broadcast,
    constrained,
)
from tapegrad.torch.nn.loss.probabilities import binary_cross_entropy_with_logits

Shape = Sequence[int]
_where = OPERATIONS["where"]

# M. Abramowitz, I. Stegun, Handbook of mathematical functions, 9.8.1 to 9.8.4: polynomials for the
# modified Bessel functions of order 0 and 1, in (x / 3.75) ** 2 below 3.75 and in 3.75 / x above.
_SMALL = (
    (1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.360768e-1, 0.45813e-2),
    (0.5, 0.87890594, 0.51498869, 0.15084934, 0.2658733e-1, 0.301532e-2, 0.32411e-3),
)
_LARGE = (
    (
        *(0.39894228, 0.1328592e-1, 0.225319e-2, -0.157565e-2, 0.916281e-2, -0.2057706e-1),
        *(0.2635537e-1, -0.1647633e-1, 0.392377e-2),
    ),
    (
        *(0.39894228, -0.3988024e-1, -0.362018e-2, 0.163801e-2, -0.1031555e-1, 0.2282967e-1),
        *(-0.2895312e-1, 0.1787654e-1, -0.420059e-2),
    ),
)


def _polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    found: Any = coefficients[-1]
    for coefficient in reversed(coefficients[:-1]):
        found = coefficient + x * found
    return found


def log_bessel(x: Any, order: int) -> Any:
    """log of the modified Bessel function of order 0 or 1, of positive numbers, to 1e-7."""
    small = x < 3.75
    low = _where(small, x, 1.0)
    below = _polynomial((low / 3.75) ** 2, _SMALL[order])
    if order:
        below = low.abs() * below
    high = _where(small, 3.75, x)
    above = high - 0.5 * high.log() + _polynomial(3.75 / high, _LARGE[order]).log()
    return _where(small, below.log(), above)


class VonMises(Distribution):
    """Angles around `loc`: of densities in proportion to exp(concentration * cos(x - loc)).

    Draws are from -pi to before pi.

    loc (Tensor or float): The mean direction, in radians.
    concentration (Tensor or float): How close to it the angles are, positive.
    ValueError: For a parameter out of its range, unless `validate_args` is False.
    Notes: The normalizer has polynomials for Bessel functions, good to about 1e-7: M. Abramowitz,
        I. Stegun, Handbook of mathematical functions, 9.8.1 to 9.8.4.

    >>> p = torch.distributions.VonMises(0.0, 1.0)
    >>> p.log_prob(torch.tensor(0.0)), p.variance
    (tensor(-1.0738), tensor(0.5536))
    """

    arg_constraints = constrained(loc=constraints.real, concentration=constraints.positive)
    support = constraints.real
    _formulas = formulas(mode=lambda p: p.loc)

    def __init__(self, loc: Any, concentration: Any, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def log_prob(self, value: Any) -> Tensor:
        found = self.concentration * (self._checked(value) - self.loc).cos()
        return found - math.log(2 * math.pi) - log_bessel(self.concentration, 0)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            loc = plain_of(self.loc.detach())
            drawn = source().vonmises(0.0, plain_of(self.concentration.detach()), shape)
            angles = np.remainder(drawn + loc + np.pi, 2 * np.pi) - np.pi
            return of_value(np.asarray(angles).astype(loc.dtype))

    @property
    def mean(self) -> Tensor:
        """The mean direction."""
        return self.loc

    @property
    def variance(self) -> Tensor:
        """The circular variance."""
        return 1 - (log_bessel(self.concentration, 1) - log_bessel(self.concentration, 0)).exp()


class ContinuousBernoulli(_ByProbability, ExponentialFamily):
    """Numbers in (0, 1) of densities in proportion to probs ** x * (1 - probs) ** (1 - x).

    lims (tuple of float): Probabilities between these are handled by series about one half, where
        the formulas lose their digits.
    Notes: G. Loaiza-Ganem, J. Cunningham (2019), The continuous Bernoulli: fixing a pervasive
        error in variational autoencoders.

    >>> p = torch.distributions.ContinuousBernoulli(torch.tensor(0.25))
    >>> p.mean, p.log_prob(torch.tensor(0.5))
    (tensor(0.4102), tensor(-0.0498))
    """

    arg_constraints = constrained(probs=constraints.unit_interval, logits=constraints.real)
    support = constraints.unit_interval
    has_rsample = True
    _formulas = formulas(
        rsample=lambda p, shape: p.icdf(uniform(p.probs, shape)),
        _natural_params=lambda p: (p.logits,),
        _mean_carrier_measure=lambda p: 0,
    )

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        given = self._take(probs, logits)
        self._lims = lims
        super().__init__(given.shape, validate_args=validate_args)
        if self._by_probs:
            self.__dict__["probs"] = _clamped(given)

    def _probs_of(self, logits: Any) -> Any:
        return _clamped(logits.sigmoid())

    def _outside(self) -> Any:
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self) -> Any:
        """The probabilities, but for those near one half."""
        return _where(self._outside(), self.probs, self._lims[0])

    def _log_norm(self) -> Any:
        cut = self._cut()
        below, above = _where(cut <= 0.5, cut, 0.0), _where(cut >= 0.5, cut, 1.0)
        slope = ((-cut).log1p() - cut.log()).abs().log()
        side = _where(cut <= 0.5, (-2.0 * below).log1p(), (2.0 * above - 1.0).log())
        x = (self.probs - 0.5).pow(2)
        series = math.log(2.0) + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return _where(self._outside(), slope - side, series)

    @property
    def mean(self) -> Tensor:
        cut = self._cut()
        found = cut / (2.0 * cut - 1.0) + 1.0 / ((-cut).log1p() - cut.log())
        x = self.probs - 0.5
        return _where(self._outside(), found, 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def variance(self) -> Tensor:
        cut = self._cut()
        squares = cut * (cut - 1.0) / (1.0 - 2.0 * cut).pow(2)
        found = squares + 1.0 / ((-cut).log1p() - cut.log()).pow(2)
        x = (self.probs - 0.5).pow(2)
        series = 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x
        return _where(self._outside(), found, series)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape)

    def log_prob(self, value: Any) -> Tensor:
        value = self._checked(value)  # before the logits are found, which the error would show
        logits, value = broadcast(self.logits, value)
        return self._log_norm() - binary_cross_entropy_with_logits(logits, value, reduction="none")

    def cdf(self, value: Any) -> Tensor:
        value, cut = self._checked(value), self._cut()
        power = cut**value * (1.0 - cut) ** (1.0 - value)
        found = _where(self._outside(), (power + cut - 1.0) / (2.0 * cut - 1.0), value)
        found = _where(value <= 0.0, 0.0, found)
        return _where(value >= 1.0, 1.0, found)

    def icdf(self, value: Any) -> Tensor:
        cut = self._cut()
        rest = (-cut).log1p()
        found = ((-cut + value * (2.0 * cut - 1.0)).log1p() - rest) / (cut.log() - rest)
        return _where(self._outside(), found, value)

    def entropy(self) -> Tensor:
        never, ever = (-self.probs).log1p(), self.probs.log()
        return self.mean * (never - ever) - self._log_norm() - never

    def _log_normalizer(self, *natural_params: Any) -> Any:
        (x,) = natural_params
        outside = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = _where(outside, x, self._lims[0] - 0.5)
        found = cut.expm1().abs().log() - cut.abs().log()
        series = 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0
        return _where(outside, found, series)
