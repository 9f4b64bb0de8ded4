"""Measures tapegrad.dask on this machine: the rows of docs/scaling.md.

    python docs/scaling/measure.py speed            2 worker processes against 1
    python docs/scaling/measure.py ceiling          the same work without Dask
    python docs/scaling/measure.py overhead         time a partition, if there is no work
    python docs/scaling/measure.py graph            10^4 partitions, from data to graph
    python docs/scaling/measure.py memory           logistic regression on 10^8 rows
    python docs/scaling/measure.py bytes            what workers send each other
    python docs/scaling/measure.py disk             10^5 steps of a state of 1 MB

Each prints what it saw. Ratios are taken within one run; memory is the highest resident set that
the system noted for a process (Linux).
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np  # noqa: E402

COLUMNS = 20
TRUE = np.linspace(-1.0, 1.0, COLUMNS)


def peak() -> float:
    """The highest resident set of this process, in MB."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s*(\d+) kB", status)
    assert found is not None
    return int(found[1]) * 1024 / 1e6


def logistic(w: Any, rows: Any) -> Any:
    """The mean loss of logistic regression: the last column is the label."""
    margins = rows[:, :-1] @ w
    return np.mean(np.logaddexp(0.0, margins) - rows[:, -1] * margins)


def made(block_info: Any = None) -> Any:
    """A block of rows, the same each time it is asked for."""
    (start, stop), _ = block_info[None]["array-location"]
    random = np.random.default_rng(start)
    rows = np.empty((stop - start, COLUMNS + 1))
    rows[:, :-1] = random.random((stop - start, COLUMNS)) - 0.5
    rows[:, -1] = random.random(stop - start) * (1 + np.exp(-(rows[:, :-1] @ TRUE))) < 1
    return rows


def data(rows: int, chunk: int) -> Any:
    """So many rows on Dask, made where they are needed."""
    import dask.array as da

    sizes = (chunk,) * (rows // chunk) + ((rows % chunk,) if rows % chunk else ())
    return da.map_blocks(made, chunks=(sizes, (COLUMNS + 1,)), dtype=float)


@contextmanager
def cluster(workers: int) -> Any:
    """A client of so many worker processes of one thread each."""
    from distributed import Client, LocalCluster

    with (
        tempfile.TemporaryDirectory() as folder,
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            local_directory=folder,
        ) as made,
        Client(made, set_as_default=False) as client,
    ):
        yield client


