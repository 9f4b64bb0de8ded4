"""Steps as lines of Python: how many values they take, what they are called on, and a program.

Knows how text becomes a function or a statement. Must not know references or Hypothesis.
"""

from __future__ import annotations

import functools
import linecache
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Texts = Sequence[str] | Mapping[str, str]


def pairs_of(texts: Texts) -> list[tuple[str, str]]:
    """The library's text of each step, and NumPy's: the same unless a mapping says otherwise."""
    return list(texts.items()) if isinstance(texts, Mapping) else [(text, text) for text in texts]


@functools.cache
def arity(text: str) -> int:
    """How many values a step takes: one more than the highest number in braces."""
    numbers = [int(name) for _, name, _, _ in string.Formatter().parse(text) if name is not None]
    return max(numbers, default=-1) + 1


@functools.cache
def scope_of(imports: str) -> dict[str, Any]:
    """Names defined by lines of imports."""
    scope: dict[str, Any] = {}
    exec(imports, scope)
    return scope


@functools.cache
def expression(text: str, imports: str) -> Callable[..., Any]:
    """A function of arrays, of its text."""
    names = [f"_{i}" for i in range(arity(text))]
    source = f"lambda {', '.join(names)}: {text.format(*names)}"
    return eval(source, scope_of(imports))


@functools.cache
def statement(text: str, imports: str) -> Callable[..., None]:
    """A function that changes its first array, of its text."""
    names = [f"_{i}" for i in range(arity(text))]
    scope = dict(scope_of(imports))
    exec(f"def write({', '.join(names)}):\n    {text.format(*names)}\n", scope)
    return scope["write"]


def indented(lines: Sequence[str]) -> list[str]:
    """Lines within a block."""
    return [f"    {line}" for text in lines for line in text.splitlines()]


def array_text(array: Any) -> str:
    """An array as a list, or a number: the numbers in full."""
    return repr(np.asarray(array).tolist())


def numpy_text(array: Any) -> str:
    """An array as a call of NumPy: a list does not say of which shape nothing is."""
    array = np.asarray(array)
    return f"np.array({array_text(array)})" if array.size else f"np.zeros({array.shape})"


def run_shown(source: str, scope: dict[str, Any], name: str) -> None:
    """Run a program whose lines appear in tracebacks."""
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), scope)
