"""`scipy.sparse.csgraph`: the Laplacian of a dense graph; paths and flows are SciPy's own."""

from __future__ import annotations

from tapegrad.scipy._copied import copied
from tapegrad.scipy._mirror import namespace

__getattr__, __dir__ = namespace(__name__, "scipy.sparse.csgraph")
_COPIED = copied(__name__)
globals().update(_COPIED)

__all__ = [*_COPIED]  # noqa: PLE0604
