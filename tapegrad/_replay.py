"""The replays of a tape, backward with cotangents and forward with tangents.

Knows the layouts of entries, which few attributes of a rule a replay asks for, and how a cotangent
is fitted to its argument. Must not know which functions exist, or what a transform is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tapegrad._errors import RuleError
from tapegrad._tape import (
    ADD,
    MINUS,
    PROJECT,
    READ,
    WRITE,
    Entry,
    Mapped,
    Outputs,
    Spec,
    Tape,
    Traced,
    _Mark,
    beside,
    beside_index,
    is_basic,
    is_numpy,
    pick,
    spec_of,
)


class Scatter:
    """A cotangent that is zero but for `value` added at `index`: never built as a full array."""

    __slots__ = ("index", "value")

    def __init__(self, index: Any, value: Any) -> None:
        self.index = index
        self.value = value


# --- Fitting ------------------------------------------------------------------------------------


def fit(bar: Any, like: Any, rule: Any) -> Any:
    """A cotangent summed to the shape of its argument, cast to its dtype and realness."""
    shape = like.shape
    if bar.shape != shape:
        bar = _unbroadcast(bar, shape, rule)
    dtype = like.dtype
    return bar if bar.dtype is dtype else cast(bar, dtype)


def _unbroadcast(bar: Any, shape: tuple[int, ...], rule: Any) -> Any:
    lead = len(bar.shape) - len(shape)
    if lead == 1 and bar.shape[1:] == shape:
        return _sum(bar, (0,))  # a bias added to rows: the frequent case
    given = bar.shape[lead:] if lead >= 0 else ()
    stretched = tuple(
        lead + axis
        for axis, (size, came) in enumerate(zip(shape, given, strict=False))
        if size == 1 and came != 1
    )
    if lead > 0 and not stretched:
        bar = _sum(bar, tuple(range(lead)))
    elif stretched:
        bar = _sum(bar, (*range(lead), *stretched), keepdims=True)
        bar = bar.reshape(bar.shape[lead:])
    if bar.shape != shape:
        raise RuleError(
            f"{rule.name}: its rule returned a cotangent of shape {bar.shape} for an argument of "
            f"shape {shape}. A cotangent has the shape of its argument, or one that broadcasting "
            "made of it."
        )
    return bar


def _sum(bar: Any, axes: tuple[int, ...], *, keepdims: Any = False) -> Any:
    """np.sum; without its wrapper for NumPy's own arrays, which is half the price."""
    if type(bar) is np.ndarray:
        return np.add.reduce(bar, axes, keepdims=keepdims)
    return np.sum(bar, axes, keepdims=keepdims)


def cast(value: Any, dtype: np.dtype[Any]) -> Any:
    """`value` as `dtype`; complex to real takes the real part, which is the transpose."""
    if value.dtype.kind == "c" and dtype.kind != "c":
        value = value.real
    return value if value.dtype == dtype else value.astype(dtype)


def zeros_of(like: Any) -> Any:
    """Zeros of a shape and dtype, on the library that `like` belongs to."""
    if isinstance(like, np.generic):
        return like.dtype.type(0)
    if type(like) is Spec or type(like) is np.ndarray:
        return np.zeros(like.shape, like.dtype)
    return np.zeros_like(like)


# --- Backward -----------------------------------------------------------------------------------


