"""Hooks of a module on a backward pass.

Knows nodes. Must not know layers.

The inputs of the module pass through one identity node, and its outputs through another. The
gradients of all inputs arrive at the first together, those of all outputs at the second.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad._core.entry import Outputs, spec_of
from tapegrad._core.forms import General
from tapegrad._core.types import Function, Tree, Value
from tapegrad._warning import warn
from tapegrad.torch._graph import modes
from tapegrad.torch._graph.names import name_nodes
from tapegrad.torch._graph.node import Node
from tapegrad.torch._graph.versions import share_version
from tapegrad.torch._tensor.tensor import Tensor, array_of, of_array, of_value
from tapegrad.torch._tensor.views import link_view


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
        link_view(tensor, values[place], _itself)
        if tensor._base is not None:
            tensor._creation_meta = "custom"  # a write would go round the hooks
    node: Node = replaced[places[0]].grad_fn
    rule, parts, *rest = node._entry
    shapes = Outputs(map(spec_of, parts))  # nothing reads the values
    shapes.slots = parts.slots
    node._entry = rule, shapes, *rest
    return tuple(replaced), places, node


def _itself(base: Value) -> Value:
    return base


class BackwardWatch:
    """One call of a module with backward hooks."""

    def __init__(self, module: Any, hooks: list[Function], pre_hooks: list[Function]) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.results: Sequence[Any] | None = None  # the gradients of the outputs, once known
        self.count = 0  # of arguments
        self.shapes: list[Any] = []  # of the arguments that are tensors
        self.waits = False  # whether the hooks wait for the gradients of inputs

    def around_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments for `forward`, from a node that reports their gradients to the hooks."""
        found, places, node = passed_through(args)
        self.count = len(args)
        if node is not None:
            self.shapes = [spec_of(x._value) if isinstance(x, Tensor) else None for x in args]
        if node is not None:
            self.waits = True
            node.register_prehook(lambda grads: self._report(grads, places))
        return found

    def around_outputs(self, result: Tree) -> Tree:
        """The result of `forward`, from a node that notes its gradients for the hooks."""
        several = isinstance(result, tuple)
        values = result if several else (result,)
        found, places, node = passed_through(values)
        if node is None:
            return result
        node.register_hook(lambda _, grads: self._note(grads, places, len(values)))
        if not several:
            return found[0]
        return found if type(result) is tuple else type(result)(*found)

    def _note(self, grads: Sequence[Tensor | None], places: list[int], count: int) -> Any:
        results: Sequence[Any] = _at(grads, places, count)
        changed = False
        for hook in self.pre_hooks:
            given = hook(self.module, results)
            if given is not None:
                if len(given) != count:
                    raise RuntimeError(
                        "Backward pre hook returned an invalid number of grad_output, got "
                        f"{len(given)}, but expected {count}"
                    )
                results, changed = given, True
        if self.waits:
            self.results = results
        else:
            self._report_without_inputs(results)
        return _replacing(grads, results, places, changed)

    def _report_without_inputs(self, results: Sequence[Any]) -> None:
        warn(
            "Full backward hook is firing when gradients are computed with respect to module "
            "outputs since no inputs require gradients."
        )
        for hook in self.hooks:
            given = hook(self.module, (None,) * self.count, results)
            if given is not None and not (
                isinstance(given, tuple) and all(part is None for part in given)
            ):
                raise RuntimeError(
                    "Backward hook for Modules where no input requires gradient should always "
                    "return None or None for all gradients."
                )

    def _report(self, grads: Sequence[Tensor | None], places: list[int]) -> Any:
        if self.results is None:  # no gradient came through the output, as in a second derivative
            return None
        inputs: Sequence[Any] = [
            of_value(np.zeros(spec.shape, spec.dtype)) if grad is None and spec else grad
            for grad, spec in zip(_at(grads, places, self.count), self.shapes, strict=True)
        ]
        inputs = tuple(inputs)
        changed = False
        for hook in self.hooks:
            given = hook(self.module, inputs, self.results)
            if given is not None:
                if len(given) != self.count:
                    raise RuntimeError(
                        "Backward hook returned an invalid number of grad_input, got "
                        f"{len(given)}, but expected {self.count}"
                    )
                inputs, changed = given, True
        self.results = None
        return _replacing(grads, inputs, places, changed)


def _replacing(
    grads: Sequence[Any], given: Sequence[Any], places: list[int], changed: bool
) -> Any:
    """The gradients in place of others; None where there are none and no hook gave any."""
    if not changed and all(grad is None for grad in grads):
        return None
    return tuple(given[place] for place in places)


def _at(grads: Sequence[Tensor | None], places: list[int], count: int) -> tuple[Any, ...]:
    known = dict(zip(places, grads, strict=True))
    return tuple(known.get(place) for place in range(count))


# --- Hooks on the last node only ----------------------------------------------------------------

MISSING = (
    "{} is deprecated and will be removed in future versions. This hook will be missing some "
    "grad_{}."
)
ADVICE = " Please use register_full_backward_hook to get the documented behavior."


def hook_last_node(module: Any, hooks: list[Function], args: Any, result: Any) -> None:
    """Call hooks with the gradients of the operation that made the result of a module."""
    first = result
    while not isinstance(first, Tensor):
        if isinstance(first, dict):
            first = next(value for value in first.values() if isinstance(value, Tensor))
        else:
            first = first[0]
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(BoundHook(hook, module))
    lack = _lacking(args, result, node)
    if lack is not None:
        warn(lack, FutureWarning)


def _lacking(args: Any, result: Any, node: Node) -> str | None:
    """Warning about gradients that hooks on one node do not see."""
    results = (result,) if isinstance(result, Tensor) else result
    if not _are_tensors(results):
        return _missing(
            "Using non-full backward hooks on a Module that does not return a single Tensor or a "
            "tuple of Tensors",
            "output",
        )
    if not _are_tensors(args):
        return _missing(
            "Using non-full backward hooks on a Module that does not take as input a single "
            "Tensor or a tuple of Tensors",
            "input",
        )
    made_by = {value.grad_fn for value in results if value.grad_fn is not None}
    if len(made_by) > 1:
        return _missing(
            "Using a non-full backward hook when outputs are generated by different autograd "
            "Nodes",
            "output",
        )
    if node not in made_by:
        return MISSING.format(
            "Using a non-full backward hook when outputs are nested in python data structure",
            "output",
        )
    inputs = {value.grad_fn for value in args if value.grad_fn is not None}
    if inputs != {parent for parent, _ in node.next_functions}:
        return _missing(
            "Using a non-full backward hook when the forward contains multiple autograd Nodes",
            "input",
        )
    return None


def _missing(what: str, side: str) -> str:
    return MISSING.format(what, side) + ADVICE


def _are_tensors(values: Any) -> bool:
    return isinstance(values, tuple) and all(isinstance(value, Tensor) for value in values)


class BoundHook:
    """A hook that gets its module first, and does not keep it alive."""

    def __init__(self, hook: Function, module: Any = None) -> None:
        functools.update_wrapper(self, hook)
        self.hook = hook
        self.with_module = module is not None
        self._module = weakref.ref(module) if self.with_module else None

    @property
    def module(self) -> Any:
        return None if self._module is None else self._module()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self) -> Any:
        return {"hook": self.hook, "with_module": self.with_module, "module": self.module}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook, self.with_module = state["hook"], state["with_module"]
        module = state.get("module")
        if self.with_module and module is None:
            raise RuntimeError("You are trying to revive the hook of a dead Module!")
        self._module = weakref.ref(module) if self.with_module else None
