"""A bar for what may take longer than two seconds.

Knows the clock, what a terminal or a notebook is, and tqdm's methods; tqdm is imported when a bar
is first to be seen. Must not know what the work is. A step costs one look at the clock.

Of bars within bars the outermost alone is seen, and of those that show themselves by the rule
(`progress=None`) one at a time, in whatever thread. A step of an inner bar is a moment at which
the outer one may show itself or its clock.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, Self, TypeVar

from tapegrad._block import Block, setting, undoing
from tapegrad._config import config
from tapegrad._errors import InputError, describe, message
from tapegrad._warning import warn

Progress = bool | Callable[..., Any] | None
"""None: by the rule of `_automatic`. True: at once. False: never. A class like tqdm: at once."""

Number = float | Callable[[], float | None] | None
Item = TypeVar("Item")

DELAY = 2.0  # seconds before a bar shows itself
PAUSE = 0.1  # seconds between two looks at a bar that is shown
SHORT = 1e-3  # seconds; steps that take less are told several at once,
MOST = 64  # at most so many: the next one may take long

_clock = time.monotonic
_innermost: ContextVar[Bar | None] = ContextVar("innermost", default=None)
_shown: set[Bar] = set()
_lock = threading.Lock()


class Bar(Block[Any]):
    """How far some work is: a context, in which `step` is called after each part of it.

    call: names the work. total: how many steps there will be, if that is known. It is closed at
    the end, also by an error. Raises ImportError with the extra for progress=True without tqdm.
    """

    done = 0
    _told = 0  # how much of it the shown bar knows
    _words = ""
    _numbers: Mapping[str, Number] = MappingProxyType({})
    _tqdm: Any = None
    _next = math.inf  # the time of the next look
    _since = 0.0
    _last = 0.0  # the time of the last step
    _is_open = False

    def __init__(self, call: str, progress: Progress = None, total: int | None = None) -> None:
        if progress is not None and not isinstance(progress, bool) and not callable(progress):
            expected = "progress=None, True, False, or a class like tqdm"
            raise InputError(message(call, expected, describe(progress), "Leave it away"))
        self.call, self.progress, self.total = call, progress, total
        self._root = self  # the bar that is seen in place of this one

    def _opened(self) -> Generator[Self]:
        with undoing(self._close):
            self._start()
            with setting(_innermost, self):
                yield self

    def _start(self) -> None:
        outer = _innermost.get()
        asked: Any = self.progress
        if asked is True:
            asked = _tqdm(self.call)
        self._thread = threading.get_ident()
        self._since = self._last = _clock()
        # A thread may hold a copy of a context whose bar is closed.
        if outer is not None and outer._is_open and not (asked and outer._root._tqdm is None):
            self._root = outer._root
        elif asked:
            self._show(asked)
        elif self.progress is None:
            self._next = self._since + DELAY
        self._is_open = True

    def _close(self) -> None:
        self._is_open = False
        if self._tqdm is not None:
            try:
                self._draw(self._tell)
                self._draw(lambda: self._tqdm.close())
            finally:
                self._forget()

    def step(self, count: int = 1, **numbers: Number) -> None:
        """So many more steps are done; the numbers (or what gives them) stand beside the bar."""
        self.done += count
        if numbers:
            self._numbers = numbers
        self._last = now = _clock()
        if now >= self._root._next:
            self._root._look(now)

    def over(self, items: Iterable[Item]) -> Iterator[Item]:
        """The items, each of which is a step; of short ones several are told at once."""
        count, every = 0, 1
        for item in items:
            yield item
            count += 1
            if count >= every:
                before = self._last
                self.step(count)
                count = 0
                short = self._last - before < SHORT
                every = min(2 * every, MOST) if short else max(every // 2, 1)
        if count:
            self.step(count)

    def begin(self, total: int | None, words: str = "") -> None:
        """A part of the work begins, which is counted on its own: its total and its name."""
        if self._tqdm is not None:
            self._draw(self._tell)
        self.total, self._words, self.done, self._told = total, words, 0, 0
        self._numbers = {}
        self._since = _clock()
        if self._tqdm is not None:
            self._draw(self._begin)

    def may_show(self) -> bool:
        """Whether it is shown or may be later: for those to whom steps cost something to tell."""
        return self._tqdm is not None or self._next < math.inf and _is_wanted()

    def write(self, line: str) -> None:
        """Print a line, above the bar if one is shown."""
        (print if self._tqdm is None else self._tqdm.write)(line)

    # -- what is shown ---------------------------------------------------------------------------

    def _look(self, now: float) -> None:
        """Show the bar if it is time, and tell it how far the work is."""
        if threading.get_ident() != self._thread:
            return
        self._next = now + PAUSE
        if self._tqdm is None and self.done != self.total:
            self._show_itself()
        self._draw(self._tell)

    def _show_itself(self) -> None:
        with _lock:
            if _shown:
                return  # perhaps later
            _shown.add(self)
        made = _automatic(self.call)
        if made is None:
            self._next = math.inf
            _shown.discard(self)
        else:
            with contextlib.suppress(Exception):  # the work goes on without a bar
                self._show(made)

    def _show(self, made: Callable[..., Any]) -> None:
        _shown.add(self)
        try:
            self._tqdm = bar = made(total=self.total, desc=self._title())
        except BaseException:
            self._forget()
            raise
        self._next = _clock() + PAUSE
        passed = _clock() - self._since
        if passed > PAUSE and hasattr(bar, "start_t"):  # the rate is that of all steps so far
            bar.start_t -= passed
            bar.last_print_t -= passed

    def _title(self) -> str:
        return f"{self.call}: {self._words}" if self._words else self.call

    def _begin(self) -> None:
        self._tqdm.set_description(self._title(), refresh=False)
        self._tqdm.reset(total=self.total)

    def _tell(self) -> None:
        if self._numbers:
            found = {name: x() if callable(x) else x for name, x in self._numbers.items()}
            shown = {name: f"{x:.6g}" for name, x in found.items() if x is not None}
            self._tqdm.set_postfix(shown, refresh=False)
        count, self._told = self.done - self._told, self.done
        if count:
            self._tqdm.update(count)
        else:
            self._tqdm.refresh()

    def _draw(self, action: Callable[[], object]) -> None:
        """Do something with the shown bar. One that nobody asked for never fails the work."""
        if self._tqdm is None:
            return
        try:
            action()
        except Exception:
            if self.progress is not None:
                raise
            self._forget()

    def _forget(self) -> None:
        """Nothing is shown any more, nor will be."""
        self._tqdm, self._next = None, math.inf
        _shown.discard(self)


SILENT = Bar("", progress=False)


def current() -> Bar:
    """The bar of the work that runs now, for what is deep within it; or a silent one."""
    found = _innermost.get()
    return found if found is not None and found._is_open else SILENT


# --- Whether, and by what -----------------------------------------------------------------------


def _automatic(call: str) -> Callable[..., Any] | None:
    """Maker of a bar that nobody asked for, or None where none is to be seen."""
    if not _is_wanted():
        return None
    try:
        return functools.partial(_tqdm(call), leave=False)
    except ImportError:
        if _setting():
            warn("tapegrad.config.progress = 'on' shows tqdm's bars. Install tapegrad[examples].")
        return None


def _is_wanted() -> bool:
    """A setting comes first; without one the user must be at a terminal or a notebook."""
    setting = _setting()
    return _is_watched() if setting is None else setting


def _setting() -> bool | None:
    """Choices of a user for all bars."""
    return {"on": True, "off": False}.get(config.progress)


def _tqdm(call: str) -> Callable[..., Any]:
    try:
        from tqdm.auto import tqdm
    except ImportError as error:
        raise ImportError(
            f"{call}: progress=True shows tqdm's bar. Install tapegrad[examples]."
        ) from error
    found: Callable[..., Any] = tqdm
    return found


def _is_watched() -> bool:
    """Whether someone sees what is written: in a notebook, or at a terminal that is none of CI."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if hasattr(shell, "kernel"):
        return True
    if os.environ.get("CI", "").lower() not in ("", "0", "false"):
        return False
    try:
        return sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    except (AttributeError, ValueError):  # there is none, or it is closed
        return False


__all__ = ["SILENT", "Bar", "Progress", "current"]
