"""Backward passes: a replay over the part of the graph that a result was made from.

Knows nodes and the core's replays. Must not know operations, or how the user's calls look.

A pass first collects the nodes that lie between the roots and what is wanted, in order of time.
Where nobody watches, the core replays their entries at once. Where hooks, create_graph or anomaly
mode ask for it, it goes node by node.

Cotangents inside are the core's (du/dx - i du/dy for complex numbers); PyTorch's gradients are
their conjugates, so what passes in or out here is conjugated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import Any

import numpy as np

from tapegrad._fitting import fit, is_finite
from tapegrad._replay import SparseBars, replay_backward, replay_nested
from tapegrad._tape import CURRENT, PROJECT, Outputs, Spec, is_inexact, spec_of
from tapegrad.torch import _modes
from tapegrad.torch._dual import is_dual
from tapegrad.torch._graph import (
    FREED,
    GUARD,
    AccumulateGrad,
    FunctionNode,
    Node,
    arguments_of,
    array_on_graph,
    freed,
    fresh_node,
    is_on_graph,
    kept_values,
    new,
    next_number,
    number_of,
    parents_of,
)
from tapegrad.torch._tensor import (
    WRITTEN,
    Tensor,
    array_below,
    ndarray,
    of_array,
    of_value,
    owner_of,
    raise_changed,
)

# What stands for an argument without a node. Told by identity, which for a node is several times
# cheaper than a comparison with a number.
ABSENT = -1
LARGE = 256  # elements from which the core adds cotangents in place


# The pass that is running in this thread, for hooks that ask.
PASS: ContextVar[Pass | None] = ContextVar("tapegrad_torch_pass", default=None)


def conjugated(value: Any) -> Any:
    """A gradient as a cotangent, or the other way round."""
    return np.conj(value) if value.dtype.kind == "c" else value


class Pass:
    """One backward pass.

    roots: the node and cotangent of each result. wanted: the nodes whose cotangents are asked for;
    None for all leaves. accumulate: leaves get them into their `grad`; otherwise they are left in
    `captured`.
    """

    def __init__(
        self,
        roots: Sequence[tuple[Node, Any]],
        wanted: Iterable[Node] | None,
        *,
        keep: bool,
        create: bool,
        accumulate: bool,
    ) -> None:
        self.roots = roots
        self.wanted = None if wanted is None else set(wanted)
        self.keep = keep
        self.create = create
        self.accumulate = accumulate
        self.captured: dict[Node, Any] = {}
        self.leaves: list[AccumulateGrad] = []
        self.ends: set[Node] = set()  # nodes that are wanted, but do not have to run
        self.taken = {id(bar) for _, bar in roots}  # arrays that no gradient may be
        self.watched = create  # whether something has to happen at single nodes
        self.singular = False  # whether a rule takes a limit, for which it needs a traced replay
        self.spent = False  # whether a node was freed
        self.seen = {node for node, _ in roots}  # all that the roots were made from
        self.nodes = self._judge(self._collect())

    # -- what takes part -------------------------------------------------------------------------

    def _collect(self) -> list[Node]:
        """The nodes that have to run, in order of time; leaves apart."""
        seen = self.seen
        stack = list(seen)
        nodes = []
        while stack:
            node = stack.pop()
            entry = node._entry
            if entry is None:
                if isinstance(node, AccumulateGrad):
                    self.leaves.append(node)
                continue
            nodes.append(node)
            if node._watched:
                self.watched = True
            _, out, _, _, x_node, y_node = entry
            if out is FREED:
                self.spent = True
            if y_node is not None:  # the frequent layout
                if x_node is not ABSENT and x_node not in seen:
                    seen.add(x_node)
                    stack.append(x_node)
                if y_node is not ABSENT and y_node not in seen:
                    seen.add(y_node)
                    stack.append(y_node)
                continue
            if is_singular(entry):
                self.singular = True
            for parent in parents_of(entry):
                if parent != -1 and parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
        nodes.sort(key=number_of)
        return nodes

    def _judge(self, nodes: list[Node]) -> list[Node]:
        """The nodes that are needed, with a look at which way they have to be run."""
        if self.wanted is not None:
            nodes = self._on_the_way(nodes)
        for leaf in self.leaves:
            variable = leaf.variable
            if leaf._watched or variable._hooks or variable._after:
                self.watched = True
        if self.spent or WRITTEN:
            check_usable(node for node in nodes if node not in self.ends)
        return nodes

    def _on_the_way(self, nodes: list[Node]) -> list[Node]:
        """Those nodes that something wanted was used for."""
        assert self.wanted is not None
        needed = set(self.wanted)
        found = []
        for node in nodes:
            if not needed.isdisjoint(parents_of(node._entry)):
                needed.add(node)
                found.append(node)
            elif node in self.wanted:
                self.ends.add(node)
                found.append(node)
        self.leaves = [leaf for leaf in self.leaves if leaf in self.wanted]
        if any(node._entry is not None for node in self.wanted):
            self.watched = True
        return found

    # -- running ---------------------------------------------------------------------------------

    def run(self) -> None:
        """Push the cotangents of the roots back."""
        mode = _modes.current()
        before = _modes.change(grad=self.create)
        token = CURRENT.set(None)
        outer = PASS.set(self)
        try:
            # Infinities at singular points are for the strong product to judge.
            with np.errstate(all="ignore"):
                if self.watched or self.singular or mode.anomaly is not None or mode.watchers:
                    self._run_watched(mode)
                else:
                    self._run_plain()
        finally:
            PASS.reset(outer)
            CURRENT.reset(token)
            _modes.restore(before)

    def reaches(self, node: Node) -> bool:
        """Whether this pass computes the cotangent at a node."""
        return node in self.nodes or node in self.leaves

    def _run_plain(self) -> None:
        bars: Any = dict.fromkeys(self.seen)  # None at first, also where nobody asks
        large = False
        for node, bar in self.roots:
            _add(bars, node, bar)
            large = large or bar.size > LARGE
        entries = []
        custom: list[FunctionNode] = []
        keep = self.keep
        for node in self.nodes:
            rule, out, x, y, x_node, y_node = entry = node._entry
            if isinstance(node, FunctionNode):
                rule = node._rule_for()
                custom.append(node)
            entries.append((node, rule, out, x, y, x_node, y_node))
            if keep:
                continue
            if y_node is None:
                node._entry = freed(entry)
            elif out is not None or x is not None or y is not None:  # `freed`, written out
                node._entry = rule, FREED, None, None, x_node, y_node
        replay_backward(entries, bars, consume=True, large=large)
        if not self.keep:
            for node in custom:
                node._release()
        short = self.accumulate and not _modes.is_inference_mode_enabled()
        with GUARD:
            for leaf in self.leaves:
                bar = bars.get(leaf)
                if bar is not None and not (short and self._give(leaf.variable, bar)):
                    self._reach(leaf, bar)

    def _give(self, variable: Tensor, bar: Any) -> bool:
        """Make a cotangent the `grad` of a leaf that has none yet; False for anything unusual."""
        if type(bar) is not ndarray or bar.dtype.kind != "f":
            return False
        if variable._grad is not None or variable.node is None:
            return False
        if bar.base is not None or id(bar) in self.taken or not bar.flags.writeable:
            bar = bar.copy()
        self.taken.add(id(bar))
        gradient: Tensor = new(Tensor)
        gradient.value = bar
        gradient.node = None
        variable._grad = gradient
        return True

    def _run_watched(self, mode: _modes.Mode) -> None:
        bars: dict[Any, Any] = {}
        for node, bar in self.roots:
            _add(bars, node, bar)
        complete = _completed_by(self.nodes, self.leaves)
        traced = self.create or self.singular
        for node in reversed(self.nodes):
            g = bars.pop(node, None)
            if g is not None:
                g = self._arrive(node, g)
                if node in self.ends:
                    continue
                parts = run_node(node, g, create=traced, mode=mode, nodes=self.nodes)
                for parent, part in zip(parents_of(node._entry), parts, strict=False):
                    if parent != -1 and part is not None:
                        _add_part(bars, node, parent, part)
            if not self.keep and not self.singular:
                free([node])
            for leaf in complete.get(node, ()):
                if leaf in bars:
                    self._reach(leaf, bars.pop(leaf))
        for leaf in self.leaves:
            if leaf in bars:
                self._reach(leaf, bars.pop(leaf))
        if not self.keep and self.singular:  # a limit is taken through what already ran
            free(node for node in self.nodes if node not in self.ends)

    def _arrive(self, node: Node, g: Any) -> Any:
        """The cotangent of a node's result after the hooks on it; noted where it is wanted."""
        if not node._watched and self.wanted is None:
            return g
        if node._hooks:
            g = through_hooks(node._hooks, g)
        for reference in node._retained:
            tensor = reference()
            if tensor is not None and tensor._retains:
                accumulate(tensor, self._stripped(g), self.taken, create=self.create)
        if self.wanted is not None and node in self.wanted:
            self.captured[node] = self._stripped(g)
        return g

    def _reach(self, leaf: AccumulateGrad, g: Any) -> None:
        """The cotangent of a leaf has arrived."""
        g = self._stripped(g)
        variable = leaf.variable
        if variable._hooks:
            g = through_hooks(variable._hooks, g)
        if not self.accumulate:
            self.captured[leaf] = g
            return
        if variable.node is None:  # detach_() or requires_grad_(False) since
            return
        if leaf._prehooks:
            g = _through_prehooks(leaf, g)
        accumulate(variable, g, self.taken, create=self.create)
        if variable._after:
            for hook in list(variable._after.values()):
                hook(variable)
        if leaf._posthooks:
            for hook in list(leaf._posthooks.values()):
                hook((), (as_gradient(g),))

    def _stripped(self, g: Any) -> Any:
        """A cotangent without the history of a replay that was traced for its own sake."""
        return g.value if not self.create and is_on_graph(g) else g


