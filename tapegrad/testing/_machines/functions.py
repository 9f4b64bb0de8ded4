"""The checks of a library that differentiates functions: backward, forward, and twice.

Knows which lines ask a library for a derivative. Must not know how programs grow.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tapegrad.testing._machines.checks import slope_differs, value_differs
from tapegrad.testing._machines.library import Library
from tapegrad.testing._machines.reference import Reference, Slope, Value
from tapegrad.testing._machines.texts import numpy_text

Array = Any
Wrong = Callable[[Library, str], Exception]  # the error that says how a library differs


class FunctionCheck:
    """The derivatives of one value of a program as a function of the leaves."""

    def __init__(
        self, reference: Reference, leaves: Sequence[Value], x: Value, cotangent: Array, which: int
    ) -> None:
        self.reference = reference
        self.x = x
        self.cotangent = cotangent
        self.which = which
        self.leaves = leaves
        random = np.random.default_rng(7)
        self.directions = [random.uniform(0.5, 2.0, v.array.shape).round(1) for v in leaves]
        found, _ = reference.pull(x, cotangent)
        self.slopes = [
            found.get(leaf.slot, Slope.zeros(leaf.memory.content.size)) for leaf in leaves
        ]

    def run(self, library: Library, wrong: Wrong) -> None:
        """Ask the library; raise the error that `wrong` makes where it differs."""
        author = library.author
        random = np.random.default_rng(self.which)

        def one_of(texts: str | Sequence[str]) -> str:
            known = [texts] if isinstance(texts, str) else texts
            return inspect.cleandoc(known[int(random.integers(len(known)))]) if known else ""

        function = one_of(author.functions)
        along = ", ".join(numpy_text(each) for each in self.directions)
        settings = [f"cotangent = {numpy_text(self.cotangent)}"]
        if "lambda" in function:  # whose `f` is looked up when it is called
            function = f"(lambda f: {function})(f)"
        settings += [] if function == "f" else [f"f = {function}"]
        ways = [(self._backward, one_of(author.vjp), settings)]
        settings = [*settings, f"directions = ({along},)"]
        ways += [(self._forward, one_of(author.jvp), settings)]
        ways += [(self._twice, one_of(author.second), settings)]
        for differs, text, given in ways:
            if not text:
                continue
            try:
                scope = library.differentiate(text, self.x.name, given)
            except Exception as error:
                raise wrong(library, f"raises {error!r}") from error
            said = differs(scope, author.rtol)
            if said:
                raise wrong(library, said)

    def _backward(self, scope: dict[str, Any], rtol: float) -> str:
        said = value_differs("value", np.asarray(scope["value"]), self.x.array, rtol)
        count = len(scope["gradients"])
        if not said and count != len(self.slopes):
            return f"gradients has {count} entries, of {len(self.slopes)} leaves"
        for i, (leaf, slope) in enumerate(zip(self.leaves, self.slopes, strict=True)):
            found, shape = np.asarray(scope["gradients"][i]), leaf.array.shape
            said = said or slope_differs(f"gradients[{i}]", found, slope, rtol, shape)
        return said

    def _forward(self, scope: dict[str, Any], rtol: float) -> str:
        total = Slope.zeros(1)
        for slope, along in zip(self.slopes, self.directions, strict=True):
            column = along.reshape(1, -1, 1)  # of a step that moves all leaves, in every way
            total = total.plus(slope.through(np.repeat(column, len(slope.ways), axis=0)))
        found = np.sum(np.asarray(scope["slope"]) * self.cotangent)
        said = value_differs("value", np.asarray(scope["value"]), self.x.array, rtol)
        return said or slope_differs("np.sum(slope * cotangent)", found, total, rtol)

    def _twice(self, scope: dict[str, Any], rtol: float) -> str:
        moved = {
            leaf.slot: along for leaf, along in zip(self.leaves, self.directions, strict=True)
        }
        curvature = self.reference.curvature(self.x, self.cotangent, moved)
        if curvature is None:
            return ""
        return slope_differs("curvature", np.asarray(scope["curvature"]), curvature, rtol)
