"""Views by sizes, strides and an offset: each element lies in the memory of its tensor."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.lib.array_utils import byte_bounds
from numpy.lib.stride_tricks import as_strided

import tapegrad.torch as torch
from tapegrad.torch._rules import im2col

FLOATS = torch.arange(24.0, dtype=torch.float64)
RECORDS = np.zeros(5, [("a", "f8"), ("b", "f4")])
# Tensors, and where they begin in their memory, in elements.
BASES: dict[str, Callable[[], tuple[torch.Tensor, int]]] = {
    "whole": lambda: (FLOATS.clone(), 0),
    "part": lambda: (FLOATS.clone()[5:9], 5),
    "turned": lambda: (FLOATS.clone().reshape(4, 6).T, 0),
    "wide": lambda: (FLOATS.clone()[3:4].expand(2, 7), 3),
    "bytes": lambda: (FLOATS.clone().view(torch.int8)[100:], 100),
    "bytes from the front": lambda: (FLOATS.clone().view(torch.int8)[:3], 0),
    "real": lambda: (FLOATS.clone().to(torch.complex64).real, 0),
    "imaginary": lambda: (FLOATS.clone().to(torch.complex64).imag, 1),
    "pairs": lambda: (torch.view_as_real(FLOATS.clone().to(torch.complex64))[2:], 4),
    "Fortran": lambda: (torch.from_numpy(np.array(np.ones((3, 4)), order="F")[1:]), 1),
    "record": lambda: (torch.from_numpy(RECORDS["b"]), 2),
}
GAPS: dict[str, Callable[[], torch.Tensor]] = {
    "strided": lambda: torch.from_numpy(as_strided(np.arange(40.0), (4, 4), (80, 16))),
    "of records": lambda: torch.from_numpy(RECORDS["a"]),
}


def memory_of(owner: Any) -> Any:
    """The array that owns the memory of an array."""
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    return owner


@pytest.mark.parametrize("name", BASES)
def test_as_strided_shows_the_memory_of_the_tensor(name: str) -> None:
    """Elements are counted in the tensor's dtype: in that of its memory, some lay beyond."""
    draw = np.random.default_rng(0)
    base, start = BASES[name]()
    flat = np.frombuffer(memory_of(base._value).tobytes("A"), base._value.dtype)
    seen = {"shown": 0, "refused": 0}
    for _ in range(150):
        count = draw.integers(0, 3)
        shape = draw.integers(0, 5, count).tolist()
        strides = draw.integers(0, 12, count).tolist()
        given = int(draw.integers(0, len(flat) + 2)) if draw.random() < 0.7 else None
        offset = start if given is None else given
        reach = sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
        if 0 not in shape and offset + reach >= len(flat):
            seen["refused"] += 1
            with pytest.raises(RuntimeError, match="out of bounds"):
                base.as_strided(shape, strides, given)
            continue
        seen["shown"] += 1
        found = base.as_strided(shape, strides, given)
        assert found.dtype == base.dtype
        for at in itertools.product(*map(range, shape)):
            place = offset + sum(i * s for i, s in zip(at, strides, strict=True))
            assert found[at].item() == flat[place]
    assert min(seen.values()) > 3


@pytest.mark.parametrize("name", GAPS)
def test_memory_with_gaps_is_refused(name: str) -> None:
    """It was copied: a view showed other numbers, and an index was written beyond its array."""
    for offset in (None, 0, 3):
        with pytest.raises(RuntimeError, match="memory without gaps"):
            GAPS[name]().as_strided((2,), (1,), offset)
    with pytest.raises(RuntimeError, match="memory without gaps"):
        torch.zeros(0, dtype=torch.float64).set_(GAPS[name](), 0, (2,), (1,))


def test_windows_of_memory_with_gaps() -> None:
    base = GAPS["strided"]()
    windows = base.unfold(1, 2, 1)
    np.testing.assert_array_equal(windows[1].numpy(), [[10, 12], [12, 14], [14, 16]])
    windows[0, 0, 0] = -1.0
    assert base[0, 0] == -1.0


def test_derivatives_of_as_strided_of_parts() -> None:
    z = torch.arange(4.0).to(torch.complex64).requires_grad_()
    (z.imag * 1 + z.imag.as_strided((4,), (2,), 1)).sum().backward()
    np.testing.assert_array_equal(z.grad.numpy(), np.full(4, 2j))


