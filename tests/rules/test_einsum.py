"""np.einsum against central differences: its notations, and contractions as matrix products."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from matrices import complex_, real

import tapegrad
from tapegrad import grad
from tapegrad.rules import einsum
from tapegrad.rules.einsum import LETTERS, _contraction
from tapegrad.testing import check_grads, check_rule
from tapegrad.testing.strategies import dtypes, einsums

EINSUMS = [
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("ji", (2, 3)),
    ("ba", (2, 3)),
    ("ii->i", (3, 3)),
    ("ii", (3, 3)),
    ("iij->j", (3, 3, 2)),
    ("iii->i", (3, 3, 3)),
    ("ij->", (2, 3)),
    ("ij->j", (2, 3)),
    ("i,j->", (2,), (3,)),
    ("ij,k->ik", (2, 3), (4,)),
    ("ii,ij->j", (3, 3), (3, 2)),
    ("i,i,i->i", (3,), (3,), (3,)),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    ("...ij,...jk->...ik", (5, 2, 3), (5, 3, 4)),
    ("...ij,...jk", (1, 2, 3), (5, 3, 4)),
    ("...ij,jk", (6, 5, 2, 3), (3, 4)),
    ("i...->...", (2, 3, 4)),
    ("...i,...i->...", (2, 3), (3,)),
    ("...", (2, 3)),
    ("ij,ij->ij", (1, 3), (2, 3)),
    (" i j , j -> i ", (2, 3), (3,)),
    (",i->i", (), (3,)),
    ("ij,jk->ik", (0, 3), (3, 4)),
]


@pytest.mark.part(3)
@pytest.mark.parametrize(("subscripts", "shapes"), [(text, shapes) for text, *shapes in EINSUMS])
@pytest.mark.parametrize("make", [real, complex_])
def test_einsum(subscripts, shapes, make):
    args = tuple(make(*shape) for shape in shapes)
    check_grads(lambda *xs: np.einsum(subscripts, *xs), args, order=2)


@draws(15, 300)
@given(einsums(dtypes(half=False)))
def test_any_einsum(drawn):
    subscripts, operands = drawn
    check_rule(lambda *xs: np.einsum(subscripts, *xs), *operands)


@draws(15, 300)
@given(einsums(dtypes(half=False), max_operands=4))
def test_any_einsum_as_products_of_matrices(drawn):
    """Few products are left to NumPy's loop; here none are."""
    subscripts, operands = drawn
    choices = einsum._path, einsum.product
    with mock.patch.object(einsum, "FEW_PRODUCTS", 0):
        for choice in choices:
            choice.cache_clear()
        check_rule(lambda *xs: np.einsum(subscripts, *xs), *operands)
    for choice in choices:
        choice.cache_clear()


def test_many_operands_are_contracted_in_pairs():
    """Two-electron integrals: 10^8 products at once, 4 x 10^5 in pairs."""
    subscripts = "pqrs,pi,qj,rk,sl->ijkl"
    shapes = ((10, 10, 10, 10), (10, 10), (10, 10), (10, 10), (10, 10))
    steps = einsum._path(subscripts, shapes, False)
    assert [len(positions) for positions, _ in steps] == [2, 2, 2, 2]
    operands = [real(*shape) for shape in shapes]
    out = tapegrad.vjp(lambda *xs: np.einsum(subscripts, *xs), *operands)[0]
    np.testing.assert_allclose(out, np.einsum(subscripts, *operands, optimize=True), rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"order": "C"}])
@pytest.mark.parametrize("dtype", ["?", "b", "B", "e", "f", "q"])
def test_steps_are_of_the_dtype_that_all_operands_have_together(dtype, options):
    """The cheapest step is that of the first two, which would overflow, or say only "any"."""
    numbers = np.random.default_rng(0).integers(0, 100, (2, 5, 30)).astype(dtype)
    operands = numbers[0], numbers[1].T, real(5, 100)
    assert einsum._path("ij,jk,kl->il", tuple(x.shape for x in operands), False)[0][0] == [0, 1]

    def program(x):
        return np.einsum("ij,jk,kl->il", *operands[:2], x, **options)

    out, pullback = tapegrad.vjp(program, operands[2])
    wide = operands[0].astype(float) @ operands[1].astype(float)
    np.testing.assert_allclose(out, wide @ operands[2], rtol=1e-9)
    np.testing.assert_allclose(pullback(out)[0], wide.T @ np.asarray(out), rtol=1e-9)


