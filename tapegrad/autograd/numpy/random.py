"""NumPy's random numbers, by the name of HIPS autograd's: functions without derivatives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy.random as _random

from tapegrad.autograd._completed import complete
from tapegrad.autograd.numpy._names import names_of

names_of(_random, globals())

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


complete(__name__)
