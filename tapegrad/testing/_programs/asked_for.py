"""Operations that a program has only where they are asked for.

Casts (differences in float32 are noisy), whole numbers among the arguments, functions that are
flat or stop derivatives (differences do not see that), parts without elements. Must not know how
a program is put together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.testing._programs.operations import (
    Chooser,
    Draft,
    Operation,
    fits_with,
    is_real,
    nearest,
)

# --- Casts --------------------------------------------------------------------------------------


def _cast(choose: Chooser) -> Draft:
    a = choose.pick(lambda x: x.dtype.kind in "fc")
    if choose[a].dtype.kind == "c":
        return Draft(f"{a}.astype(np.complex64).astype({a}.dtype)")
    texts = (
        "{a}.astype(np.float32)",
        "{a}.astype(np.float64)",
        "np.float32(0.5) * {a}",
        "{a}.astype(np.float32).astype({a}.dtype)",
    )
    return Draft(choose.one_of(texts).format(a=a))


def _cast_like(choose: Chooser) -> Draft:
    a = choose.pick(is_real)
    b = choose.pick(lambda y: y.dtype.kind in "fc")
    return Draft(f"{a}.astype({b}.dtype)")


# --- Whole numbers ------------------------------------------------------------------------------


def _is_whole(x: Value) -> bool:
    return bool(x.dtype.kind == "i")


def _are_rows(x: Value) -> bool:
    return bool(_is_whole(x) and x.ndim and x.size)


def _floating_like(n: Value) -> Callable[[Value], bool]:
    return lambda x: bool(x.dtype.kind in "fc" and x.shape == n.shape)


def _by_whole(name: str, *texts: str) -> Operation:
    """A call with whole numbers and two arrays, that broadcast."""

    def draft(choose: Chooser) -> Draft:
        n = choose.pick(_is_whole)
        fits = fits_with(choose[n])
        a = choose.pick(lambda x: is_real(x) and fits(x))
        together = fits_with(np.empty(np.broadcast_shapes(choose[n].shape, choose[a].shape)))
        b = choose.pick(lambda y: is_real(y) and together(y))
        margin = nearest(choose[a] - choose[b]) if "{a} >" in texts[0] else np.inf
        return Draft(choose.one_of(texts).format(n=n, a=a, b=b), margin)

    return Operation(name, draft, "integer")


def _rows_by_whole(choose: Chooser) -> Draft:
    n = choose.pick(_are_rows)
    a = choose.pick(lambda x: x.dtype.kind in "fc" and x.ndim > 0 and x.size > 0)
    rows = f"np.ravel({n}) % len({a})"
    return Draft(choose.one_of((f"{a}[{rows}]", f"np.take({a}, {rows}, axis=0)")))


def _written(name: str, *lines: str) -> Operation:
    """A write of a new array at the places of whole numbers."""

    def draft(choose: Chooser) -> Draft:
        n = choose.pick(_are_rows)
        a = choose.pick(_floating_like(choose[n]))
        text = choose.one_of(lines).format(out="{out}", n=n, a=a)
        return Draft(text, several_lines=True)

    return Operation(name, draft, "integer")


_COPY = "{out} = {a} * 1.0\n"
_ROWS = "np.ravel({n}) % len({a})"

# --- Flat functions, and what has no elements ---------------------------------------------------


def _to_whole(x: Any) -> float:
    return nearest(x - np.round(x))


def _flat(name: str, text: str, near: Callable[[Any], float]) -> Operation:
    def draft(choose: Chooser) -> Draft:
        a = choose.pick(is_real)
        return Draft(text.format(a=a), near(choose[a]))

    return Operation(name, draft, "flat")


def _remainder(choose: Chooser) -> Draft:
    a = choose.pick(is_real)
    c = choose.constant()
    return Draft(f"np.remainder({a}, {c})", _to_whole(choose[a] / float(c)))


def _heaviside(choose: Chooser) -> Draft:
    a = choose.pick(is_real)
    fits = fits_with(choose[a])
    b = choose.pick(lambda y: is_real(y) and fits(y))
    return Draft(f"np.heaviside({a}, {b})", nearest(choose[a]))


def _stopped(choose: Chooser) -> Draft:
    a = choose.pick(lambda x: x.dtype.kind in "fc")
    fits = fits_with(choose[a])
    b = choose.pick(lambda y: y.dtype.kind in "fc" and fits(y))
    return Draft(f"tapegrad.stop_gradient({a}) * {b}")


def _nothing(choose: Chooser) -> Draft:
    a = choose.pick(lambda x: x.dtype.kind in "fc" and x.ndim > 0)
    return Draft(
        choose.one_of((f"{a}[:0]", f"{a}[..., :0]", f"{a}[[]]", f"np.zeros_like({a}[:0])"))
    )


def operations() -> Iterator[Operation]:
    """The simplest first; each kind by an option of its name."""
    yield Operation("astype", _cast, "cast")
    yield Operation("astype of another", _cast_like, "cast")
    yield _by_whole("number by whole numbers", "{n} * {a}", "{a} - {n} * {b}", "{a} / ({n} + 1)")
    yield _by_whole("power of whole numbers", "{a} ** ({n} % 3)", "{a} ** {n} * {b}")
    yield _by_whole("np.where of whole numbers", "np.where({n} > 1, {a}, 0.5 * {b})")
    yield _by_whole(
        "np.where of whole numbers and a comparison",
        "np.where(({a} > {b}) & ({n} != 1), {a}, 0.5 * {b})",
    )
    yield Operation("x[n]", _rows_by_whole, "integer")
    yield _written("x[n == 1] =", _COPY + "{out}[{n} == 1] = 0.5", _COPY + "{out}[{n} > 1] *= 2.0")
    yield _written("np.add.at of whole numbers", _COPY + f"np.add.at({{out}}, {_ROWS}, 0.5)")
    yield _written(
        "where=",
        "{out} = {a} * 2.0\nnp.add({out}, {a}, out={out}, where={n} > 1)",
        "{out} = {a} * 2.0\nnp.multiply({a}, {a}, out={out}, where={n} != 1)",
    )
    yield _flat("np.floor", "np.floor({a})", _to_whole)
    yield _flat("np.rint", "np.rint({a})", lambda x: _to_whole(x + 0.5))
    yield _flat("np.sign", "np.sign({a})", nearest)
    yield Operation("np.heaviside", _heaviside, "flat")
    yield Operation("np.remainder", _remainder, "flat")
    yield Operation("tapegrad.stop_gradient", _stopped, "flat")
    yield Operation("x[:0]", _nothing, "empty")


__all__ = ["operations"]
