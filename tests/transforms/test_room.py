"""Matrices of derivatives that cannot fit into memory are refused before a row is computed."""

from __future__ import annotations

import time

import numpy as np
import pytest

import tapegrad
import tapegrad.autograd
import tapegrad.torch as torch
from tapegrad import OutOfMemoryError, hessian, jacfwd, jacobian, jacrev
from tapegrad._transforms import jacobians, room

N = 10**6
X = np.ones(N)
functional = torch.autograd.functional


def sine(x):
    return x.sin() if isinstance(x, torch.Tensor) else np.sin(x)


def total(x):
    return (x * x).sum()


CALLS = {
    "jacobian(sine)": lambda: jacobian(sine)(X),
    "jacrev(sine)": lambda: jacrev(sine)(X),
    "jacfwd(sine)": lambda: jacfwd(sine)(X),
    "jacrev(sine) ": lambda: jacrev(sine, chunk_size="auto")(X),
    "jacobian(sine)  ": lambda: jacobian(sine, mode="forward", chunk_size=7)(X),
    "hessian(total)": lambda: hessian(total)(X),
    "torch.autograd.functional.jacobian": lambda: functional.jacobian(sine, torch.tensor(X)),
    "torch.autograd.functional.jacobian ": lambda: functional.jacobian(
        sine, torch.tensor(X), vectorize=True
    ),
    "torch.autograd.functional.jacobian  ": lambda: functional.jacobian(
        sine, torch.tensor(X), vectorize=True, strategy="forward-mode"
    ),
    "torch.autograd.functional.hessian": lambda: functional.hessian(total, torch.tensor(X)),
    "torch.func.jacrev(sine)": lambda: torch.func.jacrev(sine)(torch.tensor(X)),
    "torch.func.jacfwd(sine)": lambda: torch.func.jacfwd(sine)(torch.tensor(X)),
    "torch.func.hessian(total)": lambda: torch.func.hessian(total)(torch.tensor(X)),
    "jacobian(sine)   ": lambda: tapegrad.autograd.jacobian(sine)(X),
    "hessian(total) ": lambda: tapegrad.autograd.hessian(total)(X),
}


@pytest.mark.parametrize("call", CALLS)
def test_matrix_that_cannot_fit_is_refused_at_once(call):
    start = time.monotonic()
    with pytest.raises(OutOfMemoryError) as caught:
        CALLS[call]()
    assert time.monotonic() - start < 10
    said = str(caught.value)
    assert said.startswith(f"{call.strip()}: expected a result that fits into memory")
    assert f"{N} x {N} elements, which need {8 * N * N} bytes" in said
    assert isinstance(caught.value, MemoryError)
    assert isinstance(caught.value, RuntimeError)
    assert "Take " in said


def test_message():
    with pytest.raises(OutOfMemoryError) as caught:
        hessian(total)(X)
    assert str(caught.value) == (
        "hessian(total): expected a result that fits into memory, got 1000000 x 1000000 elements, "
        f"which need 8000000000000 bytes, and {str(caught.value).split(', and ')[1].split()[0]} "
        "are available. Take hvp for its products with vectors, or tapegrad.sparse.hessian if "
        "most elements are 0."
    )


def test_function_is_not_called_for_a_hessian_that_cannot_fit():
    with pytest.raises(OutOfMemoryError):
        hessian(lambda x: pytest.fail("called"))(X)


@pytest.fixture
def memory(monkeypatch):
    """Sets how many bytes there are, and asks of small matrices too."""
    monkeypatch.setattr(room, "MANY", 0)
    monkeypatch.setattr(jacobians, "MANY", 0)

    def set_to(count):
        monkeypatch.setattr(room, "available", lambda: count)

    return set_to


@pytest.mark.parametrize("transform", [jacobian, jacrev, jacfwd])
def test_matrix_that_just_fits_is_computed(transform, memory):
    memory(4 * 4 * 8)
    assert np.array_equal(transform(np.negative)(np.ones(4)), -np.eye(4))
    memory(4 * 4 * 8 - 1)
    with pytest.raises(OutOfMemoryError, match="need 128 bytes, and 127 are available"):
        transform(np.negative)(np.ones(4))


def test_bytes_are_those_of_the_blocks(memory):
    memory(0)

    def f(tree):
        return {"a": tree[0] * 1j, "b": tree[1][:2]}

    tree = (np.ones(3), np.ones(4, np.float32))
    with pytest.raises(OutOfMemoryError, match="5 x 7 elements, which need 320 bytes"):
        jacrev(f)(tree)  # of 8 bytes by the first and 4 by the second, twice that where complex
    memory(320)
    found = jacrev(f)(tree)
    assert sum(block.nbytes for row in found.values() for block in row) == 320


def test_memory_that_the_system_does_not_tell_is_tried(monkeypatch, memory):
    memory(None)
    assert np.array_equal(jacobian(np.negative)(np.ones(4)), -np.eye(4))
    monkeypatch.setattr(room, "_is_granted", lambda count: False)
    with pytest.raises(OutOfMemoryError, match="more than the system grants"):
        jacobian(np.negative)(np.ones(4))


def test_what_the_system_says():
    found = room.available()
    assert found is None or 1 << 24 < found < 1 << 50
    assert not room._is_granted(1 << 62)
    assert not room._is_granted(1 << 70)
    assert room._is_granted(1 << 20)


def test_batched_and_nested_matrices_are_computed(memory):
    memory(1 << 20)
    found = tapegrad.vmap(jacobian(np.negative))(np.ones((2, 3)))
    assert found.shape == (2, 3, 3)
    assert jacobian(jacobian(lambda x: x**3))(np.ones(2)).shape == (2, 2, 2)
    memory(7)
    with pytest.raises(OutOfMemoryError, match=r"^jacobian\(negative\)"):
        jacobian(jacobian(np.negative))(np.ones(2))


def test_products_of_what_cannot_fit_are_computed():
    assert np.array_equal(tapegrad.jvp(sine, (X,), (X,))[1], np.cos(X))
    assert np.array_equal(tapegrad.hvp(total, (X,), (X,)), 2 * X)
