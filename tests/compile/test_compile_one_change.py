"""`backend="auto"`: answers change at most once, from NumPy's program's to machine code's."""

from __future__ import annotations

import itertools
import threading
import time
import warnings
from types import SimpleNamespace
from unittest import mock

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st
from program_differences import DERIVATIVES, KINDS, result

import tapegrad
from tapegrad import _tree
from tapegrad._compile import background
from tapegrad._program.numpy_program import Runner
from tapegrad._program.passes import Block
from tapegrad.testing import programs

X = np.linspace(0.1, 1.0, 700)  # sums of so many terms are rounded otherwise by machine code


def f(x):
    return np.sum(np.sin(x) * np.exp(-x))


def known(fast):
    (*_, last) = fast.call.programs.values()
    return last


def bits(out):
    return tuple([(np.shape(x), np.asarray(x).tobytes()) for x in _tree.flatten(out)[0]])


def changes(answers):
    return sum(a != b for a, b in itertools.pairwise(answers))


# --- Which program is chosen, by a clock of ours -------------------------------------------------


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class Timed:
    """A program with an answer, whose calls take given times in turn."""

    block = Block()

    def __init__(self, clock, answer, *times):
        self.clock, self.answer, self.times, self.calls = clock, answer, times, 0

    def run(self, inputs):
        self.clock.now += self.times[self.calls % len(self.times)]
        self.calls += 1
        if self.answer is None:
            raise LookupError
        return self.answer

    def beside(self, usual):
        return self


def tried(monkeypatch, usual_times, native_times, native="machine"):
    """The answers of calls over a trial, who made the last one, and both programs."""
    clock = Clock()
    monkeypatch.setattr(background, "perf_counter", clock)
    usual, made = Timed(clock, "numpy", *usual_times), Timed(clock, native, *native_times)
    program = SimpleNamespace(usual=usual, last=None)
    program.choose = program._take = lambda runner: setattr(program, "last", runner)
    trial = background._Trial(program, made)
    answers = []
    while program.last is None:
        answers.append(trial.run([X]))
    answers += [trial.run([X])]  # by a thread that has come late
    return answers, program.last, usual, made


@pytest.mark.parametrize(
    ("usual", "native", "faster"),
    [
        ([2.0], [1.0], "machine"),
        ([1.0], [2.0], "numpy"),
        ([1.0], [1.0], "numpy"),
        ([1.0], [0.95], "numpy"),  # as good as equal: NumPy's bits
        ([9.0, 1.0, 9.0], [2.0, 2.0, 3.0], "numpy"),  # measurements of NumPy's that are bad
        ([2.0, 2.0, 3.0], [9.0, 9.0, 1.0], "machine"),
    ],
)
def test_the_faster_program_is_chosen(monkeypatch, usual, native, faster):
    answers, last, usual, made = tried(monkeypatch, usual, native)
    assert last.answer == faster
    assert answers == ["numpy"] * (background.TRIALS + 1)  # until then, in all calls
    assert made.calls == background.TRIALS


def test_machine_code_that_makes_no_call_is_not_chosen(monkeypatch):
    assert tried(monkeypatch, [2.0], [1.0], None)[1].answer == "numpy"


def test_a_trial_of_calls_that_raise_ends(monkeypatch):
    clock = Clock()
    usual, made = Timed(clock, None, 1.0), Timed(clock, "machine", 0.5)
    program = SimpleNamespace(usual=usual, choose=None, _take=mock.Mock())
    trial = background._Trial(program, made)
    for _ in range(background.TRIALS):
        with pytest.raises(LookupError):
            trial.run([X])
    program._take.assert_called_once_with(usual)


# --- One change ----------------------------------------------------------------------------------


@pytest.fixture
def always(monkeypatch):
    """Machine code is taken to be faster."""
    pytest.importorskip("llvmlite")
    timed = background._Trial._unseen
    monkeypatch.setattr(
        background._Trial, "_unseen", lambda *given: 0.0 if timed(*given) < np.inf else np.inf
    )


def until_chosen(fast, *inputs, calls=4):
    """The bits of the answers to each input, over the time in which machine code is chosen."""
    answers = [[] for _ in inputs]
    for waits in (False, True, True):
        for _ in range(calls + background.TRIALS):
            for x, found in zip(inputs, answers, strict=True):
                found.append(bits(fast(x.copy())))
        if waits:
            assert background.BUILDER.wait()
    return answers


@pytest.mark.usefixtures("always")
def test_answers_change_once_to_machine_codes():
    fast = tapegrad.compile(tapegrad.value_and_grad(f))
    native = tapegrad.compile(tapegrad.value_and_grad(f), backend="llvm")
    before, after = bits(tapegrad.value_and_grad(f)(X)), [bits(native(X)) for _ in range(3)][-1]
    (answers,) = until_chosen(fast, X)
    assert before != after
    assert answers == [before] * answers.count(before) + [after] * answers.count(after)
    assert answers[-1] == after
    assert known(fast).runner.chosen.paths


