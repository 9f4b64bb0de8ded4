"""Function transforms: each records one run of a function, and replays what it recorded.

Importing this package gives traced and batched arrays their operators, which read the declared
rules.
"""

from tapegrad._arrays import operators as array_operators
from tapegrad._batched import operators as batched_operators

__all__ = ["array_operators", "batched_operators"]
