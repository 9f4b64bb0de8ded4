"""Writes to tensors: the writes that PyTorch allows, and the new nodes that they make.

Knows leaves, views and versions. Must not know which operations exist.

A write changes memory, and replaces the node of the tensor. If the tensor is a view, its base gets
a node that splits the gradient (CopySlices), and all views of the base get new nodes from it. A
backward pass refuses values that a node kept of the old memory: it compares the time of the write
with that of the node.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np

from tapegrad._core.entry import WRITE, Spec, parents_of, spec_of
from tapegrad._core.forms import General
from tapegrad._core.quiet import silence
from tapegrad._core.recorded import entering
from tapegrad._core.types import Cotangent, Index, Slot, Value
from tapegrad._core.values import (
    Mapped,
    Traced,
    batched_index_part,
    in_trace,
    is_basic,
    is_mapped,
    is_plain_array,
    level_of,
    lift_to_level_of,
)
from tapegrad._errors import BatchingError
from tapegrad.torch._dims import clash_of, misfit_text
from tapegrad.torch._dtypes import can_store, of_numpy, word_of
from tapegrad.torch._graph import modes
from tapegrad.torch._graph.error_node import end_node, error_node
from tapegrad.torch._graph.names import name_nodes
from tapegrad.torch._graph.node import (
    GRAPH,
    Node,
    array_on_graph,
    fresh_node,
    is_on_graph,
    node_class,
)
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._graph.sharing import REPEATED, is_computed, put_along, require_known
from tapegrad.torch._graph.tracing import is_differentiated, is_dual
from tapegrad.torch._graph.versions import count_write, made_view_text, owner_of
from tapegrad.torch._rules.bfloat16 import converted
from tapegrad.torch._tensor.duals import apart, store
from tapegrad.torch._tensor.meta import is_meta
from tapegrad.torch._tensor.overlaps import check_apart, check_part
from tapegrad.torch._tensor.tensor import (
    LEAF,
    Tensor,
    array_of,
    ndarray,
    node_of,
    of_array,
    require_floating,
    retain_at,
)
from tapegrad.torch._tensor.views import Steps

COPY_SLICES = node_class("CopySlices")
ABSENT = -1  # the node of an argument that has none; compared by identity


def _copy_slices(base: Value, view: Value, path: Callable[[Value], Value]) -> Value:
    """A copy of `base` in which the part at the end of `path` is `view`."""
    whole = lift_to_level_of(base.copy(), view)
    if base.dtype == view.dtype:
        flat = whole.reshape(-1)
        flat[_places_of(path, base)] = view
        return flat.reshape(base.shape)
    path(whole)[...] = view
    return whole


def _meets_itself(view: Value) -> bool:
    """Whether several elements of an array may lie in one place of memory."""
    reach = view.itemsize
    sides = zip(view.strides, view.shape, strict=True)
    for step, side in sorted((abs(step), side) for step, side in sides if side > 1):
        if step < reach:
            return True
        reach += step * (side - 1)
    return False


def _stay(places: Value, size: int) -> Value:
    """Which elements of a write stay: of those in one place the last one."""
    numbers = np.arange(places.size).reshape(places.shape)
    last = np.empty(size, np.intp)
    last[places] = numbers
    return last[places] == numbers


def _places_of(path: Callable[[Value], Value], base: Value) -> Index:
    """The flat positions in the base of a view's elements, for any memory order of the two."""
    numbers = np.arange(base.size, dtype=np.complex128 if base.dtype.kind == "c" else np.float64)
    return np.real(path(numbers.reshape(base.shape))).astype(np.intp)


