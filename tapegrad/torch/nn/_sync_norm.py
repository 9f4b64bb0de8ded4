"""`SyncBatchNorm`: batch norm over the examples of all processes, of which there is one here.

Knows batch norms. Must not know processes: the statistics are those of the one.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch._dtypes import device, dtype
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn._norm_layers import _BatchNorm

_SETTINGS = "num_features", "eps", "momentum", "affine", "track_running_stats"


class SyncBatchNorm(_BatchNorm):
    """Batch norm of (n, channels, ...) of any rank; `process_group` is kept and has no effect."""

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
        """A module with all batch norms in it replaced, which keep their parameters and state.

        The module itself is changed; it is returned, unless it is a batch norm, whose replacement
        is.
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
