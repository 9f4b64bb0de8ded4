"""One measurement of one library in a fresh process: ``python probe.py MEASURE LIBRARY COUNT``.

Knows: how to read a process's memory, and what an import costs. Must not know: other libraries,
goals, and how rows are printed. Prints one number. The benchmark starts these processes, and
hands them the settings that hold every library to one thread.
"""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import libraries
import numpy as np
import programs
import timing

STATUS = Path("/proc/self/status")
TIMED_IMPORT = """
import numpy, time
start = time.perf_counter()
import {}
print(time.perf_counter() - start)
"""
CLEAR_PEAK = Path("/proc/self/clear_refs")


def probe(measure: str, library: str, count: int) -> float | str:
    """Run one measure in a child process: its number, or the name of the error that came."""
    return _child(__file__, measure, library, str(count))


def import_seconds(library: str, runs: int) -> list[float | str]:
    """Seconds that fresh processes, which have NumPy already, take to import a library.

    Bytecode is cached, as it is for an installed library, whatever the environment says.
    """
    with TemporaryDirectory() as folder:
        cached = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder}
        program = TIMED_IMPORT.format(libraries.MODULES[library])
        _child("-c", program, **cached)
        return [_child("-c", program, **cached) for _ in range(runs)]


def _child(*arguments: str, **environment: str) -> float | str:
    child = subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | environment,
    )
    if child.returncode == 0:
        return float(child.stdout)
    last_line = child.stderr.strip().rpartition("\n")[2]
    return last_line.partition(":")[0]


def forward_seconds(_name: str, n: int) -> float:
    """Seconds of the plain forward of Rosenbrock's function, where no library is imported."""
    program, x = programs.rosenbrock(np), programs.vector(n)
    return timing.median_seconds(lambda: program(x))


def gradient_seconds(name: str, n: int) -> float:
    """Seconds of the gradient of Rosenbrock's function."""
    library = libraries.LOADERS[name]()
    gradient = library.grad(programs.rosenbrock(library.xp))
    x = library.argument(programs.vector(n))
    return timing.median_seconds(lambda: gradient(x))


def gradient_peak(name: str, n: int) -> float:
    """Bytes that the process grows by, at its peak, in a gradient of Rosenbrock's function."""
    library = libraries.LOADERS[name]()
    gradient = library.grad(programs.rosenbrock(library.xp))
    gradient(library.argument(programs.vector(10)))
    return _resident_peak(gradient, library.argument(programs.vector(n)))


def jvp_peak(name: str, steps: int) -> float:
    """Peak bytes of a jvp through ``steps`` steps on 10^5 elements, in arrays of that size."""
    library = libraries.LOADERS[name]()
    value = programs.vector(100_000)
    x, x_dot = library.argument(value), library.argument(value)
    library.jvp(programs.polynomial_loop(library.xp, 2), x, x_dot)
    program = programs.polynomial_loop(library.xp, steps)
    peak = _traced_peak if library.numpy_memory else _resident_peak
    return peak(lambda x: library.jvp(program, x, x_dot), x) / value.nbytes


def kept_by_errors(name: str, calls: int) -> float:
    """Bytes kept after ``calls`` gradients that raise in the middle."""
    library = libraries.LOADERS[name]()
    gradient = library.grad(programs.failing_chain(library.xp, 20))

    def call(x: Any) -> None:
        try:
            gradient(x)
        except ArithmeticError:
            return

    return _kept(call, library, calls)


def kept_by_successes(name: str, calls: int) -> float:
    """Bytes kept after ``calls`` gradients."""
    library = libraries.LOADERS[name]()
    return _kept(library.grad(programs.chain(library.xp, 20)), library, calls)


MEASURES: dict[str, Callable[[str, int], float]] = {
    measure.__name__: measure
    for measure in (
        forward_seconds,
        gradient_seconds,
        gradient_peak,
        jvp_peak,
        kept_by_errors,
        kept_by_successes,
    )
}


def _kept(call: Callable[[Any], Any], library: libraries.Library, calls: int) -> float:
    """Growth of memory over ``calls`` calls on 1,000 elements, after a tenth as many."""
    x = library.argument(programs.vector(1_000))
    if library.numpy_memory:
        tracemalloc.start()
    before = 0.0
    for done in range(calls + calls // 10):
        if done == calls // 10:
            before = _held(library)
        call(x)
    return _held(library) - before


def _held(library: libraries.Library) -> float:
    gc.collect()
    return tracemalloc.get_traced_memory()[0] if library.numpy_memory else _resident("VmRSS")


def _traced_peak(call: Callable[[Any], Any], x: Any) -> float:
    tracemalloc.start()
    call(x)
    return tracemalloc.get_traced_memory()[1]


def _resident_peak(call: Callable[[Any], Any], x: Any) -> float:
    gc.collect()
    if CLEAR_PEAK.exists():
        CLEAR_PEAK.write_text("5")
    before = _resident("VmRSS")
    call(x)
    return _resident("VmHWM") - before


def _resident(field: str) -> float:
    """Resident bytes now (VmRSS) or at the peak (VmHWM); only the peak where there is no /proc.

    Linux hands the parent's ru_maxrss down to a child, so that a large parent would hide what
    the child does; the counters in /proc belong to this process alone.
    """
    if STATUS.exists():
        lines = STATUS.read_text().splitlines()
        return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith(field))
    unit = 1 if sys.platform == "darwin" else 1024
    return float(unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)


def main() -> None:
    """Print the number that the command line asks for."""
    measure, name, count = sys.argv[1:]
    print(MEASURES[measure](name, int(count)))


if __name__ == "__main__":
    main()
