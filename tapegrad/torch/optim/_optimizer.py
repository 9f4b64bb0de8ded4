"""What all optimizers share: groups of parameters, state, and the form of a step."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from tapegrad._core.types import Function, Value
from tapegrad.torch._graph.hooks import Handle, Hooks
from tapegrad.torch._graph.modes import enable_grad
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch.nn._module import forget_gradient


class Optimizer:
    """The base class of optimizers; a subclass defines `update(group)`.

    params: leaf tensors, pairs of a name and a leaf tensor, or dicts with "params" and settings of
    their own. `param_groups` are such dicts, and `state` has a dict for each parameter.
    """

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                f"dicts, but got {type(params).__name__}"
            )
        self.defaults = defaults
        self.state: Any = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        self._before = Hooks()
        self._after = Hooks()
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with settings of their own."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        listed = [params] if isinstance(params, Tensor) else list(params)
        listed = [pair[1] if isinstance(pair, tuple) else pair for pair in listed]
        for param in listed:
            if not isinstance(param, Tensor):
                raise TypeError(
                    f"optimizer can only optimize Tensors, but one of the params is "
                    f"{type(param).__name__}"
                )
            if not param.is_leaf:
                raise ValueError("can't optimize a non-leaf Tensor")
        known = {id(param) for group in self.param_groups for param in group["params"]}
        if any(id(param) in known for param in listed):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append({"params": listed, **self.defaults, **_rest(param_group)})

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters; or make them zero."""
        for group in self.param_groups:
            for param in group["params"]:
                forget_gradient(param, set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change all parameters that have a gradient.

        closure: computes the loss anew, with gradients; its result is returned.
        """
        for hook in list(self._before.values()):
            hook(self, (closure,), {})
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            self.update(group)
        for hook in list(self._after.values()):
            hook(self, (closure,), {})
        return loss

    def update(self, group: dict[str, Any]) -> None:
        """Change the parameters of a group."""
        raise NotImplementedError

    def register_step_pre_hook(self, hook: Function) -> Handle:
        """Call `hook(optimizer, args, kwargs)` before a step."""
        return self._before.add(hook)

    def register_step_post_hook(self, hook: Function) -> Handle:
        """Call `hook(optimizer, args, kwargs)` after a step."""
        return self._after.add(hook)

    # -- state -----------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """The state of each parameter, by its number, and the settings of the groups."""
        numbers = {id(param): i for i, param in enumerate(self._params())}
        state = {numbers[id(param)]: dict(known) for param, known in self.state.items()}
        groups = [
            {**_rest(group), "params": [numbers[id(param)] for param in group["params"]]}
            for group in self.param_groups
        ]
        return {"state": state, "param_groups": groups}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; ValueError where the groups differ."""
        groups = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for given, group in zip(groups, self.param_groups, strict=True):
            if len(given["params"]) != len(group["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    "optimizer's group"
                )
        params = list(self._params())
        numbers = [number for given in groups for number in given["params"]]
        by_number = dict(zip(numbers, params, strict=True))
        self.state.clear()
        for number, known in state_dict["state"].items():
            self.state[by_number[number]] = {name: _copied(v) for name, v in known.items()}
        for given, group in zip(groups, self.param_groups, strict=True):
            group.update(copy.deepcopy(_rest(given)))

    def _params(self) -> Iterable[Tensor]:
        return (param for group in self.param_groups for param in group["params"])

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for place, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {place}")
            lines += [f"    {name}: {_rest(group)[name]}" for name in sorted(_rest(group))]
        return "\n".join([*lines, ")"])


def _rest(group: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in group.items() if name != "params"}


def _copied(value: Any) -> Any:
    return of_value(value._value.copy()) if isinstance(value, Tensor) else value


def number_of(setting: float | Tensor) -> float:
    """A setting that may be a tensor, as a number."""
    return float(setting._value) if isinstance(setting, Tensor) else setting


def require_not_negative(value: float | Tensor, what: str) -> None:
    """Raise ValueError for a setting below zero."""
    if not number_of(value) >= 0:
        raise ValueError(f"Invalid {what}: {value}")


def as_real(array: Value) -> Value:
    """Complex numbers as pairs of real ones, in the same memory."""
    return array.view(np.finfo(array.dtype).dtype) if array.dtype.kind == "c" else array
