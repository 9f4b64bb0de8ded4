"""How many nodes live, roughly, so that Python's collector looks seldom through long graphs.

Nobody counts nodes, as they go with the tensors. One in `STRETCH` is watched, and stands for the
others.

Must not know what a search costs.
"""

from __future__ import annotations

import atexit
import gc
import weakref

from tapegrad._core.collector import hold, release
from tapegrad.torch._graph.node import Node
from tapegrad.torch._graph.order import LISTENERS, STRETCH

_watched: set[weakref.ref[Node]] = set()
MANY = 1 << 14  # young objects: so many are looked through for a node


def _watch_latest() -> None:
    """Watch one of the latest nodes."""
    if gc.get_count()[0] > MANY:  # the program has set that the collector comes seldom, or never
        return
    for made in reversed(gc.get_objects(generation=0)):
        if issubclass(type(made), Node):
            _watched.add(weakref.ref(made, _forget))
            _tell()
            return


def _forget(reference: weakref.ref[Node]) -> None:
    _watched.discard(reference)
    _tell()


def _tell() -> None:
    if _watched:
        hold(Node, STRETCH * len(_watched))
    else:
        release(Node)


LISTENERS.append(_watch_latest)
atexit.register(LISTENERS.clear)
atexit.register(_watched.clear)

__all__: list[str] = []
