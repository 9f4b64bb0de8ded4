"""Each fast path gives what the definition gives: gradients, tangents, second derivatives.

Every function with a sample is called with all paths, and with all but one, twice, so that what
is planned at the first call is used at the second; and once by the definition alone.
"""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from compiled import rounded
from draws import draws
from hypothesis import assume, given, note
from hypothesis import strategies as st
from samples import SAMPLES
from sampling import Noted
from test_call_plans import is_traceable, leaves

import tapegrad
from tapegrad._core.fast.paths import PATHS, is_on, off
from tapegrad._core.rule import REGISTRY, declared_rules
from tapegrad._tree import flatten, unflatten

# Those of the engine: another test may have imported tapegrad.torch, whose path these do not take.
TITLES = [title for title in PATHS if not title.startswith("call_plans")]
each_sample = pytest.mark.parametrize(
    "entry",
    [
        entry
        for entry in SAMPLES.values()
        if REGISTRY[entry.function].form not in ("constant", "unsupported")
    ],
    ids=lambda entry: REGISTRY[entry.function].name,
)


class Call:
    """A drawn call as a function of its arrays, with cotangents and tangents for them."""

    def __init__(self, entry, data):
        args, self.params = entry.draw(data)
        note(Noted(REGISTRY[entry.function].name, args, self.params))
        self.function = entry.call
        self.flat, self.structure = flatten(args)
        self.at = [i for i, arg in enumerate(self.flat) if is_traceable(arg)]
        self.arrays = [self.flat[i] for i in self.at]
        assume(self.arrays)
        rng = np.random.default_rng(data.draw(st.integers(0, 9)))
        outs = self(*self.arrays)
        assume(outs)
        self.dots = [_like(x, rng) for x in self.arrays]
        self.bars = [_like(out, rng) for out in outs]

    def __call__(self, *arrays):
        given = list(self.flat)
        for i, array in zip(self.at, arrays, strict=True):
            given[i] = array
        found = self.function(*unflatten(self.structure, given), **self.params)
        parts = [part for part in leaves(found) if getattr(part, "dtype", None) is not None]
        return [part for part in parts if part.dtype.kind in "fc"]

    def gradient(self):
        return tapegrad.vjp(self, *self.arrays)[1](self.bars)

    def tangent(self):
        return tapegrad.jvp(self, tuple(self.arrays), tuple(self.dots))[1]

    def second(self):
        """Derivatives of those of the squares: of a linear function too they are not all zero."""

        def of_squares(*arrays):
            return tapegrad.vjp(lambda *x: [y * y for y in self(*x)], *arrays)[1](self.bars)

        return tapegrad.vjp(of_squares, *self.arrays)[1](tuple(self.dots))

    def answers(self):
        """All of these, or the class of the error that is raised."""
        return [_outcome(ask) for ask in (self.gradient, self.tangent, self.second)]


def _like(x, rng):
    drawn = rng.standard_normal(np.shape(x))
    if np.asarray(x).dtype.kind == "c":
        drawn = drawn + 1j * rng.standard_normal(np.shape(x))
    return np.asarray(drawn, np.asarray(x).dtype)


def _outcome(ask):
    try:
        return leaves(ask())
    except (tapegrad.TapegradError, np.linalg.LinAlgError) as error:
        return type(error)


def check(found, wanted, paths):
    for ours, definition, which in zip(
        found, wanted, ("gradient", "tangent", "second derivative"), strict=True
    ):
        assert isinstance(ours, list) is isinstance(definition, list), (paths, which)
        if not isinstance(ours, list):
            assert ours is definition, (paths, which)
            continue
        # What is left of a sum may be far less than its terms.
        least = max(np.max(np.abs(x), initial=1.0, where=np.isfinite(x)) for x in definition)
        for one, two in zip(ours, definition, strict=True):
            assert rounded(one, two, least=least), (paths, which, one, two)


def by_definition(call):
    with off():
        return call.answers()


@pytest.mark.fast_path
@each_sample
@pytest.mark.part(4)
@draws(2, 100)
@given(data=st.data())
def test_the_fast_paths_are_the_definition(entry, data):
    call = Call(entry, data)
    wanted = by_definition(call)
    for _ in range(2):
        check(call.answers(), wanted, "all paths")


