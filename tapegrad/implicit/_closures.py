"""A function of a problem, with what it closes over of a trace as arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad._core.types import Function
from tapegrad._transforms.closures import Hoisted


class Lifted:
    """A function, and the values of a trace that it closes over, in `values`."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self._hoisted = Hoisted(function).then()
        self.values: list[Any] = self._hoisted.values

    def with_values(self, values: Sequence[Any]) -> Function:
        """The function with other values in place of these."""
        if not self.values:
            return self.function
        function: Function = self._hoisted.filled(values)
        return function


__all__ = ["Lifted"]
