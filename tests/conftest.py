"""Settings that every test shares: how Hypothesis draws its examples, and random matrices."""

from __future__ import annotations

import faulthandler
import gc
import inspect
import os
import secrets
import signal
import sys
import threading
from collections import defaultdict
from contextvars import copy_context

# Threads of OpenBLAS gain nothing at matrices of three rows, and wait for each other where every
# core has a test running: some tests of scipy.linalg took ten times as long, or more.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import few_reports
import matrices
import pytest
from _pytest.faulthandler import fault_handler_stderr_fd_key
from by_mypy import by_mypy  # noqa: F401, a fixture of tests
from draws import is_drawn, is_exploring, is_scheduled, part_of, register_profiles
from left_out import is_left_out, skipped_at_once

register_profiles()
OPEN = frozenset(("tapegrad_current", "tapegrad_recording"))  # variables of what is open


def pytest_addoption(parser):
    parser.addoption(
        "--hang-seconds",
        type=float,
        default=300,
        help="a test that takes longer hangs: its process ends, with a traceback of where it was",
    )
    parser.addoption(
        "--compiled",
        nargs="?",
        const="numpy",
        choices=("numpy", "interpreter", "llvm"),
        help="also run what transforms return as programs, by a back end: they must give the same",
    )
    parser.addoption(
        "--record-answers",
        action="store_true",
        help="store what PyTorch gives, for runs where it is not installed: tests/torch/answers",
    )


@pytest.hookimpl(tryfirst=True)  # before Hypothesis's own plugin reads its option
def pytest_configure(config):
    if config.option.hypothesis_profile == "explore" and config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = secrets.randbits(32)
    if config.getoption("--compiled"):
        import compiled  # here, as it changes tapegrad

        compiled.compile_all(config.getoption("--compiled"))
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(few_reports)


@pytest.hookimpl(tryfirst=True)
def pytest_pycollect_makeitem(collector, name, obj):
    """Make no items, by the thousand, of what would not run; None where pytest makes them."""
    if not inspect.isfunction(obj) or not collector.istestfunction(obj, name):
        return None
    if is_exploring() and is_drawn(obj) or is_scheduled(obj):
        pytest.mark.slow(obj)
    if is_left_out(collector, obj):
        return []
    return skipped_at_once(collector, name, obj)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """No garbage is looked for among objects that are all needed."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish():
    """Objects from before the first test are not looked through by each collection of garbage.

    Thirty thousand tests are a million objects: one collection takes a second, and many tests ask
    for one.
    """
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)  # before pytest takes out what `-m` leaves out
def pytest_collection_modifyitems(config, items):
    tables = defaultdict(list)
    for item in items:
        mark = item.get_closest_marker("part")
        if mark and not item.get_closest_marker("slow"):
            tables[item.parent.nodeid, item.originalname, *mark.args].append(item)
    for (*_, one_in), rows in tables.items():
        chosen = part_of(rows, one_in)
        for row in rows:
            if row not in chosen:
                row.add_marker("slow")
    if os.environ.get("TAPEGRAD_FAST") == "0":
        for item in items:
            if item.get_closest_marker("fast_path"):
                item.add_marker(pytest.mark.skip(reason="of a fast path, which are off"))
    if config.getoption("--compiled"):
        import compiled

        for item in items:
            why = compiled.why_left_out(item)
            if why is not None:
                item.add_marker(pytest.mark.skip(reason=why))


def pytest_report_header(config):
    if config.option.hypothesis_profile == "explore":
        return f"draws at random: again by --hypothesis-seed={config.option.hypothesis_seed}"
    return None


def pytest_terminal_summary(terminalreporter, config):
    if config.getoption("--compiled"):
        import compiled

        compiled.report(terminalreporter.write_line)


def pytest_runtest_setup(item):
    # Each test draws the same matrices, whichever ran before it and wherever it runs. No fixture:
    # one for each of thirty thousand tests takes longer than what it does.
    matrices.RNG.bit_generator.state = matrices.BEGINNING
    torch = sys.modules.get("tapegrad.torch")
    own = getattr(getattr(item, "module", None), "torch", None)
    if torch is not None and (own is torch or item.path.parent.name == "torch"):
        torch.manual_seed(20)  # the weights of a model, too; it takes a quarter of a millisecond


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_call():
    """Fail a test after which a transform, or the recording of a program, is open still."""
    before = copy_context()
    result = yield
    now = copy_context()
    left = [x for x in now if x.name in OPEN and now[x] is not before.get(x)]
    for variable in left:
        variable.set(before.get(variable))  # the next test finds none
    assert not left, f"not as it was before the test: {[variable.name for variable in left]}"
    return result


# pytest's own watch, `faulthandler_timeout`, starts a thread for each test and waits for its end:
# with as many workers as cores that took ten seconds of 3,000 tests. An alarm is a system call.
ALARM = getattr(signal, "SIGALRM", None)  # which Windows has not


def pytest_sessionstart(session):
    if ALARM is not None:  # tracebacks first, then what an alarm does: it ends the process
        stderr = session.config.stash[fault_handler_stderr_fd_key]
        faulthandler.register(ALARM, file=stderr, chain=True)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item):
    """End the process of a test that hangs."""
    most = item.config.getoption("--hang-seconds")
    if ALARM is not None:
        signal.setitimer(signal.ITIMER_REAL, most)
    else:
        stderr = item.config.stash[fault_handler_stderr_fd_key]
        faulthandler.dump_traceback_later(most, file=stderr, exit=True)
    try:
        return (yield)
    finally:
        pytest_enter_pdb()


def pytest_enter_pdb():
    """Nothing is watched any more."""
    if ALARM is not None:
        signal.setitimer(signal.ITIMER_REAL, 0)
    else:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture
def no_other_threads(monkeypatch):
    """Large arrays are locked while no other thread runs; an earlier test may have left one."""
    monkeypatch.setattr(threading, "active_count", lambda: 1)
