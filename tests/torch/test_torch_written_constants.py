"""A constant that is written to between the passes: no other gradient than before, or an error."""

import numpy as np
import pytest

import tapegrad.torch as torch
from tapegrad.torch.nn import functional

D = torch.float64
ZEROS = torch.zeros(3, dtype=D)
ONES = torch.ones(3, dtype=D)


def places():
    return torch.tensor([0, 1, 1])


def numbers():
    return torch.tensor([1.0, 2.0, 3.0], dtype=D)


def chosen():
    return torch.tensor([True, False, True])


def rows(x):
    return torch.log_softmax(x.reshape(1, 3).repeat(3, 1), 1)


CALLS = {
    "scatter_add": (places, lambda x, i: ZEROS.scatter_add(0, i, x)),
    "index_add": (places, lambda x, i: ZEROS.index_add(0, i, x)),
    "index_put": (places, lambda x, i: ZEROS.index_put((i,), x, accumulate=True)),
    "scatter_reduce sum": (places, lambda x, i: ZEROS.scatter_reduce(0, i, x, "sum")),
    "scatter_reduce amax": (places, lambda x, i: ZEROS.scatter_reduce(0, i, x, "amax")),
    "scatter_reduce mean": (places, lambda x, i: ZEROS.scatter_reduce(0, i, x, "mean")),
    "repeat_interleave": (places, lambda x, i: torch.repeat_interleave(x, i + 1, 0)),
    "repeat_interleave itself": (places, lambda x, i: torch.repeat_interleave(x, i, 0)),
    "gather": (places, lambda x, i: torch.gather(x, 0, i)),
    "index_select": (places, lambda x, i: torch.index_select(x, 0, i)),
    "take": (places, torch.take),
    "x[i]": (places, lambda x, i: x[i]),
    "embedding": (places, lambda x, i: functional.embedding(i, x.reshape(3, 1)).reshape(3)),
    "embedding_bag": (
        places,
        lambda x, i: functional.embedding_bag(i.reshape(1, 3), x.reshape(3, 1)),
    ),
    "nll_loss": (places, lambda x, i: functional.nll_loss(rows(x), i, reduction="none")),
    "nll_loss weight": (numbers, lambda x, w: functional.nll_loss(rows(x), places(), weight=w)),
    "pos_weight": (
        numbers,
        lambda x, w: functional.binary_cross_entropy_with_logits(
            x, ONES, pos_weight=w, reduction="none"
        ),
    ),
    "weight": (
        numbers,
        lambda x, w: functional.binary_cross_entropy(
            torch.sigmoid(x), ONES, weight=w, reduction="none"
        ),
    ),
    "where": (chosen, lambda x, mask: torch.where(mask, x, x * 2)),
    "masked_fill": (chosen, lambda x, mask: x.masked_fill(mask, 0.0)),
    "masked_select": (chosen, lambda x, mask: x.masked_select(mask)),
}


def slope(constant, call, write):
    x = torch.tensor([0.3, 2.0, 0.7], dtype=D, requires_grad=True)
    held = constant()
    out = call(x, held)
    if write:
        held.zero_()
    (out.reshape(-1) * torch.arange(1.0, out.numel() + 1, dtype=D)).sum().backward()
    return x.grad.numpy()


@pytest.mark.parametrize("name", CALLS)
def test_a_constant_that_is_written_to(name):
    expected = slope(*CALLS[name], False)
    for _ in range(4):  # from the third on calls may be planned
        try:
            found = slope(*CALLS[name], True)
        except RuntimeError as error:
            found = str(error)
        if isinstance(found, str):
            assert "modified by an inplace operation" in found
        else:
            np.testing.assert_allclose(found, expected)
        np.testing.assert_allclose(slope(*CALLS[name], False), expected)
