"""Checkpoints in files: the same derivative to the bit, the best schedule, and no file left."""

from __future__ import annotations

import errno
import functools
import gc
import itertools
import os
import subprocess
import sys
import tempfile
import threading
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapegrad import (
    InputError,
    checkpoint,
    checkpoint_sequence,
    compile,
    grad,
    hessian,
    hvp,
    jacrev,
    jvp,
    linearize,
    vjp,
    vmap,
)
from tapegrad._compile import background
from tapegrad._transforms import state_files
from tapegrad._transforms.schedule import best_files, disk_positions, steps_again
from tapegrad._transforms.state_files import StateFiles, StoredStates
from tapegrad._tree import flatten

X = np.linspace(0.1, 1.0, 4)
V = np.array([0.5, -0.25, 1.5, 1.0])
COST = (0.5, 0.5)


def same_bits(a, b):
    left, structure = flatten(a)
    right, other = flatten(b)
    assert structure == other
    for one, another in zip(left, right, strict=True):
        assert np.asarray(one).dtype == np.asarray(another).dtype
        np.testing.assert_array_equal(one, another)


# --- The schedule -------------------------------------------------------------------------------


@functools.cache
def reversal(n, m):
    """The fewest steps that reverse n steps after a stored state, the first of m at a time."""
    if n <= 1:
        return 0
    if m == 1:
        return n * (n - 1) // 2
    return min(j + reversal(n - j, m - 1) + reversal(j, m) for j in range(1, n))


@functools.cache
def after_sweep(n, m):
    """The same where the first sweep, which passes all states, leaves m of them."""
    if n <= 1 or m == 1:
        return reversal(n, m)
    return min(after_sweep(n - j, m - 1) + reversal(j, m) for j in range(1, n + 1))


@functools.cache
def with_files(n, m, files):
    """The same where the sweep also leaves states in files, each of which is read once."""
    rest = after_sweep if files == 0 else lambda n, m: with_files(n, m, files - 1)
    return min(reversal(j, m) + rest(n - j, m) for j in range(n + 1))


@pytest.mark.parametrize("m", range(1, 5))
def test_no_schedule_runs_fewer_steps(m):
    for n in range(24):
        for files in range(5):
            assert steps_again(n, m, files) == with_files(n, m, files)
            places = [0, *disk_positions(n, m, files), n]
            lengths = np.diff(places).tolist()
            assert len(lengths) == files + 2
            assert min(lengths) >= 0
            total = sum(reversal(j, m) for j in lengths[:-1]) + after_sweep(lengths[-1], m)
            assert total == steps_again(n, m, files)


@given(
    st.integers(0, 24), st.integers(1, 4), st.floats(0, 30), st.integers(0, 24) | st.just(10**9)
)
def test_no_number_of_files_has_a_lower_price(n, m, price, limit):
    chosen = best_files(n, m, price, limit)
    assert 0 <= chosen <= limit
    prices = [steps_again(n, m, files) + files * price for files in range(min(limit, n) + 1)]
    assert prices[chosen] <= min(prices) + 1e-9


@pytest.mark.parametrize("m", [1, 2, 3])
def test_of_equal_prices_the_fewest_files_are_written(m):
    ties = 0
    for n, price in itertools.product(range(0, 24, 3), range(6)):
        prices = [steps_again(n, m, files) + files * price for files in range(n + 1)]
        assert best_files(n, m, price, 10**9) == prices.index(min(prices))
        ties += prices.count(min(prices)) > 1
    assert ties


def test_long_sequences_have_their_schedule_at_once():
    files = best_files(10**9, 20, 100.0, 10**6)
    places = list(disk_positions(10**9, 20, 1000))
    assert 0 < files <= 10**6
    assert places == sorted(set(places))


