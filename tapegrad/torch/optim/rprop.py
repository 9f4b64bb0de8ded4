"""Rprop: M. Riedmiller, H. Braun (1993), A direct adaptive method for faster backpropagation."""

from __future__ import annotations

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch.optim._first_order import (
    FirstOrder,
    Settings,
    State,
    as_real,
    number_of,
    stepped,
)
from tapegrad.torch.optim.optimizer import ParamsT


@stepped("Rprop([w], lr=0.1)", "0.9000")
class Rprop(FirstOrder):
    """Steps of a size for each number, in the direction of its gradient's sign.

    lr (float or Tensor): The first size.
    etas (tuple of float): The factors on the size where the sign has changed, and where it has
        not.
    step_sizes (tuple of float): The least and the largest size.
    ValueError: For settings out of range.
    Notes: M. Riedmiller, H. Braun, A direct adaptive method for faster backpropagation learning
        (1993).
    """

    _settings = "lr etas step_sizes foreach maximize differentiable capturable"
    _averages = ("prev",)

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        if not 0 < etas[0] < 1 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, locals())

    def _begin(self, param: Tensor, group: Settings) -> State:
        """No steps yet, no earlier gradient, and the first size."""
        sizes = np.empty_like(param._value)
        as_real(sizes)[...] = number_of(group["lr"])
        return {**super()._begin(param, group), "step_size": of_value(sizes)}

    def _move(self, value: Value, gradient: Value, known: State, group: Settings) -> None:
        """Change an array, its sizes and its earlier gradient in place."""
        less, more = group["etas"]
        earlier, size = known["prev"], known["step_size"]
        agreed = gradient * earlier
        turned = agreed < 0
        kind = size.dtype.type  # a factor in double precision would not change the dtype alone
        size *= np.where(agreed > 0, kind(more), np.where(turned, kind(less), kind(1)))
        size[...] = np.clip(size, *group["step_sizes"])
        gradient = np.where(turned, kind(0), gradient)
        value -= np.sign(gradient) * size
        earlier[...] = gradient


__all__ = ["Rprop"]
