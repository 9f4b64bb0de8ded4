"""Attention and transformers: as PyTorch's, and by themselves."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from agreement import agree, numbers
from same_modules import module_agrees

import tapegrad.torch as torch
from tapegrad.torch import func, nn
from tapegrad.torch.nn import functional

Q, K, V = numbers(2, 3, 4), numbers(2, 5, 4, seed=1), numbers(2, 5, 6, seed=2)
MASK = numbers(3, 5, seed=3) > -0.5
HEADS = [numbers(2, n, 3, 4, seed=n) for n in (4, 2)]

PRODUCTS = {
    "plain": lambda f, q, k, v: f.scaled_dot_product_attention(q, k, v),
    "scale": lambda f, q, k, v: f.scaled_dot_product_attention(q, k, v, scale=0.7),
    "causal": lambda f, q, k, v: f.scaled_dot_product_attention(q, k, v, is_causal=True),
    "keys": lambda f, q, k, v: f.scaled_dot_product_attention(q[0, :2], k, v),
    "one": lambda f, q, k, v: f.scaled_dot_product_attention(q[0, 0], k, v),
    "one head": lambda f, q, k, v: f.scaled_dot_product_attention(q[0], k[0], v[0]),
    "dropped": lambda f, q, k, v: f.scaled_dot_product_attention(q, k, v, dropout_p=1.0),
}


@pytest.mark.parametrize("word", PRODUCTS)
def test_scaled_dot_product_attention(word: str) -> None:
    agree(
        lambda t, q, k, v: PRODUCTS[word](t.nn.functional, q, k, v), Q, K, V, order=2, name=False
    )


@pytest.mark.parametrize("mask", [MASK, MASK[:1], numbers(2, 3, 5), MASK & False, numbers(5) > 0])
def test_masks_of_attention(mask: Any) -> None:
    agree(
        lambda t, q, k, v, m: t.nn.functional.scaled_dot_product_attention(q, k, v, m),
        *(Q, K, V, mask),
        name=False,
    )
    agree(
        lambda t, q, k, v, m: t.nn.functional.scaled_dot_product_attention(
            q, k, v, m, is_causal=True
        ),
        *(Q, K, V, mask),
    )


def test_heads_that_share_keys() -> None:
    q, k = HEADS
    for enabled in (True, False):
        agree(
            lambda t, q, k, enabled=enabled: t.nn.functional.scaled_dot_product_attention(
                q, k, k, enable_gqa=enabled
            ),
            *(q, k),
        )
    agree(
        lambda t, q, k: t.nn.functional.scaled_dot_product_attention(q, k, k, enable_gqa=True),
        *(q[:, :3], k),
    )


X, PADDING = numbers(4, 3, 6), np.array([[False] * 4, [False] * 3 + [True], [False, True] * 2])
HEAD_MASK = numbers(6, 4, 4, seed=8)

ATTENTIONS: dict[str, Any] = {
    "plain": {},
    "no bias": {"bias": False},
    "more keys": {"add_bias_kv": True, "add_zero_attn": True},
    "zero key": {"add_zero_attn": True},
    "batch first": {"batch_first": True},
}
CALLS: dict[str, Any] = {
    "plain": lambda t, m, x: m(x, x, x),
    "two": lambda t, m, x: m(x.sin(), x, x),
    "three": lambda t, m, x: m(x.sin(), x.cos(), x),
    "each": lambda t, m, x: m(x, x, x, average_attn_weights=False),
    "none": lambda t, m, x: m(x, x, x, need_weights=False),
    "unbatched": lambda t, m, x: m(x[:, 0], x[:, 1], x[:, 1]),
    "causal": lambda t, m, x: m(
        *(x, x, x),
        attn_mask=t.nn.Transformer.generate_square_subsequent_mask(
            x.shape[1 * m.batch_first], dtype=x.dtype
        ),
        is_causal=True,
    ),
}


@pytest.mark.parametrize("options", ATTENTIONS)
@pytest.mark.parametrize("call", CALLS)
def test_multihead_attention(options: str, call: str) -> None:
    module_agrees("MultiheadAttention", 6, 2, inputs=[X], call=CALLS[call], **ATTENTIONS[options])


@pytest.mark.filterwarnings("ignore:Support for mismatched")
def test_masks_of_multihead_attention() -> None:
    for options in ({}, {"add_bias_kv": True, "add_zero_attn": True}):
        for mask in (None, HEAD_MASK, HEAD_MASK[0], HEAD_MASK > 1.0):
            module_agrees(
                *("MultiheadAttention", 6, 2),
                inputs=[X],
                call=lambda t, m, x, mask=mask: m(
                    *(x, x, x),
                    key_padding_mask=t.from_numpy(PADDING),
                    attn_mask=None if mask is None else t.from_numpy(mask),
                )[0],
                **options,
            )


def test_keys_and_values_of_other_sizes() -> None:
    module_agrees(
        *("MultiheadAttention", 6, 3),
        inputs=[X, numbers(2, 3, 5), numbers(2, 3, 4)],
        kdim=5,
        vdim=4,
    )


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_layers_of_transformers(norm_first: bool, batch_first: bool, activation: str) -> None:
    options: Any = {
        "dropout": 0.0,
        "norm_first": norm_first,
        "batch_first": batch_first,
        "activation": activation,
    }
    module_agrees("TransformerEncoderLayer", 6, 2, 5, inputs=[X], evaluate=True, **options)
    module_agrees("TransformerDecoderLayer", 6, 2, 5, inputs=[X, X + 1], **options)


def test_transformers() -> None:
    def call(t: Any, m: Any, x: Any, y: Any) -> Any:
        return m(x, y, tgt_mask=m.generate_square_subsequent_mask(3, dtype=x.dtype))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options: Any = {"dropout": 0.0, "bias": True}
        y = numbers(3, 3, 6, seed=4)
        module_agrees("Transformer", 6, 2, 2, 2, 5, inputs=[X, y], call=call, **options)
        options = {"dropout": 0.0, "bias": False}
        module_agrees("Transformer", 6, 3, 1, 1, 5, inputs=[X, y], **options)


# --- Without PyTorch ----------------------------------------------------------------------------


def tensors(*arrays: Any) -> list[Any]:
    return [torch.from_numpy(x.copy()).requires_grad_() for x in arrays]


@pytest.mark.parametrize("word", ["plain", "causal", "keys"])
def test_attention_against_differences(word: str) -> None:
    given = tensors(Q[:1], K[:1], V[:1])
    call = lambda *x: PRODUCTS[word](functional, *x)  # noqa: E731
    assert torch.autograd.gradcheck(call, given, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(call, given)


def test_a_query_that_sees_no_key_gets_zeros_and_a_finite_gradient() -> None:
    q, k, v = tensors(Q, K, V)
    mask = torch.from_numpy(MASK.copy())
    mask[1] = False
    out = functional.scaled_dot_product_attention(q, k, v, mask)
    assert not out[:, 1].any()
    out.sum().backward()
    for x in (q, k, v):
        assert x.grad.isfinite().all()


def test_a_causal_mask_hides_what_follows() -> None:
    layer = nn.TransformerEncoderLayer(6, 2, 5, dropout=0.0).double()
    mask = nn.Transformer.generate_square_subsequent_mask(4, dtype=torch.float64)
    (x,) = tensors(X)
    nn.TransformerEncoder(layer, 2)(x, mask)[1].pow(3).sum().backward()  # of a norm, sums are 0
    assert x.grad[:2].any()
    assert not x.grad[2:].any()


def test_weights_of_attention_are_probabilities() -> None:
    attention = nn.MultiheadAttention(6, 2).double()
    (x,) = tensors(X)
    _, weights = attention(x, x, x)
    assert weights.shape == (3, 4, 4)
    np.testing.assert_allclose(weights.sum(-1).detach().numpy(), 1)


def test_dropout_of_attention_keeps_the_mean() -> None:
    torch.manual_seed(0)
    q = torch.zeros(1, 400, 4)
    out = functional.scaled_dot_product_attention(q, q, torch.ones(1, 400, 1), dropout_p=0.5)
    assert float(out.mean()) == pytest.approx(1, abs=0.02)
    assert out.std() > 0


def test_attention_maps_over_examples() -> None:
    q, k, v = (torch.from_numpy(x.copy()) for x in (Q, K, V))
    out = func.vmap(functional.scaled_dot_product_attention)(q, k, v)
    np.testing.assert_allclose(
        out.numpy(), functional.scaled_dot_product_attention(q, k, v).numpy(), 1e-12
    )


WRONG: dict[str, tuple[Any, Any, str]] = {
    "heads": (lambda: nn.MultiheadAttention(5, 2), AssertionError, "divisible by num_heads"),
    "sizes": (lambda: nn.MultiheadAttention(0, 2), ValueError, "must be greater than 0"),
    "rank": (
        lambda: nn.MultiheadAttention(4, 2)(*[torch.ones(4)] * 3),
        AssertionError,
        "received 1-D query",
    ),
    "keys": (
        lambda: nn.MultiheadAttention(4, 2)(*[torch.ones(n, 2, 4) for n in (2, 2, 3)]),
        AssertionError,
        r"key shape torch.Size\(\[2, 2, 4\]\) does not match value shape",
    ),
    "size": (
        lambda: nn.MultiheadAttention(4, 2)(*[torch.ones(2, 3, 5)] * 3),
        AssertionError,
        "was expecting embedding dimension of 4, but got 5",
    ),
    "mask": (
        lambda: nn.MultiheadAttention(4, 2)(
            *[torch.ones(2, 3, 4)] * 3, attn_mask=torch.ones(2, 3)
        ),
        RuntimeError,
        r"The shape of the 2D attn_mask is torch.Size\(\[2, 3\]\), but should be \(2, 2\)",
    ),
    "padding": (
        lambda: nn.MultiheadAttention(4, 2)(
            *[torch.ones(2, 3, 4)] * 3, key_padding_mask=torch.ones(2, 3) > 0
        ),
        AssertionError,
        r"Expected key_padded_mask.shape\[0\] to be 3, but got 2",
    ),
    "hint": (
        lambda: nn.MultiheadAttention(4, 2)(*[torch.ones(2, 3, 4)] * 3, is_causal=True),
        RuntimeError,
        "Need attn_mask if specifying the is_causal hint",
    ),
    "batches": (
        lambda: nn.Transformer(4, 2, 1, 1, 4)(torch.ones(2, 3, 4), torch.ones(2, 2, 4)),
        RuntimeError,
        "the batch number of src and tgt must be equal",
    ),
    "activation": (
        lambda: nn.TransformerEncoderLayer(4, 2, activation="x"),
        RuntimeError,
        "activation should be relu/gelu, not x",
    ),
    "dtypes": (
        lambda: functional.scaled_dot_product_attention(
            torch.ones(2, 3), torch.ones(2, 3).double(), torch.ones(2, 3)
        ),
        RuntimeError,
        "to have the same dtype, but got query.dtype: float key.dtype: double",
    ),
}


@pytest.mark.parametrize("word", WRONG)
def test_errors_of_attention(word: str) -> None:
    call, error, words = WRONG[word]
    with pytest.raises(error, match=words):
        call()


def test_a_mask_of_three_dimensions_fits_the_heads_without_a_batch():
    layer, x = torch.nn.MultiheadAttention(4, 4), torch.ones(4, 4)
    with pytest.raises(AssertionError, match=r"Expected `attn_mask` shape to be \(4, 4, 4\)"):
        layer(x, x, x, attn_mask=torch.zeros(5, 4, 4, dtype=torch.bool))
