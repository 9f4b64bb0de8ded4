"""Mixtures of distributions of one family: a categorical distribution chooses among the parts.

Knows `Categorical` and the interface of `Distribution`. Must not know how the parts draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._discrete import Categorical
from tapegrad.torch.distributions.distribution import Distribution

Shape = Sequence[int]


class _EveryPart(constraints.Constraint):
    """The values that every part of a mixture allows."""

    def __init__(self, base_constraint: Any) -> None:
        self.base_constraint = base_constraint
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim

    def check(self, value: Any) -> Any:
        batch = value.dim() - self.event_dim
        valid = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return valid.reshape((*valid.shape[:batch], -1)).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class MixtureSameFamily(Distribution):
    """Draws from one of several distributions, chosen by `mixture_distribution`.

    `component_distribution` has the number of parts as its last batch dimension; the batch of the
    mixture is what is left of it. Means, variances, log_prob and cdf are differentiable, draws are
    not.
    ValueError where the arguments are not distributions, or their batches do not fit.
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Any,
        component_distribution: Any,
        validate_args: bool | None = None,
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(  # noqa: TRY004 - as PyTorch
                " The Mixture distribution needs to be an "
                " instance of torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(  # noqa: TRY004 - as PyTorch
                "The Component distribution need to be an "
                "instance of torch.distributions.Distribution"
            )
        chosen = mixture_distribution.batch_shape
        batch = component_distribution.batch_shape[:-1]
        for one, other in zip(reversed(chosen), reversed(batch), strict=False):
            if one != 1 and other != 1 and one != other:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({chosen}) is not compatible "
                    f"with `component_distribution.batch_shape`({batch})"
                )
        parts = mixture_distribution.logits.shape[-1]
        count = component_distribution.batch_shape[-1]
        if parts != count:
            raise ValueError(
                f"`mixture_distribution component` ({parts}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({count})"
            )
        self._num_component = count
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(batch, component_distribution.event_shape, validate_args)

    @property
    def mixture_distribution(self) -> Any:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Any:
        return self._component_distribution

    @property
    def support(self) -> Any:
        return _EveryPart(self._component_distribution.support)

    def _spread(self, value: Any) -> Any:
        """A value with a dimension of length 1 for the parts."""
        return value.unsqueeze(-1 - self._event_ndims)

    def _weights(self) -> Any:
        """The probabilities of the parts, with the dimensions of an event behind them."""
        probs = self._mixture_distribution.probs
        return probs.reshape((*probs.shape, *(1,) * self._event_ndims))

    def _over_parts(self, value: Any) -> Any:
        return value.sum(-1 - self._event_ndims)

    @property
    def mean(self) -> Any:
        return self._over_parts(self._weights() * self._component_distribution.mean)

    @property
    def variance(self) -> Any:
        within = self._over_parts(self._weights() * self._component_distribution.variance)
        away = self._component_distribution.mean - self._spread(self.mean)
        return within + self._over_parts(self._weights() * away.pow(2))

    def log_prob(self, value: Any) -> Any:
        spread = self._spread(self._checked(value))
        weights = self._mixture_distribution.logits.log_softmax(-1)
        return (self._component_distribution.log_prob(spread) + weights).logsumexp(-1)

    def cdf(self, value: Any) -> Any:
        found = self._component_distribution.cdf(self._spread(value))
        return (found * self._mixture_distribution.probs).sum(-1)

    def sample(self, sample_shape: Shape = ()) -> Any:
        with no_grad():
            chosen = self._mixture_distribution.sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            wanted = (*sample_shape, *self.batch_shape, 1, *self.event_shape)
            chosen = chosen.reshape((*chosen.shape, *(1,) * (1 + self._event_ndims)))
            place = len(sample_shape) + len(self.batch_shape)
            return drawn.gather(place, chosen.expand(wanted)).squeeze(place)

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Any:
        return MixtureSameFamily(
            self._mixture_distribution.expand(batch_shape),
            self._component_distribution.expand((*batch_shape, self._num_component)),
            validate_args=False,
        )

    def __repr__(self) -> str:
        return (
            f"MixtureSameFamily(\n  {self._mixture_distribution!r},\n"
            f"  {self._component_distribution!r})"
        )
