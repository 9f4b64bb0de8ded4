"""The pytest plugin, in runs of pytest of their own: an entry point, as an installed one is.

Each run starts a process that imports pytest, NumPy and tapegrad, which takes a second or two: by
default one run asks for each of the marker, the fixtures, a session without derivatives and the
report of rules. What the options say, workers and files are `slow`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tapegrad
from tapegrad.testing._plugin import entry

HOME = Path(tapegrad.__file__).parents[1]

TESTS = """
import numpy as np, pytest, tapegrad
from tapegrad import grad, hvp, jvp, linearize, value_and_grad, vjp

X = np.array([0.5, 1.0])
SEEN = []

def loss(x):
    SEEN.append(type(x).__name__)
    return np.sum(np.sin(x) ** 2)

early = grad(loss)

@tapegrad.custom_vjp
def square(x):
    return x * x

square.defvjp(lambda x: (x * x, x), lambda x, g: (g * x,))
"""


# Some have pytest-randomly, which shuffles tests, and imports NumPy.
WITHOUT = ("-p", "no:cacheprovider", "-p", "no:randomly")


@pytest.fixture
def run(tmp_path):
    """Runs pytest over a file of tests; the plugin is an entry point of a distribution."""
    site = tmp_path / "site"
    (site / "plugin-0.dist-info").mkdir(parents=True)
    (site / "plugin-0.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: plugin\nVersion: 0\n"
    )
    (site / "plugin-0.dist-info" / "entry_points.txt").write_text(
        "[pytest11]\ntapegrad = _tapegrad_pytest\n"
    )
    shutil.copy(entry.__file__, site / "_tapegrad_pytest.py")
    # It lists tapegrad's package, which is imported from where it is: pytest looks for the file.
    (site / "plugin-0.dist-info" / "RECORD").write_text(
        "tapegrad/__init__.py,,\n_tapegrad_pytest.py,,\n"
    )
    (site / "tapegrad").mkdir()
    (site / "tapegrad" / "__init__.py").touch()
    work = tmp_path / "work"
    work.mkdir()
    (work / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")

    def running(tests, *options):
        (work / "test_it.py").write_text(TESTS + tests)
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *WITHOUT, *options],
            capture_output=True,
            text=True,
            check=False,
            cwd=work,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(HOME), str(site)]),
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTEST_ADDOPTS": "",
            },
        )
        return done.stdout + done.stderr

    running.folder = work
    return running


MARKED = """
@pytest.mark.tapegrad(compiled=True, vmap=True)
@pytest.mark.parametrize("k", [1, 2])
def test_derivatives(k):
    np.testing.assert_allclose(early(X), np.sin(2 * X))
    assert type(grad(lambda t: t * t)(3.0)) is np.float64
    np.testing.assert_allclose(value_and_grad(loss)(X)[1], np.sin(2 * X))
    np.testing.assert_allclose(jvp(loss, (X,), tangents=(X,))[1], np.sin(2 * X) @ X)
    np.testing.assert_allclose(vjp(loss, X)[1](1.0)[0], np.sin(2 * X))
    np.testing.assert_allclose(linearize(loss, X)[1](X), np.sin(2 * X) @ X)
    np.testing.assert_allclose(tapegrad.hvp(loss, (X,), (X,)), 2 * np.cos(2 * X) * X)
    np.testing.assert_allclose(hvp(loss, (X,), (X,)), 2 * np.cos(2 * X) * X)

@pytest.mark.tapegrad(vmap=True)
def test_branch():
    assert grad(lambda x: x if x > 0 else -x)(1.0) == 1

@pytest.mark.tapegrad(compiled=True)
def test_program():
    SEEN.clear()
    early(X)
    assert SEEN == ["Array"]

@pytest.mark.tapegrad(debug_nans=True)
def test_nan():
    grad(lambda x: np.sum(np.log(x)))(np.array([0.0]))

def test_nothing_is_left():
    assert "__call__" not in vars(tapegrad._transforms.wrapper.Transformed)
    assert jvp is tapegrad._transforms.forward.jvp
