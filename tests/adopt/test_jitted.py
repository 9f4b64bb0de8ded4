"""Functions of adopted code that numba compiles: Python's own inside of transforms alone."""

from __future__ import annotations

import copy
import importlib
import inspect
import itertools
import pickle
import subprocess
import sys
import textwrap
import threading
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad

Load = Callable[..., Any]
_COUNT = itertools.count()
BIG = 2**40  # its square is 0 for numba's integers, and no Python one's


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Adopts modules with these sources, by name, and returns the last."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names = []

    def load(source: str, **others: str) -> Any:
        last = f"jitted_{next(_COUNT)}"
        for name, text in {**others, last: source}.items():
            (tmp_path / f"{name}.py").write_text(textwrap.dedent(text), encoding="utf-8")
            names.append(name)
        tapegrad.adopt(*others, last)
        return importlib.import_module(last)

    yield load
    for name in names:
        tapegrad.adopt.undo(name)
        sys.modules.pop(name, None)


# -- without numba -------------------------------------------------------------------------------


class _Compiled:
    """The result of the numba below for a function."""

    def __init__(self, function: Any, settings: Any) -> None:
        self.function, self.settings = function, settings
        self.calls = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.calls += 1
        return self.function(*args, **kwargs)


class _Error(Exception):
    """An error of the numba below."""


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The functions that a small numba compiles."""
    made: list[Any] = []

    def jit(*args: Any, **kwargs: Any) -> Any:
        def decorate(function: Any) -> Any:
            if kwargs.get("fails"):
                raise _Error
            made.append(_Compiled(function, (args, kwargs)))
            return made[-1]

        return decorate

    numba: Any = types.ModuleType("numba")
    numba.njit = numba.jit = numba.vectorize = jit
    errors: Any = types.ModuleType("numba.core.errors")
    errors.NumbaError = _Error
    for name in [name for name in sys.modules if name.partition(".")[0] == "numba"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "numba", numba)
    monkeypatch.setitem(sys.modules, "numba.core.errors", errors)
    known = importlib.import_module("tapegrad._adopt.plain").MADE
    monkeypatch.delitem(known, "numba", raising=False)
    yield made
    known.pop("numba", None)


def test_numba_gets_the_code_and_the_names_of_the_package(load, made):
    source = """
    import math
    import numpy as np
    from math import cos
    from numpy import linspace
    from numba import njit

    @njit(fastmath=True)
    def f(x):
        '''A function.'''
        return float(np.sin(x) + math.exp(x) + cos(x))
    """
    module = load(source)
    assert made == []
    assert module.f(0.5) == np.sin(0.5) + np.exp(0.5) + np.cos(0.5)
    (compiled,) = made
    assert compiled.calls == 1
    assert compiled.settings == ((), {"fastmath": True})
    names: dict[str, Any] = {}
    exec(compile(Path(module.__file__).read_text(), "", "exec"), names)
    assert compiled.function.__code__.co_code == names["f"].function.__code__.co_code
    assert compiled.function.__code__.co_names == names["f"].function.__code__.co_names
    seen = compiled.function.__globals__
    assert seen["np"] is np
    assert seen["math"] is importlib.import_module("math")
    assert seen["cos"] is importlib.import_module("math").cos
    assert seen["linspace"] is np.linspace
    assert "np" in seen
    assert "none" not in seen
    assert seen.get("none", 2) == 2
    assert copy.copy(seen)["np"] is np
    assert module.f.__doc__ == "A function."
    assert list(inspect.signature(module.f).parameters) == ["x"]


def test_transforms_see_the_python_function(load, made):
    module = load("""
    from numba import jit, vectorize

    @jit
    def f(x):
        return x * x

    @vectorize
    def g(x):
        return x * x if x > 0 else x
    """)
    assert tapegrad.grad(module.f)(3.0) == 6.0
    assert tapegrad.grad(lambda x: module.g(x).sum())(np.array([2.0, -1.0])).tolist() == [4.0, 1.0]
    assert tapegrad.vmap(module.f)(np.array([2.0, 3.0])).tolist() == [4.0, 9.0]
    assert tapegrad.compile(module.f)(3.0) == 9.0
    assert made == []
    assert module.f(3.0) == module.f(x=3.0) == module.f.py_func(3.0) == 9.0
    assert [each.calls for each in made] == [2]


def test_leaked_values_are_refused_by_the_python_function(load, made):
    module = load("""
    from numba import njit

    @njit
    def f(x):
        return x * x
    """)
    leaked = []
    tapegrad.grad(lambda x: leaked.append(x) or x * x)(1.0)
    with pytest.raises(tapegrad.LeakedValueError):
        module.f(leaked[0])


def test_functions_around_and_beside_are_numbas(load, made):
    module = load(
        """
        import helped_jitted
        from numba import njit

        @njit
        def even(n):
            return n == 0 or odd(n - 1)

        @njit
        def odd(n):
            return n > 0 and even(n - 1)

        def make(k):
            @njit
            def power(x, n):
                return helped_jitted.helper(x * power(x, n - 1)) if n else k
            return power

        power = make(1.0)
        """,
        helped_jitted="""
        import numpy as np
        from numba import njit

        @njit
        def helper(x):
            return np.abs(x)
        """,
    )
    assert module.even(4)
    even, odd = made
    assert even.function.__globals__["odd"] is odd
    assert odd.function.__globals__["even"] is even
    assert module.power(2.0, 3) == 8.0
    power, helper = made[2:]
    assert power.calls == 4
    assert helper.calls == 3
    assert tapegrad.grad(module.power)(2.0, 3) == 12.0


def test_what_numba_refuses_is_python(load, made):
    module = load("""
    from numba import njit

    @njit(fails=True)
    def f(x):
        return x * x

    @njit
    def g(x):
        raise TypeError("of the program")

    h = [njit(lambda x: x), njit(lambda x: 2 * x)]
    """)
    assert module.f(3.0) == 9.0
    assert made == []
    with pytest.raises(TypeError, match="of the program"):
        module.g(1.0)
    assert [h(1.0) for h in module.h] == [1.0, 2.0]  # two in one line


def test_calls_that_numba_refuses_are_python(load, made):
    module = load("""
    from numba import njit

    @njit
    def f(x, *more, key=2):
        return x * key
    """)
    assert module.f(3.0) == 6.0
    made[0].function = None

    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise _Error

    made[0].function = refuse
    assert module.f(3.0, key=3) == 9.0
    assert module.f(3.0) == 6.0
    assert made[0].calls == 2  # numba is not asked again


def test_jitted_functions_are_methods_and_pickle(load, made):
    module = load("""
    from numba import njit

    class Model:
        scale = 2.0

        @njit
        def of(self, x):
            return self.scale * x

        @staticmethod
        @njit
        def plain(x):
            return x

    @njit
    def f(x):
        return x

    def python(x):
        return x

    renamed = njit(python)
    """)
    assert module.Model().of(3.0) == 6.0
    assert module.Model.plain(3.0) == 3.0
    for function in (module.f, module.renamed, module.python):
        assert pickle.loads(pickle.dumps(function)) is function
        assert copy.deepcopy(function) is function


def test_an_edited_module_is_compiled_anew(load, made, tmp_path):
    source = "from numba import njit\n@njit\ndef f(x):\n    return {}\n"
    module = load(source.format("2.0 * x"))
    assert module.f(3.0) == 6.0
    tapegrad.adopt.undo(module.__name__)
    (tmp_path / f"{module.__name__}.py").write_text(source.format("200.0 * x"))
    sys.modules.pop(module.__name__, None)
    tapegrad.adopt(module.__name__)
    assert importlib.import_module(module.__name__).f(3.0) == 600.0
    assert made[1].function.__code__.co_consts[1] == 200.0


def test_compiled_programs_see_the_names_of_the_python_function(load, made):
    module = load("""
    from numba import njit

    SCALE = 2.0

    @njit
    def f(x):
        return SCALE * x
    """)
    program = tapegrad.compile(tapegrad.grad(lambda x: module.f(x) ** 2))
    assert module.f(3.0) == 6.0
    assert [program(3.0), program(3.0)] == [24.0, 24.0]
    module.SCALE = 3.0
    assert program(3.0) == 54.0


def test_a_buffer_that_outlives_its_transform_does_not_end_compilation(load, made):
    module = load("""
    import numpy as np
    from numba import njit

    @njit
    def f(x):
        return x + x

    def table():
        return np.zeros(2)
    """)
    kept = []
    tapegrad.grad(lambda x: kept.append(module.table()) or x * x)(1.0)
    assert module.f(1.0) == 2.0

    def refuse(x: Any) -> Any:
        if type(x) is not float:
            raise _Error
        return 7.0

    made[0].function = refuse
    assert np.all(module.f(kept[0]) == 0.0)
    assert module.f(1.0) == 7.0


# -- with numba ----------------------------------------------------------------------------------


@pytest.fixture
def numba() -> Any:
    return pytest.importorskip("numba")


MODULE = """
import math
import numba
import numpy as np
import numpy.linalg as la
import {helper}
from math import sin
from numba import cfunc, guvectorize, jit, njit, prange, vectorize
from numpy import dot, zeros
from numpy.linalg import norm
from {helper} import helper

