"""Bars: who shows one, when, of how many steps, and who is silent."""

from __future__ import annotations

import contextvars
import inspect
import os
import subprocess
import sys
import textwrap
import threading
import types

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad
import tapegrad.torch as torch
from tapegrad import _progress, implicit, optimize, sparse
from tapegrad._cli._differences import compare
from tapegrad._progress import Bar, current
from tapegrad.autograd.misc import optimizers
from tapegrad.testing import check_grads, check_rule

WORDS = (
    "A bar (tqdm) after two seconds in a terminal or notebook (None), at once (True), never "
    "(False), or a class like tqdm."
)


class Tqdm:
    """A bar of tqdm's, as far as it is used; `parts` has what `reset` began anew."""

    made: list = []  # noqa: RUF012

    def __init__(self, total=None, desc=None, leave=True):
        self.parts, self.leave, self.closed = [[desc, total, 0]], leave, 0
        self.shown, self.lines, self.refreshed = {}, [], 0
        self.start_t = self.last_print_t = 1000.0
        self.made.append(self)

    def update(self, n):
        assert n > 0
        assert not self.closed
        self.parts[-1][2] += n

    def set_postfix(self, shown, refresh=True):
        assert not refresh
        self.shown = shown

    def set_description(self, desc, refresh=True):
        assert not refresh
        self.desc = desc

    def reset(self, total=None):
        self.parts.append([self.desc, total, 0])

    def refresh(self):
        self.refreshed += 1

    def write(self, line):
        self.lines.append(line)

    def close(self):
        self.closed += 1


class Clock:
    """Seconds that pass by as the test says: some at each look, and between looks."""

    def __init__(self, each=0.0):
        self.now, self.each, self.looks = 100.0, each, 0

    def __call__(self):
        self.looks += 1
        self.now += self.each
        return self.now


@pytest.fixture(autouse=True)
def nothing_is_left(monkeypatch):
    monkeypatch.setattr(Tqdm, "made", [])
    with tapegrad.config(progress="auto"):
        yield
    assert all(bar.closed == 1 for bar in Tqdm.made)
    assert not _progress._shown
    assert _progress._innermost.get() is None
    assert current() is _progress.SILENT


@pytest.fixture
def clock(monkeypatch):
    found = Clock()
    monkeypatch.setattr(_progress, "_clock", found)
    return found


@pytest.fixture
def terminal(monkeypatch):
    """tqdm is installed, and someone watches."""
    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=Tqdm))
    monkeypatch.setattr(_progress, "_is_watched", lambda: True)


# --- Every function that takes progress= --------------------------------------------------------

X = np.array([0.3, 0.6, 0.9, 1.2, 1.5])
SLOPES = X[1:] - X[:-1]


def f(x):
    return np.sin(x) * x[0]


def loss(x):
    return np.sum((x - 1) ** 2)


def neighbours(x):
    return x[1:] * x[:-1]


def long(x):
    for _ in range(20):
        x = np.sin(x)
    return x


def uneven(x):
    """No colouring that repeats is as good as a greedy one."""
    return np.sum(x[[0, 3, 11, 20, 32]]) ** 3 + np.sum(x**3)


UNEVEN = np.eye(150)
UNEVEN[7, [0, 3, 11, 20, 32]] = 1


def decay(x, rate):
    return x * rate


def line(t, a, b):
    return a * t + b


def steps(progress):
    return tapegrad.checkpoint_sequence(decay, 1.0, 30, 0.9, snapshots=3, progress=progress)


def backward(progress):
    def of(x):
        return tapegrad.checkpoint_sequence(decay, x, 30, 0.9, snapshots=3, progress=progress)

    return tapegrad.grad(of)(1.0)


def forward(progress):
    def of(x):
        return tapegrad.checkpoint_sequence(decay, x, 30, 0.9, snapshots=3, progress=progress)

    return tapegrad.jvp(of, (1.0,), (1.0,))


def run(progress):
    found = optimize.run(loss, X, optimize.sgd(0.1), steps=7, progress=progress)
    return [["optimize.run(loss)", 7, found.steps]]


def run_data(progress):
    batches = [X, X + 1, X + 2]
    loss_of = lambda p, x: np.sum((p - x) ** 2)  # noqa: E731
    found = optimize.run(loss_of, X, optimize.sgd(0.1), data=batches, progress=progress)
    return [["optimize.run(<lambda>)", 3, found.steps]]


