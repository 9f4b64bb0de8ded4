"""Functions whose results are piecewise constant, or carry no numbers that could vary."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad._rule import composite, constant, lift, plain

_UFUNCS = (
    "floor ceil trunc rint floor_divide signbit spacing isfinite isinf isnan isnat "
    "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor "
    "logical_not"
).split()
_FUNCTIONS = (
    "round around fix argmax argmin argsort argpartition argwhere nonzero flatnonzero "
    "count_nonzero searchsorted any all isclose allclose array_equal array_equiv iscomplexobj "
    "isrealobj iscomplex isreal isposinf isneginf shape ndim size result_type can_cast "
    "min_scalar_type common_type lexsort digitize array2string array_repr array_str shares_memory "
    "may_share_memory isin"
).split()
constant(*(getattr(np, name) for name in _UFUNCS + _FUNCTIONS))


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


def _empty_like(
    prototype: Any,
    /,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    # Zeros: a derivative must not depend on what the memory held.
    return _zeros_like(prototype, dtype, order, subok, shape, device=device)


def _full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    order: Any = "K",
    subok: bool = True,
    shape: Any = None,
    *,
    device: Any = None,
) -> Any:
    base = np.zeros_like(plain(a), dtype, order, subok, shape, device=device)
    fill_value = lift(fill_value)
    if not hasattr(fill_value, "tape"):
        holder = a if hasattr(a, "tape") else None
        filled = np.full_like(base, fill_value)
        return _like(lambda: filled, holder)
    return np.broadcast_to(fill_value, base.shape).astype(base.dtype)


composite(np.zeros_like, _zeros_like)
composite(np.ones_like, _ones_like)
composite(np.empty_like, _empty_like)
composite(np.full_like, _full_like)
