"""Indexing, and reads and writes at positions: values, gradients, names, errors are PyTorch's."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest
from agreement import agree, numbers
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

import tapegrad.torch as torch
from tapegrad.torch.func import grad, vmap

# Each is evaluated with t (the library), np, x (4, 6), w (4, 6), v (6,), s (), y (2, 3, 4),
# i = [2, 0, 1], g (2, 6) of positions below 4, and b, the mask of x > 0.
READS = """
x[0]
x[-1]
x[1:]
x[:]
x[...]
x[()]
x[None]
x[0, 1]
x[0, 1:]
x[0, :]
x[:, 0]
x[:, 1:]
x[:, None]
x[None, 0]
x[..., 0]
x[..., None]
x[1:3, ::2]
x[0:10]
x[10:]
x[-3:-1]
x[[0, 1]]
x[[0, -1, 0]]
x[[True, False, True, False]]
x[b]
x[x > 5]
x[b, None]
x[True]
x[False]
x[t.tensor(True)]
x[t.tensor(1)]
x[t.tensor(1):3]
x[0, [1, 2]]
x[[0, 1], 0]
x[[0, 1], [2, 3]]
x[[[0], [1]], [2, 3]]
x[1:, [0, 1]]
x[None, [0, 1]]
x[i]
x[i.to(t.int32)]
x[i, i]
x[i, :]
x[:, i]
x[i, None]
x[..., i]
x[np.array([0, 1])]
x[np.int64(1)]
x[range(2)]
x[..., ...]
x[[]]
x[:, b[0]]
y[0, :, [1, 2]]
y[[0, 1], :, [1, 2]]
y[:, [0, 1], [1, 2]]
y[[0, 1], None, [1, 2]]
y[t.tensor([[True, False, True]] * 2)]
y[0, t.tensor([True, False, True])]
y[:, True]
y[..., [0, 1]]
y[..., None]
y[None, ..., 0]
y[0][1][2]
s[...]
s[None]
s[t.tensor(True)]
s[t.tensor(False)]
s[()]
x.gather(0, g)
x.gather(1, g[:, :3])
x.gather(-1, g)
t.gather(x, dim=1, index=g)
s.gather(0, t.tensor([0]))
x.index_select(0, i)
x.index_select(1, i)
t.index_select(v, 0, i)
x.masked_select(b)
x.masked_select(b[0])
v.masked_select(b)
x.take(i)
x.take(g)
x.take(t.tensor([-1]))
x.take_along_dim(g, 0)
x.take_along_dim(g[:1], 0)
x.take_along_dim(i)
t.take_along_dim(x, g[:1, :2], dim=1)
x[5]
x[-5]
x[0, 0, 0]
x[0][0][0]
x[1.0]
x[::-1]
x[t.tensor([0.5])]
x[t.tensor([5])]
x[[0, 1], [0, 1, 2]]
x[t.tensor([True, False])]
x['a']
x[{}]
x[t.tensor([])]
x[1:2.5]
x.gather(0, i)
x.gather(0, g + 5)
x.gather(0, g.to(t.float32))
x.gather(3, g)
x.index_select(0, i + 3)
x.index_select(2, i)
x.index_select(0, g)
x.masked_select(i)
x.take(i + 30)
x.take_along_dim(i, 0)
""".strip().split("\n")

COMPUTED = """
x.scatter(0, g, 1.5)
x.scatter(0, g, value=1.5)
x.scatter(0, g[:1], w[:1])
x.scatter(1, g[:, :1], w[:2, :1])
x.scatter(0, t.zeros(1, 6, dtype=t.int64), w[1:2])
x.scatter_add(0, g, w[:2])
x.scatter_add(1, g[:, :4], w[:2, :4])
x.scatter_reduce(0, g, w[:2], 'sum')
x.scatter_reduce(0, g, w[:2], 'mean')
x.scatter_reduce(0, g, w[:2], 'prod')
x.scatter_reduce(0, g, w[:2], 'amax')
x.scatter_reduce(0, g, w[:2], 'amin')
x.scatter_reduce(0, g, w[:2], 'sum', include_self=False)
x.scatter_reduce(0, g, w[:2], 'mean', include_self=False)
x.scatter_reduce(0, g, w[:2], 'prod', include_self=False)
x.scatter_reduce(0, g, w[:2], 'amax', include_self=False)
x.scatter_reduce(0, g, t.ones_like(w[:2]), 'amax')
(x * 0).scatter_reduce(0, g * 0, w[:2] * 0, 'amin')
x.index_add(0, i, w[:3])
x.index_add(0, i, w[:3], alpha=2)
x.index_add(0, t.tensor([1, 1]), w[:2])
x.index_add(1, i, w[:, :3])
x.index_copy(0, i, w[:3])
x.index_copy(1, i, w[:, :3])
x.index_fill(0, i, 2.0)
x.index_fill(1, t.tensor([-1]), 2.0)
x.index_fill(0, i, s)
x.index_put((i,), w[:3])
x.index_put((i, i), v[:3])
x.index_put((i,), s)
x.index_put((t.tensor([1, 1]),), w[:2], accumulate=True)
x.index_put((b,), s)
x.masked_fill(b, 0.5)
x.masked_fill(b[0], float('inf'))
x.masked_fill(b, s)
v.masked_fill(b, 1.0)
x.masked_scatter(b, w)
x.masked_scatter(b[0], w)
x.put(i, v[:3])
x.put(t.tensor([0, 0]), v[:2], accumulate=True)
x.select_scatter(v, 0, 1)
x.slice_scatter(w[:2], 0, 1, 3)
x.slice_scatter(w[:, ::2], dim=1, step=2)
x.diagonal_scatter(v[:4])
x.diagonal_scatter(v[:4], 1)
t.index_reduce(x, 0, i, w[:3], 'mean')
t.index_reduce(x, 0, t.tensor([0, 0]), w[:2], 'amax')
x.scatter(0, g + 5, 1.0)
x.scatter(0, g, w.to(t.float32))
x.scatter(0, i, 1.0)
x.scatter_reduce(0, g, w[:2], 'nothing')
x.index_add(0, i, w)
x.index_add(0, i + 9, w[:3])
x.index_copy(0, i, w)
x.index_fill(0, i, v)
x.masked_fill(b, v)
x.masked_fill(i, 1.0)
x.masked_scatter(t.ones_like(b), v)
x.index_put((i,), w[:2])
x.index_put((i,), t.ones(6))
""".strip().split("\n")

# What is done with y, a copy of x, before it is returned.
WRITES = """
z[0] = 5.0
z[0] = v
z[0] = v[None]
z[1:3] = w[:2]
z[:, 0] = w[:, 1]
z[:] = 0
z[...] = w
z[()] = w
z[None] = w
z[0, 1] = s
z[0, 1] = 2
z[0, 1:3] = v[:2]
z[..., -1] = 1.0
z[b] = 0
z[b] = s
z[z > 0] = z[z > 0] * 2
z[0, [0, 1]] = 0
z[[0, 2]] = w[:2]
z[[0, 0]] = 3.0
z[i, i] = v[:3]
z[:, i] = w[:, :3]
z[1:, i] = w[1:, :3]
z[True] = 0
z[t.tensor(1)] = v
z[0] += v
z[1:] *= 2
z[b] += 1
z[0][1] = s
z[0][1:][0] = s
z[1:] = z[:-1].clone()
z[0] = t.ones(6)
z[0] = t.ones(6, dtype=t.int64)
z.t()[0] = v[:4]
z.view(-1)[3:5] = v[:2]
z.T[1].copy_(v[:4])
z.copy_(w)
z.copy_(v)
z.copy_(s)
z.zero_()
z.fill_(s)
z.fill_(2)
z.scatter_(0, g[:1], w[:1])
z.scatter_(0, g, 1.0)
z.scatter_add_(0, g, w[:2])
z.scatter_reduce_(0, g, w[:2], 'amax')
z.index_add_(0, i, w[:3])
z.index_copy_(0, i, w[:3])
z.index_fill_(0, i, 1.0)
z.index_put_((i,), w[:3])
z.index_put_((i,), w[:3], accumulate=True)
z.masked_fill_(b, 1.0)
z.masked_fill_(b, s)
z.masked_scatter_(b, w)
z.put_(i, v[:3])
z.fill_diagonal_(1.0)
z.tril_()
z.triu_(1)
z[1].masked_fill_(b[0], 0.0)
z[:, 1].zero_()
z.diagonal().mul_(2)
z.diagonal().copy_(v[:4])
z.unfold(0, 2, 2)[0].mul_(3)
z.squeeze_()
z.unsqueeze_(0)[0, 0].zero_()
z[0] = t.ones(2, 6)
z[0] = [1, 2, 3, 4, 5, 6]
z[0] = 1j
z[0] = 'a'
z[5] = 1
z[b] = t.ones(2)
z[::-1] = 0
z[0, 0, 0] = 1
z.copy_(t.ones(5))
z.copy_(t.ones(1, 4, 6))
z.masked_fill_(b[None], 0)
z.unbind()[0].mul_(2)
z.split(2)[0].zero_()
z.expand(2, 4, 6).add_(1)
x[0] = 1
x.zero_()
x[b] = 0
x.view(-1).mul_(2)
""".strip().split("\n")


def run_with(code: Any, t: Any, x: Any, w: Any, v: Any, s: Any, y: Any) -> Any:
    names = {"t": t, "np": np, "x": x, "w": w, "v": v, "s": s, "y": y}
    names["i"] = t.tensor([2, 0, 1])
    names["g"] = t.tensor([[0, 1, 2, 3, 0, 1], [3, 3, 1, 0, 2, 1]])
    names["b"] = x.detach() > 0
    names["z"] = x * 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if "=" in code and not code.endswith(")"):
            exec(code, {}, names)
            return names["z"]
        found = eval(code, {}, names)
        return (found, names["z"]) if "_(" in code else found


INPUTS = [numbers(4, 6), numbers(4, 6, seed=1), numbers(6, seed=2), numbers(seed=3)]


def calls(codes: list[str]) -> Any:
    return pytest.mark.parametrize("code", codes)


@pytest.mark.part(3)
@calls(READS + COMPUTED + WRITES)
def test_calls_agree_with_pytorch(code: str) -> None:
    named = not any(word in code for word in ("b, None", "take_along_dim(i)", "reduce='add'"))
    agree(
        lambda t, *tensors: run_with(code, t, *tensors),
        *INPUTS,
        numbers(2, 3, 4, seed=4),
        order=2,
        name=named,
    )


parts = st.one_of(
    st.integers(-3, 3),
    st.slices(3).filter(lambda part: part.step is None or part.step > 0),
    st.none(),
    st.just(...),
    st.booleans(),
    st.lists(st.integers(0, 1), min_size=1, max_size=2, unique=True),
    st.lists(st.booleans(), min_size=3, max_size=3),
)


@pytest.mark.peers("torch")
@draws(60, 1000)
@given(
    st.lists(parts, max_size=4).map(tuple).filter(lambda index: index.count(...) < 2),
    st.booleans(),
)
def test_any_index_reads_and_writes_as_pytorch_does(index: Any, single: bool) -> None:
    index = index[0] if single and index else index

    def run(t: Any, x: Any, w: Any) -> Any:
        x = x * 1
        found = x[index]
        x[index] = w[index] * 2
        return found, x

    agree(run, numbers(3, 2, 3), numbers(3, 2, 3, seed=1), name=False)


def test_an_index_that_changes_later_does_not_change_the_gradient() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    index = torch.tensor([0, 2])
    y = x[index]
    index[0] = 1
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [1, 0, 1])


def test_assigning_twice_to_one_place_gives_the_last_value_its_gradient() -> None:
    v = torch.tensor([1.0, 2.0], requires_grad=True)
    x = torch.zeros(3)
    x[[1, 1]] = v
    x.sum().backward()
    np.testing.assert_array_equal(v.grad.numpy(), [0, 1])


def test_a_source_may_be_larger_than_its_index() -> None:
    index = torch.tensor([[0, 0, 1]])
    w = torch.ones(3, 3, requires_grad=True)
    torch.zeros(2, 3).scatter_add(0, index, w).sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), [[1, 1, 1], [0, 0, 0], [0, 0, 0]])


def test_scatter_that_adds_or_multiplies_is_differentiable() -> None:
    index = torch.tensor([0, 0])
    x = torch.tensor([2.0, 3.0], requires_grad=True)
    w = torch.tensor([5.0, 7.0], requires_grad=True)
    x.scatter(0, index, w, reduce="multiply").sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [35, 1])
    np.testing.assert_array_equal(w.grad.numpy(), [14, 10])
    w.grad = None
    x.scatter(0, index, w, reduce="add").sum().backward()
    np.testing.assert_array_equal(w.grad.numpy(), [1, 1])


def test_a_loop_that_fills_a_tensor() -> None:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    out = torch.zeros(3)
    for i in range(3):
        out[i] = x[i] ** 2 + (out[i - 1] if i else 0)
    out[2].backward()
    np.testing.assert_array_equal(x.grad.numpy(), [2, 4, 6])


def test_functional_transforms_of_indexing() -> None:
    x = torch.from_numpy(numbers(4, 3))
    index = torch.tensor([[0, 1, 2], [2, 2, 0], [1, 0, 0], [0, 0, 0]])

    def loss(row: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        out = torch.zeros(3, dtype=torch.float64).scatter_add(0, places, row * row)
        out[0] = row[1] * out[0].clone()
        return (out * out.gather(0, places)).sum()

    mapped = vmap(grad(loss))(x, index)
    for row, places, found in zip(x, index, mapped, strict=True):
        z = row.clone().requires_grad_()
        loss(z, places).backward()
        np.testing.assert_allclose(found.numpy(), z.grad.numpy())


def test_a_mapped_index() -> None:
    x = torch.from_numpy(numbers(5))
    index = torch.tensor([3, 0, 4])
    np.testing.assert_array_equal(vmap(lambda i: x[i])(index).numpy(), x[index].numpy())


@pytest.mark.parametrize("turn", [1, -1])
def test_a_slice_is_another_index_than_a_tuple_of_it(turn: int) -> None:
    x = torch.ones(3 + turn, requires_grad=True)
    names = {":": "SliceBackward0", ":,": "AliasBackward0"}
    for index in [*names][::turn]:
        made = x[:] if index == ":" else x[:,]
        assert made.grad_fn.name() == names[index]


def test_views_that_come_again_are_told_apart_by_all_of_their_index() -> None:
    x = np.arange(60.0).reshape(3, 4, 5)
    parts = [0, 1, 2, None, ..., slice(None), slice(1, None), slice(None, 2), slice(0, 3, 2)]
    parts += [slice(None, None, 2), slice(1, None, 1), slice(0, 1), slice(None, 2, 1)]
    indices: list[Any] = [*parts, *itertools.product(parts, repeat=2)]
    indices += itertools.product(parts, repeat=3)
    for _ in range(2):  # the views of the second round, and many of the first, have come before
        tensor = torch.tensor(x)
        for index in indices:
            if type(index) is tuple and index.count(...) > 1:
                continue
            assert np.array_equal(tensor[index].numpy(), x[index]), index
