"""`torch.autograd.graph`: edges and nodes of the graph, and hooks for saved tensors.

Knows nodes, their entries and the modes. Must not know operations.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, Self
from weakref import WeakKeyDictionary

import numpy as np

from tapegrad._block import Block, contextmanager, setting, undoing
from tapegrad._core.entry import Outputs
from tapegrad._core.types import Slot, Value
from tapegrad.torch._engine.backward_pass import PASS, BackwardPass
from tapegrad.torch._engine.saved_names import PLACES
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

    tensor: One that requires grad.
    -> GradientEdge: The node, and the number of its result.
    RuntimeError: For a tensor that does not require grad.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> edge = torch.autograd.graph.get_gradient_edge(x)
    >>> torch.autograd.grad(x**2, edge)
    (tensor(4.),)
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
        self.packed, self.hooks = packed, hooks

    def unpacked(self) -> Any:
        """The array, unpacked by the hook."""
        return self.hooks.unpack(self.packed)


class _Unpacking:
    """The `_packed` of a node whose entry holds packed arrays: it unpacks them."""

    __slots__ = ("order", "paired")

    def __init__(self, order: Sequence[int], paired: bool) -> None:
        self.order, self.paired = order, paired

    def unpacked(self, out: Value, x: Value, y: Value) -> tuple[Any, ...]:
        """The result and the arguments that an entry kept, in the order of packing."""
        if not self.paired and type(x) is not tuple:
            return _unpacked(out), _unpacked(x), y
        args = (x, y) if self.paired else x
        made = {place: _unpacked(args[place]) for place in self.order}
        args = tuple([made[place] for place in range(len(args))])
        out = _unpacked(out)
        return (out, *args) if self.paired else (out, args, y)


def _unpacked(part: Value) -> Value:
    if type(part) is _Packed:
        return part.unpacked()
    if isinstance(part, Outputs):
        made = Outputs(map(_unpacked, part))
        made.slots = part.slots
        return made
    return tuple(map(_unpacked, part)) if type(part) is tuple else part


def order_of(node: Node, count: int) -> list[int]:
    """The arguments of a node in the order in which PyTorch saves them: that of their names."""
    places = PLACES.get(type(node).__name__, {})
    named = [places[word] for word in sorted(places) if 0 <= places[word] < count]
    return list(dict.fromkeys([*named, *range(count)]))


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
        version = version_of(tensor)
        count = version.count
        before = _modes.MODE.get()
        try:
            _modes.change(grad=False, saved=())
            made = self.pack_hook(tensor)
        finally:
            _modes.MODE.set(before)
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
        order: Sequence[int]
        if y_node is not None:
            order = order_of(node, 2)
            (x, y), out = self._packed_parts(node, order, out, (x, y), (x_node, y_node))
            made = rule, out, x, y, x_node, y_node
        elif type(x_node) is tuple and hasattr(rule, "pull"):
            order = order_of(node, len(x))
            x, out = self._packed_parts(node, order, out, x, x_node)
            made = rule, out, x, y, x_node, y_node
        else:
            return
        node._entry = made
        node._packed = _Unpacking(order, y_node is not None)
        watch(node)

    def _packed_parts(
        self,
        node: Node,
        order: Sequence[int],
        out: Value,
        args: Sequence[Value],
        nodes: Sequence[Slot],
    ) -> tuple[tuple[Value, ...], Value]:
        """The arguments in an order, and then the result, packed."""
        made = {place: self._packed(args[place], nodes[place]) for place in order}
        if isinstance(out, Outputs):
            parts = Outputs(map(self._packed, out, out.slots))
            parts.slots = out.slots
        else:
            parts = self._packed(out, node)
        return tuple([made[place] for place in range(len(args))]), parts

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

    pack_hook (callable): Takes a tensor that is saved, and returns anything; it must not write to
        the tensor.
    unpack_hook (callable): Takes what `pack_hook` returned, when a backward pass needs it, and
        returns a tensor of the same values.
    RuntimeError: Where it is entered within `disable_saved_tensors_hooks`.
    TypeError: Where it is entered and a hook is not callable.
    See also save_on_cpu: Hooks that copy, or write into files.

    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> with torch.autograd.graph.saved_tensors_hooks(lambda t: t.item(), torch.tensor):
    ...     y = x.exp()
    >>> torch.autograd.grad(y, x)
    (tensor(7.3891),)
    """

    def __init__(
        self, pack_hook: Callable[[Tensor], Any], unpack_hook: Callable[[Any], Tensor]
    ) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def _change(self) -> None:
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
        self.changes: dict[str, Any] = {"saved": (*_modes.current().saved, pair)}
        super()._change()

    def clone(self) -> _modes.Manager:
        """Another manager of the same hooks.

        -> saved_tensors_hooks: Entered once; each call of a decorated function enters one of its
            own.
        """
        return saved_tensors_hooks(self.pack_hook, self.unpack_hook)


