"""Small programs, each by a way to write Python that adopted code must not notice."""

from __future__ import annotations

import importlib
import itertools
import math
import sys
import textwrap

import numpy as np
import pytest

import tapegrad

_count = itertools.count()
X = np.array([0.3, 0.7, 1.9])
START = "import copy\nimport cmath\nimport math\nimport statistics\nimport numpy as np\n"

PROGRAMS = {
    "a name that is a keyword of the program's": """
        class A:
            def copy(self, x=None): return x
            def dot(self, x): return x * 2
        def f(x):
            return A().copy(x=x[0]) * A().dot(x=x[1]) * len("{text}".format(text="ab"))
    """,
    "a method copy that keeps an array": """
        class Log:
            def copy(self, a): self.last = a
        def f(x):
            b, log = np.zeros(3), Log()
            log.copy(b)
            b[0] = x[0] * x[1]
            return log.last[0] + x[2]
    """,
    "import copy": """
        def f(x):
            held = {"a": x[0]}
            return held.copy()["a"] * copy.copy(x)[1] * copy.deepcopy(held)["a"]
    """,
    "functions of numpy named as methods": """
        from numpy import array, copy, dot
        class V:
            def __init__(self, v): self.v = v
            def dot(self, o): return self.v * o + 1
            def __array__(self, dtype=None, copy=None): return array([1.0, 2.0])
        def f(x):
            held = {"a": x[0]}
            return held.copy()["a"] * copy(np.ones(3))[1] * V(x[0]).dot(x[1]) * dot(x, x)
    """,
    "another function has a parameter named type": """
        def g(v, type=None): return v
        def h(v): return v * 2 if type(v) is np.float64 else v * 1000
        def k(a): return 1.0 if type(a) is np.ndarray else 500.0
        def f(x): return g(x[0]) * h(x[0]) + k(np.zeros(2))
    """,
    "the module has its own format": """
        def format(v): return v * 3
        def f(x): return format(x[0]) * float(x[1])
    """,
    "a number has no length": """
        def f(x):
            v = float(x[0])
            long = hasattr(v, "__len__") or hasattr(v, "__iter__")
            return (v * 5 if long else v) * (x[1] if hasattr(x, "__len__") else 2.0)
    """,
    "out= of a method is what comes back": """
        def f(x):
            a, c, e = np.ones((3, 3)), np.zeros(3), np.zeros(3)
            d = a.sum(axis=0, out=c)
            d[0] = x[0] * x[1]
            a[0] = x
            a.sum(axis=0, out=e)
            return (c * x).sum() + e @ x
    """,
    "the list of a shape is changed": """
        def f(x):
            a, shape = np.zeros(6), [2, 3]
            v, w = a.reshape(shape), np.reshape(a, shape)
            shape[:] = 3, 2
            a[:3] = x
            return (v[0] * x).sum() + w[0, 2] * 3
    """,
    "parts of a complex array are set": """
        def f(x):
            z = np.zeros(3, complex)
            z.real = x
            z.imag = x * x
            z.imag *= 2
            z.real[1:] = x[:2]
            return float((z * z * np.conj(z)).real.sum())
    """,
    "Fortran order": """
        def f(x):
            a = np.zeros((2, 3), order="F")
            a[0] = x
            v = a.ravel()
            v[1] = 5 * x[0]
            w = a.T.ravel()
            w[2] = x[1] ** 2
            return (a * np.arange(6.0).reshape(2, 3)).sum() + v.sum()
    """,
    "the other side of a branch cut": """
        def f(x):
            z = complex(-x[0], -0.0)
            y = (x[1] - 3 + 0j).conjugate()
            return (cmath.sqrt(z) + cmath.log(z) * x[1] + cmath.sqrt(y)).imag
    """,
    "sums of generators": """
        def f(x):
            return math.fsum(v * k for k, v in enumerate(x)) + statistics.mean(v * v for v in x)
    """,
    "a centre by name": """
        def f(x):
            return statistics.variance(list(x), xbar=1.5) + statistics.pvariance(list(x), mu=x[0])
    """,
    "a table of functions": """
        TABLE = {math.sin: math.cos, np.zeros: np.ones}
        def f(x, g=math.sin): return TABLE[g](x[0]) * TABLE[np.zeros](2)[0]
    """,
    "the module sets its own names": """
        from math import cos, log, sqrt, exp
        import sys
        setattr(sys.modules[__name__], "log", lambda v: 42.0 * v)
        vars()["sqrt"] = lambda v: v * 3
        names = globals()
        names["exp"] = lambda v: v * 5
        exec("cos = abs")
        def f(x): return log(x[0]) + sqrt(x[1]) + exp(x[2]) + cos(x[0])
    """,
}


