"""Workers that load data: threads, whose results come in the order of their tasks.

PyTorch's workers are processes. NumPy lets other threads run while it computes or reads, and
threads need not send what they load.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

_LOCAL = threading.local()


class WorkerInfo:
    """Identity of a worker: its id, num_workers, its seed, and its dataset."""

    def __init__(self, id: int, num_workers: int, seed: int, dataset: Any) -> None:
        self.id, self.num_workers = id, num_workers
        self.seed, self.dataset = seed, dataset

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed})"


def get_worker_info() -> WorkerInfo | None:
    """Identity of the worker that calls.

    -> WorkerInfo or None: Its id, how many workers there are, its seed and its dataset; None in
        any other thread.

    >>> torch.utils.data.get_worker_info() is None
    True
    """
    return getattr(_LOCAL, "info", None)


class Exhausted:
    """Says that a worker has no more samples."""


class Failed:
    """An exception in place of a batch, for the program that reads the batches."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def _failed(error: BaseException, worker: int) -> Failed:
    error.add_note(f"Caught {type(error).__name__} in DataLoader worker thread {worker}.")
    return Failed(error)


class Worker:
    """A thread that answers tasks, until the task None comes."""

    def __init__(
        self,
        info: WorkerInfo,
        begin: Callable[[WorkerInfo], Callable[[Any], Any]],
        results: queue.SimpleQueue[Any],
    ) -> None:
        self.info = info
        self.tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.done = False  # whether it has said that there is no more
        self._thread = threading.Thread(
            target=_answer, args=(info, begin, self.tasks, results), daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Let the thread end after the task that it works at."""
        self.tasks.put(None)


def _answer(
    info: WorkerInfo,
    begin: Callable[[WorkerInfo], Callable[[Any], Any]],
    tasks: queue.SimpleQueue[Any],
    results: queue.SimpleQueue[Any],
) -> None:
    """The life of a worker. begin: prepares it, and returns the function that answers a task."""
    _LOCAL.info = info
    failed: Any = None
    answer: Callable[[Any], Any] | None = None
    try:
        answer = begin(info)
    except BaseException as error:  # noqa: BLE001 - every exception goes to the reading thread
        failed = _failed(error, info.id)
    while (task := tasks.get()) is not None:
        number, wanted = task
        made: Any = failed
        if answer is not None:
            try:
                made = answer(wanted)
            except BaseException as error:  # noqa: BLE001 - every exception goes to the reader
                made = _failed(error, info.id)
        results.put((number, info.id, made))
        made = None  # nothing of the last batch is kept while the next task is waited for


def in_order(
    workers: list[Worker],
    results: queue.SimpleQueue[Any],
    tasks: Iterator[Any],
    ahead: int,
    timeout: float,
) -> Iterator[Any]:
    """The results of tasks, which go around among workers, at most so many ahead.

    An exception comes as `Failed`, so that the next results can still be read.
    """
    waiting: dict[int, Any] = {}  # the worker of each task, or its result
    turn = sent = wanted = 0
    try:
        while True:
            while len(waiting) < ahead:
                worker, turn = _next_worker(workers, turn)
                task = next(tasks, None) if worker is not None else None
                if worker is None or task is None:
                    break
                worker.tasks.put((sent, task))
                waiting[sent] = None
                sent += 1
            if not waiting:
                return
            while waiting[wanted] is None:
                try:
                    number, place, made = results.get(timeout=timeout or None)
                except queue.Empty:
                    raise RuntimeError(f"DataLoader timed out after {timeout} seconds") from None
                waiting[number] = (made,)
                workers[place].done |= isinstance(made, Exhausted)
            (made,) = waiting.pop(wanted)
            wanted += 1
            if not isinstance(made, Exhausted):
                yield made
    finally:
        for worker in workers:
            worker.stop()


def _next_worker(workers: list[Worker], turn: int) -> tuple[Worker | None, int]:
    """The next worker that is not done, and whose turn comes after it."""
    for place in range(turn, turn + len(workers)):
        worker = workers[place % len(workers)]
        if not worker.done:
            return worker, (place + 1) % len(workers)
    return None, turn
