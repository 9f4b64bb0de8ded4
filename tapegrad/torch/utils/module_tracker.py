"""Which modules run: `ModuleTracker` knows their names in forward and in backward passes.

Knows the hooks of modules and of tensors. Must not know what is done with the names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self
from weakref import WeakKeyDictionary

from tapegrad.torch._engine.backward_pass import PASS, queue_callback
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.autograd.graph import register_multi_grad_hook
from tapegrad.torch.nn.module.global_hooks import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from tapegrad.torch.utils._pytree import tree_leaves


class ModuleTracker:
    """Context manager that knows which modules run, or run backward, by their names.

    The outermost module is named by its class, one within it by its attribute: `Sequential.0`.
    A module runs backward from the gradients of its results to those of its arguments.

    Attribute parents (set): The names of the modules that run now, and `Global`.

    >>> import tapegrad.torch as torch
    >>> names = []
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    >>> with torch.utils.module_tracker.ModuleTracker() as tracker:
    ...     look = lambda *_: names.append(sorted(tracker.parents))
    ...     _ = model[0].register_forward_pre_hook(look)
    ...     y = model(torch.ones(1, 2))
    >>> names
    [['Global', 'Sequential', 'Sequential.0']]
    """

    parents: set[str]

    def __init__(self) -> None:
        self.parents = {"Global"}
        self._names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._walked: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()
        self._hooks: list[Any] = []
        self._ending = False  # whether the pass that runs forgets the names at its end

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass is running."""
        return PASS.get() is not None

    def _name_of(self, module: Any) -> str:
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._walked:
            for word, child in module.named_children():
                self._names[child] = f"{name}.{word}"
                self._name_of(child)
            self._walked[module] = True
        return name

    def _watch(self, tensors: Any, call: Callable[..., None]) -> None:
        """Call a function once the gradients of all tensors are there."""
        wanted = [x for x in tree_leaves(tensors) if isinstance(x, Tensor) and x.requires_grad]
        if wanted:
            self._hooks.append(register_multi_grad_hook(wanted, call))

    def _before(self, module: Any, arguments: Any) -> None:
        name = self._name_of(module)
        self.parents.add(name)
        self._watch(arguments, partial(self._left, name))

    def _after(self, module: Any, _arguments: Any, results: Any) -> None:
        name = self._name_of(module)
        self.parents.discard(name)
        self._watch(results, partial(self._entered, name))

    def _entered(self, name: str, _gradients: Any) -> None:
        if not self._ending:
            queue_callback(self._ended)
            self._ending = True
        self.parents.add(name)

    def _left(self, name: str, _gradients: Any) -> None:
        self.parents.discard(name)

    def _ended(self) -> None:
        self.parents, self._ending = {"Global"}, False

    def __enter__(self) -> Self:
        self._hooks += [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after),
        ]
        return self

    def __exit__(self, *_: object) -> None:
        while self._hooks:
            self._hooks.pop().remove()


__all__ = ["ModuleTracker"]
