"""tapegrad.dask against tapegrad on the whole data, and to the bit against a sequential run."""

from __future__ import annotations

import dask_oracle
import numpy as np
import pytest
from dask_oracle import bits, cut, sequential
from hypothesis import given
from hypothesis import strategies as st

import tapegrad
from tapegrad import dask, tree

array = pytest.importorskip("dask.array")

FUNCTIONS = {"sin": np.sin, "tanh": np.tanh, "square": np.square}
DTYPES = (np.float64, np.float32, np.complex128, np.complex64)


@st.composite
def leaves(draw):
    """Arrays of some dtype, also without axes or elements, and Python's numbers."""
    seed = draw(st.integers(0, 99))
    if draw(st.booleans()):
        return float(np.random.default_rng(seed).normal())
    dtype, shape = draw(st.sampled_from(DTYPES)), draw(st.sampled_from([(), (2,), (0,), (2, 3)]))
    values = np.random.default_rng(seed).normal(size=(2, *shape))
    if np.dtype(dtype).kind == "c":
        return np.asarray(values[0] + 1j * values[1], dtype)
    return np.asarray(values[0], dtype)


def trees(children):
    several = st.lists(children, min_size=1, max_size=3)
    return (
        several
        | several.map(tuple)
        | st.dictionaries(st.sampled_from("abc"), children, min_size=1)
    )


PARAMETERS = st.recursive(leaves(), trees, max_leaves=4)
SIZES = st.lists(st.integers(0, 4), min_size=1, max_size=20).filter(any)


@st.composite
def problems(draw):
    """Parameters, data, the sizes of its chunks, and a loss that is a mean over rows."""
    params, sizes = draw(PARAMETERS), draw(SIZES)
    names = draw(st.lists(st.sampled_from(sorted(FUNCTIONS)), min_size=4, max_size=4))
    rows = sum(sizes)
    random = np.random.default_rng(draw(st.integers(0, 99)))
    data = (random.normal(size=(rows, 4)), {"t": random.normal(size=rows)})
    reduce = {"mean": np.mean, "sum": np.sum}
    combine = draw(st.sampled_from(sorted(reduce)))

    def loss(params, batch):
        x, t = batch[0], batch[1]["t"]
        out = -t
        for i, (leaf, name) in enumerate(zip(tree.leaves(params), names, strict=False)):
            inner = np.sum(np.real(leaf * (1 - 0.5j)) if np.iscomplexobj(leaf) else leaf)
            out = out + FUNCTIONS[name](inner * x[:, i])
        return reduce[combine](out**2)

    return params, data, sizes, loss, combine


def on_dask(data, sizes):
    return tree.map(
        lambda x: array.from_array(x, chunks=(tuple(sizes), *((n,) for n in x.shape[1:]))), data
    )


def close(found, expected):
    for a, b in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        # A loss of float32 parameters is rounded at each row; terms of both signs cancel.
        eps = (
            1e-4
            if any(
                x.dtype in (np.float32, np.complex64)
                for x in map(np.asarray, tree.leaves(expected))
            )
            else 1e-10
        )
        assert np.allclose(a, b, rtol=eps, atol=eps)


@given(problems())
def test_a_pass_is_the_gradient_of_the_whole_and_the_sequential_sum_to_the_bit(problem):
    params, data, sizes, loss, combine = problem
    found = dask.value_and_grad(
        loss, params, on_dask(data, sizes), combine=combine, scheduler="synchronous"
    )
    assert bits(found) == bits(sequential(loss, params, cut(data, sizes), combine=combine))
    close(found, tapegrad.value_and_grad(loss)(params, data))
    assert tree.structure(found[1]) == tree.structure(params)


@given(problems())
def test_threads_give_the_same_bits(problem):
    params, data, sizes, loss, combine = problem
    lazy = on_dask(data, sizes)
    one, many = (
        dask.value_and_grad(loss, params, lazy, combine=combine, scheduler=name)
        for name in ("synchronous", "threads")
    )
    assert bits(one) == bits(many)


@given(problems(), st.integers(0, 99))
def test_weights_stand_in_for_rows(problem, seed):
    params, data, sizes, loss, combine = problem
    weights = np.random.default_rng(seed).integers(0, 3, len(sizes)).astype(float)
    weights[np.argmax(sizes)] = 1.5
    found = dask.value_and_grad(
        loss, params, on_dask(data, sizes), combine=combine, weights=weights, scheduler="sync"
    )
    expected = sequential(loss, params, cut(data, sizes), combine=combine, weights=weights)
    assert bits(found) == bits(expected)


