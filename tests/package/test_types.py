"""Knowledge of type checkers, editors and completion about the namespace `tapegrad`."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import typing
from pathlib import Path

import numpy as np
import pytest
import revealed
from numpy.typing import NDArray
from typed_values import asserted, fits

import tapegrad
from tapegrad.autograd import differential_operators

ROOT = Path(__file__).parents[2]
STUB = ROOT / "tapegrad" / "__init__.pyi"
OPERATORS = ROOT / "tapegrad" / "autograd" / "differential_operators.pyi"
SCIPY_STUB = ROOT / "tapegrad" / "scipy" / "linalg" / "__init__.pyi"
GALLERY = sorted((ROOT / "docs" / "examples").glob("*.py"))
PROGRAMS = sorted((Path(__file__).parent / "typed_programs").glob("*.py"))
MODULES = """
    autograd cmath dask implicit math numpy optimize rules scipy sparse testing torch tree
""".split()
# Each line that ends so is an error of that kind, and no other is.
WRONG = """\
import numpy as np
from numpy.typing import NDArray
import tapegrad
Array = NDArray[np.float64]
x = np.ones(3)
def loss(w: Array, scale: float = 1.0) -> np.float64:
    return np.sum(w) * scale
def block(w: Array) -> Array:
    return w
def step(u: Array, rate: float) -> Array:
    return u * rate
tapegrad.no_such_transform  # attr-defined
tapegrad.grad(loss)(x, rate=2.0)  # call-arg
tapegrad.grad(loss)(w=x)  # call-arg
tapegrad.grad(loss)("x")  # arg-type
value: str = tapegrad.value_and_grad(loss)(x)[0]  # assignment
tapegrad.checkpoint(block)(x, x)  # call-arg
tapegrad.compile(block)(x, 3)  # call-arg
tapegrad.compile(backend="none")  # call-overload
tapegrad.checkpoint_sequence(step, x, 3, 0.9, 0.9)  # arg-type
tapegrad.checkpoint_sequence(step, x, 3, "fast")  # arg-type
tapegrad.config.no_such_setting = 3  # attr-defined
tapegrad.config(no_such_setting=3)  # call-arg
tapegrad.config.memory_budget = "200 MB"
"""


# --- The stub -----------------------------------------------------------------------------------


def test_the_stub_is_current(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    written = importlib.import_module("namespace_stub").stub()
    assert written == STUB.read_text(encoding="utf-8"), "run: python docs/namespace_stub.py"


def test_the_stub_of_the_drop_in_operators_is_current(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    written = importlib.import_module("namespace_stub").stub_of_operators()
    assert written == OPERATORS.read_text(encoding="utf-8"), "run: python docs/namespace_stub.py"


def test_the_stub_of_the_drop_in_operators_has_their_names_and_parameters():
    declared_here: dict[str, list[ast.FunctionDef]] = {}
    for part in ast.parse(OPERATORS.read_text(encoding="utf-8")).body:
        if isinstance(part, ast.FunctionDef):
            declared_here.setdefault(part.name, []).append(part)
    others = {"checkpoint", "hessian_vector_product", "vector_jacobian_product"}
    assert {*declared_here, *others} == {*differential_operators.__all__}
    for name, forms in declared_here.items():
        taken = [*inspect.signature(getattr(differential_operators, name)).parameters]
        for form in forms:
            assert [arg.arg for arg in form.args.args] == taken


@pytest.mark.slow
def test_the_stubs_of_scipy_are_current(monkeypatch):
    pytest.importorskip("scipy")
    monkeypatch.syspath_prepend(ROOT / "docs")
    module = importlib.import_module("scipy_stubs")
    if f"SciPy {module.VERSION}:" not in SCIPY_STUB.read_text(encoding="utf-8"):
        pytest.skip("the stubs have the parameters of another SciPy")
    for place, text in module.stubs().items():
        assert text == place.read_text(encoding="utf-8"), "run: python docs/scipy_stubs.py"


def declared() -> dict[str, list[ast.FunctionDef]]:
    """The declarations of each function of the stub, and of each constructor."""
    found: dict[str, list[ast.FunctionDef]] = {}
    for part in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(part, ast.FunctionDef):
            found.setdefault(part.name, []).append(part)
        elif isinstance(part, ast.ClassDef) and not part.name.startswith("_"):
            made = [x for x in part.body if isinstance(x, ast.FunctionDef)]
            found[part.name] = [x for x in made if x.name == "__init__"]
    return found


def names_of_stub() -> set[str]:
    names = set(declared())
    for part in ast.parse(STUB.read_text(encoding="utf-8")).body:
        if isinstance(part, ast.ImportFrom):
            names.update(alias.asname for alias in part.names if alias.asname)
    return names


def test_the_stub_has_the_public_names_and_modules():
    assert names_of_stub() == {*tapegrad.__all__, *MODULES}


@pytest.mark.parametrize("name", sorted(declared()))
def test_the_stub_has_the_parameters_of_run_time(name):
    actual = inspect.signature(getattr(tapegrad, name)).parameters
    for declaration in declared()[name]:
        given = declaration.args
        positional = [arg.arg for arg in [*given.posonlyargs, *given.args] if arg.arg != "self"]
        keywords = [arg.arg for arg in given.kwonlyargs]
        taken = [x for x in actual.values() if x.kind is x.POSITIONAL_OR_KEYWORD]
        several = [x.name for x in actual.values() if x.kind is x.VAR_POSITIONAL]
        if several == ["primals"]:  # the first of them are written out
            positional = [x for x in positional if not re.fullmatch(r"x\d", x)]
        assert positional == [x.name for x in taken]
        assert keywords == [x.name for x in actual.values() if x.kind is x.KEYWORD_ONLY]
        for arg, default in zip(given.args[::-1], given.defaults[::-1], strict=False):
            assert ast.literal_eval(default) == actual[arg.arg].default
        for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True):
            if default is not None:
                assert ast.literal_eval(default) == actual[arg.arg].default


# --- The namespace ------------------------------------------------------------------------------


def test_dir_has_the_public_names_alone():
    shown = {name for name in dir(tapegrad) if not name.startswith("__")}
    assert shown == {*tapegrad.__all__, *MODULES}


def run(code: str, *options: str) -> str:
    command = [sys.executable, *options, "-c", code]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_modules_are_imported_when_they_are_asked_for():
    code = """\
