"""Statements of several lines: writes, branches, loops, helpers, and transforms within.

Knows which variables may be written to. Must not know how a program is put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapegrad.testing._programs.operations import (
    Chooser,
    Draft,
    Operation,
    fits_with,
    is_real,
    nearest,
)

# --- Writes -------------------------------------------------------------------------------------


def _fitting(choose: Chooser, target: Any, shape: tuple[int, ...]) -> str:
    """A variable that may be assigned to a part of this shape of the target."""

    def fits(y: Any) -> bool:
        try:
            together = np.broadcast_shapes(shape, y.shape)
        except ValueError:
            return False
        return together == shape and np.can_cast(y.dtype, target.dtype, "same_kind")

    return choose.pick(fits)


def _write(name: str, line: Callable[[Chooser, str, Any], str]) -> Operation:
    """A write to a variable of the program's own, or to a copy of one, which it then assigns."""

    def draft(choose: Chooser) -> Draft:
        copied = choose.number(3) == 0
        target = None if copied else choose.fresh()
        if target is not None:
            return Draft(line(choose, target, choose[target]), writes=target, several_lines=True)
        a = choose.pick(lambda x: x.ndim > 0 and x.size > 0)
        made = choose.one_of((f"{a}.copy()", f"{a} * 1.0", f"np.copy({a})"))
        return Draft(
            "{out} = " + made + "\n" + line(choose, "{out}", choose[a]), several_lines=True
        )

    return Operation(name, draft, "write")


def _set_row(choose: Chooser, target: str, x: Any) -> str:
    k = choose.number(x.shape[0])
    return f"{target}[{k}] = {_fitting(choose, x, x.shape[1:])}"


def _set_part(choose: Chooser, target: str, x: Any) -> str:
    index, shape = choose.one_of(
        (
            ("[...]", x.shape),
            ("[1:]", x[1:].shape),
            ("[::-1]", x.shape),
            ("[..., ::2]", x[..., ::2].shape),
        )
    )
    sign = choose.one_of(("=", "+=", "*=", "-="))
    value = _fitting(choose, x, shape)
    return f"{target}{index} {sign} {value} * 0.5"


def _set_list(choose: Chooser, target: str, x: Any) -> str:
    rows = sorted({0, choose.number(x.shape[0])})
    value = _fitting(choose, x, (len(rows), *x.shape[1:]))
    return f"{target}[{rows}] {choose.one_of(('=', '+='))} {value}"


def _set_masked(choose: Chooser, target: str, x: Any) -> str:
    flags = [bool((k + choose.number(2)) % 2) for k in range(x.shape[0])]
    return f"{target}[np.array({flags})] = {choose.constant()}"


def _augmented(choose: Chooser, target: str, x: Any) -> str:
    sign = choose.one_of(("+=", "*=", "-="))
    return f"{target} {sign} {_fitting(choose, x, x.shape)}"


def _divided(choose: Chooser, target: str, x: Any) -> str:
    return f"{target} /= {choose.one_of(('2.0', '1.5', '-4.0'))}"


def _added_at(choose: Chooser, target: str, x: Any) -> str:
    rows = [choose.number(x.shape[0]), 0, choose.number(x.shape[0])]
    value = _fitting(choose, x, (3, *x.shape[1:]))
    return f"np.add.at({target}, {rows}, {value})"


def _out(choose: Chooser, target: str, x: Any) -> str:
    value = _fitting(choose, x, x.shape)
    name = choose.one_of(("np.multiply", "np.add", "np.subtract"))
    return f"{name}({value}, {choose.constant()}, out={target})"


def _copied_to(choose: Chooser, target: str, x: Any) -> str:
    return f"np.copyto({target}, {_fitting(choose, x, x.shape)})"


def _through_view(choose: Chooser, target: str, x: Any) -> str:
    view = choose.one_of(("[1:]", "[::2]", ".T", "[..., 0]", ".reshape(-1)", "[...]"))
    change = choose.one_of(("part *= 0.5", "part += 1.5 * part", "part[...] = np.sin(part)"))
    return f"part = {target}{view}\n{change}"


def _filled(choose: Chooser) -> Draft:
    a = choose.pick(lambda x: x.ndim > 0 and x.size > 0)
    n = choose[a].shape[0]
    make = choose.one_of(("np.zeros_like", "np.empty_like", "np.ones_like"))
    lines = f"{{out}} = {make}({a})\nfor i in range({n}):\n    {{out}}[i] = {a}[i] * (i + 1)"
    return Draft(lines, several_lines=True)


# --- Branches and loops -------------------------------------------------------------------------


def _branch(choose: Chooser) -> Draft:
    a = choose.array(least=0)
    b = choose.pick(lambda y: y.shape == choose[a].shape)
    c = choose.constant()
    lines = (
        f"if np.sum({a}) > {c}:\n    {{out}} = np.sin({a}) + {b}\nelse:\n    {{out}} = {a} * {b}"
    )
    return Draft(lines, nearest(np.sum(choose[a]) - float(c)), several_lines=True)


def _loop(choose: Chooser) -> Draft:
    a = choose.pick(is_real)
    b = choose.pick(lambda y: y.shape == choose[a].shape and is_real(y))
    lines = f"{{out}} = {a}\nfor _ in range({2 + choose.number(2)}):\n"
    lines += f"    {{out}} = np.tanh({{out}} + {b})"
    return Draft(lines, several_lines=True)


