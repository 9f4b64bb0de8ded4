"""Settings at the top of scripts that do something, or are checked: threads, determinism, loops.

Settings that do nothing stand in `_absent/table.py`. Must not know tensors.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from tapegrad.torch._ops.declare import register

_threads: list[int] = []
_controls: list[Any] = []  # of threadpoolctl, whose limits end with it
_deterministic = {"mode": False, "warn_only": False}


@register(method=False)
def set_num_threads(num: int) -> None:
    """Let NumPy's linear algebra use so many threads, through threadpoolctl where it is there.

    num: The number, at least 1.

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


@register(method=False)
def get_num_threads() -> int:
    """The number of threads that was set, or that NumPy's linear algebra uses.

    -> int: The number: without threadpoolctl, that of processors until one is set.

    >>> torch.get_num_threads() > 0
    True
    """
    if _threads:
        return _threads[0]
    try:
        import threadpoolctl
    except ImportError:
        return os.cpu_count() or 1
    pools = threadpoolctl.ThreadpoolController().select(user_api="blas").info()
    return max((pool["num_threads"] for pool in pools), default=os.cpu_count() or 1)


@register(method=False)
def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Note the mode: what is computed here is deterministic anyway.

    mode: The mode.
    warn_only: Noted too: the mode is "warn".

    >>> torch.use_deterministic_algorithms(False)
    """
    _deterministic.update(mode=bool(mode), warn_only=bool(warn_only))


@register(method=False)
def are_deterministic_algorithms_enabled() -> bool:
    """The last setting.

    -> bool: Whether it is so.

    >>> torch.are_deterministic_algorithms_enabled()
    False
    """
    return _deterministic["mode"]


@register(method=False)
def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """The last `warn_only` of `use_deterministic_algorithms`.

    >>> torch.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _deterministic["warn_only"]


@register(method=False)
def get_deterministic_debug_mode() -> int:
    """The last setting, as a number: 0, 1 or 2.

    -> int: The mode.

    >>> torch.get_deterministic_debug_mode()
    0
    """
    return (1 if _deterministic["warn_only"] else 2) if _deterministic["mode"] else 0


@register(method=False)
def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """Note a mode, "default", "warn" or "error": what is computed here is deterministic anyway.

    debug_mode (int or str): 0, 1 or 2, or "default", "warn" or "error".

    >>> torch.set_deterministic_debug_mode("default")
    """
    words = {"default": 0, "warn": 1, "error": 2}
    if isinstance(debug_mode, str):
        if debug_mode not in words:
            raise RuntimeError(
                "invalid value of debug_mode, expected one of `default`, `warn`, `error`, but got "
                f"{debug_mode}"
            )
        debug_mode = words[debug_mode]
    elif debug_mode not in (0, 1, 2):
        raise RuntimeError(
            f"invalid value of debug_mode, expected 0, 1, or 2, but got {debug_mode}"
        )
    use_deterministic_algorithms(debug_mode > 0, warn_only=debug_mode == 1)


@register(method=False)
def while_loop(cond_fn: Any, body_fn: Any, carried_inputs: Sequence[Any]) -> Any:
    """`carried = body_fn(*carried)` while `cond_fn(*carried)` is true: it runs at once.

    cond_fn (callable): The condition, of all values that are carried.
    body_fn (callable): The function that makes the next values of them, as a tuple.
    carried_inputs (sequence): The first values.
    -> tuple: The last values.

    >>> torch.while_loop(lambda i: i < 3, lambda i: (i + 1,), (torch.tensor(0),))
    (tensor(3),)
    """
    carried = tuple(carried_inputs)
    while bool(cond_fn(*carried)):
        made = body_fn(*carried)
        carried = tuple(made) if isinstance(made, (tuple, list)) else (made,)
    return carried
