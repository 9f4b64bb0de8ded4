"""Subscripts of np.einsum with operands that fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tapegrad.testing._strategies.arrays import arrays
from tapegrad.testing._strategies.asking import (
    Shape,
    asked_between,
    asked_count,
    asked_dtype,
    refuse,
)
from tapegrad.testing._strategies.drawing import (
    Choices,
    Draw,
    drawn,
    is_strategy,
    noted,
    source_of,
)
from tapegrad.testing._strategies.drawing import strategy as strategy_of

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

_LETTERS = "ijklmn"


class Einsum(NamedTuple):
    """Subscripts with the operands that they are of, drawn by `einsums`.

    Parameters
    ----------
    subscripts : str
        What `np.einsum` takes first.
    operands : tuple of numpy.ndarray
        What it takes next: `np.einsum(subscripts, *operands)`.

    Examples
    --------
    >>> subscripts, operands = Einsum("ij,j->i", (np.ones((2, 3)), np.ones(3)))
    >>> np.einsum(subscripts, *operands)
    array([3., 3.])
    """

    subscripts: str
    operands: tuple[Any, ...]


def einsums(
    dtype: Any = np.float64,
    min_operands: int = 1,
    max_operands: int = 3,
    *,
    max_dims: int = 3,
    min_side: int = 1,
    max_side: int = 3,
    ellipsis: bool = True,
    repeated: bool = True,
    broadcast: bool = True,
    implicit: bool = True,
) -> SearchStrategy[tuple[str, tuple[Any, ...]]]:
    """A strategy for einsums: named tuples `(subscripts, operands)` that np.einsum takes.

    Operands are drawn as `arrays` of distinct elements. Some subscripts have blanks between their
    parts.

    Parameters
    ----------
    dtype : dtype or SearchStrategy of such, default float64
        Floating or complex.
    min_operands, max_operands : int, default 1 and 3
        The fewest, 1 or more, and the most operands.
    max_dims : int, default 3
        The most labels of an operand, 6 at most.
    min_side, max_side : int, default 1 and 3
        The least and the largest side. `min_side=0` draws empty operands too: NumPy 2.4's einsum
        may write past the end of its result for them.
    ellipsis : bool, default True
        Whether "..." is among them, for axes that broadcast.
    repeated : bool, default True
        Whether a label may stand twice in one operand, which is a diagonal.
    broadcast : bool, default True
        Whether sides of 1 may stand beside longer ones of the same label.
    implicit : bool, default True
        Whether subscripts without "->" are among them, whose result has the labels that stand
        once, in the order of the alphabet.

    Returns
    -------
    SearchStrategy of Einsum
        The subscripts with their operands.

    Raises
    ------
    InputError
        If bounds are not integers in order, or the dtype is another.

    Examples
    --------
    >>> from hypothesis import given
    >>> @given(einsums(max_operands=2))
    ... def check(drawn):
    ...     subscripts, operands = drawn
    ...     np.einsum(subscripts, *operands)
    >>> check()
    """
    asked_count("einsums", "min_operands", min_operands, 1)
    asked_between("einsums", "min_operands", min_operands, "max_operands", max_operands)
    asked_count("einsums", "max_dims", max_dims, 0, len(_LETTERS))
    asked_between("einsums", "min_side", min_side, "max_side", max_side)
    flags = {
        "ellipsis": ellipsis,
        "repeated": repeated,
        "broadcast": broadcast,
        "implicit": implicit,
    }
    for name, value in flags.items():
        if not isinstance(value, bool):
            refuse("einsums", f"True or False for {name}", repr(value), "Pass one of them")
    if not is_strategy(dtype):
        dtype = asked_dtype("einsums", dtype)

    def make(draw: Draw) -> Einsum:
        choices = Choices.drawn(draw, 20 + (3 * max_dims + 6) * max_operands)
        count = choices.between(min_operands, max_operands)
        drawing = Subscripts(choices, max_dims, (min_side, max_side), flags)
        terms = [drawing.term() for _ in range(count)]
        text = drawing.text([labels for labels, _ in terms])
        kind = drawn(draw, dtype)
        operands = tuple(
            draw(arrays(kind, shape, phase=0.1 + 0.8 * k / count))
            for k, (_, shape) in enumerate(terms)
        )
        return noted_einsum(Einsum(text, operands))

    return strategy_of("einsums", make)


def noted_einsum(made: Einsum) -> Einsum:
    """The named tuple, printed as a pair to paste."""

    def source() -> str:
        operands = "".join(f"{source_of(x)}, " for x in made.operands)
        return f"({made.subscripts!r}, ({operands.strip()}))"

    return noted(made, source)


class Subscripts:
    """The subscripts of one einsum while they are drawn."""

    def __init__(
        self, choices: Choices, dims: int, sides: tuple[int, int], flags: dict[str, bool]
    ) -> None:
        self.choices = choices
        self.dims = dims
        self.flags = flags
        self.sides = {letter: choices.between(*sides) for letter in _LETTERS}
        self.beyond: Shape = ()  # what an ellipsis stands for, at most
        if flags["ellipsis"] and dims and choices.below(3) == 2:
            self.beyond = tuple(choices.between(*sides) for _ in range(choices.between(1, 2)))

    def term(self) -> tuple[str, Shape]:
        """The labels of an operand, and its shape."""
        few = _LETTERS[: max(2, self.dims)]
        count = self.choices.between(0, self.dims)
        labels: list[str] = []
        for _ in range(count):
            free = few if self.flags["repeated"] else [x for x in few if x not in labels]
            labels.append(self.choices.among(free))
        # A label stands for one side within an operand; another operand may have 1 instead.
        narrow = {x for x in dict.fromkeys(labels) if self.is_narrow()}
        shape = [1 if label in narrow else self.sides[label] for label in labels]
        if not self.beyond or self.choices.flag():
            return "".join(labels), tuple(shape)
        at = self.choices.between(0, len(labels))
        beyond = [
            1 if self.is_narrow() else side
            for side in self.beyond[self.choices.between(0, len(self.beyond)) :]
        ]
        shape[at:at] = beyond
        return "".join([*labels[:at], "...", *labels[at:]]), tuple(shape)

    def is_narrow(self) -> bool:
        return self.flags["broadcast"] and self.choices.below(6) == 5

    def text(self, terms: list[str]) -> str:
        comma = self.choices.among([",", ",", ", "])
        left = comma.join(terms)
        if self.flags["implicit"] and self.choices.below(4) == 3:
            return left
        dots = "..." if any("..." in term for term in terms) else ""
        used = dict.fromkeys(letter for term in terms for letter in term if letter != ".")
        kept = self.choices.ordered([label for label in used if not self.choices.flag()])
        at = self.choices.between(0, len(kept)) if dots else 0
        arrow = "->" if comma == "," else " -> "
        return left + arrow + "".join([*kept[:at], dots, *kept[at:]])
