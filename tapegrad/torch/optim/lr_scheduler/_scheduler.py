"""Base of all schedulers: they count epochs, and set the learning rates of groups.

Knows an optimizer's groups. Must not know any schedule.
"""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from tapegrad._warning import warn
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch._tensor.writes import overwrite
from tapegrad.torch.optim.optimizer import Optimizer

Rate = Any  # a number, or a tensor of one element
_MORE = "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate"
_EXAMPLE = """
>>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
>>> scheduler = torch.optim.lr_scheduler.{name}(optimizer, {arguments})
>>> rates = []
>>> for _ in range({count}):
...     rates += {rates}
...     optimizer.step()
...     scheduler.step()
>>> rates
{shown}
"""
Kind = TypeVar("Kind", bound=type)
EPOCH_IS_DEPRECATED = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being deprecated where "
    "possible. Please use `scheduler.step()` to step the scheduler. During the deprecation, if "
    "epoch is different from None, the closed form is used instead of the new chainable form, "
    "where available."
)


def example(arguments: str, shown: list[float], digits: int = 0) -> Callable[[Kind], Kind]:
    """Let the docstring of a scheduler end with the rates of the first epochs, from the rate 1.

    arguments: those behind the optimizer. digits: to how many the rates are rounded, if at all.
    """

    def decorate(kind: Kind) -> Kind:
        rates = "scheduler.get_last_lr()"
        rates = f"[round(rate, {digits}) for rate in {rates}]" if digits else rates
        text = _EXAMPLE.format(
            name=kind.__name__, arguments=arguments, count=len(shown), rates=rates, shown=shown
        )
        kind.__doc__ = f"{inspect.cleandoc(kind.__doc__ or '')}\n{text}"
        return kind

    return decorate


class LRScheduler:
    """The base class of schedulers; a subclass defines `get_lr`, the rates at `last_epoch`.

    TypeError: For what is no optimizer.
    KeyError: For a `last_epoch` of 0 or more, where a group has no "initial_lr".

    >>> class Halved(torch.optim.lr_scheduler.LRScheduler):
    ...     def get_lr(self):
    ...         return [rate / 2**self.last_epoch for rate in self.base_lrs]
    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = Halved(optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    _get_lr_called_within_step: bool = False
    _is_initial: bool = False
    _last_lr: list[Rate]
    _step_count: int
    optimizer: Optimizer
    last_epoch: int

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        require_optimizer(optimizer)
        self.optimizer = optimizer
        for place, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                group.setdefault("initial_lr", separate(group["lr"]))
            elif "initial_lr" not in group:
                raise KeyError(
                    f"param 'initial_lr' is not specified in param_groups[{place}] when resuming "
                    "scheduler with last_epoch >= 0.\nThis typically happens when:\n1. You're "
                    "trying to resume training from a checkpoint but haven't properly loaded the "
                    "optimizer state\n2. You're using last_epoch >= 0 for a fresh training run "
                    "(not recommended)"
                )
        self.base_lrs: list[Rate] = settings_of(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        _watch_steps(optimizer)
        self._initial_step()

    def _initial_step(self) -> None:
        """Set the first rates."""
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self) -> dict[str, Any]:
        """All that the scheduler knows but the optimizer.

        -> dict: Attributes by their names.
        """
        return {name: value for name, value in self.__dict__.items() if name != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned.

        state_dict (dict): What `state_dict` returned.
        """
        self.__dict__.update(state_dict)

    def get_last_lr(self) -> list[Rate]:
        """The rates that were set last, one a group.

        -> list: Numbers, or tensors of one element where the settings are such.
        """
        return self._last_lr

    def get_lr(self) -> list[Rate]:
        """The rates of the groups at `last_epoch`; `step` calls it.

        -> list: One for each group. It warns outside of `step`: see `get_last_lr`.
        """
        raise NotImplementedError

    def step(self, epoch: int | None = None) -> None:
        """Go to the next epoch, or to a given one; call it after the optimizer's step.

        epoch: The epoch, with a warning; the next unless given.
        """
        if self._step_count == 1:
            self._check_order()
        self._step_count += 1
        if epoch is not None:
            warn(EPOCH_IS_DEPRECATED)
        self._update_lr(epoch)

    def _check_order(self) -> None:
        """Warn where the optimizer has taken no step yet."""
        if not hasattr(self.optimizer.step, "_wrapped_by_lr_sched"):
            warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before "
                f"`lr_scheduler.step()`. See more details at {_MORE}"
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. In PyTorch "
                "1.1.0 and later, you should call them in the opposite order: `optimizer.step()` "
                "before `lr_scheduler.step()`.  Failure to do this will result in PyTorch "
                f"skipping the first value of the learning rate schedule. See more details at "
                f"{_MORE}"
            )

    def _update_lr(self, epoch: int | None = None) -> None:
        """Compute the rates of the next epoch, or of a given one, and set them."""
        self._get_lr_called_within_step = True
        try:
            self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
            closed_form = getattr(self, "_get_closed_form_lr", None)
            rates = self.get_lr() if epoch is None or closed_form is None else closed_form()
        finally:
            self._get_lr_called_within_step = False
        self._set_rates(rates)

    def _set_rates(self, rates: list[Rate]) -> None:
        for group, rate in zip(self.optimizer.param_groups, rates, strict=True):
            change_setting(group, "lr", rate)
        self._last_lr = settings_of(self.optimizer, "lr")

    def _rates(self, factor: float | None = None) -> list[Rate]:
        """The present rates, times a factor."""
        if factor is None:
            return settings_of(self.optimizer, "lr")
        return [group["lr"] * factor for group in self.optimizer.param_groups]

    def _warn_outside_of_step(self) -> None:
        """Warn where a program calls `get_lr`, which may tell the next rates, not the last."""
        if not self._get_lr_called_within_step:
            warn(
                "To get the last learning rate computed by the scheduler, please use "
                "`get_last_lr()`."
            )


