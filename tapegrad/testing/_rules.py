"""check_rule: every law that the rule of one function has to keep, at given arguments."""

from __future__ import annotations

import itertools
from collections.abc import Hashable
from typing import Any

import numpy as np

from tapegrad._core.forms import Composite, Constant
from tapegrad._core.rule import Rule, rule_of
from tapegrad._core.types import Function, Params, Tree, Value
from tapegrad._core.values import Traced, is_ndarray, is_numpy
from tapegrad._errors import describe, name_of
from tapegrad._profile.switch import Place, Switch
from tapegrad._progress import Bar
from tapegrad._transforms.forward import jvp, linearize
from tapegrad._transforms.reverse import vjp
from tapegrad._transforms.tracebacks import folding
from tapegrad._tree import flatten, unflatten
from tapegrad.testing._grads import MODES, derivatives
from tapegrad.testing._laws.first_order import (
    Exactness,
    Subject,
    check_close,
    check_first_order,
    fail,
)
from tapegrad.testing._measuring.directions import FlatFunction, direction
from tapegrad.testing._measuring.leaves import inexact_leaves
from tapegrad.testing._measuring.tolerances import tolerance_of

WIDE = Exactness(wide=True)


@folding
def check_rule(function_or_rule: Function | Rule, /, *args: Tree, **params: Any) -> None:
    """Check all laws of a rule at `function(*args, **params)`.

    Parameters
    ----------
    function_or_rule : callable or Rule
        Any function of arrays, whether or not it has a rule of its own.
    *args : pytree
        Its arguments. Differentiated are all floating and complex NumPy arrays and scalars among
        them, also inside lists, tuples and dicts; Python numbers and arrays of other dtypes are
        constants. Choose them where the function is smooth: away from kinks, ties and poles by
        1e-3 or more. A matrix that the rule declares to be Hermitian moves along Hermitian
        directions.
    **params : pytree
        Its keyword arguments, alike.

    Raises
    ------
    AssertionError
        If a law does not hold: it names the law, with what was expected and what came.

    See Also
    --------
    check : The laws of a whole program.
    tapegrad.testing.strategies : Arguments to check rules at.

    Notes
    -----
    The laws, at the tolerance of the coarsest dtype at hand (1e-10 for float64):

    - the value of a traced call is the plain function's, with its dtype and containers, and bit
      for bit unless the rule is `composite`, where the definition may round otherwise;
    - `jvp` is the derivative, measured by central differences in longdouble where the function
      computes in it, and `linearize` agrees;
    - the adjoint identity Re<vjp(g), t> = Re<g, jvp(t)>;
    - a cotangent has its argument's shape and dtype, a tangent its result's;
    - the same for the derivatives of the squared result, in both modes over both modes;
    - the arguments are not written to;
    - a function declared `constant` returns plain arrays, and its derivative is exactly zero.

    Examples
    --------
    >>> import tapegrad
    >>> @tapegrad.primitive
    ... def double(x):
    ...     return 2 * x
    >>> rule = tapegrad.linear(double, lambda g, _out, _x: 2 * g)
    >>> check_rule(rule, np.array([1.0, 2.0]))
    >>> check_rule(np.sum, np.ones((2, 3)), axis=0)
    """
    rule = _rule_of(function_or_rule)
    function: Any = rule.function if rule is function_or_rule else function_or_rule
    call = Call(function, args, params)
    subject = call.subject(f"check_rule({rule.name if rule else name_of(function)})")
    before = [_snapshot(leaf) for leaf in call.everything]
    call(*subject.leaves)
    _check_unwritten(subject, call, before)
    _check_values(subject, call, rule)
    if isinstance(rule, Constant):
        _check_zero(subject)
    else:
        _check_derivatives(subject)
    _check_unwritten(subject, call, before)


def _rule_of(function: Any) -> Rule | None:
    if isinstance(function, Rule):
        return function
    return rule_of(function) if _is_hashable(function) else None


def _is_hashable(function: object) -> bool:
    return isinstance(function, Hashable)


def _snapshot(leaf: Value) -> Any:
    return (leaf.tobytes(), describe(leaf)) if is_ndarray(leaf) else None


def _differentiable(leaf: Value) -> bool:
    return is_numpy(leaf) and leaf.dtype.kind in "fc"


