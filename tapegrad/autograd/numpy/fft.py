"""`numpy.fft` by the name of HIPS autograd's: that of `tapegrad.numpy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tapegrad.numpy.fft as _namespace
from tapegrad.autograd._completed import complete
from tapegrad.autograd.numpy._names import names_of

# Programs look into the `__dict__` of this module, to wrap all of its functions.
names_of(_namespace, globals())

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


complete(__name__)
