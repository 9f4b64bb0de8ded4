"""The Wengert tape: slots, entries, logging, and the replays backward and forward.

Knows that a traced value is a `Traced` (a value at a slot of a tape), that an entry is a plain
tuple, and which few attributes of a rule a replay asks for. Must not know which functions exist,
how NumPy dispatches, or what a transform is.

An entry is a tuple of seven, in one of two layouts that the last item tells apart:

    (slot, rule, out, x,    y,      x_slot, y_slot)   elementwise, arguments of out's shape and
    dtype (slot, rule, out, args, params, slots,  None)     anything else

Reading a part (READ) and writing one (WRITE) are the tape's own, as are the several results of one
call (PROJECT); the comments at these marks give their layouts.

`slot` is where the result lives. An argument that no derivative depends on has slot -1. What the
rule's derivatives do not read is not kept: None (first layout) or its `Spec` (second) takes its
place. Entries hold raw values only. A replay that an enclosing transform must differentiate wraps
them again with their slots, so that the rules log themselves.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from tapegrad._errors import ChangedConstantError, LeakedValueError, RuleError, describe

Entry = tuple[Any, ...]


class Spec:
    """Shape and dtype of a value. Interned: equal specs are one object, so `is` compares them."""

    __slots__ = ("dtype", "family", "shape")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], family: _Family) -> None:
        self.shape = shape
        self.dtype = dtype
        self.family = family  # the specs of this dtype by shape: cheaper to ask than `spec_of`

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __repr__(self) -> str:
        return f"Spec({describe(self)})"


class _Family(dict[tuple[int, ...], Spec]):
    """All specs of one dtype, made when first asked for."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        super().__init__()
        self.dtype = dtype

    def __missing__(self, shape: tuple[int, ...]) -> Spec:
        return self.setdefault(shape, Spec(shape, self.dtype, self))


_FAMILIES: dict[np.dtype[Any], _Family] = {}


def spec_of(value: Any) -> Spec:
    """The interned `Spec` of an array-like with `.shape` and `.dtype`."""
    family = _FAMILIES.get(value.dtype)
    if family is None:
        family = _FAMILIES.setdefault(value.dtype, _Family(value.dtype))
    return family[value.shape]


class Traced:
    """A value, and the slot of the tape where its derivative is addressed."""

    __slots__ = ("slot", "spec", "tape", "value")

    tape: Any  # a Tape; of a view, that of its parent's present state

    def __init__(self, value: Any, slot: Any, tape: Tape, spec: Spec) -> None:
        self.value = value
        self.slot = slot
        self.tape = tape
        self.spec = spec

    if TYPE_CHECKING:  # what the class of traced values, `Tape.array`, adds

        @property
        def shape(self) -> tuple[int, ...]: ...

        @property
        def dtype(self) -> np.dtype[Any]: ...

        @property
        def ndim(self) -> int: ...

        @property
        def size(self) -> int: ...

        def __getitem__(self, index: Any) -> Any: ...

        def __setitem__(self, index: Any, value: Any) -> None: ...

        def astype(self, dtype: Any) -> Any: ...

        def copy(self) -> Any: ...

        def reshape(self, *shape: Any, **kwargs: Any) -> Any: ...


def handle(value: Any) -> Any:
    """Another handle on a traced value, which writes through the first do not reach."""
    if not isinstance(value, Traced):
        return value
    return value.tape.array(value.value, value.slot, value.tape, value.spec)


class Outputs(tuple[Any, ...]):
    """The results of a primitive with several, and the slots where they live."""

    slots: tuple[Any, ...]


class _Mark:
    """Stands as the rule of an entry that the tape itself understands."""

    def __init__(self, name: str) -> None:
        self.name = name


PROJECT = _Mark("output")  # (slot, PROJECT, None, position, count, slot of the tuple, None)
READ = _Mark("x[...]")  # (slot, READ, None, x, index, x_slot, None): x[index]
# (slot, WRITE, None, (x, v), index, (x_slot, v_slot), None): x[index] = v
WRITE = _Mark("x[...] =")


