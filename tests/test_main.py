"""The command line: what it prints, its exit status, and one clear line for every bad input."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tapegrad import grad
from tapegrad.__main__ import main
from tapegrad._cli._differences import MOST, compare

PROGRAM = """
import numpy as np

START = np.array([1.0, 2.0])
NUMBER = 3.0


def square(x):
    return np.sum(x**2)


def product(x, y):
    return np.sum(x * y)


def vector(x):
    return x**2


def tree(parameters):
    return parameters["w"] * parameters["b"][0]


def picky(x):
    if np.sum(x) > 0:
        raise ValueError("too\\nlarge")
    return np.sum(x)


def stepped(x):
    return np.sum(np.floor(x) * x)


def wrong(x):
    return np.sum(x) + np.sum(np.copysign(1.0, x - 1.0))


def squared_size(z):
    return np.sum(np.abs(z) ** 2)


def constant(x):
    return 1.0


class Model:
    @staticmethod
    def loss(x):
        return np.sum(np.sin(x))
"""


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    """A folder with model.py; sys.path is as before when a test is over."""
    (tmp_path / "model.py").write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    return tmp_path


@pytest.fixture
def command(capsys):
    """Run the command line in this process: (exit status, standard output, standard error)."""

    def run(*arguments):
        try:
            status = main(arguments)
        except SystemExit as stop:  # argparse ends the program itself
            status = stop.code
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return run


@pytest.fixture
def report(command):
    """Run a command that must succeed, and return what it printed as {label: text}."""

    def run(*arguments):
        status, out, err = command(*arguments)
        assert (status, err) == (0, "")
        lines = [line for line in out.splitlines() if not line.startswith(" ")]
        return dict(line.split("  ", 1) for line in lines)

    return lambda *arguments: {k: v.strip() for k, v in run(*arguments).items()}


# -- grad --------------------------------------------------------------------------------------


def test_grad_prints_value_and_gradient(report):
    assert report("grad", "model.py:square", "--at", "np.array([1.0, 2.0])") == {
        "value": "5.0",
        "gradient": "[2., 4.]",
    }


def test_a_tuple_is_several_arguments(report):
    assert report("grad", "model.py:product", "--at", "np.ones(2), 3.0") == {
        "value": "6.0",
        "gradient x": "[3., 3.]",
        "gradient y": "2.0",
    }


def test_names_of_the_file_and_of_math_are_in_scope(report):
    assert report("grad", "model.py:square", "--at", "START")["value"] == "5.0"
    assert report("grad", "model.py:square", "--at", "math.sqrt(4.0)")["gradient"] == "4.0"


def test_a_tree_of_parameters_has_a_tree_of_gradients(report):
    printed = report("grad", "model.py:tree", "--at", "{'w': 2.0, 'b': [5.0]}")
    assert eval(printed["gradient"], {"np": np}) == {"w": 5.0, "b": [2.0]}


def test_jacobian(command):
    status, out, _ = command("grad", "model.py:vector", "--at", "START", "--jacobian")
    assert status == 0
    assert out == "value     [1., 4.]\njacobian  [[2., 0.],\n           [0., 4.]]\n"


def test_hessian_of_two_arguments_has_four_blocks(report):
    printed = report("grad", "model.py:product", "--at", "2.0, 3.0", "--hessian")
    assert printed == {
        "value": "6.0",
        "hessian x,x": "0.0",
        "hessian x,y": "1.0",
        "hessian y,x": "1.0",
        "hessian y,y": "0.0",
    }


@pytest.mark.parametrize("order", [(), ("--jacobian",), ("--hessian",)])
@pytest.mark.parametrize("point", ["START, START", "np.float32(2.0), START", "2.0, 3.0"])
def test_check_passes_where_the_derivative_is_right(report, order, point):
    printed = report("grad", "model.py:product", "--at", point, "--check", *order)
    assert printed["check"].startswith("passed: all ")


def test_check_of_a_vector_and_of_a_complex_point(report):
    vector = report("grad", "model.py:vector", "--at", "START", "--jacobian", "--check")
    assert vector["check"].startswith("passed: all 2 partials")
    point = "np.array([1 + 2j, 0.5 - 1j])"
    printed = report("grad", "model.py:squared_size", "--at", point, "--check")
    assert printed["gradient"] == "[2.-4.j, 1.+2.j]"
    assert printed["check"].startswith("passed")


def test_check_fails_with_status_1_where_differences_disagree(command):
    status, out, _ = command("grad", "model.py:wrong", "--at", "np.array([1.0, 5.0])", "--check")
    assert status == 1
    assert "check     FAILED: all 2 partials, max relative error 1" in out
    assert "worst: 1 by tapegrad" in out


def test_svg_draws_the_tape(report):
    printed = report("grad", "model.py:square", "--at", "START", "--svg", "tape.svg")
    assert printed["picture"].endswith("tape entries in tape.svg")
    assert "square(x)" in Path("tape.svg").read_text()


@pytest.mark.parametrize(("path", "start"), [("t.dot", "digraph"), ("t.mmd", "---")])
def test_a_picture_may_be_dot_or_mermaid(report, path, start):
    report("grad", "model.py:square", "--at", "START", "--svg", path)
    assert Path(path).read_text().startswith(start)


def test_a_function_in_a_class_or_in_a_module(report):
    assert report("grad", "model.py:Model.loss", "--at", "0.0")["gradient"] == "1.0"
    assert report("grad", "numpy:sin", "--at", "0.0")["gradient"] == "1.0"


@pytest.mark.filterwarnings("default")
def test_a_gradient_of_zero_warns_in_one_line(command):
    status, out, err = command("grad", "model.py:constant", "--at", "START")
    assert status == 0
    assert "gradient  [0., 0.]" in out
    assert err.startswith("tapegrad: warning: ")
    assert err.count("\n") == 1


# -- Bad input ---------------------------------------------------------------------------------

BAD = {
    "no colon": (("model.py",), "model.py: expected FILE.py:FUNCTION"),
    "no such file": (("gone.py:f",), "gone.py: no such file"),
    "no such module": (("gone.away:f",), "gone.away: no such module"),
    "forgot .py": (("model:square",), "model: no such module; for a file write model.py"),
    "no such function": (("model.py:cube",), "model.py: no function named 'cube'; it has square"),
    "not a function": (("model.py:NUMBER",), "model.py:NUMBER: not a function, but float"),
    "file raises": (("raises.py:f",), "raises.py raised ZeroDivisionError: division by zero"),
    "file exits": (("exits.py:f",), "exits.py raised SystemExit: 3 (exits.py:2)"),
    "file does not parse": (("broken.py:f",), "broken.py raised SyntaxError"),
    "missing import": (("imports.py:f",), "imports.py raised ModuleNotFoundError: No module"),
    "expression fails": (("model.py:square", "--at", "1 / 0"), "--at '1 / 0' raised ZeroDiv"),
    "unknown name": (("model.py:square", "--at", "nope"), "--at 'nope' raised NameError"),
    "no expression": (("model.py:square", "--at", "1 +"), "--at '1 +' raised SyntaxError"),
    "integers": (("model.py:square", "--at", "np.arange(3)"), "int64[3]"),
    "an integer": (("model.py:square", "--at", "3"), "int"),
    "a string": (("model.py:square", "--at", "'abc'"), "str"),
    "not a scalar": (("model.py:vector", "--at", "START"), "float64[2]"),
    "too few arguments": (("model.py:product", "--at", "1.0"), "(a tuple is several arguments)"),
    "too many": (("model.py:square", "--at", "1.0, 2.0"), "(a tuple is several arguments)"),
    "function raises": (("model.py:picky", "--at", "START"), "ValueError: too large (model.py:"),
    "bad picture": (("model.py:square", "--svg", "tape.png"), "tape.png: a picture's name ends"),
    "no such folder": (("model.py:square", "--svg", "no/tape.svg"), "no/tape.svg: no such folder"),
}


@pytest.mark.parametrize(("arguments", "expected"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_and_status_2(command, workplace, arguments, expected):
    (workplace / "raises.py").write_text("\n1 / 0\n")
    (workplace / "exits.py").write_text("import sys\nsys.exit(3)\n")
    (workplace / "broken.py").write_text("def f(:\n")
    (workplace / "imports.py").write_text("import no_such_module_anywhere\n")
    at = () if "--at" in arguments else ("--at", "START" if "model.py" in arguments[0] else "1.0")
    status, out, err = command("grad", *arguments, *at)
    assert (status, out) == (2, "")
    assert err.startswith("tapegrad: ")
    assert err.count("\n") == 1
    assert expected in err


@pytest.mark.parametrize("arguments", [(), ("grad",), ("nonsense",), ("grad", "model.py:square")])
def test_wrong_usage_has_status_2(command, arguments):
    status, _, err = command(*arguments)
    assert status == 2
    assert err.startswith("usage: python -m tapegrad")


def test_help_explains_the_point(command):
    status, out, _ = command("grad", "--help")
    assert status == 0
    assert "A tuple is\nseveral positional arguments" in out


def test_as_a_program():
    done = subprocess.run(
        [sys.executable, "-m", "tapegrad", "grad", "gone.py:f", "--at", "1.0"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(main.__code__.co_filename).parents[1])},
    )
    assert done.returncode == 2
    assert done.stderr == "tapegrad: gone.py: no such file\n"


# -- Differences -------------------------------------------------------------------------------


def test_many_partials_are_sampled():
    x = np.linspace(0.0, 1.0, 3 * MOST)
    comparison = compare(lambda x: np.sum(x**2), (x,), (2 * x,))
    assert comparison.passed
    assert str(comparison).startswith(f"{MOST} of {3 * MOST} partials")


@pytest.mark.parametrize("wrong", [2.001, np.nan, -2.0])
def test_a_wrong_partial_is_found(wrong):
    comparison = compare(lambda x: np.sum(x**2), (np.ones(2),), (np.array([2.0, wrong]),))
    assert not comparison.passed


MATRIX = np.array([[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 4.0]])


@pytest.mark.parametrize("imaginary", [0.0, 0.25j])
@pytest.mark.parametrize("function", [np.linalg.eigvalsh, np.linalg.cholesky])
def test_symmetric_matrices_move_so(function, imaginary):
    """By elements of which NumPy reads one triangle, no gradient would agree."""
    turned = np.triu(np.full((3, 3), imaginary), 1)
    a = MATRIX + turned + turned.conj().T if imaginary else MATRIX

    def f(a):
        return np.sum(np.abs(function(a)) ** 3)

    gradient = grad(f)(a)
    assert compare(f, (a,), (gradient,)).passed
    assert compare(lambda x: f(x.reshape(3, 3)), (a.ravel(),), (gradient.ravel(),)).passed
    assert not compare(f, (a,), (1.001 * gradient,)).passed
    wrong = gradient.copy()
    wrong[2, 1] *= 1.01
    wrong[1, 2] *= 1.01
    assert not compare(f, (a,), (wrong,)).passed


# -- demo --------------------------------------------------------------------------------------


def test_demo_learns_checks_and_draws(command):
    pytest.importorskip("sklearn")
    pytest.importorskip("tqdm")
    status, out, _ = command("demo", "--out", "digits.svg")
    assert status == 0
    accuracy = float(out.partition("held-out accuracy ")[2].partition("%")[0])
    assert accuracy > 95
    assert "gradient agrees with central differences: 100 of 3610 partials" in out
    assert "drawn in digits.svg" in out
    assert "matmul" in Path("digits.svg").read_text()


@pytest.mark.parametrize("missing", ["sklearn", "tqdm"])
def test_demo_names_the_command_that_installs_what_is_missing(command, monkeypatch, missing):
    for name in [name for name in sys.modules if name.split(".")[0] == missing]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, missing, None)
    status, _, err = command("demo")
    assert status == 2
    assert err.startswith("tapegrad: the demo needs ")
    assert "python -m pip install scikit-learn tqdm" in err
    assert err.count("\n") == 1
    assert not Path("tapegrad-demo.svg").exists()


def test_demo_refuses_a_bad_path_before_it_trains(command):
    status, out, err = command("demo", "--out", "missing/demo.svg")
    assert (status, out, err) == (2, "", "tapegrad: missing/demo.svg: no such folder\n")
