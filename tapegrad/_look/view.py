"""`TapeView`: the tape of one run of a function, to look at; and `tape`, which makes it.

Must not know how a run is watched, or how pages and pictures are drawn.
"""

from __future__ import annotations

import csv
import importlib
import io
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from operator import attrgetter
from os import PathLike
from pathlib import Path
from typing import Any, Literal, overload

from tapegrad._core.types import Function, Tree
from tapegrad._errors import InputError, message, name_of
from tapegrad._look import pictures, tables
from tapegrad._look.rows import Row
from tapegrad._look.runs import Run
from tapegrad._transforms.tracebacks import folding

SHOWN = 5000  # rows of a tape whose page goes into a notebook; each adds some 10 bytes to it
By = Literal["operation", "line", "function"]


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one operation, line or function together.

    Attributes
    ----------
    name : str
        Of the operation, line or function.
    calls : int
        How many rows there are.
    bytes : int
        What the replay keeps of them.
    forward, backward : float or None
        Seconds, None if unknown.
    """

    name: str
    calls: int
    bytes: int
    forward: float | None
    backward: float | None


class Summary(Sequence[Group]):
    """Groups of rows, the dearest first; printed as a table."""

    def __init__(self, by: str, groups: list[Group]) -> None:
        self.by, self._groups = by, groups

    @overload
    def __getitem__(self, at: int) -> Group: ...
    @overload
    def __getitem__(self, at: slice) -> list[Group]: ...
    def __getitem__(self, at: int | slice) -> Group | list[Group]:
        return self._groups[at]

    def __len__(self) -> int:
        return len(self._groups)

    def _cells(self) -> tuple[list[str], list[Sequence[str]], list[bool]]:
        """The titles, the rows in words, and which columns are to the right."""
        timed = any(g.forward is not None or g.backward is not None for g in self)
        titles = [self.by, "calls", "bytes", *(("forward", "backward") if timed else ())]

        def words(g: Group) -> list[str]:
            times = (tables.seconds(g.forward), tables.seconds(g.backward)) if timed else ()
            return [tables.clipped(g.name), str(g.calls), tables.size(g.bytes), *times]

        right = [False, *[True] * (len(titles) - 1)]
        return titles, tables.shortened(self._groups, words=words), right

    def __str__(self) -> str:
        titles, rows, right = self._cells()
        return tables.table(titles, rows, right=right, width=tables.terminal())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        titles, rows, right = self._cells()
        return tables.table_html(titles, rows, right=right)


class TapeView:
    """The tape of one run of a function: its rows, in order of time. `tapegrad.tape` makes it.

    Its length and iteration are those of its rows, `view[slot]` is the row of a slot, and it
    prints as a table. It keeps no values but the arguments, for `run`: a view is small.

    Attributes
    ----------
    title : str
        The function's name.
    rows : list of Row
        Inputs first, then operations.
    outputs : dict
        The slots of the results by their paths, `{"output['loss']": 7}`; None for a constant.

    See Also
    --------
    tape : Makes it.

    Examples
    --------
    >>> import numpy as np, tapegrad
    >>> view = tapegrad.tape(lambda x: np.sum(x * x), np.ones(2))
    >>> view, view[1].operation, list(view.outputs)
    (<tape of <lambda>: 3 rows>, 'np.multiply', ['output'])
    """

    def __init__(
        self,
        title: str,
        rows: Sequence[Row],
        run_again: Callable[..., list[Row]] | None = None,
        outputs: Mapping[str, int | None] | None = None,
    ) -> None:
        self.title = title
        self.rows = list(rows)
        self.outputs: dict[str, int | None] = dict(outputs or {})
        self._run_again = run_again

    @property
    def replayed(self) -> bool:
        """Whether the times and norms of a replay are there (`run`)."""
        return any(row.backward is not None for row in self.rows)

    @folding
    def run(self, cotangent: Tree | None = None) -> TapeView:
        """Run the function again, and its replay backward, with times and norms.

        Parameters
        ----------
        cotangent : pytree, optional
            Of the function's result, in its containers; by default ones.

        Returns
        -------
        TapeView
            The view itself.

        Raises
        ------
        InputError
            Where the view is of a history, which has no function.

        Examples
        --------
        >>> import numpy as np, tapegrad
        >>> view = tapegrad.tape(lambda x: np.sum(x * x), np.ones(2)).run()
        >>> [round(row.norm, 6) for row in view.rows]
        [2.828427, 1.414214, 1.0]
        """
        if self._run_again is None:
            raise InputError("TapeView.run: expected a view of a function, got one of a history.")
        self.rows = self._run_again(cotangent)
        return self

    def summary(self, by: By = "operation") -> Summary:
        """Calls, bytes and times in groups of rows.

        Parameters
        ----------
        by : {"operation", "line", "function"}, default "operation"
            What a group is: an operation, a line or a function of the user. What a transform does
            after the program has no line: `(none)`.

        Returns
        -------
        Summary
            A sequence of groups, the dearest first, which prints as a table.

        Raises
        ------
        InputError
            For another `by`.

        Examples
        --------
        >>> import numpy as np, tapegrad
        >>> print(tapegrad.tape(lambda x: np.sum(np.sin(x) * np.sin(2 * x)), np.ones(3)).summary())
        operation    calls  bytes
        -----------  -----  -----
        np.sin           2   48 B
        np.multiply      2   24 B
        np.sum           1
        """
        if by not in ("operation", "line", "function"):
            known = "'operation', 'line' or 'function'"
            raise InputError(message("summary(by=...)", known, repr(by), "Pass one of them"))
        groups: dict[str, list[Row]] = {}
        for row in self.rows:
            if row.operation != "input":
                groups.setdefault(getattr(row, by) or "(none)", []).append(row)
        found = [
            Group(
                name,
                len(rows),
                sum(row.bytes for row in rows),
                _sum(row.forward for row in rows),
                _sum(row.backward for row in rows),
            )
            for name, rows in groups.items()
        ]
        found.sort(
            key=lambda g: (-((g.forward or 0) + (g.backward or 0)), -g.calls, -g.bytes, g.name)
        )
        return Summary(by, found)

    def table(self, limit: int | None = tables.LIMIT, width: int | None = None) -> str:
        """The rows as text.

        Parameters
        ----------
        limit : int or None, default 60
            Of more rows, the first and the last are shown. None: all.
        width : int, optional
            The most characters of a line, to which long texts are clipped; `print` takes that of
            the terminal.

        Returns
        -------
        str
            The table. Results that are inputs or constants stand below.

        Examples
        --------
        >>> import numpy as np, tapegrad
        >>> text = tapegrad.tape(lambda x: (2 * x, x, 1.0), 3.0).table()
        >>> print(text.splitlines()[-1])
        output[1] is slot 0, output[2] is a constant.
        """
        timed = [
            way
            for way in ("forward", "backward")
            if any(getattr(row, way) is not None for row in self.rows)
        ]
        titles = ["slot", "operation", "reads", "result", "bytes", "line", *timed]

        def words(row: Row) -> list[str]:
            times = [tables.seconds(getattr(row, way)) for way in timed]
            texts = f"{row.operation} {row.name}".rstrip(), tables.listed(row.reads), row.kind
            kept = tables.size(row.bytes), tables.clipped(row.line)
            return [str(row.slot), *map(tables.clipped, texts), *kept, *times]

        right = [True, False, False, False, True, False, True, True][: len(titles)]
        text = tables.table(
            titles, tables.shortened(self.rows, limit, words), right=right, width=width
        )
        others = self._other_outputs()
        return f"{text}\n{others}" if others else text

    def _other_outputs(self) -> str:
        """The results that no row has as its name, in a sentence."""
        shown = {row.name for row in self.rows if row.operation != "input"}
        left = [(path, slot) for path, slot in self.outputs.items() if path not in shown]
        said = [
            f"{path} is {'a constant' if slot is None else f'slot {slot}'}" for path, slot in left
        ]
        return f"{tables.listed(said)}." if said else ""

    # -- files ------------------------------------------------------------------------------------

    def _boxes(self) -> list[pictures.Box]:
        return [
            pictures.Box(row.slot, f"{row.operation} {row.name}".rstrip(), row.reads, row.kind)
            for row in self.rows
        ]

    def to_svg(self, limit: int = pictures.LIMIT) -> str:
        """A picture: time runs downwards.

        Parameters
        ----------
        limit : int, default 200
            The most rows that are drawn; a longer tape shows both its ends.

        Returns
        -------
        str
            Text of SVG.

        Examples
        --------
        >>> import numpy as np, tapegrad
        >>> tapegrad.tape(np.sum, np.ones(2)).to_svg().startswith("<svg ")
        True
        """
        return pictures.render_svg(self._boxes(), self.title, limit=limit)

    def to_dot(self, limit: int = pictures.LIMIT) -> str:
        """A graph in Graphviz's language.

        Parameters
        ----------
        limit : int, default 200
            The most rows that are drawn.

        Returns
        -------
        str
            Text of DOT.
        """
        return pictures.render_dot(self._boxes(), self.title, limit=limit)

    def to_mermaid(self, limit: int = pictures.LIMIT) -> str:
        """A flowchart in Mermaid's language, which many Markdown viewers draw.

        Parameters
        ----------
        limit : int, default 200
            The most rows that are drawn.

        Returns
        -------
        str
            Text of Mermaid.
        """
        return pictures.render_mermaid(self._boxes(), self.title, limit=limit)

    def to_html(self) -> str:
        """A page in one file that loads nothing: to open in a browser.

        It shows all rows, however many: folded by calls and loops, to zoom and to search. With the
        replay (`run`) it shows the norms of the cotangents, step by step.

        Returns
        -------
        str
            Text of HTML.

        Examples
        --------
        >>> import numpy as np, tapegrad
        >>> tapegrad.tape(np.sum, np.ones(2)).to_html().startswith("<!doctype html>")
        True
        """
        from tapegrad._look.page import render

        return render(self.title, self.rows)

    def save(self, path: str | PathLike[str]) -> None:
        """Write a file in the format that its name ends in.

        Parameters
        ----------
        path : str or PathLike
            A name that ends in .html, .svg, .dot, .mmd, .txt or .csv.

        Raises
        ------
        InputError
            For another ending.
        """
        path = Path(path)
        render = FORMATS.get(path.suffix.lower())
        if render is None:
            known = ", ".join(FORMATS)
            raise InputError(
                message(
                    "save(path)", f"a name that ends in {known}", repr(path.name), "Choose one"
                )
            )
        path.write_text(render(self), encoding="utf-8")

    def to_pandas(self) -> Any:
        """The rows as a pandas DataFrame, indexed by slot.

        Returns
        -------
        pandas.DataFrame
            A column for each attribute of a row.

        Raises
        ------
        ImportError
            Where pandas is missing.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise ImportError("to_pandas: expected pandas, which is not installed.") from error
        names = [field.name for field in fields(Row) if field.name not in ("slot", "site")]
        names += ["line", "function"]
        return pandas.DataFrame(
            [[getattr(row, name) for name in names] for row in self.rows],
            columns=names,
            index=pandas.Index([row.slot for row in self.rows], name="slot"),
        )

    def _repr_html_(self) -> str | None:
        """The page in a frame of its own; of a long tape, a notebook shows the picture."""
        from tapegrad._look.page import frame

        count = len(self.rows)
        return frame(self.to_html(), self.title, count) if count <= SHOWN else None

    def _repr_svg_(self) -> str:
        return self.to_svg()

    def __str__(self) -> str:
        return self.table(width=tables.terminal())

    def __repr__(self) -> str:
        return f"<tape of {self.title}: {len(self.rows):,} rows>"

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self.rows)

    def __getitem__(self, slot: int) -> Row:
        """The row of a slot."""
        place = bisect_left(self.rows, slot, key=attrgetter("slot"))
        if place == len(self.rows) or self.rows[place].slot != slot:
            raise KeyError(slot)
        return self.rows[place]


