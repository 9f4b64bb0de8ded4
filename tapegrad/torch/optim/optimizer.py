"""Base of all optimizers: groups of parameters, state, hooks, and saving them.

Knows leaves and their gradients. Must not know any method of optimization.
"""

from __future__ import annotations

import copy
import functools
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Any, TypeAlias

from tapegrad._core.types import Function
from tapegrad._warning import warn
from tapegrad.torch._graph.hooks import Handle, Hooks
from tapegrad.torch._ops.object.conversion import to_dtype
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of
from tapegrad.torch.nn.module.module import forget_gradient

ParamsT: TypeAlias = Iterable[Any]
StateDict: TypeAlias = dict[str, Any]

_BEFORE_ALL = Hooks()  # called before the step of any optimizer
_AFTER_ALL = Hooks()


def register_optimizer_step_pre_hook(hook: Function) -> Handle:
    """Call `hook(optimizer, args, kwargs)` before each step of every optimizer.

    hook (callable): What is called; it may return other arguments, as a pair.

    >>> def show(optimizer, args, kwargs):
    ...     print("before", type(optimizer).__name__)
    >>> handle = torch.optim.optimizer.register_optimizer_step_pre_hook(show)
    >>> torch.optim.SGD([torch.ones(1, requires_grad=True)]).step()
    before SGD
    >>> handle.remove()
    """
    return _BEFORE_ALL.add(hook)


def register_optimizer_step_post_hook(hook: Function) -> Handle:
    """Call `hook(optimizer, args, kwargs)` after each step of every optimizer.

    >>> def show(optimizer, args, kwargs):
    ...     print("after", type(optimizer).__name__)
    >>> handle = torch.optim.optimizer.register_optimizer_step_post_hook(show)
    >>> torch.optim.SGD([torch.ones(1, requires_grad=True)]).step()
    after SGD
    >>> handle.remove()
    """
    return _AFTER_ALL.add(hook)


class _Required:
    """Stands for a setting that each group has to give."""

    def __repr__(self) -> str:
        return "<required parameter>"


required: _Required = _Required()


