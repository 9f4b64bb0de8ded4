"""Views: parts and rearrangements of a traced array, which show later writes to it.

Knows how a view is taken from its parent, and how a write to it becomes one to the root. Must not
know how a call or a read makes one: `functions` and `reads` do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from tapegrad._arrays.composed_index import as_slice, composed
from tapegrad._arrays.interface import NdarrayInterface
from tapegrad._arrays.memory import copy_like, laid_out_as, shares
from tapegrad._arrays.traced import Array, Elements, Number, ZeroDimensional
from tapegrad._arrays.writes import fitted, frozen_index, write_part
from tapegrad._core.entry import READ, Spec, traced
from tapegrad._core.forms import linear
from tapegrad._core.rule import Rule
from tapegrad._core.types import Index, Params, Slot, Value
from tapegrad._core.values import (
    Mapped,
    Traced,
    class_for_holder,
    class_shown,
    getitem,
    in_trace,
    is_basic,
    is_basic_part,
    is_ndarray,
    is_plain_array,
    memory_of,
    snapshot,
)

_NO_SLOT = object()


class View(Elements):
    """A part of another traced array, selected by an index; it shows later writes to that array.

    `value`, `slot` and `tape` belong to the present state of the `root`, the array at the end of a
    chain of views, which is none itself: after a write to the root, the next access takes the view
    again. A write to the view goes through to the root. A part of a part has the parent of that
    part, so that only views made by functions form chains; no method recurses along them.
    """

    __slots__ = ("_placed", "_taken", "params", "parent", "root", "seen", "taken_slot")

    is_view = True

    def __init__(self, value: Value, slot: Slot, spec: Spec, parent: Array, params: Any) -> None:
        """`params` is the index, and of a `Rearrangement` what its rule got."""
        self._taken = value
        self.taken_slot = slot
        self.spec = spec
        self.parent = parent
        self.root: Any = parent.root if parent.is_view else parent
        self.params = params
        self.seen = self.root.slot  # serves as a version number: slots are never reused

    @property  # type: ignore[misc]  # object's has a setter, ours needs none
    def __class__(self) -> Any:
        """As of the value when it was taken last: a write does not change the class."""
        return class_for_holder(type(self)) or class_shown(self._taken) or type(self)

    # -- reading ---------------------------------------------------------------------------------

    @property
    def tape(self) -> Any:
        return self.root.tape

    @property
    def _value(self) -> Any:
        if self.root.slot is not self.seen:
            self._take()
        return self._taken

    @property
    def slot(self) -> Any:
        if self.root.slot is not self.seen:
            self._take()
        return self.taken_slot

    def _take(self) -> None:
        """Take the view again from the root's state, and before it those that it is taken from."""
        version = self.root.slot
        stale: list[tuple[View, Any, Any]] = []
        view: Any = self
        while view.is_view and view.seen is not version:
            source, at = view.placed() if view._is_deep(version) else (view.parent, None)
            if at is not None and getattr(view._taken, "shape", None) != at.shape:
                at = None  # its layout is not known
            if at is None:
                source = view.parent
            stale.append((view, source, at))
            view = source
        while stale:
            view, source, at = stale.pop()
            if at is None:
                view._taken, view.taken_slot = view._taken_from(source)
            else:
                view._taken, view.taken_slot = _elements_of(source, at, view._taken)
            view.seen = version

    def placed(self) -> tuple[Any, Any]:
        """The array before this view from which on it is known where its elements are, and where.

        That is the root, but for views with elements of their own (the real part of complex
        numbers), which are followed by None in place of positions, as they are not known. They are
        found once for each view, from those of its parent: a program may hold a long chain of
        views, and read or write to each.
        """
        unknown: list[View] = []
        view: Any = self
        while view.is_view and not hasattr(view, "_placed"):
            unknown.append(view)
            view = view.parent
        source: Any = view
        at: Any = None
        if view.is_view and view._placed is not None:
            source, at = view._placed
        while unknown:
            view = unknown.pop()
            at = view._selected(_positions(source.spec) if at is None else at)
            view._placed = None if at is None else (source, at)
            source = view if at is None else source
        return source, at

    def _selected(self, at: Any) -> Any:
        """Of the positions of the parent's elements those of the view's, or None."""
        return at[self.params] if is_basic(self.params) else None

    def _is_deep(self, version: Slot = _NO_SLOT) -> bool:
        """Whether so many views lie between this one and the root that none is asked.

        With a version of the root those count that are older.
        """
        view: Any = self
        for _ in range(DEEP):
            view = view.parent
            if not view.is_view or view.seen is version:
                return False
        return True

    def _taken_from(self, parent: Array) -> tuple[Any, Any]:
        """Value and slot of the view, of a parent whose state is the present one."""
        tape = parent.tape
        whole = parent.slot
        value = parent._value
        index = self.params
        out = value[index] if type(value) is np.ndarray else getitem(value, index)
        if (
            whole in tape.buffers
            and copies(out, parent)
            or (isinstance(out, Mapped) and out.picked)
        ):
            out = copy_like(out)
        slot = tape.fresh()
        tape.log((slot, READ, None, parent.spec, index, whole, None))
        return out, slot

    def __getitem__(self, index: Index) -> Any:
        params = self.params
        kind = type(index)
        spec = self.spec
        ndim = spec.ndim
        if (
            self.root.slot is self.seen
            and spec.size <= FEW
            and (
                kind is int
                and ndim == 1
                or kind is tuple
                and len(index) == ndim
                and _INT.issuperset(map(type, index))
            )
        ):
            # A number of a small view that is up to date: to read it from the view is faster, also
            # in a replay, than from the root.
            taken = self._taken
            if type(taken) is not np.ndarray:
                return Array.__getitem__(self, index)
            tape = self.root.tape
            out = taken[index]
            slot = tape.fresh()
            tape.log((slot, READ, None, spec, index, self.taken_slot, None))
            return traced(out, slot, tape, spec.family[()])
        try:
            if kind is slice and type(params) is slice and index.step is None:
                parent = self.parent
                at: Any = range(parent.spec.shape[0])[params][index]
                step = at.step
                return parent[slice(at.start, at.stop) if step == 1 else as_slice(at)]
            at = None if _adds_axes(index) or _adds_axes(params) else self.place(index)
            if at is not None:
                return self.parent[at]
        except (IndexError, TypeError):  # as NumPy says it of the view
            pass
        return Array.__getitem__(self, index)

    def place(self, index: Index) -> Any:
        """The index of the parent for one of the view, if both are basic; else None."""
        kind = type(index)
        if kind is not int:
            index = frozen_index(index)
            if not is_basic(index):
                return None
        params = self.params
        if type(params) is int or is_basic(params):
            return composed(self.parent.spec.shape, params, index)
        return None

    # -- writing ---------------------------------------------------------------------------------

    def write(self, index: Index, value: Value) -> None:
        """`self[index] = value`, as a write to the root."""
        view: Any = self
        while view.is_view:
            source, at = view.parent, None
            if _is_placed(index) and view._is_deep():
                source, at = view.placed()
            if at is None:
                index, value = view._passed_on(index, value)
                view = view.parent
            else:
                value = fitted(view, ... if index is WHOLE else index, value)
                at = at if index is WHOLE else at[index]
                index, view = np.unravel_index(at, source.spec.shape), source
        if index is WHOLE:
            view.rebind(value)
        else:
            write_part(view, index, value)

    def _passed_on(self, index: Index, value: Value) -> tuple[Any, Any]:
        """The index and value of the write to the parent that a write to this view is."""
        if index is WHOLE:
            return self.params, value  # which may be None, the index of a new axis
        at = self.place(index)
        if at is None:
            at, value = self.params, self._replaced(index, value)
        return at, value

    def _replaced(self, index: Index, value: Value) -> Any:
        """The new state of the view after a write to it."""
        whole = snapshot(self)
        write_part(whole, index, value)
        return whole

    def __reduce__(self) -> Any:
        return NdarrayInterface.__reduce__(self)


