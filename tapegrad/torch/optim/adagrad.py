"""Adagrad: J. Duchi, E. Hazan, Y. Singer (2011), Adaptive subgradient methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch.optim._first_order import (
    FirstOrder,
    as_real,
    counted,
    decayed,
    require_not_negative,
    require_one_kind,
    require_rate,
    zero_count,
)
from tapegrad.torch.optim.optimizer import ParamsT


class Adagrad(FirstOrder):
    """Steps against the gradient, divided by the root of the sum of all squares so far.

    Parameters
    ----------
    lr_decay : float, default 0
        Step n has the rate lr / (1 + (n - 1) * lr_decay).
    initial_accumulator_value : float, default 0
        The sum before the first step.

    Raises
    ------
    ValueError
        For settings out of range.
    RuntimeError
        For `fused` with `differentiable` or `foreach`.

    Notes
    -----
    J. Duchi, E. Hazan, Y. Singer, Adaptive subgradient methods (2011).

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adagrad([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

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
        require_rate(lr)
        require_not_negative(lr_decay, "lr_decay value")
        require_not_negative(weight_decay, "weight_decay value")
        require_not_negative(initial_accumulator_value, "initial_accumulator_value value")
        require_not_negative(eps, "epsilon value")
        settings = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, settings)
        require_one_kind(settings)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param] = self._begin(param, {**group, **settings})

    def _begin(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """No steps yet, and the initial sum."""
        total = np.empty_like(param._value)
        as_real(total)[...] = group["initial_accumulator_value"]
        return {"step": zero_count(group), "sum": of_value(total)}

    def share_memory(self) -> None:
        """Do nothing: the threads of a process share its memory."""

    def _move(
        self, value: Value, gradient: Value, known: dict[str, Any], group: dict[str, Any]
    ) -> None:
        """Change an array and its sum in place."""
        rate = group["lr"] / (1 + (counted(known) - 1) * group["lr_decay"])
        gradient = decayed(value, gradient, group)
        total = known["sum"]
        total += np.square(gradient)
        value -= rate * (gradient / (np.sqrt(total) + group["eps"]))


__all__ = ["Adagrad"]
