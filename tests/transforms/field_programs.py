"""How the programs of the folder `fields` are declared: each with the arguments it is run at."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Program(NamedTuple):
    """A program, its arguments (pytrees of floating arrays), and why it cannot be batched."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    unbatched: str | None


PROGRAMS: dict[str, Program] = {}


def program(*arguments, unbatched=None):
    """Register a program under its file and name; `unbatched` says what vmap refuses in it."""

    def declare(function):
        name = f"{function.__module__.removeprefix('fields.')}.{function.__name__}"
        assert name not in PROGRAMS
        PROGRAMS[name] = Program(function, arguments, unbatched)
        return function

    return declare


def normal(seed, *shape, scale=1.0, shift=0.0):
    """Numbers without structure: neither ties nor kinks are met at them."""
    return shift + scale * np.random.default_rng(seed).normal(size=shape)


def uniform(seed, *shape, low=0.0, high=1.0):
    return np.random.default_rng(seed).uniform(low, high, size=shape)
