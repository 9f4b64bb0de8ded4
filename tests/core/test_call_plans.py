"""Planned calls give what the rules give: the same values, derivatives within rounding.

Every function with a sample is called twice on traced arrays, so that the second call is planned
if it can be, and once where none is planned.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest
from draws import draws
from hypothesis import assume, given, note
from hypothesis import strategies as st
from samples import SAMPLES
from sampling import Noted

import tapegrad
from tapegrad._core import fast
from tapegrad._core.fast.call_plans import CallPlan
from tapegrad._core.fast.sums import _WIDEST, _WIDTHS, running_sums, summing
from tapegrad._core.rule import REGISTRY
from tapegrad._tree import flatten, unflatten

INDIRECTLY = {
    np.average,
    np.broadcast_arrays,
    np.clip,
    np.linalg.norm,
    np.ptp,
    np.ravel,
    np.take,
    np.vstack,
    np.where,
}


def is_planned(rule):
    """Whether calls of a function can be planned, its own or those that it consists of."""
    return rule.calls is not None or rule.function in INDIRECTLY


each_sample = pytest.mark.parametrize(
    "entry",
    [entry for entry in SAMPLES.values() if is_planned(REGISTRY[entry.function])],
    ids=lambda entry: REGISTRY[entry.function].name,
)


@cache
def planners(_count):
    """The rules that plan calls at all, looked for again where there are more rules."""
    rules = REGISTRY.values()
    return [r for r in rules if r.calls is not None]


@contextmanager
def unplanned():
    """No call is planned in this block."""
    known = [(rule, rule.calls) for rule in planners(len(REGISTRY))]
    for rule, _ in known:
        rule.calls = None
    try:
        yield
    finally:
        for rule, calls in known:
            rule.calls = calls


def test_no_rule_plans_where_none_is_to():
    with unplanned():
        assert all(r.calls is None for r in REGISTRY.values())
    assert all(bool(r.plan) <= (r.calls is not None) for r in REGISTRY.values())


def is_traceable(value):
    return isinstance(value, np.ndarray) and value.dtype.char in "fdFD"


def answers(call, arrays, dots, bars):
    """The value, the cotangents and the tangent of a call, each a list of arrays."""
    out, pullback = tapegrad.vjp(call, *arrays)
    tangent = tapegrad.jvp(call, tuple(arrays), tuple(dots))[1]
    return out, pullback(bars(out)), tangent


def leaves(tree):
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in leaves(part)]
    return [tree]


def drawn_call(entry, data):
    """The call of a sample as a function of its arrays, these, and their random generator."""
    args, params = entry.draw(data)
    note(Noted(REGISTRY[entry.function].name, args, params))
    flat, structure = flatten(args)
    at = [i for i, arg in enumerate(flat) if is_traceable(arg)]
    assume(at)
    rng = np.random.default_rng(data.draw(st.integers(0, 9)))

    def call(*arrays):
        given = list(flat)
        for i, array in zip(at, arrays, strict=True):
            given[i] = array
        found = entry.call(*unflatten(structure, given), **params)
        parts = [part for part in leaves(found) if getattr(part, "dtype", None) is not None]
        return [part for part in parts if part.dtype.kind in "fc"]

    return call, [flat[i] for i in at], rng


def check_one(entry, data):
    call, arrays, rng = drawn_call(entry, data)

    def like(x):
        drawn = rng.standard_normal(np.shape(x))
        if np.asarray(x).dtype.kind == "c":
            drawn = drawn + 1j * rng.standard_normal(np.shape(x))
        return np.asarray(drawn, np.asarray(x).dtype)

    try:
        with unplanned():
            plain = call(*arrays)
            assume(plain)
            seeds = [like(part) for part in plain]
            dots = [like(x) for x in arrays]
            wanted = answers(call, arrays, dots, lambda _: seeds)
    except (tapegrad.TapegradError, np.linalg.LinAlgError):
        assume(False)
    answers(call, arrays, dots, lambda _: seeds)  # learned here
    found = answers(call, arrays, dots, lambda _: seeds)
    for ours, numpys in zip(found[0], wanted[0], strict=True):
        np.testing.assert_array_equal(ours, numpys, strict=True)
    assert_close(leaves(list(found[1:])), leaves(list(wanted[1:])))


def assert_close(found, wanted):
    for ours, rules in zip(found, wanted, strict=True):
        assert type(ours) is type(rules)
        assert ours.shape == rules.shape
        assert ours.dtype == rules.dtype
        eps = np.finfo(ours.dtype).eps
        scale = np.max(np.abs(rules), initial=0, where=np.isfinite(rules))
        for part in (np.real, np.imag):  # assert_allclose is content with any infinity in both
            np.testing.assert_allclose(
                part(ours), part(rules), rtol=64 * eps, atol=64 * eps * scale
            )


@pytest.mark.part(3)
@each_sample
@draws(3, 100)
@given(data=st.data())
def test_a_planned_call_is_the_call(entry, data):
    check_one(entry, data)


SHAPES = [(1,), (4,), (3, 4), (1, 3), (2, 3, 4)]


@pytest.mark.part(3)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize("function", [np.max, np.min, np.std], ids=lambda f: f.__name__)
def test_ties_and_nan_are_left_to_the_rule(function, dtype, shape):
    rng = np.random.default_rng(0)
    for _ in range(8):
        x = rng.integers(0, 3, shape).astype(dtype)
        if function is not np.std:
            x[rng.random(shape) < 0.2] = np.nan
        for axis in (None, *range(len(shape))):

            def f(x, axis=axis):
                return np.sum(np.nan_to_num(function(x, axis=axis)) * 2.0)

            with unplanned():
                wanted = tapegrad.grad(f)(x)
            for _ in range(2):
                np.testing.assert_allclose(tapegrad.grad(f)(x), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("index", [None, (None,), ..., (), (None, None), (..., None)], ids=str)
def test_a_number_is_read_and_broadcast(index):
    """The cotangents of a 0-d array are summed to a number, into which no read can add."""
    v = np.arange(1.0, 4.0)

    def f(s):
        t = s * 1.0
        read = t[index]
        return np.sum(t * v * 2) + np.sum(t * v) + np.sum(t - v) + np.sum(read * read)

    for s in (np.array(2.0), 2.0):
        np.testing.assert_allclose(tapegrad.grad(f)(s), 3 * v.sum() + 3 + 4)


@pytest.mark.slow
def test_a_rule_remembers_a_bounded_number_of_calls():
    rule = REGISTRY[np.sum]
    rule.calls.clear()
    f = tapegrad.grad(lambda x: np.sum(np.sum(x, 0)))
    for side in range(1, 5000):
        f(np.ones((1, side % 4999 + 1)))
    assert len(rule.calls) <= 4097


@pytest.mark.parametrize("count", [300, 3000])
def test_writes_through_a_long_chain_of_views(count):
    """Each write goes to the root, and each view shows it, however long the chain is."""

    def turned(x):
        y = x.copy()
        v = y
        for i in range(count):
            v = v.T[::-1]
            if i % 50 == 0:
                v[0, 0] = v[1, 1] * 0.5 + v[0, 1]
        return np.sum(y * y) + np.sum(v[0] * 3)

    x = np.random.default_rng(0).standard_normal((3, 3))
    value, bar = tapegrad.value_and_grad(turned)(x)
    assert value == turned(x)
    step = 1e-6
    for i in np.ndindex(3, 3):
        e = np.zeros((3, 3))
        e[i] = step
        slope = (turned(x + e) - turned(x - e)) / (2 * step)
        assert abs(slope - bar[i]) < 1e-6 * max(1, abs(slope))


@pytest.mark.parametrize("transform", ["grad", "jvp", "hvp"])
def test_a_chain_of_views_is_linear(transform):
    """Twice as many views take about twice as long: the counts of calls tell, not the clock."""
    import sys

    def calls(count):
        def f(x):
            y = x.copy()
            v = y
            for _ in range(count):
                v = v.reshape(9).reshape(3, 3)
                v[0, 0] = v[1, 1] * 0.5
            return np.sum(y * y)

        made = 0

        def watch(_frame, event, _arg):
            nonlocal made
            made += event == "call"

        x = np.arange(9.0).reshape(3, 3)
        sys.setprofile(watch)
        try:
            if transform == "grad":
                tapegrad.grad(f)(x)
            elif transform == "jvp":
                tapegrad.jvp(f, (x,), (x,))
            else:
                tapegrad.hvp(f, (x,), (x,))
        finally:
            sys.setprofile(None)
        return made

    calls(10)
    assert calls(200) < 2.2 * calls(100)


# --- calls that choose between arguments, numbers among them

INF, NAN = np.inf, np.nan
SPECIAL = np.array([[-2.0, -0.5, 0.0, 0.5], [2.0, INF, -INF, NAN]])
OTHER = np.array([[-2.0, 0.5, 0.0, -INF], [INF, INF, -INF, 1.0]])
CHOOSING = {
    "maximum": lambda x: np.maximum(x, OTHER),
    "maximum of itself": lambda x: np.maximum(x, x[::-1]),
    "maximum, number": lambda x: np.maximum(0.5, x),
    "maximum, integer": lambda x: np.maximum(x, 0),
    "maximum, row": lambda x: np.maximum(x, x[0]),
    "minimum": lambda x: np.minimum(OTHER, x),
    "fmax": lambda x: np.fmax(x, OTHER),
    "fmin, column": lambda x: np.fmin(x, x[:, :1]),
    "clip": lambda x: np.clip(x, -0.5, 0.5),
    "clip, method": lambda x: x.clip(-0.5, 2),
    "clip, keywords": lambda x: np.clip(x, min=-0.5, max=0.5),
    "clip, one bound": lambda x: np.clip(x, 0.0, None),
    "clip, no room": lambda x: np.clip(x, 0.5, -0.5),
    "clip, one point": lambda x: np.clip(x, 0.5, 0.5),
    "clip, arrays": lambda x: np.clip(x, OTHER, OTHER + 1),
    "clip, wider bounds": lambda x: np.clip(x[0], -0.5, np.abs(OTHER)),
    "clip, one wider bound": lambda x: np.clip(x[0], OTHER, 3.0),
    "clip, infinite bound": lambda x: np.clip(x, -INF, 0.5),
    "clip, traced bounds": lambda x: np.clip(x, x[0], x[:, 3:]),
    "where": lambda x: np.where(SPECIAL > 0, x, x[::-1]),
    "where, number": lambda x: np.where(SPECIAL > 0, x, 0.0),
    "where, integer": lambda x: np.where(SPECIAL > 0, 1, x),
    "where, row": lambda x: np.where(SPECIAL[0] > 0, x, x[0]),
    "where, integers": lambda x: np.where(np.arange(4), x, x[0]),
    "hypot": lambda x: np.hypot(x, OTHER),
    "hypot, number": lambda x: np.hypot(0.0, x),
    "logaddexp": lambda x: np.logaddexp(x, OTHER),
    "logaddexp, number": lambda x: np.logaddexp(x, 0.5),
    "abs": lambda x: np.abs(x),
}
SEEDS = [np.ones((2, 4)), np.array([[0.0, 1.0, INF, -3.0], [0.0, -INF, 2.0, 0.0]])]


@pytest.mark.parametrize("dtype", ["f", "d"])
@pytest.mark.parametrize("call", CHOOSING.values(), ids=CHOOSING)
def test_special_values_and_ties(call, dtype):
    """The cotangents are those of the rule: of ties, infinities and NaN, and of infinite ones."""
    x = SPECIAL.astype(dtype)
    for seed in SEEDS:
        seed = seed.astype(dtype)

        def cotangent(seed=seed):
            with np.errstate(all="ignore"):
                return tapegrad.vjp(call, x)[1](seed)[0]

        def tangent(seed=seed):
            with np.errstate(all="ignore"):
                return tapegrad.jvp(call, (x,), (seed,))[1]

        with unplanned():
            wanted, along = cotangent(), tangent()
        for _ in range(2):
            np.testing.assert_array_equal(cotangent(), wanted, strict=True)
            np.testing.assert_array_equal(tangent(), along, strict=True)


@pytest.mark.parametrize("call", CHOOSING.values(), ids=CHOOSING)
def test_a_replay_of_a_choice_does_not_warn(call):
    x = np.where(np.isfinite(SPECIAL) | np.isnan(SPECIAL), SPECIAL, np.copysign(4.0, SPECIAL))

    def f(x):
        return np.nansum(call(x))

    for _ in range(3):
        with np.errstate(all="ignore"):
            pullback = tapegrad.vjp(f, x)[1]
        pullback(np.float64(1))


@pytest.mark.parametrize("call", CHOOSING.values(), ids=CHOOSING)
def test_a_replay_of_a_choice_leaves_numpys_error_state(call):
    """The steps after it, some of which are a program's own, run in that of the replay."""
    states = []

    @tapegrad.custom_vjp
    def same(x):
        return x

    def seen(_, g):
        states.append(np.geterr())
        return (g,)

    same.defvjp(lambda x: (x, None), seen)
    x = np.copysign(np.arange(8.0).reshape(2, 4), SPECIAL)
    before = np.geterr()
    with np.errstate(all="ignore"):
        for f in (lambda x: np.sum(same(x)), *[lambda x: np.nansum(call(same(x)))] * 3):
            tapegrad.grad(f)(x)
    assert all(state == states[0] for state in states)
    assert np.geterr() == before


