"""Training programs as users of PyTorch write them run by a change of the import alone.

The programs are in `scripts/`. Each leaves a list `losses` and a dict `metrics`. Under both
libraries, with the same random numbers, all of them agree.
"""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
import same_draws
from pytorch_answers import of_pytorch

import tapegrad.torch as torch

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))
NAMES = [path.stem for path in SCRIPTS]

# How far apart, relative to the number, a loss or a metric may be. They are 1e-13 and less in most
# programs; L-BFGS's line search, and averaged weights whose norms are counted again, carry more.
TOLERANCE = 1e-9

# What share of its first five losses a program's last five stay below.
SHARES = {
    "bags_of_words": 0.1,
    "char_gpt": 0.6,
    "char_lstm": 0.98,
    "digits": 0.2,
    "flow": 0.5,
    "gan": 0.8,
    "graph_net": 0.5,
    "metric_maml": 0.6,
    "physics": 0.3,
    "ppo": 0.9,
    "resnet_shapes": 0.8,
    "speech": 0.3,
    "translate": 0.5,
    "unet": 0.4,
    "vae": 0.6,
}


def imports_changed(source: str) -> str:
    """The program with tapegrad.torch in place of torch in its imports."""
    source = re.sub(
        r"^import torch$", "import tapegrad.torch as torch", source, flags=re.MULTILINE
    )
    return re.sub(
        r"^(import|from) torch\b(?! as)", r"\1 tapegrad.torch", source, flags=re.MULTILINE
    )


def run(path: Path, library: str, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The module that the program made."""
    source = path.read_text()
    if library == "tapegrad":
        source = imports_changed(source)
    module = types.ModuleType(path.stem)
    monkeypatch.setitem(sys.modules, path.stem, module)  # where classes are looked up by name
    exec(compile(source, str(path), "exec"), module.__dict__)
    return module


@pytest.fixture(autouse=True)
def default_dtypes():
    before = torch.get_default_dtype()
    yield
    torch.set_default_dtype(before)
    if (pytorch := sys.modules.get("torch")) is not None:
        pytorch.set_default_dtype(pytorch.float32)


def needs(path: Path) -> None:
    if "sklearn" in path.read_text():
        pytest.importorskip("sklearn")


def numbers(x: object) -> list[float]:
    """The numbers of nested dicts, lists and tuples, in order."""
    if isinstance(x, dict):
        x = list(x.values())
    if isinstance(x, (list, tuple)):
        return [number for part in x for number in numbers(part)]
    return [float(x)]


@pytest.mark.part(12)
@pytest.mark.parametrize("path", SCRIPTS, ids=NAMES)
def test_scripts_learn_as_with_pytorch(path, monkeypatch, capsys):
    needs(path)
    module = run(path, "tapegrad", monkeypatch)
    losses = np.array(module.losses)
    assert losses[-5:].mean() < SHARES[path.stem] * losses[:5].mean()
    assert np.isfinite(numbers(module.metrics)).all()
    assert capsys.readouterr().out

    def learned(pytorch):
        pytorch.set_num_threads(1)  # more would wait for each other on a busy machine
        with monkeypatch.context() as patches:
            same_draws.Draws(pytorch).install(patches)
            theirs = run(path, "torch", patches)
        return numbers(theirs.losses), numbers(theirs.metrics), list(theirs.metrics)

    *theirs, names = of_pytorch(learned)
    assert list(module.metrics) == names
    pairs = zip((module.losses, numbers(module.metrics)), theirs, strict=True)
    apart = [
        np.max(np.abs(np.subtract(*pair)) / np.maximum(1e-3, np.abs(pair[1]))) for pair in pairs
    ]
    assert max(apart) < TOLERANCE, apart  # of the losses, of the metrics
