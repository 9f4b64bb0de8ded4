"""Adopted code outside of transforms: the plain package's speed and values, and its kept code."""

import asyncio
import importlib
import itertools
import math
import os
import sys
import time
import warnings

import numpy as np
import pytest

import tapegrad
from tapegrad._core.tape import RUNNING

_numbers = itertools.count()


@pytest.fixture
def adopted(tmp_path, monkeypatch):
    """A function that makes a package of source, adopts it and imports it."""
    monkeypatch.syspath_prepend(str(tmp_path))
    names = []

    def make(source, name=None):
        name = name or f"adopted_example_{next(_numbers)}"
        (tmp_path / f"{name}.py").write_text(source)
        tapegrad.adopt(name)
        names.append(name)
        return importlib.import_module(name)

    yield make
    for name in names:
        tapegrad.adopt.undo(name)


def _calls_of_ours(function, *args):
    """The functions of tapegrad's that a call runs, by a profile of Python's."""
    found = []
    until = time.monotonic() + 60
    while RUNNING and time.monotonic() < until:  # a program that compiles behind another test
        time.sleep(0.01)

    def note(frame, event, _):
        if event == "call" and "tapegrad" in frame.f_globals.get("__name__", ""):
            found.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
    return found


@pytest.mark.parametrize(
    "body",
    [
        "math.sin(x) + sqrt(x)",
        "np.zeros(3) + np.array([x, 1.0]).copy().sum()",
        "float(np.sum(np.linalg.inv(np.eye(2) * x)))",
        "(lambda y: np.sum(np.linspace(y, 1.0, 3)))(x)",
        "sum([exp(y) for y in (x, x)])",
        "sum(map(np.array, (x, x)))",
        "alias(x) + type(x)(2)",
        "np.full(2, x).astype(float)[0]",
    ],
)
def test_outside_of_transforms_no_function_of_ours_is_called(adopted, body):
    module = adopted(
        "import math\nimport numpy as np\nfrom math import exp, sqrt\nalias = math.cosh\n"
        f"def f(x):\n    return {body}\n"
    )
    assert _calls_of_ours(module.f, 0.5) == []
    found = tapegrad.grad(lambda x: np.sum(module.f(x)))(0.5)
    step = 1e-6
    expected = (np.sum(module.f(0.5 + step)) - np.sum(module.f(0.5 - step))) / (2 * step)
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_a_name_of_another_adopted_module_is_plain_too(adopted):
    first = adopted("from math import log as logarithm, log\n")
    module = adopted(f"from {first.__name__} import log\ndef f(x):\n    return log(x)\n")
    assert _calls_of_ours(module.f, 2.0) == []
    assert tapegrad.grad(module.f)(2.0) == 0.5


def test_closures_made_outside_are_differentiated_inside(adopted):
    module = adopted(
        "import numpy as np\n"
        "def model(a):\n"
        "    grid = np.zeros(3)\n"
        "    def f(x):\n"
        "        out = np.zeros(2)\n"
        "        out[0] = float(x) * a\n"
        "        g = lambda y: np.array([y, grid[0]]).sum()\n"
        "        return out[0] * g(x)\n"
        "    return f\n"
    )
    f = module.model(2.0)
    assert f(3.0) == 18.0
    assert tapegrad.grad(f)(3.0) == 12.0


def test_functions_kept_in_objects_are_ours(adopted):
    module = adopted(
        "import math\nimport numpy as np\nfrom numpy.linalg import inv\n"
        "class Model:\n"
        "    def __init__(self):\n"
        "        self.root, self.inv = math.sqrt, inv\n"
        "        self.each = np.vectorize(lambda x: x * x)\n"
        "    def __call__(self, x):\n"
        "        return np.sum(self.each(self.inv([[self.root(x)]])))\n"
    )
    model = module.Model()
    np.testing.assert_allclose(tapegrad.grad(model)(2.0), -0.25)