class Call:
    """The function at its arguments, as a function of those that are differentiable."""

    def __init__(self, function: Function, args: Tree, params: Params) -> None:
        self.function = function
        self.everything, self.structure = flatten((args, params))
        self.positions = [i for i, leaf in enumerate(self.everything) if _differentiable(leaf)]

    def __call__(self, *leaves: Value) -> Tree:
        replaced = list(self.everything)
        for position, leaf in zip(self.positions, leaves, strict=True):
            replaced[position] = leaf
        args, params = unflatten(self.structure, replaced)
        return self.function(*args, **params)

    def inexact(self, *leaves: Value) -> tuple[Value, ...]:
        """The floating and complex results alone."""
        return inexact_leaves(self(*leaves))

    def subject(self, name: str) -> Subject:
        leaves = tuple(self.everything[i] for i in self.positions)
        names = tuple(f"array {i} ({describe(leaf)})" for i, leaf in enumerate(leaves))
        return Subject(name, self.inexact, leaves, names)


# --- The laws -----------------------------------------------------------------------------------


def _check_unwritten(subject: Subject, call: Call, before: list[Any]) -> None:
    for leaf, snapshot in zip(call.everything, before, strict=True):
        if _snapshot(leaf) != snapshot:
            fail(subject, "an argument was written to", "its value at the call", leaf)


def _check_values(subject: Subject, call: Call, rule: Rule | None) -> None:
    """A traced call returns what the plain call returns."""
    seen: list[bool] = []

    def traced(*leaves: Value) -> Tree:
        out = call(*leaves)
        seen.append(any(isinstance(leaf, Traced) for leaf in flatten(out)[0]))
        return out

    zeros = tuple(np.zeros_like(leaf) for leaf in subject.leaves)
    composites: list[Rule] = []
    with Switch().holding_places(lambda: [_noting_calls(composites)]):
        values = {
            "jvp": jvp(traced, subject.leaves, zeros)[0],
            "vjp": vjp(traced, *subject.leaves)[0],
        }
    # A composite may round otherwise, and so may a function that calls one.
    exact = not composites and not isinstance(rule, Composite)
    # NumPy rounds by memory layout, and a transform may have copied some of its arguments.
    layouts = [(leaf, leaf.copy()) for leaf in subject.leaves]
    for transform, value in values.items():
        first = None
        for leaves in itertools.product(*layouts):
            problem = _mismatch(call(*leaves), value, exact=exact)
            first = first or problem
            if problem is None:
                break
        else:
            assert first is not None
            fail(subject, f"the value under {transform} is not the plain one", *first)
    if isinstance(rule, Constant) and any(seen):
        fail(subject, "a constant function returned a traced result", "plain arrays", "Array")


def _noting_calls(composites: list[Rule]) -> Place:
    """The place where composites are called, with a function that notes which they are."""
    apply = vars(Composite)["apply"]

    def noted(rule: Rule, *args: Any, **kwargs: Any) -> Any:
        composites.append(rule)
        return apply(rule, *args, **kwargs)

    return Place(Composite, "apply", noted)


def _mismatch(expected: Tree, got: Tree, *, exact: bool) -> tuple[str, str] | None:
    """Differences between two results in containers, shapes, dtypes or values, as text."""
    leaves, structure = flatten(expected)
    found, other = flatten(got)
    if structure != other:
        return repr(expected), repr(got)
    for leaf, part in zip(leaves, found, strict=True):
        if not (_same(leaf, part) or not exact and _close(leaf, part)):
            return repr(leaf), repr(part)
    return None


def _same(leaf: Value, part: Value) -> bool:
    if not is_numpy(leaf):
        return bool(leaf == part)
    equal_nan = leaf.dtype.kind in "fc"
    return describe(leaf) == describe(part) and np.array_equal(leaf, part, equal_nan=equal_nan)


def _close(leaf: Value, part: Value) -> bool:
    if not _differentiable(leaf) or describe(leaf) != describe(part):
        return False
    rounding = tolerance_of(leaf).rounding
    return np.allclose(part, leaf, rtol=rounding, atol=rounding, equal_nan=True)


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
    with Bar(subject.call, total=len(subject.leaves) * (1 + len(MODES))):
        check_first_order(subject, MODES, WIDE, random)
        _check_linearize(subject, random)
        squared = subject._replace(
            call=f"{subject.call} squared", function=_square(subject.function)
        )
        for derived in derivatives(squared, MODES, random):
            check_first_order(derived, MODES, WIDE, random)


def _check_linearize(subject: Subject, random: np.random.Generator) -> None:
    """The replay of a recording agrees with forward mode, which pushes each tangent at once."""
    dots = tuple(direction(random, leaf) for leaf in subject.leaves)
    expected = jvp(subject.function, subject.leaves, dots)[1]
    got = linearize(subject.function, *subject.leaves)[1](*dots)
    for part, other in zip(expected, got, strict=True):
        check_close(subject, "linearize differs from jvp", part, other, WIDE)


def _square(function: FlatFunction) -> FlatFunction:
    """The squares of the results: nonlinear, so that second derivatives see first ones too."""

    def squared(*leaves: Value) -> tuple[Value, ...]:
        return tuple(out * out for out in function(*leaves))

    return squared
