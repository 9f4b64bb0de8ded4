"""Function transforms: each records one run of a function, and replays what it recorded.

Importing this package gives traced and batched arrays their calls, reads and operators, which read
the declared rules.
"""

from tapegrad._arrays import operators as array_operators
from tapegrad._arrays import planned_functions as array_functions
from tapegrad._arrays import reads as array_reads
from tapegrad._batched import operators as batched_operators
from tapegrad._batched import reads as batched_reads

__all__ = [
    "array_functions",
    "array_operators",
    "array_reads",
    "batched_operators",
    "batched_reads",
]
