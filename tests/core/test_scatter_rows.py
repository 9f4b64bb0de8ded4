"""Rows that are added at places that repeat, beside np.add.at in double precision."""

import numpy as np
import pytest

from tapegrad import grad
from tapegrad._core.scatter import put_at, scatter, selects_once
from tapegrad._core.scatter_rows import add_in_rounds, adds_in_rounds, read_elements

CASES = [
    (784, (4096,), (64,)),
    (50, (4096,), (64,)),  # each row has more parts than there are rows
    (2000, (64, 128), (32,)),
    (1, (4096,), (16,)),
    (70_000, (70_000,), (16,)),  # places of more than 16 bits
    (256, (512,), (16, 49)),
]


def _given(count, shape, row, *, broadcast, negative):
    rng = np.random.default_rng(count)
    places = rng.integers(-count if negative else 0, count, shape)
    places.reshape(-1)[: places.size // 4] = count // 2  # as of padding
    g = rng.integers(-8, 8, (*shape, *row)).astype(np.float32)  # whose sums are exact
    if broadcast:
        g = np.broadcast_to(g[..., :1, :], g.shape)
    return places, g


@pytest.mark.part(3)
@pytest.mark.parametrize("broadcast", [False, True])
@pytest.mark.parametrize("negative", [False, True])
@pytest.mark.parametrize(("count", "shape", "row"), CASES)
def test_rounds_add_what_add_at_adds(count, shape, row, broadcast, negative):
    places, g = _given(count, shape, row, broadcast=broadcast, negative=negative)
    assert adds_in_rounds(count, places, g)
    expected = np.zeros((count, *row), np.float32)
    np.add.at(expected, places, g)
    np.testing.assert_array_equal(put_at(np.zeros_like(expected), (places,), g), expected)
    before = np.ones_like(expected)
    for owned in (set(), {0}):
        bars = [before.copy()]
        scatter(bars, owned, 0, (places,), g, before)
        np.testing.assert_array_equal(bars[0], expected + 1)


def test_rows_of_complex_numbers_and_infinities():
    places, g = _given(50, (4096,), (16,), broadcast=False, negative=False)
    g = g.astype(np.complex64) * (1 + 2j)
    g[7, 3], g[4000, 5] = np.inf, np.nan
    expected = np.zeros((50, 16), np.complex64)
    np.add.at(expected, places, g)
    made = np.zeros_like(expected)
    add_in_rounds(made, places, g, cleared=True)
    np.testing.assert_array_equal(np.isfinite(made), np.isfinite(expected))
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(made[finite], expected[finite])


@pytest.mark.parametrize("negative", [False, True])
def test_elements_by_coordinates_that_broadcast(negative):
    rng = np.random.default_rng(0)
    x, at = rng.standard_normal((40, 60)), rng.integers(-60 if negative else 0, 60, (40, 64))
    rows, weights = np.arange(40, dtype=np.int8)[:, None], rng.standard_normal(at.shape)
    found = grad(lambda x: np.sum(x[rows, at] * weights))(x)
    expected = np.zeros_like(x)
    np.add.at(expected, (rows, at), weights)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("low", [0, -60])
def test_many_elements_are_read_as_by_their_index(low):
    rng = np.random.default_rng(0)
    x, at = rng.standard_normal((40, 60)), rng.integers(low, 60, (40, 150))
    index = (np.arange(40)[:, None], at)
    np.testing.assert_array_equal(read_elements(x, index), x[index])
    np.testing.assert_array_equal(read_elements(x.T, index[::-1]), x[index])
    at[3, 4] = 60
    with pytest.raises(IndexError):
        read_elements(x, index)


@pytest.mark.parametrize("letter", ["i8", "i2", "u8"])
def test_many_positions_are_told_to_be_distinct(letter):
    places = np.random.default_rng(0).permutation(200).astype(letter)
    assert selects_once(places) is selects_once((slice(None), places)) is (letter != "u8")
    repeated = places.copy()
    repeated[7] = repeated[9]
    assert not selects_once(repeated)
    assert not selects_once(places.astype("i8") - 1)  # -1 may be another's place
    assert not selects_once(places.astype("i8") * 10**9)  # a count of them would fill memory