WITHOUT_A_PRIMITIVE = {
    "clip, out": lambda x: np.clip(x, -0.5, 0.5, out=x * 1.0),
    "clip, dtype": lambda x: np.clip(x, -0.5, 0.5, dtype="d"),
    "clip, no bounds": lambda x: np.clip(x, None, None),
    "clip, traced bounds and out": lambda x: np.clip(x, x[0], x[1], out=x * 1.0),
    "where, condition alone": lambda x: x[np.where(x > 0)],
    "where, traced condition": lambda x: np.where(x, x, -x),
    "norm": np.linalg.norm,
    "norm, axis": lambda x: np.linalg.norm(x, axis=0),
    "norm, axes": lambda x: np.linalg.norm(x, axis=(1, 0), keepdims=True),
    "norm, nuclear": lambda x: np.linalg.norm(x, "nuc"),
    "norm, order 1": lambda x: np.linalg.norm(x, 1),
    "norm, order of rows": lambda x: np.linalg.norm(x, -np.inf, 1),
}


@pytest.mark.parametrize("call", WITHOUT_A_PRIMITIVE.values(), ids=WITHOUT_A_PRIMITIVE)
def test_calls_that_come_to_one_of_another_rule_or_to_none(call):
    x = np.array([[-2.0, -0.25, 0.125, 0.5], [2.0, 0.75, -0.375, 1.0]])

    def f(x):
        return np.sum(np.sin(call(x)))

    with unplanned():
        value, slope = tapegrad.value_and_grad(f)(x)
        along = tapegrad.jvp(f, (x,), (x,))[1]
    for _ in range(3):
        found = tapegrad.value_and_grad(f)(x)
        np.testing.assert_array_equal(found[0], value, strict=True)
        np.testing.assert_allclose(found[1], slope, rtol=1e-14, atol=1e-15)
        np.testing.assert_allclose(tapegrad.jvp(f, (x,), (x,))[1], along, rtol=1e-14)


