"""Options of the plugin, and their effect on a test.

Knows pytest's items and reports, and calls `tapegrad.testing` as a test would.
"""

from __future__ import annotations

import contextlib
import functools
import random
from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import pytest

import tapegrad
from tapegrad._warning import is_tapegrad
from tapegrad.testing._grads import check_grads
from tapegrad.testing._plugin.ways import WAYS, going

NAME = "tapegrad-session"
SEED = "tapegrad_seed"
PARAMETER = "tapegrad way"  # no name of a fixture that a test could ask for
WORDS = {**dict.fromkeys(WAYS, False), "debug_nans": False}


def session_of(config: pytest.Config) -> Session:
    """The session of a run of pytest, registered as a plugin when it is first asked for."""
    found = config.pluginmanager.get_plugin(NAME)
    if found is None:
        found = Session(config)
        config.pluginmanager.register(found, NAME)
    made: Session = found
    return made


class Session:
    """Options of a session. Its hooks serve the tests that have asked for something."""

    def __init__(self, config: pytest.Config) -> None:
        option = config.option
        self.laws = _laws(option.tapegrad_laws)
        # The workers of pytest-xdist read the command line again, but draw no seed of their own.
        given = getattr(config, "workerinput", {}).get(SEED, option.tapegrad_seed)
        self.seed = _seed(given)
        self.debug_nans: bool = option.tapegrad_debug_nans

    # -- hooks -------------------------------------------------------------------------------

    def pytest_report_header(self) -> str:
        laws = "" if self.laws is None else f", laws {_listed(self.laws)}"
        return f"tapegrad: --tapegrad-seed={self.seed}{laws}"

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """A worker of pytest-xdist is made."""
        node.workerinput[SEED] = self.seed

    def generate(self, metafunc: pytest.Metafunc) -> None:
        """Let a test with the marker run as it is, and by each way that the marker names."""
        names = _ways_asked(metafunc.definition)
        if names:
            metafunc.fixturenames.append(PARAMETER)
            metafunc.parametrize(PARAMETER, ["plain", *names])

    def set_up(self, item: pytest.Item) -> None:
        """Refuse a test with the marker that pytest runs only once: it would pass unasked."""
        if _ways_asked(item) and not _way_of(item):
            pytest.fail(
                "@pytest.mark.tapegrad: expected a test that pytest can run several times, got "
                f"{item.name}, as those of unittest.TestCase run once. Make it a function, or a "
                "method of a class that is no TestCase.",
                pytrace=False,
            )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        way = _way_of(item)
        searches = self.debug_nans or _asked(item).get("debug_nans")
        nans = tapegrad.debug_nans() if searches else contextlib.nullcontext()
        with going(way) if way in WAYS else contextlib.nullcontext(), nans:
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Iterator[None]:
        report: Any = yield
        lines = self._lines(item) if report.when == "call" and report.failed else []
        if lines:
            report.sections.append(("tapegrad", "\n".join(lines)))
        return report

    def _lines(self, item: pytest.Item) -> list[str]:
        """Addition to a report of a failure."""
        notes: dict[str, bool] = item.stash.get(_NOTES, {})
        lines = list(notes)
        way = _way_of(item)
        if way in WAYS:
            by = "compiled programs" if way == "compiled" else "a vmap of one example"
            lines.append(f"The derivatives of this run are computed by {by}: {way}=True.")
        return lines

    def fold(self, excinfo: pytest.ExceptionInfo[BaseException]) -> None:
        """Leave our frames out of the traceback of a check that has failed: its text says all."""
        if tapegrad.config.tracebacks != "folded" or not isinstance(excinfo.value, AssertionError):
            return
        kept, last = [], False
        at: TracebackType | None = excinfo.tb
        while at is not None:
            last = is_tapegrad(at.tb_frame.f_code.co_filename)
            kept += [] if last else [at]
            at = at.tb_next
        if not last or not kept:  # it was raised by the test
            return
        linked: TracebackType | None = None
        for one in reversed(kept):
            linked = TracebackType(linked, one.tb_frame, one.tb_lasti, one.tb_lineno)
        assert linked is not None
        excinfo.traceback = type(excinfo.traceback)(linked)

    # -- fixtures ----------------------------------------------------------------------------

    def check_grads(self, item: pytest.Item) -> Callable[..., None]:
        """See the fixture."""

        @functools.wraps(check_grads)
        def checked(f: Any, args: Any, *rest: Any, **options: Any) -> None:
            __tracebackhide__ = True
            if self.laws is not None:  # first, as they name what is wrong
                same = {
                    key: options[key] for key in ("rtol", "atol", "progress") if key in options
                }
                self.check_laws(item)(f, args, **same)
            check_grads(f, args, *rest, **options)

        return checked

    def check_laws(self, item: pytest.Item) -> Callable[..., Any]:
        """See the fixture."""
        check = tapegrad.testing.check

        @functools.wraps(check)
        def checked(f: Any, args: Any, laws: Any = None, **options: Any) -> Any:
            __tracebackhide__ = True
            laws = (self.laws or "all") if laws is None else laws
            options.setdefault("seed", self.seed)
            notes = item.stash.setdefault(_NOTES, {})  # a set in order
            notes[
                f"check_laws: laws {_listed(laws)}, seed {options['seed']}; again with "
                f"--tapegrad-seed={options['seed']}"
            ] = True
            return check(f, args, laws, **options)

        return checked


_NOTES: pytest.StashKey[dict[str, bool]] = pytest.StashKey()


def _asked(node: Any) -> dict[str, Any]:
    """The keywords of all markers of a test, its class and its module: the nearest one counts."""
    asked: dict[str, Any] = {}
    for mark in node.iter_markers("tapegrad"):
        unknown = [*map(repr, mark.args), *sorted(mark.kwargs.keys() - WORDS.keys())]
        if unknown or not mark.kwargs:
            pytest.fail(
                f"@pytest.mark.tapegrad: expected keywords among {', '.join(WORDS)}, "
                f"got {', '.join(unknown) or 'none'}. Write compiled=True, for example.",
                pytrace=False,
            )
        asked = {**mark.kwargs, **asked}
    return asked


def _ways_asked(node: Any) -> list[str]:
    asked = _asked(node)
    return [name for name in WAYS if asked.get(name)]


def _way_of(item: pytest.Item) -> str:
    callspec = getattr(item, "callspec", None)
    return "" if callspec is None else callspec.params.get(PARAMETER, "")


def _listed(laws: Any) -> str:
    return laws if isinstance(laws, str) else ",".join(laws)


def _laws(text: str | None) -> Any:
    """The laws that an option names, after a look whether there are such."""
    if text is None:
        return None
    names = tuple(name.strip() for name in text.split(",") if name.strip())
    from tapegrad.testing import laws

    known = laws.__all__
    wrong = [name for name in names if name not in (*known, "all")]
    if wrong or not names:
        raise pytest.UsageError(
            f"--tapegrad-laws: expected all, or names among {', '.join(known)}; "
            f"got {', '.join(wrong) or 'none'}"
        )
    return "all" if "all" in names else names


def _seed(text: Any) -> int:
    if text == "random":
        return random.SystemRandom().randrange(2**32)
    try:
        return int(text)
    except ValueError:
        raise pytest.UsageError(
            f"--tapegrad-seed: expected a whole number or random, got {text!r}"
        ) from None


__all__ = ["Session", "session_of"]
