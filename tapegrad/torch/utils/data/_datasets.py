"""Datasets: what has samples by number, or gives them one after the other."""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from tapegrad._warning import warn
from tapegrad.torch._ops.create.generator import Generator
from tapegrad.torch._ops.create.random import randperm
from tapegrad.torch._tensor.tensor import Tensor

Sample_co = TypeVar("Sample_co", covariant=True)


class Dataset(Generic[Sample_co]):
    """Samples by number: a subclass defines `__getitem__`, and mostly `__len__`.

    >>> class Squares(torch.utils.data.Dataset):
    ...     def __len__(self):
    ...         return 3
    ...
    ...     def __getitem__(self, index):
    ...         return index**2
    >>> list(torch.utils.data.DataLoader(Squares(), batch_size=2))
    [tensor([0, 1]), tensor([4])]
    """

    def __getitem__(self, index: Any) -> Sample_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Sample_co]) -> ConcatDataset[Sample_co]:
        return ConcatDataset([self, other])


class IterableDataset(Dataset[Sample_co], Iterable[Sample_co]):
    """Samples one after the other: a subclass defines `__iter__`.

    >>> class Squares(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return (index**2 for index in range(3))
    >>> list(torch.utils.data.DataLoader(Squares(), batch_size=2))
    [tensor([0, 1]), tensor([4])]
    """

    def __add__(self, other: Dataset[Any]) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Tensor, ...]]):
    """Rows of tensors: sample i is the tuple of the i-th row of each.

    *tensors: Of the same length.
    AssertionError: If the lengths differ.

    >>> data = torch.utils.data.TensorDataset(torch.ones(3, 2), torch.arange(3))
    >>> len(data), data[1]
    (3, (tensor([1., 1.]), tensor(1)))
    """

    def __init__(self, *tensors: Tensor) -> None:
        assert all(tensors[0].size(0) == tensor.size(0) for tensor in tensors), (
            "Size mismatch between tensors"
        )
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Tensor, ...]:
        return tuple(tensor[index] for tensor in self.tensors)

    def __len__(self) -> int:
        return int(self.tensors[0].size(0))


class StackDataset(Dataset[Sample_co]):
    """Datasets side by side: sample i is the tuple of their i-th samples, or the dict of those.

    *args (Dataset): Datasets of the same length.
    **kwargs (Dataset): Or datasets by name, for a dict.
    ValueError: If both or neither are given, or the lengths differ.

    >>> torch.utils.data.StackDataset(x=[1, 2], y=[3, 4])[0]
    {'x': 1, 'y': 3}
    """

    datasets: tuple[Any, ...] | dict[str, Any]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like "
                "input/output, but both types are given."
            )
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        self.datasets = args or kwargs
        lengths = {len(dataset) for dataset in self._all()}
        self._length = next(iter(lengths))
        if len(lengths) > 1:
            raise ValueError("Size mismatch between datasets")

    def _all(self) -> list[Any]:
        datasets = self.datasets
        return list(datasets.values() if isinstance(datasets, dict) else datasets)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: dataset[index] for name, dataset in self.datasets.items()}
        return tuple(dataset[index] for dataset in self.datasets)

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[Sample_co]):
    """Datasets, one after the other.

    datasets (iterable of Dataset): At least one, with samples by number.
    AssertionError: If there is none, or one is an `IterableDataset`.

    >>> data = torch.utils.data.ConcatDataset([[1, 2], [3]])
    >>> len(data), data[2]
    (3, 3)
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets: list[Any] = list(datasets)
        assert self.datasets, "datasets should not be an empty iterable"
        assert not any(isinstance(dataset, IterableDataset) for dataset in self.datasets), (
            "ConcatDataset does not support IterableDataset"
        )
        self.cumulative_sizes: list[int] = list(itertools.accumulate(map(len, self.datasets)))

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        place = bisect.bisect_right(self.cumulative_sizes, index)
        before = self.cumulative_sizes[place - 1] if place else 0
        return self.datasets[place][index - before]


class ChainDataset(IterableDataset[Sample_co]):
    """Datasets that give samples, one after the other.

    datasets (iterable of IterableDataset): The datasets; AssertionError for others when it comes
        to them.

    >>> class Numbers(torch.utils.data.IterableDataset):
    ...     def __iter__(self):
    ...         return iter([1, 2])
    >>> list(torch.utils.data.ChainDataset([Numbers(), Numbers()]))
    [1, 2, 1, 2]
    """

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for dataset in self.datasets:
            assert isinstance(dataset, IterableDataset), (
                "ChainDataset only supports IterableDataset"
            )
            yield from dataset

    def __len__(self) -> int:
        return sum(len(dataset) for dataset in self.datasets)


class Subset(Dataset[Sample_co]):
    """The samples of a dataset at given numbers.

    dataset (Dataset or sequence): The dataset.

    >>> list(torch.utils.data.Subset("abc", [2, 0]))
    ['c', 'a']
    """

    def __init__(
        self, dataset: Dataset[Sample_co] | Sequence[Sample_co], indices: Sequence[int]
    ) -> None:
        self.dataset: Any = dataset
        self.indices = indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __getitems__(self, indices: list[int]) -> list[Any]:
        """The samples at several numbers."""
        wanted = [self.indices[i] for i in indices]
        several = getattr(self.dataset, "__getitems__", None)
        return list(several(wanted)) if several else [self.dataset[i] for i in wanted]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(
    dataset: Dataset[Sample_co] | Sequence[Sample_co],
    lengths: Sequence[int | float],
    generator: Generator | None = None,
) -> list[Subset[Sample_co]]:
    """A dataset taken apart at random.

    dataset (Dataset or sequence): What has a length.
    lengths (sequence of int or float): Numbers of samples, which sum to that of the dataset; or
        fractions that sum to 1, of which what is left over goes to the first parts, one sample
        each.
    -> list of Subset: The parts.
    ValueError: If the numbers do not sum to the length, or a fraction is not between 0 and 1.
    UserWarning: If fractions leave a part empty.

    >>> [len(part) for part in torch.utils.data.random_split(range(10), [0.75, 0.25])]
    [8, 2]
    """
    whole: Any = dataset  # which has a length, as not all datasets have
    total = len(whole)
    sizes = [int(length) for length in lengths]
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        for place, fraction in enumerate(lengths):
            if fraction < 0 or fraction > 1:
                raise ValueError(f"Fraction at index {place} is not between 0 and 1")
        sizes = [math.floor(total * fraction) for fraction in lengths]
        for place in range(total - sum(sizes)):
            sizes[place % len(sizes)] += 1
        for place, size in enumerate(sizes):
            if size == 0:
                warn(
                    f"Length of split at index {place} is 0. This might result in an empty "
                    "dataset."
                )
    if sum(sizes) != total:
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = randperm(total, generator=generator).tolist()
    ends = itertools.accumulate(sizes)
    return [Subset(dataset, order[e - n : e]) for e, n in zip(ends, sizes, strict=True)]
