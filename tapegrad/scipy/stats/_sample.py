"""Common code of the statistics of samples: their table, and how their arguments are read.

Of plain values each statistic is SciPy's own. Rows with NaN propagate it: `nan_policy=` is not
taken with traced values. A definition of what SciPy reduces along axes knows the last axis alone.
"""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.stats
from numpy.lib.array_utils import normalize_axis_tuple

from tapegrad._core.values import lift
from tapegrad._errors import InputError
from tapegrad.scipy._mirror import with_defaults

DEFINITIONS: dict[str, Callable[..., Any]] = {}


def defines(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enter a definition in the table, under its name; the defaults are SciPy's."""
    name = function.__name__
    made = with_defaults(function, getattr(scipy.stats, name, function))
    DEFINITIONS[name] = made
    return made


@functools.cache
def _signature(name: str) -> tuple[inspect.Signature, list[str], dict[str, Any]]:
    """That of SciPy's function, the names of its positional parameters, and its defaults."""
    found = inspect.signature(getattr(scipy.stats, name))
    by_name = found.parameters.values()
    positional = [x.name for x in by_name if x.kind is not x.KEYWORD_ONLY]
    return found, positional, {x.name: x.default for x in by_name if x.default is not x.empty}


def _arguments(name: str, args: Any, kwargs: dict[str, Any]) -> dict[str, Any]:
    """All arguments of a call by name. `bind`, which takes as long as a mean, raises errors."""
    signature, positional, defaults = _signature(name)
    options = defaults | dict(zip(positional, args, strict=False)) | kwargs
    named = kwargs.keys() - positional[: len(args)]
    whole = len(named) == len(kwargs) and options.keys() == signature.parameters.keys()
    if not whole or len(args) > len(positional):
        signature.bind(*args, **kwargs)
    return options


def reduces(*samples: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Enter a definition of a statistic along the last axis, and return it as it is.

    In the table it has SciPy's signature, and takes any axes. A list of results is stacked.

    samples: the arguments that are samples; they broadcast
    """

    def enter(definition: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(definition)
        def statistic(*args: Any, **kwargs: Any) -> Any:
            options = _arguments(definition.__name__, args, kwargs)
            axis, keepdims = options.pop("axis", 0), options.pop("keepdims", False)
            require_propagation(options.pop("nan_policy", "propagate"))
            names = [name for name in samples if options[name] is not None]
            arrays = [array_of(options[name]) for name in names]
            arrays = [x if x.ndim else np.reshape(x, (1,)) for x in arrays]
            count = max(x.ndim for x in arrays)
            axes = normalize_axis_tuple(tuple(range(count)) if axis is None else axis, count)
            if axis is None:
                arrays = [np.ravel(x) for x in arrays]
            if len(arrays) > 1:
                shape = np.broadcast_shapes(*[x.shape for x in arrays])
                arrays = [x if x.shape == shape else np.broadcast_to(x, shape) for x in arrays]
            if axis is not None:
                arrays = [_last(x, axes) for x in arrays]
            out = definition(**options | dict(zip(names, arrays, strict=True)))
            if keepdims:
                out = _with_axes(out, axes)
            return np.stack(out) if isinstance(out, list) else out

        DEFINITIONS[definition.__name__] = statistic
        return definition

    return enter


def _with_axes(out: Any, axes: tuple[int, ...]) -> Any:
    """A result, or those of a list or a record, with axes of length one."""
    if isinstance(out, list):
        return [np.expand_dims(x, axes) for x in out]
    if not isinstance(out, tuple):
        return np.expand_dims(out, axes)
    beside = {name: np.expand_dims(x, axes) for name, x in getattr(out, "__dict__", {}).items()}
    return type(out)(*[np.expand_dims(x, axes) for x in out], **beside)


def _last(x: Any, axes: tuple[int, ...]) -> Any:
    """An array with some of its axes as one, the last."""
    if axes == (x.ndim - 1,):
        return x
    x = np.moveaxis(x, axes, range(-len(axes), 0))
    return np.reshape(x, (*x.shape[: -len(axes)], math.prod(x.shape[-len(axes) :])))


def require_propagation(nan_policy: str) -> None:
    if nan_policy != "propagate":
        raise InputError(
            f"scipy.stats: nan_policy={nan_policy!r} is not taken with traced values, which "
            "propagate NaN. Leave NaN out with np.where or an index, and pass the rest."
        )


def array_of(x: Any) -> Any:
    x = lift(x)
    return x if hasattr(x, "ndim") else np.asarray(x)


def given(x: Any, axis: int | None, nan_policy: str = "propagate") -> tuple[Any, int]:
    """An array, and its axis; None means the flattened array."""
    require_propagation(nan_policy)
    x = array_of(x)
    return (np.ravel(x), 0) if axis is None else (x, axis)


def central(x: Any, *orders: int) -> list[Any]:
    """Central moments along the last axis."""
    away = x - np.mean(x, axis=-1, keepdims=True)
    return [np.mean(away**order, axis=-1) for order in orders]


# Functions of ranks and counts, which stay as they are where a value moves a little.
CONSTANT = """
    chatterjeexi kendalltau percentileofscore rankdata somersd spearmanr spearmanrho tiecorrect
    weightedtau
""".split()


__all__ = ["CONSTANT", "DEFINITIONS", "array_of", "central", "defines", "given", "reduces"]
