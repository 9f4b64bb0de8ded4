"""Large arrays, whose calls go by ways of their own, beside the same in small pieces."""

import numpy as np
import pytest

import tapegrad.torch as torch
from tapegrad.rules.masks import selected

F = torch.nn.functional
ROWS, COLUMNS = 64, 512
CALLS = {
    "gelu": F.gelu,
    "silu": F.silu,
    "leaky_relu": lambda x: F.leaky_relu(x, 0.1),
    "leaky_relu of a steep slope": lambda x: F.leaky_relu(x, 2.0),
    "softplus": F.softplus,
    "softplus of a low threshold": lambda x: F.softplus(x, 1.0, 3.0),
    "softplus of beta": lambda x: F.softplus(x, 2.0),
    "elu": F.elu,
    "elu of alpha": lambda x: F.elu(x, 0.5),
    "celu": lambda x: F.celu(x, 2.0),
    "selu": F.selu,
    "hardtanh": F.hardtanh,
    "relu6": F.relu6,
    "threshold": lambda x: F.threshold(x, 0.1, 0.2),
    "hardshrink": F.hardshrink,
    "prelu": lambda x: F.prelu(x, torch.tensor([0.2], dtype=x.dtype)),
    "clamp": lambda x: x.clamp(-0.5, 0.5),
    "where": lambda x: torch.where(x > 0, x, x * 2),
    "masked_fill": lambda x: x.masked_fill(x > 0, 0.5),
    "softmax": lambda x: torch.softmax(x, 1),
    "log_softmax": lambda x: torch.log_softmax(x, 1),
    "cross_entropy": lambda x: F.cross_entropy(x, torch.arange(x.shape[0]) * 7, reduction="none"),
}
# Rows of such calls are not independent of one another's classes.
BY_ROW = ("softmax", "log_softmax", "cross_entropy")


def _found(call, x, g):
    """The result and the gradient of a call that has come several times."""
    x = torch.tensor(x).requires_grad_()
    for _ in range(4):
        out = call(x)
        (grad,) = torch.autograd.grad(out, x, torch.tensor(g.reshape(out.shape)))
    return out.detach().numpy(), grad.numpy()


@pytest.mark.part(3)
@pytest.mark.parametrize("letter", "fd")
@pytest.mark.parametrize("name", CALLS)
def test_large_arrays_are_as_their_pieces(name, letter):
    rng = np.random.default_rng(0)
    x = (rng.standard_normal((ROWS, COLUMNS)) * 4).astype(letter)
    x[3, :8] = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 6.0, -100.0]
    if name not in BY_ROW:
        x[5, :3] = np.inf, -np.inf, np.nan
    g = rng.standard_normal((ROWS, COLUMNS)).astype(letter)
    call = CALLS[name]
    if name == "cross_entropy":
        g = g[:, 0]
        pieces = [_found(call, x, g)]
        with torch.no_grad():  # by its definition
            logs = torch.log_softmax(torch.tensor(x.astype("d")), 1).numpy()
        rows = np.arange(ROWS)
        slopes = np.exp(logs)
        slopes[rows, rows * 7] -= 1
        expected = -logs[rows, rows * 7], slopes * g[:, None]
    else:
        parts = [_found(call, x[i : i + 4], g[i : i + 4]) for i in range(0, ROWS, 4)]
        expected = tuple(np.concatenate(each) for each in zip(*parts, strict=True))
        pieces = [_found(call, x, g)]
    tolerance = 2e-5 if letter == "f" else 1e-12
    for made, wanted in zip(pieces[0], expected, strict=True):
        np.testing.assert_allclose(made, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("letter", "fd")
def test_choices_by_bits_are_those_of_numpy(letter):
    rng = np.random.default_rng(0)
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, 1e-40])
    x, y = (rng.choice(special, (90, 100)).astype(letter) for _ in range(2))
    mask = rng.random((90, 100)) > 0.5
    for one in (x, x.T.copy().T, x[::-1], x[:, :1], 0.5, 3, np.float64(2.5)):
        for other in (y, y[:1], -0.0):
            for pair in ((one, other), (other, one)):
                made, expected = selected(mask, *pair), np.where(mask, *pair)
                assert made.dtype == expected.dtype
                assert made.strides == expected.strides
                assert made.tobytes() == expected.tobytes()


def test_a_result_may_be_written_over_before_the_backward_pass():
    x = torch.tensor(np.linspace(-3, 3, 1 << 14, dtype=np.float32)).requires_grad_()
    for call in (F.gelu, F.silu, F.elu, F.softplus, lambda x: F.leaky_relu(x, 0.1)):
        for _ in range(3):
            (expected,) = torch.autograd.grad(call(x).sum() * 2, x)
        out = call(x)
        out.mul_(2.0)
        (made,) = torch.autograd.grad(out.sum(), x)
        np.testing.assert_allclose(made.numpy(), expected.numpy(), rtol=1e-6)


def test_second_derivatives_of_large_arrays():
    x = torch.tensor(np.linspace(-3, 3, 1 << 13)).requires_grad_()
    for call in (F.silu, F.gelu, F.softplus, F.elu):
        for _ in range(3):
            (slope,) = torch.autograd.grad(call(x).sum(), x, create_graph=True)
            (second,) = torch.autograd.grad(slope.sum(), x)
        changes = np.gradient(slope.detach().numpy(), x.detach().numpy())
        near_kink = np.abs(x.detach().numpy()) < 0.01
        off = np.abs(second.numpy() - changes)[2:-2][~near_kink[2:-2]]
        assert off.max() < 1e-3