def timed(function: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    found = function()
    return time.perf_counter() - start, found


# --- Rows ---------------------------------------------------------------------------------------


def speed(args: Any) -> None:
    """Passes over 64 partitions, with one worker and with two in turn."""
    import statistics

    import tapegrad.dask

    rows = data(64 * args.rows, args.rows)
    times: dict[int, list[float]] = {1: [], 2: []}
    bits = set()
    with cluster(1) as one, cluster(2) as two:
        for turn in range(args.turns + 1):
            for workers, client in ((1, one), (2, two)):
                seconds, (value, gradient) = timed(
                    lambda client=client: tapegrad.dask.value_and_grad(
                        logistic, np.zeros(COLUMNS), rows, client=client
                    )
                )
                bits.add(value.tobytes() + gradient.tobytes())
                if turn:  # the first brings the imports
                    times[workers].append(seconds)
    ratios = [a / b for a, b in zip(times[1], times[2], strict=True)]
    print(f"one worker, s: {[round(x, 2) for x in times[1]]}")
    print(f"two workers, s: {[round(x, 2) for x in times[2]]}")
    print(
        f"ratio: median {statistics.median(ratios):.2f}, of {[round(x, 2) for x in ratios]}, "
        f"of the shortest {min(times[1]) / min(times[2]):.2f}"
    )
    print(f"results that differ in a bit: {len(bits) - 1}")


def _block(rows: int, i: int) -> Any:
    """Work for one partition in `speed`, by plain calls."""
    from tapegrad import value_and_grad

    block = made({None: {"array-location": [(i * rows, (i + 1) * rows), (0, COLUMNS + 1)]}})
    return value_and_grad(logistic)(np.zeros(COLUMNS), block)


def ceiling(args: Any) -> None:
    """The partitions of `speed` in one process and in two that share nothing: what this machine
    gives at most, with as few messages as there are processes.
    """
    import functools
    import multiprocessing
    import statistics

    work = functools.partial(_block, args.rows)
    context = multiprocessing.get_context("spawn")
    ratios, loads = [], []
    with context.Pool(1) as one, context.Pool(2) as two:
        for turn in range(args.turns + 1):
            times = [
                timed(lambda pool=pool, n=n: pool.map(work, range(64), chunksize=64 // n))[0]
                for n, pool in ((1, one), (2, two))
            ]
            if turn:  # the first brings the imports
                ratios.append(times[0] / times[1])
                loads.append(os.getloadavg()[0])
    print(
        f"two processes against one: median {statistics.median(ratios):.2f}, "
        f"of {[round(x, 2) for x in ratios]}; load {min(loads):.1f} to {max(loads):.1f}"
    )


def overhead(args: Any) -> None:
    """Passes over partitions of one row: wall time, and that of all processors together."""
    import statistics

    import dask.array as da

    import tapegrad.dask

    def run(count: int, client: Any = None, **where: Any) -> tuple[float, float]:
        rows = da.ones((count, 3), chunks=(1, -1))
        before = processors(client)
        seconds, _ = timed(
            lambda: tapegrad.dask.value_and_grad(
                lambda w, x: np.mean((x @ w) ** 2), np.ones(3), rows, client=client, **where
            )
        )
        return seconds / count * 1e3, (processors(client) - before) / count * 1e3

    with cluster(2) as client:
        for name, where in (
            ("synchronous", {"scheduler": "synchronous"}),
            ("threads", {"scheduler": "threads"}),
            ("2 worker processes", {"client": client}),
        ):
            run(64, **where)
            for count in (64, 640, 6400):
                wall, busy = zip(*(run(count, **where) for _ in range(args.turns)), strict=True)
                print(
                    f"{name}, {count} partitions: least {min(wall):.2f} ms a partition, "
                    f"of processors {statistics.median(busy):.2f} ms (median)",
                    flush=True,
                )


def processors(client: Any) -> float:
    """The time that this process and the workers have had."""
    others = () if client is None else client.run(time.process_time).values()
    return time.process_time() + sum(others)


def graph(args: Any) -> None:
    """The graph of a pass over many partitions, without running it."""
    import dask.array as da

    from tapegrad.dask._partitions import partitions_of
    from tapegrad.dask._passes import graph_of
    from tapegrad.dask._tasks import Place

    for count in (10, 100, 1000, 10_000):
        x = da.random.default_rng(0).normal(size=(count, 3), chunks=(1, -1))
        tree = {"x": x, "y": x.sum(axis=1)}
        busy = time.process_time()
        before, partitions = timed(lambda tree=tree: partitions_of("", tree))
        busy = time.process_time() - busy
        places = [Place(i) for i in range(count)]
        seconds, (found, _) = timed(
            lambda p=partitions, q=places: graph_of("step", p, q, "name", False)
        )
        print(
            f"{count} partitions: {len(found)} tasks on top of {len(partitions.graph)}, "
            f"{before:.2f} s for the data's ({busy:.2f} of the processor), {seconds:.3f} for ours"
        )


def memory(args: Any) -> None:
    """Logistic regression on rows made on the fly, and the peaks of client and workers."""
    import dask
    from scipy.optimize import minimize

    import tapegrad.dask

    dask.config.set({"distributed.worker.memory.target": False})
    rows = data(args.rows, args.chunk)
    print(f"{rows.shape[0]:.0e} rows, {rows.nbytes / 1e9:.1f} GB, {rows.numblocks[0]} partitions")
    passes = []
    with cluster(2) as client:
        print(f"client before the first pass: {peak():.0f} MB", flush=True)

        def fun(w: Any) -> Any:
            seconds, found = timed(
                lambda: tapegrad.dask.value_and_grad(logistic, w, rows, client=client)
            )
            passes.append(seconds)
            print(f"pass {len(passes)}: {seconds:.0f} s, loss {found[0]:.6f}", flush=True)
            return found

        found = minimize(
            fun, np.zeros(COLUMNS), jac=True, method="L-BFGS-B", options={"maxiter": args.steps}
        )
        print(f"off by at most {np.abs(found.x - TRUE).max():.4f} after {found.nit} steps")
        print(f"client and scheduler: {peak():.0f} MB")
        print(f"workers: {[f'{x:.0f} MB' for x in client.run(peak).values()]}")


def bytes_moved(args: Any) -> None:
    """Messages between workers in a pass, by numbers of partitions and parameters."""
    import dask.array as da

    import tapegrad.dask

    def moved(dask_worker: Any) -> int:
        return sum(int(entry["total"]) for entry in dask_worker.transfer_incoming_log)

    with cluster(2) as client:
        for partitions, params in ((8, 10**5), (64, 10**5), (64, 10**6)):
            rows = da.ones((partitions, 1), chunks=(1, -1))
            before = client.run(moved)
            tapegrad.dask.grad(
                lambda w, x: np.mean(x) * np.sum(w), np.ones(params), rows, client=client
            )
            after = client.run(moved)
            total = sum(after.values()) - sum(before.values())
            print(f"{partitions} partitions, {params:.0e} parameters: {total / 1e6:.1f} MB")


def disk(args: Any) -> None:
    """A long sequence whose states go to files; the peak of this process."""
    from tapegrad import checkpoint_sequence, value_and_grad

    runs = 0

    def step(state: Any, c: Any) -> Any:
        nonlocal runs
        runs += 1
        return (np.sin(state) if args.sin else state) * c

    start = np.arange(args.size, dtype=float)
    start /= 2 * args.size  # in place, as the peak counts
    start += 0.5
    bare = peak()

    def loss(c: Any, start: Any, more: dict[str, Any]) -> Any:
        return np.sum(checkpoint_sequence(step, start, args.steps, c, **more))

    both = value_and_grad(loss, (0, 1))
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        more = {"disk": folder, "snapshots": args.snapshots}
        if args.cost is not None:
            more["disk_cost"] = (args.cost, args.cost)
        seconds, (value, slopes) = timed(lambda: both(1 - 1e-6, start, more))
    print(
        f"{args.steps} steps of {start.nbytes / 1e6:g} MB: {seconds:.0f} s, "
        f"{runs / args.steps:.2f} runs a step, peak {peak():.1f} MB, "
        f"{peak() - bare:.1f} above the {bare:.1f} before"
    )
    print(f"value {value.hex()}, derivative {slopes[0].hex()}", flush=True)
    if args.compare:
        found, (by_c, by_start) = both(1 - 1e-6, start, {"snapshots": 100})
        same = found == value and by_c == slopes[0] and np.array_equal(by_start, slopes[1])
        print(f"equal to that without files, to the bit: {same}")


ROWS = {
    "speed": speed,
    "ceiling": ceiling,
    "overhead": overhead,
    "graph": graph,
    "memory": memory,
    "bytes": bytes_moved,
    "disk": disk,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("row", choices=ROWS)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--rows", type=float)
    parser.add_argument("--chunk", type=float, default=5e5)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--snapshots", type=int)
    parser.add_argument("--size", type=int, default=125_000)
    parser.add_argument("--sin", action="store_true", help="a step that takes longer")
    parser.add_argument("--cost", type=float, help="of writing, and of reading, in steps")
    parser.add_argument("--folder", default=None)
    parser.add_argument("--compare", action="store_true")
    args = parser.parse_args()
    args.rows = int(args.rows or {"speed": 2e5, "ceiling": 2e5}.get(args.row, 1e8))
    args.chunk = int(args.chunk)
    args.steps = args.steps or {"memory": 6}.get(args.row, 100_000)
    ROWS[args.row](args)


if __name__ == "__main__":
    sys.exit(main())
