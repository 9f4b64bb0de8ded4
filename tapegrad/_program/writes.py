"""Lines that write into parts of arrays.

Knows when a write may be made in place, and views of the workspace, which are made once. Must not
know other calls.
"""

from __future__ import annotations

import math
import operator
from typing import Any, cast

import numpy as np

from tapegrad._core.scatter import add_at
from tapegrad._program.buffer_placement import Joined, Placed, box_of, is_basic
from tapegrad._program.call_source import CallSource, out_argument
from tapegrad._program.elementwise import UFUNC_OF, common_element, is_contiguous, ufunc_of
from tapegrad._program.passes import frozen
from tapegrad._program.program import Node, Ref, own_copy, references
from tapegrad._program.storages import FILLED_BYTES, Place, Storage, Workspace

IN_PLACE = frozenset((operator.iadd, operator.isub, operator.imul, operator.itruediv))
# Writes that are right though their arguments share memory with what is written to.


def _add_at(target: Any, index: Any, value: Any) -> None:
    """`np.add.at(target, index, value)`, faster where values of one dtype are added."""
    same = type(value) is np.ndarray and value.dtype is target.dtype
    (add_at if same else np.add.at)(target, index, value)


_FASTER = {np.add.at: _add_at}
_SAFE = frozenset((operator.setitem, np.copyto)) | IN_PLACE


LARGE = 1 << 14  # bytes, from which on only what is around a part is filled