class _Minus:
    """The partial -1, for which the replay negates: half the price of a product."""

    def __call__(self, *_args: Any) -> int:
        return -1


MINUS = _Minus()


class Scatter:
    """A cotangent that is zero but for `value` added at `index`: never built as a full array."""

    __slots__ = ("index", "value")

    def __init__(self, index: Any, value: Any) -> None:
        self.index = index
        self.value = value


_POSITIONS = (int, slice, type(None), type(Ellipsis), np.int64)


def is_basic(index: Any) -> bool:
    """Whether an index has only integers, slices, None and Ellipsis: each element at most once."""
    if type(index) in _POSITIONS:
        return True
    parts = index if type(index) is tuple else (index,)
    return all(type(part) in _POSITIONS or isinstance(part, np.integer) for part in parts)


# The innermost transform that is open in this thread or task.
CURRENT: ContextVar[Tape | None] = ContextVar("tapegrad_current", default=None)
_levels = itertools.count()

# A constant that a derivative needs must not change when the program reuses its buffer. Up to this
# size, and where it is a view, it is copied; a larger one is locked against writes while its
# transform runs, and summed before and after, for writes through views that were made before.
COPY_BYTES = 1 << 16
COPY_INPUT_BYTES = 1 << 12


class _Slots(Protocol):
    """The part of a set of slots that arrays use."""

    def __contains__(self, slot: Any, /) -> bool: ...

    def add(self, slot: Any, /) -> None: ...

    def discard(self, slot: Any, /) -> None: ...


class _Root:
    """What tapes with the same entries share, told apart by identity."""

    __slots__ = ("singular",)

    def __init__(self) -> None:
        self.singular = False  # whether a result was logged whose cotangent is a limit


