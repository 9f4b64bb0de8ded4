"""torch.nn.utils.prune: masks, hooks and what is kept."""

from __future__ import annotations

import copy
import importlib
import pickle
from typing import Any

import numpy as np
import pytest
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch import nn
from tapegrad.torch.nn.utils import prune

WEIGHT = np.random.default_rng(2).normal(size=(4, 6)).astype(np.float32)


def layer(t: Any = torch) -> Any:
    made = t.nn.Linear(6, 4)
    with t.no_grad():
        made.weight.copy_(t.tensor(WEIGHT))
        made.bias.copy_(t.tensor(WEIGHT[:, 0]))
    return made


# Programs over a layer, the same with PyTorch.
PROGRAMS = [
    lambda p, m, t: p.identity(m, "weight"),
    lambda p, m, t: p.l1_unstructured(m, "weight", 0.3),
    lambda p, m, t: p.l1_unstructured(m, "bias", 2),
    lambda p, m, t: p.ln_structured(m, "weight", 0.5, 2, 0),
    lambda p, m, t: p.ln_structured(m, "weight", 2, 1, -1),
    lambda p, m, t: p.ln_structured(m, "weight", 2, float("inf"), 1),
    lambda p, m, t: p.ln_structured(m, "weight", 0.0, 2, 0),
    lambda p, m, t: p.custom_from_mask(m, "bias", t.tensor([1, 0, 1, 0])),
    lambda p, m, t: p.l1_unstructured(m, "weight", 5, -m.weight.detach()),
    lambda p, m, t: p.l1_unstructured(p.l1_unstructured(m, "weight", 0.3), "weight", 0.5),
    lambda p, m, t: p.ln_structured(p.l1_unstructured(m, "weight", 0.5), "weight", 1, 2, 0),
    lambda p, m, t: p.l1_unstructured(p.ln_structured(m, "weight", 2, 2, 0), "weight", 3),
    lambda p, m, t: p.ln_structured(p.ln_structured(m, "weight", 1, 2, 0), "weight", 1, 2, 0),
    lambda p, m, t: p.custom_from_mask(
        p.l1_unstructured(m, "weight", 3), "weight", t.ones(4, 6).tril()
    ),
    lambda p, m, t: p.global_unstructured(
        [(m, "weight"), (m, "bias")], p.L1Unstructured, amount=0.4
    ),
    lambda p, m, t: p.global_unstructured(
        [(m, "weight"), (m, "bias")],
        p.L1Unstructured,
        importance_scores={(m, "bias"): t.zeros(4)},
        amount=6,
    ),
    lambda p, m, t: p.remove(p.l1_unstructured(m, "weight", 0.3), "weight"),
]


def pruning(t: Any) -> Any:
    return prune if t is torch else importlib.import_module("torch.nn.utils.prune")


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_programs_do_as_pytorchs(number: int) -> None:
    def seen(t: Any) -> Any:
        p, module = pruning(t), layer(t)
        PROGRAMS[number](p, module, t)
        state = {k: (str(v.dtype), v.numpy().tolist()) for k, v in module.state_dict().items()}
        names = [name for name, _ in module.named_parameters()]
        hooks = [type(hook).__name__ for hook in module._forward_pre_hooks.values()]
        out = module(t.ones(2, 6)).detach().numpy()
        return (state, names, hooks, p.is_pruned(module)), out

    (mine, out), (theirs, other) = seen(torch), of_pytorch(seen)
    assert mine == theirs
    np.testing.assert_allclose(out, other, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("amount", [0, 0.0, 3, 0.25, 1.0])
def test_how_many_are_pruned(amount: float) -> None:
    for program in (
        lambda m: prune.random_unstructured(m, "weight", amount),
        lambda m: prune.l1_unstructured(m, "weight", amount),
    ):
        module = program(layer())
        expected = amount if isinstance(amount, int) else round(amount * 24)
        assert int((module.weight_mask == 0).sum()) == expected
    module = prune.random_structured(layer(), "weight", amount if amount != 3 else 2, 0)
    rows = (module.weight_mask == 0).all(-1).sum()
    expected = round(amount * 4) if isinstance(amount, float) else min(amount, 2)
    assert int(rows) == expected


def test_gradients_and_training_keep_the_zeros() -> None:
    module = prune.l1_unstructured(layer(), "weight", 0.5)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        module(torch.randn(5, 6)).square().sum().backward()
        assert bool((module.weight_orig.grad[module.weight_mask == 0] == 0).all())
        optimizer.step()
    module(torch.ones(1, 6))
    assert bool((module.weight[module.weight_mask == 0] == 0).all())
    weight = module.weight.detach().clone()
    prune.remove(module, "weight")
    assert isinstance(module.weight, nn.Parameter)
    assert module.weight.tolist() == weight.tolist()
    assert [name for name, _ in module.named_parameters()] == ["bias", "weight"]
    assert not prune.is_pruned(module)


def test_copies_and_pickles_stay_pruned() -> None:
    module = prune.l1_unstructured(layer(), "weight", 0.5)
    x = torch.randn(2, 6)
    made = pickle.loads(pickle.dumps(module))
    assert made(x).tolist() == module(x).tolist()
    assert prune.is_pruned(nn.Sequential(made))
    fresh = prune.identity(layer(), "weight")
    fresh.load_state_dict(module.state_dict())
    assert fresh(x).tolist() == module(x).tolist()
    state = copy.deepcopy(module.state_dict())
    assert sorted(state) == ["bias", "weight_mask", "weight_orig"]


def test_a_method_of_ones_own() -> None:
    class EveryOther(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t: Any, default_mask: Any) -> Any:
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    module = layer()
    EveryOther.apply(module, "bias")
    assert module.bias_mask.tolist() == [0, 1, 0, 1]
    EveryOther.apply(module, "bias")  # of the rest
    assert module.bias_mask.tolist() == [0, 0, 0, 1]
    container = next(iter(module._forward_pre_hooks.values()))
    assert len(container) == 2
    assert [type(method) for method in container] == [EveryOther] * 2
    pruned = EveryOther().prune(torch.ones(4))
    assert pruned.tolist() == [0, 1, 0, 1]


ERRORS = [
    (lambda p, m, t: p.l1_unstructured(m, "weight", 1.5), ValueError),
    (lambda p, m, t: p.l1_unstructured(m, "weight", -1), ValueError),
    (lambda p, m, t: p.l1_unstructured(m, "weight", "x"), TypeError),
    (lambda p, m, t: p.l1_unstructured(m, "weight", 100), ValueError),
    (lambda p, m, t: p.ln_structured(m, "bias", 1, 2, 0), ValueError),
    (lambda p, m, t: p.ln_structured(m, "weight", 1, 2, 2), IndexError),
    (lambda p, m, t: p.remove(m, "weight"), ValueError),
    (lambda p, m, t: p.global_unstructured(3, p.L1Unstructured), TypeError),
    (
        lambda p, m, t: p.global_unstructured(
            [(m, "weight")], p.LnStructured, amount=1, n=2, dim=0
        ),
        TypeError,
    ),
    (lambda p, m, t: p.Identity().apply_mask(m), AttributeError),
    (lambda p, m, t: p.PruningContainer(p.Identity()), AttributeError),
]


@pytest.mark.parametrize(("call", "kind"), ERRORS)
def test_errors(call: Any, kind: type[Exception]) -> None:
    def said(t: Any) -> str:
        with pytest.raises(kind) as raised:
            call(pruning(t), layer(t), t)
        return "" if kind is TypeError else str(raised.value).split("(")[0]

    assert said(torch) == of_pytorch(said)
