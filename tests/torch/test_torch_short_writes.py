"""Writes by their short paths, and the same writes by the general ones: nothing may differ."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tapegrad.torch as torch
from tapegrad.torch._graph import versions
from tapegrad.torch._ops import declare
from tapegrad.torch._ops.create import fill
from tapegrad.torch._ops.elementwise import activations
from tapegrad.torch._ops.index import getitem
from tapegrad.torch._tensor import writes

F = torch.nn.functional

WRITES = {
    "mul_ number": lambda y, x, v: y.mul_(0.5),
    "mul_ tensor": lambda y, x, v: y.mul_(x),
    "mul_ of a row": lambda y, x, v: y.mul_(v),
    "mul_ of itself": lambda y, x, v: y.mul_(y.detach().clone()),
    "add_ alpha": lambda y, x, v: y.add_(x, alpha=2.0),
    "sub_": lambda y, x, v: y.sub_(v),
    "div_": lambda y, x, v: y.div_(x + 3.0),
    "pow_": lambda y, x, v: y.pow_(2),
    "exp_": lambda y, x, v: y.exp_(),
    "tanh_": lambda y, x, v: y.tanh_(),
    "relu_": lambda y, x, v: y.relu_(),
    "relu inplace": lambda y, x, v: F.relu(y, inplace=True),
    "elu inplace": lambda y, x, v: F.elu(y, inplace=True),
    "clamp_": lambda y, x, v: y.clamp_(-0.5, 0.5),
    "floor_": lambda y, x, v: y.floor_(),
    "sigmoid_": lambda y, x, v: y.sigmoid_(),
    "masked_fill_": lambda y, x, v: y.masked_fill_(x > 0, 0.25),
    "copy_": lambda y, x, v: y.copy_(x),
    "copy_ of a row": lambda y, x, v: y.copy_(v),
    "copy_ of itself": lambda y, x, v: y.copy_(y),
    "zero_": lambda y, x, v: y.zero_(),
    "fill_": lambda y, x, v: y.fill_(2.5),
    "row": lambda y, x, v: y.__setitem__(0, v),
    "row from the end": lambda y, x, v: y.__setitem__(-1, 1.5),
    "column of a number": lambda y, x, v: y.__setitem__((slice(None), 1), -2.0),
    "part": lambda y, x, v: y.__setitem__(
        (slice(1, -1), slice(2, None)), x[2:, 2:] if y.shape == x.shape else 0.5
    ),
    "one element": lambda y, x, v: y.__setitem__((0, 1), v[0]),
    "part += number": lambda y, x, v: _add_to_part(y, 1.0),
    "part += tensor": lambda y, x, v: _add_to_part(y, v[0]),
    "rows *=": lambda y, x, v: y.__setitem__(slice(1, 3), y[1:3].mul_(x[:2])),
    "view of a view": lambda y, x, v: y.view(-1)[2:].mul_(2.0),
    "transposed": lambda y, x, v: y.t().add_(1.0),
    "unsqueezed": lambda y, x, v: y.unsqueeze(0).mul_(x),
    "row of a view, copied": lambda y, x, v: y[1].copy_(v),
    "diagonal": lambda y, x, v: y.diagonal().mul_(3.0),
}
SHORT = (
    (declare, "store_result"),
    (activations, "store_result"),
    (fill, "store_number"),
    (getitem, "store_part"),
)


def _add_to_part(y, other):
    y[1:, 0] += other


def _generally(monkeypatch):
    """Let all writes take the general path, and all views their nodes by the core's dispatch."""
    for module, name in SHORT:
        monkeypatch.setattr(module, name, lambda *_args: False)
    monkeypatch.setattr(writes, "_node_along", lambda _path, _base: None)