def free(nodes: Iterable[Node]) -> None:
    """Forget what nodes keep, after a pass has used it up."""
    for node in nodes:
        node._entry = freed(node._entry)
        if isinstance(node, FunctionNode):
            node._release()


def check_usable(nodes: Iterable[Node]) -> None:
    """Raise RuntimeError where a node has been freed, or what it kept has been changed."""
    written = bool(WRITTEN)
    for node in nodes:
        entry = node._entry
        if entry[1] is FREED:
            raise RuntimeError(
                "Trying to backward through the graph a second time (or directly access saved "
                "tensors after they have already been freed). Saved intermediate values of the "
                "graph are freed when you call .backward() or autograd.grad(). Specify "
                "retain_graph=True if you need to backward through the graph a second time or "
                "if you need to access saved tensors after calling backward."
            )
        if written:
            _check_unchanged(node, entry)


def _check_unchanged(node: Node, entry: Any) -> None:
    """Raise RuntimeError where what a node kept was written to since: `changed_since`, at once."""
    _, out, x, y, parents, y_node = entry
    if y_node is not None:
        values: Any = out, x, y
    elif type(parents) is tuple:
        values = (*out, *x) if isinstance(out, tuple) else (out, *x)
    else:
        return
    for value in values:
        if type(value) is ndarray:
            known = WRITTEN.get(id(value if value.base is None else owner_of(value)))
            if known is not None and known[1].times and known[1].times[-1] >= node._number:
                raise_changed(value, node, known[1])


