"""Convolutions however they are cut into parts and laid out in matrices: laws over many draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_torch_convolution import naive

from tapegrad.torch._rules import correlation, im2col
from tapegrad.torch._rules.kernels import Kernel, span


def drawn(seed: int) -> tuple[Any, Any, Any, Kernel]:
    """The arrays of a convolution, of one group to as many as there are channels."""
    draw = np.random.default_rng(seed)
    dims, groups = int(draw.integers(1, 4)), int(draw.choice([1, 2, 5]))
    inputs, outputs = groups * int(draw.integers(1, 4)), groups * int(draw.integers(1, 4))
    widths = draw.integers(1, 5, dims)
    stride, dilation = draw.integers(1, 5, dims), draw.integers(1, 5, dims)
    before, after = draw.integers(-1, 4, dims), draw.integers(-1, 4, dims)
    least = np.maximum(1, dilation * (widths - 1) + 1 - before - after)
    least = np.maximum(least, np.maximum(0, -before) + np.maximum(0, -after) + 1)
    sizes = least + draw.integers(0, 12 // dims, dims)
    x = draw.normal(size=(int(draw.choice([1, 3, 9])), inputs, *sizes))
    weight = draw.normal(size=(outputs, inputs // groups, *widths))
    moves = (tuple(map(int, of)) for of in (stride, before, after, dilation))
    return x, weight, draw.normal(size=outputs), Kernel(*moves, groups)


def padded(x: Any, kernel: Kernel) -> Any:
    """The array with the zeros around it, and without what negative widths leave out."""
    wide = [(max(0, b), max(0, a)) for b, a in zip(kernel.before, kernel.after, strict=True)]
    whole = np.pad(x, [(0, 0), (0, 0), *wide])
    ends = zip(kernel.before, kernel.after, whole.shape[2:], strict=True)
    return whole[:, :, *(slice(max(0, -b), size - max(0, -a)) for b, a, size in ends)]


@pytest.fixture(params=["as it is", "patches", "many parts", "no images joined"])
def layout(request: Any, monkeypatch: Any) -> None:
    """How small arrays are laid out: with all ways that large ones go."""
    if request.param != "as it is":
        monkeypatch.setattr(im2col, "TINY", 0)
    if request.param == "many parts":
        monkeypatch.setattr(im2col, "ROOM", 2000)
        monkeypatch.setattr(im2col, "LITTLE", 1000)
        monkeypatch.setattr(correlation, "SMALL", 2000)
        monkeypatch.setattr(correlation, "NARROW", 2)
        monkeypatch.setattr(correlation, "MANY", 0)
    if request.param == "no images joined":
        monkeypatch.setattr(im2col, "ENOUGH", 1)


@pytest.mark.part(2)
@pytest.mark.usefixtures("layout")
def test_a_convolution_is_a_sum_over_windows() -> None:
    for seed in range(30):
        x, weight, bias, kernel = drawn(seed)
        made = correlation.correlate(x, weight, bias, kernel)
        moves = (kernel.stride, (0,) * len(kernel.stride), kernel.dilation, kernel.groups)
        expected = naive(padded(x, kernel), weight, bias, *moves)
        np.testing.assert_allclose(made, expected, rtol=1e-9, atol=1e-9, err_msg=str(kernel))


@pytest.mark.part(2)
@pytest.mark.usefixtures("layout")
def test_the_derivatives_are_its_transposes() -> None:
    """A product with a cotangent is the same before and after the transposes by x and weight."""
    for seed in range(150):
        x, weight, bias, kernel = drawn(seed)
        made = correlation.correlate(x, weight, None, kernel)
        g = np.random.default_rng(seed).normal(size=made.shape)
        by_x = correlation.correlate_input(g, weight, None, kernel, x.shape[2:])
        by_weight = correlation.correlate_weight(x, g, kernel, weight.shape[2:])
        assert (by_x.shape, by_weight.shape) == (x.shape, weight.shape)
        expected = np.vdot(made, g)
        np.testing.assert_allclose(np.vdot(x, by_x), expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(np.vdot(weight, by_weight), expected, rtol=1e-9, atol=1e-9)
        inputs = np.zeros(x.shape[1])
        inputs[: len(bias)] = bias[: len(inputs)]
        beside = inputs.reshape(-1, *(1,) * (x.ndim - 2))
        more = correlation.correlate_input(g, weight, inputs, kernel, x.shape[2:])
        np.testing.assert_allclose(more, by_x + beside, rtol=1e-9, atol=1e-9)


def test_the_gradient_of_a_weight_is_an_array_of_its_own() -> None:
    """So that it can be the `grad` of a parameter without a copy."""
    x, g = np.ones((4, 32, 16, 16)), np.ones((4, 8, 16, 16))
    kernel = Kernel((1, 1), (1, 1), (1, 1), (1, 1))
    made = correlation.correlate_weight(x, g, kernel, (3, 3))
    assert made.base is None
    assert made.flags.c_contiguous


def test_parts_hold_what_fits_and_cover_all() -> None:
    for count, groups, places, row in [(5, 3, (7, 9), 40), (2, 8, (100, 4), 900), (1, 1, (3,), 9)]:
        for beyond in (0, 2):
            seen = np.zeros((count, groups, places[0]), int)
            for part in im2col.parts_of(count, groups, places, row, beyond, room=4000):
                seen[part.images, part.groups, part.row : part.row + part.rows] += 1
                images = part.images.stop - part.images.start
                channels = part.groups.stop - part.groups.start
                least = images == channels == 1
                assert least or images * channels * (part.rows + beyond) * row <= 4000
            assert (seen == 1).all()


@pytest.mark.parametrize("step", [1, 2, 3])
def test_a_span_has_the_elements_that_are_there(step: int) -> None:
    for size in range(4):
        for start in range(-7, 6):
            for count in range(5):
                given = np.arange(1, size + 1)
                padded_array = np.concatenate([np.zeros(9), given, np.zeros(20)])
                expected = padded_array[9 + start :: step][:count]
                found = np.zeros(count)
                inside, elements = span(size, step, start, count)
                found[inside] = given[elements]
                np.testing.assert_array_equal(found, expected)
