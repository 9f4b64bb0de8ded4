"""Statements of a drawn program, and the choices that they are drawn from.

Knows variables with the values that they have at the program's arguments. Must not know which
operations there are, nor how a program is put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.types import Value

LARGEST = 64  # elements of an array in a program
SMOOTH = 0.02  # how far from a kink the operands have to be
CONSTANTS = ("0.5", "2.0", "-1.0", "0.3", "1.5", "-0.7", "3.0", "0.25")


class InapplicableError(Exception):
    """No variable fits the operation, or the result would be of no use: it is left out."""


class Variable(NamedTuple):
    """A variable of the program, its value, and whose memory it shows."""

    name: str
    value: Value
    group: int  # variables of one group share memory; those of arguments are negative


class Draft(NamedTuple):
    """A statement that may be appended to the program.

    `text` is an expression, or lines with `{out}` for the variable that they assign.
    """

    text: str
    margin: float = np.inf  # how far the operands are from a kink
    writes: str | None = None  # the variable that is written to; the statement assigns none
    reads: tuple[str, ...] = ()
    helpers: tuple[str, ...] = ()
    several_lines: bool = False


Test = Callable[[Any], bool]


class Chooser:
    """Chooses variables and numbers for one statement, by a row of whole numbers.

    The same row chooses the same from the same variables; zeros choose what is simplest.
    """

    def __init__(
        self,
        variables: Sequence[Variable],
        row: Sequence[int],
        new: Callable[[Test], Variable | None] | None = None,
    ) -> None:
        self.variables = variables
        self._new = new  # makes one more argument, if one may be made that fits
        self._row: Iterator[int] = iter(row)
        self.read: list[str] = []
        self.values = {variable.name: variable.value for variable in variables}

    def number(self, count: int) -> int:
        """A whole number below `count`."""
        if count < 1:
            raise InapplicableError
        return next(self._row, 0) % count

    def one_of(self, options: Sequence[Any]) -> Any:
        return options[self.number(len(options))]

    def constant(self) -> str:
        return str(self.one_of(CONSTANTS))

    def pick(self, fits: Test | None = None) -> str:
        """The name of a variable that fits."""
        found = [v.name for v in self.variables if fits is None or fits(v.value)]
        at = self.number(len(found) + (self._new is not None))
        name = found[at] if at < len(found) else self._made(fits, found)
        if name not in self.read:
            self.read.append(name)
        return name

    def _made(self, fits: Test | None, found: Sequence[str]) -> str:
        """The name of a new argument that fits; of a variable that does, where there is none."""
        made = self._new(fits or (lambda _: True)) if self._new else None
        if made is None:
            if not found:
                raise InapplicableError
            return found[0]
        self.values[made.name] = made.value
        return made.name

    def array(self, fits: Test | None = None, *, least: int = 1) -> str:
        """A real array with elements and at least some dimensions."""
        return self.pick(
            lambda x: is_real(x) and x.ndim >= least and x.size > 0 and (not fits or fits(x))
        )

    def fresh(self) -> str | None:
        """An array that may be written to: not an argument's; None if there is none."""
        found = [
            v
            for v in self.variables
            if v.group >= 0
            and type(v.value) is np.ndarray
            and v.value.ndim
            and v.value.size
            and v.value.flags.writeable
        ]
        if not found:
            return None
        name = found[self.number(len(found))].name
        self.read.append(name)
        return name

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


class Operation(NamedTuple):
    """One kind of statement: its name, and what makes it of the choices."""

    name: str
    draft: Callable[[Chooser], Draft]
    kind: str = "plain"  # or "kink", "write", "nested", "branch"


def is_real(x: Value) -> bool:
    return bool(x.dtype.kind == "f")


def is_matrix(x: Value) -> bool:
    return bool(x.ndim == 2 and x.size)


def is_square(x: Value) -> bool:
    return is_matrix(x) and x.shape[0] == x.shape[1]


def fits_with(x: Value) -> Test:
    """Whether another array broadcasts with this one."""

    def fits(y: Value) -> bool:
        try:
            shape = np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            return False
        return bool(np.prod(shape, dtype=int) <= LARGEST)

    return fits


def gap(x: Value, axis: int | None = -1) -> float:
    """The smallest distance of two elements along an axis."""
    if axis is None:
        x, axis = np.ravel(x), 0
    if not x.ndim or x.shape[axis] < 2:
        return float(np.inf)
    distances = np.diff(np.sort(x, axis), axis=axis)
    return float(np.min(distances)) if distances.size else float(np.inf)


def nearest(x: Value) -> float:
    """The smallest modulus of the elements."""
    return float(np.min(np.abs(x))) if np.size(x) else float(np.inf)
