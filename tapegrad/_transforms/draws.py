"""Random generators that a function can draw from, and whether it has drawn from one.

Knows NumPy's generators and where a Python function keeps what it refers to. Must not know
transforms.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import types
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from tapegrad._errors import BatchingError


def _generators(*, load: bool) -> tuple[type, ...]:
    """The types of NumPy's generators; none unless numpy.random is loaded, as loading is slow."""
    random: Any = np.random if load else sys.modules.get("numpy.random")
    return () if random is None else (random.Generator, random.RandomState, random.BitGenerator)


class RandomnessCheck:
    """The generators that a function can reach, and their states before it runs."""

    def __init__(self, f: Callable[..., Any], arguments: Iterable[Any]) -> None:
        while hasattr(f, "__wrapped__"):
            f = f.__wrapped__
        code = getattr(f, "__code__", None)
        names = frozenset() if code is None else _names_in(code)
        kinds = _generators(load="random" in names)
        found = [x for x in arguments if isinstance(x, kinds)]
        if code is not None:
            for cell in getattr(f, "__closure__", None) or ():
                with contextlib.suppress(ValueError):  # it is not bound yet
                    if isinstance(cell.cell_contents, kinds):
                        found.append(cell.cell_contents)
            known = getattr(f, "__globals__", {})
            found += [known[n] for n in names if isinstance(known.get(n), kinds)]
            if "random" in names:  # np.random.normal() and the like
                found.append(_global_generator())
        self.before = [(x, _state_of(x)) for x in found]

    def drew(self) -> bool:
        """Whether one of the generators has another state than before."""
        return any(_state_of(x) != before for x, before in self.before)

    def refuse(self, call: str) -> None:
        """Raise BatchingError if the function has drawn from a generator."""
        if self.drew():
            raise BatchingError(
                f"{call}: a random generator was drawn from, once for all examples. Pass each "
                'example its own numbers as an argument; randomness="same" if all shall share '
                "them."
            )


def kept_states(f: Callable[..., Any], arguments: Iterable[Any]) -> Callable[[], None]:
    """A function that puts the generators that f can reach back to their present states.

    Python's global generator is among them, and NumPy's if numpy.random is loaded.
    """
    found = [x for x, _ in RandomnessCheck(f, arguments).before]
    if "numpy.random" in sys.modules:
        found.append(_global_generator())
    kept: list[tuple[Callable[[Any], None], Any]] = []
    for generator in found:
        if isinstance(generator, np.random.RandomState):
            kept.append((generator.set_state, generator.get_state(legacy=False)))
        else:
            from copy import deepcopy  # a millisecond, which few programs need

            bits: Any = getattr(generator, "bit_generator", generator)
            kept.append((partial(setattr, bits, "state"), deepcopy(bits.state)))
    own = sys.modules.get("random")
    if own is not None:
        kept.append((own.setstate, own.getstate()))

    def restore() -> None:
        for put, state in kept:
            put(state)

    return restore


@functools.cache
def _names_in(code: types.CodeType) -> frozenset[str]:
    """The global names and attributes in a function's code, inner functions included."""
    inner = [part for part in code.co_consts if isinstance(part, types.CodeType)]
    return frozenset(code.co_names).union(*map(_names_in, inner))


def _global_generator() -> Any:
    """Owner of `np.random.normal`: it keeps a number that its bit generator knows not of.

    Normal numbers are drawn in pairs, and the second of a pair leaves the bits as they are.
    """
    random: Any = np.random
    return random.normal.__self__


def _state_of(generator: Any) -> str:
    if isinstance(generator, np.random.RandomState):
        return repr(generator.get_state(legacy=False))
    return repr(getattr(generator, "bit_generator", generator).state)


__all__ = ["RandomnessCheck", "kept_states"]