def counted(n, m, **options):
    """How many steps a gradient runs."""
    runs = []

    def step(x):
        runs.append(1)
        return x * 1.5

    grad(lambda x: np.sum(checkpoint_sequence(step, x, n, snapshots=m, **options)))(X)
    return len(runs)


@given(st.integers(0, 60), st.integers(1, 5), st.sampled_from([0.0, 0.5, 2.0, 1e9]))
def test_so_many_steps_are_run(n, m, price):
    with tempfile.TemporaryDirectory() as path:
        files = best_files(n, m, 2 * price, 10**9)
        # n in the sweep, n differentiated
        found = counted(n, m, disk=path, disk_cost=(price, price), disk_states=10**6)
        assert found == 2 * n + steps_again(n, m, files)


def test_measuring_takes_two_steps(tmp_path):
    assert counted(10, 20, disk=tmp_path) == 20
    assert counted(10, None, disk=tmp_path) == 20  # small states, of which there are 20 in memory
    assert counted(30, 2, disk=tmp_path, disk_states=0) == 62 + steps_again(30, 2, 0)


# --- The derivative -----------------------------------------------------------------------------

LEAVES = {
    "float64": X,
    "float32": X.astype(np.float32),
    "longdouble": X.astype(np.longdouble) / 3,
    "complex128": X + 1j * V,
    "complex64": (X + 1j * V).astype(np.complex64),
    "float16": X.astype(np.float16),
    "big-endian": X.astype(">f8"),
    "int": np.arange(3),
    "bool": np.array([True, False]),
    "uint8": np.arange(4, dtype=np.uint8).reshape(2, 2),
    "date": np.array(["2020-01-01"], "M8[D]"),
    "text": np.array(["a", "bc"]),
    "record": np.zeros(2, [("a", "f8"), ("b", "i2")]),
    "0-d": np.array(0.75),
    "0-d int": np.array(3),
    "empty": np.zeros((0, 3)),
    "empty text": np.array(["", ""]),
    "Fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3) / 7),
    "turned": (np.arange(24.0).reshape(2, 3, 4) / 7).transpose(1, 2, 0),
    "reversed": X[::-1],
    "every second": np.linspace(0, 1, 8)[::2],
    "number": 0.5,
    "scalar": np.float32(0.25),
    "count": 3,
    "word": "name",
    "none": None,
}
each_leaf = pytest.mark.parametrize("name", LEAVES)


def moved(state, rate):
    """A step of a dict of any leaves: floating ones move, and counts go on."""
    new = {}
    for name, x in state.items():
        kind = getattr(getattr(x, "dtype", None), "kind", type(x).__name__[0])
        if kind in ("f", "c"):
            new[name] = (np.sin(x) * rate).astype(x.dtype) if hasattr(x, "astype") else x * rate
        else:
            new[name] = x + 1 if kind in "iu" else x
    return new


def total(state, rate, n, **options):
    end = checkpoint_sequence(moved, state, n, rate, **options)
    parts = [
        x for x in end.values() if getattr(getattr(x, "dtype", None), "kind", "") in ("f", "c")
    ]
    return sum((np.sum(np.abs(x) ** 2).astype(float) for x in parts), 0.0 * rate)


@given(
    names=st.lists(st.sampled_from(sorted(LEAVES)), min_size=1, max_size=3, unique=True),
    n=st.integers(0, 14),
    m=st.integers(1, 4),
    cost=st.sampled_from([None, (0, 0), (0.5, 0.5), (3, 1)]),
    states=st.sampled_from([None, 0, 1, 4]),
)
def test_gradients_are_the_same_to_the_bit(names, n, m, cost, states):
    state = {name: LEAVES[name] for name in names}
    floating = {
        name: x
        for name, x in state.items()
        if getattr(np.asarray(x), "dtype", None) is not None and np.asarray(x).dtype.kind in "fc"
    }
    others = {name: x for name, x in state.items() if name not in floating}

    def loss(options):
        return lambda x, rate: total({**x, **others}, rate, n, snapshots=m, **options)

    with tempfile.TemporaryDirectory() as path:
        on_disk = loss({"disk": path, "disk_cost": cost, "disk_states": states})
        same_bits(grad(on_disk, (0, 1))(floating, 0.9), grad(loss({}), (0, 1))(floating, 0.9))
        assert os.listdir(path) == []


