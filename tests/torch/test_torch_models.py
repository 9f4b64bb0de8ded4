"""Whole models: the residual nets of docs/examples, the documents' programs on them, and curves of
training that follow PyTorch's from the same weights.
"""

from __future__ import annotations

import importlib.util
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch import nn

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"


def example(name, library=None):
    """A file of docs/examples as a module, its tapegrad.torch replaced by another library."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if library is not None:
        return reread(module, spec, library)
    return module


def reread(module, spec, library):
    text = Path(spec.origin).read_text()
    name = library.__name__
    text = text.replace("import tapegrad.torch as torch", f"import {name} as torch")
    exec(compile(text.replace("tapegrad.torch", name), spec.origin, "exec"), module.__dict__)
    return module


@pytest.fixture(scope="module")
def resnet():
    return example("resnet")


def test_names_and_sizes_of_resnets(resnet):
    model = resnet.resnet18(num_classes=10)
    state = model.state_dict()
    assert len(state) == 122
    assert tuple(state["layer2.0.downsample.0.weight"].shape) == (128, 64, 1, 1)
    assert sum(p.numel() for p in model.parameters()) == 11_181_642
    with torch.no_grad():
        assert tuple(model(torch.randn(2, 3, 32, 32)).shape) == (2, 10)


def test_evaluation_uses_the_running_statistics_and_training_changes_them(resnet):
    torch.manual_seed(0)
    model = resnet.resnet18(num_classes=4)
    x = torch.randn(4, 3, 32, 32)
    before = model.bn1.running_mean.clone()
    model.eval()
    with torch.no_grad():
        first = model(x)
        second = model(x[:1])
    np.testing.assert_allclose(first[:1].numpy(), second.numpy(), rtol=1e-3, atol=1e-4)
    assert model.bn1.running_mean.equal(before)
    model.train()
    model(x).sum().backward()
    assert not model.bn1.running_mean.equal(before)
    assert model.bn1.num_batches_tracked.item() == 1
    assert all(parameter.grad is not None for parameter in model.parameters())


@pytest.mark.slow
def test_the_documents_profile_of_resnet18(resnet):
    resnet18 = resnet.resnet18
    x = torch.randn((1, 3, 224, 224), requires_grad=True)
    model = resnet18()
    with torch.autograd.profiler.profile() as prof:
        for _ in range(10):
            y = model(x)
            y = torch.sum(y)
            y.backward()
    table = prof.key_averages().table(sort_by="self_cpu_time_total")
    lines = table.splitlines()
    assert "Self CPU %" in lines[1]
    assert "# of Calls" in lines[1]
    calls = {event.key: event.count for event in prof.key_averages()}
    assert calls["aten::conv2d"] == 200
    assert calls["aten::sum"] >= 10


@pytest.mark.slow
def test_without_a_history_resnet50_takes_a_quarter_of_the_memory(resnet):
    torch.manual_seed(0)
    model = resnet.resnet50()
    inp = torch.ones([8, 3, 64, 64])

    def peak(run):
        tracemalloc.start()
        run()
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    def without():
        with torch.no_grad():
            model(inp)

    with_history = peak(lambda: model(inp))
    assert with_history > 4 * peak(without)


def curve(library, module, steps, rate, batches, loss_of):
    """The losses of a run of SGD with momentum over batches."""
    optimizer = library.optim.SGD(module.parameters(), lr=rate, momentum=0.9)
    losses = []
    for step in range(steps):
        optimizer.zero_grad()
        loss = loss_of(module, *batches[step % len(batches)])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return np.array(losses)


def both_curves(build, make_batches, loss_of, *, steps=100, rate=0.02):
    start = build(torch).double().state_dict()

    def losses(library):
        module = build(library).double()
        state = {name: library.from_numpy(x.numpy().copy()) for name, x in start.items()}
        module.load_state_dict(state)
        return curve(library, module, steps, rate, make_batches(library), loss_of(library))

    mine, theirs = losses(torch), of_pytorch(losses)
    assert np.isfinite(theirs).all()
    np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-6)
    assert mine[-5:].mean() < 0.8 * mine[:5].mean()


def as_tensors(library, arrays):
    return [tuple(library.from_numpy(part.copy()) for part in batch) for batch in arrays]


def test_the_digits_net_follows_pytorch():
    sklearn = pytest.importorskip("sklearn.datasets")
    pytest.importorskip("tqdm")
    x, y = sklearn.load_digits(return_X_y=True)
    x = (x / 16).reshape(-1, 1, 8, 8)
    batches = [(x[i : i + 32], y[i : i + 32]) for i in range(0, 640, 32)]

    def build(library):
        net = example("digits", library).build()
        net[7] = library.nn.Identity()  # the libraries draw other numbers for dropout
        return net

    both_curves(
        build,
        lambda library: as_tensors(library, batches),
        lambda library: lambda net, x, y: library.nn.functional.cross_entropy(net(x), y),
    )


@pytest.mark.slow
def test_resnet18_follows_pytorch():
    rng = np.random.default_rng(0)
    batches = [(rng.normal(size=(4, 3, 32, 32)), rng.integers(0, 5, size=4)) for _ in range(3)]
    both_curves(
        lambda library: example("resnet", library).resnet18(num_classes=5),
        lambda library: as_tensors(library, batches),
        lambda library: lambda net, x, y: library.nn.functional.cross_entropy(net(x), y),
        rate=0.002,
        steps=15,  # norms of four examples multiply rounding: it is in the fourth digit at 20
    )


TEXT = "the tape logs every call, and the replay reads it backward; " * 4
LETTERS = sorted(set(TEXT))


def text_batches(length=16, batch=8):
    codes = np.array([LETTERS.index(letter) for letter in TEXT])
    starts = np.random.default_rng(1).integers(0, len(codes) - length - 1, size=(10, batch))
    pairs = []
    for row in starts:
        windows = np.stack([codes[i : i + length + 1] for i in row])
        pairs.append((windows[:, :-1], windows[:, 1:]))
    return pairs


def letters_model(library, kind):
    nn = library.nn

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding = nn.Embedding(len(LETTERS), 24)
            if kind == "lstm":
                self.body = nn.LSTM(24, 24, num_layers=2, batch_first=True)
            else:
                layer = nn.TransformerEncoderLayer(24, 4, 48, dropout=0.0, batch_first=True)
                self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.head = nn.Linear(24, len(LETTERS))

        def forward(self, x):
            x = self.embedding(x)
            if kind == "lstm":
                return self.head(self.body(x)[0])
            mask = nn.Transformer.generate_square_subsequent_mask(x.shape[1], dtype=x.dtype)
            return self.head(self.body(x, mask=mask))

    return Model()


@pytest.mark.parametrize("kind", ["lstm", "transformer"])
def test_models_of_letters_follow_pytorch(kind):
    batches = text_batches()
    both_curves(
        lambda library: letters_model(library, kind),
        lambda library: as_tensors(library, batches),
        lambda library: (
            lambda net, x, y: library.nn.functional.cross_entropy(
                net(x).flatten(0, 1), y.flatten()
            )
        ),
        rate=0.05 if kind == "transformer" else 0.5,
    )


@pytest.mark.slow
def test_the_digits_net_names_unseen_digits():
    pytest.importorskip("sklearn")
    pytest.importorskip("tqdm")
    assert example("digits").main(quiet=True) > 0.98


def test_a_model_of_letters_learns_without_pytorch():
    torch.manual_seed(0)
    losses = curve(
        torch,
        letters_model(torch, "lstm"),
        12,
        0.5,
        as_tensors(torch, text_batches()),
        lambda net, x, y: nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten()),
    )
    assert losses[-1] < losses[0]
