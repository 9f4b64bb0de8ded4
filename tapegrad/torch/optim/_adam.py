"""Adam and AdamW: D. Kingma, J. Ba (2015); I. Loshchilov, F. Hutter (2019)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._dtypes import default_float
from tapegrad.torch._graph.versions import count_write
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch.optim._optimizer import Optimizer, as_real, number_of, require_not_negative


class Adam(Optimizer):
    """Steps against the average gradient, divided by the root of the average square.

    Both averages decay exponentially; betas are the factors. lr: the learning rate. eps: is added
    to the root. weight_decay: this times the parameter is added to its gradient. amsgrad: divide
    by the largest average square so far. maximize: go along the gradient, not against it.
    """

    decoupled = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        require_not_negative(lr, "learning rate")
        require_not_negative(eps, "epsilon value")
        for place, beta in enumerate(betas):
            if not 0 <= number_of(beta) < 1:
                raise ValueError(f"Invalid beta parameter at index {place}: {beta}")
        require_not_negative(weight_decay, "weight_decay value")
        settings = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "amsgrad": amsgrad,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
            "fused": fused,
            "decoupled_weight_decay": self.decoupled,
        }
        super().__init__(params, settings)

    def update(self, group: dict[str, Any]) -> None:
        """Change the parameters of a group."""
        rate = number_of(group["lr"])
        for param in group["params"]:
            gradient = param._grad
            if gradient is None:
                continue
            value, step = as_real(param._value), as_real(gradient._value)
            if group["maximize"]:
                step = -step
            decay = group["weight_decay"]
            if decay and group["decoupled_weight_decay"]:
                value *= 1 - rate * decay
            elif decay:
                step = step + decay * value
            self._move(param, value, step, rate, group)
            count_write(param)

    def _move(
        self, param: Tensor, value: Value, step: Value, rate: float, group: dict[str, Any]
    ) -> None:
        known = self.state[param]
        if not known:
            known["step"] = of_value(np.zeros((), default_float()))
            names = ["exp_avg", "exp_avg_sq", "max_exp_avg_sq"][: 3 if group["amsgrad"] else 2]
            known.update({name: of_value(np.zeros_like(param._value)) for name in names})
        beta1, beta2 = map(number_of, group["betas"])
        known["step"]._value += 1
        count = float(known["step"]._value)
        mean, square = as_real(known["exp_avg"]._value), as_real(known["exp_avg_sq"]._value)
        mean += (step - mean) * (1 - beta1)
        square *= beta2
        square += (1 - beta2) * np.square(step)
        if group["amsgrad"]:
            largest = as_real(known["max_exp_avg_sq"]._value)
            square = np.maximum(largest, square, out=largest)
        root = np.sqrt(square)
        root *= 1 / math.sqrt(1 - beta2**count)
        root += group["eps"]
        np.divide(mean, root, out=root)
        root *= rate / (1 - beta1**count)
        np.subtract(value, root, out=value)


class AdamW(Adam):
    """Adam with decoupled weight decay, which scales the parameters, not their gradients."""

    decoupled = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, **options)
