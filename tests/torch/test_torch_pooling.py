"""Poolings: against a naive loop, their derivatives, vmap, and PyTorch's results."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from agreement import agree, numbers
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch.nn import functional

SIZES = {1: (7,), 2: (5, 6), 3: (4, 5, 3)}

WAYS = [
    (2, {}),
    (3, {"stride": 2, "padding": 1}),
    (2, {"stride": 1, "ceil_mode": True}),
    (3, {"stride": 2, "ceil_mode": True}),
    (2, {"stride": 3}),
    (1, {"stride": 2}),
]
DILATED = [*WAYS, (2, {"dilation": 2, "stride": 1}), (2, {"dilation": 2, "padding": 1})]


def of_dims(library: Any, name: str, dims: int) -> Any:
    return getattr(library.nn.functional, f"{name}{dims}d")


def steps(dims: int, seed: int = 0) -> Any:
    """Numbers among which many are equal."""
    return np.random.default_rng(seed).integers(-3, 4, (2, 2, *SIZES[dims])).astype(float)


def apart(dims: int) -> Any:
    """Numbers that are all different, so that maxima have derivatives."""
    count = 4 * int(np.prod(SIZES[dims]))
    order = np.random.default_rng(1).permutation(count)
    return (order / 7 + 0.5).reshape(2, 2, *SIZES[dims])


def naive_maxima(x: Any, kernel: int, stride: int, padding: int, dilation: int) -> Any:
    """Maxima and their positions in images without ceil_mode, window by window."""
    lead, sizes = x.shape[:2], x.shape[2:]
    places = [(n + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1 for n in sizes]
    out, found = np.full((*lead, *places), -np.inf), np.zeros((*lead, *places), np.int64)
    for example in itertools.product(*map(range, lead)):
        for place in itertools.product(*map(range, places)):
            for offset in itertools.product(range(kernel), repeat=len(sizes)):
                at = [
                    p * stride - padding + o * dilation for p, o in zip(place, offset, strict=True)
                ]
                if all(0 <= i < n for i, n in zip(at, sizes, strict=True)):
                    value = x[(*example, *at)]
                    if value > out[example + place]:
                        out[example + place] = value
                        found[example + place] = np.ravel_multi_index(at, sizes)
    return out, found


@pytest.mark.parametrize("dims", [1, 2])
@pytest.mark.parametrize(("kernel", "options"), DILATED)
def test_maxima_and_where_they_are(dims: int, kernel: int, options: dict[str, Any]) -> None:
    options = {k: v for k, v in options.items() if k != "ceil_mode"}
    x = steps(dims)
    way = {"stride": kernel, "padding": 0, "dilation": 1, **options}
    out, found = of_dims(torch, "max_pool", dims)(
        torch.from_numpy(x), kernel, return_indices=True, **options
    )
    expected, positions = naive_maxima(x, kernel, **way)
    np.testing.assert_array_equal(out.numpy(), expected)
    np.testing.assert_array_equal(found.numpy(), positions)


@pytest.mark.part(3)
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(("kernel", "options"), DILATED[1:])
def test_derivatives_of_maxima(dims: int, kernel: int, options: dict[str, Any]) -> None:
    x = torch.from_numpy(apart(dims)[:1, :1].copy()).requires_grad_()
    call = of_dims(torch, "max_pool", dims)
    assert torch.autograd.gradcheck(lambda x: call(x, kernel, **options), x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda x: call(x, kernel, **options) ** 2, x)


@pytest.mark.part(3)
@pytest.mark.parametrize("name", ["adaptive_avg_pool", "adaptive_max_pool"])
@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_derivatives_of_adaptive_pools(name: str, dims: int, size: int) -> None:
    x = torch.from_numpy(apart(dims)[:1, :1].copy()).requires_grad_()
    call = of_dims(torch, name, dims)
    assert torch.autograd.gradcheck(lambda x: call(x, size), x, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(lambda x: call(x, size) ** 2, x)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_derivatives_of_means_and_norms(dims: int) -> None:
    x = torch.from_numpy(apart(dims)[:1, :1].copy()).requires_grad_()
    for kernel, options in WAYS[1:4]:
        call = of_dims(torch, "avg_pool", dims)
        assert torch.autograd.gradgradcheck(
            lambda x, call=call, k=kernel, o=options: call(x, k, **o) ** 2, x
        )
    call = of_dims(torch, "lp_pool", dims)
    assert torch.autograd.gradcheck(lambda x: call(x, 3, 2), x)


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_unpooling_puts_the_maxima_back(dims: int) -> None:
    x = torch.from_numpy(apart(dims)).requires_grad_()
    out, found = of_dims(torch, "max_pool", dims)(x, 2, return_indices=True)
    unpool = of_dims(torch, "max_unpool", dims)
    back = unpool(out, found, 2, output_size=SIZES[dims])
    assert back.shape == x.shape
    kept = back.detach().numpy()
    np.testing.assert_array_equal(kept, np.where(kept != 0, x.detach().numpy(), 0))
    assert np.count_nonzero(kept) == out.numel()
    small = out.detach()[:1, :1].requires_grad_()
    assert torch.autograd.gradgradcheck(
        lambda x: unpool(x, found[:1, :1], 2, output_size=SIZES[dims]) ** 2, small
    )


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_pools_under_vmap(dims: int) -> None:
    x = torch.from_numpy(apart(dims))
    for call in (
        lambda x: of_dims(torch, "max_pool", dims)(x, 2, return_indices=True),
        lambda x: of_dims(torch, "avg_pool", dims)(x, 2, 1),
        lambda x: of_dims(torch, "adaptive_max_pool", dims)(x, 2),
        lambda x: of_dims(torch, "adaptive_avg_pool", dims)(x, 2),
        torch.func.grad(lambda x: (of_dims(torch, "max_pool", dims)(x, 2, 1) ** 2).sum()),
        torch.func.grad(lambda x: (of_dims(torch, "adaptive_max_pool", dims)(x, 3) ** 2).sum()),
    ):
        mapped, plain = torch.vmap(call)(x), [call(example) for example in x]
        if isinstance(mapped, tuple):
            assert all(
                np.array_equal(part[i].numpy(), single.numpy())
                for i, one in enumerate(plain)
                for part, single in zip(mapped, one, strict=True)
            )
        else:
            np.testing.assert_allclose(mapped.numpy(), torch.stack(plain).numpy(), 1e-12)


def test_nan_is_a_maximum() -> None:
    x = torch.tensor([[1.0, float("nan"), 3.0, 4.0]], requires_grad=True)
    out = functional.max_pool1d(x, 2)
    assert np.isnan(out.detach().numpy()).tolist() == [[True, False]]
    out.sum().backward()
    assert x.grad.tolist() == [[0.0, 1.0, 0.0, 1.0]]


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.nn.FractionalMaxPool2d(2, output_size=3),
        lambda: functional.fractional_max_pool3d(torch.zeros(1, 2, 2, 2), 2, 1),
    ],
)
def test_fractional_pooling_is_refused(call: Any) -> None:
    with pytest.raises(NotImplementedError, match="drawn at random"):
        call()


LAYERS = [
    *("MaxPool1d(2, return_indices=True)", "MaxPool2d(2)", "MaxPool3d((1, 2, 2), ceil_mode=True)"),
    *("AvgPool1d(3, 2)", "AvgPool2d(3, 2)", "AvgPool3d(3, divisor_override=2)"),
    *("AdaptiveAvgPool2d((None, 3))", "AdaptiveMaxPool1d(3)", "AdaptiveAvgPool3d(2)"),
    *("LPPool1d(2, 3, 2, True)", "LPPool2d(2, 3)", "MaxUnpool1d(3, 2, 1)", "MaxUnpool2d(2)"),
]


@pytest.mark.parametrize("text", LAYERS)
def test_layers_as_pytorchs(text: str) -> None:
    def layer(t: Any) -> Any:
        return eval(f"nn.{text}", {"nn": t.nn})

    assert repr(layer(torch)) == of_pytorch(lambda t: repr(layer(t)))
    if "Unpool" not in text:
        dims = int(text.partition("d(")[0][-1])
        x = numbers(2, 3, *SIZES[dims])
        agree(lambda t, x: layer(t)(x), abs(x))


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(("kernel", "options"), DILATED)
def test_max_pools_as_pytorch(dims: int, kernel: Any, options: dict[str, Any]) -> None:
    x = steps(dims)
    for images in (x, x[0], x[:, :, :2].copy()):
        for indices in (False, True):
            agree(
                lambda t, x, i=indices: of_dims(t, "max_pool", dims)(
                    x, kernel, return_indices=i, **options
                ),
                images,
                order=2,
            )


@pytest.mark.parametrize("dims", [1, 3])
@pytest.mark.parametrize(("kernel", "options"), WAYS)
def test_averages_and_norms_as_pytorch(dims: int, kernel: Any, options: dict[str, Any]) -> None:
    for x in (numbers(2, 2, *SIZES[dims]), numbers(2, *SIZES[dims])):
        for counted in (False, True):
            agree(
                lambda t, x, c=counted: of_dims(t, "avg_pool", dims)(
                    x, kernel, count_include_pad=c, **options
                ),
                x,
                order=2,
            )
        if "padding" not in options:
            agree(lambda t, x: of_dims(t, "lp_pool", dims)(x, 2, kernel, **options), abs(x) + 1)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
def test_adaptive_pools_as_pytorch(dims: int, size: int) -> None:
    x = steps(dims)
    agree(lambda t, x: of_dims(t, "adaptive_avg_pool", dims)(x, size), x, order=2)
    agree(lambda t, x: of_dims(t, "adaptive_max_pool", dims)(x, size, True), x, order=2)
