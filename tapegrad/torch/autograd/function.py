"""`torch.autograd.Function`: operations whose derivative the user writes.

Knows how such calls are made. Must not know operations, or how backward passes run.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from tapegrad._core.entry import parents_of, spec_of
from tapegrad._transforms.tracebacks import fold
from tapegrad._warning import warn
from tapegrad.torch._engine.function_call import Backward, VmapInfo, call
from tapegrad.torch._engine.saved import TWICE, Saved, check_saveable
from tapegrad.torch._graph import modes as _modes
from tapegrad.torch._graph.error_node import error_node
from tapegrad.torch._graph.node import FunctionNode
from tapegrad.torch._tensor.tensor import Tensor, node_of, of_value


class FunctionCtx:
    """Context `ctx` of the methods of a Function.

    Attribute needs_input_grad (tuple of bool): Which arguments of the forward need a gradient.

    >>> class Power(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x, exponent):
    ...         ctx.save_for_backward(x)
    ...         ctx.exponent = exponent
    ...         return x**exponent
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return ctx.exponent * x ** (ctx.exponent - 1) * grad_output, None
    >>> x = torch.tensor(2.0, requires_grad=True)
    >>> torch.autograd.grad(Power.apply(x, 3), x)
    (tensor(12.),)
    """

    # Defaults; what is set on a context is in its __dict__.
    to_save: tuple[Any, ...] = ()
    needs_input_grad: tuple[bool, ...]
    _fills: bool = True
    _saved: tuple[Saved | None, ...] = ()
    _saved_forward: tuple[Any, ...] = ()
    _dirty: tuple[Any, ...] = ()
    _constant: tuple[Any, ...] = ()
    _places: tuple[int, ...] = ()
    _freed: bool = False
    _transformed: bool = False

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for the backward, where `saved_tensors` gives them.

        Inputs and outputs that are saved so are freed with the graph, and checked for changes in
        place.

        *tensors (Tensor or None): What is kept. Keep anything else as an attribute of ctx: for it
            the call of the Function raises TypeError.
        """
        self.to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for the `jvp`, where `saved_tensors` gives them.

        *tensors (Tensor or None): What is kept.
        TypeError: For anything else.
        """
        check_saveable(tensors, "save_for_forward")
        self._saved_forward = tensors

    def mark_dirty(self, *args: Tensor) -> None:
        """Say which inputs the forward has written to; it must return them.

        *args: The inputs.
        RuntimeError: For what is no tensor.
        """
        _check_tensors("mark_dirty can only accept variables, but argument {} is of type {}", args)
        self._dirty = args

    def mark_non_differentiable(self, *args: Tensor) -> None:
        """Say which outputs have no derivative: they do not require grad.

        *args: The outputs.
        RuntimeError: For what is no tensor.
        """
        _check_tensors(
            "mark_non_differentiable only accepts variable arguments, but got {1} at {0}", args
        )
        self._constant = args

    def set_materialize_grads(self, value: bool) -> None:
        """Set whether the backward gets zeros or None where there is no gradient.

        value: True for zeros, as at first.
        """
        self._fills = bool(value)

    @property
    def saved_tensors(self) -> tuple[Tensor, ...]:
        """Saved tensors. RuntimeError where they were freed, or changed in place since."""
        if self._freed:
            raise RuntimeError(TWICE)
        if not self._saved:
            return self.to_save
        owner: Any = self
        parts: Any = [None if kept is None else kept.unpacked(owner) for kept in self._saved]
        return tuple(parts)  # None where that was saved

    @property
    def saved_variables(self) -> tuple[Tensor, ...]:
        """The old name of `saved_tensors`."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors


def _check_tensors(text: str, args: tuple[object, ...]) -> None:
    """Raise RuntimeError for an argument that is no tensor."""
    for position, arg in enumerate(args):
        if not isinstance(arg, Tensor):
            said = text.format(position, type(arg).__name__)
            raise RuntimeError(said)