def run_to_tolerance(progress):
    found = optimize.run(loss, X, optimize.sgd(0.3), steps=1000, tol=1e-3, progress=progress)
    assert found.steps < 100
    return [["optimize.run(loss)", 1000, found.steps]]


def minimize(progress):
    return [["optimize.minimize(loss)", None, optimize.minimize(loss, X, progress=progress).nit]]


def least_squares(progress):
    found = optimize.least_squares(lambda x: x**2 - 2, X, progress=progress)
    return [["optimize.least_squares(<lambda>)", None, found.nfev]]


def least_squares_lm(progress):
    found = optimize.least_squares(lambda x: x**2 - 2, X, method="lm", progress=progress)
    return [["optimize.least_squares(<lambda>)", None, found.nfev]]


def curve_fit(progress):
    found = optimize.curve_fit(line, X, 2 * X + 1, progress=progress)
    return [["optimize.least_squares(line)", None, found.nfev]]


def root(progress):
    found = optimize.root(lambda x: x**3 - x - 1, X, progress=progress)
    return [["optimize.root(<lambda>)", None, found.nfev]]


def root_scalar(progress):
    found = optimize.root_scalar(lambda x: x**3 - 2, bracket=(0, 2), progress=progress)
    return [["optimize.root_scalar(<lambda>)", None, found.nfev]]


class Some:
    """A part of some steps, of which no total is known."""

    def __init__(self, title):
        self.title = title

    def __eq__(self, part):
        return part[:2] == [self.title, None] and part[2] > 0

    __hash__ = None


def gradcheck(progress, **options):
    x = torch.tensor(X, requires_grad=True)
    torch.autograd.gradcheck(lambda x: x[:2] * x[2], (x,), progress=progress, **options)


def gradgradcheck(progress):
    x = torch.tensor(X, requires_grad=True)
    torch.autograd.gradgradcheck(lambda x: x[:2] ** 3, (x,), progress=progress)


