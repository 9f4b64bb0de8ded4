"""Adadelta: M. Zeiler (2012), ADADELTA: an adaptive learning rate method."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.optim._first_order import (
    FirstOrder,
    counted,
    decayed,
    require_not_negative,
    require_rate,
    zero_count,
    zeros,
)
from tapegrad.torch.optim.optimizer import ParamsT


class Adadelta(FirstOrder):
    """Steps against the gradient, times the average size of past steps over that of gradients.

    Parameters
    ----------
    rho : float, default 0.9
        The factor by which both averages of squares decay.
    eps : float, default 1e-06
        Added to both.

    Raises
    ------
    ValueError
        For settings out of range.

    Notes
    -----
    M. Zeiler, ADADELTA: an adaptive learning rate method (2012).

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adadelta([w])
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9968], requires_grad=True)
    """

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
        require_rate(lr)
        if not 0 <= rho <= 1:
            raise ValueError(f"Invalid rho value: {rho}")
        require_not_negative(eps, "epsilon value")
        require_not_negative(weight_decay, "weight_decay value")
        settings = {
            "lr": lr,
            "rho": rho,
            "eps": eps,
            "weight_decay": weight_decay,
            "maximize": maximize,
            "capturable": capturable,
            "foreach": foreach,
            "differentiable": differentiable,
        }
        super().__init__(params, settings)

    def _begin(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """No steps yet, and averages of zero."""
        return {"step": zero_count(group), **dict(zeros(param, "square_avg", "acc_delta"))}

    def _move(
        self, value: Value, gradient: Value, known: dict[str, Any], group: dict[str, Any]
    ) -> None:
        """Change an array and its averages in place."""
        counted(known)
        gradient = decayed(value, gradient, group)
        square, moved, rho, eps = (
            known["square_avg"],
            known["acc_delta"],
            group["rho"],
            group["eps"],
        )
        square *= rho
        square += (1 - rho) * np.square(gradient)
        step = np.sqrt(moved + eps) / np.sqrt(square + eps) * gradient
        moved *= rho
        moved += (1 - rho) * np.square(step)
        value -= step * group["lr"]


__all__ = ["Adadelta"]
