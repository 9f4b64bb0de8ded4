"""The view of the graph behind tensors: all that a backward pass would replay, in order of time.

Knows nodes, their entries, and passes. Must not know how a view is shown: that is
`tapegrad._look`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from time import perf_counter_ns as now
from typing import Any

from tapegrad._core.entry import PROJECT, Entry, kind_of_result, parents_of, spec_of
from tapegrad._core.types import Cotangent, Tree
from tapegrad._look.lines import Frame, Site
from tapegrad._look.rows import Row, bytes_kept, row_of
from tapegrad._look.runs import norm_of
from tapegrad._look.view import TapeView
from tapegrad._look.watching import Watching
from tapegrad._profile.switch import Place
from tapegrad._transforms.tracebacks import folding
from tapegrad._tree import flatten, paths_of
from tapegrad.torch._engine import backward_pass
from tapegrad.torch._engine.backward_pass import BackwardPass
from tapegrad.torch._graph import modes
from tapegrad.torch._graph.node import FREED, Node, reachable
from tapegrad.torch._tensor.tensor import Tensor, node_of
from tapegrad.torch.autograd._passes import _roots
from tapegrad.torch.autograd.anomaly_mode import Anomaly, Trace


class _Lines(Anomaly):
    """Notes where each call is made, and looks at no values."""

    def __init__(self) -> None:
        super().__init__(check_nan=False)

    def note(self, name: str, args: Iterable[object], made: Tree, nodes: Iterable[Node]) -> None:
        trace = Trace(name)
        for node in nodes:
            if node._trace is None:
                node._trace = trace


class _Replay:
    """Watches one backward pass: times, and norms of cotangents, by the place of the node."""

    def __init__(self, places: dict[Node, int]) -> None:
        self.places = places
        self.times: dict[int, int] = {}  # nanoseconds
        self.norms: dict[int, float] = {}

    def begin(self, node: Node, cotangent: Cotangent) -> int:
        """A node runs; the time."""
        place = self.places.get(node)  # None for a node of a pass in another thread
        if place is not None:
            self.norms[place] = norm_of(cotangent)
        return now()

    def end(self, node: Node, begun: int) -> None:
        """A node has run."""
        place = self.places.get(node)
        if place is not None:
            self.times[place] = self.times.get(place, 0) + now() - begun


def _places() -> Iterator[Place]:
    """The functions in which a pass runs its nodes."""
    replay, run = vars(backward_pass)["replay_backward"], vars(backward_pass)["run_node"]

    def replay_backward(entries: Iterable[Entry], bars: Any, **options: Any) -> None:
        replay(_told(entries, bars), bars, **options)

    def run_node(node: Node, g: Cotangent, **options: Any) -> Any:
        begun = _begin(node, g)
        made = run(node, g, **options)
        _end(node, begun)
        return made

    yield Place(backward_pass, "replay_backward", replay_backward)
    yield Place(backward_pass, "run_node", run_node)


def _told(entries: Iterable[Entry], bars: Any) -> Iterator[Entry]:
    """The entries of a replay, of which the watchers are told."""
    for entry in entries:
        node = entry[0]
        if bars[node] is None:
            yield entry
            continue
        begun = _begin(node, bars[node])
        yield entry
        del entry  # so that the replay alone keeps its values
        _end(node, begun)


def _begin(node: Node, cotangent: Cotangent) -> list[tuple[_Replay, int]]:
    return [(one, one.begin(node, cotangent)) for one in _WATCHING.watchers]


def _end(node: Node, begun: list[tuple[_Replay, int]]) -> None:
    for one, time in begun:
        one.end(node, time)


_WATCHING: Watching[_Replay] = Watching(_places)


class _History:
    """The nodes behind tensors, and what their rows say."""

    def __init__(self, tensors: Tree, names: Mapping[int, str]) -> None:
        self.tensors = tensors
        leaves, paths = flatten(tensors)[0], list(paths_of(tensors))
        self.roots = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        outputs = [
            (f"output{path}", node_of(leaf) if isinstance(leaf, Tensor) else None)
            for leaf, path in zip(leaves, paths, strict=True)
        ]
        known = reachable({node for _, node in outputs if node is not None})
        inner = [node for node in known if node._entry is not None]
        self.leaves = [node for node in known if node._entry is None]
        self.nodes = [*self.leaves, *inner]
        self.places = {node: place for place, node in enumerate(self.nodes)}
        self.outputs = {
            path: node if node is None else self.places[node] for path, node in outputs
        }
        self.names = self._names(names)

    def _names(self, given: Mapping[int, str]) -> dict[int, str]:
        found: dict[int, str] = {}
        unknown = []
        for place, node in enumerate(self.leaves):
            name = given.get(id(getattr(node, "variable", None)))
            if name is None:
                unknown.append(place)
            else:
                found[place] = name
        for number, place in enumerate(unknown):
            found[place] = f"leaf {number}" if len(unknown) > 1 else "leaf"
        for path, output in self.outputs.items():
            if output is not None:
                found.setdefault(output, path)
        return found

    def rows(self, replay: _Replay) -> list[Row]:
        """The rows: the leaves first, then the calls in order of time."""
        kinds: dict[Any, Any] = {-1: None}
        entries: list[Entry] = []
        for place, node in enumerate(self.nodes):
            if node._entry is None:
                kinds[place] = _kind_of_leaf(node)
                continue
            entry = self._entry(place, node)
            kinds[place] = _kind_of(entry, kinds)
            entries.append(entry)
        kept = bytes_kept([entry for entry in entries if entry[2] is not FREED])
        reads = {entry[0]: tuple([p for p in parents_of(entry) if p >= 0]) for entry in entries}
        return [
            row_of(
                place,
                _operation(node),
                reads.get(place, ()),
                kinds[place],
                self.names.get(place, ""),
                _site(node),
                None,
                kept.get(place, 0),
                (None, replay.times.get(place)),
                replay.norms.get(place),
            )
            for place, node in enumerate(self.nodes)
        ]

    def _entry(self, place: int, node: Node) -> Entry:
        """A node's entry with places for nodes."""
        rule, out, x, y, x_node, y_node = node._entry
        at: dict[Any, int] = {-1: -1}
        at |= {n: self.places[n] for n in parents_of(node._entry) if n != -1}
        if y_node is not None:
            return place, rule, out, x, y, at[x_node], at[y_node]
        if type(x_node) is tuple:
            return place, rule, out, x, y, tuple([at[parent] for parent in x_node]), None
        return place, rule, out, x, y, at[x_node], None

    def run(self, cotangent: Tree | None) -> list[Row]:
        """Replay backward; nothing is accumulated, and the graph is kept."""
        replay = _Replay(self.places)
        if cotangent is not None:
            cotangent = tuple(flatten(cotangent)[0])
        elif any(root._value.size != 1 for root in self.roots):
            cotangent = tuple(_ones(root) for root in self.roots)
        roots = [root for root in self.roots if node_of(root) is not None]
        if cotangent is not None:
            given = zip(self.roots, cotangent, strict=True)
            cotangent = tuple(bar for root, bar in given if node_of(root) is not None)
        kept = {id(t): (t, t.grad) for node in self.nodes for t in _retaining(node)}
        pairs = _roots(tuple(roots), cotangent)
        try:
            with _WATCHING.by(replay):
                work = BackwardPass(pairs, self.leaves, keep=True, create=False, accumulate=False)
                work.run()
        finally:
            for tensor, gradient in kept.values():
                tensor.grad = gradient
        for leaf in self.leaves:
            bar = work.captured.get(leaf)
            if bar is not None:
                replay.norms[self.places[leaf]] = norm_of(bar)
        return self.rows(replay)