"""


@pytest.mark.slow
def test_a_marked_test_runs_by_each_way(run):
    printed = run(MARKED, "-q", "-rA")
    for name in ("test_derivatives[plain-1]", "test_derivatives[compiled-1]"):
        assert f"PASSED test_it.py::{name}" in printed, printed
    assert "PASSED test_it.py::test_derivatives[vmap-2]" in printed
    assert "PASSED test_it.py::test_branch[plain]" in printed
    assert "FAILED test_it.py::test_branch[vmap]" in printed
    assert "computed by a vmap of one example: vmap=True" in printed
    assert "FAILED test_it.py::test_program[compiled]" in printed  # f was called to record it
    assert "FAILED test_it.py::test_nan" in printed
    assert "np.log made an infinity" in printed
    assert "PASSED test_it.py::test_nothing_is_left" in printed
    assert "_plugin/ways" not in printed


REWRITTEN = """
import importlib.machinery, pytest, tapegrad.testing
from _pytest.assertion.rewrite import AssertionRewritingHook

def test_it():
    loader = {loader}
    assert isinstance(tapegrad.__loader__, loader)
    assert isinstance(tapegrad._core.__loader__, loader)
    assert isinstance(tapegrad.testing.__loader__, {testing})
    assert isinstance(__loader__, AssertionRewritingHook)
"""
AS_IT_IS = "importlib.machinery.SourceFileLoader"


@pytest.mark.slow
def test_assertions_of_tapegrad_are_not_rewritten(run):
    hook = "AssertionRewritingHook"
    # Without the plugin pytest does as it does with every distribution that has one.
    tests = REWRITTEN.format(loader=hook, testing=hook)
    assert "1 passed" in run(tests, "-q", "-p", "no:tapegrad")
    # What an author asks for stays.
    (run.folder / "conftest.py").write_text(
        "import pytest\npytest.register_assert_rewrite('tapegrad.testing')\n"
    )
    assert "1 passed" in run(REWRITTEN.format(loader=AS_IT_IS, testing=hook), "-q")


@pytest.mark.parametrize("hook", [None, object()])
def test_a_pytest_that_keeps_its_names_elsewhere(hook):
    class Manager:
        rewrite_hook = hook

    entry._leave_assertions(Manager())


@pytest.mark.slow
def test_a_wrong_keyword_of_the_marker_is_an_error(run):
    printed = run("@pytest.mark.tapegrad(compile=True)\ndef test_it(): pass\n", "-q")
    assert "expected keywords among compiled, vmap, debug_nans, got compile" in printed
    printed = run("@pytest.mark.tapegrad\ndef test_it(): pass\n", "-q")
    assert "expected keywords among compiled, vmap, debug_nans, got none" in printed


NEAREST = """
import unittest

@pytest.mark.tapegrad(vmap=True)
class TestClass:
    @pytest.mark.tapegrad(compiled=True)
    def test_both(self):
        pass

    @pytest.mark.tapegrad(vmap=False, debug_nans=True)
    def test_none(self):
        with pytest.raises(tapegrad.NonFiniteError):
            grad(lambda x: np.sum(np.log(x)))(np.array([0.0]))

class TestCase(unittest.TestCase):
    @pytest.mark.tapegrad(debug_nans=True)
    def test_once(self):
        with pytest.raises(tapegrad.NonFiniteError):
            grad(lambda x: np.sum(np.log(x)))(np.array([0.0]))

    @pytest.mark.tapegrad(compiled=True)
    def test_several_times(self):
        pass
"""


@pytest.mark.slow
def test_markers_of_classes_and_test_cases(run):
    printed = run(NEAREST, "-q", "-rA")
    for name in ("both[plain]", "both[compiled]", "both[vmap]", "none"):
        assert f"PASSED test_it.py::TestClass::test_{name}" in printed, printed
    assert "PASSED test_it.py::TestCase::test_once" in printed
    assert "expected a test that pytest can run several times, got test_several_times" in printed
    assert "5 passed, 1 error" in printed


CHECKS = """
def test_right(check_grads, check_laws):
    check_grads(loss, (X,), order=1)
    assert check_laws(loss, (X,), "gradient").passed

def test_wrong_grads(check_grads):
    check_grads(square, (X,))

def test_wrong_law(check_laws):
    check_laws(lambda x: np.sum(square(x)), (X,))
