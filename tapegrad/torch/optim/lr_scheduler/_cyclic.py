"""Cyclical rates: L. Smith (2017), Cyclical learning rates for training neural networks."""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from typing import Any

from tapegrad.torch.optim.lr_scheduler._scheduler import (
    LRScheduler,
    Rate,
    change_setting,
    for_groups,
    require_optimizer,
)
from tapegrad.torch.optim.optimizer import Optimizer


class CyclicLR(LRScheduler):
    """The rate goes from `base_lr` to `max_lr` and back, again and again.

    base_lr (float or list of float): The least rate, or one for each group.
    step_size_up: In how many steps the rate rises.
    step_size_down: In how many steps it falls; `step_size_up` unless given.
    mode ({"triangular", "triangular2", "exp_range"}): How high cycles are: all alike, half as high
        in each, or times `gamma**step`.
    gamma: The factor of "exp_range".
    scale_fn (callable): In place of `mode`: the height, between 0 and 1, of a cycle or a step.
    scale_mode ({"cycle", "iterations"}): What `scale_fn` is given: the number of the cycle, from
        1, or that of the step.
    ValueError: For another `mode`, an optimizer without momentum, and lists of other lengths.
    TypeError: For what is no optimizer.
    Notes: L. Smith, Cyclical learning rates for training neural networks (2017).

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.CyclicLR(optimizer, 1.0, 3.0, step_size_up=2)
    >>> rates = []
    >>> for _ in range(5):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 2.0, 3.0, 2.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        require_optimizer(optimizer)
        self.optimizer = optimizer
        base_lrs = for_groups("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(base_lrs, optimizer.param_groups, strict=True):
                change_setting(group, "lr", rate)
        self.max_lrs: list[Any] = for_groups("max_lr", optimizer, max_lr)
        up = float(step_size_up)
        self.total_size: float = up + (up if step_size_down is None else float(step_size_down))
        self.step_ratio: float = up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom: Any = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            require_momentum(optimizer)
            self.use_beta1: bool = "betas" in optimizer.defaults
            self.base_momentums: list[Any] = for_groups("base_momentum", optimizer, base_momentum)
            self.max_momentums: list[Any] = for_groups("max_momentum", optimizer, max_momentum)
            if last_epoch == -1:
                begin_momentum(optimizer, self.base_momentums, self.max_momentums)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = base_lrs

    def scale_fn(self, x: float) -> float:
        """The height of a cycle, or of a step, of which the first has 1.

        x: The number of the cycle, from 1, or that of the step.
        -> float: The factor on the height.
        """
        if self._scale_fn_custom is not None:
            return float(self._scale_fn_custom(x))
        if self.mode == "triangular2":
            return 1 / 2.0 ** (x - 1)
        return self.gamma**x if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list[Rate]:
        """The rates of the groups at `last_epoch`; it sets the momentum, too.

        -> list: One for each group.
        """
        self._warn_outside_of_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        place = 1.0 + self.last_epoch / self.total_size - cycle
        if place <= self.step_ratio:
            height = place / self.step_ratio
        else:
            height = (place - 1) / (self.step_ratio - 1)
        scale = self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            momenta = zip(self.base_momentums, self.max_momentums, strict=True)
            for group, (base, most) in zip(self.optimizer.param_groups, momenta, strict=True):
                set_momentum(group, most - (most - base) * height * scale)
        pairs = zip(self.base_lrs, self.max_lrs, strict=True)
        return [base + (most - base) * height * scale for base, most in pairs]

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer; of a scale_fn that is an object, its attributes.

        -> dict: Attributes by their names.
        """
        state = super().state_dict()
        function = state["_scale_fn_custom"]
        saved = function is not None and not isinstance(function, types.FunctionType)
        state["_scale_fn_custom"] = function.__dict__.copy() if saved else None
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; the scale_fn stays the present one.

        state_dict (dict): What `state_dict` returned.
        """
        rest = {key: value for key, value in state_dict.items() if key != "_scale_fn_custom"}
        super().load_state_dict(rest)
        if state_dict["_scale_fn_custom"] is not None:
            self._scale_fn_custom.__dict__.update(state_dict["_scale_fn_custom"])


def require_momentum(optimizer: Optimizer) -> None:
    """Raise ValueError for an optimizer that has no momentum to be cycled."""
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
        )


def begin_momentum(optimizer: Optimizer, base: list[Any], most: list[Any]) -> None:
    """Set the largest momentum of each group, and note both bounds in the group."""
    for group, low, high in zip(optimizer.param_groups, base, most, strict=True):
        set_momentum(group, high)
        group["max_momentum"] = high
        group["base_momentum"] = low


def set_momentum(group: dict[str, Any], momentum: Any) -> None:
    """Set the momentum of a group, which for Adam and its kin is the first of the betas."""
    if "betas" in group:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum
