"""`dir` of a public module has PyTorch's names, and nothing of how the module is made."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

import tapegrad.torch as torch
from tapegrad.torch._absent import FINDER

DOCS = Path(__file__).parents[2] / "docs"
LINES = (DOCS / "torch" / "pytorch-names.txt").read_text(encoding="utf-8").splitlines()[1:]
THEIRS = {space: set(names) for space, *names in map(str.split, LINES)}
# Names of modules, which the list of PyTorch's names leaves out, and what PyTorch has in the
# module, but neither in its `__all__` nor in its reference.
MORE = {
    "torch": """amp autograd backends cuda distributions fft func functional linalg nn optim
        profiler quasirandom random return_types serialization signal special testing types utils
        version torch TorchVersion install uninstall""",
    "torch.cuda": "OutOfMemoryError",
    "torch.autograd": """forward_ad function functional graph profiler
        profiler_util""",
    # make_dot: of torchviz, which draws PyTorch's graphs. tape: our own
    "torch.autograd.graph": "make_dot tape",
    "torch.distributions": "constraint_registry constraints kl transforms",
    "torch.fft": "hfft2 hfftn ihfft2 ihfftn",
    "torch.nn": "functional grad init modules parallel parameter utils",
    "torch.nn.utils": "prune",
    "torch.profiler": "KinetoStepTracker",
    "torch.random": "Generator default_generator",
}
OF_TENSORS = {"node"}  # the attributes of Tensor beside PyTorch's: the node of the graph
# What PyTorch lists by accident, names without use here, modules that a program may have imported.
UNLISTED = {
    "torch.autograd": {"variable"},
    "torch.fft": {"Tensor"},
    "torch.nn": {"SyncBatchNorm"},
    "torch.testing": {"assert_allclose"},  # deprecated
    "torch.utils.data": {"DistributedSampler"},
    "torch.nn.utils": set(
        "fuse_conv_bn_eval fuse_conv_bn_weights fuse_linear_bn_eval fuse_linear_bn_weights".split()
    ),
    "torch.nn.parallel": set(
        "DistributedDataParallel gather parallel_apply replicate scatter".split()
    ),
    "torch.nn.functional": {"Tensor", "conv_tbc"},
}
MODULES = sorted(THEIRS.keys() - {"torch.Tensor"})


@pytest.mark.parametrize("space", MODULES)
def test_a_module_lists_pytorchs_names(space):
    module = importlib.import_module(f"tapegrad.{space}")
    listed = {name for name in dir(module) if not name.startswith("__")}
    more = set(MORE.get(space, "").split())
    inner = {*FINDER.inner(space.removeprefix("torch").lstrip("."))}
    inner |= {
        name for name in listed if f"{space}.{name}".removeprefix("torch.") in FINDER.refused
    }
    assert listed - THEIRS[space] - inner <= more
    assert more <= listed, "no longer there"
    assert all(hasattr(module, name) for name in listed)


@pytest.mark.parametrize("space", MODULES)
def test_a_module_lists_all_that_it_has_of_pytorchs_names(space):
    module = importlib.import_module(f"tapegrad.{space}")
    here = {name for name in THEIRS[space] if hasattr(module, name)}
    assert here - set(dir(module)) <= UNLISTED.get(space, set())


def test_a_tensor_lists_pytorchs_names():
    listed = {name for name in dir(torch.ones(1)) if not name.startswith("_")}
    assert listed - THEIRS["torch.Tensor"] == OF_TENSORS


def test_the_version_is_listed():
    assert {"__version__", "__name__", "__doc__"} <= set(dir(torch))