def replay_backward(
    entries: list[Entry],
    bars: list[Any],
    *,
    consume: bool,
    large: bool = False,
    careful: bool = False,
) -> None:
    """Push cotangents back through raw entries: `bars[slot]` holds a cotangent or None.

    `consume` empties `entries` on the way, which frees what they keep as early as possible.
    `large`: sums of cotangents are made in place, which pays from some hundred elements on.
    `careful`: every product is a strong one; otherwise those after the first infinity.
    """
    absent = -1  # by identity: a slot may be an object, whose comparison with a number is slow
    owned: set[int] = set()  # slots whose buffer nobody else holds: added to in place
    for slot, rule, out, x, y, x_slot, y_slot in _reversed(entries, consume):
        g = bars[slot]
        if g is None:
            continue
        bars[slot] = None
        if y_slot is None:
            if rule is READ and x_slot >= 0 and type(y) is slice and type(g) is np.ndarray:
                if x_slot in owned:
                    part = bars[x_slot][y]
                    part += g
                    continue
                bar = np.zeros(x.shape, x.dtype)
                bar[y] = g
                before = bars[x_slot]
                bars[x_slot] = bar if before is None else before + bar
                owned.add(x_slot)
            else:
                call = (slot, rule, out, x, y, x_slot, None)
                careful = _pull_general(bars, owned, g, call, 0, careful)
            continue
        strong = careful or rule.strong
        if x_slot is not absent:
            partial = rule.x_partial
            if partial is None:
                bar = g
            elif partial is MINUS:
                bar = -g
            elif rule.product and not careful:
                bar = g * y
            elif not strong:  # NumPy writes the product of a large one into the nameless factor
                bar = g * (partial(out, x) if rule.unary else partial(out, x, y))
            else:
                factor = partial(out, x) if rule.unary else partial(out, x, y)
                bar = g * factor
                if not is_finite(bar):
                    bar = rule.times(g, factor)
                    careful = careful or not is_finite(bar)
            before = bars[x_slot]
            if before is None:
                bars[x_slot] = bar
            elif large and x_slot in owned and type(bar) is type(before):
                before += bar
                bars[x_slot] = before  # a NumPy scalar is not changed in place
            else:
                bars[x_slot] = before + bar
                if large:
                    owned.add(x_slot)
        if y_slot is not absent:
            partial = rule.y_partial
            if partial is None:
                bar = g
            elif partial is MINUS:
                bar = -g
            elif rule.product and not careful:
                bar = g * x
            elif not strong:
                bar = g * partial(out, x, y)
            else:
                factor = partial(out, x, y)
                bar = g * factor
                if not is_finite(bar):
                    bar = rule.times(g, factor)
                    careful = careful or not is_finite(bar)
            before = bars[y_slot]
            if before is None:
                bars[y_slot] = bar
            elif large and y_slot in owned and type(bar) is type(before):
                before += bar
                bars[y_slot] = before
            else:
                bars[y_slot] = before + bar
                if large:
                    owned.add(y_slot)


def is_finite(bar: Any) -> bool:
    """Whether a cotangent has no infinity or NaN, told by its sum: one pass, no array of flags.

    A sum that overflows says no, which costs time alone. Arrays of other libraries may be lazy:
    yes.
    """
    while isinstance(bar, (Traced, Mapped)):
        bar = bar.value
    if not is_numpy(bar):
        return True
    total = np.add.reduce(bar, None)
    return bool(total - total == 0)


def has_nan(bar: Any) -> bool:
    """Whether a cotangent has a NaN; arrays of other libraries may be lazy: no."""
    while isinstance(bar, (Traced, Mapped)):
        bar = bar.value
    if not is_numpy(bar):
        return False
    total = np.add.reduce(bar, None)
    return bool(total != total) and bool(np.isnan(bar).any())


def _reversed(entries: list[Any], consume: bool) -> Iterable[Entry]:
    """Entries from last to first; consumed ones leave the list before they are used."""
    if not consume:
        return reversed(entries)
    entries.insert(0, None)
    return iter(entries.pop, None)


