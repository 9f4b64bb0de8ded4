"""Tensors that share memory: how a view is linked to its base, and computed from it again.

Knows paths: functions that compute the array of a view from that of its base. Must not know which
operations make views.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from tapegrad._arrays.composed_index import composed
from tapegrad._core.types import Tree, Value
from tapegrad._core.values import Mapped, Traced, is_basic
from tapegrad.torch._graph import modes as _modes
from tapegrad.torch._graph.sharing import is_computed
from tapegrad.torch._graph.tracing import is_dual
from tapegrad.torch._graph.versions import owner_of
from tapegrad.torch._tensor.tensor import LEAF, Tensor, ndarray


def _link_views(made: Tree, source: object, path: Callable[[Value], Value], several: bool) -> None:
    """Link the tensors that share the memory of another one to it, as its views."""
    if not isinstance(source, Tensor):
        return
    if isinstance(made, (tuple, list)):
        for position, part in enumerate(made):
            if isinstance(part, Tensor):
                link_view(part, source, _Part(path, position), several)
    elif made is not source:
        link_view(made, source, path, several)


class _Part:
    """The path to one of the views that a function returns."""

    __slots__ = ("path", "position")

    def __init__(self, path: Callable[[Value], Value], position: int) -> None:
        self.path = path
        self.position = position

    def __call__(self, base: Value) -> Value:
        return self.path(base)[self.position]


class Steps:
    """The path of a view of a view: one path after another."""

    __slots__ = ("first", "second")

    def __init__(self, first: Callable[[Value], Value], second: Callable[[Value], Value]) -> None:
        self.first = first
        self.second = second

    @property
    def computed(self) -> bool:
        """Whether the view of a traced value has elements of its own: see `sharing`."""
        return any(map(is_computed, self.parts()))

    def parts(self) -> list[Callable[[Value], Value]]:
        """The paths in order, of which none is of several steps."""
        found: list[Callable[[Value], Value]] = []
        ahead: list[Callable[[Value], Value]] = [self]
        while ahead:  # not by recursion: a view of a view of a view has a long path
            path = ahead.pop()
            if type(path) is Steps:
                ahead += path.second, path.first
            else:
                found.append(path)
        return found

    def __call__(self, base: Value) -> Value:
        for path in self.parts():
            base = path(base)
        return base


def joined(
    shape: tuple[int, ...], first: Callable[[Value], Value], second: Callable[[Value], Value]
) -> Callable[[Value], Value]:
    """The path of a view of a view; of a part of a part, which is one index, it is one step."""
    one, two = getattr(first, "index", None), getattr(second, "index", None)
    if one is not None and two is not None and is_basic(one) and is_basic(two):
        index = composed(shape, one, two)
        if index is not None:
            kind: Any = type(second)
            made: Callable[[Value], Value] = kind(index)
            return made
    return Steps(first, second)


def _arrays_below(value: Value, whole: Value) -> tuple[Value, Value]:
    """Of the values of a view and its base, those that share memory if these are arrays."""
    if is_dual(value) and is_dual(whole):
        value, whole = value._value, whole._value
    while isinstance(value, Mapped) and isinstance(whole, Mapped):
        value, whole = value._value, whole._value
    return value, whole


def _share_below(value: Value, whole: Value) -> bool:
    """Whether the arrays of values in a trace share memory."""
    value, whole = _arrays_below(value, whole)
    view: Any = value
    if isinstance(value, Traced) and value.is_view:
        root: Any = whole
        return view.root is (root.root if isinstance(whole, Traced) and whole.is_view else root)
    if type(value) is not ndarray or type(whole) is not ndarray:
        return False
    return value is whole or owner_of(value) is owner_of(whole)


def link_view(
    made: Tensor, source: Tensor, path: Callable[[Value], Value], several: bool = False
) -> None:
    """Make a tensor a view of another one whose memory it shares; nothing if it shares none."""
    value, whole = made._value, source._value
    if type(value) is not ndarray or type(whole) is not ndarray:
        if not (is_computed(path) or _share_below(value, whole)):
            return
    elif value is not whole:
        owner = whole if whole.base is None else whole.base  # frequent cases, without a call
        if value.base is not owner and owner_of(value) is not owner_of(whole):
            return  # NumPy returned a copy
    if not _modes.is_logging():
        how: str | None = "inference" if _modes.is_inference_mode_enabled() else "no_grad"
    else:
        how = "several" if several else source._creation_meta
    attach(made, source, path, how)


def attach(made: Tensor, source: Tensor, path: Callable[[Value], Value], how: str | None) -> None:
    """Make a tensor a view of another one, or of its base if that is a view itself.

    how: how it was made, as its `_creation_meta` says.
    """
    base = source._base
    if base is None:
        base = source
    else:
        assert source._view_fn is not None
        path = joined(base._value.shape, source._view_fn, path)
    made._base = base
    made._view_fn = path
    version = base._version_of
    if version is not None:  # else it is that of the base as soon as there is one
        made._version_of = version
    if base._inference:
        made._inference = True
    if how is not None:
        made._creation_meta = how
        made._attr_version = 0 if version is None else version.count
        if (
            made.node is None
            and base.node is not None
            and made._value.dtype.kind in "fcV"
            and not base._inference
        ):
            made.node, made._implied = LEAF, True  # it has no node of its own
    views = base._views
    if views is None:
        base._views = [weakref.ref(made)]
        return
    if len(views) >= 8 and len(views) & (len(views) - 1) == 0:
        drop_dead(views)  # at each power of two
    views.append(weakref.ref(made))


def drop_dead(views: list[weakref.ref[Tensor]]) -> None:
    """Drop the references to views that are no more."""
    views[:] = [view for view in views if view() is not None]


__all__ = ["Steps", "attach", "joined", "link_view"]
