"""NAdam: T. Dozat (2016), Incorporating Nesterov momentum into Adam."""

from __future__ import annotations

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.optim._first_order import (
    FirstOrder,
    Settings,
    State,
    counted,
    decayed,
    exactly,
    one,
    zero_count,
    zeros,
)
from tapegrad.torch.optim.adam import average
from tapegrad.torch.optim.optimizer import ParamsT


class NAdam(FirstOrder):
    """Adam whose step looks ahead, as Nesterov's momentum does.

    betas (tuple of float): The factors by which the average gradient and the average square decay.
    momentum_decay: How fast the momentum of step n, `betas[0] * (1 - 0.96**(n * momentum_decay) /
        2)`, comes to betas[0].
    ValueError: For settings out of range.
    Notes: T. Dozat, Incorporating Nesterov momentum into Adam (2016).

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.NAdam([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8944], requires_grad=True)
    """

    _settings = (
        "lr betas eps weight_decay momentum_decay decoupled_weight_decay "
        "maximize foreach capturable differentiable"
    )
    _not_negative = ("eps", "weight_decay", "momentum_decay")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, locals())

    def _begin(self, param: Tensor, group: Settings) -> State:
        """No steps yet, averages of zero, and a product of no factors."""
        means = zeros(param, "exp_avg", "exp_avg_sq")
        return {"step": zero_count(group), "mu_product": one(), **means}

    def _move(self, value: Value, gradient: Value, known: State, group: Settings) -> None:
        """Change an array and its averages in place."""
        count, rate, (beta1, beta2) = counted(known), group["lr"], group["betas"]
        gradient = decayed(value, gradient, group)
        decay = group["momentum_decay"]
        mu = beta1 * (1 - 0.5 * 0.96 ** (count * decay))
        mu_next = beta1 * (1 - 0.5 * 0.96 ** ((count + 1) * decay))
        known["mu_product"] *= mu
        product = exactly(known["mu_product"])
        mean, square = known["exp_avg"], known["exp_avg_sq"]
        average(mean, square, gradient, beta1, beta2)
        root = np.sqrt(square / (1 - beta2**count)) + group["eps"]
        value -= gradient / root * (rate * (1 - mu) / (1 - product))
        value -= mean / root * (rate * mu_next / (1 - product * mu_next))


__all__ = ["NAdam"]