# Calls with progress=, and the steps that they make: the title of each part, its total, and
# how many were done. A call that returns a list states them itself.
TABLE = {
    "jacrev": (lambda p: tapegrad.jacrev(f, chunk_size=2, progress=p)(X), [["jacrev(f)", 5, 5]]),
    "jacfwd": (lambda p: tapegrad.jacfwd(f, chunk_size=2, progress=p)(X), [["jacfwd(f)", 5, 5]]),
    "jacfwd of two": (
        lambda p: tapegrad.jacfwd(lambda x, y: f(x) * y, (0, 1), progress=p)(X, 2.0),
        [["jacfwd(<lambda>)", 6, 6]],
    ),
    "jacrev of two": (
        lambda p: tapegrad.jacrev(lambda x: (f(x), x[0]), chunk_size=2, progress=p)(X),
        [["jacrev(<lambda>)", 6, 6]],
    ),
    "jacobian": (
        lambda p: tapegrad.jacobian(f, chunk_size=1, progress=p)(X),
        [["jacobian(f)", 5, 5]],
    ),
    "hessian": (
        lambda p: tapegrad.hessian(loss, chunk_size=2, progress=p)(X),
        [["hessian(loss)", 5, 5]],
    ),
    "vmap": (
        lambda p: tapegrad.vmap(np.sum, chunk_size=3, progress=p)(np.ones((8, 2))),
        [["vmap(sum)", 8, 8]],
    ),
    "vmap, a loop": (
        lambda p: tapegrad.vmap(np.sum, randomness="different", progress=p)(np.ones((8, 2))),
        [["vmap(sum)", 8, 8]],
    ),
    "checkpoint_sequence": (steps, [["checkpoint_sequence(decay)", 30, 30]]),
    "sparse.jacobian": (
        lambda p: sparse.jacobian(neighbours, progress=p)(X),
        [["sparse.jacobian(neighbours): products", 2, 2]],
    ),
    "sparse.hessian": (
        lambda p: sparse.hessian(uneven, progress=p)(np.ones(150)),
        [
            ["sparse.hessian(uneven): colours", 150, 150],
            ["sparse.hessian(uneven): products", 5, 5],
        ],
    ),
    "sparse.pattern": (
        lambda p: sparse.pattern(long, progress=p)(X),
        [["sparse.pattern(long): pattern", 20, 20]],
    ),
    "sparse.colour": (
        lambda p: sparse.colour(UNEVEN, progress=p),
        [["sparse.colour: colours", 150, 150]],
    ),
    "run": (run, None),
    "run, data": (run_data, None),
    "run, to a tolerance": (run_to_tolerance, None),
    "minimize": (minimize, None),
    "least_squares": (least_squares, None),
    "least_squares, lm": (least_squares_lm, None),
    "curve_fit": (curve_fit, None),
    "root": (root, None),
    "root_scalar": (root_scalar, None),
    "implicit.root": (
        lambda p: implicit.root(lambda x: x**2 - X, np.ones(5), progress=p),
        [Some("implicit.root(<lambda>)")],
    ),
    "implicit.root, hybr": (
        lambda p: implicit.root(lambda x: x**2 - X, np.ones(5), solver="hybr", progress=p),
        [Some("implicit.root(<lambda>)")],
    ),
    "implicit.fixed_point": (
        lambda p: implicit.fixed_point(lambda x: x / 2 + 1, 0.0, solver="iterate", progress=p),
        [Some("implicit.fixed_point(<lambda>)")],
    ),
    "implicit.argmin": (
        lambda p: implicit.argmin(lambda x: np.sum((x - 1) ** 4), X, progress=p),
        [Some("implicit.argmin(<lambda>)")],
    ),
    "implicit.argmin, bounds": (
        lambda p: implicit.argmin(loss, X, bounds=(0.5, None), progress=p),
        [Some("implicit.argmin(loss)")],
    ),
    "check_grads": (
        lambda p: check_grads(lambda x, y: f(x) * y, (X, 2.0), order=3, progress=p),
        [["check_grads(<lambda>)", 2 * (1 + 2 + 4), 14]],
    ),
    "check_grads, reverse": (
        lambda p: check_grads(f, (X,), order=2, modes=["rev"], progress=p),
        [["check_grads(f)", 2, 2]],
    ),
    # five by differences, and twice two backward; forward five more, of the same differences
    "gradcheck": (gradcheck, [["gradcheck(<lambda>)", 9, 9]]),
    "gradcheck, forward": (
        lambda p: gradcheck(p, check_forward_ad=True),
        [["gradcheck(<lambda>)", 14, 14]],
    ),
    # of five inputs and two cotangents five numbers
    "gradgradcheck": (gradgradcheck, [["gradcheck(first)", 17, 17]]),
}
OF_SCIPY = {
    *("curve_fit", "implicit.argmin, bounds", "implicit.root, hybr", "least_squares"),
    *("least_squares, lm", "minimize", "root", "root_scalar"),
    *("sparse.hessian", "sparse.jacobian", "sparse.pattern"),
}
# Those that have no argument for it, and show a bar by the rule.
WITHOUT = {
    "check_rule": (
        lambda _: check_rule(np.multiply, X, 2 * X),
        [["check_rule(np.multiply)", 6, 6]],
    ),
    "compare": (
        lambda _: compare(loss, (X,), (tapegrad.grad(loss)(X),)),
        [["differences", 5, 5]],
    ),
    "functional.jacobian": (
        lambda _: torch.autograd.functional.jacobian(torch.sin, torch.tensor(X)),
        [["jacobian", 5, 5]],
    ),
    "torch.func.jacrev": (
        lambda _: torch.func.jacrev(torch.sin, chunk_size=2)(torch.tensor(X)),
        [["jacrev(sin)", 5, 5]],
    ),
    "torch.vmap": (
        lambda _: torch.vmap(torch.sin, chunk_size=2)(torch.tensor(X)),
        [["vmap(sin)", 5, 5]],
    ),
    "optimizers.sgd": (
        lambda _: optimizers.sgd(lambda x, _: x, X, num_iters=9),
        [["training", 9, 9]],
    ),
    "backward steps": (
        lambda _: backward(None),
        [
            ["checkpoint_sequence(decay)", 30, 30],
            ["checkpoint_sequence(decay): derivative", 30, 30],
        ],
    ),
    "forward steps": (
        lambda _: forward(None),
        [
            ["checkpoint_sequence(decay)", 30, 30],
            ["checkpoint_sequence(decay): derivative", 30, 30],
        ],
    ),
}


def parts_shown():
    """The parts of all bars that had steps, or were to have some."""
    return [part for bar in Tqdm.made for part in bar.parts if part[2] or part[1]]