@given(problems(), st.integers(0, 99))
def test_products_are_those_of_the_whole(problem, seed):
    params, data, sizes, loss, combine = problem
    random = np.random.default_rng(seed)
    vector = tree.map(
        lambda x: np.asarray(random.normal(size=np.shape(x)), np.result_type(x)), params
    )
    vector = tree.map(lambda v, x: v if isinstance(x, np.ndarray) else float(v), vector, params)
    lazy = on_dask(data, sizes)
    found = dask.hvp(loss, params, lazy, vector, combine=combine, scheduler="sync")
    close(found, tapegrad.hvp(lambda p: loss(p, data), (params,), (vector,)))


@given(SIZES)
def test_gauss_newton_products_are_those_of_the_whole(sizes):
    params, data = dask_oracle.example(sum(sizes))
    vector = tree.map(np.ones_like, params)

    def outputs(p, batch):
        return np.tanh(batch["x"] @ p["w"]) + p["b"] ** 2

    def total(out, batch):
        return np.sum(np.cosh(out - batch["y"]))

    def mean(out, batch):
        return np.mean(np.cosh(out - batch["y"]))

    lazy, at = on_dask(data, sizes), ((params,), (vector,))
    whole = lambda p: outputs(p, data)  # noqa: E731
    for loss, combine in ((total, "sum"), (mean, "mean")):
        found = dask.ggnvp(outputs, params, lazy, vector, loss, combine=combine, scheduler="sync")
        close(found, tapegrad.ggnvp(whole, *at, lambda out, loss=loss: loss(out, data)))
    squares = tapegrad.ggnvp(whole, *at)
    close(dask.ggnvp(outputs, params, lazy, vector, combine="sum", scheduler="sync"), squares)
    rows = sum(sizes)
    found = dask.ggnvp(outputs, params, lazy, vector, scheduler="sync")
    close(found, tree.map(lambda x: x / rows, squares))


@given(SIZES, st.sampled_from([1, 3, 30]))
def test_jacobians_are_those_of_the_whole(sizes, columns):
    """Few parameters go forward, many backward."""
    params, data = dask_oracle.example(sum(sizes), columns)

    def outputs(p, batch):
        hidden = batch["x"] @ p["w"]
        return np.tanh(hidden) + p["b"], (np.stack([hidden, hidden**2], 1) * p["b"],)

    found = dask.jacobian(outputs, params, on_dask(data, sizes), scheduler="sync")
    expected = tapegrad.jacobian(lambda p: outputs(p, data))(params)
    assert tree.structure(found) == tree.structure(expected)
    for lazy, plain in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        assert lazy.chunks[0] == tuple(sizes)
        assert lazy.shape == plain.shape
        values = lazy.compute(scheduler="sync")
        assert values.dtype == lazy.dtype
        assert np.allclose(values, plain, rtol=1e-12)


def test_the_rows_of_jacobians_have_the_dtype_that_they_say():
    x = array.from_array(np.ones((5, 2)), chunks=(2, -1))
    for dtype, factor in ((np.float32, 1.0), (np.complex128, 1.0), (np.float64, 1j)):
        for count in (2, 40):  # forward mode, reverse mode
            rows = dask.jacobian(
                lambda w, x, factor=factor: (x @ w[:2]) ** 2 * factor, np.ones(count, dtype), x
            )
            assert rows.compute(scheduler="sync").dtype == rows.dtype


# --- Inside other transforms --------------------------------------------------------------------


@pytest.fixture(scope="module")
def both():
    """A loss over partitions, that over the whole data, and parameters."""
    params, data = dask_oracle.example()
    lazy = on_dask(data, [10, 0, 31, 20])
    return (
        lambda p: dask.value(dask_oracle.network, p, lazy, scheduler="sync"),
        lambda p: dask_oracle.network(p, data),
        params,
    )


@pytest.mark.parametrize(
    "transform",
    [
        lambda f: tapegrad.value_and_grad(f),
        lambda f: lambda p: tapegrad.hvp(f, (p,), (tree.map(np.ones_like, p),)),
        lambda f: lambda p: tapegrad.vhp(f, (p,), (tree.map(np.ones_like, p),)),
        lambda f: lambda p: tapegrad.jvp(f, (p,), (tree.map(np.ones_like, p),)),
        lambda f: tapegrad.hessian(f),
        lambda f: lambda p: tapegrad.vmap(lambda b: f({**p, "b": b}))(np.arange(3.0)),
        lambda f: tapegrad.grad(lambda p: f(tree.map(np.sin, p)) ** 2),
        lambda f: tapegrad.grad(lambda p: tree.vdot(tapegrad.grad(f)(p), p)),
    ],
    ids="value_and_grad hvp vhp jvp hessian vmap chain reverse-over-reverse".split(),
)
def test_a_value_is_differentiated_as_the_whole_is(both, transform):
    lazy, whole, params = both
    close(transform(lazy)(params), transform(whole)(params))


