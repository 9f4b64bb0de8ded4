"""Hooks of a module on a backward pass.

Knows nodes. Must not know layers.

The inputs of the module pass through one identity node, and its outputs through another. The
gradients of all inputs arrive at the first together, those of all outputs at the second.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from tapegrad._core.entry import Outputs, spec_of
from tapegrad._core.forms import General
from tapegrad._core.types import Tree
from tapegrad.torch._graph import modes
from tapegrad.torch._graph.names import name_nodes
from tapegrad.torch._graph.node import Node
from tapegrad.torch._graph.versions import share_version
from tapegrad.torch._tensor.tensor import Tensor, array_of, of_array


class _Passed(General):
    """The identity function of several arrays."""

    def needs(self, wanted: Sequence[bool]) -> tuple[Sequence[bool], bool]:
        return [False] * len(wanted), False


PASSED = _Passed(
    lambda *arrays: tuple(arrays),
    vjp=lambda g, _out, *_: tuple(g),
    jvp=lambda dots, *_: list(dots),
    arrays=1,
    name="BackwardHookFunction",
)
name_nodes(PASSED, "BackwardHookFunctionBackward")


def passed_through(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int], Node | None]:
    """Pass those of the values through one node that are tensors which require grad.

    Returns the values, the positions of these tensors, and the node (None if there are none), at
    which the gradients of all of them arrive together.
    """
    places = [
        place
        for place, value in enumerate(values)
        if isinstance(value, Tensor) and value.node is not None
    ]
    if not places or not modes.is_grad_enabled():
        return values, [], None
    made = PASSED.apply_bound([array_of(values[place]) for place in places], {})
    replaced = list(values)
    for place, array in zip(places, made, strict=True):
        tensor = replaced[place] = of_array(array)
        share_version(values[place], tensor)
    node: Node = replaced[places[0]].grad_fn
    rule, parts, *rest = node._entry
    shapes = Outputs(map(spec_of, parts))  # nothing reads the values
    shapes.slots = parts.slots
    node._entry = rule, shapes, *rest
    return tuple(replaced), places, node


class BackwardWatch:
    """One call of a module with backward hooks."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.results: tuple[Any, ...] = ()
        self.waits = False  # whether the hooks wait for the gradients of inputs

    def around_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments for `forward`, from a node that reports their gradients to the hooks."""
        found, places, node = passed_through(args)
        if node is not None:
            self.waits = True
            tensors = [i for i, arg in enumerate(args) if isinstance(arg, Tensor)]
            node.register_prehook(lambda grads: self._report(grads, places, tensors))
        return found

    def around_outputs(self, result: Tree) -> Tree:
        """The result of `forward`, from a node that notes its gradients for the hooks."""
        several = isinstance(result, (tuple, list))
        values = tuple(result) if several else (result,)
        found, places, node = passed_through(values)
        if node is None:
            return result
        node.register_prehook(lambda grads: self._note(grads, places, len(values)))
        return type(result)(found) if several else found[0]

    def _note(self, grads: Sequence[Tensor | None], places: list[int], count: int) -> Any:
        results = _at(grads, places, range(count))
        for hook in list(self.module._backward_pre_hooks.values()):
            given = hook(self.module, results)
            if given is not None:
                results = given if isinstance(given, tuple) else (given,)
        self.results = results
        if not self.waits:
            for hook in list(self.module._backward_hooks.values()):
                hook(self.module, (None,), results)
        return tuple(results[place] for place in places)

    def _report(
        self, grads: Sequence[Tensor | None], places: list[int], tensors: list[int]
    ) -> Any:
        inputs = _at(grads, places, tensors)
        for hook in list(self.module._backward_hooks.values()):
            given = hook(self.module, inputs, self.results)
            if given is not None:
                inputs = given if isinstance(given, tuple) else (given,)
        known = dict(zip(tensors, inputs, strict=True))
        return tuple(known[place] for place in places)


def _at(
    grads: Sequence[Tensor | None], places: list[int], wanted: Iterable[int]
) -> tuple[Any, ...]:
    known = dict(zip(places, grads, strict=True))
    return tuple(known.get(place) for place in wanted)
