"""Cost of compiled derivatives, beside `jax.jit`.

Run ``python docs/benchmarks/compile.py [--only ROW ...] [--quick] [--threads N] [--memory]
[--markdown]``, with OMP_NUM_THREADS as many threads for BLAS. The process is held to as many cores
(on Linux): by its flags alone, XLA uses two. All times are over the plain NumPy
forward: medians of ratios of times taken in turn. Values and gradients are compared with eager
ones first. float64. What was built before is in TAPEGRAD_CACHE: the seconds that building takes
are those of an empty one.

Knows: rows and columns. Must not know: programs (`compiled_programs.py`), nor their derivatives
(`compiled_by_hand.py`).
"""

from __future__ import annotations

import argparse
import gc
import os
import statistics
import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

if "--threads" not in sys.argv:
    os.environ.setdefault(
        "XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    )

import numpy as np
from compiled_by_hand import BY_HAND
from compiled_programs import PROGRAMS

import tapegrad

try:
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_enable_x64", True)
except ImportError:
    jax = None

Call = Callable[[], Any]
Row = tuple[str, Callable[[Any, Any], Any], Any, int | str]


def leaves(value: Any) -> list[Any]:
    return [np.asarray(x) for x in tapegrad._tree.flatten(value)[0]]


def derivative(library: Any, f: Callable[[Any], Any], order: int | str) -> Callable[[Any], Any]:
    if isinstance(order, str):
        return getattr(library, order)(f)
    if order == 1:
        return library.value_and_grad(f)

    def product(x: Any) -> Any:
        def slope(x: Any) -> Any:
            parts = library.grad(f)(x)
            parts = parts if isinstance(parts, list) else [parts]
            return sum((g * 0.5).sum() for g in parts)

        return library.grad(slope)(x)

    return product


def calls_of(
    name: str, f: Any, x: Any, order: int | str, threads: int
) -> tuple[dict[str, Call], dict[str, float], float]:
    """The calls by column, the seconds that each took to compile, and the largest difference.

    To compile is what the first calls take beyond what such calls take: two of the function
    itself and a compiled one, or one of jax's.
    """
    calls: dict[str, Call] = {"forward": lambda: f(np, x)}
    built: dict[str, float] = {}
    eager = derivative(tapegrad, lambda x: f(np, x), order)
    expected = leaves(eager(x))
    calls["eager"] = lambda: eager(x)
    found = []
    by_hand = BY_HAND.get(name)
    if by_hand is not None:
        found.append(by_hand(x))
        calls["by hand"] = lambda: by_hand(x)
    for backend in ("numpy", "llvm"):
        fast = tapegrad.compile(eager, backend=backend, threads=threads)
        start = time.perf_counter()
        for _ in range(3):
            got = fast(x)
        took = time.perf_counter() - start
        found.append(got)
        calls[backend] = lambda fast=fast: fast(x)
        built[backend] = took - 2 * seconds(calls["eager"]) - seconds(calls[backend])
    if jax is not None:
        compiled = jax.jit(derivative(jax, lambda x: f(jnp, x), order))
        given = jax.tree_util.tree_map(jnp.asarray, x)
        start = time.perf_counter()
        found.append(jax.block_until_ready(compiled(given)))
        took = time.perf_counter() - start
        calls["jax"] = lambda: jax.block_until_ready(compiled(given))
        built["jax"] = took - seconds(calls["jax"])
    error = max(difference(leaves(got), expected) for got in found)
    return calls, built, error


def seconds(call: Call) -> float:
    """Time of a call, without the first one."""
    call()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def difference(got: list[Any], expected: list[Any]) -> float:
    """The largest difference of arrays, relative to each one's largest element."""
    pairs = zip(got, expected, strict=True)
    return max(float(np.max(np.abs(a - b)) / max(1, np.max(np.abs(b)))) for a, b in pairs)


def peak(name: str, column: str, threads: int) -> float:
    """Result of `peak_here`, in a process of its own."""
    given = ["--only", f"={name}", "--peak-of", column, "--threads", str(threads)]
    run = subprocess.run([sys.executable, __file__, *given], capture_output=True, check=True)
    return float(run.stdout)


def peak_here(row: Row, column: str, threads: int) -> float:
    """The megabytes that a compiled program has beyond its inputs and outputs.

    That is what NumPy's arrays hold between calls, and what is added in a call: as far as NumPy
    tells, or as the process grows, whichever is more.
    """
    name, f, x, order = row
    tracemalloc.start()
    if column == "jax":
        compiled = jax.jit(derivative(jax, lambda x: f(jnp, x), order))
        x = jax.tree_util.tree_map(jnp.asarray, x)
        call = lambda: jax.block_until_ready(compiled(x))  # noqa: E731
    else:
        made = derivative(tapegrad, lambda x: f(np, x), order)
        if column == "by hand":
            made = BY_HAND[name]
        elif column != "eager":
            made = tapegrad.compile(made, backend=column, threads=threads)
        call = lambda: made(x)  # noqa: E731
    for _ in range(4):
        outputs = sum(leaf.nbytes for leaf in leaves(call()))
    gc.collect()
    numpys = tracemalloc.DomainFilter(inclusive=True, domain=np.lib.tracemalloc_domain)
    kept = sum(trace.size for trace in tracemalloc.take_snapshot().filter_traces((numpys,)).traces)
    tracemalloc.reset_peak()
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the largest resident set is now the present one
    before, resident = tracemalloc.get_traced_memory()[0], largest_resident()
    out = call()
    traced, grown = tracemalloc.get_traced_memory()[1] - before, largest_resident() - resident
    del out
    return (kept + max(traced - outputs, grown - outputs, 0)) / 1e6


def largest_resident() -> int:
    """The bytes that this process had in memory at most."""
    with open("/proc/self/status") as file:
        (line,) = [line for line in file if line.startswith("VmHWM")]
    return 1024 * int(line.split()[1])


def measured(calls: dict[str, Call], seconds: float) -> tuple[float, dict[str, float]]:
    """The time of the forward, and the others' ratios over it."""
    turns = {}
    for name, call in calls.items():
        call()
        start = time.perf_counter()
        call()
        took = max(time.perf_counter() - start, 1e-7)
        turns[name] = max(1, int(2e-3 / took))
    samples: dict[str, list[float]] = {name: [] for name in calls}
    until = time.perf_counter() + seconds
    while time.perf_counter() < until or len(samples["forward"]) < 5:
        for name, call in calls.items():
            n = turns[name]
            start = time.perf_counter()
            for _ in range(n):
                call()
            samples[name].append((time.perf_counter() - start) / n)
    forward = samples.pop("forward")
    ratios = {
        name: statistics.median(t / f for t, f in zip(times, forward, strict=True))
        for name, times in samples.items()
    }
    return statistics.median(forward), ratios


COLUMNS = ("eager", "by hand", "numpy", "llvm", "jax")


def heading(options: Any) -> list[str]:
    found = ["program", "forward", *COLUMNS, "llvm/jax", "build s", "jax s", "error"]
    if options.memory:
        found += [f"{column} MB" for column in COLUMNS if column != "by hand"]
    return found


def cells(row: Row, options: Any) -> tuple[list[str], dict[str, float]]:
    """A row of the table, and its ratios."""
    name, f, x, order = row
    calls, built, error = calls_of(name, f, x, order, options.threads)
    forward, ratios = measured(calls, 0.3 if options.quick else 2.0)
    found = [name, f"{forward * 1e6:.1f}us"]
    found += [f"{ratios[column]:.3g}" if column in ratios else "-" for column in COLUMNS]
    found.append(f"{ratios['llvm'] / ratios['jax']:.2f}" if "jax" in ratios else "-")
    found += [f"{built[column]:.2f}" if column in built else "-" for column in ("llvm", "jax")]
    found.append(f"{error:.0e}")
    if options.memory:
        columns = [column for column in COLUMNS if column != "by hand"]
        known = [column for column in columns if column in calls]
        peaks = {column: f"{peak(name, column, options.threads):.1f}" for column in known}
        found += [peaks.get(column, "-") for column in columns]
    return found, ratios


def print_line(found: list[str], options: Any) -> None:
    if options.markdown:
        print("| " + " | ".join(found) + " |", flush=True)
    else:
        print(f"{found[0]:24}" + "".join(f"{x:>10}" for x in found[1:]), flush=True)


def is_wanted(name: str, words: list[str]) -> bool:
    """Whether a name holds one of some words, or is one that is given with "=" before it."""
    return not words or any(word == f"={name}" or word in name for word in words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="rows whose names hold one of these")
    parser.add_argument("--quick", action="store_true", help="less time a row")
    parser.add_argument("--threads", type=int, default=1, help="of compiled programs, and of XLA")
    parser.add_argument(
        "--memory", action="store_true", help="megabytes beside inputs and outputs"
    )
    parser.add_argument("--markdown", action="store_true", help="a table for a page")
    parser.add_argument("--peak-of", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # before XLA has made its threads
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: options.threads])
    rows = [row for row in PROGRAMS if is_wanted(row[0], options.only)]
    if options.peak_of:
        print(peak_here(rows[0], options.peak_of, options.threads))
        return
    head = heading(options)
    print_line(head, options)
    if options.markdown:
        print_line(["---"] + ["---:"] * (len(head) - 1), options)
    over: list[float] = []
    for row in rows:
        found, ratios = cells(row, options)
        print_line(found, options)
        if "jax" in ratios:
            over.append(ratios["llvm"] / ratios["jax"])
    if over:
        below = sum(ratio < 1 for ratio in over)
        print(
            f"\nBelow jax.jit: {below} of {len(over)}; median {statistics.median(over):.2f} of it."
        )


if __name__ == "__main__":
    main()