@each_leaf
def test_a_state_is_read_as_it_was_written(name, tmp_path):
    files = StateFiles("test", tmp_path)
    leaf = LEAVES[name]
    (found,) = files.read(files.write([leaf]))
    assert type(found) is type(leaf)
    if isinstance(leaf, np.ndarray):
        assert (found.dtype, found.shape) == (leaf.dtype, leaf.shape)
        if leaf.flags.forc:
            assert found.strides == leaf.strides or leaf.size < 2
    np.testing.assert_array_equal(found, leaf)
    files.close()
    assert os.listdir(tmp_path) == []


def squared(x, **options):
    end = checkpoint_sequence(lambda s, r: np.sin(s) * r, x, 9, x + 1, snapshots=2, **options)
    return np.sum(end**2)


def blocks(x, **options):
    for _ in range(3):
        x = checkpoint(lambda x, w: np.sin(x) * w, **options)(x, x[::-1])
    return np.sum(x**2)


TRANSFORMS = {
    "grad": lambda f: grad(f)(X),
    "jvp": lambda f: jvp(f, (X,), (V,)),
    "linearize": lambda f: linearize(f, X)[1](V),
    "hessian": lambda f: hessian(f)(X),
    "hvp": lambda f: hvp(f, (X,), (V,)),
    "grad of grad": lambda f: grad(lambda x: np.sum(grad(f)(x) * V))(X),
    "jvp of grad": lambda f: jvp(grad(f), (X,), (V,)),
    "jacrev of jacrev": lambda f: jacrev(jacrev(f))(X),
    "third": lambda f: hessian(lambda x: np.sum(grad(f)(x) * V))(X),
    "vmap of grad": lambda f: vmap(grad(f))(np.stack([X, V])),
    "grad of vmap": lambda f: grad(lambda p: np.sum(vmap(f)(p)))(np.stack([X, V])),
    "compile": lambda f: compile(grad(f))(X),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_derivatives_of_any_order(name, tmp_path):
    take = TRANSFORMS[name]
    on_disk = take(lambda x: squared(x, disk=tmp_path, disk_cost=COST))
    same_bits(on_disk, take(squared))
    in_blocks = take(lambda x: blocks(x, save="disk", directory=tmp_path))
    same_bits(in_blocks, take(blocks))
    assert os.listdir(tmp_path) == []


def test_a_pullback_may_be_called_again(tmp_path):
    for f in (
        lambda x: squared(x, disk=tmp_path, disk_cost=COST),
        lambda x: blocks(x, save="disk", directory=tmp_path),
    ):
        _, pullback = vjp(f, X)
        assert os.listdir(tmp_path)
        first, again = pullback(1.0), pullback(1.0)
        same_bits(first, again)
        del pullback
        assert os.listdir(tmp_path) == []


def test_calls_within_calls(tmp_path):
    def outer(options):
        def step(x):
            return checkpoint_sequence(np.sin, x, 5, snapshots=2, **options) * 1.5

        return lambda x: np.sum(checkpoint_sequence(step, x, 6, snapshots=2, **options))

    same_bits(grad(outer({"disk": tmp_path, "disk_cost": COST}))(X), grad(outer({}))(X))
    assert os.listdir(tmp_path) == []


def test_threads_have_files_of_their_own(tmp_path):
    found = [None] * 4

    def work(i):
        found[i] = grad(lambda x: squared(x * (i + 1), disk=tmp_path, disk_cost=COST))(X)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i, each in enumerate(found):
        same_bits(each, grad(lambda x, i=i: squared(x * (i + 1)))(X))
    assert os.listdir(tmp_path) == []


def test_steps_that_write_into_whole_numbers(tmp_path):
    def step(state):
        x, count = state
        count += 1
        return x * count[0], count

    def loss(options):
        return lambda x: np.sum(
            checkpoint_sequence(step, (x, np.zeros(2, int)), 9, snapshots=2, **options)[0]
        )

    expected = np.full(4, float(np.prod(np.arange(1.0, 10.0))))
    np.testing.assert_array_equal(grad(loss({}))(X), expected)
    np.testing.assert_array_equal(grad(loss({"disk": tmp_path, "disk_cost": COST}))(X), expected)


@pytest.mark.slow
def test_memory_is_that_of_the_snapshots(tmp_path, monkeypatch):
    x = np.ones(170_000)  # 1.36 MB: three states by default

    def peak(f):
        grad(lambda x: np.sum(f(x)))(x[:2])
        tracemalloc.start()
        grad(lambda x: np.sum(f(x)))(x)
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most / x.nbytes

    def chain(x):
        for _ in range(40):
            x = checkpoint(lambda x: x * 1.01, save="disk", directory=tmp_path)(x)
        return x

    def sequence(x, **options):
        options = {"disk": tmp_path, "disk_cost": (2.0, 2.0), **options}
        return checkpoint_sequence(lambda x: x * 1.01, x, 40, **options)

    builder = background.BUILDER.thread  # of machine code for tests before, which takes memory
    if builder is not None:
        builder.join()
    # Arrays that another thread may write to are copied: there is none, whatever ran before.
    monkeypatch.setattr(threading, "active_count", lambda: 1)
    assert peak(chain) < 6
    # A step has a copy of its state and a result, and there is the cotangent.
    assert peak(sequence) < 3 + 3.5
    assert peak(lambda x: sequence(x, snapshots=5)) < 5 + 3.5


@pytest.mark.slow
def test_what_is_kept_of_a_file_is_little(tmp_path):
    """There may be tens of thousands: 10^5 steps are to take 50 MB in all."""
    files = StateFiles("f", tmp_path)
    arrays = [[np.ones((2, 3), order="F"), np.ones(1)], [np.ones((2, 3), order="F"), np.zeros(1)]]
    states = {
        40: arrays * 50,
        150: [[*arrays[i % 2], 1000 + i] for i in range(100)],
    }
    for most, each in states.items():
        kept = StoredStates()
        kept.push(0, files.write(each[0]))
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        for i, state in enumerate(each):
            kept.push(1000 + i, files.write(state))
        gc.collect()  # tuples that Python keeps for the next ones
        size = tracemalloc.get_traced_memory()[0] - before
        tracemalloc.stop()
        assert size < most * 100
        for i, state in reversed(list(enumerate(each))):
            position, stored = kept.pop()
            assert position == 1000 + i
            same_bits(files.read(stored), state)
        assert kept.pop()[0] == 0
        assert not kept


@pytest.mark.parametrize("size", [10, 50_000])
def test_a_branch_that_is_not_taken_gives_no_nan(size, tmp_path):
    """A replay that has freed large values is made again where zeros meet infinities."""
    x = np.linspace(0.1, 1.0, size)

    def step(x):
        return np.where(x > 2.0, x * np.inf, np.sqrt(x))

    def chain(x):
        for _ in range(4):
            x = step(x)
        return np.sum(x)

    ways = (
        lambda x: np.sum(checkpoint_sequence(step, x, 4, snapshots=2)),
        lambda x: np.sum(checkpoint_sequence(step, x, 4, disk=tmp_path, disk_cost=(0, 0))),
        lambda x: np.sum(checkpoint(step)(checkpoint(step)(step(step(x))))),
    )
    expected = grad(chain)(x)
    assert np.isfinite(expected).all()
    for way in ways:
        np.testing.assert_array_equal(grad(way)(x), expected)


def test_files_of_states_that_differ_are_read_as_they_were_written(tmp_path):
    states = [
        [np.arange(3.0), np.arange(2)],
        [np.arange(3.0), np.arange(2.0)],
        [np.arange(3.0), "text"],
        [np.arange(2), np.arange(3.0)],
        [np.arange(3.0)],
        [np.arange(3.0)[::-1]],
        [np.arange(3.0)],
    ]
    files = StateFiles("f", tmp_path)
    for state, stored in zip(states, [files.write(state) for state in states], strict=True):
        for ours, known in zip(files.read(stored), state, strict=True):
            np.testing.assert_array_equal(ours, known)
            assert getattr(ours, "strides", None) == getattr(known, "strides", None)


@pytest.mark.slow
def test_a_long_sequence(tmp_path):
    """1000 steps of 100 kB: as many files as there may be, each step run at most three times."""
    x = np.linspace(0.5, 1.5, 12_500)
    runs = []

    def loss(options):
        def step(x, rate):
            runs.append(1)
            return x * rate

        return lambda x, rate: np.sum(
            checkpoint_sequence(step, x, 1000, rate, snapshots=5, **options)
        )

    expected = grad(loss({}), (0, 1))(x, 1.0001)
    runs.clear()
    options = {"disk": tmp_path, "disk_cost": (1.0, 1.0), "disk_states": 60}
    same_bits(grad(loss(options), (0, 1))(x, 1.0001), expected)
    assert len(runs) <= 4 * 1000
    assert os.listdir(tmp_path) == []


# --- Errors -------------------------------------------------------------------------------------


def ways(path):
    """A gradient by either function, with its files in a directory."""
    return (
        lambda x: grad(lambda x: squared(x, disk=path, disk_cost=(0, 0)))(x),
        lambda x: grad(lambda x: blocks(x, save="disk", directory=path))(x),
    )


def test_a_directory_that_is_not_there(tmp_path):
    runs = []
    with pytest.raises(FileNotFoundError, match=r"an existing directory.*Make the directory"):
        grad(lambda x: checkpoint_sequence(runs.append, x, 5, disk=tmp_path / "absent"))(1.0)
    assert runs == []
    (tmp_path / "file").write_text("")
    for take in ways(tmp_path / "file"):
        with pytest.raises(NotADirectoryError, match="an existing directory"):
            take(X)
    with pytest.raises(InputError, match="the path of a directory, got int 3"):
        grad(lambda x: squared(x, disk=3))(X)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere"
)
def test_a_directory_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    for take in ways(tmp_path):
        with pytest.raises(PermissionError, match="an existing directory in which files"):
            take(X)


