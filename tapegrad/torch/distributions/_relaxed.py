"""Truth values, classes and shares made continuous, so that draws are differentiable.

C. Maddison, A. Mnih, Y. Teh (2017), The concrete distribution; E. Jang, S. Gu, B. Poole (2017),
Categorical reparameterization with Gumbel-softmax. Knows discrete distributions and transforms.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._discrete import (
    Categorical,
    OneHotCategorical,
    _ByProbability,
    _clamped,
    _OfClasses,
)
from tapegrad.torch.distributions._location import Normal, uniform
from tapegrad.torch.distributions._number_transforms import (
    ExpTransform,
    SigmoidTransform,
    softplus,
)
from tapegrad.torch.distributions._vector_transforms import StickBreakingTransform
from tapegrad.torch.distributions._wrapped import TransformedDistribution
from tapegrad.torch.distributions.distribution import Distribution, broadcast, constrained, of_part

Shape = Sequence[int]


class LogitRelaxedBernoulli(_ByProbability):
    """The logits of `RelaxedBernoulli`.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.distributions._relaxed import LogitRelaxedBernoulli
    >>> LogitRelaxedBernoulli(1.0, probs=0.5).log_prob(torch.tensor(0.0))
    tensor(-1.3863)
    """

    arg_constraints = constrained(probs=constraints.unit_interval, logits=constraints.real)
    support = constraints.real
    has_rsample = True

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        given = self._take(probs, logits)
        super().__init__(given.shape, validate_args=validate_args)

    def _expanded(self, batch_shape: Shape) -> LogitRelaxedBernoulli:
        word = "probs" if self._by_probs else "logits"
        given = {word: self._param.expand(batch_shape)}
        return LogitRelaxedBernoulli(self.temperature, **given, validate_args=False)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return Distribution.sample(self, sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        probs = _clamped(self.probs.expand(shape))
        u = _clamped(uniform(probs, shape))
        drawn = u.log() - (-u).log1p() + probs.log() - (-probs).log1p()
        return drawn / self.temperature

    def log_prob(self, value: Any) -> Tensor:
        logits, value = broadcast(self.logits, self._checked(value))
        difference = logits - value * self.temperature
        scale = OPERATIONS["as_tensor"](self.temperature, dtype=logits.dtype)
        return scale.log() + difference - 2 * softplus(difference)


class _Relaxed(TransformedDistribution):
    """A transformed distribution that is given by a temperature, and probabilities or logits."""

    has_rsample = True

    temperature: Tensor = of_part("base_dist.temperature", "The temperature.")
    logits: Tensor = of_part("base_dist.logits", "The logits of the probabilities.")
    probs: Tensor = of_part("base_dist.probs", "The probabilities.")


class RelaxedBernoulli(_Relaxed):
    """Numbers in (0, 1), the closer to the ends the lower the temperature is.

    ValueError: If both or neither of `probs` and `logits` are given, or the one is out of its
        range.
    Notes: C. Maddison, A. Mnih, Y. Teh (2017), The concrete distribution.

    >>> p = torch.distributions.RelaxedBernoulli(0.5, probs=torch.tensor(0.5))
    >>> p.log_prob(torch.tensor([0.1, 0.5]))
    tensor([ 0.0408, -0.6931])
    """

    arg_constraints = constrained(probs=constraints.unit_interval, logits=constraints.real)
    support = constraints.unit_interval

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)


class ExpRelaxedCategorical(_OfClasses):
    """The logarithms of `RelaxedOneHotCategorical`."""

    arg_constraints = constrained(probs=constraints.simplex, logits=constraints.real_vector)
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        super().__init__(
            self._categorical.batch_shape, self._categorical.param_shape[-1:], validate_args
        )

    def _expanded(self, batch_shape: Shape) -> Self:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._categorical = self._categorical.expand(batch_shape)
        made._batch_shape = made._categorical.batch_shape
        return made

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        u = _clamped(uniform(self.logits, shape))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(-1, keepdim=True)

    def log_prob(self, value: Any) -> Tensor:
        count = self._event_shape[0]
        logits, value = broadcast(self.logits, self._checked(value))
        scale = OPERATIONS["as_tensor"](self.temperature, dtype=logits.dtype)
        score = logits - value * scale
        score = (score - score.logsumexp(-1, keepdim=True)).sum(-1)
        return score + (math.lgamma(count) + scale.log() * (count - 1))


class RelaxedOneHotCategorical(_Relaxed):
    """Vectors of shares, the closer to a single one the lower the temperature is.

    probs (Tensor, shape (..., classes)): Nonnegative numbers in proportion to the probabilities;
        they are divided by their sum.
    logits (Tensor, shape (..., classes)): Instead of `probs`: logarithms of such numbers.
    ValueError: If both or neither of `probs` and `logits` are given, or the one is out of its
        range.
    Notes: C. Maddison, A. Mnih, Y. Teh (2017), The concrete distribution; E. Jang, S. Gu, B. Poole
        (2017), Categorical reparameterization with Gumbel-softmax.

    >>> p = torch.distributions.RelaxedOneHotCategorical(0.5, probs=torch.tensor([1.0, 3.0]))
    >>> p.log_prob(torch.tensor([0.5, 0.5]))
    tensor(-0.9808)
    """

    arg_constraints = constrained(probs=constraints.simplex, logits=constraints.real_vector)
    support = constraints.simplex

    def __init__(
        self,
        temperature: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """Draws of `OneHotCategorical` that have the gradient of the probabilities.

    Notes: Y. Bengio, N. Léonard, A. Courville (2013), Estimating or propagating gradients through
        stochastic neurons for conditional computation.

    >>> probs = torch.tensor([0.25, 0.75], requires_grad=True)
    >>> p = torch.distributions.OneHotCategoricalStraightThrough(probs)
    >>> (p.rsample() * torch.tensor([1.0, 0.0])).sum().backward()
    >>> probs.grad
    tensor([ 0.7500, -0.2500])
    """

    has_rsample = True

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        probs = self.probs
        return self.sample(sample_shape) + (probs - probs.detach())


class LogisticNormal(TransformedDistribution):
    """Vectors of shares: normal numbers by which a stick is broken.

    loc (Tensor or float): The means of the normal numbers; a vector of n gives vectors of n + 1
        shares.
    scale (Tensor or float): Their standard deviations, positive.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2))
    >>> p.event_shape, p.log_prob(torch.tensor([0.25, 0.25, 0.5]))
    (torch.Size([3]), tensor(1.3054))
    """

    arg_constraints = constrained(loc=constraints.real, scale=constraints.positive)
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc: Any, scale: Any, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    loc: Tensor = of_part("base_dist.base_dist.loc", "The means of the normal numbers.")
    scale: Tensor = of_part(
        "base_dist.base_dist.scale", "The standard deviations of the normal numbers."
    )
