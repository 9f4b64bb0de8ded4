"""`torch.cuda`, as scripts ask for it at their top: there is none.

Functions that only tidy up or seed do nothing; those that need a GPU raise PyTorch's error.
"""

from __future__ import annotations

from typing import Any, NoReturn

from tapegrad.torch.cuda import amp


def is_available() -> bool:
    """False: tensors are computed with NumPy, on the CPU.

    Returns
    -------
    bool
        False.

    >>> torch.cuda.is_available()
    False
    """
    return False


def is_initialized() -> bool:
    """False: there is nothing to initialize.

    Returns
    -------
    bool
        False.

    >>> torch.cuda.is_initialized()
    False
    """
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """False: there is no GPU.

    Parameters
    ----------
    including_emulation : bool, default True
        Not looked at.

    Returns
    -------
    bool
        False.

    >>> torch.cuda.is_bf16_supported()
    False
    """
    return False


def device_count() -> int:
    """How many GPUs there are: none.

    Returns
    -------
    int
        0.

    >>> torch.cuda.device_count()
    0
    """
    return 0


def manual_seed(seed: int) -> None:
    """Do nothing: there is no generator on a GPU. `torch.manual_seed` seeds the CPU's.

    Parameters
    ----------
    seed : int
        Not looked at.

    >>> torch.cuda.manual_seed(0)
    """


def manual_seed_all(seed: int) -> None:
    """Do nothing: there is no generator on a GPU. `torch.manual_seed` seeds the CPU's.

    Parameters
    ----------
    seed : int
        Not looked at.

    >>> torch.cuda.manual_seed_all(0)
    """


def empty_cache() -> None:
    """Do nothing: there is no cache.

    >>> torch.cuda.empty_cache()
    """


def reset_peak_memory_stats(device: Any = None) -> None:
    """Do nothing: no memory is counted.

    >>> torch.cuda.reset_peak_memory_stats()
    """


def memory_allocated(device: Any = None) -> int:
    """The bytes of tensors on a GPU: none.

    Returns
    -------
    int
        0.

    >>> torch.cuda.memory_allocated()
    0
    """
    return 0


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes of tensors on a GPU: none.

    Returns
    -------
    int
        0.

    >>> torch.cuda.max_memory_allocated()
    0
    """
    return 0


def memory_reserved(device: Any = None) -> int:
    """The bytes that are kept for tensors on a GPU: none.

    Returns
    -------
    int
        0.

    >>> torch.cuda.memory_reserved()
    0
    """
    return 0


def _needs_gpu(*_: Any, **__: Any) -> NoReturn:
    """Raise, for there is no GPU.

    Parameters
    ----------
    *_ : object
        Not looked at.
    **__ : object
        Not looked at.

    Raises
    ------
    AssertionError
        Always.

    >>> torch.cuda.synchronize()
    Traceback (most recent call last):
    ...
    AssertionError: Torch not compiled with CUDA enabled
    """
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


def __dir__() -> list[str]:
    return __all__
