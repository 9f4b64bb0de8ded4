"""Generators of random numbers, and the arrays that are drawn from them.

Knows NumPy's generators, which it loads at the first draw. Must not know how tensors are made.

The numbers are not PyTorch's for the same seed; the distributions are.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from tapegrad._core.quiet import errstate
from tapegrad._core.recorded import OPEN, RECORDING, refuse_program
from tapegrad._core.types import Value
from tapegrad.torch import _dtypes
from tapegrad.torch._dtypes import require_kind
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of
from tapegrad.torch._types import Device, Number, TensorLike

FIRST_SEED = 67280421310721  # of a new Generator, as in PyTorch


class _Drawn(threading.local):
    """The number of draws of a thread, by which vmap sees whether a function draws."""

    times = 0


DRAWN = _Drawn()


class Generator:
    """A source of random numbers of its own: `manual_seed`, `seed`, `get_state`, `set_state`.

    device (device or str): The CPU.

    >>> generator = torch.Generator().manual_seed(0)
    >>> x = torch.rand(2, generator=generator)
    >>> torch.equal(torch.rand(2, generator=generator.manual_seed(0)), x)
    True
    """

    def __init__(self, device: Device = "cpu") -> None:
        self._device = _dtypes.device(device)
        self._seed = FIRST_SEED
        self._numpy: Any = None  # NumPy's generator, once it is needed

    @property
    def device(self) -> _dtypes.device:
        """The CPU."""
        return self._device

    def manual_seed(self, seed: Number) -> Generator:
        """Start anew from a seed; returns the generator itself.

        seed (int): The seed; negative ones count from 2**64.
        -> Generator: The generator itself.
        ValueError: If it is no number of 64 bits.
        """
        refuse_program("it seeds a generator of random numbers: seed it outside")
        self._seed = _valid_seed(seed)
        self._numpy = None
        return self

    def seed(self) -> int:
        """Start anew from a seed of the operating system's; returns it.

        -> int: The seed.
        """
        self.manual_seed(int.from_bytes(os.urandom(8), "little"))
        return self._seed

    def initial_seed(self) -> int:
        """The seed that the generator started from.

        -> int: The seed.
        """
        return self._seed

    def keeping(self) -> Callable[[], None]:
        """A function that puts the generator back to its present state.

        -> callable: The function, without arguments.
        """
        seed, numpy = self._seed, self.numpy
        state = numpy.bit_generator.state

        def put_back() -> None:
            self._seed, self._numpy = seed, numpy
            numpy.bit_generator.state = state

        return put_back

    def get_state(self) -> Tensor:
        """The state as a tensor of bytes, for `set_state`.

        -> Tensor: 45 numbers of uint8.
        """
        state = self.numpy.bit_generator.state
        numbers = state["state"]
        parts = (
            numbers["state"].to_bytes(16, "little"),
            numbers["inc"].to_bytes(16, "little"),
            state["uinteger"].to_bytes(4, "little"),
            state["has_uint32"].to_bytes(1, "little"),
            self._seed.to_bytes(8, "little"),
        )
        return of_value(np.frombuffer(b"".join(parts), np.uint8).copy())

    def set_state(self, new_state: TensorLike) -> Generator:
        """Go back to a state that `get_state` returned.

        new_state (Tensor): The state.
        -> Generator: The generator itself.
        TypeError: If the state is no tensor of uint8.
        RuntimeError: If it has not the length of a state.
        """
        if not isinstance(new_state, Tensor) or new_state._value.dtype != np.uint8:
            raise TypeError("RNG state must be a torch.ByteTensor")
        held = plain_of(new_state).tobytes()
        if len(held) != 45:
            raise RuntimeError(
                f"RNG state is wrong size: expected the 45 bytes of get_state(), got {len(held)}"
            )
        self._seed = int.from_bytes(held[37:], "little")
        self.numpy.bit_generator.state = {
            "bit_generator": "PCG64",
            "state": {
                "state": int.from_bytes(held[:16], "little"),
                "inc": int.from_bytes(held[16:32], "little"),
            },
            "uinteger": int.from_bytes(held[32:36], "little"),
            "has_uint32": held[36],
        }
        return self

    def clone_state(self) -> Generator:
        """Another generator in the same state.

        -> Generator: The other generator.
        """
        return Generator().set_state(self.get_state())

    @property
    def numpy(self) -> np.random.Generator:
        """NumPy's generator, with the same state."""
        if self._numpy is None:
            with errstate():  # NumPy sets its own there, and an interrupt may leave that set
                self._numpy = np.random.Generator(np.random.PCG64(self._seed))
        return self._numpy


