"""tapegrad.autograd: HIPS autograd's operators and namespaces, and its conventions."""

from __future__ import annotations

import functools
import inspect
import pickle
import warnings
from collections import OrderedDict
from operator import methodcaller
from typing import NamedTuple

import numpy as np
import pytest

import tapegrad
import tapegrad.autograd as autograd
import tapegrad.autograd.numpy as anp
from tapegrad.autograd import (
    checkpoint,
    deriv,
    elementwise_grad,
    grad,
    grad_and_aux,
    grad_named,
    hessian,
    hessian_tensor_product,
    hessian_vector_product,
    holomorphic_grad,
    jacobian,
    make_ggnvp,
    make_hvp,
    make_jvp,
    make_jvp_reversemode,
    make_vjp,
    multigrad_dict,
    tensor_jacobian_product,
    value_and_grad,
)
from tapegrad.autograd.misc.fixed_points import fixed_point
from tapegrad.autograd.misc.flatten import flatten, flatten_func
from tapegrad.autograd.misc.optimizers import adam, rmsprop, sgd
from tapegrad.autograd.test_util import check_grads
from tapegrad.autograd.wrap_util import unary_to_nary

X = np.array([0.5, -1.0, 2.0])
V = np.array([1.0, 0.5, -2.0])


class Pair(NamedTuple):
    left: float
    right: float


def cubes(x):
    return anp.sum(x**3)


def product(x, y):
    return x * y


# -- Arguments and results -----------------------------------------------------------------------


@pytest.mark.parametrize("x", [3, np.int32(3), True, np.array(3)], ids=type)
def test_integers_count_as_floats(x):
    slope = grad(lambda x: x**2 * 1.0)(x)
    assert slope == 2.0 * x
    assert slope.dtype == float


def test_an_array_of_integers_counts_as_floats():
    assert np.array_equal(grad(cubes)(np.array([1, 2])), [3.0, 12.0])
    assert np.array_equal(jacobian(lambda x: x**2)(np.array([1, 2])), [[2.0, 0.0], [0.0, 4.0]])
    assert make_jvp(lambda x: x**2)(3)(1) == (9.0, 6.0)


def test_integers_in_containers_count_as_floats():
    found = grad(lambda p: p["n"] * p["w"][0])({"n": 2, "w": [3.0]})
    assert found == {"n": 3.0, "w": [2.0]}


@pytest.mark.parametrize("dtype", ["e", "f", "d", "g"])
def test_a_gradient_has_its_arguments_dtype(dtype):
    assert grad(cubes)(X.astype(dtype)).dtype == np.dtype(dtype)


def test_the_gradient_of_a_float_is_a_float():
    assert isinstance(grad(lambda x: x**2)(3.0), float)


@pytest.mark.parametrize(
    ("argnum", "expected"),
    [(0, 3.0), (1, 2.0), ([0, 1], (3.0, 2.0)), ((1, 0), (2.0, 3.0)), ([1], (2.0,)), (-1, 2.0)],
)
def test_argnum(argnum, expected):
    assert grad(product, argnum=argnum)(2.0, 3.0) == expected


def test_keywords_go_to_the_function():
    assert grad(lambda x, *, power: x**power)(3.0, power=2) == 6.0


@pytest.mark.parametrize("argnum", [2, "x", None, 1.0])
def test_a_wrong_argnum_is_named(argnum):
    with pytest.raises(tapegrad.InputError, match="argnum"):
        grad(product, argnum)(2.0, 3.0)


@pytest.mark.parametrize(
    "x",
    [
        (1.0, 2.0),
        [1.0, 2.0],
        {"a": 1.0, "b": 2.0},
        OrderedDict(a=1.0, b=2.0),
        Pair(1.0, 2.0),
        (1.0, [2.0, {"c": 3.0}]),
    ],
)
def test_containers(x):
    def f(x):
        return sum(part**2 for part in flatten(x)[0])

    value, gradient = value_and_grad(f)(x)
    assert type(gradient) is type(x)
    assert np.array_equal(flatten(gradient)[0], 2 * flatten(x)[0])
    assert not autograd.tracer.isbox(value)


