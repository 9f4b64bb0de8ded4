"""Infinities and NaN that a program gives by hand: a planned call pulls and pushes them alike.

The first call of a function is replayed entry by entry, later ones as a whole: what comes to zero
times infinity must come to the same in both.
"""

from __future__ import annotations

import numpy as np
import pytest
from draws import draws
from hypothesis import assume, given
from hypothesis import strategies as st
from samples import SAMPLES
from test_call_plans import assert_close, drawn_call, is_planned, leaves, unplanned

import tapegrad
from tapegrad._core.rule import REGISTRY

INF, NAN = np.inf, np.nan
GIVEN = {
    "infinities": (0.0, 1.0, -3.0, INF, -INF),
    "NaN": (0.0, 1.0, NAN),
    "both": (0.0, -0.0, 1.0, INF, -INF, NAN),
}

each_planned = pytest.mark.parametrize(
    "entry",
    [
        entry
        for entry in SAMPLES.values()
        if REGISTRY[entry.function].form != "elementwise"  # in test_call_plans: CHOOSING
        and is_planned(REGISTRY[entry.function])
    ],
    ids=lambda entry: REGISTRY[entry.function].name,
)


def special(rng, values, x):
    """An array like x of these values."""
    drawn = rng.choice(values, np.shape(x)) + np.zeros(np.shape(x), np.asarray(x).dtype)
    drawn = np.asarray(drawn, np.asarray(x).dtype)
    if drawn.dtype.kind == "c":
        drawn.imag = rng.choice([0.0, 0.0, 1.0, -2.0], drawn.shape)
    return drawn


@pytest.mark.part(3)
@each_planned
@draws(3, 60)
@given(data=st.data())
def test_special_cotangents_and_tangents(entry, data):
    call, arrays, rng = drawn_call(entry, data)
    values = GIVEN[data.draw(st.sampled_from(list(GIVEN)))]

    def answers():
        pulled = tapegrad.vjp(call, *arrays)[1](bars)
        return leaves([pulled, tapegrad.jvp(call, tuple(arrays), tuple(dots))[1]])

    with np.errstate(all="ignore"):
        try:
            with unplanned():
                plain = call(*arrays)
                assume(plain)
                bars = [special(rng, values, part) for part in plain]
                dots = [special(rng, values, x) for x in arrays]
                wanted = answers()
        except (tapegrad.TapegradError, np.linalg.LinAlgError):
            assume(False)
        for _ in range(3):
            found = answers()
    assert_close(found, wanted)


X, Y = np.array([1.0, -2.0, 0.0]), np.array([0.0, 3.0, 1.0])
CALLS = {
    "outer": lambda x: np.outer(x, Y),
    "outer of itself": lambda x: np.outer(x, x),
    "kron": lambda x: np.kron(x[None], Y[None]),
    "cross": lambda x: np.cross(x, Y),
    "tile": lambda x: np.tile(x, (2, 2)),
    "pad": lambda x: np.pad(x, 2, "reflect"),
    "pad, odd": lambda x: np.pad(x, 2, "reflect", reflect_type="odd"),
    "roll": lambda x: np.roll(x, 1),
    "repeat": lambda x: np.repeat(x, 2),
    "diff": np.diff,
    "trapezoid": lambda x: np.trapezoid(x, Y) * x,
    "triu": lambda x: np.triu(x[:, None] * Y),
    "take_along_axis": lambda x: np.take_along_axis(x, np.array([2, 0, 2]), 0),
    "column_stack": lambda x: np.column_stack([x, Y, x]),
}


@pytest.mark.part(24)
@pytest.mark.parametrize("dtype", ["f", "d", "D"])
@pytest.mark.parametrize("values", GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_composites_at_zeros(call, values, dtype):
    x = X.astype(dtype)
    rng = np.random.default_rng(0)
    for _ in range(4):
        bar, dot = special(rng, values, call(x)), special(rng, values, x)

        def answers(bar=bar, dot=dot):
            return [*tapegrad.vjp(call, x)[1](bar), tapegrad.jvp(call, (x,), (dot,))[1]]

        with np.errstate(all="ignore"):
            with unplanned():
                wanted = answers()
            for _ in range(3):
                found = answers()
        assert_close(found, wanted)


def test_an_infinite_cotangent_does_not_reach_the_zeros_of_an_outer_product():
    bar = np.array([[INF, 1.0, 0.0], [-INF, 0.0, 0.0], [0.0, 0.0, 2.0]])
    for _ in range(3):
        (found,) = tapegrad.vjp(lambda x: np.outer(x, Y), X)[1](bar)
        np.testing.assert_array_equal(found, [3.0, 0.0, 2.0])


def test_the_components_of_an_infinite_cotangent_are_pulled_apart():
    """A Fourier transform by a product would spread what is infinite in one component alone."""
    bars = np.array([complex(INF, 1), complex(2, -INF), 3 - 1j])
    pull = tapegrad.vjp(lambda z: np.sum(np.fft.fft(z)), np.ones(3, complex))[1]
    with np.errstate(all="ignore"):
        rows = tapegrad.vmap(lambda bar: pull(bar)[0])(bars)
        alone = [pull(bar)[0] for bar in bars]
    # Infinities that cancel make NaN, beside components that stay finite.
    wanted = np.array([complex(INF, 3), complex(6, -INF), 9 - 3j])
    for found in (rows, np.array(alone)):
        np.testing.assert_array_equal(found[:, 0].real, wanted.real)
        np.testing.assert_array_equal(found[:, 0].imag, wanted.imag)
        assert not np.isfinite(found[:2, 1:]).any()
        np.testing.assert_array_equal(found[2, 1:], [0, 0])


@pytest.mark.parametrize("offset", [0, 1, -3])
def test_the_cotangent_of_a_trace_reaches_the_diagonal_alone(offset):
    x = np.ones((3, 3, 2))
    bar = np.array([NAN, INF])
    wanted = np.where(np.eye(3, k=offset, dtype=bool)[..., None], bar, 0)
    for _ in range(3):
        (found,) = tapegrad.vjp(lambda x: np.trace(x, offset), x)[1](bar)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("repeats", [3, [3], np.array([3])], ids=str)
def test_a_number_is_repeated_along_an_axis(repeats, axis):
    """NumPy takes a 0-d array for one of one axis here."""
    for x in (np.array(2.0), 2.0):
        for _ in range(3):
            (found,) = tapegrad.vjp(lambda x: np.repeat(x, repeats, axis), x)[1](np.arange(3.0))
            assert found == 3
            assert np.shape(found) == ()
