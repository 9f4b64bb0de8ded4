"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from tapegrad._core.types import Value
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.optim._first_order import (
    FirstOrder,
    decayed,
    is_set,
    require_not_negative,
    require_one_kind,
    require_rate,
)
from tapegrad.torch.optim.optimizer import ParamsT


class SGD(FirstOrder):
    """Steps against the gradient, with optional momentum.

    Parameters
    ----------
    momentum : float, default 0
        The factor on the last step, to which the gradient is added.
    dampening : float, default 0
        The gradient is added times 1 - dampening.
    weight_decay : float or Tensor, default 0
        This times a parameter is added to its gradient.
    nesterov : bool, default False
        Step by the gradient plus momentum times that sum.

    Raises
    ------
    ValueError
        For settings out of range, and for `nesterov` without momentum or with dampening.
    RuntimeError
        For `fused` with `differentiable` or `foreach`.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float | Tensor = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        require_rate(lr)
        require_not_negative(momentum, "momentum value")
        require_not_negative(weight_decay, "weight_decay value")
        settings = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, settings)
        require_one_kind(settings)

    def _begin(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """Nothing is known before the first step."""
        return {}

    def _move(
        self, value: Value, gradient: Value, known: dict[str, Any], group: dict[str, Any]
    ) -> None:
        """Change an array and its buffer of momentum in place."""
        step = decayed(value, gradient, group)
        momentum = group["momentum"]
        if is_set(momentum):
            buffer = known.get("momentum_buffer")
            if buffer is None:
                buffer = known["momentum_buffer"] = step.copy()
            else:
                buffer *= momentum
                buffer += (1 - group["dampening"]) * step
            step = step + momentum * buffer if group["nesterov"] else buffer
        value -= step * group["lr"]


__all__ = ["SGD"]
