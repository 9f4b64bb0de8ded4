"""tapegrad.optimize's first-order methods: their formulas, schedules, and the loop."""

from __future__ import annotations

import weakref

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tapegrad import (
    InputError,
    OutputError,
    compile,
    grad,
    jvp,
    optimize,
    tree,
    value_and_grad,
    vmap,
)
from tapegrad.optimize import schedules
from tapegrad.optimize._strong_wolfe import Point, interpolated

START = np.array([-1.2, 1.0, 0.5])
METHODS = {
    "sgd": optimize.sgd(1e-3),
    "momentum": optimize.momentum(1e-3),
    "nesterov": optimize.momentum(1e-3, 0.9, nesterov=True),
    "adam": optimize.adam(0.05),
    "amsgrad": optimize.adam(0.05, amsgrad=True),
    "adamw": optimize.adamw(0.05, weight_decay=0.1),
    "rmsprop": optimize.rmsprop(0.01),
    "centered": optimize.rmsprop(0.01, momentum=0.5, centered=True),
    "adagrad": optimize.adagrad(0.5, initial=0.1),
    "lion": optimize.lion(0.01, weight_decay=0.1),
    "lbfgs": optimize.lbfgs(),
}


def rosenbrock(x):
    return np.sum((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2)


@given(hnp.arrays(float, (4, 3), elements=st.floats(-3, 3)), st.floats(1e-4, 1.0))
@settings(max_examples=10)
def test_adam_is_its_textbook_formula(gradients, rate):
    b1, b2, eps = 0.9, 0.999, 1e-8
    method = optimize.adam(rate, b1, b2, eps)
    ours = theirs = np.zeros(3)
    state = method.init(ours)
    m = v = np.zeros(3)
    for t, g in enumerate(gradients, 1):
        updates, state = method.update(g, state, ours)
        ours = optimize.apply_updates(ours, updates)
        m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
        theirs = theirs - rate * (m / (1 - b1**t)) / (np.sqrt(v / (1 - b2**t)) + eps)
    assert np.allclose(ours, theirs, rtol=1e-12, atol=1e-13)


def textbook(gradients, *, rate=0.1, of):
    """Sum of a formula's steps; of: the step for a gradient, and what it has kept."""
    x, kept = np.zeros_like(gradients[0]), {}
    for count, g in enumerate(gradients, 1):
        x = x - rate * of(g, kept, count)
    return x


def running(kept, name, decay, value, share=None):
    kept[name] = decay * kept.get(name, 0.0) + (1 - decay if share is None else share) * value
    return kept[name]


def squared(g):
    return np.abs(g) ** 2


def nesterov(g, kept, count):
    return g + 0.6 * running(kept, "sum", 0.6, g, 1.0)


def amsgrad(g, kept, count):
    mean, square = running(kept, "m", 0.7, g), running(kept, "v", 0.5, squared(g))
    kept["most"] = np.maximum(kept.get("most", 0.0), square)
    return mean / (1 - 0.7**count) / (np.sqrt(kept["most"] / (1 - 0.5**count)) + 1e-3)


def centered(g, kept, count):
    spread = running(kept, "v", 0.8, squared(g)) - squared(running(kept, "m", 0.8, g))
    return g / (np.sqrt(spread) + 1e-3)


def adagrad(g, kept, count):
    return g / (np.sqrt(0.2 + running(kept, "v", 1.0, squared(g), 1.0)) + 1e-3)


def lion(g, kept, count):
    sign = np.sign(0.6 * kept.get("m", 0.0) + 0.4 * g)
    running(kept, "m", 0.9, g)
    return sign


FORMULAS = {
    "nesterov": (optimize.sgd(0.1, 0.6, nesterov=True), nesterov),
    "amsgrad": (optimize.adam(0.1, 0.7, 0.5, 1e-3, amsgrad=True), amsgrad),
    "centered": (optimize.rmsprop(0.1, 0.8, 1e-3, centered=True), centered),
    "adagrad": (optimize.adagrad(0.1, 0.2, 1e-3), adagrad),
    "lion": (optimize.lion(0.1, 0.6, 0.9), lion),
}


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("name", FORMULAS)
def test_methods_are_their_textbook_formulas(name, dtype):
    method, of = FORMULAS[name]
    gradients = np.random.default_rng(0).normal(size=(5, 6)).view(dtype)
    x = np.zeros_like(gradients[0])
    state = method.init(x)
    for g in gradients:
        updates, state = method.update(g, state, x)
        x = optimize.apply_updates(x, updates)
    np.testing.assert_allclose(x, textbook(gradients, of=of), rtol=1e-12)


@pytest.mark.peers
@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("lion", "lbfgs")])
def test_methods_are_pytorchs(name):
    torch = pytest.importorskip("torch")
    of = {
        "sgd": lambda p: torch.optim.SGD(p, 1e-3),
        "momentum": lambda p: torch.optim.SGD(p, 1e-3, momentum=0.9),
        "nesterov": lambda p: torch.optim.SGD(p, 1e-3, momentum=0.9, nesterov=True),
        "adam": lambda p: torch.optim.Adam(p, 0.05),
        "amsgrad": lambda p: torch.optim.Adam(p, 0.05, amsgrad=True),
        "adamw": lambda p: torch.optim.AdamW(p, 0.05, weight_decay=0.1),
        "rmsprop": lambda p: torch.optim.RMSprop(p, 0.01),
        "centered": lambda p: torch.optim.RMSprop(p, 0.01, momentum=0.5, centered=True),
        "adagrad": lambda p: torch.optim.Adagrad(p, 0.5, initial_accumulator_value=0.1),
    }
    x = torch.tensor(START, requires_grad=True)
    optimizer = of[name]([x])
    for _ in range(30):
        optimizer.zero_grad()
        loss = ((1 - x[:-1]) ** 2 + 100 * (x[1:] - x[:-1] ** 2) ** 2).sum()
        loss.backward()
        optimizer.step()
    ours = optimize.run(rosenbrock, START, METHODS[name], steps=30).params
    assert np.allclose(ours, x.detach().numpy(), rtol=1e-12, atol=1e-12)


