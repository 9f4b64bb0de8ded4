"""Random programs of views and writes: memory, versions, nodes and gradients are PyTorch's."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tapegrad.torch as torch

SHAPES = ((2, 3), (3, 2), (4,))

# Each makes a view of t, by two numbers.
VIEWS = {
    "select": lambda t, a, b: t.select(a % t.dim(), b % t.shape[a % t.dim()]),
    "row": lambda t, a, b: t[a % len(t)],
    "rows": lambda t, a, b: t[a % len(t) :],
    "columns": lambda t, a, b: t[..., b % t.shape[-1] :: 2],
    "none": lambda t, a, b: t[None],
    "last": lambda t, a, b: t[..., -1],
    "narrow": lambda t, a, b: t.narrow(a % t.dim(), 0, 1),
    "transpose": lambda t, a, b: t.transpose(0, -1),
    "permute": lambda t, a, b: t.permute(*range(t.dim())[::-1]),
    "flat": lambda t, a, b: t.reshape(-1),
    "view": lambda t, a, b: t.view(-1),
    "view_pairs": lambda t, a, b: t.view(-1, 2),
    "unsqueeze": lambda t, a, b: t.unsqueeze(a % (t.dim() + 1)),
    "squeeze": lambda t, a, b: t.squeeze(),
    "squeeze_one": lambda t, a, b: t.squeeze(a % max(t.dim(), 1)),
    "diagonal": lambda t, a, b: t.diagonal(),
    "expand": lambda t, a, b: t.expand(1, *t.shape),
    "unfold": lambda t, a, b: t.unfold(0, 2, 2),
    "detach": lambda t, a, b: t.detach(),
    "unbind": lambda t, a, b: t.unbind()[b % len(t)],
    "split": lambda t, a, b: t.split(1)[b % len(t)],
    "chunk": lambda t, a, b: t.chunk(2, -1)[0],
    "alias": lambda t, a, b: t[...],
    "view_as": lambda t, a, b: t.view_as(t),
    "strided": lambda t, a, b: t.as_strided((2,), (1,)) if not t._is_view() else t[...],
}
# Each writes into t, by a number and another tensor u.
WRITES = {
    "add_": lambda t, a, u: t.add_(1.5),
    "mul_": lambda t, a, u: t.mul_(2),
    "sin_": lambda t, a, u: t.sin_(),
    "exp_": lambda t, a, u: t.exp_(),
    "zero_": lambda t, a, u: t.zero_(),
    "fill_": lambda t, a, u: t.fill_(0.5),
    "add_sum": lambda t, a, u: t.add_(u.sum()),
    "mul_sum": lambda t, a, u: t.mul_(u.sum()),
    "mul_other": lambda t, a, u: t.mul_(u * 1),
    "copy_": lambda t, a, u: t.copy_(u * 1),
    "copy_sum": lambda t, a, u: t.copy_(u.sum()),
    "fill_sum": lambda t, a, u: t.fill_(u.sum()),
    "set_row": lambda t, a, u: t.__setitem__(a % len(t), u.sum()),
    "set_number": lambda t, a, u: t.__setitem__(slice(a % len(t), None), 3.0),
    "set_all": lambda t, a, u: t.__setitem__(..., u * 1),
    "set_mask": lambda t, a, u: t.__setitem__(t.detach() > 0, 0.25),
    "set_mask_sum": lambda t, a, u: t.__setitem__(t.detach() > 0, u.sum()),
    "set_list": lambda t, a, u: t.__setitem__([0], u.sum()),
    "iadd": lambda t, a, u: t.__iadd__(u.sum()),
    "masked_fill_": lambda t, a, u: t.masked_fill_(t.detach() < 0, 1.0),
    "relu_": lambda t, a, u: t.relu_(),
    "t_": lambda t, a, u: t.t_(),
    "unsqueeze_": lambda t, a, u: t.unsqueeze_(0),
}
READS = {
    "times": lambda t, u: t * t,
    "exp": lambda t, u: t.exp(),
    "clone": lambda t, u: t.clone(),
    "dot": lambda t, u: (t * u.sum()),
}
KINDS = [*VIEWS, *WRITES, *WRITES, *READS]
statements = st.lists(
    st.tuples(
        st.sampled_from(KINDS), st.integers(0, 7), st.integers(0, 7), st.integers(0, 4)
    ),
    min_size=1,
    max_size=9,
)
leaves = st.lists(st.tuples(st.sampled_from(SHAPES), st.booleans()), min_size=1, max_size=3)


def kind_of(error: Exception) -> str:
    return type(error).__name__


def run(lib: Any, given_leaves: Any, program: Any) -> list[Any]:
    """What a program shows, line by line."""
    draw = np.random.default_rng(7)
    tensors = [lib.from_numpy(draw.normal(size=shape)) for shape, _ in given_leaves]
    for tensor, (_, needs) in zip(tensors, given_leaves, strict=True):
        tensor.requires_grad_(needs)
    roots = list(tensors)
    tensors += [root * 1 for root in roots]
    shown: list[Any] = []
    for word, a, b, c in program:
        t, u = tensors[-1 - a % len(tensors)], tensors[-1 - b % len(tensors)]
        if c == 0 and word in ("t_", "unsqueeze_"):
            continue  # a leaf would have gradients of its shape before
        try:
            with lib.set_grad_enabled(c != 0):
                made = step(word, t, u, a, b)
        except Exception as error:  # noqa: BLE001 - its type is compared
            shown.append((word, kind_of(error)))
            continue
        if made is not None:
            tensors.append(made)
        shown.append((word, [state(x) for x in tensors]))
    shown.append(("end", outcome(roots, tensors)))
    return shown


def step(word: str, t: Any, u: Any, a: int, b: int) -> Any:
    if word in VIEWS:
        return VIEWS[word](t, a, b)
    if word in READS:
        return READS[word](t, u)
    WRITES[word](t, a, u)
    return None


def state(x: Any) -> Any:
    try:
        node, leaf = x.grad_fn, x.is_leaf
    except RuntimeError:
        node, leaf = None, "refused"
    return {
        "value": x.detach().numpy().copy(),
        "needs": x.requires_grad,
        "leaf": leaf,
        "version": x._version,
        "view": x._is_view(),
        "node": None if node is None else type(node).__name__,
    }


def outcome(roots: Any, tensors: Any) -> Any:
    try:
        loss = sum((x * x).sum() for x in tensors if x.requires_grad)
        if not hasattr(loss, "backward"):
            return "nothing"
        loss.backward()
    except RuntimeError as error:
        return kind_of(error)
    return [None if root.grad is None else root.grad.numpy() for root in roots]


def same(mine: Any, theirs: Any, where: str, hidden: Any = ()) -> None:
    if isinstance(theirs, np.ndarray) or isinstance(mine, np.ndarray):
        if mine is None or theirs is None:
            assert not np.any(theirs if mine is None else mine), where
            return
        np.testing.assert_allclose(mine, theirs, 1e-9, 1e-9, err_msg=where)
    elif isinstance(theirs, dict):
        for word, value in theirs.items():
            if word not in hidden:
                same(mine[word], value, f"{where}: {word}")
    elif isinstance(theirs, (list, tuple)):
        assert len(mine) == len(theirs), where
        for place, pair in enumerate(zip(mine, theirs, strict=True)):
            same(*pair, f"{where}[{place}]", hidden)
    else:
        assert mine == theirs, f"{where}: {mine!r}, PyTorch has {theirs!r}"


@pytest.mark.peers
@settings(max_examples=400, deadline=None)
@given(leaves, statements)
def test_programs_of_views_and_writes(given_leaves: Any, program: Any) -> None:
    pytorch = pytest.importorskip("torch")
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        mine = run(torch, given_leaves, program)
        theirs = run(pytorch, given_leaves, program)
    # PyTorch gives views new nodes where a detached tensor was written to; they are the same.
    hidden = ("node", "leaf") if any(word == "detach" for word, *_ in program) else ()
    for number, (ours, other) in enumerate(zip(mine, theirs, strict=True)):
        if other[1] == "RuntimeError" and isinstance(ours[1], str):
            continue  # of several errors either may come first
        same(ours, other, f"statement {number} ({other[0]})", hidden)
