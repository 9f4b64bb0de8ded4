"""compile: a program gives what the function itself gives, to the last bit, in each call."""

from __future__ import annotations

import copy
import pickle
import threading
import warnings

import numpy as np
import pytest
from compiled import rounded

import tapegrad
from tapegrad import EagerWarning, StaleProgramError, _tree

X = np.random.default_rng(0).standard_normal(6)
V = np.arange(1.0, 7.0)
BACKENDS = ("numpy", "interpreter")


def by_numpy(f, **options):
    """The program of NumPy's calls, also where machine code could be made."""
    return tapegrad.compile(f, backend="numpy", **options)


def leaves(value):
    return _tree.flatten(value)[0]


def assert_same(got, expected):
    """Equal in type, dtype, shape, and but for rounding."""
    for a, b in zip(leaves(got), leaves(expected), strict=True):
        assert type(a) is type(b)
        if isinstance(b, (np.ndarray, np.generic, float, complex)):
            assert rounded(a, b), f"{a!r}, not {b!r}"
        else:
            assert a == b


def check(f, *inputs, calls=6, program=True, backends=BACKENDS):
    """Call f and its compiled form with several arguments each, and compare all that they do.

    `inputs` are arguments, or functions of the number of the call that make one.
    """
    for backend in backends:
        fast = tapegrad.compile(f, backend=backend)
        for n in range(calls):
            args = [make(n) if callable(make) else make for make in inputs]
            ours, theirs = copy.deepcopy(args), copy.deepcopy(args)
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore", RuntimeWarning)
                expected = f(*theirs)
                assert_same(fast(*ours), expected)
            assert_same(ours, theirs)  # what f writes into its arguments
        if program:
            assert has_program(fast)
    return fast


def has_program(fast):
    """Whether the last signature of a compiled function runs as a program."""
    (*_, last) = fast.call.programs.values()
    return last.runner is not None


def moved(x):
    """Arguments near x, another in each call."""
    return lambda n: x + 0.25 * n


# --- Functions and transforms -------------------------------------------------------------------


def rosenbrock(x):
    return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def filled(x):
    y = np.zeros_like(x)
    for i in range(len(x)):
        y[i] = x[i] * i
    y[1:] += x[:-1]
    y[::2] *= 3
    return np.sum(y * y[::-1])


def with_out(x):
    y = np.empty_like(x)
    np.multiply(x, 2, out=y)
    np.add(y[1:], x[:-1], out=y[1:])
    np.add.at(y, np.array([0, 0, 3]), x[:3])
    return np.sum(y**3)


def of_views(x):
    a = x.reshape(2, 3).T
    b = a[1:, :].ravel() * 2
    return np.sum(np.concatenate([b, a[:, 0]])) + a[2, 1]


def mixed(x):
    s = np.sort(x)[::-1]
    return (
        np.max(s) * np.var(x) + np.linalg.norm(x - np.mean(x)) + np.sum(np.where(x > 0, x, 2 * x))
    )


FUNCTIONS = [rosenbrock, filled, with_out, of_views, mixed]
TRANSFORMS = {
    "itself": lambda f: f,
    "grad": tapegrad.grad,
    "value_and_grad": tapegrad.value_and_grad,
    "jvp": lambda f: lambda x: tapegrad.jvp(f, (x,), (np.cos(x),)),
    "vjp": lambda f: lambda x: tapegrad.vjp(f, x)[1](2.0),
    "hessian": tapegrad.hessian,
    "hvp": lambda f: lambda x: tapegrad.hvp(f, (x,), (np.ones_like(x),)),
    "jacfwd": tapegrad.jacfwd,
    "linearize": lambda f: lambda x: tapegrad.linearize(f, x)[1](np.ones_like(x)),
    "checkpoint": lambda f: tapegrad.grad(tapegrad.checkpoint(f)),
}


@pytest.mark.part(2)
@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_program_is_the_function(f, transform):
    check(TRANSFORMS[transform](f), moved(X))


@pytest.mark.parametrize("f", [rosenbrock, mixed], ids=lambda f: f.__name__)
def test_vmap(f):
    check(tapegrad.vmap(tapegrad.grad(f)), moved(np.stack([X, X[::-1]])))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_dtypes(dtype):
    def f(x):
        return np.sum(np.abs(x * x[::-1]) ** 2) if dtype[0] == "c" else np.sum(np.exp(x) / 3)

    check(tapegrad.value_and_grad(f), lambda n: (X * (1 + 0.1 * n)).astype(dtype))


