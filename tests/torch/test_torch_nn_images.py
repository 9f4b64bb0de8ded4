"""Images padded, shuffled, resized and read at a grid: as PyTorch's, and by identities."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from agreement import agree, numbers
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch import nn
from tapegrad.torch.nn import functional

SPATIAL = {3: (5,), 4: (4, 5), 5: (3, 4, 5)}


def on(t):
    return t.nn.functional


# --- Padding ------------------------------------------------------------------------------------

PADS = [
    *[("reflect", 3, pad) for pad in ((1, 2), (-1, 2), (3, -2), (0, 0), (5, 0), (1,), (-3, -3))],
    *[("replicate", 3, pad) for pad in ((1, 2), (-1, 7), (0, 0), (-3, -2), (-4, -3))],
    *[("circular", 3, pad) for pad in ((1, 2), (-1, 2), (5, 5), (6, 0), (-2, 3), (-4, -3))],
    *[("constant", 3, pad) for pad in ((1, 2), (-1, 2), (1, 1, 2, 0), (-3, -3), (1, 2, 3))],
    *[(mode, 4, (1, 2, 3, 0)) for mode in ("reflect", "replicate", "circular", "constant")],
    *[(mode, 4, (1, -2, -1, 3)) for mode in ("reflect", "replicate", "circular", "constant")],
    *[(mode, 5, (1, 2, 3, 0, 2, 1)) for mode in ("reflect", "replicate", "circular", "constant")],
    *[(mode, 5, (1, 2)) for mode in ("reflect", "replicate", "circular", "constant")],
    ("reflect", 4, (1, 1, 1, 4)),
    ("wavy", 3, (1, 1)),
]


@pytest.mark.parametrize("case", PADS, ids=str)
def test_padding_agrees_with_pytorch(case):
    mode, ndim, pad = case
    x = numbers(2, 3, *SPATIAL[ndim])
    agree(lambda t, x: on(t).pad(x, pad, mode), x, order=2)
    agree(lambda t, x: on(t).pad(x * x, pad, mode), x, order=2)
    assert _text(torch, pad, mode, x) == of_pytorch(lambda t: _text(t, pad, mode, x))


def _text(t, pad, mode, x):
    try:
        on(t).pad(t.tensor(x, requires_grad=True), pad, mode)
    except Exception as error:  # noqa: BLE001 - its text is compared
        return type(error).__name__, str(error)


@pytest.mark.parametrize("kind", ["Circular", "Constant", "Reflection", "Replication", "Zero"])
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_padding_modules_pad_every_spatial_dimension(kind, spatial):
    x = numbers(1, 1, *(3, 3, 3)[:spatial])
    rest = (1.5,) if kind == "Constant" else ()
    widths = [(0, 0)] * 2 + [(2, 1)] * spatial
    word = {"Circular": "wrap", "Reflection": "reflect", "Replication": "edge"}.get(kind)
    expected = np.pad(x, widths, word) if word else np.pad(x, widths, constant_values=rest or 0)
    module = getattr(nn, f"{kind}Pad{spatial}d")((2, 1) * spatial, *rest)
    given = torch.tensor(x, requires_grad=True)
    np.testing.assert_array_equal(module(given).detach(), expected)
    assert torch.autograd.gradcheck(module, [given])


# --- Shuffles -----------------------------------------------------------------------------------

SHUFFLES = [
    (name, shape, factor)
    for name, shapes, factors in (
        ("pixel_shuffle", ((2, 8, 3, 2), (9, 2, 2), (4, 2)), (2, 3, 1, 0, -1)),
        ("pixel_unshuffle", ((2, 1, 6, 4), (2, 6, 6), (3, 3), (1, 4, 3), (1, 3, 4)), (2, 3, 0)),
        ("channel_shuffle", ((2, 6, 3), (1, 4, 2, 2), (0, 4, 2), (3, 3)), (2, 3, 0)),
    )
    for shape, factor in itertools.product(shapes, factors)
]


@pytest.mark.parametrize("case", SHUFFLES, ids=str)
def test_shuffles_agree_with_pytorch(case):
    name, shape, factor = case
    x = numbers(*shape)
    agree(lambda t, x: getattr(on(t), name)(x, factor), x)

    def said(t):
        try:
            getattr(t, name)(t.tensor(x), factor)
        except RuntimeError as error:
            return str(error)
        return ""

    assert said(torch) == of_pytorch(said)


def test_shuffles_are_undone_by_their_inverses():
    x = torch.tensor(numbers(2, 8, 3, 2), requires_grad=True)
    up = nn.PixelShuffle(2)(x)
    assert up.shape == (2, 2, 6, 4)
    assert up[1, 1, 3, 2] == x[1, 6, 1, 1]
    assert nn.PixelUnshuffle(2)(up).equal(x)
    assert nn.ChannelShuffle(4)(nn.ChannelShuffle(2)(x)).equal(x)
    assert torch.autograd.gradcheck(functools.partial(torch.pixel_shuffle, upscale_factor=2), [x])


# --- Other sizes --------------------------------------------------------------------------------

MODES = {
    3: ("nearest", "nearest-exact", "linear", "area"),
    4: ("nearest", "nearest-exact", "bilinear", "bicubic", "area"),
    5: ("nearest", "nearest-exact", "trilinear", "area"),
}
SIZES = (
    *({"size": size} for size in (1, 3, 5, 8, 10)),
    *({"scale_factor": factor} for factor in (2, 0.5, 1.7, 0.71)),
    {"scale_factor": 1.7, "recompute_scale_factor": True},
)
RESIZED = [
    (ndim, mode, sizes, aligned, False)
    for ndim in MODES
    for mode, sizes, aligned in itertools.product(MODES[ndim], SIZES, (None, True))
    if aligned is None or "linear" in mode or mode == "bicubic"
] + [
    (4, mode, sizes, aligned, True)
    for mode, sizes, aligned in itertools.product(
        ("bilinear", "bicubic", "lanczos"), SIZES, (None, True)
    )
]


@pytest.mark.part(3)
@pytest.mark.parametrize("case", RESIZED, ids=str)
def test_resizing_agrees_with_pytorch(case):
    ndim, mode, sizes, aligned, antialias = case
    words = {**sizes, "mode": mode, "align_corners": aligned, "antialias": antialias}
    x = numbers(2, 2, *SPATIAL[ndim])
    agree(lambda t, x: on(t).interpolate(x, **words), x, order=2)
    agree(lambda t, x: on(t).interpolate(x * x, **words), x, order=2)
    agree(lambda t, x: on(t).interpolate(x, **words), x.astype(np.float32))


def test_a_factor_that_keeps_the_size_is_as_in_pytorch():
    """Of lines and volumes PyTorch's gradient is not that of its values: values alone."""
    for ndim, factor in itertools.product(MODES, (1.11, 2.1, 1.05)):
        x = numbers(1, 2, *SPATIAL[ndim])

        def made(t, x=x, factor=factor):
            return on(t).interpolate(t.tensor(x), scale_factor=factor).numpy()

        np.testing.assert_array_equal(made(torch), of_pytorch(made))
    agree(lambda t, x: on(t).interpolate(x, scale_factor=(2.1, 1.11)), numbers(1, 2, 8, 9))


