"""Settings at the top of scripts: threads, determinism, compilation.

Knows what has no effect here, and says so. Must not know tensors.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tapegrad.torch._ops.declare import register
from tapegrad.torch.amp import say_once

_threads: list[int] = []
_controls: list[Any] = []  # of threadpoolctl, whose limits end with it
_deterministic = {"mode": False, "warn_only": False}


def set_num_threads(num: int) -> None:
    """Let NumPy's linear algebra use so many threads, through threadpoolctl where it is there.

    Parameters
    ----------
    num : int
        The number, at least 1.

    >>> torch.set_num_threads(torch.get_num_threads())
    """
    if num <= 0 or not isinstance(num, int):
        raise RuntimeError("set_num_threads expects a positive integer")
    _threads[:] = [num]
    try:
        import threadpoolctl
    except ImportError:
        return
    _controls[:] = [threadpoolctl.threadpool_limits(num, "blas")]


def get_num_threads() -> int:
    """The number of threads that was set, or that of processors.

    Returns
    -------
    int
        The number.

    >>> torch.get_num_threads() > 0
    True
    """
    return _threads[0] if _threads else os.cpu_count() or 1


def set_num_interop_threads(num: int) -> None:
    """Do nothing: operations run one after the other.

    Parameters
    ----------
    num : int
        PyTorch's parameter.

    >>> torch.set_num_interop_threads(1)
    """


def get_num_interop_threads() -> int:
    """1.

    Returns
    -------
    int
        The number.

    >>> torch.get_num_interop_threads()
    1
    """
    return 1


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Note the mode: what is computed here is deterministic anyway.

    Parameters
    ----------
    mode : bool
        The mode.
    warn_only : bool, default False
        Noted too: the mode is "warn".

    >>> torch.use_deterministic_algorithms(False)
    """
    _deterministic.update(mode=bool(mode), warn_only=bool(warn_only))


def warns_only() -> bool:
    """The last `warn_only`."""
    return _deterministic["warn_only"]


def are_deterministic_algorithms_enabled() -> bool:
    """The last setting.

    Returns
    -------
    bool
        Whether it is so.

    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return _deterministic["mode"]


def set_float32_matmul_precision(precision: str) -> None:
    """Check the word, and do nothing: products are computed in full precision.

    Parameters
    ----------
    precision : str
        "highest", "high" or "medium".

    Raises
    ------
    RuntimeError
        For another word.

    >>> torch.set_float32_matmul_precision("highest")
    """
    if precision not in ("highest", "high", "medium"):
        raise RuntimeError(f"{precision} is not one of 'highest', 'high', or 'medium'")


def get_float32_matmul_precision() -> str:
    """The word "highest".

    Returns
    -------
    str
        The word.

    >>> torch.get_float32_matmul_precision()
    'highest'
    """
    return "highest"


@register("compile", method=False)
def compile_model(model: Callable[..., Any] | None = None, **options: Any) -> Any:
    """The model or function itself, which runs as it is; the first call says so.

    Parameters
    ----------
    model : callable, optional
        The model or function; without one a decorator is returned.
    **options : object
        PyTorch's options, which change nothing.

    Returns
    -------
    callable
        The model or function itself, or the decorator.

    Warns
    -----
    UserWarning
        At the first call.

    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     fast = torch.compile(torch.sin)
    >>> fast is torch.sin
    True
    """
    say_once("torch.compile", "the model runs as it is.")
    return (lambda given: given) if model is None else model


__all__ = [
    "are_deterministic_algorithms_enabled",
    "compile_model",
    "get_float32_matmul_precision",
    "get_num_interop_threads",
    "get_num_threads",
    "set_float32_matmul_precision",
    "set_num_interop_threads",
    "set_num_threads",
    "use_deterministic_algorithms",
]