import sys
import numpy as np
before = {*sys.modules}
import tapegrad
tapegrad.grad(lambda x: np.sum(np.sin(x) ** 2))(np.ones(2))
idle = {"dataclasses", "html", "numpy.fft", "numpy.polynomial", "tempfile", "tracemalloc"}
idle |= {f"tapegrad.{name}" for name in ("_compile", "_core.limits", "_transforms.vmap")}
print(sorted((idle - before) & {*sys.modules}))
from tapegrad import *
late = [name for name in dir(tapegrad) if "tapegrad." + name in sys.modules]
others = ("scipy", "dask", "torch", "pandas", "llvmlite")
print(late, [name for name in others if name in sys.modules])
print("scipy" in globals(), "numpy" in globals(), "grad" in globals())
print(tapegrad.tree.leaves((1.0, 2.0)), tapegrad.optimize.__name__, tapegrad.scipy.__name__)
print("scipy" in sys.modules, tapegrad.scipy is sys.modules["tapegrad.scipy"])
"""
    loaded, *lines = run(code).splitlines()
    assert loaded == "[]"
    assert lines[0] == "['numpy', 'rules'] []"  # adopt, which is public, stands above numpy
    assert lines[1] == "False False True"
    assert lines[2] == "[1.0, 2.0] tapegrad.optimize tapegrad.scipy"
    assert lines[3] == "False True"


def test_every_module_can_be_asked_for_without_extras():
    """`hasattr` and completion ask; what needs an extra says so when it is called."""
    code = """\
import importlib.metadata, rlcompleter, sys
for name, packages in importlib.metadata.packages_distributions().items():
    if not {"numpy", "tapegrad"} & set(packages):
        sys.modules.setdefault(name, None)
