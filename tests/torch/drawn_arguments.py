"""Calls with drawn arguments as plain data: how they are made, and ways to make them wrong.

A tensor among the arguments is an array. Knows no function and no library.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from drawn import Draw

Call = tuple[list[Any], dict[str, Any]]
Maker = Callable[[Draw], Call]


def numbers(draw: Draw, *shape: int) -> Any:
    return draw.numbers(*shape)


def with_shapes(*shapes: tuple[int, ...], **options: tuple[Any, ...]) -> Maker:
    """A call with tensors of these shapes, and some of the options."""
    return lambda draw: ([numbers(draw, *shape) for shape in shapes], draw.some(options))


def with_rest(*shapes: tuple[int, ...], rest: Any, **options: tuple[Any, ...]) -> Maker:
    """The same, with one of several lists of further arguments by position."""
    return lambda draw: (
        [*(numbers(draw, *shape) for shape in shapes), *draw.one(*rest)],
        draw.some(options),
    )


def unary(**options: tuple[Any, ...]) -> Maker:
    return lambda draw: ([numbers(draw, *draw.one((3,), (2, 3), (), (2, 0)))], draw.some(options))


WRONG: tuple[str, ...] = (
    "nothing",
    "shape",
    "shape",
    "empty",
    "dtype",
    "dtype",
    "option",
    "option",
    "value",
    "missing",
    "unknown",
)


def spoiled(draw: Draw, call: Call, how: str) -> Call:
    """The call with one thing changed."""
    arguments, options = list(call[0]), dict(call[1])
    arrays = [i for i, a in enumerate(arguments) if isinstance(a, np.ndarray)]
    if how in ("shape", "empty", "dtype") and arrays:
        place = draw.one(*arrays)
        x = arguments[place]
        if how == "shape":
            changes = [x[None], x[..., None]] + (
                [x[0], x[..., :-1], np.concatenate([x, x])] if x.ndim and x.size else []
            )
            arguments[place] = np.ascontiguousarray(draw.one(*changes))
        elif how == "empty":
            arguments[place] = np.zeros((0, *x.shape[1:]), x.dtype)
        else:
            kind = draw.one(np.float32, np.int64, np.complex128, bool, np.int32)
            arguments[place] = x.real.astype(kind)
    elif how == "option" and options:
        name = draw.one(*options)
        options[name] = draw.one(-1, 0, 100, "what", None, 2.5, (1, 2, 3, 4, 5, 6, 7))
    elif how == "value" and arguments:
        place = draw.one(*range(len(arguments)))
        arguments[place] = draw.one(None, "what", 3, 2.5, (1, 2, 3, 4, 5, 6, 7), [])
    elif how == "missing" and arguments:
        arguments.pop()
    elif how == "unknown":
        options["what"] = 1
    return arguments, options