def test_a_name_that_a_function_inside_of_another_imports(adopted):
    """Where the module's is never bound, outside of transforms it was a NameError."""
    module = adopted(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    import numpy as np\n"
        "def outer(x):\n"
        "    def inner(y):\n"
        "        import numpy as np\n"
        "        return np.exp(y)\n"
        "    return inner(x)\n"
    )
    np.testing.assert_allclose([module.outer(1.0), tapegrad.grad(module.outer)(1.0)], np.e)


def test_names_bound_in_several_ways(adopted):
    module = adopted(
        "import math\n"
        "try:\n    import no_such_module as np\nexcept ImportError:\n    np = None\n"
        "try:\n    from math import no_such_function as cbrt\n"
        "except ImportError:\n    def cbrt(x):\n        return x ** (1 / 3)\n"
        "if np is None:\n    import numpy as np\n"
        "from math import sin, cos\n"
        "cos = lambda x: 5.0 * x\n"
        "def f(x, sin=lambda x: 2 * x):\n"
        "    return sin(x) + cbrt(x) + np.array(cos(x))\n"
        "from math import exp, log, sqrt, tan\n"
        "def g(x):\n"
        "    exp = lambda y: math.exp(2 * y)\n"
        "    return exp(x) + [sin(sin) for sin in ()].count(0)\n"
        "def log(x):\n"
        "    from math import log\n"
        "    return log(x)\n"
        "def h(x):\n"
        "    def sqrt(y):\n"
        "        return 3 * y\n"
        "    for tan in (sqrt,):\n"
        "        return (lambda log: log(x) + sqrt(x) + tan(x))(sqrt)\n"
    )
    np.testing.assert_allclose(module.f(8.0), 58.0)
    np.testing.assert_allclose(tapegrad.grad(module.f)(8.0), 7 + 1 / 12)
    for call, value, slope in (
        (module.g, math.exp(2), 2 * math.exp(2)),
        (module.log, 0.0, 1.0),
        (module.h, 9.0, 9.0),
    ):
        np.testing.assert_allclose(call(1.0), value)
        np.testing.assert_allclose(tapegrad.grad(call)(1.0), slope)


def test_a_name_set_from_outside_is_another_in_both_bodies(adopted, monkeypatch):
    module = adopted(
        "import numpy as np\nfrom math import exp\ndef f(x):\n    return exp(x) + np.sum(x)\n"
    )
    with monkeypatch.context() as patch:
        patch.setattr(module, "exp", lambda x: 3 * x)
        assert module.f(1.0) == 4.0
        assert tapegrad.grad(module.f)(1.0) == 4.0
    assert math.isclose(module.f(1.0), math.e + 1)
    assert _calls_of_ours(module.f, 1.0) == []


def test_a_name_set_by_globals_is_another_in_both_bodies(adopted):
    start = "from math import exp\ndef f(x):\n    return exp(x)\ndef change(to, name='exp'):\n"
    for change in ("globals()['exp'] = to", "globals()[name] = to", "globals().update(exp=to)"):
        module = adopted(f"{start}    {change}\n")
        assert module.f(0.0) == 1.0
        module.change(lambda x: 3 * x)
        assert module.f(1.0) == 3.0
        assert tapegrad.grad(module.f)(1.0) == 3.0


def test_a_star_may_bind_any_name_anew(adopted):
    module = adopted(
        "from math import sqrt, log10\nfrom numpy import *\ndef f(x):\n    return sum(sqrt(x))\n"
    )
    assert module.f(np.array([1.0, 4.0])) == 3.0
    np.testing.assert_array_equal(tapegrad.grad(module.f)(np.array([1.0, 4.0])), [0.5, 0.25])


