"""`DataParallel`: as in PyTorch where there is no other device, it calls its module.

Knows modules. Must not know devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tapegrad.torch.nn.module.module import Module


class DataParallel(Module):
    """A module that calls another, `module`, on the CPU: without other devices nothing is split.

    The paths of its parameters begin with "module.", as they do in states that were saved of such
    a model.

    >>> torch.nn.DataParallel(torch.nn.Linear(3, 2))(torch.ones(4, 3)).shape
    torch.Size([4, 2])
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
        """Output of the module.

        *inputs: What it is called with.
        **kwargs: What it is called with, by name.
        -> object: Its result.
        """
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Any,
    inputs: Any,
    device_ids: Sequence[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """Output of a module for inputs: `DataParallel` as a function.

    inputs: What it is called with, one or a tuple of them.
    module_kwargs (dict): What it is called with, by name.
    -> object: Its result.

    >>> torch.nn.parallel.data_parallel(torch.nn.Linear(3, 2), torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """
    given = inputs if isinstance(inputs, tuple) else (inputs,) if inputs is not None else ()
    return module(*given, **(module_kwargs or {}))


__all__ = ["DataParallel", "data_parallel"]
