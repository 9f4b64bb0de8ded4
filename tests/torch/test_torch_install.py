"""tapegrad.torch.install and `python -m tapegrad torch`; modules of the table of absent names."""

from __future__ import annotations

import importlib
import inspect
import pickle
import subprocess
import sys
import textwrap
import types
from pathlib import Path
from typing import Any

import pytest

import tapegrad.torch as torch
from tapegrad import InputError
from tapegrad.__main__ import main
from tapegrad.torch._absent import FINDER, is_refused
from tapegrad.torch._absent.packages import SAME
from tapegrad.torch.utils import _pytree, benchmark

PROGRAM = """
    import importlib.metadata, pickle, sys
    import torch
    import torch.nn as nn
    import torch.utils.hooks
    from torch import fx
    from torch.cuda.amp import autocast
    from torch.nn.modules.conv import Conv2d
    from torch.distributed.elastic.multiprocessing.errors import record
    from torch.utils.data.distributed import DistributedSampler
    from functorch import grad, vmap
    import tapegrad.torch

    assert torch is tapegrad.torch and torch.__name__ == torch.Tensor.__module__ == "torch"
    assert torch.equal(pickle.loads(pickle.dumps(torch.ones(2))), torch.ones(2))
    assert torch.cuda.amp is sys.modules["tapegrad.torch.cuda.amp"]
    assert importlib.metadata.version("torch") == str(torch.__version__)
    assert isinstance(nn.Linear(2, 1), torch.nn.Module)
    assert DistributedSampler is torch.utils.data.DistributedSampler and record(max) is max
    assert pickle.loads(pickle.dumps(torch.jit.export)) is torch.jit.export
    assert grad(torch.sin)(torch.tensor(0.0)).item() == 1.0
    try:
        import torch.no_such_module
    except ModuleNotFoundError as error:
        print(error.name, __name__, *sys.argv[1:])
"""


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """What Python does with some words."""
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)


def test_packages_that_import_torch_find_the_layer() -> None:
    start = "import tapegrad.torch as t; t.install(); t.install()\n"
    end = "t.uninstall(); assert not [n for n in sys.modules if n.split('.')[0] == 'torch']\n"
    done = run("-c", start + textwrap.dedent(PROGRAM) + end + "print(t.__name__)")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["torch.no_such_module", "__main__", "tapegrad.torch"]


def test_the_command_runs_a_script_on_the_layer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(PROGRAM), encoding="utf-8")
    done = run("-m", "tapegrad", "torch", str(script), "--epochs", "3")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["torch.no_such_module", "__main__", "--epochs", "3"]
    assert main(["torch", "none.py"]) == 2
    script.write_text("print(__file__)", encoding="utf-8")
    monkeypatch.chdir(tmp_path)  # a script is told its whole path, also where it was given by less
    assert run("-m", "tapegrad", "torch", "train.py").stdout.strip() == str(script)


def test_it_comes_before_another_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    with pytest.raises(InputError, match="expected that no other torch is imported"):
        torch.install()
    assert torch.__name__ == "tapegrad.torch"


# --- The table ----------------------------------------------------------------------------------

ROWS = [
    (space, name)
    for space, section in FINDER.sections.items()
    if space != "Tensor"
    for name in section.rows
    if section.rows[name].answer != "absent"
]


def module(space: str) -> types.ModuleType:
    return importlib.import_module(f"tapegrad.torch.{space}".rstrip("."))


def test_each_name_of_the_table_is_there() -> None:
    for space, name in ROWS:
        found, row = getattr(module(space), name), FINDER.sections[space].rows[name]
        if row.answer.startswith("from ") or not inspect.isroutine(found):
            continue
        assert pickle.loads(pickle.dumps(found)) is found
        assert found.__doc__.strip(), name
        if row.parameters:
            assert (
                str(inspect.signature(found))
                .replace(" ", "")
                .startswith(row.parameters.replace(" ", ""))
            ), name


def test_what_is_refused_says_so_when_it_is_used() -> None:
    for space, name in ROWS:
        row = FINDER.sections[space].rows[name]
        if isinstance(getattr(module(space), name), types.ModuleType):
            continue  # of the same name, imported
        if is_refused(row) and not row.parameters:
            with pytest.raises(Exception, match=r".") as raised:
                getattr(module(space), name)()
            text = str(raised.value)
            assert not row.answer.startswith("refused") or f"{space}.{name}".lstrip(".") in text