def _pull_slices(
    g: Cotangent, _out: Value, base: Value, view: Value, path: Callable[[Value], Value]
) -> tuple[Cotangent, Cotangent]:
    if type(g) is ndarray and base.dtype is view.dtype:
        rest = g.copy()
        part = path(rest)
        in_memory = part.base is not None and owner_of(part) is rest  # as a view of the base
        if in_memory and not _meets_itself(part):
            view_bar = part.copy()
            part[...] = 0
            return rest, view_bar
    if base.dtype.kind == path_kind(path, base):
        places = _places_of(path, base)
        whole = g.reshape(-1).copy()
        view_bar = whole[places]
        whole[places] = 0
        return whole.reshape(base.shape), np.where(_stay(places, base.size), view_bar, 0)
    # Real and imaginary parts are in memory as in gradients, which are conjugates of cotangents.
    view_bar = np.conj(path(np.conj(g)))
    kept = np.full(base.shape, 1, base.dtype)
    if base.dtype.kind == "c":
        kept += 1j
    path(kept)[...] = 0
    if base.dtype.kind != "c":
        return g * kept, view_bar
    return np.real(g) * np.real(kept) + 1j * np.imag(g) * np.imag(kept), view_bar


def path_kind(path: Callable[[Value], Value], base: Value) -> str:
    """Whether the view at the end of a path is real or complex: "f" or "c"."""
    kind: str = path(np.empty(base.shape, base.dtype)).dtype.kind
    return kind


_COPY_SLICES = General(_copy_slices, vjp=_pull_slices, arrays=2, name="CopySlices")
name_nodes(WRITE, "CopySlices")
# The nodes of writes that store one value, which several elements in one place of memory may get.
FIXED = frozenset(
    "ZeroBackward0 FillBackward2 MaskedFillBackward0 MaskedFillBackward1 IndexPutBackward0 "
    "View".split()
)
AS_STRIDED = node_class("AsStridedBackward0")  # the node of a view after a write to its base


def write(
    tensor: Tensor, compute: Callable[[Value], Value], label: str, sources: Sequence[Tensor] = ()
) -> Tensor:
    """Write `compute(array)` into the memory of a tensor, whose array it is given.

    sources: the other tensors of the operation; the write is logged if one of them, or the
    tensor, requires grad.
    """
    before = tensor._value
    if is_meta(before):
        return tensor
    tracked = modes.is_logging() and (
        tensor.node is not None or any(source.node is not None for source in sources)
    )
    check_writable(tensor, tracked, label)
    before = tensor._value
    _require_examples(before, [source._value for source in sources])
    if is_dual(before) or any(is_dual(source._value) for source in sources):
        return _write_dual(tensor, compute)
    if not is_plain_array(before):
        return _write_traced(tensor, compute(before))
    start = next_number()
    result = compute(_array_without_hooks(tensor) if tracked else before)
    on_graph = is_on_graph(result)
    if level_of(result) > GRAPH.level:
        _enter_transform(tensor, result)
        return _write_traced(tensor, result)
    value = result._value if on_graph else result
    if type(before) is ndarray is not type(value) and in_trace(value):
        _enter_transform(tensor, value)
        before = tensor._value
    check_result(tensor, value)
    if on_graph and value.dtype != before.dtype:
        result = converted(
            result, before.dtype
        )  # so that its gradient has the dtype of the memory
        value = result._value
    node = result.slot if on_graph and not isinstance(result.slot, int) else None
    if tracked and node is not None:
        require_floating(before.dtype)
        keep_apart(node, value, before, start)
    if type(before) is ndarray:
        before[...] = value
    else:
        _store(tensor, ..., value)
    count_write(tensor)
    if tracked:
        if node is not None and node._number >= start:
            node.__class__ = node_class(label)
            node._number = next_number()  # it keeps the memory after the write
        elif node is None:
            node = replacement(tensor, ..., -1, spec_of(before), label)
        rebase(tensor, node)
    else:
        outdate_views(tensor)
    return tensor


def _array_without_hooks(tensor: Tensor) -> Value:
    """The array of a tensor that is written to: hooks of a view do not run for what is over it."""
    node, base = tensor.node, tensor._base
    if base is None or not isinstance(node, Node) or not node._watched:
        return array_of(tensor)
    if base.node is None or tensor._creation_meta is not None:
        return array_of(tensor)
    return array_on_graph(tensor._value, _node_of_view(tensor, base))


