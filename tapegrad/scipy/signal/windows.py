"""`scipy.signal.windows`, with derivatives by the parameters that are continuous.

>>> import numpy as np, tapegrad
>>> from tapegrad.scipy.signal import windows
>>> tapegrad.jacobian(lambda std: windows.gaussian(3, std))(1.0)
array([0.60653066, 0.        , 0.60653066])
"""

from __future__ import annotations

from tapegrad.scipy._copied import copied
from tapegrad.scipy._mirror import namespace
from tapegrad.scipy.signal._windows import (
    exponential,
    gaussian,
    general_cosine,
    general_gaussian,
    general_hamming,
    get_window,
    kaiser,
    kaiser_bessel_derived,
    tukey,
)

__getattr__, __dir__ = namespace(__name__, "scipy.signal.windows")
_COPIED = copied(__name__)
globals().update(_COPIED)

__all__ = [  # noqa: PLE0604
    *_COPIED,
    "exponential",
    "gaussian",
    "general_cosine",
    "general_gaussian",
    "general_hamming",
    "get_window",
    "kaiser",
    "kaiser_bessel_derived",
    "tukey",
]
