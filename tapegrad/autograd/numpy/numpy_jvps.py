"""Building blocks of forward rules of HIPS autograd, for packages that declare rules of their own.

The rules of NumPy's functions are tapegrad's (`tapegrad.rules`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.autograd._completed import complete
from tapegrad.autograd.numpy.numpy_vjps import (
    balanced_eq,
    match_complex,
    metadata,
    nograd_functions,
    untake,
)


def broadcast(x: Any, target: Any) -> Any:
    """A tangent broadcast to the shape, and the real or complex kind, of a target.

    Parameters
    ----------
    x : array_like
        The tangent.
    target : array_like
        What it is to be like.

    Returns
    -------
    ndarray
        The tangent; complex if the target is.

    Examples
    --------
    >>> broadcast(1.0, np.zeros(2))
    array([1., 1.])
    """
    shape, _ndim, _dtype, iscomplex = metadata(target)
    x = x if np.shape(x) == shape else np.broadcast_to(x, np.broadcast_shapes(shape, np.shape(x)))
    return x + 0j if iscomplex and not np.iscomplexobj(x) else x


complete(__name__)

__all__ = ["balanced_eq", "broadcast", "match_complex", "nograd_functions", "untake"]