def differences(f, x, h=1e-6):
    return np.array([(f(x + e) - f(x - e)) / (2 * h) for e in h * np.eye(len(x))])


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_package(tmp_path, monkeypatch, name):
    monkeypatch.syspath_prepend(tmp_path)
    plain, ours = (f"{kind}_{next(_count)}" for kind in ("plain", "ours"))
    for each in plain, ours:
        (tmp_path / f"{each}.py").write_text(START + textwrap.dedent(PROGRAMS[name]))
    wanted = importlib.import_module(plain).f
    tapegrad.adopt(ours)
    try:
        f = importlib.import_module(ours).f
        assert f(X) == wanted(X)
        value, found = tapegrad.value_and_grad(f)(X)
        known = differences(wanted, X)
        np.testing.assert_allclose(value, wanted(X), rtol=1e-14)
        np.testing.assert_allclose(found, known, rtol=1e-6, atol=1e-7)
        many = np.stack([X, X[::-1] * 0.4])
        np.testing.assert_allclose(
            tapegrad.vmap(f)(many), [wanted(each) for each in many], rtol=1e-13
        )
        columns = [
            (tapegrad.grad(f)(X + e) - tapegrad.grad(f)(X - e)) / 2e-6 for e in 1e-6 * np.eye(3)
        ]
        np.testing.assert_allclose(tapegrad.hessian(f)(X), columns, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(tapegrad.compile(f)(X), wanted(X), rtol=1e-14)
    finally:
        tapegrad.adopt.undo(ours)
        for each in plain, ours:
            sys.modules.pop(each, None)


class Left:
    def __init__(self, v):
        self.__v = v

    def left(self):
        return float(self.__v)


class Right(Left):
    def __init__(self, v):
        super().__init__(v)
        self.__v = v * 100

    def right(self):
        return float(self.__v)


def test_private_names_of_adopted_classes():
    tapegrad.adopt(Left)
    tapegrad.adopt(Right)
    assert vars(Right(1.0)) == {"_Left__v": 1.0, "_Right__v": 100.0}
    assert tapegrad.grad(lambda x: Right(x).left() * Right(x).right())(2.0) == 400.0


def twice(v):
    return 2 * v


@tapegrad.adopt
def with_a_class(x):
    class Inner:
        table = np.zeros(2)
        twice = twice(2.0)

        def value(self):
            return math.sin(float(x)) * self.twice + self.table.sum()

    return Inner().value() + eval("np.ones(2)").sum() + eval("twice(3.0)")


def test_the_body_of_a_class_and_eval_see_the_module():
    assert with_a_class(0.5) == 4 * math.sin(0.5) + 8
    np.testing.assert_allclose(tapegrad.grad(with_a_class)(0.5), 4 * math.cos(0.5))


def closing_over(type):
    @tapegrad.adopt
    def f(x):
        return type(x)

    return f


def test_a_name_of_a_function_around_it():
    assert tapegrad.grad(closing_over(lambda v: v * 5))(2.0) == 5.0


def test_fsum_is_exact_inside_a_transform():
    from tapegrad import math

    value, slope = tapegrad.value_and_grad(lambda v: math.fsum([v, v * v, 1e20, -1e20]))(0.3)
    assert value == 0.3 + 0.3 * 0.3
    assert slope == 1.6


def test_a_compiled_program_raises_as_the_plain_one():
    from tapegrad import math

    def f(x):
        try:
            return math.sqrt(x) + math.exp(x)
        except (ValueError, OverflowError):
            return 7.0 * x

    compiled = tapegrad.compile(f)
    with np.errstate(all="ignore"):
        for x in (1.0, 2.0, -1.0, 800.0, 3.0):
            np.testing.assert_allclose(compiled(x), f(x), rtol=1e-14)
        with pytest.raises(ValueError, match="math domain error"):
            tapegrad.compile(math.log)(-1.0)


def test_a_function_is_found_by_the_one_that_it_stands_for():
    from tapegrad import math as ours

    assert {math.sin: 1}[ours.sin] == {ours.sin: 1}[math.sin] == 1
    assert ours.sin != math.cos
    assert ours.sin != ours.cos