def _csv(view: TapeView) -> str:
    """The rows as comma-separated values, with a line of titles."""
    names = [
        *("slot", "operation", "reads", "shape", "dtype", "name", "line", "function"),
        *("bytes", "forward", "backward", "norm"),
    ]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in view.rows:
        values = [getattr(row, name) for name in names]
        writer.writerow([" ".join(map(str, v)) if type(v) is tuple else v for v in values])
    return out.getvalue()


FORMATS: dict[str, Callable[[TapeView], str]] = {
    ".html": TapeView.to_html,
    ".svg": TapeView.to_svg,
    ".dot": TapeView.to_dot,
    ".mmd": TapeView.to_mermaid,
    ".txt": lambda view: view.table(None) + "\n",
    ".csv": _csv,
}


def _sum(times: Iterator[float | None]) -> float | None:
    known = [time for time in times if time is not None]
    return sum(known) if known else None


@folding
def tape(f: Function, *args: Tree, profile: bool = False, **kwargs: Any) -> TapeView:
    """Run `f(*args, **kwargs)` once on a tape, and return the tape to look at.

    Parameters
    ----------
    f : callable
        Any function; it may return anything. Of a transform (`grad(f)`) the tape has the
        operations of the replay too, at the lines of the calls that they are of.
    *args : pytree
        The arguments of f. All floating and complex arrays and numbers in them are traced, in
        whatever containers they are; the rest is passed as it is.
    profile : bool, default False
        Whether the run is timed and replayed backward, as by `TapeView.run()`.
    **kwargs : pytree
        Keyword arguments of f, likewise.

    Returns
    -------
    TapeView
        The tape, which prints as a table and can be saved as a page.

    Raises
    ------
    InputError
        Where no argument can be traced.

    See Also
    --------
    profile : Where the time goes.
    memory_report : What the replay keeps.

    Examples
    --------
    >>> import numpy as np
    >>> def loss(parameters, x):
    ...     return np.sum((x @ parameters["w"] + parameters["b"]) ** 2)
    >>> view = tape(loss, {"w": np.ones(3), "b": 0.5}, np.eye(3))
    >>> for row in view:
    ...     print(row.slot, row.operation, row.reads, row.kind, row.name or "-")
    0 input () float64[3] parameters['w']
    1 input () float64 scalar parameters['b']
    2 input () float64[3,3] x
    3 np.matmul (2, 0) float64[3] -
    4 np.add (3, 1) float64[3] -
    5 np.square (4,) float64[3] -
    6 np.sum (5,) float64 scalar output
    """

    def run(cotangent: Tree | None, *, timed: bool) -> list[Row]:
        made = Run(f, args, kwargs, timed=timed)
        if timed:
            made.replay(cotangent)
        view.outputs = made.places_of_outputs
        return made.rows()

    view = TapeView(name_of(f), (), partial(run, timed=True))
    view.rows = run(None, timed=profile)
    return view


__all__ = ["FORMATS", "Group", "Summary", "TapeView", "tape"]
