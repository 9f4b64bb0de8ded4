"""Schedules of the epoch: steps, powers, lines and cosines, and functions that the program gives.

A formula can be told from the epoch alone, `_get_closed_form_lr`, or from the last rate, `get_lr`,
so that several schedulers can change one rate.
"""

from __future__ import annotations

import math
import types
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any

from tapegrad.torch.optim.lr_scheduler._scheduler import LRScheduler, Rate, example
from tapegrad.torch.optim.optimizer import Optimizer


@example("step_size=2, gamma=0.5", [1.0, 1.0, 0.5, 0.5, 0.25])
class StepLR(LRScheduler):
    """The rate is multiplied by `gamma` every `step_size` epochs.

    step_size: How many epochs have the same rate.
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        self._warn_outside_of_step()
        due = self.last_epoch != 0 and self.last_epoch % self.step_size == 0
        return self._rates(self.gamma if due else None)

    def _get_closed_form_lr(self) -> list[Rate]:
        factor = self.gamma ** (self.last_epoch // self.step_size)
        return [base * factor for base in self.base_lrs]


@example("milestones=[1, 3], gamma=0.5", [1.0, 0.5, 0.5, 0.25])
class MultiStepLR(LRScheduler):
    """The rate is multiplied by `gamma` at given epochs.

    milestones (iterable of int): The epochs; one that stands there twice counts twice.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones: Counter[int] = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        self._warn_outside_of_step()
        times = self.milestones.get(self.last_epoch)
        return self._rates(None if times is None else self.gamma**times)

    def _get_closed_form_lr(self) -> list[Rate]:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


@example("factor=0.5, total_iters=2", [0.5, 0.5, 1.0, 1.0])
class ConstantLR(LRScheduler):
    """The rate times a factor, for the first epochs.

    factor (float, default 1.0 / 3): The factor, between 0 and 1.
    total_iters: For how many epochs.
    ValueError: For another factor.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        self._warn_outside_of_step()
        if self.last_epoch == 0:
            return self._rates(self.factor)
        return self._rates(1.0 / self.factor if self.last_epoch == self.total_iters else None)

    def _get_closed_form_lr(self) -> list[Rate]:
        factor = 1.0 if self.last_epoch >= self.total_iters else self.factor
        return [base * factor for base in self.base_lrs]


@example("start_factor=0.5, total_iters=2", [0.5, 0.75, 1.0, 1.0])
class LinearLR(LRScheduler):
    """The rate times a factor that goes along a line, for the first epochs.

    start_factor (float, default 1.0 / 3): The first factor, above 0 and at most 1.
    end_factor: The last factor, between 0 and 1.
    total_iters: In how many epochs it gets there.
    ValueError: For other factors.
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        self._warn_outside_of_step()
        if self.last_epoch == 0:
            return self._rates(self.start_factor)
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        rise = self.end_factor - self.start_factor
        before = self.total_iters * self.start_factor + (self.last_epoch - 1) * rise
        return self._rates(1.0 + rise / before)

    def _get_closed_form_lr(self) -> list[Rate]:
        share = min(self.total_iters, self.last_epoch) / self.total_iters
        factor = self.start_factor + (self.end_factor - self.start_factor) * share
        return [base * factor for base in self.base_lrs]


@example("gamma=0.5", [1.0, 0.5, 0.25])
class ExponentialLR(LRScheduler):
    """The rate is multiplied by `gamma` at each epoch."""

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        self._warn_outside_of_step()
        return self._rates(None if self._is_initial else self.gamma)

    def _get_closed_form_lr(self) -> list[Rate]:
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


@example("total_iters=4", [1.0, 0.75, 0.5, 0.25, 0.0])
class PolynomialLR(LRScheduler):
    """The rate times `(1 - epoch / total_iters)**power`, and zero from `total_iters` on.

    total_iters: After how many epochs the rate is zero.
    power: The power.
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        self._warn_outside_of_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        left = 1.0 - self.last_epoch / self.total_iters
        before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return self._rates((left / before) ** self.power)

    def _get_closed_form_lr(self) -> list[Rate]:
        left = 1.0 - min(self.total_iters, self.last_epoch) / self.total_iters
        return [base * left**self.power for base in self.base_lrs]


@example("T_max=2", [1.0, 0.5, 0.0, 0.5], digits=3)
class CosineAnnealingLR(LRScheduler):
    """The rate falls along a half period of a cosine, and rises again.

    T_max: In how many epochs it falls.
    Notes: I. Loshchilov, F. Hutter, SGDR: stochastic gradient descent with warm restarts (2017).
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max, self.eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        self._warn_outside_of_step()
        if self._is_initial:
            return self._rates()
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:  # the least rate: 0 / 0
            rise = (1 - math.cos(math.pi / self.T_max)) / 2
            pairs = zip(self._rates(), self.base_lrs, strict=True)
            return [rate + (base - self.eta_min) * rise for rate, base in pairs]
        factor = self._height(self.last_epoch) / self._height(self.last_epoch - 1)
        return [factor * (rate - self.eta_min) + self.eta_min for rate in self._rates()]

    def _height(self, epoch: int) -> float:
        return 1 + math.cos(math.pi * epoch / self.T_max)

    def _get_closed_form_lr(self) -> list[Rate]:
        height = self._height(self.last_epoch)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]


