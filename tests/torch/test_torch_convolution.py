"""Convolutions: against a naive loop, their derivatives, vmap, modules, and PyTorch's results."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from agreement import agree, numbers
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch._rules import im2col
from tapegrad.torch.func import grad, jvp
from tapegrad.torch.nn import functional

OPTIONS = ("stride", "padding", "dilation")


def drawn(seed: int) -> tuple[Any, Any, Any, dict[str, Any], int]:
    """The arrays of a convolution that has at least one place, and its options."""
    draw = np.random.default_rng(seed)
    dims, groups = int(draw.integers(1, 4)), int(draw.integers(1, 3))
    inputs, outputs = groups * int(draw.integers(1, 4)), groups * int(draw.integers(1, 4))
    options = {
        name: tuple(map(int, draw.integers(low, high, dims)))
        for name, low, high in zip(OPTIONS, (1, 0, 1), (4, 3, 3), strict=True)
    }
    widths = draw.integers(1, 4, dims)
    least = np.maximum(
        1, np.array(options["dilation"]) * (widths - 1) + 1 - 2 * np.array(options["padding"])
    )
    sizes = least + draw.integers(0, 5 - dims, dims)
    x = draw.normal(size=(int(draw.integers(1, 4)), inputs, *sizes))
    weight = draw.normal(size=(outputs, inputs // groups, *widths))
    return x, weight, draw.normal(size=outputs), {**options, "groups": groups}, dims


def naive(
    x: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Any:
    """A convolution, element by element."""
    x = np.pad(x, [(0, 0), (0, 0), *((p, p) for p in padding)])
    widths = weight.shape[2:]
    places = [
        (size - d * (width - 1) - 1) // step + 1
        for size, width, step, d in zip(x.shape[2:], widths, stride, dilation, strict=True)
    ]
    out = np.zeros((len(x), len(weight), *places), x.dtype)
    share, each = weight.shape[1], len(weight) // groups
    for channel in range(len(weight)):
        first = channel // each * share
        for place in itertools.product(*map(range, places)):
            for offset in itertools.product(*map(range, widths)):
                at = tuple(
                    p * s + o * d
                    for p, s, o, d in zip(place, stride, offset, dilation, strict=True)
                )
                terms = x[:, first : first + share][(..., *at)] * weight[channel][(..., *offset)]
                out[(slice(None), channel, *place)] += terms.sum(1)
    return out + bias.reshape(-1, *(1,) * len(widths))


def of_dims(library: Any, name: str, dims: int) -> Any:
    return getattr(library.nn.functional, f"{name}{dims}d")


@pytest.mark.parametrize("room", [1, 3000, im2col.ROOM])
def test_a_convolution_is_a_sum_over_windows_however_it_is_cut_into_parts(
    monkeypatch: Any, room: int
) -> None:
    monkeypatch.setattr(im2col, "ROOM", room)
    for seed in range(12):
        x, weight, bias, options, dims = drawn(seed)
        made = of_dims(torch, "conv", dims)(*map(torch.from_numpy, (x, weight, bias)), **options)
        np.testing.assert_allclose(made.numpy(), naive(x, weight, bias, **options), 1e-10, 1e-10)


@pytest.mark.parametrize("room", [1, im2col.ROOM])
def test_the_transposed_convolution_is_the_transpose(monkeypatch: Any, room: int) -> None:
    monkeypatch.setattr(im2col, "ROOM", room)
    for seed in range(40):
        x, weight, _, options, dims = drawn(seed)
        made = of_dims(torch, "conv", dims)(
            torch.from_numpy(x), torch.from_numpy(weight), **options
        )
        g = numbers(*made.shape, seed=seed)
        given = zip(x.shape[2:], made.shape[2:], *(options[n] for n in OPTIONS), strict=False)
        more = [
            size - ((place - 1) * step - 2 * pad + apart * (width - 1) + 1)
            for (size, place, step, pad, apart), width in zip(given, weight.shape[2:], strict=True)
        ]
        back = of_dims(torch, "conv_transpose", dims)(
            torch.from_numpy(g), torch.from_numpy(weight), output_padding=tuple(more), **options
        )
        assert back.shape == x.shape
        np.testing.assert_allclose(
            np.vdot(made.numpy(), g), np.vdot(x, back.numpy()), rtol=1e-10, atol=1e-9
        )


CASES = [
    ((2, 2, 5), (4, 1, 2), {"stride": 2, "groups": 2, "padding": 1}),
    ((2, 2, 4, 5), (2, 2, 2, 3), {"padding": "same", "dilation": (2, 1)}),
    ((1, 2, 4, 5), (2, 1, 3, 2), {"stride": (2, 1), "padding": (1, 0), "groups": 2}),
    ((1, 1, 3, 3, 2), (2, 1, 2, 2, 1), {"stride": (1, 2, 1), "padding": 1}),
    ((2, 3, 3, 3), (2, 3, 1, 1), {}),
    ((2, 4, 4), (2, 2, 2, 2), {"stride": 2}),
]


@pytest.mark.part(3)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize(("x", "weight", "options"), CASES)
def test_derivatives_of_convolutions(x: Any, weight: Any, options: Any, dtype: Any) -> None:
    dims = len(weight) - 2
    call = of_dims(torch, "conv", dims)
    inputs = [
        torch.from_numpy(numbers(*shape, seed=seed, dtype=dtype)).requires_grad_()
        for seed, shape in enumerate((x, weight, (weight[0],)))
    ]
    assert torch.autograd.gradcheck(
        lambda *xs: call(*xs, **options), inputs, check_forward_ad=dtype is np.float64
    )
    if dtype is np.float64:
        assert torch.autograd.gradgradcheck(lambda *xs: call(*xs, **options), inputs)


@pytest.mark.part(2)
@pytest.mark.parametrize(
    ("x", "weight", "options"),
    [
        ((2, 4, 3), (4, 1, 2), {"stride": 2, "groups": 2, "padding": 1, "output_padding": 1}),
        ((1, 2, 3, 2), (2, 2, 2, 3), {"stride": (2, 3), "dilation": 2, "output_padding": (1, 2)}),
        ((2, 2, 3), (2, 2, 2, 2), {}),
        ((1, 1, 2, 2, 2), (1, 2, 2, 1, 2), {"stride": 2}),
    ],
)
def test_derivatives_of_transposed_convolutions(x: Any, weight: Any, options: Any) -> None:
    dims = len(weight) - 2
    call = of_dims(torch, "conv_transpose", dims)
    channels = weight[1] * options.get("groups", 1)
    inputs = [
        torch.from_numpy(numbers(*shape, seed=seed)).requires_grad_()
        for seed, shape in enumerate((x, weight, (channels,)))
    ]
    assert torch.autograd.gradcheck(
        lambda *xs: call(*xs, **options), inputs, check_forward_ad=True
    )
    assert torch.autograd.gradgradcheck(lambda *xs: call(*xs, **options), inputs)


@pytest.mark.parametrize("name", ["conv2d", "conv_transpose2d"])
@pytest.mark.parametrize("shared", range(7))
def test_under_vmap(name: str, shared: int) -> None:
    """Values, gradients and tangents of many examples, some arguments shared by all of them."""
    call = getattr(functional, name)
    shapes = ((1, 4, 3, 4), (4, 2, 2, 2), (4,))
    in_dims = tuple(None if shared >> place & 1 else 0 for place in range(3))
    inputs = [
        torch.from_numpy(numbers(*(shape if dim is None else (3, *shape)), seed=seed))
        for seed, (shape, dim) in enumerate(zip(shapes, in_dims, strict=True))
    ]

    def of(x: Any, weight: Any, bias: Any) -> Any:
        return call(x, weight, bias, stride=(2, 1), padding=1, groups=2)

    def gradients(*xs: Any) -> Any:
        return grad(lambda *ys: (of(*ys) ** 2).sum(), argnums=(0, 1, 2))(*xs)

    def tangent(*xs: Any) -> Any:
        return (jvp(of, xs, xs)[1],)

    for function in (lambda *xs: (of(*xs),), gradients, tangent):
        mapped = torch.vmap(function, in_dims=in_dims)(*inputs)
        for i in range(3):
            one = function(
                *(x if dim is None else x[i] for x, dim in zip(inputs, in_dims, strict=True))
            )
            for whole, single in zip(mapped, one, strict=True):
                np.testing.assert_allclose(whole[i].numpy(), single.numpy(), 1e-10, 1e-10)


def test_fold_adds_up_what_unfold_took_apart() -> None:
    x = torch.from_numpy(numbers(2, 3, 5, 6)).requires_grad_()
    way = {"kernel_size": (2, 3), "dilation": (2, 1), "padding": (1, 0), "stride": (1, 2)}
    columns = functional.unfold(x, **way)
    assert columns.shape == (2, 18, 10)
    counts = functional.fold(functional.unfold(torch.ones(1, 1, 5, 6), **way), (5, 6), **way)
    made = functional.fold(columns, (5, 6), **way)
    np.testing.assert_allclose(made.detach().numpy(), (x * counts).detach().numpy(), 1e-6)
    assert torch.autograd.gradgradcheck(lambda x: functional.unfold(x, **way) ** 2, x)
    mapped = torch.vmap(lambda x: functional.unfold(x, **way))(x.detach())
    np.testing.assert_array_equal(mapped.numpy(), columns.detach().numpy())


def test_memory_is_bounded_by_parts() -> None:
    import tracemalloc

    x, weight = torch.zeros(1, 16, 256, 256), torch.zeros(1, 16, 5, 5)
    tracemalloc.start()
    functional.conv2d(x, weight)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20  # all windows at once are 100 MB


def test_half_precision_is_summed_in_single() -> None:
    x, weight = torch.ones(1, 1, 64, 64).half(), torch.ones(1, 1, 64, 64).half()
    made = functional.conv2d(x, weight)
    assert made.dtype == torch.float16
    assert made.item() == 4096.0


# --- Modules ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_modules_have_pytorchs_parameters(dims: int) -> None:
    torch.manual_seed(0)
    layer = getattr(torch.nn, f"Conv{dims}d")(4, 6, 3, groups=2)
    assert {n: tuple(p.shape) for n, p in layer.state_dict().items()} == {
        "weight": (6, 2, *(3,) * dims),
        "bias": (6,),
    }
    bound = 1 / np.sqrt(2 * 3**dims)
    for parameter in layer.parameters():
        assert abs(parameter.detach().numpy()).max() <= bound
    turned = getattr(torch.nn, f"ConvTranspose{dims}d")(4, 6, 3, stride=2, bias=False)
    assert tuple(turned.weight.shape) == (4, 6, *(3,) * dims)
    assert turned.bias is None
    x = torch.zeros(2, 4, *(3,) * dims)
    assert turned(x).shape[2:] == (7,) * dims
    assert turned(x, output_size=(8,) * dims).shape[2:] == (8,) * dims
    with pytest.raises(ValueError, match="requested an output size of"):
        turned(x, output_size=(9,) * dims)


LAYERS = [
    "Conv2d(4, 4, 3)",
    "Conv2d(4, 4, (3, 2), 2, 1, 2, 2, False, 'circular')",
    "Conv1d(2, 3, 2, padding='same')",
    "ConvTranspose3d(2, 4, 3, 2, 1, 1)",
    "Fold((4, 5), 2)",
    "Unfold(3, 2, 1, 2)",
]


def test_padding_modes_pad_what_the_convolution_sees() -> None:
    x = torch.from_numpy(numbers(2, 3, 5, 6))
    for mode in ("reflect", "replicate", "circular"):
        layer = torch.nn.Conv2d(3, 2, 3, padding=(1, 2), padding_mode=mode).double()
        padded = functional.pad(x, (2, 2, 1, 1), mode)
        expected = functional.conv2d(padded, layer.weight, layer.bias)
        np.testing.assert_allclose(layer(x).detach().numpy(), expected.detach().numpy(), 1e-12)


ERRORS = [
    (
        (1, 3, 5, 5),
        (8, 4, 3, 3),
        {},
        r"input\[1, 3, 5, 5\] to have 4 channels, but got 3",
    ),
    ((5, 5), (8, 4, 3, 3), {}, r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv2d"),
    ((1, 4, 2, 2), (8, 4, 3, 3), {}, r"padded input size per channel: \(2 x 2\)"),
    ((1, 4, 5, 5), (8, 4, 3, 3), {"stride": (1, 1, 1)}, "expected stride to be a single integer"),
    ((1, 4, 5, 5), (8, 4, 3, 3), {"padding": -1}, "negative padding is not supported"),
    ((1, 4, 5, 5), (8, 4, 3, 3), {"stride": 0}, "non-positive stride is not supported"),
    ((1, 4, 5, 5), (8, 4, 3, 3), {"dilation": 0}, "dilation should be greater than zero"),
    ((1, 4, 5, 5), (8, 4, 3, 3), {"groups": 0}, "non-positive groups is not supported"),
    ((1, 4, 5, 5), (7, 2, 3, 3), {"groups": 2}, "expected weight to be divisible by 2"),
    ((1, 4, 5, 5), (8, 4, 3, 3), {"padding": "x"}, "Invalid padding string: 'x'"),
    ((1, 4, 5, 5), (8, 4, 3, 3), {"padding": "same", "stride": 2}, "for strided convolutions"),
]


@pytest.mark.parametrize(("x", "weight", "options", "text"), ERRORS)
def test_errors(x: Any, weight: Any, options: Any, text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        functional.conv2d(torch.zeros(*x), torch.zeros(*weight), **options)


# --- PyTorch ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(40))
def test_as_pytorch(seed: int) -> None:
    x, weight, bias, options, dims = drawn(seed)
    x = x[0] if seed % 4 == 3 else x
    arrays = [x, weight, bias][: 2 + seed % 2]
    order = 2 if seed % 5 == 0 else 1
    agree(lambda t, *xs: of_dims(t, "conv", dims)(*xs, **options), *arrays, order=order)
    weight = weight.reshape(x.shape[-dims - 1], -1, *weight.shape[2:])
    for more in (0, 1):
        agree(
            lambda t, *xs, more=more: of_dims(t, "conv_transpose", dims)(
                *xs, output_padding=more, **options
            ),
            *(x, weight),
            order=order,
        )


@pytest.mark.parametrize(("x", "weight", "options", "_text"), ERRORS)
def test_errors_as_pytorch(x: Any, weight: Any, options: Any, _text: str) -> None:
    def said(t: Any) -> str:
        with pytest.raises(RuntimeError) as failed:
            t.nn.functional.conv2d(t.zeros(*x), t.zeros(*weight), **options)
        return str(failed.value).splitlines()[0]

    assert said(torch) == of_pytorch(said)


@pytest.mark.parametrize("text", LAYERS)
def test_layers_print_as_pytorchs(text: str) -> None:
    def shown(t: Any) -> Any:
        layer = eval(f"nn.{text}", {"nn": t.nn})
        return repr(layer), [*layer.state_dict()]

    assert shown(torch) == of_pytorch(shown)


@pytest.mark.parametrize("kernel", [2, (3, 2)])
@pytest.mark.parametrize("options", [{}, {"padding": 1, "stride": 2}, {"dilation": (1, 2)}])
def test_unfold_as_pytorch(kernel: Any, options: Any) -> None:
    agree(lambda t, x: t.nn.functional.unfold(x, kernel, **options), numbers(2, 3, 5, 6), order=2)
    columns = functional.unfold(torch.zeros(2, 3, 5, 6), kernel, **options)
    agree(
        lambda t, x: t.nn.functional.fold(x, (5, 6), kernel, **options),
        numbers(*columns.shape),
        order=2,
    )


def test_fold_says_that_there_is_no_block():
    with pytest.raises(RuntimeError, match=r"of sliding blocks as \(-4, -3\), which is too small"):
        functional.fold(torch.ones(1, 12, 12), (4, 5), (2, 2), dilation=8)


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("settings", [{}, {"stride": 2, "padding": 1, "groups": 2}])
def test_gradients_as_functions_are_those_of_the_convolution(dims, settings):
    convolve = getattr(torch.nn.functional, f"conv{dims}d")
    groups = settings.get("groups", 1)
    x = torch.randn(2, 4, *(5,) * dims, dtype=torch.float64, requires_grad=True)
    w = torch.randn(2, 4 // groups, *(3,) * dims, dtype=torch.float64, requires_grad=True)
    y = convolve(x, w, **settings)
    seed = torch.randn(*y.shape, dtype=torch.float64, requires_grad=True)
    right = torch.autograd.grad(y, (x, w), seed, create_graph=True)
    of_input, of_weight = (getattr(torch.nn.grad, f"conv{dims}d_{n}") for n in ("input", "weight"))
    made = of_input(x.shape, w, seed, **settings), of_weight(x, w.shape, seed, **settings)
    for ours, theirs, factor in zip(made, right, (w, x), strict=True):
        assert torch.allclose(ours, theirs)
        slopes = torch.autograd.grad((ours**2).sum(), (factor, seed))
        others = torch.autograd.grad((theirs**2).sum(), (factor, seed), retain_graph=True)
        assert all(map(torch.allclose, slopes, others))
    with torch.no_grad():
        assert not of_input(x.shape, w, seed, **settings).requires_grad


def test_gradients_as_functions_refuse_what_does_not_fit():
    x, w, g = torch.ones(2, 3, 8, 8), torch.ones(4, 3, 3, 3), torch.ones(2, 4, 6, 6)
    calls = [
        lambda g: torch.nn.grad.conv2d_input(x.shape, w, g),
        lambda g: torch.nn.grad.conv2d_weight(x, w.shape, g),
    ]
    for call in calls:
        assert call(g).grad_fn is None
        with pytest.raises(
            RuntimeError, match=r"a shape of torch.Size\(\[2, 4, 5, 6\]\) and output"
        ):
            call(g[:, :, 1:])
        with pytest.raises(RuntimeError, match="expected scalar type Double but found Float"):
            call(g.double())
