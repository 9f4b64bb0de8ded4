"""`Blame`: an operation whose own derivative is wrong, in numbers and in words.

Knows lines of a program. Must not know how a culprit is found.
"""

from __future__ import annotations

import linecache
from dataclasses import dataclass
from typing import Any

from tapegrad._look.lines import Site


@dataclass(frozen=True)
class Blame:
    """The first operation of a program whose own derivative disagrees with differences.

    Parameters
    ----------
    operation : str
        As users write it, np.sin; `x[...]` for a part, `x[...] =` for a write.
    derivative : str
        "vjp" or "jvp", and what it is of for order 2: "vjp of its vjp".
    order : int
        1, or 2 where first derivatives are right and second ones are wrong.
    argument : str
        Of the call, by its position or keyword.
    element : tuple of int or None
        Its index in that argument (vjp) or in the result (jvp); None for all along a direction.
    expected : scalar
        The derivative by differences.
    got : scalar
        The derivative by the rule.
    kind : str
        The shape and dtype of the array that `element` indexes.
    within : tuple of str, default ()
        The calls around it that are not the program's own, outermost first: np.var, where
        np.multiply within it is wrong.
    site : tuple, default ()
        The user's frames, innermost first; `file` and `line` are those of the first.

    See Also
    --------
    blame : Finds it.

    Examples
    --------
    >>> found = Blame("np.sin", "vjp", 1, "argument 0", (), 0.5, 0.25, "float64 scalar")
    >>> print(found)
    The derivative of np.sin is wrong.
      its vjp by argument 0, of float64 scalar:
        expected 0.5 (differences)
        got      0.25
    """

    operation: str
    derivative: str
    order: int
    argument: str
    element: tuple[int, ...] | None
    expected: Any
    got: Any
    kind: str
    within: tuple[str, ...] = ()
    site: Site = ()

    @property
    def file(self) -> str:
        """The file of the user's line; empty where it is not known."""
        return self.site[0].file if self.site else ""

    @property
    def line(self) -> int | None:
        """The number of the user's line."""
        return self.site[0].line if self.site else None

    @property
    def backward(self) -> bool:
        """Whether the derivative is a vjp, and not a jvp."""
        return self.derivative.startswith("vjp")

    def __str__(self) -> str:
        inside = f", within {', within '.join(reversed(self.within))}" if self.within else ""
        lines = [f"The derivative of {self.operation} is wrong{inside}."]
        if self.site:
            frame = self.site[0]
            lines.append(f'  File "{frame.file}", line {frame.line}, in {frame.function}')
            source = linecache.getline(frame.file, frame.line).strip()
            lines += [f"    {source}"] if source else []
        place = "along a random direction of"
        if self.element is not None:
            index = ", ".join(map(str, self.element))
            place = f"at element [{index}] of" if self.element else "of"
        what = self.kind if self.backward else f"the result, {self.kind}"
        second = "" if self.order == 1 else " (first derivatives are right)"
        lines.append(f"  its {self.derivative} by {self.argument}, {place} {what}{second}:")
        lines.append(f"    expected {self.expected} (differences)")
        lines.append(f"    got      {self.got}")
        return "\n".join(lines)


__all__ = ["Blame"]