class SparseBars(dict[Any, Any]):
    """Cotangents by slot for a stretch in the middle of a tape; slots before `start` get none."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self.start = start

    def __missing__(self, slot: Any) -> None:
        return None


def replay_nested(
    entries: list[Entry], bars: SparseBars, tape: Tape | None, *, careful: bool = False
) -> None:
    """Push cotangents back through a stretch while an outer transform is open on its tape.

    With `tape`, kept values are wrapped with their slots again: the rules then log themselves.
    `careful`: the cotangents may hold infinities from the start.
    """
    owned: set[int] = set()
    for entry in reversed(entries):
        slot, rule, out, x, y, x_slot, y_slot = entry
        g = bars.pop(slot, None)
        if g is None:
            continue
        if tape is not None:
            out, x, y = _wrap_kept(tape, entry)
        if y_slot is None:
            call = (slot, rule, out, x, y, x_slot, None)
            careful = _pull_general(bars, owned, g, call, bars.start, careful)
            continue
        strong = careful or rule.strong
        for arg_slot, partial in ((x_slot, rule.x_partial), (y_slot, rule.y_partial)):
            if arg_slot < bars.start:
                continue
            if partial is None:
                bar = g
            elif partial is MINUS:
                bar = -g
            else:
                values = partial(out, x) if rule.unary else partial(out, x, y)
                bar = rule.times(g, values) if strong else g * values
                careful = careful or (strong and not is_finite(bar))
            _accumulate(bars, owned, arg_slot, bar, None)


def _wrap_kept(tape: Tape, entry: Entry) -> tuple[Any, Any, Any]:
    """What an entry keeps (out, x, y), wrapped with its slots."""
    slot, rule, out, x, y, x_slot, y_slot = entry
    if y_slot is not None:
        return _wrap(tape, out, slot), _wrap(tape, x, x_slot), _wrap(tape, y, y_slot)
    if type(rule) is _Mark:
        return out, x, y
    if isinstance(out, Outputs):
        slots = out.slots
        out = Outputs(_wrap(tape, part, at) for part, at in zip(out, slots, strict=True))
        out.slots = slots
    else:
        out = _wrap(tape, out, slot)
    return out, tuple(_wrap(tape, arg, at) for arg, at in zip(x, x_slot, strict=True)), y


def _wrap(tape: Tape, value: Any, slot: int) -> Any:
    if slot < 0 or value is None or type(value) is Spec:
        return value
    return tape.wrap(value, slot)


def _pull_general(
    bars: Any, owned: set[int], g: Any, entry: Entry, start: int, careful: bool
) -> bool:
    """One entry of the general layout, backward; slots before `start` get no cotangent.

    Whether an infinity is on its way: so it was, or a strong product has made one.
    """
    slot, rule, out, args, params, slots, _ = entry
    if type(rule) is _Mark:
        if rule is READ:
            if slots >= start:
                _scatter(bars, owned, slots, params, g, args)
        elif rule is WRITE:
            _pull_write(bars, owned, g, entry, start)
        elif rule is ADD:
            (x, v), (x_slot, v_slot) = args, slots
            if v_slot >= start:
                _accumulate(bars, owned, v_slot, fit(g[params], v, ADD), v)
            if x_slot >= start:
                _accumulate(bars, owned, x_slot, g, x)
        else:
            if bars[slots] is None:
                bars[slots] = [None] * params
            before = bars[slots][args]  # the same result may have several slots
            bars[slots][args] = g if before is None else before + g
        return careful
    wanted = [at >= start for at in slots]
    if careful and rule.form != "custom" and _has_infinities(g):
        found = _pull_infinite(rule, g, out, args, params, wanted)
    else:
        found = rule.pull(g, out, args, params, wanted)
    if len(found) != len(args):
        raise RuleError(
            f"{rule.name}: its rule returned {len(found)} cotangents, expected {len(args)}. "
            "Return one (or None) an array."
        )
    for at, bar, like in zip(slots, found, args):  # noqa: B905 - strict= costs
        if bar is None or at < start:
            continue
        if type(bar) is not Scatter:
            if bar.shape != like.shape or bar.dtype is not like.dtype:
                bar = fit(bar, like, rule)
            careful = careful or (rule.strong and not is_finite(bar))
            before = bars[at]
            if before is None:
                bars[at] = bar
                continue
        _accumulate(bars, owned, at, bar, like)
    return careful


def _has_infinities(g: Any) -> bool:
    while isinstance(g, Mapped):
        g = g.value
    return is_numpy(g) and bool(np.isinf(g).any())


def _pull_infinite(rule: Any, g: Any, *call: Any) -> list[Any]:
    """Cotangents for a g with infinities, which must not make NaN of zeros in the arguments.

    A pull is linear in g: the finite part and the direction of the infinite part go through it
    apart, and only where the direction is not zero the result is infinite.
    """
    infinite = np.isinf(g)
    finite = rule.pull(np.where(infinite, 0, g), *call)
    direction = rule.pull(np.where(infinite, np.sign(g), 0), *call)
    return [
        a if a is None or isinstance(a, Scatter) else np.where(b == 0, a, b * np.inf)
        for a, b in zip(finite, direction, strict=True)
    ]


def _accumulate(bars: Any, owned: set[int], slot: int, bar: Any, like: Any) -> None:
    if type(bar) is Scatter:
        _scatter(bars, owned, slot, bar.index, bar.value, like)
        return
    before = bars[slot]
    if before is None:
        bars[slot] = bar
    else:
        bars[slot] = before + bar
        owned.add(slot)


def _scatter(bars: Any, owned: set[int], slot: int, index: Any, value: Any, like: Any) -> None:
    """Add a value at an index of a cotangent; the first of many pays for a buffer of the whole."""
    buffer = bars[slot]
    if slot not in owned:
        if not _ends_in_numpy(value):
            bar = _spread(value, index, like)
            bars[slot] = bar if buffer is None else buffer + bar
            return
        zeros = _zeros_beside(value, like)
        buffer = zeros if buffer is None else zeros + buffer
        owned.add(slot)
    bars[slot] = add_at(buffer, index, value)


def _ends_in_numpy(value: Any) -> bool:
    """Whether a value ends in an array of NumPy's, which can be written to and added into."""
    while isinstance(value, (Traced, Mapped)):
        value = value.value
    return is_numpy(value)