def put(
    tensor: Tensor, index: Index, source: Tensor | Value, label: str, *, shape_first: bool = True
) -> None:
    """`tensor[index] = source` for an index in NumPy's terms and a tensor or a number.

    shape_first: whether a wrong shape is told of before a write that is not allowed.
    """
    given = source._value if isinstance(source, Tensor) else source
    origin = source.node if isinstance(source, Tensor) else None
    before = tensor._value
    tracked = (
        (tensor.node is not None or origin is not None)
        and modes.is_logging()
        and before.dtype.kind in "fcV"
    )
    try:
        check_writable(tensor, tracked, label)
    except RuntimeError:
        if shape_first and type(before) is ndarray and is_basic(index):
            _check_fit(before, index, given)
        raise
    dtype = getattr(given, "dtype", None)
    if dtype is not None and dtype.kind == "c" and before.dtype.kind != "c":
        given = np.real(given)
    if is_dual(before) or is_dual(given):
        _put_dual(tensor, index, array_of(source) if isinstance(source, Tensor) else source)
        return
    if isinstance(source, Tensor) and index is not ...:
        check_part(tensor, index, source)
    if _is_within_transform(tensor, index, given):
        _put_traced(tensor, index, given)
        return
    before = tensor._value
    v_node = node_of(source) if tracked and origin is not None else -1
    try:
        if type(before) is not ndarray:
            _store(tensor, index, given)
        elif dtype is before.dtype:
            before[index] = given
        else:
            with silence():
                before[index] = given
    except ValueError:
        _raise_misfit(before, index, given)
    count_write(tensor)
    if not tracked:
        outdate_views(tensor)
        return
    spec = spec_of(given) if dtype is not None else None
    if index is ... and tensor._base is not None:
        rebase(tensor, None if origin is None else v_node, spec)
    else:
        rebase(tensor, replacement(tensor, index, v_node, spec, label))


def _is_within_transform(tensor: Tensor, index: Index, given: Value) -> bool:
    """Whether a write at an index is one within a functional transform.

    Memory from outside of a program enters that to which the value or the index belongs: such
    values lie below the level of the graph.
    """
    before = tensor._value
    inner: Value = batched_index_part(index, -1)
    if not is_plain_array(before) or level_of(given) > GRAPH.level:
        return True
    if inner is not None and batched_index_part(index, GRAPH.level) is not None:
        return True
    if type(given) is not ndarray and in_trace(given):
        inner = given
    if inner is not None and type(before) is ndarray:
        _enter_transform(tensor, inner)
    return False


def replacement(tensor: Tensor, index: Index, v_node: Slot, spec: Spec | None, label: str) -> Node:
    """The node of a tensor after a part of it was replaced."""
    old = node_of(tensor)
    node = fresh_node()
    slots = (-1 if old is None else old, v_node)
    node._entry = WRITE, None, (spec_of(tensor._value), spec), index, slots, None
    node.__class__ = node_class(label)
    return node


def _put_traced(tensor: Tensor, index: Index, given: Value) -> None:
    """`put` within a functional transform."""
    _require_logged(tensor)
    if is_plain_array(tensor._value) and level_of(given) > GRAPH.level:
        _enter_transform(tensor, given)
    if type(tensor._value) is ndarray:
        _enter_transform(tensor, batched_index_part(index, -1))
    _enter_inner(tensor, given)
    _store(tensor, index, given)
    count_write(tensor)


def _check_fit(before: Value, index: Index, given: Value) -> None:
    """Raise RuntimeError where a value does not broadcast to the place that it is written to."""
    place, shape = before[index].shape, np.shape(given)
    while len(shape) > len(place) and shape[0] == 1:
        shape = shape[1:]
    sides = zip(shape[::-1], place[::-1], strict=False)
    if len(shape) > len(place) or any(side not in (1, room) for side, room in sides):
        _raise_misfit(before, index, given)


def _raise_misfit(before: Value, index: Index, given: Value) -> NoReturn:
    place, shape = list(before[index].shape), list(np.shape(given))
    if is_basic(index):
        raise RuntimeError(misfit_text(place, shape))
    raise RuntimeError(
        f"shape mismatch: value tensor of shape {shape} cannot be broadcast to indexing result "
        f"of shape {place}"
    )


