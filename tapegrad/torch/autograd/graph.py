"""`torch.autograd.graph`: edges and nodes of the graph, and hooks for saved tensors.

Knows nodes, their entries and the modes. Must not know operations.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np

from tapegrad._core.entry import Outputs
from tapegrad._core.types import Slot, Value
from tapegrad.torch._engine.backward_pass import PASS, BackwardPass
from tapegrad.torch._graph import modes as _modes
from tapegrad.torch._graph.hooks import Handle
from tapegrad.torch._graph.node import (
    AccumulateGrad,
    FunctionNode,
    GradientEdge,
    Node,
    edge_of,
    watch,
)
from tapegrad.torch._graph.versions import count_write, version_of
from tapegrad.torch._tensor.tensor import LEAF, Tensor, node_of, of_value
from tapegrad.torch.autograd._picture import make_dot
from tapegrad.torch.autograd._saving import Clones, Disk
from tapegrad.torch.autograd._tape import tape

# Whether allow_mutation_on_saved_tensors is on in this thread.
ALLOWED: ContextVar[bool] = ContextVar("tapegrad_torch_mutation", default=False)

# The error message where hooks for saved tensors are disabled in this thread, else None.
DISABLED: ContextVar[str | None] = ContextVar("tapegrad_torch_no_saved_hooks", default=None)


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """The destination of a tensor's gradient; `backward` and `grad` accept it for the tensor.

    RuntimeError for a tensor that does not require grad.
    """
    node = node_of(tensor)
    if node is None:
        raise RuntimeError(
            "It is not possible to get the gradient edge for a Tensor that does not require "
            "gradients"
        )
    found, number = edge_of(node)
    assert found is not None
    token = tensor if tensor.node is LEAF else of_value(tensor._value, tensor.node)
    return GradientEdge(found, number, token)


# --- Saved tensors ------------------------------------------------------------------------------


class _Packed:
    """Replaces an array in an entry: its shape and dtype, and what a hook packed it into."""

    __slots__ = ("dtype", "hooks", "ndim", "packed", "shape", "size")

    def __init__(self, value: Value, packed: Any, hooks: HookPair) -> None:
        self.shape, self.dtype = value.shape, value.dtype
        self.ndim, self.size = value.ndim, value.size
        self.packed = packed
        self.hooks = hooks

    def unpacked(self) -> Any:
        """The array, unpacked by the hook."""
        return self.hooks.unpack(self.packed)


class _Unpacking:
    """The `_packed` of a node whose entry holds packed arrays: it unpacks them."""

    @staticmethod
    def unpacked(*parts: Any) -> tuple[Any, ...]:
        """The result and the arguments that an entry kept."""
        return tuple(_unpacked(part) for part in parts)


def _unpacked(part: Value) -> Value:
    if type(part) is _Packed:
        return part.unpacked()
    if isinstance(part, Outputs):
        made = Outputs(map(_unpacked, part))
        made.slots = part.slots
        return made
    return tuple(map(_unpacked, part)) if type(part) is tuple else part


class HookPair:
    """A pair of functions that pack and unpack what nodes keep."""

    __slots__ = ("pack_hook", "unpack_hook")

    def __init__(self, pack: Callable[[Tensor], Any], unpack: Callable[[Any], Tensor]) -> None:
        self.pack_hook = pack
        self.unpack_hook = unpack

    def unpack(self, packed: Any) -> Value:
        """Unpack what `pack_tensor` returned; the array of the resulting tensor."""
        made = self.unpack_hook(packed)
        if not isinstance(made, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                f"type {type(made).__name__}"
            )
        return made._value

    def pack_tensor(self, tensor: Tensor) -> Any:
        """Pack a tensor; RuntimeError if the hook writes to it."""
        before = _modes.change(grad=False, saved=())
        version = version_of(tensor)
        count = version.count
        try:
            made = self.pack_hook(tensor)
        finally:
            _modes.restore(before)
        if version.count != count:
            raise RuntimeError(
                "A saved tensor pack hook is modifying its input in place. Tensors provided as "
                "input to pack hook cannot be modified by in-place operations as this can lead to "
                "unexpected side-effects. Please open an issue if you need to perform in-place "
                "operations on the input to a pack hook."
            )
        return made

    def pack(self, node: Node) -> None:
        """Pack the arrays that a node keeps."""
        entry = node._entry
        if entry is None or isinstance(node, FunctionNode) or node._packed is not None:
            return
        rule, out, x, y, x_node, y_node = entry
        if getattr(rule, "singular", None) is not None:
            return  # `is_singular` reads its result
        if y_node is not None:
            made = (
                rule,
                self._packed(out, node),
                self._packed(x, x_node),
                self._packed(y, y_node),
                x_node,
                y_node,
            )
        elif type(x_node) is tuple and hasattr(rule, "pull"):
            if isinstance(out, Outputs):
                parts = Outputs(map(self._packed, out, out.slots))
                parts.slots = out.slots
                out = parts
            else:
                out = self._packed(out, node)
            made = rule, out, tuple(map(self._packed, x, x_node)), y, x_node, y_node
        else:
            return
        node._entry = made
        node._packed = _Unpacking
        watch(node)

    def _packed(self, value: Value, node: Slot) -> Value:
        if type(value) is not np.ndarray:
            return value
        if isinstance(node, AccumulateGrad) and node.variable._value is value:
            tensor = node.variable
        else:
            tensor = of_value(value, None if node == -1 else node)
        return _Packed(value, self.pack_tensor(tensor), self)


class saved_tensors_hooks(_modes.Manager):
    """Context manager in which `pack_hook` packs the tensors that are saved for backward passes.

    When a backward pass needs such a tensor, `unpack_hook` turns the result of `pack_hook` into a
    tensor of the same values.
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        super().__init__()
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self) -> Self:
        reason = DISABLED.get()
        if reason is not None:
            raise RuntimeError(reason)
        for hook in (self.pack_hook, self.unpack_hook):
            if not callable(hook):
                raise TypeError(
                    "saved_tensors_hooks: the hooks must be callable, but one is of type "
                    f"{type(hook).__name__}"
                )
        pair = HookPair(self.pack_hook, self.unpack_hook)
        self.changes = {"saved": (*_modes.current().saved, pair)}
        return super().__enter__()

    def clone(self) -> _modes.Manager:
        """Another manager of the same hooks."""
        return saved_tensors_hooks(self.pack_hook, self.unpack_hook)