def is_singular(entry: Any) -> bool:
    """Whether the cotangent of a call is a limit, as of equal eigenvalues."""
    singular = getattr(entry[0], "singular", None)
    return singular is not None and entry[1] is not FREED and bool(singular(entry[1]))


def _completed_by(
    nodes: list[Node], leaves: list[AccumulateGrad]
) -> dict[Node, list[AccumulateGrad]]:
    """The leaves whose gradient is complete after each node ran: those that it used first."""
    wanted = set(leaves)
    last: dict[Node, list[AccumulateGrad]] = {}
    for node in nodes:
        for parent in parents_of(node._entry):
            if parent in wanted:
                wanted.discard(parent)
                last.setdefault(node, []).append(parent)
    return last


def _add(bars: dict[Any, Any], node: Node, bar: Any) -> None:
    before = bars.get(node)
    bars[node] = bar if before is None else before + bar


def _add_part(bars: dict[Any, Any], node: Node, parent: Node, part: Any) -> None:
    """Add what a node sends to an argument; one of several results sends to its place."""
    entry = node._entry
    if entry[0] is PROJECT:
        parts = bars.setdefault(parent, [None] * entry[3])
        before = parts[entry[2]]
        parts[entry[2]] = part if before is None else before + part
    else:
        _add(bars, parent, part)