class Tape:
    """A log of primitive calls.

    A reverse transform inside another gets a tape with the outer one as `parent`: the same
    entries, slots and `root`, but a name of its own, and an end of its own, after which its values
    are refused.
    """

    __slots__ = (
        "buffers",
        "copies",
        "entries",
        "fresh",
        "level",
        "locked",
        "log",
        "name",
        "parent",
        "root",
    )

    array: type[Traced] = Traced  # the class of traced values: `_array` sets its own

    root: _Root
    entries: list[Entry]
    log: Callable[[Entry], None]
    fresh: Callable[[], Any]
    copies: bool  # whether a pullback outlives the transform
    buffers: _Slots  # slots whose value was last changed by a write
    locked: list[tuple[Any, int | None]]

    def __init__(self, name: str, *, copies: bool = False, parent: Tape | None = None) -> None:
        self.name = name
        self.level = next(_levels)  # a later tape is an inner one
        self.parent = parent
        if parent is not None:
            self.root = parent.root
            self.entries, self.log, self.fresh = parent.entries, parent.log, parent.fresh
            self.buffers, self.copies, self.locked = parent.buffers, parent.copies, parent.locked
            return
        self.root = _Root()  # not self: a cycle would keep every tape until a collection
        self.entries = []
        # Bound methods, because every operation calls both.
        self.log = self.entries.append
        self.fresh = itertools.count().__next__
        self.buffers = set()
        self.copies = copies
        self.locked = []

    def wrap(self, value: Any, slot: Any) -> Traced:
        """A traced value; a slot of -1 makes a constant that can be written to."""
        return self.array(value, slot, self, spec_of(value))

    def keep_input(self, leaf: Any) -> Any:
        """`keep` for an array that is differentiated: not summed, the program has others."""
        if type(leaf) is not np.ndarray:
            return handle(leaf)
        flags = leaf.flags
        if not flags.writeable:
            return leaf
        if self.copies or leaf.nbytes <= COPY_INPUT_BYTES or not flags.owndata:
            return leaf.copy("K")
        flags.writeable = False
        self.locked.append((leaf, None))
        return leaf

    def keep(self, constant: Any) -> Any:
        """A constant in a form that later writes of the program cannot reach."""
        if type(constant) is not np.ndarray:
            return handle(constant)
        flags = constant.flags
        if not flags.writeable:
            return constant
        if self.copies or constant.nbytes <= COPY_BYTES or not flags.owndata:
            return constant.copy("K")
        flags.writeable = False
        self.locked.append((constant, _checksum(constant)))
        return constant

    def keep_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """Parameters of a call with arrays (where=, repeats) in a form that stays as it is."""
        for value in params.values():
            if type(value) is np.ndarray:
                return {name: self.keep(value) for name, value in params.items()}
        return params

    def replica(self, entries: list[Entry], end: int) -> Tape:
        """A new tape that holds these entries and goes on after `end`, for a traced replay."""
        tape = Tape(self.name)
        tape.entries.extend(entries)
        tape.fresh = itertools.count(end).__next__
        return tape

    def require_open(self) -> None:
        """Raise LeakedValueError if the transform of this tape has returned."""
        if isinstance(self.log, _Refusal):
            self.log(())

    def close(self, *, verify: bool = False) -> None:
        """Forget all entries, and refuse values that outlive the transform.

        `verify`: raise ChangedConstantError where a locked array has changed all the same.
        """
        self.log = _Refusal(self.name)
        if self.parent is not None:
            return
        locked, self.locked = self.locked, []
        for constant, _ in reversed(locked):
            constant.flags.writeable = True
        changed = [
            constant
            for constant, before in locked
            if before is not None and _checksum(constant) != before
        ]
        self.entries = []
        self.buffers = set()
        if changed and verify:
            raise ChangedConstantError(
                f"{self.name}: {describe(changed[0])} was changed through a view while the "
                "function ran, after a derivative had come to depend on it. Copy it before the "
                "change."
            )

    def record(
        self, rule: Any, out: Any, args: list[Any], slots: list[Any], params: dict[str, Any]
    ) -> Any:
        """Log a call in the general layout and wrap its result, or results, with fresh slots."""
        wanted = tuple([slot != -1 for slot in slots])
        if True not in wanted:
            return _map_outputs(out, lambda part: self.wrap(part, -1))
        needed, out_needed = rule.needed(wanted)
        kept = []
        for position, arg in enumerate(args):
            if not needed[position]:
                arg = _spec_or_plain(arg)
            elif not wanted[position]:
                arg = self.keep(arg)
            kept.append(arg)
        if params:
            params = self.keep_params(params)
        if rule.singular is not None and rule.singular(out):
            self.root.singular = True
        slot = self.fresh()
        if isinstance(out, (tuple, list)):
            return self._record_outputs(rule, out, slot, tuple(kept), tuple(slots), params)
        spec = spec_of(out)
        self.log(
            (slot, rule, out if out_needed else spec, tuple(kept), params, tuple(slots), None)
        )
        return self.array(out, slot, self, spec)

    def record_pair(self, rule: Any, out: Any, x: Any, y: Any, x_slot: Any, y_slot: Any) -> Traced:
        """`record` for two arguments, one result and no parameters, at half the price."""
        (x_needed, y_needed), out_needed = rule.needed((x_slot != -1, y_slot != -1))
        slot = self.fresh()
        spec = spec_of(out)
        if not x_needed:
            x = _spec_or_plain(x)
        elif x_slot == -1:
            x = self.keep(x)
        if not y_needed:
            y = _spec_or_plain(y)
        elif y_slot == -1:
            y = self.keep(y)
        self.log((slot, rule, out if out_needed else spec, (x, y), {}, (x_slot, y_slot), None))
        return self.array(out, slot, self, spec)

    def _record_outputs(
        self, rule: Any, out: Any, slot: Any, args: Any, slots: Any, params: dict[str, Any]
    ) -> Any:
        parts = Outputs(out)
        parts.slots = tuple(self.fresh() if is_inexact(part) else -1 for part in out)
        self.log((slot, rule, parts, args, params, slots, None))
        for position, part_slot in enumerate(parts.slots):
            if part_slot != -1:
                self.log((part_slot, PROJECT, None, position, len(out), slot, None))
        wrapped = iter(parts.slots)
        return _map_outputs(out, lambda part: self.wrap(part, next(wrapped)), plain=wrapped)


