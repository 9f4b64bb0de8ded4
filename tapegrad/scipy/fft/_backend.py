"""The module as a backend of `scipy.fft`, in the way that SciPy asks backends to be.

`scipy.fft.set_backend(tapegrad.scipy.fft)` sends calls of SciPy's functions here. Those on plain
arrays go on to SciPy. Must not know single transforms.
"""

from __future__ import annotations

import sys
from typing import Any

from tapegrad._core.types import Function
from tapegrad._core.values import holds_in_trace

__ua_domain__ = "numpy.scipy.fft"


def answer(method: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Our function in place of SciPy's, if an array is in a trace."""
    if not (any(map(holds_in_trace, args)) or any(map(holds_in_trace, kwargs.values()))):
        return NotImplemented
    ours = vars(sys.modules["tapegrad.scipy.fft"]).get(method.__name__)
    return NotImplemented if ours is None else ours(*args, **kwargs)


__ua_function__ = answer

__all__ = ["__ua_domain__", "__ua_function__"]
