"""State that a compiled function changes outside is an argument and a result of its program."""

import dataclasses
import threading
import types
import warnings

import numpy as np
import pytest

import tapegrad
from tapegrad import EagerWarning

RNG = np.random.default_rng(0)
POINTS = RNG.normal(size=(16, 3))


class Slotted:
    __slots__ = ("count", "mean")

    def __init__(self):
        self.count, self.mean = 0, np.zeros(3)


@dataclasses.dataclass
class Part:
    mean: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(3))
    count: int = 0


def held(**attributes):
    return types.SimpleNamespace(**attributes)


# Functions of a state and an argument: the state at the start, and what a call does. Those whose
# name ends with an underscore change what no program does: the calls are their own, with a word.


def filters(s, z):
    """A Kalman filter."""
    x, p = s.f @ s.x, s.f @ s.p @ s.f.T + 0.1 * np.eye(3)
    gain = p @ np.linalg.inv(p + np.eye(3))
    s.x, s.p = x + gain @ (z - x), p - gain @ p
    s.log_likelihood -= 0.5 * np.sum((z - x) ** 2)
    s.count += 1
    return s.x


def moments(s, x):
    """Adam, which writes into one average, and gives the other a new array."""
    s.count += 1
    s.mean *= 0.9
    s.mean += 0.1 * x
    s.square = 0.99 * s.square + 0.01 * x**2
    return s.mean / (1 - 0.9**s.count) / np.sqrt(s.square / (1 - 0.99**s.count))


def descends(s, x):
    value, slope = tapegrad.value_and_grad(lambda w: np.sum((w * x - 1) ** 2))(s.mean)
    s.mean = s.mean - 0.1 * slope
    return value


def heats(s, x):
    u = s.field
    u[1:-1] += 0.1 * (u[2:] + u[:-2] - 2 * u[1:-1])
    s.time += x[0]
    return u.sum()


def circular(s, x):
    s.field[s.count % 4] = x[0]
    s.count += 1
    return s.field.mean()


def swaps(s, x):
    s.mean, s.square = s.square, s.mean
    s.mean += x
    return s.mean.sum() - s.square.sum()


def keeps_its_argument(s, x):
    s.last, before = x, s.last
    return np.sum(x - before)


def new_array_twice(s, x):
    s.mean = s.square = s.mean + x
    s.mean *= 1.5
    return s.square.sum()


def in_containers(s, x):
    s.row[0] = s.row[0] * 0.5 + x
    s.row[1] *= 2
    s.table["mean"] = s.table["mean"] + x
    s.table["inner"]["count"] += 3
    return s.row[0].sum() + s.table["mean"].sum() * s.table["inner"]["count"]


def in_a_tuple(s, x):
    mean, count, factor = s.pair
    s.pair = mean + x * factor, count + 1, factor * 0.5
    return mean.sum() + count


def in_parts(s, x):
    s.part.mean = s.part.mean + x
    s.part.count += 1
    s.slotted.mean += x
    s.slotted.count -= 1
    return s.part.mean.sum() * s.slotted.count


def begins_late(s, x):
    if s.late is None:
        s.late = np.zeros_like(x)
    s.late = s.late + x
    if not hasattr(s, "count_of_late"):
        s.count_of_late = 0
    s.count_of_late += 1
    return s.late / s.count_of_late


def resets(s, x):
    s.count += 1
    s.mean = s.mean + x
    if s.count >= 4:
        s.count, s.mean = 0, np.zeros(3)
    return s.mean.sum()


def toggles(s, x):
    s.is_odd = not s.is_odd
    s.name = "b" if s.name == "a" else "a"
    s.mean = s.mean + (x if s.is_odd else 2 * x)
    return s.mean.sum()


def whole_numbers(s, x):
    s.big = s.big**2 % (10**40 + 1) + 7
    return x * (s.big % 1000) + s.big // 10**30


def of_two_kinds(s, x):
    s.time = s.time + s.step
    s.step = s.step * 0.5
    return x * s.time


def unbinds(s, x):
    s.mean = s.mean + x
    s.late = s.mean.sum()
    out = s.late
    del s.late
    s.late = None
    return out