@pytest.mark.usefixtures("always")
def test_a_further_path_leaves_those_before_as_they_are():
    def branching(x):
        return f(x) if x[0] < 0.5 else f(x) + np.sum(x * np.cos(x))

    fast = tapegrad.compile(tapegrad.value_and_grad(branching))
    (first,) = until_chosen(fast, X)
    assert changes(first) == 1
    (way,) = known(fast).runner.chosen.paths
    again, other = until_chosen(fast, X, X + 0.5)
    assert set(again) == {first[-1]}
    assert changes(other) == 1
    assert way in (ways := known(fast).runner.chosen.paths)  # and not compiled again
    assert len(ways) == 2


@pytest.mark.usefixtures("always")
def test_what_is_replaced_chooses_no_more():
    fast = tapegrad.compile(f)
    for _ in range(3):
        fast(X)
    assert background.BUILDER.wait()
    old = known(fast).runner
    assert old.settle() is None
    for _ in range(background.TRIALS + 1):
        assert fast(X) == f(X)
    assert old.chosen is None


@pytest.mark.usefixtures("always")
def test_calls_that_go_no_compiled_way_change_no_others():
    g = tapegrad.grad(lambda x: np.max(x) ** 2 + f(x))
    fast = tapegrad.compile(g)
    (answers,) = until_chosen(fast, X)
    for _ in range(30):
        fast(np.ones(700))  # a tie
    assert bits(fast(X)) == answers[-1]


@pytest.mark.usefixtures("always")
def test_each_thread_sees_one_change():
    fast = tapegrad.compile(tapegrad.value_and_grad(f))
    first = bits(fast(X))
    seen = [[first] for _ in range(4)]

    def work(answers):
        until = time.monotonic() + 30
        while time.monotonic() < until and getattr(known(fast).runner, "chosen", None) is None:
            answers.append(bits(fast(X)))
            stop.wait(1e-3)  # busy threads would starve the one that builds
        answers.extend([bits(fast(X)) for _ in range(20)])

    stop = threading.Event()
    threads = [threading.Thread(target=work, args=(answers,)) for answers in seen]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [changes(answers) for answers in seen] == [1] * 4
    assert len({answers[-1] for answers in seen}) == 1


# --- What is written, and what is seen -----------------------------------------------------------


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("flipped", [False, True])
def test_each_call_writes_once(flipped):
    def step(x):
        x += np.sin(x)
        return np.sum(x)

    fast = tapegrad.compile(step)
    x, expected = X.copy()[:: -1 if flipped else 1], X.copy()[:: -1 if flipped else 1]
    for n in range(20):
        if n == 6:
            assert background.BUILDER.wait()
        np.testing.assert_allclose(fast(x), step(expected), rtol=1e-14)
        np.testing.assert_allclose(x, expected, rtol=1e-14)
    assert known(fast).runner.chosen.paths


@tapegrad.primitive
def sine(x):
    return np.sin(x)


tapegrad.constant(sine)


@pytest.mark.usefixtures("always")
def test_functions_of_ones_own_run_once_a_call(monkeypatch):
    fast = tapegrad.compile(lambda x: np.sum(sine(x) if x[0] > 0 else np.exp(x)))
    for _ in range(4):
        fast(-X), fast(X)
    assert background.BUILDER.wait()
    calls, run = [], Runner.run

    def counted(self, inputs):
        calls.append(inputs)
        return run(self, inputs)

    monkeypatch.setattr(Runner, "run", counted)
    fast(-X)
    for _ in range(2 * background.TRIALS):
        calls.clear()
        assert fast(X) == np.sum(np.sin(X))  # the way with `sine` is none of machine code's
        assert len(calls) == 1
    assert len(known(fast).runner.chosen.paths) == 1


@pytest.mark.usefixtures("always")
def test_a_trial_warns_once_a_call():
    fast = tapegrad.compile(lambda x, y: np.sin(x) / y.astype(np.float16).astype(float))
    for n in range(3 + background.TRIALS):
        with warnings.catch_warnings(record=True) as met:
            warnings.simplefilter("always")
            fast(X, X * 1e6)  # too large for float16
        assert len(met) == 1
        if n == 2:
            assert background.BUILDER.wait()
    assert known(fast).runner.chosen.paths


# --- Drawn programs ------------------------------------------------------------------------------


@draws(4, 150)
@given(
    program=programs(8, **KINDS),
    transform=st.sampled_from(sorted(DERIVATIVES)),
    waits=st.sets(st.integers(3, 12), min_size=1, max_size=3),
)
def test_drawn_programs_change_once(always, program, transform, waits):
    g = DERIVATIVES[transform](program, program.argnums)
    points = [program.args_at(n) for n in range(3)]
    result(g, *points[0])  # what an engine learns in a first call may round anew
    fast = tapegrad.compile(g)
    seen, roots = {}, None
    for turn in range(14 + background.TRIALS):
        for n, point in enumerate(points):
            out = result(fast, *point)
            now = [program.root for program in fast.call.programs.values()]
            if roots is None or list(map(id, roots)) != list(map(id, now)):
                seen, roots = {}, now  # it is recorded anew
            seen.setdefault(n, []).append(out if isinstance(out, type) else bits(out))
        if turn in waits:
            assert background.BUILDER.wait()
    assert all(changes(answers) <= 1 for answers in seen.values())
