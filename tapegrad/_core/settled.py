"""Calls that are settled: what shapes and parameters decide is decided once.

Most calls of a program come again: the same function, of arrays of the same shapes and dtypes,
with the same parameters. A rule may be declared with `settle=`, a function that gives for such a
call what to do with NumPy's own arrays: how to compute the cotangents and the tangent (and for a
function of one array the result), with no parameter to look at and no shape to compare. The
functions of the rule itself remain the definition: they serve every other call, arrays of other
libraries, batched and traced values, and a test compares the two.

Knows rules and specs. Must not know the class of traced arrays, nor which functions exist.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.entry import Spec, spec_of
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


class AllWays(NamedTuple):
    """What `settle_all=` returns: the same of a call with several arrays, but for the result."""

    pull: Callable[..., Any]  # from (g, out, *arrays): one cotangent each, None if not wanted
    push: Callable[..., Any] | None = None  # from (dots, out, *arrays)
    # `pull` by strong products, of a function with an infinite partial: asked where `pull` gives a
    # cotangent that is not finite.
    strong: Callable[..., Any] | None = None


class SettledAll(dict[str, Any]):
    """The parameters of a settled call with several arrays, with the ways of the call."""

    __slots__ = ("constants", "keeps_out", "pull", "push", "spec", "specs", "strong", "unread")

    spec: Spec  # of the result
    specs: tuple[Spec, ...]  # of the arrays
    constants: tuple[int, ...]  # which arrays are not traced, and read by the derivatives
    unread: tuple[int, ...]  # which arrays no derivative reads
    keeps_out: bool
    pull: Callable[..., Any]
    push: Callable[..., Any] | None
    strong: Callable[..., Any] | None


# In place of the spec of an argument that is a Python number: its value decides nothing, and it
# gives way to the dtype of the arrays. No array has this spec.
NUMBER = Spec((), np.dtype(object), spec_of(np.empty((), object)).family)
_NUMBERS = frozenset((float, int))
_ARRAYS = frozenset((np.ndarray, np.float64, np.float32, np.complex128, np.complex64))


def settled_spec(arg: Value) -> Spec | None:
    """By what a call with several arrays is remembered; None for what settles no call."""
    kind = type(arg)
    if kind is np.ndarray or kind in _ARRAYS:
        return spec_of(arg)
    return NUMBER if kind in _NUMBERS else None


# Arguments of these classes have a meaning of their own alone, and are told apart by `==`.
_PLAIN = frozenset((int, bool, type(None), str))
_MOST = 1 << 12  # calls that a rule remembers; programs with more shapes begin again


def learn(rule: Any, x: Spec, out: Value, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Remember how to make a call that has been made: of an array `x` first, with the result."""
    if type(out) is not np.ndarray and type(out) is not np.float64:
        return
    given = (*args[1:], *kwargs.values())
    for value in given:
        kind = type(value)
        if kind not in _PLAIN and not (kind is tuple and _PLAIN.issuperset(map(type, value))):
            return
    key = (x, args[1:], *kwargs.items())
    if key in rule.calls:  # as a call that the rule leaves as it is
        return
    if len(rule.calls) >= _MOST:
        rule.calls.clear()
    rule.calls[key] = _settled(rule, x, spec_of(out), args, kwargs)


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


def settle_all(
    rule: Any, key: Any, specs: tuple[Spec, ...], wanted: tuple[bool, ...], out: Spec, params: Any
) -> SettledAll | None:
    """Remember, under a key, what a call with several arrays is settled to."""
    if len(rule.calls_of_all) >= _MOST:
        rule.calls_of_all.clear()
    numbers = NUMBER in specs and not rule.numbers
    ways = None if numbers else rule.settle_all(specs, out, wanted, **params)
    found = None
    if ways is not None:
        found = SettledAll(params)
        keeps, found.keeps_out = rule.needed(wanted)
        found.spec, found.specs = out, specs
        arrays = [at for at, spec in enumerate(specs) if spec is not NUMBER]
        found.constants = tuple(at for at in arrays if keeps[at] and not wanted[at])
        found.unread = tuple(at for at in arrays if not keeps[at])
        found.pull, found.push, found.strong = ways
    rule.calls_of_all[key] = found
    return found


def summing(shape: tuple[int, ...], to: tuple[int, ...]) -> Callable[[Any], Any] | None:
    """A sum of arrays of a shape to one that broadcasts to it; None if they are the same."""
    if shape == to:
        return None
    lead = len(shape) - len(to)
    stretched = [lead + i for i, side in enumerate(to) if side == 1 and shape[lead + i] != 1]
    axes: Any = (*range(lead), *stretched)
    if len(axes) == 1:
        (axes,) = axes
    if not stretched:
        return lambda g: np.add.reduce(g, axes)
    return lambda g: np.add.reduce(g, axes, keepdims=True).reshape(to)


__all__ = [
    "NUMBER",
    "AllWays",
    "Settled",
    "SettledAll",
    "Spec",
    "Ways",
    "learn",
    "settle_all",
    "settled_spec",
    "summing",
]
