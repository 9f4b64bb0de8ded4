"""Functions that were their own for one small thing, and are programs."""

from __future__ import annotations

import functools
import importlib
import sys
import time

import numpy as np
import pytest
import scipy.special
from backends import BACKENDS

import tapegrad
import tapegrad.numpy as tnp
from tapegrad.scipy import optimize, sparse, spatial
from tapegrad.scipy.special import _moments

X = np.linspace(0.5, 2.0, 6)
POINTS = [X + n for n in range(5)]


def is_program(fast):
    return any(x.runner is not None and not x.eager for x in fast.call.programs.values())


@pytest.fixture(params=BACKENDS)
def agree(request):
    """Compile the gradient, call it in turn with arguments, and compare."""

    def check(f, points=POINTS, *, program=True):
        slope = tapegrad.grad(f)
        fast = tapegrad.compile(slope, backend=request.param)
        for x in points:
            np.testing.assert_allclose(fast(x), slope(x), rtol=1e-14, atol=0)
        assert is_program(fast) is program
        return fast

    return check


def test_what_is_in_new_memory_by_chance_is_no_constant(agree):
    def f(x):
        np.full(6, time.perf_counter())  # memory that the next array gets
        y = tnp.empty(6)
        y[:3], y[3:] = x[3:] * x[:3], x[:3]
        return np.sum(y * x)

    agree(f)


def test_masks_of_plain_arrays_are_branches(agree):
    table = np.arange(6.0)

    def f(x):
        return np.sum(x**2) * np.sum(table[x > 1.1]) + table[np.argmax(x)] * x[0]

    agree(f, [*POINTS[:1] * 3, POINTS[0] - 0.3, *POINTS, -X, X])


@pytest.mark.filterwarnings("ignore::tapegrad.EagerWarning")
def test_a_mask_that_was_read_is_not_written_to(agree):
    table = np.arange(6.0)

    def writes(x):
        mask = x > 1.1
        read = np.asarray(mask)
        mask[0] = True  # and so read[0]
        return np.sum(x**2) * np.sum(table[read])

    def writes_the_other(x):
        mask = x > 1.1
        np.asarray(mask)[0] = True
        return np.sum(x**2) * np.sum(table[mask])

    agree(writes, program=False)
    agree(writes_the_other, program=False)


@pytest.mark.filterwarnings("ignore::tapegrad.EagerWarning")
def test_masks_that_are_others_each_time_are_no_branches(agree):
    table = np.arange(6.0)
    draws = np.random.default_rng(0).normal(size=(40, 6))
    agree(lambda x: np.sum(x**2) * np.sum(table[x > 0]), list(draws), program=False)


def test_a_constant_is_compared_with_a_buffer(agree):
    def f(x):
        y = tnp.zeros(6)
        y[:] = x * 2
        mask = (np.ones_like(x) == y) | (np.zeros_like(x) < y)
        return np.sum(y * mask * x)

    agree(f)


def test_factors_of_a_sparse_matrix_are_made_in_each_call(agree):
    def f(x):
        a = sparse.csc_array((x, np.arange(6), np.arange(7)), shape=(6, 6))
        return np.sum(sparse.linalg.spsolve(a, np.arange(1.0, 7)))

    agree(f)


def test_the_factors_of_a_series_are_computed_once(monkeypatch):
    _moments._series(1)
    monkeypatch.setattr(scipy.special, "factorial2", None)
    slope = tapegrad.grad(lambda x: np.real(tapegrad.scipy.special.wofz(x)))
    for x in (0.5, 1.5, 7.5):
        assert slope(x) == pytest.approx(-2 * x * np.exp(-(x**2)), rel=1e-13)
    monkeypatch.setattr(_moments, "_series", None)  # which is for large numbers alone
    assert slope(0.5) == pytest.approx(-np.exp(-0.25), rel=1e-14)


