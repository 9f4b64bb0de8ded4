"""Embeddings, one by one and in bags: as PyTorch's, and by themselves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from agreement import agree, numbers
from same_modules import module_agrees

import tapegrad.torch as torch
from tapegrad.torch import func, nn
from tapegrad.torch.nn import functional

TABLE, FACTORS = numbers(6, 3), numbers(6, seed=1)
PLACES = np.array([1, 2, 2, 5, 0, 2])

OPTIONS: list[dict[str, Any]] = [
    {},
    {"padding_idx": 2},
    {"padding_idx": -1},
    {"padding_idx": 6},
    {"scale_grad_by_freq": True},
    {"padding_idx": 1, "scale_grad_by_freq": True},
    {"max_norm": 0.8},
    {"max_norm": 0.8, "norm_type": 1.0},
]


@pytest.mark.parametrize("options", OPTIONS)
def test_embedding(options: Any) -> None:
    for places in (
        *(PLACES, PLACES.reshape(2, 3), PLACES.astype(np.int32), np.array(3)),
        *(PLACES + 1, PLACES - 1, PLACES[:0], PLACES * 0.5),
    ):
        agree(
            lambda t, w, i: t.nn.functional.embedding(
                i, w if "max_norm" not in options else w * 1, **options
            ),
            *(TABLE, places),
            order=2,
        )


OFFSETS = [[0, 2, 4], [0, 0, 3, 3, 6], [0], [0, 2, 2], [1, 2], [0, 7]]


@pytest.mark.parametrize("mode", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("padding", [None, 2, -1])
def test_embedding_bag(mode: str, padding: Any) -> None:
    for offsets in OFFSETS:
        agree(
            lambda t, w, i, o: t.nn.functional.embedding_bag(
                i, w, o, mode=mode, padding_idx=padding
            ),
            *(TABLE, PLACES, np.array(offsets)),
        )
    for offsets in ([0, 6], [0, 2, 4, 6], [0, 0, 3, 3, 6]):
        agree(
            lambda t, w, i, o: t.nn.functional.embedding_bag(
                *(i, w, o), mode=mode, include_last_offset=True, padding_idx=padding
            ),
            *(TABLE, PLACES, np.array(offsets)),
        )
    for shape in ((2, 3), (6, 1)):
        agree(
            lambda t, w, i: t.nn.functional.embedding_bag(i, w, mode=mode, padding_idx=padding),
            *(TABLE, PLACES.reshape(shape)),
        )
    agree(
        lambda t, w, i, f: t.nn.functional.embedding_bag(
            *(i, w, t.tensor([0, 3])), mode=mode, per_sample_weights=f, padding_idx=padding
        ),
        *(TABLE, PLACES, FACTORS),
    )


def test_modules_of_embeddings() -> None:
    module_agrees("Embedding", 6, 3, inputs=[PLACES], padding_idx=2)
    module_agrees("Embedding", 6, 3, inputs=[PLACES], scale_grad_by_freq=True, norm_type=1.0)
    module_agrees("EmbeddingBag", 6, 3, inputs=[PLACES, np.array([0, 3])], padding_idx=2)
    module_agrees("EmbeddingBag", 6, 3, inputs=[PLACES.reshape(2, 3)], mode="max")
    module_agrees(
        *("EmbeddingBag", 6, 3),
        inputs=[PLACES, np.array([0, 3, 6]), FACTORS],
        mode="sum",
        include_last_offset=True,
    )


# --- Without PyTorch ----------------------------------------------------------------------------


def table() -> Any:
    return torch.from_numpy(TABLE.copy()).requires_grad_()


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_are_reductions_of_rows(mode: str) -> None:
    w, places = table(), torch.from_numpy(PLACES)
    bags = functional.embedding_bag(places, w, torch.tensor([0, 2, 2, 5]), mode=mode)
    for bag, (start, end) in zip(bags, ((0, 2), (2, 2), (2, 5), (5, 6)), strict=True):
        rows = TABLE[PLACES[start:end]]
        expected = getattr(np, mode)(rows, 0) if len(rows) else np.zeros(3)
        np.testing.assert_allclose(bag.detach().numpy(), expected)
    call = lambda w: functional.embedding_bag(places, w, torch.tensor([0, 2, 2, 5]), mode=mode)  # noqa: E731
    assert torch.autograd.gradcheck(call, w, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(call, w)


def test_greatest_rows_of_bags_with_nan() -> None:
    """As in PyTorch a NaN is the greatest where its bag begins, and else the least."""
    nan = math.nan
    w = torch.tensor([[1.0, 2.0], [nan, 3.0], [0.0, nan], [7.0, 9.0]], requires_grad=True)
    bags = functional.embedding_bag(torch.tensor([[0, 1], [1, 0], [2, 3]]), w, mode="max")
    expected = [[1.0, 3.0], [nan, 3.0], [7.0, nan]]
    np.testing.assert_array_equal(bags.detach().numpy(), expected)
    bags.sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), [[1, 0], [1, 2], [0, 1], [1, 0]])


@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_bags_of_examples(mode: str) -> None:
    places, starts = torch.from_numpy(PLACES), torch.tensor([0, 2, 2, 5])
    call = lambda w: functional.embedding_bag(places, w, starts, mode=mode)  # noqa: E731
    tables = torch.from_numpy(np.stack([TABLE, -TABLE, TABLE[::-1]]))
    for one in (call, torch.func.jacrev(call), torch.func.jacfwd(call)):
        expected = np.stack([one(w).numpy() for w in tables])
        np.testing.assert_array_equal(torch.func.vmap(one)(tables).numpy(), expected)


def test_padding_has_no_gradient_and_is_zero_at_first() -> None:
    module = nn.Embedding(4, 2, padding_idx=-2)
    assert module.padding_idx == 2
    assert not module.weight[2].any()
    module(torch.tensor([[2, 1], [2, 3]])).sum().backward()
    np.testing.assert_array_equal(module.weight.grad.numpy().sum(1), [0, 2, 0, 2])


def test_gradients_divided_by_the_frequency() -> None:
    w, places = table(), torch.tensor([1, 1, 1, 4])
    functional.embedding(places, w, scale_grad_by_freq=True).sum().backward()
    np.testing.assert_allclose(w.grad.numpy().sum(1), [0, 3, 0, 0, 3, 0])
    w.grad = None
    functional.embedding_bag(
        places, w, torch.tensor([0, 2]), mode="sum", scale_grad_by_freq=True
    ).sum().backward()
    np.testing.assert_allclose(w.grad.numpy().sum(1), [0, 3, 0, 0, 3, 0])


def test_rows_that_are_used_are_scaled_down_in_place() -> None:
    module = nn.Embedding(6, 3, max_norm=0.5).double()
    before = module.weight.detach().clone()
    out = module(torch.tensor([0, 3]))
    assert bool((out.norm(dim=1) <= 0.5 + 1e-9).all())
    np.testing.assert_array_equal(module.weight[1].detach().numpy(), before[1].numpy())
    assert not module.weight[3].equal(before[3])


def test_from_pretrained_shares_the_rows() -> None:
    rows = torch.from_numpy(TABLE.copy())
    module = nn.Embedding.from_pretrained(rows)
    assert not module.weight.requires_grad
    rows[0] = 7
    assert bool((module(torch.tensor(0)) == 7).all())
    assert nn.EmbeddingBag.from_pretrained(rows, freeze=False, mode="sum").weight.requires_grad


def test_embeddings_map_over_examples() -> None:
    w, places = table().detach(), torch.from_numpy(PLACES.reshape(2, 3))
    mapped = func.vmap(lambda i: functional.embedding(i, w))(places)
    np.testing.assert_array_equal(mapped.numpy(), TABLE[PLACES.reshape(2, 3)])
    both = torch.stack([w, 2 * w])
    mapped = func.vmap(lambda w: functional.embedding(places, w, padding_idx=1))(both)
    np.testing.assert_array_equal(mapped[1].numpy(), 2 * TABLE[PLACES.reshape(2, 3)])
    tangent = func.jvp(lambda w: functional.embedding(places, w), (w,), (2 * w,))[1]
    np.testing.assert_array_equal(tangent.numpy(), 2 * TABLE[PLACES.reshape(2, 3)])


INDEX = torch.tensor([1, 2])
WRONG: dict[str, tuple[Any, Any, str]] = {
    "range": (lambda: nn.Embedding(2, 3)(INDEX), IndexError, "index out of range in self"),
    "dtype": (
        lambda: nn.Embedding(3, 3)(INDEX.float()),
        RuntimeError,
        r"scalar types: Long, Int; but got torch.FloatTensor instead",
    ),
    "padding": (
        lambda: nn.Embedding(4, 3, padding_idx=4),
        AssertionError,
        "Padding_idx must be within num_embeddings",
    ),
    "sparse": (
        lambda: nn.Embedding(4, 3, sparse=True),
        NotImplementedError,
        "sparse=True: expected a dense gradient",
    ),
    "pretrained": (
        lambda: nn.Embedding.from_pretrained(torch.ones(3)),
        AssertionError,
        "expected to be 2-dimensional",
    ),
    "weight": (
        lambda: nn.Embedding(4, 3, _weight=torch.ones(3, 3)),
        AssertionError,
        "Shape of weight does not match",
    ),
    "no offsets": (
        lambda: nn.EmbeddingBag(4, 3)(INDEX),
        ValueError,
        "offsets has to be a 1D Tensor but got None",
    ),
    "offsets": (
        lambda: nn.EmbeddingBag(4, 3)(INDEX[None], INDEX),
        ValueError,
        "if input is 2D, then offsets has to be None",
    ),
    "mode": (
        lambda: nn.EmbeddingBag(4, 3, mode="min")(INDEX[None]),
        ValueError,
        "mode has to be one of sum, mean or max",
    ),
    "factors": (
        lambda: nn.EmbeddingBag(4, 3)(INDEX[None], None, torch.ones(1, 2)),
        NotImplementedError,
        "only supported for mode='sum'",
    ),
    "bags": (
        lambda: nn.EmbeddingBag(2, 3)(INDEX[None]),
        RuntimeError,
        r"Index 1 of input takes value 2 which is not in the valid range \[0, 2\)",
    ),
}


@pytest.mark.parametrize("word", WRONG)
def test_errors_of_embeddings(word: str) -> None:
    call, error, words = WRONG[word]
    with pytest.raises(error, match=words):
        call()


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_have_all_derivatives_and_may_be_mapped(mode):
    draw = np.random.default_rng(2)
    w = torch.from_numpy(draw.normal(size=(5, 3))).requires_grad_()
    weights = torch.from_numpy(draw.random(6)).requires_grad_() if mode == "sum" else None
    words, firsts = torch.tensor([0, 1, 4, 4, 2, 0]), torch.tensor([0, 2, 2, 5])  # one is empty

    def call(w, weights=None):
        return functional.embedding_bag(
            words, w, firsts, mode=mode, per_sample_weights=weights
        ).sin()

    inputs = (w,) if weights is None else (w, weights)
    assert torch.autograd.gradcheck(call, inputs, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(call, inputs)
    both = torch.from_numpy(draw.normal(size=(2, 5, 3)))
    torch.testing.assert_close(
        torch.func.vmap(call)(both), torch.stack([call(one) for one in both])
    )
