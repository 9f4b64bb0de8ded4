"""`chunk_size`: what it may be, and "auto", the size that fits into the budget of memory."""

from __future__ import annotations

import gc
import sys
import tracemalloc

import numpy as np
import pytest

import tapegrad
import tapegrad.torch as torch
from tapegrad import config, grad, hessian, jacfwd, jacobian, jacrev, vmap
from tapegrad._transforms import chunks, jacobians
from tapegrad._transforms.chunks import Chosen, Joined
from tapegrad._transforms.vmap import called
from tapegrad._tree import flatten

RANDOM = np.random.default_rng(0)
ROWS = RANDOM.normal(size=(120, 300))
SQUARES = RANDOM.normal(size=(60, 20, 20)) + 20 * np.eye(20)
WEIGHTS = {"w": RANDOM.normal(size=(300, 8)) / 20, "v": RANDOM.normal(size=8)}
KERNEL = RANDOM.normal(size=5)


def mlp(weights, x):
    return np.sum(np.tanh(np.tanh(x @ weights["w"]) @ weights["v"]) ** 2)


def waves(x):
    return np.sum(np.abs(np.fft.fft(x) * np.fft.fft(KERNEL, 300)) ** 1.5)


def determinant(a):
    return np.linalg.slogdet(a)[1] + np.sum(np.linalg.inv(a))


def steep(x):
    return np.tanh(np.exp(-x * x) * np.sin(x))


def bowl(x):
    return np.sum(np.tanh(np.outer(x, x)) @ x)


# A call with a chunk size, and a budget that takes some of the examples, in bytes.
PROGRAMS = {
    "mlp": (lambda size: vmap(grad(mlp), (None, 0), chunk_size=size)(WEIGHTS, ROWS), 1 << 20),
    "products": (
        lambda size: vmap(lambda a: np.sin(a @ a) @ a, chunk_size=size)(SQUARES),
        1 << 18,
    ),
    "waves": (lambda size: vmap(grad(waves), chunk_size=size)(ROWS), 1 << 19),
    "determinants": (lambda size: vmap(grad(determinant), chunk_size=size)(SQUARES), 1 << 18),
    "jacrev": (lambda size: jacrev(steep, chunk_size=size)(ROWS[0]), 1 << 19),
    "jacfwd": (lambda size: jacfwd(steep, chunk_size=size)(ROWS[0]), 1 << 19),
    "jacobian": (lambda size: jacobian(steep, chunk_size=size)(ROWS[0]), 1 << 19),
    "hessian": (lambda size: hessian(bowl, chunk_size=size)(ROWS[0, :60]), 1 << 20),
}
each_program = pytest.mark.parametrize("name", PROGRAMS)


@pytest.fixture
def sizes(monkeypatch):
    """The sizes that "auto" chose."""
    found = []

    original = chunks.in_budget

    def noted(chosen, attempt):
        result = original(chosen, attempt)
        found.append(chosen.size)
        return result

    for module in (jacobians, sys.modules[called.__module__]):
        monkeypatch.setattr(module, "in_budget", noted)
    return found


def allocated(call):
    """The most that a call allocates at a time, and its result."""
    gc.collect()
    tracemalloc.start(1)
    try:
        result = call()
        return tracemalloc.get_traced_memory()[1], result
    finally:
        tracemalloc.stop()


@pytest.mark.part(8)
@each_program
def test_auto_keeps_to_the_budget(name):
    call, budget = PROGRAMS[name]
    call(1)  # warm
    with config(memory_budget=budget):
        call("auto")
        peak, result = allocated(lambda: call("auto"))
    needed = peak - sum(leaf.nbytes for leaf in flatten(result)[0])
    assert needed < budget
    assert needed > budget / 10


@pytest.mark.part(4)
@each_program
def test_auto_has_the_bits_of_its_size(name, sizes):
    call, budget = PROGRAMS[name]
    with config(memory_budget=budget):
        found = call("auto")
    (size,) = sizes
    assert size > 1
    for ours, known in zip(flatten(found)[0], flatten(call(size))[0], strict=True):
        np.testing.assert_array_equal(ours, known)


@pytest.mark.part(4)
@each_program
def test_a_budget_that_is_too_small_for_anything_takes_one_at_a_time(name, sizes):
    call, _ = PROGRAMS[name]
    with config(memory_budget=1):
        call("auto")
    assert sizes == [1]