class _Full:
    """Stands for the module's open: files that take so many writes, and then are full."""

    def __init__(self, writes):
        self.left = writes

    def __call__(self, path, mode):
        if self.left == 0:
            Path(path).write_bytes(b"a part")
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self.left -= 1
        return open(path, mode)


@pytest.mark.part(2)
@pytest.mark.parametrize("writes", [0, 1])
def test_a_full_disk(writes, tmp_path, monkeypatch):
    for take in ways(tmp_path):
        monkeypatch.setattr(state_files, "open", _Full(writes), raising=False)
        with pytest.raises(OSError, match=r"to write a state of .* Free space") as caught:
            take(X)
        assert caught.value.errno == errno.ENOSPC
        del caught  # its traceback has the frames that have the arguments of earlier calls
        gc.collect()
        assert os.listdir(tmp_path) == []
        monkeypatch.undo()
        assert take(X).shape == X.shape


def test_too_little_space_is_known_before_the_first_step(tmp_path):
    runs = []

    def step(x):
        runs.append(1)
        return x * 2

    huge = 10**14
    with pytest.raises(OSError, match="bytes for its states") as caught:
        grad(
            lambda x: np.sum(
                checkpoint_sequence(
                    step, x, huge, snapshots=1, disk=tmp_path, disk_cost=(0, 0), disk_states=huge
                )
            )
        )(np.ones(1000))
    assert caught.value.errno == errno.ENOSPC
    assert runs == []
    assert os.listdir(tmp_path) == []