def _write_traced(tensor: Tensor, result: Value) -> Tensor:
    """A write within a functional transform, where the core's arrays handle views."""
    _require_logged(tensor)
    check_result(tensor, result)
    _enter_inner(tensor, result)
    _store(tensor, ..., result)
    count_write(tensor)
    return tensor


def _store(tensor: Tensor, index: Index, given: Value) -> None:
    """`value[index] = given` in a trace."""
    if is_computed(tensor._view_fn):
        tensor._value = tensor._value.copy()  # it may be read-only
    try:
        tensor._value[index] = given
    except BatchingError:
        raise
    except TypeError:  # a NumPy scalar has no memory, and so no views
        tensor._value = given.astype(tensor._value.dtype)
    except ValueError as error:
        if "written" not in str(error) and "read-only" not in str(error):
            raise
        raise RuntimeError(REPEATED) from None
    _settle(tensor)


def _settle(tensor: Tensor) -> None:
    """After a write in a trace, give it to the base or the views that do not show it."""
    base = tensor if tensor._base is None else tensor._base
    views = [view for reference in base._views or () if (view := reference()) is not None]
    computed = [view for view in views if is_computed(view._view_fn)]
    if is_computed(tensor._view_fn):
        assert tensor._view_fn is not None
        put_along((tensor._view_fn,), base._value, tensor._value)
    for view in computed:
        if view is not tensor and view._view_fn is not None:
            view._value = view._view_fn(base._value)


def _require_logged(tensor: Tensor) -> None:
    """Raise RuntimeError for a write under `no_grad` to what a transform differentiates."""
    if not modes.is_logging() and is_differentiated(tensor._value):
        raise RuntimeError(
            "within a functional transform, a tensor that is differentiated cannot be written to "
            "under no_grad: the derivative of what is written over could not be kept. Write into "
            "a clone, or detach the value that is written."
        )


def _write_dual(tensor: Tensor, compute: Callable[[Value], Value]) -> Tensor:
    """A write with tangents: it is computed on copies, then stored in primal and tangent."""
    base = tensor if tensor._base is None else tensor._base
    primal, tangent = base._primal, base._tangent
    if primal is not None and tangent is not None and modes.is_logging():
        _check_origin(primal, "a view of a leaf Variable")
        _check_origin(tangent, "a leaf Variable")
    result = compute(apart(tensor))
    check_result(tensor, result)
    if result.dtype != tensor._value.dtype:
        result = converted(result, tensor._value.dtype)
    if base is not tensor:
        result = _COPY_SLICES.apply_bound([apart(base), result], {"path": tensor._view_fn})
    before = base._value
    _become(base, result)
    store(base, before)
    for reference in base._views or ():
        view = reference()
        if view is not None and view._view_fn is not None:
            _become(view, view._view_fn(array_of(base)))
    count_write(base)
    if primal is not None and tangent is not None:
        count_write(tangent)
        if modes.is_logging():
            slot = base._dual.slot if is_on_graph(base._dual) else None
            rebase(primal, base.node)
            rebase(tangent, slot if isinstance(slot, Node) else None)
    return tensor


def _check_origin(origin: Tensor, what: str) -> None:
    """Raise RuntimeError for a write to the memory of a leaf from which a dual tensor was made."""
    if origin.node is LEAF:
        raise RuntimeError(f"{what} that requires grad is being used in an in-place operation.")


def _become(tensor: Tensor, array: Value) -> None:
    made = of_array(array)
    tensor._value, tensor.node, tensor._dual = made._value, made.node, made._dual


def _put_dual(tensor: Tensor, index: Index, given: Value) -> None:
    """`put` with tangents."""

    def compute(array: Value) -> Value:
        whole = lift_to_level_of(array.copy(), given)
        whole[index] = given
        return whole

    _write_dual(tensor, compute)