# --- One node -----------------------------------------------------------------------------------


def run_node(
    node: Node, g: Any, *, create: bool, mode: _modes.Mode, nodes: Sequence[Node] = ()
) -> list[Any]:
    """The cotangents of a node's arguments (None where there is none) from that of its result.

    nodes: all those of the pass, for anomaly mode.
    """
    if node._prehooks:
        g = _through_prehooks(node, g)
    for watcher in mode.watchers:
        watcher(type(node).__name__, ())
    if mode.anomaly is None:
        parts = _pull(node, g, create)
    else:
        start = next_number()
        with mode.anomaly.around(node, nodes):
            parts = _pull(node, g, create)
            mode.anomaly.check(node, parts, start)
    if node._posthooks:
        parts = _through_posthooks(node, parts, g)
    return parts


def _pull(node: Node, g: Any, create: bool) -> list[Any]:
    """Replay one entry, with places of its own in the stead of the nodes of its arguments."""
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
    replay_nested([call], bars, None, careful=not is_finite(g))
    return [bars.get(place) for place in range(last)]


def _on_graph(node: Node, rule: Any, out: Any, x: Any, y: Any) -> tuple[Any, Any, Any]:
    """What a node keeps, on the graph again, so that the rule logs itself."""
    x_node, y_node = node._entry[4], node._entry[5]
    if y_node is not None:
        return _lifted(out, node), _lifted(x, x_node), _lifted(y, y_node)
    if type(x_node) is not tuple or not hasattr(rule, "pull"):
        return out, x, y
    parts = _results_on_graph(node, out) if isinstance(out, Outputs) else _lifted(out, node)
    return parts, tuple(map(_lifted, x, x_node)), y


def _results_on_graph(node: Node, out: Outputs) -> Outputs:
    """The results that a node keeps, each at a node of its own."""
    parts = []
    for position, value in enumerate(out):
        part = fresh_node()
        part._entry = PROJECT, None, position, len(out), node, None
        parts.append(_lifted(value, part if is_inexact(value) else -1))
    made = Outputs(parts)
    made.slots = out.slots
    return made


def _lifted(value: Any, node: Any) -> Any:
    if node == -1 or value is None or type(value) is Spec or not hasattr(value, "dtype"):
        return value
    return array_on_graph(value, node)


def call_node(node: Node, gradients: Sequence[Any]) -> Any:
    """`node(*gradients)`: the gradients of its arguments, one tensor or a tuple of them."""
    entry = node._entry
    count = len(entry[1]) if entry is not None and isinstance(entry[1], tuple) else 1
    if entry is not None and not isinstance(node, FunctionNode) and len(gradients) != count:
        raise TypeError(f"expected {count} arguments, got {len(gradients)} instead")
    arrays = [None if g is None else conjugated(array_below(g)) for g in gradients]
    if isinstance(node, AccumulateGrad):
        accumulate(node.variable, arrays[0], set(), create=_modes.is_grad_enabled())
        return None
    check_usable([node])
    if all(array is None for array in arrays):
        return None if count_of(node) == 1 else (None,) * count_of(node)
    kept = node._entry[1]
    g: Any = arrays if isinstance(kept, tuple) else arrays[0]
    if isinstance(kept, Spec):
        g = fit(np.broadcast_to(g, kept.shape), kept, node._entry[0])
    elif not isinstance(g, list) and g.dtype.kind not in "fc":  # torch.tensor(1)
        values = kept_values(node._entry)
        g = g.astype(values[0].dtype) if values else g
    with np.errstate(all="ignore"):
        parts = run_node(node, g, create=_modes.is_grad_enabled(), mode=_modes.current())
    parts = parts[: count_of(node)]
    made = tuple(None if part is None else as_gradient(part) for part in parts)
    return made[0] if len(made) == 1 else made


