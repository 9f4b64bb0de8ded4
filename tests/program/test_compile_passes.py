"""No pass, nor the NumPy back end, changes no bit of its results."""

from __future__ import annotations

import gc
import itertools
import operator
import re
import warnings

import numpy as np
import pytest
from compiled import rounded, same

import tapegrad

NUMBERS = (1, -1, 1.0, -1.0, 2.0, -2.5, 0.25, -0.3, 0, 0.0, -0.0, 3, 1e200, 1e-200)
SPECIAL = (0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, -1e-310, 1.7e308, 1.0, -1.0)


def compiled(f):
    return tapegrad.compile(f, backend="numpy")


def source(f, *args):
    """The lines of a program that are calls."""
    text = compiled(f).source(*args)
    return text[text.index("def run") :]


class Sums:
    """A drawn program of sums, products, changes of sign, parts and joins."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.rng_steps = rng.integers(0, 1000, (3 + rng.integers(12), 4))
        self.shape = [(4,), (5, 3), (70, 90)][rng.integers(3)]
        self.dtype = ["float64", "float64", "float32"][rng.integers(3)]
        self.seed = seed

    def points(self):
        rng = np.random.default_rng(self.seed + 1)
        for n in range(6):
            x = rng.standard_normal(self.shape)
            if n > 2:
                at = rng.integers(0, x.size, x.size // 2)
                x.flat[at] = rng.choice(SPECIAL, len(at))
            with np.errstate(over="ignore"):
                yield x.astype(self.dtype)

    def __call__(self, x):
        pool = [x, x[::-1] * 0.5, -x]
        for kind, i, j, k in self.rng_steps.tolist():
            a, b = pool[i % len(pool)], pool[j % len(pool)]
            pool.append(STEPS[kind % len(STEPS)](a, b, k))
        return pool[-1], np.sum(pool[-2]), pool[len(pool) // 2]


def quotient(a, b, k):
    return [a / b, a / NUMBERS[k % len(NUMBERS)], NUMBERS[k % len(NUMBERS)] / a][k % 3]


def times_array(a, b, k):
    number = NUMBERS[k % len(NUMBERS)]
    with np.errstate(over="ignore"):
        return np.full(a.shape, number, a.dtype) * a - np.full_like(b, number) / b


def part_written(a, b, k):
    made = [np.zeros_like(a), np.ones_like(a) * -1, a.copy()][k % 3]
    cut = k % len(a)
    made[cut:] = -a[cut:]
    made[: len(a) - cut] += b[cut:] * -2.0
    return made


def surrounded(a, b, k):
    made = np.zeros_like(a)
    made[1:-1] = a[1:-1] * b[1:-1]
    return b + made if k % 2 else b - made


def joined(a, b, k):
    cut = k % (len(a) + 1)
    return np.concatenate([-a[:cut], b[cut:] * a[cut:]])


def joined_twice(a, b, k):
    if a.ndim < 2:
        return np.concatenate([a[-1:], np.concatenate([b[:1], a[1:-2] - b[1:-2]]), -b[-1:]])
    inner = np.concatenate([a[1:-1, :1], a[1:-1, 1:] + b[1:-1, 1:]], axis=1)
    return np.concatenate([b[:1] / 3, inner, a[-1:]])


STEPS = (
    lambda a, b, k: -a,
    lambda a, b, k: a + b,
    lambda a, b, k: a - b,
    lambda a, b, k: a * b,
    lambda a, b, k: a * NUMBERS[k % len(NUMBERS)],
    lambda a, b, k: NUMBERS[k % len(NUMBERS)] - a,
    lambda a, b, k: NUMBERS[k % len(NUMBERS)] + a,
    lambda a, b, k: (a + a) * NUMBERS[k % len(NUMBERS)],
    quotient,
    times_array,
    part_written,
    surrounded,
    joined,
    joined_twice,
    lambda a, b, k: np.sin(a),
    lambda a, b, k: a.T.copy().T * -b,
)


def difference(seed, transform=lambda f: f):
    """At which point a drawn program is not the function but for rounding, or None."""
    f = transform(Sums(seed))
    fast = compiled(f)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", tapegrad.EagerWarning)  # derivatives may be infinite
        for n, x in enumerate(Sums(seed).points()):
            expected = tapegrad._tree.flatten(f(x.copy()))[0]
            found = tapegrad._tree.flatten(fast(x.copy()))[0]
            if not all(map(rounded, found, expected)):
                return seed, n, found, expected
    return None


def squared(f):
    return tapegrad.value_and_grad(lambda x: sum(np.sum(y * y) for y in f(x)))


@pytest.mark.part(6)
@pytest.mark.parametrize("transform", [lambda f: f, squared], ids=["plain", "grad"])
@pytest.mark.parametrize("ten", range(6))
def test_drawn_sums(ten, transform):
    for seed in range(10 * ten, 10 * ten + 10):
        assert difference(seed, transform) is None


@pytest.mark.scheduled
@pytest.mark.parametrize("transform", [lambda f: f, squared], ids=["plain", "grad"])
@pytest.mark.parametrize("hundred", range(20))
def test_many_drawn_sums(hundred, transform):
    for seed in range(100 * hundred, 100 * hundred + 100):
        assert difference(seed, transform) is None


# --- Their findings -----------------------------------------------------------------------------

X = np.random.default_rng(0).standard_normal(6)


def test_signs_go_into_sums():
    lines = source(lambda x: np.cos(x) + -(np.sin(x) * -3.0) * x + -np.tan(x), X)
    assert "negative" not in lines
    assert "subtract" in lines or " - " in lines


def test_signs_that_are_needed_stay():
    f = lambda x: (-(x - 1), np.exp(-x), -np.abs(x))  # noqa: E731
    assert source(f, X).count("-b") + source(f, X).count("negative") == 3
    for x in (X, np.ones(6), -X):
        for a, b in zip(compiled(f)(x), f(x), strict=True):
            assert same(a, b)


def test_products_by_one_and_arrays_of_one_number():
    lines = source(lambda x: np.sin(np.ones(6) * np.exp(x)) * np.full(6, 2.0), X)
    assert lines.count("multiply") + lines.count(" * ") == 1


def test_arrays_of_one_number_keep_their_dtype():
    """A number of Python's in their place would take that of the other argument."""
    x = np.linspace(0, 1, 6, dtype=np.float32).reshape(2, 3)

    def f(x):
        wide, narrow = np.ones_like(x, dtype=float), np.full(3, 2, np.float16)
        return wide * x, np.zeros(3) - np.sin(x), (x > 0.5) + wide, narrow * x, x[0] * narrow

    fast = compiled(f)
    for _ in range(3):
        assert all(map(same, fast(x), f(x)))


