"""Answers of PyTorch: by itself where it is installed, else as `--record-answers` stored it.

`of_pytorch(see)` is `see(torch)` with PyTorch, made of plain data: numbers, texts, bytes, arrays,
tuples, lists and dictionaries of them. `pytest tests/torch --record-answers` stores it under the
name of the test and the number of the call, a file of answers for each file of tests. Whoever
compares with it does so by the same code in both cases.
"""

from __future__ import annotations

import base64
import datetime as dt
import gzip
import json
import math
import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import hypothesis
import numpy as np
import pytest

FOLDER = Path(__file__).with_name("answers")
IS_INSTALLED = find_spec("torch") is not None
HELD = {"float16": 5, "float32": 8, "complex64": 8}  # the digits that such a number has
# An array of more numbers than these is stored as four sums, where that is asked for.
LARGE = {"float64": 20, "complex128": 20, "float32": 100}
HOW = "with PyTorch `pytest tests/torch --record-answers` stores it"


class Place:
    """Which call of which test asks, and what this run has recorded: None where it does not."""

    file = Path()
    test = ""
    calls = 0
    recorded: dict[str, dict[str, list[Any]]] | None = None


def begin(item: pytest.Item) -> None:
    """The calls that follow are of this test."""
    Place.file, Place.test, Place.calls = item.path, item.nodeid.partition("::")[2], 0


def of_pytorch(
    see: Callable[[Any], Any], *, digits: int | None = None, sums: bool = False, asked: str = ""
) -> Any:
    """Result of `see` with PyTorch.

    digits: how many of them numbers are stored with, which is all by default. sums: whether large
    arrays are stored as `Sums`, to be compared by `same_numbers`. asked: what the answer depends
    on and a test may change, such as its inputs: an answer to another one fails.
    """
    if not IS_INSTALLED:
        return _stored(asked)
    import torch as pytorch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = see(pytorch)
    if Place.recorded is not None and not hypothesis.currently_in_test_context():
        calls = Place.recorded.setdefault(Place.file.stem, {}).setdefault(Place.test, [])
        calls.append([asked, encoded(answer, digits, sums=sums)])
    return answer


def _stored(asked: str) -> Any:
    if hypothesis.currently_in_test_context():
        pytest.skip("compares what Hypothesis draws, with PyTorch alone")
    calls = read(Place.file.stem)["answers"].get(Place.test, [])
    if Place.calls >= len(calls):
        pytest.skip(f"PyTorch's answer is not stored: {HOW}")
    known, answer = calls[Place.calls]
    Place.calls += 1
    assert known == asked, f"the stored answer of PyTorch is to other inputs: {HOW}"
    return decoded(answer)


# --- Files --------------------------------------------------------------------------------------


@cache
def read(name: str) -> Any:
    """The answers to a file of tests, with the version of PyTorch and the day."""
    path = FOLDER / f"{name}.json.gz"
    return json.loads(gzip.decompress(path.read_bytes())) if path.exists() else {"answers": {}}


def write(*, whole: bool) -> None:
    """Store what was recorded, where it changed. whole: whether all tests of a file were run."""
    import torch as pytorch

    FOLDER.mkdir(exist_ok=True)
    for name, answers in (Place.recorded or {}).items():
        former = read(name)["answers"]
        answers = dict(sorted((answers if whole else former | answers).items()))
        if answers != former:
            head = {"pytorch": pytorch.__version__, "day": str(dt.date.today())}
            text = json.dumps({**head, "answers": answers}, separators=(",", ":"))
            packed = gzip.compress(text.encode(), mtime=0)
            (FOLDER / f"{name}.json.gz").write_bytes(packed)


# --- Plain data as JSON -------------------------------------------------------------------------


def encoded(value: Any, digits: int | None = None, *, sums: bool = False) -> Any:
    """A value as JSON; other things than plain data are refused."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, bytes):
        return {"bytes": base64.b85encode(value).decode()}
    if isinstance(value, np.ndarray):
        return _encoded_array(value, digits, sums=sums)
    if isinstance(value, (int, float)):
        return _rounded(value, digits)
    if isinstance(value, complex):
        return {"complex": [_rounded(value.real, digits), _rounded(value.imag, digits)]}
    if isinstance(value, dict):
        pairs = value.items()
        return {"dict": [[encoded(k), encoded(part, digits, sums=sums)] for k, part in pairs]}
    if isinstance(value, (list, tuple)):
        parts = [encoded(part, digits, sums=sums) for part in value]
        return parts if isinstance(value, list) else {"tuple": parts}
    raise TypeError(f"{value!r} cannot be stored: log its name, its text or its numbers")


def _encoded_array(x: Any, digits: int | None, *, sums: bool) -> Any:
    least = digits if digits is None else min(digits, HELD.get(x.dtype.name, digits))
    if sums and x.size > LARGE.get(x.dtype.name, x.size) and np.isfinite(x).all():
        return {"sums": [x.dtype.name, list(x.shape), encoded(sums_of(x).tolist(), least)]}
    return {"array": [x.dtype.name, list(x.shape), encoded(x.ravel().tolist(), least)]}


def _rounded(x: float, digits: int | None) -> float:
    """A number rounded as a comparison with relative and absolute tolerance bears."""
    if digits is None or isinstance(x, int):
        return int(x) if isinstance(x, int) else float(x)
    short = round(float(f"{x:.{digits}g}"), digits)
    return short if math.isfinite(short) else float(x)  # the largest number is rounded to infinity


def decoded(value: Any) -> Any:
    """Argument of `encoded`."""
    if isinstance(value, list):
        return [decoded(part) for part in value]
    if not isinstance(value, dict):
        return value
    ((kind, parts),) = value.items()
    if kind in ("array", "sums"):
        dtype, shape, numbers = parts
        if kind == "sums":
            return Sums(np.dtype(dtype), tuple(shape), np.array(decoded(numbers)))
        return np.array(decoded(numbers), dtype).reshape(shape)
    if kind == "bytes":
        return base64.b85decode(parts)
    if kind == "complex":
        return complex(*parts)
    found = decoded(parts)
    return tuple(found) if kind == "tuple" else dict(found)


# --- Large arrays -------------------------------------------------------------------------------


class Sums(NamedTuple):
    """An array by some weighted sums of it."""

    dtype: Any
    shape: tuple[int, ...]
    values: Any


@cache
def _weights(size: int) -> Any:
    return np.random.default_rng(size).uniform(-1.0, 1.0, (4, size))


def sums_of(x: Any) -> Any:
    return _weights(x.size) @ x.ravel()


def same_numbers(x: Any, y: Any, tolerance: float, what: str = "", *, nan: bool = True) -> None:
    """Assert the dtype, shape and numbers of an array, which may be known by sums alone.

    nan: whether x has to be NaN, or infinite, where y is.
    """
    assert x.dtype == y.dtype, f"{what}: {x.dtype}, PyTorch has {y.dtype}"
    assert x.shape == y.shape, f"{what}: {x.shape}, PyTorch has {y.shape}"
    if isinstance(y, Sums):
        each = tolerance * _weights(x.size) * (1 + abs(x.ravel()))
        most = 3 * np.linalg.norm(each, axis=1)  # errors within the tolerance add up by chance
        apart = abs(sums_of(x) - y.values)
        assert (apart <= most).all(), f"{what}: weighted sums are {apart} apart, more than {most}"
        return
    if not nan:
        y = np.where(np.isfinite(y), y, x)
    np.testing.assert_allclose(x, y, tolerance, tolerance, err_msg=what)
