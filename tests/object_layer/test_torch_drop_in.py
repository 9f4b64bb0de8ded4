"""What programs written for PyTorch meet: behaviours in which the two once differed."""

from __future__ import annotations

import pytest

import tapegrad.torch as torch
from tapegrad.torch import nn
from tapegrad.torch.func import grad, jvp, vmap

# --- Writes through views, where a transform is inside vmap --------------------------------------


def _to_whole(x, y):
    x = x.clone()
    row = x[0]
    x.copy_(y)
    return row * 1, x * 1


def _to_view(x, y):
    x = x.clone()
    row = x[0]
    row.copy_(y[0])
    return row * 1, x * 1


def _times(x, y):
    x = x.clone()
    row = x.select(0, 0)
    x.mul_(y)
    return row * 1, x * 1


@pytest.mark.parametrize("write", [_to_whole, _to_view, _times])
@pytest.mark.parametrize("inner", ["grad", "jvp", "vmap"])
def test_views_follow_a_write_by_an_inner_transform(write, inner):
    torch.manual_seed(0)
    x, y = torch.randn(3, 2, 4), torch.randn(3, 2, 4)
    seen = vmap(write)(x, y)
    loss = lambda x, y: sum((part**2).sum() for part in write(x, y))  # noqa: E731
    slope = torch.stack([torch.autograd.functional.jacobian(loss, pair)[1] for pair in zip(x, y, strict=True)])
    if inner == "grad":
        assert torch.allclose(vmap(grad(loss, argnums=1))(x, y), slope)
    elif inner == "jvp":
        out, dots = vmap(lambda x, y: jvp(lambda q: write(x, q), (y,), (y,)))(x, y)
        for ours, right in zip(out, seen, strict=True):
            assert torch.equal(ours, right)
        total = sum((2 * part * dot).flatten(1).sum(1) for part, dot in zip(out, dots, strict=True))
        assert torch.allclose(total, (slope * y).flatten(1).sum(1))
    else:
        pairs = vmap(lambda x: vmap(lambda q: write(x + 0 * q, q))(y))(x)
        for i in range(3):
            for j in range(3):
                row, whole = write(x[i], y[j])
                assert torch.equal(pairs[0][i, j], row)
                assert torch.equal(pairs[1][i, j], whole)


# --- Optimizers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["Adadelta", "Adagrad", "Adam", "AdamW", "NAdam", "RMSprop", "SGD"])
def test_states_saved_before_a_setting_existed_load(name):
    make = getattr(torch.optim, name)
    weight = nn.Parameter(torch.ones(3))
    optimizer = make([weight], lr=0.1)
    state = optimizer.state_dict()
    for word in ("maximize", "foreach", "differentiable", "capturable", "fused", "nesterov"):
        state["param_groups"][0].pop(word, None)
    other = nn.Parameter(torch.ones(3))
    loaded = make([other], lr=0.1)
    loaded.load_state_dict(state)
    for param, chosen in ((weight, optimizer), (other, loaded)):
        param.grad = torch.tensor([1.0, -2.0, 0.5])
        chosen.step()
    assert torch.equal(weight, other)


# --- Convolutions --------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dims", [1, 2, 3])
def test_tangents_of_convolution_gradients(dims, bias):
    """Forward over reverse, where the transposes are called without a bias."""
    convolve = getattr(nn.functional, f"conv{dims}d")
    torch.manual_seed(dims)
    x = torch.randn(1, 1, *[4] * dims, dtype=torch.float64, requires_grad=True)
    weight = torch.randn(1, 1, *[2] * dims, dtype=torch.float64, requires_grad=True)
    inputs = (x, weight, *([torch.ones(1, dtype=torch.float64)] if bias else []))
    call = lambda *args: convolve(*args, padding="same")  # noqa: E731
    assert torch.autograd.gradgradcheck(call, inputs, check_fwd_over_rev=True)


# --- Values --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.bool, torch.int64, torch.float32])
@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
def test_unique_consecutive_of_nothing(shape, dtype):
    x = torch.zeros(shape, dtype=dtype)
    found, inverse, counts = torch.unique_consecutive(x, return_inverse=True, return_counts=True)
    assert found.shape == counts.shape == (0,)
    assert inverse.shape == shape
    assert found.dtype == dtype