N = 2

@njit
def square(x):
    return x * x

@njit
def use(x):
    return square(x) + helper(x) + {helper}.helper(x) * {helper}.SCALE + {helper}.TABLE[1]

@njit
def factorial(n):
    return 1.0 if n <= 1 else n * factorial(n - 1)

@njit
def even(n):
    if n == 0:
        return True
    return odd(n - 1)

@njit
def odd(n):
    if n == 0:
        return False
    return even(n - 1)

@njit
def arrays(x):
    z = zeros(3)
    for i in range(3):
        z[i] = float(x) * i
    return dot(z, z) + np.sum(z) + norm(z) + la.norm(z) + np.linalg.norm(z) + sin(z[0])

@njit("float64(float64)")
def eager(x):
    return np.exp(x)

@njit("float64(float64)")
def eager_factorial(x):
    if x < 1:
        return 1.0
    return x * eager_factorial(x - 1)

@njit(parallel=True)
def parallel(n):
    s = 0.0
    for i in prange(n):
        s += np.sqrt(i) * N
    return s

@vectorize
def ufunc(x, y):
    return math.sin(x) + np.cos(y)

@njit
def of_ufunc(x):
    return ufunc(x, 2.0)

@guvectorize(["(float64[:], float64[:])"], "(n)->(n)")
def general(x, result):
    for i in range(x.shape[0]):
        result[i] = np.sin(x[i])

