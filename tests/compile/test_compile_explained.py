"""Questions about a compiled function: `explain()`, the repr, `source()`, `prepare`, `wait`."""

import logging
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import tapegrad
from tapegrad._compile import background, worth

X = np.linspace(0.1, 1.0, 5)
SCALE = {"a": 2.0}


def f(x, k=1, *, name="sin"):
    return np.sum(np.sin(x) * k * SCALE["a"])


def lines(fast):
    return fast.explain().splitlines()[1:]


def called(fast, times, *args, **kwargs):
    for _ in range(times):
        fast(*args, **kwargs)


def test_a_line_for_each_signature():
    fast = tapegrad.compile(f, backend="numpy")
    assert lines(fast) == ["not called yet, or with values that no program takes"]
    assert repr(fast) == "<compile of f>"
    fast(X)
    assert lines(fast) == [
        "(float64[5]): recorded; a program after one more call that does the same"
    ]
    assert repr(fast) == "<compile of f: 1 recorded>"
    called(fast, 2, X)
    called(fast, 3, X[:2], 3, name="cos")
    called(fast, 2, 0.5)
    assert lines(fast) == [
        "(float64[5]): NumPy's program",
        "(float64[2], 3, name='cos'): NumPy's program",
        "(float): NumPy's program",
    ]
    assert repr(fast) == "<compile of f: 3 by NumPy>"
    assert "<pre>" in fast.explain()._repr_html_()


def test_reasons_are_given():
    generator = np.random.default_rng(0)
    fast = tapegrad.compile(lambda x: x + generator.random(), backend="numpy")
    with pytest.warns(tapegrad.EagerWarning):
        called(fast, 3, X)
    assert "the function's own, as it draws random numbers" in fast.explain()
    assert repr(fast).endswith(": 1 as the function itself>")
    fast = tapegrad.compile(f, backend="eager")
    assert "as backend='eager' says" in fast.explain()
    fast = tapegrad.compile(lambda x: x * next(iter([1.0])) * next(NUMBERS))
    with pytest.warns(tapegrad.EagerWarning):
        called(fast, 3, X)
    assert "all calls are the function's own: it may take a value" in fast.explain()
    assert repr(fast).endswith(": the function itself>")


NUMBERS = iter([1.0] * 10)


def test_what_waits_and_what_is_old_is_counted(monkeypatch):
    monkeypatch.setattr(worth, "FREE", 1)
    fast = tapegrad.compile(lambda x: x * SCALE["a"], backend="numpy")
    called(fast, 3, X)
    with pytest.warns(tapegrad.EagerWarning, match="combinations"):
        fast(X[:2])
    monkeypatch.setitem(SCALE, "a", 3.0)
    called(fast, 3, X)
    assert lines(fast) == [
        "(float64[5]): NumPy's program",
        "1 program of what was outside before it changed",
        f"1 further signature that came less than {worth.WAIT + 1} times: the function's own",
    ]


def test_branches_are_counted():
    fast = tapegrad.compile(lambda x: x * 2 if x[0] > 0 else x, backend="numpy")
    called(fast, 2, X)
    called(fast, 2, -X)
    assert lines(fast) == ["(float64[5]): 2 ways, NumPy's program"]


def test_a_long_build_is_announced(monkeypatch, caplog):
    monkeypatch.setattr(background, "LONG", 0.01)
    with caplog.at_level(logging.WARNING, "tapegrad"), background.announced("compile(f)"):
        time.sleep(0.1)
    assert "compile(f): its program is being built" in caplog.text
    caplog.clear()
    monkeypatch.setattr(background, "LONG", 10.0)
    with background.announced("compile(f)"):
        pass
    assert not caplog.text


def test_without_llvmlite_nothing_is_waited_for(monkeypatch):
    monkeypatch.setattr(background, "has_llvm", lambda: False)
    fast = tapegrad.compile(f)
    assert fast.prepare(X) is fast
    assert lines(fast) == ["(float64[5]): NumPy's program"]
    assert fast.wait()
    with pytest.raises(tapegrad.InputError, match="no program takes"):
        fast.prepare(object())


