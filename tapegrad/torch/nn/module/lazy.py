"""`LazyModuleMixin`: a module that learns the shapes of its parameters from its first input.

Knows hooks on calls and on states. Must not know any particular layer.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, ClassVar

from tapegrad.torch._graph.hooks import Handle
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.parameter import is_lazy


class LazyModuleMixin(Module):
    """The base, before that of the layer, of modules with parameters without a shape.

    A subclass defines `initialize_parameters`, which is called with the arguments of the first
    call and has to `materialize` all of them. Thereafter the module is of the class
    `cls_to_become`, if there is one. A state may be saved before and after that, and loaded into a
    module before and after that: loading gives shapes, too.

    *args: Those of the next class.
    **kwargs: Those of the next class, by name.

    >>> class Scale(torch.nn.modules.lazy.LazyModuleMixin, torch.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = torch.nn.UninitializedParameter()
    ...     def initialize_parameters(self, x):
    ...         self.weight.materialize((x.shape[-1],))
    ...         torch.nn.init.ones_(self.weight)
    ...     def forward(self, x):
    ...         return x * self.weight
    >>> Scale()(torch.tensor([1.0, 2.0])).shape
    torch.Size([2])
    """

    cls_to_become: ClassVar[type[Module] | None] = None
    _load_hook: Handle
    _initialize_hook: Handle

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(self._lazy_load_hook)
        self._initialize_hook = self.register_forward_pre_hook(
            self._infer_parameters, with_kwargs=True
        )

    def _held(self) -> Iterator[tuple[str, Any]]:
        return itertools.chain(self._parameters.items(), self._buffers.items())

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, value in self._own_state().items():
            kept = keep_vars or is_lazy(value)
            destination[prefix + name] = value if kept else value.detach()

    def _lazy_load_hook(self, state_dict: Any, prefix: str, *_: Any) -> None:
        """Give what has no shape yet that of the value which is to be loaded."""
        for name, value in self._held():
            given = state_dict.get(prefix + name)
            if is_lazy(value) and given is not None and not is_lazy(given):
                with no_grad():
                    value.materialize(given.shape)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Give all parameters shapes and first values, for the arguments of a call.

        *args: The arguments.
        **kwargs: Those by name.
        NotImplementedError: Where a subclass does not define it.
        """
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self) -> bool:
        """Whether a parameter or a buffer has no shape yet.

        -> bool: Whether one is there.
        """
        return any(is_lazy(value) for _, value in self._held())

    def _infer_parameters(self, module: Any, args: Any, kwargs: Any = None) -> None:
        """The hook before the first call."""
        module.initialize_parameters(*args, **(kwargs or {}))
        if module.has_uninitialized_params():
            raise RuntimeError(f"module {self._get_name()} has not been fully initialized")
        for name in ("_initialize_hook", "_load_hook"):
            getattr(module, name).remove()
            delattr(module, name)
        if module.cls_to_become is not None:
            module.__class__ = module.cls_to_become


__all__ = ["LazyModuleMixin"]
