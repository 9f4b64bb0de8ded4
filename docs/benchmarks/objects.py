"""Cost of the object layer, beside PyTorch in the same process.

Run ``python docs/benchmarks/objects.py [--only ROW ...] [--quick] [--threads N]``.
Prints one table: a row per promise, with its goal and the figure. With ``--programs`` the rows
are the small programs of ``object_programs``, which shall take less time than PyTorch, and with
``--programs medium`` the same at a medium size, which shall take at most 1.2 times as long; beside
them stands what the program costs by hand, as bare calls of NumPy. It is a benchmark and not a
test: the exit status is 0 whatever it finds.

Knows: the rows and their goals. Must not know: how calls are timed (timing), and what the
programs are (object_programs, object_programs_by_hand).
"""

from __future__ import annotations

import argparse
import os
import statistics
import tracemalloc
from collections.abc import Callable
from typing import Any

PROGRAM_GOALS = {"small": 1.0, "medium": 1.2}
GOALS = {"mlp-tanh": 1.0, "mlp-relu": 1.0, "chain": 0.6, "memory": 4.0}


def training_step(library: Any, activation: str, loss: str) -> Callable[[], Any]:
    """Forward, loss, backward and SGD of a 10-64-64-10 net on 32 rows."""
    library.manual_seed(0)
    nn = library.nn
    layer = getattr(nn, activation)
    net = nn.Sequential(nn.Linear(10, 64), layer(), nn.Linear(64, 64), layer(), nn.Linear(64, 10))
    judge = getattr(nn, loss)()
    optimizer = library.optim.SGD(net.parameters(), lr=0.01)
    x = library.randn(32, 10)
    y = library.randint(0, 10, (32,)) if loss == "CrossEntropyLoss" else library.randn(32, 10)

    def step() -> Any:
        optimizer.zero_grad()
        value = judge(net(x), y)
        value.backward()
        optimizer.step()
        return value

    return step


def chain(library: Any) -> Callable[[], Any]:
    """200 times (sin, mul, add) on 16 numbers, forward and backward."""
    library.manual_seed(0)
    x = library.randn(16).requires_grad_()

    def run() -> Any:
        x.grad = None
        y = x
        for _ in range(200):
            y = y.sin() * 1.01 + x
        y.sum().backward()
        return x.grad

    return run


def ratio(build: Callable[[Any], Callable[[], Any]], seconds: float) -> tuple[float, str]:
    """The time of our call over PyTorch's, timed in turn, and both."""
    import torch as pytorch
    from timing import format_seconds, interleave

    import tapegrad.torch as torch

    calls = {"ours": build(torch), "theirs": build(pytorch)}
    samples = interleave(calls, seconds, at_least=11)
    pairs = list(zip(samples["ours"], samples["theirs"], strict=True))
    ours, theirs = (statistics.median(samples[name]) for name in ("ours", "theirs"))
    found = statistics.median(mine / other for mine, other in pairs)
    return found, f"{found:.2f}x ({format_seconds(ours)} to {format_seconds(theirs)})"


def memory() -> tuple[float, str]:
    """The peak of a forward pass with history over that without it, of a net of 64 layers."""
    import tapegrad.torch as torch

    net = torch.nn.Sequential()
    for _ in range(32):
        net.append(torch.nn.Linear(128, 128)).append(torch.nn.Tanh())
    x = torch.randn(256, 128)

    def peak(call: Callable[[], Any]) -> int:
        call()
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        call()
        found = tracemalloc.get_traced_memory()[1] - before
        tracemalloc.stop()
        return found

    def quietly() -> Any:
        with torch.no_grad():
            return net(x)

    with_history, without = peak(lambda: net(x)), peak(quietly)
    found = with_history / without
    return found, f"{found:.1f}x less ({without >> 10} KiB of {with_history >> 10})"


def print_programs(size: str, only: list[str] | None, seconds: float) -> None:
    """Measure the programs of a size, and print a row each; gradients are compared first."""
    import torch as pytorch
    from object_programs import PROGRAMS
    from object_programs_by_hand import BY_HAND
    from timing import format_seconds, interleave

    import tapegrad.torch as torch

    goal, medium = PROGRAM_GOALS[size], size == "medium"
    met, rows = 0, only or list(PROGRAMS)
    pairs = ("tapegrad", "PyTorch"), ("by hand", "PyTorch"), ("tapegrad", "by hand")
    heads = f"{'program':22} {'at most':8} {'tapegrad over PyTorch':28}"
    print(f"{heads} {'by hand over PyTorch':>20} {'tapegrad over by hand':>22}")
    for name in rows:
        steps = {
            "tapegrad": PROGRAMS[name](torch, medium),
            "PyTorch": PROGRAMS[name](pytorch, medium),
            "by hand": BY_HAND[name](medium),
        }
        right = [grad.numpy() for grad in steps["PyTorch"]()]
        found = {"tapegrad": steps["tapegrad"](), "by hand": steps["by hand"]()[1]}
        differ = [f", {who} differs" for who, own in found.items() if not are_close(own, right)]
        samples = interleave(steps, seconds, at_least=11)
        beside, floor, over = (
            statistics.median(x / y for x, y in zip(samples[one], samples[other], strict=True))
            for one, other in pairs
        )
        ours, theirs = (format_seconds(statistics.median(samples[who])) for who in pairs[0])
        met += beside <= goal
        words = f"{goal:g}x {'met' if beside <= goal else 'no'}"
        text = f"{beside:.2f}x ({ours} to {theirs})"
        figures = f"{words:8} {text:28} {floor:19.2f}x {over:21.3g}x"
        print(f"{name:22} {figures}{''.join(differ)}", flush=True)
    print(f"{met} of {len(rows)} met")


def are_close(found: list[Any], right: list[Any]) -> bool:
    """Whether gradients, tensors or arrays, are the right ones to float32."""
    import numpy as np

    return all(
        np.allclose(np.asarray(x), y, rtol=1e-3, atol=1e-4 * float(np.abs(y).max()) + 1e-6)
        for x, y in zip(found, right, strict=True)
    )


def main() -> None:
    """Measure the rows and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", help="these rows")
    parser.add_argument("--programs", nargs="?", choices=PROGRAM_GOALS, const="small")
    parser.add_argument("--quick", action="store_true", help="two seconds a row, not ten")
    parser.add_argument("--threads", type=int, default=1, help="0: what the libraries choose")
    options = parser.parse_args()
    if options.threads:  # before NumPy and PyTorch are imported
        for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ[name] = str(options.threads)
    seconds = 2.0 if options.quick else 10.0
    measures: dict[str, Callable[[], tuple[float, str]]] = {
        "mlp-tanh": lambda: ratio(lambda t: training_step(t, "Tanh", "CrossEntropyLoss"), seconds),
        "mlp-relu": lambda: ratio(lambda t: training_step(t, "ReLU", "MSELoss"), seconds),
        "chain": lambda: ratio(chain, seconds),
        "memory": memory,
    }
    if options.programs:
        print_programs(options.programs, options.only, seconds / 5)
        return
    print(f"{'row':10} {'goal':>14}  {'':4} figure")
    for row in options.only or GOALS:
        found, text = measures[row]()
        least = row == "memory"
        met = found >= GOALS[row] if least else found <= GOALS[row]
        goal = f"{'at least' if least else 'at most'} {GOALS[row]:g}x"
        print(f"{row:10} {goal:>14}  {'met' if met else 'no':4} {text}", flush=True)


if __name__ == "__main__":
    main()