def raises(s, x):
    s.count += 1
    s.mean = s.mean + x
    if s.count % 4 == 3:
        raise ValueError("no")
    s.mean = s.mean * 2
    return s.mean.sum()


def returns_its_state(s, x):
    s.mean = s.mean + x
    return s.mean


def two_names_of_one_array(s, x):
    s.field += x[0]
    return s.same.sum()


def keeps_two_views_(s, x):
    s.mean = s.mean + x
    s.square = s.mean[::-1]
    s.square *= 1.5
    return s.mean.sum()


def appends_(s, x):
    s.mean = s.mean + x
    s.grows.append(s.mean)
    return s.mean.sum()


def replaces_containers(s, x):
    s.table = {"mean": s.table["mean"] + x, "inner": {"count": s.table["inner"]["count"] + 1}}
    s.row = [s.row[0] + 1, s.row[1] * 2]
    return s.table["mean"].sum() + s.row[0].sum()


def changes_a_list_that_it_replaces_(s, x):
    s.row[0] += x
    s.row = [s.row[0], s.row[1] + 1]
    s.row[1] += 1
    return s.row[0].sum()


def replaces_and_changes_a_list(s, x):
    s.row = [s.row[0] + x, s.row[1]]
    s.row[0] += 1
    s.row[1] += 1
    s.row = list(s.row)
    s.row[0] = s.row[0] * 2
    return s.row[0].sum()


def replaces_an_object(s, x):
    s.part = Part(s.part.mean + x, s.part.count + 1)
    return s.part.mean.sum()


STEPS = [
    *(filters, moments, descends, heats, circular, swaps, keeps_its_argument, new_array_twice),
    *(in_containers, in_a_tuple, in_parts, begins_late, resets, toggles, whole_numbers),
    *(of_two_kinds, unbinds, raises, returns_its_state, two_names_of_one_array),
    *(keeps_two_views_, appends_, replaces_an_object, replaces_containers),
    *(replaces_and_changes_a_list, changes_a_list_that_it_replaces_),
]


def at_the_start():
    s = held(
        f=np.eye(3) + 0.1 * np.eye(3, k=1),
        x=np.zeros(3),
        p=np.eye(3),
        log_likelihood=0.0,
        mean=np.zeros(3),
        square=np.ones(3),
        last=np.zeros(3),
        field=np.arange(4.0),
        row=[np.zeros(3), 1],
        table={"mean": np.zeros(3), "inner": {"count": 1}},
        pair=(np.zeros(3), 0, 1.0),
        part=Part(),
        slotted=Slotted(),
        count=0,
        time=0,
        step=1,
        late=None,
        is_odd=False,
        name="a",
        big=3,
        grows=[],
    )
    s.same = s.field
    return s


