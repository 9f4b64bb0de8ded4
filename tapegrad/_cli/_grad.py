"""`python -m tapegrad grad`: derivatives of a function of the user's own, at a point."""

from __future__ import annotations

import textwrap
from contextlib import nullcontext
from pprint import pformat
from typing import TYPE_CHECKING

import numpy as np

import tapegrad
from tapegrad import _tree
from tapegrad._arrays.ties import watching_ties
from tapegrad._cli._differences import compare
from tapegrad._cli._tape_picture import check_path, write_picture, write_view
from tapegrad._cli._target import (
    argument_names,
    blaming,
    evaluate_direction,
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
    if options.svg is not None:
        check_path(options.svg)
    if options.html is not None:
        check_path(options.html, (".html",))
    function = load_function(options.target, options.adopt)
    args = evaluate_point(options.at, function)
    dots = evaluate_direction(options.jvp, function, args) if options.jvp else None
    names = argument_names(function, args)
    call = f"{name_of(function)}({', '.join(names)})"
    order = options.order if dots is None else "jvp"
    with blaming(call), watching_ties() as ties:
        with tapegrad.debug_nans() if options.debug_nans else nullcontext():
            value, derivative = _differentiate(function, args, order, dots)
        _report(_lines(value, derivative, args, names, order))
        _look(options, call, function, args)
        if not options.check:
            return 0
        status = _check(function, args, derivative, order, dots)
        if ties:
            _report([("tie", text) for text in ties])
        return status


def _look(
    options: argparse.Namespace, call: str, function: Function, args: tuple[Tree, ...]
) -> None:
    """Print and write what the options ask for of the tape."""
    if options.svg:
        count = write_picture(options.svg, call, function, *args)
        _report([("picture", f"{count} tape entries in {options.svg}")])
    if options.tape or options.html:
        view = tapegrad.tape(function, *args, profile=bool(options.html))
        view.title = call
        if options.html:
            write_view(options.html, view)
            _report([("page", f"{len(view)} tape entries in {options.html}")])
        if options.tape:
            print(f"\n{view}")
    if options.profile:
        found = tapegrad.profile(function)(*args)
        print(f"\n{found.table('operation')}\n\n{found.table('line')}")


def _differentiate(
    function: Function, args: tuple[Tree, ...], order: str, dots: tuple[Tree, ...] | None
) -> tuple[Tree, Tree]:
    """Compute the value, and the derivative with respect to every argument."""
    argnums = tuple(range(len(args)))
    if dots is not None:
        value, tangent = tapegrad.jvp(function, args, dots)
        return value, tangent
    if order == "gradient":
        value, gradient = tapegrad.value_and_grad(function, argnums)(*args)
        return value, gradient
    transform = tapegrad.jacobian if order == "jacobian" else tapegrad.hessian
    return function(*args), transform(function, argnums)(*args)


def _lines(
    value: Tree, derivative: Tree, args: tuple[Tree, ...], names: list[str], order: str
) -> Iterator[tuple[str, str]]:
    """Yield a label and a text for the value and for each block of the derivative."""
    yield "value", _text(value)
    if order == "jvp":
        yield order, _text(derivative)
    elif order == "jacobian" and _tree.flatten(value)[1] != _tree.LEAF:
        yield order, _text(derivative)  # the output's own containers are outermost
    elif order == "hessian":
        for name, arg, row in zip(names, args, derivative, strict=True):
            if _tree.flatten(arg)[1] != _tree.LEAF:  # the argument's own containers are outermost
                yield f"hessian {name}" if len(names) > 1 else order, _text(row)
                continue
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


def _check(
    function: Function,
    args: tuple[Tree, ...],
    derivative: Tree,
    order: str,
    dots: tuple[Tree, ...] | None,
) -> int:
    if dots is not None:
        function, args = _along(function, args, dots), (0.0,)
    argnums = tuple(range(len(args)))
    compared = tapegrad.grad(function, argnums) if order == "hessian" else function
    comparison = compare(compared, args, derivative)
    lines = [("check", f"{'passed' if comparison.passed else 'FAILED'}: {comparison}")]
    if not comparison.passed:
        lines.append(("", f"worst: {comparison.worst}"))
    _report(lines)
    return 0 if comparison.passed else 1


def _along(function: Function, args: tuple[Tree, ...], dots: tuple[Tree, ...]) -> Function:
    """The function on the line through the point in a direction, of one number."""
    leaves, structure = _tree.flatten(args)
    moves = _tree.flatten(dots)[0]

    def at(t: float) -> Tree:
        moved = [
            (np.asarray(x) + t * np.asarray(dot)).astype(np.asarray(x).dtype)
            for x, dot in zip(leaves, moves, strict=True)
        ]
        return function(*_tree.unflatten(structure, moved))

    return at