class Optimizer:
    """The base class of optimizers; a subclass defines `step`.

    Its `param_groups` are dicts with "params" and settings; its `state` has a dict for each
    parameter.

    defaults (dict): The settings of groups that do not give them.
    TypeError: For a tensor in place of several, and for what is no tensor.
    ValueError: For no parameters, for one that is no leaf, and for one in two groups.

    >>> class Descent(torch.optim.Optimizer):
    ...     def step(self, closure=None):
    ...         with torch.no_grad():
    ...             for group in self.param_groups:
    ...                 for param in group["params"]:
    ...                     param -= group["lr"] * param.grad
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = Descent([w], {"lr": 0.1})
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    _hook_names = (
        "_optimizer_step_pre_hooks",
        "_optimizer_step_post_hooks",
        "_optimizer_state_dict_pre_hooks",
        "_optimizer_state_dict_post_hooks",
        "_optimizer_load_state_dict_pre_hooks",
        "_optimizer_load_state_dict_post_hooks",
    )
    _optimizer_step_pre_hooks: Hooks
    _optimizer_step_post_hooks: Hooks
    _optimizer_state_dict_pre_hooks: Hooks
    _optimizer_state_dict_post_hooks: Hooks
    _optimizer_load_state_dict_pre_hooks: Hooks
    _optimizer_load_state_dict_post_hooks: Hooks

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "step" in cls.__dict__:
            cls.step = with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def __init__(self, params: ParamsT, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or "
                f"dicts, but got {type_name(params)}"
            )
        self.state: Any = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        for name in self._hook_names:
            if name not in self.__dict__:
                setattr(self, name, Hooks())

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with settings of their own; what is missing comes from the defaults.

        param_group (dict): "params", and settings; those that are missing are added to it.
        TypeError: For what is no dict, and what is no tensor.
        ValueError: For a tensor that is no leaf, and for one in two groups.
        """
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _list_params(param_group)
        for param in param_group["params"]:
            if not isinstance(param, Tensor):
                raise TypeError(
                    "optimizer can only optimize Tensors, but one of the params is "
                    f"{type_name(param)}"
                )
            if not (self.defaults.get("differentiable") or param.is_leaf or param.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        self._check_overlap(param_group)
        self.param_groups.append(param_group)

    def _check_overlap(self, param_group: dict[str, Any]) -> None:
        """Raise where a parameter is in two groups, or only some groups have names."""
        numbers = {id(param) for param in param_group["params"]}
        if len(numbers) != len(param_group["params"]):
            warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
                "information"
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                with_or_without = "with" if "param_names" in param_group else "without"
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param "
                    f"group {with_or_without} names to the optimizer"
                )
        known = {id(param) for group in self.param_groups for param in group["params"]}
        if not known.isdisjoint(numbers):
            raise ValueError("some parameters appear in more than one parameter group")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters; or make them zero.

        set_to_none: Let `grad` be None, not zeros.
        """
        for group in self.param_groups:
            for param in group["params"]:
                forget_gradient(param, set_to_none)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change all parameters that have a gradient; a subclass defines it.

        -> object: The result of the closure, None without one.
        """
        raise NotImplementedError

    # -- hooks -----------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Function) -> Handle:
        """Call `hook(optimizer, args, kwargs)` before each step.

        hook (callable): What is called; it may return other arguments, as a pair.
        """
        return self._optimizer_step_pre_hooks.add(hook)

    def register_step_post_hook(self, hook: Function) -> Handle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return self._optimizer_step_post_hooks.add(hook)

    def register_state_dict_pre_hook(self, hook: Function, prepend: bool = False) -> Handle:
        """Call `hook(optimizer)` before the state is saved."""
        return _added(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Function, prepend: bool = False) -> Handle:
        """Call `hook(optimizer, state_dict)` when the state is saved.

        hook (callable): What is called; it may return another dict to be saved.
        """
        return _added(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Function, prepend: bool = False) -> Handle:
        """Call `hook(optimizer, state_dict)` before a state is loaded.

        hook (callable): What is called; it may return another dict to be loaded.
        """
        return _added(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Function, prepend: bool = False) -> Handle:
        """Call `hook(optimizer)` after a state was loaded."""
        return _added(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # -- state -----------------------------------------------------------------------------------

    def state_dict(self) -> StateDict:
        """The state of each parameter, by its number, and the settings of the groups.

        -> dict: "state", dicts by the numbers of parameters, and "param_groups", whose "params"
            are numbers.
        """
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            for place, param in enumerate(group["params"], start):
                numbers.setdefault(id(param), place)
            start += len(group["params"])
            listed = [numbers[id(param)] for param in group["params"]]
            groups.append({**_rest(group), "params": listed})
        state = {
            numbers[id(key)] if isinstance(key, Tensor) else key: known
            for key, known in self.state.items()
        }
        made: StateDict = {"state": state, "param_groups": groups}
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            returned = hook(self, made)
            made = made if returned is None else returned
        return made

    def load_state_dict(self, state_dict: StateDict) -> None:
        """Take over what `state_dict` returned, as copies in the parameters' dtypes.

        state_dict (dict): What `state_dict` of such an optimizer returned.
        ValueError: Where the groups differ in number or size.
        """
        state_dict = state_dict.copy()
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            returned = hook(self, state_dict)
            state_dict = state_dict if returned is None else returned
        given_groups = copy.deepcopy(state_dict["param_groups"])
        groups = self.param_groups
        if len(given_groups) != len(groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        pairs = list(zip(given_groups, groups, strict=True))
        if any(len(given["params"]) != len(group["params"]) for given, group in pairs):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of "
                "optimizer's group"
            )
        by_number = {
            number: (param, given)
            for given, group in pairs
            for number, param in zip(given["params"], group["params"], strict=True)
        }
        state: Any = defaultdict(dict)
        for key, known in state_dict["state"].items():
            if key in by_number:
                param, given = by_number[key]
                state[param] = _fitted(known, param, given)
            else:
                state[key] = known
        for given, group in pairs:
            given["params"] = group["params"]
            if "param_names" in group:
                given.setdefault("param_names", group["param_names"])
        self.__setstate__({"state": state, "param_groups": given_groups})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        names = ("defaults", "state", "param_groups")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_hooks()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for place, group in enumerate(self.param_groups):
            lines += [""] * (place > 0) + [f"Parameter Group {place}"]
            lines += [f"    {name}: {_rest(group)[name]}" for name in sorted(_rest(group))]
        return "\n".join([*lines, ")"])


def with_hooks(step: Function) -> Function:
    """A step that calls the hooks before and after itself; of an overridden one, only once."""
    if hasattr(step, "hooked"):
        return step

    @functools.wraps(step)
    def hooked(*args: Any, **kwargs: Any) -> Any:
        self = args[0]
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            return step(*args, **kwargs)  # of a class that leaves out Optimizer.__init__
        before, after = self._optimizer_step_pre_hooks, self._optimizer_step_post_hooks
        for hook in (*_BEFORE_ALL.values(), *before.values()):
            returned = hook(self, args, kwargs)
            if returned is None:
                continue
            if not (isinstance(returned, tuple) and len(returned) == 2):
                named = f"<function {type(self).__name__}.step at {id(step):#x}>"
                raise RuntimeError(
                    f"{named} must return None or a tuple of (new_args, new_kwargs), but got "
                    f"{returned}."
                )
            args, kwargs = returned
        made = step(*args, **kwargs)
        for hook in (*after.values(), *_AFTER_ALL.values()):
            hook(self, args, kwargs)
        return made

    hooked.hooked = True  # type: ignore[attr-defined]
    return hooked


def _list_params(param_group: dict[str, Any]) -> None:
    """Make "params" of a group a list of tensors, and of names given with them "param_names"."""
    params = param_group["params"]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the "
            "ordering of tensors in sets will change between runs. Please use a list instead."
        )
    listed = [params] if isinstance(params, Tensor) else list(params)
    names = [pair[0] for pair in listed if isinstance(pair, tuple)]
    param_group["params"] = [pair[1] if isinstance(pair, tuple) else pair for pair in listed]
    if names and len(names) != len(listed):
        raise ValueError(
            "all optimizer params should be with/without names. Some param names are missing"
        )
    if names:
        param_group["param_names"] = names


