"""Warnings name the program's line, each line once, whatever runs the call."""

from __future__ import annotations

import asyncio
import builtins
import logging
import os
import subprocess
import sys
import textwrap
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tapegrad
from tapegrad import compile, grad, hessian, jvp, linearize, value_and_grad, vjp, vmap

HERE = __file__
ZEROS = np.zeros(3)


@pytest.fixture(autouse=True)
def shown_by_default():
    """Each line warns once, and there is no memory of earlier tests."""
    globals().pop("__warningregistry__", None)
    with warnings.catch_warnings():
        warnings.resetwarnings()
        yield


def line(text):
    """The line of this file that has a mark."""
    with open(HERE, encoding="utf-8") as file:
        (found,) = (at for at, each in enumerate(file, 1) if each.rstrip().endswith(f"# {text}"))
    return found


def seen_in(call):
    """Each warning of a call: its text, and the mark of its line."""
    with warnings.catch_warnings(record=True) as caught:
        call()
    assert {warning.filename for warning in caught} <= {HERE}
    assert {warning.category for warning in caught} <= {RuntimeWarning}
    with open(HERE, encoding="utf-8") as file:
        lines = file.read().splitlines()
    return [(str(each.message), lines[each.lineno - 1].partition("# ")[2]) for each in caught]


def loss(x):
    y = np.log(x)  # log
    z = y * 0  # times
    w = x / x  # divided
    return np.sum(z + w)


WANTED = [
    ("divide by zero encountered in log", "log"),
    ("invalid value encountered in multiply", "times"),
    ("invalid value encountered in divide", "divided"),
]
OF_ARRAY = {
    "grad": lambda x: grad(loss)(x),
    "value_and_grad": lambda x: value_and_grad(loss)(x),
    "vjp": lambda x: vjp(loss, x),
    "jvp": lambda x: jvp(loss, (x,), (x,)),
    "linearize": lambda x: linearize(loss, x),
    "vmap": lambda x: vmap(loss)(np.stack([x, x])),
    "vmap of grad": lambda x: vmap(grad(loss))(np.stack([x, x])),
    "grad of grad": lambda x: grad(lambda x: np.sum(grad(loss)(x)))(x),
    "checkpoint": lambda x: tapegrad.checkpoint(loss)(x),
    "compile": lambda x: compile(loss)(x),
    "compile of grad": lambda x: compile(grad(loss))(x),
    "hessian": lambda x: hessian(loss)(x),
}


@pytest.mark.parametrize("name", OF_ARRAY)
def test_each_line_of_the_program_warns_once(name):
    call = OF_ARRAY[name]
    found = seen_in(lambda: [call(ZEROS) for _ in range(3)])
    assert found == WANTED


@pytest.mark.parametrize("calls", ["array", "index", "list"])
def test_lines_of_one_operation_warn_each(calls):
    def f(x):
        if calls == "index":
            return np.log(x[0]) + np.log(x[1])  # both
        a = np.log(x)  # first
        b = np.log(x)  # second
        return np.sum(a + b)

    found = seen_in(lambda: [grad(f)(ZEROS), grad(f)(ZEROS)])
    assert {mark for _, mark in found} == ({"both"} if calls == "index" else {"first", "second"})
    assert len(found) == len({mark for _, mark in found})


def test_untraced_calls_inside_warn_at_their_line():
    def f(x):
        c = np.sqrt(-np.ones(2))  # plain
        return np.sum(x) + c[0] * 0

    assert seen_in(lambda: grad(f)(ZEROS)) == [("invalid value encountered in sqrt", "plain")]


def test_a_sum_that_overflows_in_numpys_own_code():
    def f(x):
        return np.sum(x * 1e308)  # sum

    assert seen_in(lambda: grad(f)(np.full(3, 1.0))) == [("overflow encountered in reduce", "sum")]


def test_a_program_warns_where_it_is_called():
    fast = compile(lambda x: np.log(x) * 2, backend="numpy")
    for _ in range(4):
        fast(np.ones(3))
    found = seen_in(lambda: [fast(ZEROS) for _ in range(2)])
    assert len(found) == 1
    assert found[0][0] == "divide by zero encountered in log"


def test_a_callable_of_a_library_warns_at_the_line_of_the_program():
    pytest.importorskip("scipy")
    from scipy.optimize import minimize

    def f(x):
        return np.sum(x**2 + 0 * np.log(x * 0))  # inside

    found = seen_in(lambda: minimize(value_and_grad(f), np.ones(2), jac=True))
    assert ("divide by zero encountered in log", "inside") in found


def of_quad(x):
    from tapegrad.scipy import integrate

    return integrate.quad(lambda t: 1 / t ** x[0], 0, 1)[0]


def of_welch(x):
    from tapegrad.scipy import signal

    return signal.welch(x, nperseg=256)[1]


def of_losses(x):
    import tapegrad.torch as torch

    torch.nn.functional.mse_loss(torch.ones(3), torch.ones(3, 1))
    return x


