"""Normalization: as PyTorch's, and by itself."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from agreement import agree, numbers
from same_modules import module_agrees

import tapegrad.torch as torch
from tapegrad.torch import func, nn
from tapegrad.torch.nn import functional

X = numbers(4, 6, 5)
WEIGHT, BIAS = numbers(6, seed=1), numbers(6, seed=2)
MEAN, VARIANCE = numbers(6, seed=3), np.exp(numbers(6, seed=4))

NORMS: dict[str, Any] = {
    "batch": lambda f, x, w, b: f.batch_norm(x, None, None, w, b, True),
    "batch plain": lambda f, x, w, b: f.batch_norm(x, None, None, training=True, eps=0.1),
    "batch weight": lambda f, x, w, b: f.batch_norm(x, None, None, w, None, True),
    "batch matrix": lambda f, x, w, b: f.batch_norm(x[:, :, 0], None, None, w, b, True),
    "batch images": lambda f, x, w, b: f.batch_norm(x[:, :, None], None, None, w, b, True),
    "batch given": lambda f, x, w, b: f.batch_norm(
        x, w.detach() * 0.1, w.detach().exp(), w, b, False
    ),
    "batch given plain": lambda f, x, w, b: f.batch_norm(x, w.detach(), b.detach().exp()),
    "layer": lambda f, x, w, b: f.layer_norm(x, (5,)),
    "layer two": lambda f, x, w, b: f.layer_norm(x, (6, 5), x[0].detach(), x[1].detach()),
    "layer affine": lambda f, x, w, b: f.layer_norm(x.transpose(1, 2), (6,), w, b, 0.2),
    "layer weight": lambda f, x, w, b: f.layer_norm(x.transpose(1, 2), [6], w),
    "group": lambda f, x, w, b: f.group_norm(x, 3, w, b),
    "group plain": lambda f, x, w, b: f.group_norm(x, 2),
    "group one": lambda f, x, w, b: f.group_norm(x, 1, w, b, 0.1),
    "group each": lambda f, x, w, b: f.group_norm(x, 6, w),
    "group matrix": lambda f, x, w, b: f.group_norm(x[:, :, 0], 2, w, b),
    "instance": lambda f, x, w, b: f.instance_norm(x),
    "instance affine": lambda f, x, w, b: f.instance_norm(x, None, None, w, b),
    "instance given": lambda f, x, w, b: f.instance_norm(
        x, w.detach(), b.detach().exp(), w, b, False
    ),
    "rms": lambda f, x, w, b: f.rms_norm(x, (5,)),
    "rms weight": lambda f, x, w, b: f.rms_norm(x.transpose(1, 2), (6,), w, 0.1),
    "rms two": lambda f, x, w, b: f.rms_norm(x, (6, 5)),
    "response": lambda f, x, w, b: f.local_response_norm(x, 3, 0.4, 0.6, 1.5),
    "response even": lambda f, x, w, b: f.local_response_norm(x, 2, 0.4),
}
DIFFERENTIATED = [
    *("batch", "batch plain", "batch images", "batch given", "layer", "layer affine", "group"),
    *("group matrix", "instance affine", "instance given", "rms weight", "rms two", "response"),
]


@pytest.mark.parametrize("word", NORMS)
def test_norms(word: str) -> None:
    named = not word.startswith(("instance", "rms weight"))
    agree(
        lambda t, x, w, b: NORMS[word](t.nn.functional, x, w, b),
        *(X, WEIGHT, BIAS),
        order=2,
        name=named,
        tolerance=1e-9,
    )
    single = [x.astype(np.float32) for x in (X, WEIGHT, BIAS)]
    call = NORMS[word]
    x, w, b = (torch.from_numpy(part) for part in single)
    assert call(functional, x, w, b).dtype is torch.float32


LAYERS: dict[str, tuple[Any, ...]] = {
    "BatchNorm1d": ((6,), X),
    "BatchNorm2d": ((3,), numbers(4, 3, 2, 2)),
    "BatchNorm3d": ((3,), numbers(2, 3, 2, 2, 2)),
    "InstanceNorm1d": ((6,), X),
    "InstanceNorm2d": ((3,), numbers(4, 3, 2, 2)),
    "InstanceNorm3d": ((3,), numbers(2, 3, 2, 2, 2)),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("tracked", [True, False])
@pytest.mark.parametrize("momentum", [0.1, None])
def test_running_statistics(name: str, affine: bool, tracked: bool, momentum: Any) -> None:
    sizes, x = LAYERS[name]
    if momentum is None and name.startswith("Instance"):
        momentum = 0.7
    options = {"affine": affine, "track_running_stats": tracked, "momentum": momentum}
    module_agrees(name, *sizes, inputs=[x], steps=3, evaluate=True, **options)


def test_other_layers() -> None:
    module_agrees("InstanceNorm1d", 6, inputs=[X[0]], affine=True)
    module_agrees("BatchNorm1d", 6, inputs=[X[:, :, 0]], bias=False)
    module_agrees("LayerNorm", (6, 5), inputs=[X])
    module_agrees("LayerNorm", 5, inputs=[X], bias=False)
    module_agrees("LayerNorm", [5], inputs=[X], elementwise_affine=False)
    module_agrees("GroupNorm", 3, 6, inputs=[X])
    module_agrees("GroupNorm", 3, 6, inputs=[X], affine=False, eps=0.1)
    module_agrees("RMSNorm", 5, inputs=[X])
    module_agrees("RMSNorm", (6, 5), inputs=[X], eps=0.1, elementwise_affine=False)
    module_agrees("LocalResponseNorm", 3, inputs=[X], alpha=0.3)


# --- Without PyTorch ----------------------------------------------------------------------------


@pytest.mark.part(6)
@pytest.mark.parametrize("word", DIFFERENTIATED)
def test_norms_against_differences(word: str) -> None:
    x, w, b = (torch.from_numpy(part.copy()).requires_grad_() for part in (X[:2], WEIGHT, BIAS))
    if "given" in word:  # which also detaches the parameters that it normalizes with
        call = lambda x: NORMS[word](functional, x, w, b)  # noqa: E731
        inputs: Any = (x,)
    else:
        call = lambda x, w, b: NORMS[word](functional, x, w, b) + 0 * (w[0] + b[0])  # noqa: E731
        inputs = (x, w, b)
    assert torch.autograd.gradcheck(call, inputs, check_forward_ad=True, fast_mode=True)
    assert torch.autograd.gradgradcheck(call, inputs, fast_mode=True)


def test_a_norm_is_one_node() -> None:
    x = torch.from_numpy(X.copy()).requires_grad_()
    out = functional.layer_norm(x, (5,), torch.ones(5).double())
    assert type(out.grad_fn).__name__ == "NativeLayerNormBackward0"
    assert type(out.grad_fn.next_functions[0][0]).__name__ == "AccumulateGrad"


def test_normalized_values_have_mean_0_and_variance_1() -> None:
    x = torch.from_numpy(5 * X + 3)
    for out, dims in (
        (functional.batch_norm(x, None, None, training=True, eps=0), (0, 2)),
        (functional.layer_norm(x, (5,), eps=0), (2,)),
        (functional.instance_norm(x, eps=0), (2,)),
        (functional.layer_norm(x, (6, 5), eps=0), (1, 2)),
    ):
        np.testing.assert_allclose(out.numpy().mean(dims), 0, atol=1e-12)
        np.testing.assert_allclose(out.numpy().var(dims), 1)
    rms = functional.rms_norm(x, (5,), eps=0.0).numpy()
    np.testing.assert_allclose(np.square(rms).mean(-1), 1)


def test_the_running_mean_over_all_batches() -> None:
    module = nn.BatchNorm1d(6, momentum=None).double()
    parts = [torch.from_numpy(numbers(4, 6, seed=seed)) for seed in range(3)]
    for part in parts:
        module(part)
    mean = np.mean([part.numpy().mean(0) for part in parts], 0)
    np.testing.assert_allclose(module.running_mean.numpy(), mean)
    variance = np.mean([part.numpy().var(0, ddof=1) for part in parts], 0)
    np.testing.assert_allclose(module.running_var.numpy(), variance)
    assert module.num_batches_tracked.item() == 3
    assert module.num_batches_tracked.dtype is torch.int64
    before = module.running_mean.clone()
    module.eval()(parts[0])
    assert module.running_mean.equal(before)
    module.reset_running_stats()
    assert module.num_batches_tracked.item() == 0
    assert list(module.state_dict()) == [
        "weight",
        "bias",
        "running_mean",
        "running_var",
        "num_batches_tracked",
    ]


def test_norms_of_half_precision_are_computed_in_single() -> None:
    x = torch.from_numpy((300 * X).astype(np.float16)).requires_grad_()
    out = functional.layer_norm(x, (5,))
    assert out.dtype is torch.float16
    out.float().square().sum().backward()
    assert x.grad.isfinite().all()
    np.testing.assert_allclose(out.detach().float().numpy().std(-1), 1, atol=2e-3)


def test_norms_map_over_examples() -> None:
    x = torch.from_numpy(numbers(3, 4, 6, 5))
    w, b = (torch.from_numpy(part.copy()) for part in (WEIGHT, BIAS))
    for word in ("batch", "group", "instance affine", "layer affine", "layer", "rms weight"):
        call = lambda x, w=w, b=b, word=word: NORMS[word](functional, x, w, b)  # noqa: E731
        each = torch.stack([call(part) for part in x])
        np.testing.assert_allclose(func.vmap(call)(x).numpy(), each.numpy(), 1e-10, 1e-10)
        slopes = func.vmap(func.grad(lambda x, call=call: call(x).sin().sum()))(x)
        alone = torch.stack([func.grad(lambda x, call=call: call(x).sin().sum())(p) for p in x])
        np.testing.assert_allclose(slopes.numpy(), alone.numpy(), 1e-9, 1e-9)
    shared = func.vmap(lambda w: functional.layer_norm(x[0].mT, (6,), w))(torch.stack([w, b]))
    np.testing.assert_allclose(
        shared[1].numpy(), functional.layer_norm(x[0].mT, (6,), b).numpy(), 1e-10
    )
    with pytest.raises(RuntimeError, match="Batch norm got a batched tensor as input"):
        func.vmap(nn.BatchNorm1d(6).double())(x)


def test_running_statistics_move_under_a_transform() -> None:
    module = nn.BatchNorm1d(6).double()
    x = torch.from_numpy(X.copy())
    func.grad(lambda x: module(x).sin().sum())(x)
    expected = 0.1 * X.mean((0, 2))
    np.testing.assert_allclose(module.running_mean.numpy(), expected)


def test_an_empty_batch_has_an_empty_norm() -> None:
    x = torch.empty(0, 6, 5, requires_grad=True)
    functional.layer_norm(x, (5,)).sum().backward()
    assert x.grad is not None
    assert functional.group_norm(x, 3).shape == (0, 6, 5)


ONES = torch.ones(2, 4, 5)
WRONG: dict[str, tuple[Any, Any, str]] = {
    "rank": (lambda: nn.BatchNorm2d(4)(ONES), ValueError, r"expected 4D input \(got 3D input\)"),
    "ranks": (lambda: nn.BatchNorm1d(4)(ONES[0, 0]), ValueError, "expected 2D or 3D input"),
    "one value": (
        lambda: nn.BatchNorm1d(4)(torch.ones(1, 4)),
        ValueError,
        r"more than 1 value per channel when training, got input size torch.Size\(\[1, 4\]\)",
    ),
    "channels": (
        lambda: nn.BatchNorm1d(4)(torch.ones(3, 5)),
        RuntimeError,
        "running_mean should contain 5 elements not 4",
    ),
    "evaluation": (
        lambda: functional.batch_norm(ONES, None, None),
        RuntimeError,
        "running_mean must be defined in evaluation mode",
    ),
    "layer": (
        lambda: functional.layer_norm(ONES, (4,)),
        RuntimeError,
        r"Given normalized_shape=\[4\], expected input with shape \[\*, 4\], but got input of",
    ),
    "weight": (
        lambda: functional.layer_norm(ONES, (5,), torch.ones(4)),
        RuntimeError,
        "Expected weight to be of same shape as normalized_shape, but got weight of shape",
    ),
    "no shape": (lambda: functional.layer_norm(ONES, ()), RuntimeError, "at least 1-dimensional"),
    "groups": (
        lambda: functional.group_norm(ONES, 3),
        RuntimeError,
        r"divisible by num_groups, but got input of shape \[2, 4, 5\] and num_groups=3",
    ),
    "module": (lambda: nn.GroupNorm(3, 4), ValueError, r"num_channels \(4\) must be divisible"),
    "spatial": (
        lambda: functional.instance_norm(torch.ones(2, 3, 1)),
        ValueError,
        "more than 1 spatial element when training",
    ),
    "features": (
        lambda: nn.InstanceNorm1d(3, affine=True)(ONES),
        ValueError,
        r"expected input's size at dim=1 to match num_features \(3\), but got: 4",
    ),
    "response": (
        lambda: functional.local_response_norm(ONES[0], 2),
        ValueError,
        "Expected 3D or higher dimensionality",
    ),
}


@pytest.mark.parametrize("word", WRONG)
def test_errors_of_norms(word: str) -> None:
    call, error, words = WRONG[word]
    with pytest.raises(error, match=words):
        call()


def test_the_bessel_factor_of_one_element_is_nan() -> None:
    from tapegrad.torch.nn.normalization.functions import _bessel

    assert math.isnan(_bessel(1))
