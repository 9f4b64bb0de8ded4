"""Distributions made of another: Independent, TransformedDistribution, LogNormal.

Knows the interface of `Distribution` alone, but for LogNormal's base.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._location import Normal
from tapegrad.torch.distributions.distribution import Distribution
from tapegrad.torch.distributions.transforms import ComposeTransform, ExpTransform, Transform

Shape = Sequence[int]


def _sum_last(value: Any, count: int) -> Any:
    return value.sum(tuple(range(-count, 0))) if count else value


class Independent(Distribution):
    """A distribution whose last batch dimensions count as dimensions of one event."""

    def __init__(
        self,
        base_distribution: Any,
        reinterpreted_batch_ndims: int,
        validate_args: bool | None = None,
    ) -> None:
        batch = base_distribution.batch_shape
        if reinterpreted_batch_ndims > len(batch):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), "
                f"actual {reinterpreted_batch_ndims} vs {len(batch)}"
            )
        self.base_dist, self.reinterpreted_batch_ndims = (
            base_distribution,
            reinterpreted_batch_ndims,
        )
        kept = len(batch) - reinterpreted_batch_ndims
        event = (*batch[kept:], *base_distribution.event_shape)
        super().__init__(batch[:kept], event, validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]  # as its base has
        return bool(self.base_dist.has_rsample)

    @property
    def support(self) -> Any:
        found = self.base_dist.support
        count = self.reinterpreted_batch_ndims
        return constraints.IndependentConstraint(found, count) if count else found

    @property
    def mean(self) -> Any:
        return self.base_dist.mean

    @property
    def mode(self) -> Any:
        return self.base_dist.mode

    @property
    def variance(self) -> Any:
        return self.base_dist.variance

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        kept = self.event_shape[: self.reinterpreted_batch_ndims]
        base = self.base_dist.expand((*batch_shape, *kept))
        return Independent(base, self.reinterpreted_batch_ndims, validate_args=False)

    def sample(self, sample_shape: Shape = ()) -> Any:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Any:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Any:
        return _sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Any:
        return _sum_last(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """What transforms make of the draws of a distribution."""

    def __init__(
        self,
        base_distribution: Any,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        parts = [transforms] if isinstance(transforms, Transform) else list(transforms)
        if not all(isinstance(part, Transform) for part in parts):
            raise ValueError("transforms must be a Transform or a list of Transforms")
        self.transforms = parts
        self._whole = ComposeTransform(parts)
        more = max(self._whole.event_dim - len(base_distribution.event_shape), 0)
        self.base_dist: Any = base_distribution
        if more:
            self.base_dist = Independent(base_distribution, more)
        super().__init__(self.base_dist.batch_shape, self.base_dist.event_shape, validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]  # as its base has
        return bool(self.base_dist.has_rsample)

    @property
    def support(self) -> Any:
        found = self._whole.codomain if self.transforms else self.base_dist.support
        more = len(self.event_shape) - found.event_dim
        return constraints.IndependentConstraint(found, more) if more > 0 else found

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        made = super().expand(batch_shape)
        made.base_dist = self.base_dist.expand(batch_shape)
        return made

    def sample(self, sample_shape: Shape = ()) -> Any:
        with no_grad():
            return self._whole(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Shape = ()) -> Any:
        return self._whole(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Any:
        y = self._checked(value)
        x = self._whole._inverse(y)
        slope = self._whole.log_abs_det_jacobian(x, y)
        rank = len(self.event_shape) - self._whole.event_dim
        if isinstance(slope, float):
            return self.base_dist.log_prob(x)
        return self.base_dist.log_prob(x) - _sum_last(slope, rank)

    def _monotone(self) -> Any:
        sign: Any = 1
        for part in self.transforms:
            scale = getattr(part, "scale", None)
            if scale is not None:
                sign = sign * (scale.sign() if hasattr(scale, "sign") else (scale > 0) * 2 - 1)
        return sign

    def cdf(self, value: Any) -> Any:
        sign = self._monotone()
        found = self.base_dist.cdf(self._whole._inverse(self._checked(value)))
        return sign * (found - 0.5) + 0.5

    def icdf(self, value: Any) -> Any:
        sign = self._monotone()
        return self._whole(self.base_dist.icdf(sign * (value - 0.5) + 0.5))

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


class LogNormal(TransformedDistribution):
    """exp of normal numbers."""

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {
        "loc": constraints.real,
        "scale": constraints.positive,
    }

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def loc(self) -> Any:
        return self.base_dist.loc

    @property
    def scale(self) -> Any:
        return self.base_dist.scale

    @property
    def mean(self) -> Any:
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self) -> Any:
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self) -> Any:
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self) -> Any:
        return self.base_dist.entropy() + self.loc


__all__ = ["Independent", "LogNormal", "TransformedDistribution"]