def _spread(value: Any, index: Any, like: Any) -> Any:
    """Zeros like an argument with a value added at an index, made by reading alone.

    Arrays of other libraries may be lazy or without writes. Places named more than once are read
    in rounds, each of which reads a place once.
    """
    places = np.arange(like.size).reshape(like.shape)[index].ravel()
    named, turns = np.unique(places, return_counts=True)
    value = value.reshape((-1,))
    padded = np.concatenate([value, np.zeros_like(value, shape=(1,))])
    order = np.argsort(places, kind="stable")
    ends = np.cumsum(turns)
    total: Any = None
    for turn in range(int(turns.max(initial=1))):
        source = np.full(like.size, places.size)  # the zero at the end
        again = turns > turn
        source[named[again]] = order[ends[again] - turns[again] + turn]
        part = padded[source]
        total = part if total is None else total + part
    return cast(total.reshape(like.shape), like.dtype)


def _zeros_beside(value: Any, like: Any) -> Any:
    """Zeros like an argument; on the tape of `value` where that is traced, to be written to."""
    if isinstance(value, Traced):
        return value.tape.wrap(_zeros_beside(value.value, like), -1)
    if type(value) is np.ndarray or isinstance(value, np.generic):
        return np.zeros(like.shape, like.dtype)
    return np.zeros(like.shape, like.dtype, like=value)


def add_at(buffer: Any, index: Any, value: Any) -> Any:
    element = type(index) is int and type(value) is np.float64 and type(buffer) is np.ndarray
    if element and buffer.dtype is value.dtype:  # a loop over elements
        buffer[index] += value
        return buffer
    if buffer.shape == ():
        return buffer + (np.sum(value) if value.shape else value)
    if value.dtype != buffer.dtype:
        value = cast(value, buffer.dtype)
    buffer = beside(buffer, value)
    if type(buffer) is np.ndarray and not is_numpy(value):
        buffer = np.asarray(buffer, like=value)  # another library's array
    if is_basic(index):
        if isinstance(buffer, (Traced, Mapped)):
            buffer.add_part(index, value)
        else:
            buffer[index] += value
        return buffer
    buffer = beside_index(buffer, index)
    found = _flat_positions(buffer, index, value)
    if found is None:
        np.add.at(buffer, index, value)
    else:
        _add_at_flat(buffer.reshape(-1), value, *found)
    return buffer


# Two numbers that lie side by side are added by one position, as a complex number.
PAIRS = {
    np.dtype(np.float64): np.dtype(np.complex128),
    np.dtype(np.float32): np.dtype(np.complex64),
}