@example("T_0=2", [1.0, 0.5, 1.0, 0.5], digits=3)
class CosineAnnealingWarmRestarts(LRScheduler):
    """The rate falls along a half period of a cosine, then starts again.

    T_0: The epochs of the first period.
    T_mult: Each period is so many times as long as the last.
    ValueError: For other than whole numbers of at least 1 as `T_0` and `T_mult`, and no number as
        `eta_min`.
    Notes: I. Loshchilov, F. Hutter, SGDR: stochastic gradient descent with warm restarts (2017).
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if T_0 <= 0 or not isinstance(T_0, int):
            raise ValueError(f"Expected positive integer T_0, but got {T_0}")
        if T_mult < 1 or not isinstance(T_mult, int):
            raise ValueError(f"Expected integer T_mult >= 1, but got {T_mult}")
        if not isinstance(eta_min, (float, int)):
            raise ValueError(
                f"Expected float or int eta_min, but got {eta_min} of type {type(eta_min)}"
            )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult, self.eta_min = T_mult, eta_min
        self.T_cur: Any = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        self._warn_outside_of_step()
        height = 1 + math.cos(math.pi * self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height / 2 for base in self.base_lrs]

    def step(self, epoch: Any = None) -> None:
        """Go to the next epoch, or to a given one, which may lie between two.

        epoch (float): The epoch; the next unless given.
        ValueError: For an epoch below 0.
        """
        if epoch is None and self.last_epoch < 0:
            epoch = 0
        if epoch is None:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            self._seek(epoch)
        self.last_epoch: int = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            rates = self.get_lr()
        finally:
            self._get_lr_called_within_step = False
        self._set_rates(rates)

    def _seek(self, epoch: Any) -> None:
        """Find the period of an epoch, and the place in it."""
        if epoch < 0:
            raise ValueError(f"Expected non-negative epoch, but got {epoch}")
        if epoch < self.T_0:
            self.T_i, self.T_cur = self.T_0, epoch
        elif self.T_mult == 1:
            self.T_cur = epoch % self.T_0
        else:
            ratio = self.T_mult
            period = int(math.log(epoch / self.T_0 * (ratio - 1) + 1, ratio))
            self.T_cur = epoch - self.T_0 * (ratio**period - 1) / (ratio - 1)
            self.T_i = self.T_0 * ratio**period


class _ByFunctions(LRScheduler):
    """Has a function for each group; objects among them are saved, functions are not."""

    lr_lambdas: list[Any]

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Callable[[int], float] | list[Callable[[int], float]],
        last_epoch: int = -1,
    ) -> None:
        self.optimizer = optimizer
        count = len(optimizer.param_groups)
        if not isinstance(lr_lambda, (list, tuple)):
            self.lr_lambdas = [lr_lambda] * count
        elif len(lr_lambda) != count:
            raise ValueError(f"Expected {count} lr_lambdas, but got {len(lr_lambda)}")
        else:
            self.lr_lambdas = list(lr_lambda)
        self._check_functions()
        super().__init__(optimizer, last_epoch)

    def _check_functions(self) -> None:
        """Raise for what the class does not take."""

    def state_dict(self) -> dict[str, Any]:
        """All but the optimizer; of functions that are objects, their attributes.

        -> dict: Attributes by their names.
        """
        state = super().state_dict()
        state.pop("lr_lambdas", None)
        state["lr_lambdas"] = [
            None if isinstance(function, types.FunctionType) else function.__dict__.copy()
            for function in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what `state_dict` returned; functions stay the present ones.

        state_dict (dict): What `state_dict` returned.
        """
        rest = {name: value for name, value in state_dict.items() if name != "lr_lambdas"}
        self.__dict__.update(rest)
        for function, known in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if known is not None:
                function.__dict__.update(known)


@example("lambda epoch: 1 / (1 + epoch)", [1.0, 0.5, 0.333], digits=3)
class LambdaLR(_ByFunctions):
    """The first rate times a function of the epoch.

    ValueError: For a list of another length.
    """

    def get_lr(self) -> list[Rate]:
        self._warn_outside_of_step()
        pairs = zip(self.lr_lambdas, self.base_lrs, strict=True)
        return [base * function(self.last_epoch) for function, base in pairs]


@example("lambda epoch: 0.5", [1.0, 0.5, 0.25])
class MultiplicativeLR(_ByFunctions):
    """The rate is multiplied by a function of the epoch at each epoch.

    ValueError: For a list of another length.
    TypeError: For what is no function.
    """

    def _check_functions(self) -> None:
        for function in self.lr_lambdas:
            if not callable(function):
                raise TypeError(
                    f"lr_lambda should be a function, but got {type(function).__name__}"
                )

    def get_lr(self) -> list[Rate]:
        self._warn_outside_of_step()
        if self._is_initial:
            return self._rates()
        pairs = zip(self.lr_lambdas, self.optimizer.param_groups, strict=True)
        return [group["lr"] * function(self.last_epoch) for function, group in pairs]