def _enter_transform(tensor: Tensor, value: Value) -> None:
    """Wrap an outer tensor's value for the functional transform that `value` belongs to."""
    base = tensor if tensor._base is None else tensor._base
    _require_examples(base._value, [value])
    require_known(base, value)
    base._entered = True
    if type(base._value) is ndarray:
        entering(base, "_value", value)
    base._value = _lifted(base._value.copy(), value)
    for reference in base._views or ():
        view = reference()
        if view is not None and view._view_fn is not None:
            view._value = view._view_fn(base._value)
            view._entered = True


def _require_examples(array: Value, values: Sequence[Value]) -> None:
    """Raise RuntimeError for a value of a vmap that is written where all examples share one."""
    for value in values:
        if type(value) is not ndarray and _levels_of(value) - _levels_of(array):
            raise RuntimeError(
                "vmap: a value that differs between the examples cannot be written into a tensor "
                "that all of them share: `self` is not vmapped over, `other` is. Please use an "
                "operator that is not in place, or make the tensor of one that is vmapped over: "
                "torch.zeros_like(x), x.new_zeros(3)."
            )


def _levels_of(value: Value) -> set[float]:
    """The vmaps that a value belongs to."""
    found = set()
    while isinstance(value, (Traced, Mapped)):
        if is_mapped(value):
            found.add(level_of(value))
        value = value._value
    return found


def _lifted(array: Value, value: Value) -> Value:
    """An array wrapped for all transforms that a value belongs to, one around the other."""
    made = lift_to_level_of(array, value)
    if is_mapped(made) and is_mapped(value) and made.level == value.level:
        inner = _lifted(made._value, value._value)
        if inner is not made._value:
            made._value = inner
    return made


def _has_room(array: Value, value: Value) -> bool:
    """Whether an array of a vmap is wrapped for all transforms that a value belongs to."""
    if level_of(value) > level_of(array):
        return False
    if is_mapped(array) and is_mapped(value) and array.level == value.level:
        return _has_room(array._value, value._value)
    return True


def _enter_inner(tensor: Tensor, value: Value) -> None:
    """Wrap a tensor of a vmap for other transforms whose value is written to it."""
    if is_mapped(tensor._value) and not _has_room(tensor._value, value):
        _enter_transform(tensor, value)


def overwrite(tensor: Tensor, source: Tensor | Value) -> Tensor:
    """`tensor.copy_(source)`."""
    if is_meta(tensor._value):
        return tensor
    given = source if isinstance(source, Tensor) or in_trace(source) else np.asarray(source)
    shape, room = np.shape(getattr(given, "_value", given)), tensor._value.shape
    if shape != room:
        tracked = tensor.node is not None or getattr(given, "node", None) is not None
        check_writable(tensor, tracked and modes.is_logging(), "CopyBackwards")
        clash = clash_of(room, shape)
        if clash is not None:
            raise clash
        if len(shape) > len(room):
            raise RuntimeError(
                f"output with shape {list(room)} doesn't match the broadcast shape {list(shape)}"
            )
    if isinstance(given, Tensor):
        require_apart(tensor, [given], "CopyBackwards")
    put(tensor, ..., given, "CopyBackwards", shape_first=False)
    return tensor


def require_apart(tensor: Tensor, sources: Sequence[Tensor], label: str) -> None:
    """Raise RuntimeError for a write to memory that a source lies in part of.

    A tensor that may not be written to at all is told first.
    """
    try:
        check_apart(tensor, sources)
    except RuntimeError:
        tracked = any(x.node is not None for x in (tensor, *sources))
        check_writable(tensor, tracked and modes.is_logging(), label)
        raise


def check_writable(tensor: Tensor, tracked: bool, label: str = "") -> None:
    """Raise RuntimeError for a write that PyTorch does not allow."""
    if tensor._inference and not modes.is_inference_mode_enabled():
        raise RuntimeError(
            "Inplace update to inference tensor outside InferenceMode is not allowed.You can make "
            "a clone to get a normal tensor before doing inplace update.See "
            "https://github.com/pytorch/rfcs/pull/17 for more details."
        )
    if modes.is_logging():
        _check_history(tensor, tracked)
    if type(tensor._value) is ndarray and (
        not tensor._value.flags.writeable or (label not in FIXED and _repeats(tensor._value))
    ):
        raise RuntimeError(REPEATED)