def test_a_large_budget_takes_all_at_once(sizes):
    np.testing.assert_array_equal(vmap(np.sin, chunk_size="auto")(ROWS), np.sin(ROWS))
    assert sizes == [120]


# --- Memory that is not linear ------------------------------------------------------------------


@pytest.mark.parametrize("power", [0.5, 1.0, 1.5, 2.0])
def test_the_power_of_growth_is_found(power, monkeypatch):
    monkeypatch.setattr(
        Chosen,
        "measured",
        lambda self, size, _run, *_: self.points.append((size, int(1000 + 100 * size**power))),
    )
    with config(memory_budget=10_000_000):
        size = Chosen(lambda _: None, 1_000_000).size
    if size < 1_000_000:
        assert 1000 + 100 * size**power <= 10_000_000
    assert 1000 + 100 * (4 * size) ** power >= 10_000_000 or power < 1


def test_a_first_chunk_over_the_budget_is_computed_again_with_fewer(sizes):
    seen = []

    def f(x):
        """Beyond 20 examples it takes far more than in proportion."""
        count = x._value.shape[0]
        seen.append(count)
        np.zeros(1000 * count * (100 if count > 20 else 1))
        return np.sum(x * x)

    with config(memory_budget=400_000):
        found = vmap(f, chunk_size="auto")(ROWS)
    np.testing.assert_allclose(found, np.sum(ROWS**2, axis=1))
    assert max(seen) > 20
    assert 1 <= sizes[0] <= 20


def test_an_error_of_memory_halves_the_size():
    refused = []

    def f(x):
        count = x._value.shape[0]
        if count > 10:
            refused.append(count)
            raise MemoryError
        return np.sum(x * x)

    found = vmap(f, chunk_size="auto")(ROWS)
    np.testing.assert_allclose(found, np.sum(ROWS**2, axis=1))
    assert refused

    def never(x):
        raise MemoryError

    with pytest.raises(MemoryError):
        vmap(never, chunk_size="auto")(ROWS)


def test_an_error_of_memory_within_a_matrix_halves_the_size(monkeypatch):
    original, refused = jacobians._bases, []

    def tight(leaf, at_once, shown):
        if at_once > 10:
            refused.append(at_once)
            raise MemoryError
        return original(leaf, at_once, shown)

    with monkeypatch.context() as patch:
        patch.setattr(jacobians, "_bases", tight)
        found = jacrev(steep, chunk_size="auto")(ROWS[0])
    assert refused
    np.testing.assert_allclose(found, jacfwd(steep)(ROWS[0]), atol=1e-15)


# --- Few basis vectors --------------------------------------------------------------------------


@pytest.mark.parametrize("transform", [jacrev, jacfwd])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("shape", [(), (1,), (2, 1), (3,), (5,)])
def test_few_basis_vectors_run_one_by_one_and_give_the_matrix(
    transform, dtype, shape, monkeypatch
):
    x = np.reshape(np.arange(1, 1 + np.prod(shape, dtype=int)), shape).astype(dtype)[()]

    def f(x, weight):
        return {"a": np.sum(np.sin(x) * weight), "b": x**2 * np.sum(x)}

    def traced_around(weight, **options):
        inner = transform(lambda x: f(x, weight), **options)
        return np.sum(inner(x)["a"].real)

    expected = transform(f, chunk_size=100)(x, dtype(2))
    slope = grad(lambda weight: traced_around(weight, chunk_size=100))(2.0)
    np.testing.assert_allclose(grad(traced_around)(2.0), slope, rtol=1e-6)
    if x.size <= 3:
        monkeypatch.setattr(jacobians, "vmap", None)
    found = transform(f)(x, dtype(2))
    for name in "ab":
        assert found[name].dtype == expected[name].dtype
        assert found[name].shape == expected[name].shape
        rtol = 1e-6 if dtype is np.float32 else 1e-14
        np.testing.assert_allclose(found[name], expected[name], rtol=rtol)


# --- What it composes with ----------------------------------------------------------------------


def test_inside_other_transforms_and_programs():
    def total(x):
        return np.sum(vmap(lambda row: np.sum(np.sin(row)), chunk_size="auto")(x))

    np.testing.assert_allclose(grad(total)(ROWS), np.cos(ROWS))
    np.testing.assert_allclose(tapegrad.compile(total)(ROWS), np.sum(np.sin(ROWS)))
    twice = vmap(lambda x: jacrev(steep, chunk_size="auto")(x))(ROWS[:3, :4])
    np.testing.assert_allclose(twice, [jacfwd(steep)(x[:4]) for x in ROWS[:3]], atol=1e-15)
    inner = jacfwd(jacrev(bowl, chunk_size="auto"), chunk_size="auto")(ROWS[0, :5])
    np.testing.assert_allclose(inner, hessian(bowl)(ROWS[0, :5]), atol=1e-14)


