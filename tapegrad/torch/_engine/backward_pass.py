"""Backward passes: a replay over the part of the graph on which a result depends.

Knows which nodes take part, and the core's replays. Must not know operations, or the public
functions that start a pass.

Usually a pass gathers the entries of all nodes on which the roots depend (`gathering`), and the
core replays them at once; hooks of tensors run when it asks for the next one. Otherwise the pass
collects the nodes between the roots and the wanted nodes, in order of time. With hooks of nodes,
create_graph or anomaly mode it runs these one by one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextvars import ContextVar, copy_context
from typing import Any

from tapegrad._block import setting
from tapegrad._core.entry import PROJECT, READ, WRITE, Entry, parents_of
from tapegrad._core.fast.backward import replay_backward
from tapegrad._core.fast.call_plans import CallPlan
from tapegrad._core.quiet import SILENT, VARIABLE, silence
from tapegrad._core.replay import emptying
from tapegrad._core.tape import CURRENT
from tapegrad._core.types import Cotangent
from tapegrad._core.values import is_basic
from tapegrad.torch._engine.gathering import ABSENT, gathered, is_watched_leaf
from tapegrad.torch._engine.node_run import check_usable, free, is_singular, run_node
from tapegrad.torch._graph import modes
from tapegrad.torch._graph.modes import MODE, USUAL
from tapegrad.torch._graph.node import (
    FREED,
    GUARD,
    AccumulateGrad,
    FunctionNode,
    Node,
    freed,
    is_on_graph,
    new,
    number_of,
)
from tapegrad.torch._graph.versions import LATEST
from tapegrad.torch._tensor.gradients import (
    accumulate,
    as_gradient,
    copied_like,
    shown_parts,
    through_hooks,
    through_hooks_undefined,
    through_prehooks,
)
from tapegrad.torch._tensor.tensor import Tensor, ndarray

# How many passes within passes run in one thread: Python's stack ends at some 50 of them.
DEEP = 12
LARGE = 256  # elements from which the core adds cotangents in place


# The pass that is running in this thread, for hooks.
PASS: ContextVar[BackwardPass | None] = ContextVar("tapegrad_torch_pass", default=None)


class _All(set[int]):
    """The set of the ids of all arrays: every id is in it."""

    def __contains__(self, _: object) -> bool:
        return True

    def add(self, _: int) -> None:
        """Do nothing: it is there."""


# The ids of the arrays that must be copied before they become a gradient, if hooks or custom
# Functions ran: these may have kept any array, and a later pass adds to the gradient in place.
SEEN = _All()


class BackwardPass:
    """One backward pass.

    roots: the node and cotangent of each result. wanted: the nodes whose cotangents are computed;
    None for all leaves. accumulate: cotangents are added to the `grad` of leaves; otherwise they
    are stored in `captured`.
    """

    depth: int = 0  # the number of passes within which this one runs
    callbacks: list[Callable[[], Any]] | None = None  # called after the pass
    wanted: set[Node] | None = None
    needed: set[Node] | None = None  # the wanted nodes, and those that depend on them
    watched = False  # whether the pass runs node by node
    hooked = False  # whether tensors have hooks, where the nodes do not run one by one
    singular = False  # whether a rule takes a limit, which needs a traced replay
    spent = False  # whether one of the nodes was freed
    ends: Collection[Node] = ()  # wanted nodes that do not have to run
    seen: set[Node]  # the roots, and all nodes on which they depend, if they were collected
    nodes: list[Node]  # those that have to run, in order of time; with the leaves, if gathered
    leaves: list[AccumulateGrad]
    custom: list[FunctionNode]  # the nodes of custom Functions
    entries: Iterator[Entry] | None = None  # of the nodes, if they were gathered
    bars: dict[Node, Any]  # the cotangents by node, None at first, likewise

    def __init__(
        self,
        roots: Sequence[tuple[Node, Cotangent]],
        wanted: Iterable[Node] | None,
        *,
        keep: bool,
        create: bool,
        accumulate: bool,
    ) -> None:
        self.roots = roots
        self.keep = keep
        self.create = create
        self.accumulate = accumulate
        if wanted is not None:
            self.wanted = set(wanted)
            self.captured: dict[Node, Any] = {}
        mode = MODE.get()
        if not create and (mode is None or (mode.anomaly is None and not mode.watchers)):
            found = gathered(roots, self.wanted, keep)
            if found is not None:
                self.entries, self.bars, self.nodes, self.leaves, self.custom, self.hooked = found
                return
        self.leaves, self.custom = [], []
        self.watched = create
        self.seen = {node for node, _ in roots}
        self.nodes = self._select_nodes(self._collect())

    # -- collecting nodes ------------------------------------------------------------------------

    def _collect(self) -> list[Node]:
        """The nodes that have to run, in order of time, without the leaves."""
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
            rule, out, _, y, x_node, y_node = entry
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
            if type(y) is not CallPlan:
                if rule.singular is not None and is_singular(entry):
                    self.singular = True
                elif isinstance(node, FunctionNode):
                    self.custom.append(node)
            for parent in x_node if type(x_node) is tuple else (x_node,):
                if parent is not ABSENT and parent not in seen:
                    seen.add(parent)
                    stack.append(parent)
        nodes.sort(key=number_of)
        return nodes

    def _select_nodes(self, nodes: list[Node]) -> list[Node]:
        """The nodes that are needed; this also decides how they have to run."""
        if self.wanted is not None:
            nodes = self._on_the_way(nodes)
        for leaf in self.leaves:
            if is_watched_leaf(leaf):
                self.watched = True
        if self.spent or (nodes and nodes[0]._number <= LATEST[0]):
            ahead = [n for n in nodes if n not in self.ends] if self.ends else nodes
            check_usable(ahead, create=self.create)
        return nodes

    def _on_the_way(self, nodes: list[Node]) -> list[Node]:
        """Those of the nodes that depend on a wanted node."""
        assert self.wanted is not None
        needed = self.needed = set(self.wanted)
        ends: set[Node] = set()
        self.ends = ends
        found = []
        for node in nodes:
            _, _, _, _, x_node, y_node = node._entry
            if y_node is not None:  # the frequent layout
                depends = x_node in needed or y_node in needed
            elif type(x_node) is tuple:
                depends = not needed.isdisjoint(x_node)
            else:
                depends = x_node in needed
            if depends:
                needed.add(node)
                found.append(node)
            elif node in self.wanted:
                if not self.accumulate:  # PyTorch's `backward(inputs=...)` runs these nodes, too
                    ends.add(node)
                found.append(node)
        self.leaves = [leaf for leaf in self.leaves if leaf in self.wanted]
        self.custom = [node for node in self.custom if node in needed]
        if any(node._entry is not None for node in self.wanted):
            self.watched = True
        return found

    # -- running ---------------------------------------------------------------------------------

    def run(self) -> None:
        """Propagate the cotangents of the roots backward."""
        calls = self.custom or self.hooked  # code of the program
        if self.entries is not None and not calls and CURRENT.get() is None:
            self._run_alone(self.entries)
            return
        outer = PASS.get()
        if outer is not None:
            self.depth = outer.depth + 1
        if outer is not None and self.depth % DEEP == 0:
            _run_in_thread(self._run)
        else:
            self._run()
        if self.callbacks is not None:
            with setting(PASS, self):
                for callback in self.callbacks:  # which may queue others
                    callback()

    def _run_alone(self, entries: Iterable[Entry]) -> None:
        """Run where no code of the program does, which could ask for the pass or the mode."""
        # The strong product treats infinities at singular points; they need no warnings.
        kept = VARIABLE.get()
        try:
            VARIABLE.set(SILENT)
            self._replay(entries, self.bars)
        finally:
            VARIABLE.set(kept)

    def _run(self) -> None:
        mode = MODE.get() or USUAL
        logging = modes.enable_grad() if self.create else modes.no_grad()
        with logging, setting(CURRENT, None), setting(PASS, self), silence():
            if self.entries is not None:
                entries = self._between_hooks(self.entries) if self.hooked else self.entries
                self._replay(entries, self.bars)
            elif self.watched or self.singular or mode.anomaly is not None or mode.watchers:
                self.taken = SEEN if self.watched else {id(bar) for _, bar in self.roots}
                self._run_watched(mode)
            else:
                # None at first, also for nodes that get no cotangent.
                self._replay(emptying(self._entries()), dict.fromkeys(self.seen))

    def reaches(self, node: Node) -> bool:
        """Whether this pass, which has hooks, computes the cotangent at a node."""
        return node in self.nodes or node in self.leaves

    def _replay(self, entries: Iterable[Entry], bars: dict[Node, Any]) -> None:
        """Replay entries, which come from the last in time on, and accumulate at the leaves."""
        large = False
        taken = set()
        for node, bar in self.roots:
            before = bars[node]
            bars[node] = bar if before is None else before + bar
            large = large or bar.size > LARGE
            taken.add(id(bar))
        self.taken = SEEN if self.hooked else taken
        replay_backward(entries, bars, large=large, absorbing=True)
        if self.custom:
            self.taken = SEEN
            if not self.keep:
                for function in self.custom:
                    function._release()
        mode = MODE.get()
        short = self.accumulate and (mode is None or not mode.inference)
        if self.hooked:  # without the lock, as hooks may wait for other threads
            self._accumulate_left()
            return
        with GUARD:
            for leaf in self.leaves:
                bar = bars[leaf]
                if bar is not None and not (short and self._set_grad(leaf.variable, bar)):
                    self._accumulate_leaf(leaf, bar)

    def _between_hooks(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        """The same entries; before each the hooks of its result run, after it those of leaves.

        These are the leaves whose gradient is complete then.
        """
        bars, complete = self.bars, _completed_by(self.nodes, self.leaves)
        # Nodes whose gradient a custom Function left out: they may get one from another node.
        undefined: set[Node] = set()
        custom = bool(self.custom)
        called = False  # a hook, which may have written to kept values, or freed nodes
        for entry in entries:
            node = entry[0]
            if node._watched and bars[node] is not None:
                called = True
                g = self._run_hooks(node, bars[node])
                # A hook may have kept it, and a replay may write to cotangents of its own.
                bars[node] = g.copy() if type(g) is ndarray else g
            elif node._hooks and node in undefined:
                called = True
                through_hooks_undefined(node._hooks.values(), None)
            if called:
                check_usable((node,))
            yield entry
            del entry
            if custom and (isinstance(node, FunctionNode) or node in undefined):
                undefined.update(
                    parent
                    for parent in parents_of(node._entry)
                    if parent != -1 and bars[parent] is None
                )
            if not self.keep:
                free((node,))
            for leaf in complete.get(node, ()):
                called = True
                self._accumulate_once(leaf)

    def _accumulate_left(self) -> None:
        """Accumulate at the leaves that no node uses: they are roots alone."""
        for leaf in self.leaves:
            self._accumulate_once(leaf)

    def _accumulate_once(self, leaf: AccumulateGrad) -> None:
        bar, self.bars[leaf] = self.bars[leaf], None
        if bar is not None:
            self._accumulate_leaf(leaf, bar)

    def _entries(self) -> list[Any]:
        """The entries of the nodes, with their slots; the nodes lose them unless they are kept."""
        entries: list[Any] = []
        custom, keep = self.custom, self.keep
        for node in self.nodes:
            rule, out, x, y, x_node, y_node = entry = node._entry
            if custom and isinstance(node, FunctionNode):
                rule = node._rule_for()
                entries.append((node, rule, out, x, rule.planned(), x_node, None))
                continue
            entries.append((node, rule, out, x, y, x_node, y_node))
            if keep:
                continue
            if y_node is None:
                kind = type(y)
                if kind is CallPlan:  # `freed`, written out
                    if y.holds:
                        node._entry = rule, FREED, (), {}, x_node, None
                elif (rule is not READ and rule is not WRITE) or not is_basic(y):
                    node._entry = freed(entry)
            elif out is not None or x is not None or y is not None:  # `freed`, written out
                node._entry = rule, FREED, None, None, x_node, y_node
        return entries

    def _set_grad(self, variable: Tensor, bar: Cotangent) -> bool:
        """Make a cotangent the `grad` of a leaf; False if that needs `_accumulate_leaf`."""
        if type(bar) is not ndarray or bar.dtype.kind != "f":
            return False
        if variable._grad is not None or variable.node is None:
            return False
        like = variable._value
        if (
            bar.base is not None
            or id(bar) in self.taken
            or (type(like) is ndarray and bar.strides != like.strides)
            or not bar.flags.writeable
        ):
            bar = copied_like(bar, like)
        self.taken.add(id(bar))
        gradient: Tensor = new(Tensor)
        gradient._value = bar
        gradient.node = None
        variable._grad = gradient
        return True

    def _run_watched(self, mode: modes.Mode) -> None:
        bars: dict[Any, Any] = {}
        for node, bar in self.roots:
            _add(bars, node, bar)
        complete = _completed_by(self.nodes, self.leaves)
        traced = self.create or self.singular
        undefined: set[Node] = set()  # nodes whose gradient a custom Function left out
        for node in reversed(self.nodes):
            g = bars.pop(node, None)
            parts: Sequence[Cotangent] = ()
            if g is not None:
                g = self._run_hooks(node, g)
                if node in self.ends:
                    continue
                check_usable(
                    (node,), create=traced
                )  # hooks may have written to what it keeps, or freed it
                parts = run_node(
                    node, g, create=traced, mode=mode, nodes=self.nodes, needed=self.needed
                )
            elif node in undefined and node not in self.ends:
                parts = _run_undefined(node)
            left_out = _add_parts(bars, node, parts)
            if left_out and (node in undefined or isinstance(node, FunctionNode)):
                undefined.update(left_out)
            if not self.keep and not self.singular:
                free([node])
            for leaf in complete.get(node, ()):
                if leaf in bars:
                    self._accumulate_leaf(leaf, bars.pop(leaf))
        for leaf in self.leaves:
            if leaf in bars:
                self._accumulate_leaf(leaf, bars.pop(leaf))
        if not self.keep and self.singular:  # a limit is taken through nodes that already ran
            free(node for node in self.nodes if node not in self.ends)

    def _run_hooks(self, node: Node, g: Cotangent) -> Cotangent:
        """The cotangent of a node's result after its hooks, captured if the node is wanted."""
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

    def _accumulate_leaf(self, leaf: AccumulateGrad, g: Cotangent) -> None:
        """Add the cotangent of a leaf to its `grad`, or capture it, and run its hooks."""
        g = self._stripped(g)
        variable = leaf.variable
        if variable._hooks:
            g = through_hooks(variable._hooks, g)
        if not self.accumulate:
            self.captured[leaf] = g
            return
        if variable.node is None:  # detach_() or requires_grad_(False) was called since
            return
        if leaf._prehooks:
            g = through_prehooks(leaf, g)
        accumulate(variable, g, self.taken, create=self.create)
        if variable._after:
            for hook in list(variable._after.values()):
                given = hook(variable)
                if given is not None:
                    raise TypeError(
                        f"expected Variable, but hook returned '{type(given).__name__}'"
                    )
        if leaf._posthooks:
            for hook in list(leaf._posthooks.values()):
                hook((), (as_gradient(g),))

    def _stripped(self, g: Cotangent) -> Cotangent:
        """A cotangent without the history of a replay that was traced only for a limit."""
        return g._value if not self.create and is_on_graph(g) else g