@cfunc("float64(float64)")
def in_c(x):
    return np.sin(x)

@njit
def apply(f, x):
    return f(x) + f(2 * x)

@njit
def refused(x):
    return {{1: x, "a": object()}}[1]

@njit
def default(x, y=None, z=2.0):
    if y is None:
        return x * z
    return x + y * z

def make(k):
    shift = 2.5

    @njit
    def inner(x):
        if x < 0:
            return shift
        return np.sin(x) * k + inner(x - 1)

    return inner

made = make(2.0)
PAIR = (square, helper)

@njit
def of_pair(x):
    return PAIR[0](x) + PAIR[1](x)

@njit(inline="always")
def inlined(x):
    return x * N

@njit
def inlining(x):
    return inlined(x) + 1

@njit
def with_objects(x):
    with numba.objmode(y="float64"):
        y = float(np.sin(x))
    return y
"""

HELPER = """
import numpy as np
import math
from numba import njit

SCALE = 3.0
TABLE = np.array([1.0, 2.0])

@njit
def helper(x):
    return np.sin(x) * SCALE + math.cos(x)
"""

CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("square", (BIG,), {}),
    ("use", (0.5,), {}),
    ("factorial", (5.0,), {}),
    ("even", (8,), {}),
    ("arrays", (1.5,), {}),
    ("eager", (1.0,), {}),
    ("eager_factorial", (3.0,), {}),
    ("parallel", (10,), {}),
    ("ufunc", (1.0, 2.0), {}),
    ("ufunc", (np.ones(3), 2.0), {"out": np.zeros(3)}),
    ("of_ufunc", (0.5,), {}),
    ("general", (np.ones(2),), {}),
    ("in_c", (1.0,), {}),
    ("default", (2.0,), {}),
    ("default", (2.0, 3.0), {}),
    ("default", (2.0,), {"z": 3.0}),
    ("made", (1.5,), {}),
    ("of_pair", (0.3,), {}),
    ("inlining", (2,), {}),
    ("with_objects", (2.0,), {}),
]


def _is_numbas(function: Any) -> bool:
    """Whether a jitted function of adopted code calls numba's."""
    at = function.__code__.co_freevars.index("_compiled")
    return not isinstance(
        function.__closure__[at].cell_contents, (types.FunctionType, np.vectorize)
    )


