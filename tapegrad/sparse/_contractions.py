"""Products as sums over index letters: what a product's elements are made from.

Knows subscripts as in np.einsum. Must not know tapes or sets.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from string import ascii_lowercase, ascii_uppercase
from typing import Any

import numpy as np

from tapegrad._core.types import Index, Params, Value

PAIRS = 5 * 10**7  # products of two elements up to which each is looked at


def _aligned(x: int, y: int, cores: tuple[str, str, str]) -> str:
    """Subscripts with the core letters after those of the axes that broadcast."""
    x_rest, y_rest = x - len(cores[0]), y - len(cores[1])
    loop = ascii_uppercase[: max(x_rest, y_rest)]
    x_loop, y_loop = loop[len(loop) - x_rest :], loop[len(loop) - y_rest :]
    return f"{x_loop}{cores[0]},{y_loop}{cores[1]}->{loop}{cores[2]}"


def _matmul(x: int, y: int, **_: Any) -> str:
    rows, columns = "m" if x > 1 else "", "n" if y > 1 else ""
    return _aligned(x, y, (f"{rows}k", f"k{columns}", rows + columns))


def _tensordot(x: int, y: int, axes: int | Sequence[Any] = 2, **_: Any) -> str:
    if isinstance(axes, (int, np.integer)):
        axes = (list(range(x - int(axes), x)), list(range(int(axes))))
    x_axes, y_axes = ([int(axis) for axis in np.atleast_1d(part)] for part in axes)
    left = list(ascii_lowercase[:x])
    right = list(ascii_uppercase[:y])
    for i, j in zip(x_axes, y_axes, strict=True):
        right[j] = left[i]
    both = set(left) & set(right)
    kept = [letter for letter in left + right if letter not in both]
    return f"{''.join(left)},{''.join(right)}->{''.join(kept)}"


def _dot(x: int, y: int, **_: Any) -> str:
    if not x or not y:
        return _tensordot(x, y, 0)
    return _tensordot(x, y, ([-1], [-2 if y > 1 else 0]))


def _inner(x: int, y: int, **_: Any) -> str:
    return _tensordot(x, y, ([-1], [-1])) if x and y else _tensordot(x, y, 0)


SUBSCRIPTS: dict[str, Callable[..., str]] = {
    "np.matmul": _matmul,
    "np.dot": _dot,
    "np.inner": _inner,
    "np.tensordot": _tensordot,
    "np.vecdot": lambda x, y, **_: _aligned(x, y, ("k", "k", "")),
    "np.matvec": lambda x, y, **_: _aligned(x, y, ("mk", "k", "m")),
    "np.vecmat": lambda x, y, **_: _aligned(x, y, ("k", "kn", "n")),
    "np.einsum": lambda *_ndims, subscripts, **_: subscripts,
}


def subscripts_of(name: str, arrays: Sequence[Value], params: Params) -> str | None:
    """The product as np.einsum writes it, or None for a function that is not known as one."""
    make = SUBSCRIPTS.get(name)
    return None if make is None else make(*(array.ndim for array in arrays), **params)


def _single(term: str, array: Value) -> tuple[str, Value]:
    """A term without repeated letters, and the diagonal that it means."""
    letters = "".join(dict.fromkeys(term))
    return letters, array if letters == term else np.einsum(f"{term}->{letters}", array)


def products(
    subscripts: str, labels: Value, position: int, masks: Sequence[Value]
) -> tuple[Index, Value] | None:
    """One operand's share in the elements of a product: (positions in the result, labels).

    `masks` has for each operand where it is not zero. None where there are too many products.
    """
    given, _, result = subscripts.partition("->")
    terms = given.split(",")
    term, labels = _single(terms[position], labels)
    others = [_single(terms[at], mask) for at, mask in enumerate(masks) if at != position]
    sizes = dict(zip(term, labels.shape, strict=True))
    for letters, mask in others:
        for letter, size in zip(letters, mask.shape, strict=True):
            sizes[letter] = size if sizes.get(letter, 1) == 1 else sizes[letter]
    factor = "".join(dict.fromkeys("".join(letters for letters, _ in others)))
    if np.prod([float(sizes[letter]) for letter in factor]) > PAIRS:
        return None
    present = np.ones([sizes[letter] for letter in factor], bool)
    for letters, mask in others:
        present = present & _along(mask, letters, factor)
    free = [letter for letter in term if letter not in factor]
    counts = [sizes[letter] for letter in free]
    places = np.nonzero(present) if factor else ()
    first = places[0].size if factor else int(present)
    if float(first) * np.prod([float(n) for n in counts]) > PAIRS:
        return None
    steps: dict[str, Any] = {
        letter: place.reshape(-1, *[1] * len(free))
        for letter, place in zip(factor, places, strict=True)
    }
    for axis, (letter, n) in enumerate(zip(free, counts, strict=True)):
        steps[letter] = np.arange(n).reshape(
            1, *[-1 if i == axis else 1 for i in range(len(free))]
        )
    shape = (first, *counts)
    index = tuple(
        steps[letter] if n > 1 else np.zeros_like(steps[letter])
        for letter, n in zip(term, labels.shape, strict=True)
    )
    found = np.broadcast_to(labels[index], shape)
    target: Any = np.zeros(shape, np.int64)
    for letter in result:
        target = target * sizes[letter] + steps[letter]
    return target.reshape(-1), found.reshape(-1)


def _along(array: Value, letters: str, factor: str) -> Value:
    """An array with an axis for each letter of `factor`, of length 1 for those it has not."""
    order = sorted(letters, key=factor.index)
    ordered = np.transpose(array, [letters.index(letter) for letter in order])
    lengths = dict(zip(order, ordered.shape, strict=True))
    return ordered.reshape([lengths.get(letter, 1) for letter in factor])
