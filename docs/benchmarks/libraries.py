"""The libraries that the benchmark compares, behind one small interface.

Knows: how each library is imported, makes its arrays, and spells its transforms.
Must not know: the programs, and how anything is measured.

A library is imported only when it is asked for. Everything is float64 and runs on one thread:
importing this module sees to that, so import it before NumPy.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

Function = Callable[[Any], Any]

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "VECLIB_MAXIMUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
os.environ.update(ONE_THREAD)


@dataclass(frozen=True)
class Library:
    """Interface of a library for the benchmark.

    ``xp`` is the namespace that programs call; ``argument`` turns a NumPy array, or a list of
    them, into something that the library differentiates. ``grad`` and ``second`` (the gradient
    of the sum of the gradient) return functions that have finished all work when they return;
    ``jvp`` takes ``(program, primal, tangent)``.
    """

    name: str
    xp: Any
    argument: Function
    grad: Callable[[Function], Function]
    second: Callable[[Function], Function]
    jvp: Callable[[Function, Any, Any], Any]
    unrolls: bool = False  # compiles Python loops step by step: minutes for a long program
    numpy_memory: bool = True  # its arrays are NumPy's, so that tracemalloc sees them


def load_tapegrad() -> Library:
    """tapegrad, on plain NumPy."""
    tapegrad, xp = import_module("tapegrad"), import_module("numpy")

    def jvp(program: Function, x: Any, x_dot: Any) -> Any:
        return tapegrad.jvp(program, (x,), (x_dot,))

    second = _nested(tapegrad.grad, xp)
    return Library("tapegrad", xp, _unchanged, tapegrad.grad, second, jvp)


def load_autograd() -> Library:
    """HIPS autograd, on its own copy of the NumPy namespace."""
    autograd, xp = import_module("autograd"), import_module("autograd.numpy")

    def jvp(program: Function, x: Any, x_dot: Any) -> Any:
        return autograd.make_jvp(program)(x)(x_dot)

    second = _nested(autograd.grad, xp)
    return Library("HIPS autograd", xp, _unchanged, autograd.grad, second, jvp)


def load_torch() -> Library:
    """PyTorch eager: ``torch.autograd.grad``, and ``torch.func.jvp``."""
    torch = import_module("torch")
    torch.set_num_threads(1)

    def argument(value: Any) -> Any:
        return _map_arrays(lambda array: torch.tensor(array, requires_grad=True), value)

    def grad(program: Function) -> Function:
        return lambda x: torch.autograd.grad(program(x), x)

    def second(program: Function) -> Function:
        def second_gradient(x: Any) -> Any:
            (gradient,) = torch.autograd.grad(program(x), x, create_graph=True)
            return torch.autograd.grad(gradient.sum(), x)

        return second_gradient

    def jvp(program: Function, x: Any, x_dot: Any) -> Any:
        return torch.func.jvp(program, (x.detach(),), (x_dot.detach(),))

    return Library("PyTorch", torch, argument, grad, second, jvp, numpy_memory=False)


def load_jax(name: str, compiled: bool) -> Library:
    """JAX on the CPU, each transform as it is or under ``jax.jit``."""
    jax = import_module("jax")
    jax.config.update("jax_enable_x64", True)
    prepare = jax.jit if compiled else _unchanged

    def finished(function: Function) -> Function:
        return lambda x: jax.block_until_ready(function(x))

    def argument(value: Any) -> Any:
        return _map_arrays(jax.numpy.asarray, value)

    def grad(program: Function) -> Function:
        return finished(prepare(jax.grad(program)))

    def second(program: Function) -> Function:
        return finished(prepare(_nested(jax.grad, jax.numpy)(program)))

    def jvp(program: Function, x: Any, x_dot: Any) -> Any:
        return jax.block_until_ready(jax.jvp(program, (x,), (x_dot,)))

    return Library(name, jax.numpy, argument, grad, second, jvp, unrolls=True, numpy_memory=False)


LOADERS: dict[str, Callable[[], Library]] = {
    "tapegrad": load_tapegrad,
    "HIPS autograd": load_autograd,
    "PyTorch": load_torch,
    "JAX eager": lambda: load_jax("JAX eager", compiled=False),
    "JAX jit": lambda: load_jax("JAX jit", compiled=True),
}
MODULES = dict(zip(LOADERS, ("tapegrad", "autograd", "torch", "jax", "jax"), strict=True))


def load(name: str) -> Library | None:
    """The library of this name, or None where it is not installed."""
    return None if find_spec(MODULES[name]) is None else LOADERS[name]()


def _unchanged(value: Any) -> Any:
    return value


def _map_arrays(convert: Function, value: Any) -> Any:
    return [convert(array) for array in value] if isinstance(value, list) else convert(value)


def _nested(grad: Callable[[Function], Function], xp: Any) -> Callable[[Function], Function]:
    """The gradient of the sum of the gradient, for a library whose ``grad`` nests."""

    def second(program: Function) -> Function:
        gradient = grad(program)
        return grad(lambda x: xp.sum(gradient(x)))

    return second
