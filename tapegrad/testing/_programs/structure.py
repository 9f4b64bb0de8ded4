"""Reductions, orders, shapes, parts and joins of arrays.

Knows which calls an array of a shape takes. Must not know how a program is put together.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tapegrad._core.types import Value
from tapegrad.testing._programs.operations import (
    Chooser,
    Draft,
    Operation,
    fits_with,
    gap,
    is_real,
    nearest,
)

# name: whether complex numbers are reduced as well, and whether the order of elements counts.
REDUCTIONS = {
    "np.sum": (True, False),
    "np.mean": (True, False),
    "np.prod": (False, False),
    "np.var": (False, False),
    "np.std": (False, False),
    "np.max": (False, True),
    "np.min": (False, True),
    "np.median": (False, True),
    "np.ptp": (False, True),
    "np.nansum": (False, False),
    "np.nanmean": (False, False),
    "np.linalg.norm": (False, False),
    "np.average": (False, False),
}


def _axis(choose: Chooser, ndim: int) -> int | None:
    """An axis, or None for all."""
    at = choose.number(2 * ndim + 1)
    return None if at == 0 else at - 1 if at <= ndim else at - 1 - 2 * ndim


def _reduction(name: str) -> Operation:
    complex_too, ordered = REDUCTIONS[name]

    def draft(choose: Chooser) -> Draft:
        a = choose.pick(lambda x: x.size > 0 and (complex_too or is_real(x)))
        x = choose[a]
        axis = _axis(choose, x.ndim)
        words = [] if axis is None else [f"axis={axis}"]
        if name != "np.average" and choose.number(3) == 1:
            words.append("keepdims=True")
        margin = gap(x, axis) if ordered else np.inf
        if name in ("np.std", "np.linalg.norm"):
            size = np.std(x, axis) if name == "np.std" else np.linalg.norm(x, axis=axis)
            margin = nearest(size)
        return Draft(f"{name}({', '.join([a, *words])})", margin)

    return Operation(name, draft, "kink" if ordered else "plain")


def _along(text: str, *, kink: bool = False, real: bool = False) -> Operation:
    """A function along an axis."""
    name = text[: text.index("(")]

    def draft(choose: Chooser) -> Draft:
        a = choose.pick(lambda x: x.ndim > 0 and x.size > 0 and (not real or is_real(x)))
        axis = choose.number(choose[a].ndim)
        k = 1 + choose.number(2)
        margin = gap(choose[a], axis) if kink else np.inf
        return Draft(text.format(a=a, axis=axis, k=k), margin)

    return Operation(name, draft, "kink" if kink else "plain")


def _view(name: str, *texts: str, ndim: int = 1) -> Operation:
    """Another order, or shape, of an array's elements."""

    def draft(choose: Chooser) -> Draft:
        a = choose.pick(lambda x: x.ndim >= ndim and x.size > 0)
        x = choose[a]
        axis = choose.number(max(x.ndim, 1))
        text: str = choose.one_of(texts)
        return Draft(text.format(a=a, axis=axis, size=x.size, back=tuple(range(x.ndim))[::-1]))

    return Operation(name, draft)


def _reshape(choose: Chooser) -> Draft:
    a = choose.pick(lambda x: x.size > 0)
    size = choose[a].size
    factors = [d for d in range(1, size + 1) if size % d == 0]
    d = choose.one_of(factors)
    return Draft(f"np.reshape({a}, ({d}, {size // d}))" if d > 1 else f"{a}.reshape(-1)")


def _broadcast_to(choose: Chooser) -> Draft:
    a = choose.pick()
    side = 2 + choose.number(2)
    return Draft(f"np.broadcast_to({a}, {(side, *np.shape(choose[a]))}) * 1.0")


def _concatenate(choose: Chooser) -> Draft:
    a = choose.pick(lambda x: x.ndim > 0)
    x = choose[a]
    axis = choose.number(x.ndim)

    def joins(y: Value) -> bool:
        shape = y.shape
        return len(shape) == x.ndim and all(
            m == n for at, (m, n) in enumerate(zip(shape, x.shape, strict=True)) if at != axis
        )

    b = choose.pick(joins)
    return Draft(f"np.concatenate([{a}, {b} * 0.5], axis={axis})")


def _stack(choose: Chooser) -> Draft:
    a = choose.pick()
    b = choose.pick(lambda y: y.shape == np.shape(choose[a]))
    name = choose.one_of(("np.stack", "np.vstack", "np.hstack"))
    if name == "np.hstack" and not np.ndim(choose[a]):
        name = "np.stack"
    return Draft(f"{name}([{a}, {b}])")


def _pad(choose: Chooser) -> Draft:
    a = choose.pick(lambda x: 0 < x.ndim < 3 and x.size > 0)
    mode = choose.one_of(("constant", "edge", "wrap", "reflect"))
    if mode == "reflect" and min(choose[a].shape) < 2:
        mode = "edge"
    return Draft(f'np.pad({a}, 1, mode="{mode}")')


def _item(choose: Chooser) -> Draft:
    a = choose.pick(lambda x: x.ndim > 0 and x.size > 0)
    n = choose[a].shape[0]
    at = choose.number(2 * n)
    return Draft(f"{a}[{at if at < n else at - 2 * n}]")


