"""Adafactor: N. Shazeer, M. Stern (2018), Adafactor: adaptive learning rates, sublinear memory."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._dtypes import default_float
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch.optim._first_order import FirstOrder, Settings, State, exactly, require
from tapegrad.torch.optim.optimizer import ParamsT


class Adafactor(FirstOrder):
    """Steps divided by the root of an average square, of which rows and columns alone are kept.

    The averages of a matrix, or of each of several, are those of its rows and of its columns.

    lr (float or Tensor): The greatest relative step, which falls as 1 / sqrt(steps).
    beta2_decay: The square of a step counts `steps**beta2_decay` in the average.
    eps (tuple of float): The least root, None for that of the dtype, and the least scale of a
        parameter.
    d: The greatest root of the mean square of a step.
    weight_decay: A step scales the parameters by 1 - lr * weight_decay first.
    ValueError: For settings out of range.
    Notes: N. Shazeer, M. Stern, Adafactor: adaptive learning rates with sublinear memory cost
        (2018).

    >>> w = torch.ones(2, 2, requires_grad=True)
    >>> optimizer = torch.optim.Adafactor([w])
    >>> (w**2).sum().backward()
    >>> optimizer.step()
    >>> w
    tensor([[0.9900, 0.9900],
            [0.9900, 0.9900]], requires_grad=True)
    """

    _settings = "lr beta2_decay eps d weight_decay foreach maximize"
    _decays = False
    later_settings: ClassVar[dict[str, Any]] = {"foreach": None}

    def __init__(
        self,
        params: ParamsT,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        require(lr >= 0, "Learning rate should be >= 0", lr)
        require(beta2_decay <= 0, "beta2_decay should be <= 0", beta2_decay)
        require(eps[0] is None or eps[0] >= 0, "epsilon1 should be >= 0", eps[0])
        require(eps[1] >= 0, "epsilon2 should be >= 0", eps[1])
        require(d >= 1, "Clipping threshold d should be >= 1", d)
        require(weight_decay >= 0, "weight_decay should be >= 0", weight_decay)
        super().__init__(params, locals())

    def _begin(self, param: Tensor, group: Settings) -> State:
        """No steps yet, and averages of zero: of rows and columns, or of a vector's elements."""
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        value = param._value
        made = {"step": of_value(np.zeros((), default_float()))}
        if value.ndim > 1:
            made["row_var"] = of_value(np.zeros_like(value[..., :1]))
            made["col_var"] = of_value(np.zeros_like(value[..., :1, :]))
        else:
            made["variance"] = of_value(np.zeros_like(value))
        return made

    def _move(self, value: Value, gradient: Value, known: State, group: Settings) -> None:
        """Change an array and its averages in place."""
        count, rate = exactly(known["step"]), group["lr"]
        least, scale = group["eps"]
        least = float(np.finfo(value.dtype).eps) if least is None else least
        share = count ** group["beta2_decay"]
        length = max(scale, _root_mean_square(value)) * min(rate, count**-0.5)
        if group["weight_decay"] != 0:
            value *= 1 - rate * group["weight_decay"]
        if value.ndim > 1:
            rows, columns = known["row_var"], known["col_var"]
            rows += (np.mean(np.square(gradient), -1, keepdims=True) - rows) * share
            columns += (np.mean(np.square(gradient), -2, keepdims=True) - columns) * share
            square = rows @ columns
            square /= np.maximum(np.mean(rows, -2, keepdims=True), least)
        else:
            square = known["variance"]
            square += (np.square(gradient) - square) * share
        step = gradient / np.sqrt(np.maximum(square, least * least))
        value -= step * (length / max(1.0, _root_mean_square(step) / group["d"]))


def _root_mean_square(array: Value) -> float:
    return float(np.sqrt(np.sum(np.square(array)))) / float(array.size**0.5)


__all__ = ["Adafactor"]