def test_results_in_containers():
    vjp, (first, rest) = make_vjp(lambda x: (x**2, [x]))(3.0)
    assert (first, rest) == (9.0, [3.0])
    assert vjp((1.0, [10.0])) == 16.0
    assert make_jvp(lambda x: {"a": x**2})(3.0)(1.0)[1] == {"a": 6.0}


def test_only_a_real_number_has_a_gradient():
    for f in (lambda x: x * V, lambda x: x * 1j, lambda x: x > 0, lambda x: None, lambda x: "a"):
        with pytest.raises(TypeError):
            grad(f)(1.0)
    assert grad(lambda x: x * np.ones((1, 1)))(2.0) == 1.0  # of size 1


def test_the_jacobian_of_a_constant_is_zero():
    for constant in (1.0, 2, np.ones(2), np.ones(2) > 0):
        with pytest.warns(UserWarning, match="Output seems independent of input"):
            found = jacobian(lambda x, constant=constant: constant)(X)
        assert found.shape == (*np.shape(constant), 3)
        assert not found.any()


@pytest.mark.parametrize("operator", [grad, value_and_grad, elementwise_grad])
def test_an_output_that_does_not_depend_on_the_input_warns(operator):
    with pytest.warns(UserWarning, match="Output seems independent of input"):
        operator(lambda x: 1.0)(2.0)


def test_a_vjp_takes_numbers_for_arrays():
    vjp, _ = make_vjp(lambda x: x**2)(X)
    assert np.array_equal(vjp(1), 2 * X)
    assert np.array_equal(vjp(np.array([1.0])), 2 * X)
    assert make_vjp(lambda x: x**2)(3.0)[0](np.array([1.0])) == 6.0
    with pytest.raises(ValueError, match="broadcast"):
        vjp(np.ones(2))


def test_a_vjp_may_be_called_often():
    vjp, value = make_vjp(anp.sin)(X)
    assert np.array_equal(value, np.sin(X))
    assert np.allclose(vjp(2 * V), 2 * vjp(V), rtol=1e-15)


# -- Operators -----------------------------------------------------------------------------------


def test_jacobians_are_out_by_in():
    def f(x):
        return anp.outer(x, x)[:, :2]

    found = jacobian(f)(X)
    assert found.shape == (3, 2, 3)
    assert np.array_equal(found, tapegrad.jacobian(f)(X))
    assert jacobian(lambda x: x**2)(3.0) == 6.0
    by_both = jacobian(product, (0, 1))(X, V)
    assert np.array_equal(by_both[0], np.diag(V))
    assert np.array_equal(by_both[1], np.diag(X))


def test_jacobians_have_the_containers_of_output_and_input():
    found = jacobian(lambda p: {"sum": p[0] + p[1], "product": [p[0] * p[1]]})((2.0, 3.0))
    assert found == {"sum": (1.0, 1.0), "product": [(3.0, 2.0)]}
    assert hessian(lambda p: p["a"] * p["b"])({"a": 2.0, "b": 3.0}) == {
        "a": {"a": 0.0, "b": 1.0},
        "b": {"a": 1.0, "b": 0.0},
    }


def test_hessians_of_arrays_too():
    found = hessian(lambda x: x**3)(X)
    assert found.shape == (3, 3, 3)
    assert np.allclose(np.einsum("iii->i", found), 6 * X)
    assert np.allclose(hessian(cubes)(X), np.diag(6 * X))
    assert hessian(lambda x: x**3)(2) == 12.0


def test_a_jacobian_runs_the_function_once():
    runs = []
    jacobian(lambda x: runs.append(1) or x**2)(X)
    assert len(runs) == 1


def test_products_with_hessians():
    expected = 6 * X * V
    hvp, gradient = make_hvp(cubes)(X)
    assert np.allclose(hvp(V), expected)
    assert np.allclose(gradient, 3 * X**2)
    assert np.allclose(hessian_vector_product(cubes)(X, V), expected)
    assert np.allclose(
        hessian_tensor_product(lambda a, x: a * cubes(x), 1)(2.0, X, V), 2 * expected
    )


