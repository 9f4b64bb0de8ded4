"""`Program`: a drawn program, its source, and its lines where Python looks for them.

Knows how values are written as literals. Must not know how a program is drawn.
"""

from __future__ import annotations

import hashlib
import linecache
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import tapegrad
from tapegrad._core.types import Value
from tapegrad._errors import name_of
from tapegrad.testing._programs.called import HELPERS


class Statement(NamedTuple):
    """A statement of a program: its lines, what it assigns or writes to, and what it reads."""

    lines: tuple[str, ...]
    name: str | None
    writes: str | None
    reads: tuple[str, ...]
    helpers: tuple[str, ...]
    operation: str


class Made(NamedTuple):
    """Parts of a program: `shrink` takes them apart."""

    names: tuple[str, ...]  # of the arguments
    statements: tuple[Statement, ...]
    output: str  # "scalar" or "array"


class Program:
    """A program that was drawn: `program(*args)` calls it.

    Tracebacks, `tapegrad.tape` and the like show its lines as those of a file. Programs may be
    pickled, unless they call functions of a user's own that cannot be.

    Parameters
    ----------
    source : str
        Python to paste, which defines the function `f` and prints what it returns.
    args : sequence of array
        The arguments at which it was drawn, and where it is smooth unless kinks were asked for.
    operations : tuple of str, default ()
        The kinds of its statements, in order.
    given : dict, optional
        Functions of a user's own, by their names in the program.
    made : Made, optional
        The statements that `shrink` takes apart.

    See Also
    --------
    programs : Draws them.

    Examples
    --------
    >>> from hypothesis import find
    >>> from tapegrad.testing import programs
    >>> program = find(programs(4), lambda program: "np.tanh" in program.operations)
    >>> np.ndim(program(*program.args))
    0
    """

    def __init__(
        self,
        source: str,
        args: Sequence[Value],
        operations: tuple[str, ...] = (),
        given: dict[str, Any] | None = None,
        made: Made | None = None,
    ) -> None:
        self.source = source
        self.operations = operations
        self._args = tuple(args)
        # Functions of a user's own, by their names in the program.
        self.given: dict[str, Any] = given or {}
        self.made = made
        key = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()[:12]
        self.file: str = f"<program {key}>"
        self.__name__: str = f"program_{key}"
        self._function: Any = None
        self._lines: Any = None

    @property
    def args(self) -> tuple[Value, ...]:
        """Its arguments, new arrays each time."""
        return tuple(arg.copy() if isinstance(arg, np.ndarray) else arg for arg in self._args)

    @property
    def argnums(self) -> tuple[int, ...]:
        """The positions of the arguments that derivatives are taken by: not of whole numbers."""
        return tuple(at for at, arg in enumerate(self._args) if arg.dtype.kind in "fc")

    def args_at(self, seed: int, special: float | None = None) -> tuple[Value, ...]:
        """Return other arguments of the same shapes and dtypes: normal and whole numbers.

        Parameters
        ----------
        seed : int
            Of the random numbers.
        special : float, optional
            A zero, an infinity or a NaN, which is put at one element of each of floating dtype.
            There a program may be at a kink, outside of domains, or raise. LAPACK's decompositions
            of matrices with an infinity (np.linalg.svd) may not end.

        Returns
        -------
        tuple of array
            The arguments.
        """
        random = np.random.default_rng(seed)
        return tuple(_another(random, arg, special) for arg in self._args)

    @property
    def function(self) -> Any:
        """The function `f` of the source."""
        if self._function is None:
            lines = self.source.splitlines(keepends=True)
            linecache.cache[self.file] = (len(self.source), None, lines, self.file)
            space = space_of(self.given)
            # A given module is there; it need not be importable for the program to run.
            ready = {_import_of(*item) for item in self.given.items()}
            body = "".join("\n" if line.rstrip() in ready else line for line in lines)
            body = body[: body.rindex("\n\nprint(f(")]
            exec(compile(body, self.file, "exec"), space)  # noqa: S102
            self._function = space["f"]
        return self._function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)

    def __repr__(self) -> str:
        return self.source

    def __reduce__(self) -> Any:
        return Program, (self.source, self._args, self.operations, self.given, self.made)


def _another(random: np.random.Generator, arg: Value, special: float | None) -> Value:
    """An argument like this one, of other values."""
    if arg.dtype.kind == "i":
        return np.asarray(random.integers(0, 4, arg.shape)).astype(arg.dtype)[()]
    made = np.asarray(random.standard_normal(arg.shape))
    if arg.dtype.kind == "c":
        made = made + 1j * random.standard_normal(arg.shape)
    made = np.asarray(made).astype(arg.dtype)
    if special is not None and made.size:
        made.flat[random.integers(made.size)] = special
    return made if arg.ndim else made[()]


def space_of(given: dict[str, Any]) -> dict[str, Any]:
    """The global names of a program."""
    return {"np": np, "tapegrad": tapegrad, "__name__": "program", **given}


def literal(value: Value) -> str:
    """An argument as Python source."""
    dtype = value.dtype
    if isinstance(value, np.generic) or not value.ndim:
        return f"np.{dtype.name}({_shortest(value)})"
    words = "" if dtype in (np.float64, np.complex128) else f", dtype=np.{dtype.name}"
    if not value.size:
        return f"np.zeros({value.shape}{words})"
    return f"np.array({_shortest(value)}{words})"


def _shortest(value: Value) -> str:
    """The elements, each as short as its dtype lets it be, in lists."""
    if value.ndim:
        return f"[{', '.join(map(_shortest, value))}]"
    return str(value)


def source_of(
    names: Sequence[str],
    lines: Sequence[str],
    returned: str,
    args: Sequence[Value],
    helpers: Sequence[str],
    given: dict[str, Any],
) -> str:
    """The whole program, as it can be pasted into a file."""
    head = ["import numpy as np"]
    above = [HELPERS[name] for name in dict.fromkeys(helpers)]
    body = ["    " + line for line in [*lines, f"return {returned}"]]
    if any("tapegrad" in text for text in (*above, *body)):
        head += ["import tapegrad"]
    text = "\n".join(body)
    head += [_import_of(name, function) for name, function in given.items() if f"{name}(" in text]
    call = f"print(f({', '.join(map(literal, args))}))"
    parts = ["\n".join(head), *above, f"def f({', '.join(names)}):\n{text}\n", call]
    return "\n\n".join(part if part.endswith("\n") else part + "\n" for part in parts)


def _import_of(name: str, function: Any) -> str:
    """How the program gets a function of a user's own."""
    home = getattr(function, "__module__", None) or getattr(
        getattr(function, "function", None), "__module__", None
    )
    own = name_of(function)
    if home is None or not own.isidentifier():
        return f"{name} = ...  # {function!r}"
    return f"from {home} import {own}" + (f" as {name}" if own != name else "")


__all__ = ["Made", "Program", "Statement", "literal", "source_of", "space_of"]
