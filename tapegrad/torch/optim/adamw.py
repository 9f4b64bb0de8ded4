"""AdamW: I. Loshchilov, F. Hutter (2019), Decoupled weight decay regularization."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.optim.adam import Adam
from tapegrad.torch.optim.optimizer import ParamsT


class AdamW(Adam):
    """Adam with decoupled weight decay, which scales the parameters, not their gradients.

    betas (tuple of float or of Tensor): The factors by which the average gradient and the average
        square decay.
    weight_decay: A step scales the parameters by 1 - lr * weight_decay first.
    amsgrad: Divide by the largest average square so far.
    ValueError: For settings out of range, and tensors as settings with `foreach`.
    RuntimeError: For `fused` with `differentiable` or `foreach`.
    Notes: I. Loshchilov, F. Hutter, Decoupled weight decay regularization (2019).

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> optimizer = torch.optim.AdamW([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([0.8990], requires_grad=True)
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


__all__ = ["AdamW"]
