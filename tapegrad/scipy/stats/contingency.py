"""`scipy.stats.contingency`: expected frequencies of tables, and a test of independence."""

from __future__ import annotations

from tapegrad.scipy._copied import copied
from tapegrad.scipy._mirror import namespace

__getattr__, __dir__ = namespace(__name__, "scipy.stats.contingency")
_COPIED = copied(__name__)
globals().update(_COPIED)

__all__ = [*_COPIED]  # noqa: PLE0604