def test_containers_shared_outputs_and_axes():
    def f(x, y):
        return {"a": x[:2] * y, "b": (np.sum(x), 3.0)}

    with config(memory_budget=4000):
        options = {"in_axes": (1, None), "out_axes": {"a": 1, "b": (0, None)}}
        found = vmap(f, **options, chunk_size="auto")(ROWS, 2.0)
    known = vmap(f, **options)(ROWS, 2.0)
    for ours, wanted in zip(flatten(found)[0], flatten(known)[0], strict=True):
        np.testing.assert_allclose(ours, wanted, rtol=1e-12)
    assert vmap(np.sum, chunk_size="auto")(np.zeros((0, 3))).shape == (0,)
    assert jacrev(steep, chunk_size="auto")(np.zeros(0)).shape == (0, 0)
    assert jacfwd(steep, chunk_size="auto")(2.0).shape == ()
    left = jacrev(lambda p: (p["a"] * p["b"], p["b"] ** 2), chunk_size="auto")
    tree = left({"a": np.ones(3), "b": 2.0})
    np.testing.assert_allclose(tree[0]["b"], np.ones(3))


def test_the_object_layer():
    x = torch.tensor(ROWS[:6, :5])
    with config(memory_budget=2000):
        assert torch.equal(torch.func.vmap(torch.sin, chunk_size="auto")(x), torch.sin(x))
        found = torch.func.jacrev(torch.square, chunk_size="auto")(x[0])
    assert torch.equal(found, torch.diag(2 * x[0]))


def test_numbers_of_a_generator_are_not_drawn_to_measure():
    with pytest.raises(tapegrad.InputError, match=r'randomness="same".*got "auto"'):
        vmap(np.sin, chunk_size="auto", randomness="same")
    np.testing.assert_array_equal(
        vmap(np.sin, chunk_size="auto", randomness="different")(ROWS), np.sin(ROWS)
    )


# --- What it may be -----------------------------------------------------------------------------


@pytest.mark.parametrize("transform", [vmap, jacrev, jacfwd, jacobian, hessian])
@pytest.mark.parametrize("size", [0, -3, 2.0, True, "all", (2,)])
def test_what_is_no_chunk_size(transform, size):
    wanted = r'expected a chunk_size of at least 1, "auto" or None, got '
    with pytest.raises(tapegrad.InputError, match=wanted):
        transform(np.sin, chunk_size=size)


@pytest.mark.parametrize("transform", [torch.func.vmap, torch.func.jacrev])
@pytest.mark.parametrize("size", [0, 2.5, "all", True])
def test_what_is_no_chunk_size_of_the_object_layer(transform, size):
    with pytest.raises(ValueError, match="chunk_size"):
        transform(torch.sin, chunk_size=size)


@pytest.mark.parametrize(
    ("given", "found"),
    [(5, 5), (np.int64(7), 7), ("64", 64), ("1.5 kB", 1536), ("2 MiB", 2 << 20), ("1g", 1 << 30)],
)
def test_budgets(given, found):
    with config(memory_budget=given):
        assert config.memory_budget == found


@pytest.mark.parametrize("given", [0, -1, 1.5, True, None, "much", "1.2.3 MB", "0", "5 XB"])
def test_what_is_no_budget(given):
    wanted = "expected memory_budget to be a positive number of bytes, got"
    with pytest.raises(tapegrad.InputError, match=wanted), config(memory_budget=given):
        pass


# --- Results in parts ---------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_chunks_are_joined_as_concatenation_joins_them(axis):
    parts = np.array_split(ROWS, [7, 50], axis)
    joined = Joined(axis, ROWS.shape[axis])
    for part in parts:
        joined.add(part)
    np.testing.assert_array_equal(joined.result(), ROWS)


def test_chunks_of_several_dtypes_are_concatenated():
    joined = Joined(0, 5)
    for part in (np.ones(2, np.float32), np.ones(2), np.ones(1)):
        joined.add(part)
    found = joined.result()
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, np.ones(5))
