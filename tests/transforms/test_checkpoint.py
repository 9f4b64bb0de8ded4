"""checkpoint and checkpoint_sequence: the derivatives of the plain function, in less memory."""

from __future__ import annotations

import math
import tracemalloc
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapegrad import (
    BatchingError,
    InputError,
    LeakedValueError,
    RuleError,
    checkpoint,
    checkpoint_sequence,
    custom_jvp,
    custom_vjp,
    grad,
    hessian,
    hvp,
    jacfwd,
    jacobian,
    jacrev,
    jvp,
    linearize,
    stop_gradient,
    value_and_grad,
    vhp,
    vjp,
    vmap,
)
from tapegrad._transforms.schedule import first_jump
from tapegrad._tree import flatten

X = np.array([0.5, -1.25, 2.0])
V = np.array([1.5, 0.25, -0.5])


def same(a, b, rtol=1e-12):
    left, structure = flatten(a)
    right, other = flatten(b)
    assert structure == other
    for one, another in zip(left, right, strict=True):
        assert np.shape(one) == np.shape(another)
        assert getattr(one, "dtype", None) == getattr(another, "dtype", None)
        np.testing.assert_allclose(one, another, rtol=rtol, atol=1e-13)


# --- checkpoint: the laws -----------------------------------------------------------------------


def elementwise(x):
    return np.sin(x) * x


def branching(x):
    y = x
    while np.sum(y * y) < 40.0:
        y = y * 1.5 if y[0] > 0.7 else y + np.sin(y)
    return y


def writing(x):
    y = np.zeros(4, like=x)
    y[1:] = x * x
    y[0] = np.sum(y[1:])
    view = y[::2]
    view *= np.cos(x[0])
    return y


def overwriting_a_copy(x):
    x = x.copy()
    x[0] = x[1] * x[2]
    x *= 2.0
    return x * x[0]


def products(x):
    a = np.outer(x, np.exp(-x * x)) + 3 * np.eye(3)
    return np.linalg.solve(a, x) @ a


def nested(x):
    return checkpoint(lambda y: checkpoint(np.sin)(y) * y)(x) * checkpoint(elementwise)(x)


def returning_a_tree(x):
    return {"a": x[0] * x, "b": [np.sum(x), (x[1], None)], "n": 3, "name": "tree"}


PROGRAMS = {
    f.__name__: f
    for f in (
        elementwise, branching, writing, overwriting_a_copy, products, nested,
    )
}  # fmt: skip
each_program = pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)

FIRST_ORDER = {
    "vjp": lambda f: lambda x: vjp(f, x)[1](np.cos(f(x)))[0],
    "jvp": lambda f: lambda x: jvp(f, (x,), (V,)),
    "linearize": lambda f: lambda x: linearize(f, x)[1](V),
    "jacrev": jacrev,
    "jacfwd": jacfwd,
    "value_and_grad": lambda f: value_and_grad(lambda x: np.sum(f(x) ** 2)),
}
SECOND_ORDER = {
    "hessian": lambda f: hessian(lambda x: np.sum(f(x))),
    "hvp": lambda f: lambda x: hvp(lambda x: np.sum(f(x)), (x,), (V,)),
    "vhp": lambda f: lambda x: vhp(lambda x: np.sum(f(x)), (x,), (V,)),
    "jacrev of jacrev": lambda f: jacrev(jacrev(f)),
    "jacfwd of jacfwd": lambda f: jacfwd(jacfwd(f)),
    "jvp of grad": lambda f: lambda x: jvp(grad(lambda x: np.sum(f(x))), (x,), (V,)),
    "grad of jvp": lambda f: grad(lambda x: np.sum(jvp(f, (x,), (V,))[1])),
    "grad of linearize": lambda f: grad(lambda x: np.sum(linearize(f, x)[1](V))),
    "third": lambda f: hessian(lambda x: np.sum(grad(lambda x: np.sum(f(x)))(x) * V)),
}
ORDERS = {**FIRST_ORDER, **SECOND_ORDER}


@pytest.mark.part(3)
@pytest.mark.parametrize("name", ORDERS)
@each_program
def test_derivatives_are_those_of_the_plain_function(f, name):
    same(ORDERS[name](lambda x: checkpoint(f)(x * 1.0))(X), ORDERS[name](lambda x: f(x * 1.0))(X))


