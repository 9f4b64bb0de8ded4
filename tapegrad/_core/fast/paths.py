"""Which functions of the fast half stand in the place of which of the definition.

Knows the definition (the files of `_core/`), which never imports it and is whole without it. With
TAPEGRAD_FAST=0 in the environment, and inside `off()`, everything runs by the definition alone.

Each fast path stands in the place of one function of the definition, which calls it by that name.
`PATHS` lists them all. Some paths remember calls, which others make: `off()` forgets them all when
it begins and when it ends.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from tapegrad._block import contextmanager
from tapegrad._core.rule import declared_rules

F = TypeVar("F", bound=Callable[..., Any])

_STARTS_ON = os.environ.get("TAPEGRAD_FAST", "1") != "0"


class Path(NamedTuple):
    """A function that stands in the place of one of the definition's."""

    owner: Any  # a module or a class
    name: str
    plain: Any  # the definition's
    quick: Any


PATHS: dict[str, Path] = {}
_OFF: list[str] = []  # those that are switched off
_REMEMBERED: list[dict[Any, Any]] = []  # calls that came, beside those that rules remember


def replaces(owner: Any, name: str) -> Callable[[F], F]:
    """A decorator: the function stands in the place of `owner.name`, unless that is off."""

    def put(quick: F) -> F:
        path = Path(owner, name, getattr(owner, name), quick)
        title = f"{getattr(owner, '__qualname__', owner.__name__.rpartition('.')[2])}.{name}"
        PATHS[title] = path
        if _STARTS_ON:
            setattr(owner, name, quick)
        else:
            _OFF.append(title)
        return quick

    return put


def is_on(title: str) -> bool:
    """Whether a path is in use."""
    return title not in _OFF


def remembered(*tables: dict[Any, Any]) -> None:
    """Tables of calls that came, which `off()` empties."""
    _REMEMBERED.extend(tables)


def forget() -> None:
    """Forget all calls that came: they are planned again when they come again."""
    for rule in declared_rules():
        if rule.calls:
            rule.calls.clear()
    for table in _REMEMBERED:
        table.clear()


@contextmanager
def off(*titles: str) -> Iterator[None]:
    """A block in which these paths, or all, are the definition's own, in all threads."""
    unknown = [title for title in titles if title not in PATHS]
    if unknown:
        raise ValueError(f"off: no path {unknown[0]!r}. The paths are {', '.join(PATHS)}.")
    closed = [title for title in titles or PATHS if is_on(title)]
    try:
        for title in closed:
            owner, name, plain, _ = PATHS[title]
            _OFF.append(title)
            setattr(owner, name, plain)
        forget()
        yield
    finally:
        for title in closed:
            owner, name, _, quick = PATHS[title]
            setattr(owner, name, quick)
            if title in _OFF:
                _OFF.remove(title)
        forget()


__all__ = ["PATHS", "Path", "forget", "is_on", "off", "remembered", "replaces"]
