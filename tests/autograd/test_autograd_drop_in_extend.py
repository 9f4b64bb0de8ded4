"""tapegrad.autograd.extend: primitives, boxes and spaces of a program's own; traces with nodes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import tapegrad
import tapegrad.autograd.numpy as anp
import tapegrad.numpy.linalg
from tapegrad import MissingRuleError
from tapegrad.autograd import core, deriv, grad, hessian, jacobian, make_jvp, make_vjp
from tapegrad.autograd.builtins import container_untake
from tapegrad.autograd.core import backward_pass, primitive_jvps, primitive_vjps
from tapegrad.autograd.extend import (
    Box,
    JVPNode,
    SparseObject,
    VJPNode,
    VSpace,
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
    register_notrace,
    vspace,
)
from tapegrad.autograd.misc.tracers import const_graph, full_graph
from tapegrad.autograd.numpy.numpy_boxes import ArrayBox
from tapegrad.autograd.numpy.numpy_vjps import unbroadcast, unbroadcast_f
from tapegrad.autograd.numpy.numpy_wrapper import metadata, wrap_namespace
from tapegrad.autograd.test_util import check_equivalent, check_grads
from tapegrad.autograd.tracer import Node, getval, isbox, new_box, notrace_primitives, trace
from tapegrad.autograd.util import toposort

X = np.array([0.5, -1.0, 2.0])
MATRIX = np.array([[2.0, 1.0], [0.5, -1.0]])


def plain(x):
    """A value that must not be traced, as code that NumPy does not reach would need."""
    assert not isbox(x)
    return x


@primitive
def cube(x):
    return np.power(plain(x), 3.0)


defvjp(cube, lambda ans, x: lambda g: 3 * x**2 * g)


@primitive
def quotient(x, y, sign=1.0):
    return sign * plain(x) / plain(y)


defvjp(
    quotient,
    lambda ans, x, y, sign=1.0: unbroadcast_f(x, lambda g: sign * g / y),
    lambda ans, x, y, sign=1.0: unbroadcast_f(y, lambda g: -g * ans / y),
)


# -- Primitives ----------------------------------------------------------------------------------


def test_a_primitive_in_both_modes_to_second_order():
    check_grads(cube)(1.5)
    check_grads(cube)(X)
    check_grads(quotient, (0, 1))(X, np.array([[2.0], [3.0]]))
    assert np.allclose(hessian(lambda x: np.sum(cube(x)))(X), np.diag(6 * X))
    assert grad(grad(grad(cube)))(2.0) == 6.0
    assert np.allclose(jacobian(cube)(X), np.diag(3 * X**2))
    assert np.allclose(tapegrad.vmap(tapegrad.grad(cube))(X), 3 * X**2)


def test_plain_values_go_to_the_function():
    assert cube(2.0) == 8.0
    assert type(cube(2.0)) is np.float64


def test_keywords():
    assert grad(lambda x: quotient(x, 2.0, sign=-1.0))(1.0) == -0.5
    assert grad(lambda y: quotient(1.0, y=y))(2.0) == -0.25  # which HIPS cannot


def test_a_keyword_that_has_no_position_is_refused():
    @primitive
    def f(x, **options):
        return x * options["scale"]

    defvjp(f, lambda ans, x, **options: lambda g: g * options["scale"])
    assert grad(lambda x: f(x, scale=2.0))(1.0) == 2.0
    with pytest.raises(tapegrad.NotDifferentiableError, match="by keyword"):
        grad(lambda x: f(1.0, scale=x))(1.0)


def test_none_is_a_zero_derivative():
    @primitive
    def scaled(x, y):
        return plain(x) * plain(y)

    defvjp(scaled, None, lambda ans, x, y: lambda g: np.sum(g * x))
    assert np.array_equal(grad(lambda x: np.sum(scaled(x, 2.0)))(X), np.zeros(3))
    assert grad(lambda y: np.sum(scaled(X, y)))(2.0) == np.sum(X)


def test_argnums():
    @primitive
    def scaled(word, x, y):
        return len(word) * plain(x) * plain(y)

    defvjp(scaled, lambda ans, word, x, y: lambda g: g * len(word) * x, argnums=[2])
    assert grad(lambda y: scaled("ab", 3.0, y))(1.0) == 6.0
    with pytest.raises(NotImplementedError, match=r"scaled: VJP wrt argnums \(1,\)"):
        grad(lambda x: scaled("ab", x, 1.0))(1.0)


def test_without_a_derivative():
    @primitive
    def bare(x):
        return 2 * plain(x)

    for operator in (grad, deriv):
        with pytest.raises(NotImplementedError, match=r"bare: VJP wrt argnums .* not defined"):
            operator(bare)(1.0)
    assert bare(2.0) == 4.0
    assert grad(primitive(np.sin))(0.0) == 1.0  # tapegrad's own rule


def test_a_jvp_alone_serves_both_modes():
    @primitive
    def product(x, y):
        return plain(x) * plain(y)

    defjvp(product, lambda g, ans, x, y: g * y, lambda g, ans, x, y: x * g)
    check_grads(product, (0, 1))(2.0, 3.0)
    assert grad(product, (0, 1))(2.0, 3.0) == (3.0, 2.0)


def test_a_rule_may_be_asked_as_often_as_one_likes():
    """Nothing of one pass is there in the next, also after one that has failed."""

    @primitive
    def doubled(x):
        return 2 * plain(x)

    defjvp(doubled, lambda g, ans, x: 2 * g)

    @primitive
    def endless(x):
        return plain(x)

    defjvp(endless, lambda g, ans, x: endless(g))
    for _ in range(20):
        assert grad(doubled)(1.0) == 2.0
        with pytest.raises(tapegrad.MissingRuleError, match="calls endless itself"):
            grad(endless)(1.0)
        assert make_jvp(doubled)(1.0)(1.0)[1] == 2.0


def test_a_vjp_is_made_once_for_all_rows_of_a_jacobian():
    """As in HIPS autograd, whose makers may take long: one that takes differences, say."""
    asked = []

    @primitive
    def squared(x):
        return plain(x) ** 2

    @primitive
    def twice(x):
        return 2 * plain(x)

    def by_x(ans, x):
        asked.append(x)
        return lambda g: g * twice(x)

    defvjp(squared, by_x)
    defvjp(twice, lambda ans, x: asked.append(x) or (lambda g: 2 * g))
    np.testing.assert_array_equal(jacobian(squared)(X), np.diag(2 * X))
    assert len(asked) == 1
    asked.clear()
    np.testing.assert_array_equal(hessian(lambda x: np.sum(squared(x)))(X), 2 * np.eye(3))
    assert len(asked) == 2


@pytest.mark.parametrize("declare", [defvjp, defjvp])
def test_a_gradient_within_a_rule_on_plain_values_is_one_of_its_own(declare):
    """Its tape ends where it returns: large arrays that it has read can be written to again."""

    @primitive
    def f(x):
        return np.sin(plain(x))

    def slope(g, x):
        buffer = np.ones(10_000)
        found = g * grad(lambda z: np.sum(buffer * np.sin(z)))(x) / buffer.size
        if not (isbox(g) or isbox(x)):
            buffer[...] = 0.0
        return found

    if declare is defvjp:
        defvjp(f, lambda ans, x: lambda g: slope(g, x))
    else:
        defjvp(f, lambda g, ans, x: slope(g, x))
    for transformed in (
        grad,
        lambda f: grad(grad(f)),
        lambda f: make_jvp(f)(0.7),
        lambda f: lambda x: tapegrad.jvp(grad(f), (x,), (1.0,)),
        lambda f: grad(lambda x: tapegrad.jvp(f, (x,), (1.0,))[1]),
        lambda f: grad(lambda x: x * grad(f)(0.4)),
        lambda f: lambda x: tapegrad.vmap(grad(f))(np.array([x, 2.0])),
        lambda f: grad(lambda x: np.sum(tapegrad.vmap(grad(f))(np.array([2.0, 3.0]) * x))),
    ):
        np.testing.assert_allclose(transformed(f)(0.7), transformed(np.sin)(0.7))


def test_linear_functions():
    @primitive
    def turned(x):
        return plain(x)[::-1]

    defjvp(turned, "same")
    check_grads(turned, modes=["fwd"])(X)
    with pytest.raises(NotImplementedError, match="turned: VJP not defined"):
        jacobian(turned)(X)
    defvjp(turned, lambda ans, x: turned)
    check_grads(turned)(X)
    assert np.array_equal(jacobian(turned)(X), np.eye(3)[::-1])

    @primitive
    def product(x, y):
        return plain(x) * plain(y)

    def_linear(product)
    assert make_jvp(product, (0, 1))(2.0, 3.0)((1.0, 10.0))[1] == 23.0


def test_makers_by_argnum_and_for_all():
    @primitive
    def product(*factors):
        return np.prod([plain(factor) for factor in factors], axis=0)

    defvjp_argnum(product, lambda argnum, ans, args, kwargs: lambda g: g * ans / args[argnum])
    assert grad(product, (0, 1, 2))(2.0, 3.0, 5.0) == (15.0, 10.0, 6.0)
    defjvp_argnum(product, lambda argnum, g, ans, args, kwargs: g * ans / args[argnum])
    assert make_jvp(product, 1)(2.0, 3.0, 5.0)(1.0)[1] == 10.0
    defvjp_argnums(
        product, lambda argnums, ans, args, kwargs: lambda g: [g * ans / args[i] for i in argnums]
    )
    assert grad(product, (0, 1, 2))(2.0, 3.0, 5.0) == (15.0, 10.0, 6.0)
    defjvp_argnums(
        product,
        lambda argnums, gs, ans, args, kwargs: sum(
            g * ans / args[i] for g, i in zip(gs, argnums, strict=True)
        ),
    )
    assert make_jvp(product, (0, 2))(2.0, 3.0, 5.0)((1.0, 1.0))[1] == 21.0


def test_containers_in_and_out():
    @primitive
    def summary(parts, weights):
        total = sum(plain(x) for x in parts["x"])
        return total * weights[0], {"mean": total / len(parts["x"])}

    def vjp_parts(ans, parts, weights):
        count = len(parts["x"])

        def vjp(g):
            first, second = g
            return {"x": [first * weights[0] + second["mean"] / count] * count}

        return vjp

    defvjp(summary, vjp_parts, lambda ans, parts, weights: lambda g: (g[0] * sum(parts["x"]),))

    def f(x, w):
        total, rest = summary({"x": [x, 2 * x, 3.0]}, (w,))
        return total**2 + rest["mean"]

    assert grad(f, (0, 1))(1.0, 2.0) == pytest.approx((2 * 12 * 2 * 3 + 1.0, 2 * 12 * 6.0))
    check_grads(f, (0, 1))(1.0, 2.0)


def test_results_that_are_no_arrays():
    @primitive
    def counted(x):
        return np.sum(plain(x) ** 2), x.size, "done"

    defvjp(counted, lambda ans, x: lambda g: 2 * x * g[0])
    value, count, word = counted(X)
    assert (count, word) == (3, "done")

    def f(x):
        value, count, word = counted(x)
        assert (count, word) == (3, "done")
        return value * count

    assert np.allclose(grad(f)(X), 6 * X)


def test_rules_may_use_code_that_numpy_does_not_reach():
    """One cotangent of a Jacobian after another: a rule gets plain values at the first order."""

    @primitive
    def solved(a, b):
        return np.linalg.solve(plain(a), plain(b))

    defvjp(
        solved,
        lambda ans, a, b: lambda g: -np.outer(solved(a.T, plain(g)), ans),
        lambda ans, a, b: lambda g: solved(a.T, plain(g)),
    )
    found = jacobian(solved, 1)(MATRIX, np.ones(2))
    assert np.allclose(found, np.linalg.inv(MATRIX))
    assert jacobian(solved)(MATRIX, np.ones(2)).shape == (2, 2, 2)


def test_sparse_cotangents():
    @primitive
    def first(x):
        return plain(x)[0]

    def vjp(ans, x):
        def mut_add(total, g):
            total[0] += g
            return total

        return lambda g: SparseObject(vspace(x), lambda total: mut_add(total, g))

    defvjp(first, vjp)
    assert np.array_equal(grad(lambda x: first(x) ** 2)(X), [1.0, 0.0, 0.0])
    found = container_untake(3.0, "a", vspace({"a": 1.0, "b": 2.0})).dense()
    assert found == {"a": 3.0, "b": 0.0}


def test_a_primitive_that_closes_over_a_traced_value_is_an_error():
    def f(x):
        @primitive
        def inner(y):
            return x * y

        defvjp(inner, lambda ans, y: lambda g: g)
        return inner(x)

    with pytest.raises(tapegrad.RuleError, match="closes over a traced value"):
        grad(f)(2.0)


def test_wrong_declarations():
    with pytest.raises(TypeError, match="expected a VJP"):
        defvjp(primitive(lambda x: x), 3)
    with pytest.raises(TypeError, match="expected a JVP"):
        defjvp(primitive(lambda x: x), "other")

    @primitive
    def short(x, y):
        return x * y

    defvjp_argnums(short, lambda argnums, ans, args, kwargs: lambda g: [g])
    with pytest.raises(tapegrad.RuleError, match="returned 1 cotangents, expected 2"):
        grad(short, (0, 1))(1.0, 2.0)


def test_deprecated_declarations():
    @core.primitive
    def product(x, y):
        return plain(x) * plain(y)

    with pytest.warns(UserWarning, match="deprecated"):
        product.defvjp(lambda g, ans, vs, gvs, x, y: g * y)
    with pytest.warns(UserWarning, match="deprecated"):
        product.defvjp(lambda g, ans, vs, gvs, x, y: g * x, argnum=1)
    assert grad(product, (0, 1))(2.0, 3.0) == (3.0, 2.0)
    with pytest.warns(UserWarning, match="deprecated"):
        product.defgrad(lambda ans, x, y: lambda g: 7 * g)
    assert grad(product)(2.0, 3.0) == 7.0
    with pytest.warns(UserWarning, match="deprecated"):
        product.defvjp_is_zero((0, 1))
    assert grad(product)(2.0, 3.0) == 0.0


def test_primitives_are_methods_and_pickled():
    class Scale:
        @primitive
        def __call__(self, x):
            return 2 * plain(x)

    defvjp(Scale.__call__, lambda ans, self, x: lambda g: 2 * g, argnums=[1])
    assert grad(Scale())(1.0) == 2.0
    assert pickle.loads(pickle.dumps(cube)) is cube
    assert pickle.loads(pickle.dumps(grad(cube)))(2.0) == 12.0


def test_functions_without_traces():
    shown = notrace_primitive(lambda x: plain(x) > 0)
    assert grad(lambda x: x if shown(x) else -x)(-2.0) == -1.0


def test_a_function_of_numpys_with_a_derivative_of_the_programs():
    try:
        with pytest.warns(UserWarning, match="Operators and methods"):
            defvjp(anp.sign, lambda ans, x: lambda g: g)  # straight through
        assert grad(lambda x: anp.sign(x) * 3)(2.0) == 3.0
        assert anp.sign(-2.0) == -1.0
        assert tapegrad.grad(lambda x: np.sign(x) * 3.0)(2.0) == 0.0
        defjvp(anp.linalg.inv, lambda g, ans, x: 0 * g)  # whose vjp stays; a package is told once
        check_grads(anp.linalg.inv, modes=["rev"], order=1)(MATRIX)
        assert not np.any(make_jvp(anp.linalg.inv)(MATRIX)(MATRIX)[1])
    finally:
        for made in core.OVERRIDES.values():
            primitive_vjps.pop(made, None)
            primitive_jvps.pop(made, None)
        core.OVERRIDES.clear()
        del anp.sign  # found anew
        anp.linalg.inv = tapegrad.numpy.linalg.inv


def test_what_a_program_adds_to_boxes_is_what_traced_arrays_have():
    def f(x):
        assert x._tidy
        assert x.doubled() == 2 * getval(x)
        assert type(x) in ArrayBox.type_mappings
        assert ArrayBox.type_mappings.get(type(x)) is ArrayBox
        again = ArrayBox(x._value, x._trace, x._node)
        assert again is x
        return again * ArrayBox(2 * x._value, x._trace, x._node)  # at the same node

    added = {"_tidy": True, "doubled": lambda self: self + self, "conj": anp.negative}
    try:
        for name, value in added.items():
            setattr(ArrayBox, name, value)
        assert grad(f)(3.0) == 9.0
        assert grad(lambda x: np.sum(x.conj()))(X).tolist() == [-1, -1, -1]
        assert tapegrad.vmap(lambda x: x.conj())(X).tolist() == (-X).tolist()
        with pytest.raises(TypeError, match="expected the value of the node"):
            grad(lambda x: ArrayBox(X, x._trace, x._node))(1.0)
    finally:
        for name in added:
            delattr(ArrayBox, name)
    assert grad(lambda x: float(hasattr(x, "_tidy")) * x)(1.0) == 0.0
    assert grad(lambda x: np.sum(x.conj()))(X).tolist() == [1, 1, 1]


def test_methods_of_classes_and_properties_that_are_added_to_boxes_replaced_and_deleted():
    def f(x):
        return x.total * x.two() * (x.home() is ArrayBox)

    added = {
        "home": classmethod(lambda cls: cls),
        "two": staticmethod(lambda: 2),
        "total": property(lambda self: np.sum(self)),
    }
    try:
        for name, value in added.items():
            setattr(ArrayBox, name, value)
        assert grad(f)(X).tolist() == [2, 2, 2]
        ArrayBox.total = property(lambda self: 3 * np.sum(self))
        assert grad(f)(X).tolist() == [6, 6, 6]
    finally:
        for name in added:
            delattr(ArrayBox, name)
    assert (
        grad(lambda x: np.sum(x) * any(hasattr(x, name) for name in added))(X).tolist() == [0] * 3
    )


def test_boxes_outside_of_a_transform():
    """Programs make them by hand, and pull back through the node of the result: pymoo does."""
    x = new_box(X, 0, VJPNode.new_root())
    assert np.isnan(x).tolist() == (x > 5).tolist() == [False] * 3
    assert ((x > -2) & (x < 0)).tolist() == [False, True, False]
    assert type(anp.any(x)) is type(np.any(X))
    y = anp.sum(anp.array([[x[0], 2 * x[1]], [1.0, x[2]]]) ** 2)
    weight = new_box(3.0, 0, VJPNode.new_root())
    assert np.allclose(getval(backward_pass(weight, y._node)), 6 * X * [1, 4, 1])
    assert np.array([x[0]]).dtype == object  # NumPy's own, as with HIPS


def test_wrapping_a_namespace():
    def own(x):
        return 2 * plain(x)

    new = {}
    wrap_namespace({"own": own, "sin": np.sin, "pi": np.pi, "float64": np.float64}, new)
    defvjp(new["own"], lambda ans, x: lambda g: 2 * g)
    assert grad(lambda x: new["own"](x) * new["sin"](x))(1.0) == pytest.approx(
        2 * np.sin(1) + 2 * np.cos(1)
    )
    assert new["pi"] == np.pi
    assert new["float64"] is np.float64


def test_unbroadcast():
    g = np.ones((4, 3, 2))
    assert np.array_equal(unbroadcast(g, metadata(np.ones((1, 2)))), [[12.0, 12.0]])
    assert unbroadcast(g * 1j, metadata(1.0)) == 0.0


# -- Spaces --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [
        2.0,
        3,
        1j,
        X,
        X.astype("f"),
        X * 1j,
        (1.0, X),
        [X, {"a": 1j}],
        {"b": X, "a": ()},
        np.linalg.slogdet(MATRIX),
    ],
    ids=str,
)
def test_spaces(value):
    space = vspace(value)
    a, b = space.randn(), space.randn()
    assert space == vspace(a) == vspace(space.zeros()) == vspace(space.ones())
    check_equivalent(space.add(a, b), space.mut_add(space.mut_add(None, b), a))
    assert np.allclose(space.inner_prod(a, space.scalar_mul(b, 2.0)), 2 * space.inner_prod(b, a))
    basis = list(space.standard_basis())
    assert len(basis) == space.size
    total = space.zeros()
    for unit in basis:
        total = space.add(total, unit)
        assert space.inner_prod(unit, unit) == 1.0
    check_equivalent(total, space.ones())
    check_equivalent(space.covector(space.covector(a)), a)


def test_no_space():
    with pytest.raises(TypeError, match=r"VSpace\.register"):
        vspace("word")


# -- Values of a program's own class -------------------------------------------------------------


class Fourier:
    """A function by its coefficients, which a rule makes as it goes."""

    def __init__(self, terms):
        self.terms = terms

    @primitive
    def __call__(self, x):
        return sum(a * np.cos(k * x) for k, a in self.terms.items())


class FourierBox(Box, Fourier):
    @property
    def terms(self):
        return self._value.terms


class FourierSpace(VSpace):
    def zeros(self):
        return Fourier({})

    def _add(self, f, g):
        keys = f.terms | g.terms
        return Fourier({k: f.terms.get(k, 0.0) + g.terms.get(k, 0.0) for k in keys})


FourierBox.register(Fourier)
FourierSpace.register(Fourier)
defvjp(
    Fourier.__call__,
    lambda ans, f, x: lambda g: Fourier({k: g * np.cos(k * x) for k in f.terms}),
)


def test_a_class_with_its_own_box_and_space():
    def loss(f, xs):
        return sum((f(x) - 1.0) ** 2 for x in xs)

    f = Fourier({0: 0.5, 1: 2.0})
    found = grad(loss)(f, [0.0, 0.3])
    assert isinstance(found, Fourier)
    residuals = {x: f(x) - 1.0 for x in (0.0, 0.3)}
    for k, slope in found.terms.items():
        expected = sum(2 * residual * np.cos(k * x) for x, residual in residuals.items())
        assert slope == pytest.approx(expected)


class Marked(np.ndarray):
    """A subclass with operators of its own, whose values may refuse to be differentiated."""

    fixed = False

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        plain = [x.view(np.ndarray) if isinstance(x, Marked) else x for x in inputs]
        return getattr(ufunc, method)(*plain, **kwargs).view(Marked)


def test_a_class_of_arrays_with_a_box():
    def boxed(value, trace, node):
        if value.fixed:
            raise TypeError("it is fixed")
        return ArrayBox(value, trace, node)

    ArrayBox.type_mappings[Marked] = boxed
    try:
        x = X.view(Marked)
        assert np.array_equal(grad(lambda x: np.sum(x**2))(x), 2 * X)
        assert np.array_equal(grad(lambda p: np.sum(p[0] * p[1]))((x, 2.0))[0], 2 * np.ones(3))
        x.fixed = True
        with pytest.raises(TypeError, match="it is fixed"):
            grad(lambda x: np.sum(x**2))(x)
    finally:
        del ArrayBox.type_mappings[Marked]


# -- Traces with nodes ---------------------------------------------------------------------------


class Log(Node):
    """Names of functions, in the order of their calls."""

    __slots__ = ("calls", "parents")

    def __init__(self, value, fun, args, kwargs, parent_argnums, parents):
        self.parents = parents
        self.calls = parents[0].calls
        self.calls.append(fun.__name__)

    def initialize_root(self):
        self.parents, self.calls = [], []


def test_a_trace_has_a_node_for_each_call():
    value, node = trace(Log.new_root(), lambda x: np.sum(np.sin(x) * x + cube(x)[0]), X)
    assert node.calls == ["sin", "multiply", "cube", "getitem", "add", "sum"]
    assert value == np.sum(np.sin(X) * X + X[0] ** 3)
    order = list(toposort(node))
    assert order[0] is node
    assert len(order) == 7


def test_some_functions_are_no_nodes():
    register_notrace(Log, np.sin)
    try:
        _, node = trace(Log.new_root(), lambda x: np.sum(np.sin(x) * x), X)
        assert node.calls == ["multiply", "sum"]
    finally:
        notrace_primitives[Log].discard(np.sin)


def test_a_trace_of_a_gradient():
    value, node = trace(Log.new_root(), grad(lambda x: np.sin(x) * 2), 0.5)
    assert float(value) == pytest.approx(2 * np.cos(0.5))
    assert "cos" in node.calls


def test_a_trace_within_a_gradient():
    def f(x):
        value, node = trace(Log.new_root(), lambda y: y**2, x)
        assert node.calls == ["power"] or node.calls == ["square"]
        return value

    assert grad(f)(3.0) == 6.0


def test_a_trace_that_does_not_depend_on_its_input():
    with pytest.warns(UserWarning, match="independent"):
        assert trace(Log.new_root(), lambda x: 1.0, X) == (1.0, None)


def test_a_backward_pass_over_nodes():
    _, node = trace(VJPNode.new_root(), lambda x: np.sum(cube(x) * np.exp(x)), X)
    assert np.allclose(backward_pass(1.0, node), (3 * X**2 + X**3) * np.exp(X))
    _, node = trace(JVPNode.new_root(1.0), lambda x: cube(x) * np.exp(x), 2.0)
    assert node.g == pytest.approx((12 + 8) * np.exp(2))


def test_const_graph_runs_python_once():
    runs = []

    def f(scale, x, y):
        runs.append(1)
        return {"a": scale * grad(np.sin)(x), "b": [np.where(x > y, x, y)]}

    g = const_graph(f, 2.0)
    assert g(1.0, 2.0)["b"] == [2.0]
    assert g(3.0, 2.0)["b"] == [3.0]
    assert g(3.0, 2.0)["a"] == pytest.approx(2 * np.cos(3))
    assert len(runs) == 1
    independent = pytest.warns(UserWarning, match="independent")
    with pytest.raises(TypeError, match="independent"), independent:
        const_graph(lambda x: 1.0)(2.0)


def test_a_full_graph():
    node = full_graph(lambda x, y: x * y, 2.0, 3.0)
    function, args, kwargs, parents = node.recipe
    assert function is np.multiply
    assert args == (2.0, 3.0)
    assert node.value == 6.0
    assert [position for position, _ in parents] == [0, 1]


def test_make_vjp_of_a_primitives_rule_is_differentiable():
    def f(x):
        return make_vjp(cube)(x)[0](x)  # 3 x^3

    assert grad(f)(2.0) == 36.0


# -- What PennyLane does -------------------------------------------------------------------------


class Flagged(np.ndarray):
    """An array that unwraps itself for ufuncs, and cannot read traced arrays."""

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        inputs = [x.view(np.ndarray) if isinstance(x, Flagged) else x for x in inputs]
        return np.asarray(getattr(ufunc, method)(*inputs, **kwargs)).view(Flagged)


def test_a_subclass_with_a_box_gives_way_to_traced_arrays():
    own = Flagged.__array_ufunc__
    ArrayBox.type_mappings[Flagged] = ArrayBox
    try:
        x = np.array([1.0, 2.0]).view(Flagged)
        assert type(x + x) is Flagged
        assert grad(lambda y: np.sum(x * y + y * x + np.dot(x, y)))(np.ones(2)).tolist() == [4, 8]
        assert grad(lambda y: np.sum(y * x))(x).tolist() == [1, 2]
        ArrayBox.type_mappings[Flagged] = ArrayBox  # a second time changes nothing
    finally:
        del ArrayBox.type_mappings[Flagged]
    assert Flagged.__array_ufunc__ is own
    with pytest.raises(tapegrad.NotDifferentiableError, match="Flagged beside a traced value"):
        grad(lambda y: np.sum(np.dot(x, y)))(np.ones(2))


class Circuit:
    """An object, no container, which holds values of the forward pass."""

    def __init__(self, values):
        self.values = values


@primitive
def run_circuit(parameters, circuit):
    return np.float64(sum(map(float, parameters[0])))


def test_a_rule_may_look_at_what_an_argument_holds_and_return_rows():
    seen = []

    def vjp(ans, parameters, circuit):
        def cotangents(g):
            shifted = [2 * value for value in circuit.values]  # traced, and their derivative over
            seen.extend(float(core.getval(value)) for value in shifted)
            return g * np.ones(2), None if len(parameters[1]) else [5.0]

        return cotangents

    defvjp(run_circuit, vjp, argnums=[0])

    def f(x):
        return run_circuit(([x[0], x[1]], []), Circuit([x[0], x[1]]))

    assert grad(f)(np.array([1.0, 3.0])).tolist() == [1, 1]
    assert seen == [2, 6]


@primitive
def square_of(x, holder):
    return x**2


defvjp(square_of, lambda ans, x, holder: lambda g: g * 2 * holder.values[0], argnums=[0])


def test_what_a_rule_finds_in_an_object_is_constant_or_an_error():
    """Within another derivative it would lose that one's part, silently."""

    def f(x):
        return square_of(x, Circuit([x]))

    assert grad(f)(3.0) == 6.0
    assert jacobian(lambda x: f(x[0]) * x)(np.array([3.0, 1.0])).tolist() == [[27, 0], [6, 9]]
    mixed = lambda y: grad(lambda x: square_of(x, Circuit([y * x])))(3.0)  # noqa: E731
    for second in (grad(grad(f)), grad(mixed), lambda x: tapegrad.jvp(mixed, (x,), (1.0,))):
        with pytest.raises(tapegrad.LeakedValueError):
            second(3.0)
    with pytest.raises(tapegrad.LeakedValueError):
        tapegrad.vmap(grad(f))(np.ones(2))


