"""Calls of a module: `forward` with the hooks around it.

Knows which hooks there are, and in which order they run. Must not know what a module holds, nor
how gradients reach the hooks on backward passes (`_hooks`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, Protocol, TypeVar, overload

from tapegrad._core.types import Function
from tapegrad._warning import warn
from tapegrad.torch._graph.hooks import Handle
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.module.attributes import Tables
from tapegrad.torch.nn.module.global_hooks import CALLS, call_hooks
from tapegrad.torch.nn.module.hooks import BackwardWatch, hook_last_node

if TYPE_CHECKING:
    Parameters = ParamSpec("Parameters")
    Result_co = TypeVar("Result_co", covariant=True)

    class _HasForward(Protocol[Parameters, Result_co]):
        @property
        def forward(self) -> Callable[Parameters, Result_co]: ...

    class _TypedCall:
        """The call of a module: it takes what its `forward` takes, and returns what that does."""

        @overload
        def __get__(self, module: None, kind: type) -> Callable[..., Any]: ...
        @overload
        def __get__(
            self, module: _HasForward[Parameters, Result_co], kind: type
        ) -> Callable[Parameters, Result_co]: ...
        def __get__(self, module: Any, kind: type) -> Any: ...
        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...


MIXED = (
    "Cannot use both regular backward hooks and full backward hooks on a single Module. Please "
    "use only one of them."
)


class Calls(Tables):
    """The calls of a module, and the registration of hooks on them."""

    _forward_hooks: OrderedDict[int, Any]
    _forward_hooks_with_kwargs: OrderedDict[int, bool]
    _forward_hooks_always_called: OrderedDict[int, bool]
    _forward_pre_hooks: OrderedDict[int, Any]
    _forward_pre_hooks_with_kwargs: OrderedDict[int, bool]
    _backward_hooks: OrderedDict[int, Any]
    _backward_pre_hooks: OrderedDict[int, Any]
    _is_full_backward_hook: bool | None

    def _forward_unimplemented(self, *input: Any) -> Any:
        """Computation of the module; a subclass defines it.

        *input: What the module is called with.
        -> object: What it computes.
        NotImplementedError: Where the class does not define it.
        """
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    forward: Callable[..., Any] = _forward_unimplemented

    def _call_impl(self, *args: Any, **kwargs: Any) -> Any:
        own = self.__dict__
        try:
            hooked = (
                own["_forward_hooks"]
                or own["_forward_pre_hooks"]
                or own["_backward_hooks"]
                or own["_backward_pre_hooks"]
                or CALLS
            )
        except KeyError as missing:
            raise AttributeError(
                f"'{type(self).__name__}' object has no attribute {missing}"
            ) from None
        if not hooked:
            return self.forward(*args, **kwargs)
        return _Call(self, args, kwargs).run()

    if TYPE_CHECKING:
        __call__: _TypedCall = _TypedCall()
    else:
        __call__ = _call_impl

    def register_forward_pre_hook(
        self, hook: Function, *, prepend: bool = False, with_kwargs: bool = False
    ) -> Handle:
        """Call `hook(module, args)` before `forward`.

        hook: What is called; it may return other arguments.
        with_kwargs: Call `hook(module, args, kwargs)`, which may return both.
        """
        flags = (self._forward_pre_hooks_with_kwargs, with_kwargs)
        return Handle.adding(self._forward_pre_hooks, hook, flags, prepend=prepend)

    def register_forward_hook(
        self,
        hook: Function,
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> Handle:
        """Call `hook(module, args, output)` after `forward`.

        hook: What is called; it may return another output.
        with_kwargs: Call `hook(module, args, kwargs, output)`.
        always_call: Call it also where `forward` raises, with None for the output.
        """
        return Handle.adding(
            self._forward_hooks,
            hook,
            (self._forward_hooks_with_kwargs, with_kwargs),
            (self._forward_hooks_always_called, always_call),
            prepend=prepend,
        )

    def register_full_backward_hook(self, hook: Function, prepend: bool = False) -> Handle:
        """Call `hook(module, grad_input, grad_output)` when the gradients of the inputs are known.

        RuntimeError: Where the module has a hook of `register_backward_hook`.
        """
        if self._is_full_backward_hook is False:
            raise RuntimeError(MIXED)
        self._is_full_backward_hook = True
        return Handle.adding(self._backward_hooks, hook, prepend=prepend)

    def register_backward_hook(self, hook: Function) -> Handle:
        """Call `hook(module, grad_input, grad_output)` of the operation that made the output.

        PyTorch's older form: use `register_full_backward_hook`.

        RuntimeError: Where the module has a hook of `register_full_backward_hook`.
        """
        if self._is_full_backward_hook is True:
            raise RuntimeError(MIXED)
        self._is_full_backward_hook = False
        return Handle.adding(self._backward_hooks, hook)

    def register_full_backward_pre_hook(self, hook: Function, prepend: bool = False) -> Handle:
        """Call `hook(module, grad_output)` when the gradients of the outputs are known.

        hook: What is called; it may return other gradients of the outputs.
        """
        return Handle.adding(self._backward_pre_hooks, hook, prepend=prepend)

    def _backward_hooks_of(self, full: bool) -> list[Function]:
        """The hooks on backward passes through this module, first those of all modules."""
        found = [known.hook for known in call_hooks("full_backward" if full else "backward")]
        if self._is_full_backward_hook is full:
            found += self._backward_hooks.values()
        return found


class _Call:
    """One call of a module that has hooks."""

    def __init__(self, module: Calls, args: Any, kwargs: Any) -> None:
        self.module = module
        self.args = args
        self.kwargs = kwargs
        self.result: Any = None
        self.called: set[int] = set()  # the hooks to be called in any case that have been

    def run(self) -> Any:
        try:
            return self._run()
        except Exception:
            self._call_the_rest()
            raise

    def _run(self) -> Any:
        module = self.module
        full, last = module._backward_hooks_of(True), module._backward_hooks_of(False)
        before = [known.hook for known in call_hooks("full_backward_pre")]
        before += module._backward_pre_hooks.values()
        self._before_forward()
        watch = BackwardWatch(module, full, before) if full or before else None
        if watch is not None:
            self.args = watch.around_inputs(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for _, key, hook, with_kwargs, always in self._after_hooks():
            if always:
                self.called.add(key)
            self._call_after(hook, with_kwargs)
        if watch is not None:
            if not isinstance(self.result, (Tensor, tuple)):
                warn(
                    "For backward hooks to be called, module output should be a Tensor or a tuple "
                    f"of Tensors but received {type(self.result)}"
                )
            self.result = watch.around_outputs(self.result)
        if last:
            hook_last_node(module, last, self.args, self.result)
        return self.result

    def _before_forward(self) -> None:
        module, flags = self.module, self.module._forward_pre_hooks_with_kwargs
        hooks = [(known.hook, False) for known in call_hooks("forward_pre")]
        hooks += [(hook, key in flags) for key, hook in module._forward_pre_hooks.items()]
        for hook, with_kwargs in hooks:
            given = hook(module, self.args, *((self.kwargs,) if with_kwargs else ()))
            if given is None:
                continue
            if not with_kwargs:
                self.args = given if isinstance(given, tuple) else (given,)
            elif isinstance(given, tuple) and len(given) == 2:
                self.args, self.kwargs = given
            else:
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple of (new_args, new_kwargs), but "
                    f"got {given}."
                )

    def _after_hooks(self) -> list[tuple[str, int, Function, bool, bool]]:
        """The hooks after `forward`: whose they are, their key, themselves and their options."""
        module = self.module
        words, always = module._forward_hooks_with_kwargs, module._forward_hooks_always_called
        found = [
            ("global module", key, known.hook, known.with_kwargs, known.always_call)
            for key, known in CALLS.items()
            if known.kind == "forward"
        ]
        return found + [
            ("module", key, hook, key in words, key in always)
            for key, hook in module._forward_hooks.items()
        ]

    def _call_after(self, hook: Function, with_kwargs: bool) -> None:
        given = hook(self.module, self.args, *((self.kwargs,) if with_kwargs else ()), self.result)
        if given is not None:
            self.result = given

    def _call_the_rest(self) -> None:
        """Call the hooks that are called although something raised; their errors only warn."""
        for whose, key, hook, with_kwargs, always in self._after_hooks():
            if always and key not in self.called:
                try:
                    self._call_after(hook, with_kwargs)
                except Exception as error:  # noqa: BLE001 - the first error is raised
                    warn(
                        f"{whose} forward hook with ``always_call=True`` raised an exception that "
                        f"was silenced as another error was raised in forward: {error}"
                    )


__all__ = ["Calls"]