@each_program
def test_values_are_those_of_the_plain_function(f):
    np.testing.assert_array_equal(checkpoint(f)(X.copy()), f(X.copy()))
    value, _ = jvp(checkpoint(f), (X,), (V,))
    np.testing.assert_array_equal(value, f(X.copy()))


@pytest.mark.parametrize("name", ORDERS)
def test_between_other_operations(name):
    def around(inner):
        return lambda x: np.cos(inner(np.exp(x / 3)) * x) + inner(x)

    same(ORDERS[name](around(checkpoint(elementwise)))(X), ORDERS[name](around(elementwise))(X))


@each_program
def test_inside_and_around_vmap(f):
    if f is branching:
        pytest.skip("each example would take a branch of its own")
    points = np.stack([X, 2 * X, V])

    def total(f):
        return lambda x: np.sum(f(x * 1.0) ** 2)

    same(vmap(checkpoint(f))(points.copy()), vmap(f)(points.copy()))
    loop = np.stack([grad(total(f))(x) for x in points])
    same(vmap(grad(total(checkpoint(f))))(points), loop)
    same(grad(lambda p: np.sum(vmap(total(checkpoint(f)))(p)))(points), loop)
    same(grad(lambda p: np.sum(checkpoint(vmap(total(f)))(p)))(points), loop)
    same(
        jacfwd(vmap(lambda x: checkpoint(f)(x * 1.0)))(points),
        jacfwd(vmap(lambda x: f(x * 1.0)))(points),
    )
    same(
        grad(lambda p: np.sum(vmap(grad(total(checkpoint(f))))(p) ** 2))(points),
        grad(lambda p: np.sum(vmap(grad(total(f)))(p) ** 2))(points),
        rtol=1e-10,
    )


def test_inside_vmap_of_vmap():
    points = np.arange(12.0).reshape(2, 2, 3) / 5

    def f(inner):
        return lambda p: np.sum(vmap(vmap(inner, in_axes=0), in_axes=1)(p) ** 2)

    same(grad(f(checkpoint(elementwise)))(points), grad(f(elementwise))(points))


def test_inside_vmap_it_still_runs_again():
    runs = []

    def f(x):
        runs.append(1)
        return np.sin(x) * x

    grad(lambda p: np.sum(vmap(checkpoint(f))(p)))(np.stack([X, V]))
    assert len(runs) == 2


def test_arguments_shared_between_examples():
    def f(x, scale, n):
        for _ in range(n):
            x = x * scale
        return x, n

    def total(inner):
        def of(p, scale):
            y, n = vmap(inner, in_axes=(0, None, None), out_axes=(0, None))(p, scale, 3)
            assert n == 3
            return np.sum(y)

        return of

    points = np.stack([X, V])
    same(grad(total(checkpoint(f)), (0, 1))(points, 0.5), grad(total(f), (0, 1))(points, 0.5))


# --- checkpoint: arguments and results ----------------------------------------------------------


class Pair(NamedTuple):
    left: object
    right: object


def of_many(p, n, *, scale=1.0, name="x"):
    assert isinstance(n, int)
    assert name == "x"
    y = p.left["w"] * scale
    for _ in range(n):
        y = np.sin(y) + p.right[0]
    return Pair({"y": y, "n": n}, [np.sum(y), name, None])


def test_pytrees_keywords_and_whole_numbers():
    p = Pair({"w": X}, [2.0])

    def total(f):
        def of(p, scale):
            out = f(p, 3, scale=scale)
            assert out.left["n"] == 3
            assert out.right[1:] == ["x", None]
            return np.sum(out.left["y"] ** 2) * out.right[0]

        return of

    same(grad(total(checkpoint(of_many)), (0, 1))(p, 0.5), grad(total(of_many), (0, 1))(p, 0.5))
    same(
        jvp(total(checkpoint(of_many)), (p, 0.5), (p, 1.0)),
        jvp(total(of_many), (p, 0.5), (p, 1.0)),
    )


@pytest.mark.parametrize("name", ["vjp", "linearize", "jacrev", "jacfwd", "grad of jvp"])
def test_results_in_containers(name):
    def parts(f):
        def of(x):
            out = f(x * 1.0)
            assert out["n"] == 3
            assert out["name"] == "tree"
            return np.concatenate([out["a"], [out["b"][0], out["b"][1][0]]]) ** 2

        return of

    same(
        ORDERS[name](parts(checkpoint(returning_a_tree)))(X),
        ORDERS[name](parts(returning_a_tree))(X),
    )


