"""`torch.signal`: windows.

A table of contents.
"""

from __future__ import annotations

from tapegrad.torch.signal import windows

__all__ = ["windows"]
