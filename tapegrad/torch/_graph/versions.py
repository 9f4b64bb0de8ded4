"""Versions of memory, with which a backward pass finds kept values that were changed in place.

Knows arrays and the numbers of nodes. Must not know the operations that write, or of tensors more
than their value and version.
"""

from __future__ import annotations

import re
import weakref
from pickle import PickleBuffer
from typing import Any, NoReturn, Protocol

import numpy as np

from tapegrad._core.recorded import OPEN, note_write
from tapegrad._core.types import Value
from tapegrad._core.values import is_plain_array
from tapegrad.torch._dtypes import type_word
from tapegrad.torch._graph import sharing
from tapegrad.torch._graph.modes import current
from tapegrad.torch._graph.node import Node, edge_of
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._graph.sharing import LIVE, spread
from tapegrad.torch._graph.tracing import is_dual

ndarray = np.ndarray
owner_of = sharing.owner_of


class Version:
    """The count of writes to memory, shared by a tensor, its views and its detached tensors."""

    __slots__ = ("count", "times", "writer")

    def __init__(self) -> None:
        self.count = 0
        self.times: list[int] = []  # of the latest writes, in the numbers of nodes
        self.writer: Any = None  # a weak reference to the tensor that was last written to

    def at(self, number: int) -> int:
        """The version at the time when the node with this number was made."""
        return self.count - sum(time > number for time in self.times)


class Versioned(Protocol):
    """Interface of a tensor for this module."""

    _value: Any
    _version_of: Version | None
    _base: Any
    _views: Any
    _view_fn: Any
    _memory: Any


# The versions of arrays that were ever written to in place, by the id of the array that owns the
# memory, with a weak reference to that: another array may have the id later. A backward pass finds
# here whether a kept value has changed.
WRITTEN: dict[int, tuple[weakref.ref[Any], Version]] = {}
MOST = [256]  # how many of them there may be before those of arrays that are gone are forgotten
LATEST = [0]  # the time of the last write to any memory: no later node kept what it changed
REMEMBERED = 256  # how many writes keep their time; after more, messages are less exact


def uncounted(value: Value) -> Value:
    """Another array in the memory of one, with another owner as far as writes are counted."""
    owner = value if value.base is None else owner_of(value)
    try:
        memory: Any = PickleBuffer(owner)
        if owner is value and value.flags.c_contiguous:
            return ndarray(value.shape, value.dtype, memory)
        lent = ndarray(owner.shape, owner.dtype, memory, 0, owner.strides)
        if owner is value:
            return lent
        start = value.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        return ndarray(value.shape, value.dtype, lent, start, value.strides)
    except (TypeError, ValueError, BufferError):  # it has gaps, or a dtype without a buffer
        made = np.asarray(_Lent(value))
        return made if made.dtype == value.dtype else made.view(value.dtype)


class _Lent:
    """An object other than an array, which lends the memory of one."""

    def __init__(self, value: Value) -> None:
        self.value = value
        self.__array_interface__ = value.__array_interface__


def _owner_of(value: Value) -> Any:
    """`owner_of`; of an array whose calls are recorded what stands for its memory."""
    if type(value) is not ndarray:
        return value.memory
    return value if value.base is None else owner_of(value)


def known_version(tensor: Versioned) -> Version | None:
    """The counter of a tensor's writes if there is one: views get that of their base late."""
    version = tensor._version_of
    if version is None and tensor._base is not None:
        version = tensor._base._version_of
        if version is not None:
            tensor._version_of = version
    return version


def version_of(tensor: Versioned) -> Version:
    """The counter of a tensor's writes, which it shares with its views."""
    version = known_version(tensor)
    if version is None:
        version = tensor._version_of = Version()
        if tensor._base is not None:
            tensor._base._version_of = version
    return version


def share_version(tensor: Versioned, other: Versioned) -> None:
    """Let two tensors over the same memory share a version."""
    other._version_of = version_of(tensor)