def _run_undefined(node: Node) -> Sequence[Cotangent]:
    """The cotangents of a node's arguments where a custom Function left out that of its result.

    As in PyTorch its hooks run, and so does another custom Function.
    """
    if node._hooks:
        through_hooks_undefined(node._hooks.values(), None)
    _, out, args, params, _, _ = node._entry
    none = (None,) * (len(out) if isinstance(out, tuple) else 1)
    if node._prehooks:
        through_hooks_undefined(node._prehooks.values(), none)
    parts: Sequence[Cotangent] = [None] * len(parents_of(node._entry))
    if isinstance(node, FunctionNode):
        check_usable((node,))
        parts = node._rule_for().pull(list(none), out, args, params, ())
    elif node._posthooks:
        through_hooks_undefined(node._posthooks.values(), tuple(shown_parts(node, parts)), none)
    return parts


def _run_in_thread(function: Callable[[], None]) -> None:
    """Run a function in a thread of its own, which has a stack of its own, and wait for it."""
    context = copy_context()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            context.run(function)
        except BaseException as error:  # noqa: BLE001 - every exception is raised again below
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def queue_callback(callback: Callable[[], Any]) -> None:
    """Call a function after the backward pass that is running; RuntimeError where none is."""
    work = PASS.get()
    if work is None:
        raise RuntimeError("Final callbacks can only be installed during backward pass.")
    if work.callbacks is None:
        work.callbacks = []
    work.callbacks.append(callback)


