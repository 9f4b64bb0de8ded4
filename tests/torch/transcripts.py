"""Programs that run on our library and on PyTorch, and log what they see: the logs agree."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
from pytorch_answers import of_pytorch

import tapegrad.torch as torch


class Log(list[Any]):
    """Observations of a program, in a form that both libraries can be compared by."""

    def __call__(self, *values: Any) -> None:
        self.append([_shown(value) for value in values])

    def attempt(self, call: Callable[[], Any], text: str = "") -> None:
        """Log the result of a call, or the type of its error; the error has to say `text`."""
        try:
            self(call())
        except Exception as raised:  # noqa: BLE001 - whichever it is goes into the log
            error = raised
        else:
            return
        assert text in str(error), f"{text!r} is not in {error!r}"
        self(type(error).__name__)


def _shown(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [_shown(part) for part in value]
    if hasattr(value, "requires_grad") and hasattr(value, "detach"):
        detached = value.detach()
        return [str(detached.dtype), detached.tolist(), value.requires_grad, value.is_leaf]
    return value


def logged(program: Callable[[Any, Log], None], library: Any = torch) -> Log:
    """The log of a program; warnings are no errors here."""
    log = Log()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program(library, log)
    return log


def compare(program: Callable[[Any, Log], None]) -> None:
    """Assert that a program logs the same with PyTorch."""
    mine = logged(program)
    same_logs(mine, of_pytorch(lambda pytorch: logged(program, pytorch), digits=7))


def same_logs(mine: list[Any], theirs: list[Any]) -> None:
    """Assert that two logs have the same entries."""
    assert len(mine) == len(theirs)
    for position, (ours, other) in enumerate(zip(mine, theirs, strict=True)):
        assert _close(ours, other), f"entry {position}: {ours}, with PyTorch {other}"


def _close(ours: Any, other: Any) -> bool:
    if isinstance(ours, list) and isinstance(other, list):
        return len(ours) == len(other) and all(map(_close, ours, other))
    if isinstance(ours, (float, complex)) and not isinstance(other, str):
        return ours == pytest.approx(other, rel=1e-4, abs=1e-6, nan_ok=True)
    return bool(ours == other)