def count_write(tensor: Versioned) -> None:
    """Count a write to a tensor's memory, after which nodes must not use values kept before."""
    version = tensor._version_of
    if version is None:
        version = version_of(tensor)
    version.count += 1
    LATEST[0] = now = next_number()
    times = version.times
    times.append(now)
    writer = version.writer
    if writer is None or writer() is not tensor:
        version.writer = weakref.ref(tensor)
    if len(times) > REMEMBERED:
        del times[: REMEMBERED // 2]
    value = tensor._value
    if LIVE[0]:
        spread(tensor)
    if OPEN:
        note_write(tensor, value)
    if not is_plain_array(value):
        if not is_dual(value) or type(value._value) is not ndarray:
            return
        value = value._value
    owner = _owner_of(value)
    key = id(owner)
    known = WRITTEN.get(key)
    if known is None or known[1] is not version or known[0]() is not owner:
        if len(WRITTEN) >= MOST[0]:
            _forget_the_gone()
        WRITTEN[key] = weakref.ref(owner), version


def _forget_the_gone() -> None:
    """Forget arrays that no longer exist, when there may be many of them."""
    for key, (owner, _) in list(WRITTEN.items()):
        if owner() is None:
            WRITTEN.pop(key, None)
    MOST[0] = max(256, 2 * len(WRITTEN))


def written_version(value: Value) -> Version | None:
    """The version of the memory of an array, if that was ever written to in place."""
    owner = _owner_of(value)
    known = WRITTEN.get(id(owner))
    return None if known is None or known[0]() is not owner else known[1]


def raise_changed(value: Value, node: Node, version: Version) -> NoReturn:
    """PyTorch's error for a value that a derivative needs and that was changed in place."""
    raise RuntimeError(
        changed_text(
            value, _maker_of(value, node, version), version.count, version.at(node._number)
        )
    )


def changed_text(value: Value, maker: tuple[Node, int] | None, count: int, expected: int) -> str:
    """The message of that error.

    maker: the node that made the tensor, and which of its results it is; None of a leaf. count,
    expected: the versions of the memory now, and when the value was kept.
    """
    which = ""
    if maker is not None:
        which = f", which is output {maker[1]} of {short_name(maker[0])},"
    hint = (
        "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True, check_nan=False)."
    )
    if current().anomaly is not None:
        hint = (
            "the backtrace further above shows the operation that failed to compute its gradient. "
            "The variable in question was changed in there or anywhere later. Good luck!"
        )
    return (
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [{type_word(value.dtype)} {list(value.shape)}]{which} is at version {count}; "
        f"expected version {expected} instead. Hint: {hint}"
    )


def _maker_of(value: Value, node: Node, version: Version) -> tuple[Node, int] | None:
    """The node that made a kept value: of the result that keeps it, or of an argument.

    An argument that was written to has a node of that write. It is looked for among the tensors
    that share the memory.
    """
    _, out, x, y, x_node, y_node = node._entry
    if value is out:
        return node, 0
    if isinstance(out, tuple):
        for position, part in enumerate(out):
            if part is value:
                return node, position
    tensor = None if version.writer is None else version.writer()
    if tensor is not None:
        base = tensor if tensor._base is None else tensor._base
        for other in (tensor, base, *(view() for view in base._views or ())):
            if other is not None and other._value is value:
                found: Any = other.grad_fn
                return None if found is None else (found, other.output_nr)
    parents: tuple[tuple[Value, Any], ...] = ()
    if y_node is not None:
        parents = ((x, x_node), (y, y_node))
    elif type(x_node) is tuple:
        parents = tuple(zip(x, x_node, strict=False))
    for kept, parent in parents:
        if kept is value:
            maker, position = edge_of(parent)
            return None if maker is None or maker._entry is None else (maker, position)
    return None


def short_name(node: Node) -> str:
    """`Mul` for a node MulBackward0, as messages of changed views and values name it."""
    return re.sub(r"Backward\d*$", "", node.name())


def made_view_text(view: Any, event: str, node: Node | None = None, position: int = 0) -> str:
    """The message for a view that has no node of its own, where it or its base was written to.

    event: what was written to. node, position: what made the view, if it has a node.
    """
    kind = view._creation_meta
    if node is None or kind in ("inference", "no_grad"):
        mode = "inference mode" if kind == "inference" else "no_grad mode"
        text = f"A view was created in {mode} and {event}"
        if node is not None:
            place = f"Output {position} of {short_name(node)} is a view of a view which was"
            text = f"{place} created in {mode} and {event}"
        text += " in normal mode" if kind == "inference" else " with grad mode enabled"
    else:
        text = f"Output {position} of {short_name(node)} is a view and {event}"
    if kind == "several":
        return (
            f"{text}. This view is the output of a function that returns multiple views. Such "
            "functions do not allow the output views to be modified inplace. You should replace "
            "the inplace operation by an out-of-place one."
        )
    if kind == "custom":
        return f"{text}. {CUSTOM}"
    block = "inference_mode" if kind == "inference" else "no_grad"
    return (
        f"{text}. Given that this use case is ambiguous and error-prone, it is forbidden. You can "
        "clarify your code by moving both the view and the inplace either both inside the "
        f"{block} block (if you don't want the inplace to be tracked) or both outside (if you "
        "want the inplace to be tracked)."
    )


CUSTOM = (
    "This view was created inside a custom Function (or because an input was returned as-is) and "
    "the autograd logic to handle view+inplace would override the custom backward associated with "
    "the custom Function, leading to incorrect gradients. This behavior is forbidden. You can fix "
    "this by cloning the output of the custom Function."
)
