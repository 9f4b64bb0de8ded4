"""Parameters of new layers: their dtypes, and the keywords that say so.

Knows parameters. Must not know modules.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.torch._dtypes import as_numpy, default_float, dtype
from tapegrad.torch._tensor.tensor import of_value
from tapegrad.torch.nn.parameter import Parameter


def given_dtype(dtype: dtype | None) -> np.dtype[Any]:
    """The dtype of a layer's parameters: the default one unless it is given."""
    return np.dtype(default_float() if dtype is None else as_numpy(dtype))


def empty_parameter(shape: tuple[int, ...], dtype: dtype | None) -> Any:
    """A parameter without values."""
    return Parameter(of_value(np.empty(shape, given_dtype(dtype))))


def filled(shape: tuple[int, ...], value: float, dtype: dtype | None) -> Any:
    """A tensor with one value everywhere."""
    return of_value(np.full(shape, value, given_dtype(dtype)))


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The keywords that make tensors: device, dtype and memory_format.

    Parameters
    ----------
    kwargs : dict or None
        Keywords; these may stand in a dict of their own under "factory_kwargs".

    Returns
    -------
    dict
        Those that are there.

    Raises
    ------
    TypeError
        For other keywords, and for one that is given twice.

    >>> torch.nn.factory_kwargs({"dtype": torch.float64})
    {'dtype': torch.float64}
    """
    if kwargs is None:
        return {}
    simple = ("device", "dtype", "memory_format")
    more = kwargs.keys() - {*simple, "factory_kwargs"}
    if more:
        raise TypeError(f"unexpected kwargs {more}")
    made = dict(kwargs.get("factory_kwargs", {}))
    for name in simple:
        if name in kwargs:
            if name in made:
                raise TypeError(f"{name} specified twice, in **kwargs and in factory_kwargs")
            made[name] = kwargs[name]
    return made


__all__ = ["empty_parameter", "factory_kwargs", "filled", "given_dtype"]
