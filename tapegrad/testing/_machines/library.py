"""A library under test: its lines of Python are run as the program grows, and printed if it fails.

Knows the texts that a machine's author gave, and nothing of what is right.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.testing._machines.texts import array_text, indented, run_shown, scope_of

Array = Any
NUMPY = "import numpy as np"


class Library:
    """The program in one library, as far as it has been written."""

    def __init__(self, author: Any) -> None:
        self.author = author
        self.imports = f"{NUMPY}\n{inspect.cleandoc(author.imports)}"
        self.scope = {**scope_of(self.imports), **author.names}
        self.lines: list[str] = []  # of the program that is printed
        self.leaves: list[str] = []
        self.derivation: list[str] = []  # what was last asked of the function
        self.body: list[str] = []  # of the function, where the library differentiates functions

    @property
    def takes_functions(self) -> bool:
        """Whether derivatives are of functions, rather than of values that remember."""
        return bool(self.author.vjp)

    # -- lines -----------------------------------------------------------------------------------

    def run(self, line: str) -> BaseException | None:
        """Run one statement; what it raises where it may refuse is returned."""
        self.lines.append(line)
        try:
            run_shown(line, self.scope, f"<step {len(self.lines)}>")
        except self.author.refuses as error:
            self.lines[-1] = "\n".join(
                ["try:", *indented([line]), f"except {type(error).__name__}:", "    pass"]
            )
            return error
        return None

    def step(self, line: str, *, tracked: bool) -> BaseException | None:
        """Run a step of the program, or add it to the function."""
        if not tracked:
            line = "\n".join([f"with {self.author.no_grad}:", *indented([line])])
        if self.takes_functions:
            self.body.append(line)
            return None
        return self.run(line)

    def leaf(self, name: str, array: Array, *, constant: bool) -> None:
        """A new value to start from."""
        text = (self.author.constant if constant else self.author.leaf) or "np.array({array})"
        self.run(f"{name} = {text.format(array=array_text(array))}")
        self.leaves.append(name)

    def array(self, text: str) -> Array | None:
        """Value of an expression, as an array."""
        found = eval(text, self.scope)
        return None if found is None else np.asarray(found)

    # -- functions -------------------------------------------------------------------------------

    def function(self, out: str) -> str:
        """The text of the function that the steps so far make."""
        body = indented([*self.body, f"return {out}"])
        return "\n".join([f"def f({', '.join(self.leaves)}):", *body])

    def differentiate(self, text: str, out: str, settings: Sequence[str]) -> dict[str, Any]:
        """Run lines about the function `f` of the steps so far: all that they define."""
        lines = [self.function(out), f"leaves = ({', '.join(self.leaves)},)", *settings, text]
        self.derivation = lines
        scope = dict(self.scope)
        run_shown("\n".join(lines) + "\n", scope, f"<program of {len(self.body)} steps>")
        return scope

    def program(self) -> str:
        """All that was done, to paste."""
        imports = self.imports.replace(f"{NUMPY}\n{NUMPY}\n", f"{NUMPY}\n", 1)
        if self.author.names:
            imports += f"\n# {', '.join(self.author.names)}: as in the machine's file"
        return "\n".join([imports, "", *self.lines, *self.derivation])
