"""RMSprop: G. Hinton, Neural networks for machine learning, lecture 6e (2012)."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.optim._first_order import (
    FirstOrder,
    counted,
    decayed,
    is_set,
    require_not_negative,
    require_rate,
    zero_count,
    zeros,
)
from tapegrad.torch.optim.optimizer import ParamsT


class RMSprop(FirstOrder):
    """Steps against the gradient, divided by the root of the average of its square.

    Parameters
    ----------
    alpha : float, default 0.99
        The factor by which the average decays.
    momentum : float, default 0
        The factor on the last step, to which the gradient is added.
    centered : bool, default False
        Divide by the root of the variance, not of the square.

    Raises
    ------
    ValueError
        For settings out of range.

    Notes
    -----
    G. Hinton, Neural networks for machine learning, lecture 6e (2012); `centered` is of A. Graves
    (2013).

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.RMSprop([w], lr=0.01)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

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
        require_rate(lr)
        require_not_negative(eps, "epsilon value")
        require_not_negative(momentum, "momentum value")
        require_not_negative(weight_decay, "weight_decay value")
        require_not_negative(alpha, "alpha value")
        settings = {
            "lr": lr,
            "momentum": momentum,
            "alpha": alpha,
            "eps": eps,
            "centered": centered,
            "weight_decay": weight_decay,
            "capturable": capturable,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
        }
        super().__init__(params, settings)

    def _begin(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """No steps yet, and averages of zero."""
        names = ["square_avg"]
        if group["momentum"] > 0:
            names.append("momentum_buffer")
        if group["centered"]:
            names.append("grad_avg")
        return {"step": zero_count(group), **dict(zeros(param, *names))}

    def _move(
        self, value: Value, gradient: Value, known: dict[str, Any], group: dict[str, Any]
    ) -> None:
        """Change an array and its averages in place."""
        counted(known)
        gradient = decayed(value, gradient, group)
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