@pytest.mark.parametrize("name", TABLE)
def test_a_bar_sees_all_steps(name):
    if name in OF_SCIPY:
        pytest.importorskip("scipy")
    call, expected = TABLE[name]
    outcome = call(Tqdm)
    expected = outcome if expected is None else expected
    found = parts_shown()
    assert found[-len(expected) :] == expected
    assert all(done == total for _, total, done in found[: -len(expected)])
    assert len(Tqdm.made) == 1


@pytest.mark.parametrize("name", [*TABLE, *WITHOUT])
def test_a_bar_shows_itself_by_the_rule(name, clock, terminal):
    if name in OF_SCIPY:
        pytest.importorskip("scipy")
    clock.each = 2.0
    call, expected = {**TABLE, **WITHOUT}[name]
    outcome = call(None)
    expected = outcome if expected is None else expected
    assert parts_shown()[-len(expected) :] == expected
    assert not any(bar.leave for bar in Tqdm.made)


@pytest.mark.parametrize("name", [*TABLE, *WITHOUT])
def test_short_work_shows_nothing_and_asks_for_no_tqdm(name, clock, monkeypatch):
    if name in OF_SCIPY:
        pytest.importorskip("scipy")
    monkeypatch.setattr(_progress, "_tqdm", None)
    monkeypatch.setattr(_progress, "_is_watched", lambda: True)
    ({**TABLE, **WITHOUT}[name])[0](None)


@pytest.mark.parametrize("name", TABLE)
def test_false_is_never(name, clock, terminal):
    if name in OF_SCIPY:
        pytest.importorskip("scipy")
    clock.each = 1.0
    TABLE[name][0](False)
    assert not Tqdm.made


@pytest.mark.parametrize(
    "function",
    [
        tapegrad.jacrev,
        tapegrad.jacfwd,
        tapegrad.jacobian,
        tapegrad.hessian,
        tapegrad.vmap,
        tapegrad.checkpoint_sequence,
        sparse.jacobian,
        sparse.hessian,
        sparse.pattern,
        sparse.colour,
        optimize.run,
        optimize.minimize,
        optimize.least_squares,
        optimize.curve_fit,
        optimize.root,
        optimize.root_scalar,
        implicit.root,
        implicit.fixed_point,
        implicit.argmin,
        check_grads,
        torch.autograd.gradcheck,
        torch.autograd.gradgradcheck,
    ],
    ids=lambda function: f"{function.__module__}.{function.__name__}",
)
def test_it_is_said_in_the_same_words(function):
    assert WORDS.lower() in " ".join(function.__doc__.split()).lower()
    parameter = inspect.signature(function).parameters["progress"]
    assert parameter.default is None
    assert parameter.kind is parameter.KEYWORD_ONLY
    room = function.__module__.split(".")[1]
    assert function.__name__ in TABLE or f"{room}.{function.__name__}" in TABLE


def test_values_stand_beside_the_bar():
    pytest.importorskip("scipy")
    for name, expected in {
        "run": {"loss"},
        "minimize": {"fun"},
        "least_squares": {"cost"},
        "root": {"cost"},
    }.items():
        TABLE[name][0](Tqdm)
        assert set(Tqdm.made[-1].shown) == expected
        assert float(next(iter(Tqdm.made[-1].shown.values()))) >= 0


def test_transforms_of_steps_have_no_value():
    def of(rate):
        found = optimize.run(loss, X, optimize.sgd(rate), steps=4, progress=Tqdm)
        return loss(found.params)

    assert tapegrad.grad(of)(0.1) < 0
    assert Tqdm.made[0].parts == [["optimize.run(loss)", 4, 4]]
    assert not Tqdm.made[0].shown


def test_a_transform_with_a_bar_can_be_pickled():
    import pickle

    again = pickle.loads(pickle.dumps(tapegrad.jacobian(f, progress=Tqdm)))
    assert np.allclose(again(X), tapegrad.jacobian(f)(X))
    assert len(Tqdm.made) == 1


def test_a_compiled_function_is_silent_once_it_is_a_program(clock, terminal):
    clock.each = 1.0
    compiled = tapegrad.compile(tapegrad.jacobian(f, chunk_size=1))
    for _ in range(6):
        Tqdm.made.clear()
        assert np.allclose(compiled(X), tapegrad.jacobian(f, progress=False)(X))
    assert not Tqdm.made


# --- When ---------------------------------------------------------------------------------------


