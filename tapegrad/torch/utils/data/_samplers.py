"""Samplers: the numbers of samples, in the order in which they are read."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence, Sized
from typing import Any, Generic, TypeVar

from tapegrad._warning import warn
from tapegrad.torch._ops.create.creation import full
from tapegrad.torch._ops.create.generator import Generator, source
from tapegrad.torch._ops.create.random import randint, randperm
from tapegrad.torch._tensor.tensor import Tensor, plain_of

Index_co = TypeVar("Index_co", covariant=True)


class Sampler(Generic[Index_co]):
    """The base class of samplers: a subclass defines `__iter__`, and may define `__len__`.

    data_source: Ignored, with a warning.
    UserWarning: If `data_source` is given.

    >>> class Backwards(torch.utils.data.Sampler):
    ...     def __iter__(self):
    ...         return iter([2, 1, 0])
    >>> list(torch.utils.data.DataLoader([1, 2, 3], sampler=Backwards()))
    [tensor([3]), tensor([2]), tensor([1])]
    """

    def __init__(self, data_source: Any = None) -> None:
        if data_source is not None:
            warn("`data_source` argument is not used and will be removed in 2.2.0.")

    def __iter__(self) -> Iterator[Index_co]:
        raise NotImplementedError


class SequentialSampler(Sampler[int]):
    """All samples in their order.

    >>> list(torch.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source: Sized) -> None:
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """Samples at random: all of them once, or `num_samples` of them.

    replacement: Draw each number anew from all.
    num_samples: How many; by default as many as the dataset has.
    generator (torch.Generator): Draws them, instead of the default one.
    TypeError: If `replacement` is no bool.
    ValueError: If `num_samples` is no number above zero.

    >>> sorted(torch.utils.data.RandomSampler("abc"))
    [0, 1, 2]
    """

    def __init__(
        self,
        data_source: Sized,
        replacement: bool = False,
        num_samples: int | None = None,
        generator: Generator | None = None,
    ) -> None:
        self.data_source, self.replacement = data_source, replacement
        self._num_samples = num_samples
        self.generator = generator
        if not isinstance(replacement, bool):
            raise TypeError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        if not _is_count(self.num_samples):
            raise ValueError(
                f"num_samples should be a positive integer value, but got num_samples="
                f"{self.num_samples}"
            )

    @property
    def num_samples(self) -> int:
        """How many numbers are drawn."""
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self) -> Iterator[int]:
        total, wanted = len(self.data_source), self.num_samples
        if self.replacement:
            drawn = randint(high=total, size=(wanted,), generator=self.generator).tolist()
            yield from drawn
            return
        while wanted > 0:
            yield from randperm(total, generator=self.generator).tolist()[:wanted]
            wanted -= total

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given numbers, in an order drawn at random.

    >>> sorted(torch.utils.data.SubsetRandomSampler([5, 7]))
    [5, 7]
    """

    def __init__(self, indices: Sequence[int], generator: Generator | None = None) -> None:
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        for place in randperm(len(self.indices), generator=self.generator).tolist():
            yield self.indices[place]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """Numbers that are each drawn with a probability in proportion to its weight.

    weights (sequence of float): The weights of the numbers from 0.
    num_samples: How many are drawn.
    replacement: Draw each anew from all.
    generator (torch.Generator): Draws them, instead of the default one.
    ValueError: If `num_samples` is no number above zero, or `replacement` no bool.

    >>> list(torch.utils.data.WeightedRandomSampler([0.0, 1.0], 3))
    [1, 1, 1]
    """

    def __init__(
        self,
        weights: Sequence[float],
        num_samples: int,
        replacement: bool = True,
        generator: Generator | None = None,
    ) -> None:
        if not _is_count(num_samples):
            raise ValueError(
                "num_samples should be a positive integer value, but got num_samples="
                f"{num_samples}"
            )
        if not isinstance(replacement, bool):
            raise ValueError(
                f"replacement should be a boolean value, but got replacement={replacement}"
            )
        listed: Any = weights.tolist() if isinstance(weights, Tensor) else list(weights)
        made = full((len(listed),), 0.0, dtype=float)
        made._value[...] = listed
        if made.dim() != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(made.shape)}"
            )
        self.weights = made
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        weights = plain_of(self.weights)
        drawn = source(self.generator).choice(
            len(weights), self.num_samples, self.replacement, weights / weights.sum()
        )
        yield from drawn.tolist()

    def __len__(self) -> int:
        return self.num_samples


class BatchSampler(Sampler[list[int]]):
    """Lists of numbers of another sampler.

    sampler (iterable of int): Gives the numbers.
    batch_size: How many are in a list.
    drop_last: Leave out a last list that is not full.
    ValueError: If `batch_size` is no number above zero, or `drop_last` no bool.

    >>> list(torch.utils.data.BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        if not _is_count(batch_size):
            raise ValueError(
                f"batch_size should be a positive integer value, but got batch_size={batch_size}"
            )
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        numbers = iter(self.sampler)
        while batch := list(itertools.islice(numbers, self.batch_size)):
            if len(batch) < self.batch_size and self.drop_last:
                return
            yield batch

    def __len__(self) -> int:
        total = len(self.sampler)  # type: ignore[arg-type]
        return total // self.batch_size if self.drop_last else -(-total // self.batch_size)


def _is_count(value: object) -> bool:
    """Whether a value is a whole number above zero."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 0
