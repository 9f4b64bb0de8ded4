"""`MixtureSameFamily`, and counts until successes: `NegativeBinomial`.

Knows classes and the interface of `Distribution`. Must not know other families.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._discrete import Categorical, _ByProbability
from tapegrad.torch.distributions._formulas import formulas
from tapegrad.torch.distributions._number_transforms import softplus
from tapegrad.torch.distributions.distribution import (
    Distribution,
    broadcast,
    constrained,
)

Shape = Sequence[int]
_where = OPERATIONS["where"]


class MixtureSameFamily(Distribution):
    """Draws of one of several components: those along the last dimension of a batch.

    mixture_distribution (Categorical): The probabilities of the components.
    component_distribution (Distribution): The components, along the last dimension of its batch.
    ValueError: For other classes, other numbers of components, and batches that do not broadcast.

    >>> weights = torch.distributions.Categorical(torch.tensor([1.0, 3.0]))
    >>> parts = torch.distributions.Normal(torch.tensor([0.0, 4.0]), 1.0)
    >>> p = torch.distributions.MixtureSameFamily(weights, parts)
    >>> p.mean, p.variance
    (tensor(3.), tensor(4.))
    """

    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    _formulas = formulas(mean=lambda p: p._mixed(p._component_distribution.mean))

    def __init__(
        self,
        mixture_distribution: Any,
        component_distribution: Any,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of "
                "torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution needs to be an instance of "
                "torch.distributions.Distribution"
            )
        mixed, parts = mixture_distribution.batch_shape, component_distribution.batch_shape
        pairs = zip(reversed(mixed), reversed(parts[:-1]), strict=False)
        if any(1 != one != other != 1 for one, other in pairs):
            raise ValueError(
                f"`mixture_distribution.batch_shape` ({mixed}) is not compatible with "
                f"`component_distribution.batch_shape`({parts[:-1]})"
            )
        count = mixture_distribution._num_events
        if count != parts[-1]:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({parts[-1]})"
            )
        self._mixture_distribution: Any = mixture_distribution
        self._component_distribution: Any = component_distribution
        self._num_component = count
        super().__init__(parts[:-1], component_distribution.event_shape, validate_args)

    def _expanded(self, batch_shape: Shape) -> MixtureSameFamily:
        parts = self._component_distribution.expand((*batch_shape, self._num_component))
        return MixtureSameFamily(
            self._mixture_distribution.expand(batch_shape), parts, validate_args=False
        )

    @property
    def support(self) -> constraints.Constraint:
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution of the components' numbers."""
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        """The components, as a batch."""
        return self._component_distribution

    def _padded(self, value: Any) -> Any:
        """A value with a dimension for the components."""
        return value.unsqueeze(-1 - len(self._event_shape))

    def _weights(self) -> Any:
        """The probabilities, over dimensions as the means of the components have."""
        probs = self._mixture_distribution.probs
        return probs.reshape((*probs.shape, *(1,) * len(self._event_shape)))

    def _mixed(self, value: Any) -> Any:
        return (self._weights() * value).sum(-1 - len(self._event_shape))

    @property
    def variance(self) -> Tensor:
        parts = self._component_distribution
        between = (parts.mean - self._padded(self.mean)).pow(2.0)
        return self._mixed(parts.variance) + self._mixed(between)

    def cdf(self, x: Any) -> Tensor:
        found = self._component_distribution.cdf(self._padded(x))
        return (found * self._mixture_distribution.probs).sum(-1)

    def log_prob(self, value: Any) -> Tensor:
        value = self._padded(self._checked(value))
        found = self._component_distribution.log_prob(value)
        weights = OPERATIONS["log_softmax"](self._mixture_distribution.logits, -1)
        return (found + weights).logsumexp(-1)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            chosen = self._mixture_distribution.sample(sample_shape)
            drawn = self._component_distribution.sample(sample_shape)
            axis = len(sample_shape) + len(self._batch_shape)
            shape = (*drawn.shape[:axis], 1, *drawn.shape[axis + 1 :])
            ones = (1,) * len(self._event_shape)
            place = chosen.reshape((*chosen.shape, 1, *ones)).expand(shape)
            return drawn.gather(axis, place).squeeze(axis)

    def __repr__(self) -> str:
        inner = f"{self._mixture_distribution},\n  {self._component_distribution}"
        return f"MixtureSameFamily(\n  {inner})"


class NegativeBinomial(_ByProbability):
    """The number of successes before `total_count` failures.

    total_count (Tensor or float): How many failures, not negative.
    probs (Tensor or float): Probabilities of success, from 0 to before 1.

    >>> p = torch.distributions.NegativeBinomial(2.0, probs=0.5)
    >>> p.mean, p.log_prob(torch.tensor([0.0, 1.0])).exp()
    (tensor(2.), tensor([0.2500, 0.2500]))
    """

    arg_constraints = constrained(
        total_count=constraints.greater_than_eq(0),
        probs=constraints.half_open_interval(0.0, 1.0),
        logits=constraints.real,
    )
    support = constraints.nonnegative_integer
    _formulas = formulas(
        mean=lambda p: p.total_count * p.logits.exp(),
        mode=lambda p: ((p.total_count - 1) * p.logits.exp()).floor().clamp(min=0.0),
        variance=lambda p: p.mean / (-p.logits).sigmoid(),
    )

    def __init__(
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        given = self._take(probs, logits)
        self.total_count, given = broadcast(total_count, given)
        self.total_count = self.total_count.type_as(given)
        self.__dict__["probs" if self._by_probs else "logits"] = given
        super().__init__(given.shape, validate_args=validate_args)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            gamma = OPERATIONS["_standard_gamma"](self.total_count.expand(shape))
            return OPERATIONS["poisson"](gamma * self.logits.exp())

    def log_prob(self, value: Any) -> Tensor:
        value, n = self._checked(value), self.total_count
        powers = -n * softplus(self.logits) - value * softplus(-self.logits)
        ways = (n + value).lgamma() - (1.0 + value).lgamma() - n.lgamma()
        return powers + _where(n + value == 0.0, 0.0, ways)
