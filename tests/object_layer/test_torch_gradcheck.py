"""gradcheck and gradgradcheck: what they accept, and what they find; as PyTorch's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from transcripts import Log, compare

import tapegrad.torch as torch
from tapegrad.torch.autograd import gradcheck, gradgradcheck


def numbers(T: Any, *shape: int, dtype: str = "float64", seed: int = 0) -> Any:
    draw = np.random.default_rng(seed)
    values = draw.uniform(0.3, 0.9, size=shape)
    if dtype.startswith("complex"):
        values = values + 1j * draw.uniform(0.3, 0.9, size=shape)
    return T.from_numpy(np.asarray(values).astype(dtype)).requires_grad_()


def function(T: Any, compute: Any, backward: Any, jvp: Any = None) -> Any:
    """A custom Function of one argument; its backward gets what was saved and the gradient."""

    class Custom(T.autograd.Function):
        @staticmethod
        def forward(x: Any) -> Any:
            return compute(x)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.save_for_backward(*inputs)
            ctx.save_for_forward(*inputs)

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return backward(ctx.saved_tensors[0], g)

    if jvp is not None:
        Custom.jvp = staticmethod(lambda ctx, dot: jvp(ctx.saved_tensors[0], dot))
    return Custom.apply


def alternating(backward: Any) -> Any:
    """A backward that gives something else every other time."""
    count = itertools.count()
    return lambda x, g: backward(x, g) + (next(count) % 2) * 1e-4


# Functions of tensors, and which: the check passes or fails for both libraries.
FUNCTIONS: dict[str, Any] = {
    "sin": lambda T: (T.sin, (numbers(T, 3),)),
    "not in a tuple": lambda T: (T.sin, numbers(T, 3)),
    "product": lambda T: (T.matmul, (numbers(T, 2, 3), numbers(T, 3, 2, seed=1))),
    "one is constant": lambda T: (T.mul, (numbers(T, 3), numbers(T, 3).detach())),
    "and a number": lambda T: (T.pow, (numbers(T, 3), 3)),
    "several outputs": lambda T: (lambda x: (x.sin(), x.sum()), (numbers(T, 3),)),
    "a list of outputs": lambda T: (lambda x: [x.sin(), x.sum()], (numbers(T, 3),)),
    "integers beside": lambda T: (lambda x: x.sort(), (numbers(T, 4),)),
    "constant beside": lambda T: (lambda x: (x**2, x.detach()), (numbers(T, 3),)),
    "constant": lambda T: (lambda x: T.ones(2, dtype=T.float64), (numbers(T, 3),)),
    "detached": lambda T: (lambda x: x.detach() ** 2, (numbers(T, 3),)),
    "half detached": lambda T: (lambda x: x.detach() * x, (numbers(T, 3),)),
    "unused input": lambda T: (lambda x, y: x**2, (numbers(T, 3), numbers(T, 2))),
    "no dimensions": lambda T: (lambda x: x**2, (numbers(T),)),
    "no elements": lambda T: (lambda x: x**2, (numbers(T, 0),)),
    "no outputs": lambda T: (lambda x: x[:0], (numbers(T, 3),)),
    "view": lambda T: (lambda x: x.t()[0], (numbers(T, 3, 2),)),
    "transposed input": lambda T: (
        lambda x: x**2,
        (numbers(T, 3, 2).detach().t().requires_grad_(),),
    ),
    "expanded input": lambda T: (lambda x: x**2, (numbers(T, 1).detach().expand(3).requires_grad_(),)),
    "writes": lambda T: (lambda x: x.clone().mul_(x), (numbers(T, 3),)),
    "complex": lambda T: (lambda z: z * z.conj() + z, (numbers(T, 3, dtype="complex128"),)),
    "complex to real": lambda T: (lambda z: z.abs(), (numbers(T, 3, dtype="complex128"),)),
    "real to complex": lambda T: (lambda x: x * (1 + 2j), (numbers(T, 3),)),
    "complex and real": lambda T: (
        T.mul,
        (numbers(T, 3, dtype="complex128"), numbers(T, 3)),
    ),
    "single": lambda T: (T.sin, (numbers(T, 3, dtype="float32"),)),
    "nothing to check": lambda T: (T.sin, (numbers(T, 3).detach(),)),
    "no tensors": lambda T: (lambda x: x, (3.0,)),
    "right": lambda T: (function(T, lambda x: x**3, lambda x, g: 3 * x**2 * g), (numbers(T, 3),)),
    "right, with jvp": lambda T: (
        function(T, lambda x: x**3, lambda x, g: 3 * x**2 * g, lambda x, dot: 3 * x**2 * dot),
        (numbers(T, 3),),
    ),
    "wrong": lambda T: (function(T, lambda x: x**3, lambda x, g: 2 * x**2 * g), (numbers(T, 3),)),
    "wrong jvp": lambda T: (
        function(T, lambda x: x**3, lambda x, g: 3 * x**2 * g, lambda x, dot: x**2 * dot),
        (numbers(T, 3),),
    ),
    "wrong second": lambda T: (
        function(T, lambda x: x**3, lambda x, g: 3 * x.detach() ** 2 * g),
        (numbers(T, 3),),
    ),
    "wrong in one element": lambda T: (
        function(T, lambda x: x**3, lambda x, g: 3 * x**2 * g + T.eye(3, dtype=g.dtype)[0] * g),
        (numbers(T, 3),),
    ),
    "ignores the gradient": lambda T: (
        function(T, lambda x: 2 * x, lambda x, g: T.full_like(g, 2.0)),
        (numbers(T, 1),),
    ),
    "not reentrant": lambda T: (
        function(T, lambda x: x * 2, alternating(lambda x, g: g * 2)),
        (numbers(T, 3),),
    ),
    "other dtype": lambda T: (
        function(T, lambda x: x * 2, lambda x, g: (g * 2).to(T.float32)),
        (numbers(T, 3),),
    ),
    "raises": lambda T: (lambda x: x @ T.ones(7), (numbers(T, 3),)),
    "backward raises": lambda T: (
        function(T, lambda x: x * 2, lambda x, g: 1 / 0),
        (numbers(T, 3),),
    ),
    "two inputs": lambda T: (
        lambda x, y: (x * y, x.sin().sum()),
        (numbers(T, 2), numbers(T, 2, seed=1)),
    ),
}
OPTIONS: dict[str, dict[str, Any]] = {
    "usual": {},
    "fast": {"fast_mode": True},
    "forward": {"check_forward_ad": True},
    "forward alone": {"check_forward_ad": True, "check_backward_ad": False},
    "fast and forward": {"check_forward_ad": True, "fast_mode": True},
    "dtypes": {"check_grad_dtypes": True},
    "batched": {"check_batched_grad": True},
    "batched forward": {"check_batched_forward_grad": True, "check_forward_ad": True},
    "defined": {"check_undefined_grad": False},
    "lax": {"atol": 10.0},
    "nondeterministic": {"nondet_tol": 1e-2},
    "coarse": {"eps": 1e-3, "rtol": 1e-2},
    "masked": {"masked": True},
    "quiet": {"raise_exception": False},
    "quiet and fast": {"raise_exception": False, "fast_mode": True},
}


# Functions whose tangents are made of their backward here; PyTorch wants a jvp.
WITHOUT_JVP = {
    "right",
    "wrong",
    "wrong second",
    "wrong in one element",
    "ignores the gradient",
    "not reentrant",
    "other dtype",
    "backward raises",
}
# Where PyTorch's check itself fails.
BROKEN_THERE = {("constant beside", "fast and forward"), ("complex", "batched forward")}


@pytest.mark.peers
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradcheck(name: str, option: str) -> None:
    if (name in WITHOUT_JVP and "forward" in option) or (name, option) in BROKEN_THERE:
        pytest.skip("PyTorch has no such check")

    def program(T: Any, log: Log) -> None:
        f, inputs = FUNCTIONS[name](T)
        log.attempt(lambda: T.autograd.gradcheck(f, inputs, **OPTIONS[option]))

    compare(program)


SECOND: dict[str, dict[str, Any]] = {
    "usual": {},
    "fast": {"fast_mode": True},
    "forward over reverse": {"check_fwd_over_rev": True},
    "batched": {"check_batched_grad": True},
    "strided": {"gen_non_contig_grad_outputs": True},
    "dtypes": {"check_grad_dtypes": True},
    "quiet": {"raise_exception": False},
    "masked": {"masked": True},
}


@pytest.mark.peers
@pytest.mark.parametrize("option", SECOND)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradgradcheck(name: str, option: str) -> None:
    if (name in WITHOUT_JVP and "forward" in option) or name == "no tensors":
        pytest.skip("PyTorch has no such check")

    def program(T: Any, log: Log) -> None:
        f, inputs = FUNCTIONS[name](T)
        log.attempt(lambda: T.autograd.gradgradcheck(f, inputs, **SECOND[option]))

    compare(program)


WRONG_OPTIONS: dict[str, dict[str, Any]] = {
    "neither": {"check_forward_ad": False, "check_backward_ad": False},
    "batched without backward": {
        "check_batched_grad": True,
        "check_backward_ad": False,
        "check_forward_ad": True,
    },
    "batched without forward": {"check_batched_forward_grad": True},
}


@pytest.mark.peers
@pytest.mark.parametrize("name", WRONG_OPTIONS)
def test_wrong_options(name: str) -> None:
    def program(T: Any, log: Log) -> None:
        x = numbers(T, 3)
        log.attempt(lambda: T.autograd.gradcheck(T.sin, (x,), **WRONG_OPTIONS[name]))

    compare(program)
