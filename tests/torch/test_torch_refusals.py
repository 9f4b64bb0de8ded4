"""Refusals of operations, in PyTorch's words, and empty or mixed arguments that they take."""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad.torch as torch

functional = torch.nn.functional
REFUSED = [
    (lambda: functional.hardswish(torch.arange(3)), NotImplementedError, "hardswish_cpu.*Long"),
    (lambda: functional.glu(torch.arange(4)), NotImplementedError, "glu_cpu.*Long"),
    (lambda: functional.hardtanh(torch.ones(2) > 0), RuntimeError, "Bool inputs not supported"),
    (lambda: functional.hardtanh(torch.ones(2), 1.0, 0.0), ValueError, "min_val cannot be"),
    (lambda: functional.softplus(torch.ones(2), "a"), TypeError, "'beta' .* must be Number"),
    (lambda: functional.tanhshrink(torch.ones(2) > 0), RuntimeError, "with a bool tensor"),
    (lambda: torch.ones(2, 1).expand(2, what=1), TypeError, "unexpected keyword argument 'what'"),
    (lambda: torch.ones(2, 1).reshape(2, what=1), TypeError, "unexpected keyword argument 'what'"),
    (lambda: torch.ones(2).repeat(2, what=1), TypeError, "unexpected keyword argument 'what'"),
    (lambda: torch.where(torch.ones(2) > 0, torch.ones(2)), TypeError, "invalid combination"),
    (lambda: torch.maximum(torch.ones(2), None), TypeError, "'other' .* must be Tensor, not None"),
    (
        lambda: torch.linalg.lstsq(torch.ones(4, 3), torch.ones(4, 2, dtype=torch.float64)),
        RuntimeError,
        "same dtype, but got input's dtype Float and other's dtype Double",
    ),
    (
        lambda: functional.layer_norm(torch.ones(2, 3), (3,), torch.ones(3, dtype=torch.float64)),
        RuntimeError,
        "mixed dtype",
    ),
    (lambda: functional.group_norm(torch.ones(2, 4, 3), 0), ZeroDivisionError, "zero"),
    (lambda: functional.avg_pool1d(torch.ones(2, 4), 0, 2), RuntimeError, "kH: 1 kW: 0"),
    (
        lambda: functional.adaptive_avg_pool2d(torch.ones(2, 4, 4, dtype=torch.complex64), 2),
        NotImplementedError,
        "adaptive_avg_pool2d.*ComplexFloat",
    ),
    (lambda: torch.nn.LSTM(5, 3, bias=100), TypeError, "bias should be of type bool, got: int"),
    (
        lambda: torch.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 2, 2, dtype=torch.float64)),
        RuntimeError,
        r"Input type \(torch.FloatTensor\) and weight type \(torch.DoubleTensor\)",
    ),
    (
        lambda: torch.conv_transpose1d(torch.ones(1, 1, 3), torch.ones(1, 1, 2), output_padding=1),
        RuntimeError,
        "output_padding_height: 0 output_padding_width: 1 stride_height: 1",
    ),
    (
        lambda: torch.ones(3, 2).index_copy(0, torch.tensor([0]), torch.ones(2, 2)),
        IndexError,
        r"Number of indices \(1\) should be equal to source.size\(dim\) \(2\)",
    ),
]


@pytest.mark.parametrize(("call", "error", "text"), REFUSED)
def test_refusals(call, error, text):
    with pytest.raises(error, match=text):
        call()


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_convolutions_of_no_examples(n, groups):
    x = torch.ones(0, 4, *(3,) * n, requires_grad=True)
    weight = torch.ones(6, 4 // groups, *(2,) * n, requires_grad=True)
    out = getattr(torch, f"conv{n}d")(x, weight, groups=groups)
    assert out.shape == (0, 6, *(2,) * n)
    out.sum().backward()
    assert x.grad.shape == x.shape
    assert not weight.grad.any()


def test_a_norm_of_other_weights_keeps_its_dtype():
    weight = torch.full((3,), 2.0, dtype=torch.float64, requires_grad=True)
    with pytest.warns(UserWarning, match="Mismatch dtype"):
        out = functional.rms_norm(torch.ones(2, 3), (3,), weight)
    assert out.dtype is torch.float32
    out.sum().backward()
    assert weight.grad.dtype is torch.float64


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_outputs_of_recurrent_layers_may_be_written_into(kind):
    net = getattr(torch.nn, kind)(3, 2)
    gradients = []
    for inplace in (False, True):
        net.zero_grad()
        out = functional.leaky_relu(net(torch.ones(4, 1, 3))[0], 0.5, inplace=inplace)
        out.sum().backward()
        gradients.append([p.grad.numpy().copy() for p in net.parameters()])
    for x, y in zip(*gradients, strict=True):
        np.testing.assert_array_equal(x, y)


def test_instance_norm_warns_of_other_channels():
    with pytest.warns(UserWarning, match="does not match num_features"):
        torch.nn.InstanceNorm1d(5)(torch.ones(2, 4, 3))


def test_integers_stay_integers_between_bounds():
    made = functional.hardtanh(torch.arange(5), 0.5, 2.7)
    assert made.dtype is torch.int64
    assert made.tolist() == [0, 1, 2, 2, 2]


def test_one_class_for_one_example():
    x = torch.tensor([0.0, 1.0, 3.0])
    assert functional.nll_loss(x, torch.tensor([2])) == functional.nll_loss(x, torch.tensor(2))