def test_complex_products_by_one_are_made():
    """An infinite real part times 0 is NaN in the imaginary one, and so on."""
    fast, f = [g(lambda x: np.exp(x * 1) + (x + 1) * 1) for g in (compiled, lambda f: f)]
    with np.errstate(all="ignore"):
        for x in (X + 1j, X - 1j, np.full(6, complex(np.inf, 0)), np.full(6, complex(0, np.inf))):
            assert same(fast(x * (1 + 0j)), f(x * (1 + 0j)))


def test_doubling_that_overflows_alone_stays():
    f = lambda x: (x + x) * 0.25  # noqa: E731
    fast = compiled(f)
    with np.errstate(over="ignore"):
        for x in (np.full(3, 1.5e308), X, np.full(3, 1.5e308)):
            assert same(fast(x), f(x))


def test_questions_that_others_answer_are_not_asked():
    def f(x):
        return np.sum(x / np.sqrt(1 + x * x) / (2 + x))

    fast = compiled(tapegrad.grad(f))
    assert fast.program(X).count("assume is_finite") == 1
    with np.errstate(all="ignore"):
        for x in (np.zeros(6), np.full(6, -2.0), np.full(6, np.inf), np.full(6, np.nan), X):
            assert same(fast(x), tapegrad.grad(f)(x))


@pytest.mark.parametrize("n", [4, 100])
def test_parts_of_a_concatenation_are_made_there(n):
    def f(x):
        inner = np.concatenate([x[1:-1, :1], x[1:-1, 1:] * 2.0], axis=1)
        return np.exp(np.concatenate([x[:1], inner, x[-1:]]))

    x = np.random.default_rng(0).standard_normal((n, n))
    assert "concatenate" not in source(f, x)
    assert same(compiled(f)(x), f(x))
    fast = compiled(f)
    for k in range(5):
        assert same(fast(k * x), f(k * x))


