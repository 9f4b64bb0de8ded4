"""Bounds and constraints in SciPy's spellings and as trees: as SciPy takes them, and as equations.

Knows the vector of free parameters. Must not know methods.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad._core.values import any_true, in_trace, untraced
from tapegrad._errors import InputError, describe, message
from tapegrad._transforms.jacobians import hessian, jacobian
from tapegrad.implicit._minima import full_bounds, ordered
from tapegrad.implicit._systems import plain
from tapegrad.implicit._unknowns import as_vector
from tapegrad.optimize._parameters import Parameters


def bounds_of(call: str, parameters: Parameters, bounds: Any) -> Any:
    """Lower and upper bounds of the free leaves, as two lists of arrays; None without bounds.

    Given as a tuple `(lower, upper)` of trees, as SciPy's list of pairs for the elements, or as
    SciPy's Bounds.
    """
    if bounds is None:
        return None
    unknowns = parameters.unknowns
    if hasattr(bounds, "lb") and hasattr(bounds, "ub"):
        ends = [np.broadcast_to(end, (parameters.size,)) for end in (bounds.lb, bounds.ub)]
        return ordered(call, *(unknowns.tree(end) for end in ends))
    if isinstance(bounds, list):
        if len(bounds) != parameters.size or not all(map(_is_pair, bounds)):
            raise InputError(
                message(
                    call,
                    f"{parameters.size} pairs (low, high), one for each element",
                    f"a list of {len(bounds)}",
                    "Or pass a tuple (lower, upper) of trees like x0",
                )
            )
        lower = [-np.inf if low is None else low * 1.0 for low, _ in bounds]
        upper = [np.inf if high is None else high * 1.0 for _, high in bounds]
        return ordered(call, *(unknowns.tree(np.stack(end)) for end in (lower, upper)))
    whole = parameters.whole(parameters.free)
    full = full_bounds(call, whole, bounds)
    return tuple([end[place] for place in parameters.places] for end in full)


def _is_pair(bound: Any) -> bool:
    try:
        return len(bound) == 2
    except TypeError:
        return False


class Constraint:
    """lower <= fun(x) <= upper, for one of SciPy's constraints.

    fun: of a tree of parameters. lower, upper: numbers or vectors. given: what the user passed.
    """

    def __init__(self, fun: Function, lower: Any, upper: Any, given: Any, kind: str) -> None:
        self.fun, self.lower, self.upper = fun, lower, upper
        self.given, self.kind = given, kind

    def as_scipys(self, call: str, parameters: Parameters, *, hessians: bool) -> Any:
        """The constraint for SciPy, with exact derivatives; Hessians too where they are taken."""
        from scipy.optimize import NonlinearConstraint

        if self.kind == "linear":
            return self.given

        def of(v: Value) -> Any:
            return as_vector(self.fun(parameters.tree(v)))

        def values(v: Any) -> Any:
            return plain(call, of(v), "a constraint")

        def weighted(v: Any, weights: Any) -> Any:
            return hessian(lambda v: np.sum(weights * of(v)))(v)

        if self.kind in ("eq", "ineq") and not hessians:
            return {"type": self.kind, "fun": values, "jac": jacobian(of)}
        options: dict[str, Any] = {"hess": weighted} if hessians else {}
        if np.any(getattr(self.given, "keep_feasible", False)):
            options["keep_feasible"] = self.given.keep_feasible
        return NonlinearConstraint(values, self.lower, self.upper, jac=jacobian(of), **options)

    def has(self, which: int) -> bool:
        """Whether anything must be zero (0), or not negative (1)."""
        lower, upper = untraced(self.lower), untraced(self.upper)
        fixed = np.equal(lower, upper)
        if which:
            return any_true((np.isfinite(lower) | np.isfinite(upper)) & ~fixed)
        return any_true(fixed)

    def part(self, which: int, whole: Function) -> Function:
        """Values to be zero (0), or not negative (1), as a function of the free leaves."""
        # In variables of their own, so that what they close over is found.
        fun, lowest, highest = self.fun, self.lower, self.upper

        def of(free: list[Any], *_args: Any) -> Any:
            values = as_vector(fun(whole(free)))
            lower = np.broadcast_to(lowest, values.shape)
            upper = np.broadcast_to(highest, values.shape)
            fixed = lower == upper
            if not which:
                fixed = _of_every_example(fixed)
                return values[fixed] - lower[fixed]
            low, high = (_of_every_example(np.isfinite(end) & ~fixed) for end in (lower, upper))
            return np.concatenate([values[low] - lower[low], upper[high] - values[high]])

        return of


def _of_every_example(condition: Any) -> Any:
    """A condition as a plain array, the same for every example that a vmap maps over."""
    condition = untraced(condition)
    if not in_trace(condition):
        return condition
    found = np.array([any_true(one) for one in np.ravel(condition)], bool)
    if any(any_true(~one) for one, true in zip(np.ravel(condition), found, strict=True) if true):
        raise InputError(
            "optimize.minimize: inside a vmap a constraint must be an equation, or have a lower "
            "or an upper bound, for all examples or for none. Map over examples of one kind."
        )
    return np.reshape(found, condition.shape)


def constraints_of(
    call: str,
    parameters: Parameters,
    given: Any,
    equality: Function | None,
    inequality: Function | None,
    args: tuple[Any, ...],
) -> list[Constraint]:
    """Constraints in SciPy's spellings and as functions of `(x, *args)`, in one list."""
    listed: Sequence[Any] = given if isinstance(given, list | tuple) else [given]
    found = [_constraint(call, parameters, one) for one in listed]
    for kind, fun, upper in (("eq", equality, 0.0), ("ineq", inequality, np.inf)):
        if fun is not None:
            found.append(Constraint(_with(fun, args), 0.0, upper, fun, kind))
    return found


def _with(fun: Function, args: tuple[Any, ...]) -> Function:
    return lambda x: fun(x, *args)


def _constraint(call: str, parameters: Parameters, one: Any) -> Constraint:
    if isinstance(one, dict) and one.get("type") in ("eq", "ineq") and callable(one.get("fun")):
        upper = 0.0 if one["type"] == "eq" else np.inf
        return Constraint(
            _with(one["fun"], tuple(one.get("args", ()))), 0.0, upper, one, one["type"]
        )
    if hasattr(one, "A") and hasattr(one, "lb"):
        matrix = one.A

        def product(x: Any) -> Any:
            return matrix @ as_vector(parameters.free_of(x))

        return Constraint(product, one.lb, one.ub, one, "linear")
    if callable(getattr(one, "fun", None)) and hasattr(one, "lb"):
        return Constraint(one.fun, one.lb, one.ub, one, "nonlinear")
    raise InputError(
        message(
            call,
            'constraints {"type": "eq" or "ineq", "fun": f}, LinearConstraint or '
            "NonlinearConstraint",
            describe(one),
            "Or pass equality= and inequality=, functions of x",
        )
    )


__all__ = ["Constraint", "bounds_of", "constraints_of"]