def test_a_number_of_a_planned_call_may_change():
    """Calls are remembered by the classes of their numbers: the numbers themselves are kept."""
    x = np.linspace(-1, 1, 9)
    for bound in (0.1, 0.3, -0.2):
        bars = tapegrad.grad(lambda x, b=bound: np.sum(np.clip(x, -0.6, b)))(x)
        np.testing.assert_array_equal(bars, (x > -0.6) & (x < bound))
        bars = tapegrad.grad(lambda x, b=bound: np.sum(np.maximum(x, b)))(x)
        np.testing.assert_array_equal(bars, x > bound)
    assert len(REGISTRY[np.maximum].calls) < 1000


def test_which_bound_is_which_is_told_by_where_it_stands():
    """Also where two bounds are the same object when the call is learned."""
    x = np.linspace(-1, 1, 9)
    for low, high in ((0.5, 0.5), (-0.4, 0.6), (None, 0.3), (0.3, None), (-0.1, 0.2)):
        found = [
            tapegrad.value_and_grad(lambda x, f=f: np.sum(f(x) * x))(x)
            for f in (
                lambda x, low=low, high=high: np.clip(x, low, high),
                lambda x, low=low, high=high: np.clip(x, min=low, max=high),
                lambda x, low=low, high=high: np.clip(x, max=high, min=low),
                lambda x, low=low, high=high: np.clip(a_max=high, a_min=low, a=x),
            )
        ]
        value = np.sum(np.clip(x, low, high) * x)
        inside = (x > (-INF if low is None else low)) & (x < (INF if high is None else high))
        for total, bar in found:
            assert total == value
            np.testing.assert_allclose(bar[inside], 2 * x[inside])
            np.testing.assert_allclose(bar, found[0][1])