def test_nothing_before_two_seconds(clock, terminal):
    with Bar("work", total=10) as bar:
        clock.now += 1.9
        bar.step()
        assert not Tqdm.made
        clock.now += 0.1
        bar.step(2, loss=0.5)
        assert Tqdm.made[0].parts == [["work", 10, 3]]
        assert Tqdm.made[0].shown == {"loss": "0.5"}
        assert Tqdm.made[0].start_t == pytest.approx(998)  # so that the rate is right
        bar.step(2)
        assert Tqdm.made[0].parts == [["work", 10, 3]]
        clock.now += 0.1
        bar.step()
        assert Tqdm.made[0].parts == [["work", 10, 6]]
        bar.step()
    assert Tqdm.made[0].parts == [["work", 10, 7]]


def test_work_that_ends_with_a_long_step_shows_nothing(clock, terminal):
    with Bar("work", total=1) as bar:
        clock.now += 60
        bar.step()
    assert not Tqdm.made


@given(
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5), st.integers(0, 2)), max_size=60),
    st.booleans(),
)
def test_all_steps_are_told_and_none_too_early(drawn, with_total):
    """Steps after drawn times, some of them within bars of their own."""
    clock, made = Clock(), []
    total = sum(count for _, count, _ in drawn) if with_total else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_progress, "_clock", clock)
        patch.setattr(_progress, "_automatic", lambda _: Tqdm)
        patch.setattr(Tqdm, "made", made)
        begin = clock.now
        with Bar("outer", total=total) as bar:
            for seconds, count, depth in drawn:
                for _ in range(depth):
                    with Bar("inner", total=3) as inner:
                        clock.now += seconds
                        inner.step()
                clock.now += seconds
                bar.step(count)
                assert bool(made) <= (clock.now - begin >= 2)
                if made:
                    assert made[0].parts[0][2] <= bar.done
        assert len(made) <= 1
        for shown in made:
            assert shown.parts == [["outer", total, bar.done]]
            assert shown.closed == 1
        if clock.now - begin >= 2.2 and not made:
            assert drawn[-1][0] * (1 + drawn[-1][2]) > 0 or bar.done == total


def test_a_step_looks_at_the_clock_once(clock):
    for each, expected in ((0.01, 100), (0.0, 7)):  # 1 + 2 + 4 + 8 + 16 + 32 + 37
        clock.each = each
        with Bar("work") as bar:
            before = clock.looks
            for _ in bar.over(range(100)):
                pass
            assert clock.looks == before + expected
        assert bar.done == 100


def test_short_steps_that_become_long_are_told_soon(clock, terminal):
    with Bar("work") as bar:
        for step in bar.over(range(1000)):
            clock.now += step > 500
            assert step < 600 or Tqdm.made
        assert bar._last - bar._since > 400
    assert Tqdm.made[0].parts == [["work", None, 1000]]


# --- Who is silent ------------------------------------------------------------------------------


def shown_by(clock, progress=None):
    Tqdm.made.clear()
    with Bar("work", progress) as bar:
        clock.now += 3
        bar.step()
    return len(Tqdm.made)


def test_a_setting_for_all(clock, terminal, monkeypatch):
    assert shown_by(clock)
    with tapegrad.config(progress="off"):
        assert not shown_by(clock)
        assert shown_by(clock, progress=True)
    monkeypatch.setattr(_progress, "_is_watched", lambda: False)
    with tapegrad.config(progress="on"):
        assert shown_by(clock)
        assert not shown_by(clock, progress=False)
    assert not shown_by(clock)


