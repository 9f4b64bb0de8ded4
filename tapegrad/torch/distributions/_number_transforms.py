"""Transforms of single numbers.

Knows `Transform`. Must not know distributions but as what has `cdf` and `icdf`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad.torch._dtypes import finfo
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._formulas import formulas
from tapegrad.torch.distributions._transform import Transform, broadcast_shape, sum_last

Shape = Sequence[int]


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), in the form that does not overflow."""
    return x.clamp(min=0) + (-x.abs()).exp().log1p()


class _Rising(Transform):
    """A bijection that grows."""

    bijective = True
    _formulas = formulas(sign=lambda self: 1)


class ExpTransform(_Rising):
    """The exponential function.

    >>> torch.distributions.ExpTransform()(torch.tensor(1.0))
    tensor(2.7183)
    """

    codomain = constraints.positive
    _formulas = formulas(
        _call=lambda self, x: x.exp(),
        _inverse=lambda self, y: y.log(),
        log_abs_det_jacobian=lambda self, x, y: x,
    )


class SigmoidTransform(_Rising):
    """The function 1 / (1 + exp(-x)), kept away from 0 and 1 by what the dtype tells from them.

    >>> torch.distributions.SigmoidTransform()(torch.tensor([0.0, 100.0])) < 1
    tensor([True, True])
    """

    codomain = constraints.unit_interval
    _formulas = formulas(log_abs_det_jacobian=lambda self, x, y: -softplus(-x) - softplus(x))

    def _call(self, x: Any) -> Any:
        limits = finfo(x.dtype)
        return x.sigmoid().clamp(min=limits.tiny, max=1.0 - limits.eps)

    def _inverse(self, y: Any) -> Any:
        limits = finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()


class TanhTransform(_Rising):
    """The hyperbolic tangent.

    >>> torch.distributions.TanhTransform().inv(torch.tensor(0.5))
    tensor(0.5493)
    """

    codomain = constraints.Interval(-1.0, 1.0)
    _formulas = formulas(
        _call=lambda self, x: x.tanh(),
        _inverse=lambda self, y: y.atanh(),
        log_abs_det_jacobian=lambda self, x, y: 2.0 * (math.log(2.0) - x - softplus(-2.0 * x)),
    )


class SoftplusTransform(_Rising):
    """The function log(1 + exp(x)).

    >>> torch.distributions.SoftplusTransform()(torch.tensor([0.0, 100.0]))
    tensor([  0.6931, 100.0000])
    """

    codomain = constraints.positive
    _formulas = formulas(
        _call=lambda self, x: softplus(x),
        _inverse=lambda self, y: (-y).expm1().neg().log() + y,
        log_abs_det_jacobian=lambda self, x, y: -softplus(-x),
    )


class AbsTransform(Transform):
    """The absolute value, whose inverse is x itself where that is positive.

    >>> torch.distributions.AbsTransform()(torch.tensor([-2.0, 3.0]))
    tensor([2., 3.])
    """

    codomain = constraints.positive
    _formulas = formulas(
        _call=lambda self, x: x.abs(),
        _inverse=lambda self, y: y,
    )


class AffineTransform(Transform):
    """The function loc + scale * x.

    loc (Tensor or float): What is added.
    scale (Tensor or float): What x is multiplied by, first.
    event_dim: How many of the last dimensions count as those of one event.

    >>> torch.distributions.AffineTransform(1.0, 2.0)(torch.tensor([0.0, 1.0]))
    tensor([1., 3.])
    """

    bijective = True
    _formulas = formulas(
        _call=lambda self, x: self.loc + self.scale * x,
        _inverse=lambda self, y: (y - self.loc) / self.scale,
        forward_shape=lambda self, shape: broadcast_shape(shape, self.loc, self.scale),
        inverse_shape=lambda self, shape: broadcast_shape(shape, self.loc, self.scale),
    )

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim
        if event_dim:
            self.domain = self.codomain = constraints.independent(constraints.real, event_dim)

    def _parts(self) -> dict[str, Any]:
        return {"loc": self.loc, "scale": self.scale}

    @property
    def sign(self) -> Any:
        if hasattr(self.scale, "sign"):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        scale = OPERATIONS["as_tensor"](self.scale, dtype=x.dtype)
        shape = OPERATIONS["broadcast_shapes"](tuple(x.shape), tuple(scale.shape))
        return sum_last(scale.abs().log().expand(shape), self._event_dim)


class PowerTransform(Transform):
    """The power x ** exponent, of positive numbers.

    exponent (Tensor or float): The exponent.

    >>> torch.distributions.PowerTransform(2.0).inv(torch.tensor(9.0))
    tensor(3.)
    """

    bijective = True
    domain = codomain = constraints.positive
    _formulas = formulas(
        sign=lambda self: self.exponent.sign(),
        _call=lambda self, x: x**self.exponent,
        _inverse=lambda self, y: y ** (1 / self.exponent),
        log_abs_det_jacobian=lambda self, x, y: (self.exponent * y / x).abs().log(),
        forward_shape=lambda self, shape: broadcast_shape(shape, self.exponent),
        inverse_shape=lambda self, shape: broadcast_shape(shape, self.exponent),
    )

    def __init__(self, exponent: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.exponent = OPERATIONS["as_tensor"](exponent)


class CumulativeDistributionTransform(Transform):
    """The probability of draws up to x, of a distribution that has `cdf`.

    distribution (Distribution): The distribution; the inverse needs its `icdf`.

    >>> d = torch.distributions
    >>> t = d.CumulativeDistributionTransform(d.Normal(0.0, 1.0))
    >>> t(torch.tensor([0.0, 1.0]))
    tensor([0.5000, 0.8413])
    """

    bijective = True
    codomain = constraints.unit_interval
    _formulas = formulas(
        sign=lambda self: 1,
        _call=lambda self, x: self.distribution.cdf(x),
        _inverse=lambda self, y: self.distribution.icdf(y),
        log_abs_det_jacobian=lambda self, x, y: self.distribution.log_prob(x),
    )

    def __init__(self, distribution: Any, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.distribution = distribution

    @property
    def domain(self) -> Any:
        return self.distribution.support
