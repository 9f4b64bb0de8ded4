"""Hypothesis at the first call, strategies of our own, and choices that shrink one by one.

Knows how Hypothesis draws and prints. Must not know arrays' domains or structures.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

T = TypeVar("T")
Draw = Callable[[Any], Any]

# So many choices are bytes that shrink one by one; those after them come from one seed. An
# example of Hypothesis may have 8 kB of choices, of all of its arguments together.
CODED = 256


@functools.cache
def hypothesis() -> Any:
    """The module; ImportError names the extra where it is missing."""
    try:
        import hypothesis.extra.numpy
        import hypothesis.strategies
        import hypothesis.vendor.pretty
    except ImportError as error:
        raise ImportError(
            "tapegrad.testing: its strategies need Hypothesis. Install tapegrad[test]."
        ) from error
    return hypothesis


def is_strategy(value: Any) -> bool:
    """Whether a value stands for what is drawn from it."""
    return isinstance(value, hypothesis().strategies.SearchStrategy)


def drawn(draw: Draw, value: Any) -> Any:
    """The value, or what is drawn from it if it is a strategy."""
    return draw(value) if is_strategy(value) else value


def strategy(name: str, make: Callable[[Draw], T]) -> SearchStrategy[T]:
    """The strategy whose values a function makes of what it draws."""

    def made(draw: Draw) -> T:
        return make(draw)

    made.__name__ = made.__qualname__ = name
    found: SearchStrategy[T] = hypothesis().strategies.composite(made)()
    return found


def codes(draw: Draw, count: int) -> bytes:
    """So many bytes: 0 is the simplest choice, towards which each shrinks by itself."""
    st = hypothesis().strategies
    if count <= CODED:
        return bytes(draw(st.binary(min_size=count, max_size=count))) if count else b""
    first = draw(st.binary(min_size=CODED, max_size=CODED))
    seed = draw(st.integers(0, 2**32 - 1))
    rest = count - CODED
    return bytes(first) + (np.random.default_rng(seed).bytes(rest) if seed else bytes(rest))


class Choices:
    """Bytes, read one decision after another. Past their end every choice is the simplest."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw
        self._at = 0

    @classmethod
    def drawn(cls, draw: Draw, count: int) -> Choices:
        """From so many bytes."""
        return cls(codes(draw, count))

    def below(self, count: int) -> int:
        """0 to count - 1; of more than 256, only some."""
        at, self._at = self._at, self._at + 1
        return self._raw[at] * count >> 8 if at < len(self._raw) else 0

    def between(self, low: int, high: int) -> int:
        """From low to high, both among them."""
        return low + self.below(high - low + 1)

    def flag(self) -> bool:
        """False or True."""
        return self.below(2) == 1

    def among(self, options: Sequence[T]) -> T:
        """One of these; the first is the simplest."""
        return options[self.below(len(options))]

    def ordered(self, options: Sequence[T]) -> list[T]:
        """All of these, in any order; theirs is the simplest."""
        left = list(options)
        return [left.pop(self.below(len(left))) for _ in range(len(left))]


def noted(value: T, source: Callable[[], str]) -> T:
    """The value, which Hypothesis prints as this source where it belongs to a failing example.

    The table of printers is no documented part of Hypothesis: without it, the repr is printed.
    """
    try:
        context = hypothesis().control.current_build_context()
        key = hypothesis().vendor.pretty.IDKey(value)

        def printer(_value: Any, page: Any, _cycle: bool, _kept: Any = value) -> None:
            page.text(source())

        context.known_object_printers[key] = [printer]
    except Exception:  # noqa: BLE001, S110
        pass
    return value


def source_of(value: Any) -> str:
    """Text that Hypothesis would print for a value that was drawn in this example."""
    try:
        context = hypothesis().control.current_build_context()
        page = hypothesis().vendor.pretty.RepresentationPrinter(context=context)
        page.pretty(value)
        return str(page.getvalue())
    except Exception:  # noqa: BLE001
        return repr(value)
