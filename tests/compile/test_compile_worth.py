"""Never slower than the function itself: which calls are recorded, and which stay its own.

A clock of ours passes as a test says: in the function itself, in its program, and in a look at
what it reads from outside.
"""

import threading
import warnings
from typing import NamedTuple

import numpy as np
import pytest

import tapegrad
from tapegrad._compile import calls as calls_module
from tapegrad._compile import worth
from tapegrad._compile.surroundings import Surroundings
from tapegrad._core.recorded import RECORDING
from tapegrad._program.numpy_program import Runner

X = np.linspace(0.5, 1.5, 3)
SCALE = 2.0
RNG = np.random.default_rng(0)


def shapes(count):
    return [(np.ones(n + 1),) for n in range(count)]


class Pair(NamedTuple):
    x: np.ndarray
    y: float


class Timed:
    """A function, its calls, and what each of them takes."""

    def __init__(self, monkeypatch, own, look, run):
        self.own, self.look, self.run = own, look, run
        self.now, self.calls, self.recorded, self.looks, self.runs = 0.0, 0, 0, 0, 0
        version, program = Surroundings.version, Runner.run

        def timed_version(surroundings):
            self.now += self.look
            self.looks += 1
            return version(surroundings)

        def timed_program(runner, inputs):
            self.now += self.run
            self.runs += 1
            return program(runner, inputs)

        monkeypatch.setattr(worth, "perf_counter", lambda: self.now)
        monkeypatch.setattr(Surroundings, "version", timed_version)
        monkeypatch.setattr(Runner, "run", timed_program)
        monkeypatch.setattr("tapegrad._compile.background.has_llvm", lambda: False)

        # As code of a library it is not looked at, so that its counts are no change outside.
        names = {"__name__": "numpy", "timed": self, "RECORDING": RECORDING}
        exec(TICK, names)
        self.tick = names["tick"]

    def compiled(self, **options):
        tick = self.tick

        def f(x, *others):
            tick()
            return np.sum(np.sin(x) * SCALE)

        return tapegrad.compile(f, **options)


TICK = """
def tick():
    timed.calls += 1
    timed.recorded += RECORDING.get() is not None
    timed.now += timed.own
"""


@pytest.fixture
def timed(monkeypatch):
    def make(own=100e-6, look=0.0, run=50e-6):
        return Timed(monkeypatch, own, look, run)

    return make


def called(fast, times, *args):
    for _ in range(times):
        out = fast(*(args or (X,)))
    return out


def in_turn(fast, times, arguments):
    for _ in range(times):
        for args in arguments:
            fast(*args)


class TestALook:
    def test_that_takes_little_is_never_weighed(self, timed):
        t = timed(own=100e-6, look=5e-6, run=40e-6)
        called(t.compiled(), 30)
        assert t.calls == 2

    def test_that_takes_longer_than_the_function_is_stopped(self, timed):
        t = timed(own=12e-6, look=5e-3, run=8e-6)
        fast = t.compiled()
        with pytest.warns(
            tapegrad.EagerWarning, match=r"takes longer \(5e\+03 us\).*12 us"
        ) as told:
            called(fast, 30)
        assert len(told) == 1
        looks, runs = t.looks, t.runs
        assert called(fast, 50) == t.compiled()(X)
        assert (t.looks, t.runs) == (looks + 1, runs)  # that of the other one's first call
        assert t.calls == t.recorded + 30 - 2 - t.runs + 50

    def test_is_stopped_where_arguments_have_no_short_key(self, timed):
        t = timed(own=12e-6, look=5e-3, run=8e-6)
        fast, many = t.compiled(), (X, Pair(X, 1.0))
        with pytest.warns(tapegrad.EagerWarning, match="takes longer"):
            called(fast, 30, *many)
        looks = t.looks
        called(fast, 30, *many)
        assert t.looks == looks

    def test_that_takes_much_of_a_faster_program_stays(self, timed):
        t = timed(own=100e-6, look=40e-6, run=40e-6)
        fast = t.compiled()
        called(fast, 30)
        assert t.calls == 2 + worth.TURNS
        looks = t.looks
        called(fast, 5)
        assert t.calls == 2 + worth.TURNS
        assert t.looks == looks  # by the short way, whose look is code

    def test_of_an_explicit_back_end_is_not_weighed(self, timed):
        t = timed(own=12e-6, look=5e-3, run=8e-6)
        called(t.compiled(backend="numpy"), 30)
        assert t.calls == 2

    def test_waits_for_machine_code(self, timed, monkeypatch):
        t = timed(own=20e-6, look=10e-6, run=15e-6)
        monkeypatch.setattr(Runner, "is_final", False, raising=False)
        fast = t.compiled()
        called(fast, 30)
        (program,) = fast.call.programs.values()
        assert program.trial.waits
        counted = t.calls
        called(fast, 30)
        assert t.calls == counted
        t.run = 1e-6  # of machine code
        monkeypatch.setattr(Runner, "is_final", True)
        called(fast, 30)
        assert program.trial is None
        assert not fast.call.worth.own
        assert t.calls == counted + worth.TURNS

    def test_a_program_of_a_few_numbers_is_stopped_in_silence(self, timed):
        t = timed(own=1e-6, look=4e-6, run=3e-6)
        fast = t.compiled()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            called(fast, 30)
        runs = t.runs
        called(fast, 30)
        assert t.runs == runs
        assert "sin" in fast.program(X)  # can be shown all the same
        runs = t.runs
        called(fast, 30)
        assert t.runs == runs

    def test_a_further_shape_is_weighed_for_itself(self, timed):
        t = timed(own=12e-6, look=30e-6, run=8e-6)
        fast = t.compiled()
        with pytest.warns(tapegrad.EagerWarning, match="takes longer"):
            called(fast, 20)
        t.own = 1e-3
        called(fast, worth.PAUSE + 20, np.ones(1000))
        counted = t.calls
        called(fast, 20, np.ones(1000))
        assert t.calls == counted


