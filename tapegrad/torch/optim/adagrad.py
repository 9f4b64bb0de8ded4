"""Adagrad: J. Duchi, E. Hazan, Y. Singer (2011), Adaptive subgradient methods."""

from __future__ import annotations

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch.optim._first_order import (
    FirstOrder,
    Settings,
    State,
    as_real,
    exactly,
    stepped,
    zero_count,
)
from tapegrad.torch.optim.optimizer import ParamsT


@stepped("Adagrad([w], lr=0.1)", "0.9000")
class Adagrad(FirstOrder):
    """Steps against the gradient, divided by the root of the sum of all squares so far.

    lr_decay: Step n has the rate lr / (1 + (n - 1) * lr_decay).
    initial_accumulator_value: The sum before the first step.
    ValueError: For settings out of range.
    RuntimeError: For `fused` with `differentiable` or `foreach`.
    Notes: J. Duchi, E. Hazan, Y. Singer, Adaptive subgradient methods (2011).
    """

    _settings = (
        "lr lr_decay eps weight_decay initial_accumulator_value "
        "foreach maximize differentiable fused"
    )
    _not_negative = ("lr_decay", "weight_decay", "initial_accumulator_value", "eps")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(params, locals())
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param] = self._begin(param, {**group, **self.defaults})

    def _begin(self, param: Tensor, group: Settings) -> State:
        """No steps yet, and the initial sum."""
        total = np.empty_like(param._value)
        as_real(total)[...] = group["initial_accumulator_value"]
        return {"step": zero_count(group), "sum": of_value(total)}

    def share_memory(self) -> None:
        """Do nothing: the threads of a process share its memory."""

    def _move(self, value: Value, gradient: Value, known: State, group: Settings) -> None:
        """Change an array and its sum in place."""
        rate = group["lr"] / (1 + (exactly(known["step"]) - 1) * group["lr_decay"])
        total = known["sum"]
        total += np.square(gradient)
        value -= rate * (gradient / (np.sqrt(total) + group["eps"]))


__all__ = ["Adagrad"]