def test_a_traced_condition_is_a_constant():
    def f(x):
        return np.sum(np.where(np.round(x), x, 2.0) * x)

    x = np.array([0.2, 1.3, -2.0])
    for _ in range(3):
        np.testing.assert_allclose(tapegrad.grad(f)(x), [2.0, 2.6, -4.0])
        np.testing.assert_allclose(
            tapegrad.grad(lambda x: np.sum(np.where(x, x, 2.0) * x))(x * [0, 1, 1]),
            [2.0, 2.6, -4.0],
        )


@pytest.mark.fast_path
def test_a_choice_by_a_traced_condition_is_planned():
    """A condition of numbers, as `where(x, x, 2.0)` has, is a constant for the tape."""
    x, seen = np.array([0.0, 1.3, -2.0]), []

    def f(x):
        y = np.where(x, x * x, 2.0)
        seen.append(x.tape.entries[-1])
        condition = x * 1.0
        condition[0] = 3.0
        z = np.where(condition, x, 2.0)
        condition[1] = 0.0  # what is written later does not count
        return np.sum(y) + np.sum(z)

    for _ in range(3):
        np.testing.assert_allclose(tapegrad.grad(f)(x), [1.0, 3.6, -3.0])
        assert type(seen[-1][4]) is CallPlan
    hessian = tapegrad.hessian(f)(x)
    np.testing.assert_allclose(hessian, np.diag([0.0, 2.0, 2.0]))
    many = tapegrad.vmap(tapegrad.grad(lambda x: np.sum(np.where(x, x * x, 2.0))))
    np.testing.assert_allclose(many(np.array([x, x])), [[0.0, 2.6, -4.0]] * 2)
    alone = tapegrad.grad(lambda x: np.sum(np.where(x, [3.0, 4.0, 5.0], 2.0)) + np.sum(x))
    np.testing.assert_allclose(alone(x), 1.0)


