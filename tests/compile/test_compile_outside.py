"""State that a compiled function reads from outside is looked at in each call."""

import collections
import functools
import sys
import types

import numpy as np
import pytest

import tapegrad
from tapegrad._compile.search import _is_installed

X = np.array([0.5, -1.25, 2.0])
SHIFT = 1.0


class Model:
    scale = 2.0

    def __init__(self):
        self.weight = 3.0
        self.names = {"a"}
        self.recent = collections.deque([1.0], 4)
        self.bits = bytearray(b"\x01")

    @classmethod
    def scaled(cls, x):
        return cls.scale * x

    @staticmethod
    def shifted(x):
        return x + SHIFT

    @property
    def twice(self):
        return 2 * self.weight

    @functools.cached_property
    def kept(self):
        return self.weight

    def __call__(self, x):
        return np.sum(self.scaled(x) * self.twice + self.shifted(x)) + self.recent[-1]


def held(fast):
    """Whether a compiled function runs as a program, which has seen no change outside."""
    (program,) = fast.call.programs.values()
    return program.runner is not None and not fast.call.surroundings.changes


def test_classes_with_methods_of_their_own_do_not_change():
    model = Model()
    fast = tapegrad.compile(tapegrad.grad(model), backend="numpy")
    for _ in range(20):
        np.testing.assert_array_equal(fast(X), tapegrad.grad(model)(X))
    assert held(fast)


CHANGES = {
    "a variable of the class": lambda model: setattr(Model, "scale", 5.0),
    "an attribute": lambda model: setattr(model, "weight", 7.0),
    "a set": lambda model: model.names.discard("a"),
    "a deque": lambda model: model.recent.append(9.0),
    "a bytearray": lambda model: model.bits.__setitem__(0, 3),
    "a global of a static method": lambda model: globals().update(SHIFT=4.0),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_noticed(monkeypatch, change):
    monkeypatch.setattr(Model, "scale", Model.scale)
    monkeypatch.setitem(globals(), "SHIFT", SHIFT)
    model = Model()

    def f(x):
        return model(x) * (2 if "a" in model.names else 3) * model.bits[0]

    fast = tapegrad.compile(f, backend="numpy")
    for _ in range(3):
        before = fast(X)
    assert held(fast)
    change(model)
    for _ in range(3):
        assert fast(X) == f(X) != before


def test_the_main_module_is_the_program_also_where_an_installed_tool_runs_it(monkeypatch):
    tool = types.ModuleType("__main__")
    tool.__file__ = "/lib/site-packages/tool/__main__.py"
    monkeypatch.setitem(sys.modules, "__main__", tool)
    _is_installed.cache_clear()
    scope = {"__name__": "__main__", "factor": 2.0}
    exec("def scaled(x):\n    return x * factor", scope)
    scaled = scope["scaled"]
    fast = tapegrad.compile(lambda x: scaled(x) + 1.0, backend="numpy")
    for _ in range(4):
        np.testing.assert_array_equal(fast(X), X * 2.0 + 1.0)
    scope["factor"] = 3.0
    np.testing.assert_array_equal(fast(X), X * 3.0 + 1.0)


def test_of_a_module_what_the_code_names_is_looked_at():
    module = types.ModuleType("settings_of_a_program")
    module.scale, module.unused = 2.0, [0]

    def f(x):
        return np.sum(x * module.scale)

    fast = tapegrad.compile(f, backend="numpy")
    for _ in range(20):
        module.unused[0] += 1
        assert fast(X) == f(X)
    assert held(fast)
    module.scale = 3.0
    assert fast(X) == f(X)


def test_of_a_module_names_that_are_made_at_run_time_are_looked_at():
    module = types.ModuleType("settings_of_a_program")
    module.scale_of_x = 2.0

    def f(x):
        return np.sum(x * getattr(module, f"scale_{'of_x'}"))

    fast = tapegrad.compile(f, backend="numpy")
    for scale in (2.0, 2.0, 2.0, 3.0, 3.0, 3.0):
        module.scale_of_x = scale
        assert fast(X) == f(X)


def test_memory_that_is_handed_out_is_that_of_the_value():
    def windows(x):
        twice = np.concatenate((x[::-1], x[:0:-1]))
        n = twice.strides[0]  # reaches before the part that it is given
        return np.lib.stride_tricks.as_strided(twice[2:], (3, 3), (-n, n)).copy()

    def written(x):
        y = 2 * x
        np.asarray(y)[0] = 7.0
        return y

    x = np.array([1.0, 2.0, 3.0])
    for f in (windows, written):
        with pytest.warns(tapegrad.EagerWarning, match="memory"):
            np.testing.assert_array_equal(tapegrad.compile(f)(x), f(x))


def test_a_class_with_a_dict_is_looked_at_once():
    """A dict has a method `get`, as a queue has: it is followed where its name is used."""

    class Part:
        factors = {"a": 2.0}  # noqa: RUF012

        def value(self, x):
            return x**2 * self.factors["a"]

    compiled = tapegrad.compile(tapegrad.grad(lambda x: np.sum(Part().value(x))))
    assert np.all(compiled(X) == 4 * X)
    assert np.all(compiled(X) == 4 * X)
    Part.factors["a"] = 3.0
    assert np.all(compiled(X) == 6 * X)


def _kde():
    stats = pytest.importorskip("tapegrad.scipy.stats")
    kde = stats.gaussian_kde(np.arange(5.0))
    return lambda x: kde(x), lambda: kde.set_bandwidth(0.1)


def _spline():
    interpolate = pytest.importorskip("tapegrad.scipy.interpolate")
    spline = interpolate.CubicSpline(np.arange(5.0), np.arange(5.0) ** 2)
    return spline, lambda: spline.c.fill(1.0)


def _law():
    law = pytest.importorskip("tapegrad.scipy.stats").norm(0.0, 1.0)
    return lambda x: law.pdf(x), lambda: setattr(law, "args", (3.0, 1.0))


def _polynomial():
    polynomial = tapegrad.numpy.polynomial.Polynomial([1.0, 2.0])
    return lambda x: polynomial(x), lambda: polynomial.coef.__setitem__(1, 9.0)


@pytest.mark.parametrize("make", [_kde, _spline, _law, _polynomial])
def test_objects_of_our_mirrors_are_looked_at(make):
    f, change = make()
    fast = tapegrad.compile(f, backend="numpy")
    for _ in range(4):
        np.testing.assert_allclose(fast(X), f(X), rtol=1e-12)
    change()
    np.testing.assert_allclose(fast(X), f(X), rtol=1e-12)


def test_a_function_that_a_decorator_of_a_package_holds(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    folder.mkdir()
    (folder / "decorating.py").write_text(
        "def decorated(f):\n    def wrapper(*args):\n        return f(*args)\n    return wrapper\n"
    )
    monkeypatch.syspath_prepend(folder)
    import decorating

    assert _is_installed("decorating")
    model = Model()
    f = decorating.decorated(lambda x: model.weight * x)
    fast = tapegrad.compile(lambda x: f(x))
    for _ in range(4):
        np.testing.assert_array_equal(fast(X), f(X))
    model.weight = 5.0
    np.testing.assert_array_equal(fast(X), f(X))
