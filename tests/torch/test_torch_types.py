"""Knowledge of type checkers and editors about the object layer: the stubs, and typed programs."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import runpy
import sys
from pathlib import Path

import pytest

import tapegrad.torch as torch
from tapegrad.torch import nn

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PROGRAMS = sorted((Path(__file__).parent / "typed_programs").glob("*.py"))
STUBS = sorted((ROOT / "tapegrad" / "torch").rglob("*.pyi"))
SPACES = (torch, torch.fft, nn.functional, torch.linalg, torch.special)
REMEDY = "run: python docs/torch_stubs.py"
# Classes of torch.utils.data that have a type of samples, or of the numbers of samples.
OF_SAMPLES = """
ChainDataset ConcatDataset DataLoader Dataset IterableDataset Sampler StackDataset Subset
"""
# Each line that ends so is an error of that kind, and no other is.
WRONG = """\
import tapegrad.torch as torch
from tapegrad.torch import nn
x = torch.ones(3)
torch.no_such_function  # attr-defined
x.no_such_method()  # attr-defined
torch.zeros("three")  # arg-type
torch.cat([x], dims=0)  # call-arg
x.sum(keep=True)  # call-arg
nn.Linear(3, 2)(3)  # arg-type
nn.Linear(3, 2)(x, x)  # call-arg
count: int = x.sum()  # assignment
values, indices = x.max()  # allowed: a tensor can be iterated over
torch.max(x, 0).places  # attr-defined
x.grad.norm()  # union-attr
torch.optim.SGD(x, momentum="much")  # arg-type
"""


@pytest.fixture(scope="module")
def written():
    """Expected stubs, by their files."""
    sys.path.insert(0, str(DOCS))
    try:
        return importlib.import_module("torch_stubs").stubs()
    finally:
        sys.path.remove(str(DOCS))


def test_there_is_no_other_stub(written):
    assert sorted(written) == STUBS


@pytest.mark.parametrize("place", STUBS, ids=lambda place: place.stem)
def test_the_stubs_are_current(written, place):
    assert written[place] == place.read_text(encoding="utf-8"), REMEDY


@pytest.mark.parametrize("place", STUBS, ids=lambda place: place.stem)
def test_the_stubs_are_python(place):
    tree = ast.parse(place.read_text(encoding="utf-8"))
    found = sys.modules.get(".".join(place.with_suffix("").relative_to(ROOT).parts))
    found = torch if place == ROOT / "tapegrad" / "torch" / "__init__.pyi" else found
    if found in SPACES:
        assert set(dir(found)) - names_of(tree) <= {
            "__builtins__",
            *dir(object()),
        } | {name for name in dir(torch) if name.startswith("__")}


def names_of(tree: ast.Module | ast.ClassDef) -> set[str]:
    """The names that a stub declares or exports."""
    names = set()
    for statement in tree.body:
        if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            names.add(statement.name)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            names.add(statement.target.id)
        elif isinstance(statement, ast.ImportFrom):
            names.update(alias.asname for alias in statement.names if alias.asname)
    return names


def test_the_stub_of_tensor_has_all_of_its_attributes():
    place = ROOT / "tapegrad" / "torch" / "_tensor" / "tensor.pyi"
    tree = ast.parse(place.read_text(encoding="utf-8"))
    (known,) = (part for part in tree.body if isinstance(part, ast.ClassDef))
    assert {name for name in vars(torch.Tensor) if not name.startswith("_")} <= names_of(known)


def test_a_stub_does_not_hide_a_source_from_the_check_of_the_package():
    settings = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'files = ["tapegrad/**/*.py"]' in settings


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_typed_programs_run(program):
    runpy.run_path(str(program))


def test_a_module_is_called_as_its_forward():
    """At run time `__call__` is a plain method, whatever type checkers are told."""
    assert nn.Module.__call__ is nn.Linear.__call__
    with pytest.raises(NotImplementedError, match='missing the required "forward" function'):
        nn.Module()(1)


@pytest.mark.parametrize(
    ("function", "parameters"),
    [
        (torch.add, "input other alpha"),
        (torch.Tensor.add_, "input other alpha"),
        (torch.sum, "input dim keepdim dtype"),
        (nn.functional.relu6, "input inplace"),
        (
            torch.zeros,
            "sizes size out dtype layout device pin_memory memory_format requires_grad",
        ),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_a_signature_has_what_a_call_takes(function, parameters):
    assert [*inspect.signature(function).parameters] == parameters.split()


@pytest.mark.parametrize("kind", OF_SAMPLES.split())
def test_classes_of_samples_can_be_subscripted(kind):
    """As PyTorch's can, where a program does not put off the evaluation of its annotations."""
    assert getattr(torch.utils.data, kind)[int].__args__ == (int,)


# --- By mypy ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_mypy_knows_the_types(by_mypy):
    """The programs say by `assert_type` what a user expects."""
    said = sum(program.read_text(encoding="utf-8").count("assert_type(") for program in PROGRAMS)
    assert said > 100
    done = by_mypy(*PROGRAMS)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
def test_mypy_finds_mistakes(by_mypy, tmp_path):
    program = tmp_path / "wrong.py"
    program.write_text(WRONG, encoding="utf-8")
    found = re.findall(r"wrong\.py:(\d+): error: .*\[([a-z-]+)\]", by_mypy(program).stdout)
    lines = enumerate(WRONG.splitlines(), 1)
    wanted = [(str(n), line.partition("  # ")[2]) for n, line in lines if "  # " in line]
    assert found == [(n, kind) for n, kind in wanted if not kind.startswith("allowed")]


@pytest.mark.slow
def test_the_stubs_are_without_errors(by_mypy):
    done = by_mypy(*STUBS)
    assert done.returncode == 0, done.stdout + done.stderr
