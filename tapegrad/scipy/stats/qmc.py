"""`scipy.stats.qmc`: scales and discrepancies of samples. Sequences are SciPy's own objects."""

from __future__ import annotations

from tapegrad.scipy._copied import copied
from tapegrad.scipy._mirror import namespace

__getattr__, __dir__ = namespace(__name__, "scipy.stats.qmc")
_COPIED = copied(__name__)
globals().update(_COPIED)

__all__ = [*_COPIED]  # noqa: PLE0604
