"""Functions whose results are piecewise constant, or carry no numbers that could vary."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._rule import composite, constant, plain

# ufuncs
constant(
    np.floor, np.ceil, np.trunc, np.rint, np.floor_divide, np.signbit, np.spacing, np.nextafter,
    np.isfinite, np.isinf, np.isnan, np.isnat, np.equal, np.not_equal, np.less, np.less_equal,
    np.greater, np.greater_equal, np.logical_and, np.logical_or, np.logical_xor, np.logical_not,
)
# functions
constant(
    np.round, np.around, np.fix, np.argmax, np.argmin, np.argsort, np.argpartition, np.argwhere,
    np.nonzero, np.flatnonzero, np.count_nonzero, np.searchsorted, np.any, np.all, np.isclose,
    np.allclose, np.array_equal, np.array_equiv, np.iscomplexobj, np.isrealobj, np.iscomplex,
    np.isreal, np.isposinf, np.isneginf, np.shape, np.ndim, np.size, np.result_type, np.can_cast,
    np.min_scalar_type, np.common_type, np.lexsort, np.digitize, np.array2string, np.array_repr,
    np.array_str, np.shares_memory, np.may_share_memory, np.isin,
)


def _like(create: Any, holder: Any, *args: Any, **kwargs: Any) -> Any:
    """A constant made beside a traced array: traced where it can take traced values later."""
    made = create(*map(plain, args), **kwargs)
    if made.dtype.kind in "fc" and hasattr(holder, "tape"):
        return holder.tape.wrap(made, -1)
    return made


def _zeros_like(a: Any, *args: Any, **kwargs: Any) -> Any:
    return _like(np.zeros_like, a, a, *args, **kwargs)


def _ones_like(a: Any, *args: Any, **kwargs: Any) -> Any:
    return _like(np.ones_like, a, a, *args, **kwargs)


def _empty_like(a: Any, *args: Any, **kwargs: Any) -> Any:
    # Zeros: a derivative must not depend on what the memory held.
    return _like(np.zeros_like, a, a, *args, **kwargs)


def _full_like(a: Any, fill_value: Any, *args: Any, **kwargs: Any) -> Any:
    shape = kwargs.pop("shape", None)
    base = np.zeros_like(plain(a), *args, shape=shape, **kwargs)
    if not hasattr(fill_value, "tape"):
        holder = a if hasattr(a, "tape") else None
        filled = np.full_like(base, fill_value)
        return _like(lambda: filled, holder)
    return np.broadcast_to(fill_value, base.shape).astype(base.dtype)


composite(np.zeros_like, _zeros_like)
composite(np.ones_like, _ones_like)
composite(np.empty_like, _empty_like)
composite(np.full_like, _full_like)