def _watch_steps(optimizer: Optimizer) -> None:
    """Let the optimizer note in `_opt_called` that it has taken a step."""
    if hasattr(optimizer.step, "_wrapped_by_lr_sched"):
        return
    function: Any = getattr(optimizer.step, "__func__", optimizer.step)
    replaced = "step" in vars(optimizer)
    reference = weakref.ref(optimizer)

    @functools.wraps(function)
    def step(*args: Any, **kwargs: Any) -> Any:
        own: Any = reference()
        own._opt_called = True
        # That of the class is looked up anew: a profile that started later has put its own there.
        taken = function if replaced else type(own).step
        return taken.__get__(own, type(own))(*args, **kwargs)

    step._wrapped_by_lr_sched = True  # type: ignore[attr-defined]
    optimizer.step = step  # type: ignore[method-assign]


def require_optimizer(optimizer: object) -> None:
    """Raise TypeError for what is no optimizer."""
    if not isinstance(optimizer, Optimizer):
        raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")


def separate(setting: Rate) -> Rate:
    """A setting; a tensor as a copy, since rates are changed in place."""
    return setting.clone() if isinstance(setting, Tensor) else setting


def settings_of(optimizer: Optimizer, name: str) -> list[Any]:
    """A setting of all groups."""
    return [separate(group[name]) for group in optimizer.param_groups]


def change_setting(group: dict[str, Any], name: str, setting: Rate) -> None:
    """Set a setting of a group; a tensor stays the same one."""
    if not isinstance(group[name], Tensor):
        group[name] = setting
        return
    with no_grad():
        overwrite(group[name], setting.reshape(()) if isinstance(setting, Tensor) else setting)


def for_groups(name: str, optimizer: Optimizer, setting: Any) -> list[Any]:
    """A setting for each group, from one for all or a list; ValueError for another length."""
    count = len(optimizer.param_groups)
    if not isinstance(setting, (list, tuple)):
        return [separate(setting) for _ in range(count)]
    if len(setting) != count:
        raise ValueError(
            f"{name} must have the same length as optimizer.param_groups. {name} has "
            f"{len(setting)} values, param_groups has {count}."
        )
    return [separate(part) for part in setting]
