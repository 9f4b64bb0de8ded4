"""Adafactor, Muon and SparseAdam; and what a profile sees of steps that a scheduler watches."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch import optim
from tapegrad.torch.optim.muon import as_bfloat16, orthogonalized

OPTIONS: dict[str, dict[str, list[Any]]] = {
    "Adafactor": {
        "lr": [0.01, 0.1],
        "beta2_decay": [-0.8, -0.5],
        "eps": [(None, 1e-3), (1e-3, 1e-2)],
        "d": [1.0, 2.0],
        "weight_decay": [0.0, 0.1],
        "maximize": [False, True],
        "foreach": [None, False, True],
    },
    "Muon": {
        "lr": [0.01, 0.05],
        "weight_decay": [0.0, 0.1],
        "momentum": [0.95, 0.5],
        "nesterov": [False, True],
        "ns_coefficients": [(3.4445, -4.775, 2.0315), (1.5, -0.5, 0.0)],
        "ns_steps": [3, 5],
        "adjust_lr_fn": [None, "original", "match_rms_adamw"],
    },
}
SHAPES = {"Adafactor": [(3, 4), (5,), (2, 3, 4), ()], "Muon": [(2, 3), (4, 3), (1, 4)]}


def path(t: Any, name: str, options: dict[str, Any], kind: str, steps: int = 100) -> Any:
    draw = np.random.default_rng(3)
    params = [t.nn.Parameter(t.tensor(draw.normal(size=s).astype(kind))) for s in SHAPES[name]]
    optimizer = getattr(t.optim, name)(params, **options)
    for _ in range(steps):
        for p in params:
            p.grad = t.tensor(draw.normal(size=tuple(p.shape)).astype(kind)) + t.sin(p.detach())
        optimizer.step()
    return [p.detach().numpy() for p in params], optimizer


@pytest.mark.part(3)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", OPTIONS)
def test_paths_are_those_of_pytorch(name: str, seed: int) -> None:
    draw = np.random.default_rng([seed, 8])
    options = {key: values[draw.integers(len(values))] for key, values in OPTIONS[name].items()}
    for kind, tolerance in (("float64", 1e-6), ("float32", 1e-4)):

        def seen(t: Any, kind: str = kind) -> Any:
            params, optimizer = path(t, name, options, kind)
            state = optimizer.state_dict()
            names = [[key, list(of_one)] for key, of_one in state["state"].items()]
            return params, names, state["param_groups"], repr(optimizer)

        (mine, *own), (theirs, *other) = seen(torch), of_pytorch(seen)
        for one, two in zip(mine, theirs, strict=True):
            assert one.dtype == two.dtype
            # Muon's numbers of eight bits may round otherwise where sums are added otherwise.
            most = tolerance if name == "Adafactor" else 2e-2
            np.testing.assert_allclose(one, two, rtol=most, atol=most, err_msg=str(options))
        assert own == other


def test_adafactor_by_hand() -> None:
    x = torch.tensor([[3.0, 4.0]], dtype=torch.float64, requires_grad=True)
    x.grad = torch.tensor([[1.0, 2.0]], dtype=torch.float64)
    optimizer = optim.Adafactor([x], lr=0.5)
    optimizer.step()
    # The estimate of one row is exact, so that the step has numbers of size one; and it is times
    # the root of the mean square of the parameter.
    np.testing.assert_allclose(x.tolist(), [[3 - 0.5 * 12.5**0.5, 4 - 0.5 * 12.5**0.5]])
    state = optimizer.state_dict()["state"][0]
    np.testing.assert_allclose(state["row_var"].tolist(), [[2.5]])
    np.testing.assert_allclose(state["col_var"].tolist(), [[1.0, 4.0]])
    other = optim.Adafactor([x], lr=0.1)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    x.grad = torch.ones(1, 2, dtype=torch.float64)
    other.step()
    assert other.state_dict()["state"][0]["step"].item() == 2


@pytest.mark.parametrize("shape", [(4, 4), (3, 7), (7, 3)])
def test_muons_steps_are_almost_orthogonal(shape: tuple[int, int]) -> None:
    matrix = np.random.default_rng(0).normal(size=shape)
    values = np.linalg.svd(orthogonalized(matrix, (3.4445, -4.775, 2.0315), 8, 1e-7))[1]
    assert values.max() < 1.3
    assert values.min() > 0.6
    cubic = orthogonalized(matrix, (1.5, -0.5, 0.0), 30, 1e-7)
    u, _, v = np.linalg.svd(matrix, full_matrices=False)
    np.testing.assert_allclose(cubic, u @ v, atol=0.05)


def test_rounding_to_eight_bits() -> None:
    exact = [0.0, -1.0, 1.0078125, 3.0e38, np.inf, -np.inf]
    np.testing.assert_array_equal(as_bfloat16(np.array(exact[:3])), exact[:3])
    np.testing.assert_array_equal(as_bfloat16(np.array(exact[4:])), exact[4:])
    halves = np.array([1 + 2**-8, 1 + 3 * 2**-8])  # to even
    np.testing.assert_array_equal(as_bfloat16(halves), [1.0, 1 + 2**-6])
    x = np.random.default_rng(0).normal(size=1000)
    assert (abs(as_bfloat16(x) - x) <= abs(x) * 2.0**-8).all()
    assert np.isnan(as_bfloat16(np.array([np.nan]))).all()


def leaf(*shape: int, dtype: Any = None) -> Any:
    x = torch.ones(*shape, dtype=dtype or torch.float32).requires_grad_()
    x.grad = x.detach().clone()
    return x


ERRORS = [
    (lambda: optim.SparseAdam([leaf(2)]).step(), RuntimeError, "does not support dense gradients"),
    (lambda: optim.SparseAdam([leaf(2)], lr=-1), ValueError, "Invalid learning rate: -1"),
    (lambda: optim.SparseAdam([leaf(2)], eps=0), ValueError, "Invalid epsilon value: 0"),
    (lambda: optim.SparseAdam([leaf(2)], betas=(1, 0.5)), ValueError, "Invalid beta parameter"),
    (lambda: optim.Muon([leaf(2)]), ValueError, "Muon only supports 2D parameters whereas"),
    (lambda: optim.Muon([leaf(2, 2)], lr=-1), ValueError, "Learning rate should be >= 0"),
    (lambda: optim.Muon([leaf(2, 2)], momentum=-1), ValueError, "momentum should be >= 0"),
    (lambda: optim.Muon([leaf(2, 2)], adjust_lr_fn="x"), ValueError, "x is not supported"),
    (lambda: optim.Muon([leaf(2, 2)], ns_steps=100).step(), ValueError, "must be less than 100"),
    (
        lambda: optim.Muon([leaf(2, 2)], ns_coefficients=(1, 2)).step(),
        ValueError,
        "exactly 3 values",
    ),
    (
        lambda: optim.Muon([leaf(2, 2, dtype=torch.complex64)]).step(),
        RuntimeError,
        "Muon does not support complex parameters",
    ),
    (lambda: optim.Adafactor([leaf(2)], lr=-1), ValueError, "Learning rate should be >= 0"),
    (lambda: optim.Adafactor([leaf(2)], beta2_decay=1), ValueError, "beta2_decay should be <= 0"),
    (lambda: optim.Adafactor([leaf(2)], eps=(-1, 1)), ValueError, "epsilon1 should be >= 0"),
    (lambda: optim.Adafactor([leaf(2)], eps=(None, -1)), ValueError, "epsilon2 should be >= 0"),
    (lambda: optim.Adafactor([leaf(2)], d=0.5), ValueError, "d should be >= 1 but is: 0.5"),
    (
        lambda: optim.Adafactor([leaf(2)], lr=torch.tensor([1.0, 2.0])),
        ValueError,
        "Tensor lr must be 1-element",
    ),
]


@pytest.mark.parametrize(("call", "kind", "words"), ERRORS)
def test_refused_settings(call: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=words):
        call()


def test_sparse_adam_without_gradients() -> None:
    x = torch.ones(2, requires_grad=True)
    assert optim.SparseAdam([x]).step(lambda: 3) == 3


def test_a_profile_sees_the_steps_that_a_scheduler_watches() -> None:
    x = leaf(2)
    optimizer = optim.SGD([x], lr=0.1)
    scheduler = optim.lr_scheduler.StepLR(optimizer, 1)
    with torch.profiler.profile() as profile:
        optimizer.step()
    scheduler.step()
    assert "Optimizer.step#SGD.step" in [event.key for event in profile.key_averages()]


def test_a_step_that_was_replaced_stays_replaced() -> None:
    x = leaf(2)
    optimizer: Any = optim.SGD([x], lr=0.1)
    optimizer.step = lambda: "mine"
    optim.lr_scheduler.StepLR(optimizer, 1)
    step = optimizer.step
    assert step.__wrapped__() == "mine"