def test_the_condition_of_a_planned_choice_may_change():
    """The derivative is that of the call: what the program writes later does not count."""
    mask = np.array([True, False, True])

    def f(x):
        y = np.where(mask, x, 0.0)
        mask[:] = ~mask
        return np.sum(y * y)

    x = np.arange(1.0, 4.0)
    for _ in range(4):
        chosen = mask.copy()
        np.testing.assert_array_equal(tapegrad.grad(f)(x), np.where(chosen, 2 * x, 0))


@pytest.mark.parametrize("params", [{}, {"axis": -1}, {"axis": 0, "keepdims": True}], ids=str)
def test_a_norm_at_zero(params):
    """The square of a norm is smooth at zero, where the norm itself is not."""

    def f(x):
        return np.sum(np.linalg.norm(x, **params) ** 2)

    for x in (np.ones((2, 3)), np.zeros((2, 3)), np.array([[0.0, 0.0, 0.0], [1.0, 2.0, 3.0]])):
        for _ in range(3):
            np.testing.assert_allclose(tapegrad.grad(f)(x), 2 * x, atol=1e-14)
            np.testing.assert_allclose(
                tapegrad.hvp(f, (x,), (np.ones((2, 3)),)), np.full((2, 3), 2.0), atol=1e-12
            )


