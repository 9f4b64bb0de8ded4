"""Shapes, parts, joins and turns: values, gradients, node names and errors are PyTorch's."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from agreement import agree, numbers

import tapegrad.torch as torch
from tapegrad.torch.func import grad

# Each is evaluated with t (the library), x (4, 6), v (6,), s (), c (2, 3) complex, y (2, 3, 4) and
# m (4, 6) of integers.
CALLS = """
x.view(24)
x.view(-1, 4)
x.view([4, 6])
x.view(size=(24,))
x.view_as(t.zeros(24))
x.reshape(24)
x.reshape(-1)
x.reshape(shape=(24,))
t.reshape(x, (3, 8))
x.t().reshape(24)
x.T.reshape_as(t.zeros(24))
x.flatten()
y.flatten(1)
y.flatten(0, 1)
y.flatten(start_dim=1, end_dim=2)
s.flatten()
v.flatten()
x.T.flatten()
x.unflatten(1, (2, 3))
x.unflatten(0, (-1, 2))
t.unflatten(x, 1, (2, -1))
t.ravel(x)
x.transpose(0, 1)
x.transpose(dim0=0, dim1=-1)
x.swapaxes(0, 1)
x.swapaxes(axis0=0, axis1=1)
x.swapdims(0, 1)
s.transpose(0, -1)
x.t()
v.t()
x.T
y.mT
x.H
c.H.resolve_conj()
y.mH
y.adjoint()
y.permute(2, 0, 1)
y.permute((2, 0, 1))
x.permute(dims=(1, 0))
t.permute(y, (0, 2, 1))
y.movedim(0, 2)
y.movedim((0, 1), (1, 0))
y.moveaxis(-1, 0)
x.squeeze()
x[None].squeeze(0)
x[None].squeeze(1)
x[None, :, None].squeeze((0, 2))
x[None].squeeze(axis=0)
x.unsqueeze(0)
x.unsqueeze(-1)
x.unsqueeze(dim=1)
s.unsqueeze(0)
x.expand(3, 4, 6)
x.expand(-1, 6)
x.expand(size=(2, 4, 6))
v[:, None].expand(6, 3)
s.expand(2, 3)
x.expand_as(t.zeros(2, 4, 6))
x.broadcast_to((2, 4, 6))
t.broadcast_to(v, (4, 6))
t.broadcast_tensors(x, v)
x.narrow(0, 1, 2)
x.narrow(1, -3, 2)
x.select(0, 1)
x.select(-1, -2)
x.diagonal()
x.diagonal(1)
x.diagonal(-2)
x.diagonal(7)
y.diagonal(0, 1, 2)
t.diagonal(y, offset=1, dim1=0, dim2=2)
t.diag(x)
t.diag(x, 2)
t.diag(v)
t.diag(v, -1)
x.diag_embed()
x.diag_embed(1, 0, 2)
t.diagflat(x)
v.unfold(0, 3, 1)
x.unfold(1, 2, 2)
x.unfold(dimension=0, size=2, step=1)
x.as_strided((2, 2), (1, 2))
x.as_strided((3, 3), (1, 1), 2)
x[1].as_strided((2,), (1,))
x.real
c.real
c.imag
c.real[0]
t.view_as_real(c)
t.view_as_complex(x.view(4, 3, 2))
x.split(2)
x.split(5, 1)
x.split([1, 3])
t.split(x, 2, dim=1)
x.chunk(2)
x.chunk(5)
x.chunk(4, axis=1)
x.tensor_split(3)
x.tensor_split([1, 2])
x.tensor_split((1, 5), dim=1)
x.hsplit(2)
x.vsplit([1])
y.dsplit(2)
x.unbind()
x.unbind(1)
tuple(q for q in x)
t.cat([x, x])
t.cat((x, x), 1)
t.cat((x, x), axis=1)
t.cat([x, t.zeros(0, dtype=x.dtype)])
t.cat([x, m])
t.cat([m, x.to(t.float32)])
t.concat((x, x), -1)
t.concatenate((x, x))
t.stack([x, x])
t.stack([x, x], -1)
t.hstack([s, v])
t.hstack([x, x])
t.vstack([v, x])
t.dstack([v, v])
t.dstack([x, x])
t.column_stack([x, x])
t.column_stack([v, v])
t.row_stack([x, x])
x.repeat(2, 1)
x.repeat(2, 1, 2)
x.repeat((1, 2))
x.repeat(0, 2)
x.tile(2)
x.tile((2, 2))
t.tile(x, (2, 1, 1))
x.repeat_interleave(2)
x.repeat_interleave(2, 0)
x.repeat_interleave(t.tensor([1, 2, 0, 1]), 0)
t.repeat_interleave(x, 3, dim=1)
t.repeat_interleave(t.tensor([1, 2, 3]))
x.flip(0)
x.flip(0, 1)
x.flip((-1,))
x.flip(dims=(1,))
t.flip(x, [0])
x.fliplr()
x.flipud()
x.roll(1)
x.roll(-1, 0)
x.roll((1, 2), (0, 1))
x.rot90()
x.rot90(2)
x.rot90(-1, (1, 0))
y.rot90(1, [1, 2])
x.tril()
x.triu(1)
y.tril(-1)
x.tril(diagonal=2)
t.block_diag(x, v, s)
t.atleast_1d(x)
t.atleast_1d(s)
t.atleast_2d(v)
t.atleast_3d(x)
t.atleast_3d(v)
t.atleast_1d(s, v)
m.view(24)
m.T
m.unbind(1)
x.clone().unsqueeze_(0)
x[None].clone().squeeze_()
x[None].clone().squeeze_(0)
x.clone().t_()
x.clone().transpose_(0, 1)
x.clone().t_().mul_(2)
x.view(5)
x.view(-1, -1)
x.view(-1, 5)
x.view(-2, 12)
x.T.view(24)
x.reshape(5)
x.reshape(7, -1)
x.view()
x.permute(0)
x.permute(0, 0)
x.permute(0, 2)
x.transpose(0, 2)
x.transpose(0)
x.transpose('a', 0)
x.squeeze(2)
x.unsqueeze(3)
x.unsqueeze(-4)
x.expand(2)
x.expand(3, 6)
x.expand(-1, 4, 6)
x.narrow(0, 3, 2)
x.narrow(0, 0, -1)
x.select(0, 4)
x.select(2, 0)
x.diagonal(0, 0, 0)
v.diagonal()
x.unfold(0, 5, 1)
x.unfold(0, 2, 0)
x.split(0)
x.split([1, 1])
x.split(-1)
x.chunk(0)
x.tensor_split(0)
x.hsplit(4)
v.vsplit(2)
x.unbind(2)
s.unbind()
tuple(s)
y.t()
v.mT
y.H
s.mT
x.unflatten(0, (3, 2))
x.flatten(1, 0)
x.flatten(0, 2)
x.movedim(0, 2)
x.movedim((0, 1), (0,))
x.movedim((0, 0), (0, 1))
x.imag
t.cat([])
t.cat([x, x[0]])
t.cat([x, x[:, :2]])
t.cat(x)
t.stack([])
t.stack([x, x[0]])
t.stack([x, x], 3)
x.repeat(2)
x.repeat(-1, 2)
x.repeat_interleave(t.tensor([1, 2]), 0)
x.repeat_interleave(-1)
x.flip(0, 0)
x.flip(2)
x.flip()
x.roll((1, 2))
x.rot90(1, (0, 0))
v.tril()
v.fliplr()
t.broadcast_tensors(x, t.zeros(5))
x.as_strided((2, 2), (100, 1))
x.as_strided((2, 2), (-1, 1))
x.view(t.float32)
""".strip().split("\n")
WITHOUT_NAME = ("repeat_interleave", "diag_embed(1", "ravel", "atleast_1d(s, v)", "resolve_conj")


@pytest.mark.part(3)
@pytest.mark.parametrize("call", CALLS)
def test_calls_agree_with_pytorch(call: str) -> None:
    code = compile(call, call, "eval")

    def run(t, x, v, s, c, y, m):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return eval(code, {}, {"t": t, "x": x, "v": v, "s": s, "c": c, "y": y, "m": m})

    agree(
        run,
        numbers(4, 6),
        numbers(6, seed=1),
        numbers(seed=2),
        numbers(2, 3, seed=3, dtype=np.complex128),
        numbers(2, 3, 4, seed=4),
        numbers(4, 6, seed=5, dtype=np.int64),
        order=2,
        name=not any(word in call for word in WITHOUT_NAME),
    )


def leaf(*shape: int) -> torch.Tensor:
    return torch.from_numpy(numbers(*shape)).requires_grad_()


def test_a_view_shares_memory_and_version() -> None:
    x = torch.zeros(2, 3)
    y = x.view(3, 2)
    assert y._base is x
    assert y._is_view()
    assert not x._is_view()
    y[0, 0] = 5.0
    assert x[0, 0].item() == 5.0
    assert x._version == y._version == 1
    assert y[0]._base is x


def test_rows_come_from_one_node() -> None:
    x = leaf(3, 2)
    rows = list(x)
    assert [row.output_nr for row in rows] == [0, 1, 2]
    assert len({id(row.grad_fn) for row in rows}) == 1
    assert rows[0].grad_fn.name() == "UnbindBackward0"
    (rows[0] * rows[2]).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy()[1], 0)
    np.testing.assert_array_equal(x.grad.numpy()[0], x.detach().numpy()[2])


def test_iterating_over_many_rows() -> None:
    x = leaf(50, 2)
    total = torch.zeros(2, dtype=torch.float64)
    for row in x:
        total = total + row * row
    total.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy())


def test_a_view_that_memory_does_not_allow_is_refused_where_reshape_copies() -> None:
    x = leaf(2, 3)
    with pytest.raises(RuntimeError, match=r"Use \.reshape"):
        x.t().view(6)
    made = x.t().reshape(6)
    assert not made._is_view()
    made.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), 1)


def test_an_expanded_view_cannot_be_written_to_but_its_rows_can() -> None:
    x = torch.zeros(3)
    wide = x.expand(2, 3)
    with pytest.raises(RuntimeError, match="single memory location"):
        wide.add_(1)
    wide[0].add_(1)
    np.testing.assert_array_equal(x.numpy(), 1)


def test_transposing_more_than_matrices_with_T_warns() -> None:
    with pytest.warns(UserWarning, match=r"x\.T"):
        torch.zeros(2, 2, 2).T  # noqa: B018


def test_bits_as_another_dtype() -> None:
    x = torch.tensor([1.0, 2.0])
    bits = x.view(torch.int32)
    assert bits.dtype is torch.int32
    bits[0] = 0
    assert x[0].item() == 0.0
    assert x._version == 1


def test_reshaping_in_place_leads_views_along() -> None:
    x = leaf(2, 3)
    y = x * 1
    row = y[0]
    y.t_()
    assert y.shape == (3, 2)
    row.mul_(2)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[2, 2, 2], [1, 1, 1]])


def test_functional_transforms_see_through_views() -> None:
    x = torch.from_numpy(numbers(2, 3))

    def loss(x):
        y = x.t().clone(memory_format=torch.contiguous_format)
        y[0] = y[1] * 2
        y.view(-1)[4:].mul_(3)
        rows = torch.stack([row * row for row in y])
        return torch.cat([rows, y.flip(0)]).sum()

    given = grad(loss)(x)
    z = x.clone().requires_grad_()
    loss(z).backward()
    np.testing.assert_allclose(given.numpy(), z.grad.numpy())


def test_as_strided_in_place_has_a_gradient():
    x = torch.arange(6.0, requires_grad=True)
    y = x * 2
    first = y[:2]
    assert y.as_strided_((2, 2), (3, 1), 1) is y
    assert (y.grad_fn.name(), y.tolist()) == ("AsStridedBackward1", [[2, 4], [8, 10]])
    y.mul_(3.0)
    y.sum().backward()
    assert x.grad.tolist() == [0, 6, 6, 0, 6, 6]
    assert first.tolist() == [0, 6]


def test_broadcast_to_takes_sizes_as_expand_does():
    x = torch.ones(3)
    for made in (
        x.broadcast_to(2, 3),
        x.broadcast_to((2, 3)),
        x.broadcast_to(size=(2, 3)),
        torch.broadcast_to(x, size=(2, 3)),
    ):
        assert made.stride() == (0, 1)


def test_broadcasting_returns_a_tensor_of_that_shape_itself():
    """As in PyTorch, so that a distribution's parameter is the leaf it was made of."""
    x, row = torch.ones(2, 3, requires_grad=True), torch.ones(3)
    same, wide = torch.broadcast_tensors(x, row)
    assert same is x
    assert wide.shape == (2, 3)
    assert torch.distributions.Normal(x, row).loc is x