def _valid_seed(seed: Number) -> int:
    number = int(seed)
    if not -(2**63) <= number < 2**64:
        raise ValueError("Overflow when unpacking long long")
    return number % 2**64


default_generator = Generator()
default_generator.seed()


def source(generator: Generator | None = None) -> np.random.Generator:
    """NumPy's generator for a draw, from PyTorch's `generator=`."""
    DRAWN.times += 1
    chosen = default_generator if generator is None else generator
    recording = RECORDING.get() if OPEN else None
    return chosen.numpy if recording is None else cast(Any, _Drawing(chosen, recording))


class _Drawing:
    """NumPy's generator of one, whose draws a recording makes."""

    def __init__(self, of: Generator, recording: Any) -> None:
        self.of, self.recording = of, recording

    def __getattr__(self, method: str) -> Any:
        return lambda *args, **kwargs: self.recording.draw(self.of, method, args, kwargs)


# --- Draws of arrays ----------------------------------------------------------------------------


def exact(given: np.dtype[Any]) -> type[np.float32 | np.float64]:
    """The dtype in which NumPy draws numbers that are then rounded to `given`."""
    return np.float64 if given.itemsize == 8 else np.float32


def draw_uniform(
    shape: tuple[int, ...], given: np.dtype[Any], generator: Generator | None = None
) -> Value:
    """Uniform numbers from 0 to before 1, real and imaginary parts each."""
    if given.kind == "c":
        part = np.empty(0, given).real.dtype
        return draw_uniform(shape, part, generator) + 1j * draw_uniform(shape, part, generator)
    require_kind(given, "check_uniform_bounds")
    made = source(generator).random(shape, exact(given))
    if given.itemsize == 2:  # rounding must not reach 1
        return (np.floor(made * 2048) / 2048).astype(given)
    return _array(made, given)


def _array(drawn: Any, given: np.dtype[Any]) -> Value:
    """What was drawn as an array of a dtype; a recorded one stays recorded."""
    is_array = hasattr(drawn, "astype")
    return drawn.astype(given, copy=False) if is_array else np.asarray(drawn, given)


def draw_normal(
    shape: tuple[int, ...], given: np.dtype[Any], generator: Generator | None = None
) -> Value:
    """Normal numbers of mean 0 and variance 1; of complex ones each part has half of it."""
    if given.kind == "c":
        part = np.empty(0, given).real.dtype
        parts = [draw_normal(shape, part, generator) for _ in range(2)]
        return ((parts[0] + 1j * parts[1]) * np.sqrt(0.5)).astype(given)
    require_kind(given, "normal_kernel_cpu")
    return _array(source(generator).standard_normal(shape, exact(given)), given)


def draw_whole(
    low: int, high: int, shape: tuple[int, ...], given: np.dtype[Any], generator: Generator | None
) -> Value:
    """Whole numbers from low to before high."""
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    made = source(generator).integers(low, high, shape, np.uint64 if high > 2**63 else np.int64)
    return _array(made, given)


def bounds_of(
    call: str, given: tuple[Any, ...], low: Number, high: Number, count: int
) -> tuple[int, int, tuple[Any, ...]]:
    """`(high, ...)` or `(low, high, ...)` as low, high and what follows."""
    if low is not None and high is None and given:
        high, given = given[0], given[1:]
    elif high is None:
        split = count + 1
        if len(given) > split:
            low, high, given = given[0], given[1], given[2:]
        elif given:
            high, given = given[0], given[1:]
    low = 0 if low is None else low
    for bound in (low, high):
        if not hasattr(bound, "__index__"):
            raise TypeError(f"{call}(): expected whole numbers, got {type(bound).__name__}")
    return low.__index__(), high.__index__(), given