@pytest.mark.parametrize("shape", [(), (3,), (2, 0), (2, 2)])
def test_as_strided_of_one_number(shape: tuple[int, ...]) -> None:
    for x in (torch.ones((), requires_grad=True), torch.tensor(1.0, requires_grad=True)):
        for _ in range(2):
            x.grad = None
            made = x.as_strided(shape, (0,) * len(shape))
            made.sum().backward()
            assert made.shape == shape
            assert x.grad.item() == made.numel()
        assert x.detach().as_strided(shape, (0,) * len(shape)).tolist() == made.tolist()


def test_a_wide_view_takes_no_memory() -> None:
    wide = torch.zeros(1).as_strided((10**6, 10**6), (0, 0))
    assert wide.shape == (10**6, 10**6)


def test_a_buffer_is_held_and_not_left() -> None:
    held = bytearray(range(8))
    for given in ({"offset": 9}, {"offset": -1}, {"count": 9}, {"count": 8, "offset": 1}):
        with pytest.raises(ValueError, match=r"buffer|offset"):
            torch.frombuffer(held, dtype=torch.uint8, **given)
    with pytest.raises(ValueError, match="multiple of element size"):
        torch.frombuffer(held, dtype=torch.int32, offset=1)
    shown = torch.frombuffer(held, dtype=torch.uint8)
    with pytest.raises(BufferError):
        held.extend(bytes(100))  # memory that the tensor shows would move
    del held
    assert shown.tolist() == list(range(8))


# --- Windows of convolutions --------------------------------------------------------------------


def drawn_windows(draw: Any) -> Iterator[Callable[[], Any]]:
    """Calls of drawn sizes, also of ones that are refused."""
    functional = torch.nn.functional
    while True:
        rank = int(draw.integers(1, 4))

        def sizes(low: int, high: int, rank: int = rank) -> list[int]:
            odd = draw.random(rank) < 0.04
            return np.where(odd, draw.choice([-1, 0, 9]), draw.integers(low, high, rank)).tolist()

        groups, inner, outer = draw.integers(1, 3, 3)
        x = torch.tensor(
            draw.normal(size=(draw.integers(1, 3), groups * inner, *draw.integers(2, 8, rank))),
            requires_grad=True,
        )
        if draw.random() < 0.3:
            x = x.transpose(-1, -2)
        kernel = draw.integers(1, 4, rank).tolist()
        given = {"stride": sizes(1, 4), "padding": sizes(0, 3), "dilation": sizes(1, 3)}
        word = f"{rank}d"
        kind = draw.choice(["conv", "conv_transpose", "unfold", "fold", "avg_pool"])
        if kind == "conv":
            weight = torch.tensor(draw.normal(size=(groups * outer, inner, *kernel)))
            arguments: Any = (x, weight.requires_grad_()), {**given, "groups": int(groups)}
        elif kind == "conv_transpose":
            weight = torch.tensor(draw.normal(size=(groups * inner, outer, *kernel)))
            given["output_padding"] = sizes(0, 2)
            arguments = (x, weight.requires_grad_()), {**given, "groups": int(groups)}
        elif kind == "avg_pool":
            del given["dilation"]
            arguments = (x, kernel), {**given, "ceil_mode": bool(draw.integers(2))}
        else:
            word = ""
            arguments = (x, kernel), given
        function = getattr(functional, f"{'unfold' if kind == 'fold' else kind}{word}")
        size = [n + int(draw.integers(-1, 2) * (draw.random() < 0.2)) for n in x.shape[2:]]

        def call(
            function: Any = function,
            arguments: Any = arguments,
            kind: Any = kind,
            size: Any = size,
        ) -> None:
            (x, kernel), given = arguments
            out = function(x, kernel, **given)
            if kind == "fold":
                out = functional.fold(out, size, kernel, **given)
            out.sum().backward()

        yield call


@pytest.mark.parametrize("count", [150, pytest.param(10_000, marks=pytest.mark.slow)])
def test_windows_lie_in_their_array(count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []

    def checked(x: Any, *given: Any) -> Any:
        found = as_strided(x, *given)
        if found.size:
            low, high = byte_bounds(memory_of(x))
            first, last = byte_bounds(found)
            assert low <= first <= last <= high
            made.append(found.shape)
        return found

    monkeypatch.setattr(im2col, "as_strided", checked)
    for call in itertools.islice(drawn_windows(np.random.default_rng(count)), count):
        try:
            call()
        except (RuntimeError, ValueError):  # sizes that do not fit
            continue
    assert len(made) > count / 15
