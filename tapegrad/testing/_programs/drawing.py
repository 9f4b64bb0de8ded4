"""`programs`: a Hypothesis strategy for whole programs; the same from a seed, without Hypothesis.

Knows which operations are allowed, and how arguments and rows of numbers become a program. A row
stands by itself, whatever stands before it: what it reads is a variable that fits or else a new
argument that does. So Hypothesis removes rows, many at a time, and those that stay still run.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tapegrad._core.types import Value
from tapegrad._errors import InputError, message
from tapegrad.testing._programs import asked_for, elementwise, matrices, statements, structure
from tapegrad.testing._programs.building import ARGUMENTS, WHOLE, Builder
from tapegrad.testing._programs.operations import Operation, Test
from tapegrad.testing._programs.own import Own, operation_of
from tapegrad.testing._programs.program import Program

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

ROW = 7  # numbers for one statement: which one, and its choices
MOST = 255  # the largest of them
SHAPES = ((), (2,), (3,), (2, 3), (3, 3), (2, 2), (1,), (3, 1), (1, 3), (2, 1, 3))
EMPTY = ((0,), (2, 0), (0, 3))  # with empty=True, beside the others
DTYPES = ("float64",)
SPARE = 1.5  # rows for each statement: some fit no variable

Row = Sequence[int]


class Rules(NamedTuple):
    """Building blocks of programs."""

    most: int  # statements
    allowed: tuple[Operation, ...]
    given: dict[str, Any]
    dtypes: tuple[np.dtype[Any], ...]
    shapes: tuple[tuple[int, ...], ...]
    inputs: int
    kinks: bool
    output: str
    integers: int
    empty: bool

    @property
    def slots(self) -> int:
        return int(self.most * SPARE) + 1


@functools.cache
def known_operations() -> tuple[Operation, ...]:
    """Every operation that a program may have, the simplest first."""
    rooms = (elementwise, structure, matrices, statements, asked_for)
    return tuple(operation for room in rooms for operation in room.operations())


def rules_of(
    count: int,
    *,
    operations: Iterable[str] | None,
    own: Iterable[Own],
    dtypes: Iterable[Any],
    shapes: Iterable[tuple[int, ...]],
    inputs: int,
    nested: bool,
    writes: bool,
    kinks: bool,
    output: str,
    casts: bool,
    integers: int,
    flat: bool,
    empty: bool,
) -> Rules:
    if output not in ("scalar", "array", "any"):
        _refuse('output="scalar", "array" or "any"', repr(output))
    if not 1 <= inputs <= len(ARGUMENTS):
        _refuse(f"inputs from 1 to {len(ARGUMENTS)}", repr(inputs))
    if not 0 <= integers <= len(WHOLE):
        _refuse(f"integers from 0 to {len(WHOLE)}", repr(integers))
    found = known_operations()
    if operations is not None:
        names = tuple(operations)
        strange = sorted(set(names) - {operation.name for operation in found})
        if strange:
            _refuse("names of operations, as program.operations has them", ", ".join(strange))
        found = tuple(operation for operation in found if operation.name in names)
    else:
        left_out = {
            "nested": nested,
            "write": writes,
            "planted": kinks,
            "cast": casts,
            "integer": integers > 0,
            "flat": flat,
            "empty": empty,
        }
        found = tuple(operation for operation in found if left_out.get(operation.kind, True))
    mine = tuple(own)
    found = (*map(operation_of, mine), *found)
    kinds = tuple(np.dtype(dtype) for dtype in dtypes)
    if not kinds or any(dtype.kind not in "fc" for dtype in kinds):
        _refuse("floating or complex dtypes", repr([dtype.name for dtype in kinds]))
    return Rules(
        count,
        found,
        {one.name: one.function for one in mine},
        kinds,
        (*shapes, *EMPTY) if empty else tuple(shapes),
        inputs,
        kinks,
        output,
        integers,
        empty,
    )


def _refuse(expected: str, got: str) -> None:
    raise InputError(message("programs", expected, got, "See its docstring"))


def argument(rules: Rules, shape: int, dtype: int, seed: int) -> Value:
    """An argument, with elements of two decimals; the seed 0 gives the simplest."""
    sides = rules.shapes[shape % len(rules.shapes)]
    kind = rules.dtypes[dtype % len(rules.dtypes)]
    size = int(np.prod(sides, dtype=int))
    if seed:
        random = np.random.default_rng(seed)
        values: Any = (random.permutation(300)[:size] - 147.5) / 100
        imaginary: Any = (random.permutation(300)[:size] - 147.5) / 100
    else:
        values = 0.5 + 0.25 * np.arange(size)
        imaginary = 0.25 * np.arange(size)
    values = np.round(values, 2)
    if kind.kind == "c":
        values = values + 1j * np.round(imaginary, 2)
    made = values.reshape(sides).astype(kind)
    # Of float32 too the literal is short: what is printed is read back to the same number.
    return made if sides else made[()]


def whole_argument(rules: Rules, shape: int, _: int, seed: int) -> Value:
    """An argument of whole numbers from 0 to 3."""
    sides = rules.shapes[shape % len(rules.shapes)]
    made: Value = np.random.default_rng(seed).integers(0, 4, sides)
    return made if sides else np.int64(made)


def argument_that_fits(rules: Rules, row: Row) -> Callable[[Test], Value | None]:
    """Makes the argument of a row, of the next shape and dtype that passes a test."""
    shape, dtype, seed = row

    def make(fits: Test) -> Value | None:
        for dtypes_on in range(len(rules.dtypes)):
            for shapes_on in range(len(rules.shapes)):
                made = argument(rules, shape + shapes_on, dtype + dtypes_on, seed)
                if fits(made):
                    return made
        return None

    return make


def build(
    rules: Rules,
    inputs: Sequence[Row],
    rows: Iterable[Row],
    last: Row,
    spare: Sequence[Row] = (),
    whole: Sequence[Row] = (),
) -> Program:
    """The program of these numbers: the same numbers give the same one.

    `spare`: of arguments that are made when a statement needs them. `whole`: of those of whole
    numbers.
    """
    args = [whole_argument(rules, *row) for row in whole]
    args += [argument(rules, *row) for row in inputs]
    names = (*WHOLE[: len(whole)], *ARGUMENTS)
    makers = [argument_that_fits(rules, row) for row in spare]
    builder = Builder(args, rules.kinks, rules.given, names, spare=makers, empty=rules.empty)
    for row in rows:
        kind = row[0] % (len(rules.allowed) + 1)
        if kind and len(builder.statements) < rules.most:
            builder.add(rules.allowed[kind - 1], row[1:])
    return builder.program(last, rules.output)


def random_program(
    seed: int, count: int = 10, *, including: str | None = None, **options: Any
) -> Program:
    """A program of about `count` statements from a seed, with the options of `programs`.

    `including`: the name of an operation that is tried at a random place.
    """
    rules = rules_of(count, **{**DEFAULTS, **options})
    random = np.random.default_rng(seed)
    inputs = [
        (int(random.integers(MOST)), int(random.integers(MOST)), 1 + int(random.integers(2**31)))
        for _ in range(1 + int(random.integers(rules.inputs)))
    ]
    rows = random.integers(0, 2**31, (3 * count, ROW)).tolist()
    whole = random.integers(0, MOST, (rules.integers, 3)).tolist() if rules.integers else []
    if including is not None:
        names = [operation.name for operation in rules.allowed]
        for at in {int(random.integers(count)), int(random.integers(count))}:
            rows[at][0] = 1 + names.index(including)
    return build(rules, inputs, rows, random.integers(0, MOST, 4).tolist(), whole=whole)


DEFAULTS: dict[str, Any] = {
    "operations": None,
    "own": (),
    "dtypes": DTYPES,
    "shapes": SHAPES,
    "inputs": 2,
    "nested": True,
    "writes": True,
    "kinks": False,
    "output": "scalar",
    "casts": False,
    "integers": 0,
    "flat": False,
    "empty": False,
}


def programs(
    count: int = 10,
    *,
    operations: Iterable[str] | None = None,
    own: Iterable[Own] = (),
    dtypes: Iterable[Any] = DTYPES,
    shapes: Iterable[tuple[int, ...]] = SHAPES,
    inputs: int = 2,
    nested: bool = True,
    writes: bool = True,
    kinks: bool = False,
    output: str = "scalar",
    casts: bool = False,
    integers: int = 0,
    flat: bool = False,
    empty: bool = False,
) -> SearchStrategy[Program]:
    """A strategy for random NumPy programs, fit for every transform.

    A program is called as `program(*program.args)`; `program.source`, its repr, is Python to
    paste. It has ufuncs, reductions, broadcasting, linear algebra, indexing, sorting, branches on
    data, loops and helper functions. All are kept inside their domains and away from kinks at the
    arguments, unless `kinks` asks for them.

    A failing program shrinks to few statements, of simple shapes and values: one of 30 statements
    of which one fails takes Hypothesis about a hundred calls to find that one. `shrink` needs
    fewer still, and keeps the values that the failing statement saw.

    Parameters
    ----------
    count : int, default 10
        The most statements.
    operations : iterable of str, optional
        Names of those allowed, as `program.operations` has them ("np.tanh", "x[i] =",
        "tapegrad.vmap"); all by default.
    own : iterable of Own, default ()
        Functions of your own to be called as well, declared by `own_operation`.
    dtypes, shapes : iterable, optional
        What arguments are drawn from, each argument by itself.
    inputs : int, default 2
        The most arguments.
    nested : bool, default True
        Whether transforms and custom rules are within.
    writes : bool, default True
        Whether there are writes, in place and through views.
    kinks : bool, default False
        Whether statements may be outside their domains and at kinks; some kinks then lie exactly
        at the arguments.
    output : {"scalar", "array", "any"}, default "scalar"
        What a program returns: a real sum of all that no statement has used, these themselves (a
        tuple of them where there are several), or either.
    casts : bool, default False
        Whether there are casts between dtypes.
    integers : int, default 0
        The most arguments of whole numbers from 0 to 3, which come first and are multiplied,
        compared and indexed by.
    flat : bool, default False
        Whether there are functions that are constant between jumps (np.floor, np.sign), and
        tapegrad.stop_gradient.
    empty : bool, default False
        Whether there are arguments and values without elements.

    Returns
    -------
    SearchStrategy of Program
        `program.argnums` are the arguments that derivatives are taken by, `program.args_at(seed)`
        other values of all of them.

    Raises
    ------
    InputError
        For options that do not exist.
    ImportError
        If Hypothesis is missing; it names the extra to install.

    See Also
    --------
    own_operation : Declares a function of your own.
    shrink : The smallest program that still fails, without Hypothesis.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from tapegrad.testing import check_grads
    >>> @settings(max_examples=5, deadline=None)
    ... @given(programs(4, operations=("np.sin", "np.multiply", "np.sum")))
    ... def check(program):
    ...     check_grads(program, program.args, order=1)
    >>> check()
    """
    rules = rules_of(
        count,
        operations=operations,
        own=own,
        dtypes=dtypes,
        shapes=shapes,
        inputs=inputs,
        nested=nested,
        writes=writes,
        kinks=kinks,
        output=output,
        casts=casts,
        integers=integers,
        flat=flat,
        empty=empty,
    )
    made: SearchStrategy[Program] = _drawn(rules)
    return made


def _drawn(rules: Rules) -> Any:
    """The strategy: all that is drawn, in an order in which Hypothesis can take parts of it out.

    The arguments first, always as many. Then the rows, until one whose first two bytes are a small
    number. A row is one choice of Hypothesis, so what it tries first, to take out five choices,
    ten, twenty ... in turn, takes out as many statements.
    """
    st = _strategies()
    row, one_input = _bytes(st, 2 + ROW), _bytes(st, 4)
    count = len(rules.allowed)
    ends = 2**16 // (4 * rules.slots)  # most programs have all their rows

    def drawn(draw: Callable[[Any], Any]) -> Program:
        inputs = [_input(draw(one_input)) for _ in range(rules.inputs)]
        whole = [_input(draw(one_input)) for _ in range(rules.integers)]
        last = draw(row)
        rows: list[Row] = []
        while (kind := _sixteen_bits(made := draw(row))) >= ends:
            rows.append((1 + (kind - ends) % count, *made[2:]))
            if len(rows) == rules.slots:
                # The end is a choice here too, of a type that no row has: when a row has been
                # taken out, it is read as zeros, which end the program.
                draw(st.booleans())
                break
        return build(rules, (), rows, last, inputs, whole)

    return st.composite(drawn)()


def _bytes(st: Any, size: int) -> Any:
    return st.binary(min_size=size, max_size=size)


def _input(made: Sequence[int]) -> Row:
    """Shape, dtype and seed of an argument."""
    return made[0], made[1], _sixteen_bits(made[2:])


def _sixteen_bits(made: Sequence[int]) -> int:
    return 256 * made[0] + made[1]


def _strategies() -> Any:
    try:
        import hypothesis.strategies
    except ImportError as error:
        raise ImportError(
            "tapegrad.testing: its strategies need Hypothesis. Install tapegrad[test]."
        ) from error
    return hypothesis.strategies