def test_products_with_jacobians():
    matrix = np.arange(6.0).reshape(2, 3)

    def f(x):
        return anp.tanh(matrix @ x)

    dense = jacobian(f)(X)
    left = np.array([1.0, -2.0])
    assert np.allclose(tensor_jacobian_product(f)(X, left), left @ dense)
    assert np.allclose(make_jvp_reversemode(f)(X)(V), dense @ V)
    assert np.allclose(make_ggnvp(f)(X)(V), dense.T @ dense @ V)
    assert np.allclose(
        make_ggnvp(f, lambda y: anp.sum(y**4))(X)(V),
        dense.T @ np.diag(12 * f(X) ** 2) @ dense @ V,
    )


def test_elementwise_grad_of_what_broadcasts():
    assert elementwise_grad(anp.add)(1.0, X) == 3.0
    assert np.array_equal(elementwise_grad(product, 1)(X, 2.0), np.sum(X))
    with pytest.raises(TypeError, match="real"):
        elementwise_grad(lambda x: x * 1j)(X)


def test_other_operators():
    assert deriv(lambda x: x**2)(3.0) == 6.0
    assert grad_and_aux(lambda x: (x**2, {"kept": x + 1}))(3.0) == (6.0, {"kept": 4.0})
    assert grad_named(lambda a, b: a * b**2, "b")(2.0, 3.0) == 12.0
    assert holomorphic_grad(lambda z: z**3)(1 + 1j) == 6j
    with pytest.warns(UserWarning, match="not complex"):
        holomorphic_grad(lambda z: z**3)(1.0)
    found = multigrad_dict(lambda x, y=2.0, *more, z: x * y * z)(3.0, z=4.0)
    assert dict(found) == {"x": 8.0, "y": 12.0, "more": (), "z": 6.0}
    assert autograd.egrad is elementwise_grad


def test_a_gradient_of_a_complex_number():
    assert grad(lambda z: anp.abs(z) ** 2)(3 + 4j) == 6 - 8j  # du/dx - i du/dy


def test_checkpoint():
    inner = checkpoint(lambda x: anp.sin(x) ** 2)
    assert np.allclose(grad(lambda x: anp.sum(inner(x)))(X), np.sin(2 * X))
    check_grads(lambda x: anp.sum(inner(x) ** 2), modes=["rev"])(X)


def test_operators_nest():
    f = grad(grad(grad(lambda x: x**4)))
    assert f(2.0) == 48.0
    assert grad(lambda x: x * grad(lambda y: x * y**2)(3.0))(2.0) == 24.0


def test_names_and_docstrings():
    def distance(x, y):
        return anp.sqrt(x * x + y * y)

    found = grad(distance, 1)
    assert found.__name__ == "grad_of_distance_wrt_argnum_1"
    assert "distance" in found.__doc__
    assert grad.__name__ == "grad"


def test_operators_show_their_own_options():
    assert str(inspect.signature(grad)) == "(fun, argnum=0)"
    assert list(inspect.signature(check_grads).parameters) == ["fun", "argnum", "modes", "order"]
    unlike = unary_to_nary(lambda f, x, power: f(x) ** power)
    assert unlike(lambda x: x + 1, 0, 3)(1) == 8
    assert str(inspect.signature(unlike)) == "(fun, argnum=0, *options, **named)"


def test_operators_are_methods():
    class Model:
        scale = 2.0

        def loss(self, x):
            return self.scale * x**2

        slope = grad(loss, 1)

    assert Model().slope(3.0) == 12.0
    assert grad(Model().loss)(3.0) == 12.0
    assert grad(functools.partial(product, y=5.0))(1.0) == 5.0


def test_operators_are_pickled():
    for operator in (grad, jacobian, value_and_grad):
        again = pickle.loads(pickle.dumps(operator(cubes)))
        assert np.allclose(flatten(again(X))[0], flatten(operator(cubes)(X))[0])
        assert pickle.loads(pickle.dumps(operator)) is operator