def test_variables_that_only_call_are_plain_too(adopted):
    module = adopted(
        "import math\nimport numpy as np\n"
        "def f(x):\n"
        "    sin, zeros = math.sin, np.zeros\n"
        "    cos = np.cos\n"
        "    return float(sin(x)) * cos(x) + zeros(1)[0]\n"
        "def kept(x):\n"
        "    exp = math.exp\n"
        "    other = listed = math.sinh\n"
        "    inner = lambda y: exp(y)\n"
        "    return inner, [other, listed]\n"
    )
    assert _calls_of_ours(module.f, 0.5) == []
    assert math.isclose(tapegrad.grad(module.f)(0.5), math.cos(1.0))
    inner, listed = module.kept(0.0)  # outside, to be called inside
    assert math.isclose(tapegrad.grad(inner)(1.0), math.e)
    for function in listed:
        assert math.isclose(tapegrad.grad(function)(1.0), math.cosh(1.0))


def test_exec_may_bind_any_name_anew(adopted):
    module = adopted(
        "from math import sqrt, exp\nexec('sqrt = lambda x: 5 * x')\n"
        "held = {}\n"
        "def made(text):\n    exec(text, globals(), held)\n"
        "def f(x):\n    return float(sqrt(x)) + exp(0 * x)\n"
    )
    module.made("exp = None")
    assert module.f(2.0) == 11.0
    assert tapegrad.grad(module.f)(2.0) == 5.0
    assert _calls_of_ours(module.f, 2.0) == []


def test_attributes_of_modules_are_read_as_fast_as_those_of_plain_ones(adopted):
    module = adopted("import numpy as np, scipy.special as special\n")
    assert type(module.np) is type(module.np.linalg) is type(module.special) is type(math)
    assert dir(module.np) == dir(np)
    with pytest.raises(AttributeError, match="no_such"):
        module.np.no_such  # noqa: B018


def test_a_star_may_bind_the_name_of_a_builtin(adopted, tmp_path):
    (tmp_path / "with_format.py").write_text("def format(v):\n    return v * 3\n")
    module = adopted("from with_format import *\ndef f(x):\n    return format(x) + float(x)\n")
    assert module.f(2.0) == 8.0
    assert tapegrad.grad(module.f)(2.0) == 4.0


def test_a_name_that_the_module_sets_by_itself(adopted):
    module = adopted(
        "from math import log\nimport sys\n"
        "setattr(sys.modules[__name__], 'log', lambda v: 42 * v)\n"
        "def f(x):\n    return log(x)\n"
    )
    assert module.f(2.0) == 84.0
    assert tapegrad.grad(module.f)(2.0) == 42.0


def test_functions_of_every_kind_have_two_bodies(adopted):
    module = adopted(
        '"""A module."""\n'
        "import numpy as np\n"
        "from math import exp\n"
        "count = 0\n"
        "def counted(x):\n"
        '    """Counts."""\n'
        "    if x > 0:\n"
        "        global count\n"
        "    count += 1\n"
        "    return exp(x)\n"
        "def generated(x):\n"
        "    for k in range(3):\n"
        "        yield k * exp(x)\n"
        "async def awaited(x):\n"
        "    return exp(x)\n"
        "async def several(x):\n"
        "    yield exp(x)\n"
        "def only_a_docstring():\n"
        '    """Nothing else."""\n'
        "class A:\n"
        "    def f(self, x):\n"
        "        return exp(x)\n"
        "class B(A):\n"
        "    def f(self, x):\n"
        "        return super().f(x) * exp(x)\n"
        "def nested(x):\n"
        "    y = exp(x)\n"
        "    def inner():\n"
        "        nonlocal y\n"
        "        y *= exp(x)\n"
        "        return lambda: y * exp(x)\n"
        "    return inner()()\n"
    )
    e = math.e
    for call, degree in (
        (module.counted, 1),
        (lambda x: sum(module.generated(x)), 1),
        (lambda x: asyncio.run(module.awaited(x)), 1),
        (module.B().f, 2),
        (module.nested, 3),
    ):
        assert math.isclose(float(tapegrad.grad(call)(1.0)), degree * float(call(1.0)))
    assert module.counted.__doc__ == "Counts."
    assert module.count == 2
    assert module.only_a_docstring() is None
    assert module.only_a_docstring.__doc__ == "Nothing else."
    assert math.isclose(module.nested(1.0), e**3)


