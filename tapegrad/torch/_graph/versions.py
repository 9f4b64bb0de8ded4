"""Versions of memory, with which a backward pass finds kept values that were changed in place.

Knows arrays and the numbers of nodes. Must not know the operations that write, or of tensors more
than their value and version.
"""

from __future__ import annotations

import weakref
from typing import Any, NoReturn, Protocol

import numpy as np

from tapegrad._core.types import Value
from tapegrad.torch._dtypes import word_of
from tapegrad.torch._graph.node import Node
from tapegrad.torch._graph.order import next_number

ndarray = np.ndarray


class Version:
    """The count of writes to memory, shared by a tensor, its views and its detached tensors."""

    __slots__ = ("count", "times")

    def __init__(self) -> None:
        self.count = 0
        self.times: list[int] = []  # of the latest writes, in the numbers of nodes

    def at(self, number: int) -> int:
        """The version at the time when the node with this number was made."""
        return self.count - sum(time > number for time in self.times)


class Versioned(Protocol):
    """What this module asks of a tensor."""

    _value: Any
    _version_of: Version | None


# The versions of arrays that were ever written to in place, by the id of the array that owns the
# memory. A backward pass finds here whether a kept value has changed.
WRITTEN: dict[int, tuple[Any, Version]] = {}
REMEMBERED = 256  # how many writes keep their time; after more, messages are less exact


def owner_of(value: Value) -> Value:
    """The array that owns the memory of an array."""
    while type(value.base) is ndarray:
        value = value.base
    return value


def version_of(tensor: Versioned) -> Version:
    """The counter of a tensor's writes."""
    version = tensor._version_of
    if version is None:
        version = tensor._version_of = Version()
    return version


def share_version(tensor: Versioned, other: Versioned) -> None:
    """Let two tensors over the same memory share a version."""
    other._version_of = version_of(tensor)


def count_write(tensor: Versioned) -> None:
    """Count a write to a tensor's memory, after which nodes must not use values kept before."""
    version = version_of(tensor)
    version.count += 1
    version.times.append(next_number())
    if len(version.times) > REMEMBERED:
        del version.times[: REMEMBERED // 2]
    value = tensor._value
    if type(value) is not ndarray:
        return
    owner = owner_of(value)
    key = id(owner)
    known = WRITTEN.get(key)
    if known is None or known[1] is not version:
        WRITTEN[key] = (weakref.ref(owner, lambda _: WRITTEN.pop(key, None)), version)


def raise_changed(value: Value, node: Node, version: Version) -> NoReturn:
    """PyTorch's error for a value that a derivative needs and that was changed in place."""
    kind = word_of(value.dtype)
    raise RuntimeError(
        "one of the variables needed for gradient computation has been modified by an inplace "
        f"operation: [torch.{kind}Tensor {list(value.shape)}], which {node.name()} needs, is at "
        f"version {version.count}; expected version {version.at(node._number)} instead. Hint: "
        "enable anomaly detection to find the operation that failed to compute its gradient, with "
        "torch.autograd.set_detect_anomaly(True)."
    )
