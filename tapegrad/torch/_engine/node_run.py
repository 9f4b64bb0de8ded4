"""The run of one node, which create_graph logs itself, and the check that a node can still run.

Knows the values that a node keeps, and the core's replay of one entry. Must not know passes.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.entry import PROJECT, Outputs, Spec, parents_of
from tapegrad._core.fast.call_plans import CallPlan
from tapegrad._core.fit import fit_cotangent, is_finite
from tapegrad._core.quiet import silence
from tapegrad._core.replay import SparseBars, replay_backward
from tapegrad._core.types import Cotangent, Slot, Value
from tapegrad._core.values import is_inexact, is_plain_array
from tapegrad.torch._engine.saved import TWICE
from tapegrad.torch._graph import modes
from tapegrad.torch._graph.node import (
    FREED,
    AccumulateGrad,
    FunctionNode,
    Node,
    array_on_graph,
    freed,
    fresh_node,
    kept_values,
)
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._graph.tracing import is_dual
from tapegrad.torch._graph.versions import (
    LATEST,
    WRITTEN,
    owner_of,
    raise_changed,
    written_version,
)
from tapegrad.torch._methods import method_of
from tapegrad.torch._tensor.gradients import (
    accumulate,
    as_gradient,
    conjugated,
    count_of,
    shown_parts,
    through_posthooks,
    through_prehooks,
)
from tapegrad.torch._tensor.tensor import Tensor, array_below, ndarray


def free(nodes: Iterable[Node]) -> None:
    """Free the values that nodes keep, after a pass has used them."""
    for node in nodes:
        node._entry = freed(node._entry)
        if isinstance(node, FunctionNode):
            node._release()


def check_usable(nodes: Sequence[Node], *, create: bool = False) -> None:
    """Raise RuntimeError if a node has been freed, or a value that it kept has changed.

    nodes: in order of time; anomaly mode tells of the one that a backward pass comes to first.
    create: whether the pass logs itself.
    """
    anomaly = modes.current().anomaly
    if anomaly is None:
        _check_usable(nodes, create)
        return
    for node in reversed(nodes):
        with anomaly.around(node, nodes):
            _check_usable([node], create)


def _check_usable(nodes: Iterable[Node], create: bool) -> None:
    latest = LATEST[0]
    for node in nodes:
        entry = node._entry
        if entry[1] is FREED:
            raise RuntimeError(TWICE)
        if node._number <= latest:
            check_unchanged(node, entry, create=create)


def check_unchanged(node: Node, entry: Sequence[Any], *, create: bool = False) -> None:
    """Raise RuntimeError if a value that a node kept was written to since.

    Some are kept for a pass that logs itself alone: their rule `spares` them otherwise.
    """
    rule, out, x, y, parents, y_node = entry
    if y_node is not None:
        values: Any = out, x, y
    elif type(parents) is not tuple or (type(y) is CallPlan and not y.holds):
        return
    else:
        values = (*out, *x) if isinstance(out, tuple) else (out, *x)
    for value in values:
        kind = type(value)
        if kind is not ndarray:
            if value is None or kind is Spec:
                continue
            value = value._value if is_dual(value) else value
            if not is_plain_array(value):
                continue
        elif id(value if value.base is None else owner_of(value)) not in WRITTEN:
            continue
        version = written_version(value)
        if version is not None and version.times and version.times[-1] >= node._number:
            if not create and hasattr(rule, "spares") and rule.spares(value, x, parents, y):
                continue
            raise_changed(value, node, version)


def is_singular(entry: tuple[Any, ...]) -> bool:
    """Whether the cotangent of a call is a limit, as for equal eigenvalues."""
    singular = getattr(entry[0], "singular", None)
    return singular is not None and entry[1] is not FREED and bool(singular(entry[1]))


def run_node(
    node: Node,
    g: Cotangent,
    *,
    create: bool,
    mode: modes.Mode,
    nodes: Sequence[Node] = (),
    needed: Container[Node] | None = None,
) -> list[Cotangent]:
    """The cotangents of a node's arguments (None where there is none) from that of its result.

    nodes: all nodes of the pass, for anomaly mode. needed: the nodes on the way to those that the
    pass asks for, None for all; hooks see no gradient of others, but for a Function's.
    """
    if node._prehooks:
        g = through_prehooks(node, g)
    start = next_number() if mode.watchers or mode.anomaly is not None else 0
    if mode.anomaly is None:
        parts = _pull(node, g, create)
    else:
        with mode.anomaly.around(node, nodes):
            parts = _pull(node, g, create)
            mode.anomaly.check(node, g, parts, start)
    for watcher in mode.watchers:
        watcher.ran(node, needed, start, next_number() if create else start)
    if node._posthooks:
        if needed is not None and not isinstance(node, FunctionNode):
            parents = parents_of(node._entry)
            for place, parent in enumerate(parents[: len(parts)]):
                if parent != -1 and parent not in needed:
                    parts[place] = None
        parts = through_posthooks(node, parts, g)
    return parts


def _pull(node: Node, g: Cotangent, create: bool) -> list[Cotangent]:
    """Replay one entry, with small integers as slots in place of the nodes of its arguments."""
    entry = node._entry
    rule, out, x, y, x_node, y_node = entry
    if rule is PROJECT:
        return [g]
    if node._packed is not None:
        out, x, y = node._packed.unpacked(out, x, y)
    if isinstance(node, FunctionNode):
        rule = node._rule_for()
    parents = list(parents_of(entry))
    bars = SparseBars(0)
    places = [-1 if parent == -1 else place for place, parent in enumerate(parents)]
    last = len(parents)
    bars[last] = g
    if create:
        out, x, y = _on_graph(node, rule, out, x, y)
    call: Any
    if y_node is not None:
        call = (last, rule, out, x, y, places[0], places[1])
    elif type(x_node) is tuple:
        call = (last, rule, out, x, y, tuple(places), None)
    else:
        call = (last, rule, out, x, y, places[0], None)
    replay_backward([call], bars, absorbing=True, strong_zeros=not is_finite(g))
    return [bars.get(place) for place in range(last)]


def _on_graph(node: Node, rule: Any, out: Value, x: Value, y: Value) -> tuple[Value, Value, Value]:
    """The kept values of a node, wrapped with their nodes again, so that the rule logs itself."""
    x_node, y_node = node._entry[4], node._entry[5]
    if y_node is not None:
        return _lifted(out, node), _lifted(x, x_node), _lifted(y, y_node)
    if type(x_node) is not tuple or not hasattr(rule, "pull"):
        return out, x, y
    parts = _results_on_graph(node, out) if isinstance(out, Outputs) else _lifted(out, node)
    return parts, tuple(map(_lifted, x, x_node)), y


def _results_on_graph(node: Node, out: Outputs) -> Outputs:
    """The results that a node keeps, each wrapped with a node of its own."""
    parts = []
    for position, value in enumerate(out):
        part = fresh_node()
        part._entry = PROJECT, None, position, len(out), node, None
        parts.append(_lifted(value, part if is_inexact(value) else -1))
    made = Outputs(parts)
    made.slots = out.slots
    return made


def _lifted(value: Value, node: Slot) -> Value:
    if node == -1 or value is None or type(value) is Spec or not hasattr(value, "dtype"):
        return value
    return array_on_graph(value, node)


def call_node(node: Node, gradients: Sequence[Tensor | None]) -> Any:
    """`node(*gradients)`: the gradients of its arguments, one tensor or a tuple of them."""
    entry = node._entry
    count = len(entry[1]) if entry is not None and isinstance(entry[1], tuple) else 1
    if entry is not None and not isinstance(node, FunctionNode) and len(gradients) != count:
        raise TypeError(f"expected {count} arguments, got {len(gradients)} instead")
    arrays = [None if g is None else conjugated(array_below(g)) for g in gradients]
    if isinstance(node, AccumulateGrad):
        accumulate(node.variable, arrays[0], set(), create=modes.is_grad_enabled())
        return None
    check_usable([node])
    if all(array is None for array in arrays):
        return None if count_of(node) == 1 else (None,) * count_of(node)
    kept = node._entry[1]
    g: Any = arrays if isinstance(kept, tuple) else arrays[0]
    if isinstance(kept, Spec):
        g = fit_cotangent(np.broadcast_to(g, kept.shape), kept, node._entry[0])
    elif not isinstance(g, list) and g.dtype.kind not in "fcV":  # torch.tensor(1)
        values = kept_values(node._entry)
        g = g.astype(values[0].dtype) if values else g
    with silence():
        parts = run_node(node, g, create=modes.is_grad_enabled(), mode=modes.current())
    parts = shown_parts(node, parts)
    made = tuple(None if part is None else as_gradient(part) for part in parts)
    return made[0] if len(made) == 1 else made


@method_of(Node, "__call__")
def _call(self: Node, *gradients: Tensor | None) -> Any:
    return call_node(self, gradients)
