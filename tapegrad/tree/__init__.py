"""Pytrees: nested tuples, lists, dicts, namedtuples, dataclasses and None around leaves.

Whatever is not such a container is a leaf: arrays, traced arrays, tensors, numbers, strings.
`None` is a container without leaves. Dicts have their leaves in the order in which they were made,
and two dicts match by key.

>>> import numpy as np
>>> from tapegrad import tree
>>> weights = {"w": np.ones((2, 2)), "b": [0.5, 1.5]}
>>> tree.map(np.shape, weights)
{'w': (2, 2), 'b': [(), ()]}
>>> flat, unravel = tree.ravel(weights)
>>> flat
array([1. , 1. , 1. , 1. , 0.5, 1.5])
>>> unravel(2 * flat)["b"]
[np.float64(1.0), np.float64(3.0)]
"""

from __future__ import annotations

from tapegrad._tree import Structure
from tapegrad.tree._arithmetic import (
    add,
    add_scaled,
    norm,
    ones_like,
    scale,
    size,
    subtract,
    vdot,
    zeros_like,
)
from tapegrad.tree._classes import register, register_class
from tapegrad.tree._paths import (
    Path,
    flatten_with_path,
    leaves_with_path,
    map_with_path,
)
from tapegrad.tree._vectors import ravel
from tapegrad.tree._walks import (
    all,
    any,
    flatten,
    leaves,
    map,
    reduce,
    structure,
    transpose,
    unflatten,
)

__all__ = [
    "Path",
    "Structure",
    "add",
    "add_scaled",
    "all",
    "any",
    "flatten",
    "flatten_with_path",
    "leaves",
    "leaves_with_path",
    "map",
    "map_with_path",
    "norm",
    "ones_like",
    "ravel",
    "reduce",
    "register",
    "register_class",
    "scale",
    "size",
    "structure",
    "subtract",
    "transpose",
    "unflatten",
    "vdot",
    "zeros_like",
]