def _decayed(decay, method):
    """PyTorch's weight_decay of all methods but AdamW: the slope of a penalty, before all else."""
    return optimize.chain(optimize.add_decayed_weights(decay), method)


# Ours, PyTorch's class, and what it is called with: what differs is how the same is said.
BY_OTHER_HYPERPARAMETERS = {
    "sgd": (_decayed(0.3, optimize.sgd(2e-3)), "SGD", {"lr": 2e-3, "weight_decay": 0.3}),
    "momentum": (
        _decayed(0.3, optimize.momentum(1e-3, 0.6)),
        "SGD",
        {"lr": 1e-3, "momentum": 0.6, "weight_decay": 0.3},
    ),
    "nesterov": (
        _decayed(0.3, optimize.momentum(1e-3, 0.6, nesterov=True)),
        "SGD",
        {"lr": 1e-3, "momentum": 0.6, "nesterov": True, "weight_decay": 0.3},
    ),
    "adam": (
        _decayed(0.3, optimize.adam(0.02, 0.7, 0.95, 1e-3)),
        "Adam",
        {"lr": 0.02, "betas": (0.7, 0.95), "eps": 1e-3, "weight_decay": 0.3},
    ),
    "adamw": (
        optimize.adamw(0.02, 0.7, 0.95, 1e-3, weight_decay=0.3, amsgrad=True),
        "AdamW",
        {"lr": 0.02, "betas": (0.7, 0.95), "eps": 1e-3, "weight_decay": 0.3, "amsgrad": True},
    ),
    "rmsprop": (
        _decayed(0.3, optimize.rmsprop(0.02, 0.8, 1e-3, momentum=0.4, centered=True)),
        "RMSprop",
        {"lr": 0.02, "alpha": 0.8, "eps": 1e-3, "momentum": 0.4, "centered": True,
         "weight_decay": 0.3},
    ),
    "adagrad": (  # lr_decay is a schedule
        _decayed(0.3, optimize.adagrad(lambda step: 0.3 / (1 + 0.2 * step), eps=1e-3)),
        "Adagrad",
        {"lr": 0.3, "lr_decay": 0.2, "eps": 1e-3, "weight_decay": 0.3},
    ),
}  # fmt: skip