# --- Differences that a key does not tell -------------------------------------------------------


def test_parameters_of_other_types_are_other_calls():
    """Keys compare 1, 1.0 and True as equal, and 0 and -0.0."""
    x = np.arange(6.0).reshape(2, 3)
    for _ in range(2):
        tapegrad.vjp(lambda x: np.roll(x, 1, 1), x)
        tapegrad.vjp(lambda x: np.sum(x, axis=1), x)
        tapegrad.vjp(lambda x: np.concatenate([x, x], 1), x)
        tapegrad.vjp(lambda x: np.pad(x, 1, constant_values=0), x)
    with pytest.raises(TypeError):
        tapegrad.vjp(lambda x: np.roll(x, 1.0, 1.0), x)
    with pytest.raises(TypeError):
        tapegrad.vjp(lambda x: np.sum(x, axis=1.0), x)
    with pytest.raises(TypeError):
        tapegrad.vjp(lambda x: np.concatenate([x, x], 1.0), x)
    assert np.signbit(tapegrad.vjp(lambda x: np.pad(x, 1, constant_values=-0.0), x)[0][0, 0])
    huge, _ = tapegrad.vjp(lambda x: np.pad(x, 1, constant_values=2**70), x)
    assert huge[0, 0] == 2.0**70


def test_a_list_may_change_after_the_call():
    x = np.arange(6.0).reshape(2, 3)

    def rolled(x):
        shifts = [1, 2]
        y = np.roll(x, shifts, [0, 1])
        shifts[0] = 0
        return np.sum(y * y * x)

    def repeated(x):
        counts = [1, 2, 0]
        y = np.repeat(x, counts, 1)
        counts[:] = [3, 0, 0]
        return np.sum(y * y)

    for _ in range(3):
        first = tapegrad.grad(rolled)(x)
        np.testing.assert_array_equal(
            first, tapegrad.grad(lambda x: np.sum(np.roll(x, (1, 2), (0, 1)) ** 2 * x))(x)
        )
        np.testing.assert_array_equal(tapegrad.grad(repeated)(x), x * [2, 4, 0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.outer(x, 2 * x)[1] / 3),
        lambda x: np.dot(x, np.outer(x, x) @ x),
        lambda x: np.sum(np.tensordot(np.outer(x, x), x, 1)),
        lambda x: np.sum(np.kron(x, x) ** 2),
        lambda x: np.sum(np.diff(x, 2) ** 2) + np.trace(np.outer(x, x)),
    ],
)
def test_the_first_call_gives_the_bits_of_the_later_ones(f):
    x = np.random.default_rng(0).standard_normal(7)  # a shape that no other test has
    gradients = [tapegrad.grad(f)(x) for _ in range(3)]
    np.testing.assert_array_equal(gradients[0], gradients[1])
    np.testing.assert_array_equal(gradients[0], gradients[2])


