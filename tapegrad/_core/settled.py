"""Calls of one array that are settled: what shape and parameters decide is decided once.

Most calls of a program come again: the same function, of an array of the same shape and dtype, with
the same parameters. A rule may be declared with `settle=`, a function that gives for such a call
what to do with NumPy's own arrays: how to compute the result, its cotangent and its tangent, with
no parameter to look at and no shape to compare. The functions of the rule itself remain the
definition: they serve every other call, arrays of other libraries, batched and traced values, and a
test compares the two.

Knows rules and specs. Must not know the class of traced arrays, nor which functions exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.entry import Spec
from tapegrad._core.types import Cotangent, Tangent, Value


class Ways(NamedTuple):
    """What `settle=` returns: the ways of a call with NumPy's arrays of one shape and dtype."""

    run: Callable[[Any], Any]  # the result, of the array
    pull: Callable[[Cotangent, Value, Value], Cotangent]  # from (g, out, x): of x's shape, dtype
    push: Callable[[Tangent, Value, Value], Tangent] | None = None  # from (x_dot, out, x)


class Settled(dict[str, Any]):
    """The parameters of a settled call, as its entry holds them, with the ways of the call."""

    __slots__ = ("keeps_out", "keeps_x", "pull", "push", "rule", "run", "spec")

    rule: Any
    spec: Spec  # of the result
    keeps_x: bool  # whether the derivatives read x
    keeps_out: bool
    run: Callable[[Any], Any]
    pull: Callable[[Cotangent, Value, Value], Cotangent]
    push: Callable[[Tangent, Value, Value], Tangent] | None


# Arguments of these classes have a meaning of their own alone, and are told apart by `==`.
_PLAIN = frozenset((int, bool, type(None), str))
_MOST = 1 << 12  # calls that a rule remembers; programs with more shapes begin again


def learn(rule: Any, x: Spec, out: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Remember how to make a call that has been made: of an array `x` first, with the result."""
    given = (*args[1:], *kwargs.values())
    for value in given:
        kind = type(value)
        if kind not in _PLAIN and not (kind is tuple and _PLAIN.issuperset(map(type, value))):
            return
    if len(rule.calls) >= _MOST:
        rule.calls.clear()
    rule.calls[(x, args[1:], *kwargs.items())] = _settled(rule, x, out, args, kwargs)


def _settled(
    rule: Any, x: Spec, out: Spec, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Settled | None:
    """The settled call, or None if the rule leaves it as it is."""
    _, params = rule.bind(args, kwargs)
    ways = rule.settle(x, out, **params)
    if ways is None:
        return None
    found = Settled(params)
    (found.keeps_x,), found.keeps_out = rule.needed((True,))
    found.rule, found.spec = rule, out
    found.run, found.pull, found.push = ways
    return found


__all__ = ["Settled", "Ways", "learn"]