@pytest.mark.parametrize(
    ("subscripts", "shapes", "optimize"),
    [
        ("ij,jk", [(2, 3)], False),
        ("i,jk->k", [(2, 3), (3, 4)], False),
        ("ijk,jk,kl->il", [(2, 3), (3, 4), (4, 2)], False),
        ("ij,jk->iz", [(2, 3), (3, 4)], False),
        ("ij", [(2, 3), (3, 4)], False),
        ("ij,jk,kl->il", [(2, 3), (3, 4), (4, 2)], [(0, 1), (0, 1)]),
        ("ij,jk->ik", [(2, 3), (3, 4)], (["einsum_path", (0, 1)], "its description")),
        ("ij,jk->ik", [(2, 3), (3, 4)], 1),
    ],
)
def test_einsum_says_what_is_wrong_as_numpy_does(subscripts, shapes, optimize):
    operands = [real(*shape) for shape in shapes]

    def call(*operands):
        return np.einsum(subscripts, *operands, optimize=optimize)

    with pytest.raises((TypeError, ValueError)) as numpys:
        call(*operands)
    with pytest.raises(numpys.type) as ours:
        tapegrad.vjp(call, *operands)
    assert str(ours.value) == str(numpys.value)


def test_einsum_of_more_operands_than_one_loop_of_numpy_takes():
    operands = [real(2, 2) / 2 for _ in range(70)]
    terms = [LETTERS[i % 52] + LETTERS[(i + 1) % 52] for i in range(52)]
    subscripts = ",".join([*terms, *terms[:18]]) + "->"
    out = tapegrad.vjp(lambda *xs: np.einsum(subscripts, *xs, optimize=True), *operands)[0]
    expected = np.einsum(subscripts, *operands, optimize=True)
    np.testing.assert_allclose(out, expected, rtol=1e-9)


@pytest.mark.parametrize("optimize", [True, "greedy", "optimal"])
def test_einsum_optimize(optimize):
    args = real(2, 3), real(3, 4), real(4, 2)
    check_grads(lambda *xs: np.einsum("ij,jk,kl->il", *xs, optimize=optimize), args, order=2)


def test_einsum_with_a_path():
    args = real(2, 3), real(3, 4), real(4, 2)
    path = np.einsum_path("ij,jk,kl->il", *args)[0]
    check_grads(lambda *xs: np.einsum("ij,jk,kl->il", *xs, optimize=path), args, order=2)


def test_einsum_interleaved():
    x, y = real(2, 3), real(3, 4)
    check_grads(lambda x, y: np.einsum(x, [0, 1], y, [1, 2], [0, 2]), (x, y), order=2)
    check_grads(lambda x, y: np.einsum(x, [0, 1], y, [1, 2]), (x, y), order=1)
    check_grads(lambda x, y: np.einsum(x, [..., 1], y, [1, 2], [..., 2]), (x, y), order=1)


def test_einsum_of_one_operand_twice():
    check_grads(lambda x: np.einsum("ij,kj->ik", x, x), (real(2, 3),), order=2)


def test_einsum_of_traced_and_plain():
    weights = real(3)
    check_grads(lambda x: np.einsum("ij,j->i", x, weights), (real(2, 3),), order=2)


def test_an_einsum_that_only_moves_axes_is_a_view():
    def program(x):
        y = x * 1.0
        turned, diagonal = np.einsum("ij->ji", y), np.einsum("ii->i", y)
        y[0, 0] = 5.0
        y[0, 1] *= 2.0
        return np.sum(turned[:, 0] * np.arange(1.0, 4.0)) + np.sum(diagonal)

    expected = np.array([[0.0, 4.0, 3.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    np.testing.assert_array_equal(grad(program)(np.ones((3, 3))), expected)


@given(st.data())
def test_a_contraction_is_the_einsum(data):
    """Of any two operands whose labels allow one, whatever order they have."""
    labels = data.draw(st.permutations("abcdef"))
    sizes = {label: data.draw(st.integers(1, 3)) for label in labels}
    kinds = {label: data.draw(st.sampled_from(["xyr", "xr", "yr", "xy"])) for label in labels}
    x, y, result = (
        "".join(data.draw(st.permutations([n for n in labels if part in kinds[n]])))
        for part in "xyr"
    )
    text = f"{x},{y}->{result}"
    x, y = (np.random.default_rng(0).random([sizes[n] for n in part]) for part in (x, y))
    found = _contraction(text, x.shape, y.shape)
    assert (found is None) == ("xy" not in kinds.values())
    if found is not None:
        np.testing.assert_allclose(found(x, y), np.einsum(text, x, y), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["f", "d", "D"])
def test_value_and_cotangents_are_products_of_matrices(dtype):
    x = np.random.default_rng(0).random((40, 30)).astype(dtype)
    y = np.random.default_rng(1).random((30, 40)).astype(dtype)
    close = {"rtol": 200 * np.finfo(dtype).eps}
    out, pullback = tapegrad.vjp(lambda x, y: np.einsum("ij,jk->ki", x, y), x, y)
    np.testing.assert_allclose(out, (x @ y).T, **close)
    g = np.random.default_rng(2).random((40, 40)).astype(dtype)
    for bar, wanted in zip(pullback(g), (g.T @ y.T, x.T @ g.T), strict=True):
        assert bar.dtype == dtype
        np.testing.assert_allclose(bar, wanted, **close)