def test_whole_arrays_and_booleans_in_and_out():
    def f(x, mask, order):
        return np.where(mask, x, 0.0)[order], np.argsort(x), x > 0

    def total(f):
        def of(x):
            y, order, positive = f(x, np.array([True, False, True]), np.array([2, 0, 1]))
            return np.sum(y * np.arange(3) * x[order] * positive)

        return of

    same(grad(total(checkpoint(f)))(X), grad(total(f))(X))


def test_kinds_and_dtypes():
    for x in (2.0, np.float32(2), np.array(2.0), X.astype(np.float32), X + 1j, np.zeros((0, 3))):
        f = lambda x: np.sum(np.abs(x * x))  # noqa: E731
        same(grad(checkpoint(f))(x), grad(f)(x))
        assert type(grad(checkpoint(f))(x)) is type(grad(f)(x))


def test_a_result_that_does_not_depend_on_the_argument():
    def f(x):
        return x * 2, np.ones(3), 1.0

    same(vjp(lambda x: checkpoint(f)(x)[0], X)[1](V), (2 * V,))
    same(jvp(lambda x: checkpoint(f)(x)[1], (X,), (V,))[1], np.zeros(3))


def test_the_argument_itself_as_result():
    same(jacrev(checkpoint(lambda x: x))(X), np.eye(3))
    same(hessian(lambda x: np.sum(checkpoint(lambda x: (x, x))(x)[0] ** 2))(X), 2 * np.eye(3))


def test_without_a_transform_it_is_the_function():
    out = X.copy()
    assert checkpoint(lambda x: x)(out) is out
    assert checkpoint(lambda: "nothing")() == "nothing"
    checkpoint(lambda x: x.fill(0.0))(out)
    assert out[0] == 0


def test_constants_that_change_after_the_call_do_not_matter():
    scale, power = np.array([1.0, 2.0, 3.0]), np.array([2, 2, 2])

    def f(x):
        y = checkpoint(lambda x, scale, power: scale * x**power)(x, scale, power)
        scale[...] = np.nan
        power[...] = 7
        return np.sum(y)

    np.testing.assert_array_equal(grad(f)(X), 2 * X * [1.0, 2.0, 3.0])


def test_whole_numbers_that_it_writes_into_are_the_same_in_a_second_run():
    def counted(x, at):
        at += 1
        return x[at] ** 2

    at = np.array([-1, 0, 0])
    slope = grad(lambda x: np.sum(checkpoint(counted)(x, at)))
    for _ in range(2):
        np.testing.assert_array_equal(slope(X), [2 * X[0], 4 * X[1], 0])
    np.testing.assert_array_equal(at, [-1, 0, 0])


def test_pullbacks_may_be_called_again_and_again():
    _, pullback = vjp(checkpoint(elementwise), X)
    _, expected = vjp(elementwise, X)
    for i in range(3):
        same(pullback(V * i), expected(V * i))
    _, pushforward = linearize(checkpoint(elementwise), X)
    for i in range(3):
        same(pushforward(V * i), linearize(elementwise, X)[1](V * i))


def test_how_often_it_runs():
    runs = []

    def f(x):
        runs.append(1)
        return np.sum(np.sin(x))

    checkpoint(f)(X)
    assert len(runs) == 1
    grad(checkpoint(f))(X)
    assert len(runs) == 3
    _, pullback = vjp(checkpoint(f), X)
    assert len(runs) == 4
    pullback(1.0)
    pullback(1.0)
    assert len(runs) == 6


def test_custom_functions_inside_and_outside():
    @custom_vjp
    def clipped(x):
        return np.sin(x)

    clipped.defvjp(lambda x: (np.sin(x), x), lambda x, g: (np.clip(g, -1, 1) * x,))

    @custom_jvp
    def steep(x):
        return np.sin(x)

    steep.defjvp(lambda primals, tangents: (np.sin(primals[0]), 3 * tangents[0] * primals[0]))
    for inner in (clipped, steep):
        for name in ("vjp", "jacrev", "jacfwd", "hessian", "grad of jvp"):
            same(
                ORDERS[name](checkpoint(lambda x, inner=inner: inner(x) * x))(X),
                ORDERS[name](lambda x, inner=inner: inner(x) * x)(X),
            )


