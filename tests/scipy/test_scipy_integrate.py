"""tapegrad.scipy.integrate: solutions and integrals, by all that they depend on."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import inspect
import math
import warnings

import numpy as np
import pytest

import tapegrad
from tapegrad import BatchingError, InputError, NotDifferentiableError
from tapegrad._core.tape import CURRENT
from tapegrad.testing import check_grads

S = pytest.importorskip("scipy.integrate")
T = importlib.import_module("tapegrad.scipy.integrate")
_quick = importlib.import_module("tapegrad.scipy.integrate._quick")

TIGHT = {"rtol": 1e-10, "atol": 1e-10}
TIMES = np.linspace(0.5, 2.5, 4)
WEIGHTS = np.arange(8.0).reshape(2, 4) + 1
START = np.array([1.5, 1.0, 3.0, 1.0, 1.0, 1.0, 0.1, 1.0])


def hunt(t, y, p):
    return [p[0] * y[0] - p[1] * y[0] * y[1] + 0.1 * np.sin(t), -p[2] * y[1] + p[3] * y[0] * y[1]]


def loss(x, **options):
    """Of parameters, a first state, a first time and a factor of the times."""
    found = T.solve_ivp(
        lambda t, y: hunt(t, y, x[:4]), (x[6], 3.0), x[4:6], t_eval=TIMES * x[7],
        **{"method": "DOP853", **TIGHT, **options},
    )  # fmt: skip
    return np.sum(WEIGHTS * found.y**2) + np.sum(found.t * np.arange(4))


def differences(f, x, h=1e-4):
    x, out = np.asarray(x, float), []
    for unit in np.eye(x.size):
        d = np.reshape(unit, x.shape) * h
        out.append((8 * (f(x + d) - f(x - d)) - f(x + 2 * d) + f(x - 2 * d)) / (12 * h))
    return np.array(out)


@functools.cache
def gradient_of_loss():
    return differences(loss, START)


def assert_derivatives(f, x, *, second=False, rtol=1e-6):
    x = np.asarray(x, float)
    gradient, expected = tapegrad.grad(f)(x), differences(f, x)
    assert_close(gradient, expected, rtol)
    ones = np.ones_like(x)
    assert_close(tapegrad.jvp(f, (x,), (ones,))[1], np.sum(expected), rtol * 10)
    if second:
        expected = differences(tapegrad.grad(f), x)
        assert_close(tapegrad.jacobian(tapegrad.grad(f))(x), expected, rtol * 10)
        assert_close(tapegrad.hvp(f, (x,), (ones,)), expected @ ones, rtol * 10)


def assert_close(found, expected, rtol):
    found, expected = np.asarray(found), np.asarray(expected)
    np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * np.max(np.abs(expected)))


# --- Initial value problems ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "gradient", ["adjoint", pytest.param("forward", marks=pytest.mark.slow), "steps"]
)
def test_a_solution_by_all_that_it_depends_on(gradient):
    f = functools.partial(loss, gradient=gradient)
    x, expected = START, gradient_of_loss()
    assert_close(tapegrad.grad(f)(x), expected, 1e-6)
    assert_close(tapegrad.jvp(f, (x,), (np.ones(8),))[1], np.sum(expected), 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("gradient", ["adjoint", "forward", "steps"])
def test_second_order(gradient):
    def f(x):
        found = T.solve_ivp(
            lambda t, y: hunt(t, y, x[:4]),
            (x[6], 1.0),
            x[4:6],
            t_eval=TIMES[:1] * x[7],
            method="DOP853",
            gradient=gradient,
            rtol=1e-8,
            atol=1e-8,
        )
        return np.sum(found.y**2)

    v, h = np.linspace(1.0, 2.0, 8), 1e-4
    slope = tapegrad.grad(f)
    expected = (slope(START + h * v) - slope(START - h * v)) / (2 * h)
    assert_close(tapegrad.hvp(f, (START,), (v,)), expected, 1e-5)
    by_jvp = tapegrad.grad(lambda x: tapegrad.jvp(f, (x,), (v,))[1])
    assert_close(by_jvp(START), expected, 1e-5)
    by_vjp = tapegrad.grad(lambda x: np.sum(slope(x) * v))
    assert_close(by_vjp(START), expected, 1e-5)


def test_hvp_of_a_short_solution():
    def f(x):
        return T.solve_ivp(lambda t, y: -x * y**2, (0, 1), [1.0], **TIGHT).y[0, -1]

    # y = 1 / (1 + x)
    assert np.isclose(tapegrad.hvp(f, (1.0,), (1.0,)), 2 / 2**3, rtol=1e-7)
    assert np.isclose(tapegrad.grad(tapegrad.grad(f))(1.0), 2 / 2**3, rtol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("gradient", ["adjoint", "forward"])
@pytest.mark.parametrize("method", ["RK23", "RK45", "Radau", "BDF", "LSODA"])
def test_each_method(method, gradient):
    options = {"rtol": 1e-6, "atol": 1e-6} if method in ("RK23", "BDF", "Radau") else TIGHT
    f = functools.partial(loss, method=method, gradient=gradient, **options)
    assert_close(tapegrad.grad(f)(START), gradient_of_loss(), 1e-4)


def test_values_are_those_of_scipy():
    events = [lambda t, y, p: y[0] - 2.0]
    options = {"events": events, "dense_output": True, **TIGHT}

    def f(p):
        found = T.solve_ivp(hunt, (0.0, 4.0), [1, 1], args=(p,), **options)
        return found.y[0, -1], found

    _, _, found = tapegrad.vjp(f, START[:4], has_aux=True)
    plain = S.solve_ivp(hunt, (0.0, 4.0), [1, 1], args=(START[:4],), **options)
    still = tapegrad.stop_gradient
    assert np.array_equal(still(found.y), plain.y)
    assert np.array_equal(found.t, plain.t)
    assert np.array_equal(still(found.t_events[0]), plain.t_events[0])
    np.testing.assert_allclose(still(found.y_events[0]), plain.y_events[0], rtol=1e-12)
    assert found.nfev == plain.nfev
    assert found.message == plain.message
    ours = T.solve_ivp(hunt, (0.0, 4.0), [1, 1], args=(START[:4],), **options)
    assert np.array_equal(ours.y, plain.y)


def test_the_function_gets_plain_numbers():
    seen = set()

    def f(t, y, p):
        seen.add((type(t), type(y)))
        return -p * y

    tapegrad.grad(lambda p: T.solve_ivp(f, (0, 1), [1.0], args=(p,)).y[0, -1])(2.0)
    kinds = {kind for _, kind in seen}
    assert np.ndarray in kinds


def fall(x):
    """A ball that is thrown, until it falls through a level: gravity, height, speed, level."""

    def hit(t, y):
        return y[0] - x[3]

    def top(t, y):
        return y[1]

    hit.terminal, hit.direction = True, -1
    found = T.solve_ivp(
        lambda t, y: [y[1], -x[0] - 0.1 * y[1]], (0, 100), [x[1], x[2]], events=[hit, top],
        dense_output=True, **TIGHT,
    )  # fmt: skip
    times = found.t_events[0][0] * 2 + found.t_events[1][0] ** 2 + found.t[-1] ** 2
    states = np.sum(found.y_events[0] * np.array([1, 3.0])) + found.y_events[1][0, 0]
    dense = found.sol(x[0] * 0.1)[0] + found.sol(np.array([0.3, 0.4]))[1, 1]
    return times + states + found.y[1, -1] + dense


def test_events_and_dense_output():
    assert_derivatives(fall, [9.81, 1.0, 5.0, 0.2])


@pytest.mark.slow
def test_second_derivatives_of_events():
    assert_derivatives(fall, [9.81, 1.0, 5.0, 0.2], second=True)


def test_an_event_that_jumps_is_refused():
    def jump(t, y):
        return 1.0 if y[0] < 0.5 else -1.0

    def f(p):
        return T.solve_ivp(lambda t, y: -p * y, (0, 1), [1.0], events=jump).t_events[0][0]

    with pytest.raises(NotDifferentiableError, match="rate zero"):
        tapegrad.grad(f)(1.0)


@pytest.mark.slow
def test_few_states_are_kept_with_checkpoints():
    whole = tapegrad.grad(loss)(START)
    few = tapegrad.grad(functools.partial(loss, checkpoints=3))(START)
    assert_close(few, whole, 1e-7)


@pytest.mark.slow
def test_vmap_of_all():
    batch = np.stack([START, START * 1.01])
    each = np.stack([tapegrad.grad(loss)(x) for x in batch])
    assert_close(tapegrad.vmap(tapegrad.grad(loss))(batch), each, 1e-8)
    assert_close(tapegrad.grad(lambda b: np.sum(tapegrad.vmap(loss)(b)))(batch), each, 1e-8)


def test_vmap():
    def left(rate):
        options = {"t_eval": [0.5, 1.0], **TIGHT}
        return T.solve_ivp(lambda t, y: -rate * y, (0, 1), [1.0], **options).y[0, -1]

    batch = np.array([0.5, 1.0])
    assert_close(tapegrad.vmap(left)(batch), np.exp(-batch), 1e-8)
    assert_close(tapegrad.vmap(tapegrad.grad(left))(batch), -np.exp(-batch), 1e-7)
    together = tapegrad.grad(lambda b: np.sum(tapegrad.vmap(left)(b)))(batch)
    assert_close(together, -np.exp(-batch), 1e-7)
    with pytest.raises(BatchingError, match="t_eval"):
        tapegrad.vmap(lambda r: T.solve_ivp(lambda t, y: r * y, (0, 1), [1.0]).y)(np.ones(2))


class Decay:
    """A right-hand side with a state of its own."""

    def __init__(self, rate):
        self.rate = rate
        self.calls = [0]

    def __call__(self, t, y):
        self.calls[0] += 1
        return -self.rate * y

    def method(self, t, y):
        return -self.rate * y


def wrapped(rate):
    inner = {"rate": rate}

    def helper(y):
        return -inner["rate"] * y

    return lambda t, y, *, scale=1.0: scale * helper(y)


@pytest.mark.parametrize(
    "make",
    [
        Decay,
        lambda rate: Decay(rate).method,
        wrapped,
        lambda rate: functools.partial(lambda r, t, y: -r * y, rate),
        lambda rate: lambda t, y, rate=rate: -rate * y,
    ],
)
def test_what_functions_close_over_is_found(make):
    def left(rate):
        return T.solve_ivp(make(rate), (0, 1), [1.0], **TIGHT).y[0, -1]

    assert np.isclose(tapegrad.grad(left)(0.5), -np.exp(-0.5), rtol=1e-7)


def test_what_is_hidden_raises():
    def left(rate):
        kept = iter(lambda: rate, None)
        return T.solve_ivp(lambda t, y: -next(kept) * y, (0, 1), [rate]).y[0, -1]

    with pytest.raises(tapegrad.TapegradError):
        tapegrad.grad(left)(0.5)


def test_a_failed_solution_has_no_derivative():
    def f(p):
        return T.solve_ivp(lambda t, y: p * y**2, (0, 2), [1.0]).y[0, -1]

    with pytest.raises(NotDifferentiableError, match="step size"):
        tapegrad.grad(f)(1.0)
    assert not T.solve_ivp(lambda t, y: y**2, (0, 2), [1.0]).success


@pytest.mark.parametrize(
    "options", [{"method": "Radau"}, {"dense_output": True}, {"events": lambda t, y: y[0]}]
)
def test_steps_are_refused_where_they_are_not_followed(options):
    def f(p):
        return T.solve_ivp(lambda t, y: p * y, (0, 1), [1.0], gradient="steps", **options).y[0, -1]

    with pytest.raises(InputError, match="steps"):
        tapegrad.grad(f)(1.0)


@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
def test_through_the_steps_the_numerical_solution_is_differentiated(method):
    """At a rough tolerance, where the derivative of the exact solution is another."""
    found = {}
    for gradient in ("steps", "adjoint"):

        def f(x, gradient=gradient):
            return T.solve_ivp(
                lambda t, y: hunt(t, y, START[:4]), (0, 2), x, method=method, rtol=0.1, atol=0.1,
                max_step=0.5, first_step=0.5, gradient=gradient,
            ).y[0, -1]  # fmt: skip

        found[gradient] = tapegrad.grad(f)(np.ones(2))
    assert_close(found["steps"], found["adjoint"], 0.2)
    if method == "RK23":
        expected = differences(f, np.ones(2), 1e-4)  # steps are bounded by max_step: fixed
        if len(S.solve_ivp(lambda t, y: hunt(t, y, START[:4]), (0, 2), np.ones(2), method=method,
                           rtol=0.1, atol=0.1, max_step=0.5, first_step=0.5).t) == 5:  # fmt: skip
            assert_close(found["steps"], expected, 1e-8)


def test_odeint():
    def f(x):
        states = T.odeint(
            lambda y, t, a: hunt(t, y, a), x[4:6], TIMES * x[6], args=(x[:4],), rtol=1e-10,
            atol=1e-10,
        )  # fmt: skip
        return np.sum(states**2)

    assert_derivatives(f, START[[0, 1, 2, 3, 4, 5, 7]], rtol=1e-5)
    y = T.odeint(lambda t, y: -y, 1.0, TIMES, tfirst=True, full_output=True)
    expected = S.odeint(lambda t, y: -y, 1.0, TIMES, tfirst=True, full_output=True)
    assert np.array_equal(y[0], expected[0])


def test_a_complex_state():
    x = np.array([1.0, 0.5, 2.0])

    def f(x, **options):
        first = np.stack([x[0] + 1j * x[1]])
        right = lambda t, z: 1j * x[2] * z * abs(z) ** 2 - z  # noqa: E731
        return np.abs(T.solve_ivp(right, (0, 1), first, **TIGHT, **options).y[0, -1] - 2.0) ** 2

    assert_derivatives(f, x)
    assert_derivatives(functools.partial(f, gradient="forward"), x)


@pytest.mark.filterwarnings("ignore::numpy.exceptions.ComplexWarning")  # by SciPy's solution
def test_a_complex_rate_of_a_real_state_is_refused():
    def lost(a):
        return np.abs(T.solve_ivp(lambda t, y: 1j * a * y, (0, 1), [1.0]).y[0, -1])

    with pytest.raises(InputError, match="complex y0"):
        tapegrad.grad(lost)(1.0)


def test_compiled_derivatives_see_what_changes_outside():
    scale = np.array([1.0, 2.0])

    def f(p):
        right = lambda t, y: np.stack([y[1], -p * np.sin(y[0]) * scale[0]])  # noqa: E731
        return T.solve_ivp(right, (0, 1), [1.0, 0.3]).y[0, -1]

    slope = tapegrad.grad(f)
    fast = tapegrad.compile(slope)
    for p in (1.0, 1.0, 1.0, 2.0, 3.0):
        assert fast(p) == slope(p)
    scale[0] = 3.0
    assert fast(3.0) == slope(3.0)


def test_derivatives_of_higher_order():
    def f(rate):
        return T.solve_ivp(lambda t, y: -rate * y, (0, 1), [1.0], **TIGHT).y[0, -1]

    third = tapegrad.grad(tapegrad.grad(tapegrad.grad(f)))
    assert np.isclose(third(0.5), -np.exp(-0.5), rtol=1e-6)
    second = tapegrad.vmap(tapegrad.hessian(lambda rate: solved_at(rate)))(np.array([0.5, 1.0]))
    assert_close(second, np.exp([-0.5, -1.0]), 1e-6)


def solved_at(rate):
    right = lambda t, y: -rate * y  # noqa: E731
    return T.solve_ivp(right, (0, 1), [1.0], t_eval=[1.0], **TIGHT).y[0, -1]


def switched(t, y, x):
    return -x[0] * y if t < 1 else [-x[0] * y[0] + x[1] * (t - 1) ** 4]


@pytest.mark.part(2)
@pytest.mark.parametrize(
    ("right", "size"), [(hunt, 2), (switched, 1), ("chain", 12), ("chain", 12.5)]
)
def test_each_way_to_solve_the_adjoint_equation(right, size):
    """At once, where fun branches, of a longer state; and with a method of its own."""
    options = {"adjoint": {"method": "DOP853"}} if size % 1 else {}
    size = int(size)

    def chain(t, y, x):
        return x[0] * (np.roll(y, 1) - y) + x[1] * np.sin(y) * np.cos(t)

    def f(x):
        found = T.solve_ivp(
            chain if right == "chain" else right, (0, 2), np.linspace(1, 2, size) * x[2],
            method="DOP853", t_eval=[0.5, 1.5, 2], args=(x,), **TIGHT, **options,
        )  # fmt: skip
        return np.sum(found.y**2 * np.array([1, 2, 3]))

    assert_derivatives(f, [1.0, 0.7, 1.3, 0.4] if right is hunt else [0.6, 0.7, 1.3])


def test_branches_are_followed_for_each_time_and_state():
    def right(t, y, x):
        with_push = t > 0.7
        up = y[1] > 0
        drag = x[1] * y[1] if up else 2 * x[1] * y[1]
        return [y[1], -x[0] * y[0] - drag + (x[2] * (t - 0.7) ** 4 if with_push else 0.0)]

    def f(x):
        found = T.solve_ivp(right, (0, 4), [1.0, 0.5], method="DOP853", args=(x,), **TIGHT)
        return found.y[0, -1]

    assert_derivatives(f, [2.0, 0.3, 0.1])
    with pytest.raises(BatchingError, match="bool"):
        tapegrad.vmap(lambda x: x if x > 0 else -x)(np.ones(2))


@pytest.mark.parametrize(
    ("y0", "options"),
    [([1.0], (1e-7, {})), ([1.0] * 20, (1e-6, {"checkpoints": 3})), ([1.0 + 0.0j], (1e-3, {}))],
)
def test_parameters_that_move_no_state_yet(y0, options):
    """The steps of such a solution are long, and pass over what the parameters would do."""

    rtol, options = options

    def last(push, pulse):
        def right(t, y):
            return -y + push * np.sin(30 * t) + pulse * np.where((t > 0.4) & (t < 0.65), 1, 0)

        found = T.solve_ivp(right, (0, 1), np.array(y0), rtol=rtol, atol=rtol / 10, **options)
        return np.real(found.y[-1, -1])

    push, pulse = tapegrad.grad(last, (0, 1))(0.0, 0.0)
    assert abs(push - ((np.exp(30j) - np.exp(-1)) / (1 + 30j)).imag) < rtol
    assert abs(pulse - (np.exp(-0.35) - np.exp(-0.6))) < rtol


def test_a_function_with_a_memory_is_not_mapped():
    seen = []

    def right(t, y, rate):
        seen.append(float(np.sum(tapegrad.stop_gradient(y))))
        return -rate * y

    def f(rate):
        return T.solve_ivp(right, (0, 1), [1.0], args=(rate,), **TIGHT).y[0, -1]

    assert np.isclose(tapegrad.grad(f)(0.5), -np.exp(-0.5), rtol=1e-7)


@pytest.mark.parametrize("size", [1, 2, 12, 13])
def test_a_pullback_calls_the_right_hand_side_for_many_times_at_once(size):
    calls = []

    def f(rate):
        def right(t, y):
            calls.append(t)
            return -rate * y + 0.1 * np.roll(y, 1) * np.cos(y)

        return T.solve_ivp(right, (0, 2), np.arange(1.0, size + 1)).y[0, -1]

    _, pull = tapegrad.vjp(f, 1.0)
    before = len(calls)
    pull(1.0)
    assert 0 < len(calls) - before < 10


def _plainly(t, y, rate):
    return -rate * y


def _never_a_program(t, y, rate):
    return -rate * y * (1.0 + 0.0 * math.sin(t))


@pytest.mark.part(3)
@pytest.mark.parametrize("gradient", ["adjoint", "forward"])
@pytest.mark.parametrize("method", ["RK45", "Radau"])
@pytest.mark.parametrize("right", [_plainly, _never_a_program])
def test_a_solution_leaves_its_transform_as_it_was(right, method, gradient):
    seen = []

    def f(rate):
        seen.append(CURRENT.get())
        found = T.solve_ivp(
            right, (0, 2), [1.0, 2.0], args=(rate,), method=method, rtol=1e-6, gradient=gradient
        )
        seen.append(CURRENT.get())
        return found.y[0, -1]

    for run in (tapegrad.grad(f), lambda x: tapegrad.jvp(f, (x,), (1.0,))):
        run(0.5)
        before, after = seen
        assert before is after is not None
        seen.clear()


def test_what_a_program_writes_into_a_solution_changes_no_derivative():
    def hit(t, y):
        return y[0] - 0.5

    def f(x, written):
        found = T.solve_ivp(lambda t, y: -x * y, (0, 2), np.ones(1) * x, events=hit, atol=1e-4)
        parts = [found.t, found.y, found.t_events[0], found.y_events[0]]
        out = sum(np.sum(part**2) for part in parts[1:])
        if written is not None:
            parts[written][...] = 7.0
        return out

    expected = tapegrad.grad(f)(1.2, None)
    for written in range(4):
        assert tapegrad.grad(f)(1.2, written) == expected


@pytest.mark.parametrize("end", [2.0, -2.0])
@pytest.mark.parametrize("method", ["RK23", "RK45", "DOP853"])
def test_steps_give_the_states_at_each_time_asked(method, end):
    """Also at the ends of steps, of which the last is the end itself."""

    def states(solve, rate, t_eval, **options):
        return solve(
            lambda t, y: -rate * y * t,
            (0, end),
            [1.0, 2.0],
            method=method,
            t_eval=t_eval,
            **options,
        ).y

    steps = S.solve_ivp(lambda t, y: -0.7 * y * t, (0, end), [1.0, 2.0], method).t
    for asked in (steps, steps[1:-1], steps[-1:], np.linspace(0, end, 4)):
        out, _ = tapegrad.jvp(
            lambda x, at=asked: states(T.solve_ivp, x, at, gradient="steps"), (0.7,), (1.0,)
        )
        np.testing.assert_allclose(out, states(S.solve_ivp, 0.7, asked), rtol=1e-12)


def test_an_event_before_the_first_time_asked():
    def hit(t, y):
        return y[0] - 0.9

    hit.terminal = True

    def f(rate):
        found = T.solve_ivp(
            lambda t, y: -rate * y, (0, 2), [1.0], t_eval=[1.0], events=hit, **TIGHT
        )
        assert found.y.shape == (1, 0)
        return found.t_events[0][0] + np.sum(found.y)

    assert np.isclose(tapegrad.grad(f)(0.5), np.log(0.9) / 0.5**2, rtol=1e-7)


# --- The figures of stiff and chaotic systems ----------------------------------------------------


RATES = np.array([0.04, 3e7, 1e4])


def robertson(t, y, k):
    made, lost = k[2] * y[1] * y[2] - k[0] * y[0], k[1] * y[1] * y[1]
    return [made, -made - lost, lost]


# By SciPy's Radau at rtol 1e-12, atol 1e-16: Richardson's central differences with steps of a
# thousandth of each rate. Rows are the rates, columns the states then; a row's sum is zero.
ROBERTSON = {
    1e4: np.array(
        [
            [-3.43781690995, -5.21610692566e-06, 3.43782212606],
            [-2.27961424325e-09, -1.14292037210e-14, 2.27962567248e-09],
            [1.36776640589e-05, 2.05734194307e-11, -1.36776846320e-05],
        ]
    ),
    1.0: np.array(
        [
            [-7.66582265088e-01, 3.21254416080e-04, 7.66261010643e-01],
            [-7.66511528432e-11, -4.45996807568e-13, 7.70971496592e-11],
            [4.60736067119e-07, -3.99154845134e-10, -4.60336912234e-07],
        ]
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "gradient", "end"),
    [
        ("Radau", "adjoint", 1e4),
        ("BDF", "adjoint", 1e4),
        ("LSODA", "adjoint", 1e4),
        ("Radau", "forward", 1.0),
    ],
)
def test_the_stiff_system_of_robertson(method, gradient, end):
    def last(k):
        return T.solve_ivp(
            robertson, (0, end), [1.0, 0, 0], method=method, rtol=1e-8, atol=1e-12, args=(k,),
            gradient=gradient,
        ).y[:, -1]  # fmt: skip

    found = tapegrad.jacrev(last)(RATES)
    np.testing.assert_allclose(found, ROBERTSON[end].T, rtol=1e-6)


# By mpmath at 30 digits, central differences of odefun with tol=1e-24: rows are the parameters
# sigma, rho, beta and the three first coordinates, columns the coordinates at t = 5.
LORENZ = np.array(
    [
        [-0.38637847, -0.94491522, -0.32110751],
        [-0.99266001, -2.57597459, -0.54421771],
        [-0.45043224, -11.30001028, -19.0029109],
        [-0.1368956, -0.81840289, -0.92853186],
        [-0.13449795, -0.68866324, -0.726552],
        [0.67340645, 0.99794681, -0.30505961],
    ]
)


@pytest.mark.parametrize("gradient", [pytest.param("adjoint", marks=pytest.mark.slow), "steps"])
def test_the_chaotic_system_of_lorenz(gradient):
    def last(x):
        return T.solve_ivp(
            lambda t, y: [
                x[0] * (y[1] - y[0]), y[0] * (x[1] - y[2]) - y[1], y[0] * y[1] - x[2] * y[2]
            ],
            (0, 5.0), x[3:], method="DOP853", rtol=1e-10, atol=1e-10, gradient=gradient,
        ).y[0, -1]  # fmt: skip

    found = tapegrad.grad(last)(np.array([10.0, 28, 8 / 3, 1, 1, 1]))
    np.testing.assert_allclose(found, LORENZ[:, 0], rtol=1e-6)


# --- Integrals -----------------------------------------------------------------------------------

Z = [0.7, 1.3, 0.4, 0.9]

INTEGRALS = {
    "quad": lambda x: T.quad(
        lambda t: np.exp(-x[0] * t * t) * np.sin(x[1] * t + x[2]), x[2], x[3] + 1
    )[0],
    "quad to infinity": lambda x: T.quad(
        lambda t, a, b: np.exp(-a * t * t) * np.sin(b * t), x[2], np.inf, args=(x[0], x[1])
    )[0],
    "quad with a weight": lambda x: T.quad(
        lambda t, a, b: np.exp(-a * t * t) * b, 0, 2, args=(x[0], x[1]), weight="cos", wvar=3.0
    )[0],
    "quad_vec": lambda x: np.sum(
        T.quad_vec(lambda t: np.exp(-x[0] * t * np.arange(1, 4)) * x[1], x[2], x[3] + 1)[0]
    ),
    "fixed_quad": lambda x: T.fixed_quad(lambda t: np.exp(-x[0] * t) * x[1], x[2], x[3])[0],
}
MORE_INTEGRALS = {
    "dblquad": lambda x: T.dblquad(
        lambda y, t: np.exp(-x[0] * t * y) * x[1],
        0,
        x[3],
        lambda t: x[2] * t,
        lambda t: 1 + t * x[1],
    )[0],
    "tplquad": lambda x: T.tplquad(
        lambda z, y, t, a: a * z * y + t * x[1],
        0,
        x[3],
        0,
        lambda t: 1 + t * x[1],
        0,
        lambda a, b: a + b * x[2],
        args=(x[0],),
        epsabs=1e-6,
        epsrel=1e-6,
    )[0],
    "nquad": lambda x: T.nquad(lambda y, t: np.exp(-x[0] * t * y) * x[1], [[0, x[2]], [0, x[3]]])[
        0
    ],
    "qmc_quad": lambda x: (
        T.qmc_quad(
            lambda p: np.exp(-x[0] * p[0] * p[1]) * x[1],
            [0.0, 0],
            np.stack([x[2], x[3]]),
            qrng=_halton(),
        ).integral
    ),
}
if hasattr(S, "cubature"):
    MORE_INTEGRALS["cubature"] = lambda x: (
        T.cubature(
            lambda p: np.exp(-x[0] * p[:, 0] * p[:, 1]) * x[1], [0.0, 0], np.stack([x[2], x[3]])
        ).estimate
    )
if hasattr(S, "tanhsinh"):
    MORE_INTEGRALS["tanhsinh"] = lambda x: np.sum(
        T.tanhsinh(lambda t, a: np.exp(-a * t) * x[1], x[2], x[3] + 1, args=(x * 1.0,)).integral
    )
    MORE_INTEGRALS["nsum"] = lambda x: np.sum(
        T.nsum(lambda t, a: x[1] / t ** (a + 1), 1, np.inf, args=(x + 1,)).sum
    )
    if "kwargs" in inspect.signature(S.tanhsinh).parameters:
        MORE_INTEGRALS["tanhsinh of keywords"] = lambda x: np.sum(
            T.tanhsinh(
                lambda t, a, *, c: np.exp(-a * t) * c,
                x[2],
                x[3] + 1,
                args=x * 1.0,
                kwargs={"c": x[1] * x},
            ).integral
        )


def _halton():
    from scipy.stats import qmc

    return qmc.Halton(2, seed=1)


@pytest.mark.parametrize("name", INTEGRALS)
def test_an_integral_by_limits_and_parameters(name):
    assert_derivatives(INTEGRALS[name], Z)


@pytest.mark.slow
@pytest.mark.parametrize("name", INTEGRALS)
def test_second_derivatives_of_integrals(name):
    assert_derivatives(INTEGRALS[name], Z, second=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE_INTEGRALS)
def test_integrals_of_other_routines(name):
    assert_derivatives(MORE_INTEGRALS[name], Z)


def test_plain_integrals_are_those_of_scipy():
    x = np.array(Z)
    assert T.quad(np.exp, 0, 1) == S.quad(np.exp, 0, 1)
    out, _ = tapegrad.vjp(lambda x: T.quad(lambda t: np.exp(x[0] * t), 0, 1)[0], x)
    assert out == S.quad(lambda t: np.exp(x[0] * t), 0, 1)[0]


def test_integrals_under_vmap():
    def f(x):
        return T.quad(lambda t: np.exp(-x * t), 0, x)[0]

    batch = np.array([1.0, 2.0])
    each = [tapegrad.grad(f)(x) for x in batch]
    assert_close(tapegrad.vmap(f)(batch), [f(x) for x in batch], 1e-12)
    assert_close(tapegrad.vmap(tapegrad.grad(f))(batch), each, 1e-10)
    assert_close(tapegrad.grad(lambda b: np.sum(tapegrad.vmap(f)(b)))(batch), each, 1e-10)


class Slope:
    def __init__(self, x):
        self.x = x

    def density(self, y, t):
        return self.x[0] * np.exp(-self.x[1] * t * y)

    def top(self, t):
        return self.x[1] * t + self.x[0]


NESTS = {
    "infinite limits": lambda x, m: m.dblquad(
        lambda y, t: np.exp(-x[0] * t - x[1] * y * t), x[0], np.inf, lambda t: x[1] * t, np.inf
    )[0],
    "methods": lambda x, m: m.dblquad(Slope(x).density, 0, x[1], 0, Slope(x).top)[0],
    "args": lambda x, m: m.nquad(
        lambda y, t, a, b: a * np.exp(-b * y * t),
        [lambda t, a, b: (a * t, b + t), lambda a, b: (0, a)],
        args=[x[0], x[1]],
    )[0],
    "poles at limits": lambda x, m: m.dblquad(
        lambda y, t: x[0] * np.exp(-x[1] * t * y) / np.sqrt(t * y), 0, 1, 0, lambda t: t
    )[0],
    "points that move": lambda x, m: m.nquad(
        lambda y, t: np.where(y < t * x[1], x[0] * y, 1 + y * t),
        [[0, 2], [0, 1.5]],
        opts=[lambda t: {"points": [t * x[1]]}, {}],
    )[0],
    "weights": lambda x, m: m.nquad(
        lambda y, t: x[0] * np.exp(-x[1] * y * t),
        [[0, 1], [0, 1]],
        opts=[{"weight": "cos", "wvar": 3.0}, {"weight": "alg", "wvar": (-0.5, 0.3)}],
    )[0],
    "a limit that jumps": lambda x, m: m.nquad(
        lambda y, t: x[0] * y,
        [lambda t: (0, x[1] if t < 0.5 else 2 * x[0]), [0, 1]],
        opts=[{}, {"points": [0.5]}],
    )[0],
    "a branch": lambda x, m: m.nquad(
        lambda y, t: x[0] * t * y if y < 0.5 else x[1] * t + x[0],
        [[0, 1], [0, 1]],
        opts=[{"points": [0.5]}, {}],
    )[0],
    "an integrand of no parameter": lambda x, m: m.dblquad(
        lambda y, t: 1.0, 0, x[0], lambda t: -t, lambda t: t * x[1]
    )[0],
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] if "pole" in name or "move" in name else [])
        for name in NESTS
    ],
)
def test_a_nest_of_integrals(name):
    def f(x):
        return NESTS[name](x, T)

    x = np.array(Z[:2])
    out, pull = tapegrad.vjp(f, x)
    assert out == NESTS[name](x, S)
    expected = differences(lambda x: NESTS[name](x, S), x)
    assert_close(pull(1.0)[0], expected, 1e-6)
    assert_close(tapegrad.jvp(f, (x,), (np.ones(2),))[1], np.sum(expected), 1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", NESTS)
def test_second_derivatives_of_a_nest(name):
    def f(x):
        return NESTS[name](x, T)

    x = np.array(Z[:2])
    assert_close(tapegrad.hessian(f)(x), differences(tapegrad.grad(f), x), 1e-5)
    batch = np.stack([x, 1.1 * x])
    each = [tapegrad.grad(f)(x) for x in batch]
    if name != "points that move":
        assert_close(tapegrad.vmap(tapegrad.grad(f))(batch), each, 1e-10)


@pytest.mark.parametrize("depth", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_gradient_of_a_nest_takes_one_pass_for_all_parameters(depth, monkeypatch):
    count = [0]

    def f(x, m):
        def integrand(*at):
            count[0] += 1
            return np.exp(-x[0] * at[0] * at[1]) * x[1] + x[2] * at[-1]

        return m.nquad(integrand, [[0, 1]] * (depth - 1) + [[0, x[2]]])[0]

    f(np.array(Z), S)
    plain, count[0] = count[0], 0
    with monkeypatch.context() as patched:
        patched.setattr(_quick, "_FEW", np.inf)
        tapegrad.grad(lambda x: f(x, T))(np.array(Z))
    assert count[0] <= (depth + 1.5) * plain
    count[0] = 0
    tapegrad.grad(lambda x: f(x, T))(np.array(Z))
    assert count[0] <= (depth + 0.5) * plain  # slopes are a program


def test_a_slope_that_is_zero_beside_others_needs_no_tolerance_of_its_own():
    def f(x, **options):
        return T.quad(lambda t: x[0] * t + x[1] * t * t, -1, 1, **options)[0]

    found = tapegrad.grad(functools.partial(f, epsabs=0, epsrel=1e-12))(np.array(Z[:2]))
    np.testing.assert_allclose(found, [0.0, 2 / 3], atol=1e-15)


def test_an_integral_by_many_parameters():
    rates = np.linspace(0.1, 1, 300)
    found = tapegrad.grad(lambda x: T.quad(lambda t: np.sum(np.exp(-x * t)), 0, 1)[0])(rates)
    np.testing.assert_allclose(found, (np.exp(-rates) * (rates + 1) - 1) / rates**2, rtol=1e-8)


def jumping(x):
    def f(t):
        return np.where(t < x[1], x[0] * t**2, 2 + t * x[1])

    return T.quad(f, x[3], 2 * x[2], points=[x[1], x[0] * 5.0])[0]


@pytest.mark.slow
def test_a_jump_counts_where_it_is_a_point():
    x = [0.7, 0.9, 1.1, -0.3]
    assert_derivatives(jumping, x, second=True)
    assert_derivatives(jumping, [0.7, 0.9, -0.4, 1.3])  # from above to below
    assert np.isclose(
        jumping(x), S.quad(lambda t: 0.7 * t**2, -0.3, 0.9)[0] + 1.3 * 2 + 0.9 * 2.015
    )
    with pytest.raises(InputError, match="points"):
        tapegrad.grad(lambda c: T.quad(lambda t: np.exp(-t), 0, np.inf, points=[c])[0])(1.0)
    with pytest.raises(BatchingError, match="points"):
        tapegrad.vmap(lambda c: T.quad(np.exp, 0, 1, points=[c])[0])(np.ones(2) * 0.5)


@pytest.mark.part(4)
@pytest.mark.parametrize("n", [2, 3, 4, 5, 6, 9])
@pytest.mark.parametrize(
    "name", ["trapezoid", "simpson", "cumulative_trapezoid", "cumulative_simpson", "romb"]
)
def test_integrals_of_samples(name, n):
    rng = np.random.default_rng(0)
    y, x = rng.normal(size=(3, n)), np.cumsum(rng.uniform(0.1, 1, n))
    given = [{"x": x}, {"dx": 0.3}, {}]
    if name == "romb":
        if n not in (2, 3, 5, 9):
            return
        given = given[1:]
    ours, theirs = getattr(T, name), getattr(S, name)
    for options in given:
        assert np.array_equal(ours(y, **options), theirs(y, **options))
        out, dot = tapegrad.jvp(lambda y, o=options: ours(y, **o), (y,), (y,))
        np.testing.assert_allclose(out, theirs(y, **options), rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(dot, out, rtol=1e-12, atol=1e-14)  # linear in y
    if name != "romb":
        check_grads(lambda y, x: ours(y, x=x), (y, x))


@pytest.mark.parametrize(
    "options",
    [{}, {"dx": 0.3}, {"dx": np.float64(0.3)}, {"x": np.arange(5.0)}, {"x": [0, 1, 2, 3, 5]}],
)
@pytest.mark.parametrize(
    "name", ["trapezoid", "simpson", "cumulative_trapezoid", "cumulative_simpson", "romb"]
)
def test_integrals_of_samples_of_single_precision_have_scipys_dtype(name, options):
    y = np.array([1.0, 3.0, 2.0, 5.0, 4.0], np.float32)
    if name == "romb" and "x" in options:
        return
    expected = getattr(S, name)(y, **options)
    found = tapegrad.vjp(lambda y: getattr(T, name)(y, **options), y)[0]
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
@pytest.mark.parametrize(
    "name", ["trapezoid", "simpson", "cumulative_trapezoid", "cumulative_simpson", "romb"]
)
def test_integrals_of_samples_along_each_axis(name, axis):
    """Points of one axis or of all; a first value, which changes no tangent."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=(3, 9, 5) if name == "romb" else (3, 4, 6))
    x = np.cumsum(rng.uniform(0.1, 1, y.shape), axis)
    given = [{}, {"dx": 0.3}]
    if name != "romb":
        given += [{"x": x}, {"x": np.sort(rng.uniform(0, 1, y.shape[axis]))}]
    if name.startswith("cumulative"):
        given += [{**options, "initial": 0} for options in given]
    ours, theirs = getattr(T, name), getattr(S, name)
    for options in given:
        expected = theirs(y, axis=axis, **options)
        out, dot = tapegrad.jvp(lambda y, o=options: ours(y, axis=axis, **o), (y,), (y,))
        np.testing.assert_allclose(out, expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(dot, expected, rtol=1e-12, atol=1e-14)  # linear in y


@pytest.mark.skipif(not hasattr(S, "tanhsinh"), reason="SciPy before 1.15 has neither")
@pytest.mark.parametrize(
    "shapes",
    [
        ((), (), ()),
        ((3,), (), ()),
        ((), (3,), (2, 1)),
        ((2, 1), (3,), (1, 3)),
        ((1,), (2, 3), (4, 1, 1)),
    ],
)
@pytest.mark.parametrize("name", ["tanhsinh", "nsum"])
def test_transposes_of_integrals_for_elements_that_are_repeated(name, shapes):
    rng = np.random.default_rng(0)
    low, high, rate = (
        rng.uniform(*ends, s)
        for ends, s in zip([(0, 0.5), (1, 2), (0.5, 1.5)], shapes, strict=True)
    )

    def integral(low, high, rate):
        return T.tanhsinh(lambda t, c: np.exp(-c * t), low, high, args=(rate,)).integral

    def series(rate):
        first, last = np.ceil(low + 1), np.floor(high + 4)
        return T.nsum(lambda t, c: np.exp(-c * t), first, last, args=(rate,)).sum

    f, given = (integral, (low, high, rate)) if name == "tanhsinh" else (series, (rate,))
    dots = [rng.normal(size=np.shape(x)) for x in given]
    out, dot = tapegrad.jvp(f, given, tuple(dots))
    bar = rng.normal(size=np.shape(out))
    bars = tapegrad.vjp(f, *given)[1](bar)
    assert [np.shape(x) for x in bars] == [np.shape(x) for x in given]
    total = sum(np.sum(x * y) for x, y in zip(bars, dots, strict=True))
    np.testing.assert_allclose(total, np.sum(bar * dot), rtol=1e-10)


def test_what_is_refused_says_so():
    with pytest.raises(InputError, match="weight"):
        tapegrad.grad(lambda a: T.quad(np.exp, 0, a, weight="cos", wvar=1.0)[0])(1.0)


def test_every_public_name_has_a_decision():
    classes = {
        "BDF", "DOP853", "DenseOutput", "LSODA", "OdeSolution", "OdeSolver", "RK23", "RK45",
        "Radau", "complex_ode",
    }  # fmt: skip
    constants = {"IntegrationWarning", "ODEintWarning", "lebedev_rule", "test"}
    modules = {"dop", "lsoda", "odepack", "quadpack", "vode"}
    public = {name for name in dir(S) if not name.startswith("_")}
    assert public - classes - constants - modules == set(T.__all__)


@pytest.mark.slow
@pytest.mark.peers
def test_gradients_are_those_of_jax():
    pytest.importorskip("jax")
    import jax
    from jax.experimental.ode import odeint

    jax.config.update("jax_enable_x64", True)

    def right(y, t, p):
        push = 0.1 * jax.numpy.sin(t)
        meet = y[0] * y[1]
        return jax.numpy.stack([p[0] * y[0] - p[1] * meet + push, -p[2] * y[1] + p[3] * meet])

    def theirs(p):
        return odeint(right, np.ones(2), TIMES, p, rtol=1e-10, atol=1e-10)[-1, 0]

    def ours(p):
        return T.odeint(hunt, np.ones(2), TIMES, args=(p,), tfirst=True, rtol=1e-10,
                        atol=1e-10)[-1, 0]  # fmt: skip

    assert_close(tapegrad.grad(ours)(START[:4]), jax.grad(theirs)(START[:4]), 1e-6)


def test_cumulative_simpson_checks_points_along_their_own_axis():
    x = np.cumsum(np.array([[0.3, 0.1], [0.2, 0.5], [0.7, 0.2], [0.4, 0.6]]), axis=0)[:, ::-1]
    y = np.sin(x)

    def f(y, x):
        return np.sum(T.cumulative_simpson(y, x=x, axis=0) ** 2)

    found = tapegrad.grad(f, (0, 1))(y, x)
    for i, direction in enumerate((y, x)):
        moved = [(y + h * y, x) if i == 0 else (y, x + h * x) for h in (1e-6, -1e-6)]
        change = (f(*moved[0]) - f(*moved[1])) / 2e-6
        np.testing.assert_allclose(np.sum(found[i] * direction), change, rtol=1e-7)
    with pytest.raises(ValueError, match="strictly increasing"):
        tapegrad.grad(f)(y, x[::-1])


def test_fixed_quad_under_vmap_of_its_limits():
    def f(a, b):
        return T.fixed_quad(lambda x: x**2, a, b)[0]

    found = tapegrad.vmap(tapegrad.grad(f, (0, 1)))(np.array([0.0, 1.0]), np.array([2.0, 3.0]))
    np.testing.assert_allclose(found, [[-0.0, -1.0], [4.0, 9.0]], atol=1e-12)


def test_an_object_whose_constructor_integrates_its_method():
    @dataclasses.dataclass(init=False)
    class Mass:
        rate: float
        total: float

        def __init__(self, rate):
            self.rate = rate
            self.total = T.quad(self.density, 0.0, np.inf)[0]

        def density(self, x):
            return np.exp(-self.rate * x)

    assert Mass(2.0).total == S.quad(Mass(2.0).density, 0.0, np.inf)[0]
    np.testing.assert_allclose(tapegrad.grad(lambda rate: Mass(rate).total)(2.0), -0.25)


@pytest.mark.parametrize("of_time", [math.sin, lambda t: int(4 * t)])
def test_no_warning_speaks_of_a_program_that_the_user_did_not_ask_for(of_time):
    """Both ask for the time: no program knows each, nor has it so many ways to go."""
    solve_ivp = importlib.import_module("tapegrad.scipy.integrate").solve_ivp

    def end(k):
        def fun(t, y):
            return np.stack([y[1], -k * y[0] + of_time(t)])

        return solve_ivp(fun, (0.0, 3.0), np.array([1.0, 0.0]), rtol=1e-7).y[0, -1]

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        tapegrad.grad(end)(1.0)
    assert not seen


def test_integrands_and_rates_that_close_over_a_loops_variable_are_as_they_were():
    def program(p):
        total = 0.0
        for i in range(4):
            rate = lambda *_: p * (1 + i)  # noqa: B023, E731 - the variable is the point
            total = total + T.quad(lambda x: x * p * rate(), 0, 1)[0]  # noqa: B023
            total = total + T.solve_ivp(lambda *_: [rate()], (0, 1), [0.0]).y[0, -1]  # noqa: B023
            total = total + T.odeint(rate, [0.0], [0.0, 1.0])[-1, 0]
        return total

    assert np.isclose(tapegrad.grad(program)(1.5), 15 + 10 + 10)
    assert np.isclose(tapegrad.jvp(program, (1.5,), (1.0,))[1], 15 + 10 + 10)


@pytest.mark.skipif(not hasattr(S, "tanhsinh"), reason="an older SciPy")
def test_where_a_jump_moves_there_is_no_derivative():
    def f(m):
        return T.tanhsinh(lambda t, m: np.where(t < m, 1.0, 0.5), 0.0, 1.0, args=(m,)).integral

    jumps = pytest.warns(UserWarning, match="may jump at a place that moves")
    with pytest.warns(RuntimeWarning, match="NaN in the derivative"), jumps:
        assert np.isnan(tapegrad.grad(f)(0.4))
