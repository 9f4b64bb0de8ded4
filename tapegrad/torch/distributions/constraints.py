"""Constraints: what values a parameter or a sample of a distribution may have.

Knows tensors. Must not know distributions.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad.torch import linalg
from tapegrad.torch._dtypes import finfo
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.distributions._formulas import OfFormulas, formulas

Bound = Any  # a number or a tensor

_isclose = OPERATIONS["isclose"]


class Constraint(OfFormulas):
    """A set of values.

    Attribute is_discrete (bool): Whether the values are integers, or made of them.
    Attribute event_dim (int): How many of the last dimensions make one value.

    >>> constraints = torch.distributions.constraints
    >>> constraints.positive.check(torch.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each value of a batch is in the set.

        value: The values: any shape, with `event_dim` dimensions for one value behind.
        -> Tensor: Truth values, of the shape without the dimensions of one value.
        NotImplementedError: By the class itself.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__.lstrip('_')}()"


class _Dependent(Constraint):
    """A set that depends on the other parameters; it is not checked.

    Parameters
    ----------
    is_discrete : bool, optional
        Whether the values are integers; NotImplementedError where it is asked and not known.
    event_dim : int, optional
        How many of the last dimensions make one value, likewise.

    Examples
    --------
    >>> from tapegrad.torch.distributions import constraints
    >>> constraints.dependent(event_dim=1).event_dim
    1
    """

    def __init__(self, *, is_discrete: bool | None = None, event_dim: int | None = None) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]  # may be unknown
        """Whether the values are integers."""
        if self._is_discrete is None:
            raise NotImplementedError(".is_discrete cannot be determined statically")
        return self._is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]  # may be unknown
        """How many of the last dimensions make one value."""
        if self._event_dim is None:
            raise NotImplementedError(".event_dim cannot be determined statically")
        return self._event_dim

    def __call__(
        self, *, is_discrete: bool | None = None, event_dim: int | None = None
    ) -> _Dependent:
        """The same, of which more is known."""
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is None else is_discrete,
            event_dim=self._event_dim if event_dim is None else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Constraint) -> bool:
    """Whether a constraint depends on other parameters.

    constraint: Any constraint.
    -> bool: Whether it is `dependent`, or made of it.

    >>> constraints = torch.distributions.constraints
    >>> constraints.is_dependent(constraints.dependent), constraints.is_dependent(constraints.real)
    (True, False)
    """
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property whose value is the constraint for the other parameters of an object.

    Parameters
    ----------
    fn : callable
        A function of the object, which returns the constraint.
    is_discrete : bool, optional
        Whether the values are integers, where that is known.
    event_dim : int, optional
        How many of the last dimensions make one value, likewise.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.distributions import constraints
    >>> class Half:
    ...     @constraints.dependent_property(is_discrete=False, event_dim=0)
    ...     def support(self):
    ...         return constraints.less_than(self.bound)
    ...
    ...     bound = 3
    >>> Half().support.check(torch.tensor(2.0))
    tensor(True)
    """

    def __init__(
        self, fn: Any = None, *, is_discrete: bool | None = None, event_dim: int | None = None
    ) -> None:
        property.__init__(self, fn)
        _Dependent.__init__(self, is_discrete=is_discrete, event_dim=event_dim)

    def __call__(self, fn: Any) -> Any:  # type: ignore[override]  # decorates
        """Decorate a function of an object that returns its constraint."""
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)

    __repr__ = Constraint.__repr__


class _Bounded(Constraint):
    """A set given by bounds, which its repr shows."""

    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in self.names)
        return f"{type(self).__name__.lstrip('_')}({shown})"


class Boolean(Constraint):
    """0 and 1."""

    is_discrete = True
    _formulas = formulas(check=lambda self, value: value.eq(0) | value.eq(1))


class IntegerInterval(_Bounded):
    """The integers from one bound to another, both included.

    >>> constraints = torch.distributions.constraints
    >>> constraints.integer_interval(0, 2).check(torch.tensor([0.0, 1.5, 2.0, 3.0]))
    tensor([ True, False,  True, False])
    """

    is_discrete = True
    names = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Any:
        whole = value % 1 == 0
        return whole & (self.lower_bound <= value) & (value <= self.upper_bound)


class IntegerGreaterThan(_Bounded):
    """The integers from a bound on."""

    is_discrete = True
    names = ("lower_bound",)
    _formulas = formulas(check=lambda self, value: (value % 1 == 0) & (value >= self.lower_bound))

    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound


class Real(Constraint):
    """All numbers but NaN."""

    _formulas = formulas(check=lambda self, value: value == value)


class GreaterThan(_Bounded):
    """Numbers above a bound.

    >>> constraints = torch.distributions.constraints
    >>> constraints.greater_than(1).check(torch.tensor([1.0, 2.0]))
    tensor([False,  True])
    """

    names = ("lower_bound",)
    _formulas = formulas(check=lambda self, value: self.lower_bound < value)

    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound


class GreaterThanEq(GreaterThan):
    """Numbers from a bound on.

    >>> constraints = torch.distributions.constraints
    >>> constraints.greater_than_eq(1).check(torch.tensor([1.0, 0.0]))
    tensor([ True, False])
    """

    _formulas = formulas(check=lambda self, value: self.lower_bound <= value)


class LessThan(_Bounded):
    """Numbers below a bound.

    >>> constraints = torch.distributions.constraints
    >>> constraints.less_than(1).check(torch.tensor([1.0, 0.0]))
    tensor([False,  True])
    """

    names = ("upper_bound",)
    _formulas = formulas(check=lambda self, value: value < self.upper_bound)

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound


class Interval(_Bounded):
    """Numbers between two bounds, both included.

    >>> constraints = torch.distributions.constraints
    >>> constraints.interval(0, 1).check(torch.tensor([0.0, 1.0, 2.0]))
    tensor([ True,  True, False])
    """

    names = ("lower_bound", "upper_bound")
    _formulas = formulas(
        check=lambda self, value: (self.lower_bound <= value) & (value <= self.upper_bound)
    )

    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound


class HalfOpenInterval(Interval):
    """Numbers from a bound to before another.

    >>> constraints = torch.distributions.constraints
    >>> constraints.half_open_interval(0, 1).check(torch.tensor([0.0, 1.0]))
    tensor([ True, False])
    """

    _formulas = formulas(
        check=lambda self, value: (self.lower_bound <= value) & (value < self.upper_bound)
    )


class Simplex(Constraint):
    """Vectors of numbers that are not negative and sum to one."""

    event_dim = 1
    _formulas = formulas(
        check=lambda self, value: (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-06)
    )


class OneHot(Constraint):
    """Vectors with a single one among zeros."""

    is_discrete = True
    event_dim = 1
    _formulas = formulas(
        check=lambda self, value: (value.eq(0) | value.eq(1)).all(-1) & value.sum(-1).eq(1)
    )


class Multinomial(Constraint):
    """Vectors of counts up to a sum.

    upper_bound: The largest sum.

    >>> constraints = torch.distributions.constraints
    >>> constraints.multinomial(3).check(torch.tensor([[1.0, 2.0], [2.0, 2.0]]))
    tensor([ True, False])
    """

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: int) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Any:
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


class LowerTriangular(Constraint):
    """Lower triangular matrices."""

    event_dim = 2
    _formulas = formulas(check=lambda self, value: (value.tril() == value).all(-1).all(-1))


class LowerCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Any:
        triangular = (value.tril() == value).all(-1).all(-1)
        return triangular & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class CorrCholesky(LowerCholesky):
    """Lower triangular factors of correlations: with a positive diagonal and rows of length 1."""

    def check(self, value: Tensor) -> Any:
        tolerance = finfo(value.dtype).eps * value.size(-1) * 10
        unit = (value.norm(dim=-1) - 1).abs().le(tolerance).all(-1)
        return super().check(value) & unit


class Square(Constraint):
    """Matrices with as many rows as columns."""

    event_dim = 2

    def check(self, value: Tensor) -> Any:
        fits = value.shape[-2] == value.shape[-1]
        return OPERATIONS["full"](tuple(value.shape[:-2]), fits, dtype=bool)


class Symmetric(Square):
    """Symmetric matrices."""

    def check(self, value: Tensor) -> Any:
        square = super().check(value)
        if not bool(square.all()):
            return square
        return _isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class PositiveSemidefinite(Symmetric):
    """Symmetric matrices without negative eigenvalues."""

    def check(self, value: Tensor) -> Any:
        symmetric = super().check(value)
        if not bool(symmetric.all()):
            return symmetric
        return linalg.eigvalsh(value.detach()).ge(0).all(-1)


class PositiveDefinite(Symmetric):
    """Symmetric matrices with positive eigenvalues."""

    def check(self, value: Tensor) -> Any:
        symmetric = super().check(value)
        if not bool(symmetric.all()):
            return symmetric
        return linalg.eigvalsh(value.detach()).gt(0).all(-1)


class IndependentConstraint(Constraint):
    """A constraint that holds for all of the last dimensions together.

    base_constraint: The constraint of each element.
    reinterpreted_batch_ndims: How many of the last dimensions are taken together.

    >>> constraints = torch.distributions.constraints
    >>> both = constraints.independent(constraints.positive, 1)
    >>> both.check(torch.tensor([[1.0, 2.0], [1.0, -2.0]]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.is_discrete: bool = base_constraint.is_discrete
        self.event_dim: int = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Any:
        result = self.base_constraint.check(value)
        ndims = self.reinterpreted_batch_ndims
        if result.dim() < ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return result.reshape((*result.shape[: result.dim() - ndims], -1)).all(-1)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class _OfParts(Constraint):
    """Constraints on the parts of a value along a dimension."""

    cseq: list[Constraint]
    dim: int

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]  # of the parts
        """Whether any part is."""
        return any(part.is_discrete for part in self.cseq)


class Cat(_OfParts):
    """Parts of given lengths, one after the other along a dimension.

    lengths (sequence of int): The length of each part; 1 by default.

    >>> constraints = torch.distributions.constraints
    >>> parts = constraints.cat([constraints.positive, constraints.real], 0, [1, 2])
    >>> parts.check(torch.tensor([-1.0, -1.0, 1.0]))
    tensor([False,  True,  True])
    """

    def __init__(
        self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None
    ) -> None:
        if not all(isinstance(part, Constraint) for part in cseq):
            raise AssertionError("All elements of cseq must be instances of Constraint")
        self.cseq: list[Constraint] = list(cseq)
        self.lengths: list[int] = [1] * len(self.cseq) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.cseq):
            raise AssertionError(
                f"Expected lengths ({len(self.lengths)}) to match cseq length ({len(self.cseq)})"
            )
        self.dim = dim

    @property
    def event_dim(self) -> int:  # type: ignore[override]  # of the parts
        """The largest of the parts."""
        return max(part.event_dim for part in self.cseq)

    def check(self, value: Tensor) -> Any:
        start, found = 0, []
        for part, length in zip(self.cseq, self.lengths, strict=True):
            found.append(part.check(value.narrow(self.dim, start, length)))
            start += length
        return OPERATIONS["cat"](found, self.dim)


