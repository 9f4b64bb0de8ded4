"""Kinds of code that packages from PyPI showed, each as a module of a few lines that is adopted.

The packages are those of docs/adopted_packages.py.
"""

from __future__ import annotations

import importlib
import itertools
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad

Load = Callable[[str], Any]
_COUNT = itertools.count()


@pytest.fixture
def load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Load]:
    """Adopts a module with this source, and returns its `f`."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names = []

    def load(source: str) -> Any:
        name = f"adopted_kind_{next(_COUNT)}"
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(source), encoding="utf-8")
        tapegrad.adopt(name)
        names.append(name)
        return importlib.import_module(name).f

    yield load
    for name in names:
        tapegrad.adopt.undo(name)
        sys.modules.pop(name, None)


def differences(f: Callable[[Any], Any], x: Any, h: float = 1e-6) -> Any:
    steps = h * np.eye(x.size)
    return np.array([(f(x + e) - f(x - e)) / (2 * h) for e in steps])


def check(f: Any, *x: float) -> None:
    point = np.array(x)
    expected = differences(f, point)
    assert np.all(np.abs(expected) > 1e-6)
    np.testing.assert_allclose(tapegrad.grad(f)(point), expected, rtol=1e-6)


def test_functions_are_taken_from_a_modules_names(load):  # haversine
    check(
        load("""
        import math, numpy
        def kernel(*, sin, sqrt, **_):
            return lambda x: sin(x) * sqrt(x)
        def f(p):
            return kernel(**math.__dict__)(p[0]) + kernel(**vars(numpy))(p[1])
        """),
        0.3, 0.7,
    )  # fmt: skip


def test_a_class_holds_a_builtin(load):  # skyfield
    check(
        load("""
        import math
        from numpy import array
        class Row:
            __getitem__ = array
            root = math.sqrt
        def f(p):
            return (Row()[p[0], 2.0] * Row().root(p[1])).sum()
        """),
        0.3, 0.7,
    )  # fmt: skip


@pytest.mark.parametrize(
    "decorator", ["lru_cache", "lru_cache(8)", "lru_cache(maxsize=None)", "cache"]
)
def test_a_cached_function(load, decorator):  # anastruct
    f = load(f"""
        import functools
        @functools.{decorator}
        def power(x, n=2):
            return x**n
        def f(p):
            return power(p[0]) + power(p[1], n=3) + power(2.0)
        f.power = power
        """)
    check(f, 0.3, 0.7)
    assert f.power.cache_info().hits > 0
    f.power.cache_clear()
    assert f.power.cache_info().hits == 0


def test_recursion_through_a_cache(load):
    """Without the cache it takes 2**50 steps."""
    f = load("""
        import functools
        @functools.lru_cache(maxsize=None)
        def legendre(n, x, *, scale):
            if n < 2:
                return scale * x**n
            one, two = legendre(n - 1, x, scale=scale), legendre(n - 2, x, scale=scale)
            return ((2 * n - 1) * x * one - (n - 1) * two) / n
        def f(p):
            return legendre(50, p[0], scale=1.5) * p[1] + legendre(3, p[1], scale=p[0])
        """)
    check(f, 0.3, 0.7)
    check(f, 0.4, 0.7)


def test_a_cached_function_of_an_array_in_a_list(load):
    check(
        load("""
        import functools, numpy as np
        class Key(tuple):
            pass
        @functools.cache
        def total(parts, n=1):
            return sum(parts) ** n if n < 3 else total(parts, n - 1) + total(parts, n=n - 1)
        def f(p):
            return total((p[0], p[1]), n=2) + total((1.0, 2.0)) + total(Key(p), 4)
        """),
        0.3, 0.7,
    )  # fmt: skip


@pytest.mark.parametrize(
    "call", ["dtype(x)", "np.float64(x)", "p.dtype.type(x)", "dtype([x, 1.0])[0]"]
)
def test_a_type_of_numbers_converts(load, call):  # colour-science
    f = load(f"""
        import numpy as np
        def f(p, dtype=np.float64):
            x = p[0] * p[1]
            return ({call}) ** 2
        """)
    check(f, 0.3, 0.7)
    assert type(f(np.array([0.3, 0.7]))) is np.float64


def test_a_type_of_complex_numbers_converts(load):  # miepython
    check(
        load("""
        import numpy as np
        def f(p):
            return abs(np.complex128(p[0]) + 1j * p[1])
        """),
        0.3, 0.7,
    )  # fmt: skip


def test_a_type_refuses_what_the_plain_one_refuses(load):
    f = load("import numpy as np\ndef f(p): return np.float64(*p, 1.0, 2.0)")
    with pytest.raises(TypeError):
        f(np.ones(1))


def test_a_class_of_scipys_that_a_function_of_ours_stands_for(load):  # calfem-python
    sparse = pytest.importorskip("scipy.sparse")
    f = load("""
        import numpy as np
        from scipy import sparse
        class Own(sparse.csr_matrix):
            pass
        def f(p):
            if isinstance(p, sparse.lil_matrix) or issubclass(type(p), sparse.csr_array):
                return 0.0
            A = sparse.csr_matrix((p, ([0, 1], [1, 0])), shape=(2, 2))
            return (A @ np.array([1.0, 2.0])).sum()
        f.made = sparse.csr_matrix(np.eye(2))
        f.known = isinstance(f.made, sparse.csr_matrix), isinstance(f, (int, sparse.csr_matrix))
        f.own = Own(np.eye(2))
        """)
    check(f, 0.3, 0.7)
    assert f.known == (True, False)
    assert type(f.made) is sparse.csr_matrix
    assert isinstance(f.own, sparse.csr_matrix)


def test_parts_of_a_sparse_matrix(load):  # PyNiteFEA, scikit-fem
    pytest.importorskip("scipy.sparse")
    check(
        load("""
        import numpy as np
        from scipy import sparse
        def f(p):
            A = sparse.coo_matrix((p, ([0, 1, 1], [1, 0, 0])), shape=(3, 3)).tocsr()
            A.eliminate_zeros()
            keep = [1, 0]
            part = A[keep, :][:, keep] @ np.array([1.0, 2.0])
            return part[0] * part[1] + A[:2, :2].toarray()[1, 0] ** 3
        """),
        0.3, 0.7, 0.2,
    )  # fmt: skip


@pytest.mark.parametrize(
    "call",
    [
        "np.linalg.eigh(A)[1][0, 0]",
        "np.linalg.eigvalsh(A)[1]",
        "np.linalg.eigh(A.T, 'U')[0][1]",
        "np.linalg.cholesky(A)[1, 1]",
        "np.linalg.cholesky(A.T, upper=True)[1, 1]",
        "scipy.linalg.eigh(A)[0][1]",
        "scipy.linalg.eigvalsh(A.T, lower=False)[1]",
        "scipy.linalg.cholesky(A, lower=True)[1, 1]",
        "scipy.linalg.cholesky(A.T)[1, 1]",
        "scipy.linalg.cho_solve(scipy.linalg.cho_factor(A, True), np.ones(2))[0]",
    ],
)
def test_one_triangle_of_a_matrix_is_filled(load, call):  # transforms3d
    if call.startswith("scipy"):
        pytest.importorskip("scipy.linalg")
    check(
        load(f"""
        import numpy as np
        try:
            import scipy.linalg
        except ImportError:
            pass
        def f(p):
            A = np.array([[p[0], 0.0], [p[1], p[2]]])
            return {call}
        """),
        2.0, 0.7, 1.5,
    )  # fmt: skip


def test_a_method_has_the_name_of_a_builtin(load):  # refnx
    check(
        load("""
        class Index:
            def __init__(self, value):
                self.value = value
            def complex(self):
                return complex(self.value, 1.0)
            def float(self):
                return float(self.value)
        def f(p):
            return abs(Index(p[0]).complex()) + Index(p[1]).float()
        """),
        0.3, 0.7,
    )  # fmt: skip


def test_an_object_converts_to_a_number(load):  # refnx
    check(
        load("""
        class Parameter:
            def __init__(self, value):
                self.value = value
            def __float__(self):
                return float(self.value)
            def __complex__(self):
                return complex(0.0, self.value)
        def f(p):
            return float(Parameter(p[0])) ** 2 + abs(1.0 + complex(Parameter(p[1])))
        """),
        0.3, 0.7,
    )  # fmt: skip


def test_the_method_dot_of_a_plain_array(load):  # arch
    check(
        load("""
        import numpy as np
        TABLE = np.array([[1.0, 2.0], [3.0, 4.0]])
        def f(p):
            return np.sum(TABLE.dot(p) ** 2)
        """),
        0.3, 0.7,
    )  # fmt: skip


def test_numbas_decorators_keep_py_func(load):  # psychrolib
    pytest.importorskip("numba")
    check(
        load("""
        from numba import njit
        @njit(cache=True)
        def square(x):
            return x * x
        square = njit(square.py_func)
        def f(p):
            return square(p[0]) + square(p[1])
        """),
        0.3, 0.7,
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        'f"{x:.6f}"',
        '"%.6g" % x',
        '"%s %g" % (1, x)',
        '"%(x)g" % {"x": x}',
        '"{:.6f}".format(x)',
        "str(x)",
        'format(x, "g")',
    ],
)
@pytest.mark.parametrize("kind", ["float", "complex", "np.float64"])
def test_a_number_that_is_read_from_a_text_is_refused(load, text, kind):
    f = load(f"""
        import numpy as np
        def f(p):
            x = p[0] * 2
            shown = {text}
            assert shown.endswith(("0.6", "0.600000")), shown
            return abs({kind}(shown)) * p[1]
        """)
    with pytest.raises(tapegrad.ConversionError, match="the text of a traced one"):
        tapegrad.grad(f)(np.array([0.3, 0.7]))


@pytest.mark.parametrize(
    "call",
    [
        "np.sqrt([p[0], p[1]])",
        "num.power([x for x in p], 2)",
        "np.hypot((p[0], 1.0), [[p[1]], [2.0]])",
        "np.maximum.reduce([p[0], p[1]])",
        "num.add.accumulate([p[0], p[1]])",
        "root([p[0], p[1]])",
    ],
)
def test_a_ufunc_of_a_list(load, call):
    f = load(f"""
        import numpy as np
        import numpy as num
        from numpy import sqrt as root
        def f(p):
            return np.sum({call}) + np.sum(p**2)
        """)
    check(f, 0.3, 0.7)
