"""What PyTorch gives: by itself where it is installed, else as `--record-answers` stored it.

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
import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

FOLDER = Path(__file__).with_name("answers")
IS_INSTALLED = find_spec("torch") is not None
HELD = {"float16": 5, "float32": 8, "complex64": 8}  # the digits that such a number has
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


def of_pytorch(see: Callable[[Any], Any], *, digits: int | None = None, asked: str = "") -> Any:
    """What `see` gives with PyTorch.

    digits: how many of them numbers are stored with, which is all by default. asked: what the
    answer depends on and a test may change, such as its inputs: an answer to another one fails.
    """
    if not IS_INSTALLED:
        return _stored(asked)
    import torch as pytorch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        answer = see(pytorch)
    if Place.recorded is not None and not hypothesis.currently_in_test_context():
        calls = Place.recorded.setdefault(Place.file.stem, {}).setdefault(Place.test, [])
        calls.append([asked, encoded(answer, digits)])
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


def encoded(value: Any, digits: int | None = None) -> Any:
    """A value as JSON; other things than plain data are refused."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, bytes):
        return {"bytes": base64.b85encode(value).decode()}
    if isinstance(value, np.ndarray):
        least = digits if digits is None else min(digits, HELD.get(value.dtype.name, digits))
        numbers = encoded(value.ravel().tolist(), least)
        return {"array": [value.dtype.name, list(value.shape), numbers]}
    if isinstance(value, (int, float)):
        return _rounded(value, digits)
    if isinstance(value, complex):
        return {"complex": [_rounded(value.real, digits), _rounded(value.imag, digits)]}
    if isinstance(value, list):
        return [encoded(part, digits) for part in value]
    if isinstance(value, tuple):
        return {"tuple": [encoded(part, digits) for part in value]}
    if isinstance(value, dict):
        return {"dict": [[encoded(k), encoded(part, digits)] for k, part in value.items()]}
    raise TypeError(f"{value!r} cannot be stored: log its name, its text or its numbers")


def _rounded(x: float, digits: int | None) -> float:
    """A number rounded as a comparison with relative and absolute tolerance bears."""
    if digits is None or isinstance(x, int):
        return int(x) if isinstance(x, int) else float(x)
    return round(float(f"{x:.{digits}g}"), digits)


def decoded(value: Any) -> Any:
    """What `encoded` was given."""
    if isinstance(value, list):
        return [decoded(part) for part in value]
    if not isinstance(value, dict):
        return value
    ((kind, parts),) = value.items()
    if kind == "array":
        dtype, shape, numbers = parts
        return np.array(decoded(numbers), dtype).reshape(shape)
    if kind == "bytes":
        return base64.b85decode(parts)
    if kind == "complex":
        return complex(*parts)
    found = decoded(parts)
    return tuple(found) if kind == "tuple" else dict(found)
