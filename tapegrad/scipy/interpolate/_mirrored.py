"""Base of objects that mirror SciPy's: the object itself, where all that it holds is plain."""

from __future__ import annotations

from typing import Any

from tapegrad._core.values import branch_on, itself, raw_value
from tapegrad.scipy.interpolate._pieces import holds_mapped, is_plain


class Mirrored:
    """An object of SciPy's, and what it holds where that is in a trace.

    `_plain` is SciPy's object, where nothing that it was made of is in a trace, else None. Then
    calls with plain arguments are those of SciPy's object.
    """

    _theirs: Any = None
    _plain: Any = None

    def __getattr__(self, name: str) -> Any:
        plain = self.__dict__.get("_plain")
        if plain is not None and not name.startswith("__"):
            return getattr(plain, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _is_plain(self, *values: Any) -> bool:
        return self._plain is not None and is_plain(*values)


def raw(*values: Any) -> list[Any] | None:
    """The values without any tracing, for SciPy's checks; None where a vmap maps over one.

    Not for what the result depends on: a recorded call would keep these values. See `asked`.
    """
    if any(map(holds_mapped, values)):
        return None
    return [raw_value(x) for x in values]


def asked(*values: Any) -> list[Any] | None:
    """The same for what the result depends on: a recorded call asks for them each time."""
    return None if any(map(holds_mapped, values)) else [branch_on(itself, x) for x in values]


__all__ = ["Mirrored", "asked", "raw"]