@pytest.mark.part(3)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.mean(x[:0]),
        lambda x: np.var(x, ddof=3),
        lambda x: np.nanmean(x * np.nan),
        lambda x: np.corrcoef(x, np.ones(3)),
        lambda x: np.polyfit(np.ones(3), x, 2),
        lambda x: (x * 1e300).astype(np.float32),
        lambda x: x * (x * np.nan).astype(int)[0],
        of_quad,
        of_welch,
        of_losses,
    ],
)
@pytest.mark.parametrize("transform", ["vjp", "jvp"])
def test_what_python_code_of_libraries_warns_of(f, transform):
    if f in (of_quad, of_welch):
        pytest.importorskip("scipy")
    x = np.full(3, 1.5)
    with warnings.catch_warnings(record=True) as caught:
        vjp(f, x) if transform == "vjp" else jvp(f, (x,), (x,))
    lines = {(each.filename, each.lineno) for each in caught}
    assert lines
    start = f.__code__.co_firstlineno
    assert {file for file, _ in lines} == {HERE}
    # A tangent of NaN is computed once more, when f has returned.
    last = of_losses.__code__.co_firstlineno + 20
    asked = {at for _, at in lines if transform == "jvp" and at > last}
    assert {at for _, at in lines} - asked <= set(range(start, start + 6))
    assert lines != asked


def test_a_mirror_of_scipy():
    linalg = pytest.importorskip("scipy.sparse.linalg")
    from tapegrad.scipy.sparse import csr_array
    from tapegrad.scipy.sparse.linalg import spsolve

    def f(x):
        A = csr_array((x, ([0, 1], [0, 1])), shape=(2, 2))
        return np.sum(spsolve(A, np.ones(2)))  # singular

    with pytest.warns(linalg.MatrixRankWarning) as caught:
        grad(f)(np.zeros(2))
    assert {(each.filename, each.lineno) for each in caught} == {(HERE, line("singular"))}


# --- The user's settings -------------------------------------------------------------------------


def test_the_error_state_is_the_users_inside_and_outside():
    seen = []

    def f(x):
        seen.append(np.geterr())
        return np.sum(np.log(x))

    for state in ({}, {"divide": "ignore"}, {"all": "raise"}, {"over": "print"}):
        with np.errstate(**state):
            wanted = np.geterr()
            for call in (lambda: grad(f)(np.ones(2)), lambda: vmap(f)(np.ones((2, 2)))):
                call()
                assert seen.pop() == wanted
            assert np.geterr() == wanted


def test_ignored_errors_do_not_warn():
    def f(x):
        with np.errstate(divide="ignore"):
            y = np.log(x)
        return np.sum(y)

    assert seen_in(lambda: grad(f)(ZEROS)) == []
    with np.errstate(all="ignore"):
        assert seen_in(lambda: grad(loss)(ZEROS)) == []


def test_errors_that_raise_call_or_log():
    told = []

    class Log:
        def write(self, text):
            told.append(text)

    with np.errstate(divide="raise"), pytest.raises(FloatingPointError, match="in log"):
        grad(loss)(ZEROS)
    with np.errstate(divide="call", call=lambda kind, flag: told.append(kind)):
        assert ("divide by zero encountered in log", "log") not in seen_in(
            lambda: grad(loss)(ZEROS)
        )
    assert told == ["divide by zero"]
    with np.errstate(divide="log", call=Log()):
        seen_in(lambda: grad(loss)(ZEROS))
    assert told[1:] == ["Warning: divide by zero encountered in log\n"]


def test_a_state_that_f_sets_stays():
    def f(x):
        np.seterr(divide="ignore")
        return np.sum(x)

    with np.errstate():
        grad(f)(ZEROS)
        assert np.geterr()["divide"] == "ignore"


@pytest.mark.parametrize("place", ["everywhere", "this module"])
def test_warnings_as_errors(place):
    module = {} if place == "everywhere" else {"module": __name__}
    with warnings.catch_warnings():
        warnings.filterwarnings("error", category=RuntimeWarning, **module)
        with pytest.raises(RuntimeWarning, match="divide by zero encountered in log") as caught:
            grad(loss)(ZEROS)
    assert caught.traceback[-1].lineno + 1 == line("log")


def test_a_module_that_is_ignored():
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=__name__)
        assert seen_in(lambda: grad(loss)(ZEROS)) == []
    assert len(seen_in(lambda: grad(loss)(ZEROS))) == 3  # and nothing was remembered


@pytest.mark.parametrize(
    ("action", "count"), [("always", 6), ("default", 2), ("module", 1), ("once", 1), ("ignore", 0)]
)
def test_the_actions_of_filters(action, count):
    def f(x):
        a = np.log(x)  # one
        b = np.log(x)  # two
        return np.sum(a + b)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        for _ in range(3):
            grad(f)(ZEROS)
    assert len(caught) == count


def test_a_warning_of_the_programs_own_stays_as_it_is():
    def f(x):
        warnings.warn("mine", UserWarning, stacklevel=1)  # mine
        return np.sum(x)

    with pytest.warns(UserWarning, match="mine") as caught:
        grad(f)(ZEROS)
    assert [each.lineno for each in caught] == [line("mine")]


