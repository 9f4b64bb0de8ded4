"""Warnings of a compiled function come in each call, as those of the function itself."""

import threading
import warnings
from unittest import mock

import numpy as np
import pytest

import tapegrad
from tapegrad._compile import background, warned

X = np.array([0.5, 2.0])


class OurWarning(UserWarning):
    pass


def plain(x):
    warnings.warn("of mine", stacklevel=1)
    return np.sum(x * 2)


def of_a_caller(x):
    def inner(x):
        warnings.warn("of who calls me", DeprecationWarning, stacklevel=2)
        return x * x

    return {"out": [inner(x), inner(x + 1)]}


def an_object(x):
    warnings.warn(OurWarning("an object"), stacklevel=1)
    return np.sin(x)


def on_a_branch(x):
    if x[0] > 0:
        warnings.warn("it is positive", RuntimeWarning, stacklevel=1)
    return x * 3


def in_a_derivative(x):
    return tapegrad.grad(plain)(x)


def of_numpy(x):
    warnings.warn("before", stacklevel=1)
    return np.log(x - 0.5)


FUNCTIONS = [plain, of_a_caller, an_object, on_a_branch, in_a_derivative, of_numpy]


def told(call, x=X):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call(x)
    return [(str(w.message), w.category, w.filename, w.lineno) for w in found]


@pytest.mark.parametrize("backend", ["numpy", "interpreter"])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_each_call_warns_as_the_function_does(f, backend):
    fast = tapegrad.compile(f, backend=backend)
    usual = warnings.warn
    for _ in range(6):
        for x in (X, -X):
            expected = told(f, x)
            if f is of_numpy:  # a program's own come last, and name the line of its call
                assert sorted(w[0] for w in told(fast, x)) == sorted(w[0] for w in expected)
            else:
                assert told(fast, x) == expected
    assert warnings.warn is usual
    assert any(program.runner for program in fast.call.programs.values())


def test_machine_code_warns_once_a_call(monkeypatch):
    pytest.importorskip("llvmlite")
    monkeypatch.setattr(background, "FASTER", 1e9)
    fast = tapegrad.compile(plain)
    for n in range(20):
        assert len(told(fast)) == 1
        if n == 5:
            assert fast.wait()
    assert "machine code" in fast.explain()


def test_an_error_that_a_filter_makes_of_it_is_raised():
    fast = tapegrad.compile(plain, backend="numpy")
    for _ in range(4):
        told(fast)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="of mine"):
            fast(X)
    assert told(fast) == told(plain)


def test_by_default_a_line_is_shown_once():
    fast = tapegrad.compile(plain, backend="numpy")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("default")
        for _ in range(6):
            fast(X)
    assert len(found) == 1


def test_threads_leave_the_function_of_python():
    usual, both, noted = warnings.warn, threading.Barrier(2), {}

    def work(name):
        with warned.noting() as noted[name]:
            both.wait(10)
            warnings.warn(name, stacklevel=1)
            both.wait(10)

    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert warnings.warn is usual
    assert {name: [each.text for each in found] for name, found in noted.items()} == {
        "a": ["a"],
        "b": ["b"],
    }


def test_of_another_that_took_its_place_nothing_is_lost():
    with mock.patch.object(warnings, "warn") as other:
        fast = tapegrad.compile(lambda x: x * 2, backend="numpy")
        fast(X)
        assert warnings.warn is other
