"""Distances of two vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.spatial.distance as sd

from tapegrad._core.forms import composite, constant
from tapegrad._core.types import Function, Value
from tapegrad._core.values import holds_in_trace, lift, untraced
from tapegrad._errors import NotDifferentiableError, name_of
from tapegrad._transforms.primitives import primitive
from tapegrad.scipy._mirror import constant_or_refused, mirror
from tapegrad.scipy.spatial.distance import _metrics as metrics

HERE = "tapegrad.scipy.spatial.distance"


def as_array(x: Any) -> Any:
    x = lift(x)
    return x if hasattr(x, "ndim") else np.asarray(x)


def _of_vectors(name: str, metric: Function) -> Function:
    def definition(u: Value, v: Value, *args: Any, **kwargs: Any) -> Value:
        u, v = as_array(u), as_array(v)
        if u.ndim != 1 or v.ndim != 1 or u.shape != v.shape:
            raise ValueError(
                f"scipy.spatial.distance.{name}: expected two vectors of one length, got "
                f"{u.shape} and {v.shape}."
            )
        return metric(u, v, *map(_plain, args), **{k: _plain(x) for k, x in kwargs.items()})

    return definition


def _plain(x: Any) -> Any:
    """Weights as an array; numbers and words as they are."""
    return as_array(x) if isinstance(x, (list, tuple)) else x


def _jensenshannon(
    p: Value, q: Value, base: Any = None, *, axis: int = 0, keepdims: bool = False
) -> Value:
    return metrics.jensenshannon(as_array(p), as_array(q), base, axis=axis, keepdims=keepdims)


def stepping(function: Function) -> Function:
    """A metric that steps with the points, as a plain number; by weights it is refused."""
    plainly = primitive(function)
    constant(plainly, batch="loop")

    def definition(*args: Any, **kwargs: Any) -> Any:
        if any(map(holds_in_trace, (*args[2:], *kwargs.values()))):
            raise NotDifferentiableError(
                f"scipy.spatial.distance: {name_of(function)} is not differentiable by its "
                "weights here. Pass tapegrad.stop_gradient(w)."
            )
        return plainly(*map(untraced, args), **kwargs)

    return definition


MADE: dict[str, Any] = {}
for _name, _metric in metrics.METRICS.items():
    MADE[_name] = mirror(getattr(sd, _name), HERE)
    own = _jensenshannon if _name == "jensenshannon" else _of_vectors(_name, _metric)
    composite(MADE[_name], own, batch="loop")
MADE["jaccard"] = mirror(sd.jaccard, HERE)
composite(MADE["jaccard"], stepping(sd.jaccard), batch="loop")  # it asks for zeros alone
MADE |= constant_or_refused(HERE, "is_valid_dm is_valid_y num_obs_dm num_obs_y".split(), {})

__all__ = ["HERE", "MADE", "as_array", "stepping"]
