"""`tapegrad.adopt`: packages, functions and classes in which numpy, math and scipy are ours."""

from __future__ import annotations

import importlib
import inspect
import math
import os
import pickle
import subprocess
import sys
import textwrap
import traceback
import types
import zipfile

import numpy as np
import pytest

import tapegrad
from tapegrad import adopt, compile, grad, hessian, jvp, vmap
from tapegrad._adopt.adoption import AdoptWarning

FILES = {
    "__init__.py": """
        \"\"\"A package of plain NumPy code.\"\"\"
        from .model import Model, scale, total
        from . import deep
    """,
    "model.py": """
        import math
        from math import *
        import numpy as np
        import numpy.linalg
        import numpy.linalg as la
        from numpy import zeros, pi as PI
        from numpy.linalg import inv

        LIMIT = float("inf")

        class Model:
            size: float = 2.0

            def __init__(self, p):
                self.x = zeros((2, 1))
                self.x[0, 0] = float(p)
                self.P = np.eye(2) * p

            def energy(self):
                quadratic = float((self.x.T @ inv(self.P) @ self.x)[0, 0])
                return quadratic + numpy.linalg.det(self.P) + la.norm(self.x)

        def scale(x):
            if type(x) in (float, np.float64) and isinstance(x, float) and LIMIT:
                return sqrt(x) * math.exp(-x) + float(PI) * 0
            return 0.0

        def total(p):
            import numpy as later
            values = list(map(float, [p, 2.0]))
            start = later.array(values, dtype=float)
            twin = start.copy()
            twin[1] *= scale(p)
            return later.sum(twin) + sum(start) + Model(p).energy() + complex(p, 1.0).imag
    """,
    "deep/__init__.py": "from .inner import f\n",
    "deep/inner.py": """
        from ..model import total
        from .. import model

        def f(p):
            return model.total(p) + total(2 * p)

        def fails(p):
            from decimal import Decimal
            return Decimal(p)

        def divides(p):
            return 1 / int(p * 0)
    """,
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of a new name in a folder of installed packages."""
    name = f"toy_{tmp_path.name.replace('-', '_')}"
    home = tmp_path / "site-packages"
    for file, text in FILES.items():
        path = home / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    monkeypatch.syspath_prepend(str(home))
    importlib.invalidate_caches()
    yield name
    for known in [known for known in sys.modules if known.partition(".")[0] == name]:
        del sys.modules[known]


def slope(f, p=0.7, h=1e-5):
    return (8 * (f(p + h) - f(p - h)) - (f(p + 2 * h) - f(p - 2 * h))) / (12 * h)


def test_a_package_unchanged(package):
    plain = importlib.import_module(package)
    known = [slope(plain.total), slope(plain.scale), slope(plain.deep.f)]
    with pytest.raises(tapegrad.ConversionError):
        grad(plain.total)(0.7)
    with pytest.warns(AdoptWarning, match="was imported before"):
        adoption = adopt(package)
    with adoption as adopted:
        assert adopted is sys.modules[package] is not plain
        functions = adopted.total, adopted.scale, adopted.deep.f
        for f, expected, own in zip(
            functions, known, (plain.total, plain.scale, plain.deep.f), strict=True
        ):
            assert f(0.7) == own(0.7)
            np.testing.assert_allclose(grad(f)(0.7), expected, 1e-8)
            np.testing.assert_allclose(jvp(f, (0.7,), (1.0,))[1], expected, 1e-8)
            np.testing.assert_allclose(vmap(grad(f))(np.array([0.7, 0.7])), [expected] * 2, 1e-8)
            np.testing.assert_allclose(compile(grad(f))(0.7), expected, 1e-8)
            np.testing.assert_allclose(hessian(f)(0.7), slope(grad(f)), 1e-6)
    assert sys.modules[package] is plain
    with pytest.raises(tapegrad.ConversionError):
        grad(plain.total)(0.7)
    assert grad(adopted.scale)(0.7) == grad(functions[1])(0.7)  # it stays what it is


def test_modules_are_as_usual(package):
    with adopt(package) as adopted:
        model = importlib.import_module(f"{package}.model")
        assert inspect.getsource(model.scale).startswith("def scale(x):")
        assert inspect.getfile(adopted.deep.f).endswith("inner.py")
        assert adopted.__doc__ == "A package of plain NumPy code."
        made = pickle.loads(pickle.dumps(model.Model(2.0)))
        assert made.energy() == model.Model(2.0).energy()
        assert type(made) is model.Model
        assert pickle.loads(pickle.dumps(model.scale)) is model.scale
        again = importlib.reload(model)
        assert grad(again.scale)(0.7) == grad(adopted.scale)(0.7)
        assert importlib.resources.files(package).joinpath("model.py").is_file()
        assert model.__spec__.name == model.__name__
        assert model.__package__ == package
        with pytest.raises(ZeroDivisionError) as caught:
            adopted.deep.inner.divides(1.0)
        assert traceback.extract_tb(caught.value.__traceback__)[-1].line == "return 1 / int(p * 0)"
        assert typing_of(model) == {"size": float}


def typing_of(model):
    import typing

    return typing.get_type_hints(model.Model)


def test_other_packages_and_the_program_see_nothing(package):
    before = list(sys.meta_path)
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            (
                "import sys, tapegrad\n"
                "print(any('tapegrad' in type(f).__module__ for f in sys.meta_path))\n"
                "print('tapegrad._adopt' in sys.modules)"
            ),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["False", "False"]
    with adopt(package):
        import numpy  # noqa: ICN001

        assert numpy is np
        assert math.sin(0.0) == 0.0
        assert not hasattr(np, "_ours")
        assert type(np.zeros(1)) is np.ndarray
    assert sys.meta_path == before


def test_a_zipped_package_and_a_namespace_package(tmp_path, monkeypatch):
    archive = tmp_path / "zipped.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("zipped_toy/__init__.py", "import math\ndef f(x):\n    return math.sin(x)\n")
    (tmp_path / "spaces_toy" / "part").mkdir(parents=True)
    (tmp_path / "spaces_toy" / "part" / "__init__.py").write_text(
        "import numpy as np\ndef f(x):\n    z = np.zeros(2)\n    z[0] = x\n    return z.sum()\n"
    )
    monkeypatch.syspath_prepend(str(archive))
    monkeypatch.syspath_prepend(str(tmp_path))
    with adopt("zipped_toy", "spaces_toy"):
        import spaces_toy.part
        import zipped_toy

        assert grad(zipped_toy.f)(0.0) == 1.0
        assert grad(spaces_toy.part.f)(3.0) == 1.0


def test_a_part_of_a_package_is_adopted_alone(package):
    with adopt(f"{package}.model"):
        whole = importlib.import_module(package)
        assert grad(whole.scale)(0.7) == pytest.approx(slope(whole.scale))
        assert "__tapegrad_float__" not in vars(whole)["__builtins__"]


def test_the_plain_part_of_a_package_comes_back(package):
    plain = importlib.import_module(f"{package}.model")
    with pytest.warns(AdoptWarning), adopt(f"{package}.model") as model:
        assert sys.modules[package].model is model is not plain
    names = {}
    exec(f"import {package}.model as found", names)
    assert names["found"] is plain
    del sys.modules[f"{package}.deep.inner"]
    with adopt(f"{package}.deep.inner"):
        pass
    names = {}
    exec(f"import {package}.deep.inner as found", names)
    assert "__tapegrad_float__" not in vars(names["found"])["__builtins__"]


def test_what_cannot_be_adopted():
    for name, advice in (
        ("numpy", "import tapegrad.numpy"),
        ("scipy.linalg", "tapegrad.scipy"),
        ("tapegrad", "itself"),
        ("functools", "the meaning that it needs"),
        ("sys", "code in C"),
        ("no name", "Pass"),
    ):
        with pytest.raises(tapegrad.InputError, match=advice):
            adopt(name)
    with pytest.raises(tapegrad.InputError, match="a function, a class, or names"):
        adopt(3)
    with pytest.raises(tapegrad.InputError, match="names of packages, or one function"):
        adopt(math.sin, math.cos)
    with pytest.raises(tapegrad.InputError, match="Adopted: none"):
        adopt.undo("nothing")
    with pytest.raises(ModuleNotFoundError), adopt("no_such_package_here"):
        pass
    assert not any(type(finder).__module__.startswith("tapegrad._") for finder in sys.meta_path)


def test_adopted_twice_and_undone_twice(package):
    adopt(package)
    adopt(package)
    adopt.undo(package)
    assert grad(importlib.import_module(package).scale)(0.7)
    adopt.undo()
    with pytest.raises(tapegrad.ConversionError):
        grad(importlib.import_module(package).total)(0.7)


def test_a_refusal_inside_a_package_names_the_line_and_the_way_out(package):
    plain = importlib.import_module(package)
    with pytest.raises(tapegrad.ConversionError) as caught:
        grad(lambda p: plain.deep.f(p))(0.7)
    text = str(caught.value)
    assert "model.py:" in text
    assert f'Call tapegrad.adopt("{package}") before' in text


# --- Functions and classes of one's own ---------------------------------------------------------

RATE = 2.0
CALLS = 0


def helper(x):
    return math.sin(float(x)) * RATE


def recursive(n, x):
    return x if n == 0 else math.cos(recursive(n - 1, x))


class Oscillator:
    """With a super class, a property, and methods of all kinds."""

    def __init__(self, k):
        self.state = np.zeros(2)
        self.state[:] = [k, 1.0]

    @property
    def frequency(self):
        return math.sqrt(self.state[0])

    @staticmethod
    def unit(x):
        return math.exp(x)

    @classmethod
    def of(cls, k):
        return cls(k)


@adopt
class Damped(Oscillator):
    def __init__(self, k):
        super().__init__(k)
        self.damping = np.array([k, 0.1])

    def energy(self):
        return self.frequency + np.sum(self.damping**2) + self.unit(self.state[0])


adopt(Oscillator)


def test_a_function_of_a_program():
    weight = 3.0

    @adopt
    def f(p, *, power=2):
        """Of p."""
        global CALLS  # noqa: PLW0603 - it is what is tried
        CALLS += 1
        table = np.zeros((2, 2))
        table[0] = p * weight
        table[1, 1] = helper(p)
        return np.sum(table**power) + recursive(3, p)

    assert f.__name__ == "f"
    assert f.__doc__ == "Of p."
    assert "zeros" in inspect.getsource(f)
    before = CALLS
    np.testing.assert_allclose(grad(f)(0.7), slope(f), 1e-8)
    assert before + 5 == CALLS
    assert adopt(f) is f
    weight = 0.0
    np.testing.assert_allclose(grad(f)(0.7), slope(f), 1e-8)


def test_later_changes_of_the_module_are_seen(monkeypatch):
    f = adopt(helper)
    fast = compile(grad(f))
    assert [fast(0.0) for _ in range(5)] == [2.0] * 5
    monkeypatch.setitem(globals(), "RATE", 5.0)
    assert grad(f)(0.0) == fast(0.0) == 5.0
    g = adopt(lambda x: helper(x) + math.exp(x))
    monkeypatch.setitem(globals(), "helper", lambda x: 7.0 * x)
    assert grad(g)(0.0) == 8.0


def test_a_class_of_a_program():
    f = lambda k: Damped.of(k).energy()  # noqa: E731
    np.testing.assert_allclose(grad(f)(0.7), slope(f), 1e-8)
    assert hessian(f)(0.7) == pytest.approx(slope(grad(f)))


def test_a_function_without_source():
    names = {"math": math}
    exec("def f(x):\n    return math.sin(x)\ndef g(x):\n    global y\n    y = x\n", names)
    assert grad(adopt(names["f"]))(0.0) == 1.0
    with pytest.raises(tapegrad.InputError, match="whose source can be read"):
        adopt(names["g"])


def test_names_taken_from_modules():
    names = {"__name__": "taken"}
    exec(
        "from numpy import zeros\nfrom math import exp\nfrom statistics import mean\n"
        "from numpy.linalg import norm\n"
        "def f(x):\n    z = zeros(2)\n    z[0] = exp(x)\n    return mean([x, norm(z)])\n",
        names,
    )
    f = adopt(names["f"])
    np.testing.assert_allclose(grad(f)(0.7), slope(f), 1e-8)


# --- Tools --------------------------------------------------------------------------------------


def test_the_command_line(package, tmp_path):
    script = tmp_path / "fit.py"
    script.write_text(
        f"import sys, math\nimport numpy as np\nimport tapegrad\nfrom {package} import total\n"
        "def f(p):\n    z = np.zeros(1)\n    z[0] = math.sin(p)\n    return z.sum() + total(p)\n"
        "if __name__ == '__main__':\n    print(sys.argv[1:], tapegrad.grad(f)(0.7))\n"
    )
    env_path = str(tmp_path / "site-packages")

    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "tapegrad", *words],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYTHONPATH": env_path},
        )

    done = run("run", "--adopt", package, str(script), "a", "-b")
    words, number = done.stdout.rsplit(" ", 1)
    assert words == "['a', '-b']", done.stderr
    found = run("grad", f"{script}:f", "--adopt", package, "--at", "0.7", "--check")
    assert found.returncode == 0, found.stderr
    assert f"gradient  {number.strip()}" in found.stdout
    assert run("run", "no.py").returncode == 2
    assert run("grad", f"{script}:f", "--adopt", "numpy", "--at", "0.7").returncode == 2


def test_a_notebook(package):
    magics = {}
    shell = types.SimpleNamespace(
        register_magic_function=lambda f, magic_kind, magic_name: magics.update({magic_name: f})
    )
    tapegrad.load_ipython_extension(shell)
    magics["adopt"](f"{package}, none_such")
    try:
        assert grad(importlib.import_module(package).scale)(0.7)
    finally:
        magics["adopt"](f"--undo {package} none_such")


def test_decorators_of_numba(tmp_path, monkeypatch):
    fake = types.ModuleType("numba")
    fake.njit = fake.jit = fake.prange = fake.vectorize = None
    monkeypatch.setitem(sys.modules, "numba", fake)
    (tmp_path / "fast_toy.py").write_text(
        "import numba\nfrom numba import njit, prange, vectorize\nimport numpy as np, math\n"
        "@njit\ndef f(x):\n    z = np.zeros(3)\n"
        "    for i in prange(3):\n        z[i] = x * i\n    return z.sum()\n"
        "@numba.jit(nopython=True)\ndef g(x):\n    return math.sin(x)\n"
        "@vectorize(['float64(float64)'])\ndef h(x):\n    return math.cos(x)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with adopt("fast_toy") as fast:
        assert grad(fast.f)(2.0) == 3.0
        assert grad(fast.g)(0.0) == 1.0
        np.testing.assert_allclose(
            grad(lambda x: np.sum(fast.h(x)))(np.ones(2)), -np.sin(np.ones(2))
        )