@pytest.mark.filterwarnings("ignore:.*First-class function type:Warning")
def test_calls_have_the_values_of_numbas_code(load, numba, tmp_path):
    sources = []
    for kind in ("plain", "adopted"):
        helper = f"helper_{kind}_{next(_COUNT)}"
        sources.append((helper, MODULE.format(helper=helper)))
    helper, source = sources[0]
    (tmp_path / f"{helper}.py").write_text(HELPER)
    (tmp_path / "plain_jitted.py").write_text(source)
    plain = importlib.import_module("plain_jitted")
    helper, source = sources[1]
    module = load(source, **{helper: HELPER})
    for name, args, kwargs in CALLS:
        function = getattr(module, name)
        value = function(*args, **kwargs)
        np.testing.assert_array_equal(value, getattr(plain, name)(*args, **kwargs), name)
        assert name in ("general", "in_c") or _is_numbas(function), name
    assert module.apply(module.square, 2.0) == 20.0
    assert module.apply(module.inlined, 2.0) == 12.0  # which was not called before
    assert _is_numbas(module.apply)
    assert module.refused(3.0) == 3.0
    assert not _is_numbas(module.refused)

    h = 1e-6
    for name, x in [
        ("use", 0.5),
        ("arrays", 1.5),
        ("made", 1.5),
        ("eager", 0.5),
        ("default", 1.0),
    ]:
        f = getattr(module, name)
        differences = (f(x + h) - f(x - h)) / (2 * h)
        assert tapegrad.grad(f)(x) == pytest.approx(differences, rel=1e-6), name
    with_sums = tapegrad.grad(lambda x: module.ufunc(x, 2.0).sum())
    np.testing.assert_allclose(with_sums(np.ones(2)), np.cos(np.ones(2)))
    assert tapegrad.grad(lambda x: module.apply(module.square, x))(2.0) == 20.0
    gradient = tapegrad.compile(tapegrad.grad(module.use))
    for x in (0.5, 0.6, 0.7):
        assert gradient(x) == pytest.approx(tapegrad.grad(module.use)(x))


@pytest.mark.filterwarnings("ignore:.*First-class function type:Warning")
def test_threads_compile_once(load, numba):
    module = load(MODULE.format(helper="helper_threads"), helper_threads=HELPER)
    found: list[Any] = []
    threads = [
        threading.Thread(target=lambda name=name: found.append(getattr(module, name)(0.5)))
        for name in ("use", "of_pair", "use", "of_pair")
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 4
    assert len(set(found)) == 2


CACHED = """
import math
from numba import njit
import cached_helper

@njit(cache=True)
def f(x):
    return math.sin(x) + cached_helper.helper(x)

def make(k):
    @njit(cache=True)
    def inner(x):
        return x * k
    return inner

g = make(3.0)
"""

RUN = """
import sys, importlib
kind, folder = sys.argv[1:]
sys.path.insert(0, folder)
import tapegrad
if kind == "adopted":
    tapegrad.adopt("cached", "cached_helper")
module = importlib.import_module("cached")
made = [module.f, module.g]
assert module.g(2.0) == 6.0
print(module.f(1.0))
if kind == "adopted":
    from tapegrad._adopt.jitted import _JITTED
    made = [_JITTED[f].made for f in made]
print([sum(f.stats.cache_hits.values()) for f in made])
"""


@pytest.mark.parametrize("first", ["plain", "adopted"])
def test_the_plain_and_the_adopted_package_have_one_cache(numba, tmp_path, first):
    (tmp_path / "cached.py").write_text(CACHED)
    (tmp_path / "cached_helper.py").write_text(HELPER)
    found = []
    for kind in (first, "plain", "adopted"):
        command = [sys.executable, "-c", RUN, kind, str(tmp_path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append(done.stdout.splitlines())
    values, hits = zip(*found, strict=True)
    assert len(set(values)) == 1
    assert hits == ("[0, 0]", "[1, 1]", "[1, 1]")