def test_without_tqdm(clock, terminal, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert not shown_by(clock)
    with pytest.raises(ImportError, match=r"^jacrev\(f\): .* Install tapegrad\[examples\]"):
        tapegrad.jacrev(f, progress=True)(X)
    hint = r"config.progress = 'on' .* Install tapegrad\[examples\]"
    with tapegrad.config(progress="on"), pytest.warns(UserWarning, match=hint) as seen:
        assert not shown_by(clock)
    assert seen[0].filename == __file__


def test_what_else_is_given_is_refused():
    with pytest.raises(tapegrad.InputError, match="progress=None, True, False, or a class"):
        tapegrad.jacobian(f, progress="yes")(X)


class Stream:
    def __init__(self, is_terminal):
        self.isatty = is_terminal

    def write(self, text):
        pass

    def flush(self):
        pass


def closed():
    raise ValueError("I/O operation on closed file")


def test_who_watches(monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setitem(sys.modules, "IPython", None)
    for stream, expected in (
        (Stream(lambda: True), True),
        (Stream(lambda: False), False),
        (Stream(closed), False),
        (None, False),
    ):
        monkeypatch.setattr(sys, "stderr", stream)
        assert _progress._is_watched() is expected
    monkeypatch.setattr(sys, "stderr", Stream(lambda: True))
    monkeypatch.setenv("TERM", "dumb")
    assert not _progress._is_watched()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("CI", "true")
    assert not _progress._is_watched()
    for shell, expected in ((types.SimpleNamespace(kernel=1), True), (object(), False)):
        module = types.SimpleNamespace(get_ipython=lambda shell=shell: shell)
        monkeypatch.setitem(sys.modules, "IPython", module)
        assert _progress._is_watched() is expected


# --- Bars within bars ---------------------------------------------------------------------------


def test_only_the_outermost_shows(clock, terminal):
    with Bar("outer") as outer:
        for _ in outer.over(range(3)):
            with Bar("inner", progress=True, total=4) if outer._tqdm else Bar("inner") as inner:
                for _ in inner.over(range(4)):
                    clock.now += 1
        with Bar("never", progress=False) as silent:
            clock.now += 1
            silent.step()
    assert [bar.parts for bar in Tqdm.made] == [[["outer", None, 3]]]
    assert Tqdm.made[0].refreshed  # by steps of the inner ones


def test_one_that_is_never_shown_silences_those_within(clock, terminal):
    with Bar("outer", progress=False):
        assert not shown_by(clock)
        assert shown_by(clock, progress=True)


def test_one_that_is_asked_for_shows_within_one_that_is_not_seen(clock, terminal):
    with Bar("outer") as outer:
        assert shown_by(clock, progress=True)
        outer.step()
        assert [bar.parts[0][0] for bar in Tqdm.made] == ["work", "outer"]


def test_a_function_that_is_differentiated_shows_nothing_of_its_own(clock, terminal):
    clock.each = 1.0
    tapegrad.jacobian(lambda x: tapegrad.jacobian(f, chunk_size=1)(x)[0], chunk_size=1)(X)
    assert {bar.parts[0][0] for bar in Tqdm.made} == {"jacobian(<lambda>)"}


def test_parts_of_work_are_counted_on_their_own(clock, terminal):
    with Bar("work", progress=True) as bar:
        bar.begin(3, "first")
        bar.step(3, a=1.0)
        bar.begin(5, "second")
        bar.step(4)
    parts = [["work", None, 0], ["work: first", 3, 3], ["work: second", 5, 4]]
    assert [b.parts for b in Tqdm.made] == [parts]


def test_lines_are_written_above_a_bar(clock, terminal, capsys):
    with Bar("work") as bar:
        bar.write("plain")
        clock.now += 3
        bar.step()
        bar.write("above")
    assert capsys.readouterr().out == "plain\n"
    assert Tqdm.made[0].lines == ["above"]


# --- Errors -------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, GeneratorExit])
@pytest.mark.parametrize("progress", [True, None])
def test_a_bar_is_closed_by_errors(error, progress, clock, terminal):
    clock.each = 1.0

    def fails(x):
        if len(Tqdm.made) and Tqdm.made[0].parts[-1][2] >= 2:
            raise error
        return np.sum(x)

    with pytest.raises(error):
        tapegrad.vmap(fails, chunk_size=1, progress=progress)(np.ones((9, 2)))
    assert [bar.closed for bar in Tqdm.made] == [1]
    assert shown_by(clock)


class Broken(Tqdm):
    def update(self, n):
        raise OSError("no space left on device")


class Unmade(Tqdm):
    def __init__(self, **options):
        raise OSError("no terminal")


@pytest.mark.parametrize("kind", [Broken, Unmade])
def test_a_bar_that_fails_does_not_fail_the_work_unless_it_was_asked_for(
    kind, clock, terminal, monkeypatch
):
    clock.each = 1.0
    monkeypatch.setattr(sys.modules["tqdm.auto"], "tqdm", kind)
    tapegrad.jacobian(f, chunk_size=1)(X)
    with pytest.raises(OSError, match="no "):
        tapegrad.jacobian(f, chunk_size=1, progress=True)(X)
    Tqdm.made.clear()  # those that failed are not closed again
    assert not _progress._shown


# --- Threads ------------------------------------------------------------------------------------


def in_thread(work, context=None):
    errors = []

    def run():
        try:
            (context.run if context else lambda f: f())(work)
        except BaseException as error:  # noqa: BLE001
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


def test_threads_show_one_bar_at_a_time(clock, terminal):
    def inner():
        with Bar("thread", total=9) as bar:
            clock.now += 3
            bar.step()
            assert len(Tqdm.made) == 1
            with Bar("asked", progress=True) if asked else Bar("not") as other:
                other.step()

    for asked in (False, True):
        Tqdm.made.clear()
        with Bar("main") as main:
            clock.now += 3
            main.step()
            in_thread(inner)
            main.step()
        assert [bar.parts[0][0] for bar in Tqdm.made] == ["main", *(["asked"] if asked else [])]


def test_a_thread_with_a_copied_context_stays_silent(clock, terminal):
    def inner():
        with Bar("thread") as bar:
            clock.now += 3
            bar.step()

    with Bar("main") as main:
        in_thread(inner, contextvars.copy_context())
        assert not Tqdm.made
        late = contextvars.copy_context()
        main.step()
    assert [bar.parts[0][0] for bar in Tqdm.made] == ["main"]
    in_thread(inner, late)  # whose bar is closed by now
    assert [bar.parts[0][0] for bar in Tqdm.made] == ["main", "thread"]


# --- A real terminal ----------------------------------------------------------------------------

PROGRAM = """
import sys
import numpy as np
import tapegrad
from tapegrad import _progress

seconds = iter(np.arange(0, 1e6, 0.5))
_progress._clock = lambda: next(seconds)
try:
    tapegrad.vmap(np.sum, chunk_size=1)(np.ones((20, 2)))
finally:
    print("tqdm" in sys.modules)
"""
STANDIN = """
import sys

class tqdm:
    def __init__(self, **options):
        self.n = 0
        print(options, file=sys.stderr)

    def update(self, n):
        self.n += n

    def refresh(self):
        pass

    def close(self):
        print("steps", self.n, file=sys.stderr)
"""


def written(tmp_path, *, terminal, real=None, **environment):
    """Output of a program on stderr, at a terminal of its own or into a pipe."""
    if real is None:
        (tmp_path / "tqdm").mkdir(exist_ok=True)
        (tmp_path / "tqdm" / "__init__.py").touch()
        (tmp_path / "tqdm" / "auto.py").write_text(STANDIN)
    first = str(tmp_path) if real is None else os.path.dirname(real.__path__[0])
    paths = [first, os.path.dirname(tapegrad.__path__[0])]
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "TERM")}
    env = {**kept, "PYTHONPATH": os.pathsep.join(paths), "TERM": "xterm", **environment}
    command = [sys.executable, "-c", textwrap.dedent(PROGRAM)]
    if not terminal:
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
        return done.stderr, done.stdout.strip()
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    try:
        done = subprocess.run(
            command, env=env, stdout=subprocess.PIPE, stderr=theirs, text=True, check=True
        )
        os.set_blocking(ours, False)
        try:
            return os.read(ours, 1 << 16).decode(), done.stdout.strip()
        except BlockingIOError:
            return "", done.stdout.strip()
    finally:
        os.close(ours)
        os.close(theirs)


def test_at_a_terminal(tmp_path):
    text, imported = written(tmp_path, terminal=True)
    assert "'desc': 'vmap(sum)'" in text
    assert "'total': 20" in text
    assert "steps 20" in text
    assert imported == "True"


def test_at_a_terminal_with_tqdm(tmp_path):
    tqdm = pytest.importorskip("tqdm")
    text, _ = written(tmp_path, terminal=True, real=tqdm)
    assert "vmap(sum):" in text
    assert "/20" in text
    assert text.rstrip(" \r\n\x1b[K")  # it is wiped out at the end, and was there


@pytest.mark.parametrize(
    ("terminal", "environment"),
    [(False, {}), (True, {"CI": "true"}), (True, {"TAPEGRAD_PROGRESS": "0"})],
)
def test_silent_elsewhere_and_tqdm_is_not_even_imported(tmp_path, terminal, environment):
    assert written(tmp_path, terminal=terminal, **environment) == ("", "False")


def test_a_pipe_may_be_asked_to_show_it(tmp_path):
    text, _ = written(tmp_path, terminal=False, TAPEGRAD_PROGRESS="1")
    assert "steps 20" in text
