"""Calls of functions of our own, as the calls of NumPy's that they make.

Knows how a path is run and recorded anew. Must not know what calls mean (`meanings.py`).

Where a settled function asks for values, or gives other bits for recorded arrays than for plain
ones, it is one call of a program. The native back end, which rounds otherwise anyway, takes the
calls that it makes, and looks at the end whether what it asked was answered as it was here.
"""

from __future__ import annotations

import operator
import types
from typing import Any

import numpy as np

from tapegrad._core.composite import Composite
from tapegrad._core.recorded import OPEN, RECORDING, as_recorded, recorded_too
from tapegrad._core.rule import REGISTRY
from tapegrad._native.regions import Unfit
from tapegrad._program.functions import (
    ATTRIBUTES,
    BOUND,
    EXPECTATIONS,
    METHODS,
    kinds_of,
)
from tapegrad._program.passes import Block
from tapegrad._program.program import (
    OWN,
    Node,
    Read,
    Ref,
    Results,
    Segment,
    Step,
    answer_key,
    references,
    references_of,
    value_of,
)
from tapegrad._program.recorded import Recorded
from tapegrad._program.recorder import Recorder
from tapegrad._program.recording import Recording
from tapegrad._tree import flatten, unflatten

Path = list[tuple[Block, Any]]
DEEPEST = 3  # functions of our own within functions of our own
MOST_NODES = 5_000  # of one call


def expanded(blocks: Path, inputs: list[Any]) -> Path:
    """A path whose calls of our own functions are taken apart, where they can be."""
    nodes = [node for block, _ in blocks for _, node in block.nodes]
    if not any(_is_ours(node) or _has_known_shape(node) for node in nodes):
        return blocks
    return _Expansion(blocks, inputs).path


# Functions of NumPy's that only move elements; those of which are views are known by themselves.
MOVES: frozenset[Any] = frozenset(
    getattr(np, name)
    for name in "pad tile repeat resize rot90 triu tril diag diagflat roll".split()
)
# And those that are taken apart into what our rules define them by.
COMPOSED: frozenset[Any] = frozenset(
    getattr(np, name)
    for name in (
        "average cross ediff1d gradient kron linspace nanmax nanmean nanmin nanprod nansum "
        "nanstd nanvar nan_to_num polyval ptp select trapezoid"
    ).split()
)
LARGEST = 1 << 20  # elements that are moved by a table


def _is_ours(node: Node) -> bool:
    """Whether a call is of a function that may be taken apart."""
    function = BOUND.get(node.function, node.function)
    if function in MOVES or function in COMPOSED:
        return node.steps is None
    if function in METHODS or function in ATTRIBUTES:  # what they do is one call of NumPy's
        return False
    module = getattr(function, "__module__", None) or ""
    known = module.startswith("tapegrad.") and not module.startswith("tapegrad._compile")
    return known and function not in EXPECTATIONS and node.steps is None


def _has_known_shape(node: Node) -> bool:
    """Whether a call whose shape might depend on values has one that does not."""
    if node.function is np.bincount:
        return len(node.args) == 3 and (node.args[2],) == node.shape or not node.shape
    if node.function is not operator.getitem or node.kwargs:
        return False
    index = node.args[1]
    parts = index if type(index) is tuple else (index,)
    return all(type(part) is not Ref for part in parts) and any(
        type(part) is list and not any(True for _ in references(part)) for part in parts
    )


class _Keeping(Recorder):
    """A recorder that keeps the values of calls, unless some write into others."""

    values: dict[int, Any]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.values = {}
        self.writes = False

    def log(
        self,
        function: Any,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        value: Any,
        steps: tuple[Step, ...] | None = None,
        shares: int = OWN,
        shaped: bool = False,
    ) -> int:
        at = super().log(function, args, kwargs, value, steps, shares, shaped)
        if steps is not None:
            self.writes = True
            self.values.clear()
        elif not self.writes:
            self.values[at] = value
        return at


