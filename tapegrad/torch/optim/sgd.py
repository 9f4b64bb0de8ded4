"""Stochastic gradient descent."""

from __future__ import annotations

from tapegrad._core.types import Value
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.optim._first_order import FirstOrder, Settings, State, is_set, stepped
from tapegrad.torch.optim.optimizer import ParamsT


@stepped("SGD([w], lr=0.1)", "0.8000")
class SGD(FirstOrder):
    """Steps against the gradient, with optional momentum.

    momentum: The factor on the last step, to which the gradient is added.
    dampening: The gradient is added times 1 - dampening.
    weight_decay (float or Tensor): This times a parameter is added to its gradient.
    nesterov: Step by the gradient plus momentum times that sum.
    ValueError: For settings out of range, and for `nesterov` without momentum or with dampening.
    RuntimeError: For `fused` with `differentiable` or `foreach`.
    """

    _settings = "lr momentum dampening weight_decay nesterov maximize foreach differentiable fused"
    _not_negative = ("momentum", "weight_decay")
    _takes_nan = True  # as in PyTorch's alone

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
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, locals())

    def _begin(self, param: Tensor, group: Settings) -> State:
        """Nothing is known before the first step."""
        return {}

    def _move(self, value: Value, gradient: Value, known: State, group: Settings) -> None:
        """Change an array and its buffer of momentum in place."""
        step = gradient
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