def test_which_points_are_near_is_a_branch(agree):
    def f(x, tree_of):
        points = x.reshape(3, 2)
        tree = tree_of(points, leafsize=4)
        near = tree.query_ball_point(points, np.array([0.7, 0.7, 2.0]))
        pairs = [*tree.query_pairs(0.9), *((i, j) for i in range(3) for j in near[i])]
        return sum(np.sum((points[i] - points[j]) ** 2) for i, j in pairs) + np.sum(x**3)

    for tree_of in (spatial.KDTree, spatial.cKDTree):
        agree(lambda x, tree_of=tree_of: f(x, tree_of), [X, X * 1.1, X, X * 2, X, X * 0.4] * 3)


@pytest.mark.filterwarnings("ignore::tapegrad.EagerWarning")
@pytest.mark.parametrize("name", ["data", "maxes", "mins"])
def test_what_a_tree_holds_is_read_by_the_function_itself(agree, name):
    def f(x):
        tree = spatial.KDTree(x.reshape(3, 2))
        return np.sum(x**2) * np.sum(getattr(tree, name)) + tree.n

    agree(f, program=False)


def test_an_object_that_is_an_array_to_numpy(agree):
    """It is made anew in each run."""

    class Cell:
        def __init__(self, x):
            self.x = x

        def __array__(self, dtype=None, copy=None):
            return np.array(self.x, dtype)

    def f(x, cell):
        return np.sum(tnp.dot(tapegrad.stop_gradient(x), cell) * x)

    agree(lambda x: f(x, Cell(np.arange(36.0).reshape(6, 6))))
    held = Cell(np.eye(6))
    fast = agree(lambda x: f(x, held))
    held.x = held.x * 2
    np.testing.assert_allclose(fast(X), X * 2)


