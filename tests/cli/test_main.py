"""The command line: what it prints, its exit status, and one clear line for every bad input."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tapegrad
from tapegrad import grad
from tapegrad.__main__ import main
from tapegrad._cli import _demo, _gallery
from tapegrad._cli._differences import MOST, compare
from tapegrad._cli._tape_picture import write_picture

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


def test_debug_nans_names_the_line(command, workplace):
    (workplace / "logs.py").write_text(
        "import numpy as np\n\n\ndef loss(x):\n    return np.sum(np.log(x))\n", encoding="utf-8"
    )
    status, out, err = command(
        "grad", "logs.py:loss", "--at", "np.array([1.0, 0.0])", "--debug-nans"
    )
    assert (status, out) == (2, "")
    assert "np.log made an infinity out of finite numbers at element [1]" in err
    assert 'logs.py", line 5, in loss' in err


def test_tape_is_printed_as_a_table(command):
    status, out, _ = command("grad", "model.py:tree", "--at", "{'w': 2.0, 'b': [5.0]}", "--tape")
    assert status == 0
    value, _, table = out.partition("\n\n")
    assert value.startswith("value     10.0\ngradient  ")
    titles, _, *rows = table.splitlines()
    assert titles.split() == ["slot", "operation", "reads", "result", "bytes", "line"]
    assert [row.split()[2] for row in rows] == ["parameters['w']", "parameters['b'][0]", "output"]
    assert rows[-1].endswith("model.py:21")


def test_html_writes_a_page(report):
    printed = report("grad", "model.py:square", "--at", "START", "--html", "tape.html")
    assert printed["page"] == "3 tape entries in tape.html"
    page = Path("tape.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "square(x)" in page


def test_profile_has_tables_by_operation_and_by_line(command):
    status, out, _ = command("grad", "model.py:square", "--at", "START", "--profile")
    assert status == 0
    _, operations, lines = out.rstrip().split("\n\n")
    assert operations.startswith("operation  ")
    assert {row.split()[0] for row in operations.splitlines()} >= {"np.square", "np.sum"}
    assert lines.startswith("line  ")
    assert any(row.startswith("model.py:9 ") for row in lines.splitlines())


def test_jvp_is_the_derivative_along_a_direction(report):
    at = ("--at", "START, 3.0")
    printed = report("grad", "model.py:product", *at, "--jvp", "np.array([1.0, 0.5]), 2.0")
    assert printed == {"value": "9.0", "jvp": "10.5"}


@pytest.mark.parametrize("point", ["START", "np.float32(2.0)", "3.0"])
def test_a_jvp_is_checked_along_its_line(report, point):
    direction = f"np.ones_like({point})"
    printed = report("grad", "model.py:vector", "--at", point, "--jvp", direction, "--check")
    assert printed["check"].startswith("passed: all 1 partials")


def test_a_wrong_jvp_fails_its_check(command):
    at = ("--at", "np.array([1.0, 5.0])", "--jvp", "np.array([1.0, 0.0])")
    status, out, _ = command("grad", "model.py:wrong", *at, "--check")
    assert status == 1
    assert "check     FAILED" in out


def test_version(command):
    status, out, _ = command("--version")
    assert (status, out) == (0, f"tapegrad {tapegrad.__version__}\n")


def test_the_console_script_is_the_command_line():
    import tomllib

    root = Path(main.__code__.co_filename).parents[1]
    if not (root / "pyproject.toml").exists():
        pytest.skip("pyproject.toml is not beside an installed package")
    scripts = tomllib.loads((root / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts == {"tapegrad": f"{main.__module__}:{main.__name__}"}


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
    "bad page": (("model.py:square", "--html", "t.svg"), "t.svg: a page's name ends in .html"),
    "bad direction": (("model.py:square", "--jvp", "1.0, 2.0"), "--jvp: expected 1 argument, as"),
    "direction fails": (("model.py:square", "--jvp", "1 / 0"), "--jvp '1 / 0' raised ZeroDiv"),
    "shape of a direction": (("model.py:square", "--jvp", "np.ones(3)"), "of shape (2,)"),
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


def test_a_pipe_that_is_closed_is_no_error(workplace):
    code = (
        "import os, sys; read, write = os.pipe(); os.close(read); os.dup2(write, 1);"
        "from tapegrad.__main__ import main;"
        "sys.exit(main(['grad', 'model.py:square', '--at', 'START', '--tape']))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(Path(main.__code__.co_filename).parents[1])},
    )
    assert (done.returncode, done.stderr) == (141, "")


def test_the_hessian_of_an_argument_with_containers(report):
    printed = report(
        "grad", "model.py:tree", "--at", "{'w': 2.0, 'b': [3.0]}", "--hessian", "--check"
    )
    assert printed["hessian"].startswith("{'b': [({'b': [array(0.)], 'w': array(1.)},)],")
    assert printed["check"].startswith("passed: all 2 partials")


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


def test_imaginary_parts_of_results_count():
    def f(z):
        return z * z * (1 + 1j)

    for x in (np.array([1.0, 2.0]), np.array([1 + 2j, 0.5 - 1j])):
        right = np.diag(2 * x) * (1 + 1j)
        comparison = compare(f, (x,), (right,))
        assert comparison.passed
        assert comparison.analytic
        assert not compare(f, (x,), (right * (1 + 1e-3j),)).passed
    x = np.array([1.0, 2.0])
    real_parts_alone = np.diag(2 * x) * (1 - 1j)
    assert not compare(f, (x,), (real_parts_alone,)).passed


def test_of_a_function_that_is_not_analytic_the_real_part_is_compared():
    z = np.array([1 + 2j, 0.5 - 1j])
    comparison = compare(np.conj, (z,), (np.eye(2, dtype=complex),))
    assert comparison.passed
    assert "of the real part (f is not analytic)" in str(comparison)
    assert not compare(np.conj, (z,), (1.001 * np.eye(2, dtype=complex),)).passed


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
    status, out, _ = command("demo", "--out", "digits.svg")
    assert status == 0
    accuracy = float(out.partition("held-out accuracy ")[2].partition("%")[0])
    assert accuracy > 95
    assert "gradient agrees with central differences: 100 of 3610 partials" in out
    assert "drawn in digits.svg" in out
    assert "matmul" in Path("digits.svg").read_text()
    assert out.splitlines()[-2].endswith(_demo.__file__)
    page = Path("digits.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "loss(parameters)" in page


def test_the_demos_picture_names_its_parameters(workplace):
    parameters = _demo.initial_parameters(np.random.default_rng(0))
    images, digits = np.zeros((3, 64)), np.arange(3)
    path = str(workplace / "digits.mmd")
    write_picture(
        path, "loss", lambda parameters: _demo.loss(parameters, images, digits), parameters
    )
    text = Path(path).read_text(encoding="utf-8")
    for name in parameters:
        assert f"parameters['{name}']" in text.replace("#39;", "'").replace("#quot;", "'")


def test_demo_names_the_command_that_installs_what_is_missing(command, monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "sklearn"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    status, _, err = command("demo")
    assert status == 2
    assert err.startswith("tapegrad: the demo needs ")
    assert "python -m pip install scikit-learn" in err
    assert err.count("\n") == 1
    assert not Path("tapegrad-demo.svg").exists()


EXAMPLE = """\"\"\"%s.

