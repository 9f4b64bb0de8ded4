"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._graph.versions import count_write
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch.optim._optimizer import Optimizer, number_of, require_not_negative


class SGD(Optimizer):
    """Steps against the gradient, with optional momentum.

    lr: the learning rate. momentum: the factor on the last step, to which the gradient is added.
    dampening: the gradient is added times 1 - dampening. weight_decay: this times the parameter is
    added to its gradient. nesterov: the step is the gradient plus momentum times that sum.
    maximize: go along the gradient, not against it.

    >>> import tapegrad.torch as torch
    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    def __init__(
        self,
        params: Iterable[Any],
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
        require_not_negative(lr, "learning rate")
        require_not_negative(momentum, "momentum value")
        require_not_negative(weight_decay, "weight_decay value")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
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
        super().__init__(params, settings)

    def update(self, group: dict[str, Any]) -> None:
        """Change the parameters of a group."""
        rate, decay = number_of(group["lr"]), number_of(group["weight_decay"])
        momentum, maximize = group["momentum"], group["maximize"]
        for param in group["params"]:
            gradient = param._grad
            if gradient is None:
                continue
            value, step = param._value, gradient._value
            if maximize:
                step = -step
            if decay:
                step = step + decay * value
            if momentum:
                step = self._with_momentum(param, step, group)
            np.subtract(value, step * rate, out=value)
            count_write(param)

    def _with_momentum(self, param: Tensor, step: Value, group: dict[str, Any]) -> Value:
        momentum, known = group["momentum"], self.state[param]
        buffer = known.get("momentum_buffer")
        if buffer is None:
            buffer = known["momentum_buffer"] = of_value(step.copy())
        else:
            buffer._value *= momentum
            buffer._value += (1 - group["dampening"]) * step
        return step + momentum * buffer._value if group["nesterov"] else buffer._value