@pytest.mark.peers
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", BY_OTHER_HYPERPARAMETERS)
def test_methods_of_other_hyperparameters_are_pytorchs(name, dtype):
    torch = pytest.importorskip("torch")
    method, kind, hyperparameters = BY_OTHER_HYPERPARAMETERS[name]
    start = START.astype(dtype)
    x = torch.tensor(start, requires_grad=True)
    theirs = getattr(torch.optim, kind)([x], **hyperparameters)
    ours, state = start, method.init(start)
    rng = np.random.default_rng(0)
    for _ in range(20):  # the same gradients for both: rounding does not grow
        g = rng.normal(size=3).astype(dtype) * (rng.random(3) < 0.8)
        x.grad = torch.tensor(g)
        theirs.step()
        updates, state = method.update(g, state, ours)
        ours = optimize.apply_updates(ours, updates)
    assert ours.dtype == dtype
    far = 100 * np.finfo(dtype).eps
    np.testing.assert_allclose(ours, x.detach().numpy(), rtol=far, atol=far)


@pytest.mark.parametrize("name", METHODS)
def test_steps_are_compiled_to_the_same(name):
    plain = optimize.run(rosenbrock, START, METHODS[name], steps=8)
    compiled = optimize.run(rosenbrock, START, METHODS[name], steps=8, compile=True)
    assert np.array_equal(plain.params, compiled.params)
    assert np.array_equal(plain.losses, compiled.losses)
    assert plain.losses[-1] < plain.losses[0]


@pytest.mark.parametrize("name", [name for name in METHODS if name not in ("lbfgs", "lion")])
def test_steps_are_differentiated_and_mapped(name):
    method = METHODS[name]

    def after(x):
        return rosenbrock(optimize.run(rosenbrock, x, method, steps=4).params)

    direction = np.array([1.0, -0.5, 0.3])
    h = 1e-6
    slope = (after(START + h * direction) - after(START - h * direction)) / (2 * h)
    assert np.isclose(grad(after)(START) @ direction, slope, rtol=1e-5)
    assert np.isclose(jvp(after, (START,), (direction,))[1], slope, rtol=1e-5)
    both = vmap(after)(np.stack([START, START + 1]))
    assert np.allclose(both, [after(START), after(START + 1)])


def test_hyperparameters_are_differentiated():
    def after(rate):
        method = optimize.adam(schedules.cosine(rate, 10))
        return rosenbrock(optimize.run(rosenbrock, START, method, steps=5).params)

    h = 1e-6
    assert np.isclose(grad(after)(0.05), (after(0.05 + h) - after(0.05 - h)) / (2 * h), rtol=1e-5)


def test_zero_gradients_have_finite_derivatives():
    method = optimize.adam(0.1)

    def moved(g):
        return np.sum(method.update(g, method.init(g), g)[0])

    assert np.isfinite(grad(moved)(np.zeros(2))).all()


def test_trees_with_constants_keep_their_dtypes():
    params = {"w": np.zeros(2, np.float32), "n": 3, "b": 0.0}

    def loss(p, x):
        return np.sum((p["w"] - x) ** 2) + (p["b"] - 1) ** p["n"] ** 0 * 0 + p["b"] ** 2

    for method in (optimize.adam(0.1), optimize.sgd(schedules.linear(0.1, 0.0, 9), 0.9)):
        done = optimize.run(loss, params, method, data=[np.ones(2, np.float32)] * 3, steps=7)
        assert done.params["w"].dtype == np.float32
        assert done.params["n"] == 3
        assert done.steps == 7
        leaves = tree.leaves(done.state)
        assert not [x for x in leaves if np.shape(x) == (2,) and x.dtype != np.float32]