More words.
\"\"\"
import sys

print("drawn:", __name__, *sys.argv[1:])
"""


@pytest.fixture(params=["_tapegrad_examples", "docs/examples"])
def gallery(request, tmp_path, monkeypatch):
    """A folder of examples where a wheel has it, or a checkout."""
    monkeypatch.setattr(_gallery, "_PACKAGES", tmp_path)
    folder = tmp_path / request.param
    folder.mkdir(parents=True)
    (folder / "second.py").write_text(EXAMPLE % "A longer title, with a comma")
    (folder / "first_of_all.py").write_text(EXAMPLE % "A title")
    (folder / "README.md").write_text("no example")
    return folder


def test_demo_lists_the_examples(command, gallery):
    status, out, err = command("demo", "--list")
    assert (status, err) == (0, "")
    listed = out.partition("\n\n")[0].splitlines()
    assert listed == [
        "first_of_all  A title",
        "second        A longer title, with a comma",
    ]
    assert f"Their sources are in {gallery}\n" in out


def test_demo_runs_an_example_as_a_program_of_its_own(command, gallery):
    before = list(sys.argv)
    status, out, err = command("demo", "second", "--out", "second.svg")
    assert (status, err) == (0, "")
    assert out.splitlines() == [
        "drawn: __main__ second.svg",
        f"picture in second.svg, source in {gallery / 'second.py'}",
    ]
    (gallery / "second.py").write_text("import no_such_module_at_all")
    status, _, err = command("demo", "second", "--out", "second.svg")
    assert (status, err.count("\n")) == (2, 1)
    assert "second needs no_such_module_at_all: " in err
    status, out, err = command("demo", "third")
    assert (status, out) == (2, "")
    assert "no example 'third': python -m tapegrad demo --list" in err
    assert sys.argv == before


def test_demo_says_where_there_are_no_examples(command, tmp_path, monkeypatch):
    monkeypatch.setattr(_gallery, "_PACKAGES", tmp_path / "empty")
    status, out, err = command("demo", "--list")
    assert (status, out) == (2, "")
    assert "the examples are not installed here" in err


def test_demo_refuses_a_bad_path_before_it_trains(command):
    status, out, err = command("demo", "--out", "missing/demo.svg")
    assert (status, out, err) == (2, "", "tapegrad: missing/demo.svg: no such folder\n")
