"""One pass over the data: its graph, and where it runs.

Knows Dask's schedulers and clients. Must not know what a task computes.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import CancelledError
from typing import Any, NamedTuple

from tapegrad._block import contextmanager
from tapegrad._errors import InputError, describe, message
from tapegrad._progress import Bar, Progress
from tapegrad.dask._imports import dask_module, is_a
from tapegrad.dask._partitions import Partitions, is_future
from tapegrad.dask._tasks import FAN_IN, Place, Step, add_parts, aux_of, finish, run_part

ATTEMPTS = 3  # passes, where all workers that had the parameters are gone


class Where(NamedTuple):
    """Where and how a pass runs, as the user said."""

    client: Any = None
    scheduler: Any = None
    retries: int | None = None
    progress: Progress = None


def run_pass(step: Step, partitions: Partitions, places: list[Place], where: Where) -> Any:
    """`(leaves, aux)` of all partitions; leaves is None if none of them has rows."""
    client = client_of(step.call, where, partitions)
    if client is None:
        return _run_locally(step, partitions, places, where)
    return _run_on_client(step, partitions, places, where, client)


def _name(step: Step) -> str:
    """For the tasks of one pass: a cluster may still hold those of another."""
    return f"{step.kind}-{uuid.uuid4().hex}"


def graph_of(
    step_key: Any, partitions: Partitions, places: list[Place], name: str, has_aux: bool
) -> tuple[dict[Any, Any], Any]:
    """The tasks of a pass over the graph of the data, and the key of its result.

    The results of `FAN_IN` neighbours are summed by one task, and so are the sums: the tree is the
    same wherever the tasks run.
    """
    graph: dict[Any, Any] = {}
    parts: list[Any] = []
    for i, (blocks, place) in enumerate(zip(partitions.blocks, places, strict=True)):
        parts.append((name, i))
        graph[name, i] = (run_part, step_key, blocks, place)
    level, rest = parts, 0
    while len(level) > 1:
        rest += 1
        groups = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
        level = [(f"sum-{name}", rest, i) for i in range(len(groups))]
        for key, group in zip(level, groups, strict=True):
            graph[key] = (add_parts, step_key, group)
    aux = []
    if has_aux:
        aux = [(f"aux-{name}", i) for i in range(len(parts))]
        graph.update({key: (aux_of, part) for key, part in zip(aux, parts, strict=True)})
    out = f"result-{name}"
    graph[out] = (finish, level[0], aux)
    return graph, out


def _joined_to(partitions: Partitions, graph: dict[Any, Any], name: str) -> dict[Any, Any]:
    """The graph of the data and that of the pass, where a block that one task takes is made there.

    A task of its own for each block costs the scheduler and a worker as much again, and its block
    may be sent to another worker. Blocks that others need, and those that already lie somewhere,
    are left as they are. So is a graph with nodes of Dask's older kind, which do not tell what
    they need.
    """
    whole = dict(partitions.graph)
    if not all(hasattr(node, "dependencies") for node in whole.values() if not is_future(node)):
        return {**whole, **graph}
    used = Counter(key for keys in partitions.blocks for key in keys)
    for node in whole.values():
        used.update(getattr(node, "dependencies", ()))

    def maker(key: Any) -> Any:
        """The task that makes a block, taken out of the graph, or the key."""
        node: Any = whole.get(key)
        if used[key] != 1:
            return key
        if is_a(node, "dask._task_spec", "Alias"):
            found = maker(node.target)
            if found is node.target:
                return key
        elif is_a(node, "dask._task_spec", "Task"):
            found = node
        else:
            return key
        del whole[key]
        return found

    for i, blocks in enumerate(partitions.blocks):
        task, step_key, _, place = graph[name, i]
        graph[name, i] = (task, step_key, [maker(key) for key in blocks], place)
    return {**whole, **graph}


def client_of(call: str, where: Where, partitions: Partitions) -> Any:
    """The client on whose cluster the pass runs, or None for a scheduler of this machine."""
    if where.client is not None and where.scheduler is not None:
        got = f"client={describe(where.client)} and scheduler={where.scheduler!r}"
        raise InputError(message(call, "one of client= and scheduler=", got, "Leave one away"))
    client = where.client
    if client is None and where.scheduler is None:
        client = partitions.client
    if client is None:
        get = dask_module(call, "dask.base").get_scheduler(scheduler=where.scheduler)
        owner = getattr(get, "__self__", None)
        client = owner if is_a(owner, "distributed", "Client") else None
    elif not is_a(client, "distributed", "Client"):
        advice = "Pass a distributed.Client, or scheduler= for a scheduler of this machine"
        raise InputError(message(call, "a client of Dask", describe(client), advice))
    if client is None:
        if where.retries is not None:
            advice = "Pass client=, or leave retries away: other schedulers have none"
            raise InputError(message(call, "a client, for retries=", "none", advice))
    elif client.asynchronous:
        advice = "Call it from a thread: await asyncio.to_thread(...), with an ordinary client"
        raise InputError(message(call, "a synchronous client", "an asynchronous one", advice))
    elif not (where.progress is None or isinstance(where.progress, bool)):
        advice = "Pass True for distributed.progress, or a class with the other schedulers"
        got = describe(where.progress)
        raise InputError(message(call, "progress=True or False with a client", got, advice))
    return client


# --- On this machine ----------------------------------------------------------------------------


def _run_locally(step: Step, partitions: Partitions, places: list[Place], where: Where) -> Any:
    name = _name(step)
    step_key = f"step-{name}"
    graph, out = graph_of(step_key, partitions, places, name, step.has_aux)
    whole = {**_joined_to(partitions, graph, name), step_key: step}
    delayed = dask_module(step.call, "dask.delayed").Delayed(out, whole)
    with Bar(step.call, where.progress, len(partitions)) as bar, _counted(bar, name):
        return delayed.compute(scheduler=where.scheduler, optimize_graph=False)


@contextmanager
def _counted(bar: Bar, name: str) -> Iterator[None]:
    """A step of the bar for each partition that is done; Dask tells it in the caller's thread."""
    if not bar.may_show():
        yield
        return

    def note(key: Any, *_: Any) -> None:
        if isinstance(key, tuple) and key[0] == name:
            bar.step()

    with dask_module(bar.call, "dask.callbacks").Callback(posttask=note):
        yield


# --- On a cluster -------------------------------------------------------------------------------


def _run_on_client(
    step: Step, partitions: Partitions, places: list[Place], where: Where, client: Any
) -> Any:
    """The pass with the parameters on every worker.

    Dask computes again what a lost worker had, but not what a client had sent: where all workers
    are lost at once, the pass is repeated.
    """
    delayed = dask_module(step.call, "dask.delayed")
    for attempt in range(1, ATTEMPTS + 1):
        try:
            sent = client.scatter(step, broadcast=True, hash=False)
            name = _name(step)
            graph, out = graph_of(sent.key, partitions, places, name, step.has_aux)
            whole = {**_joined_to(partitions, graph, name), sent.key: sent}
            future = client.compute(
                delayed.Delayed(out, whole), retries=where.retries, optimize_graph=False
            )
            if where.progress:
                with client.as_current():
                    dask_module(step.call, "distributed").progress(future)
            return future.result()
        except (CancelledError, asyncio.CancelledError):
            if attempt == ATTEMPTS:
                raise
    raise AssertionError("the last attempt returns or raises")


__all__ = ["Where", "client_of", "graph_of", "run_pass"]