def _checksum(constant: Any) -> int:
    """A sum over the bits of an array: what a write changes, for one pass over the memory."""
    width = math.gcd(constant.dtype.itemsize, 8)
    words = constant.ravel(order="K").view(f"u{width}")
    return int(np.add.reduce(words, dtype=np.uint64))


class _Refusal:
    """What a closed tape logs with."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, entry: Entry) -> NoReturn:
        raise LeakedValueError(
            f"value from {self.name} used after {self.name} returned. A traced value lives as "
            "long as its transform: return it from the function (has_aux=True), or keep a plain "
            "copy made with tapegrad.stop_gradient."
        )


def is_array(value: Any) -> bool:
    """Whether a value has a dtype and a shape (NumPy's scalar types have, and are none)."""
    return isinstance(getattr(value, "dtype", None), np.dtype) and hasattr(value, "shape")


def is_inexact(value: Any) -> bool:
    """Whether a value has a floating or complex dtype: only such values are traced."""
    return is_array(value) and value.dtype.kind in "fc"


def _spec_or_plain(arg: Any) -> Any:
    if type(arg) is np.ndarray:
        return spec_of(arg)
    return spec_of(arg) if hasattr(arg, "shape") and hasattr(arg, "dtype") else arg


def _map_outputs(out: Any, wrap: Callable[[Any], Any], plain: Iterator[Any] | None = None) -> Any:
    """`wrap` over the floating parts of one or several results, in their own container."""
    if not isinstance(out, (tuple, list)):
        return wrap(out) if is_inexact(out) else out
    parts = []
    for part in out:
        if is_inexact(part):
            parts.append(wrap(part))
        else:
            if plain is not None:
                next(plain)
            parts.append(part)
    return type(out)(*parts) if hasattr(out, "_fields") else type(out)(parts)


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
        return np.add.reduce(bar)  # a bias added to rows: the frequent case
    given = bar.shape[lead:] if lead >= 0 else ()
    stretched = tuple(
        lead + axis
        for axis, (size, came) in enumerate(zip(shape, given, strict=False))
        if size == 1 and came != 1
    )
    if lead > 0 and not stretched:
        bar = np.add.reduce(bar, tuple(range(lead)))
    elif stretched:
        bar = np.add.reduce(bar, (*range(lead), *stretched), keepdims=True)
        bar = bar.reshape(bar.shape[lead:])
    if bar.shape != shape:
        raise RuleError(
            f"{rule.name}: its rule returned a cotangent of shape {bar.shape} for an argument of "
            f"shape {shape}. A cotangent has the shape of its argument, or one that broadcasting "
            "made of it."
        )
    return bar


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
    entries: list[Entry], bars: list[Any], *, consume: bool, large: bool = False
) -> None:
    """Push cotangents back through raw entries: `bars[slot]` holds a cotangent or None.

    `consume` empties `entries` on the way, which frees what they keep as early as possible.
    `large`: sums of cotangents are made in place, which pays from some hundred elements on.
    """
    owned: set[int] = set()  # slots whose buffer nobody else holds: added to in place
    careful = False  # an infinity is on its way: from here on every product is a strong one
    for slot, rule, out, x, y, x_slot, y_slot in _reversed(entries, consume):
        g = bars[slot]
        if g is None:
            continue
        bars[slot] = None
        if y_slot is None:
            if rule is READ and x_slot >= 0 and type(y) is slice and type(g) is np.ndarray:
                if x_slot in owned:
                    bars[x_slot][y] += g
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
        if x_slot >= 0:
            partial = rule.x_partial
            if partial is None:
                bar = g
            elif partial is MINUS:
                bar = -g
            elif rule.product and not careful:
                bar = g * y
            else:
                factor = partial(out, x) if rule.unary else partial(out, x, y)
                bar = g * factor
                if strong and not _is_finite(bar):
                    bar = rule.times(g, factor)
                    careful = careful or not _is_finite(bar)
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
        if y_slot >= 0:
            partial = rule.y_partial
            if partial is None:
                bar = g
            elif partial is MINUS:
                bar = -g
            elif rule.product and not careful:
                bar = g * x
            else:
                factor = partial(out, x, y)
                bar = g * factor
                if strong and not _is_finite(bar):
                    bar = rule.times(g, factor)
                    careful = careful or not _is_finite(bar)
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


