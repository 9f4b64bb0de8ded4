"""Memory formats: images whose channels lie side by side, and results that keep orders."""

from __future__ import annotations

import pytest
from drawn_layouts import CALLS, strides
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch import nn

LAST, LAST_3D = torch.channels_last, torch.channels_last_3d
SHAPES = {LAST: (2, 3, 4, 5), LAST_3D: (2, 3, 4, 5, 6)}
STRIDES = {LAST: (60, 1, 15, 3), LAST_3D: (360, 1, 90, 18, 3)}
F = nn.functional


@pytest.mark.parametrize("order", [LAST, LAST_3D])
@pytest.mark.parametrize(
    "change",
    [
        lambda x, order: x.contiguous(memory_format=order),
        lambda x, order: x.to(memory_format=order),
        lambda x, order: x.to(torch.float64, memory_format=order),
        lambda x, order: x.double(memory_format=order),
        lambda x, order: x.clone(memory_format=order),
    ],
)
def test_channels_last_moves_elements_and_no_values(order, change):
    x = torch.randn(SHAPES[order], requires_grad=True)
    y = change(x, order)
    assert y.stride() == STRIDES[order]
    assert y.is_contiguous(memory_format=order)
    assert not y.is_contiguous()
    assert torch.equal(y.to(x.dtype), x)
    (y * torch.arange(float(x.numel())).reshape(x.shape)).sum().backward()
    assert x.grad.flatten().tolist() == list(map(float, range(x.numel())))
    back = y.contiguous()
    assert back.is_contiguous()
    assert back.contiguous() is back
    assert y.to(memory_format=order) is y


@pytest.mark.parametrize("order", [LAST, LAST_3D])
def test_new_tensors_and_elementwise_results_keep_the_order(order):
    x = torch.empty(SHAPES[order], memory_format=order).fill_(0.5)
    wanted = STRIDES[order]
    for made in (
        x,
        x + 1,
        x.exp(),
        x > 0,
        x.clone(),
        x.double(),
        torch.zeros_like(x),
        torch.rand_like(x),
        torch.randn_like(x),
        torch.randint_like(x, 5),
        F.relu(x),
        F.dropout(x, 0.5, training=True),
    ):
        assert made.stride() == wanted
    plain = torch.contiguous_format
    for made in (torch.zeros_like(x, memory_format=plain), x.clone(memory_format=plain)):
        assert made.is_contiguous()


def test_modules_and_their_results():
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2))
    x = torch.randn(2, 3, 8, 8)
    right = model.eval()(x)
    model = model.to(memory_format=LAST)
    assert model[0].weight.is_contiguous(memory_format=LAST)
    assert model[0].bias.is_contiguous()
    for given in (x, x.to(memory_format=LAST)):
        made = model(given)
        assert made.is_contiguous(memory_format=LAST)
        assert torch.allclose(made, right, atol=1e-6)
        made.sum().backward()


@pytest.mark.parametrize("order", [LAST, LAST_3D])
def test_formats_want_their_number_of_dimensions(order):
    x = torch.ones(2, 3)
    text = f"required rank {len(SHAPES[order])} tensor to use {order!r}".replace("torch.", "")
    for change in (
        lambda: x.contiguous(memory_format=order),
        lambda: x.to(memory_format=order),
        lambda: x.clone(memory_format=order),
        lambda: torch.empty(2, 3, memory_format=order),
    ):
        with pytest.raises(RuntimeError, match=text):
            change()
    assert not x.is_contiguous(memory_format=order)


def test_names_of_formats():
    assert isinstance(LAST, torch.memory_format)
    assert isinstance(torch.strided, torch.layout)
    assert torch.legacy_contiguous_format is torch.contiguous_format


def test_strides_are_those_of_pytorch():
    def seen(module, shape):
        x = module.ones(shape).to(memory_format=module.channels_last)
        t = module.ones(shape).transpose(1, 3)
        return [
            *(x.stride(), x.is_contiguous(), (x + 1).is_contiguous()),
            x.is_contiguous(memory_format=module.channels_last),
            t.is_contiguous(memory_format=module.channels_last),
            t.to(memory_format=module.channels_last).stride(),
        ]

    shapes = [(2, 3, 4, 5), (2, 1, 4, 5), (1, 3, 1, 5), (2, 3, 1, 1), (1, 1, 1, 1)]
    theirs = of_pytorch(lambda t: [seen(t, shape) for shape in shapes])
    assert [seen(torch, shape) for shape in shapes] == theirs


def test_gradients_lie_as_their_leaves_do():
    a, b = (torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last) for _ in range(2))
    c = torch.rand(2, 3, 4, 5).requires_grad_()
    a.requires_grad_()
    for loss in (a.sum(), (a * b).sum(), (a * c).sum(), a.sum() + a.sin().sum()):
        a.grad = c.grad = None
        loss.backward()
        assert a.grad.stride() == a.stride()
        assert c.grad is None or c.grad.stride() == c.stride()
    w = torch.rand(3, 4).t().requires_grad_()
    (torch.rand(2, 4) @ w).sum().backward()
    assert w.grad.stride() == (1, 4)
    apart = torch.empty_strided((2, 2), (4, 2)).fill_(1).requires_grad_()
    apart.sum().backward()
    assert apart.grad.stride() == (2, 1)


@pytest.mark.parametrize("layout", CALLS)
def test_results_lie_in_memory_as_pytorchs_do(layout):
    calls = CALLS[layout]
    wanted = of_pytorch(lambda torch: strides(torch, layout, calls, False), asked=repr(calls))
    for grad in (False, True, True, True):  # the third call is planned
        found = strides(torch, layout, calls, grad)
        assert dict(zip(calls, found, strict=True)) == dict(zip(calls, wanted, strict=True))


def test_a_result_that_is_laid_out_is_the_one_that_its_entry_keeps():
    x = torch.rand(3, 4).t().requires_grad_()
    for _ in range(3):
        y = x.softmax(0)
        with torch.no_grad():
            y.view(-1)[0] = 5.0
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()
    weights = torch.arange(12.0).reshape(4, 3)
    (weights * x.softmax(0)).sum().backward()
    y = x.detach().contiguous().requires_grad_()
    (weights * y.softmax(0)).sum().backward()
    assert torch.allclose(x.grad, y.grad)
