"""The reference: NumPy arrays, and a list of steps with the partial derivatives of each.

Knows what a program in NumPy does to memory, and reverse accumulation in its plainest form. Must
not know any library's rules: what a step's derivative is, differences of that step alone tell.
Views share memory as NumPy's do; a write makes a new value in the same memory; what is constant
(detached, made or written while nothing is recorded) has no derivative.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.quiet import errstate, silence
from tapegrad.testing._machines.slopes import WAYS, bend, partials

Array = Any
Step = Callable[..., Any]
Run = Callable[[Sequence[Array]], Array]

# NumPy's errors for arguments that do not go together: such a step is not done.
UNFIT = (ValueError, IndexError, TypeError, ArithmeticError, Warning)


class Unfit(Exception):  # noqa: N818 - nothing has gone wrong
    """The step cannot be done with these values, or leads too far."""


class Memory:
    """Memory that one or several values share. A slot stands for what it held at one time."""

    def __init__(self, content: Array, slot: int) -> None:
        self.content = content
        self.slot = slot
        self.writes = 0


class Value:
    """A name of the program: a memory, and the views that lead from it to what the name shows."""

    def __init__(
        self, name: str, memory: Memory, views: tuple[Step, ...] = (), constant: bool = False
    ) -> None:
        self.name = name
        self.memory = memory
        self.slot = memory.slot  # what a leaf was made with
        self.views = views
        self.constant = constant

    def __repr__(self) -> str:
        return self.name

    def within(self, content: Array) -> Array:
        """The part that this value shows of what its memory holds, or of another array like it."""
        for view in self.views:
            content = view(content)
        return content

    @property
    def array(self) -> Array:
        """Current value."""
        return self.within(self.memory.content)


class Entry:
    """A step with a derivative."""

    def __init__(
        self, out: int, run: Run, parts: list[tuple[int, Array]], reads: list[Memory]
    ) -> None:
        self.out = out
        self.run = run  # the step as a function of what the slots in `parts` hold
        self.parts = parts  # (slot, partials: (ways, out, in))
        self.reads = [(memory, memory.writes) for memory in reads]
        self.is_write = False
        self.freed = False

    def may_refuse(self) -> bool:
        """Whether a library may have lost what it needs: overwritten since, or freed."""
        stale = any(memory.writes != writes for memory, writes in self.reads)
        return stale or self.freed or self.is_write


class Slope(NamedTuple):
    """A gradient in all the ways of measuring, and the sum of the sizes of what it adds up.

    Beside a tie the ways may differ in each step and agree in the end by chance: the gap adds up
    what they differ by.
    """

    ways: Array  # (ways, size)
    size: Array
    gap: Array

    @classmethod
    def zeros(cls, size: int) -> Slope:
        return cls(np.zeros((len(WAYS), size)), np.zeros(size), np.zeros(size))

    @property
    def best(self) -> Array:
        return self.ways[0]

    @property
    def error(self) -> Array:
        """Error of the best, by the other ways."""
        error = np.maximum(_apart(self.ways), self.gap)
        return np.where(np.isfinite(error), error, np.inf)

    def plus(self, other: Slope) -> Slope:
        return Slope(self.ways + other.ways, self.size + other.size, self.gap + other.gap)

    def times(self, factor: float) -> Slope:
        return Slope(self.ways * factor, self.size * abs(factor), self.gap * abs(factor))

    def through(self, partial: Array) -> Slope:
        """The gradient by what a step takes: of its result, by partials (ways, out, in)."""
        with silence():
            ways = np.einsum("wo,woi->wi", self.ways, partial)
            best = np.abs(partial[0])
            gap = self.gap @ best + self.size @ _apart(partial)
            return Slope(ways, self.size @ best, gap)


def _apart(ways: Array) -> Array:
    """Distance of the first way from the others."""
    with errstate(invalid="ignore"):
        found: Array = np.max(np.abs(ways - ways[0]), axis=0)
    return found


class Reference:
    """The program as it has run so far, on NumPy arrays."""

    def __init__(self, most: int, largest: float) -> None:
        self.most = most  # elements of a value
        self.largest = largest
        self.entries: list[Entry] = []
        self.slots = 0
        self.known: set[int] = set()  # slots that depend on a leaf
        self.hooks: dict[int, float] = {}  # by slot: what the gradient is multiplied by
        self.gradients: dict[int, Slope] = {}  # by slot, of leaves and of what is retained
        self.starts: dict[int, Array] = {}  # by slot: what leaves hold
        self.unseen = (
            False  # whether a write that was not recorded has changed what depends on one
        )
        self.kept: set[int] = set()

    def _slot(self) -> int:
        self.slots += 1
        return self.slots

    def leaf(self, name: str, array: Array, constant: bool = False) -> Value:
        """A value that gradients are taken by."""
        slot = self._slot()
        if not constant:
            self.known.add(slot)
            self.kept.add(slot)
            self.starts[slot] = array.copy()
        return Value(name, Memory(array.copy(), slot))

    def depends(self, value: Value) -> bool:
        """Whether a leaf moves this value."""
        return not value.constant and value.memory.slot in self.known

    # -- steps -----------------------------------------------------------------------------------

    def apply(
        self, name: str, step: Step, values: Sequence[Value], *, tracked: bool, view: bool
    ) -> Value:
        """The result of a step: a view where it shares the memory of its first argument."""
        moving = self._moving(values, tracked)
        shown = self._shown(values, moving)

        def run(contents: Sequence[Array]) -> Array:
            return np.asarray(self._guarded(step, *shown(contents)))

        content = self._fit(run([memory.content for memory in moving]))
        source = values[0]
        if view:
            part = step(source.array)
            if np.shares_memory(part, source.memory.content):
                return Value(name, source.memory, (*source.views, step), source.constant)
        memory = Memory(content.copy(), self._slot())
        if moving:
            # The result counts as read: a rule may keep it, as that of exp does.
            self._log(memory.slot, run, moving, [memory, *(value.memory for value in values)])
        return Value(name, memory)

    def write(self, step: Step, values: Sequence[Value], *, tracked: bool) -> None:
        """A step that changes its first argument, and with it whatever shares its memory."""
        target, *others = values
        if target.constant and tracked and any(map(self.depends, others)):
            raise Unfit("a constant would depend on a leaf")
        memory = target.memory
        moving = [] if target.constant else self._moving(values, tracked)
        shown = self._shown([Value("", memory), *others], moving)

        def run(contents: Sequence[Array]) -> Array:
            whole, *given = shown(contents)
            self._guarded(step, target.within(whole), *given)
            return whole

        content = self._fit(run([each.content for each in moving]))
        if moving:
            slot = self._slot()
            self._log(slot, run, moving, [value.memory for value in others])
            self.entries[-1].is_write = any(map(self.depends, values))
            memory.slot = slot
        elif memory.slot in self.known:
            self.unseen = True
        memory.content = content.copy()
        memory.writes += 1

    def detach(self, name: str, value: Value, *, shares: bool) -> Value:
        """The same value as a constant, in the same memory or in its own."""
        if shares:
            return Value(name, value.memory, value.views, constant=True)
        return Value(name, Memory(value.array.copy(), self._slot()))

    def _moving(self, values: Sequence[Value], tracked: bool) -> list[Memory]:
        """The memories, each once, that the result of a step depends on."""
        if not tracked:
            return []
        return list({id(v.memory): v.memory for v in values if self.depends(v)}.values())

    def _shown(
        self, values: Sequence[Value], moving: list[Memory]
    ) -> Callable[[Sequence[Array]], list[Array]]:
        """Shown values, as a function of what moving memories hold; the rest as it is now."""
        fixed = {id(v.memory): v.memory.content.copy() for v in values if v.memory not in moving}
        constants = [value.array.copy() if value.constant else None for value in values]

        def shown(contents: Sequence[Array]) -> list[Array]:
            held = {**fixed, **dict(zip(map(id, moving), contents, strict=True))}
            dtype = (contents or [values[0].memory.content])[0].dtype
            held = {key: np.array(content, dtype) for key, content in held.items()}
            return [
                value.within(held[id(value.memory)])
                if constant is None
                else constant.astype(dtype)
                for value, constant in zip(values, constants, strict=True)
            ]

        return shown

    def _guarded(self, step: Step, *arrays: Array) -> Any:
        try:
            with silence():
                return step(*arrays)
        except UNFIT as error:
            raise Unfit(str(error)) from error

    def _fit(self, content: Array) -> Array:
        if content.dtype.kind != "f" or content.size > self.most:
            raise Unfit("another dtype, or too large")
        if not np.all(np.abs(content) <= self.largest):
            raise Unfit("not finite, or too far")
        return content

    def _log(self, slot: int, run: Any, moving: list[Memory], reads: list[Memory]) -> None:
        contents = [memory.content for memory in moving]
        parts = [(memory.slot, partials(run, contents, i)) for i, memory in enumerate(moving)]
        self.entries.append(Entry(slot, run, parts, reads))
        self.known.add(slot)

    # -- gradients -------------------------------------------------------------------------------

    def hook(self, value: Value, factor: float) -> None:
        """The gradient of what the memory holds now counts so many times."""
        slot = value.memory.slot
        self.hooks[slot] = self.hooks.get(slot, 1.0) * factor

    def pull(self, value: Value, cotangent: Array) -> tuple[dict[int, Slope], list[Entry]]:
        """The gradients of a value by all that it depends on, and the steps that lead there."""
        places = value.within(
            np.arange(value.memory.content.size).reshape(value.memory.content.shape)
        )
        start = np.zeros(value.memory.content.size)
        np.add.at(start, places.reshape(-1), cotangent.reshape(-1))
        ways = np.stack([start] * len(WAYS))
        found = {value.memory.slot: Slope(ways, np.abs(start), np.zeros(start.size))}
        visited = []
        for entry in reversed(self.entries):
            if entry.out not in found:
                continue
            visited.append(entry)
            found[entry.out] = found[entry.out].times(self.hooks.get(entry.out, 1.0))
            for slot, partial in entry.parts:
                part = found[entry.out].through(partial)
                found[slot] = found[slot].plus(part) if slot in found else part
        made = {entry.out for entry in self.entries}
        for slot in found.keys() - made:  # leaves
            found[slot] = found[slot].times(self.hooks.get(slot, 1.0))
        return found, visited

    def curvature(self, value: Value, cotangent: Array, along: dict[int, Array]) -> Slope | None:
        """The second derivative of the value times the cotangent, as leaves move along a line."""
        if self.unseen:
            return None
        kinds: set[Any] = set()

        def moved(t: Any) -> Any:
            held = {slot: self.starts[slot] + t * each for slot, each in along.items()}
            for entry in self.entries:
                result = entry.run([held[slot] for slot, _ in entry.parts])
                kinds.add(result.dtype.type)
                held[entry.out] = result.astype(t.dtype)
            return np.sum(value.within(held[value.memory.slot]) * cotangent)

        try:
            moved(np.longdouble(0.0))
            # LAPACK, for one, has no longdouble.
            kind = np.longdouble if kinds <= {np.longdouble} else np.float64
            return Slope(*bend(moved, kind), np.zeros(1))
        except Unfit:  # beside the point
            return None

    def backward(self, value: Value, cotangent: Array, *, retain: bool) -> None:
        """Add the gradients to those of leaves; without `retain` the steps are used up."""
        found, visited = self.pull(value, cotangent)
        for slot in self.kept & found.keys():
            before = self.gradients.get(slot)
            self.gradients[slot] = found[slot] if before is None else before.plus(found[slot])
        self.free(visited, retain)

    def free(self, visited: list[Entry], retain: bool) -> None:
        """Mark steps as used up."""
        for entry in visited:
            entry.freed = entry.freed or not retain
