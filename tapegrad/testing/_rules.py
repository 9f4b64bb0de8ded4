"""check_rule: every law that the rule of one function has to keep, at given arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._errors import describe, name_of
from tapegrad._forward import jvp, linearize
from tapegrad._reverse import vjp
from tapegrad._rule import REGISTRY, Constant, Rule
from tapegrad._tape import Traced
from tapegrad._tree import Structure, flatten, unflatten
from tapegrad.testing._differences import FlatFunction, direction
from tapegrad.testing._grads import MODES, derivatives, inexact_leaves
from tapegrad.testing._laws import Exactness, Subject, check_close, check_first_order, fail

WIDE = Exactness(wide=True)


def check_rule(function_or_rule: Callable[..., Any] | Rule, /, *args: Any, **params: Any) -> None:
    """Check all laws of a rule at `function(*args, **params)`.

    Differentiated are all floating and complex NumPy arrays and scalars among the arguments, also
    inside lists, tuples and dicts; Python numbers and arrays of other dtypes are constants. The
    laws, at the tolerance of the coarsest dtype at hand (1e-10 for float64):

    - the value of a traced call is the plain function's, bit for bit, with its dtype and containers;
    - `jvp` is the derivative, measured by central differences in longdouble where the function
      computes in it, and `linearize` agrees;
    - the adjoint identity Re<vjp(g), t> = Re<g, jvp(t)>;
    - a cotangent has its argument's shape and dtype, a tangent its result's;
    - the same for the derivatives of the squared result, in both modes over both modes;
    - the arguments are not written to;
    - a function declared `constant` returns plain arrays, and its derivative is exactly zero.

    Choose arguments where the function is smooth: away from kinks, ties and poles by 1e-3 or more.
    Any function of arrays can be checked, whether or not it has a rule of its own. Raises
    AssertionError naming the law, with what was expected and what came.

    >>> import tapegrad
    >>> @tapegrad.primitive
    ... def double(x):
    ...     return 2 * x
    >>> rule = tapegrad.linear(double, lambda g, _out, _x: 2 * g)
    >>> check_rule(rule, np.array([1.0, 2.0]))
    >>> check_rule(np.sum, np.ones((2, 3)), axis=0)
    """
    function = function_or_rule.function if isinstance(function_or_rule, Rule) else function_or_rule
    rule = function_or_rule if isinstance(function_or_rule, Rule) else _rule_of(function)
    call = f"check_rule({rule.name if rule else name_of(function)})"
    everything, structure = flatten((args, params))
    before = [_snapshot(leaf) for leaf in everything]
    subject = _subject(call, function, everything, structure)
    _check_values(subject, function, everything, structure, constant=isinstance(rule, Constant))
    if isinstance(rule, Constant):
        _check_zero(subject)
    else:
        _check_derivatives(subject)
    for leaf, snapshot in zip(everything, before, strict=True):
        if _snapshot(leaf) != snapshot:
            fail(subject, "an argument was written to", "its value at the call", leaf)


def _rule_of(function: Callable[..., Any]) -> Rule | None:
    try:
        return REGISTRY.get(function)
    except TypeError:  # not hashable
        return None


def _snapshot(leaf: Any) -> Any:
    return (leaf.tobytes(), describe(leaf)) if isinstance(leaf, np.ndarray) else None


def _differentiable(leaf: Any) -> bool:
    return isinstance(leaf, (np.ndarray, np.generic)) and leaf.dtype.kind in "fc"


def _subject(
    call: str, function: Callable[..., Any], everything: list[Any], structure: Structure
) -> Subject:
    """The call as a function of its differentiable leaves."""
    positions = [i for i, leaf in enumerate(everything) if _differentiable(leaf)]

    def of_leaves(*leaves: Any) -> tuple[Any, ...]:
        return inexact_leaves(_called(function, everything, structure, positions, leaves))

    leaves = tuple(everything[i] for i in positions)
    names = tuple(f"array {i} ({describe(leaf)})" for i, leaf in enumerate(leaves))
    return Subject(call, of_leaves, leaves, names)


def _called(
    function: Callable[..., Any], everything: list[Any], structure: Structure,
    positions: Sequence[int], leaves: Sequence[Any],
) -> Any:
    replaced = list(everything)
    for position, leaf in zip(positions, leaves, strict=True):
        replaced[position] = leaf
    args, params = unflatten(structure, replaced)
    return function(*args, **params)


# --- The laws -----------------------------------------------------------------------------------


def _check_values(
    subject: Subject, function: Callable[..., Any], everything: list[Any], structure: Structure, *,
    constant: bool,
) -> None:
    """A traced call returns what the plain call returns."""
    positions = [i for i, leaf in enumerate(everything) if _differentiable(leaf)]
    expected = _called(function, everything, structure, positions, subject.leaves)
    seen: list[bool] = []

    def traced(*leaves: Any) -> Any:
        out = _called(function, everything, structure, positions, leaves)
        seen.append(any(isinstance(leaf, Traced) for leaf in flatten(out)[0]))
        return out

    zeros = tuple(np.zeros_like(leaf) for leaf in subject.leaves)
    _check_same(subject, "the value under jvp", expected, jvp(traced, subject.leaves, zeros)[0])
    _check_same(subject, "the value under vjp", expected, vjp(traced, *subject.leaves)[0])
    if constant and any(seen):
        fail(subject, "a constant function returned a traced result", "plain arrays", "Array")


def _check_same(subject: Subject, what: str, expected: Any, got: Any) -> None:
    """Equal containers, shapes, dtypes and bits."""
    leaves, structure = flatten(expected)
    found, other = flatten(got)
    if structure != other:
        fail(subject, f"{what} has other containers than the plain one", expected, got)
    for leaf, part in zip(leaves, found, strict=True):
        if describe(leaf) != describe(part):
            fail(subject, f"{what} has another shape or dtype", describe(leaf), describe(part))
        array = np.asarray(leaf)
        if not np.array_equal(array, part, equal_nan=array.dtype.kind in "fc"):
            fail(subject, f"{what} is not the plain one", repr(leaf), repr(part))


def _check_zero(subject: Subject) -> None:
    random = np.random.default_rng(0)
    outs, pullback = vjp(subject.function, *subject.leaves)
    for leaf, bar in zip(
        subject.leaves, pullback(tuple(direction(random, out) for out in outs)), strict=True
    ):
        if describe(bar) != describe(leaf) or np.any(bar):
            fail(subject, "the derivative of a constant function is not zero", "zeros", bar)


def _check_derivatives(subject: Subject) -> None:
    random = np.random.default_rng(0)
    check_first_order(subject, MODES, WIDE, random)
    _check_linearize(subject, random)
    squared = subject._replace(call=f"{subject.call} squared", function=_square(subject.function))
    for derived in derivatives(squared, MODES, random):
        check_first_order(derived, MODES, WIDE, random)


def _check_linearize(subject: Subject, random: np.random.Generator) -> None:
    """The replay of a stored stretch agrees with the pushing of tangents as they come."""
    dots = tuple(direction(random, leaf) for leaf in subject.leaves)
    expected = jvp(subject.function, subject.leaves, dots)[1]
    got = linearize(subject.function, *subject.leaves)[1](*dots)
    for part, other in zip(expected, got, strict=True):
        check_close(subject, "linearize differs from jvp", part, other, WIDE, 0.0)


def _square(function: FlatFunction) -> FlatFunction:
    """The squares of the results: nonlinear, so that second derivatives see first ones too."""

    def squared(*leaves: Any) -> tuple[Any, ...]:
        return tuple(out * out for out in function(*leaves))

    return squared