# -- NumPy's namespace ---------------------------------------------------------------------------


def test_lists_of_traced_values():
    assert grad(lambda x: anp.sum(anp.array([x, [1.0, x[0]]])))(X[:2])[0] == 2.0
    assert grad(lambda x: anp.mean([x, 3 * x]))(1.0) == 2.0


def test_where_of_pythons_values_returns_such():
    assert type(anp.where(True, 1, 2)) is int
    assert anp.where(False, [1.0], [2.0]) == [2.0]
    assert type(anp.where(X > 0, 1, 2)) is np.ndarray
    assert np.array_equal(anp.where(condition=X > 0)[0], [0, 2])
    assert grad(lambda x: anp.where(x > 0, x**2, 0.0))(3.0) == 6.0


def test_integers_of_traced_values_are_constants():
    assert grad(lambda x: x * anp.int64(x))(2.5) == 2.0
    assert isinstance(np.int64(3), anp.int64)
    assert anp.zeros(2, anp.int64).dtype == np.int64


def test_namespaces():
    assert anp.__version__ == np.__version__
    assert anp.random.seed is np.random.seed
    assert np.allclose(grad(lambda x: anp.linalg.norm(x))(X), X / np.linalg.norm(X))
    assert np.allclose(grad(lambda x: anp.sum(anp.abs(anp.fft.fft(x)) ** 2))(X), 6 * X)
    assert set(np.__all__) <= set(dir(anp))
    with pytest.raises(AttributeError):
        _ = anp.no_such_function


@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh_has_a_cotangent_of_the_triangle_that_numpy_reads(uplo):
    matrix = np.array([[2.0, 0.3], [-5.0, 1.0]])
    check_grads(lambda a: anp.linalg.eigh(a, uplo)[0])(matrix)
    found = grad(lambda a: anp.sum(anp.linalg.eigh(a, uplo)[0] ** 2))(matrix)
    assert found[(0, 1) if uplo == "L" else (1, 0)] == 0.0


@pytest.mark.parametrize("uplo", ["L", "U"])
def test_eigh_of_a_triangle_of_complex_numbers(uplo):
    """Against the matrix that the triangle stands for, built by hand."""
    a = np.array([[[2.0, 0.3 - 1j], [0.3 + 1j, 1.0]], [[1.0, 2j], [-2j, 5.0]]])
    side, other = (np.tril, np.triu) if uplo == "L" else (np.triu, np.tril)
    junk = a + other(np.full((2, 2), 3.0 - 4j), 1 if uplo == "L" else -1)

    def exponential(a, uplo):
        w, v = anp.linalg.eigh(a, uplo)
        return anp.sum(anp.abs((v * anp.exp(w)[:, None]) @ anp.linalg.adjoint(v) - 1j) ** 2)

    assert np.isclose(exponential(junk, uplo), exponential(a, uplo))
    found = grad(lambda a: exponential(a, uplo))(junk)
    assert np.array_equal(found, side(found))
    step = 1e-6 * side(np.array([[0.3, 0.5 - 0.2j], [0.4 + 0.7j, -1.0]]))
    change = exponential(junk + step, uplo) - exponential(junk - step, uplo)
    assert np.isclose(np.real(np.sum(found * step)), change / 2, rtol=1e-6)


@pytest.mark.parametrize("dtype", [float, complex])
def test_transposed_and_adjoint_matrices(dtype):
    x = (np.arange(12.0).reshape(2, 2, 3) * (1 + 2j if dtype is complex else 1)).astype(dtype)
    assert np.array_equal(anp.linalg.T(x), np.swapaxes(x, 1, 2))
    assert np.array_equal(anp.linalg.adjoint(x), np.conj(np.swapaxes(x, 1, 2)))
    check_grads(anp.linalg.T)(x)
    check_grads(anp.linalg.adjoint)(x)


def test_what_tapegrad_does_more_works_here():
    def filled(x):
        out = anp.zeros_like(x)
        out[0] = x[1] ** 2
        return anp.sum(out * x)

    assert np.allclose(grad(filled)(X), [1.0, -1.0, 0.0])


