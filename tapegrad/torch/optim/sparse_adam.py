"""SparseAdam: Adam for sparse gradients, which this layer has not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.torch._graph.modes import enable_grad
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.optim._first_order import require_betas, require_rate
from tapegrad.torch.optim.optimizer import Optimizer, ParamsT


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
        if not eps > 0:
            raise ValueError(f"Invalid epsilon value: {eps}")
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


__all__ = ["SparseAdam"]