def _is_finite(bar: Any) -> bool:
    """Whether a cotangent has no infinity or NaN, told by its sum: one pass, no array of flags.

    A sum that overflows says no, which costs time alone. Arrays of other libraries may be lazy:
    yes.
    """
    while isinstance(bar, Traced):
        bar = bar.value
    if not isinstance(bar, (np.ndarray, np.generic)):
        return True
    total = np.add.reduce(bar, None)
    return bool(total - total == 0)


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


def replay_nested(entries: list[Entry], bars: SparseBars, tape: Tape | None) -> None:
    """Push cotangents back through a stretch while an outer transform is open on its tape.

    With `tape`, kept values are wrapped with their slots again: the rules then log themselves.
    """
    owned: set[int] = set()
    careful = False
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
                careful = careful or (strong and not _is_finite(bar))
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
        else:
            if bars[slots] is None:
                bars[slots] = [None] * params
            bars[slots][args] = g
        return careful
    wanted = [at >= start for at in slots]
    if careful and isinstance(g, (np.ndarray, np.generic)) and np.isinf(g).any():
        found = _pull_infinite(rule, g, out, args, params, wanted)
    else:
        found = rule.pull(g, out, args, params, wanted)
    for at, bar, like in zip(slots, found, args):  # noqa: B905 - of one length; strict= costs
        if bar is None or at < start:
            continue
        if type(bar) is not Scatter:
            if bar.shape != like.shape or bar.dtype is not like.dtype:
                bar = fit(bar, like, rule)
            careful = careful or (rule.strong and not _is_finite(bar))
            before = bars[at]
            if before is None:
                bars[at] = bar
                continue
        _accumulate(bars, owned, at, bar, like)
    return careful


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
        zeros = _zeros_beside(value, like)
        buffer = zeros if buffer is None else zeros + buffer
        owned.add(slot)
    bars[slot] = _add_at(buffer, index, value)


def _beside(buffer: Any, value: Any) -> Any:
    """A buffer that `value` can be written into: on its tape, or a later one, if it is traced."""
    if isinstance(value, Traced) and (
        not isinstance(buffer, Traced) or buffer.tape.level < value.tape.level
    ):
        return value.tape.wrap(buffer, -1)
    return buffer


def _zeros_beside(value: Any, like: Any) -> Any:
    """Zeros like an argument; on the tape of `value` where that is traced, to be written to."""
    if isinstance(value, Traced):
        return value.tape.wrap(_zeros_beside(value.value, like), -1)
    if type(value) is np.ndarray or isinstance(value, np.generic):
        return np.zeros(like.shape, like.dtype)
    return np.zeros(like.shape, like.dtype, like=value)


def _add_at(buffer: Any, index: Any, value: Any) -> Any:
    if buffer.shape == ():
        return buffer + value
    if value.dtype != buffer.dtype:
        value = cast(value, buffer.dtype)
    buffer = _beside(buffer, value)
    if is_basic(index):
        buffer[index] += value
    else:
        np.add.at(buffer, index, value)
    return buffer


def _pull_write(bars: Any, owned: set[int], g: Any, entry: Entry, start: int) -> None:
    """`out = x with x[index] = v`: v gets the cotangent there, x all the rest."""
    slot, _, _, (x, v), index, (x_slot, v_slot), _ = entry
    if slot not in owned:
        g = g.copy() if g.shape else g
    if v_slot >= start:
        v_bar = g[index]
        if isinstance(v_bar, (np.ndarray, Traced)):
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
    winner = np.zeros(shape, np.intp)
    winner[index] = order
    return np.where(winner[index] == order, v_bar, 0)