def _added(hooks: Hooks, hook: Function, prepend: bool) -> Handle:
    handle = hooks.add(hook)
    if prepend:
        rest = dict(hooks)
        last = rest.pop(handle.id)
        hooks.clear()
        hooks.update({handle.id: last, **rest})
    return handle


def _rest(group: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in group.items() if name != "params"}


def _fitted(value: Any, param: Tensor, group: dict[str, Any], name: Hashable = None) -> Any:
    """A copy of a saved value; tensors in the parameter's dtype, but for the count of steps."""
    if isinstance(value, Tensor):
        made = of_value(plain_of(value).copy())
        kind = param._value.dtype
        return to_dtype(made, kind) if name != "step" and kind.kind == "f" else made
    if isinstance(value, dict):
        return {key: _fitted(part, param, group, key) for key, part in value.items()}
    if isinstance(value, (list, tuple, set)):
        return type(value)(_fitted(part, param, group) for part in value)
    return value


def type_name(value: object) -> str:
    """PyTorch's name for the type of a value, as in `torch.FloatTensor`."""
    if isinstance(value, Tensor):
        return str(value.type())
    kind = type(value)
    if kind.__module__ in ("builtins", "__builtin__"):
        return kind.__name__
    return f"{kind.__module__}.{kind.__name__}".removeprefix("tapegrad.")


__all__ = ["Optimizer", "register_optimizer_step_post_hook", "register_optimizer_step_pre_hook"]
