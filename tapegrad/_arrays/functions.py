"""Calls of NumPy's functions on traced arrays, by rule.

Knows the registry, and which results are views. Must
not know single rules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._arrays.creation import CREATION
from tapegrad._arrays.refusal import refuse_unsupported
from tapegrad._arrays.traced import Array, no_rule
from tapegrad._arrays.views import PLAIN_TYPES, as_view
from tapegrad._core.operands import as_arguments, has_own_functions
from tapegrad._core.rule import REGISTRY, Rule, rule_of
from tapegrad._core.values import Mapped, Traced, innermost, is_inexact


def array_function(
    self: Array,
    function: Callable[..., Any],
    types: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """`Array.__array_function__`: the call of a function, by its rule."""
    return by_rule(self, function, REGISTRY.get(function), types, args, kwargs)


def by_rule(
    self: Array,
    function: Callable[..., Any],
    rule: Rule | None,
    types: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """The result of a call of a function by its rule, or an error if there is none."""
    alone = len(args) == 1 and args[0] is self and not kwargs
    if not alone and not PLAIN_TYPES.issuperset(types):
        if isinstance(innermost((*args, *kwargs.values())), Mapped):
            return NotImplemented  # a vmap inside this array's transform comes first
        if any(map(has_own_functions, types)):
            return NotImplemented  # an array with units, say, which may hold a traced one
    if rule is None:
        if function in CREATION:
            return _created(self, function, args, kwargs)
        rule = rule_of(function)
    if rule is None:
        refuse_unsupported(no_rule(function), [*args, *kwargs.values()])
    if not alone and (rule.several or not PLAIN_TYPES.issuperset(types)):
        args, kwargs = as_arguments(args, kwargs)
    if rule.view:
        arrays, params = rule.bind(args, kwargs)
        return as_view(rule, arrays[0], params)
    return rule.apply(*args, **kwargs)


def _created(self: Array, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """The result of np.zeros(shape, like=self), traced so that it can be written to."""
    made = CREATION[function](*args, **kwargs)
    if isinstance(made, Traced) or not is_inexact(made):
        return made
    return self.tape.wrap(made, -1)


Array.__array_function__ = array_function
