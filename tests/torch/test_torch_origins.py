"""Where the attributes of Tensor and the functions of `torch` come from: one way, and a table."""

from __future__ import annotations

import ast
import sys
import types
from pathlib import Path

import pytest

import tapegrad.torch as torch
from tapegrad.torch._absent import FINDER
from tapegrad.torch._ops import declare
from tapegrad.torch._ops.declare import OPERATIONS, ORIGINS, alias, operation, register
from tapegrad.torch._tensor import tensor as tensor_module

LAYER = Path(torch.__file__).parent

# Methods that Tensor is handed by `method_of`; tests/package/test_layers.py lists them.
SOCKETS = {"__new__", "backward"}


class Empty:
    """A class whose attributes are those that Python gives every class, beside `word`."""

    __slots__ = ("__dict__", "__weakref__")
    word: int = 0


OF_EVERY_CLASS = {*vars(Empty), *tensor_module.Tensor.__slots__}


def of_the_class_body() -> set[str]:
    """Names that the body of `class Tensor` gives a value; not those for type checkers only."""
    tree = ast.parse(Path(tensor_module.__file__).read_text(encoding="utf-8"))
    body = next(n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Tensor").body
    found: set[str] = set()
    for node in body:
        if isinstance(node, ast.FunctionDef):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            found.add(ast.unparse(node.target))
        elif isinstance(node, ast.Assign):
            found.update(map(ast.unparse, node.targets))
    return found


def of_tensor() -> set[str]:
    return {key.removeprefix("Tensor.") for key in ORIGINS if key.startswith("Tensor.")}


def test_each_attribute_of_a_tensor_has_one_origin():
    """It stands in the body of the class, or a module registers it, or it is a socket."""
    body = of_the_class_body()
    assert body & of_tensor() == set()
    assert set(vars(torch.Tensor)) - OF_EVERY_CLASS - body - SOCKETS == of_tensor()


def test_each_function_has_an_origin():
    of_torch = {key.removeprefix("torch.") for key in ORIGINS if key.startswith("torch.")}
    assert of_torch == set(OPERATIONS)


def test_an_origin_is_the_module_that_a_reader_looks_for():
    assert ORIGINS["Tensor.sum"] == "tapegrad.torch._ops.reduce.sums"
    assert ORIGINS["Tensor.__add__"] == "tapegrad.torch._ops.elementwise.arithmetic"
    assert ORIGINS["Tensor.T"] == "tapegrad.torch._ops.shape.reshape"
    assert ORIGINS["Tensor.clamp_"] == "tapegrad.torch._ops.elementwise.functions"
    assert ORIGINS["torch.inverse"] == "tapegrad.torch.linalg"
    assert ORIGINS["torch.tensor"] == "tapegrad.torch._ops.create.data"


def test_an_origin_declares_operations_and_is_no_machinery():
    """Functions made by `declare` and `fast` are declared where they are registered."""
    machinery = {declare.__name__, "tapegrad.torch._ops.fast"}
    assert machinery.isdisjoint(ORIGINS.values())
    assert set(ORIGINS.values()) <= set(sys.modules)


CALLS = ("setattr", "delattr", "OPERATIONS.update")


def written_elsewhere(path: Path) -> set[str]:
    """Statements that write to OPERATIONS, to ORIGINS or to an attribute of the class Tensor."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        targets = node.targets if isinstance(node, (ast.Assign, ast.Delete)) else []
        for target in targets:
            if not isinstance(target, (ast.Attribute, ast.Subscript)):
                continue
            if ast.unparse(target.value) in ("Tensor", "OPERATIONS", "ORIGINS"):
                found.add(ast.unparse(node))
        if isinstance(node, ast.Call) and ast.unparse(node.func) in CALLS:
            call = ast.unparse(node)
            if call.startswith(("setattr(Tensor", "delattr(Tensor", "OPERATIONS.update")):
                found.add(call)
    return found


@pytest.mark.slow
def test_register_alone_writes_the_tables():
    """But for what stands in the class while a call is recorded, and is taken away."""
    found = {
        path.relative_to(LAYER).as_posix(): written_elsewhere(path)
        for path in sorted(LAYER.rglob("*.py"))
    }
    writers = {name for name, statements in found.items() if statements}
    assert writers == {"_ops/declare.py", "_programs.py"}


@pytest.mark.parametrize("name", ["sum", "detach"])
def test_a_name_is_given_once(name):
    """By a module, or in the body of the class."""
    with pytest.raises(RuntimeError, match=f"register: Tensor.{name} of .* is declared already"):
        register(name, function=False)(lambda self: self)


def test_a_function_is_given_once():
    with pytest.raises(RuntimeError, match=r"torch.stack of .* by tapegrad.torch._ops.shape"):
        register("stack", method=False)(lambda tensors: tensors)


@pytest.fixture
def without_twice():
    """Nothing of the operation `twice` stays."""
    yield
    for name in ("twice", "twice_", "doubled", "doubled_"):
        del OPERATIONS[name], ORIGINS[f"torch.{name}"], ORIGINS[f"Tensor.{name}"]
        delattr(torch.Tensor, name)


@pytest.mark.usefixtures("without_twice")
def test_a_short_path_replaces_the_operation_that_it_names():
    @operation("MulBackward0", inplace=True)
    def twice(input):
        """2 * input."""
        return input * 2

    @register(replaces=twice)
    def short(input):
        return input + input

    alias("twice", "doubled")
    assert OPERATIONS["twice"] is OPERATIONS["doubled"] is torch.Tensor.doubled is short
    x = torch.tensor([1.0, 3.0])
    assert x.twice().tolist() == x.doubled_().tolist() == [2.0, 6.0]
    assert short.__name__ == "twice"
    assert short.__doc__.startswith("2 * input.\n")
    assert ORIGINS["Tensor.twice"] == ORIGINS["torch.doubled_"] == __name__


def test_nothing_hides_an_operation_of_the_namespace():
    hidden = [name for name in OPERATIONS if getattr(torch, name) is not OPERATIONS[name]]
    assert hidden == []


def test_the_namespaces_show_pytorchs_modules_alone():
    """A module of ours that a namespace imports is a private name there."""
    public = {"autograd", "func", "linalg", "nn", "optim", "random", "return_types", "special"}
    public |= {"distributions", "fft", "serialization", "quasirandom", "signal", "testing"}
    public |= {"functional", "profiler", "utils", "types", "version", "torch", *FINDER.inner("")}
    for space, expected in ((torch, public), (torch.special, set())):
        shown = {name for name in dir(space) if not name.startswith("_")}
        assert {n for n in shown if isinstance(getattr(space, n), types.ModuleType)} == expected
