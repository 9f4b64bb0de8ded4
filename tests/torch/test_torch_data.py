"""torch.utils.data: datasets, samplers, collation, loaders and their workers."""

from __future__ import annotations

import importlib
import threading
import time
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pytest
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch.utils import data


class Squares(data.Dataset):
    def __init__(self, count: int = 10) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        if index >= self.count:
            raise IndexError(index)
        return index, torch.tensor(float(index**2))


class Stream(data.IterableDataset):
    """Numbers, of which each worker gives its share."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Any:
        info = data.get_worker_info()
        start, step = (0, 1) if info is None else (info.id, info.num_workers)
        return iter(range(start, self.count, step))

    def __len__(self) -> int:
        return self.count


def first(batches: Any) -> list[list[int]]:
    return [batch[0].tolist() for batch in batches]


# --- Datasets -----------------------------------------------------------------------------------


def test_datasets_of_datasets() -> None:
    x, y = torch.arange(6.0).reshape(3, 2), torch.arange(3)
    pairs = data.TensorDataset(x, y)
    assert len(pairs) == 3
    assert [part.tolist() for part in pairs[1]] == [[2.0, 3.0], 1]
    both = pairs + data.TensorDataset(x + 10, y)
    assert len(both) == 6
    assert both[4][0].tolist() == [12.0, 13.0]
    assert both[-1][0].tolist() == [14.0, 15.0]
    with pytest.raises(ValueError, match="absolute value of index"):
        both[-7]
    assert data.Subset(pairs, [2, 0])[0][1].item() == 2
    assert data.Subset(pairs, [2, 0])[[1]][1].tolist() == [0]
    assert data.StackDataset(pairs, Squares(3))[1][1][0] == 1
    assert data.StackDataset(a=x, b=y)[2]["b"].item() == 2
    assert list(Stream(2) + Stream(3)) == [0, 1, 0, 1, 2]
    assert len(Stream(2) + Stream(3)) == 5
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(x, y[:2])
    with pytest.raises(ValueError, match="Size mismatch between datasets"):
        data.StackDataset(x, y[:2])
    with pytest.raises(AssertionError, match="does not support IterableDataset"):
        data.ConcatDataset([Stream(1)])
    with pytest.raises(NotImplementedError):
        data.Dataset()[0]


def test_random_splits_are_disjoint_and_repeatable() -> None:
    def split(lengths: Any) -> list[list[int]]:
        parts = data.random_split(range(11), lengths, torch.Generator().manual_seed(4))
        return [[part[i] for i in range(len(part))] for part in parts]

    for lengths, sizes in (([8, 3], [8, 3]), ([0.5, 0.25, 0.25], [6, 3, 2])):
        parts = split(lengths)
        assert [len(part) for part in parts] == sizes
        assert sorted(chain(*parts)) == list(range(11))
        assert parts == split(lengths)
    with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
        data.random_split(range(4), [1, 2])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        data.random_split(range(2), [0.9, 0.1])


# --- Samplers -----------------------------------------------------------------------------------


def test_samplers() -> None:
    seeded = torch.Generator
    assert list(data.SequentialSampler(range(3))) == [0, 1, 2]
    order = list(data.RandomSampler(range(50), generator=seeded().manual_seed(1)))
    assert sorted(order) == list(range(50)) != order
    assert order == list(data.RandomSampler(range(50), generator=seeded().manual_seed(1)))
    more = data.RandomSampler(range(3), num_samples=7)
    assert len(list(more)) == len(more) == 7
    assert sorted(list(more)[:3]) == [0, 1, 2]
    assert set(data.RandomSampler(range(2), replacement=True, num_samples=40)) == {0, 1}
    assert sorted(data.SubsetRandomSampler([5, 7, 9])) == [5, 7, 9]
    weighted = data.WeightedRandomSampler([0.0, 3.0, 1.0], 400, generator=seeded().manual_seed(0))
    counts = np.bincount(list(weighted), minlength=3)
    assert counts[0] == 0
    assert counts[1] == pytest.approx(300, abs=40)
    assert sorted(data.WeightedRandomSampler([1, 1, 1], 3, replacement=False)) == [0, 1, 2]
    for drop, expected in ((False, [[0, 1], [2, 3], [4]]), (True, [[0, 1], [2, 3]])):
        batches = data.BatchSampler(data.SequentialSampler(range(5)), 2, drop)
        assert list(batches) == expected
        assert len(batches) == len(expected)
    with pytest.raises(ValueError, match="batch_size should be a positive integer"):
        data.BatchSampler([], 0, False)
    with pytest.raises(ValueError, match="num_samples should be a positive integer"):
        data.RandomSampler([])
    with pytest.raises(TypeError, match="replacement should be a boolean"):
        data.RandomSampler([1], replacement=1)


# --- Collation ----------------------------------------------------------------------------------


class Point(NamedTuple):
    x: Any
    y: Any


BATCHES: list[Any] = [
    [1, 2], [1.5, 2.5], [True, False], ["a", "b"], [b"a", b"b"], [(1, 2.0), (3, 4.0)],
    [[1, 2], [3, 4]], [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}], [Point(1, 2.0), Point(3, 4.0)],
    [np.ones(2), np.zeros(2)], [np.float32(1), np.float32(2)], [{"a": [1, (2,)]}] * 2,
]  # fmt: skip


def shown(value: Any) -> Any:
    """Types, dtypes and numbers of a batch, whichever library made it."""
    if hasattr(value, "detach"):
        return str(value.dtype), value.tolist()
    if isinstance(value, dict):
        return {key: shown(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [shown(part) for part in value]
    return value


@pytest.mark.parametrize("file", ["dataloader", "dataset", "sampler"])
def test_names_are_found_under_those_of_pytorchs_files(file: str) -> None:
    module = importlib.import_module(f"tapegrad.torch.utils.data.{file}")
    assert module is getattr(data, file)
    assert all(getattr(module, name) is getattr(data, name) for name in module.__all__)


def test_each_name_is_in_a_file_of_pytorchs() -> None:
    named = {*data.dataloader.__all__, *data.dataset.__all__, *data.sampler.__all__}
    assert named == set(data.__all__)


@pytest.mark.parametrize("place", range(len(BATCHES)))
def test_batches_are_those_of_pytorch(place: int) -> None:
    def made(t: Any) -> Any:
        calls = t.utils.data.default_collate, t.utils.data.default_convert
        return [shown(call(BATCHES[place])) for call in calls]

    assert made(torch) == of_pytorch(made)


def test_collation() -> None:
    made = data.default_collate([{"a": (1, torch.ones(2)), "b": "x"}] * 3)
    assert shown(made["a"][0]) == ("torch.int64", [1, 1, 1])
    assert made["a"][1].shape == (3, 2)
    assert made["b"] == ["x"] * 3
    assert data.default_collate([0.5, 1.0]).dtype is torch.float64
    assert type(data.default_collate([Point(1, 2), Point(3, 4)])) is Point
    with pytest.raises(TypeError, match=r"default_collate: batch must contain tensors.*object"):
        data.default_collate([object()])
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal"):
        data.default_collate([[1], [1, 2]])
    assert type(data.default_convert((np.ones(1), "a"))[0]) is torch.Tensor


# --- Loaders ------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_batches_come_in_order(workers: int) -> None:
    loader = data.DataLoader(Squares(), batch_size=4, num_workers=workers)
    for _ in range(2):
        assert first(loader) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert len(loader) == 3
    short = data.DataLoader(Squares(), 4, drop_last=True, num_workers=workers)
    assert len(first(short)) == len(short) == 2
    single = data.DataLoader(Squares(3), batch_size=None, num_workers=workers)
    assert [sample[0] for sample in single] == [0, 1, 2]
    own = data.DataLoader(Squares(), batch_sampler=[[1, 2], [9]], num_workers=workers)
    assert first(own) == [[1, 2], [9]]
    lists = data.DataLoader(Squares(4), 2, collate_fn=len, sampler=[3, 1], num_workers=workers)
    assert list(lists) == [2]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_seed_repeats_the_order(workers: int) -> None:
    def order(seed: int) -> list[list[int]]:
        generator = torch.Generator().manual_seed(seed)
        return first(
            data.DataLoader(Squares(20), 5, shuffle=True, generator=generator, num_workers=workers)
        )

    assert order(1) == order(1) != order(2)
    assert sorted(chain(*order(3))) == list(range(20))
    loader = data.DataLoader(Squares(20), 20, shuffle=True)
    assert first(loader) != first(loader)


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_streams(workers: int) -> None:
    loader = data.DataLoader(Stream(10), batch_size=3, num_workers=workers)
    found = [batch.tolist() for batch in loader]
    assert sorted(chain(*found)) == list(range(10))
    assert len(loader) == 4
    if workers == 3:
        assert found[:3] == [[0, 3, 6], [1, 4, 7], [2, 5, 8]]
    full = data.DataLoader(Stream(10), 3, drop_last=True, num_workers=workers)
    assert all(len(batch) == 3 for batch in full)
    single = data.DataLoader(Stream(4), batch_size=None, num_workers=workers)
    assert sorted(single) == [0, 1, 2, 3]


class Slow(Squares):
    """The earlier samples take longer."""

    def __getitem__(self, index: int) -> Any:
        time.sleep(0.01 * (3 - index % 4))
        if index == 6:
            raise ValueError("sample six")
        return index, threading.current_thread() is threading.main_thread()


def test_workers_keep_the_order_and_pass_errors_on() -> None:
    loader = data.DataLoader(Slow(8), batch_size=None, num_workers=4, prefetch_factor=1)
    samples = iter(loader)
    assert [next(samples) for _ in range(6)] == [[number, False] for number in range(6)]
    with pytest.raises(ValueError, match="sample six") as caught:
        next(samples)
    assert "DataLoader worker thread 2" in caught.value.__notes__[0]
    here = data.DataLoader(Slow(8), batch_size=2)
    with pytest.raises(ValueError, match="sample six"):
        list(here)


def test_workers_are_begun_and_end() -> None:
    infos: dict[int, Any] = {}

    def begin(worker: int) -> None:
        infos[worker] = data.get_worker_info()

    loader = data.DataLoader(Squares(8), 2, num_workers=2, worker_init_fn=begin)
    assert len(list(loader)) == 4
    assert sorted(infos) == [0, 1]
    assert infos[1].num_workers == 2
    assert infos[1].seed == infos[0].seed + 1
    assert data.get_worker_info() is None
    before = threading.active_count()
    for _ in loader:
        break
    for _ in range(100):
        if threading.active_count() <= before:
            break
        time.sleep(0.01)
    assert threading.active_count() <= before

    def fail(_: int) -> None:
        raise RuntimeError("no start")

    with pytest.raises(RuntimeError, match="no start"):
        list(data.DataLoader(Squares(8), 2, num_workers=2, worker_init_fn=fail))
    late = data.DataLoader(Slow(4), 4, num_workers=1, timeout=0.001)
    with pytest.raises(RuntimeError, match="timed out after"):
        list(late)


def test_threads_end_though_a_batch_or_a_start_failed() -> None:
    """No error that a worker has seen keeps the iterator, and so the threads, alive."""

    def fail(_: int) -> None:
        raise RuntimeError("no start")

    before = threading.active_count()
    with pytest.raises(ValueError, match="sample six"):
        list(data.DataLoader(Slow(8), batch_size=None, num_workers=4))
    with pytest.raises(RuntimeError, match="no start"):
        list(data.DataLoader(Squares(8), 2, num_workers=2, worker_init_fn=fail))
    for _ in range(200):
        if threading.active_count() <= before:
            break
        time.sleep(0.01)
    assert threading.active_count() <= before


REFUSED = [
    ({"num_workers": -1}, "num_workers option should be non-negative"),
    ({"timeout": -1}, "timeout option should be non-negative"),
    ({"prefetch_factor": 2}, "prefetch_factor option could only be specified"),
    ({"persistent_workers": True}, "persistent_workers option needs num_workers > 0"),
    ({"shuffle": True, "sampler": [1]}, "sampler option is mutually exclusive with shuffle"),
    ({"batch_sampler": [[1]], "batch_size": 2}, "batch_sampler option is mutually exclusive"),
    ({"batch_size": None, "drop_last": True}, "batch_size=None option disables"),
    ({"batch_size": 0}, "batch_size should be a positive integer"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_refused_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        data.DataLoader(Squares(), **options)


def test_streams_have_an_order_of_their_own() -> None:
    for name, value in (("shuffle", True), ("sampler", [1]), ("batch_sampler", [[1]])):
        with pytest.raises(ValueError, match=f"expected unspecified {name} option"):
            data.DataLoader(Stream(3), **{name: value})
    loader = data.DataLoader(Squares())
    with pytest.raises(ValueError, match="batch_size attribute should not be set after"):
        loader.batch_size = 3
