"""A failing program as data, and how it is made short.

Knows which values a step takes and what it makes. Must not know what a step does, or Hypothesis:
whoever made the program runs it again without some steps, and says whether it still fails.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple


class Step(NamedTuple):
    """A step of a program: its kind, the names that it takes, and the one that it makes."""

    kind: str
    values: tuple[str, ...]
    given: dict[str, Any]
    out: str = ""

    def renamed(self, names: dict[str, str]) -> Step:
        """The same step of other values."""
        values = tuple(names.get(name, name) for name in self.values)
        return self._replace(values=values, out=names.get(self.out, self.out))


Program = Sequence[Step]


class GraphError(AssertionError):
    """A library differs from the reference: the text ends with a program to paste.

    Parameters
    ----------
    said : str
        What differs.
    source : str
        The program, as Python.
    steps : sequence of Step
        The program, as data.
    again : callable
        Runs other steps, and returns a GraphError or None.

    Attributes
    ----------
    program : str
        The program, without the steps that it fails without.
    said : str
        What differs in the program as it was drawn.

    Examples
    --------
    >>> print(GraphError("the gradient of a differs", "a = 1.0", (), lambda steps: None))
    the gradient of a differs
    <BLANKLINE>
    The program:
    <BLANKLINE>
    a = 1.0
    <BLANKLINE>
    """

    __module__ = "tapegrad.testing"  # as reports name it

    def __init__(
        self, said: str, source: str, steps: Program, again: Callable[[Program], GraphError | None]
    ) -> None:
        super().__init__(said)
        self.said = said
        self.source = source
        self.steps: list[Step] = list(steps)
        self.again = again

    def __str__(self) -> str:
        shortest = self.shortest
        return f"{shortest.said}\n\nThe program:\n\n{shortest.source}\n"

    @property
    def program(self) -> str:
        """The program, without the steps that it fails without."""
        return self.shortest.source

    @functools.cached_property
    def shortest(self) -> GraphError:
        """The same failure, or another one, of a program from which no step can be left away.

        Hypothesis shrinks what it draws. It cannot leave away a step whose value is used later,
        since it does not know that another value would do in its place.
        """
        best, changed = self, True
        while changed:
            changed = False
            for ways in (_without_several, _without_one, _with_earlier_values, _with_less):
                found = _improved(best, ways)
                changed, best = changed or found is not best, found
        return self.again(_numbered(best.steps)) or best


def _improved(error: GraphError, ways: Callable[[Program], Iterator[Program]]) -> GraphError:
    """The failure of the shortest program that is found by going one of the ways repeatedly."""
    found: GraphError | None = error
    while found is not None:
        error = found
        found = next(filter(None, map(error.again, ways(error.steps))), None)
    return error


def _without_several(steps: Program) -> Iterator[Program]:
    """Without a block of steps, the last ones first; what they make may not be needed."""
    size = len(steps) // 2
    while size > 1:
        for start in range(len(steps) - size, -1, -size):
            yield [*steps[:start], *steps[start + size :]]
        size //= 2


def _without_one(steps: Program) -> Iterator[Program]:
    """Without a step; where its value is used later, one of those that it took takes its place."""
    for i in range(len(steps) - 1, -1, -1):
        out, later = steps[i].out, steps[i + 1 :]
        if not any(out in step.values for step in later):
            yield [*steps[:i], *later]
            continue
        for name in dict.fromkeys([*steps[i].values, *_made(steps[:i])]):
            yield [*steps[:i], *(step.renamed({out: name}) for step in later)]


def _with_earlier_values(steps: Program) -> Iterator[Program]:
    """With a value in place of one that was made later."""
    for i, step in enumerate(steps):
        made = _made(steps[:i])
        for place, name in enumerate(step.values):
            for other in made[: made.index(name)] if name in made else ():
                values = (*step.values[:place], other, *step.values[place + 1 :])
                yield [*steps[:i], step._replace(values=values), *steps[i + 1 :]]


def _with_less(steps: Program) -> Iterator[Program]:
    """With an easier setting of a step."""
    for i, step in enumerate(steps):
        for key, value in step.given.items():
            for other in _easier(value):
                given = {**step.given, key: other}
                yield [*steps[:i], step._replace(given=given), *steps[i + 1 :]]


def _easier(value: Any) -> Iterator[Any]:
    if value is True:
        yield False
    elif isinstance(value, tuple):  # a shape: fewer axes, and fewer elements
        if len(value) > 1:
            yield ()
        yield from (value[:k] + value[k + 1 :] for k in range(len(value)))
        for k, side in enumerate(value):
            yield from ((*value[:k], less, *value[k + 1 :]) for less in range(1, side))


def _made(steps: Program) -> list[str]:
    return [step.out for step in steps if step.out]


def _numbered(steps: Program) -> Program:
    """The same program, its values numbered one after another."""
    names = {name: f"x{i}" for i, name in enumerate(_made(steps))}
    return [step.renamed(names) for step in steps]