def test_stop_gradient_inside():
    def f(x):
        return np.sum(x * stop_gradient(x))

    same(grad(checkpoint(f))(X), X)


# --- checkpoint: errors -------------------------------------------------------------------------


def test_random_numbers_inside_are_found_out():
    generator = np.random.default_rng(0)
    noisy = checkpoint(lambda x: x * generator.normal(size=3))
    for take in (
        lambda: grad(lambda x: np.sum(noisy(x)))(X),
        lambda: jacrev(noisy)(X),
        lambda: linearize(noisy, X)[1](V),
    ):
        with pytest.raises(RuleError, match="returned something else"):
            take()


def test_a_state_outside_that_changes_is_found_out():
    calls = []

    @checkpoint
    def f(x):
        calls.append(1)
        return x if len(calls) == 1 else (x, x)

    with pytest.raises(RuleError, match="returned something else"):
        grad(lambda x: np.sum(f(x)))(X)


CLOSURES = {
    "grad": lambda inner: grad(lambda y: np.sum(inner(y)))(X),
    "jvp": lambda inner: jvp(inner, (X,), (V,)),
    "jacfwd": lambda inner: jacfwd(inner)(X),
}


@pytest.mark.parametrize("outer", CLOSURES)
def test_closing_over_a_value_of_the_same_transform(outer):
    with pytest.raises(RuleError, match="closes over a traced value"):
        CLOSURES[outer](lambda y: checkpoint(lambda z: z * y)(y * 1.0))


@pytest.mark.parametrize("inner", CLOSURES)
@pytest.mark.parametrize("outer", CLOSURES)
def test_closing_over_a_value_of_another_transform_is_right_or_refused(outer, inner):
    """Over an inner one's, with an argument of the outer one; and the other way round."""

    def run(wrap, turned):
        def of_x(x):
            def of_y(y):
                a, b = (x, y) if turned else (y, x)
                return wrap(lambda z: np.sin(z) * b * z)(a * 1.0) * y

            found = flatten(
                {
                    "grad": lambda: grad(lambda y: np.sum(of_y(y)))(X),
                    "jvp": lambda: jvp(of_y, (X,), (V,)),
                    "jacfwd": lambda: jacfwd(of_y)(X),
                }[inner]()
            )[0]
            return sum(np.sum(part) for part in found) * x

        return CLOSURES[outer](of_x)

    for turned in (False, True):
        expected = run(lambda f: f, turned)
        try:
            found = run(checkpoint, turned)
        except RuleError as error:
            assert "closes over a traced value" in str(error)  # noqa: PT017
        else:
            same(found, expected)


def test_closing_over_a_mapped_value():
    def f(wrap):
        return lambda y: grad(lambda x: np.sum(wrap(lambda z: z * z * y)(x)))(X)

    points = np.stack([X, V])
    same(vmap(f(checkpoint))(points), vmap(f(lambda g: g))(points))


KEPT = []


def keeping(x, *_):
    KEPT.append(x)
    return np.sin(x) * x


@custom_vjp
def keeping_by_rule(x):
    return keeping(x)


keeping_by_rule.defvjp(lambda x: (keeping(x), x), lambda x, g: (keeping(g) * x,))
POINTS = np.stack([X, V])
LEAKS = {
    "checkpoint": lambda f: f(checkpoint(keeping), X),
    "checkpoint inside vmap": lambda f: f(vmap(checkpoint(keeping)), POINTS),
    "a sequence": lambda f: f(lambda x: checkpoint_sequence(keeping, x, 3), X),
    "a sequence inside vmap": lambda f: f(
        vmap(lambda x: checkpoint_sequence(keeping, x, 3)), POINTS
    ),
    "a rule": lambda f: f(keeping_by_rule, X),
    "a rule inside vmap": lambda f: f(vmap(keeping_by_rule), POINTS),
}


