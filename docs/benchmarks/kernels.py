"""The object layer's operations on arrays of medium size, beside PyTorch in the same process.

Run ``python docs/benchmarks/kernels.py [--size ROWS COLUMNS] [--only ROW ...] [--quick]``.
Prints one table, the dearest rows first: the time of each program's forward and backward pass in
float32 with one thread, here and in PyTorch, and the ratio. At 8 x 8 calls cost what Python does,
from 256 x 784 on what the passes over memory do: this table is about the latter. It is a
benchmark and not a test: the exit status is 0 whatever it finds.

Knows: the programs, each written once for both libraries. Must not know: how calls are timed
(timing).
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Callable
from typing import Any

GOAL = 1.2
Step = Callable[[], Any]
Program = Callable[[Any, int, int], Step]
PROGRAMS: dict[str, Program] = {}


def program(given: Program) -> Program:
    """Add a program to the table, under its name."""
    PROGRAMS[given.__name__.replace("_", " ").strip()] = given
    return given


def array(library: Any, *shape: int, seed: int = 0, grad: bool = True) -> Any:
    """The same normal numbers in each library."""
    import numpy as np

    values = np.random.default_rng(seed).standard_normal(shape).astype(np.float32)
    made = library.tensor(values)
    return made.requires_grad_() if grad else made


def classes(library: Any, count: int, below: int) -> Any:
    """Random whole numbers."""
    import numpy as np

    return library.tensor(np.random.default_rng(1).integers(0, below, count))


def backward_of(function: Callable[..., Any], *leaves: Any) -> Step:
    """A forward and a backward pass; a result of many elements gets a gradient that varies."""
    seeds: list[Any] = []

    def step() -> Any:
        for leaf in leaves:
            leaf.grad = None
        out = function(*leaves)
        if not seeds:
            seeds.append((out.detach() * 0.5 + 0.25) if out.ndim else None)
        out.backward(seeds[0])
        return [leaf.grad for leaf in leaves]

    return step


# --- Functions of one array ---------------------------------------------------------------------

SINGLE: dict[str, Callable[[Any, Any], Any]] = {
    "relu": lambda t, x: t.relu(x),
    "leaky relu": lambda t, x: t.nn.functional.leaky_relu(x, 0.1),
    "elu": lambda t, x: t.nn.functional.elu(x),
    "gelu": lambda t, x: t.nn.functional.gelu(x),
    "gelu tanh": lambda t, x: t.nn.functional.gelu(x, approximate="tanh"),
    "silu": lambda t, x: t.nn.functional.silu(x),
    "mish": lambda t, x: t.nn.functional.mish(x),
    "softplus": lambda t, x: t.nn.functional.softplus(x),
    "logsigmoid": lambda t, x: t.nn.functional.logsigmoid(x),
    "hardswish": lambda t, x: t.nn.functional.hardswish(x),
    "hardtanh": lambda t, x: t.nn.functional.hardtanh(x),
    "sigmoid": lambda t, x: t.sigmoid(x),
    "tanh": lambda t, x: t.tanh(x),
    "exp": lambda t, x: t.exp(x),
    "erf": lambda t, x: t.erf(x),
    "abs": lambda t, x: t.abs(x),
    "square": lambda t, x: x**2,
    "clamp": lambda t, x: t.clamp(x, -0.5, 0.5),
    "softmax": lambda t, x: t.softmax(x, 1),
    "softmax of columns": lambda t, x: t.softmax(x, 0),
    "log softmax": lambda t, x: t.log_softmax(x, 1),
    "logsumexp": lambda t, x: t.logsumexp(x, 1),
    "sum": lambda t, x: x.sum(),
    "sum of rows": lambda t, x: x.sum(1),
    "sum of columns": lambda t, x: x.sum(0),
    "mean of rows": lambda t, x: x.mean(1),
    "variance of rows": lambda t, x: x.var(1),
    "maximum of rows": lambda t, x: x.max(1)[0],
    "amax of columns": lambda t, x: x.amax(0),
    "norm of rows": lambda t, x: t.linalg.norm(x, dim=1),
    "sort": lambda t, x: x.sort(1)[0],
    "topk": lambda t, x: x.topk(10, 1)[0],
    "cumsum": lambda t, x: x.cumsum(1),
    "cumsum of columns": lambda t, x: x.cumsum(0),
    "transposed copy": lambda t, x: x.t().contiguous(),
    "read": lambda t, x: x[:, ::2] * 2,
    "repeat": lambda t, x: x.repeat(2, 1),
    "pad": lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1)),
    "roll": lambda t, x: x.roll(3, 1),
    "pdist": lambda t, x: t.nn.functional.pdist(x),
    "pdist p=1": lambda t, x: t.nn.functional.pdist(x, 1.0),
    "normalize": lambda t, x: t.nn.functional.normalize(x, dim=1),
    "dropout": lambda t, x: t.nn.functional.dropout(x, 0.5).sum(),
}


def _single(function: Callable[[Any, Any], Any]) -> Program:
    def build(t: Any, rows: int, columns: int) -> Step:
        return backward_of(lambda x: function(t, x), array(t, rows, columns))

    return build


PROGRAMS.update({name: _single(function) for name, function in SINGLE.items()})

# --- Functions of two arrays --------------------------------------------------------------------

PAIRS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "add": lambda t, x, y: x + y,
    "mul": lambda t, x, y: x * y,
    "div": lambda t, x, y: x / (y * y + 1),
    "polynomial": lambda t, x, y: x * y + x * 2 - y * 0.5,
    "maximum": lambda t, x, y: t.maximum(x, y),
    "where": lambda t, x, y: t.where(x.detach() > 0, x, y),
    "masked fill": lambda t, x, y: x.masked_fill(y.detach() > 0, 0.0) * y,
    "cat": lambda t, x, y: t.cat([x, y], 1),
    "stack": lambda t, x, y: t.stack([x, y]),
    "mse loss": lambda t, x, y: t.nn.functional.mse_loss(x, y),
    "l1 loss": lambda t, x, y: t.nn.functional.l1_loss(x, y),
    "smooth l1 loss": lambda t, x, y: t.nn.functional.smooth_l1_loss(x, y),
    "huber loss": lambda t, x, y: t.nn.functional.huber_loss(x, y),
    "cosine similarity": lambda t, x, y: t.nn.functional.cosine_similarity(x, y, 1),
    "matmul": lambda t, x, y: x @ y.t(),
    "einsum": lambda t, x, y: t.einsum("ij,kj->ik", x, y),
}


def _pair(function: Callable[[Any, Any, Any], Any]) -> Program:
    def build(t: Any, rows: int, columns: int) -> Step:
        leaves = array(t, rows, columns), array(t, rows, columns, seed=1)
        return backward_of(lambda x, y: function(t, x, y), *leaves)

    return build


PROGRAMS.update({name: _pair(function) for name, function in PAIRS.items()})


@program
def add_row(t: Any, rows: int, columns: int) -> Step:
    return backward_of(lambda x, b: x + b, array(t, rows, columns), array(t, columns))


@program
def mul_column(t: Any, rows: int, columns: int) -> Step:
    return backward_of(lambda x, c: x * c, array(t, rows, columns), array(t, rows, 1))


@program
def cross_entropy(t: Any, rows: int, columns: int) -> Step:
    target = classes(t, rows, columns)
    loss = t.nn.functional.cross_entropy
    return backward_of(lambda x: loss(x, target), array(t, rows, columns))


@program
def bce_with_logits(t: Any, rows: int, columns: int) -> Step:
    target = t.sigmoid(array(t, rows, columns, seed=1, grad=False))
    loss = t.nn.functional.binary_cross_entropy_with_logits
    return backward_of(lambda x: loss(x, target), array(t, rows, columns))


@program
def bce(t: Any, rows: int, columns: int) -> Step:
    target = t.sigmoid(array(t, rows, columns, seed=1, grad=False))
    chance = t.sigmoid(array(t, rows, columns, grad=False)).requires_grad_()
    return backward_of(lambda x: t.nn.functional.binary_cross_entropy(x, target), chance)


@program
def kl_div(t: Any, rows: int, columns: int) -> Step:
    target = t.softmax(array(t, rows, columns, seed=1, grad=False), 1)
    given = t.log_softmax(array(t, rows, columns, grad=False), 1).requires_grad_()
    return backward_of(lambda x: t.nn.functional.kl_div(x, target, reduction="batchmean"), given)


# --- Reads at positions -------------------------------------------------------------------------


@program
def index_select(t: Any, rows: int, columns: int) -> Step:
    index = classes(t, 2 * rows, rows)
    return backward_of(lambda x: t.index_select(x, 0, index), array(t, rows, columns))


@program
def gather(t: Any, rows: int, columns: int) -> Step:
    index = classes(t, rows * 64, columns).reshape(rows, 64)
    return backward_of(lambda x: x.gather(1, index), array(t, rows, columns))


@program
def embedding(t: Any, rows: int, columns: int) -> Step:
    index = classes(t, 4 * rows, rows)
    lookup = t.nn.functional.embedding
    return backward_of(lambda w: lookup(index, w), array(t, rows, columns))


# --- Layers -------------------------------------------------------------------------------------


def layer(build: Callable[[Any, int, int], tuple[Any, tuple[int, ...]]]) -> Program:
    """A program of a module and the shape of its input, differentiated in all parameters."""

    def made(t: Any, rows: int, columns: int) -> Step:
        module, shape = build(t, rows, columns)
        parameters = list(module.parameters())
        for seed, parameter in enumerate(parameters):
            parameter.data.copy_(array(t, *parameter.shape, seed=seed, grad=False) * 0.05)

        return backward_of(lambda x, *_: module(x), array(t, *shape), *parameters)

    made.__name__ = build.__name__
    return program(made)


@layer
def layer_norm(t: Any, rows: int, columns: int) -> Any:
    return t.nn.LayerNorm(columns), (rows, columns)


@layer
def batch_norm(t: Any, rows: int, columns: int) -> Any:
    return t.nn.BatchNorm1d(columns), (rows, columns)


@layer
def batch_norm_of_images(t: Any, rows: int, columns: int) -> Any:
    return t.nn.BatchNorm2d(16), (rows // 16, 16, 28, columns // 28)


@layer
def group_norm(t: Any, rows: int, columns: int) -> Any:
    return t.nn.GroupNorm(4, 16), (rows // 16, 16, 28, columns // 28)


@layer
def rms_norm(t: Any, rows: int, columns: int) -> Any:
    return t.nn.RMSNorm(columns), (rows, columns)


@layer
def linear(t: Any, rows: int, columns: int) -> Any:
    return t.nn.Linear(columns, 256), (rows, columns)


@layer
def bilinear_interpolation(t: Any, rows: int, columns: int) -> Any:
    scale = t.nn.Upsample(scale_factor=2, mode="bilinear")
    return scale, (rows // 16, 4, 28, columns // 28)


@layer
def convolution(t: Any, rows: int, columns: int) -> Any:
    return t.nn.Conv2d(16, 16, 3, padding=1), (rows // 16, 16, 28, columns // 28)


@layer
def depthwise_convolution(t: Any, rows: int, columns: int) -> Any:
    module = t.nn.Conv2d(16, 16, 3, padding=1, groups=16)
    return module, (rows // 16, 16, 28, columns // 28)


@layer
def max_pool(t: Any, rows: int, columns: int) -> Any:
    return t.nn.MaxPool2d(2), (rows // 16, 16, 28, columns // 28)


@layer
def avg_pool(t: Any, rows: int, columns: int) -> Any:
    return t.nn.AvgPool2d(2), (rows // 16, 16, 28, columns // 28)


@layer
def lstm(t: Any, rows: int, columns: int) -> Any:
    class First(t.nn.LSTM):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return super().forward(x)[0]

    return First(64, 128), (16, rows // 4, 64)


@layer
def attention(t: Any, rows: int, columns: int) -> Any:
    class Heads(t.nn.MultiheadAttention):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return super().forward(x, x, x, need_weights=False)[0]

    return Heads(256, 8, batch_first=True), (rows // 64, 64, 256)


@layer
def feed_forward(t: Any, rows: int, columns: int) -> Any:
    nn = t.nn
    block = nn.Sequential(nn.LayerNorm(columns), nn.Linear(columns, columns), nn.GELU())
    return block.append(nn.Linear(columns, columns)), (rows, columns)


@program
def bmm(t: Any, rows: int, columns: int) -> Step:
    shape = 8, rows, columns // 8
    return backward_of(
        lambda x, y: t.bmm(x, y.transpose(1, 2)), array(t, *shape), array(t, *shape, seed=1)
    )


@program
def dot_product_attention(t: Any, rows: int, columns: int) -> Step:
    shape = rows // 64, 8, 64, 32
    leaves = [array(t, *shape, seed=seed) for seed in range(3)]
    return backward_of(t.nn.functional.scaled_dot_product_attention, *leaves)


@program
def cdist(t: Any, rows: int, columns: int) -> Step:
    leaves = array(t, rows, 64), array(t, rows, 64, seed=1)
    return backward_of(lambda x, y: t.cdist(x, y), *leaves)


@program
def mlp_with_adam(t: Any, rows: int, columns: int) -> Step:
    """A training step of a network columns-256-128-10."""
    nn = t.nn
    net = nn.Sequential(nn.Linear(columns, 256), nn.ReLU(), nn.Linear(256, 128), nn.ReLU())
    net.append(nn.Linear(128, 10))
    for seed, parameter in enumerate(net.parameters()):
        parameter.data.copy_(array(t, *parameter.shape, seed=seed, grad=False) * 0.05)
    optimizer = t.optim.Adam(net.parameters(), lr=1e-6)
    x, target = array(t, rows, columns, grad=False), classes(t, rows, 10)

    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), target)
        loss.backward()
        optimizer.step()
        return [parameter.grad for parameter in net.parameters()]

    return step


# --- The table ----------------------------------------------------------------------------------


def differs(ours: Any, theirs: Any) -> bool:
    """Whether gradients differ by more than float32's rounding in sums."""
    import numpy as np

    for mine, other in zip(ours, theirs, strict=True):
        x, y = mine.numpy(), other.numpy()
        if not np.allclose(x, y, rtol=1e-3, atol=1e-4 * (1 + np.abs(y).max())):
            return True
    return False


