"""Schedules that the program gives as functions of the epoch."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from tapegrad.torch.optim.lr_scheduler._scheduler import LRScheduler, Rate
from tapegrad.torch.optim.optimizer import Optimizer


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


class LambdaLR(_ByFunctions):
    """The first rate times a function of the epoch.

    ValueError: For a list of another length.

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 1 / (1 + epoch))
    >>> rates = []
    >>> for _ in range(3):
    ...     rates += [round(rate, 3) for rate in scheduler.get_last_lr()]
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.333]
    """

    def get_lr(self) -> list[Rate]:
        self._warn_outside_of_step()
        pairs = zip(self.lr_lambdas, self.base_lrs, strict=True)
        return [base * function(self.last_epoch) for function, base in pairs]


class MultiplicativeLR(_ByFunctions):
    """The rate is multiplied by a function of the epoch at each epoch.

    ValueError: For a list of another length.
    TypeError: For what is no function.

    >>> optimizer = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    >>> scheduler = torch.optim.lr_scheduler.MultiplicativeLR(optimizer, lambda epoch: 0.5)
    >>> rates = []
    >>> for _ in range(3):
    ...     rates += scheduler.get_last_lr()
    ...     optimizer.step()
    ...     scheduler.step()
    >>> rates
    [1.0, 0.5, 0.25]
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
