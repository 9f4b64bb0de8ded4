"""Threads that do parts of one call of machine code at once.

Knows threads and forks. Must not know what is computed. Machine code runs without Python's lock,
and so do its parts beside each other.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any


class _Workers:
    """Threads that wait for parts; as many as were ever wanted at once."""

    def __init__(self) -> None:
        self.start_anew()

    def start_anew(self) -> None:
        """Have no threads: in the beginning, and after a fork, which leaves none."""
        self.parts: SimpleQueue[Any] = SimpleQueue()
        self.count = 0
        self.lock = threading.Lock()

    def want(self, count: int) -> None:
        """Have at least so many threads."""
        with self.lock:
            while self.count < count:
                self.count += 1
                name = f"tapegrad-worker-{self.count}"
                threading.Thread(target=_work, args=(self.parts,), name=name, daemon=True).start()


def _work(parts: SimpleQueue[Any]) -> None:
    while True:
        function, address, part, done, memory = parts.get()
        try:
            function(address, part)
        finally:
            done.release()
        del function, done, memory


WORKERS = _Workers()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=WORKERS.start_anew)


def at_once(
    function: Callable[[int, int], Any], address: int, parts: int, threads: int, memory: Any
) -> None:
    """Call `function(address, part)` for all parts, this thread among those that do.

    It does what the others have not begun: on a busy machine a thread may wake late. memory: what
    has to live until all parts are done, also where this thread is interrupted before.
    """
    if WORKERS.count < threads - 1:
        WORKERS.want(threads - 1)
    done = threading.Semaphore(0)
    put = WORKERS.parts.put
    for part in range(1, parts):
        put((function, address, part, done, memory))
    function(address, 0)
    for _ in range(1, parts):
        while not done.acquire(blocking=False):
            if not _help():
                done.acquire()
                break


def _help() -> bool:
    """Do a part that no thread has begun; False if there is none."""
    try:
        function, address, part, done, _ = WORKERS.parts.get_nowait()
    except Empty:
        return False
    try:
        function(address, part)
    finally:
        done.release()
    return True


__all__ = ["at_once"]