def test_numbers_and_trees():
    def step(parameters, rate):
        gradient = tapegrad.grad(lambda p: np.sum(np.tanh(p["a"] @ p["b"])))(parameters)
        return {k: p - rate * gradient[k] for k, p in parameters.items()}

    check(step, lambda n: {"a": X.reshape(2, 3) + n, "b": X.reshape(3, 2)}, lambda n: 0.1 * n)
    check(tapegrad.grad(lambda x: x * np.sin(x)), lambda n: 0.3 * n)
    check(lambda x: x.tolist(), moved(X))


def test_strong_zeros():
    """0 * inf of a branch that np.where did not take, in the first calls or in later ones."""
    f = tapegrad.grad(lambda x: np.sum(np.where(x > 0, np.log(x), x)))
    check(f, lambda n: np.array([1.0, 0.0, n]))
    check(f, lambda n: np.array([1.0, 3.0, 2.0 - n]), calls=9)


# --- Values that Python asks for ----------------------------------------------------------------


def test_branches_and_loops():
    def branch(x):
        return np.sum(x * 2) if x[0] > 0.5 else np.sum(np.sin(x))

    def loop(x):
        while np.sum(x) > 1:
            x = x * 0.5
        return x

    check(branch, moved(X), calls=10)
    check(tapegrad.grad(branch), moved(X), calls=10)
    check(loop, lambda n: np.abs(X) * (1 + n % 4), calls=14)