# -- misc ----------------------------------------------------------------------------------------


def test_flatten_goes_there_and_back():
    value = {"w": np.ones((2, 3)), "b": (1.0, [np.float32(2.0), ()]), "a": np.zeros(0)}
    vector, unflatten = flatten(value)
    assert np.array_equal(vector, [1, 2, 1, 1, 1, 1, 1, 1])
    again = unflatten(2 * vector)
    assert again["w"].shape == (2, 3)
    assert again["b"][1][0].dtype == np.float32
    assert type(again["b"]) is tuple
    assert list(again) == ["w", "b", "a"]  # as HIPS: only the vector is sorted


def test_flatten_is_differentiable_both_ways():
    def f(x):
        vector, unflatten = flatten([x, {"y": 2 * x}])
        return anp.sum(unflatten(vector**2)[1]["y"])

    assert np.allclose(grad(f)(X), 8 * X)
    g, unflatten, start = flatten_func(lambda pair: (pair[0] * pair[1], pair[0]), (3.0, 2.0))
    assert np.array_equal(jacobian(g)(start), [[2.0, 3.0], [1.0, 0.0]])
    assert unflatten(g(start)) == (6.0, 3.0)


def test_flatten_of_complex_parts_keeps_the_real_ones_real():
    vector, unflatten = flatten((1 + 2j, 3.0))
    assert vector.dtype == complex
    assert [type(part) for part in unflatten(vector)] == [np.complex128, np.float64]


@pytest.mark.parametrize("method", [sgd, rmsprop, adam])
def test_optimizers(method):
    seen = []
    found = method(
        lambda p, i: grad(lambda p: anp.sum((p["x"] - V) ** 2) + p["y"] ** 2)(p),
        {"x": np.zeros(3), "y": 1.0},
        callback=lambda p, i, g: seen.append((i, g["y"])),
        num_iters=400,
        step_size=0.05,
    )
    assert np.allclose(found["x"], V, atol=0.05)
    assert abs(found["y"]) < 0.05
    assert seen[0] == (0, 2.0)
    assert len(seen) == 400


def test_an_optimizer_is_differentiable():
    def f(rate):
        return sgd(lambda x, i: 2 * x, np.ones(1), num_iters=3, step_size=rate, mass=0.0)[0]

    assert grad(f)(0.1) == pytest.approx(-6 * 0.8**2)


def test_fixed_points():
    def root(a):
        def step(a):
            return lambda x: 0.5 * (x + a / x)

        return fixed_point(step, a, 1.0, lambda x, y: anp.abs(x - y), 1e-13)

    assert grad(root)(4.0) == pytest.approx(0.25)
    assert grad(grad(root))(4.0) == pytest.approx(-1 / 32)


# -- scipy ---------------------------------------------------------------------------------------


def test_convolve_is_hips_and_agrees_with_scipys():
    theirs = pytest.importorskip("scipy.signal").convolve
    from tapegrad.autograd.scipy.signal import convolve

    rng = np.random.default_rng(3)
    for shapes in [((5,), (3,)), ((2,), (6,)), ((4, 5), (3, 2))]:
        a, b = (rng.normal(size=shape) for shape in shapes)
        for mode in ("full", "valid", "same"):
            assert np.allclose(convolve(a, b, mode=mode), theirs(a, b, mode))
    a, b = rng.normal(size=(2, 5, 4)), rng.normal(size=(4, 3, 2))
    found = convolve(a, b, axes=([1], [1]), dot_axes=([0], [2]))
    assert found.shape == (4, 4, 7)
    expected = sum(theirs(a[k, :, 1], b[2, :, k]) for k in range(2))
    assert np.allclose(found[1, 2], expected)
    check_grads(lambda a, b: convolve(a, b, axes=([1], [1]), mode="same"), (0, 1))(a, b)
    with pytest.raises(ValueError, match="mode"):
        convolve(a, b, mode="circular")
    with pytest.raises(ValueError, match="at least as large"):
        convolve(np.ones((2, 5)), np.ones((3, 4)), mode="valid")


