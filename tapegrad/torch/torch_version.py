"""`torch.torch_version`: the version, which is a text that compares as versions do."""

from __future__ import annotations

import itertools
import re
from typing import Any

from tapegrad.torch import version


def _parts(given: Any) -> list[int]:
    """The numbers of a version: of a text, those before a suffix."""
    if isinstance(given, str):
        return [int(part) for part in re.findall(r"\d+", re.split(r"[+a-z]", given)[0])]
    return [int(part) for part in given]


class TorchVersion(str):
    """A version as text, which compares with texts and tuples by its numbers.

    >>> torch.TorchVersion("2.13.0") > "2.9", torch.TorchVersion("2.13.0") >= (2, 13)
    (True, True)
    """

    __slots__ = ()

    def _sign(self, other: Any) -> int:
        pairs = itertools.zip_longest(_parts(str(self)), _parts(other), fillvalue=0)
        return next((1 if a > b else -1 for a, b in pairs if a != b), 0)

    def __lt__(self, other: Any) -> bool:
        return self._sign(other) < 0

    def __le__(self, other: Any) -> bool:
        return self._sign(other) <= 0

    def __gt__(self, other: Any) -> bool:
        return self._sign(other) > 0

    def __ge__(self, other: Any) -> bool:
        return self._sign(other) >= 0


__version__: TorchVersion = TorchVersion(version.__version__)

__all__ = ["TorchVersion"]