def _elements_of(source: Array, at: Any, before: Any) -> tuple[Any, Any]:
    """Value and slot of the elements at positions, in the memory layout of an array."""
    index = np.unravel_index(at, source.spec.shape)
    taken = laid_out_as(before, getitem(source._value, index))
    tape = source.tape
    slot = tape.fresh()
    tape.log((slot, READ, None, source.spec, index, source.slot, None))
    return taken, slot


def _is_placed(index: Index) -> bool:
    """Whether the positions that an index selects are those that it selects of positions."""
    if index is WHOLE or type(index) is np.ndarray or is_basic(index):
        return True
    return type(index) is tuple and all(
        type(part) is np.ndarray or is_basic_part(part) for part in index
    )


def copies(part: Value, whole: Array) -> bool:
    """Whether a part of a buffer, which is written to in place, is copied when it is read.

    While a view of it lives, the next write copies the whole buffer, which then is written to in
    place. So where the part is at least half of the buffer, the copy may as well wait: there may
    be no other write.
    """
    return not is_plain_array(part) or 2 * part.size < whole.spec.size


def _positions(spec: Spec) -> Any:
    """The positions of the elements of an array, in its shape."""
    return np.arange(spec.size).reshape(spec.shape)


_NEW_AXES = frozenset((type(None), type(Ellipsis)))


def _adds_axes(index: Index) -> bool:
    """Whether an index has new axes or an Ellipsis: then a part of the part reads the part."""
    if type(index) is tuple:
        return not _NEW_AXES.isdisjoint(map(type, index))
    return index is None or index is Ellipsis