@pytest.mark.parametrize("n", [6, 5000, 200_000])
def test_what_surrounds_a_part_is_filled_once_or_not_at_all(n):
    def f(x, y):
        made, more = np.zeros_like(x), np.zeros_like(x)
        made[1:] = x[1:] * y[1:]
        more[:-2] = x[2:]
        kept = np.zeros_like(x)
        kept[2:-1] = y[2:-1]
        kept[2:-1] -= x[2:-1]
        return np.exp(made * more), made, kept

    fast = compiled(f)
    x, y = np.random.default_rng(0).standard_normal((2, n))
    for k in range(6):
        for a, b in zip(fast(k * x, y), f(k * x, y), strict=True):
            assert same(a, b)
    assert not re.search(r"^ +b\d+\[\.\.\.\] = c_", source(f, x, y), re.MULTILINE)


def test_lists_of_arrays_and_changed_surroundings():
    scale = np.ones(6)
    fast = compiled(tapegrad.grad(lambda p: np.sum(scale * p[0] * p[1])))
    for k in range(12):
        scale[0] = k // 4
        a, b = fast([X, X + k])
        assert same(a, scale * (X + k))
        assert same(b, scale * X)


def of_numbers(x):
    y = -x * 2.0 + np.sin(x) / x - 1.0 / (x - x * 0.5)
    return y, x**2, x**3.0, np.power(x, 0.5), x + np.inf, np.hypot(x, y), np.negative(y) - x


WITHOUT_AXES = {
    "values": of_numbers,
    "gradient": tapegrad.value_and_grad(lambda x: np.sum(np.stack(of_numbers(x)))),
    "reads": lambda x: (np.asarray(x), x.reshape(1) * x, np.add.reduce([x, x]), x * 1),
    "writes": lambda x: (operator.iadd(x, 2.0) * x, np.exp(x)),
}


@pytest.mark.parametrize("kind", [np.array, np.float64, lambda x: np.array(x, "f")])
@pytest.mark.parametrize("f", WITHOUT_AXES.values(), ids=WITHOUT_AXES)
def test_what_arrays_without_axes_hold_is_computed_as_scalars(f, kind):
    fast = compiled(f)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for x in (1.3, 0.7, -2.1, *SPECIAL[:8], 0.3):
            wanted = tapegrad._tree.flatten(f(kind(x)))[0]
            found = tapegrad._tree.flatten(fast(kind(x)))[0]
            assert all(map(same, found, wanted)), (x, found, wanted)


def test_scalars_reach_blocks_that_lie_deep():
    def f(x):
        total = x * 2.0
        for step in range(60):
            total = total + x if x > step else total * x - 1.0
        return total

    fast = compiled(f)
    for x in (59.5, 0.5, 58.5, 1.5, 30.5, 59.5, 0.5):
        for _ in range(3):
            assert same(fast(np.array(x)), f(np.array(x)))
    text = source(f, np.array(59.5))
    assert "s0 = x0[()]" in text
    assert text.count("s0 = ") == 1


def test_a_gradient_without_axes_computes_no_arrays():
    text = source(tapegrad.grad(lambda x: np.exp(-x * x) * x), np.array(0.4))
    assert "x0" not in re.sub(r"def run\(x0\)|s0 = x0\[\(\)\]", "", text)


# --- Memory --------------------------------------------------------------------------------------

each_backend = pytest.mark.parametrize("backend", ["numpy", "interpreter"])
ENDS = np.array([0.0, 2.0, 3.0, 0.5, 0.0])
ALIASES = {  # of two arrays
    "views": lambda x, y: (x[1:], y[::-1], x.reshape(5, 1)),
    "arguments": lambda x, y: (y, x),
    "views of views": lambda x, y: (x[::-1][1:], y[1:][::2]),
    "views by values": lambda x, y: (np.trim_zeros(x), np.trim_zeros(y)),
    "views by values of views": lambda x, y: (np.trim_zeros(x[1:]), np.trim_zeros(y[::-1])),
    "a real part or not": lambda x, y: (np.real_if_close(x[1:]), np.real_if_close(y + 0j)),
    "a dtype that is kept": lambda x, y: (
        x.astype(float, copy=False),
        np.nan_to_num(y, copy=False),
    ),
    "of a sum": lambda x, y: (np.trim_zeros((x * y)[1:]), (x + y)[1:]),
    "one twice": lambda x, y: (x, x, (x * y)[1:], (x * y)[1:]),
}


@each_backend
@pytest.mark.parametrize("name", ALIASES)
def test_results_share_no_memory_with_anything(name, backend):
    """Neither with arguments, nor with each other, nor with the results of another call."""
    f = ALIASES[name]
    fast = tapegrad.compile(f, backend=backend)
    arrays = []
    for n in range(5):
        args = [ENDS * (n + 1), ENDS[::-1].copy()]
        found = fast(*args)
        assert all(map(same, found, f(*args)))
        if n > 2:  # a program ran, and not f
            arrays += [*args, *found]
    for a, b in itertools.combinations(arrays, 2):
        assert not np.shares_memory(a, b)


