"""Which faults are planted: drawn from all rooms of tapegrad and from all kinds.

Knows the folders of tapegrad and of its tests. Must not know how tests are run.
"""

from __future__ import annotations

import hashlib
import math
import random
from collections import Counter, defaultdict
from itertools import cycle
from pathlib import Path
from typing import NamedTuple

from fault_kinds import WORDING, Site, sites

ROOMS_OF_FILES = {
    "__main__": "cli",
    "_config": "look",
    "_numpy_versions": "numpy",
    "_progress": "look",
    "_tree": "tree",
    "_warning": "look",
}  # others at the top are of the core
LEFT_OUT = {"tapegrad/testing/_plugin/entry.py"}  # it is read from where tapegrad is installed


class Fault(NamedTuple):
    """Replacement at a place of a file; `was` and `becomes` are its lines."""

    name: str
    room: str
    kind: str
    file: str
    line: int
    statement: int
    start: int
    before: str
    after: str
    was: str
    becomes: str

    def planted(self, data: bytes) -> bytes:
        """The file with the fault."""
        if not data.startswith(self.was.encode(), data.rfind(b"\n", 0, self.start) + 1):
            raise ValueError(f"{self.file}:{self.line} is not what it was: {self.was}")
        end = self.start + len(self.before.encode())
        return data[: self.start] + self.after.encode() + data[end:]


def room_of(file: str) -> str:
    """The folder of tests/ that mirrors the place of a file."""
    parts = Path(file).with_suffix("").parts
    return parts[1].removeprefix("_") if len(parts) > 2 else ROOMS_OF_FILES.get(parts[1], "core")


def fault_at(file: str, data: bytes, site: Site) -> Fault:
    """A fault of a kind at a place, with all that is to be said of it."""
    start, end, after = site.edit
    before = data[start:end].decode()
    key = f"{file}:{start}:{before}:{after}".encode()
    name = hashlib.sha1(key, usedforsecurity=False).hexdigest()[:8]
    first, last = data.rfind(b"\n", 0, start) + 1, data.find(b"\n", end)
    head, tail = data[first:start].decode(), data[end:last].decode()
    place = (file, site.line, site.statement, start, before, after)
    return Fault(name, room_of(file), site.kind, *place, head + before + tail, head + after + tail)


def drawn(root: Path, count: int, seed: int) -> list[Fault]:
    """Faults of all rooms: by the root of how many places each has, and of all kinds alike."""
    places: dict[str, dict[str, list[tuple[str, Site]]]] = defaultdict(lambda: defaultdict(list))
    for path in sorted((root / "tapegrad").rglob("*.py")):
        file = path.relative_to(root).as_posix()
        if file not in LEFT_OUT and not WORDING.search(path.stem):
            for site in sites(path.read_bytes()):
                places[room_of(file)][site.kind].append((file, site))
    weights = {room: math.sqrt(sum(map(len, kinds.values()))) for room, kinds in places.items()}
    dice = random.Random(seed)
    turns = {room: cycle(dice.sample(sorted(places[room]), len(places[room]))) for room in places}
    counts: Counter[str] = Counter()
    faults: list[Fault] = []
    count = min(count, sum(sum(map(len, kinds.values())) for kinds in places.values()))
    while len(faults) < count:
        room = min(sorted(places), key=lambda room: counts[room] / weights[room])
        left = places[room][next(turns[room])]
        counts[room] += 1
        if left:
            file, site = left.pop(dice.randrange(len(left)))
            faults.append(fault_at(file, (root / file).read_bytes(), site))
    return faults
