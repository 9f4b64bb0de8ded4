"""Where the values of a program lie: buffers of a workspace, and which of them are free.

Knows how long values live, and which share memory. Must not know how source is written.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from tapegrad._program.program import CONSTANT, Node, Ref, references_of

FILLED_BYTES = 1 << 20  # of a buffer that keeps what it was filled with


class Storage:
    """The memory of one or more values: a buffer of the workspace, or whatever NumPy made."""

    __slots__ = ("buffer", "filled", "fixed", "live", "members")

    def __init__(self, buffer: int | None, *, fixed: bool) -> None:
        self.buffer = buffer
        self.fixed = fixed  # an input's or a constant's, which no call may change
        self.filled: Any = None  # what a buffer holds from the beginning, as a key
        self.members: list[int] = []
        self.live: list[int] = []  # those that were not seen to have ended


class Scope:
    """Knowledge at a place of the program: storages, names of values, free buffers."""

    def __init__(self) -> None:
        self.storages: dict[int, Storage] = {}
        self.names: dict[int, str] = {}
        self.free: dict[Any, list[int]] = {}
        self.views: dict[str, str] = {}  # names of views of arrays that are made in each call

    def copy(self) -> Scope:
        made = Scope()
        copies: dict[int, Storage] = {}
        for at, storage in self.storages.items():
            twin = copies.get(id(storage))
            if twin is None:
                twin = copies[id(storage)] = Storage(storage.buffer, fixed=storage.fixed)
                twin.filled = storage.filled
                twin.members = list(storage.members)
                twin.live = list(storage.live)
            made.storages[at] = twin
        made.names = dict(self.names)
        made.free = {key: list(buffers) for key, buffers in self.free.items()}
        made.views = dict(self.views)
        return made

    def own(self, at: int, *, fixed: bool = False) -> Storage:
        """The storage of a value that NumPy makes."""
        storage = Storage(None, fixed=fixed)
        self.join(at, storage)
        return storage

    def join(self, at: int, storage: Storage) -> None:
        """Let a value be of a storage."""
        storage.members.append(at)
        storage.live.append(at)
        self.storages[at] = storage

    def view(self, at: int, node: Node) -> Storage | None:
        """The storage of a view; None for a value with memory of its own, or none."""
        if node.shares == CONSTANT:
            return self.own(at, fixed=True)
        if node.shares < 0 or node.shares not in self.storages:
            return None
        storage = self.storages[node.shares]
        self.join(at, storage)
        return storage


class Lives:
    """Up to which position of a block each value is used."""

    def __init__(self, nodes: list[tuple[int, Node]], ends: set[int]) -> None:
        self.last: dict[int, float] = {}
        for position, (_, node) in enumerate(nodes):
            for at in references_of(node):
                self.last[at] = position
        for at in ends:
            self.last[at] = math.inf
        self.dying: dict[float, list[int]] = {}
        for at, end in self.last.items():
            self.dying.setdefault(end, []).append(at)

    def ended(self, storage: Storage, position: float) -> bool:
        """Whether nothing uses a storage after a position, which never goes back.

        What has ended is looked at once: a storage may have as many values as a program.
        """
        live = storage.live
        while live and self.last.get(live[-1], -1) <= position:
            live.pop()
        return not live


class Place:
    """Where in the source the next line goes: what is known there, and what is used after it."""

    def __init__(self, scope: Scope, lines: list[str], depth: int) -> None:
        self.scope = scope
        self.lines = lines
        self.depth = depth
        self.indent = "    " * depth
        self.lives = Lives([], set())
        self.position = -1  # among the nodes of a block

    def ended(self, storage: Storage) -> bool:
        """Whether nothing uses a storage from here on."""
        return self.lives.ended(storage, self.position)

    def add(self, line: str) -> None:
        """Add a line."""
        self.lines.append(self.indent + line)


class Workspace:
    """The buffers of a program."""

    def __init__(self) -> None:
        self.buffers: list[Any] = []  # (shape, strides, dtype) of each

    def new(self, at: int, node: Node, scope: Scope, filled: Any = None) -> tuple[Storage, bool]:
        """A buffer for a value, and whether there was none free: of those filled likewise."""
        key = (node.shape, node.strides, node.dtype)
        free = scope.free.get(key if filled is None else filled)
        added = not free
        if free:
            number = free.pop()
        else:
            number = len(self.buffers)
            self.buffers.append(key)
        storage = Storage(number, fixed=False)
        storage.filled = filled
        scope.join(at, storage)
        return storage, added

    def release(self, ended: Iterable[int], place: Place) -> None:
        """Free the buffers of the storages of these values that nothing uses from here on."""
        scope = place.scope
        for at in ended:
            storage = scope.storages.get(at)
            if storage is None or storage.buffer is None or not place.ended(storage):
                continue
            key = self.buffers[storage.buffer] if storage.filled is None else storage.filled
            scope.free.setdefault(key, []).append(storage.buffer)
            for member in storage.members:
                scope.storages.pop(member, None)
            storage.buffer = None

    def dying(self, at: int, node: Node, place: Place) -> Storage | None:
        """The storage of an argument that nothing uses afterwards, which takes the result."""
        scope, key = place.scope, (node.shape, node.strides, node.dtype)
        if math.prod(node.shape) == 1:
            return None  # NumPy takes twice the time for one element in place
        for arg in node.args:
            storage = scope.storages.get(arg.at) if type(arg) is Ref else None
            if storage is None or storage.buffer is None or storage.filled is not None:
                continue
            name = f"b{storage.buffer}"
            others = [x.at for x in node.args if type(x) is Ref and scope.names[x.at] != name]
            if (
                self.buffers[storage.buffer] == key
                and scope.names[arg.at] == name
                and place.ended(storage)
                and not any(scope.storages.get(other) is storage for other in others)
            ):
                scope.join(at, storage)
                return storage
        return None

    @property
    def bytes(self) -> int:
        return sum(math.prod(shape) * dtype.itemsize for shape, _, dtype in self.buffers)


def allocated(key: Any) -> Any:
    """An array of a shape, strides and dtype; its elements are of no account."""
    shape, strides, dtype = key
    order = sorted(range(len(shape)), key=lambda axis: -abs(strides[axis]))
    made = np.empty([shape[axis] for axis in order], dtype)
    if order != list(range(len(shape))):
        made = made.transpose(np.argsort(order))
    if min(strides, default=0) < 0:  # what is written into an argument that lies backwards
        made = made[tuple([slice(None, None, -1 if step < 0 else 1) for step in strides])]
    return made


__all__ = ["FILLED_BYTES", "Lives", "Place", "Scope", "Storage", "Workspace", "allocated"]
