"""Adadelta: M. Zeiler (2012), ADADELTA: an adaptive learning rate method."""

from __future__ import annotations

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.optim._first_order import (
    FirstOrder,
    Settings,
    State,
    stepped,
)
from tapegrad.torch.optim.optimizer import ParamsT


@stepped("Adadelta([w])", "0.9968")
class Adadelta(FirstOrder):
    """Steps against the gradient, times the average size of past steps over that of gradients.

    rho: The factor by which both averages of squares decay.
    eps: Added to both.
    ValueError: For settings out of range.
    Notes: M. Zeiler, ADADELTA: an adaptive learning rate method (2012).
    """

    _settings = "lr rho eps weight_decay maximize capturable foreach differentiable"
    _not_negative = ("eps", "weight_decay")
    _averages = ("square_avg", "acc_delta")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0 <= rho <= 1:
            raise ValueError(f"Invalid rho value: {rho}")
        super().__init__(params, locals())

    def _move(self, value: Value, gradient: Value, known: State, group: Settings) -> None:
        """Change an array and its averages in place."""
        square, moved = known["square_avg"], known["acc_delta"]
        rho, eps = group["rho"], group["eps"]
        square *= rho
        square += (1 - rho) * np.square(gradient)
        step = np.sqrt(moved + eps) / np.sqrt(square + eps) * gradient
        moved *= rho
        moved += (1 - rho) * np.square(step)
        value -= step * group["lr"]


__all__ = ["Adadelta"]
