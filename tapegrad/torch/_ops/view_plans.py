"""Views that come again: what shapes and parameters decide of a view is decided once.

A view is declared by a function that gives its path. Of an array of the same shape, strides and
dtype, with the same parameters, the path is the same, and so is what the entry of the view keeps:
they are remembered, and the later calls take the view, make its node and link it to its base.

Anything unusual is left to `view_of`: modes other than `no_grad`, traced and batched arrays,
inference tensors, parameters that are not integers.

Knows the layout of entries, and what links a view to its base. Must not know which views exist.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tapegrad._core.entry import PROJECT, Outputs, Spec, spec_of
from tapegrad._core.fast.call_plans import Kernels, planned
from tapegrad._core.types import Cotangent, Params, Value
from tapegrad.torch._dtypes import Size
from tapegrad.torch._graph.modes import MODE, PLAIN, Mode
from tapegrad.torch._graph.node import Node, fresh_node, new
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._graph.versions import owner_of
from tapegrad.torch._ops.declare import with_numpy_words
from tapegrad.torch._ops.view_paths import APART, Cut, Index, Path, view_of, views_apart
from tapegrad.torch._tensor.tensor import LEAF, Tensor, accumulator_of, ndarray
from tapegrad.torch._tensor.views import attach

mode_of = MODE.get

# The results of a function that declares a view: a path with the class of the node; a function of
# the tensor, where memory does not allow a view; or a tensor where there is nothing to do.
Plan = tuple[Path, type[Node]] | Callable[[Tensor], Tensor] | Tensor

_WHOLE = frozenset((int,))
_SHAPES = frozenset((tuple, list, Size))
_MOST = 1 << 12  # views that a function remembers; programs with more begin again


class Known(NamedTuple):
    """A view that has come before."""

    take: Callable[[Value], Value]  # the view of an array
    path: Path
    label: type[Node]
    rule: Any  # what its entry has, but for the node of the argument
    out: Any
    kept: Any
    params: Any
    alone: bool  # whether the entry has the node itself, not a tuple of nodes


def learned(x: Value, path: Path, label: type[Node]) -> Known | None:
    """Description of the view of an array; None if it is not to be remembered."""
    if not x.size or not path.is_light():
        return None
    out = path(x)
    if type(out) is not ndarray or owner_of(out) is not owner_of(x):
        return None
    node = fresh_node()
    entry: Any = (None,) * 5
    if x.dtype.kind in "fcV":  # else no view has a node
        entry = path.entry(x, out, node)
    rule, kept_out, kept, params, nodes = entry[:5]
    return Known(path.quick(x, out), path, label, rule, kept_out, kept, params, nodes is node)


def known_view(input: Tensor, x: Value, known: Known, mode: Mode | None) -> Tensor:
    """A view that has come before, of a tensor over an array; `mode` is None or UNLOGGED."""
    take, path, label, rule, out, kept, params, alone = known
    made: Tensor = new(Tensor)
    made._value = take(x)
    source = input.node
    if source is None or mode is not None:
        made.node = None
    else:
        if source is LEAF:
            source = accumulator_of(input)
        made.node = node = new(label)
        node._number = next_number()
        node._entry = rule, out, kept, params, source if alone else (source,), None
    attach(made, input, path, input._creation_meta if mode is None else "no_grad")
    return made


def _key_of(x: Value, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """By what a view of an array is remembered; None if parameters are others than integers."""
    key: list[Any] = [x.dtype, x.shape, x.strides]
    for arg in (*args, *kwargs.values()) if kwargs else args:
        if type(arg) is int:
            key.append(arg)
        elif type(arg) in _SHAPES and _WHOLE.issuperset(map(type, arg)):
            key.append(tuple(arg))
        else:
            return None
    key += kwargs
    return tuple(key)


def viewing(plan: Callable[..., Plan], *, numpy_words: bool = False) -> Callable[..., Tensor]:
    """A view, of which calls that come again are planned.

    plan: a function of a tensor and parameters that checks them, and gives the path and the class
    of the node. numpy_words: keywords may be NumPy's.
    """
    views: dict[Any, Any] = {}
    ask = views.get
    general = with_numpy_words(plan) if numpy_words else plan
    first = next(iter(inspect.signature(plan).parameters))

    @functools.wraps(plan)
    def call(input: Any = None, *args: Any, **kwargs: Any) -> Tensor:
        given = kwargs.pop(first) if input is None and first in kwargs else input
        x = getattr(given, "_value", None)
        key: Any = None
        mode = mode_of()
        if type(x) is ndarray and mode in PLAIN:
            if not kwargs and _WHOLE.issuperset(map(type, args)):
                key = x.dtype, x.shape, x.strides, *args
            else:
                key = _key_of(x, args, kwargs)
            if key is not None and not given._inference:
                found = ask(key)
                if found is not None:
                    if type(found) is Known:
                        return known_view(given, x, found, mode)
                    return found(given)
        planned = general(given, *args, **kwargs)
        if isinstance(planned, Tensor):
            return planned
        if callable(planned):
            if key is not None and len(views) < _MOST:
                views[key] = planned
            return planned(given)
        if key is not None:
            remember(views, key, x, *planned)
        return view_of(given, *planned)

    _show_result(call, plan, "Tensor")
    return call


def remember(views: dict[Any, Known], key: Any, x: Value, path: Path, label: type[Node]) -> None:
    """Remember a view under a key, if it is one."""
    found = learned(x, path, label)
    if found is not None:
        if len(views) >= _MOST:
            views.clear()
        views[key] = found


# --- Several views of one call ------------------------------------------------------------------


class KnownParts(NamedTuple):
    """Views of one call that have come before."""

    parts: list[tuple[Callable[[Value], Value], Index]]  # what takes each, and its path
    label: type[Node]
    specs: Outputs
    kept: tuple[Spec]
    params: Params


def _learned_parts(x: Value, cut: Cut) -> KnownParts | None:
    """Description of the parts of an array; None if they are not to be remembered."""
    paths = cut.paths(x)
    found = [path(x) for path in paths]
    owner = owner_of(x)
    if not x.size or not found or any(owner_of(part) is not owner for part in found):
        return None
    specs = Outputs(map(spec_of, found))
    specs.slots = (-1,) * len(found)  # not the parts' nodes, which hold that of the call
    kernels = Kernels(None, _joining(x.shape, x.dtype, [path.index for path in paths]))
    kept = (spec_of(x),)
    call_plan = planned(APART, kernels, kept, (True,), specs, cut.params())  # type: ignore[arg-type]
    takes = [(path.quick(x, part), path) for path, part in zip(paths, found, strict=True)]
    return KnownParts(takes, cut.label, specs, kept, call_plan)


def _joining(shape: tuple[int, ...], dtype: Any, places: list[Any]) -> Callable[..., Any]:
    """The pull to an array of the cotangents of its parts, which are all of it."""

    def pull(g: list[Cotangent], *_: Any) -> tuple[Cotangent]:
        bar = np.empty(shape, dtype)
        for place, part in zip(places, g):  # noqa: B905 - strict= costs
            bar[place] = 0 if part is None else part
        return (bar,)

    return pull


def _known_parts(
    input: Tensor, x: Value, known: KnownParts, mode: Mode | None
) -> tuple[Tensor, ...]:
    """Parts that have come before, of a tensor as `known_view` takes it."""
    parts, label, specs, kept, params = known
    source, parent = (input.node if mode is None else None), None
    if source is not None:
        if source is LEAF:
            source = accumulator_of(input)
        parent = new(label)
        parent._number = next_number()
        parent._entry = APART, specs, kept, params, (source,), None
    how = "several" if mode is None else "no_grad"
    made: list[Tensor] = []
    count = len(parts)
    for take, path in parts:
        part: Tensor = new(Tensor)
        part._value = take(x)
        if source is None:
            part.node = None
        else:
            part.node = node = new(Node)
            node._number = next_number()
            node._entry = PROJECT, None, len(made), count, parent, None
        attach(part, input, path, how)
        made.append(part)
    return tuple(made)


def viewing_apart(
    plan: Callable[..., Cut], *, numpy_words: bool = True
) -> Callable[..., tuple[Tensor, ...]]:
    """Several views, of which calls that come again are planned.

    plan: a function of a tensor and parameters that checks them, and says how it is taken apart.
    """
    known: dict[Any, KnownParts] = {}
    ask = known.get
    general = with_numpy_words(plan) if numpy_words else plan
    first = next(iter(inspect.signature(plan).parameters))

    @functools.wraps(plan)
    def call(input: Any = None, *args: Any, **kwargs: Any) -> tuple[Tensor, ...]:
        given = kwargs.pop(first) if input is None and first in kwargs else input
        x = getattr(given, "_value", None)
        key: Any = None
        mode = mode_of()
        if type(x) is ndarray and mode in PLAIN:
            key = _key_of(x, args, kwargs)
            if key is not None and not given._inference:
                found = ask(key)
                if found is not None:
                    return _known_parts(given, x, found, mode)
        cut = general(given, *args, **kwargs)
        if key is not None:
            learned = _learned_parts(x, cut)
            if learned is not None:
                if len(known) >= _MOST:
                    known.clear()
                known[key] = learned
        return views_apart(given, cut)

    _show_result(call, plan, "tuple[Tensor, ...]")
    return call


def _show_result(call: Any, plan: Callable[..., Any], annotation: str) -> None:
    """Let a function have the signature of the one that it was made of, but for its result."""
    call.__signature__ = inspect.signature(plan).replace(return_annotation=annotation)
