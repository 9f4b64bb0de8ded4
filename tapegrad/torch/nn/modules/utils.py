"""`torch.nn.modules.utils`: numbers as tuples, state dicts without a prefix."""

from __future__ import annotations

import collections.abc
from collections.abc import Callable
from typing import Any


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """Maker of a tuple of a number, so many times, or of a sequence."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, collections.abc.Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: tuple[Any, ...], n: int) -> tuple[Any, ...]:
    """Each element n times, the last element first."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: Any, defaults: list[int]) -> Any:
    """Sizes, of which None stands for the last ones of `defaults`."""
    if isinstance(out_size, (int,)):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"Input dimension should be at least {len(out_size) + 1}")
    rest = defaults[-len(out_size) :]
    return [d if v is None else v for v, d in zip(out_size, rest, strict=False)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take a prefix from the names of a state dict that have it, in place.

    Parameters
    ----------
    state_dict : dict
        What `Module.state_dict` returned, of a model within another one.
    prefix : str
        The prefix, as "module.".

    Examples
    --------
    >>> from tapegrad.torch.nn.modules.utils import consume_prefix_in_state_dict_if_present
    >>> state = {"module.weight": 1, "other": 2}
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'other': 2, 'weight': 1}
    """
    for key in [key for key in state_dict if key.startswith(prefix)]:
        state_dict[key.removeprefix(prefix)] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", {})
    for key in [key for key in metadata if key]:
        if key.startswith(prefix) or key == prefix.replace(".", ""):
            metadata[key[len(prefix) :]] = metadata.pop(key)


__all__ = ["consume_prefix_in_state_dict_if_present"]