def _check_history(tensor: Tensor, tracked: bool) -> None:
    """Raise RuntimeError for a write to a leaf that requires grad, or to a view without a node."""
    base = tensor._base
    if base is None and (tensor.node is LEAF or tensor._is_argument):
        raise RuntimeError(
            "a leaf Variable that requires grad is being used in an in-place operation."
        )
    if base is None:
        return
    if base.node is LEAF or base._is_argument:
        if tensor._creation_meta is not None:
            raise_made(tensor)
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        )
    if tracked and tensor._creation_meta is not None:
        raise_made(tensor)
    if base.node is None and tensor.node is not None:  # only the view requires grad
        raise RuntimeError(
            "a view of a leaf Variable that requires grad is being used in an in-place operation."
        )


def _repeats(value: Value) -> bool:
    """Whether several elements of an array share memory, as after `expand`."""
    if 0 not in value.strides or not value.size:
        return False
    return any(s == 0 and n > 1 for s, n in zip(value.strides, value.shape, strict=True))


def raise_made(tensor: Tensor) -> NoReturn:
    """Raise RuntimeError for a write to a view that has no node of its own."""
    maker = tensor._maker or ()
    if tensor.node is not LEAF:
        maker = tensor.grad_fn, tensor.output_nr
    raise RuntimeError(made_view_text(tensor, "is being modified inplace", *maker))


def _refuse_view(view: Tensor) -> None:
    """Make the derivative of a view that a function made an error, as its base was written to."""
    event = "its base or another view of its base has been modified inplace"
    text = made_view_text(view, event, view.grad_fn, view.output_nr)
    parents = [] if view.node is None else [node_of(view)]
    view.node = error_node(spec_of(view._value), text, parents, refused=True)


def check_result(tensor: Tensor, value: Value) -> None:
    """Raise RuntimeError for a result that does not fit into a tensor's memory."""
    before = tensor._value
    if not can_store(value.dtype, before.dtype):
        raise RuntimeError(
            f"result type {word_of(of_numpy(value.dtype).numpy)} can't be cast to the desired "
            f"output type {word_of(before.dtype)}"
        )
    if value.shape != before.shape:
        raise RuntimeError(
            f"output with shape {list(before.shape)} doesn't match the broadcast shape "
            f"{list(value.shape)}"
        )


# --- Kept values and nodes ----------------------------------------------------------------------


def keep_apart(node: Slot, value: Value, memory: Value, start: int) -> None:
    """Give the nodes of a write copies of the memory that the write will change.

    node: that of the result; it keeps the memory in place of `value`, which is written into it.
    start: a number from before the operation. Copies are made of the tensor itself, and of other
    arguments that lie in its memory.
    """
    rule, out, x, y, x_node, y_node = node._entry
    if out is value and node._number >= start:
        node._entry = rule, memory, x, y, x_node, y_node
    if node._number == start + 1:  # the frequent case: one node was made
        _keep_copies(node, memory)
        return
    seen, stack = {node}, [node]
    while stack:
        node = stack.pop()
        if node._number < start or node._entry is None:
            continue
        _keep_copies(node, memory)
        for parent in parents_of(node._entry):
            if parent is not ABSENT and parent._number >= start and parent not in seen:
                seen.add(parent)
                stack.append(parent)


def _keep_copies(node: Node, memory: Value) -> None:
    rule, out, x, y, x_node, y_node = node._entry
    if y_node is not None:
        node._entry = rule, out, _copied(x, memory), _copied(y, memory), x_node, y_node
    elif type(x_node) is tuple and x:
        kept = tuple([_copied(value, memory) for value in x])
        node._entry = rule, out, kept, y, x_node, y_node


def _copied(value: Value, memory: Value) -> Value:
    """A copy of what lies in the memory of a write; any other value itself."""
    if value is memory:
        return value.copy()
    if type(value) is not ndarray or (value.base is None and memory.base is None):
        return value
    if owner_of(value) is owner_of(memory) and np.may_share_memory(value, memory):
        return value.copy()
    return value


