"""`torch.cuda`, as scripts ask for it at their top: there is none.

Functions that only tidy up or seed do nothing; those that need a GPU raise PyTorch's error.
"""

from __future__ import annotations

from typing import Any, NoReturn

from tapegrad.torch.cuda import amp


def is_available() -> bool:
    """False: tensors are computed with NumPy, on the CPU."""
    return False


def is_initialized() -> bool:
    """False."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False."""
    return False


def device_count() -> int:
    """0."""
    return 0


def manual_seed(seed: int) -> None:
    """Do nothing: there is no generator on a GPU. `torch.manual_seed` seeds the CPU's."""


def manual_seed_all(seed: int) -> None:
    """Do nothing: there is no generator on a GPU. `torch.manual_seed` seeds the CPU's."""


def empty_cache() -> None:
    """Do nothing."""


def reset_peak_memory_stats(device: Any = None) -> None:
    """Do nothing."""


def memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """0."""
    return 0


def memory_reserved(device: Any = None) -> int:
    """0."""
    return 0


def _needs_gpu(*_: Any, **__: Any) -> NoReturn:
    """AssertionError: there is no GPU."""
    raise AssertionError("Torch not compiled with CUDA enabled")


init = current_device = get_device_name = get_device_properties = _needs_gpu
get_device_capability = set_device = synchronize = current_stream = _needs_gpu
Event = Stream = mem_get_info = _needs_gpu

__all__ = [
    "Event",
    "Stream",
    "amp",
    "current_device",
    "current_stream",
    "device_count",
    "empty_cache",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "init",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "mem_get_info",
    "memory_allocated",
    "memory_reserved",
    "reset_peak_memory_stats",
    "set_device",
    "synchronize",
]
