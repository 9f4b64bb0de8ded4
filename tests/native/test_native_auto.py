"""`backend="auto"`: NumPy's program serves until the native one is there."""

from __future__ import annotations

import gc
import os
import pickle
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import tapegrad
from tapegrad._compile import background
from tapegrad._program.numpy_program import Runner

X = np.linspace(0.1, 2.0, 9)


def f(x):
    return np.sum(np.sin(x) * np.exp(-x))


def runner_of(fast):
    (*_, last) = fast.call.programs.values()
    return last.runner


def kind(fast):
    """The class of what makes the calls."""
    return type(runner_of(fast).run.__self__).__name__


def is_native(fast):
    return kind(fast) in ("_Trial", "NativeRunner")


def called(fast, times=3):
    for _ in range(times):
        out = fast(X)
    return out


def test_without_llvmlite_auto_is_numpy(monkeypatch):
    monkeypatch.setattr(background, "has_llvm", lambda: False)
    fast = tapegrad.compile(f)
    assert called(fast, 5) == f(X)
    assert type(runner_of(fast)) is Runner


def test_llvm_without_llvmlite_says_what_to_install(monkeypatch):
    monkeypatch.setattr(background, "has_llvm", lambda: False)
    with pytest.raises(tapegrad.InputError, match=r"pip install tapegrad\[fast\]"):
        tapegrad.compile(f, backend="llvm")


@pytest.mark.parametrize("threads", [0, -1, 2.0, True])
def test_threads_are_a_number(threads):
    with pytest.raises(tapegrad.InputError, match="threads"):
        tapegrad.compile(f, threads=threads)


class TestWithLlvmlite:
    @pytest.fixture(autouse=True)
    def _has_llvmlite(self):
        pytest.importorskip("llvmlite")

    def test_a_thread_that_cannot_start_is_started_later(self, monkeypatch):
        monkeypatch.setattr(background, "BUILDER", background.Builder())
        fast = tapegrad.compile(f)
        with monkeypatch.context() as patch:

            def refuse(_):
                raise RuntimeError("can't start new thread")

            patch.setattr(threading.Thread, "start", refuse)
            called(fast, 4)
            assert kind(fast) == "Growing"
        called(fast, 1)
        assert background.BUILDER.wait()
        assert is_native(fast)
        background.BUILDER.end()

    def test_the_native_program_takes_over(self):
        fast = tapegrad.compile(tapegrad.grad(f))
        expected = tapegrad.grad(f)(X)
        called(fast, 2)
        assert runner_of(fast).process == 0  # nothing is built for two calls
        np.testing.assert_array_equal(fast(X), expected)  # by NumPy's program
        assert background.BUILDER.wait()
        assert is_native(fast)
        np.testing.assert_allclose(fast(X), expected, rtol=1e-14)
        again = pickle.loads(pickle.dumps(tapegrad.compile(np.sin)))
        np.testing.assert_array_equal(called(again), np.sin(X))

    def test_a_trial_ends(self):
        x = np.linspace(0, 1, 500)
        fast = tapegrad.compile(tapegrad.grad(f))
        while not fast.call.programs or runner_of(fast) is None:
            fast(x)
        fast(x)
        assert background.BUILDER.wait()
        assert kind(fast) == "_Trial"
        for _ in range(background.TRIALS):
            np.testing.assert_array_equal(fast(x), tapegrad.grad(f)(x))
        assert kind(fast) in ("NativeRunner", "Runner")

    def test_checks_allow_for_rounding(self):
        fast = tapegrad.compile(tapegrad.grad(f), backend="llvm", check=1)
        called(fast, 6)

    def test_a_failure_keeps_numpys_program(self, monkeypatch):
        def fail(*args):
            raise MemoryError("as a test asks")

        monkeypatch.setattr(background, "native", fail)
        fast = tapegrad.compile(f)
        called(fast)
        assert background.BUILDER.wait()
        with pytest.warns(tapegrad.EagerWarning, match="as a test asks"):
            assert fast(X) == f(X)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert called(fast) == f(X)

    def test_a_path_that_cannot_be_built_is_numpys(self, monkeypatch):
        from tapegrad._native import native_program

        def fail(*args):
            raise MemoryError("as a test asks")

        monkeypatch.setattr(native_program, "Path", fail)
        fast = tapegrad.compile(f, backend="llvm")
        with pytest.warns(tapegrad.EagerWarning, match="as a test asks"):
            called(fast)
        assert fast(X) == f(X)

    def test_what_is_dropped_is_not_built(self, monkeypatch):
        built, go, begun = [], threading.Event(), threading.Event()

        def build(inputs, usual, threads, before):
            begun.set()
            go.wait(10)
            built.append(usual)
            return usual

        monkeypatch.setattr(background, "native", build)
        monkeypatch.setattr(Runner, "paths", (), raising=False)
        monkeypatch.setattr(Runner, "error", None, raising=False)
        first, second = tapegrad.compile(f), tapegrad.compile(lambda x: f(x) * 2)
        called(first)
        assert begun.wait(10)
        called(second)
        del second
        gc.collect()
        go.set()
        assert background.BUILDER.wait()
        assert len(built) == 1

    def test_threads_while_it_is_built(self):
        fast = tapegrad.compile(tapegrad.value_and_grad(f))
        expected = tapegrad.value_and_grad(f)(X)
        wrong = []

        def work():
            until = time.monotonic() + 0.3
            while time.monotonic() < until or kind(fast) == "Growing":  # either may stay
                value, slope = fast(X)
                if abs(value - expected[0]) > 1e-14 or np.max(abs(slope - expected[1])) > 1e-14:
                    wrong.append(value)
                if time.monotonic() > until:
                    time.sleep(1e-3)  # busy threads would starve the one that builds

        called(fast)
        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
    @pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
    @pytest.mark.parametrize("built", [False, True], ids=["before", "after"])
    def test_fork(self, built):
        fast = tapegrad.compile(tapegrad.grad(f))
        called(fast)
        if built:
            assert background.BUILDER.wait()
        process = os.fork()
        if process == 0:
            fine = False
            try:
                called(fast)
                fine = background.BUILDER.wait() and is_native(fast)
                fine = fine and np.allclose(called(fast), tapegrad.grad(f)(X), rtol=1e-14)
            finally:
                sys.stderr.flush()
                os._exit(0 if fine else 1)
        assert os.waitpid(process, 0)[1] == 0