def measure(name: str, size: tuple[int, int], seconds: float) -> tuple[float, str]:
    """The time of a program here over PyTorch's, timed in turn, and a line of the table."""
    import torch as pytorch
    from timing import format_seconds, interleave

    import tapegrad.torch as torch

    build = PROGRAMS[name]
    calls = {"ours": build(torch, *size), "theirs": build(pytorch, *size)}
    wrong = name != "dropout" and differs(calls["ours"](), calls["theirs"]())
    samples = interleave(calls, seconds, at_least=7)
    pairs = list(zip(samples["ours"], samples["theirs"], strict=True))
    ratio = statistics.median(mine / other for mine, other in pairs)
    times = [format_seconds(statistics.median(samples[part])) for part in ("ours", "theirs")]
    note = "  differs" if wrong else "" if ratio <= GOAL else "  no"
    return ratio, f"{name:24} {times[0]:>10} {times[1]:>10} {ratio:7.2f}x{note}"


def main() -> None:
    """Measure the programs and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=list(PROGRAMS))
    parser.add_argument("--size", nargs=2, type=int, default=(256, 784))
    parser.add_argument("--quick", action="store_true", help="half a second a row, not two")
    options = parser.parse_args()
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = "1"  # before NumPy and PyTorch are imported
    import torch as pytorch

    pytorch.set_num_threads(1)
    size = tuple(options.size)
    found = [measure(name, size, 0.5 if options.quick else 2.0) for name in options.only]
    print(f"{'':24} {'here':>10} {'PyTorch':>10}    ratio  (goal: at most {GOAL}x)")
    for _, line in sorted(found, reverse=True):
        print(line)
    print(f"{sum(ratio <= GOAL for ratio, _ in found)} of {len(found)} within the goal")


if __name__ == "__main__":
    main()