@pytest.mark.parametrize("leak", LEAKS)
@pytest.mark.parametrize("inside", ["grad", "vmap of grad"])
def test_a_value_that_outlives_what_runs_again_is_refused(leak, inside):
    """Values of a second run too, which belong to a trace or a vmap of their own."""

    def derived(f, x):
        slope = grad(lambda x: np.sum(f(x)))
        return slope(x) if inside == "grad" else vmap(slope)(np.stack([x, x]))

    KEPT.clear()
    LEAKS[leak](derived)
    leaked = [value for value in KEPT if type(value) is not np.ndarray]
    assert leaked or leak == "a rule"
    for value in leaked:
        for use in (np.sin, lambda x: x[0], lambda x: vmap(lambda y: y * x)(POINTS)):
            with pytest.raises(LeakedValueError, match=r"value from \S+ used after"):
                use(value)


# --- checkpoint: memory -------------------------------------------------------------------------


def peak_of(run):
    run()
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


@pytest.mark.slow
def test_memory_is_smaller():
    x = np.linspace(0.1, 0.9, 20_000)

    def block(x):
        for _ in range(10):
            x = np.sin(x) * 1.1
        return x

    def chain(wrap):
        def of(x):
            for _ in range(10):
                x = wrap(block)(x)
            return np.sum(x)

        return of

    plain = peak_of(lambda: grad(chain(lambda f: f))(x)) / x.nbytes
    kept = peak_of(lambda: grad(chain(checkpoint))(x)) / x.nbytes
    mapped = peak_of(
        lambda: grad(lambda p: np.sum(vmap(chain(checkpoint))(p)))(x.reshape(100, 200))
    )
    assert plain > 90
    assert kept < 35
    assert mapped / x.nbytes < 35


# --- checkpoint_sequence: the laws --------------------------------------------------------------


def step(x, rate):
    return x + rate * np.sin(x) * np.sum(x)


def branching_step(x, rate):
    return x * rate if x[0] > 1.0 else x + np.abs(x[::-1]) * rate


def writing_step(x, rate):
    x[1:] += rate * x[:-1]
    x[0] = np.sin(x[0])
    return x


STEPS = {f.__name__: f for f in (step, branching_step, writing_step)}


def sequence(f, n, snapshots):
    return lambda x, rate: checkpoint_sequence(f, x * 1.0, n, rate, snapshots=snapshots)


def loop(f, n):
    def of(x, rate):
        x = x * 1.0
        for _ in range(n):
            x = f(x, rate)
        return x

    return of


@pytest.mark.part(3)
@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("f", STEPS.values(), ids=STEPS)
def test_derivatives_are_those_of_the_loop(f, name):
    take = ORDERS[name]
    same(
        take(lambda x: sequence(f, 7, 3)(x, 0.1 * x[1] ** 2))(X),
        take(lambda x: loop(f, 7)(x, 0.1 * x[1] ** 2))(X),
        rtol=1e-10,
    )


@given(st.integers(0, 60), st.integers(1, 12))
def test_for_any_number_of_steps_and_snapshots(n, snapshots):
    def total(run):
        return lambda x, rate: np.sum(run(x, rate) ** 2)

    same(
        grad(total(sequence(step, n, snapshots)), (0, 1))(X, 0.01),
        grad(total(loop(step, n)), (0, 1))(X, 0.01),
        rtol=1e-9,
    )


@given(st.integers(1, 800), st.integers(1, 40))
def test_the_number_of_steps_is_the_published_one(n, snapshots):
    runs = []

    def counted(x):
        runs.append(1)
        return x * 0.999

    if snapshots < 3:
        n = n % 60 + 1  # the number grows with the square of n
    repeats = 0
    while math.comb(snapshots + repeats, repeats) < n:
        repeats += 1
    published = repeats * n - (math.comb(snapshots + repeats, repeats - 1) if repeats else 0)
    last, left = 0, snapshots
    while left > 1 and n - last > 1:
        last, left = last + first_jump(n - last, left), left - 1
    grad(lambda x: checkpoint_sequence(counted, x, n, snapshots=snapshots))(1.0)
    assert len(runs) == published + n + (n - last)


def test_the_number_of_steps_is_the_least():
    """Against all schedules, by dynamic programming."""
    least = {(1, s): 0 for s in range(1, 7)}
    for n in range(2, 50):
        least[n, 1] = n * (n - 1) // 2
        for s in range(2, 7):
            least[n, s] = min(
                jump + least[n - jump, s - 1] + least[jump, s] for jump in range(1, n)
            )
            jump = first_jump(n, s)
            assert jump + least[n - jump, s - 1] + least[jump, s] == least[n, s]


