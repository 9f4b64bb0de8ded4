"""Hooks on all modules at once: on their calls, and on what is registered with them.

Knows tables of functions and the handles that remove them. Must not know modules.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, NamedTuple

from tapegrad._core.types import Function
from tapegrad.torch._graph.hooks import Handle, Hooks

# Called before a buffer, a module or a parameter is registered; they may replace it.
BUFFERS, MODULES, PARAMETERS = Hooks(), Hooks(), Hooks()


class CallHook(NamedTuple):
    """A function that is called around the calls of all modules."""

    kind: str  # "forward_pre", "forward", "backward", "full_backward" or "full_backward_pre"
    hook: Function
    with_kwargs: bool = False
    always_call: bool = False


# One table, so that a call without hooks asks one question.
CALLS: OrderedDict[int, CallHook] = OrderedDict()
_LATEST: dict[str, str | None] = {"backward": None}  # the kind of backward hooks in use


def replaced_by_hooks(hooks: Hooks, module: Any, name: str, value: Any) -> Any:
    """Object to be registered, after the hooks on registrations."""
    for hook in list(hooks.values()):
        given = hook(module, name, value)
        if given is not None:
            value = given
    return value


def call_hooks(kind: str) -> list[CallHook]:
    """The hooks of one kind on all modules."""
    return [known for known in CALLS.values() if known.kind == kind]


def _added(kind: str, hook: Function, **options: bool) -> Handle:
    return Handle.adding(CALLS, CallHook(kind, hook, **options))


def register_module_forward_pre_hook(hook: Function) -> Handle:
    """Call `hook(module, args)` before the `forward` of every module.

    It may return other arguments. Hooks of all modules are called before those of one.
    """
    return _added("forward_pre", hook)


def register_module_forward_hook(
    hook: Function, *, with_kwargs: bool = False, always_call: bool = False
) -> Handle:
    """Call `hook(module, args, output)` after the `forward` of every module.

    It may return another output. with_kwargs: as `hook(module, args, kwargs, output)`.
    always_call: also where `forward` raises.
    """
    return _added("forward", hook, with_kwargs=with_kwargs, always_call=always_call)


def _claim(kind: str) -> None:
    if _LATEST["backward"] not in (None, kind):
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module "
            "hook. Please use only one of them."
        )
    _LATEST["backward"] = kind


def register_module_backward_hook(hook: Function) -> Handle:
    """Call `hook(module, grad_input, grad_output)` of the last operation of every module.

    RuntimeError after `register_module_full_backward_hook`, which should be used instead.
    """
    _claim("backward")
    return _added("backward", hook)


def register_module_full_backward_pre_hook(hook: Function) -> Handle:
    """Call `hook(module, grad_output)` before the backward pass of every module."""
    return _added("full_backward_pre", hook)


def register_module_full_backward_hook(hook: Function) -> Handle:
    """Call `hook(module, grad_input, grad_output)` after the backward pass of every module.

    It may return other gradients of the inputs.
    """
    _claim("full_backward")
    return _added("full_backward", hook)


def register_module_buffer_registration_hook(hook: Function) -> Handle:
    """Call `hook(module, name, buffer)` before any buffer is registered; it may return another."""
    return BUFFERS.add(hook)


def register_module_module_registration_hook(hook: Function) -> Handle:
    """Call `hook(module, name, child)` before any child is registered; it may return another."""
    return MODULES.add(hook)


def register_module_parameter_registration_hook(hook: Function) -> Handle:
    """Call `hook(module, name, param)` before any parameter is; it may return another one."""
    return PARAMETERS.add(hook)


__all__ = [
    "BUFFERS",
    "CALLS",
    "MODULES",
    "PARAMETERS",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
