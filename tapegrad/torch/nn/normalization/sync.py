"""`SyncBatchNorm`: batch norm over the examples of all processes, of which there is one here.

Knows batch norms. Must not know processes: the statistics are those of the one.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch._dtypes import device, dtype
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.normalization.modules import _BatchNorm

_SETTINGS = "num_features", "eps", "momentum", "affine", "track_running_stats"


class SyncBatchNorm(_BatchNorm):
    """Channels with mean 0 and variance 1 over the batch, of (n, channels, ...) of any rank.

    There is one process here, whose statistics are those of all.

    Parameters
    ----------
    momentum : float or None, default 0.1
        How far the running statistics move towards those of a batch; None for the means over all
        batches.

    >>> torch.nn.SyncBatchNorm(3)(torch.ones(2, 3)).shape
    torch.Size([2, 3])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: device | str | None = None,
        dtype: dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(f"expected at least 2D input (got {input.ndim}D input)")
        if input.shape[1] == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    @classmethod
    def convert_sync_batchnorm(cls, module: Any, process_group: Any = None) -> Any:
        """Replace all batch norms in a module, with their parameters and states.

        Parameters
        ----------
        module : Module
            The module, which is changed.

        Returns
        -------
        Module
            The module, or, if it is a batch norm, its replacement.
        """
        made = module
        if isinstance(module, _BatchNorm):
            made = cls._of(module, process_group)
        for name, child in list(module.named_children()):
            made.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return made

    @classmethod
    def _of(cls, norm: Any, process_group: Any) -> Any:
        settings = {name: getattr(norm, name) for name in _SETTINGS}
        made: Any = cls(**settings, process_group=process_group, bias=norm.bias is not None)
        with no_grad():
            for name, parameter in norm._parameters.items():
                setattr(made, name, parameter)
        for name, buffer in norm._buffers.items():
            setattr(made, name, buffer)
        made.training = norm.training
        return made


__all__ = ["SyncBatchNorm"]