WRITES_BY_VALUES = {
    "trim_zeros": (np.trim_zeros, ENDS),
    "trim_zeros of a view": (lambda x: np.trim_zeros(x[::-1]), ENDS),
    "real_if_close": (np.real_if_close, ENDS),
    "real_if_close of complex numbers": (np.real_if_close, ENDS + 0j),
    "real_if_close that stays complex": (np.real_if_close, ENDS * (1 + 1j)),
}


@each_backend
@pytest.mark.parametrize("what", ["the view", "its array", "the argument"])
@pytest.mark.parametrize("name", WRITES_BY_VALUES)
def test_a_write_reaches_views_that_lie_where_values_say(name, what, backend):
    """It is not compiled: another call may give a view of other elements, or a copy."""
    view, x = WRITES_BY_VALUES[name]

    def f(x):
        y = x if what == "the argument" else x * 1
        v = view(y)
        if what == "its array":
            y[2] = 7
        else:
            v *= 9
        return y * 1, v * 1

    fast = tapegrad.compile(f, backend=backend)
    with pytest.warns(tapegrad.EagerWarning, match="gave a view: copy its result"):
        fast(x.copy())
    for _ in range(3):
        mine, theirs = x.copy(), x.copy()
        for part, other in zip(fast(mine), f(theirs), strict=True):
            assert same(part, other)
        assert same(mine, theirs)


@pytest.mark.parametrize("axes", list(itertools.permutations(range(3))), ids=str)
@pytest.mark.parametrize("shape", [(2, 3, 4), (3, 3, 3), (1, 4, 2)], ids=str)
def test_what_lies_in_any_order_of_axes(shape, axes):
    def f(x, y):
        a = np.exp(np.sin(x) * 2) + x  # lies as x does, and is no result
        b = np.cumsum(a * a, axis=0) - y
        return np.sum(b * a, axis=1), (np.tanh(b) * a)[..., 0]

    x = np.random.default_rng(0).standard_normal([shape[axis] for axis in axes])
    x = x.transpose(np.argsort(axes))
    for g, args in (f, (x, x[::-1])), (squared(lambda x: f(x, x[::-1] * 1)), (x,)):
        fast = compiled(g)
        for n in range(4):
            found, expected = fast(*args), g(*args)
            leaves = [tapegrad._tree.flatten(out)[0] for out in (found, expected)]
            assert all(map(same, *leaves)), n


PARTS = {
    "slices": lambda x: np.sum(x[1:] * x[:-1]),
    "elements": lambda x: x[0] * x[1] * x[0] + x[-1] ** 2,
    "a loop": lambda x: sum(x[i] * x[i + 1] for i in range(len(x) - 1)),
    "steps": lambda x: np.sum(np.sin(x[::2]) * x[1::2]) + np.sum(x[::-1] * x),
    "new axes": lambda x: np.sum(x[:, None] * x[None, 1:]),
    "real parts": lambda x: np.sum((x + 1j * x).imag[1:] * (x * 2 + 1j * x * x).imag[:-1]),
    "parts of real parts": lambda x: np.abs(np.sum(np.exp(1j * x)[1:].imag * (1j * x)[:-1])),
    "diagonals": lambda x: np.sum(np.diagonal(np.outer(x, x)) * x),
    "places": lambda x: np.sum(x[[0, 2, 2]] * x[[1, 1, 3]]),
}


@pytest.mark.parametrize("mode", ["grad", "hessian"])
@pytest.mark.parametrize("name", PARTS)
def test_cotangents_of_parts_come_together_as_without_a_program(name, mode):
    g = getattr(tapegrad, mode)(PARTS[name])
    fast = compiled(g)
    for n in range(4):
        assert same(fast(X + n / 8), g(X + n / 8))


@pytest.mark.parametrize("is_on", [True, False])
@pytest.mark.parametrize("backend", ["numpy", "interpreter"])
def test_a_program_leaves_the_collector_as_it_was(backend, is_on):
    before = gc.isenabled()
    try:
        (gc.enable if is_on else gc.disable)()
        fast = tapegrad.compile(tapegrad.grad(lambda x: np.sum(np.sin(x) * x)), backend=backend)
        for _ in range(4):
            fast(X)
        assert gc.isenabled() is is_on
    finally:
        (gc.enable if before else gc.disable)()