WRONG_SIZES = [
    ((2, 3, 4), {}),
    ((2, 3, 4), {"size": 2, "scale_factor": 2}),
    ((2, 3, 4), {"size": (2, 2)}),
    ((2, 3, 4), {"size": (2.0,)}),
    ((2, 3, 4), {"scale_factor": (2, 2)}),
    ((2, 3, 4), {"size": 2, "recompute_scale_factor": True}),
    ((2, 3, 4), {"size": 2, "align_corners": True}),
    ((2, 3, 4), {"size": 2, "antialias": True}),
    ((2, 3, 4), {"size": 2, "mode": "bilinear"}),
    ((2, 3, 4), {"size": 2, "mode": "bicubic"}),
    ((2, 3, 4, 5), {"size": 2, "mode": "linear"}),
    ((2, 3, 4, 5), {"size": 2, "mode": "lanczos"}),
    ((2, 3, 4, 5), {"size": (0, 2), "mode": "bilinear"}),
    ((2, 3, 4), {"scale_factor": 0.1}),
    ((2, 3), {"size": 2}),
    ((1, 0, 3), {"size": 2}),
    ((1, 2, 0), {"size": 2}),
    ((1, 2, 3, 4, 5), {"size": (0, 2, 1), "mode": "trilinear"}),
]


