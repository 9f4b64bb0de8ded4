"""Which functions of the fast half stand in the place of which of the definition.

Knows the definition (the files of `_core/`), which never imports it and is whole without it. With
TAPEGRAD_FAST=0 in the environment, and inside `off()`, everything runs by the definition alone.

Each fast path stands in the place of one function of the definition, which calls it by that name.
`PATHS` lists them all.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from tapegrad._block import contextmanager

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


@contextmanager
def off(*titles: str) -> Iterator[None]:
    """A block in which these paths, or all, are the definition's own, in all threads."""
    closed = [title for title in titles or PATHS if is_on(title)]
    try:
        for title in closed:
            owner, name, plain, _ = PATHS[title]
            _OFF.append(title)
            setattr(owner, name, plain)
        yield
    finally:
        for title in closed:
            owner, name, _, quick = PATHS[title]
            setattr(owner, name, quick)
            if title in _OFF:
                _OFF.remove(title)


__all__ = ["PATHS", "Path", "is_on", "off", "replaces"]
