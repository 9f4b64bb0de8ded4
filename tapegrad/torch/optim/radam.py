"""RAdam: L. Liu et al. (2020), On the variance of the adaptive learning rate and beyond."""

from __future__ import annotations

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.optim._first_order import FirstOrder, Settings, State, counted, decayed
from tapegrad.torch.optim.adam import average
from tapegrad.torch.optim.optimizer import ParamsT


class RAdam(FirstOrder):
    """Adam, rectified: it divides by the root only when enough squares have been averaged.

    betas (tuple of float): The factors by which the average gradient and the average square decay.
    ValueError: For settings out of range.
    Notes: L. Liu and others, On the variance of the adaptive learning rate and beyond (2020).

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.RAdam([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8000], requires_grad=True)
    """

    _settings = (
        "lr betas eps weight_decay maximize "
        "foreach capturable decoupled_weight_decay differentiable"
    )
    _not_negative = ("eps", "weight_decay")
    _averages = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(params, locals())

    def _move(self, value: Value, gradient: Value, known: State, group: Settings) -> None:
        """Change an array and its averages in place."""
        count, rate, (beta1, beta2) = counted(known), group["lr"], group["betas"]
        gradient = decayed(value, gradient, group)
        mean, square = known["exp_avg"], known["exp_avg_sq"]
        average(mean, square, gradient, beta1, beta2)
        rest = 1 - beta2**count
        step = mean * (rate / (1 - beta1**count))
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * count * beta2**count / rest
        if length > 5:
            above, below = (length - 4) * (length - 2) * longest, (longest - 4) * (longest - 2)
            rectified = (above / (below * length)) ** 0.5
            step = step * (rectified * rest**0.5) / (np.sqrt(square) + group["eps"])
        value -= step


__all__ = ["RAdam"]