@pytest.mark.slow
@pytest.mark.fast_path
@each_sample
@draws(4, 100)
@given(data=st.data())
def test_all_but_one_of_the_fast_paths_are_the_definition(entry, data):
    call = Call(entry, data)
    wanted = by_definition(call)
    for title in TITLES:
        with off(title):
            for _ in range(2):
                check(call.answers(), wanted, f"all paths but {title}")


@pytest.mark.slow
@pytest.mark.fast_path
@each_sample
@draws(4, 100)
@given(data=st.data())
def test_each_fast_path_alone_is_the_definition(entry, data):
    call = Call(entry, data)
    wanted = by_definition(call)
    for title in TITLES:
        with off(*[other for other in TITLES if other != title]):
            for _ in range(2):
                check(call.answers(), wanted, f"{title} alone")


# --- Switching them off -------------------------------------------------------------------------


def in_place():
    """The functions that stand in the place of each path's."""
    return {title: getattr(path.owner, path.name) for title, path in PATHS.items()}


def remembered():
    """How many calls the rules remember."""
    tables = [table for rule in declared_rules() for table in (rule.calls, rule.calls_of_all)]
    return sum(len(table or ()) for table in tables)


def loss(x):
    return np.sum(np.sum(x * np.arange(3.0), 0) ** 2) + np.max(x @ x.T) + x[0, 1]


X = np.arange(6.0).reshape(2, 3)


@pytest.mark.fast_path
@pytest.mark.parametrize("titles", [(), ("Tape.record",), ("replay.push_entry", "Tape.record")])
def test_off_restores_everything_also_after_an_exception(titles):
    before = in_place()
    with pytest.raises(ZeroDivisionError), off(*titles):  # noqa: PT012 - what is within is the test
        for title, path in PATHS.items():
            found = path.quick if titles and title not in titles else path.plain
            assert getattr(path.owner, path.name) is found
            assert is_on(title) is (found is path.quick)
        with off():
            assert not any(map(is_on, PATHS))
        assert [title for title in PATHS if is_on(title)] == [
            title for title in PATHS if titles and title not in titles
        ]
        1 / 0  # noqa: B018
    assert in_place() == before
    assert all(map(is_on, PATHS))


def test_off_refuses_what_is_no_path():
    before = in_place()
    with pytest.raises(ValueError, match="off: no path 'Tape.recording'"), off("Tape.recording"):
        pass
    assert in_place() == before


@pytest.mark.fast_path
def test_calls_that_came_before_are_not_used_while_their_paths_are_off():
    gradient = tapegrad.grad(loss)
    wanted = gradient(X), gradient(X)
    assert remembered()
    with off():
        assert not remembered()
        np.testing.assert_allclose(gradient(X), wanted[1], rtol=1e-14)
        np.testing.assert_allclose(tapegrad.jvp(loss, (X,), (X,))[1], np.vdot(wanted[1], X))
        assert not remembered()
    assert not remembered()  # what one path decided without another does not stay
    gradient(X)
    assert remembered()


def test_the_environment_switches_all_of_them_off():
    program = (
        "import numpy as np, tapegrad, tapegrad.torch\n"
        "from tapegrad._core.fast.paths import PATHS, is_on\n"
        "from tapegrad._core.rule import declared_rules\n"
        "x = tapegrad.torch.ones(2, 3, requires_grad=True)\n"
        "for _ in range(3):\n"
        "    tapegrad.grad(lambda x: np.sum(np.sum(x, 0) * x @ x.T))(np.ones((2, 3)))\n"
        "    tapegrad.torch.softmax(x, 1).sum().backward()\n"
        "print(len(PATHS), [title for title in PATHS if is_on(title)],\n"
        "      [title for title, (owner, name, plain, _) in PATHS.items()\n"
        "       if getattr(owner, name) is not plain],\n"
        "      [rule for rule in declared_rules() if rule.calls or rule.calls_of_all])\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TAPEGRAD_FAST": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "8 [] [] []\n"
