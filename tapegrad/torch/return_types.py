"""Named tuples that operations return: `torch.return_types.max(values, indices)`."""

from __future__ import annotations

from collections import namedtuple
from typing import Any


def _shown(self: Any) -> str:
    parts = (f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n" + ",\n".join(parts) + ")"


def _named(word: str, fields: str) -> Any:
    made: Any = namedtuple(word, fields)  # noqa: PYI024 - the fields are told by the caller
    made.__repr__ = _shown
    made.__module__ = __name__
    return made


_PAIRS = "cummax cummin kthvalue max median min mode nanmedian sort topk"
for _word in _PAIRS.split():
    globals()[_word] = _named(_word, "values indices")
aminmax = _named("aminmax", "min max")


def pair(word: str, values: Any, indices: Any) -> Any:
    """`torch.return_types.<word>(values, indices)`."""
    return globals()[word](values, indices)
