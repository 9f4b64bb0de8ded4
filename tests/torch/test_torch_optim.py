"""Optimizers: the paths of PyTorch's, steps by hand and differentiated, groups, hooks, states."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from pytorch_answers import of_pytorch

import tapegrad.torch as torch
from tapegrad.torch import optim
from tapegrad.torch.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

DECAY = ("weight_decay", [0, 0.1])
MAXIMIZE = ("maximize", [False, True])
BETAS = ("betas", [(0.9, 0.999), (0.7, 0.9), (0.0, 0.99)])
FOREACH = ("foreach", [None, False, True])
EPS = ("eps", [1e-8, 1e-3])
# The options of each optimizer, and what is drawn for them.
OPTIONS: dict[str, dict[str, list[Any]]] = {
    "SGD": dict(
        [DECAY, MAXIMIZE, FOREACH, ("momentum", [0, 0.9]), ("dampening", [0, 0.3])],
        lr=[0.01, 0.05],
    ),
    "Adam": dict([DECAY, MAXIMIZE, BETAS, FOREACH, EPS], amsgrad=[False, True], lr=[0.01, 0.1]),
    "AdamW": dict([DECAY, MAXIMIZE, BETAS, FOREACH, EPS], amsgrad=[False, True], lr=[0.01, 0.1]),
    "RMSprop": dict(
        [DECAY, MAXIMIZE, FOREACH, EPS, ("momentum", [0, 0.5]), ("centered", [False, True])],
        alpha=[0.99, 0.95],
        lr=[0.005],
    ),
    "Adagrad": dict(
        [DECAY, MAXIMIZE, FOREACH, ("lr_decay", [0, 0.1])],
        initial_accumulator_value=[0, 0.5],
        lr=[0.1],
    ),
    "Adadelta": dict([DECAY, MAXIMIZE, FOREACH], rho=[0.9, 0.5], lr=[1.0, 0.3]),
    "NAdam": dict(
        [DECAY, MAXIMIZE, BETAS, FOREACH, EPS],
        decoupled_weight_decay=[False, True],
        momentum_decay=[4e-3, 0.1],
    ),
    "RAdam": dict([DECAY, MAXIMIZE, BETAS, FOREACH], decoupled_weight_decay=[False, True]),
    "Adamax": dict([DECAY, MAXIMIZE, BETAS, FOREACH], lr=[0.01, 0.03]),
    "ASGD": dict([DECAY, MAXIMIZE, FOREACH], t0=[1e6, 20.0], lambd=[1e-4, 0.1], lr=[0.01]),
    "Rprop": dict([MAXIMIZE, FOREACH], etas=[(0.5, 1.2), (0.3, 1.5)], step_sizes=[(1e-6, 1.0)]),
}
METHODS = sorted(OPTIONS)


def drawn(name: str, draw: Any) -> dict[str, Any]:
    options = {key: values[draw.integers(len(values))] for key, values in OPTIONS[name].items()}
    if name == "SGD" and options["momentum"] and not options["dampening"]:
        options["nesterov"] = bool(draw.integers(2))
    return options


def leaves(t: Any, kind: str = "float64") -> list[Any]:
    draw = np.random.default_rng(3)
    made = [draw.normal(size=shape) for shape in ((2, 3), (3,), ())]
    return [t.tensor(x.tolist(), dtype=getattr(t, kind), requires_grad=True) for x in made]


def loss_of(t: Any, w: Any, b: Any, c: Any) -> Any:
    """Bounded from both sides, and bent little enough that rounding does not grow on the way."""
    return t.sin(0.3 * (w @ b)).sum() + t.cos(w).sum() + t.sin(b + c).sum()


def trained(t: Any, make: Any, steps: int, kind: str = "float64") -> Any:
    params = leaves(t, kind)
    optimizer = make(t.optim, params)
    path = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss_of(t, *params).backward()
        optimizer.step()
        path.append(np.concatenate([p.detach().numpy().ravel() for p in params]))
    return np.array(path), optimizer


def plain(state: Any) -> Any:
    """A state as plain data."""
    if isinstance(state, dict):
        return {key: plain(part) for key, part in state.items()}
    if isinstance(state, (list, tuple)):
        return [plain(part) for part in state]
    return state.numpy() if hasattr(state, "numpy") else state


def same_state(mine: Any, theirs: Any) -> None:
    """Plain states of the same names, types and numbers."""
    if isinstance(mine, dict):
        assert list(mine) == list(theirs)
        for key in mine:
            same_state(mine[key], theirs[key])
    elif isinstance(mine, list):
        for one, other in zip(mine, theirs, strict=True):
            same_state(one, other)
    elif isinstance(mine, np.ndarray):
        assert mine.dtype == theirs.dtype
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-6)
    else:
        assert mine == pytest.approx(theirs) if isinstance(mine, float) else mine == theirs


@pytest.mark.part(3)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("name", METHODS)
def test_paths_of_a_hundred_steps_are_those_of_pytorch(name: str, seed: int) -> None:
    options = drawn(name, np.random.default_rng([seed, METHODS.index(name)]))

    def make(o: Any, params: Any) -> Any:
        groups = [{"params": params[:1]}, {"params": params[1:], "lr": 0.02}]
        return getattr(o, name)(groups, **options)

    def seen(t: Any) -> Any:
        path, optimizer = trained(t, make, 100)
        return path[::9], plain(
            optimizer.state_dict()
        )  # what goes wrong in a step stays in the next ones

    (mine, state), (theirs, other) = seen(torch), of_pytorch(seen)
    np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-6, err_msg=str(options))
    same_state(state, other)


@pytest.mark.parametrize("name", METHODS)
def test_paths_in_single_precision_and_of_complex_numbers(name: str) -> None:
    def seen(t: Any) -> Any:
        path, _ = trained(t, lambda o, ps: getattr(o, name)(ps, lr=0.01), 20, "float32")
        z = t.tensor([1 + 2j, 0.5 - 1j], dtype=t.complex128, requires_grad=True)
        optimizer = getattr(t.optim, name)([z], lr=0.05)
        for _ in range(20):
            optimizer.zero_grad()
            ((z - 1j).abs() ** 2).sum().backward()
            optimizer.step()
        return path, z.detach().numpy()

    (mine, z), (theirs, other) = seen(torch), of_pytorch(seen)
    np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)
    assert mine.dtype == theirs.dtype == np.float32
    np.testing.assert_allclose(z, other, rtol=1e-6)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
@pytest.mark.parametrize("options", [{}, {"history_size": 3}, {"lr": 0.3}, {"max_iter": 4}])
def test_lbfgs_takes_the_steps_of_pytorch(search: str | None, options: dict[str, Any]) -> None:
    options = {"lr": 1 if search else 0.05, **options}

    def seen(t: Any) -> Any:
        x = t.tensor([-1.2, 1.0, 0.5], dtype=t.float64, requires_grad=True)
        scale = t.tensor(0.7, dtype=t.float64, requires_grad=True)
        optimizer = t.optim.LBFGS([x, scale], line_search_fn=search, **options)

        def closure(x: Any = x, scale: Any = scale, optimizer: Any = optimizer) -> Any:
            optimizer.zero_grad()
            bend = (x[1:] - x[:-1] ** 2) ** 2
            loss = bend.sum() * 10 + ((1 - x) ** 2).sum() + (scale - x[0]) ** 2
            loss.backward()
            return loss

        path = []
        for _ in range(5):
            loss = optimizer.step(closure)
            path.append([loss.item(), *x.tolist(), scale.item()])
        state = optimizer.state_dict()["state"][0]
        return path, [sorted(state), state["func_evals"], state["n_iter"], len(state["ro"])]

    (mine, counts), (theirs, known) = seen(torch), of_pytorch(seen)
    np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-8)
    assert counts == known


# --- Without PyTorch ----------------------------------------------------------------------------


def one_path(name: str, gradients: list[float], **options: Any) -> list[float]:
    """The path of a number from 1, by given gradients."""
    x = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    optimizer = getattr(optim, name)([x], **options)
    path = []
    for gradient in gradients:
        x.grad = torch.tensor(gradient, dtype=torch.float64)
        optimizer.step()
        path.append(x.item())
    return path


# The first two steps from 1 by gradients 2 and 2, by hand.
BY_HAND = {
    "SGD": ({"lr": 0.1}, [0.8, 0.6]),
    "SGD momentum": ({"lr": 0.1, "momentum": 0.5}, [0.8, 0.5]),
    "SGD dampening": ({"lr": 0.1, "momentum": 0.5, "dampening": 0.5}, [0.8, 0.6]),
    "SGD nesterov": ({"lr": 0.1, "momentum": 0.5, "nesterov": True}, [0.7, 0.35]),
    "SGD decay": ({"lr": 0.1, "weight_decay": 1.0}, [0.7, 0.43]),
    "SGD maximize": ({"lr": 0.1, "maximize": True}, [1.2, 1.4]),
    "Adam": ({"lr": 0.1, "eps": 0}, [0.9, 0.8]),
    "Adam amsgrad": ({"lr": 0.1, "eps": 0, "amsgrad": True}, [0.9, 0.8]),
    "AdamW": ({"lr": 0.1, "eps": 0, "weight_decay": 1.0}, [0.8, 0.62]),
    "Adamax": ({"lr": 0.1, "eps": 0}, [0.9, 0.8]),
    "NAdam": ({"lr": 0.1, "eps": 0, "betas": (0.0, 0.9)}, [0.9, 0.8]),
    "RAdam": ({"lr": 0.1, "betas": (0.0, 0.9)}, [0.8, 0.6]),
    "Adagrad": ({"lr": 0.1, "eps": 0}, [0.9, 0.9 - 0.1 / 2**0.5]),
    "Adagrad decay": ({"lr": 0.1, "eps": 0, "lr_decay": 1}, [0.9, 0.9 - 0.05 / 2**0.5]),
    "RMSprop": ({"lr": 0.1, "eps": 0, "alpha": 0.0}, [0.9, 0.8]),
    "RMSprop momentum": ({"lr": 0.1, "eps": 0, "alpha": 0, "momentum": 0.5}, [0.9, 0.75]),
    "Adadelta": ({"rho": 0.0, "eps": 1e-6}, [1 - 2e-3 / (4 + 1e-6) ** 0.5, None]),
    "ASGD": ({"lr": 0.1, "lambd": 0.0}, [0.8, 0.6]),
    "ASGD decay": ({"lr": 0.1, "lambd": 1.0, "alpha": 0.0}, [0.7, 0.43]),
    "Rprop": ({"lr": 0.1}, [0.9, 0.78]),
}


@pytest.mark.parametrize("word", BY_HAND)
def test_two_steps_by_hand(word: str) -> None:
    options, expected = BY_HAND[word]
    path = one_path(word.split(maxsplit=1)[0], [2.0, 2.0], **options)
    for found, wanted in zip(path, expected, strict=True):
        assert wanted is None or found == pytest.approx(
            wanted, rel=1e-7
        )  # rates are kept in single precision


def test_rprop_goes_back_half_where_the_sign_turns() -> None:
    path = one_path("Rprop", [1.0, -1.0, -1.0], lr=0.1)
    np.testing.assert_allclose(path, [0.9, 0.9, 0.95])


def test_centered_rmsprop_divides_by_the_deviation() -> None:
    path = one_path("RMSprop", [1.0], lr=0.1, alpha=0.5, eps=0, centered=True)
    assert path[0] == pytest.approx(1 - 0.1 / (0.5 - 0.5**2) ** 0.5)


def test_averaged_sgd_keeps_the_average_parameter() -> None:
    x = torch.tensor([1.0], dtype=torch.float64, requires_grad=True)
    optimizer = optim.ASGD([x], lr=0.1, lambd=0.0, t0=0.0)
    values = []
    for _ in range(5):
        x.grad = torch.ones(1, dtype=torch.float64)
        optimizer.step()
        values.append(x.item())
    np.testing.assert_allclose(optimizer.state[x]["ax"].numpy(), np.mean(values[1:]), rtol=1e-6)


@pytest.mark.parametrize("name", METHODS)
def test_each_finds_a_minimum(name: str) -> None:
    x = torch.tensor([1.0, -0.5], dtype=torch.float64, requires_grad=True)
    rates = {"Adadelta": 1.0, "Adagrad": 0.3, "RMSprop": 0.01, "Rprop": 0.01}
    optimizer = getattr(optim, name)([x], lr=rates.get(name, 0.03))
    start = ((x - 0.3) ** 2).sum().item()
    for _ in range(300):
        optimizer.zero_grad()
        loss = ((x - 0.3) ** 2).sum()
        loss.backward()
        optimizer.step()
    assert loss.item() < (0.9 if name == "Adadelta" else 0.01) * start


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_solves_a_quadratic_problem_as_newton(search: str | None) -> None:
    draw = np.random.default_rng(1)
    half = draw.normal(size=(4, 4))
    matrix, target = half @ half.T + np.eye(4), draw.normal(size=4)
    a, b = torch.from_numpy(matrix), torch.from_numpy(target)
    x = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    optimizer = optim.LBFGS([x], lr=1, max_iter=60, line_search_fn=search, tolerance_change=0)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = x @ a @ x / 2 - b @ x
        loss.backward()
        return loss

    with torch.no_grad():
        assert optimizer.step(closure).item() == 0
    np.testing.assert_allclose(x.detach().numpy(), np.linalg.solve(matrix, target), atol=1e-5)
    assert optimizer.state_dict()["state"][0]["n_iter"] <= 60


def test_lbfgs_refuses_groups_and_other_searches() -> None:
    x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
    with pytest.raises(ValueError, match="per-parameter options"):
        optim.LBFGS([{"params": [x]}, {"params": [y]}])
    with pytest.raises(TypeError, match="closure"):
        optim.LBFGS([x]).step()

    def closure() -> Any:
        x.grad = None
        loss = (x**2).sum()
        loss.backward()
        return loss

    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optim.LBFGS([x], line_search_fn="armijo").step(closure)


@pytest.fixture
def in_double_precision() -> Iterator[None]:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("in_double_precision")
@pytest.mark.parametrize("name", [name for name in METHODS if name != "Rprop"])
def test_a_differentiable_step_is_that_of_arrays_and_has_a_derivative(name: str) -> None:
    """A loss after two steps, by the start of the path and the learning rate."""
    kind = getattr(optim, name)
    start = torch.tensor([1.0, -0.4, 0.3], dtype=torch.float64)
    rate = torch.tensor(0.05, dtype=torch.float64)

    def stepped(start: Any, rate: Any, differentiable: bool) -> Any:
        x = start.clone() if differentiable else start.clone().requires_grad_()
        options = {"foreach": False, "differentiable": differentiable, "maximize": True}
        optimizer = kind([x], lr=rate, **options)
        for _ in range(2):
            x.grad = 3 * (x.clone() if differentiable else x.detach()) ** 2
            optimizer.step()
        return x

    plain = stepped(start, 0.05, False)
    given = start.clone().requires_grad_()
    traced = stepped(given, rate.clone().requires_grad_(), True)
    assert traced.requires_grad
    np.testing.assert_allclose(traced.detach().numpy(), plain.detach().numpy(), rtol=1e-10)
    inputs = [start.clone().requires_grad_(), rate.clone()]
    inputs[1].requires_grad_(name != "ASGD")  # its state begins with the rate as a number
    assert torch.autograd.gradcheck(lambda s, r: stepped(s, r, True), inputs)


def test_a_differentiable_step_of_a_leaf_is_refused() -> None:
    x = torch.ones(2, requires_grad=True)
    optimizer = optim.SGD([x], lr=0.1, differentiable=True)
    x.grad = torch.ones(2)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        optimizer.step()
    with torch.no_grad():
        optimizer.step()
    np.testing.assert_allclose(x.detach().numpy(), 0.9)


@pytest.mark.parametrize("name", [*METHODS, "LBFGS"])
def test_a_saved_state_goes_on_as_if_nothing_had_been(name: str) -> None:
    kind = getattr(optim, name)

    def step(params: Any, optimizer: Any) -> Any:
        def closure() -> Any:
            optimizer.zero_grad()
            loss = loss_of(torch, *params)
            loss.backward()
            return loss

        optimizer.step(closure)
        return np.concatenate([p.detach().numpy().ravel() for p in params])

    params = leaves(torch)
    optimizer = kind(params, lr=0.01)
    for _ in range(3):
        step(params, optimizer)
    saved = pickle.loads(pickle.dumps(optimizer.state_dict()))
    others = [p.detach().clone().requires_grad_() for p in params]
    following = kind(others, lr=0.5)
    following.load_state_dict(saved)
    for _ in range(3):
        path, other = step(params, optimizer), step(others, following)
        np.testing.assert_allclose(path, other, rtol=1e-7)  # a dot product rounds by alignment
    params, copied = copy.deepcopy((params, optimizer))
    assert step(params, copied).shape == (10,)
    assert str(following) == str(optimizer)


REFUSED = [
    ("SGD", {"lr": -1}, "Invalid learning rate: -1"),
    ("SGD", {"momentum": -1}, "Invalid momentum value: -1"),
    ("SGD", {"nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
    ("Adam", {"betas": (1.0, 0.9)}, "Invalid beta parameter at index 0: 1.0"),
    ("Adam", {"betas": (0.9, -1.0)}, "Invalid beta parameter at index 1: -1.0"),
    ("Adam", {"eps": -1}, "Invalid epsilon value: -1"),
    ("Adam", {"weight_decay": -1}, "Invalid weight_decay value: -1"),
    ("NAdam", {"momentum_decay": -1}, "Invalid momentum_decay value: -1"),
    ("RMSprop", {"alpha": -1}, "Invalid alpha value: -1"),
    ("Adagrad", {"lr_decay": -1}, "Invalid lr_decay value: -1"),
    ("Adagrad", {"initial_accumulator_value": -1}, "Invalid initial_accumulator_value value: -1"),
    ("Adadelta", {"rho": 1.5}, "Invalid rho value: 1.5"),
    ("Rprop", {"etas": (1.5, 1.2)}, "Invalid eta values: 1.5, 1.2"),
]


@pytest.mark.parametrize(("name", "options", "message"), REFUSED)
def test_refused_settings(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        getattr(optim, name)([torch.ones(1, requires_grad=True)], **options)


def test_kinds_of_implementations_as_pytorch_treats_them_on_a_cpu() -> None:
    x = torch.ones(1, requires_grad=True)
    x.grad = torch.ones(1)
    fused = optim.Adam([x], fused=True)
    fused.step()
    assert fused.state[x]["step"].dtype is torch.float32
    with pytest.raises(RuntimeError, match="`fused` does not support `differentiable`"):
        optim.SGD([x], fused=True, differentiable=True)
    with pytest.raises(RuntimeError, match="`fused` and `foreach` cannot be `True` together"):
        optim.Adam([x], fused=True, foreach=True)
    with pytest.raises(AssertionError, match="If capturable=True"):
        optim.RMSprop([x], capturable=True).step()
    with pytest.raises(ValueError, match="lr as a Tensor is not supported"):
        optim.Adam([x], lr=torch.tensor(0.1), foreach=True)
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        optim.SGD([x], lr=torch.ones(2))


def test_groups_and_their_errors() -> None:
    x, y, z = (torch.ones(2, requires_grad=True) for _ in range(3))
    optimizer = optim.SGD([{"params": [x]}, {"params": y, "lr": 0.5}], lr=0.1)
    optimizer.add_param_group({"params": [z], "momentum": 0.9})
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5, 0.1]
    assert [group["momentum"] for group in optimizer.param_groups] == [0, 0, 0.9]
    for p in (x, y, z):
        p.grad = torch.ones(2)
    optimizer.step()
    assert [p[0].item() for p in (x, y, z)] == pytest.approx([0.9, 0.5, 0.9])
    assert list(optimizer.state_dict()["state"]) == [2]
    with pytest.raises(TypeError, match="param_group must be a dict, but got <class 'list'>"):
        optimizer.add_param_group([x])
    with pytest.raises(TypeError, match="ordering of tensors in sets"):
        optimizer.add_param_group({"params": {x}})
    with pytest.raises(ValueError, match="some parameters appear in more than one"):
        optimizer.add_param_group({"params": [x]})
    with pytest.raises(TypeError, match="one of the params is int"):
        optimizer.add_param_group({"params": [1]})
    with pytest.raises(TypeError, match=r"but got torch\.FloatTensor"):
        optim.SGD(x)
    with pytest.warns(UserWarning, match="duplicate parameters"):
        optim.SGD([x, x])
    with pytest.raises(ValueError, match="different number of parameter groups"):
        optimizer.load_state_dict(optim.SGD([x]).state_dict())
    with pytest.raises(ValueError, match="doesn't match the size"):
        optim.SGD([x]).load_state_dict(optim.SGD([x, y]).state_dict())


def test_parameters_with_names() -> None:
    x, y = (torch.ones(2, requires_grad=True) for _ in range(2))
    optimizer = optim.SGD([("x", x), ("y", y)])
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["x", "y"]
    with pytest.raises(ValueError, match="Some param names are missing"):
        optim.SGD([("x", x), y])
    with pytest.raises(ValueError, match="cannot add param group without names"):
        optimizer.add_param_group({"params": [torch.ones(1, requires_grad=True)]})


def test_zero_grad_forgets_or_zeroes() -> None:
    x = torch.ones(2, requires_grad=True)
    optimizer = optim.SGD([x])
    (x**2).sum().backward()
    kept = x.grad
    optimizer.zero_grad(set_to_none=False)
    assert x.grad is kept
    assert x.grad.tolist() == [0.0, 0.0]
    optimizer.zero_grad()
    assert x.grad is None


def test_hooks_of_steps_and_states() -> None:
    x = torch.ones(1, requires_grad=True)
    optimizer, seen = optim.SGD([x], lr=1.0), []
    x.grad = torch.ones(1)
    register = {
        "before": optimizer.register_step_pre_hook,
        "after": optimizer.register_step_post_hook,
        "before all": register_optimizer_step_pre_hook,
        "after all": register_optimizer_step_post_hook,
    }
    handles = [
        add(lambda o, args, kwargs, word=word: seen.append((word, x.item(), args[0] is o)))
        for word, add in register.items()
    ]
    optimizer.step()
    words = ["before all", "before", "after", "after all"]
    assert seen == [(w, 1.0 if "before" in w else 0.0, True) for w in words]
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert len(seen) == 4
    with optimizer.register_step_pre_hook(lambda *_: 1), pytest.raises(RuntimeError, match="1"):
        optimizer.step()
    optimizer.register_state_dict_post_hook(lambda _, state: {**state, "extra": 1})
    optimizer.register_state_dict_pre_hook(lambda _: seen.append("second"))
    optimizer.register_state_dict_pre_hook(lambda _: seen.append("first"), prepend=True)
    assert optimizer.state_dict()["extra"] == 1
    assert seen[-2:] == ["first", "second"]
    optimizer.register_load_state_dict_pre_hook(lambda _, state: {**state, "state": {}})
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append(o is optimizer))
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen[-1] is True


def test_an_optimizer_of_ones_own() -> None:
    class Signs(optim.Optimizer):
        def __init__(self, params: Any, lr: float) -> None:
            super().__init__(params, {"lr": lr})

        @torch.no_grad()
        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    x = torch.tensor([1.0, -1.0], requires_grad=True)
    (x**2).sum().backward()
    optimizer, seen = Signs([x], lr=0.25), []
    optimizer.register_step_post_hook(lambda *_: seen.append(1))
    optimizer.step()
    assert x.tolist() == [0.75, -0.75]
    assert seen == [1]
    with pytest.raises(NotImplementedError):
        optim.Optimizer([x], {}).step()