@pytest.mark.slow
@pytest.mark.scheduled
def test_memory_and_gradient_of_ten_thousand_steps():
    x = np.linspace(0.1, 0.9, 20_000)

    def small_step(x):
        return x + 1e-3 * np.sin(x)

    def run(x):
        return np.sum(checkpoint_sequence(small_step, x, 10_000, snapshots=50))

    def plain(x):
        for _ in range(10_000):
            x = small_step(x)
        return np.sum(x)

    tracemalloc.start()
    gradient = grad(run)(x)
    peak = tracemalloc.get_traced_memory()[1] / x.nbytes
    tracemalloc.stop()
    assert peak < 60
    np.testing.assert_array_equal(gradient[:100], grad(plain)(x[:100]))


@pytest.mark.slow
def test_memory_of_some_hundred_steps():
    x = np.linspace(0.1, 0.9, 20_000)

    def run(n, snapshots):
        f = lambda x: np.sum(checkpoint_sequence(np.sin, x, n, snapshots=snapshots))  # noqa: E731
        return peak_of(lambda: grad(f)(x)) / x.nbytes

    assert run(300, 5) < 5 + 9
    assert run(300, 20) < 20 + 9
    forward = peak_of(
        lambda: jvp(lambda x: checkpoint_sequence(np.sin, x, 300, snapshots=20), (x,), (x,))
    )
    assert forward / x.nbytes < 12


@pytest.mark.slow
def test_memory_of_a_hessian_vector_product():
    x = np.linspace(0.1, 0.9, 20_000)

    def f(x):
        return np.sum(checkpoint_sequence(np.sin, x, 300, snapshots=20))

    assert peak_of(lambda: hvp(f, (x,), (x,))) / x.nbytes < 2 * 20 + 20


# --- checkpoint_sequence: states and arguments --------------------------------------------------


def test_states_and_arguments_in_containers():
    def counted(state, p, flag):
        assert flag is True
        scale = p["rate"] if state["i"] % 2 else 1.0
        return {
            "i": state["i"] + 1,
            "xv": Pair(state["xv"].left + scale * state["xv"].right, state["xv"].right * 0.9),
            "table": state["table"],
        }

    def total(run):
        def of(x, v, rate):
            state = {"i": 0, "xv": Pair(x, v), "table": np.array([1, 2])}
            out = run(counted, state, 9, {"rate": rate}, True)
            assert out["i"] == 9
            np.testing.assert_array_equal(out["table"], [1, 2])
            return np.sum(out["xv"].left ** 2) + np.sum(out["xv"].right)

        return of

    def plain(f, state, n, *args):
        for _ in range(n):
            state = f(state, *args)
        return state

    for snapshots in (1, 2, 4, 20):

        def kept(f, state, n, *args, snapshots=snapshots):
            return checkpoint_sequence(f, state, n, *args, snapshots=snapshots)

        same(grad(total(kept), (0, 1, 2))(X, V, 0.5), grad(total(plain), (0, 1, 2))(X, V, 0.5))
        same(
            hessian(lambda x: total(kept)(x, V, 0.5))(X),
            hessian(lambda x: total(plain)(x, V, 0.5))(X),
        )
        tangents = (X, V, 0.5), (V, X, 1.0)
        same(jvp(total(kept), *tangents), jvp(total(plain), *tangents))


def test_only_some_of_the_state_or_the_arguments_may_be_traced():
    same(
        grad(lambda r: np.sum(sequence(step, 7, 2)(X, r)))(0.1),
        grad(lambda r: np.sum(loop(step, 7)(X, r)))(0.1),
    )
    same(
        grad(lambda x: np.sum(sequence(step, 7, 2)(x, 0.1)))(X),
        grad(lambda x: np.sum(loop(step, 7)(x, 0.1)))(X),
    )


def test_no_steps_and_one():
    same(jacobian(lambda x: checkpoint_sequence(np.sin, x, 0))(X), np.eye(3))
    same(jacobian(lambda x: checkpoint_sequence(np.sin, x, 1))(X), np.diag(np.cos(X)))
    np.testing.assert_array_equal(checkpoint_sequence(np.sin, X, 0), X)