# --- Sums of cotangents


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
@pytest.mark.parametrize(
    ("shape", "to"),
    [
        ((4, 3), (3,)),
        ((4, 3), (1, 3)),
        ((4, 3), (4, 1)),
        ((4, 3), (1, 1)),
        ((4, 3), ()),
        ((5,), ()),
        ((5,), (1,)),
        ((2, 4, 3), (3,)),
        ((2, 4, 3), (4, 1)),
        ((2, 4, 3), (2, 1, 1)),
        ((2, 4, 3), (2, 1, 3)),
        ((5, 2, 4, 3), (2, 1, 3)),
        ((5, 2, 4, 3), (5, 1, 1, 3)),
        ((2, 0, 3), (2, 1, 3)),
        ((0, 3), (3,)),
        ((3, 0), (1, 0)),
        ((5000, 2), (2,)),
        ((2, 5000), (2, 1)),
    ],
)
def test_sums_by_products_with_ones_are_sums(shape, to, dtype):
    g = np.random.default_rng(0).normal(size=shape).astype(dtype)
    total = summing(shape, to, np.dtype(dtype))
    lead = len(shape) - len(to)
    axes = (*range(lead), *(lead + i for i, n in enumerate(to) if n == 1 != shape[lead + i]))
    for array in (g, np.asfortranarray(g), np.broadcast_to(g[:1], shape) if g.size else g):
        found = total(array)
        assert found.shape == to
        assert found.dtype == dtype
        known = np.sum(array, axes, np.result_type(dtype, float), keepdims=True).reshape(to)
        single = dtype is np.float32
        np.testing.assert_allclose(
            found, known, rtol=1e-4 if single else 1e-12, atol=1e-4 if single else 1e-11
        )


@pytest.mark.parametrize("back", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("width", _WIDTHS)
def test_running_sums_are_those_of_numpy(width, dtype, back):
    """Of few blocks and of many, of one row and of several."""
    rng = np.random.default_rng(0)
    for blocks in (2, 5, _WIDEST, _WIDEST + 1):
        for rows in ((), (3,), (2, 1)):
            x = rng.integers(-9, 9, (*rows, width * blocks)).astype(dtype)  # whose sums are exact
            given = x.copy()
            expected = np.flip(np.cumsum(np.flip(x, -1), -1), -1) if back else np.cumsum(x, -1)
            found = running_sums(given, back=back)
            np.testing.assert_array_equal(found, expected, strict=True)
            np.testing.assert_array_equal(given, x)
            assert not np.may_share_memory(found, given)


SQUARE = np.arange(1.0, 5).reshape(2, 2)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(x, out=None),
        lambda x: x.sum(0, None, None).sum(),
        lambda x: np.sum(x, 0, None, None, True)[0, 0],
        lambda x: np.prod(x, out=None),
        lambda x: np.max(x, out=None),
        lambda x: np.nansum(x, out=None),
        lambda x: np.sum(np.dot(x, x, None)),
        lambda x: np.sum(np.cumsum(x, out=None)),
        lambda x: np.trace(x, 0, 0, 1, None, None),
        lambda x: np.var(x, mean=3),
        lambda x: np.sum(np.std(x, mean=(1, 2), axis=0)),
        lambda x: x.var(mean=True),
        lambda x: np.sum(np.diff(x, True)),
        lambda x: np.sum(np.max(x, axis=0, keepdims=np._NoValue, out=None)),
        lambda x: np.sum(np.std(x, axis=0, keepdims=np._NoValue)),
        lambda x: np.sum(np.ptp(x, axis=-1, keepdims=np._NoValue)[0]),
    ],
)
def test_arguments_that_are_no_parameters_of_the_rule(f):
    """`out=None` and NumPy's own default name none; np.var's mean is an array, also a number."""
    with fast.off():
        gradient = tapegrad.grad(f)(SQUARE)
    for _ in range(3):  # the first call is planned, the others find the plan
        out, found = tapegrad.value_and_grad(f)(SQUARE)
        np.testing.assert_allclose(out, f(SQUARE))
        np.testing.assert_allclose(found, gradient)
        np.testing.assert_allclose(
            tapegrad.jvp(f, (SQUARE,), (SQUARE,))[1], np.sum(gradient * SQUARE)
        )
        np.testing.assert_allclose(tapegrad.vmap(f)(SQUARE[None]), [f(SQUARE)])
