"""`Distribution`, the base of all.

Knows shapes of batches and events, and how parameters and samples are checked. Must not know any
one distribution.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from tapegrad.torch import autograd
from tapegrad.torch._dtypes import Size
from tapegrad.torch._graph.modes import enable_grad, no_grad
from tapegrad.torch._ops.create.data import tensor
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._formulas import Formula, OfFormulas

Shape = Sequence[int]
_broadcast_tensors = OPERATIONS["broadcast_tensors"]


def broadcast(*values: Any) -> list[Tensor]:
    """Numbers and tensors as tensors of one shape and dtype; numbers take the tensors' dtype."""
    given = [value for value in values if isinstance(value, Tensor)]
    dtype = given[0].dtype if given else None
    made = [
        value if isinstance(value, Tensor) else tensor(float(value), dtype=dtype)
        for value in values
    ]
    return list(_broadcast_tensors(*made))


def constrained(**parameters: constraints.Constraint) -> dict[str, constraints.Constraint]:
    """The constraints of a class of distributions, by the names of its parameters."""
    return parameters


def of_part(path: str, docstring: str) -> Any:
    """A property that is an attribute of a part, as of the base distribution."""
    read = operator.attrgetter(path)

    def parameter(self: Distribution) -> Tensor:
        return read(self)

    parameter.__annotations__.pop("self")
    return property(parameter, doc=docstring)


def _of_value(formula: Formula) -> Any:
    def member(self: Distribution, value: Any) -> Tensor:
        return formula(self, self._argument(value))

    return member


def _of_probability(formula: Formula) -> Any:
    def member(self: Distribution, value: Any) -> Tensor:
        return formula(self, value)

    return member


def _of_shape(formula: Formula) -> Any:
    def member(self: Distribution, sample_shape: Shape = ()) -> Tensor:
        return formula(self, self._extended_shape(sample_shape))

    return member


def _number(formula: Formula) -> Any:
    def member(self: Distribution) -> Tensor:
        return formula(self)

    return member


def _shown(value: Tensor) -> str:
    return str(value.item()) if value.dim() == 0 else str(value.detach())