def _flat_positions(buffer: Any, index: Any, value: Any) -> tuple[Any, Any, Any] | None:
    """Where `buffer[index] += value` goes, as the sums of two rows of flat positions, and a dtype.

    Known are indices of whole axes with arrays of integers behind them: rows, columns, elements by
    coordinates. None for others, and for few elements. The positions count elements of the dtype,
    as which buffer and value are to be seen.
    """
    if type(buffer) is not np.ndarray or type(value) is not np.ndarray or value.size < 256:
        return None
    parts = index if type(index) is tuple else (index,)
    whole = 0
    while whole < len(parts) and type(parts[whole]) is slice and parts[whole] == slice(None):
        whole += 1
    arrays = parts[whole:]
    if not arrays or not buffer.flags.c_contiguous or not all(map(_is_positions, arrays)):
        return None
    sides = buffer.shape[whole : whole + len(arrays)]
    rest = math.prod(buffer.shape[whole + len(arrays) :])
    dtype = value.dtype
    if rest % 2 == 0 and dtype in PAIRS:
        dtype, rest = PAIRS[dtype], rest // 2
    if len(arrays) == 1:
        places = arrays[0].reshape(-1)
        if buffer.ndim > 1:
            places = places % sides[0] * rest
    else:
        places = np.ravel_multi_index(np.broadcast_arrays(*arrays), sides, mode="wrap")
        places = places.reshape(-1) * rest
    within = np.arange(rest)
    if not whole:
        return places, within, dtype
    step = math.prod(sides) * rest
    starts = np.arange(0, buffer.nbytes // dtype.itemsize, step)
    return starts, (places[:, None] + within).reshape(-1), dtype


ADDED_AT_ONCE = 1 << 13  # positions: what fits into the caches beside the values


def _add_at_flat(row: Any, value: Any, starts: Any, within: Any, dtype: Any) -> None:
    """np.add.at of a row, which is several times faster than any other, piece by piece."""
    if len(within) == 1 and dtype is value.dtype:
        np.add.at(row, starts + within if within[0] else starts, value.reshape(-1))
        return
    row = row.view(dtype)
    value = value.reshape(len(starts), -1)
    step = max(ADDED_AT_ONCE // len(within), 1)
    room = np.empty((min(step, len(starts)), len(within)), np.intp)
    for first in range(0, len(starts), step):
        at = starts[first : first + step, None]
        places = np.add(at, within, out=room[: len(at)])
        piece = value[first : first + step].reshape(-1)
        if dtype is not piece.dtype:
            piece = np.ascontiguousarray(piece).view(dtype)
        np.add.at(row, places.reshape(-1), piece)


def _is_positions(part: Any) -> bool:
    return type(part) is np.ndarray and part.dtype.kind in "iu"


def _pull_write(bars: Any, owned: set[int], g: Any, entry: Entry, start: int) -> None:
    """`out = x with x[index] = v`: v gets the cotangent there, x all the rest."""
    slot, _, _, (x, v), index, (x_slot, v_slot), _ = entry
    if slot not in owned:
        g = g.copy() if g.shape else g
    if not is_basic(index):
        g = beside_index(g, index)
    if v_slot >= start:
        v_bar = g[index]
        if isinstance(v_bar, (np.ndarray, Traced, Mapped)):
            v_bar = v_bar.copy()  # not a view of what is about to be cleared
        if not is_basic(index):
            v_bar = _last_writers(v_bar, x.shape, index)
        _accumulate(bars, owned, v_slot, fit(v_bar, v, WRITE), v)
    if x_slot >= start:
        if g.shape:
            g[index] = 0
        else:
            g = g * 0
        before = bars[x_slot]
        bars[x_slot] = g if before is None else before + g
        owned.add(x_slot)


def _last_writers(v_bar: Any, shape: tuple[int, ...], index: Any) -> Any:
    """Zero for the values that a later one at the same place overwrote: `x[[0, 0]] = [a, b]`."""
    order = np.arange(v_bar.size).reshape(v_bar.shape)
    winner = beside_index(np.zeros(shape, np.intp), index)
    winner[index] = order
    return np.where(winner[index] == order, v_bar, 0)


# --- Forward ------------------------------------------------------------------------------------


def push(
    entry: Entry, dot_of: Callable[[Any], Any], *, careful: bool = True, reuse: bool = False
) -> Any:
    """The tangent of an entry's result from those of its arguments, or None where it has none.

    `dot_of(slot)` is the tangent at a slot or None. `careful`: all products are strong ones, for
    tangents that may be infinite. `reuse`: an array that is written to is not used again, and its
    tangent is no other's.
    """
    slot, rule, out, x, y, x_slot, y_slot = entry
    if y_slot is None:
        return _push_general(entry, dot_of, careful, reuse)
    strong = careful or rule.strong
    total = None
    for arg_slot, partial in ((x_slot, rule.x_partial), (y_slot, rule.y_partial)):
        dot = None if arg_slot == -1 else dot_of(arg_slot)
        if dot is None:
            continue
        if partial is MINUS:
            total = -dot if total is None else total - dot
            continue
        if partial is not None:
            factor = partial(out, x) if rule.unary else partial(out, x, y)
            dot = rule.times(dot, factor) if strong else dot * factor
        total = dot if total is None else total + dot
    return total


def _push_general(entry: Entry, dot_of: Callable[[Any], Any], careful: bool, reuse: bool) -> Any:
    slot, rule, out, args, params, slots, _ = entry
    if rule is PROJECT:
        dots = dot_of(slots)
        return None if dots is None else dots[args]
    if rule is READ:
        x_dot = None if slots == -1 else dot_of(slots)
        return None if x_dot is None else pick(x_dot, params)
    x_dots = [None if at == -1 else dot_of(at) for at in slots]
    if all(dot is None for dot in x_dots):
        return None
    if rule is WRITE:
        return _push_write(args[0], params, *x_dots, reuse=reuse)
    if rule is ADD:
        return _push_add(args[0], params, *x_dots, reuse=reuse)
    out_dot = (rule.push if careful else rule.push_plainly)(x_dots, out, args, params)
    if isinstance(out, Outputs):
        return [
            None if part is None or at == -1 else fit_tangent(part, like, rule)
            for part, like, at in zip(out_dot, out, out.slots, strict=True)
        ]
    return fit_tangent(out_dot, out, rule)


def _push_write(x: Any, index: Any, x_dot: Any, v_dot: Any, *, reuse: bool) -> Any:
    out_dot = _zeros_beside(v_dot, x) if x_dot is None else x_dot if reuse else x_dot.copy()
    if not x.shape:
        return out_dot * 0 if v_dot is None else out_dot * 0 + v_dot
    out_dot = beside_index(beside(out_dot, v_dot), index)
    out_dot[index] = 0 if v_dot is None else v_dot
    return out_dot


def _push_add(x: Any, index: Any, x_dot: Any, v_dot: Any, *, reuse: bool) -> Any:
    if x_dot is None:
        return _push_write(x, index, None, v_dot, reuse=reuse)
    out_dot = x_dot if reuse else x_dot.copy()
    return out_dot if v_dot is None else add_at(out_dot, index, v_dot)


def fit_tangent(dot: Any, like: Any, rule: Any) -> Any:
    """A tangent broadcast to the shape of its value, cast to its dtype and realness."""
    if dot.shape != like.shape:
        if len(dot.shape) > len(like.shape):
            raise RuleError(
                f"{rule.name}: its rule returned a tangent of shape {dot.shape} for a result of "
                f"shape {like.shape}. A tangent has the shape of its value."
            )
        dot = np.broadcast_to(dot, like.shape)
    return dot if dot.dtype == like.dtype else cast(dot, like.dtype)


def replay_forward(
    entries: Iterable[Entry], dots: dict[Any, Any], tape: Tape | None, inputs: Iterable[Any]
) -> None:
    """Push tangents forward through a stretch: `dots` maps slots to tangents, and grows."""
    entered = set(inputs)
    for entry in entries:
        slot = entry[0]
        if slot in entered:
            continue  # an input's entry: its tangent is given
        if tape is not None:
            entry = (slot, entry[1], *_wrap_kept(tape, entry), entry[5], entry[6])
        out_dot = push(entry, dots.get)
        if out_dot is not None:
            dots[slot] = out_dot


Step = tuple[Entry, Sequence[Any], bool]


def live_steps(
    entries: Sequence[Entry], inputs: Iterable[Any], outputs: Iterable[Any]
) -> list[Step]:
    """The entries that outputs are made from, each with the slots that nothing later reads.

    Third, of a write: whether the array that is written to comes from another write, and is read
    nowhere else, so that its tangent can be reused for the result's.
    """
    needed = set(outputs)
    needed.add(-1)
    needed.update(inputs)
    found: list[tuple[Entry, list[Any]]] = []
    for entry in reversed(entries):
        if entry[0] in needed:
            ended = [at for at in parents_of(entry) if at not in needed]
            needed.update(ended)
            found.append((entry, ended))
    found.reverse()
    steps: list[Step] = []
    written: set[Any] = set()
    for entry, ended in found:
        reuse = False
        if entry[1] is WRITE or entry[1] is ADD:
            reuse = entry[5][0] in written and entry[5][0] in ended
            written.add(entry[0])
        else:
            written.difference_update(parents_of(entry))  # a result may be a view of it
        steps.append((entry, ended, reuse))
    return steps


def replay_steps(
    steps: Iterable[Step],
    dots: dict[Any, Any],
    tape: Tape | None,
    inputs: Iterable[Any],
    *,
    careful: bool,
) -> None:
    """`replay_forward` of what `live_steps` found; tangents go when nothing needs them any more.

    Products are plain ones unless `careful`; where the outputs' tangents are finite, so was all
    that they are made of, and a strong product would not have differed.
    """
    entered = set(inputs)
    for entry, ended, reuse in steps:
        slot = entry[0]
        if slot not in entered:  # an input's entry: its tangent is given
            if tape is not None:
                entry = (slot, entry[1], *_wrap_kept(tape, entry), entry[5], entry[6])
            out_dot = push(entry, dots.get, careful=careful, reuse=reuse and tape is None)
            if out_dot is not None:
                dots[slot] = out_dot
        for at in ended:
            dots.pop(at, None)


def parents_of(entry: Entry) -> Iterable[Any]:
    """The slots that an entry reads."""
    if entry[6] is not None:
        return entry[5], entry[6]
    if entry[1] is PROJECT or entry[1] is READ:
        return (entry[5],)
    slots: tuple[Any, ...] = entry[5]
    return slots


def derivatives_along(value: Any, source: Any, directions: list[Any]) -> list[Any]:
    """How `value` changes when the traced `source`, of which it was made, moves along directions.

    One tangent a direction. A rule whose cotangent is 0/0 takes the limit with it: a cotangent is
    a function of the values that the program went on with. It needs a traced replay, which a rule
    declared `singular` gets; without one (in forward mode) the answer is NaN: unknown, not zero.
    """
    if isinstance(value, Mapped):  # of each example, under the vmap that has it
        mapped = isinstance(source, Mapped)
        inner = source.value if mapped else source
        ways = [value.mapping.front(way) for way in directions] if mapped else directions
        changes = derivatives_along(value.value, inner, ways)
        return [value.mapping.wrap(change) for change in changes]
    nothing = zeros_of(spec_of(value))
    known = isinstance(source, Traced)
    if not isinstance(value, Traced):
        constant = known or not np.any(value)
        return [nothing if constant else nothing + np.nan for _ in directions]
    tape = value.tape
    if not known or tape.root is not source.tape.root:
        return [nothing + np.nan for _ in directions]
    between = tape.between(source.slot, value.slot)
    changes = []
    for direction in directions:
        dots = {source.slot: direction}
        replay_forward(between, dots, tape, ())
        changes.append(dots.get(value.slot, nothing))
    return changes