def test_logged_warnings_name_the_line(caplog):
    logging.captureWarnings(True)
    try:
        with caplog.at_level(logging.WARNING, "py.warnings"):
            grad(loss)(ZEROS)
    finally:
        logging.captureWarnings(False)
    assert f"{HERE}:{line('log')}: RuntimeWarning" in caplog.text


# --- Threads, tasks, generators ------------------------------------------------------------------


def test_threads():
    def work(_):
        return grad(loss)(ZEROS)

    def all_of_them():
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(work, range(8)))

    assert set(seen_in(all_of_them)) == set(WANTED)


def test_a_thread_that_f_starts():
    def f(x):
        found = []

        def inside():
            found.append(np.log(x))  # thread

        thread = threading.Thread(target=inside)
        thread.start()
        thread.join()
        return np.sum(found[0])

    assert seen_in(lambda: grad(f)(ZEROS)) == [("divide by zero encountered in log", "thread")]


def test_tasks_and_generators():
    def steps(x):
        with np.errstate(divide="ignore"):
            yield np.log(x)
        yield np.log(x)  # unguarded

    def f(x):
        first, second = steps(x)
        return np.sum(first + second)

    async def one():
        await asyncio.sleep(0)
        return grad(f)(ZEROS)

    async def several():
        return await asyncio.gather(one(), one())

    found = seen_in(lambda: asyncio.run(several()))
    assert found == [("divide by zero encountered in log", "unguarded")]


# --- A law ---------------------------------------------------------------------------------------

EXPRESSIONS = (
    "np.log(x * 0)",
    "np.sqrt(-1 - x * x)",
    "np.exp(x + 1e4)",
    "(x + np.inf) - (x + np.inf)",
    "1 / (0 * x)",
    "np.power(x * 0, -1.0)",
    "x * 2",
)
TRANSFORMS = {
    "grad": lambda f: grad(f)(np.ones(2)),
    "vjp": lambda f: vjp(f, np.ones(2)),
    "jvp": lambda f: jvp(f, (np.ones(2),), (np.ones(2),)),
    "vmap": lambda f: vmap(f)(np.ones((3, 2))),
    "compile": lambda f: compile(f)(np.ones(2)),
}


@st.composite
def programs(draw):
    """The text of a function, one call a line, some of them guarded, in a loop or not."""
    lines = ["def program(x):", "    out = 0 * x", "    for _ in range(2):"]
    for expression in draw(st.lists(st.sampled_from(EXPRESSIONS), min_size=1, max_size=5)):
        guard = draw(st.sampled_from(["", "", "divide", "invalid", "all"]))
        if guard:
            lines.append(f"        with np.errstate({guard}='ignore'):")
        lines.append(f"        {'    ' if guard else ''}out = out + ({expression})")
    return "\n".join([*lines, "    return out[0]"])


def warnings_of(text, call):
    scope = {"np": np, "__name__": "drawn"}
    exec(builtins.compile(text, "<drawn>", "exec"), scope)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        call(scope["program"])
    return [
        (str(each.message), each.filename, each.lineno)
        for each in caught
        if each.category is RuntimeWarning  # compile says which programs it does not make
    ]


@given(programs(), st.sampled_from(sorted(TRANSFORMS)))
def test_a_traced_run_warns_as_a_plain_one(text, name):
    found = warnings_of(text, TRANSFORMS[name])
    assert found == warnings_of(text, lambda f: f(np.ones(2)))


# --- Programs of their own -----------------------------------------------------------------------


@pytest.mark.slow
def test_a_program_that_is_run_shows_its_lines(tmp_path):
    file = tmp_path / "program.py"
    text = """
    import numpy as np, tapegrad
    def f(x):
        return np.sum(np.log(x))
    for _ in range(3):
        tapegrad.grad(f)(np.zeros(2))
    """
    file.write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")

    def printed(*options):
        run = subprocess.run(
            [sys.executable, *options, str(file)], capture_output=True, text=True, check=False
        )
        return [line for line in run.stderr.splitlines() if set(line.strip()) - set("~^")]

    assert printed() == [
        f"{file}:3: RuntimeWarning: divide by zero encountered in log",
        "  return np.sum(np.log(x))",
    ]
    assert printed("-W", "error")[-3:] == [
        f'  File "{file}", line 3, in f',
        "    return np.sum(np.log(x))",
        "RuntimeWarning: divide by zero encountered in log",
    ]


# --- Warnings of replays -------------------------------------------------------------------------


def test_a_warning_in_a_replay_says_which_call_it_is_about():
    pytest.importorskip("scipy")
    from scipy.special import pro_rad2

    def f(x):
        return np.sin(pro_rad2(1, 2, 1.5, x)[0])  # called

    with pytest.warns(RuntimeWarning, match="its derivative is NaN") as caught:
        grad(f)(1.45)  # asked
    (warning,) = caught
    assert (warning.filename, warning.lineno) == (HERE, line("asked"))
    assert "The call is at" not in str(warning.message)
    with pytest.warns(RuntimeWarning, match="its derivative is NaN") as caught:
        tapegrad.tape(f, 1.45).run()
    assert f"The call is at {os.path.basename(HERE)}:{line('called')}." in str(caught[-1].message)