MODULE = """
import numpy as np
RATE, OTHER = 2.0, iter([1.0])
def scaled(x): return RATE * x
def unused(x): return next(OTHER) * x
class Model:
    def loss(self, x):
        return np.sum(scaled(x) ** 2) if x[0] > 0 else np.sum(self.other(x))
    def other(self, x): return scaled(x) * DEEP
    def never(self, x): return unused(x)
DEEP = 3.0
class Settings:
    scale = 2.0
    table = {"gain": 1.0}
    weights = np.ones(3)
    made = calls = 0
    def __init__(self): Settings.made += 1
    def scaled(self, x): return x * self.scale * self.table["gain"] * self.weights[0]
    def counted(self, x):
        Settings.calls += 1
        return self.scaled(x)
    @classmethod
    def of_class(cls, x): return x * cls.scale * cls.table["gain"] * cls.weights[0]
class Special(Settings): pass
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package that is installed."""
    folder = tmp_path / "site-packages" / "installed_for_test"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(folder.parent))
    yield importlib.import_module("installed_for_test")
    del sys.modules["installed_for_test"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_of_an_installed_package_the_code_that_runs_is_looked_at(installed, backend):
    """Its own method is compiled: an iterator that is not used is no reason to give up."""
    slope = tapegrad.grad(installed.Model().loss)
    fast = tapegrad.compile(slope, backend=backend)

    def compare(*signs):
        for sign in signs:
            assert np.array_equal(fast(sign * X), slope(sign * X))

    compare(1, 1, 1, 1, 1)
    assert is_program(fast)
    installed.RATE = 5.0
    compare(1, 1, 1, 1)
    compare(-1, -1, -1, -1, 1)  # by code that had not run
    assert is_program(fast)
    installed.DEEP = 7.0
    compare(-1, 1, -1, 1, -1, 1)
    installed.scaled = lambda x: x * 11.0
    compare(1, -1, 1, -1)


SETTINGS = {
    "attribute": lambda module: lambda x: np.sum(x * module.Special.scale) * module.Settings.scale,
    "object": lambda module: functools.partial(_sum_of, module.Special().scaled),
    "class": lambda module: functools.partial(_sum_of, module.Special.of_class),
    "made": lambda module: lambda x: np.sum(module.Special().scaled(x)),
}


def _sum_of(f, x):
    return np.sum(f(x))


@pytest.mark.parametrize("name", SETTINGS)
def test_data_of_an_installed_class_that_a_program_sets_is_looked_at(installed, name):
    slope = tapegrad.grad(SETTINGS[name](installed))
    fast = tapegrad.compile(slope, backend="numpy")

    def compare():
        for sign in (1, -1, 1):
            np.testing.assert_array_equal(fast(sign * X), slope(sign * X))

    compare()
    installed.Settings.scale = 5.0
    compare()
    installed.Settings.table["gain"] = 3.0
    compare()
    installed.Settings.weights[0] = 7.0
    compare()
    installed.Special.scale = 11.0
    compare()
    del installed.Special.scale
    compare()
    assert is_program(fast)


@pytest.mark.parametrize("inside", [True, False])
def test_a_class_that_counts_its_objects_or_calls_is_no_reason_to_give_up(installed, inside):
    held = installed.Settings()

    def f(x):
        return np.sum(installed.Settings().counted(x) if inside else held.scaled(x))

    fast = tapegrad.compile(f, backend="numpy")
    for i in range(20):
        other = installed.Settings()
        if inside:
            other.counted(X)
        np.testing.assert_array_equal(fast(X * i), f(X * i))
    assert is_program(fast)
    installed.Settings.scale = 4.0
    np.testing.assert_array_equal(fast(X), f(X))


# --- Solvers ------------------------------------------------------------------------------------


def test_a_solver_is_a_call_of_the_program(agree):
    def f(x):
        root = optimize.newton(lambda z, a: z**3 - a * x[0] - 1, 1.0, args=(x[1],))
        low = optimize.brentq(lambda z: np.cos(z) - z * x[2] / 5, 0.0, 2.0)
        return root**2 + low

    agree(f)
    agree(lambda x: np.sum(optimize.root(lambda z: z**3 + z - x, np.ones(6)).x))


@pytest.mark.filterwarnings("ignore::tapegrad.EagerWarning")
@pytest.mark.parametrize("turns", [(1, 2, 3), (1, 2, 1)])
def test_a_solver_whose_function_closes_over_a_variable(turns):
    def f(x):
        total = 0.0
        for k in turns:
            total = total + optimize.newton(lambda z: z**3 - x[0] - k, 1.0) * k  # noqa: B023
        return total

    slope = tapegrad.grad(f)
    fast = tapegrad.compile(slope)
    for x in POINTS:
        np.testing.assert_allclose(fast(x), slope(x), rtol=1e-14)


RATE = 1.0


class Reader:
    rate = 1.0

    def of(self, z):
        return z**3 - self.rate


@pytest.mark.part(2)
@pytest.mark.filterwarnings("ignore::tapegrad.EagerWarning")
@pytest.mark.parametrize("how", ["list", "array", "global", "attribute"])
def test_a_solver_whose_function_reads_what_changes_within_a_call(how):
    held, array, reader = [1.0], np.ones(1), Reader()

    def change(rate):
        global RATE  # noqa: PLW0603
        held[0] = array[0] = reader.rate = RATE = rate

    ways = {
        "list": lambda z, a: z**3 - held[0] * a,
        "array": lambda z, a: z**3 - array[0] * a,
        "global": lambda z, a: z**3 - RATE * a,
        "attribute": lambda z, a: reader.of(z) - a,
    }

    def f(x):
        change(1.0)
        one = optimize.newton(ways[how], 1.0, args=(x[0],))
        change(2.0)
        return one + 3 * optimize.newton(ways[how], 1.0, args=(x[0],))

    def by_differences(x):
        step = np.array([1e-6, 0, 0, 0, 0, 0])
        return (f(x + step) - f(x - step)) / 2e-6

    fast = tapegrad.compile(f)
    for x in POINTS:
        assert fast(x) == f(x)
    fast = tapegrad.compile(tapegrad.grad(f))
    for x in POINTS:
        try:
            found = fast(x)
        except tapegrad.TapegradError:
            continue  # as of the gradient itself, where the derivative is not known
        assert found[0] == pytest.approx(by_differences(x), rel=1e-5)
