"""`tapegrad.config`: the settings of the package.

Knows their names, what each may be, and where a program sets them: as an attribute, for a block,
by a variable of the environment. Must not know what follows from a setting: who needs one asks.

To add a setting: a line in `SETTINGS`, a paragraph in the docstring of `Config`, and its type.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, NoReturn

from tapegrad._block import contextmanager, setting
from tapegrad._errors import SettingError, message

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from typing import Literal

    Tracebacks = Literal["folded", "full"]
    Shown = Literal["auto", "on", "off"]
    Ties = Literal["ignore", "warn"]

# What each setting may be; the first is what it is if nothing says otherwise.
SETTINGS: dict[str, tuple[Any, ...]] = {
    "tracebacks": ("folded", "full"),
    "progress": ("auto", "on", "off"),
    "memory_budget": (1 << 30,),
    "exact_ties": ("ignore", "warn"),
}
# What is a number of bytes, and the units in which it may be given.
BYTES = ("memory_budget",)
UNITS = {"": 0, "b": 0, "k": 1, "m": 2, "g": 3, "t": 4}
# What else a variable of the environment may be.
WORDS = {"0": "off", "false": "off", "no": "off", "1": "on", "true": "on", "yes": "on"}
PREFIX = "TAPEGRAD_"  # of the variable of the environment: TAPEGRAD_TRACEBACKS

_IN_BLOCK: ContextVar[dict[str, Any] | None] = ContextVar("tapegrad_config", default=None)


class Config:
    """The settings of tapegrad, which are attributes of `tapegrad.config`.

    An assignment, `tapegrad.config.tracebacks = "full"`, holds for all threads. The block `with
    tapegrad.config(tracebacks="full"):` changes a setting for what runs inside it in the same
    thread or task, and an assignment inside ends with it. A variable of the environment, read when
    tapegrad is imported, says where a setting starts: `TAPEGRAD_TRACEBACKS`,
    `TAPEGRAD_MEMORY_BUDGET`, `TAPEGRAD_EXACT_TIES`, and `TAPEGRAD_PROGRESS`, which may be 0 or 1
    as well. `print(tapegrad.config)` shows all settings.

    Parameters
    ----------
    **settings
        The settings of a block, by the names below.

    Attributes
    ----------
    tracebacks : {"folded", "full"}
        What the traceback of an error shows that leaves a transform. "folded" (the default): the
        program's frames, and a line in place of tapegrad's own. "full": all frames, for who looks
        for an error in tapegrad itself.
    memory_budget : int or str
        How many bytes `chunk_size="auto"` may use at a time, beside inputs and results: a positive
        integer, or text with a unit of powers of 1024 ("200 MB", "4 GiB"). The default is 2**30,
        one GiB: a fixed number, so that the same program takes the same chunks on a busy machine.
    progress : {"auto", "on", "off"}
        Whether what takes longer than two seconds shows a bar, in calls that do not say so
        themselves (`progress=`). "auto" (the default): where tqdm is installed, and a terminal or
        a notebook is there. "on": wherever stderr leads to. "off": nowhere.
    exact_ties : {"ignore", "warn"}
        Whether an ExactTieWarning names the line where `==` or `!=` of traced values, such as
        `if new != old:`, was decided by an exact tie. Such a branch leaves away the derivative of
        one side. `tapegrad.testing.check` and the command line's `--check` tell of them in any
        case.

    Raises
    ------
    InputError
        For another name or value, with the known ones; it is an AttributeError too.

    Examples
    --------
    >>> import tapegrad
    >>> tapegrad.config.tracebacks
    'folded'
    >>> with tapegrad.config(tracebacks="full"):
    ...     tapegrad.config.tracebacks, tapegrad.config.exact_ties
    ('full', 'ignore')
    """

    __slots__ = ("_values",)

    _values: dict[str, Any]

    def __init__(self) -> None:
        values = {}
        for name, known in SETTINGS.items():
            variable = PREFIX + name.upper()
            given = os.environ.get(variable, "").strip().lower()
            if WORDS.get(given) in known:
                given = WORDS[given]
            values[name] = _checked(name, given, variable) if given else known[0]
        object.__setattr__(self, "_values", values)

    if TYPE_CHECKING:  # each by its name, as checkers and editors want it
        tracebacks: Tracebacks
        progress: Shown
        exact_ties: Ties

        @property
        def memory_budget(self) -> int: ...
        @memory_budget.setter
        def memory_budget(self, value: int | str) -> None: ...
        def __call__(
            self,
            *,
            tracebacks: Tracebacks = ...,
            progress: Shown = ...,
            memory_budget: int | str = ...,
            exact_ties: Ties = ...,
        ) -> AbstractContextManager[Config]: ...
    else:

        def __getattr__(self, name: str) -> Any:
            block = _IN_BLOCK.get()
            if block is not None and name in block:
                return block[name]
            try:
                return self._values[name]
            except KeyError:
                _refuse(name)

        def __setattr__(self, name: str, value: Any) -> None:
            value = _checked(name, value, f"tapegrad.config.{name}")
            block = _IN_BLOCK.get()
            if block is not None:
                _IN_BLOCK.set({**block, name: value})  # which the end of the block takes back
            else:
                self._values[name] = value

        def __call__(self, **settings: Any) -> Any:
            """A block with other settings: `with tapegrad.config(tracebacks="full"):`."""
            call = "tapegrad.config(...)"
            return self._block({name: _checked(name, settings[name], call) for name in settings})

    @contextmanager
    def _block(self, settings: dict[str, Any]) -> Iterator[Config]:
        with setting(_IN_BLOCK, {**(_IN_BLOCK.get() or {}), **settings}):
            yield self

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *SETTINGS]

    def __repr__(self) -> str:
        return f"tapegrad.config({', '.join(f'{n}={getattr(self, n)!r}' for n in SETTINGS)})"


def _checked(name: str, value: Any, call: str) -> Any:
    if name not in SETTINGS:
        _refuse(name)
    known = SETTINGS[name]
    if name in BYTES:
        return _bytes(name, value, call)
    if value not in known:
        allowed = " or ".join(map(repr, known))
        raise SettingError(
            message(call, f"{name} to be {allowed}", repr(value), f"{known[0]!r} is the default")
        )
    return str(value)


def _bytes(name: str, value: Any, call: str) -> int:
    """A number of bytes: a positive integer, or text as "200 MB"."""
    found = value
    if isinstance(value, str):
        given = re.fullmatch(r"([0-9.]+)\s*([kmgt]?)(i?b)?", value.strip().lower())
        try:
            found = int(float(given[1]) * 1024 ** UNITS[given[2]]) if given else 0
        except ValueError:
            found = 0
    if isinstance(found, bool) or not hasattr(found, "__index__") or found.__index__() < 1:
        expected = f"{name} to be a positive number of bytes"
        advice = 'Pass an integer, or text with a unit, such as "200 MB"'
        raise SettingError(message(call, expected, repr(value), advice))
    return int(found.__index__())


def _refuse(name: str) -> NoReturn:
    known = ", ".join(SETTINGS)
    raise SettingError(
        message("tapegrad.config", f"a setting among {known}", name, "See help(tapegrad.config)")
    )


config = Config()

__all__ = ["SETTINGS", "config"]