def test_pullbacks_of_sequences_may_be_called_again():
    _, pullback = vjp(sequence(step, 9, 3), X, 0.1)
    _, expected = vjp(loop(step, 9), X, 0.1)
    for i in range(3):
        same(pullback(V * i), expected(V * i))
    same(vmap(pullback)(np.eye(3)), vmap(expected)(np.eye(3)))


def test_states_written_to_by_the_program_later():
    def f(x):
        y = x * 1.0
        out = checkpoint_sequence(step, y, 5, 0.1, snapshots=2)
        y[...] = 0.0
        out *= 2.0
        return np.sum(out)

    same(grad(f)(X), 2 * grad(lambda x: np.sum(loop(step, 5)(x, 0.1)))(X))


def test_sequences_nest():
    def outer_step(x):
        return checkpoint_sequence(np.sin, x * 1.1, 4, snapshots=2) + checkpoint(np.cos)(x)

    def plain_step(x):
        y = x * 1.1
        for _ in range(4):
            y = np.sin(y)
        return y + np.cos(x)

    f = lambda x: checkpoint_sequence(outer_step, x, 5, snapshots=2)  # noqa: E731

    def plain(x):
        for _ in range(5):
            x = plain_step(x)
        return x

    for name in ("vjp", "jacfwd", "hessian", "grad of jvp"):
        same(ORDERS[name](f)(X), ORDERS[name](plain)(X))
        same(ORDERS[name](checkpoint(f))(X), ORDERS[name](plain)(X))


def test_sequences_inside_and_around_vmap():
    points = np.stack([X, V, 0.5 * X])
    kept, plain = sequence(step, 6, 2), loop(step, 6)
    axes = (0, None)
    same(vmap(kept, axes)(points, 0.1), vmap(plain, axes)(points, 0.1))
    for outer in (grad, jacfwd):
        same(
            outer(lambda p, r: np.sum(vmap(kept, axes)(p, r) ** 2), (0, 1))(points, 0.1),
            outer(lambda p, r: np.sum(vmap(plain, axes)(p, r) ** 2), (0, 1))(points, 0.1),
        )
    same(
        vmap(grad(lambda x, r: np.sum(kept(x, r))), axes)(points, 0.1),
        vmap(grad(lambda x, r: np.sum(plain(x, r))), axes)(points, 0.1),
    )
    # The rates differ between examples, the first states do not.
    rates = np.array([0.1, 0.2, 0.3])
    same(
        grad(lambda r: np.sum(vmap(kept, (None, 0))(X, r) ** 2))(rates),
        grad(lambda r: np.sum(vmap(plain, (None, 0))(X, r) ** 2))(rates),
    )


def test_counters_inside_vmap():
    def counted(state, rate):
        i, x = state
        return i + 1, x * rate if i % 2 else np.sin(x)

    def kept(p, rate):
        def one(x):
            i, y = checkpoint_sequence(counted, (0, x), 6, rate, snapshots=2)
            assert i == 6
            return y

        return np.sum(vmap(one)(p))

    def plain(p, rate):
        for i in range(6):
            p = p * rate if i % 2 else np.sin(p)
        return np.sum(p)

    points = np.stack([X, V])
    same(grad(kept, (0, 1))(points, 0.7), grad(plain, (0, 1))(points, 0.7))


def test_a_counter_that_differs_from_example_to_example():
    def counted(state):
        i, x = state
        return i + (x[0] > 0.0), np.sin(x)

    def kept(p):
        return np.sum(vmap(lambda x: checkpoint_sequence(counted, (0, x), 3)[1])(p))

    with pytest.raises(BatchingError, match="came to differ from example to example"):
        grad(kept)(np.stack([X, -X]))


@pytest.mark.slow
def test_memory_inside_vmap():
    x = np.linspace(0.1, 0.9, 20_000).reshape(10, -1)

    def f(x):
        return np.sum(vmap(lambda x: checkpoint_sequence(np.sin, x, 200, snapshots=5))(x))

    assert peak_of(lambda: grad(f)(x)) / x.nbytes < 18


# --- checkpoint_sequence: errors ----------------------------------------------------------------


