"""Parameters of new layers: their dtypes, and the keywords that say so.

Knows parameters. Must not know modules.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.torch._dtypes import CPU, as_numpy, default_float, dtype, require_cpu
from tapegrad.torch._tensor.meta import MetaArray
from tapegrad.torch._tensor.tensor import of_value
from tapegrad.torch.nn.parameter import Parameter


def given_dtype(dtype: dtype | None) -> np.dtype[Any]:
    """The dtype of a layer's parameters: the default one unless it is given."""
    return np.dtype(default_float() if dtype is None else as_numpy(dtype))


def empty_parameter(shape: tuple[int, ...], dtype: Any, device: Any) -> Any:
    """A parameter without values; of the device "meta" without memory too."""
    given = given_dtype(dtype)
    return Parameter(
        of_value(MetaArray(shape, given) if require_cpu(device) else np.empty(shape, given))
    )


def add_parameters(module: Any, dtype: Any, device: Any, **shapes: tuple[int, ...] | None) -> None:
    """Register parameters of these shapes without values, and None in the place of one."""
    require_cpu(device)
    for name, shape in shapes.items():
        given = None if shape is None else empty_parameter(shape, dtype, device)
        module.register_parameter(name, given)


def filled(shape: tuple[int, ...], value: float, dtype: Any, device: Any = CPU) -> Any:
    """A tensor with one value everywhere."""
    given = given_dtype(dtype)
    return of_value(
        MetaArray(shape, given) if require_cpu(device) else np.full(shape, value, given)
    )


def factory_kwargs(kwargs: dict[str, Any] | None) -> dict[str, Any]:
    """The keywords that make tensors: device, dtype and memory_format.

    kwargs (dict or None): Keywords; these may stand in a dict of their own under "factory_kwargs".
    -> dict: Those that are there.
    TypeError: For other keywords, and for one that is given twice.

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


__all__ = ["add_parameters", "empty_parameter", "factory_kwargs", "filled", "given_dtype"]
