"""Transforms from all numbers to what a constraint allows: `biject_to` and `transform_to`.

Knows constraints and transforms. Must not know distributions.

`biject_to` gives bijections; `transform_to` may give functions that are none and need no
Jacobian, such as the softmax.

>>> import tapegrad.torch as torch
>>> d = torch.distributions
>>> d.biject_to(d.constraints.unit_interval)(torch.zeros(1))
tensor([0.5000])
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from tapegrad.torch._docstrings.sections import of_object
from tapegrad.torch.distributions import constraints, transforms

Factory = Callable[[Any], transforms.Transform]


class ConstraintRegistry:
    """Which transform leads to a constraint, by the constraint's class.

    doc: The docstring of the registry, as a function of a constraint.

    >>> import tapegrad.torch as torch
    >>> from tapegrad.torch.distributions.constraint_registry import ConstraintRegistry
    >>> registry = ConstraintRegistry()
    >>> @registry.register(torch.distributions.constraints.positive)
    ... def of_positive(constraint):
    ...     return torch.distributions.ExpTransform()
    >>> registry(torch.distributions.constraints.positive)
    ExpTransform()
    """

    def __init__(self, doc: str | None = None) -> None:
        self._registry: dict[type, Factory] = {}
        if doc is not None:
            self.__doc__ = doc

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Let `factory(constraint)` make the transform for a class; or decorate such a function.

        constraint (type or Constraint): A class of constraints, or an object, whose class is
            meant.
        factory (callable): A function of a constraint that returns a transform; without it a
            decorator is returned.
        -> callable: The factory, or the decorator.
        TypeError: If `constraint` is neither.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint}"
            )
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        """The transform for a constraint; NotImplementedError where there is none."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            name = type(constraint).__name__.lstrip("_")
            raise NotImplementedError(f"Cannot transform _{name} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry(
    of_object("""The bijection from all numbers to what a constraint allows.

constraint (Constraint): What its values shall satisfy.
-> Transform: A bijective transform.
NotImplementedError: For a constraint to which no bijection is registered.
See also transform_to: Also functions that are no bijections.

>>> positive = torch.distributions.constraints.positive
>>> torch.distributions.biject_to(positive)(torch.tensor([0.0, 1.0]))
tensor([1.0000, 2.7183])
""")
)
transform_to = ConstraintRegistry(
    of_object("""A function from all numbers to what a constraint allows.

constraint (Constraint): What its values shall satisfy.
-> Transform: A transform that need not be bijective, as the softmax.
NotImplementedError: For a constraint to which none is registered.
See also biject_to: Bijections alone.

>>> simplex = torch.distributions.constraints.simplex
>>> torch.distributions.transform_to(simplex)(torch.zeros(4))
tensor([0.2500, 0.2500, 0.2500, 0.2500])
""")
)
__test__ = {"biject_to": biject_to.__doc__, "transform_to": transform_to.__doc__}


def _in_both(*kinds: type) -> Callable[[Factory], Factory]:
    def decorate(factory: Factory) -> Factory:
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return decorate


@_in_both(constraints.Real)
def _real(constraint: Any) -> transforms.Transform:
    return transforms.identity_transform


@_in_both(constraints.GreaterThan, constraints.GreaterThanEq)
def _above(constraint: Any) -> transforms.Transform:
    shift = transforms.AffineTransform(constraint.lower_bound, 1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


@_in_both(constraints.LessThan)
def _under(constraint: Any) -> transforms.Transform:
    shift = transforms.AffineTransform(constraint.upper_bound, -1)
    return transforms.ComposeTransform([transforms.ExpTransform(), shift])


@_in_both(constraints.Interval, constraints.HalfOpenInterval)
def _between(constraint: Any) -> transforms.Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    plain = isinstance(low, numbers.Number) and isinstance(high, numbers.Number)
    if plain and low == 0 and high == 1:
        return transforms.SigmoidTransform()
    stretch = transforms.AffineTransform(low, high - low)
    return transforms.ComposeTransform([transforms.SigmoidTransform(), stretch])


def _always(transform: Callable[[], transforms.Transform]) -> Factory:
    """A factory of a transform that no constraint has parameters for."""
    return lambda constraint: transform()


_in_both(constraints.CorrCholesky)(_always(transforms.CorrCholeskyTransform))
biject_to.register(constraints.Simplex, _always(transforms.StickBreakingTransform))
transform_to.register(constraints.Simplex, _always(transforms.SoftmaxTransform))
transform_to.register(constraints.LowerCholesky, _always(transforms.LowerCholeskyTransform))
for _kind in (constraints.PositiveDefinite, constraints.PositiveSemidefinite):
    transform_to.register(_kind, _always(transforms.PositiveDefiniteTransform))


def _of_parts(registry: ConstraintRegistry) -> None:
    """Register what is made of other constraints: of the transforms for those."""

    def independent(constraint: Any) -> transforms.Transform:
        return transforms.IndependentTransform(
            registry(constraint.base_constraint), constraint.reinterpreted_batch_ndims
        )

    def cat(constraint: Any) -> transforms.Transform:
        parts = [registry(part) for part in constraint.cseq]
        return transforms.CatTransform(parts, constraint.dim, constraint.lengths)

    def stack(constraint: Any) -> transforms.Transform:
        parts = [registry(part) for part in constraint.cseq]
        return transforms.StackTransform(parts, constraint.dim)

    registry.register(constraints.IndependentConstraint, independent)
    registry.register(constraints.Cat, cat)
    registry.register(constraints.Stack, stack)


_of_parts(biject_to)
_of_parts(transform_to)

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]
