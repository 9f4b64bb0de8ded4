"""Primitives whose calls no plain signature fits: *args, defaults, keywords, containers."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np
import pytest
from draws import draws
from hypothesis import given
from hypothesis import strategies as st

import tapegrad
from tapegrad import (
    BatchingError,
    InputError,
    MissingRuleError,
    NotDifferentiableError,
    RuleError,
    checkpoint,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    primitive,
    vmap,
)
from tapegrad.testing import check_grads, check_rule

X = np.array([0.5, -1.25, 2.0])
Y = np.array([1.5, 0.25, 0.5])


def total(f):
    return lambda *xs: np.sum(np.sin(f(*xs)))


def agree(ours, plain, *args):
    """All transforms of a function of primitives give those of its plain twin."""
    argnums = tuple(range(len(args)))
    dots = tuple(np.cos(np.arange(np.size(x)) + 1.0).reshape(np.shape(x))[()] for x in args)
    close = np.testing.assert_allclose
    np.testing.assert_array_equal(ours(*args), plain(*args))
    for transform in (jacrev, jacfwd, lambda f, argnums: hessian(total(f), argnums)):
        for one, other in zip(
            tapegrad._tree.flatten(transform(ours, argnums)(*args))[0],
            tapegrad._tree.flatten(transform(plain, argnums)(*args))[0],
            strict=True,
        ):
            close(one, other, rtol=1e-11, atol=1e-12)
    close(jvp(ours, args, dots)[1], jvp(plain, args, dots)[1], rtol=1e-11, atol=1e-12)
    close(linearize(ours, *args)[1](*dots), jvp(plain, args, dots)[1], rtol=1e-11, atol=1e-12)
    many = tuple(np.stack([x, 2 * x, x - 0.125]) for x in args)
    expected = vmap(grad(total(plain), argnums))(*many)
    for f in (vmap(grad(total(ours), argnums)), vmap(grad(checkpoint(total(ours)), argnums))):
        for one, other in zip(f(*many), expected, strict=True):
            close(one, other, rtol=1e-11, atol=1e-12)
    summed = grad(lambda *xs: np.sum(vmap(total(ours))(*xs)), argnums)(*many)
    for one, other in zip(summed, expected, strict=True):
        close(one, other, rtol=1e-11, atol=1e-12)


# --- *args and defaults -------------------------------------------------------------------------


def plain_logpdf(x, loc=0.0, scale=1.0):
    return -(((x - loc) / scale) ** 2) / 2 - np.log(scale)


class Distribution:
    """A class whose methods take *args, **kwds, as those of SciPy."""

    def logpdf(self, x, *args, **kwds):
        names = dict(zip(("loc", "scale"), args, strict=False)) | kwds
        return plain_logpdf(x, **names)


PARTIALS = (
    lambda _out, x, loc=0.0, scale=1.0: (loc - x) / scale**2,
    lambda _out, x, loc, scale=1.0: (x - loc) / scale**2,
    lambda _out, x, loc, scale: ((x - loc) / scale) ** 2 / scale - 1 / scale,
)
logpdf = primitive(Distribution().logpdf)
tapegrad.elementwise(logpdf, *PARTIALS)
named_logpdf = primitive(Distribution().logpdf)
tapegrad.elementwise(named_logpdf, *PARTIALS, signature="x, loc=0.0, scale=1.0")


@pytest.mark.parametrize("function", [logpdf, named_logpdf], ids=["*args", "signature="])
def test_a_function_of_args(function):
    agree(function, plain_logpdf, X, Y, np.float64(1.5))
    agree(function, plain_logpdf, X, Y)
    agree(function, plain_logpdf, X)
    agree(lambda s: function(X, 0.25, s), lambda s: plain_logpdf(X, 0.25, s), Y)
    check_rule(function, X, Y, np.float64(1.5))


def test_a_function_of_args_takes_keywords_that_its_declaration_names():
    agree(lambda s: named_logpdf(X, scale=s), lambda s: plain_logpdf(X, scale=s), Y)
    agree(
        lambda x, m, s: named_logpdf(scale=s, x=x, loc=m),
        lambda x, m, s: plain_logpdf(scale=s, x=x, loc=m),
        X,
        Y,
        np.float64(2.0),
    )
    with pytest.raises(NotDifferentiableError, match=r"argument 'scale'.*signature="):
        grad(lambda s: logpdf(0.5, scale=s))(2.0)
    assert logpdf(0.5, scale=2.0) == grad(lambda x: x * logpdf(0.5, scale=2.0))(1.0)


@pytest.mark.parametrize("form", ["linear", "multilinear", "general", "joint", "jvp"])
def test_args_in_every_form(form):
    @primitive
    def product(x, *others):
        for other in others:
            x = x * other
        return x

    @primitive
    def added(*parts, factor=1.0):
        return sum(parts) * factor

    def joint(g, _out, *xs):
        return tuple(
            g * product(*(y for j, y in enumerate(xs) if j != i)) if len(xs) > 1 else g
            for i, _ in enumerate(xs)
        )

    def pushed(dots, out, *xs):
        return sum(
            dot * (product(*xs[:i], *xs[i + 1 :]) if len(xs) > 1 else 1.0)
            for i, (x, dot) in enumerate(zip(xs, dots, strict=True))
            if dot is not None
        )

    if form == "linear":

        def transpose(g, _out, *_xs, factor=1.0):
            return g * factor

        tapegrad.linear(added, transpose, transpose, transpose, batch="align")
        agree(
            lambda x, y: np.sin(added(x, y, 2 * x, factor=2.0)),
            lambda x, y: np.sin(6 * x + 2 * y),
            X,
            Y,
        )
        return
    if form == "multilinear":
        tapegrad.multilinear(
            product,
            lambda g, _out, _x, y=1.0, z=1.0: g * y * z,
            lambda g, _out, x, _y, z=1.0: g * x * z,
            lambda g, _out, x, y, _z: g * x * y,
            batch="align",
        )
    elif form == "general":
        tapegrad.general(
            product,
            vjp=[lambda g, _out, *xs, i=i: joint(g, _out, *xs)[i] for i in range(3)],
        )
    elif form == "joint":
        tapegrad.general(product, vjp=joint)
    else:
        tapegrad.general(product, jvp=pushed)
    agree(lambda x: product(x), lambda x: x, X)
    agree(lambda x, y: product(x, y), lambda x, y: x * y, X, Y)
    agree(lambda x, y: product(x, y, np.sin(x)), lambda x, y: x * y * np.sin(x), X, Y)
    agree(lambda x: product(Y, Y, x), lambda x: Y * Y * x, X)


def test_an_argument_beyond_the_declared_ones():
    assert grad(lambda x: logpdf(x, 1.0, 2.0))(3.0) == -0.5
    with pytest.raises(NotDifferentiableError, match=r"logpdf: .*argument 3.* first 3 alone"):
        grad(lambda x: logpdf(1.0, 2.0, 3.0, x))(4.0)
    with pytest.raises(TypeError, match="two values for argument 'x'"):
        grad(lambda x: logpdf(x, x=x))(4.0)


def test_a_signature_of_core_dimensions_and_args():
    @primitive
    def dots(x, *ys):
        return sum(x @ y for y in ys)

    tapegrad.general(
        dots,
        vjp=lambda g, _out, x, *ys: (g * sum(ys), *[g * x for _ in ys]),
        batch="(m),(m)",
    )
    many = np.arange(12.0).reshape(4, 3)
    np.testing.assert_allclose(vmap(lambda x: dots(x, X, Y))(many), many @ (X + Y))
    np.testing.assert_allclose(vmap(grad(lambda x: dots(x, x, Y)))(many), 2 * many + Y)


def test_defaults_are_filled_in_for_the_rule():
    @primitive
    def scaled(x, loc=0.0, scale=1.0, *, power=1):
        return ((x - loc) / scale) ** power

    tapegrad.general(
        scaled,
        vjp=[
            lambda g, out, x, loc, scale, power=1: (
                g * power * ((x - loc) / scale) ** (power - 1) / scale
            ),
            lambda g, out, x, loc, scale, power=1: (
                -g * power * ((x - loc) / scale) ** (power - 1) / scale
            ),
            lambda g, out, x, loc, scale, power=1: -g * power * out / scale,
        ],
    )

    def plain(x, loc=0.0, scale=1.0, power=1):
        return ((x - loc) / scale) ** power

    for power in (1, 3):
        agree(lambda x, k=power: scaled(x, power=k), lambda x, k=power: plain(x, power=k), X)
        agree(
            lambda s, k=power: scaled(2.0, scale=s, power=k),
            lambda s, k=power: plain(2.0, scale=s, power=k),
            Y,
        )
        agree(
            lambda m, k=power: scaled(2.0, m, power=k),
            lambda m, k=power: plain(2.0, m, power=k),
            X,
        )


def test_arrays_that_are_named_and_not_first():
    @primitive
    def solve(function, start, step, scale):
        return function(start) * scale + step

    tapegrad.general(
        solve,
        vjp=[
            lambda g, _out, start, scale, function, step: g * scale * np.cos(start),
            lambda g, _out, start, scale, function, step: g * np.sin(start),
        ],
        arrays=("start", "scale"),
    )
    agree(lambda x, y: solve(np.sin, x, 3.0, y), lambda x, y: np.sin(x) * y + 3.0, X, Y)
    agree(
        lambda x: solve(scale=2.0, step=3, start=x, function=np.sin),
        lambda x: np.sin(x) * 2.0 + 3,
        X,
    )
    with pytest.raises(NotDifferentiableError, match=r"solve: .* argument 'step'"):
        grad(lambda x: solve(np.sin, 1.0, x, 2.0))(1.0)


def test_functions_and_words_among_the_arrays():
    @primitive
    def applied(function, x, word="plain", y=2.0):
        return function(x) * y if word == "plain" else x

    rule = [
        None,
        lambda g, _out, _function, x, _word, y: g * y * np.cos(x),
        None,
        lambda g, _out, _function, x, _word, _y: g * np.sin(x),
    ]
    tapegrad.general(applied, vjp=rule)
    agree(lambda x: applied(np.sin, x), lambda x: np.sin(x) * 2.0, X)
    agree(lambda x, y: applied(np.sin, x, "plain", y), lambda x, y: np.sin(x) * y, X, Y)
    agree(lambda x, y: applied(np.sin, x, y=y), lambda x, y: np.sin(x) * y, X, Y)


# --- Containers ---------------------------------------------------------------------------------


class Pair(NamedTuple):
    a: object
    b: object


@dataclasses.dataclass
class Line:
    slope: object
    start: object
    name: str = "line"


# A function of two arrays in a container: how it is put in, and how it comes out.
CONTAINERS = {
    "tuple": (lambda a, b: (a, b), lambda c: (c[0], c[1])),
    "namedtuple": (Pair, lambda c: (c.a, c.b)),
    "dict": (lambda a, b: {"a": a, "b": b}, lambda c: (c["a"], c["b"])),
    "dataclass": (Line, lambda c: (c.slope, c.start)),
    "nested": (
        lambda a, b: ([a, None], {"b": (b, 7, "text", np.sin)}),
        lambda c: (c[0][0], c[1]["b"][0]),
    ),
}


def made(kind, rule):
    """A primitive of an array and a container, declared by a vjp, a joint one, or a jvp."""
    build, parts = CONTAINERS[kind]

    @primitive
    def line(t, coefficients, *, shift=0.0):
        slope, start = parts(coefficients)
        assert not isinstance(slope, tapegrad.Array)
        return slope * np.sin(t) + start + shift

    def bars(g, t, coefficients):
        slope, _ = parts(coefficients)
        bar = build(g * np.sin(t), g)
        return g * slope * np.cos(t), bar

    def pushed(dots, out, t, coefficients, *, shift=0.0):
        slope, _ = parts(coefficients)
        slope_dot, start_dot = (None, None) if dots[1] is None else parts(dots[1])
        terms = [
            None if dots[0] is None else dots[0] * slope * np.cos(t),
            None if slope_dot is None else slope_dot * np.sin(t),
            start_dot,
        ]
        return sum(term for term in terms if term is not None)

    if rule == "vjp":
        tapegrad.general(
            line,
            vjp=[
                lambda g, _out, t, c, shift=0.0: bars(g, t, c)[0],
                lambda g, _out, t, c, shift=0.0: bars(g, t, c)[1],
            ],
        )
    elif rule == "joint":
        tapegrad.general(line, vjp=lambda g, _out, t, c, shift=0.0: bars(g, t, c))
    else:
        tapegrad.general(line, jvp=pushed)
    return line, build


@pytest.mark.part(3)
@pytest.mark.parametrize("rule", ["vjp", "joint", "jvp"])
@pytest.mark.parametrize("kind", CONTAINERS)
def test_arrays_in_containers(kind, rule):
    line, build = made(kind, rule)

    def plain(t, a, b):
        return a * np.sin(t) + b

    agree(lambda t, a, b: line(t, build(a, b)), plain, X, Y, Y - 2.0)
    agree(lambda a: line(X, build(a, 1.5)), lambda a: plain(X, a, 1.5), Y)
    agree(lambda b: line(X, coefficients=build(2.0, b)), lambda b: plain(X, 2.0, b), Y)
    agree(lambda t: line(t, build(Y, 1.0), shift=1.0), lambda t: plain(t, Y, 1.0) + 1.0, X)


TREES = st.recursive(
    st.sampled_from([X, Y, 2.0, 3, None, "word"]),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.sampled_from("abc"), inner, max_size=2),
    ),
    max_leaves=6,
)


@primitive
def sum_of_squares(*trees):
    leaves = [leaf for leaf in tapegrad._tree.flatten(trees)[0] if not isinstance(leaf, str)]
    assert not any(isinstance(leaf, tapegrad.Array) for leaf in leaves)
    return sum((np.sum(leaf * leaf) for leaf in leaves), start=np.float64(0))


def squares_vjp(g, _out, *trees):
    def twice(leaf):
        return None if isinstance(leaf, str) else 2 * g * leaf

    return tuple(tapegrad._tree.tree_map(twice, tree) for tree in trees)


tapegrad.general(sum_of_squares, vjp=squares_vjp)


@draws(20, 300)
@given(trees=st.lists(TREES, min_size=1, max_size=3), data=st.data())
def test_a_law_of_containers(trees, data):
    """Whatever containers hold the arrays, the gradient is that of the arrays alone."""
    trees = [(tree,) if isinstance(tree, list) else tree for tree in trees]  # lists are arrays
    leaves, structure = tapegrad._tree.flatten(tuple(trees))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, np.ndarray)]
    if not places:
        return
    chosen = data.draw(st.lists(st.sampled_from(places), min_size=1, unique=True))

    def f(*xs):
        filled = list(leaves)
        for place, x in zip(chosen, xs, strict=True):
            filled[place] = x
        return sum_of_squares(*tapegrad._tree.unflatten(structure, filled))

    xs = tuple(leaves[place] for place in chosen)
    argnums = tuple(range(len(xs)))
    for x, bar in zip(xs, grad(f, argnums)(*xs), strict=True):
        np.testing.assert_array_equal(bar, 2 * x)
    assert jvp(f, xs, xs)[1] == pytest.approx(2 * sum(np.sum(x * x) for x in xs))
    np.testing.assert_array_equal(hessian(f)(*xs), 2 * np.eye(3))
    many = tuple(np.stack([x, -x]) for x in xs)
    for x, bar in zip(many, vmap(grad(f, argnums))(*many), strict=True):
        np.testing.assert_array_equal(bar, 2 * x)


def test_none_for_a_whole_container_and_for_a_part():
    @primitive
    def f(x, pair):
        return x * pair[0] * pair[1]

    parts = [lambda g, _out, x, pair: (g * x * pair[1], None)]
    tapegrad.general(f, vjp=[lambda g, _out, x, pair: g * pair[0] * pair[1], parts[0]])
    assert grad(lambda x, a, b: f(x, (a, b)), (0, 1, 2))(2.0, 3.0, 5.0) == (15.0, 10.0, 0.0)

    @primitive
    def h(x, pair):
        return x * pair[0] * pair[1]

    tapegrad.general(h, vjp=[lambda g, _out, x, pair: g * pair[0] * pair[1], None])
    assert grad(lambda x, a, b: h(x, (a, b)), (0, 1, 2))(2.0, 3.0, 5.0) == (15.0, 0.0, 0.0)


def test_a_cotangent_of_other_containers_is_refused():
    @primitive
    def f(pair):
        return pair[0] * pair[1]

    tapegrad.general(f, vjp=[lambda g, _out, pair: g])
    with pytest.raises(InputError, match=r"vjp of f: expected the structure \(\*, \*\)"):
        grad(lambda a: f((a, 2.0)))(1.0)


def test_traced_values_in_containers_that_the_rule_does_not_know():
    @primitive
    def f(x, options=None, **others):
        return x * options["a"]

    tapegrad.general(f, vjp=[lambda g, _out, x, options: g * options["a"]])
    assert grad(lambda x: f(x, {"a": 2.0}))(3.0) == 2.0
    with pytest.raises(NotDifferentiableError, match="argument 'options'"):
        grad(lambda x: f(1.0, {"a": x}))(3.0)
    with pytest.raises(BatchingError, match="argument 'options'"):
        vmap(lambda x: f(1.0, {"a": x}))(X)

    @primitive
    def h(x):
        return x["a"] * 2

    tapegrad.elementwise(h, 2)
    with pytest.raises(InputError, match=r"h: expected arrays, got a dict.*declare it as general"):
        grad(lambda x: h({"a": x}))(3.0)


def test_constants_in_a_container_may_change_after_the_call():
    @primitive
    def f(x, pair):
        return np.sum(x * pair[0])

    tapegrad.general(f, vjp=[lambda g, _out, x, pair: g * pair[0], None])
    weights = np.array([1.0, 2.0, 3.0])

    def loss(x):
        out = f(x, (weights, "name"))
        weights[:] = 0
        return out

    np.testing.assert_array_equal(grad(loss)(X), [1.0, 2.0, 3.0])


def test_lists_are_arrays():
    @primitive
    def total(x):
        assert isinstance(x, np.ndarray)
        return np.sum(x * x)

    tapegrad.general(total, vjp=[lambda g, _out, x: 2 * g * x])
    assert grad(lambda x: total([[x, 1.0], [2.0, 3 * x]]))(2.0) == 40.0


@pytest.mark.parametrize(
    "call",
    [lambda f, x, y: f(x), lambda f, x, y: f((x, 2.0)), lambda f, x, y: f(1.0, key={"y": y})],
)
def test_constant_primitives_in_every_transform(call):
    @primitive
    def rounded(x, key=None):
        leaves = tapegrad._tree.flatten((x, key))[0]
        assert not any(isinstance(leaf, tapegrad.Array) for leaf in leaves)
        return sum(np.round(leaf) for leaf in leaves)

    tapegrad.constant(rounded)

    def f(x, y):
        return x * y * call(rounded, x, y)

    def plain(x, y):
        return x * y * tapegrad.stop_gradient(call(rounded.function, x, y))

    for x, y in zip(X, Y, strict=True):
        assert grad(f)(x, y) == y * call(rounded, x, y)
    expected = [f(x, y) for x, y in zip(X, Y, strict=True)]
    np.testing.assert_array_equal(vmap(f)(X, Y), expected)
    expected = [grad(f)(x, y) for x, y in zip(X, Y, strict=True)]
    np.testing.assert_array_equal(vmap(grad(f))(X, Y), expected)
    np.testing.assert_array_equal(grad(lambda x: np.sum(vmap(f)(x, Y)))(X), expected)


# --- Functions without a rule -------------------------------------------------------------------


@pytest.mark.parametrize("made", [primitive, tapegrad.custom_vjp, tapegrad.custom_jvp])
def test_a_missing_rule_is_a_thing_not_implemented(made):
    function = made(lambda x: x)
    for kind in (NotImplementedError, RuleError, MissingRuleError):
        with pytest.raises(kind, match=r"no rule|no derivative yet"):
            grad(function)(1.0)


# --- SciPy's functions --------------------------------------------------------------------------


def scipy(name):
    return pytest.importorskip(f"scipy.{name}", reason="SciPy's own functions as primitives")


def test_distributions_of_scipy():
    stats = scipy("stats")
    for frozen_names, options in (
        (logpdf, {}),
        (named_logpdf, {"signature": "x, loc=0, scale=1"}),
    ):
        function = primitive(stats.norm.logpdf)
        tapegrad.elementwise(function, *PARTIALS, **options)
        check_rule(function, X, Y, np.float64(1.5))
        got = grad(lambda m, s, f=function: np.sum(f(X, m, s)), (0, 1))(0.5, 2.0)
        expected = grad(lambda m, s: np.sum(plain_logpdf(X, m, s)), (0, 1))(0.5, 2.0)
        np.testing.assert_allclose(got, expected)
        np.testing.assert_allclose(frozen_names(X, 0.5), function(X, 0.5) + np.log(2 * np.pi) / 2)
    gamma = primitive(stats.gamma.logpdf)
    tapegrad.general(
        gamma,
        vjp=[
            lambda g, _out, x, a, loc, scale: g * ((a - 1) / (x - loc) - 1 / scale),
            None,
            lambda g, _out, x, a, loc, scale: -g * ((a - 1) / (x - loc) - 1 / scale),
            lambda g, _out, x, a, loc, scale: g * ((x - loc) / scale**2 - a / scale),
        ],
        signature="x, a, loc=0, scale=1",
    )
    check_grads(lambda x, s: gamma(x, 2.5, scale=s), (Y, 1.5))


def test_odeint_of_scipy():
    """Its derivative by the equation that the sensitivities satisfy."""
    odeint = scipy("integrate").odeint
    solve = primitive(odeint)
    times = np.linspace(0.0, 1.0, 5)

    def decay(y, t, rate, source):
        return -rate * y + source

    def exact(y0, rate, source):
        return (y0 - source / rate) * np.exp(-rate * times) + source / rate

    def pushed(dots, _out, _func, y0, t, args):
        """Along with y, its derivative: y_dot' = -rate y_dot - rate_dot y + source_dot."""
        rate, source = args
        y0_dot = 0.0 if dots[1] is None else dots[1]
        rate_dot, source_dot = (0.0 if x is None else x for x in dots[3] or (None, None))

        def both(y, t, rate, source, rate_dot, source_dot):
            return np.stack([-rate * y[0] + source, -rate * y[1] - rate_dot * y[0] + source_dot])

        start = np.stack([y0, y0_dot + 0 * y0])
        out = odeint(both, start, t, (rate, source, rate_dot, source_dot), rtol=1e-11, atol=1e-11)
        return out[:, 1:]

    tapegrad.general(solve, jvp=pushed, arrays=4)
    for call in (
        lambda y0, a, b: solve(decay, y0, times, (a, b))[:, 0],
        lambda y0, a, b: solve(decay, y0, t=times, args=(a, b))[:, 0],
    ):
        got = jvp(call, (2.0, 1.5, 0.5), (1.0, -1.0, 0.5))[1]
        expected = jvp(exact, (2.0, 1.5, 0.5), (1.0, -1.0, 0.5))[1]
        np.testing.assert_allclose(got, expected, atol=1e-6)
        np.testing.assert_allclose(
            vmap(call, (None, 0, None))(2.0, Y, 0.5), [call(2.0, y, 0.5) for y in Y]
        )
