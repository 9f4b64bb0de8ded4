"""RMSprop: G. Hinton, Neural networks for machine learning, lecture 6e (2012)."""

from __future__ import annotations

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.optim._first_order import (
    FirstOrder,
    Settings,
    State,
    is_set,
    stepped,
    zeros,
)
from tapegrad.torch.optim.optimizer import ParamsT


@stepped("RMSprop([w], lr=0.01)", "0.9000")
class RMSprop(FirstOrder):
    """Steps against the gradient, divided by the root of the average of its square.

    alpha: The factor by which the average decays.
    momentum: The factor on the last step, to which the gradient is added.
    centered: Divide by the root of the variance, not of the square.
    ValueError: For settings out of range.
    Notes: G. Hinton, Neural networks for machine learning, lecture 6e (2012); `centered` is of A.
        Graves (2013).
    """

    _settings = (
        "lr momentum alpha eps centered weight_decay capturable foreach maximize differentiable"
    )
    _not_negative = ("eps", "momentum", "weight_decay", "alpha")
    _averages = ("square_avg",)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, locals())

    def _begin(self, param: Tensor, group: Settings) -> State:
        """No steps yet, and averages of zero."""
        made = super()._begin(param, group)
        if group["momentum"] > 0:
            made |= zeros(param, "momentum_buffer")
        if group["centered"]:
            made |= zeros(param, "grad_avg")
        return made

    def _move(self, value: Value, gradient: Value, known: State, group: Settings) -> None:
        """Change an array and its averages in place."""
        square, alpha = known["square_avg"], group["alpha"]
        square *= alpha
        square += (1 - alpha) * np.square(gradient)
        spread = square
        if group["centered"]:
            mean = known["grad_avg"]
            mean += (1 - alpha) * (gradient - mean)
            spread = square - np.square(mean)
        step = gradient / (np.sqrt(spread) + group["eps"])
        if is_set(group["momentum"]):
            buffer = known["momentum_buffer"]
            buffer *= group["momentum"]
            buffer += step
            step = buffer
        value -= step * group["lr"]


__all__ = ["RMSprop"]