@pytest.mark.parametrize(
    "space", [name for name in FINDER.sections if name not in ("", "Tensor", "ops")]
)
def test_each_module_of_the_table_is_one(space: str) -> None:
    found = module(space)
    assert isinstance(found, types.ModuleType)
    assert found.__spec__ is not None
    assert set(getattr(found, "__all__", ())) <= set(dir(found))
    if not FINDER.sections[space].extends:
        assert found.__doc__.startswith(f"`torch.{space}`: ")
    assert hasattr(found, "no_such_name") == (space in FINDER.refused)


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda: torch.accelerator.current_accelerator(), None),
        (lambda: torch.jit.script(len) is len, True),
        (lambda: torch.jit.ignore(drop=True)(len) is len, True),
        (lambda: torch.jit.isinstance(3, int), True),
        (lambda: torch._VF.sin is torch.sin, True),
        (lambda: torch._C._nn.gelu is torch.nn.functional.gelu, True),
        (lambda: repr(torch.float8_e4m3fn), "torch.float8_e4m3fn"),
        (lambda: torch.ones(2).layout == torch.sparse_coo, False),
        (lambda: torch.nn.attention.SDPBackend(0).name, "MATH"),
        (lambda: torch.__version__ >= (2, 0) and torch.__version__ > "2.9", True),
        (lambda: torch.utils.hooks.RemovableHandle.__name__, "Handle"),
        (lambda: torch.autograd.kineto_available(), torch.profiler.kineto_available()),
        (lambda: torch.profiler.format_time(1500.0), "1.500ms"),
        (lambda: issubclass(torch.fx.GraphModule, torch.nn.Module), True),
        (lambda: torch.futures.Future[int] is not None, True),
    ],
)
@pytest.mark.filterwarnings("ignore:torch.jit.script has no effect")
def test_answers(call, answer) -> None:
    assert call() == answer


def test_settings_are_noted() -> None:
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")
    with pytest.raises(RuntimeError, match="low is not one of 'highest', 'high', or 'medium'"):
        torch.set_float32_matmul_precision("low")
    torch.set_autocast_cpu_dtype(torch.float16)
    assert torch.get_autocast_dtype("cpu") is torch.float16
    torch.set_autocast_cpu_dtype(torch.bfloat16)
    with pytest.raises(NotImplementedError, match="NumPy has no such dtype"):
        torch.zeros(2, dtype=torch.quint8)


# --- Modules with code of their own -------------------------------------------------------------


def test_trees() -> None:
    tree = {"b": 1, "a": (2, None, [3])}
    leaves, spec = _pytree.tree_flatten(tree)
    assert (leaves, spec.num_leaves, spec.context) == ([1, 2, None, 3], 4, ["b", "a"])
    assert _pytree.tree_unflatten(leaves, spec) == tree
    assert _pytree.tree_map_only(int, lambda n: -n, tree) == {"b": -1, "a": (-2, None, [-3])}


def test_tensors_are_swapped() -> None:
    x, y = torch.zeros(2, requires_grad=True), torch.nn.Parameter(torch.ones(3))
    x.mark = 1
    torch.utils.swap_tensors(x, y)
    assert (y.tolist(), y.mark, type(x)) == ([0.0, 0.0], 1, torch.nn.Parameter)
    assert x.sum().item() == 3.0
    loss = x.sum()
    with pytest.raises(RuntimeError, match="Cannot swap t1 because the graph refers to it"):
        torch.utils.swap_tensors(x, y)
    del loss


def test_a_timer() -> None:
    timer = benchmark.Timer("x + 1", globals={"x": 1}, label="sum", description="one")
    once = timer.timeit(100)
    many = timer.blocked_autorange(min_run_time=0.002)
    assert once.number_per_run == 100
    assert len(once.times) == 1
    assert sum(many.raw_times) >= 0.002
    assert timer.adaptive_autorange(max_run_time=0.01).median > 0
    assert "measurement" in repr(many)
    assert many.label == "sum"
    assert "x + 1" in str(benchmark.Compare([once, many]))


# --- Modules of which every name is refused ------------------------------------------------------


def test_modules_that_do_nothing_are_imported_and_say_so() -> None:
    for space in FINDER.refused:
        found = module(space)
        assert not hasattr(found, "_private")
        package, _, name = space.rpartition(".")  # PyTorch's functions keep their names
        assert package not in FINDER.sections or name not in FINDER.sections[package].rows
        if space not in SAME:
            with pytest.raises(NotImplementedError, match=rf"^torch.{space}.AnyName: .*[.]$"):
                found.AnyName()


def test_files_of_pytorch_have_the_names_of_the_module_that_they_are_part_of() -> None:
    from tapegrad.torch.cpu.amp.autocast_mode import autocast
    from tapegrad.torch.utils.benchmark.utils.common import Measurement

    from tapegrad.torch.distributions.multivariate_normal import Distribution

    assert autocast is torch.cpu.amp.autocast
    assert Distribution is torch.distributions.Distribution
    assert Measurement is benchmark.Measurement


def test_checks_raise_their_errors() -> None:
    torch._check(True)
    with pytest.raises(RuntimeError, match="Expected cond to be True"):
        torch._check(False)
    with pytest.raises(ValueError, match=r"^bad$"):
        torch._check_value(False, lambda: "bad")
    with pytest.raises(AssertionError, match=r"^bad$"):
        torch._assert(False, "bad")
    with pytest.raises(RuntimeError):
        torch._check_tensor_all(torch.tensor([True, False]))


