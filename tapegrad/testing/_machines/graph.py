"""`Graph`: a program that grows in libraries and in the reference, and is checked at every step.

Knows what each kind of step does, and which ones libraries leave undefined. Must not know
Hypothesis: steps come one by one, as data, and the same steps make the same program.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.testing._machines.checks import slope_differs, value_differs
from tapegrad.testing._machines.functions import FunctionCheck
from tapegrad.testing._machines.library import NUMPY, Library
from tapegrad.testing._machines.reference import Reference, Slope, Unfit, Value
from tapegrad.testing._machines.shrinking import GraphError, Program, Step
from tapegrad.testing._machines.texts import array_text, expression, statement

Array = Any


class Graph:
    """A program of the lines that a machine's author gave: a class with the texts."""

    def __init__(self, author: Any) -> None:
        self.author = author
        kinds = [author] if author.against is None else [author, author.against]
        self.libraries = [Library(kind) for kind in kinds]
        self.reference = Reference(author.most_elements, author.largest)
        self.steps: list[Step] = []
        self.live: list[Value] = []
        self.leaves: list[Value] = []
        self.constants: list[Value] = []  # that a function reads from outside
        self.kept: dict[str, int] = {}  # what has a gradient, and of which slot
        self.names = 0
        self.over = False  # has failed: its values mean nothing more

    def new_name(self) -> str:
        """A name that the program does not have yet."""
        self.names += 1
        return f"x{self.names - 1}"

    def takes_leaves(self) -> bool:
        """Whether leaves may still come: the arguments of a function come first."""
        return not self.libraries[0].body

    def do(self, step: Step) -> None:
        """Do a step, if libraries agree on what it means; raise GraphError where one is wrong."""
        if self.over:
            return
        known = {value.name: value for value in self.live}
        values = [known[name] for name in step.values]
        self.steps.append(step)
        done = getattr(self, f"_{step.kind}")(step.out, *values, **step.given)
        if isinstance(done, Value):
            self.live.append(done)
        if not done:
            self.steps.pop()
        elif step.kind not in ("differentiate", "hooked", "retained"):
            self._check()

    # -- values ----------------------------------------------------------------------------------

    def _leaf(self, name: str, shape: tuple[int, ...], seed: int, constant: bool) -> Value | None:
        if not self.takes_leaves():
            return None
        array = np.asarray(np.random.default_rng(seed).uniform(-2.0, 2.0, shape).round(2))
        value = self.reference.leaf(name, array, constant)
        for library in self.libraries:
            library.leaf(name, array, constant=constant)
        if self.author.vjp and constant:
            self.constants.append(value)
        else:
            self.leaves.append(value)
        if not constant:
            self.kept[name] = value.memory.slot
        return value

    def _operation(
        self, name: str, *values: Value, text: str, plain: str, blocked: bool
    ) -> Value | None:
        return self._made(name, values, text, plain, blocked=blocked, view=False)

    def _view(
        self, name: str, *values: Value, text: str, plain: str, blocked: bool
    ) -> Value | None:
        return self._made(name, values, text, plain, blocked=blocked, view=True)

    def _made(
        self,
        name: str,
        values: Sequence[Value],
        text: str,
        plain: str,
        *,
        blocked: bool,
        view: bool,
    ) -> Value | None:
        step = expression(plain, NUMPY)
        try:
            value = self.reference.apply(name, step, values, tracked=not blocked, view=view)
        except Unfit:
            return None
        self._step(f"{name} = {text.format(*values)}", tracked=not blocked)
        return value

    def _write(
        self, _: str, x: Value, *others: Value, text: str, plain: str, blocked: bool
    ) -> bool:
        given = [x, *others]
        if not self._may_write(x, others, blocked):
            return False
        reference, memory = self.reference, x.memory
        before = (memory.content, memory.slot, memory.writes)
        known, unseen = len(reference.entries), reference.unseen
        try:
            reference.write(statement(plain, NUMPY), given, tracked=not blocked)
        except Unfit:
            return False
        if self._step(text.format(*given), tracked=not blocked, may_refuse=True):
            memory.content, memory.slot, memory.writes = before
            del reference.entries[known:]
            reference.unseen = unseen
        return True

    def _may_write(self, x: Value, others: Sequence[Value], blocked: bool) -> bool:
        """Whether all libraries agree on what the write means."""
        author, depends = self.author, self.reference.depends
        if not blocked and not author.write_leaves and shares(x, self.leaves):
            return False
        if not (author.write_constants or depends(x)) and any(map(depends, [x, *others])):
            return False
        # NumPy has numbers of no dimension, which cannot be written to, and what looks like a view
        # of one is a copy; what a function reads from outside would have another value at its
        # next call.
        is_number = x.array.ndim == 0 or x.memory.content.ndim == 0
        if author.vjp and (is_number or shares(x, self.constants)):
            return False
        if x.memory.slot in self.reference.kept and not blocked and x not in self.leaves:
            return False  # which of the two values keeps its gradient, libraries differ in
        return author.overlapping_writes or not shares(x, others)

    def _detached(self, name: str, x: Value) -> Value:
        value = self.reference.detach(name, x, shares=self.author.detach_shares)
        self._step(f"{name} = {self.author.detach.format(x)}")
        return value

    def _delete(self, _: str, x: Value) -> bool:
        if len(self.live) < 2 or (self.author.vjp and x in [*self.leaves, *self.constants]):
            return False
        self.live.remove(x)
        self.kept.pop(x.name, None)
        self._step(f"del {x}")
        return True

    # -- gradients -------------------------------------------------------------------------------

    def _differentiate(self, _: str, x: Value, seed: int, retain: bool, which: int) -> bool:
        if not self.reference.depends(x):
            return False
        cotangent = self._cotangent(x, seed)
        if not self.author.vjp:
            return self._backward(x, cotangent, retain)
        asked = FunctionCheck(self.reference, self.leaves, x, cotangent, which)
        for library in self.libraries:
            asked.run(library, self._failure)
        return True

    def _cotangent(self, x: Value, seed: int) -> Array:
        if not self.author.vjp and "{cotangent}" not in self.author.backward:
            return np.ones(x.array.shape)
        random = np.random.default_rng(seed)
        return np.asarray(random.uniform(0.5, 2.0, x.array.shape).round(1))

    def _backward(self, x: Value, cotangent: Array, retain: bool) -> bool:
        author = self.author
        size = x.array.size
        if not size or (size > 1 and "{cotangent}" not in author.backward):
            return False
        keeps = retain or "{retain}" not in author.backward
        _, visited = self.reference.pull(x, cotangent)
        may_refuse = any(entry.may_refuse() for entry in visited)
        line = author.backward.format(x, cotangent=array_text(cotangent), retain=keeps)
        if not self._step(line, may_refuse=may_refuse):
            self.reference.backward(x, cotangent, retain=keeps)
            self._check()
            return True
        self.reference.free(visited, keeps)
        for name in self.kept:  # some may have come before the error
            if author.zero:
                self._step(author.zero.format(name))
        self.reference.gradients.clear()
        self.over = not author.zero
        return True

    def _forget(self, _: str, x: Value) -> bool:
        if x.name not in self.kept:
            return False
        self._step(self.author.zero.format(x))
        self.reference.gradients.pop(self.kept[x.name], None)
        return True

    def _hooked(self, _: str, x: Value, factor: float) -> bool:
        # Not where a hook could be on what the value was before it was written to.
        whole = not x.memory.writes or x not in self.leaves
        if x.views or not whole or not self.reference.depends(x):
            return False
        self._step(self.author.hook.format(x, factor=factor))
        self.reference.hook(x, factor)
        return True

    def _retained(self, _: str, x: Value) -> bool:
        if x in self.leaves or x.views or x.memory.writes or not self.reference.depends(x):
            return False
        self._step(self.author.retain.format(x))
        self.reference.kept.add(x.memory.slot)
        self.kept.setdefault(x.name, x.memory.slot)
        return True

    # -- libraries -------------------------------------------------------------------------------

    def _step(self, line: str, *, tracked: bool = True, may_refuse: bool = False) -> bool:
        """Do a step in each library: whether they refused it."""
        refused = []
        for library in self.libraries:
            try:
                error = library.step(line, tracked=tracked)
            except Exception as raised:
                raise self._failure(library, f"raises {raised!r}") from raised
            if error is not None and not may_refuse:
                raise self._failure(library, f"raises {error!r}") from error
            refused.append(error is not None)
        if len(set(refused)) > 1:
            words = ["refuses this" if each else "does this" for each in refused]
            raise self._failure(self.libraries[0], f"{words[0]}, and the other {words[1]}")
        return refused[0]

    def _check(self) -> None:
        """Every value and every gradient that the program has a name for."""
        if self.author.vjp or self.over:
            return
        for library in self.libraries:
            rtol = library.author.rtol
            for value in self.live:
                text = library.author.value.format(value)
                found = self._array(library, text)
                self._hold(library, text, value_differs(text, found, value.array, rtol))
            known = {value.name: value.array.shape for value in self.live}
            for name, slot in self.kept.items():
                text = library.author.gradient.format(name)
                found, slope = self._array(library, text), self.reference.gradients.get(slot)
                if found is None and slope is None:
                    continue
                if slope is None:
                    slope = Slope.zeros(math.prod(known[name]))
                if found is None:
                    found = np.zeros(known[name])
                self._hold(library, text, slope_differs(text, found, slope, rtol, known[name]))

    def _array(self, library: Library, text: str) -> Array:
        try:
            return library.array(text)
        except Exception as error:
            raise self._failure(library, f"{text} raises {error!r}", text) from error

    def _hold(self, library: Library, text: str, said: str) -> None:
        if said:
            raise self._failure(library, said, text)

    def _failure(self, library: Library, what: str, text: str = "") -> GraphError:
        self.over = True
        source = library.program() + (f"\nprint({text})" if text else "")
        again = functools.partial(failure_of, self.author)
        return GraphError(f"{self.author.__name__}: {what}", source, self.steps, again)


def shares(x: Value, values: Sequence[Value]) -> bool:
    """Whether a value is in the memory of one of the others."""
    return any(x.memory is value.memory for value in values)


def failure_of(author: Any, steps: Program) -> GraphError | None:
    """Error in a program that is known, if there is one."""
    graph = Graph(author)
    try:
        for step in steps:
            graph.do(step)
    except GraphError as error:
        return error
    except Exception:  # noqa: BLE001 - a step needs one that was left away
        return None
    return None