class BackwardCFunction(FunctionNode, FunctionCtx):
    """The node of a call of a Function; each Function has a subclass named after it.

    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         return 2 * grad_output
    >>> y = Double.apply(torch.tensor(1.0, requires_grad=True))
    >>> y.grad_fn.name(), isinstance(y.grad_fn, torch.autograd.function.BackwardCFunction)
    ('DoubleBackward', True)
    """

    __slots__ = ()

    _forward_cls: Any

    def _rule_for(self) -> Any:
        """The user's backward as a rule."""
        return Backward(self)

    def _release(self) -> None:
        """Forget the saved tensors, after a backward pass has used them up."""
        self.__dict__.pop("_saved", None)
        self._freed = True

    def _run(self, *gradients: Tensor | None) -> Any:
        return backward_of(self._forward_cls)(self, *gradients)

    def apply(self, *gradients: Tensor | None) -> Any:
        """Call the Function's backward by hand.

        *gradients (Tensor or None): The gradient of each output.
        -> Tensor or None or tuple of them: What the backward returns.
        """
        return self._run(*gradients)


def backward_of(function: type[Any]) -> Callable[..., Any]:
    """The method of a Function that is its backward."""
    backward: Callable[..., Any] = function.backward
    vjp: Callable[..., Any] = function.vjp
    if vjp is Function.vjp:
        return backward
    if backward is not Function.backward:
        raise RuntimeError(
            "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You "
            "should only implement one of them."
        )
    return vjp


class FunctionMeta(type):
    """Gives each Function the class of its nodes.

    name: The name of the Function.
    bases (tuple of type): Its bases.
    members (dict): What its body defines.

    >>> isinstance(torch.autograd.Function, torch.autograd.function.FunctionMeta)
    True
    """

    _backward_cls: type[BackwardCFunction]

    def __init__(cls, name: str, bases: tuple[type, ...], members: dict[str, Any]) -> None:
        super().__init__(name, bases, members)
        space = {"__slots__": (), "_forward_cls": cls, "__module__": cls.__module__}
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), space)


class Function(metaclass=FunctionMeta):
    """Base class of operations with a user-defined derivative; `apply` calls them.

    A subclass has the static methods `forward(ctx, *args)`, or `forward(*args)` and
    `setup_context(ctx, inputs, output)`; `backward(ctx, *grad_outputs)` (or `vjp`), which returns
    a gradient or None for each argument of the forward; optionally `jvp(ctx, *grad_inputs)` and
    `vmap(info, in_dims, *args)`. Second derivatives are those of the operations in the backward.

    *args, **kwargs: Ignored: a Function is not meant to have instances.
    DeprecationWarning: If an instance is made.
    Attribute generate_vmap_rule (bool): Let `vmap` run the forward on the batch, rather than a
        static method `vmap`; False at first.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     def backward(ctx, grad_output):
    ...         (x,) = ctx.saved_tensors
    ...         return 2 * x * grad_output
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> torch.autograd.grad(Square.apply(x), x)
    (tensor(6.),)
    """

    generate_vmap_rule = False
    _known: tuple[Any, inspect.Signature, int] | None = None  # of the forward that ran last

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Raise RuntimeError: `apply` calls a Function."""
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """The operation, on tensors; run without logging.

        *args: The context, unless there is a `setup_context`, and the arguments of `apply`.
        **kwargs: None in practice: `apply` gives arguments by position.
        -> Tensor or tuple: The outputs.
        NotImplementedError: If the subclass has none.
        """
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep for the backward what it needs, where the forward gets no ctx.

        ctx (FunctionCtx): What keeps it.
        inputs (tuple): The arguments of the forward.
        output (Tensor or tuple): What it returned.
        """
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the arguments, from those of the outputs.

        *grad_outputs (Tensor or None): The gradient of each output.
        -> Tensor or None or tuple of them: One for each argument of the forward.
        NotImplementedError: If the subclass has neither this nor `vjp`.
        """
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs, from those of the arguments.

        *grad_inputs (Tensor or None): The tangent of each argument.
        -> Tensor or tuple of Tensor: One for each output.
        NotImplementedError: If the subclass has none.
        """
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """The operation on batched tensors.

        info (VmapInfo): The size of the batch and how random numbers are drawn.
        in_dims (tuple): The dimension of each argument along which the batch lies; None for one
            that is shared.
        *args: The arguments.
        -> tuple: The outputs, and the dimensions along which their batch lies.
        NotImplementedError: If the subclass has none and `generate_vmap_rule` is False.
        """
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap static method "
            "or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the operation, logged as one node.

        *args: The arguments of the forward; tensors among them can be differentiated by.
        **kwargs: Arguments by name.
        -> Tensor or tuple: What the forward returned, on the graph.
        """
        try:
            if kwargs or cls._has_setup():
                args = cls._bound(args, kwargs)
            return call(cls, args)
        except BaseException as error:
            fold(error)
            raise

    @classmethod
    def _bound(cls, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of a forward by position, defaults filled in."""
        forward = cls.forward
        known = cls._known
        if known is None or known[0] is not forward:
            known = cls._known = _signature_of(forward)
        _, signature, count = known
        if len(args) == count and not kwargs:
            return args  # each has its place
        if cls._has_setup():
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return bound.args
        bound = signature.bind(None, *args, **kwargs)
        bound.apply_defaults()
        return bound.args[1:]

    @classmethod
    def _has_setup(cls) -> bool:
        return cls.setup_context is not Function.setup_context

    @classmethod
    def _has_backward(cls) -> bool:
        return cls.backward is not Function.backward or cls.vjp is not Function.vjp

    @classmethod
    def _has_jvp(cls) -> bool:
        return cls.jvp is not Function.jvp

    @classmethod
    def _has_vmap(cls) -> bool:
        has = cls.vmap is not Function.vmap
        if has and cls.generate_vmap_rule:
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True "
                "and an overriden vmap staticmethod. Please set generate_vmap_rule=False or "
                "delete the overriden vmap staticmethod to avoid ambiguity."
            )
        return has