def test_lbfgs_finds_the_minimum():
    done = optimize.run(rosenbrock, START, optimize.lbfgs(), steps=200, tol=1e-9)
    assert done.reason == "the gradient is small"
    assert np.allclose(done.params, 1)
    assert done.steps < 80


def test_chains_clip_and_decay():
    method = optimize.chain(
        optimize.clip(2.0), optimize.clip_by_norm(1.0), optimize.add_decayed_weights(0.5),
        optimize.scale_by_rate(0.1),
    )  # fmt: skip
    params = {"a": np.array([3.0, 0.0]), "b": 1.0}
    updates, _ = method.update({"a": np.array([9.0, 0.0]), "b": 0.0}, method.init(params), params)
    assert np.allclose(updates["a"], [-0.1 * (1 + 1.5), 0])
    assert np.isclose(updates["b"], -0.05)
    masked = optimize.add_decayed_weights(0.5, lambda p: tree.map(lambda x: np.ndim(x) > 0, p))
    assert masked.update(updates, (), params)[0]["b"] == updates["b"]


def test_why_a_run_ends():
    def run(**rules):
        return optimize.run(lambda x: np.sum(x**2), np.ones(2), optimize.sgd(0.1), **rules)

    assert run(steps=3).reason == "all steps are done"
    assert run(steps=999, tol=1e-3).reason == "the gradient is small"
    assert run(steps=999, patience=3, least_change=1e-6).reason == "the loss has stopped falling"
    assert run(steps=9, callback=lambda step, x, loss: step == 1).steps == 2
    data = optimize.run(
        lambda x, y: np.sum((x - y) ** 2), np.ones(2), optimize.sgd(0.1), data=iter([(1.0,)] * 4)
    )
    assert (data.steps, data.reason) == (4, "data is at its end")
    assert "4 steps" in repr(data)
    with np.errstate(all="ignore"):
        wild = optimize.run(lambda x: np.exp(x) ** 2, 1.0, optimize.sgd(-1e3), steps=9)
    assert wild.reason == "the loss is not finite"
    assert np.isfinite(wild.losses[:-1]).all()


def test_a_run_goes_on_from_a_state():
    method = optimize.adam(0.05)
    whole = optimize.run(rosenbrock, START, method, steps=10)
    half = optimize.run(rosenbrock, START, method, steps=5)
    rest = optimize.run(rosenbrock, half.params, method, steps=5, state=half.state)
    assert np.array_equal(whole.params, rest.params)


def test_aux_of_the_last_step():
    done = optimize.run(lambda x: (x**2, {"x": x}), 1.0, optimize.sgd(0.1), steps=2, has_aux=True)
    assert done.aux == {"x": 0.8}


def test_a_step_by_hand_is_compiled():
    method = optimize.adamw(1e-2)

    @compile
    def step(x, state):
        value, gradient = value_and_grad(rosenbrock)(x)
        updates, state = method.update(gradient, state, x)
        return optimize.apply_updates(x, updates), state, value

    x, state = START, method.init(START)
    for _ in range(20):
        x, state, _ = step(x, state)
    expected = optimize.run(rosenbrock, START, method, steps=20).params
    assert np.array_equal(x, expected)


def test_wrong_arguments_are_named():
    with pytest.raises(InputError, match="steps=, or data="):
        optimize.run(rosenbrock, START, optimize.sgd(0.1))
    with pytest.raises(InputError, match="steps= alone inside a transform"):
        grad(lambda r: optimize.run(rosenbrock, START, optimize.sgd(r), steps=2, tol=1).losses[0])(
            0.1
        )
    with pytest.raises(OutputError, match=r"grad\(square\)\(x\): expected a real scalar output"):
        optimize.run(np.square, START, optimize.sgd(0.1), steps=1)
    with pytest.raises(InputError, match="no params"):
        optimize.adamw(0.1).update(START, optimize.adamw(0.1).init(START))
    with pytest.raises(InputError, match="1 boundaries between 2"):
        schedules.joined([schedules.constant(1.0)] * 2, [])
    with pytest.raises(InputError, match="at least one step"):
        schedules.cosine(1.0, 0)(0)


