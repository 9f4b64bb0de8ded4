"""Schedules of several schedulers: one after the other, or all at once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from tapegrad.torch.optim.lr_scheduler._plateau import ReduceLROnPlateau
from tapegrad.torch.optim.lr_scheduler._scheduler import LRScheduler, change_setting, settings_of
from tapegrad.torch.optim.optimizer import Optimizer


class _Composed(LRScheduler):
    """Holds schedulers of one optimizer, and saves their states."""

    _schedulers: Sequence[LRScheduler]

    def _check(self, schedulers: Sequence[Any], optimizer: Optimizer) -> None:
        """Raise for schedulers that do not fit together."""
        name = type(self).__name__
        for place, scheduler in enumerate(schedulers):
            if not hasattr(scheduler, "optimizer"):
                raise TypeError(
                    f"{name} at index {place} should have `optimizer` as its attribute."
                )
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it requires "
                    "additional kwargs to be specified when calling `step`, but got one at index "
                    f"{place} in the given schedulers sequence."
                )
            if optimizer is not scheduler.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but got "
                    f"scheduler {type(scheduler).__name__} at index {place} has "
                    f"{scheduler.optimizer}, which is different from {type(optimizer).__name__}."
                )

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer, and the states of the schedulers.

        -> dict: Attributes by their names, and "_schedulers", a list.
        """
        state = super().state_dict()
        state["_schedulers"] = [scheduler.state_dict() for scheduler in self._schedulers]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned.

        state_dict (dict): What `state_dict` returned.
        """
        rest = {name: value for name, value in state_dict.items() if name != "_schedulers"}
        self.__dict__.update(rest)
        for scheduler, known in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(known)


class SequentialLR(_Composed):
    """One scheduler after the other.

    schedulers (list): The schedulers, of the same optimizer.
    milestones (list of int): The epochs at which the next one begins: one less than there are
        schedulers.
    ValueError: For no schedulers, for another number of milestones, for a scheduler of another
        optimizer, and for `ReduceLROnPlateau`.
    TypeError: For what has no optimizer.

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> constant = torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=9)
    >>> falling = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> schedulers = [constant, falling]
    >>> scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, schedulers, milestones=[2])
    >>> rates = []
    >>> for _ in range(4):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [0.5, 0.5, 1.0, 0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        name = type(self).__name__
        if not schedulers:
            raise ValueError(f"{name} expects at least one scheduler, but got no scheduler.")
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more than "
                "the number of milestone points, but got number of schedulers "
                f"{len(schedulers)} and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        for group in optimizer.param_groups:
            change_setting(group, "lr", group["initial_lr"])
        self.recursive_undo()
        first = schedulers[bisect_right(milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def recursive_undo(self, sched: Any = None) -> None:
        """Take back the steps that the schedulers took when they were made.

        sched (LRScheduler): Whose steps are taken back; those of all unless given.
        """
        scheduler = self if sched is None else sched
        if hasattr(scheduler, "_schedulers"):
            for part in scheduler._schedulers:
                self.recursive_undo(part)
        elif hasattr(scheduler, "last_epoch"):
            scheduler.last_epoch -= 1

    def step(self) -> None:  # type: ignore[override]
        """Go to the next epoch, which may be the first of the next scheduler."""
        self.last_epoch += 1
        place = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[place]
        if place > 0 and self._milestones[place - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


class ChainedScheduler(_Composed):
    """Several schedulers that each change the rate at every epoch.

    schedulers (sequence): The schedulers, of the same optimizer.
    optimizer: Their optimizer; that of the first unless given.
    ValueError: For no schedulers, for a scheduler of another optimizer, and for
        `ReduceLROnPlateau`.
    TypeError: For what has no optimizer.

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> falling = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> stepped = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.1)
    >>> scheduler = torch.optim.lr_scheduler.ChainedScheduler([falling, stepped])
    >>> rates = []
    >>> for _ in range(3):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.025]
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if not schedulers:
            raise ValueError(
                f"{type(self).__name__} expects at least one scheduler to be chained, but got no "
                "scheduler."
            )
        own = optimizer or schedulers[0].optimizer
        self._check(schedulers, own)
        self._schedulers = schedulers
        self.optimizer = own
        self._last_lr = settings_of(own, "lr")

    def step(self) -> None:  # type: ignore[override]
        """Go to the next epoch in all schedulers."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = settings_of(self.optimizer, "lr")