class save_on_cpu(saved_tensors_hooks):
    """Context manager that keeps saved tensors on the CPU, as copies. There is no other device.

    directory (our own addition): keep them in files there instead, each deleted with the part of
    the graph that needs it. compressed: with zlib, which is smaller and slower.
    """

    def __init__(
        self,
        pin_memory: bool = False,
        device_type: str = "cuda",
        *,
        directory: str | os.PathLike[str] | None = None,
        compressed: bool = False,
    ) -> None:
        if compressed and directory is None:
            raise ValueError("save_on_cpu: compressed=True needs a directory")
        self.options = {"directory": directory, "compressed": compressed}
        if directory is None:
            super().__init__(_copy_of, _itself)
        else:
            disk = Disk(directory, compressed)
            super().__init__(disk.pack, disk.unpack)

    def clone(self) -> _modes.Manager:
        """Another manager of the same kind."""
        return save_on_cpu(**self.options)  # type: ignore[arg-type]


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Context manager in which tensors that a backward pass needs may be changed in place.

    What is saved is a copy, taken at once; the backward pass has to run within the block. It gives
    an object whose `clear()` frees the copies.
    """

    def __init__(self) -> None:
        self.clones = Clones()
        super().__init__(self.clones.pack, self.clones.unpack)

    def __enter__(self) -> Any:
        if ALLOWED.get():
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        super().__enter__()
        self.token = ALLOWED.set(True)
        return self.clones

    def __exit__(self, *error: object) -> None:
        ALLOWED.reset(self.token)
        super().__exit__(*error)
        self.clones.open = False
        self.clones.clear()

    def clone(self) -> _modes.Manager:
        """Another manager of the same kind."""
        return allow_mutation_on_saved_tensors()


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write to one or several tensors, as if they had been changed in place."""
    try:
        tensors = (tensor,) if isinstance(tensor, Tensor) else tuple(tensor)
    except TypeError:
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input") from None
    if not all(isinstance(part, Tensor) for part in tensors):
        raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
    for part in tensors:
        if not part._inference:
            count_write(part)


def _copy_of(tensor: Tensor) -> Tensor:
    return of_value(tensor._value.copy())


def _itself(tensor: Tensor) -> Tensor:
    return tensor


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Context manager in which hooks for saved tensors are an error, with this message."""
    if _modes.current().saved:
        raise RuntimeError(error_message)
    token = DISABLED.set(error_message)
    try:
        yield
    finally:
        DISABLED.reset(token)


# --- Several gradients at once ------------------------------------------------------------------


class MultiHandle:
    """What `register_multi_grad_hook` returns: `remove()` takes the hook away."""

    def __init__(self, handles: Sequence[Handle]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        """Take the hook away."""
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


class _Gathering:
    """Collects the gradients of several tensors, separately for each backward pass."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[[Any], Any], mode: str) -> None:
        self.nodes = [node_of(tensor) for tensor in tensors]
        self.fn = fn
        self.mode = mode
        self.lock = threading.Lock()
        self.found: WeakKeyDictionary[BackwardPass, dict[int, Any]] = WeakKeyDictionary()

    def hook_at(self, position: int) -> Callable[[Any], None]:
        """The hook of one of the tensors."""

        def hook(gradient: Tensor) -> None:
            work = PASS.get()
            if work is None:
                return
            with self.lock:
                found = self.found.setdefault(work, {})
                found[position] = gradient
                count = len(found)
            if self.mode == "any":
                if count == 1:
                    self.fn(gradient)
            elif count == sum(work.reaches(node) for node in self.nodes):
                self.fn([found.get(place) for place in range(len(self.nodes))])

        return hook


def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[[Any], Any], *, mode: str = "all"
) -> MultiHandle:
    """Call `fn` when the gradients of several tensors are known.

    mode "all": with a sequence of them, None for what a backward pass does not compute. mode
    "any": with the first one. Returns a handle with `remove()`.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    gathering = _Gathering(tensors, fn, mode)
    return MultiHandle(
        [tensor.register_hook(gathering.hook_at(i)) for i, tensor in enumerate(tensors)]
    )


__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "make_dot",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
    "tape",
]


def __dir__() -> list[str]:
    return __all__