def test_schedules():
    count = np.arange(0.0, 40.0)
    rate = schedules.warmup(schedules.cosine(1.0, 20, 0.1), 10)
    assert np.allclose(rate(count[:11]), np.linspace(0, 1, 11))
    assert np.allclose(rate(count[30:]), 0.1)
    assert (np.diff(rate(count[10:])) <= 0).all()
    steps = schedules.piecewise(1.0, {10: 0.1, 20: 0.5})
    assert [float(steps(s)) for s in (9, 10, 20)] == [1.0, 0.1, 0.05]
    assert np.isclose(schedules.exponential(1.0, 0.5, 10)(5), 0.5**0.5)
    assert schedules.exponential(1.0, 0.5, end=0.2)(9) == 0.2
    assert schedules.exponential(1.0, 2.0, end=3.0)(9) == 3.0
    assert schedules.polynomial(1.0, 0.0, 4, 2)(9) == 0.0
    assert schedules.linear(1.0, 0.0, 4)(1) == 0.75


def test_lbfgs_applies_the_inverse_hessian_of_its_last_steps():
    """By the formula of BFGS, from the curvature along the last step."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    curvature, points = root @ root.T + np.eye(5), rng.normal(size=(5, 5))
    method = optimize.lbfgs(2, 0.7)
    state = method.init(points[0])
    for n, x in enumerate(points):
        update, state = method.update(curvature @ x, state, x)
        inverse = np.eye(5)
        for at in range(max(n - 2, 0), n):
            s = points[at + 1] - points[at]
            y = curvature @ s
            if at == max(n - 2, 0):
                last = points[n] - points[n - 1]
                inverse *= last @ curvature @ last / np.sum((curvature @ last) ** 2)
            turn = np.eye(5) - np.outer(y, s) / (s @ y)
            inverse = turn.T @ inverse @ turn + np.outer(s, s) / (s @ y)
        np.testing.assert_allclose(update, -0.7 * inverse @ curvature @ x, rtol=1e-10)


@pytest.mark.parametrize("ends", [(0.5, 2.0), (2.0, 0.5), (0.0, 1.25), (3.0, -0.5)])
def test_a_line_search_finds_where_a_cubic_is_least(ends):
    points = [Point(t, t**3 - 3 * t, None, 3 * t**2 - 3) for t in ends]
    assert interpolated(*points, None) == pytest.approx(1.0)
    assert interpolated(*points, (1.5, 9.0)) == 1.5


@pytest.mark.parametrize(("size", "curvature"), [(1, 1e-9), (100, 1e-9), (100, 1e-11), (4, -1.0)])
def test_lbfgs_keeps_a_step_by_the_curvature_along_it(size, curvature):
    """Relative to the whole step: s.y > 1e-10 s.s, of however many elements."""
    method = optimize.lbfgs()
    x, g = np.zeros(size), np.ones(size)
    _, state = method.update(g, method.init(x), x)
    for _ in range(2):  # one more than is to be kept, if any
        x, g = x + 1, g + curvature
        _, state = method.update(g, state, x)
    assert len(state.steps) == len(state.changes) == (2 if curvature > 1e-10 else 0)


@pytest.mark.parametrize("name", ["sgd", "adam", "lbfgs"])
def test_a_run_holds_what_the_loss_returned_at_one_point(name):
    """Not at every point that it has been to."""

    class Aux:
        pass

    made = []

    def loss(x):
        aux = Aux()
        made.append(weakref.ref(aux))
        return rosenbrock(x), aux

    def callback(*_):
        assert sum(each() is not None for each in made) <= 3

    optimize.run(loss, START, METHODS[name], steps=8, has_aux=True, callback=callback)
    assert len(made) >= 8
