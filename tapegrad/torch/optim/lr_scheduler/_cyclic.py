"""Cyclical rates: L. Smith (2017), Cyclical learning rates for training neural networks.

One cycle: L. Smith, N. Topin (2019), Super-convergence.
"""

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
            self.use_beta1: bool = "betas" in optimizer.defaults
            found = momenta(optimizer, base_momentum, max_momentum, begin=last_epoch == -1)
            self.base_momentums, self.max_momentums = found
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


def momenta(optimizer: Optimizer, base: Any, most: Any, *, begin: bool) -> tuple[Any, Any]:
    """The least and the largest momentum of each group; ValueError where there is no momentum.

    begin: set the largest, and note both in the group.
    """
    if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
        raise ValueError(
            "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
        )
    lows = for_groups("base_momentum", optimizer, base)
    highs = for_groups("max_momentum", optimizer, most)
    for group, low, high in zip(optimizer.param_groups, lows, highs, strict=True):
        if begin:
            set_momentum(group, high)
            group["max_momentum"], group["base_momentum"] = high, low
    return lows, highs


def set_momentum(group: dict[str, Any], momentum: Any) -> None:
    """Set the momentum of a group, which for Adam and its kin is the first of the betas."""
    if "betas" in group:
        group["betas"] = (momentum, *group["betas"][1:])
    else:
        group["momentum"] = momentum


class OneCycleLR(LRScheduler):
    """The rate rises to `max_lr`, then falls far below where it began.

    The length, in steps, is `total_steps`, or `epochs` times `steps_per_epoch`.

    total_steps: The number of steps.
    epochs: The number of epochs.
    steps_per_epoch: The number of steps in each.
    pct_start: The share of the steps in which the rate rises.
    anneal_strategy ({"cos", "linear"}): Along what the rate goes: half a period of a cosine, or a
        line.
    div_factor: The largest rate over the first.
    final_div_factor: The first rate over the last.
    three_phase: Fall to the first rate as fast as it rose, then to the last.
    ValueError: For no length, for other words and shares, for an optimizer without momentum, and
        for lists of other lengths.
    TypeError: For what is no optimizer.
    Notes: L. Smith, N. Topin, Super-convergence (2019).

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], momentum=0.9)
    >>> scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> rates = []
    >>> for _ in range(10):
    ...     rates += [round(rate, 2) for rate in scheduler.get_last_lr()]
    ...     optimizer.step()
    ...     if len(rates) < 10:
    ...         scheduler.step()
    >>> rates
    [0.04, 0.52, 1.0, 0.95, 0.81, 0.61, 0.39, 0.19, 0.05, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        require_optimizer(optimizer)
        self.optimizer = optimizer
        self.total_steps: int = _length(total_steps, epochs, steps_per_epoch)
        last = self.total_steps - 1
        rise = float(pct_start * self.total_steps) - 1
        up = _phase(rise, "initial_lr", "max_lr", "max_momentum", "base_momentum")
        if three_phase:
            down = float(2 * pct_start * self.total_steps) - 2
            self._schedule_phases = [
                up,
                _phase(down, "max_lr", "initial_lr", "base_momentum", "max_momentum"),
                _phase(last, "initial_lr", "min_lr", "max_momentum", "max_momentum"),
            ]
        else:
            down_phase = _phase(last, "max_lr", "min_lr", "base_momentum", "max_momentum")
            self._schedule_phases = [up, down_phase]
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_func_type = anneal_strategy
        most = for_groups("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, rate in zip(optimizer.param_groups, most, strict=True):
                group["initial_lr"] = rate / div_factor
                group["max_lr"] = rate
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self.use_beta1: bool = "betas" in optimizer.defaults
            momenta(optimizer, base_momentum, max_momentum, begin=last_epoch == -1)
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        """The rates of the groups at `last_epoch`; it sets the momentum, too.

        -> list: One for each group.
        ValueError: Beyond the last step.
        """
        self._warn_outside_of_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        start, phase = 0.0, self._schedule_phases[0]
        for following in self._schedule_phases[1:]:
            if step <= phase["end_step"]:
                break
            start, phase = phase["end_step"], following
        share = (step - start) / (phase["end_step"] - start)
        rates = []
        for group in self.optimizer.param_groups:
            rates.append(self._between(group[phase["start_lr"]], group[phase["end_lr"]], share))
            if self.cycle_momentum:
                first, last = group[phase["start_momentum"]], group[phase["end_momentum"]]
                set_momentum(group, self._between(first, last, share))
        return rates

    def _between(self, start: Any, end: Any, share: float) -> Any:
        """Interpolate between two numbers, on a line or a half period of a cosine."""
        if self._anneal_func_type == "linear":
            return (end - start) * share + start
        return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)


def _length(total: int | None, epochs: int | None, steps: int | None) -> int:
    """The number of steps; ValueError where neither way of giving it is complete."""
    if total is not None:
        if total <= 0 or not isinstance(total, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total}")
        return total
    if epochs is None or steps is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    for name, number in (("epochs", epochs), ("steps_per_epoch", steps)):
        if number <= 0 or not isinstance(number, int):
            raise ValueError(f"Expected positive integer {name}, but got {number}")
    return epochs * steps


def _phase(end: float, *names: str) -> dict[str, Any]:
    """A stretch of the schedule: its last step, and the settings at both of its ends."""
    keys = ("start_lr", "end_lr", "start_momentum", "end_momentum")
    return {"end_step": end, **dict(zip(keys, names, strict=True))}
