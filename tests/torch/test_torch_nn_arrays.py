"""Operations of nn on arrays that are large or cut into parts equal plain loops over elements."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import tapegrad.torch as torch
from tapegrad.torch._rules import blockwise, generated
from tapegrad.torch.nn import functional

DRAW = np.random.default_rng(5)


def drawn(*shape, dtype=np.float64):
    return DRAW.standard_normal(shape).astype(dtype)


def leaf(x):
    return torch.tensor(x, requires_grad=True)


def checked(function, *arrays, second=True):
    """First and second derivatives by differences, forward mode, and a loop over a vmap."""
    leaves = [leaf(x) for x in arrays]
    assert torch.autograd.gradcheck(function, leaves)
    if second:
        assert torch.autograd.gradgradcheck(function, leaves)
    plain = tuple(x.detach() for x in leaves)
    dots = tuple(torch.tensor(drawn(*x.shape)) for x in arrays)
    pushed = torch.func.jvp(function, plain, dots)[1]
    pulled = torch.func.grad(lambda *xs: function(*xs).sum(), tuple(range(len(plain))))(*plain)
    total = sum((bar * dot).sum().item() for bar, dot in zip(pulled, dots, strict=True))
    assert pushed.sum().item() == pytest.approx(total)
    mapped = torch.func.vmap(function)(*[torch.stack([x, x * 0.5]) for x in plain])
    np.testing.assert_allclose(mapped[0], function(*plain), atol=1e-12)
    np.testing.assert_allclose(mapped[1], function(*[x * 0.5 for x in plain]), atol=1e-12)


# --- Borders ------------------------------------------------------------------------------------

NUMPYS = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
WIDTHS = [(1, 2), (2, 0), (0, 1, 2, 2), (1, 0, 0, 0), (2, 1, 1, 2, 0, 1), (0, 0, 1, 1, 2, 0)]


@pytest.mark.part(3)
@pytest.mark.parametrize("mode", NUMPYS)
@pytest.mark.parametrize("widths", WIDTHS)
def test_borders_are_those_of_numpy(mode, widths):
    n = len(widths) // 2
    x = drawn(2, 2, *(3, 4, 3)[:n])
    pairs = [(0, 0)] * 2 + [(widths[i], widths[i + 1]) for i in range(0, 2 * n, 2)][::-1]
    made = functional.pad(torch.tensor(x), widths, mode)
    np.testing.assert_array_equal(made, np.pad(x, pairs, NUMPYS[mode]))
    checked(lambda x: functional.pad(x, widths, mode), x[:1], second=n == 1)


# --- Adaptive windows ---------------------------------------------------------------------------

ADAPTIVE = [((7,), (3,)), ((6,), (3,)), ((3,), (5,)), ((5, 6), (2, 4)), ((18, 4), (2, 2)),
            ((4, 3, 5), (3, 2, 2)), ((4, 6), (1, 1))]  # fmt: skip


def windows(sizes, numbers):
    """The index of each adaptive window."""
    for place in np.ndindex(*numbers):
        cut = [slice(i * n // k, -(-(i + 1) * n // k)) for i, n, k in zip(place, sizes, numbers,
                                                                        strict=True)]  # fmt: skip
        yield place, tuple(cut)


@pytest.mark.parametrize(("sizes", "numbers"), ADAPTIVE)
def test_adaptive_windows_are_those_of_a_loop(sizes, numbers):
    n = len(sizes)
    x = DRAW.integers(0, 4, (2, 3, *sizes)).astype(np.float64)  # equal elements: the first counts
    x[0, 0, ..., -1] = np.nan
    x[1, 1, ..., 0] = np.inf
    pool, average = (getattr(functional, f"adaptive_{word}_pool{n}d") for word in ("max", "avg"))
    made, found = pool(torch.tensor(x), numbers, True)
    means = average(torch.tensor(x), numbers).numpy()
    positions = np.arange(np.prod(sizes)).reshape(sizes)
    for place, cut in windows(sizes, numbers):
        flat = x[(..., *cut)].reshape(2, 3, -1)
        best = flat.argmax(-1)
        np.testing.assert_array_equal(made.numpy()[(..., *place)], flat.max(-1))
        np.testing.assert_array_equal(found.numpy()[(..., *place)], positions[cut].ravel()[best])
        np.testing.assert_allclose(means[(..., *place)], flat.mean(-1))
    distinct = DRAW.permutation(float(np.prod(sizes)) * np.arange(np.prod(sizes) * 2))
    distinct = distinct.reshape(1, 2, *sizes) / distinct.max()
    checked(lambda x: pool(x, numbers), distinct, second=False)
    checked(lambda x: average(x, numbers), distinct, second=False)


def test_infinite_elements_stay_in_the_elements_that_they_belong_to():
    x = np.zeros((1, 1, 4, 6))
    x[0, 0, 1, 2] = np.inf
    for mode in ("bilinear", "bicubic", "area"):
        made = functional.interpolate(torch.tensor(x), size=(9, 13), mode=mode).numpy()
        assert np.isfinite(made[0, 0, -1]).all()
        assert np.isfinite(made[0, 0, :, -1]).all()
        assert not np.isfinite(made).all()


# --- Grids --------------------------------------------------------------------------------------


def sample(x, at):
    """The bilinear sample of an image (channels, height, width); nothing lies beyond its ends."""
    low = np.floor(at).astype(int)
    total = np.zeros(len(x))
    for corner in itertools.product((0, 1), repeat=2):
        row, column = low + corner
        if 0 <= row < x.shape[1] and 0 <= column < x.shape[2]:
            weight = np.prod([1 - abs(a - p) for a, p in zip(at, (row, column), strict=True)])
            total += x[:, row, column] * weight
    return total


def test_grid_samples_are_those_of_a_loop(monkeypatch):
    from tapegrad.torch._rules import sampling

    monkeypatch.setattr(sampling, "BLOCK", 512)  # several parts
    x, grid = drawn(2, 9, 4, 5), drawn(2, 3, 4, 2) * 0.8
    x[0, 1, 0] = np.inf  # beside the places beyond the ends, which read nothing
    made = functional.grid_sample(torch.tensor(x), torch.tensor(grid), align_corners=False)
    for n, i, j in np.ndindex(2, 3, 4):
        at = [((grid[n, i, j, 1 - axis] + 1) * side - 1) / 2 for axis, side in enumerate((4, 5))]
        np.testing.assert_allclose(made[n, :, i, j], sample(x[n], at))
    x = drawn(1, 5, 3, 3)
    checked(
        lambda x, g: functional.grid_sample(x, g, align_corners=True), x, grid[:1, :2, :2] * 0.9
    )


# --- Alignments ---------------------------------------------------------------------------------


def alignments(target, steps):
    """All rows of classes that collapse to a target, 0 being the blank."""
    for row in itertools.product(sorted({0, *target}), repeat=steps):
        merged = [label for label, _ in itertools.groupby(row)]
        if [label for label in merged if label] == target:
            yield row


@pytest.mark.parametrize("targets", [([1, 2], [3, 3]), ([1], []), ([2, 2, 1], [1])])
def test_ctc_is_the_sum_over_alignments(targets):
    steps, lengths = 5, (5, 4)
    x = torch.tensor(drawn(steps, 2, 4)).log_softmax(-1).numpy()
    given = leaf(x)
    flat = torch.tensor([label for row in targets for label in row], dtype=torch.int64)
    losses = functional.ctc_loss(given, flat, lengths, [*map(len, targets)], reduction="none")
    (bar,) = torch.autograd.grad(losses.sum(), given)
    for n, (target, length) in enumerate(zip(targets, lengths, strict=True)):
        total, share = 0.0, np.zeros((steps, 4))
        for row in alignments(list(target), length):
            own = np.exp(x[np.arange(length), n, list(row)].sum())
            total += own
            share[np.arange(length), list(row)] += own
        assert losses[n].item() == pytest.approx(-np.log(total))
        wanted = np.exp(x[:length, n]) - share[:length] / total
        np.testing.assert_allclose(bar[:length, n], wanted, atol=1e-12)
        np.testing.assert_array_equal(bar[length:, n], 0)


# --- Norms --------------------------------------------------------------------------------------

NORMS = {
    "layer": (lambda x, w, b: functional.layer_norm(x, (4,), w, b), (6, 3, 4), (4,)),
    "layer of two": (lambda x, w, b: functional.layer_norm(x, (3, 4), w, b), (6, 3, 4), (3, 4)),
    "rms": (lambda x, w, b: functional.rms_norm(x, (4,), w), (6, 3, 4), (4,)),
    "group": (lambda x, w, b: functional.group_norm(x, 2, w, b), (5, 4, 3, 2), (4,)),
    "instance": (lambda x, w, b: functional.instance_norm(x, None, None, w, b), (5, 3, 4), (3,)),
    "batch": (
        lambda x, w, b: functional.batch_norm(x, None, None, w, b, True), (5, 3, 2, 2), (3,)
    ),
    "batch of rows": (
        lambda x, w, b: functional.batch_norm(x, None, None, w, b, True), (7, 3), (3,)
    ),
}  # fmt: skip


@pytest.mark.parametrize("affine", [True, False])
@pytest.mark.parametrize("name", NORMS)
def test_generated_kernels_give_what_the_rule_gives(name, affine, monkeypatch):
    """Of calls that came before: by the kernels, and by the rule itself, the same to rounding."""
    norm, shape, of_weight = NORMS[name]
    x, w, b = drawn(*shape) + 3, drawn(*of_weight), drawn(*of_weight)
    g = torch.tensor(drawn(*shape))

    def run():
        given = [leaf(x), *((leaf(w), leaf(b)) if affine else (None, None))]
        out = norm(*given)
        leaves = [part for part in given if part is not None]
        return [out, *torch.autograd.grad(out, leaves, g, allow_unused=True)]

    made = []
    written = generated._written
    monkeypatch.setattr(generated, "_written", lambda *a: made.append(written(*a)) or made[-1])
    first, *_, last = [run() for _ in range(4)]
    assert made
    assert None not in made
    for found, wanted in zip(last, first, strict=True):
        assert (found is None) == (wanted is None)
        if found is not None:
            np.testing.assert_allclose(found.detach(), wanted.detach(), rtol=1e-9, atol=1e-12)


# --- Distances of rows --------------------------------------------------------------------------


@pytest.mark.parametrize("p", [0.0, 1.0, 2.0, 3.0, np.inf])
def test_distances_of_many_rows_are_those_of_a_loop(p):
    x = drawn(40, 3)
    x[3] = x[17]  # a distance of 0, whose gradient is 0
    given = leaf(x)
    made = functional.pdist(given, p)
    g = drawn(*made.shape)
    (bar,) = torch.autograd.grad(made, given, torch.tensor(g))
    total = np.zeros_like(x)
    for k, (i, j) in enumerate(itertools.combinations(range(40), 2)):
        apart = x[i] - x[j]
        length = np.linalg.norm(apart, p)
        assert made[k].item() == pytest.approx(length, abs=1e-12)
        if p == 0 or length == 0:
            continue
        size = np.abs(apart)
        slope = np.sign(apart) * ((size == length) if p == np.inf else (size / length) ** (p - 1))
        total[i] += g[k] * slope
        total[j] -= g[k] * slope
    np.testing.assert_allclose(bar, total, atol=1e-10)


def test_distances_of_two_arrays_of_rows():
    x, y = drawn(2, 3, 4), drawn(2, 5, 4)
    y[1, 2] = x[1, 0]
    made = torch.cdist(torch.tensor(x), torch.tensor(y))
    np.testing.assert_allclose(made, np.linalg.norm(x[:, :, None] - y[:, None], axis=-1))
    left, right = leaf(x), leaf(y)
    torch.cdist(left, right).sum().backward()
    assert np.isfinite(left.grad).all()
    assert np.isfinite(right.grad).all()
    checked(torch.cdist, x[0], y[0])


# --- Elements -----------------------------------------------------------------------------------

UNITS = {
    "elu": (functional.elu, lambda x: np.where(x > 0, x, np.expm1(x))),
    "leaky_relu": (functional.leaky_relu, lambda x: np.where(x > 0, x, 0.01 * x)),
    "softplus": (functional.softplus, lambda x: np.logaddexp(x, 0)),
    "logsigmoid": (functional.logsigmoid, lambda x: -np.logaddexp(-x, 0)),
    "mish": (functional.mish, lambda x: x * np.tanh(np.logaddexp(x, 0))),
    "silu": (functional.silu, lambda x: x / (1 + np.exp(-x))),
    "softshrink": (
        functional.softshrink,
        lambda x: np.where(x > 0.5, x - 0.5, np.where(x < -0.5, x + 0.5, 0)),
    ),
    "hardswish": (functional.hardswish, lambda x: x * np.clip(x + 3, 0, 6) / 6),
    "gelu": (
        lambda x: functional.gelu(x.float()).double() if x.numel() > 9 else functional.gelu(x),
        None,
    ),
}


@pytest.mark.parametrize("name", UNITS)
def test_units_of_large_arrays_are_those_of_small_ones(name):
    unit, formula = UNITS[name]
    x = np.concatenate([[0.0, 3.0, -3.0, 0.5, -0.5, 30.0, -30.0], drawn(2 * blockwise.PART) * 3])
    if name == "gelu":
        x = np.concatenate([np.float32(x).astype(np.float64)])
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if name == "gelu" else {"rtol": 1e-12, "atol": 1e-14}
    large = leaf(x)
    out = unit(large)
    out.sum().backward()
    if formula is not None:
        np.testing.assert_allclose(out.detach(), formula(x), **tolerance)
    small = leaf(x[:9])
    unit(small).sum().backward()
    np.testing.assert_allclose(large.grad[:9], small.grad, **tolerance)
    np.testing.assert_allclose(out[:9].detach(), unit(small).detach(), **tolerance)
    again = leaf(x[:9])  # by the rule that second derivatives take
    (bar,) = torch.autograd.grad(unit(again).sum(), again, create_graph=True)
    np.testing.assert_allclose(bar.detach(), small.grad, **tolerance)


@pytest.mark.parametrize("bags", [[2, 2, 2], [3, 0, 1]])
@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_bags_of_one_length_and_of_several(bags, mode):
    weight, indices = drawn(5, 3), DRAW.integers(0, 5, sum(bags))
    starts = np.cumsum([0, *bags])[:-1]

    def bag(weight):
        return functional.embedding_bag(
            torch.tensor(indices), weight, torch.tensor(starts), mode=mode
        )

    parts_of = np.split(weight[indices], starts[1:])
    wanted = [part.sum(0) / (max(1, len(part)) if mode == "mean" else 1) for part in parts_of]
    np.testing.assert_allclose(bag(torch.tensor(weight)), wanted)
    assert torch.autograd.gradcheck(bag, [leaf(weight)])
    assert torch.autograd.gradgradcheck(bag, [leaf(weight)])
