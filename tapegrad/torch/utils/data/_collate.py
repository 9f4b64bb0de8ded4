"""Samples put together to a batch, container by container."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, MutableMapping, MutableSequence, Sequence
from typing import Any

import numpy as np

from tapegrad.torch._ops.create.data import as_tensor, tensor
from tapegrad.torch._ops.shape.joining import stack
from tapegrad.torch._tensor.tensor import Tensor

_OTHER = (
    "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found {}"
)


def default_collate(batch: Any) -> Any:
    """A list of samples as one: tensors and arrays stacked, numbers as a tensor.

    Of dicts, tuples and lists each member is collated; tuples become lists. Texts stay a list.

    batch (list): Samples of one kind.
    -> object: Of the structure of a sample.
    TypeError: For other samples.
    RuntimeError: For lists of different lengths.

    >>> torch.utils.data.default_collate([(1.0, "a"), (2.0, "b")])
    [tensor([1., 2.], dtype=torch.float64), ['a', 'b']]
    """
    first = batch[0]
    if isinstance(first, Tensor):
        return stack(list(batch), 0)
    if isinstance(first, np.ndarray):
        if first.dtype.kind not in "biufc":
            raise TypeError(_OTHER.format(first.dtype))
        return stack([as_tensor(array) for array in batch], 0)
    if isinstance(first, np.generic) and not isinstance(first, (str, bytes)):
        return as_tensor(np.array(batch))
    if isinstance(first, float):
        return tensor(list(batch), dtype=float)
    if isinstance(first, int):
        return tensor(list(batch))
    if isinstance(first, (str, bytes)):
        return batch
    if isinstance(first, Mapping):
        made = {key: default_collate([sample[key] for sample in batch]) for key in first}
        return _rebuilt(first, made)
    if isinstance(first, tuple) and hasattr(first, "_fields"):
        return type(first)(*map(default_collate, zip(*batch, strict=True)))
    if isinstance(first, Sequence):
        if any(len(sample) != len(first) for sample in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        members = [default_collate(list(samples)) for samples in zip(*batch, strict=True)]
        return members if isinstance(first, tuple) else _rebuilt(first, members)
    raise TypeError(_OTHER.format(type(first)))


def default_convert(data: Any) -> Any:
    """A sample with its NumPy arrays and numbers as tensors, container by container.

    data: The sample.
    -> object: Of its structure, but for tuples, which become lists.

    >>> import numpy as np
    >>> torch.utils.data.default_convert({"x": np.ones(2), "name": "a"})
    {'x': tensor([1., 1.], dtype=torch.float64), 'name': 'a'}
    """
    if isinstance(data, Tensor):
        return data
    if isinstance(data, (np.ndarray, np.generic)) and not isinstance(data, (str, bytes)):
        return as_tensor(data) if data.dtype.kind in "biufc" else data
    if isinstance(data, Mapping):
        return _rebuilt(data, {key: default_convert(data[key]) for key in data})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return list(map(default_convert, data))
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _rebuilt(data, list(map(default_convert, data)))
    return data


def _rebuilt(like: Any, members: Any) -> Any:
    """Members in a container of the type of another; a plain one where that cannot be made."""
    if type(like) in (dict, list):
        return members
    try:
        if isinstance(like, (MutableMapping, MutableSequence)):
            made = copy.copy(like)
            pairs = members.items() if isinstance(like, MutableMapping) else enumerate(members)
            for key, member in pairs:
                made[key] = member
            return made
        build: Callable[[Any], Any] = type(like)
        return build(members)
    except TypeError:
        return members