class TestMachineCode:
    @pytest.fixture(autouse=True)
    def _has_llvmlite(self):
        pytest.importorskip("llvmlite")

    def test_it_is_prepared_ahead(self, monkeypatch):
        monkeypatch.setattr(background, "FASTER", 1e9)
        x = X.copy()
        fast = tapegrad.compile(tapegrad.grad(f)).prepare(x)
        assert lines(fast) == ["(float64[5]): machine code"]
        assert repr(fast) == "<compile of f: 1 by machine code>"
        assert "define void @part0" in fast.source(x)
        assert "def run(x0)" in fast.source(x)
        np.testing.assert_array_equal(x, X)

    def test_its_state_is_told(self, monkeypatch):
        monkeypatch.setattr(background, "FASTER", 0.0)
        go, build = threading.Event(), background.native

        def slow(*args):
            go.wait(10)
            return build(*args)

        monkeypatch.setattr(background, "native", slow)
        fast = tapegrad.compile(f)
        called(fast, 2, X)
        assert lines(fast)[0].startswith("(float64[5]): NumPy's program; machine code will be")
        fast(X)
        assert "machine code is being built" in fast.explain()
        assert not fast.wait(0.01)
        go.set()
        assert fast.wait()
        assert "machine code is timed beside it in 5 calls" in fast.explain()
        called(fast, background.TRIALS + 20, X)
        assert lines(fast) == ["(float64[5]): NumPy's program, as machine code is not faster"]
        assert "define" not in fast.source(X)

    def test_a_program_of_other_dtypes_says_so(self):
        fast = tapegrad.compile(lambda x: np.sin(x) * x).prepare(X.astype(np.float16))
        (line,) = lines(fast)
        assert line.startswith("(float16[5]): NumPy's program, as its dtypes or many ways")

    def test_a_failure_is_told(self, monkeypatch):
        def fail(*args):
            raise MemoryError("as a test asks")

        monkeypatch.setattr(background, "native", fail)
        fast = tapegrad.compile(f)
        with pytest.warns(tapegrad.EagerWarning, match="as a test asks"):
            fast.prepare(X)
        assert "could not be built (MemoryError: as a test asks)" in fast.explain()


class _Build:
    """A build that goes on until it is told to end, in Python or in a library."""

    def __init__(self, wait):
        self.wait, self.begun, self.go = wait, threading.Event(), threading.Event()

    def build(self):
        self.begun.set()
        while not self.go.is_set():
            self.wait()


class TestTheEnd:
    def test_python_code_is_left_at_once(self):
        builder, endless = background.Builder(), _Build(lambda: None)
        builder.ask(endless)
        assert endless.begun.wait(10)
        builder.end()
        assert not builder.thread.is_alive()
        assert not builder.wait(0.01)

    @pytest.mark.parametrize("leaves", [True, False])
    def test_a_library_is_waited_for_only_where_it_must(self, monkeypatch, leaves):
        ended = threading.Event()
        monkeypatch.setattr(background, "PATIENCE", 0.01)
        monkeypatch.setattr(background, "_leaves_libraries", lambda: ended.set() or leaves)
        builder, library = background.Builder(), _Build(lambda: ended.wait(10) and time.sleep(0.1))
        builder.ask(library)
        assert library.begun.wait(10)
        thread = builder.thread
        builder.end()
        assert thread.is_alive() == leaves
        thread.join()

    @pytest.mark.skipif(sys.platform != "linux", reason="of glibc's")
    def test_the_status_of_the_process_stays(self):
        text = (
            "from tapegrad._compile.background import _leaves_libraries\n"
            "print('printed')\n"
            "assert _leaves_libraries()\n"
            "raise SystemExit(7)"
        )
        done = subprocess.run([sys.executable, "-c", text], capture_output=True, check=False)
        assert (done.returncode, done.stdout.strip()) == (7, b"printed")
