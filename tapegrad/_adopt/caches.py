"""`functools.lru_cache` and `functools.cache` in adopted code: a value in a trace is no key.

Such a call computes; all others are those of Python's own cache.
"""

from __future__ import annotations

import functools
from typing import Any

from tapegrad._core.values import holds_in_trace


def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
    if callable(maxsize):
        return _beside(functools.lru_cache(128, typed)(maxsize))
    made = functools.lru_cache(maxsize, typed)
    return lambda function: _beside(made(function))


def cache(function: Any) -> Any:
    return _beside(functools.cache(function))


def _beside(cached: Any) -> Any:
    plain = cached.__wrapped__

    @functools.wraps(plain)
    def call(*args: Any, **kwargs: Any) -> Any:
        if holds_in_trace(args) or any(map(holds_in_trace, kwargs.values())):
            return plain(*args, **kwargs)
        return cached(*args, **kwargs)

    for name in ("cache_clear", "cache_info", "cache_parameters"):
        setattr(call, name, getattr(cached, name))
    return call


__all__ = ["cache", "lru_cache"]