@pytest.mark.parametrize("case", WRONG_SIZES, ids=str)
def test_errors_of_resizing_are_those_of_pytorch(case):
    shape, words = case

    def said(t):
        with pytest.raises(Exception) as caught:  # noqa: PT011 - any: its text is compared
            on(t).interpolate(t.ones(shape), **words)
        return type(caught.value).__name__, str(caught.value)

    assert said(torch) == of_pytorch(said)


@pytest.mark.parametrize("ndim", MODES)
def test_resizing_keeps_constants_and_is_linear(ndim):
    """Weights sum to 1; jvp is the function itself; the transpose satisfies <Ax, y> = <x, A'y>."""
    x = numbers(2, 2, *SPATIAL[ndim])
    for mode, size, antialias in itertools.product(MODES[ndim], (3, 7, 20), (False, True)):
        if antialias and mode not in ("bilinear", "bicubic"):
            continue
        resize = functools.partial(
            functional.interpolate, size=size, mode=mode, antialias=antialias
        )
        flat = resize(torch.ones(1, 1, *SPATIAL[ndim], dtype=torch.float64))
        np.testing.assert_allclose(flat, np.ones(flat.shape))
        given = torch.tensor(x, requires_grad=True)
        made = resize(given)
        y = torch.tensor(numbers(*made.shape, seed=1))
        back = torch.autograd.grad(made, given, y)[0]
        assert (made * y).sum().item() == pytest.approx((given * back).sum().item())
        pushed = torch.func.jvp(resize, (given.detach(),), (given.detach(),))[1]
        np.testing.assert_allclose(pushed, made.detach())
    mapped = torch.func.vmap(lambda part: resize(part[None])[0])(given.detach())
    np.testing.assert_allclose(mapped, resize(given.detach()))


def test_resizing_by_ones_own_size_changes_nothing():
    x = torch.tensor(numbers(2, 2, 4, 5))
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
        np.testing.assert_allclose(functional.interpolate(x, (4, 5), mode=mode), x, atol=1e-12)
    np.testing.assert_array_equal(
        functional.interpolate(x, scale_factor=2), x.numpy().repeat(2, 2).repeat(2, 3)
    )
    pooled = functional.avg_pool2d(x[..., :4], 2)
    np.testing.assert_allclose(functional.interpolate(x[..., :4], 2, mode="area"), pooled)


def test_older_names_warn():
    x = torch.ones(1, 1, 2, 2)
    for name, words in (("upsample", {}), ("upsample_nearest", {}), ("upsample_bilinear", {})):
        with pytest.warns(UserWarning, match=f"`nn.functional.{name}` is deprecated"):
            assert getattr(functional, name)(x, scale_factor=2, **words).shape == (1, 1, 4, 4)


# --- Grids --------------------------------------------------------------------------------------

IMAGES, GRID = numbers(2, 3, 4, 5), numbers(2, 3, 2, 2, seed=1) * 1.3
VOLUMES, GRID3 = numbers(2, 2, 3, 4, 5), numbers(2, 2, 3, 2, 3, seed=2) * 1.3
SAMPLED = [
    (x, grid, mode, padding, aligned)
    for (x, grid, modes), padding, aligned in itertools.product(
        (
            (IMAGES, GRID, ("bilinear", "nearest", "bicubic")),
            (VOLUMES, GRID3, ("bilinear", "nearest")),
        ),
        ("zeros", "border", "reflection"),
        (False, True),
    )
    for mode in modes
]


@pytest.mark.parametrize("case", range(len(SAMPLED)))
def test_grid_samples_agree_with_pytorch(case):
    x, grid, *words = SAMPLED[case]
    agree(lambda t, x, g: on(t).grid_sample(x, g, *words), x, grid)
    agree(lambda t, x, g: on(t).grid_sample(x, g, *words), x, grid * 5)
    agree(
        lambda t, x, g: on(t).grid_sample(x, g, *words),
        x.astype(np.float32),
        grid.astype(np.float32),
        tolerance=1e-4,
    )
    agree(lambda t, x: on(t).grid_sample(x, t.tensor(grid), *words), x)
    numbers_of = (("bilinear", "nearest", "bicubic").index(words[0]), 1, words[2])
    agree(lambda t, x: t.grid_sampler(x, t.tensor(grid), *numbers_of), x)


