"""Gradients: cotangents as tensors, the hooks that replace them, and the `grad` of a leaf.

Knows PyTorch's convention. Must not know which nodes run, or when.

Cotangents are the core's (du/dx - i du/dy for complex numbers). PyTorch's gradients are their
conjugates, so this module conjugates gradients that come in, and cotangents that go out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.entry import spec_of
from tapegrad._core.types import Cotangent, Function, Value
from tapegrad._core.values import recorded_in
from tapegrad._errors import name_of
from tapegrad.torch._dtypes import type_word
from tapegrad.torch._graph.node import GUARD, Node, arguments_of, is_on_graph, node_class
from tapegrad.torch._graph.tracing import is_dual
from tapegrad.torch._tensor.overlaps import is_dense
from tapegrad.torch._tensor.tensor import Tensor, array_below, ndarray, of_array, of_value, settled


def conjugated(value: Cotangent) -> Cotangent:
    """A gradient as a cotangent, or a cotangent as a gradient."""
    return np.conj(value) if value.dtype.kind == "c" else value


def as_gradient(bar: Cotangent) -> Tensor:
    """A cotangent as a tensor, in PyTorch's convention."""
    if type(bar) is ndarray and bar.dtype.kind == "f":
        return of_value(bar)
    plain = isinstance(bar, (np.generic, np.ndarray))
    made = of_array(conjugated(bar)) if plain or is_on_graph(bar) else of_value(conjugated(bar))
    settled(made)  # its level of forward_ad may have ended
    return made


def through_hooks(hooks: dict[int, Function], g: Cotangent) -> Cotangent:
    """A cotangent after the hooks have run, each of which may replace it."""
    for hook in list(hooks.values()):
        gradient = as_gradient(g)
        given = hook(gradient)
        if given is not None:
            _check_hooked(hook, given, gradient)
            g = conjugated(array_below(given))
        else:
            g = conjugated(array_below(gradient))  # a hook may have written to it
    return g


def through_hooks_undefined(hooks: Iterable[Function], *args: object) -> None:
    """Run hooks where there is no gradient, for which they may give none."""
    for hook in list(hooks):
        given = hook(*args)
        parts = given if isinstance(given, (tuple, list)) else (given,)
        if any(part is not None for part in parts):
            raise RuntimeError("can't replace a None gradient with a non-None value")


def _check_hooked(hook: Function, given: object, gradient: Tensor) -> None:
    if not isinstance(given, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(given).__name__}'")
    name = name_of(hook)
    if given._value.dtype != gradient._value.dtype:
        raise RuntimeError(
            f"hook '{name}' has changed the type of value (was "
            f"{type_word(gradient._value.dtype)} got {type_word(given._value.dtype)})"
        )
    if given._value.shape != gradient._value.shape:
        raise RuntimeError(f"hook '{name}' has changed the size of value")


def _several(hook: Function, given: Any, count: int) -> Sequence[Any]:
    """The gradients that a hook of a node returned, as one gradient (or None) each."""
    found = given if isinstance(given, (tuple, list)) else (given,)
    if len(found) != count:
        raise RuntimeError(
            f"hook '{name_of(hook)}' has returned an incorrect number of values (got "
            f"{len(found)}, but expected {count})"
        )
    return found


def through_prehooks(node: Node, g: Cotangent) -> Cotangent:
    assert node._prehooks is not None
    for hook in list(node._prehooks.values()):
        several = isinstance(g, list)
        parts = g if several else [g]
        given = hook(tuple(None if part is None else as_gradient(part) for part in parts))
        if given is not None:
            given = _several(hook, given, len(parts))
            for new, old in zip(given, parts, strict=True):
                if new is not None and old is not None:
                    _check_hooked(hook, new, as_gradient(old))
            arrays = [None if part is None else conjugated(array_below(part)) for part in given]
            g = arrays if several else arrays[0]
    return g


def shown_parts(node: Node, parts: Sequence[Cotangent]) -> list[Cotangent]:
    """The cotangents of PyTorch's node's arguments, from those of all arguments of a node."""
    found = list(parts[node._skipped :][: count_of(node)])
    place = getattr(node._entry[0], "transposed", None)  # PyTorch's has a transpose before it
    if place is not None and found[place] is not None:
        found[place] = found[place].swapaxes(-1, -2)
    return found


def _all_parts(node: Node, shown: Sequence[Cotangent], count: int) -> list[Cotangent]:
    """The inverse of `shown_parts`; count: of all arguments."""
    found = [None] * node._skipped + list(shown)
    place = getattr(node._entry[0], "transposed", None)
    if place is not None and len(shown) > place and found[place] is not None:
        found[place] = found[place].swapaxes(-1, -2)
    return found + [None] * (count - len(found))


