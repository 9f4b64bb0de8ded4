"""Programs as their users write them: state outside, containers, memory that is shared.

A compiled function must do what the function does, to its results, its arguments and what it
keeps outside; each test calls both, in a world of its own.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import random
import sys
import threading
import types
import warnings

import numpy as np
import pytest
from backends import BACKENDS

import tapegrad

X = np.linspace(0.5, 2.0, 6)
BYTES = np.ones(6)  # a global that is written to


def leaves(tree):
    return tapegrad._tree.flatten(tree)


def assert_same(found, expected, exact=True):
    (a, of_a), (b, of_b) = leaves(found), leaves(expected)
    assert of_a == of_b
    for x, y in zip(a, b, strict=True):
        assert type(x) is type(y)
        if isinstance(x, (np.ndarray, np.generic, float, complex)):
            assert np.asarray(x).dtype == np.asarray(y).dtype
            if exact or np.asarray(x).dtype.kind not in "fc":
                np.testing.assert_array_equal(x, y)
            else:
                small = 4 * np.finfo(np.asarray(y).dtype).eps
                np.testing.assert_allclose(x, y, rtol=max(small, 1e-13), atol=0)
        else:
            assert x == y


def has_program(fast):
    return any(x.runner is not None and not x.eager for x in fast.call.programs.values())


@pytest.fixture(params=BACKENDS)
def agree(request):
    """Call what `make` makes, as it is and compiled, and compare all that can be seen of it.

    `make` returns the function, what to change before the n-th call, and what to look at.
    """

    def check(make, arguments=lambda n: (X + n,), calls=12, program=None):
        runs = []
        for compiled in (False, True):
            f, change, look = make()
            fast = tapegrad.compile(f, backend=request.param) if compiled else f
            seen = []
            for n in range(calls):
                if change is not None:
                    change(n)
                args = arguments(n)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", tapegrad.EagerWarning)
                    out = fast(*args)
                seen.append((out, args, None if look is None else look()))
            runs.append(seen)
        for found, expected in zip(runs[1], runs[0], strict=True):
            assert_same(found, expected, request.param == "numpy")
        assert program is None or has_program(fast) is program

    return check


# --- Values that f keeps outside ----------------------------------------------------------------


class Adam:
    def __init__(self):
        self.m, self.v, self.t = np.zeros(6), np.zeros(6), 0

    def step(self, w, g):
        self.t += 1
        self.m = 0.9 * self.m + 0.1 * g
        self.v = 0.99 * self.v + 0.01 * g * g
        return w - 0.1 * self.m / (np.sqrt(self.v) + 1e-8) / (1 - 0.9**self.t)


def of_adam():
    adam = Adam()
    return adam.step, None, lambda: (adam.m + 0, adam.v + 0, adam.t)


def of_a_list():
    losses = []

    def f(x):
        losses.append((len(losses), np.sum(x**2)))
        return losses[-1][1]

    return f, None, lambda: list(losses)


def of_a_dict():
    state = {"w": X.copy()}

    def f(x):
        state["w"] = state["w"] * 0.9 + x
        return np.sum(state["w"])

    return f, None, lambda: state["w"] + 0


def of_a_cell():
    w = X.copy()

    def f(x):
        nonlocal w
        w = w * 0.9 + x
        return np.sum(w)

    return f, None, lambda: w + 0


@pytest.mark.parametrize("make", [of_a_list, of_a_dict, of_a_cell], ids=lambda f: f.__name__)
def test_what_is_kept_outside(agree, make):
    """The values of a recorded run must not stay there, nor be added twice."""
    agree(make, program=False)


def test_an_optimizer_with_state(agree):
    agree(of_adam, lambda n: (X + n, np.cos(X + n)), program=False)


def test_nothing_is_done_twice_outside():
    """A run that cannot be a program is made again; what it did outside is put back first."""
    generator = np.random.default_rng(0)
    held = types.SimpleNamespace(count=0, array=np.zeros(2), seen={1}, row=[1])

    def f(x):
        held.count += 1
        held.array += 1
        held.seen.add(held.count * 10)
        held.row.append(held.count)
        held.drawn = generator.random()
        held.last = x * 2
        return np.sum(x)

    fast = tapegrad.compile(f, backend="numpy")
    fast(X)
    assert (held.count, held.seen, held.row) == (1, {1, 10}, [1, 1])
    assert held.array.tolist() == [1, 1]
    assert held.drawn == np.random.default_rng(0).random()
    assert type(held.last) is np.ndarray


KEPT_BY_NAME = None


def keeps_in_a_global(x):
    global KEPT_BY_NAME  # noqa: PLW0603 - which is what is tested
    KEPT_BY_NAME = x * 3
    return x * 2


def keeps_at_a_function(x):
    keeps_at_a_function.kept = x * 3
    return x * 2


@pytest.mark.parametrize("f", [keeps_in_a_global, keeps_at_a_function])
def test_what_is_only_written_is_looked_at(f):
    fast = tapegrad.compile(f, backend="numpy")
    for times in range(1, 7):
        fast(X * times)
        kept = KEPT_BY_NAME if f is keeps_in_a_global else keeps_at_a_function.kept
        assert np.array_equal(kept, X * times * 3)


def test_a_nan_is_met_once():
    counts = [0]

    def f(x):
        counts[0] += 1
        return tapegrad.grad(lambda x: np.sum(np.where(x > 0, np.log(x), x)))(x)

    fast = tapegrad.compile(f, backend="numpy")
    with np.errstate(all="ignore"):
        fast(np.zeros(3))
    assert counts == [1]


# --- Changes outside of f -----------------------------------------------------------------------

SCALE = 2.0


def set_scale(value):
    globals()["SCALE"] = value


def scaled(n):
    set_scale(2.0 if n < 5 else 7.0)


def later(change):
    return lambda n: change() if n == 5 else None


def of_base_class():
    class Base:
        factor = 2.0

        @property
        def scale(self):
            return SCALE

        def helper(self, x):
            return x * SCALE * self.factor

    class Model(Base):
        def loss(self, x):
            return np.sum(self.helper(x)) * self.scale

    def change(n):
        scaled(n)
        if n == 8:
            Base.factor = 3.0

    return Model().loss, change, None


def of_instance_over_class():
    class Model:
        training = True

        def f(self, x):
            return x * 2 if self.training else x

    model = Model()
    return model.f, later(lambda: setattr(model, "training", False)), None


def of_slots():
    class Model:
        __slots__ = ("__w",)

        def __init__(self):
            self.__w = 1.0

        def set(self):
            self.__w = 2.0

        def f(self, x):
            return x * self.__w

    model = Model()
    return model.f, later(model.set), None


def of_namespace():
    config = types.SimpleNamespace(scale=1.0)
    return lambda x: x * config.scale, later(lambda: setattr(config, "scale", 3.0)), None


def of_set():
    flags = {1}
    return lambda x: x * 2 if 3 in flags else x, later(lambda: flags.add(3)), None


def of_deque():
    rates = collections.deque([1.0, 2.0])
    return lambda x: x * rates[0], later(rates.popleft), None


def of_bytes():
    data = bytearray([1, 2])
    return lambda x: x * data[0], later(lambda: data.__setitem__(0, 5)), None


def of_order():
    weights = {"a": 1.0, "b": 2.0}
    swap = later(lambda: weights.update(a=weights.pop("a")))
    return lambda x: x * next(iter(weights.values())), swap, None


def of_depth():
    inner = tree = {"v": 1.0}
    for _ in range(30):
        tree = {"n": [tree]}

    def f(x):
        at = tree
        while "n" in at:
            (at,) = at["n"]
        return x * at["v"]

    return f, later(lambda: inner.update(v=5.0)), None


def of_many():
    values = [1.0] * 9000
    return lambda x: x * values[8999], later(lambda: values.__setitem__(8999, 5.0)), None


def of_late_global():
    globals().pop("LATE", None)

    def f(x):
        try:
            return x * LATE
        except NameError:
            return x

    return f, later(lambda: globals().update(LATE=3.0)), None


def of_import():
    module = sys.modules["edges_settings"] = types.ModuleType("edges_settings")
    module.SCALE = 2.0

    def f(x):
        from edges_settings import SCALE

        return x * SCALE

    return f, later(lambda: setattr(module, "SCALE", 3.0)), None


def of_modules():
    module, other = types.ModuleType("one"), types.ModuleType("other")
    module.scale, other.scale = 1.0, 2.0

    def change():
        nonlocal module
        module = other

    return lambda x: x * module.scale, later(change), None


def of_dispatch():
    @functools.singledispatch
    def by_kind(k, x):
        return x

    @by_kind.register
    def _(k: int, x):
        return x * SCALE

    return lambda x: by_kind(3, x), scaled, None


def of_class_methods():
    class Model:
        @classmethod
        def scale(cls):
            return SCALE

        @functools.cached_property
        def cached(self):
            return 3.0

        @staticmethod
        def double(x):
            return 2 * x

        def f(self, x, k):
            return self.double(x) * self.scale() * self.cached * k

        thrice = functools.partialmethod(f, k=3)

    return functools.partial(Model().f, k=2), scaled, None


def of_dict_with_attributes():
    class Config(dict):
        pass

    config = Config(a=1.0)
    config.scale = 2.0
    return lambda x: x * config.scale, later(lambda: setattr(config, "scale", 3.0)), None


def of_matrix():
    held = np.ma.masked_array(np.ones(6), mask=[0, 0, 0, 1, 0, 0])
    return lambda x: x * held.filled(0.5), later(lambda: held.__setitem__(1, 4.0)), None


def of_custom_rules():
    @tapegrad.custom_vjp
    def double(x):
        return 2 * x

    double.defvjp(lambda x: (2 * x, None), lambda _, g: (g * SCALE,))
    return tapegrad.grad(lambda x: np.sum(double(x))), scaled, None


def of_zero():
    zero = np.zeros(6)
    return lambda x: np.copysign(x, zero), later(lambda: np.negative(zero, out=zero)), None


OUTSIDE = [
    value
    for name, value in list(globals().items())
    if name.startswith("of_") and value not in (of_adam, of_a_list, of_a_dict, of_a_cell)
]


@pytest.mark.part(3)
@pytest.mark.parametrize("make", OUTSIDE, ids=lambda f: f.__name__)
def test_what_changes_outside(agree, make):
    agree(make, program=True)


def test_too_much_outside():
    values = [[float(n)] for n in range(60_000)]
    fast = tapegrad.compile(lambda x: x * values[-1][0], backend="numpy")
    with pytest.warns(tapegrad.EagerWarning, match="too much"):
        fast(X)
    values[-1][0] = 3.0
    assert_same(fast(X), X * 3)


def test_threads_see_one_change():
    """One change is counted once, whoever sees it, and no thread sees half of what was found."""
    config = {"scale": 1.0, "table": np.ones(6)}
    fast = tapegrad.compile(lambda x: x * config["scale"] * config["table"], backend="numpy")
    wrong = []

    def work():
        for _ in range(200):
            try:
                fast(X)
            except Exception as error:  # noqa: BLE001 - any is wrong
                wrong.append(error)

    for n in range(4):
        config["scale"] = float(n)
        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert_same(fast(X), X * n)
    assert not wrong
    assert fast.call.surroundings.version() <= 4


# --- Random numbers that only decide -------------------------------------------------------------


def coins():
    generator = random.Random(1)
    numpys = np.random.default_rng(1)

    class Model:
        def __init__(self):
            self.rng = np.random.default_rng(3)

        def f(self, x):
            return x * 2 if self.rng.random() < 0.9 else x

    def helper():
        return np.random.rand() < 0.9  # noqa: NPY002 - as is tested

    return {
        "own": lambda x: x * 2 if generator.random() < 0.9 else x,
        "numpy": lambda x: x * 2 if numpys.random() < 0.9 else x,
        "python": lambda x: x * 2 if random.random() < 0.9 else x,
        "helper": lambda x: x * 2 if helper() else x,
        "attribute": Model().f,
    }


@pytest.mark.parametrize("name", coins())
def test_draws_that_only_decide(agree, name):
    def make():
        random.seed(3)
        np.random.seed(3)  # noqa: NPY002 - as is tested
        return coins()[name], None, None

    agree(make, calls=40, program=False)


# --- Arguments ----------------------------------------------------------------------------------


@dataclasses.dataclass
class State:
    w: object
    n: int = 0


def sets_a_key(p, x):
    p["w"] = p["w"] - 0.1 * x
    return np.sum(p["w"])


def appends(p, x):
    p["h"].append(np.sum(x))
    return p["h"][-1]


def sets_a_field(p, x):
    p["s"].w = p["s"].w * x
    p["s"].n += 1
    return p["s"].w


def writes(p, x):
    p["w"] -= 0.1 * x
    return np.sum(p["w"])


@pytest.mark.parametrize("f", [sets_a_key, appends, sets_a_field, writes])
def test_containers_are_changed(agree, f):
    def arguments(n):
        return {"w": X + n, "h": [1.0], "s": State(X + n)}, X * 2

    agree(lambda: (f, None, None), arguments, program=f is writes)


def doubled(x, y):
    x *= 2
    return np.sum(y)


def same_array(n):
    x = X + n
    return x, x


def same_array_later(n):
    x = X + n
    return x, x if n > 5 else x.copy()


def overlapping(n):
    x = np.arange(8.0) + n
    return x[1:], x[:-1]


@pytest.mark.parametrize("arguments", [same_array, same_array_later, overlapping])
def test_arguments_that_share_memory(agree, arguments):
    agree(lambda: (doubled, None, None), arguments)


def test_elements_that_share_memory(agree):
    def arguments(n):
        x = np.arange(4.0) + n
        return (np.lib.stride_tricks.as_strided(x, (3, 2), (8, 8)),)

    def f(x):
        x[0] = x[0] + 1
        return np.sum(x)

    agree(lambda: (f, None, None), arguments)


def test_an_argument_that_is_also_outside(agree):
    def f(x):
        x[0] += 1
        return np.sum(BYTES)

    def arguments(n):
        BYTES[:] = n // 4
        return (BYTES,)

    agree(lambda: (f, None, None), arguments)


def sets_the_shape(x):
    x.shape = (2, 3)
    return np.sum(x, axis=0)


def resizes(x):
    x.resize((3, 2), refcheck=False)
    return x * 2


def sets_a_part(x):
    x.setfield(3.0, np.float64)
    return x * 2


def swaps_bytes(x):
    x.byteswap(True)
    return x * 0 == 0


def locks(x):
    x.setflags(write=False)
    return x * 2


def locks_by_flags(x):
    x.flags.writeable = False
    return x * 2


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # NumPy 2.5
@pytest.mark.parametrize(
    "f", [sets_the_shape, resizes, sets_a_part, swaps_bytes, locks, locks_by_flags]
)
def test_more_than_elements_is_changed(agree, f):
    given = []

    def arguments(n):
        given.append(X + n)
        return (given[-1],)

    def look():
        return given[-1].flags.writeable

    agree(lambda: (f, None, look), arguments, program=False)


def test_whether_an_argument_can_be_written_is_asked(agree):
    def f(x):
        if not x.flags.writeable:
            return x * 2
        x += 1
        return x

    def arguments(n):
        x = X + n
        x.flags.writeable = n % 5 < 3
        return (x,)

    agree(lambda: (f, None, None), arguments, program=True)


def test_numbers_of_numpy_are_told_apart(agree):
    kinds = (float, np.float64, np.float32, complex, np.complex64, np.int8, np.uint64)

    def arguments(n):
        return kinds[n % 7](n % 4 + 1), kinds[n // 7 % 7](2)

    agree(lambda: (lambda x, y: (x * y + x, x**2, [x]), None, None), arguments, 300)
    agree(lambda: (lambda x: x * x, None, None), lambda n: arguments(n)[:1], 60, program=True)


def test_arguments_that_cannot_be_written(agree):
    def f(x, y):
        x[0] = 5
        try:
            y[0] = 6
        except ValueError:
            return np.sum(x)
        return np.sum(y)

    def arguments(n):
        y = X + n
        y.flags.writeable = n < 6
        return X + n, y

    agree(lambda: (f, None, None), arguments)


def test_checks_see_the_arguments_before():
    """The function itself runs with copies of what the program has written to."""
    x, y = X.copy(), X.copy()

    def f(x):
        x *= 2
        return np.sum(x)

    fast = tapegrad.compile(f, backend="numpy", check=1)
    for _ in range(6):
        assert_same((fast(x), x), (f(y), y))
    assert has_program(fast)


# --- Errors that f catches, and what it asks for ------------------------------------------------


def inverse(x):
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return np.linalg.pinv(x)


def divided(x):
    try:
        return 1.0 / x[0, 0].item()
    except ZeroDivisionError:
        return 0.0


def looked_up(x):
    try:
        return x[int(x[2, 2])]
    except IndexError:
        return x[0]


def strict(x):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.log(x)
        except RuntimeWarning:
            return x


def asked(x):
    return x * 2 if hasattr(x, "tobytes") and hasattr(x, "ctypes") else x


def rounded(x):
    return round(x[0, 0] * 1.7), round(x[0, 0] / 3, 2), round(x[0, 0].item() / 3, 1)


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("f", [inverse, divided, looked_up, strict, asked, rounded])
def test_errors_are_caught(agree, f, first):
    """The first calls go one way, later ones the other: no error is forgotten."""

    def arguments(n):
        return (np.eye(3) * (n > 5) * 7 if first else np.eye(3) * (n <= 5) * 7,)

    agree(lambda: (f, None, None), arguments)


# --- Values -------------------------------------------------------------------------------------


def test_complex_infinities_times_one():
    def f(x):
        y = x + x
        return y * 1, 1 * y, y / 1, y * 1.0

    fast = tapegrad.compile(f, backend="numpy")
    with np.errstate(invalid="ignore"):
        for x in (1 + 2j, 3 - 1j, complex(0, np.inf), complex(np.inf, 0), -1j, complex(-0.0, -1)):
            x = np.array([x, -x, complex(-1, np.inf)])
            for found, expected in zip(fast(x), f(x), strict=True):
                np.testing.assert_array_equal(found.view(float), expected.view(float))
                signs = np.signbit(found.view(float)), np.signbit(expected.view(float))
                known = ~np.isnan(expected.view(float))
                np.testing.assert_array_equal(signs[0][known], signs[1][known])


def test_orders_of_elements(agree):
    def f(x):
        y = x * 2
        return (
            [x.flatten(order) + 0 for order in "CFAK"]
            + [np.ravel(y, order) + 0 for order in "CFAK"]
            + [x.reshape(-1, order=order) * 1 for order in "CFA"]
            + [np.reshape(y, (2, 6), order) for order in "CFA"]
        )

    shapes = (np.asfortranarray, np.ascontiguousarray, lambda x: np.repeat(x, 2, 1)[:, ::2])
    for laid in shapes:
        agree(
            lambda: (f, None, None),
            lambda n, laid=laid: (laid(np.arange(12.0).reshape(3, 4) + n),),
        )


def test_numbers_of_arrays_without_axes(agree):
    def f(x):
        return x, x[()], x.copy(), x.item(), x * 2, x[None], x.reshape(())

    agree(lambda: (f, None, None), lambda n: (np.array(1.0 + n),), program=True)
    agree(lambda: (f, None, None), lambda n: (np.array(n),), program=True)
    agree(lambda: (lambda x: (x, x[()], x.copy(), x.item()), None, None), lambda n: (X[n % 6],))


def test_comparisons_with_other_objects(agree):
    def f(x, s):
        return x == None, x != None, s == "a", s != "b", x == "a"  # noqa: E711 - as is tested

    agree(lambda: (f, None, None), lambda n: (X + n, np.array(["a", "b"])))


def test_errors_of_arithmetic_that_are_asked_for(agree):
    """Machine code raises none, so it does not run where they are asked for."""

    def f(x):
        try:
            return 1 / x
        except FloatingPointError:
            return x

    def g(x):
        return 1 / x

    with np.errstate(divide="raise"):
        agree(lambda: (f, None, None), lambda n: (X - 0.5 * (n > 5),))
    for backend in BACKENDS:
        fast = tapegrad.compile(g, backend=backend)
        for n in range(5):
            fast(X + n)
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            fast(X - 0.5)
        with np.errstate(divide="ignore"):
            assert fast(X - 0.5)[0] == np.inf


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("state", [{"all": "ignore"}, {"divide": "ignore"}, {"over": "ignore"}])
def test_an_error_state_that_is_silent_in_part(backend, state):
    def f(x):
        y = 1 / x
        with np.errstate(**state):
            y = 1 / x + y
        return y + 1 / x * 1e308 * 10

    def told(call, x):
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            made = call(x)
        return made, [str(warning.message) for warning in found]

    fast = tapegrad.compile(f, backend=backend)
    zeros = np.zeros(3)
    for x in (X, X, X, X, zeros, zeros):
        (made, said), (expected, told_by_f) = told(fast, x), told(f, x)
        assert_same(made, expected)
        assert backend == "llvm" or set(said) == set(told_by_f)
    assert has_program(fast)
    for outer in ({"all": "ignore"}, {"divide": "ignore"}, {"all": "warn"}):
        with np.errstate(**outer):
            assert backend == "llvm" or set(told(fast, zeros)[1]) == set(told(f, zeros)[1])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("how", ["filter", "state"])
def test_errors_that_are_made_of_warnings_are_branches(backend, how):
    """Also of a call whose result nothing uses, and where warnings were off at first."""

    def f(x):
        try:
            with warnings.catch_warnings(), np.errstate(**({} if how == "filter" else ERRORS)):
                if how == "filter":
                    warnings.simplefilter("error")
                y = 2.0 / x
                y * 1e300
                return y
        except (RuntimeWarning, FloatingPointError):
            return x - 7.0

    fast = tapegrad.compile(f, backend=backend)
    for outer in ("ignore", "warn"):
        with np.errstate(all=outer):
            for x in (X, X, X, X, X * 0, X, X * 1e-300, X):
                assert_same(fast(x), f(x))
    assert has_program(fast)


ERRORS = {"divide": "raise", "over": "raise"}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_roots_by_powers(agree, dtype):
    """-inf ** 0.5 is NaN where NumPy takes the root, and inf where it takes the power."""
    x = np.array([-np.inf, -0.0, 4.0, 3.0], dtype)
    half = np.dtype(dtype).type(0.5)

    def f(x):
        y = x * 1.0
        powers = [np.power(y, p) for p in (0.5, half, np.array(half), 2, 2.0, half * 4, -1.0)]
        return powers + [y**p for p in (0.5, half, np.array(half), half * 4, half * -2)]

    with np.errstate(all="ignore"):
        agree(lambda: (f, None, None), lambda n: (x,), program=True)


# --- The folder of machine code ------------------------------------------------------------------


def spoiled(path, how):
    kept = path.read_bytes()
    if how == "other bits":
        at = len(kept) // 2
        path.write_bytes(kept[:at] + bytes([kept[at] ^ 255]) + kept[at + 1 :])
    else:
        path.write_bytes({"empty": b"", "half": kept[: len(kept) // 2], "none": b"none"}[how])


@pytest.mark.skipif("llvm" not in BACKENDS, reason="llvmlite is not installed")
@pytest.mark.parametrize("how", ["empty", "half", "none", "other bits"])
def test_kept_code_that_is_spoiled_is_made_anew(tmp_path, monkeypatch, how):
    monkeypatch.setenv("TAPEGRAD_CACHE", str(tmp_path))

    def made():
        fast = tapegrad.compile(lambda x: np.sum(np.sin(x) * 3.25), backend="llvm")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return [fast(X) for _ in range(4)][-1]

    expected = made()
    (path,) = tmp_path.iterdir()
    right = path.read_bytes()
    spoiled(path, how)
    assert made() == expected
    assert path.read_bytes() == right


@pytest.mark.skipif("llvm" not in BACKENDS, reason="llvmlite is not installed")
def test_a_folder_that_cannot_be(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "inside", ""):
        monkeypatch.setenv("TAPEGRAD_CACHE", str(folder))
        fast = tapegrad.compile(lambda x: np.sum(np.cos(x) * 7.5), backend="llvm")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert_same([fast(X) for _ in range(4)][-1], np.sum(np.cos(X) * 7.5), exact=False)


# --- Functions that depend on values -------------------------------------------------------------


def slopes(f):
    return lambda x: tapegrad.jvp(f, (x,), (np.cos(x),))


def of_the_first_part(x):
    first = np.array_split(np.floor(x), 2)[0]
    return np.sum(np.reciprocal(np.exp(x))) + np.sum(first)  # must not be written over `first`


def of_a_part_itself(x):
    first, last = np.split(np.exp(x), 2)
    return first, np.sin(first) * 2, np.array_split(last, 2)[0], last * 2


def of_a_part_beside_itself(x):
    first = np.split(np.exp(x), 3)[0]
    return first * 2, first


def of_products_of_one(x):
    return np.sum(np.radians(np.cumprod(np.tanh(x[:, None]), axis=1)))


def of_trimmed(x):
    trimmed = np.trim_zeros(np.floor(np.exp(x)))
    return np.sum(np.sin(x) * np.cos(x)) + np.sum(trimmed)


def of_real_if_close(x):
    return np.sin(np.real_if_close(x + 1j * np.minimum(x, 0)) * 2)


def of_eigenvalues(x):
    return np.sin(np.linalg.eigvals(np.array([[0.0, 1.0], [1.0, 0.0]]) * (x[1:3] - 0.5)))


@pytest.mark.part(3)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "f",
    [
        of_the_first_part,
        of_a_part_itself,
        of_a_part_beside_itself,
        slopes(of_products_of_one),
        of_trimmed,
        of_real_if_close,
        lambda x: np.emath.sqrt(x - 1) * 2 + 1,
        lambda x: np.emath.log(x[0] - 1) + x,
        of_eigenvalues,
    ],
    ids="parts a_part pair jvp_of_cumprod trim real_if_close emath_sqrt emath_log eigvals".split(),
)
def test_what_a_call_returns_by_its_values(f, backend):
    """Views of arguments, arguments themselves, and complex results of real numbers."""
    fast = tapegrad.compile(f, backend=backend)
    zero = np.where(np.arange(6) == 2, 0, X)
    with np.errstate(all="ignore"):
        for x in (X + 1, X + 2, X + 1, X + 2, X, zero, -X, X + 1, -X, zero):
            assert_same(fast(x), f(x), exact=False)
    assert has_program(fast)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_derivative_is_not_written_into_what_is_recorded(backend):
    def f(n, x):
        kept = 0.5 * n
        kept += x
        return np.sum(kept)

    for g, error in (
        (tapegrad.grad(f, 1), tapegrad.NotDifferentiableError),
        (tapegrad.vmap(f, (None, 0)), tapegrad.BatchingError),
    ):
        fast = tapegrad.compile(g, backend=backend)
        for call in (g, fast, fast, fast):
            with pytest.raises(error, match="out="):
                call(X, X)


@pytest.mark.parametrize(
    "derivative",
    [
        tapegrad.grad(lambda x: np.sum(3 * x)),
        lambda x: tapegrad.jvp(lambda x: 2 * x, (x,), (np.ones(x.shape),))[1],
        lambda x: tapegrad.vjp(lambda x: 2 * x, x)[1](np.ones(x.shape))[0],
        tapegrad.vmap(tapegrad.grad(lambda x: 3 * x)),
    ],
    ids=["grad", "jvp", "vjp", "vmap"],
)
def test_a_derivative_that_depends_on_no_value_can_be_written_to(derivative, agree):
    def f(x):
        slope = derivative(x)
        slope[0] = x[1]
        slope += 0.1 * x
        return slope

    agree(lambda: (f, None, None), program=True)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_gradient_of_a_number_is_one_beside_a_nan(backend):
    def f(x, y):
        return np.arctanh(y) + np.sum(np.arcsin(x))

    g = tapegrad.grad(tapegrad.checkpoint(f), (0, 1))
    fast = tapegrad.compile(g, backend=backend)
    bad = np.where(X > 1, np.inf, X)
    with np.errstate(all="ignore"):
        for x in (X / 4, bad):
            for y in (0.4, 0.3, 0.2, 0.1, np.inf, np.nan):
                number = np.float32(y)
                assert_same(fast(x, number), g(x, number), backend == "numpy")


@tapegrad.primitive
def order_of(x):
    return np.array(sorted(range(len(x)), key=x.tolist().__getitem__))


@tapegrad.primitive
def rounded_sum(pair, *, by=1.0):
    return np.round(pair[0] + pair[1] * by)


tapegrad.constant(order_of)
tapegrad.constant(rounded_sum)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[order_of(x)] * np.arange(len(x)),
        lambda x: x * rounded_sum((x, x), by=2.0),
    ],
)
def test_a_primitive_that_is_constant_is_one_call(f):
    loss = tapegrad.grad(lambda x: np.sum(f(x)))
    for g, x in ((f, X), (loss, X), (tapegrad.vmap(f), np.stack([X, -X]))):
        fast = tapegrad.compile(g, backend="numpy")
        for scale in (1, 2, -1, 3, -2, 1, 2):
            assert_same(fast(x * scale), g(x * scale), True)
        assert has_program(fast)
