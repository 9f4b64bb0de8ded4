"""Products of a sparse matrix, computed by a scheduler of Dask.

Knows how products are divided into tasks. Must not know patterns or plans. A task runs the
function on a tape of its own, where it is computed: tapes belong to a thread, and are not sent.
Each product is the same as without Dask, bit for bit, however they are divided.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad._core.quiet import errstate
from tapegrad._core.types import Value
from tapegrad._errors import InputError, describe, message
from tapegrad.sparse._products import Part

NAMED = ("threads", "processes", "synchronous", "sync", "single-threaded", "threading")
Scheduler = Any


def require_scheduler(call: str, scheduler: Scheduler) -> None:
    """Raise InputError for what is no scheduler, ImportError where Dask is missing."""
    if scheduler is None:
        return
    client = "Client" in type(scheduler).__name__ and hasattr(scheduler, "get")
    known = scheduler in NAMED if isinstance(scheduler, str) else client or callable(scheduler)
    if not known:
        raise InputError(
            message(
                call,
                'scheduler "threads", "processes", "synchronous", a Client of dask.distributed or '
                "a get function of Dask",
                repr(scheduler) if isinstance(scheduler, str) else describe(scheduler),
                "Leave it away to compute here",
            )
        )
    _dask(call)  # at once, rather than after the function has run


def _dask(call: str) -> Any:
    try:
        import dask
    except ImportError as error:
        raise ImportError(f"{call}: scheduler= needs Dask. Install tapegrad[dask].") from error
    return dask


def spread(
    call: str, scheduler: Scheduler, made: Callable[[], Any], parts: Sequence[Part]
) -> list[Value]:
    """The needed elements of each product, in order. made: a new `Measured`."""
    dask = _dask(call)
    count = max(min(2 * _workers(dask, scheduler), len(parts)), 1)
    groups = [parts[at::count] for at in range(count)]
    task, settings = dask.delayed(_products, pure=False, traverse=False), dict(np.geterr())
    computed = dask.compute(
        *(task(made, group, settings) for group in groups), scheduler=scheduler
    )
    found: list[Value] = [None] * len(parts)
    for at, results in enumerate(computed):
        found[at::count] = results
    return found


def _products(
    made: Callable[[], Any], parts: Sequence[Part], settings: dict[str, Any]
) -> list[Value]:
    """The task: some products, where they are computed."""
    with errstate(**settings):
        return list(made().products(parts))


def _workers(dask: Any, scheduler: Scheduler) -> int:
    """How many tasks run at a time."""
    if hasattr(scheduler, "nthreads"):
        return max(sum(scheduler.nthreads().values()), 1)
    return int(dask.config.get("num_workers", None) or os.cpu_count() or 1)


__all__ = ["Scheduler", "require_scheduler", "spread"]
