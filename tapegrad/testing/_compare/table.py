"""Result of `compare`: a row for each library, as text and as HTML.

Knows how numbers are written. Must not know libraries.
"""

from __future__ import annotations

import html
from typing import Any, NamedTuple

import numpy as np

from tapegrad._look.tables import seconds, table
from tapegrad._tree import Structure, unflatten

TITLES = ("library", "value", "gradient", "value error", "gradient error", "time", "ratio", "note")
RIGHT = (False, False, False, True, True, True, True, False)


class Row(NamedTuple):
    """Result of one library.

    Parameters
    ----------
    name : str
        The library's name.
    value : array or tuple of array, optional
        The function's results as NumPy arrays, a tuple of leaves where there are several.
    gradient : pytree, optional
        In the structure of the arguments, or of the only one, with None for what is not
        differentiated.
    value_error, error : float, optional
        The largest difference of value and gradient from the reference by its largest element.
    time : float, optional
        Seconds for value and gradient, the median.
    ratio : float, optional
        That by tapegrad's.
    agrees : bool, optional
        Whether both errors are what rounding and the reference may do.
    note : str, default ""
        Why there is nothing, or how it was run.
    """

    name: str
    value: Any = None
    gradient: Any = None
    value_error: float | None = None
    error: float | None = None
    time: float | None = None
    ratio: float | None = None
    agrees: bool | None = None
    note: str = ""


class Comparison:
    """A table of libraries, as `compare` returns it.

    Parameters
    ----------
    name : str
        The call, as the title names it.
    rows : list of Row
        What each library gave.
    reference : Reference
        The measured slopes: its `error` and `words` are kept.

    Attributes
    ----------
    rows : tuple of Row
        In the order in which the libraries ran. A row has `name`, `value`, `gradient`,
        `value_error`, `error`, `time`, `ratio`, `agrees` and `note`.
    reference_error : float
        What the measured slopes may be off by, relative to the largest.
    words : set of str
        What was seen along the directions: "smooth", or also "kink", "jump", "noisy".

    See Also
    --------
    compare : Makes it.

    Examples
    --------
    >>> from tapegrad.testing import compare
    >>> found = compare(np.sin, (1.0,), "finite differences", timing=False)
    >>> found.agree
    True
    """

    def __init__(self, name: str, rows: list[Row], reference: Any) -> None:
        self.name = name
        self.rows: tuple[Row, ...] = tuple(rows)
        self.reference_error: float = reference.error
        self.words: set[str] = reference.words

    @property
    def agree(self) -> bool:
        """Whether no library that ran differs from the reference."""
        return all(row.agrees is not False for row in self.rows)

    def row(self, name: str) -> Row:
        """Return the row of one library.

        Parameters
        ----------
        name : str
            As in `with_` of `compare`, or "tapegrad".

        Returns
        -------
        Row
            What it gave.

        Raises
        ------
        StopIteration
            If it was not asked for.
        """
        return next(row for row in self.rows if row.name == name)

    def __str__(self) -> str:
        return f"{self._title()}\n{table(TITLES, self._cells(), right=RIGHT)}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The table for a notebook."""
        head = "".join(f"<th>{html.escape(title)}</th>" for title in TITLES)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"
            for cells in self._cells()
        )
        title = html.escape(self._title())
        return f"<p>{title}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"

    def _title(self) -> str:
        seen = sorted(self.words - {"smooth"})
        places = f"; along the directions there is a {', a '.join(seen)}" if seen else ""
        return (
            f"{self.name}: errors are relative to the largest element; "
            f"the reference may be off by {self.reference_error:.1e}{places}"
        )

    def _cells(self) -> list[tuple[str, ...]]:
        return [
            (
                row.name,
                short(row.value),
                short(row.gradient),
                _number(row.value_error),
                _number(row.error),
                seconds(row.time),
                "" if row.ratio is None else f"{row.ratio:.2f}",
                "; ".join(filter(None, ("differs" * (row.agrees is False), row.note))),
            )
            for row in self.rows
        ]


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1e}"


def short(found: Any) -> str:
    """A value in a few characters."""
    if found is None:
        return ""
    with np.printoptions(precision=4, threshold=4, edgeitems=1):
        text = " ".join(str(found).replace("array", "").split())
    return text if len(text) <= 32 else f"{text[:29]}..."


def structured(leaves: list[Any], places: list[int], number: int, structure: Structure) -> Any:
    """Gradients in the structure of the arguments, or of the only argument."""
    given: list[Any] = [None] * number
    for place, leaf in zip(places, leaves, strict=True):
        given[place] = leaf
    args = unflatten(structure, iter(given))
    return args[0] if len(args) == 1 else args
