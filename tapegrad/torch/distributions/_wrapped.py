"""Distributions made of another: Independent, TransformedDistribution, LogNormal.

Knows the interface of `Distribution` alone, but for LogNormal's base.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

from tapegrad.torch._dtypes import Size
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._formulas import formulas
from tapegrad.torch.distributions._location import Normal
from tapegrad.torch.distributions._number_transforms import ExpTransform
from tapegrad.torch.distributions._transform import ComposeTransform, Transform, sum_last
from tapegrad.torch.distributions.distribution import Distribution, constrained, of_part

Shape = Sequence[int]
Base = TypeVar("Base", bound=Distribution)


class Independent(Distribution, Generic[Base]):
    """A distribution whose last batch dimensions count as dimensions of one event.

    base_distribution (Distribution): The distribution.
    reinterpreted_batch_ndims: How many of its batch dimensions.
    ValueError: If the batch has fewer dimensions.

    >>> p = torch.distributions.Independent(torch.distributions.Normal(torch.zeros(2, 3), 1.0), 1)
    >>> p.batch_shape, p.event_shape, p.log_prob(torch.zeros(3))
    (torch.Size([2]), torch.Size([3]), tensor([-2.7568, -2.7568]))
    """

    _formulas = formulas(
        mean=lambda p: p.base_dist.mean,
        mode=lambda p: p.base_dist.mode,
        variance=lambda p: p.base_dist.variance,
        entropy=lambda p: sum_last(p.base_dist.entropy(), p.reinterpreted_batch_ndims),
    )

    def __init__(
        self,
        base_distribution: Base,
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
    def support(self) -> constraints.Constraint:
        found = self.base_dist.support
        count = self.reinterpreted_batch_ndims
        return constraints.IndependentConstraint(found, count) if count else found

    def _expanded(self, batch_shape: Shape) -> Independent[Base]:
        kept = self.event_shape[: self.reinterpreted_batch_ndims]
        base = self.base_dist.expand((*batch_shape, *kept))
        return Independent(base, self.reinterpreted_batch_ndims, validate_args=False)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Any) -> Tensor:
        return sum_last(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"Independent({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """Distribution of transformed draws of another.

    A transform that mixes dimensions makes them dimensions of one event, and may change sizes.

    base_distribution (Distribution): The distribution of what is transformed.
    transforms (Transform or list of Transform): What is applied, the first first.
    ValueError: If the base has too few dimensions, or `transforms` is something else.

    >>> d = torch.distributions
    >>> base = d.Uniform(torch.zeros(1), 1.0)
    >>> p = d.TransformedDistribution(base, [d.AffineTransform(1.0, 2.0)])
    >>> p.log_prob(torch.tensor([2.0])), p.cdf(torch.tensor([2.0]))
    (tensor([-0.6931]), tensor([0.5000]))
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    _formulas = formulas(
        cdf=lambda p, x: p._turned(p.base_dist.cdf(p._whole.inv(x))),
        icdf=lambda p, x: p._whole(p.base_dist.icdf(p._turned(x))),
    )

    def __init__(
        self,
        base_distribution: Any,
        transforms: Transform | Sequence[Transform],
        validate_args: bool | None = None,
    ) -> None:
        self.transforms: list[Any] = _listed(transforms)
        whole = self._whole = ComposeTransform(self.transforms)
        shape = Size((*base_distribution.batch_shape, *base_distribution.event_shape))
        rank = len(base_distribution.event_shape)
        needed = whole.domain.event_dim
        if len(shape) < needed:
            raise ValueError(
                f"base_distribution needs to have shape with size at least {needed}, but got "
                f"{shape}."
            )
        made = tuple(whole.forward_shape(shape))
        wanted = tuple(whole.inverse_shape(made))
        if wanted != tuple(shape):
            base_distribution = base_distribution.expand(wanted[: len(wanted) - rank])
        if needed > rank:
            base_distribution = Independent(base_distribution, needed - rank)
        self.base_dist: Any = base_distribution
        event = whole.codomain.event_dim + max(rank - needed, 0)
        cut = len(made) - event
        super().__init__(made[:cut], made[cut:], validate_args)

    @property
    def has_rsample(self) -> bool:  # type: ignore[override]  # as its base has
        return bool(self.base_dist.has_rsample)

    @property
    def support(self) -> constraints.Constraint:
        if not self.transforms:
            return self.base_dist.support
        found = self.transforms[-1].codomain
        more = len(self.event_shape) - found.event_dim
        return constraints.IndependentConstraint(found, more) if more > 0 else found

    def _expanded(self, batch_shape: Shape) -> Self:
        made = super()._expanded(batch_shape)
        shape = self._whole.inverse_shape((*batch_shape, *self.event_shape))
        made.base_dist = self.base_dist.expand(
            shape[: len(shape) - len(self.base_dist.event_shape)]
        )
        return made

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            return self._whole(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        return self._whole(self.base_dist.rsample(sample_shape))

    def log_prob(self, value: Any) -> Tensor:
        y = self._checked(value)
        rank, total = len(self.event_shape), 0.0
        for part in reversed(self.transforms):
            x = part.inv(y)
            rank += part.domain.event_dim - part.codomain.event_dim
            slope = part.log_abs_det_jacobian(x, y)
            total = total - sum_last(slope, rank - part.domain.event_dim)
            y = x
        found = self.base_dist.log_prob(y)
        return total + sum_last(found, rank - len(self.base_dist.event_shape))

    def _turned(self, probability: Any) -> Any:
        """A probability of the base: the other side of it where the transforms fall."""
        sign: Any = 1
        for part in self.transforms:
            sign = sign * part.sign
        if isinstance(sign, int) and sign == 1:
            return probability
        return sign * (probability - 0.5) + 0.5


def _listed(transforms: Any) -> list[Any]:
    if isinstance(transforms, Transform):
        return [transforms]
    if not isinstance(transforms, list):
        raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
    if not all(isinstance(part, Transform) for part in transforms):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    return transforms


class LogNormal(TransformedDistribution):
    """The exponentials of normal numbers.

    loc (Tensor or float): The mean of the normal numbers.
    scale (Tensor or float): Their standard deviation, positive.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.LogNormal(0.0, 1.0)
    >>> p.mean, p.log_prob(torch.tensor(1.0))
    (tensor(1.6487), tensor(-0.9189))
    """

    arg_constraints = constrained(loc=constraints.real, scale=constraints.positive)

    support = constraints.positive
    has_rsample = True
    _formulas = formulas(
        mean=lambda p: (p.loc + p.scale.pow(2) / 2).exp(),
        mode=lambda p: (p.loc - p.scale.square()).exp(),
        entropy=lambda p: p.base_dist.entropy() + p.loc,
    )

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    loc: Tensor = of_part("base_dist.loc", "The mean of the normal numbers.")
    scale: Tensor = of_part("base_dist.scale", "The standard deviation of the normal numbers.")

    @property
    def variance(self) -> Tensor:
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()