class Distribution(OfFormulas):
    """Numbers, vectors or matrices drawn at random.

    `batch_shape` is that of independent distributions, one a parameter; `event_shape` that of one
    draw. A sample has the shape `sample_shape + batch_shape + event_shape`. This is the base
    class: a subclass has the parameters.

    batch_shape (sequence of int): The shape of the batch.
    event_shape (sequence of int): The shape of one draw; that of a distribution of numbers is ().
    validate_args: Whether parameters and values are checked; by default as
        `set_default_validate_args` says, which is True at first.
    ValueError: For a parameter out of its range, unless `validate_args` is False.

    >>> p = torch.distributions.Normal(torch.zeros(3), 1.0)
    >>> p.batch_shape, p.event_shape, p.sample((2,)).shape
    (torch.Size([3]), torch.Size([]), torch.Size([2, 3]))
    >>> q = torch.distributions.Dirichlet(torch.ones(3))
    >>> q.batch_shape, q.event_shape, q.sample((2,)).shape
    (torch.Size([]), torch.Size([3]), torch.Size([2, 3]))
    """

    has_rsample = False
    arg_constraints: ClassVar[dict[str, constraints.Constraint]] = {}
    if TYPE_CHECKING:  # a constant of some classes, of others a property

        @property
        def support(self) -> constraints.Constraint:
            """Where draws are."""

    else:
        support = constraints.real
    _validate_args = True
    _makers: ClassVar[dict[str, Callable[[Formula], Any]]] = {
        **dict.fromkeys(("log_prob", "cdf"), _of_value),
        "icdf": _of_probability,
        **dict.fromkeys(("sample", "rsample"), _of_shape),
        **dict.fromkeys(("entropy", "mean", "mode", "stddev", "variance"), _number),
    }

    def __init__(
        self, batch_shape: Shape = (), event_shape: Shape = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = bool(validate_args)
        if self._validate_args:
            self._check_parameters()

    def _given(self, name: str) -> Any:
        """A parameter that was given, or None for one that others give when it is asked for."""
        return self.__dict__.get(name)

    def _check_parameters(self) -> None:
        for name, constraint in self.arg_constraints.items():
            value = self._given(name)
            if constraints.is_dependent(constraint) or not isinstance(value, Tensor):
                continue
            valid = constraint.check(value)
            if not bool(valid.all()):
                raise ValueError(
                    f"Expected parameter {name} "
                    f"({type(value).__name__} of shape {tuple(value.shape)}) "
                    f"of distribution {self!r} "
                    f"to satisfy the constraint {constraint!r}, "
                    f"but found invalid values:\n{_shown(value)}"
                )

    @classmethod
    def set_default_validate_args(cls, value: bool) -> None:
        """Whether distributions check their parameters and values unless told otherwise.

        value: True at first; it holds for all distributions made from now on.
        ValueError: For anything else than True or False.
        """
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = bool(value)

    @property
    def batch_shape(self) -> Size:
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one draw."""
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The value of the greatest density or probability."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self) -> Tensor:
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Shape = ()) -> Tensor:
        """Draws without a derivative.

        -> Tensor: Of shape `sample_shape + batch_shape + event_shape`; it does not require grad.
        """
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Shape = ()) -> Tensor:
        """Draws that are differentiable functions of the parameters, where there is such a way.

        -> Tensor: Of shape `sample_shape + batch_shape + event_shape`.
        NotImplementedError: For a distribution whose `has_rsample` is False.
        """
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """`sample((n,))`.

        n: How many draws.
        -> Tensor: Of shape `(n,) + batch_shape + event_shape`.
        """
        return self.sample((n,))

    def log_prob(self, value: Any) -> Tensor:
        """The logarithm of the density, or of the probability, at a value.

        value (Tensor): Of a shape that broadcasts with `batch_shape + event_shape`.
        -> Tensor: Of the broadcast shape, without the dimensions of an event.
        ValueError: Where values are checked: for a value outside of `support`, or of a shape that
            does not fit.
        """
        raise NotImplementedError

    def cdf(self, value: Any) -> Tensor:
        """The probability of draws up to a value.

        value (Tensor): Of a shape that broadcasts with `batch_shape`.
        -> Tensor: Of the broadcast shape.
        NotImplementedError: For a distribution without a formula.
        ValueError: Where values are checked: for a value outside of `support`.
        """
        raise NotImplementedError

    def icdf(self, value: Any) -> Tensor:
        """The inverse of `cdf`.

        value (Tensor): Probabilities, of a shape that broadcasts with `batch_shape`.
        -> Tensor: Of the broadcast shape.
        NotImplementedError: For a distribution without a formula.
        """
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The mean of `-log_prob` over draws.

        -> Tensor: Of shape `batch_shape`.
        NotImplementedError: For a distribution without a formula.
        """
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """The exponential of the entropy.

        -> Tensor: Of shape `batch_shape`.
        """
        return self.entropy().exp()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a new first dimension.

        expand: Give the values the shape of the batch; else its dimensions are of size 1.
        -> Tensor: Of shape `(count,) + batch_shape + event_shape`.
        NotImplementedError: For a distribution whose values cannot be listed.
        """
        raise NotImplementedError

    def expand(self, batch_shape: Shape, _instance: Any = None) -> Self:
        """The distribution with parameters expanded to a batch shape.

        batch_shape (sequence of int): A shape to which that of the batch expands.
        _instance (Distribution): The object that it becomes, as `_get_checked_instance` makes it
            for a subclass, which adds attributes of its own.
        -> Distribution: One of the same class.
        """
        made = self._expanded(batch_shape)
        if _instance is None:
            return made
        _instance.__dict__.update(made.__dict__)
        into: Self = _instance
        return into

    def _get_checked_instance(self, cls: type[Distribution], _instance: Any = None) -> Any:
        """An empty object of the class, unless one is given; as in `expand` of subclasses."""
        if _instance is not None:
            return _instance
        if type(self).__init__ is not cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ "
                "method must also define a custom .expand() method."
            )
        return self.__new__(type(self))

    def _expanded(self, batch_shape: Shape) -> Any:
        """The distribution with parameters expanded to a batch shape."""
        made = type(self).__new__(type(self))
        batch = Size(batch_shape)
        rank = len(self._batch_shape)
        for name, value in self.__dict__.items():
            if isinstance(value, Tensor):
                value = value.expand((*batch, *value.shape[rank:]))
            made.__dict__[name] = value
        made._batch_shape = batch
        return made

    def _extended_shape(self, sample_shape: Shape = ()) -> tuple[int, ...]:
        return (*sample_shape, *self._batch_shape, *self._event_shape)

    def _validate_sample(self, value: Any) -> None:
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        rank = len(self._event_shape)
        if tuple(value.shape[value.dim() - rank :]) != tuple(self._event_shape):
            raise ValueError(
                "The right-most size of value must match event_shape: "
                f"{value.shape} vs {self._event_shape}."
            )
        shape = (*self._batch_shape, *self._event_shape)
        for mine, theirs in zip(reversed(tuple(value.shape)), reversed(shape), strict=False):
            if mine not in (1, theirs) and theirs != 1:
                raise ValueError(
                    "Value is not broadcastable with batch_shape+event_shape: "
                    f"{value.shape} vs {Size(shape)}."
                )
        valid = self.support.check(value.detach())
        if not bool(valid.all()):
            raise ValueError(
                "Expected value argument "
                f"({type(value).__name__} of shape {tuple(value.shape)}) "
                f"to be within the support ({self.support!r}) "
                f"of the distribution {self!r}, "
                f"but found invalid values:\n{_shown(value)}"
            )

    def _checked(self, value: Any) -> Any:
        """A value for log_prob or cdf, checked where the distribution checks."""
        if self._validate_args:
            self._validate_sample(value)
        return value

    def _argument(self, value: Any) -> Any:
        """The checked value, as formulas of `log_prob` and `cdf` take it."""
        return self._checked(value)

    def _parts(self) -> Iterator[tuple[str, Tensor]]:
        for name in self.arg_constraints:
            value = self.__dict__.get(name)
            if isinstance(value, Tensor):
                yield name, value

    def __repr__(self) -> str:
        shown = ", ".join(
            f"{name}: {value if value.numel() == 1 else value.size()}"
            for name, value in self._parts()
        )
        return f"{type(self).__name__}({shown})"


class ExponentialFamily(Distribution):
    """The base of distributions that give their natural parameters and `_log_normalizer` of them.

    `_mean_carrier_measure` is the mean of k(x), for densities exp(<t(x), theta> - A(theta) +
    k(x)).

    batch_shape (sequence of int): The shape of the batch.
    event_shape (sequence of int): The shape of one draw.
    Notes: Entropies and divergences follow from A and its gradient: F. Nielsen, R. Nock (2010),
        Entropies and cross-entropies of exponential families.

    >>> isinstance(torch.distributions.Exponential(2.0), torch.distributions.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> float:
        raise NotImplementedError

    def _normalizer(self) -> tuple[Any, tuple[Any, ...], Any]:
        """A, the natural parameters, and the gradient of A by them: the means of t(x)."""
        with enable_grad():
            params = tuple(
                value if value.requires_grad else value.detach().requires_grad_()
                for value in self._natural_params
            )
            found = self._log_normalizer(*params)
            grads = autograd.grad(found.sum(), params, create_graph=True)
        return found, params, grads

    def _summed(self, value: Any) -> Any:
        """The sum over the dimensions of an event that a term has, of the shape of the batch."""
        extra = value.dim() - len(self._batch_shape)
        return value.sum(tuple(range(-extra, 0))) if extra > 0 else value

    def entropy(self) -> Tensor:
        """The mean of `-log_prob` over draws.

        -> Tensor: Of shape `batch_shape`.
        """
        found, params, grads = self._normalizer()
        result = found - self._mean_carrier_measure
        for value, slope in zip(params, grads, strict=True):
            result = result - self._summed(value * slope)
        return result


__all__ = ["Distribution", "ExponentialFamily", "broadcast", "constrained"]