def test_errors_that_are_caught_are_branches():
    """A run in which one of NumPy's calls raises is no program for runs in which it does not."""

    def cholesky(a):
        try:
            return np.linalg.cholesky(a)
        except np.linalg.LinAlgError:
            return np.linalg.cholesky(a + 10 * np.eye(3))

    def inverse(x):
        try:
            return 1 / x.item()
        except ZeroDivisionError:
            return 7 * x

    for first in (0, 1):
        check(cholesky, lambda n, first=first: (-1.0, 4.0)[(n // 2 + first) % 2] * np.eye(3))
        check(inverse, lambda n, first=first: np.float64((n // 2 + first) % 2))


def test_shapes_that_depend_on_values():
    check(lambda x: x[x > 0], lambda n: X - 0.3 * (n % 3), calls=12)
    check(lambda x: np.sum(np.nonzero(x > 0)[0]) * x, lambda n: X - 0.3 * (n % 3), calls=12)


def test_conversions():
    check(lambda x: x * float(np.sum(x > 0)), lambda n: X + 0.5 * (n % 2), calls=8)
    check(lambda x: x[int(np.argmax(x))], lambda n: np.roll(X, n % 2), calls=8)
    check(lambda x: x[np.argmax(x) :], lambda n: np.roll(X, n % 2), calls=8)
    check(lambda table, x: table[np.argmax(x)], X.copy(), lambda n: np.roll(X, n), calls=8)


def test_a_thousand_answers():
    def guarded(x):
        for _ in range(1200):
            if x[0] > 0:
                x = x * 1.0001
        return x

    check(guarded, np.ones(3), calls=3)


def test_too_many_branches():
    fast = by_numpy(lambda x: x * float(x[0]))
    with pytest.warns(EagerWarning, match="8 ways"):
        results = [fast(X + n) for n in range(12)]
    assert_same(results, [(X + n) * float(X[0] + n) for n in range(12)])
    assert not has_program(fast)


# --- Memory -------------------------------------------------------------------------------------


def test_arguments_are_written_to():
    def f(x, y):
        x[1:] = y[:-1]
        x *= 2
        return x[0], x

    check(f, moved(X), moved(X))


def test_results_are_the_callers_own():
    fast = by_numpy(lambda x: (x, x[1:], x * 2, np.zeros(3)))
    kept = [fast(X) for _ in range(6)]
    for parts in kept:
        for part in parts:
            part[...] = 7
    assert_same(fast(X), (X, X[1:], X * 2, np.zeros(3)))


def test_views_of_views_are_written_through():
    def f(x):
        y = x.copy()
        a = y.reshape(2, 3)
        b = a[1]
        b[0] = x[0]
        y[4] += 1
        a *= b[1]
        first, last = np.split(y, 2)
        first[:] = last
        return y, a, b

    check(f, moved(X))


# --- State outside of f -------------------------------------------------------------------------

FACTOR = 2.0


def test_globals_closures_defaults_and_attributes(monkeypatch):
    weights = np.ones(6)

    class Model:
        def __init__(self):
            self.scale = np.ones(6)

        def loss(self, x, power=2):
            return np.sum((self.scale * x) ** power) * FACTOR

    model = Model()

    def f(x):
        return np.sum(weights * x) + model.loss(x)

    fast = by_numpy(tapegrad.grad(f))

    def agree():
        for _ in range(4):
            assert_same(fast(X), tapegrad.grad(f)(X))

    agree()
    weights[2] = 5.0
    agree()
    model.scale = np.full(6, 3.0)
    agree()
    model.scale[0] = 1.0
    agree()
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    agree()
    Model.loss.__defaults__ = (3,)
    agree()


def test_what_changes_in_kind_each_time_is_no_program():
    state = {"w": np.zeros(3)}
    fast = by_numpy(lambda x: np.sum(x) * np.sum(state["w"]))

    def result(n):
        state["w"] = np.full(n, 2.0)
        return fast(X)

    with pytest.warns(EagerWarning, match="outside"):
        results = [result(n) for n in range(20)]
    assert_same(results, [np.sum(X) * 2 * n for n in range(20)])


def test_random_numbers():
    generator = np.random.default_rng(0)
    fast = by_numpy(lambda x: x + generator.random())
    with pytest.warns(EagerWarning, match="random"):
        results = [fast(X)[0] for _ in range(8)]
    assert len(set(results)) == 8


def test_counters_are_found_out(tmp_path):
    def f(x):
        (tmp_path / str(len(list(tmp_path.iterdir())))).touch()
        return x + len(list(tmp_path.iterdir()))

    fast = by_numpy(f)
    with pytest.warns(EagerWarning, match="did not do the same"):
        added = [fast(X)[0] - X[0] for _ in range(8)]
    assert added[3:] == pytest.approx([added[3] + i for i in range(5)])


def test_check(tmp_path):
    path = tmp_path / "rate"
    path.write_text("1")
    fast = by_numpy(lambda x: x * float(path.read_text()), check=2)
    for _ in range(6):
        assert_same(fast(X), X)
    path.write_text("2")
    with pytest.raises(StaleProgramError, match="argument"):
        print([fast(X) for _ in range(2)])


# --- Functions that cannot be programs ----------------------------------------------------------


def test_memory_that_is_read():
    def f(x):
        y = np.zeros(6)
        y[:] = x
        return y * 2

    fast = by_numpy(f)
    with pytest.warns(EagerWarning, match="memory"):
        results = [fast(X + n) for n in range(4)]
    assert_same(results, [(X + n) * 2 for n in range(4)])


def written_by_nan_to_num(x):
    y = x / 0
    z = np.nan_to_num(y, copy=False)
    return y, z, np.nan_to_num(y[:2], False), y


def overwritten(x):
    y = x * 1
    return np.median(y, overwrite_input=True), np.percentile(y, [10, 20], None, None, True)


def shaped(x):
    y, z = x * 1, np.outer(x, x)
    y.shape = (3, 2)
    z.shape = -1
    y[0] = z[1]
    return y, z, y.T


def flat(x):
    y = np.outer(x, x)
    y.flat[1:4] = y.flat[0] + x[0]
    z = sum(v * v for v in y.flat) + len(y.flat)
    y.flat = x
    return y, z


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # NumPy 2.5
@pytest.mark.parametrize("f", [written_by_nan_to_num, overwritten, shaped, flat])
def test_writes_by_other_ways_than_an_index(f):
    check(f, lambda n: np.random.default_rng(n).standard_normal(6))
    check(lambda x: (f(x), x), lambda n: np.random.default_rng(n).standard_normal(6))


@pytest.mark.parametrize("write", [np.add.at, np.put, lambda y, i, _: np.copyto(y, i)])
def test_a_write_into_a_plain_array_is_the_functions_own(write):
    def f(i):
        y = np.zeros(3)
        write(y, i, 1.0)
        return y

    with pytest.warns(EagerWarning, match="into a plain array"):
        check(f, lambda n: np.array([0, n % 3, 2]), program=False)


def test_inside_a_transform_it_is_the_function():
    fast = by_numpy(rosenbrock)
    for _ in range(4):
        fast(X)
        assert_same(tapegrad.grad(fast)(X), tapegrad.grad(rosenbrock)(X))
        assert_same(by_numpy(tapegrad.grad(fast))(X), tapegrad.grad(rosenbrock)(X))


def test_errors_are_those_of_the_function():
    def f(x):
        if x[0] > 100:
            raise KeyError("too large")
        return np.linalg.inv(np.diag(x))

    fast = by_numpy(f)
    for n in range(4):
        fast(np.abs(X) + 1 + n)
    with pytest.raises(np.linalg.LinAlgError):
        fast(np.zeros(6))
    with pytest.raises(KeyError, match="too large"):
        fast(X + 200)
    assert_same(fast(np.abs(X) + 1), f(np.abs(X) + 1))
    with pytest.raises(tapegrad.InputError, match="backend"):
        tapegrad.compile(f, backend="fortran")


def test_warnings_are_those_of_the_function():
    def f(x):
        return np.sum(np.log(x))

    for g in (f, tapegrad.value_and_grad(f)):
        fast = by_numpy(g)
        for _ in range(4):
            fast(np.abs(X) + 1)
        with pytest.warns(RuntimeWarning, match="divide by zero"):
            fast(np.abs(X) * 0)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fast(np.abs(X) + 1)


def changes_its_arrays(x):
    weights, at, mask = np.arange(6.0), np.array([1, 0]), np.arange(6) > 3
    y = x * weights
    picked = [x[at], np.take(x, at), np.where(mask, x, y), np.sum(x, where=mask)]
    y[at] = picked[0]
    weights[:], at[:], mask[:] = 7.0, 3, False
    return y, *picked, y * weights, x[at], np.where(mask, x, y)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_array_that_f_made_may_change_after_its_use(backend):
    def slopes(x):
        return tapegrad.grad(lambda x: sum(np.sum(part**2) for part in changes_its_arrays(x)))(x)

    for f in (changes_its_arrays, slopes):
        fast = tapegrad.compile(f, backend=backend)
        for n in range(5):
            assert_same(fast(X + n), f(X + n))
        assert has_program(fast)


def told(f, *args, **kwargs):
    """Warnings of a call; an older NumPy ends one text with a full stop."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        f(*args, **kwargs)
    return {str(warning.message).rstrip(".") for warning in found}


def silent_then_loud(x):
    with np.errstate(all="ignore"):
        large, root = 1e308 * x + 1e308 * x, np.log(x)
    return 2 * large, np.max(np.log(x)) + root


def loud_then_silent(x):
    large = 1e308 * (x + 1)
    both, root = large + large, np.log(x)
    with np.errstate(all="ignore"):
        return 2 * both, -(1e308 * (x + 1)), np.log(x) + root


WARNING = [
    lambda x: np.sum(np.log(x)),
    lambda x: x + np.log(np.zeros(3, like=x)),
    lambda x: x * (np.ones_like(x) * 1e308 * 10),
    lambda x: 2 * (1e308 * x + 1e308 * x),
    lambda x: (x * 1e300).astype(np.float32),
    lambda x: x[0] / x[1],
    lambda x: np.mean(x[3:]) * x,
    silent_then_loud,
    loud_then_silent,
    lambda x: np.log(x) if x[0] > 0 else np.sqrt(-x),
]


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("f", WARNING)
def test_each_call_warns_as_the_function(f, backend):
    x = np.array([0.5, 0.0, 2.0])
    expected = told(f, x)
    assert expected
    for call in ({"x": x}, {}):  # by keyword is the longer way to a program
        fast = tapegrad.compile(f, backend=backend)
        args = () if call else (x,)
        assert [told(fast, *args, **call) for _ in range(5)] == [expected] * 5
        assert has_program(fast)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(RuntimeWarning) as error:
                fast(*args, **call)
        assert str(error.value).rstrip(".") in expected
        with np.errstate(all="ignore"):
            assert told(fast, *args, **call) <= {"Mean of empty slice"}


def test_pickle_and_threads():
    fast = pickle.loads(pickle.dumps(by_numpy(rosenbrock)))
    expected = [rosenbrock(X + n) for n in range(50)]
    wrong = []

    def work():
        wrong.extend(n for n in range(50) if fast(X + n) != expected[n])

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert has_program(fast)


def test_a_program_is_shown():
    def f(x):
        y = np.zeros_like(x)
        y[1:] = np.sin(x[:-1])
        return np.sum(y) if x[0] > 0 else np.sum(x)

    fast = by_numpy(f)
    text = fast.program(np.ones(3))
    assert text.splitlines()[0] == "v0 = input 0  # float64[3]"
    assert "= sin(v" in text
    assert "[1:] = v" in text
    assert "assume bool(" in text
    assert "if bool(" not in text
    assert "if bool(" in fast.program(-np.ones(3))
    assert "def run(x0):" in fast.source(np.ones(3))
    assert "assume is_finite True" in by_numpy(tapegrad.grad(f)).program(np.ones(3))
    with pytest.raises(tapegrad.InputError, match="a program"):
        tapegrad.compile(f, backend="eager").program(np.ones(3))


def test_infinities_are_as_those_of_the_function():
    """A program expects finite products; where they are not, the call is the function's own."""
    f = tapegrad.grad(lambda x: np.sum(np.sqrt(x) * np.where(x > 0, 1.0, 0.0)))
    check(f, lambda n: np.abs(X) * (n % 3 != 1), calls=12)
    check(
        tapegrad.grad(lambda x: np.sum(np.sqrt(x))), lambda n: np.abs(X) * (n % 3 != 1), calls=12
    )


def test_parts_are_read_when_eager_reads_them():
    # The order of reads on the tape is that of the sums of a second derivative.
    def f(x):
        rate, x = x[1], x * 1.0
        y = x * 2.0
        for _ in range(3):
            x[1:] += rate * y[:-1]
            y = y * y
        return np.sum(x * x)

    hvp = lambda x: tapegrad.vjp(tapegrad.grad(f), x)[1](V)  # noqa: E731
    check(hvp, lambda n: np.random.default_rng(n).standard_normal(6), calls=12)


def test_custom_rules_may_return_numbers():
    @tapegrad.custom_jvp
    def thrice(x):
        return x * 3

    thrice.defjvp(lambda primals, tangents: (thrice(*primals), 3 * tangents[0]))
    check(lambda x, dot: tapegrad.jvp(thrice, (x,), (dot,)), 0.5, 2.0)

    @tapegrad.custom_vjp
    def twice(x):
        return x * 2

    twice.defvjp(lambda x: (x * 2, None), lambda _, g: (2.0,))
    check(tapegrad.grad(twice), 0.5)
    check(lambda x, dot: tapegrad.jvp(lambda x: x, (x,), (dot,)), 0.5, 2.0)
    check(lambda y, g: tapegrad.linear_transpose(lambda x, y: x + y, X, y)(g), 1.0, X)


def test_zeros_keep_their_signs():
    def f(x):
        y = (np.sin(x) * x[::-1] - np.exp(-x / 2))[1:]
        return tapegrad.grad(lambda x: np.sum(np.sin(x) * x[::-1] - np.exp(-x / 2)))(x)[0] + y[0]

    check(tapegrad.grad(f), moved(X))


def test_writes_at_an_index_of_none():
    """x[None] += v, with an axis more: the program does it, and does not fail at it unseen."""
    f = tapegrad.grad(lambda x: np.sum(np.sin(x[:, None] - x[None])))
    points = np.random.default_rng(0).standard_normal((5, 3))
    check(f, points)
    fast = by_numpy(f)
    for _ in range(3):
        fast(points)
    (program,) = fast.call.programs.values()
    assert_same(program.runner.run([points]), f(points))


def test_copies_of_numbers_are_numbers():
    def f(x):
        made = np.real(x * 0.5).copy()
        row = made.reshape(-1)  # of its own: a number has no views
        row += 1
        return np.sin(made + x)

    points = np.random.default_rng(0).standard_normal(6)
    check(tapegrad.grad(f), lambda n: np.asarray(points[n]))
