"""Adam and its relatives, which divide by averages of squares or the largest absolute value.

Adam, Adamax: D. Kingma, J. Ba (2015), Adam: a method for stochastic optimization. AdamW:
I. Loshchilov, F. Hutter (2019), Decoupled weight decay regularization. NAdam: T. Dozat (2016),
Incorporating Nesterov momentum into Adam. RAdam: L. Liu et al. (2020), On the variance of the
adaptive learning rate and beyond.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._graph.modes import enable_grad
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.optim._first_order import (
    FirstOrder,
    Settings,
    State,
    exactly,
    number_of,
    one,
    require_betas,
    require_rate,
    stepped,
    zero_count,
    zeros,
)
from tapegrad.torch.optim.optimizer import Optimizer, ParamsT


@stepped("Adam([w], lr=0.1)", "0.9000")
class Adam(FirstOrder):
    """Steps against the average gradient, divided by the root of the average square.

    betas (tuple of float or of Tensor): The factors by which the average gradient and the average
        square decay.
    amsgrad: Divide by the largest average square so far.
    ValueError: For settings out of range, and tensors as settings with `foreach`.
    RuntimeError: For `fused` with `differentiable` or `foreach`.
    Notes: D. Kingma, J. Ba, Adam: a method for stochastic optimization (2015).
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
        count, rate, (beta1, beta2) = exactly(known["step"]), group["lr"], group["betas"]
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


@stepped("AdamW([w], lr=0.1)", "0.8990")
class AdamW(Adam):
    """Adam with decoupled weight decay, which scales the parameters, not their gradients.

    betas (tuple of float or of Tensor): The factors by which the average gradient and the average
        square decay.
    weight_decay: A step scales the parameters by 1 - lr * weight_decay first.
    amsgrad: Divide by the largest average square so far.
    ValueError: For settings out of range, and tensors as settings with `foreach`.
    RuntimeError: For `fused` with `differentiable` or `foreach`.
    Notes: I. Loshchilov, F. Hutter, Decoupled weight decay regularization (2019).
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
        Adam.__init__(**locals(), decoupled_weight_decay=True)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True


@stepped("Adamax([w], lr=0.1)", "0.9000")
class Adamax(FirstOrder):
    """Adam with the largest absolute value, which decays, in place of the root of the square.

    betas (tuple of float): The factors by which the average gradient and the largest absolute
        value decay.
    eps: Added to the absolute values of the gradient.
    ValueError: For settings out of range.
    Notes: D. Kingma, J. Ba, Adam: a method for stochastic optimization (2015), section 7.1.
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
        count, (beta1, beta2) = exactly(known["step"]), group["betas"]
        mean, largest = known["exp_avg"], known["exp_inf"]
        mean += (1 - beta1) * (gradient - mean)
        largest[...] = np.maximum(beta2 * largest, np.abs(gradient) + group["eps"])
        value -= mean / largest * (group["lr"] / (1 - beta1**count))


@stepped("NAdam([w], lr=0.1)", "0.8944")
class NAdam(FirstOrder):
    """Adam whose step looks ahead, as Nesterov's momentum does.

    betas (tuple of float): The factors by which the average gradient and the average square decay.
    momentum_decay: How fast the momentum of step n, `betas[0] * (1 - 0.96**(n * momentum_decay) /
        2)`, comes to betas[0].
    ValueError: For settings out of range.
    Notes: T. Dozat, Incorporating Nesterov momentum into Adam (2016).
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
        count, rate, (beta1, beta2) = exactly(known["step"]), group["lr"], group["betas"]
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


@stepped("RAdam([w], lr=0.1)", "0.8000")
class RAdam(FirstOrder):
    """Adam, rectified: it divides by the root only when enough squares have been averaged.

    betas (tuple of float): The factors by which the average gradient and the average square decay.
    ValueError: For settings out of range.
    Notes: L. Liu and others, On the variance of the adaptive learning rate and beyond (2020).
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
        count, rate, (beta1, beta2) = exactly(known["step"]), group["lr"], group["betas"]
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


class SparseAdam(Optimizer):
    """Adam that moves what a sparse gradient names; for dense gradients it raises, as PyTorch's.

    There are no sparse tensors here, so every gradient is dense: a step raises RuntimeError unless
    no parameter has a gradient. The class is there for programs that name it.

    betas (tuple of float): The factors by which averages decay, in [0, 1).
    eps: Above 0.
    ValueError: For settings out of range.

    >>> w = torch.tensor([1.0], requires_grad=True)
    >>> torch.optim.SparseAdam([w]).step()
    """

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        require_rate(lr)
        for value, what in ((lr, "learning rate"), (eps, "epsilon value")):
            if not number_of(value) > 0.0:
                raise ValueError(f"Invalid {what}: {value}")
        require_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Do nothing, where no parameter has a gradient.

        -> object: The result of the closure, None without one.
        RuntimeError: Where a parameter has a gradient.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            if any(param._grad is not None for param in group["params"]):
                raise RuntimeError(
                    "SparseAdam does not support dense gradients, please consider Adam instead"
                )
        return loss


__all__ = ["Adam", "AdamW", "Adamax", "NAdam", "RAdam", "SparseAdam"]
