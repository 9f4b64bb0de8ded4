"""`Tensor`: a value, and the node of the graph that it came from.

Knows a tensor's place in the graph (leaf, node) and that it may be a view. Must not know how
writes are counted, or which operations exist; the modules of operations give Tensor its methods.

`value` is a NumPy array; within a functional transform it is one of the core's traced arrays.
`node` is None for a constant, LEAF for a leaf that requires grad, else the node of the operation.
Attributes that few tensors have are in their `__dict__`, with defaults in the class.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad._core.entry import PROJECT, spec_of
from tapegrad._core.recorded import held
from tapegrad._core.tape import RUNNING, Tape
from tapegrad._core.types import Index, Slot, Tangent, Tree, Value
from tapegrad._core.values import Traced, is_mapped, is_plain_number, untraced
from tapegrad._warning import warn
from tapegrad.torch._dtypes import CPU, Size, device, dtype, of_numpy, strided, word_of
from tapegrad.torch._graph import modes
from tapegrad.torch._graph.error_node import Error, error_node
from tapegrad.torch._graph.hooks import Handle, Hooks
from tapegrad.torch._graph.node import (
    AccumulateGrad,
    Node,
    array_on_graph,
    edge_of,
    is_on_graph,
    new,
    node_class,
    note_watched,
    title,
    watch,
)
from tapegrad.torch._graph.order import next_number
from tapegrad.torch._graph.sharing import Memory, share_always
from tapegrad.torch._graph.tracing import (
    PLAIN,
    cell_of,
    is_above,
    is_differentiated,
    is_dual,
    tangent_of,
    transforms_of,
    unlogged,
)
from tapegrad.torch._graph.versions import (
    Version,
    known_version,
    made_view_text,
    share_version,
    uncounted,
)
from tapegrad.torch._tensor.meta import META, MetaArray

LEAF: Any = object()  # the node of a leaf that requires grad
ndarray = np.ndarray


class Tensor:
    """A multi-dimensional array that can be differentiated: `torch.Tensor`.

    Made by `torch.tensor` and the other creation functions. `requires_grad=True` makes it a leaf
    whose `grad` a backward pass fills. Elements are floats of 32 bits unless said otherwise.

    *args (object): Sizes, for a tensor that is not initialised, or a sequence of data, as of
        floats: an older form of `torch.empty` and `torch.tensor`.
    **kwargs (object): `device`, the CPU.

    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> (x**2).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """

    __slots__ = ("__dict__", "__weakref__", "_value", "node")

    _value: Any
    node: Any

    _grad: Tensor | None = None
    _version_of: Version | None = None
    _base: Tensor | None = None  # the tensor that this one is a view of
    _view_fn: Callable[[Any], Any] | None = None  # computes this one's value from that of its base
    _creation_meta: str | None = None  # how a view was made: "no_grad", "inference", "several"
    _attr_version: int = 0  # the version of its memory for which such a view's node is valid
    _views: list[weakref.ref[Tensor]] | None = None
    _is_hooked: bool = False  # whether a leaf, or its node, was given hooks
    _hooks: Hooks | None = None  # the hooks of a leaf; those of other tensors are at their node
    _after: Hooks | None = None  # called after a leaf's gradient was accumulated
    _retains: bool = False
    _accumulator: weakref.ref[AccumulateGrad] | None = None
    _hooked_node: weakref.ref[AccumulateGrad] | None = None  # the same, once that has hooks itself
    _implied: bool = False  # whether it is a view that requires grad as its base does: no leaf
    _inference: bool = False
    _of_call: bool = False  # whether a recorded call was given it, in the place of another
    _is_argument: bool = False  # of a function that a transform differentiates in reverse mode
    _memory: Memory | None = None  # that it shares with detached tensors, in a trace
    _entered: bool = False  # whether a plain value was replaced by one in a trace, in a write
    _maker: Any = None  # the node of such a view, and its place, before its memory was written to
    _primal: Tensor | None = None  # the tensors of which make_dual made this one
    _tangent: Tensor | None = None
    _dual: Any = None  # the tangent on the graph, of a tensor of a level of forward_ad
    name: str | None = None

    if TYPE_CHECKING:  # the modules of operations add these

        def __new__(cls, *args: Any, **kwargs: Any) -> Any: ...
        def backward(
            self,
            gradient: Tensor | None = None,
            retain_graph: bool | None = None,
            create_graph: bool = False,
            inputs: Tree = None,
            *,
            retain_variables: bool | None = None,
        ) -> None: ...
        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: Tensor | Value) -> Any: ...

        __radd__ = __iadd__ = __sub__ = __rsub__ = __isub__ = __mul__ = __rmul__ = __add__
        __imul__ = __truediv__ = __rtruediv__ = __itruediv__ = __floordiv__ = __add__
        __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __ipow__ = __matmul__ = __add__
        __rmatmul__ = __and__ = __or__ = __xor__ = __lt__ = __le__ = __gt__ = __ge__ = __add__

        def __neg__(self) -> Any: ...

        __pos__ = __abs__ = __invert__ = __iter__ = __neg__

        def __len__(self) -> int: ...
        def __getitem__(self, index: Index) -> Any: ...
        def __setitem__(self, index: Index, value: Tensor | Value) -> None: ...

    __array_priority__ = 1000

    def __hash__(self) -> int:
        return id(self)

    # -- shape and dtype -------------------------------------------------------------------------

    @property
    def shape(self) -> Size:
        """The sizes of the dimensions."""
        return tuple.__new__(Size, self._value.shape)

    @property
    def dtype(self) -> dtype:
        """The type of the elements."""
        return of_numpy(self._value.dtype)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._value.shape)

    @property
    def device(self) -> device:
        """The CPU; "meta" where there is no data."""
        return CPU if type(self._value) is not MetaArray else META

    @property
    def is_meta(self) -> bool:
        """Whether there is no data, but a shape and a dtype alone."""
        return type(self._value) is MetaArray

    @property
    def layout(self) -> Any:
        """`torch.strided`: each element has its place in memory."""
        return strided

    @property
    def itemsize(self) -> int:
        """Bytes of one element."""
        return int(self._value.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        return self.itemsize * self.numel()

    def size(self, dim: int | None = None) -> Any:
        """The shape, or its length along one dimension.

        dim: The dimension, counted from either end.
        -> Size or int: The shape, or the length of the dimension.
        """
        if dim is None:
            return self.shape
        try:
            return self._value.shape[dim]
        except IndexError:
            if not self.ndim:
                raise IndexError(
                    f"Dimension specified as {dim} but tensor has no dimensions"
                ) from None
            last = self.ndim
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-last}, {last - 1}], but "
                f"got {dim})"
            ) from None

    def numel(self) -> int:
        """The number of elements.

        -> int: Their number.
        """
        return self.shape.numel()

    nelement = numel

    def dim(self) -> int:
        """The number of dimensions.

        -> int: Their number.
        """
        return len(self._value.shape)

    ndimension = dim

    def element_size(self) -> int:
        """Bytes of one element.

        -> int: The number of bytes.
        """
        return self.itemsize

    def is_floating_point(self) -> bool:
        """Whether the elements are real floats.

        -> bool: Whether it is so.
        """
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the elements are complex.

        -> bool: Whether it is so.
        """
        return self.dtype.is_complex

    # -- its place in the graph ------------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether operations on this tensor are logged, so that they can be differentiated."""
        return self.node is not None

    @requires_grad.setter
    def requires_grad(self, value: bool) -> None:
        if type(value) is not bool:
            raise RuntimeError("requires_grad must be a bool")
        if value and self.node is None and self._value.dtype.kind not in "fcV":
            raise RuntimeError(
                "only Tensors of floating point and complex dtype can require gradients"
            )
        self.requires_grad_(value)

    @requires_grad.deleter
    def requires_grad(self) -> None:
        raise RuntimeError("requires_grad must be a bool")

    def requires_grad_(self, requires_grad: bool = True) -> Tensor:
        """Set whether a leaf requires grad.

        requires_grad: Whether backward passes are to fill its `grad`.
        -> Tensor: This tensor itself.
        RuntimeError: If it is to become False for a tensor that was computed, or True for one of
            integers.

        >>> torch.ones(2).requires_grad_()
        tensor([1., 1.], requires_grad=True)
        """
        if type(requires_grad) is not bool:
            raise TypeError(
                "requires_grad_(): argument 'requires_grad' (position 1) must be bool, not "
                f"{type(requires_grad).__name__}"
            )
        if self.node is not None and self.node is not LEAF:
            if not requires_grad:
                raise RuntimeError(
                    "you can only change requires_grad flags of leaf variables. If you want to "
                    "use a computed variable in a subgraph that doesn't require differentiation "
                    "use var_no_grad = var.detach()."
                )
            return self
        if requires_grad:
            require_floating(self._value.dtype)
            if is_differentiated(self._value, forward=True):
                raise RuntimeError(
                    "You are attempting to call Tensor.requires_grad_() inside of a function that "
                    "is being transformed by torch.func, on a tensor that it differentiates by. "
                    "Use torch.func transforms within, or call .detach() first."
                )
            if self._inference and not modes.is_inference_mode_enabled():
                raise RuntimeError(
                    "Setting requires_grad=True on inference tensor outside InferenceMode is not "
                    "allowed."
                )
        base = self._base
        if not requires_grad and base is not None and base.node is not None:
            self._implied = True
            return self
        if self._implied:
            self._implied = False
        self.node = LEAF if requires_grad else None
        for reference in self._views or ():
            view = reference()
            if view is not None and requires_grad and view.node is None:
                view.node, view._implied = LEAF, True
        return self

    @property
    def is_leaf(self) -> bool:
        """Whether no logged operation made this tensor."""
        if self.node is LEAF and self._creation_meta is not None:
            require_current(self)
        return self.node is None or self.node is LEAF

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that made this tensor; None of leaves."""
        node = self.node
        if node is None or node is LEAF:
            if node is LEAF and self._creation_meta is not None:
                require_current(self)
            return None
        entry = node._entry
        if entry is not None and entry[0] is PROJECT:
            node = entry[4]
        if type(node) is Error and node.refused is not None:
            raise RuntimeError(node.refused)
        found: Node = node
        return found

    @property
    def output_nr(self) -> int:
        """Which of the results of its operation this tensor is."""
        node = self.node
        if node is None or node is LEAF or node._entry is None or node._entry[0] is not PROJECT:
            return 0
        return int(node._entry[2])

    @property
    def grad(self) -> Tensor | None:
        """The gradient that backward passes have added up; None before the first."""
        if self._grad is None and not self.is_leaf and not self._retains:
            warn(
                "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. "
                "Its .grad attribute won't be populated during autograd.backward(). If you indeed "
                "want the .grad field to be populated for a non-leaf Tensor, use .retain_grad() "
                "on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure "
                "you access the leaf Tensor instead."
            )
        return self._grad

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is None:
            del self.grad
            return
        if not isinstance(value, Tensor):
            raise TypeError(
                f"assigned grad expected to be a Tensor or None but got grad of type "
                f"{type(value).__name__}"
            )
        if value is self:
            raise RuntimeError("can't assign Variable as its own grad")
        if value._value.shape != self._value.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value._value.shape)}' to a "
                f"tensor of size '{list(self._value.shape)}'. Please ensure that the gradient and "
                "the tensor are the same size"
            )
        if value._value.dtype != self._value.dtype:
            raise RuntimeError(
                f"attempting to assign a gradient with dtype '{_plain_word(value._value.dtype)}' "
                f"to a tensor with grad_dtype '{word_of(self._value.dtype)}'. The gradient must "
                "match the tensor's grad_dtype (defaults to the tensor's dtype)."
            )
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        if self._grad is not None:
            del self._grad

    @property
    def retains_grad(self) -> bool:
        """Whether backward passes fill `grad` although this tensor is no leaf."""
        return self._retains

    def retain_grad(self) -> None:
        """Let backward passes fill `grad` of this tensor although it is not a leaf.

        -> None: Nothing changes for a leaf.
        RuntimeError: If this tensor does not require grad.
        """
        if self.node is None:
            raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
        if self.node is LEAF or self._retains:
            return
        self._retains = True
        retain_at(self, self.node)

    def detach(self) -> Tensor:
        """A tensor over the same memory without history; the two share their version.

        -> Tensor: It does not require grad, and writes to one of the two change the other.

        >>> x = torch.ones(2, requires_grad=True)
        >>> (x * 2).detach()
        tensor([2., 2.])
        """
        made = of_value(plain_of(self))
        share_version(self, made)
        share_always(self, made)
        if self._inference is not made._inference:
            made._inference = self._inference
        return made

    def detach_(self) -> Tensor:
        """Cut this tensor from the graph that made it: it becomes a leaf without grad.

        -> Tensor: This tensor itself.
        RuntimeError: If it is a view.
        """
        if modes.is_inference_mode_enabled():
            return self  # as in PyTorch, where no graph is seen then
        if self._base is not None:
            raise RuntimeError(
                "Can't detach views in-place. Use detach() instead. If you are using "
                "DistributedDataParallel (DDP) for training, and gradient_as_bucket_view is set "
                "as True, gradients are views of DDP buckets, and hence detach_() cannot be "
                "called on these gradients. To fix this error, please refer to the "
                "Optimizer.zero_grad() function in torch/optim/optimizer.py as the solution."
            )
        self.node = None
        if is_dual(self._value):
            self._value, self._dual, self._tangent = self._value._value, None, None
        elif type(self._value) is not ndarray:
            self._value = plain_of(self)  # removes the tracing of functional transforms, too
        self.__dict__.pop("_retains", None)
        for reference in self._views or ():
            view = reference()
            if view is not None and view.node is LEAF and view._creation_meta is not None:
                view.node = None  # its node came from this tensor
        return self

    @property
    def data(self) -> Tensor:
        """A tensor over the same memory without history; writes to it are not counted.

        A backward pass does not notice them, and may give wrong gradients: use `detach()`.
        """
        value = self._value
        if type(value) is ndarray and not RUNNING:
            made: Tensor = new(Tensor)
            made._value, made.node = uncounted(value), None
        elif is_mapped(value):
            raise RuntimeError(
                "accessing `data` of a tensor of a vmap, one for each example, is not allowed. "
                "Use detach()."
            )
        else:
            if transforms_of(value) > 1:
                raise RuntimeError(
                    "accessing `data` within nested functional transforms, or of a value that "
                    "also depends on a tensor that requires grad: PyTorch's cuts the innermost "
                    "transform alone, which is not possible here. Use detach(), which cuts all."
                )
            made = of_value(plain_of(self))
        share_always(self, made)
        if self._inference is not made._inference:
            made._inference = self._inference
        return made

    @data.setter
    def data(self, value: Tensor) -> None:
        if not isinstance(value, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(value).__name__}")
        if self.node is not None and value._value.dtype.kind not in "fcV":
            raise RuntimeError(
                "data set to a tensor that requires gradients must be floating point or complex "
                "dtype"
            )
        if transforms_of(self._value) or transforms_of(value._value):
            raise RuntimeError(
                "mutating directly with `.data` inside functorch transform is not allowed."
            )
        if self.node is not LEAF:
            self.node = node_at(self, value._value.shape)
        self._value = plain_of(value)
        if self._inference is not value._inference:
            self._inference = value._inference

    @data.deleter
    def data(self) -> None:
        raise RuntimeError("Deleting tensor data is not allowed. Delete tensor instead!")

    @property
    def _version(self) -> int:
        if self._inference:
            raise RuntimeError("Inference tensors do not track version counter.")
        version = known_version(self)
        return 0 if version is None else version.count

    def _is_view(self) -> bool:
        return self._base is not None and not self._inference

    def _accumulator_is(self, node: Slot) -> bool:
        return self._accumulator is not None and self._accumulator() is node

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode.

        -> bool: Whether it is so.
        """
        return self._inference

    # -- hooks -----------------------------------------------------------------------------------

    def register_hook(self, hook: Callable[[Tensor], Any]) -> Handle:
        """Call `hook(grad)` when the gradient of this tensor is computed; the hook may replace it.

        hook (callable): Takes the gradient, and returns None or another of the same shape.
        -> Handle: Its method `remove` takes the hook away.
        RuntimeError: If this tensor does not require grad.

        >>> x = torch.tensor(3.0, requires_grad=True)
        >>> handle = x.register_hook(lambda grad: 10 * grad)
        >>> x.square().backward()
        >>> x.grad
        tensor(60.)
        """
        if self.node is None:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        holder: Any = self if self.node is LEAF else self.node
        name = "_hooks"
        hooks: Hooks | None = getattr(holder, name)
        if hooks is None:
            hooks = Hooks()
            setattr(holder, name, hooks)
            if holder is self:
                self._is_hooked = True
                note_watched()
            else:
                watch(holder)
        return hooks.add(hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> Handle:
        """Call `hook(tensor)` after a leaf's gradient has been added to its `grad`.

        hook (callable): The function to call, with the leaf.
        -> Handle: Its `remove()` removes the hook.
        """
        if self.node is not LEAF:
            raise RuntimeError(
                "cannot register a hook on a tensor that doesn't require gradient"
                if self.node is None
                else "post accumulate grad hooks cannot be registered on non-leaf tensors"
            )
        if self._after is None:
            self._after = Hooks()
            self._is_hooked = True
            note_watched()
        return self._after.add(hook)


def require_floating(given: np.dtype[Any]) -> None:
    """Raise RuntimeError for a dtype that cannot require grad."""
    if given.kind not in "fcV":
        raise RuntimeError("only Tensors of floating point dtype can require gradients")


# --- Making -------------------------------------------------------------------------------------


def of_value(value: Value, node: Slot = None) -> Tensor:
    """A tensor over an array, without a copy."""
    made: Tensor = new(Tensor)
    made._value = value if type(value) is ndarray else _with_memory(value)
    made.node = node
    mode = modes.MODE.get()
    if mode is not None and mode.inference:
        made._inference = True
    return made


def _with_memory(value: Value) -> Value:
    """A scalar as a 0-d array, which can be written to; any other value unchanged."""
    return np.asarray(value) if is_plain_number(value) else held(value)


def of_array(array: Value) -> Tensor:
    """A tensor for the result of a rule or a function: on the graph if the graph traces it."""
    if is_above(array):
        made = of_array(array._value)
        made._dual = tangent_of(array)
        return made
    if is_on_graph(array):
        slot = array.slot
        return of_value(array._value, None if isinstance(slot, int) else slot)
    return of_value(array)


def array_of(tensor: Tensor) -> Value:
    """The array of a tensor: a traced one if operations on it have to be logged."""
    if type(tensor._value) is not ndarray:
        if is_dual(tensor._value):
            return _array_of_dual(tensor)
        _leave_transforms(tensor)
        mode = modes.MODE.get()
        if mode is not None and (not mode.grad or mode.floor):
            return unlogged(tensor._value, mode.floor if mode.grad else np.inf)
    return array_below(tensor)


def _leave_transforms(tensor: Tensor) -> None:
    """After the transform that a value belongs to has returned, make it a constant.

    Not where the value was written into another one: it may be a tensor from outside.
    """
    value = tensor._value
    if tensor._entered:
        return
    while isinstance(value, Traced) and isinstance(value.tape, Tape) and not _is_open(value.tape):
        value = value._value
    if value is not tensor._value:
        tensor._value = _with_memory(value)


def _is_open(tape: Tape | None) -> bool:
    """Whether a transform has not returned, or one around it that it shares the tape with."""
    return tape is not None and (not tape.is_closed() or _is_open(tape.parent))


def array_below(tensor: Tensor) -> Value:
    """`array_of` without the tangent on the graph, as backward passes use it."""
    node = tensor.node
    if node is None:
        return tensor._value
    mode = modes.MODE.get()
    if mode is not None and (not mode.grad or mode.inference or mode.floor):
        return tensor._value
    if tensor._inference:
        raise RuntimeError(
            "Inference tensors cannot be saved for backward. Please do not use Tensors created in "
            "inference mode in computation tracked by autograd. To work around this, you can make "
            "a clone to get a normal tensor and use it in autograd, or use `torch.no_grad()` "
            "instead of `torch.inference_mode()`."
        )
    return array_on_graph(tensor._value, accumulator_of(tensor) if node is LEAF else node)


def _array_of_dual(tensor: Tensor) -> Value:
    """`array_of` of a dual tensor: an array of the tape above, if tangents go on the graph."""
    above = settled(tensor)
    inner = array_below(tensor)
    if above is None or tensor._dual is PLAIN or not modes.is_logging():
        return inner
    return above.wrap(inner, cell_of(tangent_on_graph(tensor)))


def tangent_on_graph(tensor: Tensor) -> Tangent:
    """The tangent of a dual tensor, as an array on the graph if possible.

    The tangent of a gradient is not on the graph. A backward pass through it is an error, so that
    it does not count as a constant.
    """
    tangent = tensor._dual
    if tangent is None or tangent is PLAIN:
        tangent = tangent_of(tensor._value)
        if tensor._dual is None and tensor.node is not None and tangent is not None:
            node = error_node(spec_of(tangent), THIRD, [node_of(tensor)])
            return array_on_graph(of_value(tangent)._value, node)
    return tangent


THIRD = (
    "forward_ad: the tangent of a gradient made with create_graph=True cannot be differentiated "
    "by a backward pass. Use torch.func.jvp of torch.func.grad for derivatives of a higher order."
)


def settled(tensor: Tensor) -> Any:
    """The tape above the graph of a dual tensor, or None. After its level it is dual no more."""
    if not is_dual(tensor._value):
        return None
    above = tensor._value.tape.above
    if above is None:
        tensor._value = tensor._value._value
        tensor.__dict__.pop("_dual", None)
    return above


def plain_of(tensor: Tensor) -> Value:
    """The value of a tensor without history; a batched value stays batched."""
    value = tensor._value
    if type(value) is ndarray:
        return value
    value = untraced(value)
    if is_mapped(value):
        inner = value._value
        without = plain_of(of_value(inner))
        return value if without is inner else value.vmap_level.wrap(without)
    return value


def node_of(tensor: Tensor) -> Slot:
    """The node that gets the gradient of a tensor, or None."""
    return accumulator_of(tensor) if tensor.node is LEAF else tensor.node


def node_at(tensor: Tensor, shape: tuple[int, ...]) -> Slot:
    """The node of a tensor that gets another shape without a derivative.

    As in PyTorch its gradient is summed to the shape of the node; where it does not fit, a
    backward pass is an error.
    """
    node, value = tensor.node, tensor._value
    if shape == value.shape or type(value) is not ndarray or not isinstance(node, Node):
        return node
    kind = node_class(title(edge_of(node)[0] or node))
    made: Any
    try:
        broadcast: Any = np.broadcast_to(array_on_graph(value, node), shape)
        made = broadcast.slot
    except ValueError:
        text = (
            f"A function of the result of {kind.__name__} returned an invalid gradient at index 0 "
            f"- got {list(shape)} but expected shape compatible with {list(value.shape)}: the "
            "shape of that tensor was changed without history, under no_grad or by `data`."
        )
        made = error_node(spec_of(value).family[shape], text, [node])
    made.__class__ = kind
    return made


def retain_at(tensor: Tensor, node: Slot) -> None:
    """Let a tensor with retain_grad() get the gradient of this node instead of an earlier one."""
    old = tensor.node
    if isinstance(old, Node) and old._retained:
        old._retained = tuple(kept for kept in old._retained if kept() is not tensor)
    if node is not None:
        node._retained = (*node._retained, weakref.ref(tensor))
        watch(node)


def accumulator_of(leaf: Tensor) -> AccumulateGrad:
    """The node that accumulates the gradient of a leaf; it lives as long as a graph needs it."""
    if leaf._creation_meta is not None:
        require_current(leaf)
    known = leaf._accumulator
    node = None if known is None or leaf._implied else known()
    if node is None:
        node = new(AccumulateGrad)
        node._number = next_number()
        node._entry = None
        node.variable = leaf
        if leaf._implied:  # PyTorch has no node for it: what arrives here is dropped
            node.variable = of_value(leaf._value)
            return node
        leaf._accumulator = weakref.ref(node)
    return node


def require_current(view: Tensor) -> None:
    """Raise RuntimeError for a view without its own node whose memory was written to since."""
    version = known_version(view)
    if version is None or version.count == view._attr_version:
        return
    base = view._base
    if view.node is LEAF and not view._implied and base is not None and base.node is None:
        return  # it requires grad by itself, and its base does not
    event = "its base or another view of its base has been modified inplace"
    raise RuntimeError(made_view_text(view, event, *(view._maker or ())))


def _plain_word(given: np.dtype[Any]) -> str:
    """`double` for float64: the word of C."""
    word = word_of(given)
    return {"ComplexFloat": "c10::complex<float>", "ComplexDouble": "c10::complex<double>"}.get(
        word, word.lower()
    )


__all__ = ["LEAF", "Tensor", "array_of", "node_of", "of_array", "of_value"]
