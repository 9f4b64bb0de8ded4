"""Tables of contents: the public names of a module are those that it defines.

Knows modules of Python. Must not know what they define.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator


def own_names(module: str) -> Iterator[str]:
    """The functions and classes of a module whose names begin with no underscore."""
    found = vars(sys.modules[module]).items()
    return (name for name, own in found if name[0] != "_" and _home(own) == module)


def _home(own: object) -> str:
    return getattr(own, "__module__", "")


__all__ = ["own_names"]