def test_a_vjp_that_takes_the_value_of_its_cotangent_is_for_reverse_mode():
    """As packages cut off higher derivatives; forward mode would be silently zero."""

    @primitive
    def slope(x):
        return np.cos(x)

    @primitive
    def sine(x):
        return np.sin(x)

    defvjp(sine, lambda ans, x: lambda g: g * slope(x))
    defvjp(slope, lambda ans, x: lambda g: -getval(g) * np.sin(getval(x)))
    x = np.array([0.3, 0.5])
    found = hessian(lambda x: np.sum(sine(x)))(x)
    np.testing.assert_allclose(found, np.diag(-np.sin(x)), rtol=1e-15)
    with pytest.raises(MissingRuleError, match=r"slope: JVP not defined.*value out of its cotang"):
        make_jvp(grad(lambda x: np.sum(sine(x))))(x)(np.ones(2))

    flat = primitive(np.floor)
    defvjp(flat, lambda ans, x: lambda g: np.zeros_like(x))
    assert np.all(make_jvp(flat)(x)(np.ones(2))[1] == 0)


def test_a_derivative_that_returns_one_array_again():
    scale, memory = np.arange(1.0, 9.0), np.zeros(8)

    @primitive
    def scaled(x):
        return x * scale[: len(x)]

    def vjp_of(ans, x):
        def pull(g):
            return np.multiply(g, scale[: len(x)], out=memory[: len(x)])

        return pull

    defvjp(scaled, vjp_of)
    for count in (1, 3, 8):  # rows one by one, and in a vmap
        x = np.ones(count)
        assert np.array_equal(jacobian(scaled)(x), np.diag(scale[:count]))
