"""Muon: K. Jordan and others (2024), steps that are made orthogonal, for matrices."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.optim._first_order import FirstOrder, Settings, State, require, zeros
from tapegrad.torch.optim.optimizer import ParamsT


class Muon(FirstOrder):
    """Steps along the running average of the gradients, made almost orthogonal; for matrices.

    An odd polynomial of degree five is applied to the average again and again: it brings the
    singular values close to one. As in PyTorch that is done in numbers of bfloat16.

    params (iterable): Matrices, pairs of a name and one, or dicts with "params" and settings of
        their own.
    weight_decay: A step scales the parameters by 1 - lr * weight_decay first.
    momentum: The factor by which the average decays.
    nesterov: Go along the gradient and the average.
    ns_coefficients (tuple of float): The three coefficients of the polynomial.
    eps: The least norm that the average is divided by.
    ns_steps: How often the polynomial is applied.
    adjust_lr_fn ({"original", "match_rms_adamw"}): How the learning rate depends on the shape;
        "original" unless given.
    ValueError: For settings out of range, and parameters that are no matrices.
    Notes: K. Jordan and others, Muon: an optimizer for hidden layers in neural networks (2024).

    >>> w = torch.eye(2, requires_grad=True)
    >>> optimizer = torch.optim.Muon([w], lr=0.1)
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> bool((w.diagonal() < 1).all())
    True
    """

    _settings = "lr weight_decay momentum nesterov ns_coefficients eps ns_steps adjust_lr_fn"
    _decays = False
    later_settings: ClassVar[dict[str, Any]] = {}

    def __init__(
        self,
        params: ParamsT,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        require(lr >= 0, "Learning rate should be >= 0", lr)
        require(momentum >= 0, "momentum should be >= 0", momentum)
        require(weight_decay >= 0, "weight decay should be >= 0", weight_decay)
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        super().__init__(params, locals())
        for group in self.param_groups:
            for param in group["params"]:
                if param.ndim != 2:
                    raise ValueError(
                        "Muon only supports 2D parameters whereas we found a parameter with "
                        f"size: {param.size()}"
                    )

    def _begin(self, param: Tensor, group: Settings) -> State:
        """An average of zero."""
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        return zeros(param, "momentum_buffer")

    def _move(self, value: Value, gradient: Value, known: State, group: Settings) -> None:
        """Change an array and its average in place."""
        momentum, mean = group["momentum"], known["momentum_buffer"]
        mean += (gradient - mean) * (1 - momentum)
        step = gradient + (mean - gradient) * momentum if group["nesterov"] else mean
        step = orthogonalized(step, group["ns_coefficients"], group["ns_steps"], group["eps"])
        rate = group["lr"]
        value *= 1 - rate * group["weight_decay"]
        value -= (step * (rate * _factor(value.shape, group["adjust_lr_fn"]))).astype(value.dtype)


def orthogonalized(
    step: Value, coefficients: tuple[float, float, float], times: int, eps: float
) -> Value:
    """A matrix with its singular values brought close to one, by the Newton-Schulz iteration."""
    if times >= 100:
        raise ValueError("Number of steps must be less than 100 for computational efficiency")
    if len(coefficients) != 3:
        raise ValueError("Coefficients must be a tuple of exactly 3 values")
    a, b, c = (np.float32(part) for part in coefficients)
    tall = step.shape[0] > step.shape[1]
    x = as_bfloat16(step.T if tall else step)
    norm = as_bfloat16(np.sqrt(np.sum(np.square(x, dtype=np.float32))))
    x = as_bfloat16(x / np.maximum(norm, as_bfloat16(np.float32(eps))))
    for _ in range(times):
        gram = as_bfloat16(x @ x.T)
        polynomial = as_bfloat16(b * gram + c * (gram @ gram))
        x = as_bfloat16(a * x + polynomial @ x)
    return x.T if tall else x


def as_bfloat16(array: Value) -> Any:
    """Numbers in single precision, rounded to the eight bits of bfloat16, to even."""
    bits = np.ascontiguousarray(array, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000
    made = rounded.astype(np.uint32).view(np.float32)
    return np.where(np.isfinite(array), made, array).reshape(np.shape(array))


def _factor(shape: tuple[int, ...], how: str | None) -> float:
    """By how much the shape of a matrix changes the learning rate."""
    rows, columns = shape
    if how == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


__all__ = ["Muon"]