class Rearrangement(View):
    """A view made by a function's rule: a transpose, a reshape, a diagonal."""

    __slots__ = ("numbers", "rule")

    def __init__(
        self, value: Value, slot: Slot, spec: Spec, parent: Array, params: Any, rule: Rule
    ) -> None:
        View.__init__(self, value, slot, spec, parent, params)
        self.rule = rule
        self.numbers: Any = None  # of the parent's elements, by their positions in the view

    def _taken_from(self, parent: Array) -> tuple[Any, Any]:
        fresh = as_view(self.rule, parent, self.params)
        return fresh._value, fresh.slot

    def __getitem__(self, index: Index) -> Any:
        return Array.__getitem__(self, index)

    def place(self, index: Index) -> None:
        """None: elements next to each other in the view need not be so in the parent."""

    def _selected(self, at: Any) -> Any:
        parent = self.parent
        if self.dtype != parent.dtype or self.params.get("order") == "K":
            return None  # a component of complex numbers, or an order that memory decides
        return self.rule.call([at], self.params)

    def _passed_on(self, index: Index, value: Value) -> tuple[Any, Any]:
        rule, parent = self.rule, self.parent
        if self.dtype != parent.dtype:
            if index is WHOLE:
                index = ...
            value = fitted(self, index, value)
            return index, REPLACED[rule.function].apply_bound([parent[index], value], {})
        at = self._number(... if index is WHOLE else index)
        if at is not None:
            return at, value
        whole = value if index is WHOLE else self._replaced(index, value)
        (back,) = rule.pull(whole, None, [parent.spec], self.params, [True])
        room = laid_out_as(parent._value, back._value)
        if room is not back._value:
            back = traced(room, back.slot, back.tape, back.spec)
        return WHOLE, back

    def _number(self, index: Index) -> Any:
        """The index of the parent's elements that an index of this view selects, if known."""
        parent = self.parent
        partial = self.spec.size != parent.spec.size
        if not partial and (not is_basic(index) or self.params.get("order") == "K"):
            return None
        if self.numbers is None:
            order = np.arange(parent.spec.size).reshape(parent.spec.shape)
            self.numbers = self.rule.call([order], self.params)
        at = self.numbers[index]
        if at.shape and not partial:
            return None  # the transpose of the whole is faster than a write by numbers
        found = np.unravel_index(at, parent.spec.shape)
        return found if at.shape else (*map(int, found), *(() if found else (...,)))


class Part(Rearrangement):
    """A view that NumPy makes read-only: a diagonal, windows, the imaginary part of reals."""

    __slots__ = ()

    def _selected(self, _at: Any) -> None:
        return None

    def _passed_on(self, index: Index, value: Value) -> NoReturn:
        raise ValueError(f"{self.rule.name}: its result cannot be written to. Copy it first.")


ARRAYS = frozenset({Elements, Number, ZeroDimensional, View, Rearrangement, Part})

# Of arguments of these types, none has a turn before a traced array, nor has to be converted.
PLAIN_TYPES = ARRAYS | {np.ndarray}

for _kind in (View, Rearrangement, Part):
    _kind.__name__ = _kind.__qualname__ = "Array"

_INT = frozenset((int,))
FEW = 1024  # elements of a view whose cotangent is cheap to collect apart
DEEP = 4  # views between a view and its root, from which on the root alone is asked
WHOLE = object()  # the index of a write that replaces all of an array, in place of its value


def as_view(rule: Rule, parent: Value, params: Params) -> Any:
    """The result of a rule whose NumPy function may return a view: a `View` if it does."""
    if params.get("order") == "A" and isinstance(parent, Traced):
        # The memory layout decides now, because a replay does not know it.
        params = {**params, "order": "F" if memory_of(parent).flags.fnc else "C"}
    out = rule.apply_bound([parent], params)
    if not isinstance(out, Array) or not isinstance(parent, Array):
        return out
    read_only = rule.view == "part" and not params.get("writeable")
    if rule.function is np.imag and out.shape and parent.dtype.kind != "c":
        read_only = True  # zeros that NumPy makes for it
    elif out.tape is not parent.tape or not shares(out._value, parent._value):
        return out
    kind = Part if read_only else Rearrangement
    value = out._value
    if parent.slot in out.tape.buffers and copies(value, parent):
        value = copy_like(value)
    return kind(value, out.slot, out.spec, parent, params, rule)


# --- Components of complex arrays ---------------------------------------------------------------


def _replaced(part: str, keep: Callable[[Any], Any], take: Callable[[Any], Any]) -> Rule:
    """The rule of z with another real or imaginary part, which is linear in both."""

    def replace(z: Value, value: Value) -> Any:
        if in_trace(z) or in_trace(value):
            return rule.apply_bound([z, value], {})
        # Only one of them may have examples.
        shape = np.broadcast_shapes(np.shape(z), np.shape(value))
        made = np.array(z if np.shape(z) == shape else np.broadcast_to(z, shape))
        setattr(made, part, value)
        return made if is_ndarray(z) else made[()]

    rule = linear(
        replace,
        lambda g, _out, _z, _value: keep(g),
        lambda g, _out, _z, _value: take(g),
        name=f"z.{part} =",
        batch="align",
    )
    return rule


def _times_i(x: Value) -> Any:
    return x * 1j


# The new z[i] after a write to np.real(z)[i].
REPLACED = {
    np.real: _replaced("real", lambda g: _times_i(np.imag(g)), np.real),
    np.imag: _replaced("imag", lambda g: np.real(g) + 0j, lambda g: -np.imag(g)),
}