def _rows(choose: Chooser) -> Draft:
    a = choose.array()
    lines = f"{{out}} = 0.0\nfor row in {a}:\n    {{out}} = {{out}} * 0.5 + np.sin(row)"
    return Draft(lines, several_lines=True)


def _halved(choose: Chooser) -> Draft:
    a = choose.array(least=0)
    x, margin = choose[a], np.inf
    for _ in range(20):
        size = float(np.sum(np.abs(x)))
        margin = min(margin, abs(size - 1.0))
        if size <= 1:
            break
        x = x / 2
    margin = min(margin, nearest(choose[a]))
    # Elsewhere there may be an infinity, whose half is no smaller.
    lines = (
        f"{{out}} = {a}\nwhile 1.0 < np.sum(np.abs({{out}})) < 1e9:\n    {{out}} = {{out}} / 2.0"
    )
    return Draft(lines, margin, several_lines=True)


def _comprehension(choose: Chooser) -> Draft:
    a = choose.array()
    return Draft(f"np.stack([np.cos(row) * k for k, row in enumerate({a}, 1)])")


def _called(name: str, count: int) -> Operation:
    def draft(choose: Chooser) -> Draft:
        a = choose.pick(is_real)
        if count == 1:
            return Draft(f"{name}({a})", helpers=(name,))
        # A rule that is written without broadcasting is asked for none.
        same = name == "steep"
        fits = fits_with(choose[a])
        b = choose.pick(
            lambda y: (
                is_real(y)
                and (
                    y.shape == choose[a].shape and y.dtype == choose[a].dtype if same else fits(y)
                )
            )
        )
        return Draft(f"{name}({a}, {b})", helpers=(name,))

    return Operation(name, draft, "plain" if name == "helper" else "nested")


# --- Transforms within --------------------------------------------------------------------------

_GRAD = "tapegrad.grad(lambda z: np.sum(np.sin(z) * {b} + z**2))({a})"
_JVP = "tapegrad.jvp(lambda z: np.tanh(z) * {b}, ({a},), (np.ones_like({a}),))[1]"
_VJP = "tapegrad.vjp(lambda z: np.cos(z) * {b}, {a})[1](np.ones_like({a}))[0]"
_CHECKPOINT = "tapegrad.checkpoint(lambda z, w: np.sin(z) * w + z)({a}, {b})"
_LINEARIZE = "tapegrad.linearize(lambda z: z**2 * {b}, {a})[1]({a})"
_HVP = "tapegrad.hvp(lambda z: np.sum(np.sin(z) * {b}), ({a},), (np.ones_like({a}),))"
_GRAD_OF_GRAD = (
    "tapegrad.grad(lambda z: np.sum(tapegrad.grad(lambda w: np.sum(w**3 * {b}))(z)))({a})"
)
_VMAP = "tapegrad.vmap(lambda r, s: np.sin(r) * np.sum(s) + s)({a}, {b})"
_VMAP_GRAD = "tapegrad.vmap(tapegrad.grad(lambda r, s: np.sum(np.tanh(r) * s**2)))({a}, {b})"
_JACOBIAN = "tapegrad.jacobian(lambda z: np.sin(z) * {b})({a})"

NESTED = {
    "tapegrad.grad": (_GRAD, 0),
    "tapegrad.jvp": (_JVP, 0),
    "tapegrad.vjp": (_VJP, 0),
    "tapegrad.checkpoint": (_CHECKPOINT, 0),
    "tapegrad.linearize": (_LINEARIZE, 0),
    "tapegrad.hvp": (_HVP, 0),
    "grad of grad": (_GRAD_OF_GRAD, 0),
    "tapegrad.vmap": (_VMAP, 1),
    "vmap of grad": (_VMAP_GRAD, 1),
    "tapegrad.jacobian": (_JACOBIAN, 0),
}


def _nested(name: str) -> Operation:
    text, least = NESTED[name]

    def draft(choose: Chooser) -> Draft:
        a = choose.array(least=least)
        x = choose[a]
        b = choose.pick(lambda y: y.shape == x.shape and y.dtype == x.dtype)
        return Draft(text.format(a=a, b=b))

    return Operation(name, draft, "nested")


def operations() -> Iterator[Operation]:
    """The simplest first."""
    yield _called("helper", 2)
    yield Operation("for", _loop)
    yield Operation("for row", _rows)
    yield Operation("comprehension", _comprehension)
    yield Operation("if", _branch, "branch")
    yield Operation("while", _halved, "branch")
    yield _write("x[i] =", _set_row)
    yield _write("x *=", _augmented)
    yield _write("x /=", _divided)
    yield _write("x[slice] =", _set_part)
    yield _write("x[list] =", _set_list)
    yield _write("x[mask] =", _set_masked)
    yield _write("np.add.at", _added_at)
    yield _write("out=", _out)
    yield _write("np.copyto", _copied_to)
    yield _write("view *=", _through_view)
    yield Operation("filled", _filled, "write")
    for name in NESTED:
        yield _nested(name)
    yield _called("doubled", 1)
    yield _called("steep", 2)
    yield _called("cube", 1)


__all__ = ["operations"]
