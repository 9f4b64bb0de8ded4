"""Averaged SGD: B. Polyak, A. Juditsky (1992), Acceleration of stochastic approximation."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import in_trace
from tapegrad.torch._dtypes import default_float
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch.optim._first_order import (
    FirstOrder,
    Settings,
    State,
    exactly,
    number_of,
    one,
    stepped,
    zero_count,
    zeros,
)
from tapegrad.torch.optim.optimizer import ParamsT


@stepped("ASGD([w], lr=0.1)", "0.8000")
class ASGD(FirstOrder):
    """Steps against the gradient at a falling rate; the state's `ax` is the average parameter.

    lambd: A step scales the parameters by 1 - lambd times the present rate first.
    alpha: The power by which the rate falls.
    t0: The step from which on parameters are averaged.
    ValueError: For a learning rate or decay below 0.
    Notes: B. Polyak, A. Juditsky, Acceleration of stochastic approximation by averaging (1992).
    """

    _settings = "lr lambd alpha t0 weight_decay foreach maximize differentiable capturable"
    _not_negative = ("weight_decay",)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, locals())

    def _begin(self, param: Tensor, group: Settings) -> State:
        """No steps yet, the first rate, and an average that the first parameter replaces."""
        rate = of_value(np.array(number_of(group["lr"]), default_float()))
        return {"step": zero_count(group), "eta": rate, "mu": one(), **zeros(param, "ax")}

    def _move(self, value: Value, gradient: Value, known: State, group: Settings) -> None:
        """Change an array and its average in place."""
        count, rate, lambd = exactly(known["step"]), group["lr"], group["lambd"]
        eta, mu, mean = exactly(known["eta"]), exactly(known["mu"]), known["ax"]
        value *= 1 - lambd * eta
        value -= eta * gradient
        if mu == 1:
            mean[...] = value
        else:
            mean += (value - mean) * mu
        known["eta"][...] = _rounded(rate / (1 + lambd * rate * count) ** group["alpha"])
        known["mu"][...] = _rounded(1 / max(1, count - group["t0"]))


def _rounded(held: Any) -> Any:
    """A number as the default dtype has it, also for a loaded state of a wider dtype."""
    return held if in_trace(held) else default_float().type(held)


__all__ = ["ASGD"]
