"""Constraints: what values a parameter or a sample of a distribution may have.

Knows tensors. Must not know distributions.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch import linalg
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor

Bound = Any  # a number or a tensor

_isclose = OPERATIONS["isclose"]


class Constraint:
    """A set of values. `event_dim`: how many of the last dimensions make one value."""

    is_discrete = False
    event_dim = 0

    def check(self, value: Tensor) -> Tensor:
        """Whether each value of a batch is in the set."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__.lstrip('_')}()"


class _Dependent(Constraint):
    """A set that depends on the other parameters; it is not checked."""

    def __init__(self, *, is_discrete: bool = False, event_dim: int = 0) -> None:
        self.is_discrete, self.event_dim = is_discrete, event_dim

    def check(self, value: Tensor) -> Tensor:
        raise ValueError("Cannot determine validity of dependent constraint")


def is_dependent(constraint: Constraint) -> bool:
    """Whether a constraint depends on other parameters."""
    return isinstance(constraint, _Dependent)


class _Bounded(Constraint):
    """A set given by bounds, which its repr shows."""

    names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in self.names)
        return f"{type(self).__name__.lstrip('_')}({shown})"


class Boolean(Constraint):
    """0 and 1."""

    is_discrete = True

    def check(self, value: Tensor) -> Any:
        """As `Constraint.check`."""
        return value.eq(0) | value.eq(1)


class IntegerInterval(_Bounded):
    """The integers from one bound to another, both included."""

    is_discrete = True
    names = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Any:
        """As `Constraint.check`."""
        whole = value % 1 == 0
        return whole & (self.lower_bound <= value) & (value <= self.upper_bound)


class IntegerLessThan(_Bounded):
    """The integers up to a bound."""

    is_discrete = True
    names = ("upper_bound",)

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Any:
        """As `Constraint.check`."""
        return (value % 1 == 0) & (value <= self.upper_bound)


class IntegerGreaterThan(_Bounded):
    """The integers from a bound on."""

    is_discrete = True
    names = ("lower_bound",)

    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Any:
        """As `Constraint.check`."""
        return (value % 1 == 0) & (value >= self.lower_bound)


class Real(Constraint):
    """All numbers but NaN."""

    def check(self, value: Tensor) -> Any:
        """As `Constraint.check`."""
        return value == value


class GreaterThan(_Bounded):
    """Numbers above a bound."""

    names = ("lower_bound",)

    def __init__(self, lower_bound: Bound) -> None:
        self.lower_bound = lower_bound

    def check(self, value: Tensor) -> Any:
        """As `Constraint.check`."""
        return self.lower_bound < value


class GreaterThanEq(GreaterThan):
    """Numbers from a bound on."""

    def check(self, value: Tensor) -> Any:
        """As `Constraint.check`."""
        return self.lower_bound <= value


class LessThan(_Bounded):
    """Numbers below a bound."""

    names = ("upper_bound",)

    def __init__(self, upper_bound: Bound) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Any:
        """As `Constraint.check`."""
        return value < self.upper_bound


class Interval(_Bounded):
    """Numbers between two bounds, both included."""

    names = ("lower_bound", "upper_bound")

    def __init__(self, lower_bound: Bound, upper_bound: Bound) -> None:
        self.lower_bound, self.upper_bound = lower_bound, upper_bound

    def check(self, value: Tensor) -> Any:
        """As `Constraint.check`."""
        return (self.lower_bound <= value) & (value <= self.upper_bound)


class HalfOpenInterval(Interval):
    """Numbers from a bound to before another."""

    def check(self, value: Tensor) -> Any:
        """As `Constraint.check`."""
        return (self.lower_bound <= value) & (value < self.upper_bound)


class Simplex(Constraint):
    """Vectors of numbers that are not negative and sum to one."""

    event_dim = 1

    def check(self, value: Tensor) -> Any:
        """As `Constraint.check`."""
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class OneHot(Constraint):
    """Vectors with a single one among zeros."""

    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Any:
        """As `Constraint.check`."""
        return (value.eq(0) | value.eq(1)).all(-1) & value.sum(-1).eq(1)


class Multinomial(Constraint):
    """Vectors of counts up to a sum."""

    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: int) -> None:
        self.upper_bound = upper_bound

    def check(self, x: Tensor) -> Any:
        """As `Constraint.check`."""
        return (x >= 0).all(-1) & (x.sum(-1) <= self.upper_bound)


class LowerTriangular(Constraint):
    """Lower triangular matrices."""

    event_dim = 2

    def check(self, value: Tensor) -> Any:
        """As `Constraint.check`."""
        return (value.tril() == value).all(-1).all(-1)


class LowerCholesky(Constraint):
    """Lower triangular matrices with a positive diagonal."""

    event_dim = 2

    def check(self, value: Tensor) -> Any:
        """As `Constraint.check`."""
        triangular = (value.tril() == value).all(-1).all(-1)
        return triangular & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class PositiveDefinite(Constraint):
    """Symmetric matrices with positive eigenvalues."""

    event_dim = 2

    def check(self, value: Tensor) -> Any:
        """As `Constraint.check`."""
        symmetric = _isclose(value, value.mT, atol=1e-6).all(-1).all(-1)
        if not bool(symmetric.all()):
            return symmetric
        return linalg.eigvalsh(value.detach()).gt(0).all(-1)


class IndependentConstraint(Constraint):
    """A constraint that holds for all of the last dimensions together."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        self.base_constraint = base_constraint
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        self.is_discrete = base_constraint.is_discrete
        self.event_dim = base_constraint.event_dim + reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Any:
        """As `Constraint.check`."""
        result = self.base_constraint.check(value)
        ndims = self.reinterpreted_batch_ndims
        if result.dim() < ndims:
            raise ValueError(f"Expected value.dim() >= {self.event_dim} but got {value.dim()}")
        return result.reshape((*result.shape[: result.dim() - ndims], -1)).all(-1)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


dependent = _Dependent()
boolean = Boolean()
nonnegative_integer = IntegerGreaterThan(0)
positive_integer = IntegerGreaterThan(1)
real = Real()
real_vector = IndependentConstraint(real, 1)
positive = GreaterThan(0.0)
nonnegative = GreaterThanEq(0.0)
unit_interval = Interval(0.0, 1.0)
simplex = Simplex()
one_hot = OneHot()
lower_triangular = LowerTriangular()
lower_cholesky = LowerCholesky()
positive_definite = PositiveDefinite()
greater_than = GreaterThan
greater_than_eq = GreaterThanEq
less_than = LessThan
interval = Interval
half_open_interval = HalfOpenInterval
integer_interval = IntegerInterval
multinomial = Multinomial
independent = IndependentConstraint