def test_states_lie_in_memory_as_they_do_without_checkpoints():
    """By columns: the rounding of a sum depends on it."""
    x = np.sin(np.arange(1200.0)).reshape(30, 40).T + 0.01

    def step(x):
        return np.sin(x) + 0.01 * np.sum(x, axis=0) + 1e-3 * np.sum(x)

    def loop(x, step=step):
        for _ in range(4):
            x = step(x)
        return np.sum(x**2)

    expected = grad(loop)(x)
    np.testing.assert_array_equal(grad(lambda x: loop(x, checkpoint(step)))(x), expected)
    sequence = grad(lambda x: np.sum(checkpoint_sequence(step, x, 4, snapshots=2) ** 2))
    np.testing.assert_array_equal(sequence(x), expected)


@pytest.mark.parametrize(("n", "snapshots"), [(-1, 3), (3, 0), (3, -2)])
def test_impossible_numbers(n, snapshots):
    with pytest.raises(InputError, match=r"n >= 0 steps and at least one snapshot"):
        checkpoint_sequence(np.sin, X, n, snapshots=snapshots)
    with pytest.raises(InputError):
        grad(lambda x: np.sum(checkpoint_sequence(np.sin, x, n, snapshots=snapshots)))(X)


def test_a_state_where_the_number_of_steps_belongs():
    with pytest.raises(InputError, match=r"the number of steps as the third argument"):
        checkpoint_sequence(np.sin, X, X, 3)


def test_random_steps_are_found_out():
    generator = np.random.default_rng(0)

    def noisy(x):
        return x * generator.normal()

    for snapshots in (1, 2, 5):
        with pytest.raises(RuleError, match="returned something else"):
            grad(lambda x, s=snapshots: np.sum(checkpoint_sequence(noisy, x, 6, snapshots=s)))(X)


def test_one_random_step_is_found_out():
    calls = []

    def late(x):
        calls.append(1)
        return x * 2 if len(calls) == 4 else np.sin(x)

    with pytest.raises(RuleError, match="returned something else"):
        grad(lambda x: np.sum(checkpoint_sequence(late, x, 6, snapshots=6)))(X)


@pytest.mark.parametrize(
    "bad",
    [lambda s: [s[0], s[1]], lambda s: s[0], lambda s: (*s, s[0])],
    ids=["list", "one", "three"],
)
def test_a_step_that_returns_other_containers(bad):
    with pytest.raises(RuleError, match="containers"):
        grad(lambda x: np.sum(checkpoint_sequence(bad, (x, x), 3)[0]))(X)


SHAPES = {
    "shorter": lambda x: np.sin(x[1:]),
    "float32": lambda x: np.sin(x.astype(np.float32)),
    "matrix": lambda x: np.multiply.outer(x, np.sin(x[0])),
}


@pytest.mark.parametrize("f", SHAPES.values(), ids=SHAPES)
def test_a_step_may_return_another_shape_or_dtype(f):
    def plain(x):
        return f(f(f(x)))

    x = np.linspace(0.1, 0.9, 5)
    for take in (jacrev, jacfwd):
        same(take(lambda x: checkpoint_sequence(f, x, 3, snapshots=2))(x), take(plain)(x))


@pytest.mark.parametrize(
    "bad",
    [lambda s: (3, s[1]), lambda s: (s[0], s[1] + s[0][0]), lambda s: (s[0].astype(int), s[1])],
    ids=["constant", "sum", "cast"],
)
def test_what_is_floating_stays_floating_and_what_is_whole_stays_whole(bad):
    for take in (grad, jacfwd):
        with pytest.raises(RuleError, match="must keep their places"):
            take(lambda x: np.sum(checkpoint_sequence(bad, (x * 1.0, 0), 3)[1]))(X)


def test_python_numbers_in_the_state():
    def f(state):
        x, total, turned = state
        return np.sin(x), total + np.sum(x), turned * 1j + x[0]

    def run(x):
        out = checkpoint_sequence(f, (x, 0.0, 1j), 4, snapshots=2)
        return out[1] + np.real(out[2])

    def plain(x):
        state = (x, 0.0, 1j)
        for _ in range(4):
            state = f(state)
        return state[1] + np.real(state[2])

    same(grad(run)(X), grad(plain)(X))
    same(jvp(run, (X,), (V,)), jvp(plain, (X,), (V,)))


def test_a_step_that_closes_over_a_traced_value():
    with pytest.raises(RuleError, match="closes over a traced value"):
        grad(lambda x: np.sum(checkpoint_sequence(lambda y: y * x, x * 1.0, 3)))(X)