class Stack(_OfParts):
    """Parts of length one, without the dimension.

    >>> constraints = torch.distributions.constraints
    >>> parts = constraints.stack([constraints.positive, constraints.real])
    >>> parts.check(torch.tensor([-1.0, -1.0]))
    tensor([False,  True])
    """

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        if not all(isinstance(part, Constraint) for part in cseq):
            raise AssertionError("All elements of cseq must be instances of Constraint")
        self.cseq: list[Constraint] = list(cseq)
        self.dim = dim

    @property
    def event_dim(self) -> int:  # type: ignore[override]  # of the parts
        """The largest of the parts, and one more where the dimension is one of an event."""
        most = max(part.event_dim for part in self.cseq)
        return most + 1 if self.dim + most < 0 else most

    def check(self, value: Tensor) -> Any:
        pairs = enumerate(self.cseq)
        found = [part.check(value.select(self.dim, place)) for place, part in pairs]
        return OPERATIONS["stack"](found, self.dim)


class MixtureSameFamilyConstraint(Constraint):
    """Constraint on the components of a mixture, of a value without their dimension.

    base_constraint: The constraint of the components.

    >>> constraints = torch.distributions.constraints
    >>> mixed = constraints.MixtureSameFamilyConstraint(constraints.positive)
    >>> mixed.check(torch.tensor([1.0, -1.0]))
    tensor([ True, False])
    """

    def __init__(self, base_constraint: Constraint) -> None:
        if not isinstance(base_constraint, Constraint):
            raise AssertionError(
                "base_constraint must be a Constraint instance, got "
                f"{type(base_constraint).__name__}"
            )
        self.base_constraint = base_constraint
        self.is_discrete: bool = base_constraint.is_discrete
        self.event_dim: int = base_constraint.event_dim

    def check(self, value: Tensor) -> Any:
        """Whether each value of a batch is in the set.

        value: The values, without a dimension of components.
        -> Tensor: Truth values, of the shape without the dimensions of one value.
        ValueError: If `value` has fewer dimensions than one value.
        """
        rank = self.event_dim
        result = self.base_constraint.check(value.unsqueeze(-1 - rank))
        if value.dim() < rank:
            raise ValueError(f"Expected value.dim() >= {rank} but got {value.dim()}")
        keep = value.dim() - rank
        return result.reshape((*result.shape[:keep], -1)).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


