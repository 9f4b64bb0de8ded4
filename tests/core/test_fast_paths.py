"""Each fast path gives what the definition gives: gradients, tangents, second derivatives.

Every function with a sample is called with all paths, and with all but one, twice, so that what
is planned at the first call is used at the second; and once by the definition alone.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

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
from tapegrad._core.fast.paths import _REMEMBERED, PATHS, is_on, off
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
        args, params = entry.draw(data)
        note(Noted(REGISTRY[entry.function].name, args, params))
        self.function = entry.call
        self.flat, self.structure = flatten((args, params))
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
        args, params = unflatten(self.structure, given)
        found = self.function(*args, **params)
        parts = [part for part in leaves(found) if getattr(part, "dtype", None) is not None]
        return [part for part in parts if part.dtype.kind in "fc"]

    def gradient(self):
        return tapegrad.vjp(self, *self.arrays)[1](self.bars)

    def tangent(self):
        return tapegrad.jvp(self, tuple(self.arrays), tuple(self.dots))[1]

    def pushed(self):
        return tapegrad.linearize(self, *self.arrays)[1](*self.dots)

    def second(self):
        """Derivatives of those of the squares: of a linear function too they are not all zero."""

        def of_squares(*arrays):
            return tapegrad.vjp(lambda *x: [y * y for y in self(*x)], *arrays)[1](self.bars)

        return tapegrad.vjp(of_squares, *self.arrays)[1](tuple(self.dots))

    def answers(self):
        """All of these, or the class of the error that is raised."""
        return [_outcome(ask) for ask in (self.gradient, self.tangent, self.pushed, self.second)]


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


KINDS = ("gradient", "tangent", "tangent by linearize", "second derivative")


def check(found, wanted, paths):
    for ours, definition, which in zip(found, wanted, KINDS, strict=True):
        assert isinstance(ours, list) is isinstance(definition, list), (paths, which)
        if not isinstance(ours, list):
            assert ours is definition, (paths, which)
            continue
        # A sum may be far less than its terms.
        least = max(np.max(np.abs(x), initial=1.0, where=np.isfinite(x)) for x in definition)
        for one, two in zip(ours, definition, strict=True):
            assert rounded(one, two, least=least), (paths, which, one, two)


def by_definition(call):
    with off():
        return call.answers()


@pytest.mark.fast_path
@each_sample
@pytest.mark.part(12)
@draws(2, 100)
@given(data=st.data())
def test_the_fast_paths_are_the_definition(entry, data):
    call = Call(entry, data)
    wanted = by_definition(call)
    for _ in range(2):
        check(call.answers(), wanted, "all paths")


@pytest.mark.slow
@pytest.mark.fast_path
@pytest.mark.parametrize("alone", [False, True], ids=["all but one", "one alone"])
@each_sample
@draws(4, 100)
@given(data=st.data())
def test_each_fast_path_is_the_definition(entry, alone, data):
    call = Call(entry, data)
    wanted = by_definition(call)
    for title in TITLES:
        with off(*[other for other in TITLES if (other != title) is alone]):
            for _ in range(2):
                check(call.answers(), wanted, f"{title} alone" if alone else f"all but {title}")


# --- Programs -----------------------------------------------------------------------------------

A, B = (np.random.default_rng(seed).uniform(0.5, 1.5, (4, 4)) for seed in (0, 1))


def chain(x):
    y = x
    for _ in range(5):
        y = np.sin(y) * 1.01 + x / 3 - 2 / y
    return np.sum(y * x)


def reads_and_writes(x):
    y = np.zeros_like(x)
    for i in range(1, 4):
        y[i] = y[i - 1] * 0.5 + x[i]
        y[i, 0] += x[0, i] * y[i, 1]
    y[[0, 2, 0], 1:] = x[1:, :3]
    return np.sum(y[::2] * x[:2]) + np.sum(x[[0, 2, 0]] ** 2) + y[-1, None, 2:].sum() * x[1, 1]


def layers(x):
    hidden = np.tanh(x @ B + x[0])
    return np.mean((np.maximum(hidden, 0.1) @ x - x[:, :1]) ** 2) + np.where(x > 1, x, B).max()


def numbers(x):
    total = 0.0
    for i in range(4):
        total = total * x[i, i] + x[0, i] / (1.5 + total) - 2.0 * x[i, 0]
    return total**2


def joined(x):
    parts = np.concatenate([x, np.stack([x[0], x[1] * 2])])
    return np.einsum("ij,kj->", parts, x) + np.linalg.norm(parts) + np.cumsum(parts, 0)[-1, 0]


def infinite(x):
    return np.sum(np.where(x > 1, np.sqrt(x - 1), 0.0)) + np.sum(np.sqrt(x[0] * 0) * 0)


PROGRAMS = [chain, reads_and_writes, layers, numbers, joined, infinite]


def derivatives(f, x):
    with np.errstate(all="ignore"):
        return [
            [tapegrad.grad(f)(x)],
            [tapegrad.jvp(f, (x,), (B,))[1]],
            [tapegrad.linearize(f, x)[1](B)],
            [tapegrad.hvp(f, (x,), (B,)), tapegrad.jacobian(tapegrad.grad(f))(x)],
        ]


@pytest.mark.part(6)
@pytest.mark.fast_path
@pytest.mark.parametrize("title", [None, *TITLES])
@pytest.mark.parametrize("f", PROGRAMS)
def test_programs_without_one_of_the_fast_paths_and_with_it_alone(f, title):
    for x in (A, A.astype("f"), A[::-1].T):
        with off():
            wanted = derivatives(f, x)
        for closed in ([title], [other for other in TITLES if other != title]) if title else ([],):
            with off(*closed) if closed else nullcontext():
                for _ in range(2):
                    check(derivatives(f, x), wanted, f"without {closed}")


# --- Switching them off -------------------------------------------------------------------------


def in_place():
    """The functions that stand in the place of each path's."""
    return {title: getattr(path.owner, path.name) for title, path in PATHS.items()}


def remembered():
    """How many calls the rules remember."""
    return sum(len(rule.calls or ()) for rule in declared_rules())


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
    with pytest.raises(ValueError, match=r"off: no path 'Tape\.recording'"), off("Tape.recording"):
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


@pytest.mark.fast_path
def test_operations_of_tensors_are_planned_again():
    from tapegrad import torch

    x = torch.ones(2, 3, requires_grad=True)

    def planned():
        """The calls of operations that are planned, after three times the same one."""
        for _ in range(3):
            x.grad = None
            (torch.softmax(x, 1) * x).sum().backward()
        return [call for table in _REMEMBERED for call in table.values() if callable(call)]

    assert planned()
    gradient = x.grad.numpy()
    with off():
        assert not planned()
        np.testing.assert_allclose(x.grad.numpy(), gradient, rtol=1e-6)
    assert planned()


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
        "      [rule for rule in declared_rules() if rule.calls])\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TAPEGRAD_FAST": "0"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout == "8 [] [] []\n"


PAGE = Path(__file__).parents[2] / "docs" / "fast-paths.md"


def test_the_page_of_the_fast_paths_has_them_all_in_both_tables():
    import tapegrad.torch  # noqa: F401 - has a path of its own

    first_cells = re.findall(r"^\| `([\w.]+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert first_cells == list(PATHS) * 2


def test_axes_in_a_list_are_axes_by_the_definition_too():
    x = np.arange(6.0).reshape(2, 3)
    with off():
        found = tapegrad.grad(lambda x: np.sum(np.median(x, axis=[0]) * np.arange(3.0)))(x)
    np.testing.assert_array_equal(found, [[0.0, 0.5, 1.0]] * 2)
