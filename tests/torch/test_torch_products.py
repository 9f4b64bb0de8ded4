"""Products of the object layer: as PyTorch's, call by call, and by themselves."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import agree, numbers

import tapegrad.torch as torch

A, B, C = numbers(2, 3), numbers(3, 4, seed=1), numbers(4, 5, seed=2)
V, W = numbers(3, seed=3), numbers(3, seed=4)
STACK, OTHER = numbers(2, 3, 4, seed=5), numbers(2, 4, 5, seed=6)
SQUARE = numbers(3, 3, seed=7)
Z, Y = numbers(2, 3, dtype=np.complex128), numbers(3, 4, seed=1, dtype=np.complex128)
WHOLE = numbers(3, 3, dtype=np.int64)
SINGLE = numbers(3, 4, dtype=np.float32)

MATMULS = [
    (A, B),
    (A, V),
    (V, W),
    (V, B),
    (STACK, OTHER),
    (STACK, C),
    (STACK, numbers(4)),
    (V, STACK),
    (Z, Y),
    (Z[0], Y[:, 0]),
    (WHOLE, WHOLE),
    (SINGLE.T, SINGLE),
    (A, C),
    (A, SINGLE),
    (V, SINGLE[:, 0]),
    (A, SINGLE[:, 0]),
    (V, numbers(4)),
    (A, numbers(4)),
    (V, C),
    (STACK, STACK),
    (STACK, numbers(3, 4, 3)),
    (WHOLE > 0, WHOLE > 0),
    (WHOLE, SQUARE),
]


@pytest.mark.parametrize(("x", "y"), MATMULS)
def test_matmul_of_every_rank(x: np.ndarray, y: np.ndarray) -> None:
    agree(lambda t, x, y: x @ y, x, y, order=2)
    agree(lambda t, x, y: t.matmul(x, y), x, y)


CALLS = {
    "mm": (lambda t, x, y: t.mm(x, y), A, B),
    "mm vector": (lambda t, x, y: t.mm(x, y), A, V),
    "mv": (lambda t, x, y: x.mv(y), A, V),
    "mv ranks": (lambda t, x, y: x.mv(y), V, V),
    "bmm": (lambda t, x, y: t.bmm(x, y), STACK, OTHER),
    "bmm ranks": (lambda t, x, y: t.bmm(x, y), STACK, C),
    "bmm sides": (lambda t, x, y: t.bmm(x, y), STACK, STACK),
    "dot": (lambda t, x, y: x.dot(y), V, W),
    "dot ranks": (lambda t, x, y: x.dot(y), A, V),
    "vdot": (lambda t, x, y: t.vdot(x, y), Z[0], Y[:, 0]),
    "inner": (lambda t, x, y: t.inner(x, y), A, SQUARE),
    "inner sides": (lambda t, x, y: t.inner(x, y), A, B),
    "outer": (lambda t, x, y: t.outer(x, y), V, numbers(4)),
    "ger": (lambda t, x, y: x.ger(y), V, numbers(4)),
    "outer ranks": (lambda t, x, y: t.outer(x, y), A, V),
    "addmm": (lambda t, i, x, y: t.addmm(i, x, y), numbers(4), A, B),
    "addmm scaled": (lambda t, i, x, y: i.addmm(x, y, beta=0.5, alpha=2), numbers(2, 4), A, B),
    "addmm beta 0": (lambda t, i, x, y: i.addmm(x, y, beta=0), numbers(2, 4), A, B),
    "addmm_": (lambda t, i, x, y: i.clone().addmm_(x, y), numbers(2, 4), A, B),
    "addmm sides": (lambda t, i, x, y: t.addmm(i, x, y), numbers(3), A, B),
    "addmm dtypes": (lambda t, i, x, y: t.addmm(i, x, y), numbers(4), A, SINGLE),
    "addmv": (lambda t, i, x, y: t.addmv(i, x, y, alpha=3), numbers(2), A, V),
    "addr": (lambda t, i, x, y: t.addr(i, x, y), SQUARE, V, W),
    "addbmm": (lambda t, i, x, y: t.addbmm(i, x, y, beta=2), numbers(3, 5), STACK, OTHER),
    "baddbmm": (lambda t, i, x, y: t.baddbmm(i, x, y, alpha=2), numbers(2, 3, 5), STACK, OTHER),
    "tensordot": (lambda t, x, y: t.tensordot(x, y, dims=1), A, B),
    "tensordot pairs": (lambda t, x, y: t.tensordot(x, y, ([1], [0])), A, B),
    "tensordot sides": (lambda t, x, y: t.tensordot(x, y, 1), A, C),
    "kron": (lambda t, x, y: t.kron(x, y), A, SQUARE),
    "cross": (lambda t, x, y: t.cross(x, y, dim=1), A, A[::-1].copy()),
    "linalg.cross": (lambda t, x, y: t.linalg.cross(x, y), SQUARE, SQUARE.T.copy()),
    "cross of four": (lambda t, x, y: t.linalg.cross(x, y), C.T, C.T),
    "multi_dot": (lambda t, x, y, z: t.linalg.multi_dot([x, y, z]), A, B, C),
    "multi_dot of one": (lambda t, x: t.linalg.multi_dot([x]), A),
    "matrix_power": (lambda t, x: x.matrix_power(3), SQUARE),
    "matrix_power -2": (lambda t, x: t.matrix_power(x, -2), SQUARE),
    "matrix_power 0": (lambda t, x: t.matrix_power(x, 0), SQUARE),
    "matrix_power 1": (lambda t, x: t.matrix_power(x, 1), SQUARE),
    "matrix_power of no square": (lambda t, x: t.matrix_power(x, 2), A),
    "trace": (lambda t, x: x.trace(), A),
    "trace of integers": (lambda t, x: x.trace(), WHOLE),
    "trace ranks": (lambda t, x: x.trace(), STACK),
    "cdist": (lambda t, x, y: t.cdist(x, y), A, SQUARE),
    "cdist 1": (lambda t, x, y: t.cdist(x, y, p=1), A, SQUARE),
    "cdist inf": (lambda t, x, y: t.cdist(x, y, p=float("inf")), A, SQUARE),
    "cdist of itself": (lambda t, x: t.cdist(x, x), A),
    "cdist sides": (lambda t, x, y: t.cdist(x, y), A, B),
}


@pytest.mark.parametrize("word", CALLS)
def test_products_of_fixed_ranks(word: str) -> None:
    call, *inputs = CALLS[word]
    agree(call, *inputs)


EINSUMS = [
    ("ij,jk->ik", A, B),
    ("ij,jk", A, B),
    ("ii->i", SQUARE),
    ("ii", SQUARE),
    ("ij->ji", A),
    ("ij,ij->", A, A),
    ("bij,bjk->bik", STACK, OTHER),
    ("...ij,jk->...ik", STACK, C),
    ("ij->k", A),
    ("ij,jk->ik", A, C),
    ("ij", STACK),
    ("ij,j->i", A, SINGLE[:, 0]),
]


@pytest.mark.parametrize("given", EINSUMS, ids=lambda given: given[0])
def test_einsum(given: tuple) -> None:
    equation, *inputs = given
    agree(lambda t, *xs: t.einsum(equation, *xs), *inputs, name=False)
    agree(lambda t, *xs: t.einsum(equation, list(xs)), *inputs, name=False)


def test_einsum_of_numbers_that_are_none() -> None:
    x = torch.zeros(2, 2)
    for given in ([0, 52], [0, -1]):
        with pytest.raises(ValueError, match=r"not within the valid range \[0, 52\)"):
            torch.einsum(x, given)
    with pytest.raises(TypeError, match="either an integer or an ellipsis"):
        torch.einsum(x, [0, "a"])
    with pytest.raises(TypeError, match="must be a list or a tuple"):
        torch.einsum(x, 0)
    assert torch.einsum(x, [30, 2])._base is x  # the numbers in order


@pytest.mark.parametrize("equation", ["ijk->kji", "kij", "...ij->...ji", "i...->...i", "ijk->ijk"])
def test_einsum_without_sums_is_a_view(equation: str) -> None:
    x = torch.arange(24.0).reshape(2, 3, 4).requires_grad_()
    whole = x * 1
    view = torch.einsum(equation, whole)
    assert view._base is whole
    assert view.tolist() == np.einsum(equation, whole.detach().numpy()).tolist()
    view[0] = 5.0
    assert (whole == 5).sum() >= view[0].numel()
    whole.sum().backward()
    assert x.grad.sum() == 24 - view[0].numel()


def test_einsum_of_numbered_dimensions() -> None:
    agree(lambda t, x, y: t.einsum(x, [0, 1], y, [1, 2], [0, 2]), A, B, name=False)
    agree(lambda t, x, y: t.einsum(x, [0, 1], y, [1, 2]), A, B, name=False)


LINEARS = [
    (A, SQUARE, V),
    (V, SQUARE, V),
    (numbers(5, 2, 3), SQUARE, V),
    (numbers(5, 2, 3), SQUARE),
    (A, SQUARE),
    (V, SQUARE),
    (A, V),
    (Z, Y.T.copy(), numbers(4, dtype=np.complex128)),
    (A, B, V),
    (A, SQUARE, numbers(4)),
    (A, SQUARE, SINGLE[:, 0]),
    (A, SINGLE.T.copy()),
    (WHOLE, WHOLE),
]


@pytest.mark.parametrize("inputs", LINEARS)
def test_linear(inputs: tuple) -> None:
    agree(lambda t, *xs: t.nn.functional.linear(*xs), *inputs, order=2)


@pytest.mark.parametrize("order", [1, 2])
def test_affine_maps_against_differences(order: int) -> None:
    inputs = [torch.from_numpy(x.copy()).requires_grad_() for x in (V, A, SQUARE)]
    check = torch.autograd.gradcheck if order == 1 else torch.autograd.gradgradcheck
    assert check(lambda b, x, w: torch.nn.functional.linear(x, w, b), inputs)
    assert check(lambda b, x, w: torch.addmm(b, x, w, beta=2, alpha=3), inputs)


def test_a_product_is_one_node_with_the_leaves_behind_it() -> None:
    x, w, b = (torch.ones(*shape, requires_grad=True) for shape in ((2, 3), (4, 3), (4,)))
    node = torch.nn.functional.linear(x, w, b).grad_fn
    assert [leaf.variable for leaf, _ in node.next_functions] == [b, x, w]
    assert (x @ w.T).grad_fn.name() == "MmBackward0"


def test_what_is_no_tensor_is_refused() -> None:
    with pytest.raises(TypeError):
        torch.ones(2, 2) @ 2.0
    with pytest.raises(TypeError):
        torch.matmul(torch.ones(2), [1.0, 2.0])


def test_a_product_keeps_only_what_its_gradient_reads() -> None:
    w = torch.ones(3, 2, requires_grad=True)
    x = torch.ones(4, 3)
    product = x @ w
    w.data.mul_(2.0)
    with torch.no_grad():
        w.mul_(2.0)  # x alone is read for the gradient of w
    product.sum().backward()
    assert w.grad is not None
    np.testing.assert_array_equal(w.grad.numpy(), np.full((3, 2), 4.0))