def test_objects_are_refused(tmp_path):
    words = np.array([{}, []], dtype=object)

    def step(state):
        return state[0] * 2, state[1]

    with pytest.raises(InputError, match=r"fixed number of bytes an element.*got object\[2\]"):
        grad(lambda x: checkpoint_sequence(step, (x, words), 5, disk=tmp_path, disk_cost=COST)[0])(
            1.0
        )
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"disk_cost": (1, 1)}, "without it"),
        ({"disk_states": 3}, "without it"),
        ({"disk": ".", "disk_cost": 3}, "two numbers of steps"),
        ({"disk": ".", "disk_cost": (-1, 2)}, "two numbers of steps"),
        ({"disk": ".", "disk_states": -1}, "a number of files"),
    ],
)
def test_options_that_do_not_fit(options, match):
    with pytest.raises(InputError, match=match):
        squared(X, **options)
    with pytest.raises(InputError, match='save="memory", or save="disk"'):
        checkpoint(np.sin, save="cloud")
    with pytest.raises(InputError, match='save="memory", or save="disk"'):
        checkpoint(np.sin, directory=".")


@pytest.mark.parametrize("kind", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("at", [5, 12, 25])
def test_an_error_or_interrupt_leaves_no_file(kind, at, tmp_path):
    runs = []

    def step(x):
        runs.append(1)
        if len(runs) == at:
            raise kind("stop")
        return np.sin(x)

    options = {"snapshots": 2, "disk": tmp_path, "disk_cost": COST}
    with pytest.raises(kind):
        grad(lambda x: np.sum(checkpoint_sequence(step, x, 15, **options)))(X)
    assert os.listdir(tmp_path) == []


POSIX = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes by a path")


@pytest.mark.parametrize(
    "change", ["removed", "cut", *[pytest.param(x, marks=POSIX) for x in ("a pipe", "a link")]]
)
def test_files_that_others_change(change, tmp_path):
    _, pullback = vjp(lambda x: squared(x, disk=tmp_path, disk_cost=(0, 0)), X)
    for file in tmp_path.rglob("*.npy"):
        content = file.read_bytes()
        file.unlink()
        if change == "cut":
            file.write_bytes(content[:100])
        elif change == "a pipe":
            os.mkfifo(file)
        elif change == "a link":
            other = file.with_suffix(".other")
            other.write_bytes(content)
            file.symlink_to(other)
    with pytest.raises(OSError, match="the state that it has written"):
        pullback(1.0)
    same_bits(pullback(1.0)[0], grad(squared)(X))  # a second pull has states of its own


AT_EXIT = """
import os, sys
import numpy as np
from tapegrad import checkpoint, checkpoint_sequence, vjp

kept = vjp(lambda x: np.sum(checkpoint_sequence(
    np.sin, x, 20, snapshots=2, disk=sys.argv[1], disk_cost=(0, 0))), np.ones(3))
other = vjp(checkpoint(np.sin, save="disk", directory=sys.argv[1]), np.ones(3))
if hasattr(os, "fork"):
    child = os.fork()
    if child == 0:
        del kept, other  # these are the parent's files
        sys.exit()
    os.waitpid(child, 0)
print(len(os.listdir(sys.argv[1])))
if sys.argv[2] == "error":
    raise ValueError
"""


@pytest.mark.slow
@pytest.mark.parametrize("end", ["plain", "error"])
def test_files_go_when_python_exits(end, tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", AT_EXIT, str(tmp_path), end],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.stdout.split() == ["1"], done.stderr
    assert done.returncode == (end == "error")
    assert os.listdir(tmp_path) == []
