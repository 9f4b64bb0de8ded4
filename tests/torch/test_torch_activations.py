"""Activations: as PyTorch's, at their kinks too; softmax of any dimension."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import agree, numbers

import tapegrad.torch as torch
from tapegrad.torch.nn import functional as ours

X = numbers(4, 6) * 3
KINKS = np.array(
    [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 3.0, -3.0, 6.0, np.inf, -np.inf, np.nan, 25.0, -800.0]
)
CALLS = {
    "relu": {},
    "relu6": {},
    "leaky_relu": {"negative_slope": 0.2},
    "elu": {"alpha": 1.3},
    "selu": {},
    "celu": {"alpha": 0.7},
    "gelu": {},
    "silu": {},
    "mish": {},
    "softplus": {"beta": 2.0},
    "softsign": {},
    "hardtanh": {"min_val": -0.5, "max_val": 1.0},
    "hardsigmoid": {},
    "hardswish": {},
    "tanhshrink": {},
    "softshrink": {"lambd": 0.5},
    "hardshrink": {},
    "threshold": {"threshold": 0.5, "value": -1.0},
    "logsigmoid": {},
    "sigmoid": {},
    "tanh": {},
    "glu": {"dim": 0},
    "softmax": {"dim": 1},
    "log_softmax": {"dim": 0},
    "softmin": {"dim": 1},
}


def functional(t, word):
    return getattr(ours if t is torch else t.nn.functional, word)


@pytest.mark.parametrize("word", CALLS)
def test_values_and_gradients(word):
    near = {"tolerance": 1e-6} if word in ("celu", "hardsigmoid") else {}
    for words in (
        CALLS[word],
        {k: v for k, v in CALLS[word].items() if k in ("dim", "threshold", "value")},
    ):
        agree(lambda t, x, words=words: functional(t, word)(x, **words), X, order=2, **near)
        agree(lambda t, x, words=words: functional(t, word)(x, **words), X.astype(np.float32))


@pytest.mark.parametrize("word", CALLS)
def test_kinks(word):
    agree(
        lambda t, x: functional(t, word)(x, **CALLS[word]),
        KINKS.reshape(2, 7),
        nan_gradients=False,
        tolerance=1e-6,
    )


@pytest.mark.parametrize(
    "word",
    [
        "relu",
        "relu6",
        "leaky_relu",
        "elu",
        "selu",
        "celu",
        "silu",
        "mish",
        "hardtanh",
        "hardsigmoid",
        "hardswish",
        "threshold",
    ],
)
def test_in_place(word):
    def call(t, x):
        z = x * 1
        y = functional(t, word)(z, **CALLS[word], inplace=True)
        assert y is z
        return y * 1

    agree(call, X, tolerance=1e-6)


def test_other_forms():
    agree(lambda t, x: functional(t, "gelu")(x, approximate="tanh"), X, order=2)
    agree(lambda t, x: functional(t, "gelu")(x, approximate="foo"), X)
    agree(lambda t, x, w: functional(t, "prelu")(x, w), X, np.array([0.3]), order=2)
    agree(lambda t, x, w: t.prelu(x, w), X, numbers(6), order=2)
    agree(lambda t, x, w: t.prelu(x, w), X, numbers(5))
    agree(lambda t, x, w: t.prelu(x, w), numbers(2, 3, 4, 5), numbers(3))
    agree(lambda t, x: functional(t, "glu")(x), X[:, :5])
    agree(lambda t, x: functional(t, "softshrink")(x, -1.0), X)
    agree(lambda t, x: (t.relu(x), t.selu(x), t.celu(x), t.threshold(x, 1, 0), x.hardshrink()), X)


@pytest.mark.parametrize("word", ["softmax", "log_softmax"])
def test_softmax(word):
    for shape, dim in (
        ((3,), 0),
        ((2, 3, 4), 1),
        ((2, 3, 4), -1),
        ((), 0),
        ((0, 3), 0),
        ((2, 3), 2),
    ):
        agree(lambda t, x, dim=dim: getattr(t, word)(x, dim), numbers(*shape), order=2)
        agree(lambda t, x, dim=dim: getattr(x * 1, word)(dim=dim), numbers(*shape))
    agree(lambda t, x: getattr(t, word)(x, 1, dtype=t.float64), X.astype(np.float32), name=False)
    agree(lambda t, x: getattr(t, word)(x, 0), WHOLE)
    agree(lambda t, x: getattr(t, word)(x, 0, dtype=t.float64), WHOLE)
    agree(lambda t, x: getattr(t, word)(x, 0), np.array([1000.0, -1000.0, -np.inf]))


WHOLE = np.arange(3)


def test_softmax_of_large_numbers():
    x = torch.tensor([1000.0, 1001.0], requires_grad=True)
    y = torch.softmax(x, 0)
    assert torch.isfinite(y).all()
    y[0].backward()
    assert torch.isfinite(x.grad).all()


def test_infinite_cotangents_stay_zero_below_the_kink():
    x = torch.tensor([0.0, -1.0, 2.0], requires_grad=True)
    for create in (False, True):
        y = torch.log(torch.relu(x)).sum()
        (gradient,) = torch.autograd.grad(y, x, create_graph=create)
        assert gradient.tolist() == [0.0, 0.0, 0.5]


FLAT = {  # where the slope is 0: at numbers on both sides, at the kinks and at NaN
    "relu": [-5.0, -0.0, 0.0],
    "hardtanh": [-5.0, -1.0, 1.0, 5.0],
    "relu6": [-5.0, 0.0, 6.0, 7.0],
    "hardswish": [-5.0, -3.0],
    "hardsigmoid": [-5.0, -3.0, 3.0, 5.0, np.nan],
    "hardshrink": [-0.5, 0.0, 0.25, 0.5],
    "softshrink": [-0.5, 0.0, 0.25, 0.5],
}


@pytest.mark.parametrize("given", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("word", FLAT)
def test_cotangents_that_are_not_finite_leave_zeros_where_the_slope_is_zero(word, given):
    for _ in range(4):  # also where the call comes again
        x = torch.tensor(FLAT[word], requires_grad=True)
        getattr(ours, word)(x).backward(torch.full(x.shape, given))
        assert x.grad.tolist() == [0.0] * len(x)
    x = torch.full((8192,), FLAT[word][0], requires_grad=True)
    getattr(ours, word)(x).backward(torch.full(x.shape, given))
    assert not x.grad.any()


def test_rrelu():
    agree(lambda t, x: functional(t, "rrelu")(x), X, name=False)
    x = torch.tensor([-1.0] * 100 + [2.0], requires_grad=True)
    y = ours.rrelu(x, training=True)
    assert len(set(y.tolist())) > 90
    assert all(-1 / 3 <= number <= -1 / 8 for number in y.tolist()[:-1])
    y.sum().backward()
    assert torch.allclose(x.grad[:-1], -y.detach()[:-1])
