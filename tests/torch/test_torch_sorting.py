"""Sorting and searching: as PyTorch's."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import agree, numbers

import tapegrad.torch as torch

X = numbers(3, 5)
TIES = np.array([[1.0, 3.0, 3.0, np.nan, -np.inf], [5.0, 5.0, np.nan, np.nan, 5.0]])
CALLS = {
    "sort": (lambda t, x: x.sort(), X),
    "sort descending": (lambda t, x: t.sort(x, 0, descending=True), X),
    "sort stable": (lambda t, x: t.sort(x, dim=1, descending=True, stable=True), TIES),
    "sort ties": (lambda t, x: t.sort(x, stable=True), TIES),
    "sort integers": (
        lambda t, x: x.sort(descending=True, stable=True),
        numbers(9, dtype=np.int64),
    ),
    "sort bools": (lambda t, x: x.sort(descending=True, stable=True), numbers(9, dtype=bool)),
    "sort number": (lambda t, x: x.sort(), np.array(2.0)),
    "sort nothing": (lambda t, x: x.sort(0), np.zeros((0, 2))),
    "sort wrong": (lambda t, x: x.sort(2), X),
    "argsort": (lambda t, x: (x.argsort(), t.argsort(x, 0, True)), X),
    "argsort stable": (lambda t, x: t.argsort(x, stable=True), TIES),
    "msort": (lambda t, x: t.msort(x), X),
    "topk": (lambda t, x: x.topk(2), X),
    "topk smallest": (lambda t, x: t.topk(x, 2, 0, largest=False), X),
    "topk all": (lambda t, x: x.topk(5), X),
    "topk none": (lambda t, x: x.topk(0), X),
    "topk too many": (lambda t, x: x.topk(6), X),
    "topk number": (lambda t, x: x.topk(1), np.array(2.0)),
    "searchsorted": (lambda t, x: t.searchsorted(t.tensor([0.0, 1, 2]), x.detach()), X),
    "searchsorted right": (
        lambda t, x: t.searchsorted(t.tensor([0, 1, 1, 2]), x, right=True),
        np.arange(3),
    ),
    "searchsorted side": (
        lambda t, x: t.searchsorted(t.tensor([0, 1, 1, 2]), x, side="right"),
        np.arange(3),
    ),
    "searchsorted opposite": (
        lambda t, x: t.searchsorted(t.tensor([0, 1, 1, 2]), x, side="left", right=True),
        np.arange(3),
    ),
    "searchsorted rows": (
        lambda t, x, y: t.searchsorted(x.detach(), y.detach()),
        np.sort(X),
        numbers(3, 2),
    ),
    "searchsorted mismatch": (lambda t, x, y: t.searchsorted(x, y), np.sort(X), numbers(2, 2)),
    "searchsorted number": (lambda t, x: t.searchsorted(x, 2), np.arange(5)),
    "searchsorted int32": (lambda t, x: t.searchsorted(x, x, out_int32=True), np.arange(5)),
    "searchsorted sorter": (
        lambda t, x: t.searchsorted(x, t.tensor([1, 3]), sorter=t.argsort(x)),
        np.array([3, 1, 2]),
    ),
    "bucketize": (lambda t, x: t.bucketize(x, t.tensor([1, 3, 5])), np.arange(6)),
    "bucketize right": (
        lambda t, x: t.bucketize(x, t.tensor([1, 3, 5]), right=True),
        np.arange(6),
    ),
}


@pytest.mark.parametrize("word", CALLS)
def test_sorting(word):
    call, *inputs = CALLS[word]
    agree(call, *inputs, order=2, nan_gradients=False, name=word != "sort number")


def test_named_tuples_print_as_pytorchs():
    found = torch.sort(torch.tensor([2.0, 1.0]))
    assert repr(found) == (
        "torch.return_types.sort(\nvalues=tensor([1., 2.]),\nindices=tensor([1, 0]))"
    )
    values, indices = found
    assert values is found.values
    assert indices is found[1]
