"""`DataParallel`: as in PyTorch where there is no other device, it calls its module.

Knows modules. Must not know devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad.torch.nn._module import Module


class DataParallel(Module):
    """A module that calls another, `module`, on the CPU: without other devices nothing is split.

    device_ids, output_device, dim: as in PyTorch, without effect. The paths of its parameters
    begin with "module.", as they do in states that were saved of such a model.
    """

    def __init__(
        self,
        module: Any,
        device_ids: Sequence[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        """What the module gives."""
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Any,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """What a module gives for inputs, one or a tuple of them: `DataParallel` as a function."""
    given = inputs if isinstance(inputs, tuple) else (inputs,) if inputs is not None else ()
    return module(*given, **(module_kwargs or {}))


__all__ = ["DataParallel", "data_parallel"]