def _signature_of(forward: Callable[..., Any]) -> tuple[Any, inspect.Signature, int]:
    """A forward, its signature, and how many arguments by position fill it; -1 if that varies."""
    signature = inspect.signature(forward)
    kinds = {parameter.kind for parameter in signature.parameters.values()}
    plain = kinds <= {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    return forward, signature, len(signature.parameters) if plain else -1


class InplaceFunction(Function):
    """A Function that may be told to work in place: `self.inplace`.

    inplace: The attribute of an instance; `Function` says why not to make any.
    DeprecationWarning: If an instance is made.

    >>> issubclass(torch.autograd.function.InplaceFunction, torch.autograd.Function)
    True
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace


def once_differentiable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a backward that must not be differentiated itself: its derivative is an error.

    function (callable): The backward.
    -> callable: One whose results raise RuntimeError when a backward pass goes through them; if no
        gradient that it is given requires grad, they are constants.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...
    ...     @staticmethod
    ...     @torch.autograd.function.once_differentiable
    ...     def backward(ctx, grad_output):
    ...         return 2 * ctx.saved_tensors[0] * grad_output
    >>> x = torch.tensor(3.0, requires_grad=True)
    >>> v = torch.tensor(1.0, requires_grad=True)
    >>> (slope,) = torch.autograd.grad(Square.apply(x), x, v, create_graph=True)
    >>> torch.autograd.grad(slope, x)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    RuntimeError: trying to differentiate twice a function that was marked with @once...
    """

    @functools.wraps(function)
    def within(ctx: Any, *args: Any) -> Any:
        with _modes.no_grad():
            outputs = function(ctx, *args)
        if not _modes.is_grad_enabled():
            return outputs
        parents = [node_of(arg) for arg in args if isinstance(arg, Tensor) and arg.requires_grad]
        if not parents:
            return outputs
        if ctx._entry is not None:
            parents += [parent for parent in parents_of(ctx._entry) if parent != -1]
        text = "trying to differentiate twice a function that was marked with @once_differentiable"
        several = outputs if isinstance(outputs, tuple) else (outputs,)
        made = tuple(
            of_value(y._value, error_node(spec_of(y._value), text, parents))
            if isinstance(y, Tensor)
            else y
            for y in several
        )
        return made if isinstance(outputs, tuple) else made[0]

    return within


__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "VmapInfo",
    "once_differentiable",
]
