"""Modules made without first values. Knows signatures of modules."""

from __future__ import annotations

import inspect
from typing import Any

from tapegrad.torch import random
from tapegrad.torch.nn.module.module import Module


def skip_init(module_cls: Any, *args: Any, **kwargs: Any) -> Any:
    """Make a module whose parameters and buffers have any values, and draw no random numbers.

    module_cls (type): The class.
    *args: What it is called with.
    **kwargs: What it is called with, by name.
    -> Module: The module.
    RuntimeError: For what is no module, and for one that has no argument `device`.

    >>> torch.nn.utils.skip_init(torch.nn.Linear, 2, 3)
    Linear(in_features=2, out_features=3, bias=True)
    """
    if not issubclass(module_cls, Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    state = random.get_rng_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        random.set_rng_state(state)


__all__ = ["skip_init"]
