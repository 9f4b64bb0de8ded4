"""`DataLoader`: batches of a dataset, loaded here or by workers."""

from __future__ import annotations

import copy
import itertools
import queue
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic

from tapegrad.torch._ops.create.generator import Generator, source
from tapegrad.torch.utils.data._collate import default_collate, default_convert
from tapegrad.torch.utils.data._datasets import Dataset, IterableDataset, Sample_co
from tapegrad.torch.utils.data._samplers import BatchSampler, RandomSampler, SequentialSampler
from tapegrad.torch.utils.data._workers import Exhausted, Failed, Worker, WorkerInfo, in_order

_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _Endless:
    """The tasks of a dataset that gives its samples in an order of its own."""

    def __iter__(self) -> Iterator[tuple[()]]:
        return itertools.repeat(())


class _Batches(Iterator[Any]):
    """Batches in turn. Where one failed, its exception is raised, and the next one can be read."""

    def __init__(self, found: Iterator[Any]) -> None:
        self._found = found

    def __next__(self) -> Any:
        batch = next(self._found)
        if isinstance(batch, Failed):
            try:
                raise batch.error
            finally:
                # A worker holds the error, whose traceback would keep this iterator, and so the
                # worker's thread, for good.
                del batch, self
        return batch


class DataLoader(Generic[Sample_co]):
    """Iterates over batches of a dataset, each time anew.

    dataset (Dataset or sequence): The samples.
    batch_size (int or None): How many are in a batch; None for single samples.
    shuffle: In an order drawn at random.
    sampler (iterable of int): Gives the order.
    batch_sampler (iterable of list): Gives lists of numbers.
    num_workers: How many threads load batches ahead.
    collate_fn (callable): Puts a list of samples together; by default `default_collate`, of single
        samples `default_convert`.
    pin_memory: Without effect.
    drop_last: Leave out a last batch that is not full.
    timeout: How many seconds to wait for a batch of a worker; 0 for no end.
    worker_init_fn (callable): Called with a worker's id in its thread.
    multiprocessing_context: Without effect.
    prefetch_factor: How many batches each worker loads ahead; by default 2.
    persistent_workers: Without effect.
    pin_memory_device: Without effect.
    in_order: Without effect: batches come in their order.
    ValueError: For options that do not go together, or are out of range.
    Notes: An exception of a worker is raised where its batch would come.

    >>> list(torch.utils.data.DataLoader(range(5), batch_size=2))
    [tensor([0, 1]), tensor([2, 3]), tensor([4])]
    """

    def __init__(
        self,
        dataset: Dataset[Sample_co] | Sequence[Sample_co],
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Iterable[Any] | None = None,
        batch_sampler: Iterable[Any] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers)
        self._by_order = not isinstance(dataset, IterableDataset)
        if not self._by_order:
            _check_iterable(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last"
                )
            batch_size, drop_last = None, False
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )
        samples: Any = dataset
        order: Any = sampler
        if order is None:
            if not self._by_order:
                order = _Endless()
            elif shuffle:
                order = RandomSampler(samples, generator=generator)
            else:
                order = SequentialSampler(samples)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(order, batch_size, drop_last)
        self.dataset: Any = dataset
        self.batch_size, self.drop_last = batch_size, drop_last
        self.sampler = order
        self.batch_sampler, self.generator = batch_sampler, generator
        self.num_workers = num_workers
        self.prefetch_factor: int | None = (
            2 if prefetch_factor is None and num_workers else prefetch_factor
        )
        self.pin_memory, self.pin_memory_device = pin_memory, pin_memory_device
        self.timeout, self.worker_init_fn = timeout, worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.persistent_workers, self.in_order = persistent_workers, in_order
        if collate_fn is None:
            collate_fn = default_convert if batch_sampler is None else default_collate
        self.collate_fn = collate_fn
        self._initialized = True

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIXED and "_initialized" in self.__dict__:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    def __len__(self) -> int:
        if self._by_order:
            return len(self.sampler if self.batch_sampler is None else self.batch_sampler)  # type: ignore[arg-type]
        total = len(self.dataset)
        if self.batch_size is None:
            return total
        return total // self.batch_size if self.drop_last else -(-total // self.batch_size)

    def __iter__(self) -> Iterator[Any]:
        tasks = iter(self.sampler if self.batch_sampler is None else self.batch_sampler)
        seed = int(source(self.generator).integers(2**63))
        return _Batches(self._by_workers(tasks, seed) if self.num_workers else self._loaded(tasks))

    def _loaded(self, tasks: Iterator[Any]) -> Iterator[Any]:
        """The batches, each loaded when it is asked for."""
        load = self._loader_of(self.dataset)
        for task in tasks:
            try:
                batch = load(task)
            except Exception as error:  # noqa: BLE001 - it is raised where the batch is read
                batch = Failed(error)
            if isinstance(batch, Exhausted):
                return
            yield batch

    def _by_workers(self, tasks: Iterator[Any], seed: int) -> Iterator[Any]:
        """The batches, loaded ahead by threads, which begin when the first batch is asked for."""
        results: queue.SimpleQueue[Any] = queue.SimpleQueue()
        workers = [
            Worker(
                # A dataset that a worker's init function may cut to its share is the worker's own.
                WorkerInfo(place, self.num_workers, seed + place, self._own_dataset()),
                self._begin,
                results,
            )
            for place in range(self.num_workers)
        ]
        ahead = self.num_workers * (self.prefetch_factor or 2)
        yield from in_order(workers, results, tasks, ahead, self.timeout)

    def _own_dataset(self) -> Any:
        return self.dataset if self._by_order else copy.copy(self.dataset)

    def _begin(self, info: WorkerInfo) -> Callable[[Any], Any]:
        """Prepare a worker, in its thread."""
        if self.worker_init_fn is not None:
            self.worker_init_fn(info.id)
        return self._loader_of(info.dataset)

    def _loader_of(self, dataset: Any) -> Callable[[Any], Any]:
        """A function from numbers of samples to what is loaded for them."""
        batched = self.batch_sampler is not None
        if self._by_order:
            several = getattr(dataset, "__getitems__", None)

            def by_number(wanted: Any) -> Any:
                if not batched:
                    return self.collate_fn(dataset[wanted])
                if several:
                    return self.collate_fn(several(wanted))
                return self.collate_fn([dataset[number] for number in wanted])

            return by_number
        samples = iter(dataset)

        def following(wanted: Any) -> Any:
            if not batched:
                for sample in samples:
                    return self.collate_fn(sample)
                return Exhausted()
            found = list(itertools.islice(samples, len(wanted)))
            if not found or (self.drop_last and len(found) < len(wanted)):
                return Exhausted()
            return self.collate_fn(found)

        return following


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool
) -> None:
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0 and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > "
            "0 to enable multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable(shuffle: Any, sampler: Any, batch_sampler: Any) -> None:
    given = {"shuffle": shuffle or None, "sampler": sampler, "batch_sampler": batch_sampler}
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value}"
            )