"""


def test_a_failed_check_is_told_in_one_screen(run):
    printed = run(CHECKS, "-q", "--tapegrad-seed=11")
    assert "2 failed, 1 passed" in printed
    failure = printed[printed.index("_ test_wrong_law _") : printed.index("short test summary")]
    assert len(failure.splitlines()) < 30
    assert "check(<lambda>): gradient: the gradient by argument 0" in failure
    assert "check_laws: laws all, seed 11; again with --tapegrad-seed=11" in failure
    assert "tapegrad/testing" not in printed
    assert "FAILED test_it.py::test_wrong_law - tapegrad.testing.LawError: check" in printed
    assert "frames_of_tapegrad" not in printed


@pytest.mark.slow
def test_the_laws_of_the_option(run):
    printed = run(CHECKS, "-q", "--tapegrad-laws=vmap,symmetric_hessian", "-k", "wrong_law")
    assert "1 passed" in printed
    assert "laws vmap,symmetric_hessian" in run(CHECKS, "--tapegrad-laws=vmap,symmetric_hessian")
    printed = run(CHECKS, "-q", "--tapegrad-laws=nope")
    assert "--tapegrad-laws: expected all, or names among adjoint" in printed
    printed = run(CHECKS, "-q", "--tapegrad-seed=x")
    assert "--tapegrad-seed: expected a whole number or random, got 'x'" in printed


@pytest.mark.slow
def test_the_option_asks_check_grads_for_the_laws_as_well(run):
    assert "1 passed" in run("def test_it(check_grads): check_grads(loss, (X,), 1)\n", "-q")
    printed = run("def test_it(check_grads): check_grads(loss, (X,), 1)\n", "--tapegrad-laws=all")
    assert "laws all" in printed
    assert "1 passed" in printed


@pytest.mark.slow
def test_workers_have_one_random_seed(run):
    pytest.importorskip("xdist")
    printed = run(
        CHECKS.replace("test_wrong_grads", "test_wrong_too")
        + "def test_third(check_laws): check_laws(square, (3.0,))\n",
        "-n2",
        "--tapegrad-seed=random",
    )
    seeds = {line.partition("again with ")[2] for line in printed.splitlines() if "again" in line}
    assert len(seeds) == 1, printed
    assert f"tapegrad: {seeds.pop()}" in printed


@pytest.mark.slow
def test_without_the_plugin(run):
    printed = run("def test_it(): assert early(X).shape == (2,)\n", "-q", "-p", "no:tapegrad")
    assert "1 passed" in printed


def test_no_test_about_derivatives_costs_no_import(run):
    code = (
        "import sys\ndef test_it():\n"
        "    loaded = {n.partition('.')[0] for n in sys.modules}\n"
        "    assert '_tapegrad_pytest' in loaded\n"
        "    assert not loaded & {'tapegrad', 'numpy'}\n"
    )
    folder = run.folder
    (folder / "test_other.py").write_text(code)
    # Hypothesis's plugin loads NumPy where something else has asked for it.
    printed = run("", "-q", "test_other.py", "-p", "no:hypothesispytest")
    assert "1 passed" in printed, printed


COVERED = """
@tapegrad.primitive
def cube(x):
    return x * x * x

def partial(_, x):
    if np.ndim(x) > 3:
        return None
    return 3 * x**2

tapegrad.elementwise(cube, partial)

def test_one():
    assert grad(cube)(1.0) == 3

def test_two():
    assert jvp(cube, (1.0,), (1.0,))[1] == 3
"""


@pytest.mark.parametrize(
    "options", [(), pytest.param(("-n2",), marks=pytest.mark.slow)], ids=["alone", "workers"]
)
def test_rule_coverage_of_a_session(run, options):
    if options:
        pytest.importorskip("xdist")
    printed = run(
        COVERED, "-q", "--tapegrad-rule-coverage", "--tapegrad-rule-coverage-of=test_it", *options
    )
    assert "rules of derivatives: rules 1 of 2" in printed, printed
    assert "cube (elementwise, test_it)\n  never by linearize, vmap" in printed
    assert "never true: np.ndim(x) > 3" in printed
    assert "never used, of test_it: square" in printed


@pytest.mark.slow
def test_rule_coverage_is_written_to_a_file(run):
    run(COVERED, "-q", "--tapegrad-rule-coverage=c.json", "--tapegrad-rule-coverage-of=test_it")
    data = json.loads((run.folder / "c.json").read_text())
    assert data["figures"]["rules"] == [1, 2]