@pytest.mark.part(3)
@pytest.mark.parametrize("case", range(len(SAMPLED)))
def test_grid_samples_have_the_derivatives_of_differences(case):
    x, grid, *words = SAMPLED[case]
    parts = (x[:1, :1, :3, :3, ...], grid[:1, :1])
    given = [torch.tensor(part, requires_grad=True) for part in parts]

    def once(x, g):
        return functional.grid_sample(x, g, *words)

    assert torch.autograd.gradcheck(once, given)
    if case % 5 == 0:
        assert torch.autograd.gradgradcheck(once, given)
    dots = tuple(torch.tensor(numbers(*part.shape, seed=3)) for part in given)
    plain = tuple(part.detach() for part in given)
    pushed = torch.func.jvp(once, plain, dots)[1]
    pulled = torch.func.grad(lambda *both: once(*both).sum(), argnums=(0, 1))(*plain)
    total = sum((back * dot).sum().item() for back, dot in zip(pulled, dots, strict=True))
    assert pushed.sum().item() == pytest.approx(total)
    mapped = torch.func.vmap(once)(*[torch.stack([part, part / 2]) for part in plain])
    np.testing.assert_allclose(mapped[1], once(*[part / 2 for part in plain]))


AFFINE = [((2, 3, 4, 5), 2), ((2, 3, 1, 5), 2), ((2, 1, 3, 4, 2), 3)]


@pytest.mark.parametrize(("size", "n"), AFFINE)
@pytest.mark.parametrize("aligned", [False, True])
def test_affine_grids_agree_with_pytorch(size, n, aligned):
    theta = numbers(2, n, n + 1)
    if aligned and 1 in size[2:]:
        size = (*size[:2], 2, *size[3:])
    agree(lambda t, x: on(t).affine_grid(x, size, aligned), theta)
    agree(lambda t, x: on(t).affine_grid(x * x, size, aligned), theta, order=2)


@pytest.mark.parametrize("aligned", [False, True])
@pytest.mark.parametrize("x", [IMAGES, VOLUMES], ids=["images", "volumes"])
def test_the_identity_reads_every_element(x, aligned):
    n = x.ndim - 2
    theta = torch.tensor(np.repeat(np.eye(n, n + 1)[None], 2, 0))
    grid = functional.affine_grid(theta, x.shape, aligned)
    for mode in ("bilinear", "nearest"):
        made = functional.grid_sample(torch.tensor(x), grid, mode, align_corners=aligned)
        np.testing.assert_allclose(made, x, atol=1e-12)
    with pytest.warns(UserWarning, match="Default grid_sample and affine_grid behavior"):
        functional.grid_sample(torch.tensor(x), grid)


def wrong_grids(t, f):
    x, theta = t.ones(2, 3, 4, 5), t.ones(2, 2, 3)
    grid = t.ones(2, 3, 3, 2)
    sample = functools.partial(f.grid_sample, align_corners=False)
    affine = functools.partial(f.affine_grid, align_corners=False)
    return [
        lambda: sample(x, grid[:1]),
        lambda: sample(x, t.ones(2, 3, 3, 3)),
        lambda: sample(x, grid.double()),
        lambda: sample(x[..., :0], grid),
        lambda: sample(t.ones(2, 3, 4, 5, 6), t.ones(2, 3, 3, 2, 3), "bicubic"),
        lambda: sample(x, grid, "cubic"),
        lambda: sample(x, grid, padding_mode="wrap"),
        lambda: affine(theta[:1], (2, 3, 4, 5)),
        lambda: affine(theta.long(), (2, 3, 4, 5)),
        lambda: affine(theta, (2, 3, 0, 5)),
        lambda: affine(theta, (2, 3, 5)),
        lambda: affine(theta, (2, 3, 4, 5, 6)),
    ]


def test_errors_of_grids_are_those_of_pytorch():
    def said(t):
        texts = []
        for call in wrong_grids(t, on(t)):
            with pytest.raises(Exception) as caught:  # noqa: PT011 - any: its text is compared
                call()
            texts.append((type(caught.value).__name__, str(caught.value)))
        return texts

    assert said(torch) == of_pytorch(said)
