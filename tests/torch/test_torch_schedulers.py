"""Schedules of learning rates: those of PyTorch, closed forms, composition, states; averages."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch import nn, optim
from tapegrad.torch.optim import lr_scheduler, swa_utils

SCHEDULES = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda epoch: 0.9**epoch),
    "lambdas": lambda s, o: s.LambdaLR(o, [lambda epoch: 1 / (1 + epoch), lambda _: 0.5]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda epoch: 1 - 1 / (epoch + 1)),
    "step": lambda s, o: s.StepLR(o, 4, gamma=0.5),
    "milestones": lambda s, o: s.MultiStepLR(o, [3, 3, 11], gamma=0.3),
    "constant": lambda s, o: s.ConstantLR(o, 0.25, total_iters=6),
    "linear": lambda s, o: s.LinearLR(o, 0.1, 0.8, total_iters=9),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.8),
    "polynomial": lambda s, o: s.PolynomialLR(o, 13, power=2.0),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 5, eta_min=0.01),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, T_mult=2, eta_min=0.001),
    "restarts equal": lambda s, o: s.CosineAnnealingWarmRestarts(o, 4),
    "cyclic": lambda s, o: s.CyclicLR(o, 0.01, 0.2, 3, 5),
    "cyclic half": lambda s, o: s.CyclicLR(o, [0.01, 0.02], 0.2, 3, mode="triangular2"),
    "cyclic power": lambda s, o: s.CyclicLR(o, 0.01, 0.2, 3, mode="exp_range", gamma=0.9),
    "cyclic own": lambda s, o: s.CyclicLR(
        o, 0.1, 0.2, 3, scale_fn=lambda x: 1 / x, cycle_momentum=False
    ),
    "one cycle": lambda s, o: s.OneCycleLR(o, 0.3, total_steps=30),
    "one cycle linear": lambda s, o: s.OneCycleLR(
        o, [0.3, 0.2], epochs=3, steps_per_epoch=10, anneal_strategy="linear", three_phase=True
    ),
    "sequential": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, 20), s.ExponentialLR(o, 0.9), s.StepLR(o, 2)], [3, 12]
    ),
    "sequential cosine": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 5), s.CosineAnnealingLR(o, 20)], milestones=[5]
    ),
    "chained": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9)]),
}


def sgd(t: Any, **options: Any) -> Any:
    x, y = (t.ones(1, requires_grad=True) for _ in range(2))
    groups = [{"params": [x]}, {"params": [y], "lr": 0.05}]
    return t.optim.SGD(groups, lr=0.1, momentum=0.9, **options)


def rates(t: Any, make: Any, count: int = 25, kind: str = "SGD") -> Any:
    groups = [{"params": group["params"], "lr": group["lr"]} for group in sgd(t).param_groups]
    optimizer = t.optim.Adam(groups) if kind == "Adam" else sgd(t)
    scheduler = make(t.optim.lr_scheduler, optimizer)
    found = []
    for _ in range(count):
        groups = optimizer.param_groups
        momenta = [g["betas"][0] if kind == "Adam" else g["momentum"] for g in groups]
        found.append([*scheduler.get_last_lr(), *(g["lr"] for g in groups), *momenta])
        optimizer.step()
        scheduler.step()
    return np.array(found), scheduler, optimizer


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@pytest.mark.parametrize("word", SCHEDULES)
def test_rates_are_those_of_pytorch(word: str, kind: str) -> None:
    def seen(t: Any) -> Any:
        path, scheduler, _ = rates(t, SCHEDULES[word], kind=kind)
        return path, sorted(scheduler.state_dict())

    (mine, names), (theirs, known) = seen(torch), of_pytorch(seen)
    np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-15)
    assert names == known


@pytest.mark.parametrize("seed", range(4))
def test_plateaus_are_those_of_pytorch(seed: int) -> None:
    draw = np.random.default_rng(seed)
    options = {
        "mode": ["min", "max"][draw.integers(2)],
        "threshold_mode": ["rel", "abs"][draw.integers(2)],
        "patience": int(draw.integers(3)),
        "cooldown": int(draw.integers(3)),
        "threshold": 0.05,
        "factor": 0.5,
        "min_lr": [0.0, 0.02],
    }
    numbers = draw.normal(size=40).cumsum()

    def seen(t: Any) -> list[Any]:
        optimizer = sgd(t)
        scheduler = t.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **options)
        path = []
        for number in numbers:
            scheduler.step(number)
            path.append(scheduler.get_last_lr())
        return path

    mine = seen(torch)
    np.testing.assert_allclose(mine, of_pytorch(seen))
    assert mine[-1] != mine[0]


# --- Without PyTorch ----------------------------------------------------------------------------

CLOSED = {
    "lambda": lambda e: 0.1 * 0.9**e,
    "step": lambda e: 0.1 * 0.5 ** (e // 4),
    "milestones": lambda e: 0.1 * 0.3 ** (2 * (e >= 3) + (e >= 11)),
    "constant": lambda e: 0.1 * (0.25 if e < 6 else 1),
    "linear": lambda e: 0.1 * (0.1 + 0.7 * min(e, 9) / 9),
    "exponential": lambda e: 0.1 * 0.8**e,
    "polynomial": lambda e: 0.1 * (1 - min(e, 13) / 13) ** 2,
    "cosine": lambda e: 0.01 + 0.09 * (1 + math.cos(math.pi * e / 5)) / 2,
    "restarts equal": lambda e: 0.1 * (1 + math.cos(math.pi * (e % 4) / 4)) / 2,
    "cyclic": lambda e: 0.01 + 0.19 * (e % 8 / 3 if e % 8 < 3 else 1 - (e % 8 - 3) / 5),
    "chained": lambda e: 0.1 * (0.1 if e < 4 else 1) * 0.9**e,
    "sequential cosine": lambda e: (
        0.1 * (0.1 + 0.9 * e / 5) if e < 5 else 0.05 * (1 + math.cos(math.pi * (e - 5) / 20))
    ),
}


@pytest.mark.parametrize("word", CLOSED)
def test_closed_forms(word: str) -> None:
    found, _, _ = rates(torch, SCHEDULES[word])
    expected = [CLOSED[word](epoch) for epoch in range(len(found))]
    np.testing.assert_allclose(found[:, 0], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[:, :2], found[:, 2:4])


@pytest.mark.parametrize("word", ["step", "exponential", "linear", "cosine", "polynomial"])
def test_an_epoch_given_is_deprecated_and_the_closed_form(word: str) -> None:
    scheduler = SCHEDULES[word](lr_scheduler, sgd(torch))
    scheduler.optimizer.step()
    with pytest.warns(UserWarning, match="The epoch parameter in `scheduler.step"):
        scheduler.step(7)
    assert scheduler.get_last_lr()[0] == pytest.approx(CLOSED[word](7))


def test_one_cycle_goes_up_and_far_down() -> None:
    found, scheduler, optimizer = rates(torch, SCHEDULES["one cycle"], 30)
    first, momentum = found[:, 0], found[:, 4]
    assert first[0] == pytest.approx(0.3 / 25)
    assert first.max() == first[8] == pytest.approx(0.3)
    assert first[29] == pytest.approx(0.3 / 25 / 1e4)
    assert momentum[0] == momentum[29] == pytest.approx(0.95)
    assert momentum.min() == momentum[8] == pytest.approx(0.85)
    with pytest.raises(ValueError, match="Tried to step 31 times"):
        scheduler.step()


def test_a_plateau_lowers_the_rate() -> None:
    optimizer = optim.SGD([torch.ones(1, requires_grad=True)], lr=1.0)
    scheduler = lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, factor=0.5, cooldown=1)
    path = []
    for number in [3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0]:
        scheduler.step(torch.tensor(number))
        path.append(scheduler.get_last_lr()[0])
    assert path == [1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5]


class Halving:
    """A function that is an object: its attributes are saved."""

    def __init__(self, factor: float = 0.5) -> None:
        self.factor = factor

    def __call__(self, epoch: int) -> float:
        return self.factor**epoch


@pytest.mark.parametrize("word", [*SCHEDULES, "object"])
def test_a_saved_scheduler_goes_on(word: str) -> None:
    schedules = {**SCHEDULES, "object": lambda s, o: s.LambdaLR(o, Halving())}
    make = schedules[word]
    _, scheduler, optimizer = rates(torch, make, 7)
    known = pickle.loads(pickle.dumps(scheduler.state_dict()))
    following = sgd(torch)
    other = make(lr_scheduler, following)
    following.load_state_dict(optimizer.state_dict())
    other.load_state_dict(known)
    for _ in range(6):
        optimizer.step()
        scheduler.step()
        following.step()
        other.step()
        assert other.get_last_lr() == scheduler.get_last_lr()


def test_a_rate_that_is_a_tensor_stays_the_same_one() -> None:
    rate = torch.tensor(0.1, dtype=torch.float64)
    optimizer = optim.SGD([torch.ones(1, requires_grad=True)], lr=rate)
    scheduler = lr_scheduler.ExponentialLR(optimizer, 0.5)
    for _ in range(3):
        optimizer.step()
        scheduler.step()
    assert optimizer.param_groups[0]["lr"] is rate
    assert rate.item() == pytest.approx(0.0125)
    assert scheduler.base_lrs[0].item() == pytest.approx(0.1)


def test_warnings_of_the_order_of_steps() -> None:
    optimizer = sgd(torch)
    scheduler = lr_scheduler.StepLR(optimizer, 3)
    with pytest.warns(UserWarning, match="before `optimizer.step"):
        scheduler.step()
    with pytest.warns(UserWarning, match="please use `get_last_lr"):
        scheduler.get_lr()
    other = sgd(torch)
    scheduler = lr_scheduler.StepLR(other, 3)
    other.step = lambda: None
    with pytest.warns(UserWarning, match="has been overridden"):
        scheduler.step()


REFUSED: list[tuple[Any, type[Exception], str]] = [
    (lambda s, o: s.StepLR(1, 3), TypeError, "int is not an Optimizer"),
    (lambda s, o: s.StepLR(o, 3, last_epoch=4), KeyError, "'initial_lr' is not specified"),
    (lambda s, o: s.LambdaLR(o, [len]), ValueError, "Expected 2 lr_lambdas, but got 1"),
    (lambda s, o: s.MultiplicativeLR(o, 3), TypeError, "lr_lambda should be a function"),
    (lambda s, o: s.ConstantLR(o, 2.0), ValueError, "between 0 and 1"),
    (lambda s, o: s.LinearLR(o, 0.0), ValueError, "Starting multiplicative factor"),
    (lambda s, o: s.LinearLR(o, end_factor=2.0), ValueError, "Ending multiplicative factor"),
    (lambda s, o: s.CosineAnnealingWarmRestarts(o, 0), ValueError, "positive integer T_0"),
    (lambda s, o: s.CosineAnnealingWarmRestarts(o, 1, 0), ValueError, "integer T_mult >= 1"),
    (lambda s, o: s.CyclicLR(o, 0.1, 0.2, mode="x"), ValueError, "mode is invalid"),
    (lambda s, o: s.CyclicLR(o, [0.1], 0.2), ValueError, "base_lr has 1 values, param_groups"),
    (lambda s, o: s.OneCycleLR(o, 0.1), ValueError, "either total_steps OR"),
    (lambda s, o: s.OneCycleLR(o, 0.1, 0), ValueError, "positive integer total_steps"),
    (lambda s, o: s.OneCycleLR(o, 0.1, 9, pct_start=2), ValueError, "between 0 and 1 pct_start"),
    (lambda s, o: s.OneCycleLR(o, 0.1, 9, anneal_strategy="x"), ValueError, "instead got x"),
    (lambda s, o: s.SequentialLR(o, [], []), ValueError, "at least one scheduler"),
    (lambda s, o: s.SequentialLR(o, [s.StepLR(o, 1)], [1]), ValueError, "one more than"),
    (lambda s, o: s.ChainedScheduler([s.ReduceLROnPlateau(o)]), ValueError, "does not support"),
    (lambda s, o: s.ChainedScheduler([]), ValueError, "at least one scheduler to be chained"),
    (lambda s, o: s.ReduceLROnPlateau(o, factor=1.0), ValueError, "Factor should be < 1.0"),
    (lambda s, o: s.ReduceLROnPlateau(o, "x"), ValueError, "mode x is unknown"),
    (lambda s, o: s.ReduceLROnPlateau(o, min_lr=[0]), ValueError, "expected 2 min_lrs, got 1"),
]


@pytest.mark.parametrize("place", range(len(REFUSED)))
def test_refused_schedules(place: int) -> None:
    make, kind, message = REFUSED[place]
    with pytest.raises(kind, match=message):
        make(lr_scheduler, sgd(torch))


def test_momentum_is_cycled_only_where_there_is_one() -> None:
    optimizer = optim.Rprop([torch.ones(1, requires_grad=True)])
    with pytest.raises(ValueError, match="must support momentum or beta1"):
        lr_scheduler.CyclicLR(optimizer, 0.1, 0.2)


# --- Averages -----------------------------------------------------------------------------------


def test_averaged_models() -> None:
    net = nn.Linear(1, 1, bias=False)
    equal = swa_utils.AveragedModel(net)
    moving = swa_utils.AveragedModel(net, avg_fn=swa_utils.get_ema_avg_fn(0.5))
    lists = swa_utils.AveragedModel(net, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(0.5))
    for value in (1.0, 2.0, 6.0):
        with torch.no_grad():
            net.weight.fill_(value)
        for averaged in (equal, moving, lists):
            averaged.update_parameters(net)
    assert equal.module.weight.item() == pytest.approx(3.0)
    assert moving.module.weight.item() == lists.module.weight.item() == pytest.approx(3.75)
    assert equal.n_averaged.item() == 3
    assert list(equal.state_dict()) == ["n_averaged", "module.weight"]
    assert equal(torch.ones(1, 1)).item() == pytest.approx(3.0)
    with pytest.raises(AssertionError, match="Only one of"):
        swa_utils.AveragedModel(net, avg_fn=len, multi_avg_fn=len)
    with pytest.raises(ValueError, match="Invalid decay value 2"):
        swa_utils.get_ema_avg_fn(2)


@pytest.mark.parametrize("strategy", ["cos", "linear"])
def test_swa_rates_go_to_theirs(strategy: str) -> None:
    found, _, _ = rates(torch, lambda s, o: swa_utils.SWALR(o, 0.02, 5, strategy), 9)
    share = np.minimum(np.arange(9) / 5, 1)
    share = share if strategy == "linear" else (1 - np.cos(np.pi * share)) / 2
    np.testing.assert_allclose(found[:, 0], 0.1 + (0.02 - 0.1) * share, rtol=1e-9)
    with pytest.raises(ValueError, match="anneal_strategy must be one of"):
        swa_utils.SWALR(sgd(torch), 0.1, anneal_strategy="x")


def test_swa_is_that_of_pytorch() -> None:
    def seen(t: Any) -> Any:
        return rates(t, lambda s, o: t.optim.swa_utils.SWALR(o, [0.02, 0.3], anneal_epochs=4), 12)[
            0
        ]

    np.testing.assert_allclose(seen(torch), of_pytorch(seen), rtol=1e-12)


class Norm(nn.Module):
    """Counts means as batch normalisation does."""

    momentum: float | None = 0.1
    mean, batches = 0.0, 0

    def reset_running_stats(self) -> None:
        self.mean, self.batches = 0.0, 0

    def forward(self, x: Any) -> Any:
        self.batches += 1
        share = 1 / self.batches if self.momentum is None else self.momentum
        self.mean += share * (x.mean().item() - self.mean)
        return x


def test_statistics_are_computed_anew() -> None:
    norm = Norm()
    norm.mean = 7.0
    net = nn.Sequential(norm).eval()
    swa_utils.update_bn([(torch.ones(2), 0), torch.ones(1) * 4], net)
    assert norm.mean == pytest.approx(2.5)
    assert norm.momentum == 0.1
    assert not net.training