class _Expansion:
    """One walk along a path, with the values of one call."""

    def __init__(self, blocks: Path, inputs: list[Any]) -> None:
        self.values: dict[int, Any] = dict(enumerate(inputs))
        self.stand_ins: dict[int, Any] = {}
        self.static: set[int] = set()  # positions whose shapes depend on no values
        self.next = 1 + max([len(inputs), *[at for block, _ in blocks for at, _ in block.nodes]])
        self.path: Path = []
        self.careful = blocks[0][0].careful
        self.block = Block()
        self._find_last_uses(blocks)
        with np.errstate(all="ignore"):
            for block, answer in blocks:
                for at, node in block.nodes:
                    self._node(at, node, 0)
                self._end(block, answer)

    def _find_last_uses(self, blocks: Path) -> None:
        """After which calls of the path values are no longer needed."""
        self.ends: dict[int, list[int]] = {}
        last: dict[int, int] = {}
        for block, _ in blocks:
            for at, node in block.nodes:
                last[at] = at
                for x in references_of(node):
                    last[x] = at
        for x, at in last.items():
            self.ends.setdefault(at, []).append(x)

    def _end(self, block: Block, answer: Any) -> None:
        """The end of a block."""
        made = self.block
        if block.read is not None:
            self._look_at_shape(block.read, answer)
            stands = self.stand_ins.get(block.read.at, Ref(block.read.at))
            if block.read.question is kinds_of and self._is_static(stands):
                return
            made.read = Read(block.read.question, stands.at)
        if block.out is not None:
            made.out = Results(self._rewritten(block.out.leaves), block.out.structure)
            made.writes = tuple([(i, self._rewritten(ref)) for i, ref in block.writes])
        made.recordings = block.recordings
        self.path.append((made, answer))
        self.block = Block()

    def _look_at_shape(self, read: Read, answer: Any) -> None:
        """Refuse a path on which a shape that depends on values is not that of this call."""
        known = read.question is kinds_of and read.at in self.values
        if known and answer_key(kinds_of(self.values[read.at])) != answer:
            raise Unfit

    def _is_static(self, stands: Any) -> bool:
        """Whether shapes depend on no values: what is taken apart asks for what they depend on."""
        return type(stands) is tuple or stands.at in self.static

    def _node(self, at: int, node: Node, depth: int, value: Any = None) -> None:
        """A call: taken apart, or as it is. `value`: what it gives, where that is known."""
        taken = self._renamed(node)
        if taken.steps is None and type(taken.args[0] if taken.args else None) in (tuple, list):
            found = _picked(taken)
            if found is not None:
                self.stand_ins[at] = found
                self.values[at] = self._value(found)
                return
        if _is_ours(taken) and depth < DEEPEST:
            moves = BOUND.get(taken.function, taken.function) in MOVES
            apart = not moves and self._take_apart(at, taken, depth)
            if apart or self._move(at, taken, depth):
                self._forget(at)
                return
        if value is None:
            value = value_of(taken, self.values)  # type: ignore[arg-type]
        self.values[at] = value
        if type(value) is np.ndarray and value.shape != taken.shape:  # it depends on values
            taken = self._described(taken, value)
            if _has_known_shape(taken):
                self.static.add(at)
        self.block.nodes.append((at, taken))
        self._forget(at)

    def _forget(self, at: int) -> None:
        for x in self.ends.get(at, ()):
            stands = self.stand_ins.get(x)
            if stands is None and x != at:
                self.values.pop(x, None)

    def _value(self, template: Any) -> Any:
        if type(template) is Ref:
            return self.values[template.at]
        if type(template) is tuple:
            return tuple([self._value(part) for part in template])
        return template

    def _rewritten(self, template: Any) -> Any:
        """Arguments with what stands for each reference."""
        kind = type(template)
        if kind is Ref:
            return self.stand_ins.get(template.at, template)
        if kind is tuple or kind is list:
            return kind([self._rewritten(part) for part in template])
        if kind is dict:
            return {key: self._rewritten(part) for key, part in template.items()}
        if kind is slice:
            parts = (template.start, template.stop, template.step)
            return slice(*[self._rewritten(part) for part in parts])
        return template

    def _renamed(self, node: Node) -> Node:
        if not self.stand_ins:
            return node
        steps = node.steps
        if steps is not None:
            steps = tuple(
                [Step(f, self._rewritten(a), self._rewritten(kwargs)) for f, a, kwargs in steps]
            )
        args, kwargs = self._rewritten(node.args), self._rewritten(node.kwargs)
        made = Node(node.function, args, kwargs, steps=steps, silent=node.silent)
        for name in ("kind", "shape", "dtype", "strides"):
            setattr(made, name, getattr(node, name))
        stands = self.stand_ins.get(node.shares)
        made.shares = node.shares if stands is None else getattr(stands, "at", OWN)
        return made

    def _take_apart(self, at: int, node: Node, depth: int) -> bool:
        """Record what a function does; whether that can be put in its place."""
        positions = list(dict.fromkeys(references((node.args, node.kwargs))))
        if any(type(self.values[x]) in (tuple, list) for x in positions):
            return False
        try:
            expected = value_of(node, self.values)  # type: ignore[arg-type]
        except Exception:  # noqa: BLE001 - it is met again where the program runs
            return False
        function = _definition(node.function)
        for attempt in (_with_buffers(function), as_recorded(function)):
            found = self._attempted(attempt, node, positions, expected)
            if found is not None:
                root, template, known = found
                self._splice(root, positions, depth, known)
                self.stand_ins[at] = self._rewritten_of(template, self.names)
                self.values[at] = expected
                return True
        return False

    def _attempted(
        self, function: Any, node: Node, positions: list[int], expected: Any
    ) -> tuple[Segment, Any, dict[int, Any]] | None:
        """The calls that a function makes, if they are a program, its result, and their values."""
        root = Segment(None, len(positions))
        careful = self.careful  # then what is right for each answer is taken
        recorder = _Keeping(
            root, len(positions), MOST_NODES, 1, careful=careful, assumes_worst=careful
        )
        given = {x: Recorded(_own(self.values[x]), i, recorder) for i, x in enumerate(positions)}
        recording = Recording(recorder)
        OPEN.add(recording)
        token = RECORDING.set(recording)
        try:
            out = function(*_with(node.args, given), **_with(node.kwargs, given))
            leaves, structure = flatten(out)
            known = all(type(x) is Recorded or x is None for x in leaves)
            if not known or not _are_alike(leaves, flatten(expected)[0]):
                return None
            found = [Ref(x.at) if type(x) is Recorded else x for x in leaves]
            recorder.finish(found, structure, ())
        except Exception:  # noqa: BLE001 - it is not made for such arrays, and stays one call
            return None
        finally:
            RECORDING.reset(token)
            OPEN.discard(recording)
            recorder.open = False
        if recorder.unfit is not None or not _has_few_answers(root):
            return None
        return root, unflatten(structure, found), recorder.values

    def _described(self, node: Node, value: Any) -> Node:
        made = Node(node.function, node.args, node.kwargs, steps=node.steps, silent=node.silent)
        made.describe(value, node.shares)
        return made

    def _move(self, at: int, node: Node, depth: int) -> bool:
        """Put, in place of a call that moves elements of one array, a look-up by a table."""
        used = set(references((node.args, node.kwargs)))
        if len(used) != 1:
            return False
        (x,) = used
        value = self.values[x]
        plain = type(value) is np.ndarray
        if not (plain or isinstance(value, np.floating)):
            return False
        if value.dtype.kind != "f" or value.size > LARGEST:
            return False

        def call(v: Any) -> Any:
            return value_of(node, {x: v if plain else v[()]})  # type: ignore[arg-type]

        try:
            out = call(value)
            tables: list[Any]
            if type(out) is not tuple:
                tables = [_table(call, value)]
            else:
                tables = [
                    () if part is None else _table(lambda v, k=k: call(v)[k], value)
                    for k, part in enumerate(out)
                ]
        except Exception:  # noqa: BLE001 - then it is one call
            return False
        if any(table is None for table in tables):
            return False
        parts = [None if not table else Ref(self._looked_up(x, table, depth)) for table in tables]
        self.stand_ins[at] = tuple(parts) if type(out) is tuple else parts[0]
        self.values[at] = out
        return True

    def _looked_up(self, x: int, found: tuple[Any, ...], depth: int) -> int:
        """The calls that look up a table; the position of the last."""
        table, mask, rest = found
        flat = self._made(np.reshape, (Ref(x), (-1,)), self.values[x].reshape(-1), depth)
        picked = self._made(np.take, (Ref(flat), table), rest, depth)
        if not mask.all():
            picked = self._made(np.where, (mask, Ref(picked), rest), rest, depth)
        self.static.add(picked)
        return picked

    def _made(self, function: Any, args: tuple[Any, ...], like: Any, depth: int) -> int:
        """A call that was not recorded; its position."""
        at = self.next
        self.next += 1
        node = Node(function, args, {})
        node.describe(like, OWN)
        self._node(at, node, depth + 1)
        return at

    def _splice(
        self, root: Segment, positions: list[int], depth: int, known: dict[int, Any]
    ) -> None:
        """Put recorded segments, under new names, in place of a call; `known`: their values."""
        names: dict[int, Any] = {i: Ref(x) for i, x in enumerate(positions)}
        segment: Segment | None = root
        while segment is not None:
            for i, node in enumerate(segment.nodes, segment.start):
                names[i] = Ref(self.next)
                self.next += 1
                made = Node(
                    node.function,
                    self._rewritten_of(node.args, names),
                    self._rewritten_of(node.kwargs, names),
                    steps=self._rewritten_of(node.steps, names),
                    silent=node.silent,
                )
                for name in ("kind", "shape", "dtype", "strides"):
                    setattr(made, name, getattr(node, name))
                made.shares = names[node.shares].at if node.shares >= 0 else node.shares
                self._node(names[i].at, made, depth + 1, known.get(i))
            following = None
            if segment.read is not None:
                ((key, following),) = segment.children.items()
                stands = self._rewritten(names[segment.read.at])
                question = segment.read.question
                if question is not kinds_of or not self._is_static(stands):
                    self.block.read = Read(question, stands.at)
                    self.path.append((self.block, key))
                    self.block = Block()
            segment = following
        self.names = {i: self._rewritten(ref) for i, ref in names.items()}

    def _rewritten_of(self, template: Any, names: dict[int, Any]) -> Any:
        before, self.stand_ins = self.stand_ins, names
        try:
            if type(template) is tuple and template and type(template[0]) is Step:
                return tuple([Step(f, *map(self._rewritten, rest)) for f, *rest in template])
            return self._rewritten(template)
        finally:
            self.stand_ins = before


