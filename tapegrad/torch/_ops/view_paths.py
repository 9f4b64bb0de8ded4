"""Views: tensors over the memory of another tensor, and the paths that lead to them.

Knows the layout of entries: views are frequent, so they are logged without the core's dispatch.
Must not know which views PyTorch has, or how its calls look.

A path is a function that returns a part or rearrangement of an array; for an ndarray, one in the
same memory. It takes traced arrays too: after a write to the base its views are computed anew.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view

from tapegrad._core import types
from tapegrad._core.entry import PROJECT, READ, Entry, Outputs, Spec, spec_of
from tapegrad._core.forms import General
from tapegrad._core.rule import REGISTRY, Rule
from tapegrad._core.types import Cotangent, Params, Tree, Value
from tapegrad.torch._dtypes import is_brain
from tapegrad.torch._graph.modes import MODE, Mode, is_logging
from tapegrad.torch._graph.node import Node, fresh_node, new, node_class
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._graph.versions import owner_of
from tapegrad.torch._ops.declare import finish, tell
from tapegrad.torch._ops.kernels import plan_one, plan_spread
from tapegrad.torch._ops.making import node_for
from tapegrad.torch._rules.bfloat16 import repeated
from tapegrad.torch._tensor.meta import is_meta
from tapegrad.torch._tensor.tensor import Tensor, array_of, ndarray
from tapegrad.torch._tensor.views import link_view
from tapegrad.torch._types import Number

ALL = slice(None)

# Values that entries of views keep, by the rule, the base's dtype and shape, and the parameters.
_ENTRIES: dict[Any, tuple[Spec, tuple[Spec], Params]] = {}
_MOST = 1 << 14


def _learn_entry(key: Any, params: Params, x: Spec, out: Spec) -> tuple[Spec, tuple[Spec], Params]:
    """Values that an entry keeps, with the pull that its rule plans such a view to, if it does."""
    if len(_ENTRIES) >= _MOST:
        _ENTRIES.clear()
    rule: Rule = key[0]
    call_plan: Params | None = None
    if rule is Expand.rule:
        call_plan = plan_spread(rule, x, out, params)
    elif rule.plan is not None and rule.plans_one:
        call_plan = plan_one(rule, x, out, params)
    found = _ENTRIES[key] = out, (x,), params if call_plan is None else call_plan
    return found


class Path:
    """A function from an array to a view of it, with the entry that logs it."""

    __slots__ = ("params",)

    rule: Any
    params: Params
    computed = False  # whether a traced value has no such view, but other elements

    def __init__(self, **params: Any) -> None:
        self.params = params

    def __call__(self, base: Value) -> Value:
        return self.rule.function(base, **self.params)

    def is_light(self) -> bool:
        """Whether its entry takes little memory, so that it may be remembered."""
        return True

    def quick(self, _base: Value, _out: Value) -> Callable[[Value], Value]:
        """Maker of the same view of each array like `base`, of which the view is `out`."""
        return self

    def entry(self, value: Value, out: Value, node: Node) -> Entry:
        """The entry of a view; `node` is the slot of its base."""
        rule, params = self.rule, self.params
        key = (rule, value.dtype, value.shape, *params.values())
        found = _ENTRIES.get(key)
        if found is None:
            found = _learn_entry(key, params, spec_of(value), spec_of(out))
        return rule, *found, (node,), None


class Index(Path):
    """`x[index]` of integers, slices, None and Ellipsis."""

    __slots__ = ("index", "old", "taken")

    def __init__(self, index: types.Index) -> None:
        self.index = index
        # With an Ellipsis NumPy returns an array of no dimensions, not a number.
        if type(index) is int:
            self.taken: Any = (index, ...)
        elif type(index) is tuple and Ellipsis not in index:
            self.taken = (*index, ...)
        else:
            self.taken = index
        parts = index if type(index) is tuple else (index,)
        self.old: Any = None  # the index without new dimensions, if it has any
        if any(part is None for part in parts):
            self.old = tuple(part for part in parts if part is not None)
            if Ellipsis not in self.old:
                self.old = (*self.old, ...)

    def __call__(self, base: Value) -> Value:
        if self.old is not None and type(base) is ndarray and base.size:
            shape = base[self.taken].shape
            return base[self.old].reshape(shape)  # which gives new dimensions strides
        return base[self.taken]

    def quick(self, base: Value, out: Value) -> Callable[[Value], Value]:
        if self.old is None:
            return operator.itemgetter(self.taken)
        return _reshaping(base, out) or self

    def entry(self, value: Value, _out: Value, node: Node) -> Entry:
        return READ, None, spec_of(value), self.index, node, None


def _reshaping(base: Value, out: Value) -> Callable[[Value], Value] | None:
    """The reshape that gives the view `out` of an array; None if there is none."""
    if base.size != out.size:
        return None
    made = base.reshape(out.shape)
    same = made.strides == out.strides and np.may_share_memory(made, base)
    start, end = (x.__array_interface__["data"][0] for x in (made, out))
    return operator.methodcaller("reshape", out.shape) if same and start == end else None


class Reshape(Path):
    __slots__ = ()
    rule = REGISTRY[np.reshape]

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.params = {"shape": shape}

    def __call__(self, base: Value) -> Value:
        return base.reshape(self.params["shape"])

    def quick(self, base: Value, out: Value) -> Callable[[Value], Value]:
        return _reshaping(base, out) or self


class Permute(Path):
    __slots__ = ()
    rule = REGISTRY[np.transpose]

    def __init__(self, axes: Sequence[int]) -> None:
        self.params = {"axes": tuple(axes)}

    def __call__(self, base: Value) -> Value:
        return base.transpose(self.params["axes"])

    def quick(self, _base: Value, _out: Value) -> Callable[[Value], Value]:
        return operator.methodcaller("transpose", self.params["axes"])


# A third of the price of np.broadcast_to, and writeable.
_iterated: Any = functools.partial(
    np.nditer, flags=["reduce_ok", "multi_index"], op_flags=["readwrite"], order="C"
)


class Expand(Path):
    __slots__ = ()
    rule = REGISTRY[np.broadcast_to]

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.params = {"shape": shape}

    def __call__(self, base: Value) -> Value:
        return _writeable(np.broadcast_to(base, self.params["shape"]), base)

    def quick(self, base: Value, out: Value) -> Callable[[Value], Value]:
        shape, dtype, strides = out.shape, out.dtype, out.strides
        if base.flags.c_contiguous:
            return lambda x: ndarray(shape, dtype, x, 0, strides)

        def take(x: Value) -> Value:
            try:
                return _iterated((x,), itershape=shape).itviews[0]
            except ValueError:  # it may not be written to
                return self(x)

        made = take(base)
        same = made.strides == strides and owner_of(made) is owner_of(base)
        return take if same else self

    def entry(self, value: Value, out: Value, node: Node) -> Entry:
        if is_brain(value.dtype):
            return repeated.rule, spec_of(out), (spec_of(value),), self.params, (node,), None
        return super().entry(value, out, node)


class Diagonal(Path):
    __slots__ = ()
    rule = REGISTRY[np.diagonal]
    computed = True

    def __call__(self, base: Value) -> Value:
        return _writeable(np.diagonal(base, **self.params), base)


class Windows(Path):
    """All windows of one dimension, along a new last one."""

    __slots__ = ()
    rule = REGISTRY[sliding_window_view]
    computed = True

    def __call__(self, base: Value) -> Value:
        if type(base) is not ndarray:
            return sliding_window_view(base, **self.params)
        axis, size = self.params["axis"], self.params["window_shape"]
        shape = [*base.shape, size]
        shape[axis] += 1 - size
        return in_memory(base, shape, (*base.strides, base.strides[axis]))


class RealPart(Path):
    __slots__ = ()
    rule = REGISTRY[np.real]


class ImaginaryPart(Path):
    __slots__ = ()
    rule = REGISTRY[np.imag]


def _as_real(x: Value) -> Value:
    if type(x) is ndarray:
        real = x.real
        return in_memory(real, (*x.shape, 2), (*x.strides, real.itemsize))
    return np.stack([np.real(x), np.imag(x)], -1)


def _as_complex(x: Value) -> Value:
    if type(x) is ndarray:
        return x.view(np.result_type(x.dtype, np.complex64))[..., 0]
    return x[..., 0] + 1j * x[..., 1]


AS_REAL = General(
    _as_real,
    vjp=[lambda g, _out, _x: g[..., 0] - 1j * g[..., 1]],
    jvp=lambda dots, _out, _x: _as_real(dots[0]),
    batch=_as_real,
)
AS_COMPLEX = General(
    _as_complex,
    vjp=[lambda g, _out, _x: np.stack([np.real(g), -np.imag(g)], -1)],
    jvp=lambda dots, _out, _x: _as_complex(dots[0]),
    batch=_as_complex,
)


class AsReal(Path):
    __slots__ = ()
    rule = AS_REAL
    computed = True

    def inverse(self, part: Value) -> Value:
        return _as_complex(part)


class AsComplex(Path):
    __slots__ = ()
    rule = AS_COMPLEX
    computed = True

    def inverse(self, part: Value) -> Value:
        return _as_real(part)


class Strided(Path):
    """`as_strided`: elements at given places of the memory that an array lies in."""

    __slots__ = ("geometry", "memory")
    computed = True

    def __init__(
        self, value: Value, shape: tuple[int, ...], strides: Sequence[int], offset: int | None
    ) -> None:
        """strides and offset count elements, from the start of the memory or the first element.

        RuntimeError for elements beyond the memory.
        """
        memory, start = _flat_from(value)
        step = value.itemsize
        if offset is None:
            offset = start
        last = offset + sum(map(operator.mul, [n - 1 for n in shape], strides))
        if offset < 0 or (0 not in shape and last >= memory.size):
            raise RuntimeError(
                f"setStorage: sizes {list(shape)}, strides {list(strides)}, storage offset "
                f"{offset}, and itemsize {step} requiring a storage size of {(last + 1) * step} "
                f"are out of bounds for storage of size {memory.nbytes}"
            )
        own = tuple([size // step for size in value.strides])
        self.geometry = value.shape, own, shape, tuple(strides), offset if all(shape) else 0
        self.memory = memory.size, start

    def __call__(self, base: Value) -> Value:
        shape, own, wanted, strides, offset = self.geometry
        if (
            type(base) is ndarray
            and base.shape == shape
            and base.strides == tuple([base.itemsize * step for step in own])
        ):
            return _in_flat(flat_memory(base), wanted, strides, offset)
        return np.reshape(base, -1)[self._places()]

    def quick(self, base: Value, out: Value) -> Callable[[Value], Value]:
        if base.base is not None or not base.flags.c_contiguous:
            return self
        shape, dtype, strides = out.shape, out.dtype, out.strides
        offset = self.geometry[-1] * base.itemsize
        return lambda x: ndarray(shape, dtype, x, offset, strides)

    def is_light(self) -> bool:
        return self.memory[0] <= _SMALL and math.prod(self.geometry[2]) <= _SMALL

    def _places(self) -> Value:
        """The number within the array of each element; RuntimeError for one beyond it."""
        size, start = self.memory
        places = _places_of if size > _SMALL else _known_places
        return places(*self.geometry, size, start)

    def entry(self, value: Value, out: Value, node: Node) -> Entry:
        if not value.shape:  # its one element, any number of times
            return Expand(self.geometry[2]).entry(value, out, node)
        index = np.unravel_index(self._places(), value.shape)
        return READ, None, spec_of(value), index, node, None


_SMALL = 1 << 12  # elements of memory, of which the places are remembered


def _places_of(
    shape: tuple[int, ...],
    own: tuple[int, ...],
    wanted: tuple[int, ...],
    strides: tuple[int, ...],
    offset: int,
    size: int,
    start: int,
) -> Value:
    numbers = np.full(size, -1)
    _in_flat(numbers, shape, own, start)[...] = np.arange(math.prod(shape)).reshape(shape)
    places = _in_flat(numbers, wanted, strides, offset).copy()
    if (places < 0).any():
        raise RuntimeError(
            "as_strided: expected a view of elements of the tensor itself where it requires "
            "grad, got one that reaches beyond it. Use detach() for one without gradient."
        )
    places.flags.writeable = False
    return places


_known_places = functools.lru_cache(256)(_places_of)


def flat_memory(value: Value) -> Value:
    """The whole memory that an array is a part of, as elements of its dtype in a row.

    RuntimeError for memory with gaps, or of other elements.
    """
    return _flat_from(value)[0]


def _flat_from(value: Value) -> tuple[Value, int]:
    """The same, and how many elements lie in it before the first one of the array."""
    owner, step = owner_of(value), value.itemsize
    before = 0 if owner is value else _address(value) - _address(owner)
    parts = owner.nbytes, before, *value.strides
    if not owner.flags.forc or any(n % step for n in parts):
        raise RuntimeError(
            "expected a tensor in memory without gaps between its elements, got one of a strided "
            "or structured array. Use clone()."
        )
    flat = owner.reshape(-1, order="A")
    return flat if flat.dtype == value.dtype else flat.view(value.dtype), before // step


def _address(value: Value) -> int:
    found: int = value.__array_interface__["data"][0]
    return found


def _in_flat(flat: Value, shape: Sequence[int], strides: Sequence[int], offset: int) -> Value:
    """An array in flat memory, by numbers of elements; ValueError where it would leave it."""
    step = flat.itemsize
    return np.ndarray(tuple(shape), flat.dtype, flat, offset * step, [s * step for s in strides])


def in_memory(base: Value, shape: Sequence[int], strides: Sequence[int]) -> Value:
    """An array of other sizes and strides that starts where another one does."""
    owner = owner_of(base)
    if 0 in shape or not owner.flags.forc:
        return as_strided(base, shape, strides)
    start = _address(base) - _address(owner)
    memory = owner.reshape(-1, order="A")
    return np.ndarray(tuple(shape), base.dtype, memory, start, tuple(strides))


def _writeable(view: Value, base: Value) -> Value:
    """Make a view writeable that NumPy returns read-only: writes check for overlaps themselves."""
    if type(view) is ndarray and base.flags.writeable:
        view.flags.writeable = True
    return view


# --- Taking views -------------------------------------------------------------------------------


def view_of(x: Tensor, path: Path, label: type[Node]) -> Tensor:
    """The view of a tensor that a path leads to."""
    value = x._value
    mode = MODE.get()
    if mode is not None:
        return _told(x, path, label, mode)
    if type(value) is not ndarray and not is_meta(value):
        return _taken_traced(x, path, label)
    return _taken(x, path, label, path(value), logged=x.node is not None and not x._inference)


def _taken_traced(x: Tensor, path: Path, label: type[Node]) -> Tensor:
    """A view of a traced value. The core links it to its base, but not that of a dual tensor."""
    made: Tensor = finish(path(array_of(x)), x, label, view=True)
    if made is not x:
        link_view(made, x, path)
    return made


def _taken(x: Tensor, path: Path, label: type[Node], out: Value, *, logged: bool) -> Tensor:
    made: Tensor = new(Tensor)
    made._value = out
    if logged:
        node = new(label)
        node._number = next_number()
        node._entry = path.entry(x._value, out, node_for(x))
        made.node = node
    else:
        made.node = None
    link_view(made, x, path)
    return made


def _told(x: Tensor, path: Path, label: type[Node], mode: Mode) -> Tensor:
    """`view_of` where gradients are off or a profiler is active."""
    start = next_number()
    if type(x._value) is ndarray:
        logged = x.node is not None and not x._inference and is_logging()
        made = _taken(x, path, label, path(x._value), logged=logged)
    else:
        made = _taken_traced(x, path, label)
    announce(made, mode, start, label, x)
    return made


def announce(made: Tree, mode: Mode, start: int, label: type[Node], x: Tensor) -> None:
    """Tell profilers and anomaly mode of one or more views.

    start: a node number from before the views were taken.
    """
    tell(mode, start, word_of_label(label), (x,), made)
    if x._inference:
        for part in made if isinstance(made, tuple) else (made,):
            part._inference = True


def word_of_label(label: type[Node]) -> str:
    """`select` for SelectBackward0."""
    return label.__name__.rpartition("Backward")[0].lower()


def _stacked(
    g: Cotangent, _out: Value, _x: Value, axis: int, cuts: Sequence[tuple[int, int]] | None = None
) -> tuple[Cotangent]:
    return (np.stack(g, axis) if cuts is None else np.concatenate(g, axis),)


def _apart(
    x: Value, axis: int, cuts: Sequence[tuple[int, int]] | None = None
) -> tuple[Value, ...]:
    lead = (ALL,) * axis
    if cuts is None:
        return tuple(x[(*lead, i, ...)] for i in range(x.shape[axis]))
    return tuple(x[(*lead, slice(*pair), ...)] for pair in cuts)


# One node whose results are all parts along an axis: of length one, or between cuts.
APART = General(
    _apart,
    vjp=_stacked,
    jvp=lambda dots, _out, _x, axis, cuts=None: _apart(dots[0], axis, cuts),
    arrays=1,
    name="unbind",
    batch="axis",
)


class Cut(NamedTuple):
    """How a tensor is taken apart along an axis: into parts between cuts, or of length one."""

    axis: int
    cuts: Sequence[tuple[int, int]] | None
    label: type[Node]

    def paths(self, x: Value) -> list[Index]:
        """The paths to the parts."""
        lead = (ALL,) * self.axis
        if self.cuts is None:
            return [Index((*lead, i)) for i in range(x.shape[self.axis])]
        return [Index((*lead, slice(*pair))) for pair in self.cuts]

    def params(self) -> Params:
        """The parameters of the entry."""
        return {"axis": self.axis} if self.cuts is None else {"axis": self.axis, "cuts": self.cuts}


def views_apart(x: Tensor, cut: Cut) -> tuple[Tensor, ...]:
    """The parts of a tensor along an axis, which come from one node."""
    label, paths = cut.label, cut.paths(x._value)
    mode = MODE.get()
    start = next_number() if mode is not None else 0
    if type(x._value) is ndarray:
        made = _several(x, paths, label, cut.params())
    else:
        array = array_of(x)
        made = tuple(finish(path(array), x, label, view=True) for path in paths)
        for part, path in zip(made, paths, strict=True):
            link_view(part, x, path, several=True)  # of a dual tensor
    if mode is not None:
        announce(made, mode, start, label, x)
    return made


def _several(
    x: Tensor, paths: list[Index], label: type[Node], params: Params
) -> tuple[Tensor, ...]:
    value = x._value
    parts = [path(value) for path in paths]
    parent = None
    if x.node is not None and not x._inference and paths and is_logging():
        parent = new(label)
        parent._number = next_number()
        specs = Outputs(map(spec_of, parts))
        specs.slots = (-1,) * len(paths)  # not the parts' nodes, which hold this one
        parent._entry = APART, specs, (spec_of(value),), params, (node_for(x),), None
    made = []
    for position, path in enumerate(paths):
        part: Tensor = new(Tensor)
        part._value = parts[position]
        part.node = None
        if parent is not None:
            part.node = fresh_node()
            part.node._entry = PROJECT, None, position, len(paths), parent, None
        link_view(part, x, path, several=True)
        made.append(part)
    return tuple(made)


# --- Registering --------------------------------------------------------------------------------


def _whole(given: Number) -> int:
    if isinstance(given, Tensor):
        if given._value.dtype.kind not in "iu" or given._value.size != 1:
            raise TypeError(
                "only integer tensors of a single element can be converted to an index"
            )
        return int(given._value.item())
    if isinstance(given, (bool, float)) or not hasattr(given, "__index__"):
        raise TypeError(f"expected an integer, got {type(given).__name__}")
    return int(given.__index__())


def whole(given: Number) -> int:
    """An integer, also as a tensor of one element; TypeError for anything else."""
    return given if type(given) is int else _whole(given)


def label_of(name: str) -> type[Node]:
    """The class of nodes, SelectBackward0 for `Select`."""
    return node_class(f"{name}Backward0")
