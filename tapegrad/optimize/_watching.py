"""Messages of SciPy while it runs: a step of the bar, and the user's callback with the tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.quiet import silence
from tapegrad._progress import Bar


class Watch:
    """A callback for SciPy: it moves a bar, and calls the user's with the tree."""

    def __init__(
        self,
        callback: Callable[[Any], Any] | None,
        to_tree: Callable[[Any], Any],
        *,
        by_result: bool,
        bar: Bar | None = None,
        value_at: Callable[[Any], float | None] = lambda _: None,
    ) -> None:
        self.callback, self.to_tree, self.by_result = callback, to_tree, by_result
        self.bar, self.value_at = bar, value_at
        self.last: Any = None

    def __call__(self, xk: Any, *_rest: Any) -> bool:
        x = getattr(xk, "x", xk)
        self.last = x
        if self.bar is not None:
            self.bar.step(fun=lambda: self.value_at(x))
        if self.callback is None or self.callback(self.to_tree(x)) is not True:
            return False
        if self.by_result:
            return True
        raise StopIteration


def watched(bar: Bar, residuals: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Residuals of which each run is a step, for methods that have no callback."""

    def stepped(v: Any) -> Any:
        out = residuals(v)
        bar.step(cost=lambda: _cost(out))
        return out

    return stepped


def _cost(residuals: Any) -> float:
    with silence():
        return float(np.sum(residuals * residuals)) / 2


__all__ = ["Watch", "watched"]