def _slice(choose: Chooser) -> Draft:
    a = choose.pick(lambda x: x.ndim > 0 and x.size > 0)
    n = choose[a].shape[-1]
    texts = [f"{a}[::-1]", f"{a}[..., ::-1]", f"{a}[..., None]", f"{a}[None]", f"{a}[...]"]
    if n > 1:
        texts += [f"{a}[..., 1:]", f"{a}[..., :-1]", f"{a}[..., ::2]"]
    return Draft(choose.one_of(texts))


def _fancy(choose: Chooser) -> Draft:
    a = choose.pick(lambda x: x.ndim > 0 and x.size > 0)
    shape = choose[a].shape
    rows = [choose.number(shape[0]), choose.number(shape[0]), 0]
    texts = [f"{a}[{rows}]", f"np.take({a}, {rows}, axis=0)", f"{a}[np.array({rows})]"]
    if len(shape) > 1:
        last = [choose.number(shape[1]) for _ in rows]
        texts += [f"{a}[{rows}, {last}]", f"{a}[np.ix_({rows[:2]}, {last[:2]})]"]
        texts += [f"{a}[:, {last}]"]
    return Draft(choose.one_of(texts))


def _masked(choose: Chooser) -> Draft:
    a = choose.array()
    x = choose[a]
    c = choose.constant()
    flags = [bool((k * 7 + choose.number(2)) % 3) for k in range(x.shape[0])]
    flags[0] = True
    if choose.number(2) == 0:
        return Draft(f"{a}[np.array({flags})]")
    if not np.any(x > float(c)):
        return Draft(f"{a}[{a} < {c}]", nearest(x - float(c)))
    return Draft(f"{a}[{a} > {c}]", nearest(x - float(c)))


def _take_along(choose: Chooser) -> Draft:
    a = choose.array()
    b = choose.array(lambda y: y.shape == choose[a].shape)
    return Draft(f"np.take_along_axis({a}, np.argsort({b}, axis=-1), axis=-1)", gap(choose[b]))


def _by_value(choose: Chooser) -> Draft:
    a = choose.array()
    b = choose.array()
    n = choose[a].shape[0]
    return Draft(f"{a}[int(np.argmax({b})) % {n}] + 0.5", gap(choose[b], None))


def _weighted(choose: Chooser) -> Draft:
    a = choose.array()
    b = choose.array(lambda y: y.shape == choose[a].shape)
    return Draft(f"np.average({a}, weights=1.0 + {b} ** 2)")


def _normalised(choose: Chooser) -> Draft:
    a = choose.array()
    text = "np.exp({a} - np.max({a}, -1, keepdims=True))"
    return Draft(f"(lambda e: e / np.sum(e, -1, keepdims=True))({text.format(a=a)})")


def _where_mask(choose: Chooser) -> Draft:
    a = choose.array()
    b = choose.pick(lambda y: fits_with(choose[a])(y) and is_real(y))
    shape = np.broadcast_shapes(choose[a].shape, choose[b].shape)
    flags = [bool((3 * k + choose.number(2)) % 2) for k in range(shape[-1])]
    return Draft(f"np.where(np.array({flags}), {a}, {b})")


def operations() -> Iterator[Operation]:
    """The simplest first."""
    for name in REDUCTIONS:
        yield _reduction(name)
    yield _along("np.cumsum({a}, axis={axis})")
    yield _along("np.cumprod(np.tanh({a}), axis={axis})", real=True)
    yield _along("np.sort({a}, axis={axis})", kink=True, real=True)
    yield _along("np.diff(np.concatenate([{a}, {a} ** 2], axis={axis}), axis={axis})", real=True)
    yield _along("np.roll({a}, {k}, axis={axis})")
    yield _along("np.flip({a}, axis={axis})")
    yield _along("np.repeat({a}, {k}, axis={axis})")
    yield _along("np.tile({a}, {k})")
    yield _along("np.trapezoid({a}, axis={axis})", real=True)
    yield _view("np.transpose", "{a}.T", "np.transpose({a})", "np.transpose({a}, {back})")
    yield _view("np.swapaxes", "np.swapaxes({a}, {axis}, -1)", "np.moveaxis({a}, {axis}, 0)")
    yield _view("np.ravel", "np.ravel({a})", "{a}.ravel()", "{a}.flatten()")
    yield _view("np.expand_dims", "np.expand_dims({a}, {axis})", "np.atleast_2d({a})", ndim=0)
    yield _view("np.squeeze", "np.squeeze({a})", "np.squeeze({a}[None], axis=0)", ndim=0)
    yield _view("np.rot90", "np.rot90({a})", "np.rot90({a}, 2)", ndim=2)
    yield _view("np.split", "np.array_split({a}, 2)[0]", "np.array_split({a}, 2)[0] * 2.0")
    yield Operation("np.reshape", _reshape)
    yield Operation("np.broadcast_to", _broadcast_to)
    yield Operation("np.concatenate", _concatenate)
    yield Operation("np.stack", _stack)
    yield Operation("np.pad", _pad)
    yield Operation("x[i]", _item)
    yield Operation("x[slice]", _slice)
    yield Operation("x[list]", _fancy)
    yield Operation("x[mask]", _masked, "kink")
    yield Operation("np.take_along_axis", _take_along, "kink")
    yield Operation("x[argmax]", _by_value, "kink")
    yield Operation("weights", _weighted)
    yield Operation("softmax", _normalised)
    yield Operation("np.where of a mask", _where_mask)


__all__ = ["operations"]
