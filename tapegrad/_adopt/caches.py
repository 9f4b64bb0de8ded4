"""`functools.lru_cache` and `functools.cache` in adopted code: a value in a trace is no key.

Calls with one are remembered until the outermost of them returns, so that recursion through a
cache takes as many steps as it does for plain numbers, and no value outlives its transform. All
others are those of Python's own cache.
"""

from __future__ import annotations

import functools
import threading
from typing import Any

from tapegrad._core.tape import RUNNING
from tapegrad._core.values import holds_in_trace, in_trace


def lru_cache(maxsize: Any = 128, typed: bool = False) -> Any:
    if callable(maxsize):
        return _beside(functools.lru_cache(128, typed)(maxsize))
    made = functools.lru_cache(maxsize, typed)
    return lambda function: _beside(made(function))


def cache(function: Any) -> Any:
    return _beside(functools.cache(function))


class _Same:
    """A value in a trace as a key: equal to itself alone."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return id(self.value)

    def __eq__(self, other: object) -> bool:
        return type(other) is _Same and self.value is other.value


def _key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The key of a call with numbers in a trace; None where there are arrays, which may change."""
    parts = (*args, *kwargs.values())
    if any(holds_in_trace(part) and not (in_trace(part) and part.shape == ()) for part in parts):
        return None
    return tuple(kwargs), tuple([_Same(part) if in_trace(part) else part for part in parts])


def _beside(cached: Any) -> Any:
    plain = cached.__wrapped__
    state = threading.local()

    @functools.wraps(plain)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not RUNNING or not (holds_in_trace(args) or any(map(holds_in_trace, kwargs.values()))):
            return cached(*args, **kwargs)
        key = _key(args, kwargs)
        if key is None:
            return plain(*args, **kwargs)
        known = getattr(state, "known", None)
        if known is not None:
            if key not in known:
                known[key] = plain(*args, **kwargs)
            return known[key]
        state.known = {}
        try:
            return plain(*args, **kwargs)
        finally:
            state.known = None

    for name in ("cache_clear", "cache_info", "cache_parameters"):
        setattr(call, name, getattr(cached, name))
    return call


__all__ = ["cache", "lru_cache"]