import tapegrad
print([name for name in dir(tapegrad) if not hasattr(tapegrad, name)])
print(hasattr(tapegrad, "nothing"), hasattr(tapegrad, "_nothing"))
print(rlcompleter.Completer({"tapegrad": tapegrad}).attr_matches("tapegrad.s"))
"""
    lines = run(code).splitlines()
    assert lines[:2] == ["[]", "False False"]
    assert "'tapegrad.scipy'" in lines[2]
    assert "'tapegrad.sparse'" in lines[2]


# --- Programs -----------------------------------------------------------------------------------


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_typed_programs_run_and_return_the_types_that_they_say(program, monkeypatch):
    if program.stem.startswith("sci"):
        pytest.importorskip("scipy", reason="it calls SciPy")
    monkeypatch.setattr(typing, "assert_type", asserted)
    runpy.run_path(str(program))


def test_a_value_of_another_type_is_found():
    array = np.ones(2)
    assert fits((array, 1.0), tuple[np.ndarray, float])
    assert not fits((array, array), tuple[np.ndarray, float])
    assert not fits((array,), tuple[np.ndarray, np.ndarray])
    assert not fits(np.float64(1.0), NDArray[np.float64])
    assert not fits([1.0], tuple[float])


@pytest.mark.slow
def test_mypy_knows_the_types(by_mypy, tmp_path):
    """The programs say by `assert_type` what a user expects, and a wrong one has its mistakes."""
    said = sum(program.read_text(encoding="utf-8").count("assert_type(") for program in PROGRAMS)
    assert said > 70
    wrong = tmp_path / "wrong.py"
    wrong.write_text(WRONG, encoding="utf-8")
    done = by_mypy(*PROGRAMS, wrong)
    lines = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert not [line for line in lines if "wrong.py" not in line], done.stdout + done.stderr
    found = re.findall(r"wrong\.py:(\d+): error: .*\[([a-z-]+)\]", done.stdout)
    wanted = [
        (str(n), line.partition("  # ")[2])
        for n, line in enumerate(WRONG.splitlines(), 1)
        if "  # " in line
    ]
    assert found == wanted


@pytest.mark.slow
def test_pyright_knows_the_types_and_finds_nothing_in_the_gallery(tmp_path):
    """Pyright itself fetches its program; basedpyright, of the extra `lint`, brings it along."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("sklearn")
    places = os.pathsep.join([os.path.dirname(sys.executable), *os.get_exec_path()])
    pyright = shutil.which("basedpyright", path=places) or shutil.which("pyright", path=places)
    if pyright is None:
        pytest.skip("neither basedpyright nor pyright is installed")
    wrong = tmp_path / "wrong.py"  # what it finds there shows that it looks
    wrong.write_text("import tapegrad\n\ntapegrad.grad(3)\n", encoding="utf-8")
    config = tmp_path / "pyrightconfig.json"
    asked = {
        "include": [str(path) for path in (*PROGRAMS, *GALLERY, wrong)],
        "extraPaths": [str(ROOT)],
        "typeCheckingMode": "standard",  # Pyright's own; basedpyright has a stricter one
    }
    config.write_text(json.dumps(asked), encoding="utf-8")
    command = [pyright, "-p", str(config), "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    said = json.loads(done.stdout)
    found = [one for one in said["generalDiagnostics"] if one["severity"] == "error"]
    assert [one for one in found if one["file"] != str(wrong)] == []
    assert found
    assert said["summary"]["filesAnalyzed"] == len(PROGRAMS) + len(GALLERY) + 1


@pytest.mark.slow
def test_the_stubs_are_without_errors(by_mypy):
    done = by_mypy(STUB, OPERATORS, *sorted((ROOT / "tapegrad" / "scipy").rglob("*.pyi")))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_mypy_finds_nothing_in_the_gallery_and_knows_what_its_calls_return(by_mypy, tmp_path):
    """A call that is given values of known types returns one: see tests/package/revealed.py."""
    folder = tmp_path / "gallery"
    folder.mkdir()
    (folder / "__init__.py").touch()
    texts = {}
    for script in GALLERY:
        text = script.read_text(encoding="utf-8")
        texts[f"revealed_{script.stem}"] = revealed.revealing(text)
        (folder / script.name).write_text(text, encoding="utf-8")
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    done = by_mypy("--show-column-numbers", *sorted(folder.glob("*.py")))
    # In a copy mypy sees an argument apart from the call, and takes fewer overloads for it.
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert [line for line in errors if "revealed_" not in line] == [], done.stdout + done.stderr
    types: dict[str, dict[tuple[int, int], str]] = {name: {} for name in texts}
    for name, row, column, kind in revealed.NOTE.findall(done.stdout):
        types[name][int(row), int(column)] = kind
    counted = {name: revealed.unknown_calls(text, types[name]) for name, text in texts.items()}
    assert [found for _, unknown in counted.values() for found in unknown] == []
    assert sum(known for known, _ in counted.values()) > 40


def test_a_call_of_no_type_is_found():
    """Of arguments that have types; the place is that of mypy's notes."""
    text = revealed.revealing("import tapegrad as t\nf = t.grad(g)(x)\n")
    assert text.splitlines()[1] == (
        "f = reveal_type(reveal_type(t.grad(reveal_type(g)))(reveal_type(x)))"
    )
    grad, called, function, argument = (2, 29), (2, 17), (2, 48), (2, 65)
    types = {called: "Any", grad: "_Gradient[float, []]", function: "def (x: float) -> float"}
    known, unknown = revealed.unknown_calls(text, types | {argument: "float"})
    assert (known, len(unknown)) == (1, 1)
    assert revealed.unknown_calls(text, types | {argument: "Any"}) == (1, [])
    assert revealed.unknown_calls(text, types | {called: "float"}) == (2, [])