def seen(value):
    """What there is, with types and dtypes; numbers rounded."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, np.round(value, 9).tolist()
    if isinstance(value, (list, tuple)):
        return type(value), [seen(part) for part in value]
    if isinstance(value, Slotted):
        return seen([value.count, value.mean])
    if dataclasses.is_dataclass(value) or isinstance(value, types.SimpleNamespace):
        return seen(vars(value))
    if isinstance(value, dict):
        return [(name, seen(part)) for name, part in value.items()]
    return type(value), round(value, 9) if isinstance(value, float) else value


def identities(s):
    """Which of the attributes are one object."""
    values = [x for x in vars(s).values() if isinstance(x, np.ndarray)]
    return [[a is b for b in values] for a in values]


def outcome(f, *args):
    try:
        return seen(f(*args))
    except ValueError as error:
        return repr(error)


def left_alone(s, n):
    pass


def rebound(s, n):
    s.mean = s.mean * 0 + n
    s.count = 0


def written_into(s, n):
    s.mean += n
    s.field[...] = n


def of_another_dtype(s, n):
    s.mean = s.mean.astype(np.float32)


@pytest.mark.parametrize("change", [left_alone, rebound, written_into, of_another_dtype])
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_state_is_as_it_would_be(step, change):
    """Also where a program changes it between calls."""
    mine, theirs = at_the_start(), at_the_start()
    fast = tapegrad.compile(lambda x: step(mine, x), backend="numpy")
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        for n, x in enumerate(POINTS):
            if n in (5, 6, 9, 12):
                change(mine, n)
                change(theirs, n)
            assert outcome(fast, x.copy()) == outcome(step, theirs, x.copy()), n
            assert seen(mine) == seen(theirs), n
            assert identities(mine) == identities(theirs), n
    told = [str(each.message) for each in noted]
    if change is left_alone:
        assert len(told) == step.__name__.endswith("_"), told
        runs = "NumPy's program" in fast.explain()
        assert runs is not step.__name__.endswith("_")


@pytest.mark.slow  # builds machine code for each
@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_state_is_as_it_would_be_by_machine_code(step):
    pytest.importorskip("llvmlite")
    mine, theirs = at_the_start(), at_the_start()
    fast = tapegrad.compile(lambda x: step(mine, x), backend="llvm")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EagerWarning)
        for x in POINTS:
            assert outcome(fast, x.copy()) == outcome(step, theirs, x.copy())
            assert seen(mine) == seen(theirs)


def test_names_of_enclosing_functions_and_modules_are_state():
    total, count = np.zeros(3), 0

    def f(x):
        nonlocal total, count
        total = total + x
        count += 1
        return total / count

    fast = tapegrad.compile(f, backend="numpy")
    for n in range(1, 9):
        np.testing.assert_allclose(fast(POINTS[0]), POINTS[0])
        assert count == n
    assert "with the state" in fast.explain()
    assert "1 by NumPy" in repr(fast)


def test_what_shows_a_program_leaves_the_state_alone():
    s = at_the_start()
    fast = tapegrad.compile(lambda x: moments(s, x), backend="numpy")
    before = seen(s)
    fast.prepare(POINTS[0])
    assert "float64[3]" in fast.program(POINTS[0])
    assert "def" in fast.source(POINTS[0])
    assert seen(s) == before
    fast(POINTS[0])
    assert s.count == 1


def test_check_compares_the_state_too(tmp_path):
    path = tmp_path / "rate"
    path.write_text("1")
    s = at_the_start()

    def f(x):
        s.mean = s.mean + x * float(path.read_text())
        return np.sum(x)

    fast = tapegrad.compile(f, backend="numpy", check=1)
    for _ in range(5):
        fast(POINTS[0])
    path.write_text("2")
    with pytest.raises(tapegrad.StaleProgramError):
        fast(POINTS[0])


def test_a_number_that_is_set_between_calls_becomes_an_input():
    """As a learning rate: no further program is recorded for each."""
    s = held(rate=1.0)
    fast = tapegrad.compile(lambda x: x * s.rate, backend="numpy")
    for n in range(40):
        s.rate = 1 / (n + 1)
        np.testing.assert_array_equal(fast(POINTS[0]), POINTS[0] * s.rate)
    assert "1 by NumPy" in repr(fast)
    assert fast.explain().splitlines()[1:] == [
        "(float64[3]) with the state (float): NumPy's program"
    ]


def test_an_array_that_is_set_between_calls_becomes_an_input():
    data = np.zeros(3)
    fast = tapegrad.compile(lambda x: np.sum(x * data), backend="numpy")
    for n in range(12):
        data[:] = POINTS[n]
        assert fast(POINTS[0]) == np.sum(POINTS[0] * POINTS[n])
    assert "with the state (float64[3]): NumPy's program" in fast.explain()


def test_a_derivative_of_a_stateful_function_is_that_of_the_function_itself():
    s = held(count=0)

    def f(x):
        s.count += 1
        return np.sum(x**2) * s.count

    fast = tapegrad.compile(f, backend="numpy")
    for n in range(1, 5):
        assert fast(POINTS[0]) == np.sum(POINTS[0] ** 2) * n
    np.testing.assert_allclose(tapegrad.grad(fast)(POINTS[1]), 2 * POINTS[1] * 5)


def test_each_thread_has_its_own_state():
    def work(results):
        s = at_the_start()
        fast = tapegrad.compile(lambda x: moments(s, x), backend="numpy")
        results.append([fast(x) for x in POINTS])

    found = []
    threads = [threading.Thread(target=work, args=(found,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    s = at_the_start()
    for results in found:
        np.testing.assert_allclose(results, found[0])
    np.testing.assert_allclose(found[0], [moments(s, x) for x in POINTS])