def _completed_by(
    nodes: list[Node], leaves: list[AccumulateGrad]
) -> dict[Node, list[AccumulateGrad]]:
    """For each node, the leaves whose gradient is complete after it ran.

    These are the leaves that no earlier node uses, as a pass runs backward in time.
    """
    wanted = set(leaves)
    last: dict[Node, list[AccumulateGrad]] = {}
    for node in nodes:
        for parent in parents_of(node._entry):
            if parent in wanted:
                wanted.discard(parent)
                last.setdefault(node, []).append(parent)
    return last


def _add(bars: dict[Node, Cotangent], node: Node, bar: Cotangent) -> None:
    before = bars.get(node)
    bars[node] = bar if before is None else before + bar


def _add_parts(bars: dict[Node, Cotangent], node: Node, parts: Sequence[Cotangent]) -> list[Node]:
    """Add the parts of a node's arguments to their cotangents; the nodes that have none."""
    left_out = []
    for parent, part in zip(parents_of(node._entry), parts, strict=False):
        if parent == -1:
            continue
        if part is None:
            left_out.append(parent)
        else:
            _add_part(bars, node, parent, part)
    return left_out


def _add_part(bars: dict[Node, Cotangent], node: Node, parent: Node, part: Cotangent) -> None:
    """Add a part to the cotangent of a parent, or to that of one of the parent's results."""
    entry = node._entry
    if entry[0] is PROJECT:
        parts = bars.setdefault(parent, [None] * entry[3])
        before = parts[entry[2]]
        parts[entry[2]] = part if before is None else before + part
    else:
        _add(bars, parent, part)
