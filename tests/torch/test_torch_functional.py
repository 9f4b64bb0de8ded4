"""autograd.functional: vjp, jvp, jacobian, hessian, vhp, hvp; as PyTorch's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from transcripts import Log, compare

import tapegrad.torch as torch
from tapegrad.torch.autograd import functional

OPTIONS = [False, True]


def made(T: Any, backward: Any) -> Any:
    """A custom Function that squares, with a derivative given."""

    class Square(T.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return backward(ctx.saved_tensors[0], g)

    return Square


def with_writes(T: Any, x: Any) -> Any:
    y = x * 2
    y[0] = x[1] * x[1]
    y += x
    y[1:].mul_(x[1:])
    return y * y


def with_branches(T: Any, x: Any) -> Any:
    y = x * x
    while y.sum().item() < 20:
        y = y * 2 + x.sin()
    return y


def without_grad(T: Any, x: Any) -> Any:
    with T.no_grad():
        scale = x * 3
    return x * scale


def shared(T: Any, x: Any, y: Any) -> Any:
    """The closure holds the same tensor that is an argument."""
    return (x * y).sum()


# Functions of one tensor of shape (3,).
ONE = {
    "elementwise": lambda T, x: x.sin() * x,
    "number": lambda T, x: (x**3).sum(),
    "number of one dimension": lambda T, x: (x**3).sum().reshape(1),
    "matrix": lambda T, x: x[:, None] * x[None, :].exp(),
    "linear": lambda T, x: x.sum() * 2,
    "identity": lambda T, x: x,
    "view": lambda T, x: x[1:],
    "constant": lambda T, x: T.ones(2, dtype=x.dtype),
    "detached": lambda T, x: (x.detach() ** 2).sum(),
    "two": lambda T, x: (x * x, x.sum()),
    "tuple of one": lambda T, x: (x * x,),
    "two, one constant": lambda T, x: (x * x, T.ones(3, dtype=x.dtype)),
    "two, one linear": lambda T, x: (x**2, 3 * x),
    "list": lambda T, x: [x, x],
    "float": lambda T, x: 3.0,
    "tuple with a float": lambda T, x: (x, 2.0),
    "unbound": lambda T, x: x.unbind(),
    "integers": lambda T, x: x.long(),
    "writes": with_writes,
    "branches": with_branches,
    "no grad": without_grad,
    "other dtype": lambda T, x: (x.to(T.float32) ** 3).sum(),
    "custom": lambda T, x: made(T, lambda x, g: 2 * x * g).apply(x),
    "custom number": lambda T, x: made(T, lambda x, g: 2 * x * g).apply(x).sum(),
    "softmax": lambda T, x: x.softmax(0),
}
# Functions of tensors of shapes (3,) and (2, 3).
TWO = {
    "product": lambda T, x, y: y @ x,
    "number": lambda T, x, y: ((y * x) ** 2).sum(),
    "number of the first": lambda T, x, y: (x**3).sum(),
    "linear in each": lambda T, x, y: (x * y).sum(),
    "two": lambda T, x, y: (y @ x, (x * x).sum()),
    "two of one each": lambda T, x, y: (x**2, y**2),
    "constant": lambda T, x, y: T.zeros(2, dtype=x.dtype),
    "writes": lambda T, x, y: with_writes(T, x) * y,
}
# Functions of a complex tensor of shape (2,).
COMPLEX = {
    "elementwise": lambda T, z: z * z * z.conj(),
    "real": lambda T, z: z.abs() ** 2,
    "real number": lambda T, z: (z.real**3 * z.imag).sum(),
    "holomorphic number": lambda T, z: (z**3).sum(),
    "two": lambda T, z: (z.real * z.imag, z.exp()),
}


def numbers(T: Any, *shape: int, dtype: str = "float64", grad: bool = False) -> Any:
    draw = np.random.default_rng(len(shape))
    values = draw.normal(size=shape)
    if dtype.startswith("complex"):
        values = values + 1j * draw.normal(size=shape)
    made = T.from_numpy(values.astype(dtype))
    return made.requires_grad_() if grad else made


def given(T: Any, kind: str, grad: bool) -> Any:
    if kind == "one":
        return numbers(T, 3, grad=grad)
    if kind == "single":
        return numbers(T, 3, dtype="float32", grad=grad)
    if kind == "complex":
        return numbers(T, 2, dtype="complex128", grad=grad)
    return numbers(T, 3, grad=grad), numbers(T, 2, 3)


def like(T: Any, tree: Any) -> Any:
    """Weights of the shapes of tensors."""
    if isinstance(tree, (tuple, list)):
        return tuple(like(T, part) for part in tree)
    if not isinstance(tree, T.Tensor):
        return tree
    weights = np.arange(1.0, tree.numel() + 1).reshape(tuple(tree.shape)) / 3
    return T.from_numpy(np.asarray(weights)).to(tree.dtype)


TABLE = [
    *((name, "one", ONE[name]) for name in ONE),
    *((name, "single", ONE[name]) for name in ("elementwise", "number", "two")),
    *((name, "two", TWO[name]) for name in TWO),
    *((name, "complex", COMPLEX[name]) for name in COMPLEX),
]
NAMES = [f"{kind}: {name}" for name, kind, _ in TABLE]


def log_with_graph(T: Any, log: Log, inputs: Any, call: Any) -> None:
    """Log what a call returns, and what a backward pass through it gives the inputs."""
    log.attempt(call)
    try:
        made = call()
    except Exception:  # noqa: BLE001 - it was logged
        return
    leaves = inputs if isinstance(inputs, tuple) else (inputs,)
    parts = [part for part in flattened(made) if part.requires_grad]
    if parts and leaves[0].requires_grad:
        total = sum((part * part.conj()).real.sum() for part in parts)
        log(T.autograd.grad(total, leaves[0], allow_unused=True))


def detached(tree: Any) -> Any:
    if isinstance(tree, (tuple, list)):
        return tuple(map(detached, tree))
    return tree.detach()


def flattened(tree: Any) -> list[Any]:
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in flattened(part)]
    return [tree]


@pytest.mark.part(3)
@pytest.mark.parametrize(("name", "kind", "function"), TABLE, ids=NAMES)
@pytest.mark.parametrize("product", ["vjp", "jvp", "vhp", "hvp"])
def test_products(product: str, name: str, kind: str, function: Any) -> None:
    def program(T: Any, log: Log) -> None:
        call = getattr(T.autograd.functional, product)

        def f(*inputs: Any) -> Any:
            return function(T, *inputs)

        for grad, create, strict in itertools.product(OPTIONS, repeat=3):
            inputs = given(T, kind, grad)
            v = like(T, inputs)
            if product == "vjp":
                v = like(T, f(*inputs) if isinstance(inputs, tuple) else f(inputs))
            for direction in (v, None):
                log_with_graph(
                    T,
                    log,
                    inputs,
                    lambda inputs=inputs, v=direction, create=create, strict=strict: call(
                        f, inputs, v, create_graph=create, strict=strict
                    ),
                )

    compare(program)


@pytest.mark.part(2)
@pytest.mark.parametrize(("name", "kind", "function"), TABLE, ids=NAMES)
@pytest.mark.parametrize("matrix", ["jacobian", "hessian"])
def test_matrices(matrix: str, name: str, kind: str, function: Any) -> None:
    def program(T: Any, log: Log) -> None:
        call = getattr(T.autograd.functional, matrix)
        for grad, create, strict in itertools.product(OPTIONS, repeat=3):
            inputs = given(T, kind, grad)
            log_with_graph(
                T,
                log,
                inputs,
                lambda inputs=inputs, create=create, strict=strict: call(
                    lambda *xs: function(T, *xs), inputs, create_graph=create, strict=strict
                ),
            )

    compare(program)


# What PyTorch cannot do in forward mode or in batches.
UNABLE = {"branches", "custom", "custom number", "integers"}


@pytest.mark.part(2)
@pytest.mark.parametrize(("name", "kind", "function"), TABLE, ids=NAMES)
@pytest.mark.parametrize("matrix", ["jacobian", "hessian"])
def test_vectorized(matrix: str, name: str, kind: str, function: Any) -> None:
    if name in UNABLE or (matrix == "hessian" and name == "identity"):
        pytest.skip("PyTorch has no batched derivative of it")
    forward = (kind, name) not in (("complex", "elementwise"), ("complex", "identity"))

    def program(T: Any, log: Log) -> None:
        call = getattr(T.autograd.functional, matrix)
        word = "strategy" if matrix == "jacobian" else "outer_jacobian_strategy"
        options: list[dict[str, Any]] = [{}, {"create_graph": True}, {"strict": True}]
        if forward:  # with which PyTorch has internal errors
            options += [{word: "forward-mode"}, {word: "forward-mode", "strict": True}]
        for grad in OPTIONS:
            inputs = given(T, kind, grad)
            for option in options:
                if word in option:  # on PyTorch's graph without need
                    log.attempt(
                        lambda inputs=inputs, option=option: detached(
                            call(lambda *xs: function(T, *xs), inputs, vectorize=True, **option)
                        )
                    )
                    continue
                log_with_graph(
                    T,
                    log,
                    inputs,
                    lambda inputs=inputs, option=option: call(
                        lambda *xs: function(T, *xs), inputs, vectorize=True, **option
                    ),
                )

    compare(program)


@pytest.mark.parametrize("call", ["vjp", "jvp", "vhp", "hvp", "jacobian", "hessian"])
def test_without_grad_mode(call: str) -> None:
    def program(T: Any, log: Log) -> None:
        x = numbers(T, 3, grad=True)
        with T.no_grad():
            for create in OPTIONS:
                v = () if call in ("jacobian", "hessian") else (numbers(T, 3),)
                if call == "vjp":
                    v = ()
                log.attempt(
                    lambda create=create, v=v: getattr(T.autograd.functional, call)(
                        lambda x: (x**3).sum(), x, *v, create_graph=create
                    )
                )
            log(T.is_grad_enabled())

    compare(program)


ERRORS: dict[str, Any] = {
    "inputs of a list": lambda F, T, x: F.vjp(T.sin, [x]),
    "inputs of numbers": lambda F, T, x: F.jacobian(T.sin, 2.0),
    "inputs with a number": lambda F, T, x: F.jacobian(T.mul, (x, 2.0)),
    "v of another shape": lambda F, T, x: F.jvp(T.sin, x, T.ones(2)),
    "v of another length": lambda F, T, x: F.jvp(T.sin, x, (x, x)),
    "v in a tuple": lambda F, T, x: F.jvp(T.sin, x, (x,)),
    "v of a number": lambda F, T, x: F.jvp(T.sin, x, 3.0),
    "v needed": lambda F, T, x: F.vjp(T.sin, x),
    "v needed for hvp": lambda F, T, x: F.hvp(T.sum, x),
    "not a number": lambda F, T, x: F.hessian(T.sin, x),
    "a tuple": lambda F, T, x: F.hessian(lambda x: (x.sum(),), x),
    "a tuple for hvp": lambda F, T, x: F.hvp(lambda x: (x.sum(),), x, x),
    "not a number for vhp": lambda F, T, x: F.vhp(T.sin, x, x),
    "strategy": lambda F, T, x: F.jacobian(T.sin, x, strategy="both"),
    "outer strategy": lambda F, T, x: F.hessian(T.sum, x, outer_jacobian_strategy="both"),
    "forward without vectorize": lambda F, T, x: F.jacobian(T.sin, x, strategy="forward-mode"),
    "integers": lambda F, T, x: F.jacobian(lambda x: x * 2, T.ones(2, dtype=T.int64)),
    "error of the function": lambda F, T, x: F.jacobian(lambda x: x @ T.ones(7), x),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    def program(T: Any, log: Log) -> None:
        log.attempt(lambda: ERRORS[name](T.autograd.functional, T, numbers(T, 3)))

    compare(program)


def test_second_derivatives_through_results() -> None:
    """A result with create_graph is differentiated again, twice, also by what x came from."""

    def program(T: Any, log: Log) -> None:
        base = numbers(T, 3, grad=True)
        weights = numbers(T, 3, grad=True)
        x = base * 2
        F = T.autograd.functional
        for made in (
            F.jacobian(lambda x: x.exp() * weights, x, create_graph=True),
            F.jacobian(lambda x: x.exp() * weights, x, create_graph=True, vectorize=True),
            F.hessian(lambda x: (x.exp() * weights).sum(), x, create_graph=True),
            F.hessian(lambda x: (x.exp() * weights).sum(), x, create_graph=True, vectorize=True),
            F.hvp(lambda x: (x.exp() * weights).sum(), x, weights, create_graph=True)[1],
            F.vhp(lambda x: (x.exp() * weights).sum(), x, weights, create_graph=True)[1],
            F.jvp(lambda x: x.exp() * weights, x, weights, create_graph=True)[1],
            F.vjp(lambda x: x.exp() * weights, x, weights, create_graph=True)[1],
        ):
            first = T.autograd.grad((made**2).sum(), (base, weights), create_graph=True)
            log(first)
            log(
                T.autograd.grad(
                    (first[0] ** 2).sum() + (first[1] ** 3).sum(),
                    (base, weights),
                    retain_graph=True,
                )
            )

    compare(program)


# --- Without PyTorch ----------------------------------------------------------------------------


def test_jacobian_of_no_elements_is_empty() -> None:
    x = torch.ones(3)
    assert functional.jacobian(lambda x: x[:0], x).shape == (0, 3)
    assert functional.jacobian(lambda x: x[:0], x, vectorize=True).shape == (0, 3)
    assert functional.jacobian(lambda x: x * 2, x[:0]).shape == (0, 0)


def test_forward_jacobian_can_be_differentiated() -> None:
    x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    made = functional.jacobian(torch.sin, x, vectorize=True, strategy="forward-mode")
    (found,) = torch.autograd.grad(made.sum(), x)
    np.testing.assert_allclose(found.numpy(), -np.sin(x.detach().numpy()))


def test_functions_that_cannot_be_batched_are_looped_over() -> None:
    square = made(
        torch, lambda x, g: torch.from_numpy(2 * x.detach().numpy() * g.detach().numpy())
    )
    found = functional.jacobian(square.apply, torch.tensor([1.0, 2.0]), vectorize=True)
    np.testing.assert_array_equal(found.numpy(), np.diag([2.0, 4.0]))


@pytest.mark.parametrize("vectorize", OPTIONS)
def test_hessian_of_several_inputs(vectorize: bool) -> None:
    x, y = torch.tensor([1.0, 2.0]), torch.tensor(3.0)
    for strategy in ("reverse-mode", "forward-mode") if vectorize else ("reverse-mode",):
        (xx, xy), (yx, yy) = functional.hessian(
            lambda x, y: (x**2).sum() * y**2,
            (x, y),
            vectorize=vectorize,
            outer_jacobian_strategy=strategy,
        )
        np.testing.assert_array_equal(xx.numpy(), 18 * np.eye(2))
        np.testing.assert_array_equal(xy.numpy(), [12, 24])
        np.testing.assert_array_equal(yx.numpy(), [12, 24])
        np.testing.assert_array_equal(yy.numpy(), 10)


def test_inputs_are_left_as_they_are() -> None:
    x = torch.tensor([1.0, 2.0])
    functional.jacobian(torch.sin, x)
    functional.hessian(torch.sum, x, vectorize=True, outer_jacobian_strategy="forward-mode")
    assert not x.requires_grad
    assert x.grad is None


def test_strict_names_the_independent_input() -> None:
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="independent of input 1"):
        functional.vjp(lambda x, y: x.sum(), (x, x), strict=True)
    with pytest.raises(RuntimeError, match="Output 1 of the user-provided function does not"):
        functional.jacobian(lambda x: (x, torch.ones(2)), x, strict=True)
