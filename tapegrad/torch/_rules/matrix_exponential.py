"""The exponential of matrices, and its derivative.

Knows arrays and rules. Must not know tensors, or PyTorch's names.
"""

from __future__ import annotations

import numpy as np

from tapegrad._core.types import Value
from tapegrad._core.values import untraced
from tapegrad.torch._rules.declare import general

# Coefficients of the numerator of the diagonal Pade approximant of order 13, and the norm up to
# which it is exact to rounding: N. Higham, "The scaling and squaring method for the matrix
# exponential revisited" (2005), table 2.3.
_PADE = (
    64764752532480000.0,
    32382376266240000.0,
    7771770303897600.0,
    1187353796428800.0,
    129060195264000.0,
    10559470521600.0,
    670442572800.0,
    33522128640.0,
    1323241920.0,
    40840800.0,
    960960.0,
    16380.0,
    182.0,
    1.0,
)
_PADE_REACH = 5.371920351148152


def _exponential(a: Value) -> Value:
    """The exponentials of a stack of matrices, by scaling and squaring."""
    largest = float(np.max(np.sum(np.absolute(untraced(a)), axis=-2), initial=0))
    halvings = max(0, int(np.ceil(np.log2(largest / _PADE_REACH)))) if largest > 0 else 0
    if not np.isfinite(largest):
        return np.full(a.shape, np.nan, a.dtype)
    a = a / 2.0**halvings
    unit = np.eye(a.shape[-1], dtype=a.dtype)
    square = np.matmul(a, a)
    odd, even, power = _PADE[1] * unit, _PADE[0] * unit, unit
    for place in range(2, 14, 2):
        power = np.matmul(power, square)
        even = even + _PADE[place] * power
        odd = odd + _PADE[place + 1] * power
    odd = np.matmul(a, odd)
    result = np.linalg.solve(even - odd, even + odd)
    for _ in range(halvings):
        result = np.matmul(result, result)
    return result


def _derivative_of_exponential(a: Value, change: Value) -> Value:
    """The derivative along `change`: the upper right block of exp([[a, change], [0, a]])."""
    count = a.shape[-1]
    above = np.concatenate([a, change], axis=-1)
    below = np.concatenate([np.zeros_like(a), a], axis=-1)
    return exponential(np.concatenate([above, below], axis=-2))[..., :count, count:]


@general(
    "LinalgMatrixExpBackward0",
    lambda g, _out, a: _derivative_of_exponential(a.swapaxes(-1, -2), g),
    lambda dots, _out, a: _derivative_of_exponential(a, dots[0]),
    batch="(m,m)",
)
def exponential(a: Value) -> Value:
    """The exponential of each of a stack of matrices."""
    wide = {"f": np.float64, "c": np.complex128}[a.dtype.kind]
    return _exponential(a.astype(wide)).astype(a.dtype)
