"""`python -m tapegrad grad`: derivatives of a function of the user's own, at a point."""

from __future__ import annotations

import textwrap
from pprint import pformat
from typing import TYPE_CHECKING

import numpy as np

import tapegrad
from tapegrad import _tree
from tapegrad._cli._differences import compare
from tapegrad._cli._tape_picture import check_path, write_picture
from tapegrad._cli._target import (
    argument_names,
    blaming,
    evaluate_point,
    load_function,
    name_of,
)

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from tapegrad._core.types import Function, Tree


def run(options: argparse.Namespace) -> int:
    """Print the value and the derivative that the options ask for; return the exit status."""
    if options.svg:
        check_path(options.svg)
    function = load_function(options.target)
    args = evaluate_point(options.at, function)
    names = argument_names(function, args)
    call = f"{name_of(function)}({', '.join(names)})"
    with blaming(call):
        value, derivative = _differentiate(function, args, options.order)
        _report(_lines(value, derivative, names, options.order))
        if options.svg:
            count = write_picture(options.svg, call, function, *args)
            _report([("picture", f"{count} tape entries in {options.svg}")])
        return _check(function, args, derivative, options.order) if options.check else 0


def _differentiate(function: Function, args: tuple[Tree, ...], order: str) -> tuple[Tree, Tree]:
    """Compute the value, and the derivative with respect to every argument."""
    argnums = tuple(range(len(args)))
    if order == "gradient":
        value, gradient = tapegrad.value_and_grad(function, argnums)(*args)
        return value, gradient
    transform = tapegrad.jacobian if order == "jacobian" else tapegrad.hessian
    return function(*args), transform(function, argnums)(*args)


def _lines(
    value: Tree, derivative: Tree, names: list[str], order: str
) -> Iterator[tuple[str, str]]:
    """Yield a label and a text for the value and for each block of the derivative."""
    yield "value", _text(value)
    if order == "jacobian" and _tree.flatten(value)[1] != _tree.LEAF:
        yield order, _text(derivative)  # the output's own containers are outermost
    elif order == "hessian":
        for name, row in zip(names, derivative, strict=True):
            for other, block in zip(names, row, strict=True):
                yield f"hessian {name},{other}" if len(names) > 1 else order, _text(block)
    else:
        for name, part in zip(names, derivative, strict=True):
            yield f"{order} {name}" if len(names) > 1 else order, _text(part)


def _text(value: Tree) -> str:
    """Print a value as Python would read it; bare arrays and numbers without their type's name."""
    with np.printoptions(floatmode="unique"):
        if isinstance(value, np.ndarray) and value.shape:
            return np.array2string(value, separator=", ")
        # str of a NumPy scalar is its number, while its repr tells the type as well.
        return str(value) if isinstance(value, np.ndarray | np.generic) else pformat(value)


def _report(lines: Iterator[tuple[str, str]] | list[tuple[str, str]]) -> None:
    rows = list(lines)
    width = max(len("gradient"), *(len(label) for label, _ in rows)) + 2
    for label, text in rows:
        print(f"{label:<{width}}{textwrap.indent(text, ' ' * width).lstrip()}")


def _check(function: Function, args: tuple[Tree, ...], derivative: Tree, order: str) -> int:
    argnums = tuple(range(len(args)))
    compared = tapegrad.grad(function, argnums) if order == "hessian" else function
    comparison = compare(compared, args, derivative)
    lines = [("check", f"{'passed' if comparison.passed else 'FAILED'}: {comparison}")]
    if not comparison.passed:
        lines.append(("", f"worst: {comparison.worst}"))
    _report(lines)
    return 0 if comparison.passed else 1