def test_scipys_names():
    pytest.importorskip("scipy")
    from tapegrad.autograd.scipy import integrate, linalg, special, stats
    from tapegrad.autograd.scipy.stats import norm

    assert special.expit(0.0) == 0.5
    assert linalg.solve is not None
    assert callable(integrate.odeint)
    assert callable(norm.logpdf)
    assert callable(stats.gamma.logpdf)
    assert grad(special.expit)(0.0) == 0.25
    with pytest.raises(AttributeError):
        _ = special.no_such_function


def test_who_asks_for_names_of_pythons_needs_no_scipy(monkeypatch):
    """As `doctest`, `inspect` and `copy` ask any object."""
    from tapegrad.autograd.scipy import _names, integrate, linalg, signal, special, stats

    def absent(module):
        raise ModuleNotFoundError(f"No module named 'scipy.{module}'", name="scipy")

    monkeypatch.setattr(_names, "_home", absent)
    for module in (integrate, linalg, signal, special, stats, stats.norm):
        assert not hasattr(module, "__wrapped__")


# -- What functions see --------------------------------------------------------------------------


def test_types_of_traced_values():
    from tapegrad.autograd import isinstance as autograd_isinstance
    from tapegrad.autograd import type as autograd_type
    from tapegrad.autograd.numpy.numpy_boxes import ArrayBox
    from tapegrad.autograd.tracer import getval, isbox

    def f(x):
        assert isinstance(x, ArrayBox)
        assert isbox(x)
        assert np.array_equal(getval(x), X)
        assert np.array_equal(x._value, X)
        assert autograd_isinstance(x, np.ndarray)
        assert autograd_type(x) is np.ndarray
        return anp.sum(x)

    grad(f)(X)
    assert not isinstance(X, ArrayBox)
    assert autograd_type([1]) is list
    assert autograd.tuple([1, 2]) == (1, 2)
    assert autograd.dict(a=1) == {"a": 1}
    assert type(autograd.list("ab")) is list
    assert isinstance([], autograd.list)
    assert not isinstance((), autograd.list)
    assert pickle.loads(pickle.dumps(autograd.tuple)) is autograd.tuple


@pytest.mark.parametrize("name", ["sum", "mean", "ravel", "cumsum", "std"])
def test_methods(name):
    method = methodcaller(name)
    check_grads(lambda x: method(x * x))(X)


def test_check_grads_finds_what_is_wrong():
    @tapegrad.primitive
    def wrong(x):
        return x**2

    tapegrad.general(wrong, vjp=[lambda g, out, x: 2.1 * x * g])
    with pytest.raises(AssertionError, match=r"\(VJP\) check of"):
        check_grads(lambda x: wrong(x), modes=["rev"])(3.0)
    with pytest.raises(AssertionError, match="Value mismatch"):
        check_grads(lambda x: wrong(x), modes=["fwd"])(3.0)


def test_differences_by_every_argument():
    from tapegrad.autograd.test_util import nd

    found = nd(lambda x, y: anp.sum(x * y), X, V)
    assert np.allclose(found, [V, X])


def test_deprecated_quick_check():
    from tapegrad.autograd.util import quick_grad_check

    with pytest.warns(UserWarning, match="deprecated"):
        quick_grad_check(lambda x, y: x**2 + y, 1.0, (2.0,))


def test_nothing_warns_without_reason():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        grad(cubes)(X)
        jacobian(lambda x: x**2)(X)
        hessian(cubes)(X)


def test_unflatten_keeps_the_order_of_a_dict():
    vector, unflatten = flatten({"w": np.ones(2), "b": ({"z": 5.0, "a": 4.0}, 3.0)})
    assert vector.tolist() == [4.0, 5.0, 3.0, 1.0, 1.0]
    again = unflatten(vector)
    assert list(again) == ["w", "b"]
    assert list(again["b"][0].items()) == [("z", 5.0), ("a", 4.0)]
    found = sgd(lambda p, i: p, {"w": np.ones(2), "b": 1.0}, num_iters=1)
    assert list(found) == ["w", "b"]
