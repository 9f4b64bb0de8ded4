"""Discrete distributions: truth values, classes, counts.

Knows probabilities and their logits. Must not know other families.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._dtypes import Size
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._ops.create.generator import source
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._formulas import formulas
from tapegrad.torch.distributions.distribution import (
    Distribution,
    ExponentialFamily,
    broadcast,
    constrained,
    of_part,
)
from tapegrad.torch.nn.loss.probabilities import binary_cross_entropy_with_logits

Shape = Sequence[int]
_NEITHER = "Either `probs` or `logits` must be specified, but not both."
_arange, _where = OPERATIONS["arange"], OPERATIONS["where"]


def _clamped(probs: Any) -> Any:
    eps = float(np.finfo(probs.dtype.numpy).eps)
    return probs.clamp(min=eps, max=1 - eps)


class _ByProbability(Distribution):
    """A distribution given by a probability, or its logit: what is not given is computed.

    ValueError: If both or neither of `probs` and `logits` are given; for a parameter out of its
        range, unless `validate_args` is False.
    """

    probs: Tensor
    logits: Tensor

    def _take(self, probs: Any, logits: Any) -> Any:
        if (probs is None) == (logits is None):
            raise ValueError(_NEITHER)
        self._by_probs = probs is not None
        (given,) = broadcast(probs if probs is not None else logits)
        self.__dict__["probs" if self._by_probs else "logits"] = given
        return given

    @property
    def _param(self) -> Any:
        return self.__dict__["probs" if self._by_probs else "logits"]

    def __getattr__(self, name: str) -> Any:
        if name == "logits" and "probs" in self.__dict__:
            found = self._logits_of(self.__dict__["probs"])
        elif name == "probs" and "logits" in self.__dict__:
            found = self._probs_of(self.__dict__["logits"])
        else:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.__dict__[name] = found  # from now on it is shown, too
        return found

    def _logits_of(self, probs: Any) -> Any:
        safe = _clamped(probs)
        return safe.log() - (-safe).log1p()

    def _probs_of(self, logits: Any) -> Any:
        return logits.sigmoid()

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        raise NotImplementedError

    def _drawn(self, sample_shape: Shape, draw: Any, *parameters: Any) -> Any:
        """Draws `draw(generator, *parameters)` of arrays, without a derivative."""
        shape = self._extended_shape(sample_shape)
        arrays = [np.asarray(plain_of(p.detach().expand(shape))) for p in parameters]
        with no_grad():
            made: Value = np.asarray(draw(source(), *arrays))
            return of_value(made.astype(arrays[-1].dtype))


class Bernoulli(_ByProbability, ExponentialFamily):
    """Truth values: 1 with the probability `probs`, else 0.

    >>> p = torch.distributions.Bernoulli(torch.tensor([0.25, 0.5]))
    >>> p.log_prob(torch.ones(2)).exp(), p.variance
    (tensor([0.2500, 0.5000]), tensor([0.1875, 0.2500]))
    >>> p.enumerate_support()
    tensor([[0., 0.],
            [1., 1.]])
    """

    arg_constraints = constrained(probs=constraints.unit_interval, logits=constraints.real)
    support = constraints.boolean
    has_enumerate_support = True
    _formulas = formulas(
        mean=lambda p: p.probs,
        variance=lambda p: p.probs * (1 - p.probs),
        entropy=lambda p: binary_cross_entropy_with_logits(p.logits, p.probs, reduction="none"),
        _natural_params=lambda p: (p.logits,),
        _log_normalizer=lambda p, x: x.clamp(min=0) + (-x.abs()).exp().log1p(),
        _mean_carrier_measure=lambda p: 0,
    )

    @property
    def mode(self) -> Tensor:
        mode = (self.probs >= 0.5).to(self.probs.dtype)
        return _where(self.probs.eq(0.5), math.nan, mode)

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        super().__init__(self._take(probs, logits).shape, validate_args=validate_args)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return self._drawn(sample_shape, lambda g, p: g.random(p.shape) < p, self.probs)

    def log_prob(self, value: Any) -> Tensor:
        value = self._checked(value)
        logits, value = broadcast(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = _arange(2, dtype=self._param.dtype)
        values = values.reshape((-1, *(1,) * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values


class Geometric(_ByProbability):
    """The number of failures before the first success.

    >>> p = torch.distributions.Geometric(0.25)
    >>> p.mean, p.log_prob(torch.tensor(1.0)).exp()
    (tensor(3.), tensor(0.1875))
    """

    arg_constraints = constrained(probs=constraints.unit_interval, logits=constraints.real)
    support = constraints.nonnegative_integer
    _formulas = formulas(
        mean=lambda p: 1.0 / p.probs - 1.0,
        mode=lambda p: OPERATIONS["zeros_like"](p.probs),
        variance=lambda p: (1.0 / p.probs - 1.0) / p.probs,
        entropy=lambda p: (
            binary_cross_entropy_with_logits(p.logits, p.probs, reduction="none") / p.probs
        ),
    )

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        given = self._take(probs, logits)
        super().__init__(given.shape, validate_args=validate_args)
        if self._validate_args and self._by_probs and not bool((given > 0).all()):
            invalid = given[given <= 0]
            raise ValueError(
                "Expected parameter probs "
                f"({type(given).__name__} of shape {tuple(given.shape)}) "
                f"of distribution {self!r} "
                f"to be positive but found invalid values:\n{invalid}"
            )

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return self._drawn(sample_shape, lambda g, p: g.geometric(p) - 1, self.probs)

    def log_prob(self, value: Any) -> Tensor:
        value, probs = broadcast(self._checked(value), self.probs)
        probs = _where(probs.eq(1) & (value == 0), 0.0, probs)
        return value * (-probs).log1p() + self.probs.log()


class Binomial(_ByProbability):
    """The number of successes among `total_count` trials.

    total_count (Tensor or int): How many trials.

    >>> p = torch.distributions.Binomial(3, probs=0.5)
    >>> p.log_prob(torch.arange(4.0)).exp()
    tensor([0.1250, 0.3750, 0.3750, 0.1250])
    """

    arg_constraints = constrained(
        total_count=constraints.nonnegative_integer,
        probs=constraints.unit_interval,
        logits=constraints.real,
    )
    _formulas = formulas(
        mean=lambda p: p.total_count * p.probs,
        mode=lambda p: ((p.total_count + 1) * p.probs).floor().clamp(max=p.total_count),
        variance=lambda p: p.total_count * p.probs * (1 - p.probs),
    )

    def __init__(
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        given = self._take(probs, logits)
        counts, given = broadcast(total_count, given)
        self.total_count = counts.type_as(given)
        self.__dict__["probs" if self._by_probs else "logits"] = given
        super().__init__(given.shape, validate_args=validate_args)

    @property
    def support(self) -> constraints.Constraint:
        total = self.total_count
        return constraints.IntegerInterval(0, total.item() if total.dim() == 0 else total)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return self._drawn(
            sample_shape,
            lambda g, n, p: g.binomial(n.astype(np.int64), p),
            self.total_count,
            self.probs,
        )

    def log_prob(self, value: Any) -> Tensor:
        value = self._checked(value)
        n = self.total_count
        ways = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        # log(1 - p) = -softplus(logits), in the form that does not overflow
        # whose slope at 0 is 1/2 by the sum of both clamps
        positive = (self.logits.clamp(min=0) + self.logits - self.logits.clamp(max=0)) / 2
        softplus = positive + (-self.logits.abs()).exp().log1p()
        return ways + value * self.logits - n * softplus

    def entropy(self) -> Tensor:
        total = int(self.total_count.max().item())
        if not bool((self.total_count == total).all()):
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        log_prob = self.log_prob(self.enumerate_support(expand=False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        total = int(self.total_count.max().item())
        if not bool((self.total_count == total).all()):
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `enumerate_support`."
            )
        values = _arange(1 + total, dtype=self._param.dtype)
        values = values.reshape((-1, *(1,) * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values


class Poisson(ExponentialFamily):
    """Counts of independent events that have a rate.

    rate (Tensor or float): The mean count, not negative.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.Poisson(2.0)
    >>> p.log_prob(torch.tensor([0.0, 1.0])).exp()
    tensor([0.1353, 0.2707])
    """

    arg_constraints = constrained(rate=constraints.nonnegative)
    support = constraints.nonnegative_integer
    _formulas = formulas(
        mean=lambda p: p.rate,
        mode=lambda p: p.rate.floor(),
        variance=lambda p: p.rate,
        _natural_params=lambda p: (p.rate.log(),),
        _log_normalizer=lambda p, x: x.exp(),
    )

    def __init__(self, rate: Any, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            return OPERATIONS["poisson"](self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Any) -> Tensor:
        rate, value = broadcast(self.rate, self._checked(value))
        return OPERATIONS["xlogy"](value, rate) - rate - (value + 1).lgamma()

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError


class Categorical(_ByProbability):
    """The number of a class, from 0, of probabilities along the last dimension.

    probs (Tensor, shape (..., classes)): Nonnegative numbers in proportion to the probabilities;
        they are divided by their sum.
    logits (Tensor, shape (..., classes)): Instead of `probs`: logarithms of such numbers.

    >>> p = torch.distributions.Categorical(torch.tensor([1.0, 3.0]))
    >>> p.probs, p.log_prob(torch.tensor(1)).exp()
    (tensor([0.2500, 0.7500]), tensor(0.7500))
    >>> p.enumerate_support()
    tensor([0, 1])
    """

    arg_constraints = constrained(probs=constraints.simplex, logits=constraints.real_vector)
    has_enumerate_support = True
    _formulas = formulas(
        mean=lambda p: OPERATIONS["full"](p._extended_shape(), math.nan, dtype=p.probs.dtype),
        mode=lambda p: p.probs.argmax(dim=-1),
        variance=lambda p: p.mean,
    )

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        if (probs is None) == (logits is None):
            raise ValueError(_NEITHER)
        self._by_probs = probs is not None
        given = probs if probs is not None else logits
        if given.dim() < 1:
            word = "probs" if self._by_probs else "logits"
            raise ValueError(f"`{word}` parameter must be at least one-dimensional.")
        if self._by_probs:
            self.__dict__["probs"] = given / given.sum(-1, keepdim=True)
        else:
            self.__dict__["logits"] = given - given.logsumexp(-1, keepdim=True)
        self._num_events = given.shape[-1]
        super().__init__(given.shape[:-1], validate_args=validate_args)

    def _logits_of(self, probs: Any) -> Any:
        return _clamped(probs).log()

    def _probs_of(self, logits: Any) -> Any:
        return OPERATIONS["softmax"](logits, -1)

    @property
    def support(self) -> constraints.Constraint:
        return constraints.IntegerInterval(0, self._num_events - 1)

    @property
    def param_shape(self) -> Size:
        """The shape of `probs` and `logits`."""
        return self._param.shape

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            probs = self.probs.detach().reshape((-1, self._num_events))
            count = math.prod(sample_shape)
            drawn = OPERATIONS["multinomial"](probs, count, True)
            return drawn.T.reshape(shape)

    def log_prob(self, value: Any) -> Tensor:
        value = self._checked(value).long().unsqueeze(-1)
        shape = OPERATIONS["broadcast_shapes"](value.shape[:-1], self.logits.shape[:-1])
        chosen = value.expand((*shape, 1))
        return self.logits.expand((*shape, self._num_events)).gather(-1, chosen).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=float(np.finfo(self.logits.dtype.numpy).min))
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = _arange(self._num_events).reshape((-1, *(1,) * len(self._batch_shape)))
        return values.expand((-1, *self._batch_shape)) if expand else values


class _OfClasses(Distribution):
    """A distribution over vectors made of draws of classes.

    probs (Tensor, shape (..., classes)): Nonnegative numbers in proportion to the probabilities;
        they are divided by their sum.
    logits (Tensor, shape (..., classes)): Instead of `probs`: logarithms of such numbers.
    ValueError: If both or neither of `probs` and `logits` are given; for a parameter out of its
        range, unless `validate_args` is False.
    """

    def _take(self, probs: Any, logits: Any, validate_args: bool | None) -> Any:
        self._categorical = Categorical(probs, logits, validate_args)
        return self._categorical

    probs: Tensor = of_part("_categorical.probs", "The probabilities of the classes.")
    logits: Tensor = of_part("_categorical.logits", "The logarithms of the probabilities.")

    @property
    def param_shape(self) -> Size:
        """The shape of `probs` and `logits`."""
        return self._categorical.param_shape

    def _expanded(self, batch_shape: Shape) -> Self:
        made = super()._expanded(batch_shape)
        made._categorical = self._categorical.expand(batch_shape)
        return made


class OneHotCategorical(_OfClasses):
    """A class as a vector with a single one.

    >>> p = torch.distributions.OneHotCategorical(torch.tensor([1.0, 3.0]))
    >>> p.log_prob(torch.tensor([0.0, 1.0])).exp()
    tensor(0.7500)
    >>> p.enumerate_support()
    tensor([[1., 0.],
            [0., 1.]])
    """

    arg_constraints = constrained(probs=constraints.simplex, logits=constraints.real_vector)
    support = constraints.one_hot
    has_enumerate_support = True
    _formulas = formulas(
        mean=lambda p: p.probs,
        mode=lambda p: p._hot(p.probs.argmax(-1)),
        variance=lambda p: p.probs * (1 - p.probs),
        log_prob=lambda p, x: p._categorical.log_prob(x.argmax(-1)),
        entropy=lambda p: p._categorical.entropy(),
    )

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        made = self._take(probs, logits, validate_args)
        super().__init__(made.batch_shape, made.param_shape[-1:], validate_args)

    def _hot(self, classes: Any) -> Any:
        probs = self._categorical._param
        return OPERATIONS["eye"](probs.shape[-1], dtype=probs.dtype)[classes]

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        return self._hot(self._categorical.sample(sample_shape))

    def enumerate_support(self, expand: bool = True) -> Tensor:
        count = self._event_shape[0]
        values = OPERATIONS["eye"](count, dtype=self._categorical._param.dtype)
        values = values.reshape((count, *(1,) * len(self._batch_shape), count))
        return values.expand((count, *self._batch_shape, count)) if expand else values


class Multinomial(_OfClasses):
    """How often each class comes in `total_count` draws.

    total_count: How many draws; the same for the whole batch.
    NotImplementedError: If `total_count` is no int.
    ValueError: If both or neither of `probs` and `logits` are given; for a parameter out of its
        range, unless `validate_args` is False.

    >>> p = torch.distributions.Multinomial(4, torch.tensor([1.0, 3.0]))
    >>> p.mean, p.log_prob(torch.tensor([1.0, 3.0])).exp()
    (tensor([1., 3.]), tensor(0.4219))
    """

    arg_constraints = constrained(probs=constraints.simplex, logits=constraints.real_vector)
    _formulas = formulas(
        mean=lambda p: p.probs * p.total_count,
        variance=lambda p: p.total_count * p.probs * (1 - p.probs),
    )

    def __init__(
        self,
        total_count: int = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        made = self._take(probs, logits, validate_args)
        super().__init__(made.batch_shape, made.param_shape[-1:], validate_args)

    @property
    def support(self) -> constraints.Constraint:
        return constraints.Multinomial(self.total_count)

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        with no_grad():
            classes = self._categorical.sample((self.total_count, *sample_shape))
            probs = self._categorical._param
            hot = OPERATIONS["eye"](probs.shape[-1], dtype=probs.dtype)[classes]
            return hot.sum(0)

    def log_prob(self, value: Any) -> Tensor:
        value = self._checked(value)
        logits, value = broadcast(self.logits, value)
        ways = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        never = (value == 0) & logits.eq(-math.inf)
        return ways + (_where(never, 0.0, logits) * value).sum(-1)

    def entropy(self) -> Tensor:
        n = self.total_count
        p = self.probs
        counts = _arange(1, n + 1, dtype=p.dtype).reshape((-1, *(1,) * p.dim()))
        terms = Binomial(n, probs=p).log_prob(counts).exp() * (counts + 1).lgamma()
        return n * self._categorical.entropy() - math.lgamma(n + 1) + terms.sum((0, -1))
