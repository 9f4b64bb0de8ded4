"""Adamax: D. Kingma, J. Ba (2015), Adam: a method for stochastic optimization, section 7.1."""

from __future__ import annotations

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.optim._first_order import FirstOrder, Settings, State, counted, decayed
from tapegrad.torch.optim.optimizer import ParamsT


class Adamax(FirstOrder):
    """Adam with the largest absolute value, which decays, in place of the root of the square.

    betas (tuple of float): The factors by which the average gradient and the largest absolute
        value decay.
    eps: Added to the absolute values of the gradient.
    ValueError: For settings out of range.
    Notes: D. Kingma, J. Ba, Adam: a method for stochastic optimization (2015), section 7.1.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adamax([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    _settings = "lr betas eps weight_decay foreach maximize differentiable capturable"
    _not_negative = ("eps", "weight_decay")
    _averages = ("exp_avg", "exp_inf")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(params, locals())

    def _move(self, value: Value, gradient: Value, known: State, group: Settings) -> None:
        """Change an array, its average and its largest gradient in place."""
        count, (beta1, beta2) = counted(known), group["betas"]
        gradient = decayed(value, gradient, group)
        mean, largest = known["exp_avg"], known["exp_inf"]
        mean += (1 - beta1) * (gradient - mean)
        largest[...] = np.maximum(beta2 * largest, np.abs(gradient) + group["eps"])
        value -= mean / largest * (group["lr"] / (1 - beta1**count))


__all__ = ["Adamax"]
