"""A schedule by results: the rate falls when a number that is watched improves no more."""

from __future__ import annotations

import math
from typing import Any

from tapegrad._warning import warn
from tapegrad.torch.optim.lr_scheduler._scheduler import (
    EPOCH_IS_DEPRECATED,
    LRScheduler,
    change_setting,
    require_optimizer,
    settings_of,
)
from tapegrad.torch.optim.optimizer import Optimizer


class ReduceLROnPlateau(LRScheduler):
    """The rate is multiplied by a factor when a number that is watched improves no more.

    mode ({"min", "max"}): Which numbers are better.
    factor: The factor, below 1.
    patience: After how many epochs without improvement one more changes the rate.
    threshold: The least improvement that counts.
    threshold_mode ({"rel", "abs"}): Whether that is relative to the best number.
    cooldown: How many epochs after a change do not count.
    min_lr (float or list of float): The least rate, or one for each group.
    eps: Changes of the rate that are not larger are not made.
    ValueError: For a `factor` of 1 or more, other words, and a list of another length.
    TypeError: For what is no optimizer.

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    >>> for loss in [3.0, 2.0, 2.0, 2.0]:
    ...     scheduler.step(loss)
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        mode: str = "min",
        factor: float = 0.1,
        patience: int = 10,
        threshold: float = 1e-4,
        threshold_mode: str = "rel",
        cooldown: int = 0,
        min_lr: float | list[float] = 0,
        eps: float = 1e-8,
    ) -> None:
        if factor >= 1.0:
            raise ValueError("Factor should be < 1.0.")
        self.factor = factor
        require_optimizer(optimizer)
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        self.default_min_lr: float | None
        if isinstance(min_lr, (list, tuple)):
            if len(min_lr) != count:
                raise ValueError(f"expected {count} min_lrs, got {len(min_lr)}")
            self.default_min_lr, self.min_lrs = None, list(min_lr)
        else:
            self.default_min_lr, self.min_lrs = min_lr, [min_lr] * count
        self.patience, self.cooldown, self.eps = patience, cooldown, eps
        self.last_epoch = 0
        self._last_lr = settings_of(optimizer, "lr")
        self._init_is_better(mode, threshold, threshold_mode)
        self._reset()

    def _init_is_better(self, mode: str, threshold: float, threshold_mode: str) -> None:
        if mode not in {"min", "max"}:
            raise ValueError("mode " + mode + " is unknown!")
        if threshold_mode not in {"rel", "abs"}:
            raise ValueError("threshold mode " + threshold_mode + " is unknown!")
        self.mode_worse: float = math.inf if mode == "min" else -math.inf
        self.mode, self.threshold, self.threshold_mode = mode, threshold, threshold_mode

    def _reset(self) -> None:
        """Forget the best number, and count anew."""
        self.best = self.mode_worse
        self.cooldown_counter = 0
        self.num_bad_epochs = 0

    def step(self, metrics: Any, epoch: int | None = None) -> None:  # type: ignore[override]
        """Go to the next epoch, whose number is given.

        metrics (float or Tensor): The number.
        """
        current = float(metrics)
        if epoch is not None:
            warn(EPOCH_IS_DEPRECATED)
        self.last_epoch: int = self.last_epoch + 1 if epoch is None else epoch
        if self._is_better(current, self.best):
            self.best = current
            self.num_bad_epochs = 0
        else:
            self.num_bad_epochs += 1
        if self.in_cooldown:
            self.cooldown_counter -= 1
            self.num_bad_epochs = 0
        if self.num_bad_epochs > self.patience:
            self._reduce_lr()
            self.cooldown_counter = self.cooldown
            self.num_bad_epochs = 0
        self._last_lr = settings_of(self.optimizer, "lr")

    def _reduce_lr(self) -> None:
        groups = self.optimizer.param_groups
        if len(groups) != len(self.min_lrs):
            if self.default_min_lr is None:
                raise RuntimeError(
                    f"The number of param groups in the `optimizer` ({len(groups)}) differs from "
                    f"when `ReduceLROnPlateau` was initialized ({len(self.min_lrs)}), usually due "
                    "to a new param group being added to the optimizer. Please modify the "
                    "`min_lrs` field to match the length of the `optimizer` param groups."
                )
            self.min_lrs = [self.default_min_lr] * len(groups)
        for group, least in zip(groups, self.min_lrs, strict=True):
            old = float(group["lr"])
            new = max(old * self.factor, least)
            if old - new > self.eps:
                change_setting(group, "lr", new)

    @property
    def in_cooldown(self) -> bool:
        """Whether the present epoch does not count, since the rate has just changed."""
        return self.cooldown_counter > 0

    def _is_better(self, number: float, best: float) -> bool:
        relative = self.threshold_mode == "rel"
        if self.mode == "min":
            bound = best * (1.0 - self.threshold) if relative else best - self.threshold
            return number < bound
        bound = best * (1.0 + self.threshold) if relative else best + self.threshold
        return number > bound

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned.

        state_dict (dict): What `state_dict` returned.
        """
        self.__dict__.update(state_dict)
        self._init_is_better(self.mode, self.threshold, self.threshold_mode)