def rebase(tensor: Tensor, node: Slot, spec: Spec | None = None) -> None:
    """Give a tensor a new node; its base and the base's views get new nodes that depend on it.

    spec: the shape and dtype at the new node, if the write broadcast the value to the tensor.
    """
    base = tensor._base
    if base is None:
        if tensor._retains:
            retain_at(tensor, node)
        tensor.node = node
        if tensor._views:
            _refresh_views(tensor)
        return
    base_node = node_of(base)
    if node is None and base_node is None:
        return
    made = fresh_node()
    assert tensor._view_fn is not None
    index = getattr(tensor._view_fn, "index", None)
    slots = (-1 if base_node is None else base_node, -1 if node is None else node)
    specs = (spec_of(base._value), spec_of(tensor._value) if spec is None else spec)
    if index is not None and is_basic(index):
        made._entry = WRITE, None, specs, index, slots, None
    else:
        made._entry = (
            _COPY_SLICES,
            spec_of(base._value),
            specs,
            {"path": tensor._view_fn},
            slots,
            None,
        )
    made.__class__ = COPY_SLICES
    if base._retains:
        retain_at(base, made)
    base.node = made
    _refresh_views(base)


def is_plain(tensor: Tensor) -> bool:
    """Whether a write to a tensor is one to its array, and `count_write` all that follows.

    So it is where the tensor has no history, no views and no transform around it.
    """
    value = tensor._value
    return (
        type(value) is ndarray
        and value.flags.writeable
        and tensor.node is tensor._base is None
        and not tensor._views
        and not tensor._inference
    )


def outdate_views(tensor: Tensor) -> None:
    """After a write that is not logged, give views new nodes: hooks of the old ones do not run.

    As in PyTorch views of a base that was detached get no more gradients to what made it.
    """
    base = tensor if tensor._base is None else tensor._base
    for reference in base._views or ():
        view = reference()
        if view is None or view.node is None or view.node is LEAF:
            continue
        if view._creation_meta is not None:
            _lose_node(view)
        elif base.node is None:
            _renew(view, end_node(spec_of(view._value)))
        else:
            _renew(view, _node_of_view(view, base))


def _lose_node(view: Tensor) -> None:
    """Let a view that has no node of its own any more remember what made it, for messages."""
    if view.node is not None and view.node is not LEAF:
        view._maker = view.grad_fn, view.output_nr
    view.node, view._implied = LEAF, True


def _refresh_views(base: Tensor) -> None:
    """Give the views of a tensor new nodes, from its present node."""
    for reference in base._views or ():
        view = reference()
        if view is None or view._view_fn is None:
            continue
        if base.node is None:
            view.node = None
            continue
        if view._creation_meta == "custom":
            _refuse_view(view)
            continue
        if view._creation_meta is not None:
            _lose_node(view)  # using the view is an error
            continue
        _renew(view, _node_of_view(view, base))


def _renew(view: Tensor, node: Node) -> None:
    """Give a view another node after a write to its base."""
    node.__class__ = AS_STRIDED
    if view._retains:
        retain_at(view, node)
    view.node = node


def _node_of_view(view: Tensor, base: Tensor) -> Node:
    """A new node of a view, which takes its part of the base's gradient."""
    assert view._view_fn is not None
    node = _node_along(view._view_fn, base)
    if node is None:
        node = view._view_fn(array_on_graph(base._value, node_of(base))).slot
    made: Node = node
    return made


def _node_along(path: Callable[[Value], Value], base: Tensor) -> Slot | None:
    """The node of a view at the end of a path, by the entries of its steps; None without these."""
    value, node = base._value, node_of(base)
    if type(value) is not ndarray:
        return None
    for step in path.parts() if type(path) is Steps else (path,):
        entry = getattr(step, "entry", None)
        if entry is None:
            return None
        out, made = step(value), fresh_node()
        try:
            made._entry = entry(value, out, node)
        except RuntimeError as error:  # it has no derivative; only its use is an error
            return error_node(spec_of(out), str(error), [node])
        value, node = out, made
    return node


__all__ = ["overwrite", "rebase", "require_apart", "write"]