def _outcome(write, dtype, *, tracked=(True, True), grad=True, view=False, retain=False):
    """All that can be seen of a program with a write, as plain values."""
    rng = np.random.default_rng(0)
    x, v = (torch.tensor(rng.standard_normal(s), dtype=dtype) for s in ((4, 4), (4,)))
    for leaf, wanted in zip((x, v), tracked, strict=True):
        leaf.requires_grad_(wanted)
    base = x * 1.5
    other = base[:, 1:3]
    y = base.view(4, 4) if view else base
    seen = []
    with torch.set_grad_enabled(grad):
        if retain and y.requires_grad:
            y.retain_grad()
        for _ in range(2):
            write(y, x, v)
        loss = (y * y).sum() + (other * 3.0).sum() + base[0].sum()
    seen.append([t.tolist() for t in (y, other, base)])
    seen.append([t._version for t in (y, other, base)])
    seen.append([t.requires_grad for t in (y, other, base)])
    if grad:
        seen.append([type(t.grad_fn).__name__ for t in (y, other, base)])
    if loss.requires_grad:
        found = torch.autograd.grad(
            loss, [t for t in (x, v) if t.requires_grad], create_graph=True, allow_unused=True
        )
        seen.append([None if g is None else g.tolist() for g in found])
        again = sum((g * g).sum() for g in found if g is not None and g.requires_grad)
        if isinstance(again, torch.Tensor) and x.requires_grad:
            second = torch.autograd.grad(again, x, allow_unused=True, retain_graph=True)[0]
            seen.append(None if second is None else second.tolist())
        loss.backward()
        seen.append([None if t.grad is None else t.grad.tolist() for t in (x, v)])
    return seen


def _result(write, dtype, **options):
    try:
        return _outcome(write, dtype, **options)
    except RuntimeError as error:
        return [str(error)]


@pytest.mark.part(4)
@pytest.mark.parametrize("word", WRITES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_short_writes_are_the_general_ones(word, dtype, monkeypatch):
    """Values, gradients of two orders, versions, names of nodes, errors."""
    write = WRITES[word]
    choices = [
        dict(zip(("tracked", "grad", "view", "retain"), values, strict=True))
        for values in itertools.product(
            [(True, True), (True, False), (False, True), (False, False)],
            [True, False],
            [False, True],
            [False, True],
        )
    ]
    short = [_result(write, dtype, **options) for options in choices]
    _generally(monkeypatch)
    for options, found in zip(choices, short, strict=True):
        assert found == _result(write, dtype, **options), options


@pytest.mark.parametrize("word", ["mul_ number", "row", "zero_", "part += number"])
def test_short_writes_refuse_what_the_general_ones_refuse(word):
    write = WRITES[word]
    v = torch.ones(4)
    leaf = torch.ones(4, 4, requires_grad=True)
    with pytest.raises(RuntimeError, match="leaf Variable"):
        write(leaf, torch.ones(4, 4), v)
    repeated = torch.ones(4).expand(4, 4)
    if word == "mul_ number":
        with pytest.raises(RuntimeError, match="refers to a single memory location"):
            write(repeated, torch.ones(4, 4), v)
    y = leaf * 2.0
    kept = y * y
    write(y, leaf, v)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        kept.sum().backward()


def test_a_view_beyond_its_tensor_is_an_error_where_it_is_used_alone():
    """A write that makes the base require grad does not refuse it, and gives no wrong gradient."""
    x = torch.ones(4, requires_grad=True)
    y = torch.zeros(4)
    beyond = y[1:3].as_strided((2,), (1,), 0)
    y.add_(x)
    y.sum().backward()
    assert x.grad.tolist() == [1.0] * 4
    with pytest.raises(RuntimeError, match="as_strided"):
        beyond.sum().backward()


def test_versions_of_arrays_that_are_gone_are_forgotten():
    for _ in range(5000):
        torch.ones(3).add_(1.0)
    assert len(versions.WRITTEN) < 2000


def test_an_array_does_not_inherit_the_version_of_one_that_is_gone():
    """Its id may be the same."""
    x = torch.ones(64, requires_grad=True)
    for _ in range(50):
        y = x.exp()
        z = y.mul(2.0)
        torch.zeros(64).add_(1.0)
        z = y * y  # keeps y, whose memory others had before
        z.sum().backward()


def test_sums_of_a_part_and_itself_count_two_writes():
    """As in PyTorch: one in the view, one into the tensor."""
    y = torch.zeros(3, 2)
    y[0] += 1.0
    assert y._version == 2
    assert y.tolist() == [[1.0, 1.0], [0.0, 0.0], [0.0, 0.0]]
