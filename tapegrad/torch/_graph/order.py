"""Numbers in order of time, for nodes, versions and hooks.

Must not know what the numbers are given to.
"""

from __future__ import annotations

import itertools

next_number = itertools.count(1).__next__

__all__ = ["next_number"]