def test_a_block_prints_tensors_in_its_own_way() -> None:
    before = repr(torch.tensor(1 / 3))
    with torch._tensor_str.printoptions(precision=2):
        assert torch._tensor_str.PRINT_OPTS.precision == 2
        assert repr(torch.tensor(1 / 3)) == "tensor(0.33)"
    assert repr(torch.tensor(1 / 3)) == before


def test_parts_of_optimizers_that_packages_import() -> None:
    x, y = torch.ones(2), torch.ones(3, dtype=torch.float64)
    groups = module("utils._foreach_utils")._group_tensors_by_device_and_dtype(
        [[x, y, x], [None, y, y]], with_indices=True
    )
    assert [(len(lists[0]), places) for lists, places in groups.values()] == [
        (2, [0, 2]),
        (1, [1]),
    ]
    d, start = torch.tensor([1.0, -2.0]), torch.tensor([0.0, 3.0])

    def quadratic(x: Any, t: Any, d: Any) -> Any:
        at = x + t * d
        return at.dot(at).item(), 2 * at

    loss, gradient = quadratic(start, 0, d)
    lbfgs = module("optim.lbfgs")
    found = lbfgs._strong_wolfe(quadratic, start, 1.0, d, loss, gradient, gradient.dot(d), c2=0.1)
    assert found[0] < loss
    assert abs(found[1].dot(d)) <= -0.1 * gradient.dot(d)
    assert lbfgs._cubic_interpolate(0.0, 1.0, -2.0, 2.0, 1.0, 2.0) == 1.0  # (x - 1)**2


def test_trees_are_walked_by_the_table_of_containers() -> None:
    """As pytorch_lightning and others do it."""

    def walk(tree: Any) -> tuple[list[Any], Any]:
        kind = _pytree._get_node_type(tree)
        if kind not in _pytree.SUPPORTED_NODES:
            return [tree], _pytree.LeafSpec()
        children, context = _pytree.SUPPORTED_NODES[kind].flatten_fn(tree)
        parts = [walk(child) for child in children]
        leaves = [leaf for part, _ in parts for leaf in part]
        return leaves, _pytree.TreeSpec(kind, context, [spec for _, spec in parts])

    tree = {"b": 1, "a": (2, None, [3]), "c": torch.return_types.max(4, 5)}
    leaves, spec = walk(tree)
    assert (leaves, spec) == _pytree.tree_flatten(tree)
    assert _pytree.tree_unflatten(leaves, spec) == tree
    node = _pytree.SUPPORTED_NODES[dict]
    assert node.unflatten_fn([1], ["a"]) == {"a": 1}
    assert {tuple, list, dict} <= set(_pytree.SUPPORTED_NODES)
    assert len(_pytree.SUPPORTED_NODES) == len([*_pytree.SUPPORTED_NODES])
    assert type(None) not in _pytree.SUPPORTED_NODES
    assert int not in _pytree.SUPPORTED_NODES


def test_the_elements_of_a_tensor_as_text() -> None:
    x = torch.arange(4.0).reshape(2, 2)
    text = torch._tensor_str._tensor_str(x, 7)
    assert repr(x) == f"tensor({text})"
    assert not hasattr(torch._C._functorch, "no_such_name")
    with pytest.raises(NotImplementedError):
        torch._C._functorch.get_unwrapped(x)


def test_python_types_have_limits() -> None:
    assert torch.finfo(float).dtype == "float64"
    assert torch.iinfo(int).bits == 64


def test_a_range_of_a_gpu_raises_when_it_is_entered() -> None:
    nvtx = module("cuda.nvtx")
    decorated = nvtx.range("a")(abs)
    with pytest.raises(RuntimeError, match="NVTX functions not installed"):
        decorated(1)


def test_places_in_trees_are_keys() -> None:
    children, context = _pytree._list_flatten_with_keys(["x", "y"])
    assert [str(key) for key, _ in children] == ["[0]", "[1]"]
    assert _pytree._list_unflatten([child for _, child in children], context) == ["x", "y"]
    assert str(_pytree.MappingKey("a")) == "['a']"
    assert _pytree.tree_leaves([_pytree.SequenceKey(0)]) == [_pytree.SequenceKey(0)]


def test_the_arguments_of_to_as_packages_read_them() -> None:
    parse, cpu = torch._C._nn._parse_to, torch.device("cpu")
    assert parse("cpu", torch.float32, True) == (cpu, torch.float32, True, None)
    assert parse(torch.ones(1, dtype=torch.float64)) == (cpu, torch.float64, False, None)
    last = torch.channels_last
    assert parse(dtype=torch.float16, memory_format=last) == (None, torch.float16, False, last)
    assert parse() == (None, None, False, None)


def test_the_states_of_no_device_are_taken_back() -> None:
    cuda = module("cuda")
    cuda.set_rng_state_all(cuda.get_rng_state_all())
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"):
        cuda.set_rng_state_all([torch.ones(1)])


def test_a_size_is_a_plain_tuple_to_checkers_of_annotations() -> None:
    assert torch.Size.__bases__ == (tuple,)
    assert not hasattr(torch.Size, "__orig_bases__")
    assert torch.Size([2, 3])[1:] == torch.Size([3])