def through_posthooks(node: Node, parts: list[Cotangent], g: Cotangent) -> list[Cotangent]:
    """The cotangents of a node's arguments after its hooks, which see those of PyTorch's node."""
    assert node._posthooks is not None
    results = tuple(
        None if part is None else as_gradient(part) for part in (g if isinstance(g, list) else [g])
    )
    count = count_of(node)
    used = max((1 + i for i, parent in enumerate(arguments_of(node)) if parent != -1), default=0)
    shown = shown_parts(node, parts)
    for hook in list(node._posthooks.values()):
        inputs = tuple(None if part is None else as_gradient(part) for part in shown)
        given = hook(inputs, results)
        if given is not None:
            if not isinstance(given, (tuple, list, Tensor)):
                raise TypeError(f"expected tuple, but hook returned '{type(given).__name__}'")
            given = given if isinstance(given, (tuple, list)) else (given,)
            for new, old in zip(given, shown, strict=False):
                if new is not None and old is not None:
                    _check_hooked(hook, new, as_gradient(old))
            if not used <= len(given) <= count:  # it may leave out the gradients of numbers
                _several(hook, given, count)
            shown = [None if part is None else conjugated(array_below(part)) for part in given]
            shown += [None] * (count - len(shown))
            parts = _all_parts(node, shown, len(parts))
    return parts


def accumulate(variable: Tensor, bar: Cotangent, taken: set[int], *, create: bool) -> None:
    """Add a cotangent to the `grad` of a leaf, in its memory unless the pass creates a graph.

    A first gradient with a graph is a copy, as a write to it must not change the graph's values.
    """
    if is_dual(bar) and not create:
        bar = bar._value  # an accumulated gradient has no tangent
    with GUARD:
        known = variable._grad
        if known is None:
            copied = create and is_on_graph(bar)
            gradient = as_gradient(bar.copy() if copied else bar)
            value, like = gradient._value, variable._value
            if copied and gradient.node is not None:
                word = "CopyBackwards" if variable.is_leaf else "CloneBackward0"
                gradient.node.__class__ = node_class(word)
            elif _is_array(value):
                if (
                    id(value) in taken
                    or id(_memory_of(value)) in taken
                    or value.base is not None
                    or (type(like) is type(value) is ndarray and value.strides != like.strides)
                    or not value.flags.writeable
                ):
                    value = gradient._value = copied_like(value, like)
                taken.add(id(_memory_of(value)))
            variable._grad = gradient
        elif create or known.node is not None or not _is_array(known._value):
            before = array_below(known) if create else known._value
            variable._grad = of_array(before + conjugated(bar))
        else:
            np.add(known._value, conjugated(bar), out=known._value)


def _is_array(value: Value) -> bool:
    """Whether it is an array, or a recorded one: no value of a trace."""
    return type(value) is ndarray or recorded_in(value) is value


def _memory_of(value: Value) -> Any:
    """What owns the memory of an array that is no view; of a recorded one what stands for it."""
    return value if type(value) is ndarray else value.memory


def copied_like(bar: Cotangent, like: Value) -> Cotangent:
    """A copy of a cotangent, which lies in memory as its leaf does, if that has no gaps."""
    if type(like) is not ndarray or like.flags.c_contiguous or not is_dense(like):
        return bar.copy()
    if bar.shape != like.shape:  # a retained gradient, from before a change of shape in place
        return bar.copy()
    copied = np.empty_like(like, dtype=bar.dtype)
    copied[...] = bar
    return copied


_ONES = {np.dtype(letter): np.ones((), letter) for letter in "fd"}


def root_of(tensor: Tensor, gradient: Tensor | None) -> Cotangent:
    """The cotangent of a root: the given gradient, or 1 for a root of one element."""
    value = tensor._value
    if gradient is None:
        one = _ONES.get(value.dtype)
        if one is not None and type(value) is ndarray and not value.shape:
            return one.copy()
        if spec_of(value).size != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        if value.dtype.kind == "c":
            raise RuntimeError(
                "grad can be implicitly created only for real scalar outputs but got "
                f"{tensor.dtype}"
            )
        return np.ones(value.shape, value.dtype)
    bar = conjugated(array_below(gradient))
    return bar if bar.dtype == value.dtype else bar.astype(value.dtype)


def count_of(node: Node) -> int:
    """The number of arguments of a node."""
    return len(tuple(arguments_of(node)))
