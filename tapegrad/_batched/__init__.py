"""Stand-ins for ndarrays inside a vmap, and how each function batches.

Importing this package, as the first vmap does, gives batched arrays their reads and operators.
"""

from tapegrad._batched import operators, reads

__all__ = ["operators", "reads"]
