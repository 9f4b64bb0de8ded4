"""Runs the task graph of a pass on a cluster that is imagined: `python docs/scaling/simulate.py`.

The graph is the one that tapegrad.dask gives to Dask. What is assumed of the cluster stands in
`Cluster`; workers take tasks as Dask's scheduler hands them out: partitions in their order to
whichever worker is free, a sum to the worker that has most of what it adds. It prints the tables
of docs/scaling.md, the same in each run.
"""

from __future__ import annotations

import argparse
import dataclasses
import heapq
import math
from collections import deque
from typing import Any

from tapegrad.dask._batches import Values
from tapegrad.dask._partitions import Partitions
from tapegrad.dask._passes import graph_of
from tapegrad.dask._tasks import Place


@dataclasses.dataclass(frozen=True)
class Cluster:
    """Assumptions; times in seconds, rates in bytes a second."""

    workers: int
    network: float = 1.25e9  # 10 Gbit/s into each worker
    latency: float = 1e-3  # of a transfer
    adding: float = 2e9  # bytes of results that a worker scales and adds
    scheduling: float = 1e-3  # of the one scheduler, for each task


@dataclasses.dataclass(frozen=True)
class Pass:
    """Work of a pass, and its graph: the inputs of each task, and the tasks that need it."""

    partitions: int
    work: float  # seconds, of all gradients together
    size: int  # bytes of parameters, and of a gradient
    inputs: dict[Any, list[Any]]
    users: dict[Any, list[Any]]

    def is_part(self, task: Any) -> bool:
        return not self.inputs[task]

    def seconds(self, task: Any, cluster: Cluster) -> float:
        if self.is_part(task):
            return self.work / self.partitions
        added = len(self.inputs[task])
        return added * self.size / cluster.adding if added > 1 else 0.0


@dataclasses.dataclass
class Run:
    """Result of a pass."""

    seconds: float = 0.0
    moved: float = 0.0  # bytes between workers, parameters included
    peak: float = 0.0  # bytes of parameters and results in the fullest worker


def pass_over(partitions: int, work: float, size: int) -> Pass:
    """A pass over so many partitions, whose data are made where they are used."""
    blocks = [[None] for _ in range(partitions)]
    nothing: list[Any] = [()] * partitions
    data = Partitions({}, blocks, Values(), [math.nan] * partitions, nothing)
    places = [Place(i) for i in range(partitions)]
    graph, _ = graph_of("step", data, places, "part", False)
    inputs = {task: list(_keys(list(call[1:]), graph)) for task, call in graph.items()}
    users: dict[Any, list[Any]] = {task: [] for task in graph}
    for task, needed in inputs.items():
        for other in needed:
            users[other].append(task)
    return Pass(partitions, work, size, inputs, users)


def _keys(value: Any, graph: dict[Any, Any]) -> Any:
    """The keys of a graph among the arguments of a task."""
    if isinstance(value, tuple | str) and value in graph:
        yield value
    elif isinstance(value, list):
        for part in value:
            yield from _keys(part, graph)


def run(given: Pass, cluster: Cluster) -> Run:
    """A pass on a cluster, event by event."""
    found = Run()
    copies = cluster.workers * given.size
    rounds = math.ceil(math.log2(cluster.workers + 1))
    start = rounds * (given.size / cluster.network + cluster.latency)
    found.moved = copies
    parts = deque(task for task in given.inputs if given.is_part(task))
    waiting = {task: len(needed) for task, needed in given.inputs.items()}
    queues: list[deque[Any]] = [deque() for _ in range(cluster.workers)]
    idle, place = set(range(cluster.workers)), {}
    held = [given.size] * cluster.workers
    events: list[tuple[float, int, int, Any]] = []
    scheduler, order = start, 0

    def begin(worker: int, now: float) -> None:
        nonlocal scheduler, order
        task = queues[worker].popleft() if queues[worker] else parts.popleft() if parts else None
        if task is None:
            idle.add(worker)
            return
        idle.discard(worker)
        scheduler = max(scheduler, now) + cluster.scheduling
        missing = [x for x in given.inputs[task] if place[x] != worker]
        found.moved += len(missing) * given.size
        held[worker] += (len(missing) + 1) * given.size  # what it is sent, and its result
        found.peak = max(found.peak, held[worker])
        transfer = len(missing) * (given.size / cluster.network + cluster.latency)
        order += 1
        end = scheduler + transfer + given.seconds(task, cluster)
        heapq.heappush(events, (end, order, worker, task))

    for worker in range(min(cluster.workers, len(parts))):
        begin(worker, start)
    while events:
        now, _, worker, task = heapq.heappop(events)
        found.seconds = now
        place[task] = worker
        for other in given.inputs[task]:
            held[worker] -= given.size  # its own, or the copy that it was sent
            if place[other] != worker:
                held[place[other]] -= given.size
        for user in given.users[task]:
            waiting[user] -= 1
            if not waiting[user]:
                chosen = _holder(given, user, place, queues, idle)
                queues[chosen].append(user)
                if chosen in idle:
                    begin(chosen, now)
        if worker not in idle:
            begin(worker, now)
    found.seconds += given.size / cluster.network  # to the caller
    return found