class save_on_cpu(saved_tensors_hooks):
    """Context manager that keeps saved tensors on the CPU, as copies. There is no other device.

    pin_memory: Ignored.
    device_type: Ignored.
    directory (path): Our own addition: keep them in files there instead, each deleted with the
        part of the graph that needs it.
    compressed: Compress the files with zlib, which makes them smaller and slower.
    ValueError: If `compressed` is True without a `directory`.
    OSError: Where a file cannot be written.

    >>> import tempfile
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with torch.autograd.graph.save_on_cpu(directory=folder):
    ...         y = x.exp()
    ...     torch.autograd.grad(y, x)
    (tensor(7.3891),)
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
            super().__init__(lambda x: of_value(x._value.copy()), lambda x: x)
        else:
            disk = Disk(directory, compressed)
            super().__init__(disk.pack, disk.unpack)

    def clone(self) -> _modes.Manager:
        """Another manager of the same kind.

        -> Manager: Entered once; each call of a decorated function enters one of its own.
        """
        return save_on_cpu(**self.options)  # type: ignore[arg-type]


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Context manager in which tensors that a backward pass needs may be changed in place.

    What is saved is a copy, taken at once; the backward pass has to run within the block. It gives
    an object whose `clear()` frees the copies.

    RuntimeError: Where it is entered within another.
    AssertionError: In a backward pass after the block, or after `clear()`.

    >>> x = torch.ones(2, requires_grad=True)
    >>> with torch.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x.exp()
    ...     z = y.sin()
    ...     unused = y.zero_()
    ...     torch.autograd.grad(z.sum(), x)
    (tensor([-2.4784, -2.4784]),)
    """

    def __init__(self) -> None:
        self.clones: Clones = Clones()
        super().__init__(self.clones.pack, self.clones.unpack)

    def _opened(self) -> Generator[Any]:
        if ALLOWED.get():
            raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
        changed = contextmanager(super()._opened)
        try:
            with changed(), setting(ALLOWED, True):
                yield self.clones
        finally:
            self.clones.open = False
            self.clones.clear()

    def clone(self) -> _modes.Manager:
        """Another manager of the same kind.

        -> Manager: Entered once; each call of a decorated function enters one of its own.
        """
        return allow_mutation_on_saved_tensors()


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Count a write to one or several tensors, as if they had been changed in place.

    tensor (Tensor or iterable of Tensor): The tensors; of those made in inference mode, which have
        no versions, nothing is counted.
    RuntimeError: For anything else.

    >>> x = torch.ones(2)
    >>> torch.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    try:
        tensors = (tensor,) if isinstance(tensor, Tensor) else tuple(tensor)
    except TypeError:
        raise RuntimeError("increment_version expect a Iterable[Tensor] as input") from None
    if not all(isinstance(part, Tensor) for part in tensors):
        raise RuntimeError("increment_version expects each element of the iterable to be a tensor")
    for part in tensors:
        if not part._inference:
            count_write(part)


@contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Context manager in which hooks for saved tensors are an error.

    error_message: The message of the error.
    Yields (None): Nothing.
    RuntimeError: If hooks are on already; where they are entered within the block.

    >>> with torch.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     with torch.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
        ...
    RuntimeError: not here
    """
    if _modes.current().saved:
        raise RuntimeError(error_message)
    with setting(DISABLED, error_message):
        yield


# --- Several gradients at once ------------------------------------------------------------------


class MultiHandle(Block[Any]):
    """Handle from `register_multi_grad_hook`: `remove()` takes the hook away."""

    def __init__(self, handles: Sequence[Handle]) -> None:
        self.handles: tuple[Handle, ...] = tuple(handles)

    def remove(self) -> None:
        """Take the hook away."""
        for handle in self.handles:
            handle.remove()

    def _opened(self) -> Generator[Self]:
        with undoing(self.remove):
            yield self


class _Gathering:
    """Collects the gradients of several tensors, separately for each backward pass."""

    def __init__(self, tensors: Sequence[Tensor], fn: Callable[[Any], Any], mode: str) -> None:
        self.nodes = [node_of(tensor) for tensor in tensors]
        self.fn, self.mode = fn, mode
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
    """Call a function when the gradients of several tensors are known.

    tensors (sequence of Tensor): The tensors, which require grad.
    fn (callable): In mode "all" it takes a list of the gradients, None for those that a backward
        pass does not compute; in mode "any" the first one.
    mode ({"all", "any"}): Whether it is called when all are known, or with the first.
    -> MultiHandle: Its `remove()` takes the hook away; it is a context manager that does so at its
        end.
    ValueError: For another mode.

    >>> x, y = torch.tensor([2.0, 3.0], requires_grad=True).unbind()
    >>> handle = torch.autograd.graph.register_multi_grad_hook((x, y), print)
    >>> (x * y).backward()
    [tensor(3.), tensor(2.)]
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
__dir__ = __all__.copy
