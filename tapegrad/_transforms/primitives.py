"""primitive: functions that are not traced inside, whose derivatives a rule form declares.

Knows the forms of rules, and how the containers among a call's arguments come apart. A rule itself
takes arrays: a call with containers has a rule of its own, of their leaves.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from tapegrad._batched.batching_rules import call_one_by_one, refuse_param
from tapegrad._core.forms import Composite, Constant, General, Unsupported
from tapegrad._core.rule import Rule
from tapegrad._core.tape import RUNNING
from tapegrad._core.types import Cotangent, Function, Params, Tangent, Tree, Value, Wanted
from tapegrad._core.values import (
    Mapped,
    Traced,
    are_untraced,
    holds_in_trace,
    in_trace,
    innermost,
    is_array,
    lift,
    untraced,
)
from tapegrad._errors import InputError, MissingRuleError, RuleError, message, name_of
from tapegrad._transforms.wrapper import found_by_name
from tapegrad._tree import LEAF, Structure, flatten, flatten_like, unflatten

# Types of values that hold nothing traced.


class primitive:
    """A function whose calls are not traced inside: a rule form declares its derivative.

    Decorate it, then declare it with `elementwise`, `linear`, `multilinear`, `general`,
    `composite`, `constant` or `unsupported`. A call of it on traced values without a declaration
    raises MissingRuleError, a RuleError.

    Parameters
    ----------
    function : callable
        Function of arrays, which gets untraced ones.

    Notes
    -----
    An argument that a call leaves out has its default, for the rule as well. Of a function of
    `*args` all that is passed by position are arrays; `signature=` in the declaration names them,
    so that they can go by keyword.

    A function declared as `general` may take tuples, dicts and dataclasses of arrays. It gets them
    as they were passed; so does its rule, which returns such a cotangent. (A list is an array, as
    it is to NumPy.)

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> @primitive
    ... def softplus(x):
    ...     return np.logaddexp(0.0, x)
    >>> tapegrad.elementwise(softplus, lambda _, x: 1 / (1 + np.exp(-x)))
    <elementwise softplus>
    >>> tapegrad.grad(softplus)(0.0)
    np.float64(0.5)

    A function of `*args`, as the distributions of SciPy:

    >>> @primitive
    ... def logpdf(x, *args, **kwds):
    ...     loc, scale = args
    ...     return -(((x - loc) / scale) ** 2) / 2 - np.log(scale)
    >>> tapegrad.elementwise(
    ...     logpdf,
    ...     lambda _, x, loc, scale: (loc - x) / scale**2,
    ...     lambda _, x, loc, scale: (x - loc) / scale**2,
    ...     lambda _, x, loc, scale: ((x - loc) / scale) ** 2 / scale - 1 / scale,
    ...     signature="x, loc=0, scale=1",
    ... )
    <elementwise logpdf>
    >>> tapegrad.grad(lambda s: logpdf(1.0, scale=s))(2.0)
    np.float64(-0.375)

    A function of a tuple:

    >>> @primitive
    ... def line(t, coefficients):
    ...     slope, start = coefficients
    ...     return slope * t + start
    >>> tapegrad.general(line, vjp=[None, lambda g, _, t, _cs: (np.sum(g * t), np.sum(g))])
    <general line>
    >>> tapegrad.grad(lambda a, b: line(3.0, (a, b)), (0, 1))(2.0, 1.0)
    (np.float64(3.0), np.float64(1.0))
    """

    holds_rule = True
    rule: Rule | None = None  # that of its declaration

    def __init__(self, function: Function) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.rule = None

    def __call__(self, *args: Tree, **kwargs: Any) -> Any:
        if not RUNNING and are_untraced(args, kwargs):
            return self.function(*args, **kwargs)
        leaves, structure = flatten((args, kwargs))
        inner = innermost(leaves)
        rule = self.rule
        if inner is None or (rule is None and isinstance(inner, Mapped)):
            return self.function(*args, **kwargs)
        if rule is None:
            raise MissingRuleError(
                f"{name_of(self.function)}: called on a traced value, but it has no rule. Declare "
                "one, for example tapegrad.elementwise(function, partial)."
            )
        if isinstance(rule, Constant):
            return self._constant(rule, inner, leaves, structure)
        if _is_flat(structure) or rule.sequence or isinstance(rule, (Composite, Unsupported)):
            return rule.apply(*args, **kwargs)
        given, params = rule.bind(args, kwargs, lifts=False)
        _check_parameters(rule, params)
        if isinstance(rule, General):
            return _call_with_containers(rule, given, params)
        for value in given:
            _refuse_container(rule, value)
        return rule.apply_bound([lift(value) for value in given], params)

    def _constant(
        self, rule: Constant, inner: Value, leaves: list[Value], structure: Structure
    ) -> Any:
        """The plain result; inside vmap one for each example, in a recording one call."""
        if isinstance(inner, Mapped) and inner.records:
            calls = self.__dict__.setdefault("_calls", {})
            if structure not in calls:
                calls[structure] = _of_leaves(self.function, structure)
            return inner.by_one(calls[structure], *leaves)
        args, kwargs = unflatten(structure, map(untraced, leaves))
        if not isinstance(inner, Mapped):
            return rule.apply(*args, **kwargs) if _is_flat(structure) else self(*args, **kwargs)
        if _is_flat(structure):
            given, params = rule.bind(args, kwargs)
            if not any(map(in_trace, params.values())):
                return inner.call_rule(rule, given, params)
        return call_one_by_one(inner.vmap_level, self, args, kwargs)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return found_by_name(self) or super().__reduce_ex__(protocol)

    def __repr__(self) -> str:
        return f"<primitive {name_of(self.function)}>"


def _of_leaves(function: Function, structure: Structure) -> Function:
    """A function of the leaves of its arguments: kept, so that two runs record the same one."""

    def call(*leaves: Value) -> Any:
        args, kwargs = unflatten(structure, leaves)
        return function(*args, **kwargs)

    call.__qualname__, call.__module__ = name_of(function), function.__module__
    return call


def _is_flat(structure: Structure) -> bool:
    """Whether no argument of a call, taken apart as `(args, kwargs)`, is a container."""
    for group in structure.children:
        for child in group.children:
            if child is not LEAF and child.kind is not type(None):
                return False
    return True


def _check_parameters(rule: Rule, params: Params) -> None:
    """Refuse traced and batched values in containers that are no arrays of the rule."""
    for name, value in params.items():
        inner = innermost(flatten(value)[0])
        if isinstance(inner, Traced):
            rule.refuse_parameter(name)
        if inner is not None:
            refuse_param(rule.name, name)


def _refuse_container(rule: Rule, value: Tree) -> None:
    leaves, structure = flatten(value)
    if structure is not LEAF and innermost(leaves) is not None and not holds_in_trace(value):
        raise InputError(
            message(
                rule.name,
                "arrays",
                f"a {type(value).__name__} with traced parts",
                f"The form {rule.form} takes arrays alone; declare it as general",
            )
        )


def _call_with_containers(rule: General, given: list[Any], params: Params) -> Any:
    trees = [
        lift(value) if isinstance(value, list) or flatten(value)[1] is LEAF else value
        for value in given
    ]
    call = ContainerCall(rule, trees)
    return call.apply_bound(call.arrays_of(trees), params)


class _Argument:
    """An argument of one call: its containers, and those of its leaves that are no arrays."""

    def __init__(self, value: Tree) -> None:
        self.leaves, self.structure = flatten(value)
        self.is_array = self.structure is LEAF
        self.places = [
            i
            for i, leaf in enumerate(self.leaves)
            if self.is_array or in_trace(leaf) or is_array(leaf)
        ]

    def tree(self, arrays: Sequence[Any], *, rest: bool = True) -> Any:
        """The argument with other arrays; `rest`: with its own other leaves, else with None."""
        if self.is_array:
            return arrays[0]
        leaves = list(self.leaves) if rest else [None] * len(self.leaves)
        for place, array in zip(self.places, arrays, strict=True):
            leaves[place] = array
        return unflatten(self.structure, leaves)

    def arrays(self, tree: Tree, call: str) -> list[Any]:
        """The arrays of a tree like the argument; None in its place stands for none of them."""
        if self.is_array or tree is None:
            return [tree] * len(self.places)
        leaves = flatten_like(self.structure, tree, call)
        return [leaves[place] for place in self.places]


class ContainerCall(General):
    """The rule of one call with containers: that of the arrays inside, made for that call."""

    def __init__(self, rule: General, trees: Sequence[Tree]) -> None:
        self.rule = rule
        self.arguments = [_Argument(tree) for tree in trees]
        for argument in self.arguments:  # what it holds of arrays, the tape keeps
            for place in argument.places:
                argument.leaves[place] = None
        self.name = rule.name
        self.function = rule.function
        self.implementation = self._run
        self.sequence = self.view = False
        self.singular = rule.singular
        self.foreign = rule.foreign
        self._needed = {}
        self._each = None
        self._joint = None if rule.vjp is None else self.cotangents
        self._jvp = None if rule.jvp is None else self._tangents
        word = rule.batch
        self.batch = "loop"
        if callable(word):
            self.batch = lambda *arrays, **params: word(*self._trees(arrays), **params)
        elif word in ("align", "ragged"):
            self.batch = word

    def arrays_of(self, trees: Sequence[Tree]) -> list[Any]:
        """The arrays of the arguments, one after another."""
        return [
            array
            for argument, tree in zip(self.arguments, trees, strict=True)
            for array in argument.arrays(tree, self.name)
        ]

    def _split(self, parts: Sequence[Any]) -> list[Sequence[Any]]:
        """Values that belong to the arrays of the call, by argument."""
        split, start = [], 0
        for argument in self.arguments:
            end = start + len(argument.places)
            split.append(parts[start:end])
            start = end
        return split

    def _trees(self, arrays: Sequence[Any]) -> list[Any]:
        pairs = zip(self.arguments, self._split(arrays), strict=True)
        return [argument.tree(given) for argument, given in pairs]

    def _run(self, *arrays: Value, **params: Any) -> Any:
        return self.rule.call(self._trees(arrays), params)

    def needs(self, wanted: Wanted) -> tuple[Sequence[bool], bool]:
        reads, out = self.rule.needs([any(part) for part in self._split(wanted)])
        counts = [len(argument.places) for argument in self.arguments]
        return [read for read, count in zip(reads, counts, strict=True) for _ in range(count)], out

    def cotangents(
        self,
        g: Cotangent,
        out: Value,
        args: Sequence[Any],
        params: Params,
        wanted: Wanted,
    ) -> Sequence[Any]:
        by_argument = [any(part) for part in self._split(wanted)]
        bars = self.rule.cotangents(g, out, self._trees(args), params, by_argument)
        if len(bars) != len(self.arguments):
            raise RuleError(
                f"{self.name}: its rule returned {len(bars)} values, expected "
                f"{len(self.arguments)}. Return one (or None) each."
            )
        return [
            part
            for argument, bar in zip(self.arguments, bars, strict=True)
            for part in argument.arrays(bar, f"vjp of {self.name}")
        ]

    def _tangents(self, dots: Sequence[Tangent], out: Value, *args: Value, **params: Any) -> Any:
        assert self.rule.jvp is not None
        trees = [
            None if all(dot is None for dot in given) else argument.tree(given, rest=False)
            for argument, given in zip(self.arguments, self._split(dots), strict=True)
        ]
        return self.rule.jvp(trees, out, *self._trees(args), **params)


__all__ = ["primitive"]