def _holder(given: Pass, task: Any, place: Any, queues: Any, idle: Any) -> int:
    """The worker that has most of a task's inputs, the least busy among equals."""
    counts: dict[int, int] = {}
    for other in given.inputs[task]:
        counts[place[other]] = counts.get(place[other], 0) + 1
    return max(counts, key=lambda w: (counts[w], w in idle, -len(queues[w]), -w))


def critical_path(given: Pass, cluster: Cluster) -> float:
    """The longest chain of a pass with a worker for each task: no pass is shorter."""
    done: dict[Any, float] = {}
    for task, needed in given.inputs.items():  # in the order of their making, inputs first
        moved = max(len(needed) - 1, 0) * (given.size / cluster.network + cluster.latency)
        begin = max((done[x] for x in needed), default=0.0)
        done[task] = begin + moved + given.seconds(task, cluster)
    return max(done.values()) + 2 * given.size / cluster.network


# --- Tables -------------------------------------------------------------------------------------

PARAMS = (10**3, 10**6, 10**9)


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", f"|{'---:|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def size_text(count: float) -> str:
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= unit:
            return f"{count / unit:.3g} {name}"
    return f"{count:.0f} B"


def seconds_text(seconds: float) -> str:
    return f"{seconds:,.0f} s" if seconds >= 100 else f"{seconds:.3g} s"


def power(count: int) -> str:
    return f"10^{round(math.log10(count))}" if count >= 10**3 else f"{count:,}"


def of_graphs(counts: tuple[int, ...]) -> str:
    """Tasks, levels and the longest chain, by partitions and parameters."""
    rows = []
    for count in counts:
        paths = []
        for params in PARAMS:
            given = pass_over(count, count, 8 * params)  # a second each
            paths.append(seconds_text(critical_path(given, Cluster(count))))
        levels = math.ceil(math.log(count, 8) - 1e-9)
        rows.append([f"{count:,}", f"{len(given.inputs):,}", str(levels), *paths])
    head = ["partitions", "tasks", "levels of sums"]
    return table([*head, *(f"{power(p)} parameters" for p in PARAMS)], rows)


def scaling(counts: Any, partitions: Any, work: Any) -> str:
    """Time, efficiency, bytes moved and memory, by workers and parameters."""
    rows = []
    for params in PARAMS:
        for workers in counts:
            given = pass_over(partitions(workers), work(workers), 8 * params)
            found = run(given, Cluster(workers))
            efficiency = given.work / (workers * found.seconds)
            rows.append(
                [
                    power(params),
                    f"{workers:,}",
                    f"{given.partitions:,}",
                    seconds_text(found.seconds),
                    f"{100 * efficiency:.0f} %",
                    size_text(found.moved),
                    size_text(found.peak),
                ]
            )
    head = "parameters workers partitions time efficiency moved".split()
    return table([*head, "fullest worker"], rows)


def tables(most: int = 10**4) -> dict[str, str]:
    """The tables of the page by their names; most: the largest number of partitions."""
    workers = [w for w in (1, 10, 100, 1000) if 10 * w <= most]
    return {
        "graphs": of_graphs(tuple(n for n in (10, 100, 1000, 10**4) if n <= most)),
        "strong": scaling(workers, lambda _: most, lambda _: float(most)),
        "few partitions": scaling(workers, lambda w: 2 * w, lambda _: float(most)),
        "weak": scaling(workers, lambda w: 10 * w, lambda w: 10.0 * w),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--partitions", type=int, default=10**4)
    for name, text in tables(parser.parse_args().partitions).items():
        print(f"{name}\n\n{text}\n")


if __name__ == "__main__":
    main()