def test_a_gradient_is_differentiated_as_well(both):
    _, whole, params = both
    _, data = dask_oracle.example()
    lazy = on_dask(data, [30, 31])

    def penalty(gradient):
        return tree.vdot(gradient, gradient)

    found = tapegrad.grad(
        lambda p: penalty(dask.grad(dask_oracle.network, p, lazy, scheduler="sync"))
    )(params)
    close(found, tapegrad.grad(lambda p: penalty(tapegrad.grad(whole)(p)))(params))


def test_complex_parameters_have_the_products_of_the_whole():
    random = np.random.default_rng(3)
    x = random.normal(size=(9, 2))
    z = random.normal(size=2) + 1j * random.normal(size=2)
    v = np.array([1.0, 2.0 - 1j])

    def loss(z, x):
        return np.mean(np.abs(x @ z**2) ** 2)

    lazy = array.from_array(x, chunks=(4, -1))
    of = lambda z: dask.value(loss, z, lazy, scheduler="sync")  # noqa: E731
    for product in (tapegrad.hvp, tapegrad.vhp):
        close(product(of, (z,), (v,)), product(lambda z: loss(z, x), (z,), (v,)))
    close(tapegrad.jvp(of, (z,), (v,)), tapegrad.jvp(lambda z: loss(z, x), (z,), (v,)))


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_the_bits_do_not_depend_on_transforms_around_the_pass(scheduler):
    """Which run in another thread, or in this one with a tape open."""
    params, data = dask_oracle.example(240)
    sizes = [10] * 24
    lazy = on_dask(data, sizes)
    expected = bits(sequential(dask_oracle.network, params, cut(data, sizes)))
    for _ in range(5):
        found = tapegrad.value_and_grad(
            lambda p: dask.value(dask_oracle.network, p, lazy, scheduler=scheduler)
        )(params)
        assert bits(found) == expected


def test_the_value_and_its_gradient_are_one_pass(both):
    _, _, params = both
    _, data = dask_oracle.example()
    calls = []

    def counted(p, batch):
        calls.append(1)
        return dask_oracle.network(p, batch)

    lazy = on_dask(data, [20, 20, 21])
    tapegrad.value_and_grad(lambda p: dask.value(counted, p, lazy, scheduler="sync"))(params)
    assert len(calls) == 3


def test_third_derivatives_are_refused():
    x = array.ones(4, chunks=2)
    third = tapegrad.grad(
        tapegrad.grad(tapegrad.grad(lambda c: dask.value(lambda c, x: np.mean(x) * c**4, c, x)))
    )
    with pytest.raises(tapegrad.NotDifferentiableError, match="at most twice"):
        third(2.0)


@pytest.mark.parametrize("scheduler", ["synchronous", "threads"])
def test_a_loss_that_closes_over_a_traced_value_is_refused(scheduler):
    x = array.ones(4, chunks=2)

    def of(c):
        return dask.value(lambda p, x: c * np.mean(x) * p, 1.0, x, scheduler=scheduler)

    with pytest.raises(tapegrad.RuleError, match="not among its parameters"):
        tapegrad.grad(of)(2.0)


def test_a_pass_is_no_part_of_a_program():
    x = array.ones(4, chunks=2)
    compiled = tapegrad.compile(lambda c: dask.value(lambda p, x: np.mean(x) * p, c, x))
    with pytest.warns(tapegrad.EagerWarning, match="no part of a program"):
        assert compiled(2.0) == 2.0


# --- Minimisers ---------------------------------------------------------------------------------


@pytest.mark.part(3)
@pytest.mark.parametrize("method", [None, "Newton-CG", "trust-exact"])
def test_minimisers_of_tapegrad_run_over_partitions(both, method):
    pytest.importorskip("scipy")
    from tapegrad import optimize

    lazy, whole, params = both
    found = optimize.minimize(lazy, params, method=method)
    expected = optimize.minimize(whole, params, method=method)
    assert np.isclose(found.fun, expected.fun, rtol=1e-8)
    for a, b in zip(tree.leaves(found.x), tree.leaves(expected.x), strict=True):
        assert np.allclose(a, b, atol=1e-4)  # where SciPy stops


def test_first_order_methods_run_over_partitions(both):
    from tapegrad import optimize

    lazy, whole, params = both
    found, expected = (
        optimize.run(f, params, optimize.adam(0.05), steps=10).params for f in (lazy, whole)
    )
    close(found, expected)


def test_scipys_minimisers_run_over_partitions():
    scipy = pytest.importorskip("scipy.optimize")
    params, data = dask_oracle.example()
    flat, unravel = tree.ravel(params)
    lazy = on_dask(data, [30, 31])

    def fun(v):
        value, gradient = dask.value_and_grad(
            dask_oracle.network, unravel(v), lazy, scheduler="sync"
        )
        return value, tree.ravel(gradient)[0]

    found = scipy.minimize(fun, flat, jac=True, method="L-BFGS-B")
    assert found.success
    assert np.allclose(fun(found.x)[1], 0, atol=1e-4)
