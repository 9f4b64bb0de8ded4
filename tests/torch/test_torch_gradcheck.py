"""gradcheck and gradgradcheck: what they accept, and what they find; as PyTorch's."""

from __future__ import annotations

import functools
import itertools
import re
from typing import Any

import numpy as np
import pytest
from transcripts import Log, compare

import tapegrad.torch as torch
from tapegrad.torch._ops.create.generator import DRAWN
from tapegrad.torch._ops.declare import OPERATIONS
from tapegrad.torch.autograd import gradcheck, gradgradcheck
from tapegrad.torch.autograd.gradcheck import GradcheckError


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
    "expanded input": lambda T: (
        lambda x: x**2,
        (numbers(T, 1).detach().expand(3).requires_grad_(),),
    ),
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


@pytest.mark.part(3)
@pytest.mark.parametrize("option", OPTIONS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradcheck(name: str, option: str) -> None:
    if (name in WITHOUT_JVP and "forward" in option) or (name, option) in BROKEN_THERE:
        pytest.skip("PyTorch has no such check")

    def program(T: Any, log: Log) -> None:
        T.manual_seed(0)
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


@pytest.mark.part(3)
@pytest.mark.parametrize("option", SECOND)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradgradcheck(name: str, option: str) -> None:
    if (name in WITHOUT_JVP and "forward" in option) or name in ("no tensors", "other dtype"):
        pytest.skip("PyTorch has no such check")

    def program(T: Any, log: Log) -> None:
        T.manual_seed(0)
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


@pytest.mark.parametrize("name", WRONG_OPTIONS)
def test_wrong_options(name: str) -> None:
    def program(T: Any, log: Log) -> None:
        x = numbers(T, 3)
        log.attempt(lambda: T.autograd.gradcheck(T.sin, (x,), **WRONG_OPTIONS[name]))

    compare(program)


@pytest.mark.parametrize(
    ("name", "option", "text"),
    [
        ("wrong", "usual", "Jacobian mismatch for output 0 with respect to input 0,\nnumerical:"),
        ("wrong", "fast", "Jacobian mismatch for output 0 with respect to input 0"),
        (
            "wrong jvp",
            "forward",
            "Jacobian computed with forward mode mismatch for output 0 with respect to input 0",
        ),
        ("not reentrant", "usual", "Backward is not reentrant"),
        ("other dtype", "dtypes", "dtype mismatch"),
        ("ignores the gradient", "usual", "backward not multiplied by grad_output"),
        ("detached", "usual", "Numerical gradient for function expected to be zero"),
        ("nothing to check", "usual", "expects at least one input tensor to require gradient"),
        ("expanded input", "usual", "has a dimension with stride 0"),
    ],
)
def test_messages(name: str, option: str, text: str) -> None:
    def program(T: Any, log: Log) -> None:
        T.manual_seed(0)
        f, inputs = FUNCTIONS[name](T)
        log.attempt(lambda: T.autograd.gradcheck(f, inputs, **OPTIONS[option]), text)

    compare(program)


# --- Without PyTorch ----------------------------------------------------------------------------


def test_single_precision_is_warned_of() -> None:
    x = torch.tensor([0.5], requires_grad=True)
    with pytest.warns(UserWarning, match="Input #0 requires gradient and is not a double"):
        gradcheck(torch.sin, (x,), eps=1e-2, atol=1e-2)


def test_both_jacobians_are_shown() -> None:
    wrong = function(torch, lambda x: x**3, lambda x, g: 2 * x**2 * g)
    x = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    with pytest.raises(GradcheckError) as raised:
        gradcheck(wrong, (x,))
    assert "numerical:tensor([[3.0000]], dtype=torch.float64)" in str(raised.value)
    assert "analytical:tensor([[2.]], dtype=torch.float64)" in str(raised.value)


def test_the_inputs_are_left_as_they_were() -> None:
    x = numbers(torch, 3)
    before = x.detach().clone()
    gradcheck(torch.sin, (x,), check_forward_ad=True)
    gradgradcheck(torch.sin, (x,))
    assert (x == before).all()
    assert x.grad is None


def test_the_gradient_of_an_identity_is_the_leaf_given() -> None:
    x, v = numbers(torch, 3), numbers(torch, 3, seed=1)
    (found,) = torch.autograd.grad(x.clone(), x, v, create_graph=True)
    assert found.is_leaf
    assert found is v


def vary(*shape: int, seed: int = 0) -> Any:
    return numbers(torch, *shape, seed=seed)


def spread(*shape: int) -> Any:
    """Numbers far from each other, for what sorts."""
    values = np.random.default_rng(1).permutation(int(np.prod(shape))) / 7 + 0.1
    return torch.from_numpy(values.reshape(shape)).requires_grad_()


# The points at which operations of one tensor are checked: where they are finite and smooth.
POINTS = {
    "matrix": np.array([[0.31, 0.52, 0.83], [0.44, 0.67, 0.38], [0.59, 0.35, 0.73]]),
    "dominant": np.array([[2.3, 0.2, 0.1], [0.4, 1.7, 0.3], [0.6, 0.45, 2.9]]),
    "vector": np.array([0.31, 0.52, 0.83]),
    "number": np.array(0.4),
    "large": np.array([1.3, 1.7, 2.6]),
}


@functools.cache
def single_operations() -> list[Any]:
    """All operations that one tensor can be given to, with the points where they are smooth."""
    found = []
    for name, call in sorted(OPERATIONS.items()):
        if name.endswith("_") or name.startswith(("set_", "manual_seed", "cholesky")):
            continue  # they change something; the last reads half of a matrix only
        if name == "geqrf":
            continue  # PyTorch has no derivative of it either: test_torch_names_beyond
        for point, values in POINTS.items():
            x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
            before = DRAWN.times
            try:
                out = call(x)
            except Exception:  # noqa: BLE001 - it takes more, or no such tensor
                continue
            parts = out if isinstance(out, (tuple, list)) else [out]
            tensors = [y for y in parts if isinstance(y, torch.Tensor) and y.requires_grad]
            if not tensors or DRAWN.times != before:
                continue
            if all(y.isfinite().all() for y in tensors):
                found.append(pytest.param(call, values, id=f"{name}-{point}"))
    return found


@pytest.mark.part(12)
@pytest.mark.parametrize(("call", "values"), single_operations())
def test_operations_of_one_tensor(call: Any, values: Any) -> None:
    x = torch.tensor(values, dtype=torch.float64, requires_grad=True)
    assert gradcheck(call, (x,), check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(call, (x,), check_fwd_over_rev=True)


def test_most_operations_have_been_checked() -> None:
    assert len({param.id.rpartition("-")[0] for param in single_operations()}) > 110


MORE: dict[str, Any] = {
    "add": (lambda x, y: torch.add(x, y, alpha=2), vary(2, 3), vary(3, seed=1)),
    "sub": (torch.sub, vary(2, 3), vary(2, 1, seed=1)),
    "mul": (torch.mul, vary(2, 3), vary(3, seed=1)),
    "div": (torch.div, vary(2, 3), vary(3, seed=1)),
    "pow": (torch.pow, vary(2, 3), vary(3, seed=1)),
    "power of a number": (lambda x: 2**x, vary(3)),
    "atan2": (torch.atan2, vary(3), vary(3, seed=1)),
    "hypot": (torch.hypot, vary(3), vary(3, seed=1)),
    "logaddexp": (torch.logaddexp, vary(3), vary(3, seed=1)),
    "maximum": (torch.maximum, vary(3), vary(3, seed=1)),
    "fmin": (torch.fmin, vary(3), vary(3, seed=1)),
    "fmod": (lambda x: torch.fmod(x * 10, 3), vary(3)),
    "lerp": (torch.lerp, vary(3), vary(3, seed=1), vary(3, seed=2)),
    "addcmul": (torch.addcmul, vary(3), vary(3, seed=1), vary(3, seed=2)),
    "addcdiv": (torch.addcdiv, vary(3), vary(3, seed=1), vary(3, seed=2)),
    "xlogy": (torch.xlogy, vary(3), vary(3, seed=1)),
    "clamp": (lambda x: torch.clamp(x, 0.4, 0.7), vary(5)),
    "where": (lambda x, y: torch.where(x > 0.6, x, y), vary(4), vary(4, seed=1)),
    "mm": (torch.mm, vary(2, 3), vary(3, 2, seed=1)),
    "bmm": (torch.bmm, vary(2, 2, 3), vary(2, 3, 2, seed=1)),
    "matmul": (torch.matmul, vary(2, 2, 3), vary(3, seed=1)),
    "mv": (torch.mv, vary(2, 3), vary(3, seed=1)),
    "dot": (torch.dot, vary(3), vary(3, seed=1)),
    "outer": (torch.outer, vary(3), vary(2, seed=1)),
    "kron": (torch.kron, vary(2, 2), vary(2, seed=1)),
    "addmm": (torch.addmm, vary(2, 2), vary(2, 3, seed=1), vary(3, 2, seed=2)),
    "baddbmm": (torch.baddbmm, vary(2, 2, 2), vary(2, 2, 3, seed=1), vary(2, 3, 2, seed=2)),
    "einsum": (lambda x, y: torch.einsum("ij,jk->ki", x, y), vary(2, 3), vary(3, 2, seed=1)),
    "tensordot": (lambda x, y: torch.tensordot(x, y, 1), vary(2, 3), vary(3, 2, seed=1)),
    "cross": (torch.linalg.cross, vary(3), vary(3, seed=1)),
    "cdist": (torch.cdist, vary(2, 3), vary(2, 3, seed=1)),
    "sum": (lambda x: x.sum(1, keepdim=True), vary(2, 3)),
    "mean": (lambda x: x.mean((0, 1)), vary(2, 3, 2)),
    "prod": (lambda x: x.prod(1), vary(2, 3)),
    "var": (lambda x: x.var(0), vary(3, 2)),
    "std": (lambda x: x.std(1, unbiased=False), vary(2, 3)),
    "amax": (lambda x: x.amax(1), spread(2, 3)),
    "max": (lambda x: x.max(1), spread(2, 3)),
    "median": (lambda x: x.median(1), spread(2, 3)),
    "norm": (lambda x: torch.linalg.vector_norm(x, 3, 1), vary(2, 3)),
    "logsumexp": (lambda x: x.logsumexp(1), vary(2, 3)),
    "softmax": (lambda x: x.softmax(1), vary(2, 3)),
    "log_softmax": (lambda x: x.log_softmax(0), vary(2, 3)),
    "cumsum": (lambda x: x.cumsum(1), vary(2, 3)),
    "cumprod": (lambda x: x.cumprod(0), vary(3, 2)),
    "logcumsumexp": (lambda x: x.logcumsumexp(0), vary(3)),
    "sort": (lambda x: x.sort(1, descending=True), spread(2, 3)),
    "topk": (lambda x: x.topk(2), spread(2, 3)),
    "cat": (lambda x, y: torch.cat([x, y, x], 1), vary(2, 3), vary(2, 1, seed=1)),
    "stack": (lambda x, y: torch.stack([x, y], 1), vary(2, 3), vary(2, 3, seed=1)),
    "index": (lambda x: x[torch.tensor([0, 0, 1]), 1:], vary(2, 3)),
    "index_select": (lambda x: x.index_select(1, torch.tensor([2, 0, 0])), vary(2, 3)),
    "gather": (lambda x: x.gather(1, torch.tensor([[0, 0], [2, 1]])), vary(2, 3)),
    "scatter": (lambda x, y: x.scatter(1, torch.tensor([[0], [2]]), y), vary(2, 3), vary(2, 1)),
    "scatter_add": (
        lambda x, y: x.scatter_add(1, torch.tensor([[0, 0], [2, 1]]), y),
        vary(2, 3),
        vary(2, 2, seed=1),
    ),
    "index_add": (lambda x, y: x.index_add(0, torch.tensor([1, 1]), y), vary(2, 3), vary(2, 3)),
    "masked_fill": (lambda x: x.masked_fill(x > 0.6, 2.0), vary(2, 3)),
    "take_along_dim": (lambda x: x.take_along_dim(x.argsort(1), 1), spread(2, 3)),
    "roll": (lambda x: x.roll(1, 0), vary(3, 2)),
    "repeat": (lambda x: x.repeat(2, 2), vary(2, 3)),
    "expand": (lambda x: x.expand(3, 2), vary(2)),
    "unfold": (lambda x: x.unfold(0, 2, 1), vary(4)),
    "solve": (lambda a, b: torch.linalg.solve(a + 3 * torch.eye(3), b), vary(3, 3), vary(3, 2)),
    "cholesky": (
        lambda a: torch.linalg.cholesky(a @ a.T + torch.eye(3, dtype=torch.float64)),
        vary(3, 3),
    ),
    "cross_entropy": (
        lambda x: torch.nn.functional.cross_entropy(x, torch.tensor([0, 2])),
        vary(2, 3),
    ),
    "mse_loss": (torch.nn.functional.mse_loss, vary(2, 3), vary(2, 3, seed=1)),
    "gelu": (torch.nn.functional.gelu, vary(3)),
    "polygamma": (lambda x: torch.polygamma(1, x), vary(3)),
}


@pytest.mark.part(2)
@pytest.mark.parametrize("name", MORE)
def test_operations(name: str) -> None:
    call, *inputs = MORE[name]
    assert gradcheck(call, inputs, check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(call, inputs, check_fwd_over_rev=True)


COMPLEX: dict[str, Any] = {
    "product": lambda z, w: z * w.conj(),
    "quotient": lambda z, w: z / w,
    "exp": lambda z, w: (z * w).exp(),
    "abs": lambda z, w: z.abs() * w.angle(),
    "parts": lambda z, w: torch.complex(z.real * w.imag, z.imag),
    "matmul": lambda z, w: torch.outer(z, w) @ z,
    "view_as_real": lambda z, w: torch.view_as_real(z * w),
    "power": lambda z, w: z**w,
    "sqrt": lambda z, w: (z * w).sqrt(),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_operations(name: str) -> None:
    z, w = numbers(torch, 2, dtype="complex128"), numbers(torch, 2, dtype="complex128", seed=1)
    assert gradcheck(COMPLEX[name], (z, w), check_forward_ad=True, check_batched_grad=True)
    assert gradgradcheck(COMPLEX[name], (z, w), check_fwd_over_rev=True)


def test_fast_mode_tells_both_sides_of_a_mismatch() -> None:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 3 * g * ctx.saved_tensors[0]

    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(RuntimeError) as error:
        torch.autograd.gradcheck(Wrong.apply, (x,), fast_mode=True)
    text = str(error.value)
    numbers = re.findall(r"(?:numerical|analytical):(\S+)\n", text)
    assert float(numbers[1]) == pytest.approx(1.5 * float(numbers[0]))
    assert "are computed \nin fast mode" in text
    assert "The max per-element difference (slow mode) is: 1.0000" in text or "0.99999" in text


@pytest.mark.part(2)
@pytest.mark.parametrize("noncontiguous", [False, True])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_gradients_of_outputs_are_drawn_from_the_normal_distribution(dtype, noncontiguous) -> None:
    """Both parts of complex ones too: tolerances are for numbers of about one."""
    seen: list[Any] = []

    def watched(z: Any) -> Any:
        out = z * z
        out.register_hook(lambda g: seen.append(g.detach().numpy().copy()))
        return out

    z = numbers(torch, 100, dtype=dtype)
    assert gradgradcheck(watched, (z,), fast_mode=True, gen_non_contig_grad_outputs=noncontiguous)
    for part in (seen[0].real, seen[0].imag)[: 1 + dtype.startswith("complex")]:
        assert 2 < np.abs(part).max() < 5
        assert abs(part.mean()) < 0.5
        assert abs(part.std() - 1) < 0.3


# --- As PyTorch's own tests expect it -----------------------------------------------------------


def _hooked(x: Any, hook: Any) -> Any:
    y = x.clone()
    y.register_hook(hook)
    return y


@pytest.mark.parametrize("fast", [False, True])
def test_a_mismatch_says_which_part_of_complex_tensors(fast):
    z = torch.ones(2, dtype=torch.complex128, requires_grad=True)
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    wrong = function(torch, lambda x: 2 * x, lambda _, g: 2 * g, lambda _, t: 3 * t)
    part = "While considering the imaginary part of complex outputs only, Jacobian mismatch"
    for call, given, text in [
        (lambda z: _hooked(z, lambda g: g + 1e-2), z, part),
        (lambda x: _hooked(torch.complex(x, x), lambda g: g + 1e-2), x, part),
        (lambda z: _hooked(z.real, lambda g: g + 1e-2), z, "Jacobian mismatch"),
        (wrong, z, "While considering the imaginary part of complex inputs only, Jac"),
        (lambda z: wrong(z.real), z, "While considering the real part of complex inputs"),
        (lambda x: torch.complex(x, wrong(x)), x, "Jacobian computed with forward mode"),
    ]:
        with pytest.raises(GradcheckError, match=f"^{text}"):
            gradcheck(call, (given,), check_forward_ad=True, fast_mode=fast)


def test_gradients_that_are_left_out_go_through_hooks_and_functions():
    def refuse(g: Any) -> None:
        if g is None:
            raise RuntimeError("no gradient")

    class Unfilled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            if g is None:
                raise RuntimeError("no gradient")
            return g * 2

    x = torch.ones(1, dtype=torch.float64, requires_grad=True)
    for call in (lambda x: _hooked(x, refuse), lambda x: Unfilled.apply(x).sin()):
        with (
            pytest.warns(UserWarning, match="New undefined gradient support checking feature"),
            pytest.raises(GradcheckError, match="to handle undefined output grads"),
        ):
            gradcheck(call, (x,))
        assert gradcheck(call, (x,), check_undefined_grad=False)


def test_forward_mode_runs_without_grad_once_for_each_element():
    seen = []

    class Copies(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            if torch.autograd.forward_ad._current_level >= 0:
                assert not x.requires_grad
                assert not y.requires_grad
            return x.clone(), y.clone()

        @staticmethod
        def jvp(ctx, x_dot, y_dot):
            seen.append((x_dot, y_dot))
            return x_dot, y_dot

    x, y = (torch.rand(1, dtype=torch.float64, requires_grad=True) for _ in range(2))
    options = {"check_forward_ad": True, "check_backward_ad": False}
    for inputs, more, count in [
        ((x, y), {"check_undefined_grad": False}, 2),
        ((x, y), {}, 6),
        ((x, y), {"check_batched_forward_grad": True}, 12),
        ((x, y.detach()), {"check_batched_forward_grad": True}, 5),
    ]:
        seen.clear()
        assert gradcheck(Copies.apply, inputs, **options, **more)
        assert len(seen) == count


def test_a_tangent_that_is_left_out_counts_as_zeros():
    def call(x: Any, y: Any) -> Any:
        inside = torch.autograd.forward_ad._current_level >= 0
        left_out = inside and torch.autograd.forward_ad.unpack_dual(y).tangent is None
        return x * y + x if left_out else x * y

    x, y = (torch.rand(2, dtype=torch.float64, requires_grad=True) for _ in range(2))
    with pytest.raises(GradcheckError, match="Mismatch in tangent values for output with index"):
        gradcheck(call, (x, y), check_forward_ad=True)
    assert gradcheck(call, (x, y), check_forward_ad=True, check_undefined_grad=False)
