"""PyTorch's answers are stored, read and refused as `pytorch_answers` says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytorch_answers
from agreement import agree, numbers
from pytorch_answers import decoded, encoded, of_pytorch, same_numbers
from transcripts import compare


def test_plain_data_come_back() -> None:
    data = [
        None,
        True,
        3,
        2**70,
        0.1,
        1j,
        "a",
        b"\0a",
        (1, [2.5]),
        {"a": 1, (2,): (), None: -np.inf},
    ]
    assert decoded(encoded(data)) == data
    assert np.isnan(decoded(encoded(np.nan)))
    for dtype in ("float64", "float32", "complex128", "int64", "bool", "float16"):
        for array in (numbers(2, 3).astype(dtype), np.ones((), dtype), np.ones((2, 0), dtype)):
            found = decoded(encoded(array))
            np.testing.assert_array_equal(found, array, strict=True)
    with pytest.raises(TypeError, match="cannot be stored"):
        encoded(object())


def test_numbers_are_rounded_by_size_and_absolutely() -> None:
    assert encoded([1234.5678, 0.00123456, -np.inf], 4) == [1235.0, 0.0012, -np.inf]
    assert encoded(1234567, 4) == 1234567


def test_large_arrays_are_known_by_sums() -> None:
    for dtype in (np.float64, np.complex128):
        x = numbers(5, 7, dtype=dtype)
        stored = decoded(encoded(x, 11, sums=True))
        same_numbers(x, stored, 1e-10)
        for place in range(x.size):
            other = x.copy()
            other.flat[place] += 1e-6
            with pytest.raises(AssertionError, match="weighted sums are"):
                same_numbers(other, stored, 1e-10)
        with pytest.raises(AssertionError, match=r"\(7, 5\), PyTorch has \(5, 7\)"):
            same_numbers(x.T, stored, 1e-10)
    few, unbounded = np.ones(3), np.full(50, np.inf)
    for exact in (few, unbounded, np.ones((9, 9), np.float32)):
        assert isinstance(decoded(encoded(exact, 11, sums=True)), np.ndarray)


@pytest.fixture
def without_pytorch(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A test of no file, in a place without PyTorch; its answers can be written to."""
    calls: dict[str, Any] = {}
    monkeypatch.setattr(pytorch_answers, "IS_INSTALLED", False)
    monkeypatch.setattr(pytorch_answers, "read", lambda name: {"answers": calls})
    pytorch_answers.Place.test = "test"
    return calls


def test_answers_are_those_of_the_calls_in_their_order(without_pytorch: dict[str, Any]) -> None:
    without_pytorch["test"] = [["", 1], ["", encoded((2, 3))]]
    assert of_pytorch(lambda _: 0) == 1
    assert of_pytorch(lambda _: 0) == (2, 3)
    with pytest.raises(pytest.skip.Exception, match=r"not stored: .*--record-answers"):
        of_pytorch(lambda _: 0)


def test_an_answer_to_other_inputs_fails(without_pytorch: dict[str, Any]) -> None:
    without_pytorch["test"] = [["1 float64[2]1.2", {}]]
    with pytest.raises(AssertionError, match=r"to other inputs: .*--record-answers"):
        agree(lambda t, x: x, np.ones(2))


def test_another_answer_fails(without_pytorch: dict[str, Any]) -> None:
    without_pytorch["test"] = [["", [[1, 2.0]]]] * 2
    compare(lambda T, log: log(1, 2.0))
    with pytest.raises(AssertionError, match="entry 0"):
        compare(lambda T, log: log(1, 2.001))


def test_only_files_that_change_are_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    monkeypatch.setattr(pytorch_answers, "FOLDER", tmp_path)

    def kept(answers: dict[str, Any], *, whole: bool) -> Any:
        monkeypatch.setattr(pytorch_answers.Place, "recorded", {"test_x": answers})
        pytorch_answers.write(whole=whole)
        pytorch_answers.read.cache_clear()
        return pytorch_answers.read("test_x")["answers"]

    assert kept({"a": [1], "b": [2]}, whole=True) == {"a": [1], "b": [2]}
    assert kept({"b": [3]}, whole=False) == {"a": [1], "b": [3]}
    assert kept({"b": [3]}, whole=True) == {"b": [3]}
    (file,) = tmp_path.iterdir()
    before = file.stat().st_mtime_ns
    kept({"b": [3]}, whole=True)
    assert file.stat().st_mtime_ns == before
