"""The laws of every rule, at arguments that Hypothesis draws from the table of samples.

`tapegrad.testing.check_rule` states the laws. Here they run over the registry: each function with
a sample, each of its differentiable arguments, shapes, broadcasting, dtypes, axes, memory orders.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from draws import draws
from hypothesis import given, note
from hypothesis import strategies as st
from samples import SAMPLES
from sampling import Noted

from tapegrad import grad, hvp, jvp, vjp
from tapegrad._core.rule import REGISTRY, rules_of_form
from tapegrad._core.values import is_array
from tapegrad.testing import check_rule

each_sample = pytest.mark.parametrize(
    "entry", SAMPLES.values(), ids=lambda entry: REGISTRY[entry.function].name
)


@pytest.mark.part(9)
@each_sample
@draws(5, 150)
@given(data=st.data())
def test_a_rule_keeps_the_laws(entry, data):
    args, params = entry.draw(data)
    note(Noted(REGISTRY[entry.function].name, args, params))
    whole = entry.call is entry.function
    check_rule(REGISTRY[entry.function] if whole else entry.call, *args, **params)
    assert_writes_reach_what_they_reach_in_numpy(entry.call, args, params)


def assert_writes_reach_what_they_reach_in_numpy(call, args, params):
    """A write to a result changes an argument where NumPy's result is a view of it, and no other.

    A later write of the program to its own array would give a wrong value and a wrong derivative.
    """
    places = [i for i, x in enumerate(args) if is_array(x) and x.dtype.kind in "fc"]
    xs = [args[i] for i in places]

    def arguments_after(*xs):
        given = list(args)
        for i, x in zip(places, xs, strict=True):
            given[i] = np.copy(x)
        parts = parts_of(call(*given, **params))
        able = [is_array(part) and part.ndim and is_written(part) for part in parts]
        return [given[i] for i in places], able

    if not xs:
        return
    (found, able), (expected, numpys) = vjp(arguments_after, *xs)[0], arguments_after(*xs)
    assert able == numpys
    for part, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(part, other)


def is_written(part):
    """Write to an array: whether that went well, and without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy warns of writes to what it has broadcast
        try:
            part[...] = 7
        except (DeprecationWarning, ValueError):
            return False
    return True


def parts_of(out):
    return [p for part in out for p in parts_of(part)] if isinstance(out, (list, tuple)) else [out]


# --- Special points -----------------------------------------------------------------------------

SPECIAL = np.array([0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e150, -1e150, np.inf, -np.inf])
# Products with infinite arguments are left out: their partial is the other argument, and only what
# is infinite at finite points pays for a strong zero.
FINITE = SPECIAL[:8]
each_elementwise = pytest.mark.parametrize(
    "rule",
    [r for r in rules_of_form("elementwise") if r.function in SAMPLES],
    ids=lambda rule: rule.name,
)


def special_arguments(rule):
    """Each combination of special points, one place of the arrays each."""
    points = SPECIAL if rule.strong and len(rule.partials) == 1 else FINITE
    grids = np.meshgrid(*[points] * len(rule.partials))
    types = getattr(rule.function, "types", ["d->d"])  # np.sinc is elementwise, but no ufunc
    takes_floats = any(t.startswith("d" * len(grids) + "->") for t in types)
    args = [grid.ravel() for grid in grids]
    return args if takes_floats else [args[0], np.sign(args[1]).astype(int)]


@each_elementwise
def test_a_zero_cotangent_stays_zero_at_every_special_point(rule):
    args = special_arguments(rule)
    floats = [x for x in args if x.dtype.kind == "f"]
    with np.errstate(all="ignore"):
        out, pullback = vjp(lambda *xs: rule.function(*xs, *args[len(floats) :]), *floats)
    for bar in pullback(np.zeros_like(out)):
        np.testing.assert_array_equal(bar, np.zeros_like(bar))


@each_elementwise
def test_a_zero_tangent_stays_zero_at_every_special_point(rule):
    args = special_arguments(rule)
    floats = tuple(x for x in args if x.dtype.kind == "f")
    with np.errstate(all="ignore"):
        out_dot = jvp(
            lambda *xs: rule.function(*xs, *args[len(floats) :]),
            floats,
            tuple(np.zeros_like(x) for x in floats),
        )[1]
    np.testing.assert_array_equal(out_dot, np.zeros_like(out_dot))


@each_elementwise
def test_the_branch_that_where_did_not_take_adds_nothing(rule):
    args = special_arguments(rule)

    def masked(x):
        with np.errstate(all="ignore"):
            otherwise = np.where(x == 0.5, x, rule.function(x, *args[1:]))
            return np.sum(np.where(x == 0.5, otherwise, 0))

    np.testing.assert_array_equal(grad(masked)(args[0]), (args[0] == 0.5).astype(float))
    hessian_times_one = hvp(masked, (args[0],), (np.ones_like(args[0]),))
    np.testing.assert_array_equal(hessian_times_one, np.zeros_like(args[0]))


@each_elementwise
@pytest.mark.parametrize("kind", [np.float32, np.array])
def test_a_scalar_stays_a_scalar_and_a_0d_array_one_in_float32(rule, kind):
    sample = SAMPLES[rule.function]
    x = kind(np.float32(np.mean(sample.domains[0]) + 0.25))
    rest = [kind(np.float32(2.625))] * (len(rule.partials) - 1)
    if rule.function is np.ldexp:
        rest = [3]
    gradient = grad(lambda x: np.sum(rule.function(x, *rest)))(x)
    assert type(gradient) is type(x)
    assert gradient.dtype == np.float32
