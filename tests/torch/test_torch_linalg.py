"""torch.linalg and its older names: as PyTorch's, call by call, and by themselves."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import agree, numbers

import tapegrad.torch as torch

A = numbers(3, 3)
STACK = numbers(2, 3, 3, seed=1)
TALL, WIDE = numbers(4, 2, seed=2), numbers(2, 3, seed=3)
POSITIVE = A @ A.T + 3 * np.eye(3)
Z = numbers(3, 3, seed=4, dtype=np.complex128)
HERMITIAN = Z @ Z.conj().T + 3 * np.eye(3)
SINGULAR = np.ones((2, 2))
V = numbers(3, seed=5)
WHOLE = numbers(3, 3, dtype=np.int64)
INF = float("inf")

CALLS = {
    "inv": (lambda t, x: t.linalg.inv(x), STACK),
    "inv complex": (lambda t, x: t.linalg.inv(x), Z),
    "inverse": (lambda t, x: x.inverse(), A),
    "inv singular": (lambda t, x: t.linalg.inv(x), SINGULAR),
    "inv of no square": (lambda t, x: t.linalg.inv(x), WIDE),
    "inv of a vector": (lambda t, x: t.linalg.inv(x), V),
    "inv of integers": (lambda t, x: t.linalg.inv(x), WHOLE),
    "inv_ex": (lambda t, x: t.linalg.inv_ex(x).inverse, A),
    "pinv": (lambda t, x: t.linalg.pinv(x), TALL),
    "pinv of rank 1": (lambda t, x: t.linalg.pinv(x), SINGULAR),
    "pinverse": (lambda t, x: x.pinverse(), WIDE),
    "solve": (lambda t, x, y: t.linalg.solve(x, y), A, V),
    "solve stacks": (lambda t, x, y: t.linalg.solve(x, y), STACK, numbers(2, 3)),
    "solve from the right": (lambda t, x, y: t.linalg.solve(x, y, left=False), A, WIDE),
    "solve singular": (lambda t, x, y: t.linalg.solve(x, y), SINGULAR, numbers(2)),
    "solve sides": (lambda t, x, y: t.linalg.solve(x, y), A, TALL),
    "solve dtypes": (lambda t, x, y: t.linalg.solve(x, y), A, numbers(3, dtype=np.float32)),
    "triangle": (lambda t, x, y: t.linalg.solve_triangular(x, y, upper=True), A, A),
    "unit triangle": (
        lambda t, x, y: t.linalg.solve_triangular(x, y, upper=False, unitriangular=True),
        A,
        A.T.copy(),
    ),
    "triangular_solve": (lambda t, x, y: t.triangular_solve(x, y)[0], A, POSITIVE),
    "det": (lambda t, x: x.det(), STACK),
    "det complex": (lambda t, x: t.linalg.det(x), Z),
    "slogdet": (lambda t, x: t.linalg.slogdet(x), STACK),
    "slogdet complex": (lambda t, x: t.linalg.slogdet(x), Z),
    "torch.slogdet": (lambda t, x: t.slogdet(x), A),
    "logdet": (lambda t, x: t.logdet(x), POSITIVE),
    "cholesky": (lambda t, x: t.linalg.cholesky(x), POSITIVE),
    "cholesky upper": (lambda t, x: t.linalg.cholesky(x, upper=True), POSITIVE),
    "torch.cholesky": (lambda t, x: t.cholesky(x, upper=True), POSITIVE),
    "cholesky of negative": (lambda t, x: t.linalg.cholesky(x), -POSITIVE),
    "cholesky_solve": (lambda t, x: t.cholesky_solve(x, t.ones(3, 3, dtype=x.dtype).tril()), A),
    "qr": (lambda t, x: [p**2 for p in t.linalg.qr(x)], TALL),
    "qr wide": (lambda t, x: [p**2 for p in t.linalg.qr(x)], WIDE),
    "torch.qr": (lambda t, x: t.qr(x)[1] ** 2, A),
    "qr complete": (lambda t, x: t.linalg.qr(x.detach(), mode="complete")[0].abs(), TALL),
    "qr mode": (lambda t, x: t.linalg.qr(x, mode="full"), TALL),
    "svd": (lambda t, x: [p**2 for p in t.linalg.svd(x, full_matrices=False)], TALL),
    "svd full": (lambda t, x: t.linalg.svd(x.detach())[0].abs(), WIDE),
    "torch.svd V": (lambda t, x: t.svd(x).V.abs(), TALL),
    "svdvals": (lambda t, x: t.linalg.svdvals(x), STACK),
    "eig": (lambda t, x: t.linalg.eig(x)[1].abs(), A),
    "eigvals": (lambda t, x: t.linalg.eigvals(x), A),
    "eigvals complex": (lambda t, x: t.linalg.eigvals(x), Z),
    "eigh": (lambda t, x: t.linalg.eigh(x)[0], POSITIVE),
    "eigh vectors": (lambda t, x: t.linalg.eigh(x)[1] ** 2, POSITIVE),
    "eigh upper": (lambda t, x: t.linalg.eigh(x, UPLO="U")[0], POSITIVE),
    "eigvalsh": (lambda t, x: t.linalg.eigvalsh(x), HERMITIAN),
    "eigh of no square": (lambda t, x: t.linalg.eigh(x), WIDE),
    "lstsq": (lambda t, x, y: t.linalg.lstsq(x, y)[0], TALL, numbers(4, 3)),
    "lstsq of a vector": (lambda t, x, y: t.linalg.lstsq(x, y)[0], TALL, numbers(4)),
    "lstsq of stacks": (
        lambda t, x, y: t.linalg.lstsq(x, y)[0],
        numbers(2, 4, 3),
        numbers(2, 4, 2),
    ),
    "lstsq residuals": (
        lambda t, x, y: t.linalg.lstsq(x, y, driver="gels")[1],
        TALL,
        numbers(4, 3),
    ),
    "cond": (lambda t, x: t.linalg.cond(x), A),
    "matrix_rank": (lambda t, x: t.linalg.matrix_rank(x), STACK),
    "matrix_rank 1": (lambda t, x: t.linalg.matrix_rank(x, hermitian=True), SINGULAR),
    "matrix_rank atol": (lambda t, x: t.linalg.matrix_rank(x, atol=1.0), STACK),
    "matrix_exp": (lambda t, x: t.linalg.matrix_exp(x), STACK),
    "matrix_exp large": (lambda t, x: x.matrix_exp(), 5 * A),
    "matrix_exp complex": (lambda t, x: t.matrix_exp(x), Z),
    "tensorinv": (lambda t, x: t.linalg.tensorinv(x, ind=1), numbers(4, 2, 2)),
    "tensorsolve": (lambda t, x, y: t.linalg.tensorsolve(x, y), numbers(2, 2, 4), SINGULAR),
    "vecdot": (lambda t, x, y: t.linalg.vecdot(x, y), A, POSITIVE),
    "diagonal": (lambda t, x: t.linalg.diagonal(x), STACK),
    "vander": (lambda t, x: t.linalg.vander(x), V),
    "norm of two dims": (lambda t, x: t.linalg.norm(x, 1, dim=(0, 1), keepdim=True), A),
    "norm of a word": (lambda t, x: t.linalg.norm(x, "bad"), A),
    "norm of a stack": (lambda t, x: t.linalg.norm(x, 2), STACK),
    "norm of integers": (lambda t, x: t.linalg.norm(x), WHOLE),
    "matrix_norm 3": (lambda t, x: t.linalg.matrix_norm(x, 3), A),
    "vector_norm dtype": (lambda t, x: t.linalg.vector_norm(x, dtype=t.complex128), A),
}
GAUGE = {"tensorinv", "cond", "vecdot"}  # whose last node has a name of PyTorch's inside


@pytest.mark.parametrize("word", CALLS)
def test_decompositions_and_equations(word: str) -> None:
    call, *inputs = CALLS[word]
    named = word not in GAUGE and "abs" not in word and word not in ("torch.svd V", "eig")
    agree(call, *inputs, name=named, tolerance=1e-8)


@pytest.mark.parametrize("order", [None, 1, 2, 3.5, 0.5, 0, INF, -INF, -1, -2, "fro", "nuc"])
@pytest.mark.parametrize("word", ["norm", "vector_norm", "matrix_norm"])
def test_norms_of_every_order(order: object, word: str) -> None:
    for x in (A, STACK, Z, V):
        if word == "vector_norm" and (order is None or isinstance(order, str)):
            continue
        if word == "matrix_norm" and (order in (None, 3.5, 0.5, 0)):
            continue
        agree(lambda t, x: getattr(t.linalg, word)(x, order), x, tolerance=1e-8)


@pytest.mark.parametrize("order", [1, 2, 3, INF])
def test_norms_at_zeros_and_ties(order: float) -> None:
    for x in (np.zeros(2), np.array([0.0, 3.0]), np.array([1.0, -1.0]), np.array(-3.0)):
        agree(lambda t, x: t.linalg.vector_norm(x, order), x)


def test_the_determinant_of_a_singular_matrix_has_its_cofactors_for_gradient() -> None:
    x = torch.from_numpy(SINGULAR.copy()).requires_grad_()
    torch.linalg.det(x).backward()
    assert x.grad is not None
    np.testing.assert_allclose(x.grad.numpy(), [[1.0, -1.0], [-1.0, 1.0]])


def test_errors_are_those_of_the_namespace() -> None:
    assert issubclass(torch.linalg.LinAlgError, RuntimeError)
    for call in (torch.linalg.inv, lambda x: torch.linalg.solve(x, x), torch.linalg.cholesky):
        with pytest.raises(torch.linalg.LinAlgError):
            call(torch.zeros(2, 2))


def test_results_are_named_tuples() -> None:
    x = torch.from_numpy(TALL.copy())
    found = torch.linalg.svd(x, full_matrices=False)
    assert type(found) is torch.return_types.linalg_svd
    np.testing.assert_allclose((found.U * found.S @ found.Vh).numpy(), TALL)
    old = torch.svd(x)
    np.testing.assert_allclose((old.U * old.S @ old.V.T).numpy(), TALL)
    assert torch.linalg.eigh(torch.eye(2)).eigenvalues.tolist() == [1.0, 1.0]


def test_the_exponential_of_a_matrix_against_differences() -> None:
    x = torch.from_numpy(A.copy()).requires_grad_()
    assert torch.autograd.gradcheck(torch.linalg.matrix_exp, x)
    assert torch.autograd.gradgradcheck(torch.linalg.matrix_exp, x)


def test_factors_without_swaps_are_no_numbers_where_there_are_none():
    """A pivot of 0 above a 1: finite factors would be those of another matrix."""
    A = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    _, L, U = torch.linalg.lu(A, pivot=False)
    assert not torch.isfinite(L).all()
    assert not torch.isfinite(U).all()
    B = torch.tensor([[0.0, 1.0], [0.0, 2.0]])  # singular, and yet it has factors
    _, L, U = torch.linalg.lu(B, pivot=False)
    assert (L @ U).equal(B)


def test_a_singular_matrix_is_an_error_of_this_namespace():
    with pytest.raises(torch.linalg.LinAlgError, match="singular"):
        torch.linalg.inv_ex(torch.zeros(2, 2), check_errors=True)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("general", [False, True])
def test_lobpcg_solves_symmetric_problems(largest, general):
    a, b = torch.randn(2, 6, 6, dtype=torch.float64)
    a.requires_grad_()
    b = (b @ b.mT + 7 * torch.eye(6, dtype=torch.float64)).requires_grad_() if general else None
    given = [a] if b is None else [a, b]
    values, vectors = torch.lobpcg(a, 2, b, largest=largest)
    whole = torch.eye(6, dtype=torch.float64) if b is None else b
    symmetric = (a + a.mT) / 2
    assert torch.allclose(symmetric @ vectors, whole @ vectors * values[..., None, :])
    assert torch.allclose(vectors.mT @ whole @ vectors, torch.eye(2, dtype=torch.float64))
    every = torch.linalg.eigvals(torch.linalg.solve(whole, symmetric)).real.sort().values
    assert torch.allclose(values, every[..., -2:].flip(-1) if largest else every[..., :2])

    def call(*given):
        values, vectors = torch.lobpcg(*given[:1], 2, *given[1:], largest=largest)
        return values, vectors**2  # whose sign is free

    assert torch.autograd.gradcheck(call, given)
    if not general:
        assert torch.autograd.gradgradcheck(call, given)


def test_lobpcg_says_what_it_expected():
    with pytest.raises(ValueError, match=r"A rows \(=5\) is smaller than 3 x"):
        torch.lobpcg(torch.eye(5), k=2)
    with pytest.raises(AssertionError, match="must be square"):
        torch.lobpcg(torch.ones(6, 5))
    with pytest.raises(AssertionError, match="must have same shape"):
        torch.lobpcg(torch.eye(6), B=torch.eye(5))
    with pytest.raises(NotImplementedError, match="tracker"):
        torch.lobpcg(torch.eye(6), tracker=print)
    assert torch.lobpcg(torch.eye(9), X=torch.ones(9, 2))[0].tolist() == [1.0, 1.0]


def test_the_factor_of_an_indefinite_matrix_is_what_was_reached() -> None:
    A = torch.tensor([[4.0, 2, 1, 0], [2, 5, 3, 1], [1, 3, 1, 2], [0, 1, 2, 9]])
    wanted = [[2, 0, 0, 0], [1, 2, 0, 0], [0.5, 1.25, -0.8125, 0], [0, 0.5, 2, 9]]
    low, info = torch.linalg.cholesky_ex(A)
    assert info == 3
    assert low.tolist() == wanted
    assert torch.linalg.cholesky_ex(A, upper=True).L.T.tolist() == wanted
    definite = A + 9 * torch.eye(4)
    stack = torch.stack([definite, A]).requires_grad_()
    low, info = torch.linalg.cholesky_ex(stack)
    assert info.tolist() == [0, 3]
    assert low[1].tolist() == wanted
    assert torch.equal(low[0], torch.linalg.cholesky(definite))
    assert torch.equal(torch.func.vmap(lambda x: torch.linalg.cholesky_ex(x).L)(stack), low)
    low.sum().backward()
    assert not stack.grad[1].any()
    assert stack.grad[0].all()
