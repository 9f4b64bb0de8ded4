"""The way from a failed replay to the line of its forward call.

Knows where the look-up is. It is imported when a replay fails: most programs never need it.
"""

from __future__ import annotations

from typing import Any

from tapegrad._transforms.failures import ForwardLine


def _explain(*found: Any) -> None:
    """Add the note: `failures.explain`."""
    from tapegrad._look.failures import explain

    explain(*found)


ForwardLine.explain = staticmethod(_explain)