def count_of(node: Node) -> int:
    """How many arguments a node has."""
    return len(tuple(arguments_of(node)))


# --- Gradients ----------------------------------------------------------------------------------


def as_gradient(bar: Any) -> Tensor:
    """A cotangent as a tensor, in PyTorch's convention."""
    if isinstance(bar, (np.generic, np.ndarray)) or is_on_graph(bar):
        return of_array(conjugated(bar))
    return of_value(conjugated(bar))


def through_hooks(hooks: dict[int, Callable[..., Any]], g: Any) -> Any:
    """A cotangent after hooks, each of which may replace it."""
    for hook in list(hooks.values()):
        gradient = as_gradient(g)
        given = hook(gradient)
        if given is not None:
            _check_hooked(hook, given, gradient)
            g = conjugated(array_below(given))
        else:
            g = conjugated(array_below(gradient))  # a hook may have written to it
    return g


def _check_hooked(hook: Any, given: Any, gradient: Tensor) -> None:
    if not isinstance(given, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(given).__name__}'")
    if given.value.shape != gradient.value.shape:
        raise RuntimeError(
            f"hook '{_name_of(hook)}' has changed the size of value: expected "
            f"{list(gradient.shape)}, got {list(given.shape)}"
        )


def _name_of(hook: Any) -> str:
    return str(getattr(hook, "__name__", type(hook).__name__))


def _several(hook: Any, given: Any, count: int) -> Sequence[Any]:
    """What a hook of a node returned, one gradient (or None) each."""
    found = given if isinstance(given, (tuple, list)) else (given,)
    if len(found) != count:
        raise RuntimeError(
            f"hook '{_name_of(hook)}' has returned an incorrect number of values (got "
            f"{len(found)}, but expected {count})"
        )
    return found


def _through_prehooks(node: Node, g: Any) -> Any:
    assert node._prehooks is not None
    for hook in list(node._prehooks.values()):
        several = isinstance(g, list)
        parts = g if several else [g]
        given = hook(tuple(None if part is None else as_gradient(part) for part in parts))
        if given is not None:
            given = _several(hook, given, len(parts))
            arrays = [None if part is None else conjugated(array_below(part)) for part in given]
            g = arrays if several else arrays[0]
    return g


def _through_posthooks(node: Node, parts: list[Any], g: Any) -> list[Any]:
    assert node._posthooks is not None
    results = tuple(
        None if part is None else as_gradient(part) for part in (g if isinstance(g, list) else [g])
    )
    count = count_of(node)
    used = max((1 + i for i, parent in enumerate(arguments_of(node)) if parent != -1), default=0)
    for hook in list(node._posthooks.values()):
        inputs = tuple(None if part is None else as_gradient(part) for part in parts[:count])
        given = hook(inputs, results)
        if given is not None:
            given = given if isinstance(given, (tuple, list)) else (given,)
            if not used <= len(given) <= count:  # numbers beside tensors need not have theirs
                _several(hook, given, count)
            parts = [None if part is None else conjugated(array_below(part)) for part in given]
            parts += [None] * (2 - len(parts))
    return parts


def accumulate(variable: Tensor, bar: Any, taken: set[int], *, create: bool) -> None:
    """Add a cotangent to the `grad` of a leaf: in its memory, unless a graph is made of it."""
    if is_dual(bar) and not create:
        bar = bar.value  # what is accumulated has no tangent
    with GUARD:
        known = variable._grad
        if known is None:
            gradient = as_gradient(bar)
            value = gradient.value
            if type(value) is ndarray and not create:
                if id(value) in taken or value.base is not None or not value.flags.writeable:
                    value = gradient.value = value.copy()
                taken.add(id(value))
            variable._grad = gradient
        elif create or known.node is not None or type(known.value) is not ndarray:
            variable._grad = of_array(array_below(known) + conjugated(bar))
        else:
            np.add(known.value, conjugated(bar), out=known.value)


def root_of(tensor: Tensor, gradient: Any) -> Any:
    """The cotangent of a root: a gradient of its shape, or 1 for one element."""
    value = tensor.value
    if gradient is None:
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