def _retaining(node: Node) -> Iterator[Tensor]:
    """The tensors that a pass gives their gradient, which are no leaves."""
    for reference in node._retained:
        tensor = reference()
        if tensor is not None:
            yield tensor


def _ones(root: Tensor) -> Tensor:
    return root.detach().new_ones(root.shape)


def _operation(node: Node) -> str:
    entry = node._entry
    if entry is None:
        return "input"
    if entry[0] is PROJECT:
        return f"output {entry[2]}"
    return type(node).__name__


def _site(node: Node) -> Site:
    """The user's frames of the call, where a block noted them."""
    trace = node._trace
    if trace is None or node._entry is None:
        return ()
    return tuple(Frame(file, line, name) for file, line, name, _ in reversed(trace.frames))


def _kind_of_leaf(node: Node) -> Any:
    variable = getattr(node, "variable", None)
    return None if variable is None else spec_of(variable._value)


def _kind_of(entry: Entry, kinds: dict[Any, Any]) -> Any:
    """Something with the shape and dtype of a result; None where they are not kept any more."""
    if entry[2] is FREED:
        return None
    kind = kind_of_result(entry, kinds)
    return kind if isinstance(kind, tuple) or hasattr(kind, "shape") else None


@folding
def tape(tensors: Tree | Callable[[], Tree], params: Any = None) -> TapeView:
    """The graph behind tensors as a `TapeView`: all that `backward()` would replay.

    Rows are leaves first, then calls in order of time, named after their `grad_fn`. `bytes` is
    what the graph keeps for the pass. `run(gradient)` replays backward, with times and norms; it
    adds nothing to any `grad`, keeps the graph, and runs the hooks of tensors and nodes.

    tensors (Tensor, container of them, or callable): The results; or a function without arguments
        that computes them, whose lines are noted then. Other calls have lines if they were made in
        anomaly mode.
    params (Module or dict): Names for leaves: a module, or `dict(model.named_parameters())`;
        others are `leaf`.
    -> TapeView: The graph.
    RuntimeError: If no tensor requires grad; in `run` also where the graph was freed.

    >>> w = torch.ones(3, requires_grad=True)
    >>> view = torch.autograd.graph.tape((w * w).sum(), {"w": w})
    >>> for row in view.run():
    ...     print(row.slot, row.operation, row.reads, row.kind, round(row.norm, 3))
    0 input () float32[3] 3.464
    1 MulBackward0 (0, 0) float32[3] 1.732
    2 SumBackward0 (1,) float32 scalar 1.0
    """
    title = "history"
    if callable(tensors) and not isinstance(tensors, Tensor):
        title = getattr(tensors, "__name__", type(tensors).__name__)
        before = modes.MODE.get()
        try:
            modes.change(anomaly=_Lines(), grad=True)
            tensors = tensors()
        finally:
            modes.MODE.set(before)
    named = getattr(params, "named_parameters", None)
    pairs = dict(named() if named is not None else params or {})
    history = _History(tensors, {id(leaf): name for name, leaf in pairs.items()})
    if not history.nodes:
        raise RuntimeError(
            "tape: expected a tensor that requires grad and has a grad_fn, got none"
        )
    return TapeView(title, history.rows(_Replay({})), history.run, history.outputs)
