"""Entries of sections Parameters that several docstrings of a room share, without the defaults.

A room is a package or module of `tapegrad.torch`; the nearest one counts. A docstring that means
something else has an entry of its own.
"""

from __future__ import annotations

ENTRIES: dict[str, str] = {}

__all__ = ["ENTRIES"]
