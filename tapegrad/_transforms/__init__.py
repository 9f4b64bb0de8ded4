"""Function transforms: each records one run of a function, and replays what it recorded.

Importing this package gives traced arrays their calls, reads and operators, which read the
declared rules.
"""

from tapegrad._arrays import operators as array_operators
from tapegrad._arrays import planned_functions as array_functions
from tapegrad._arrays import reads as array_reads

__all__ = [
    "array_functions",
    "array_operators",
    "array_reads",
]
