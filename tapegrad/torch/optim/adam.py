"""Adam: D. Kingma, J. Ba (2015), Adam: a method for stochastic optimization."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.optim._first_order import FirstOrder, Settings, State, counted, decayed, zeros
from tapegrad.torch.optim.optimizer import ParamsT


class Adam(FirstOrder):
    """Steps against the average gradient, divided by the root of the average square.

    betas (tuple of float or of Tensor): The factors by which the average gradient and the average
        square decay.
    amsgrad: Divide by the largest average square so far.
    ValueError: For settings out of range, and tensors as settings with `foreach`.
    RuntimeError: For `fused` with `differentiable` or `foreach`.
    Notes: D. Kingma, J. Ba, Adam: a method for stochastic optimization (2015).

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.Adam([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.9000], requires_grad=True)
    """

    _settings = (
        "lr betas eps weight_decay amsgrad maximize "
        "foreach capturable differentiable fused decoupled_weight_decay"
    )
    _not_negative = ("eps", "weight_decay")
    _averages = ("exp_avg", "exp_avg_sq")

    def __init__(
        self,
        params: ParamsT,
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
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError(
                "lr as a Tensor is not supported for capturable=False and foreach=True"
            )
        super().__init__(params, locals())
        _check_kinds(betas, bool(foreach and not capturable))

    def _begin(self, param: Tensor, group: Settings) -> State:
        """No steps yet, and averages of zero."""
        largest = zeros(param, "max_exp_avg_sq") if group["amsgrad"] else {}
        return {**super()._begin(param, group), **largest}

    def _move(self, value: Value, gradient: Value, known: State, group: Settings) -> None:
        """Change an array and its averages in place."""
        count, rate, (beta1, beta2) = counted(known), group["lr"], group["betas"]
        gradient = decayed(value, gradient, group)
        mean, square = known["exp_avg"], known["exp_avg_sq"]
        average(mean, square, gradient, beta1, beta2)
        if group["amsgrad"]:
            largest = known["max_exp_avg_sq"]
            largest[...] = np.maximum(largest, square)
            square = largest
        root = np.sqrt(square)
        root = root * (1 - beta2**count) ** -0.5
        root += group["eps"]
        step = mean / root
        step *= rate / (1 - beta1**count)
        value -= step


def average(mean: Value, square: Value, gradient: Value, beta1: Any, beta2: Any) -> None:
    """Take a gradient into its running average and that of its square, in place."""
    mean += (gradient - mean) * (1 - beta1)
    square *= beta2
    square += (1 - beta2) * np.square(gradient)


def _check_kinds(betas: tuple[Any, Any], foreach: bool) -> None:
    """Raise ValueError for betas of two kinds, or tensors of several numbers."""
    kinds = [isinstance(beta, Tensor) for beta in betas]
    if kinds[0] != kinds[1] or not all(isinstance(beta, (float, Tensor)) for beta in betas):
        raise ValueError("betas must be either both floats or both Tensors")
    for place, beta in enumerate(betas):
        if isinstance(beta, Tensor):
            if foreach:
                raise ValueError(
                    f"betas[{place}] as a Tensor is not supported for capturable=False and "
                    "foreach=True"
                )
            if beta.numel() != 1:
                raise ValueError(f"Tensor betas[{place}] must be 1-element")


__all__ = ["Adam"]