class TestManySignatures:
    def test_each_that_comes_once_is_not_recorded(self, timed):
        t = timed()
        fast = t.compiled(backend="numpy")
        with pytest.warns(tapegrad.EagerWarning, match="combinations of shapes") as told:
            in_turn(fast, 1, shapes(499))
        assert len(told) == 1
        assert t.recorded == worth.FREE
        assert t.calls == 499
        assert t.looks <= 5 * worth.FREE

    def test_those_that_come_again_become_programs(self, timed):
        t = timed()
        fast = t.compiled(backend="numpy")
        with pytest.warns(tapegrad.EagerWarning, match="combinations of shapes"):
            in_turn(fast, worth.WAIT + 2, shapes(40))
        counted = t.calls
        assert t.recorded == 2 * 40
        in_turn(fast, 20, shapes(40))
        assert t.calls == counted

    def test_more_than_are_kept_are_not_recorded_for_ever(self, timed, monkeypatch):
        monkeypatch.setattr(calls_module, "MOST_PROGRAMS", 20)
        monkeypatch.setattr(worth, "WAIT", 5)
        t = timed()
        fast = t.compiled(backend="numpy")
        recorded = []
        with pytest.warns(tapegrad.EagerWarning, match="combinations of shapes"):
            in_turn(fast, 1, shapes(30))
        for _ in range(4):
            in_turn(fast, 60, shapes(30))
            recorded.append(t.recorded)
        spent = np.diff([0, *recorded])
        assert spent[-1] < spent[0] / 2
        assert len(fast.call.programs) <= 20

    def test_memory_that_is_kept_has_a_bound(self, timed, monkeypatch):
        monkeypatch.setattr(calls_module, "MOST_BYTES", 100_000)
        t = timed()
        fast = t.compiled(backend="numpy")
        for n in range(10):
            called(fast, 3, np.ones(4000 + n))
        kept = [program.bytes for program in fast.call.programs.values()]
        assert 0 < sum(kept) <= 150_000

    def test_a_count_of_steps_is_called_as_it_is(self, timed):
        t = timed()
        fast = t.compiled(backend="numpy")
        with pytest.warns(tapegrad.EagerWarning, match="values of integers"):
            in_turn(fast, 1, [(X, n) for n in range(200)])
        assert t.recorded == worth.FREE

    def test_a_change_outside_needs_no_waiting(self):
        part = {"a": "0"}
        fast = tapegrad.compile(lambda x: x * float(part["a"]), backend="numpy")
        for n in range(worth.FREE):
            fast(np.ones(n + 1))
        for n in range(5):
            part["a"] = str(n)
            called(fast, 3, np.ones(1))
            assert len([x for x in fast.call.programs.values() if x.runner]) == n + 1


def test_where_no_program_can_be_the_look_is_made_ever_less_often(timed):
    t = timed()
    tick, table = t.tick, {"draws": True}

    def f(x):
        tick()
        return np.sum(x) + (RNG.random() if table["draws"] else 0.0)

    fast = tapegrad.compile(f, backend="numpy")
    with pytest.warns(tapegrad.EagerWarning, match="random"):
        called(fast, 2000)
    assert t.looks < 20
    table["draws"] = False
    called(fast, 4000)
    assert t.runs > 0


def test_threads_share_what_is_known(monkeypatch):
    """Each answer is right while programs come, are weighed, wait, and are dropped."""
    monkeypatch.setattr(calls_module, "MOST_PROGRAMS", 6)
    monkeypatch.setattr(worth, "FREE", 4)
    monkeypatch.setattr(worth, "WAIT", 3)
    times = iter(range(10**9))
    monkeypatch.setattr(worth, "perf_counter", lambda: next(times) * 1e-6)
    part, wrong = {"a": 2.0}, []
    fast = tapegrad.compile(lambda x: x * part["a"], backend="auto")

    def work(first):
        for n in range(300):
            x = np.ones(1 + (first + n) % 12)
            try:
                wrong.extend([n] * (not np.array_equal(fast(x), x * 2.0)))
            except Exception as error:  # noqa: BLE001 - told by the test
                wrong.append(error)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        threads = [threading.Thread(target=work, args=(3 * n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong
    assert fast.call.pause <= worth.PAUSE