def test_no_transform_counts_as_open_after_an_error():
    before = len(RUNNING)

    def fails(x):
        raise KeyError(x)

    for transform in (tapegrad.grad, tapegrad.vmap, tapegrad.jacobian):
        with pytest.raises(KeyError):
            transform(fails)(np.ones(2))
    with pytest.raises(KeyError):
        tapegrad.jvp(fails, (1.0,), (1.0,))
    assert len(RUNNING) == before


def test_long_sums_are_rewritten(adopted):
    module = adopted(
        "from math import sin\ndef f(x):\n    return " + " + ".join(["sin(x)"] * 900) + "\n"
    )
    assert math.isclose(module.f(1.0), 900 * math.sin(1.0), rel_tol=1e-12)


def test_vectorize_of_plain_values_keeps_subclasses(adopted):
    module = adopted(
        "import numpy as np\n"
        "double = np.vectorize(lambda x: 2 * x)\n"
        "def f(x):\n    return double(x)\n"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        assert type(module.f(np.matrix([[1.0]]))) is np.matrix


def test_nodes_and_weights_of_an_interpolator_are_set(adopted):
    pytest.importorskip("scipy")
    module = adopted(
        "import numpy as np\n"
        "from scipy.interpolate import BarycentricInterpolator\n"
        "def f(x, t=0.2):\n"
        "    p = BarycentricInterpolator([0.0, 1.0])\n"
        "    p.wi = np.array([0.5, -1.0, 0.5])\n"
        "    p.xi = np.array([1.0, 0.0, -1.0])\n"
        "    p.set_yi(np.array([x, x * x, 1.0]))\n"
        "    return p(t)\n"
    )
    np.testing.assert_allclose(module.f(2.0), 0.12 * 2 + 0.96 * 4 - 0.08)
    np.testing.assert_allclose(tapegrad.grad(module.f)(2.0), 0.12 + 0.96 * 4)


# --- the cache ----------------------------------------------------------------------------------


def _kept(folder):
    cache = folder / "__pycache__"
    return sorted(path.name for path in cache.glob("*tapegrad*")) if cache.exists() else []


@pytest.fixture
def writing(monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)


def test_compiled_code_is_kept_and_renewed(adopted, tmp_path, writing, monkeypatch):
    from tapegrad._adopt import loading

    name = f"adopted_example_{next(_numbers)}"
    module = adopted("from math import exp\ndef f(x):\n    return exp(x)\n", name)
    assert len(_kept(tmp_path)) == 1
    made = []
    compiled = loading.compiled
    monkeypatch.setattr(loading, "compiled", lambda *a: made.append(a) or compiled(*a))

    def again():
        del sys.modules[name]
        return importlib.import_module(name)

    module = again()
    assert not made
    assert math.isclose(tapegrad.grad(module.f)(1.0), math.e)
    (tmp_path / f"{name}.py").write_text(
        "from math import exp\ndef f(x):\n    return 2 * exp(x)\n"
    )
    module = again()
    assert len(made) == 1
    assert math.isclose(module.f(1.0), 2 * math.e)
    (file,) = _kept(tmp_path)
    for data in (b"", b"short", (tmp_path / "__pycache__" / file).read_bytes()[:-20]):
        (tmp_path / "__pycache__" / file).write_bytes(data)
        assert math.isclose(again().f(1.0), 2 * math.e)


def test_a_folder_that_cannot_be_written_to(adopted, tmp_path, writing):
    (tmp_path / "__pycache__").write_text("a file in the way")
    assert adopted("def f():\n    return 1\n").f() == 1


def test_nothing_is_kept_where_python_keeps_nothing(adopted, tmp_path, writing, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert adopted("def f():\n    return 1\n").f() == 1
    assert _kept(tmp_path) == []
    assert os.path.exists(tmp_path)