class _Namespace:
    """NumPy, but that new buffers can take recorded values."""

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def zeros(self, *args: Any, **kwargs: Any) -> Any:
        return recorded_too(np.zeros(*args, **kwargs))

    empty = zeros

    def ones(self, *args: Any, **kwargs: Any) -> Any:
        return recorded_too(np.ones(*args, **kwargs))

    def full(self, *args: Any, **kwargs: Any) -> Any:
        return recorded_too(np.full(*args, **kwargs))


_NAMESPACE = _Namespace()


def _definition(function: Any) -> Any:
    """What a function is to be taken apart as: the definition that our rule has, or itself."""
    known = BOUND.get(function, function)
    rule = REGISTRY.get(known) if known in COMPOSED else None
    return rule.definition if isinstance(rule, Composite) else function


def _has_few_answers(root: Segment) -> bool:
    """Whether all that is asked has two answers, or is a shape: numbers seldom come again."""
    segment: Segment | None = root
    while segment is not None and segment.read is not None:
        ((key, following),) = segment.children.items()
        if key[0] is not bool and segment.read.question is not kinds_of:
            return False
        segment = following
    return True


def _with_buffers(function: Any) -> Any:
    """A function of ours, whose buffers are recorded arrays."""
    if type(function) is not types.FunctionType or function.__globals__.get("np") is not np:
        return function
    known = {**function.__globals__, "np": _NAMESPACE}
    made = types.FunctionType(
        function.__code__, known, function.__name__, function.__defaults__, function.__closure__
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def _picked(node: Node) -> Any:
    """The part of a tuple or list of references that a call picks."""
    if getattr(node.function, "__name__", "") == "getitem" and type(node.args[1]) is int:
        found = node.args[0][node.args[1]]
        return found if type(found) is Ref else None
    return None


def _table(call: Any, like: Any) -> tuple[Any, Any, Any] | None:
    """Of which element each one of a result is, where it is one, and what it is elsewhere.

    None for a call that does more than moving elements.
    """
    n = like.size
    numbers = np.arange(1, n + 1, dtype=like.dtype).reshape(like.shape)
    first, second = call(numbers.copy("K")), call(numbers + n)
    if type(first) is not np.ndarray or first.dtype != like.dtype or first.size > LARGEST:
        return None
    mask = first != second
    table = np.where(mask, first, 1).astype(np.int64) - 1
    if 2 * n >= 1 << (22 if like.dtype.itemsize == 4 else 50) or (table < 0).any():
        return None
    if not first.size or (table >= n).any():
        return None
    draw = np.random.default_rng(0)
    for unusual in ((), (np.nan,), (np.inf, -np.inf)):
        x = draw.standard_normal(like.shape).astype(like.dtype)
        x.reshape(-1)[: len(unusual)] = unusual[:n]
        expected = np.where(mask, x.reshape(-1)[table], first)
        if not np.array_equal(call(x), expected, equal_nan=True):
            return None
    return table, mask, np.where(mask, 0, first).astype(like.dtype)


def _own(value: Any) -> Any:
    return value.copy("K") if type(value) is np.ndarray else value


def _with(template: Any, given: dict[int, Any]) -> Any:
    """Arguments with recorded values in place of references."""
    kind = type(template)
    if kind is Ref:
        return given[template.at]
    if kind is tuple or kind is list:
        return kind([_with(part, given) for part in template])
    if kind is dict:
        return {key: _with(part, given) for key, part in template.items()}
    return template


def _are_alike(found: list[Any], expected: list[Any]) -> bool:
    """Whether recorded results are those that were expected, but for rounding."""
    if len(found) != len(expected):
        return False
    for x, y in zip(found, expected, strict=True):
        if x is None or y is None:
            if x is not y:
                return False
            continue
        value = x._value
        if type(value) is not type(y):
            return False
        a, b = np.asarray(value), np.asarray(y)
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if b.dtype.kind in "fc":
            scale = float(np.max(np.abs(b), initial=0, where=np.isfinite(b)))
            if not np.allclose(a, b, rtol=1e-4, atol=1e-4 * scale, equal_nan=True):
                return False
        elif not np.array_equal(a, b):
            return False
    return True


__all__ = ["expanded"]