class Writes:
    """Generates the lines of writes."""

    def __init__(self) -> None:
        self.call_source = CallSource()
        self.workspace = Workspace()
        self.ahead: list[str] = []  # lines of build: what is made with the workspace
        self.views: dict[str, str] = {}  # names of views of the workspace
        self.whole: set[int] = set()  # values that are no views
        self.escaping: set[int] = set()  # whose memory a caller may get
        self.written: set[int] = set()  # values into which something is written later

    def write(self, at: int, node: Node, place: Place) -> None:
        """A write: in place where nothing uses what was there before, else into a copy."""
        scope, (whole, *rest) = place.scope, node.args
        before = scope.storages.get(whole.at) if type(whole) is Ref else None
        if before is not None and self._is_in_place(at, node, before, place):
            scope.join(at, before)
            scope.names[at] = scope.names[whole.at]
            if whole.at in self.whole:
                self.whole.add(at)
        else:
            self._copied(at, node, place)
        self._write_call(node, rest, scope.names[at], place)

    def _is_in_place(self, at: int, node: Node, before: Storage, place: Place) -> bool:
        if before.fixed or before.filled is not None or not place.ended(before):
            return False
        if before.buffer is not None and at in self.escaping:
            return False
        if node.function in _SAFE or type(node) is Placed:
            return True
        used = references((node.args[1:], node.kwargs))
        return not any(place.scope.storages.get(x) is before for x in used)

    def _copied(self, at: int, node: Node, place: Place) -> None:
        """A copy of what is written to; of a constant, a buffer that holds the rest of it."""
        scope, whole = place.scope, node.args[0]
        around = _around(node)
        if at in self.escaping:
            scope.own(at)
            scope.names[at] = name = f"v{at}"
            self.whole.add(at)
            if around is None:
                source = self.call_source.expression(whole, scope.names)
                copy = f"{source}.copy('K')"
                if min(node.strides, default=0) < 0:
                    copy = f"{self.call_source.constant(own_copy)}({source})"
                place.add(f"{name} = {copy}")
                return
            made = f"{self.call_source.constant(np.empty)}({node.shape}"
            place.add(f"{name} = {made}, {self.call_source.constant(node.dtype)})")
        else:
            filled = self._filling(at, node)
            storage, added = self.workspace.new(at, node, scope, filled)
            scope.names[at] = name = f"b{storage.buffer}"
            if filled is not None or around is None:
                fill = f"{name}[...] = {self.call_source.expression(whole, scope.names)}"
                if filled is None:
                    place.add(fill)
                elif added:
                    self.ahead.append(fill)
                return
        number = self.call_source.expression(common_element(whole), scope.names)
        for box in around:
            place.add(f"{self.view(name, [], box, place)}[...] = {number}")

    def _filling(self, at: int, node: Node) -> Any:
        """A key of what a buffer holds from the beginning: all but one part of a constant.

        None where other parts may be written to, or the part is not the same in each call.
        """
        whole, *rest = node.args
        if type(whole) is not np.ndarray or at in self.written:
            return None
        if node.function is not operator.setitem and type(node) is not Placed:
            return None
        if any(True for _ in references((rest[0], node.steps))) or not is_basic(rest[0]):
            return None
        if math.prod(node.shape) * node.dtype.itemsize > FILLED_BYTES:
            return None
        number = common_element(whole)
        what = id(whole) if number is None else number.hex()
        layout = node.shape, node.strides, node.dtype
        try:
            key = layout, what, frozen(rest[0]), frozen(node.steps)
            hash(key)
        except TypeError:
            return None
        self.call_source.constant(whole)  # keeps it, and so its id
        return key

    def _write_call(self, node: Node, rest: list[Any], name: str, place: Place) -> None:
        """The line that changes the array, or the view of it that the steps lead to."""
        assert node.steps is not None
        function, steps = node.function, list(node.steps)
        call_source, names = self.call_source, place.scope.names
        if type(node) is Placed:
            target = self.view(name, steps, _as_tuple(rest[0]), place)
            given = call_source.operands(cast(np.ufunc, function), node.of, names)
            given.append(out_argument(function, target))
            place.add(f"{call_source.constant(function)}({', '.join(given)})")
            return
        if function is operator.setitem and rest[0] is not Ellipsis:
            if any(True for _ in references(rest[0])) or not is_basic(rest[0]):
                target = call_source.taken(name, steps, names)
                index = call_source.expression(rest[0], names)
                place.add(f"{target}[{index}] = {call_source.expression(rest[1], names)}")
                return
            target = self.view(name, steps, _as_tuple(rest[0]), place)
        else:
            target = self.view(name, steps, None, place)
        if function is operator.setitem:
            place.add(f"{target}[...] = {call_source.expression(rest[1], names)}")
        elif function in IN_PLACE:
            value = call_source.expression(rest[0], names)
            ufunc = call_source.constant(UFUNC_OF[function])
            place.add(f"{ufunc}({target}, {value}, {target})")
        else:
            given = [target, *[call_source.expression(arg, names) for arg in rest]]
            given += [f"{k}={call_source.expression(v, names)}" for k, v in node.kwargs.items()]
            place.add(
                f"{call_source.constant(_FASTER.get(function, function))}({', '.join(given)})"
            )

    def join(self, node: Joined, name: str, place: Place) -> None:
        """The lines that make the parts of an array where they belong."""
        call_source, names = self.call_source, place.scope.names
        for part in node.parts:
            target = self.view(name, [], part.slices, place)
            if part.call is None:
                place.add(f"{target}[...] = {call_source.expression(part.value, names)}")
                continue
            ufunc = cast(np.ufunc, ufunc_of(part.call))
            given = [*call_source.operands(ufunc, part.call, names), out_argument(ufunc, target)]
            place.add(f"{call_source.constant(ufunc)}({', '.join(given)})")

    def view(self, name: str, steps: list[Any], index: Any, place: Place) -> str:
        """The name of a view of an array: made once, with the workspace, if the array is of it."""
        if not steps and index is None:
            return name
        if index is not None:
            index = (*index, ...) if not any(part is Ellipsis for part in index) else index
        expression = self.call_source.taken(name, steps, place.scope.names)
        if index is not None:
            word = ", ".join(map(_index_word, index))
            expression = f"{expression}[{word}]"
        if any(references([step[1:] for step in steps])):
            return expression
        if name[0] == "b":
            view = self.views.get(expression)
            if view is None:
                view = self.views[expression] = f"w_{len(self.ahead)}"
                self.ahead.append(f"{view} = {expression}")
            return view
        views = place.scope.views
        view = views.get(expression, "")
        if not view:
            view = views[expression] = f"{name}_{len(views)}"
            place.add(f"{view} = {expression}")
        return view


def _around(node: Node) -> list[tuple[slice, ...]] | None:
    """The parts around that which a write overwrites of a large array of equal elements."""
    whole, *rest = node.args
    if type(whole) is not np.ndarray or whole.nbytes < LARGE or node.steps != ():
        return None
    if not is_contiguous(node) or common_element(whole) is None:
        return None
    overwrites = node.function is operator.setitem or type(node) is Placed
    box = box_of(rest[0], whole.shape) if overwrites else None
    if box is None:
        return [(slice(None),)]
    found = []
    for axis, ((start, stop), n) in enumerate(zip(box, whole.shape, strict=True)):
        before = [slice(*bounds) for bounds in box[:axis]]
        found += [(*before, slice(a, b)) for a, b in ((0, start), (stop, n)) if a < b]
    return found


def _index_word(part: Any) -> str:
    """A part of a basic index."""
    if type(part) is slice:
        parts = ["" if x is None else repr(x) for x in (part.start, part.stop, part.step)]
        return ":".join(parts if parts[2] else parts[:2])
    return "..." if part is Ellipsis else repr(part)


def _as_tuple(index: Any) -> tuple[Any, ...]:
    return index if type(index) is tuple else (index,)


__all__ = ["Writes"]