dependent: _Dependent = _Dependent()
dependent_property = _DependentProperty
boolean: Boolean = Boolean()
nonnegative_integer: IntegerGreaterThan = IntegerGreaterThan(0)
positive_integer: IntegerGreaterThan = IntegerGreaterThan(1)
real: Real = Real()
real_vector: IndependentConstraint = IndependentConstraint(real, 1)
positive: GreaterThan = GreaterThan(0.0)
nonnegative: GreaterThanEq = GreaterThanEq(0.0)
unit_interval: Interval = Interval(0.0, 1.0)
simplex: Simplex = Simplex()
one_hot: OneHot = OneHot()
lower_triangular: LowerTriangular = LowerTriangular()
lower_cholesky: LowerCholesky = LowerCholesky()
corr_cholesky: CorrCholesky = CorrCholesky()
square: Square = Square()
symmetric: Symmetric = Symmetric()
positive_semidefinite: PositiveSemidefinite = PositiveSemidefinite()
positive_definite: PositiveDefinite = PositiveDefinite()
greater_than = GreaterThan
greater_than_eq = GreaterThanEq
less_than = LessThan
interval = Interval
half_open_interval = HalfOpenInterval
integer_interval = IntegerInterval
multinomial = Multinomial
independent = IndependentConstraint
cat = Cat
stack = Stack

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]