# --- Forward ------------------------------------------------------------------------------------


def push(entry: Entry, dot_of: Callable[[Any], Any]) -> Any:
    """The tangent of an entry's result from those of its arguments, or None where it has none.

    `dot_of(slot)` is the tangent at a slot or None.
    """
    slot, rule, out, x, y, x_slot, y_slot = entry
    if y_slot is None:
        return _push_general(entry, dot_of)
    total = None
    for arg_slot, partial in ((x_slot, rule.x_partial), (y_slot, rule.y_partial)):
        dot = None if arg_slot == -1 else dot_of(arg_slot)
        if dot is not None:
            if partial is not None:
                dot = rule.times(dot, partial(out, x) if rule.unary else partial(out, x, y))
            total = dot if total is None else total + dot
    return total


def _push_general(entry: Entry, dot_of: Callable[[Any], Any]) -> Any:
    slot, rule, out, args, params, slots, _ = entry
    if rule is PROJECT:
        dots = dot_of(slots)
        return None if dots is None else dots[args]
    if rule is READ:
        x_dot = None if slots == -1 else dot_of(slots)
        return None if x_dot is None else x_dot[params]
    x_dots = [None if at == -1 else dot_of(at) for at in slots]
    if all(dot is None for dot in x_dots):
        return None
    if rule is WRITE:
        return _push_write(args, params, *x_dots)
    out_dot = rule.push(x_dots, out, args, params)
    if isinstance(out, Outputs):
        return [
            None if part is None or at == -1 else fit_tangent(part, like, rule)
            for part, like, at in zip(out_dot, out, out.slots, strict=True)
        ]
    return fit_tangent(out_dot, out, rule)


def _push_write(args: tuple[Any, Any], index: Any, x_dot: Any, v_dot: Any) -> Any:
    x, _ = args
    given = x_dot if x_dot is not None else v_dot
    out_dot = _zeros_beside(given, x)
    if x_dot is not None:
        out_dot = out_dot + x_dot
    if not x.shape:
        return out_dot * 0 if v_dot is None else out_dot * 0 + v_dot
    out_dot = _beside(out_dot, v_dot)
    out_dot[index] = 0 if v_dot is None else v_dot
    return out_dot


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


def _between(entries: list[Entry], start: int, end: int) -> list[Entry]:
    """The entries after a slot that the value at another one is made from."""
    found, needed = [], {end}
    for entry in reversed(entries):
        if entry[0] <= start:
            break
        if entry[0] in needed:
            found.append(entry)
            needed.update(entry[5] if isinstance(entry[5], tuple) else (entry[5],))
            if entry[6] is not None:
                needed.add(entry[6])
    return found[::-1]


def derivatives_along(value: Any, source: Any, directions: list[Any]) -> list[Any]:
    """How `value` changes when the traced `source`, of which it was made, moves along directions.

    One tangent a direction. A rule whose cotangent is 0/0 takes the limit with it: a cotangent is
    a function of the values that the program went on with. It needs a traced replay, which a rule
    declared `singular` gets; without one (in forward mode) the answer is NaN: unknown, not zero.
    """
    nothing = zeros_of(spec_of(value))
    known = isinstance(source, Traced)
    if not isinstance(value, Traced):
        constant = known or not np.any(value)
        return [nothing if constant else nothing + np.nan for _ in directions]
    tape = value.tape
    if not known or tape.root is not source.tape.root:
        return [nothing + np.nan for _ in directions]
    between = _between(tape.entries, source.slot, value.slot)
    changes = []
    for direction in directions:
        dots = {source.slot: direction}
        replay_forward(between, dots, tape, ())
        changes.append(dots.get(value.slot, nothing))
    return changes
