"""k-d trees over traced points: which points are near is piecewise constant, how far is not.

Knows SciPy's trees. Must not know tapes.
"""

from __future__ import annotations

import functools
import math
import pickle
from typing import Any

import numpy as np
from scipy import spatial

from tapegrad._arrays.buffers import value_of
from tapegrad._core.types import Value
from tapegrad._core.values import (
    are_untraced,
    branch_on,
    in_trace,
    is_plain_array,
    lift,
    peeked,
    recorded_in,
)
from tapegrad._errors import NotDifferentiableError
from tapegrad._transforms.custom import stop_gradient
from tapegrad._tree import flatten, unflatten
from tapegrad.scipy.spatial._points import minkowski_distance


class _Tree:
    """The methods of SciPy's trees with points that may be traced."""

    _traced: Any = None  # the points, if they were in a trace
    boxsize: Any

    def __init__(self, data: Value, *args: Any, **kwargs: Any) -> None:
        points = lift(data)
        if in_trace(points):
            self._traced = points
        self.made = args, kwargs
        made: Any = super()
        # `_discrete` asks for the points near these, `_shown` for all else.
        plain: Any = points if type(points) is np.ndarray else peeked(stop_gradient(points))
        made.__init__(plain, *args, **kwargs)

    @property
    def points(self) -> Any:
        """The points, in the trace that they were given in."""
        held: Any = super()
        return held.data if self._traced is None else self._traced

    def __getstate__(self) -> Any:
        theirs: Any = super()
        return theirs.__getstate__(), vars(self)

    def __setstate__(self, state: Any) -> None:
        theirs: Any = super()
        theirs.__setstate__(state[0])
        vars(self).update(state[1])

    def query(
        self, x: Value, k: Any = 1, eps: float = 0.0, p: float = 2.0, *args: Any, **kwargs: Any
    ) -> Any:
        """Distances to the nearest points, differentiable, and the positions of these.

        Parameters and results are those of `scipy.spatial.KDTree.query`.
        """
        x = lift(x)
        method: Any = super()  # SciPy's class comes second
        known, positions = method.query(stop_gradient(x), k, eps, p, *args, **kwargs)
        if not (in_trace(x) or in_trace(self.points)):
            return known, positions
        found = np.isfinite(known)
        near = self.points[np.where(found, positions, 0)]
        at = x[..., None, :] if np.ndim(known) == np.ndim(x) else x
        if self.boxsize is not None:  # the nearest image of a point; 0: not periodic
            box = np.asarray(self.boxsize)
            gaps = stop_gradient(at - near) / np.where(box > 0, box, 1.0)
            near = near + np.round(gaps) * box
        return np.where(found, minkowski_distance(at, near, p), known), positions

    def sparse_distance_matrix(self, *args: Any, **kwargs: Any) -> Any:
        """As SciPy's, of plain points: NotDifferentiableError for traced ones."""
        if in_trace(self.points) or any(in_trace(getattr(arg, "points", arg)) for arg in args):
            raise NotDifferentiableError(
                "KDTree.sparse_distance_matrix: not differentiable (its distances are computed in "
                "C). Take the pairs of query_pairs, and compute their distances."
            )
        method: Any = super()
        return method.sparse_distance_matrix(*args, **kwargs)


def _discrete(name: str) -> Any:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if are_untraced((self.points, *args), kwargs):
            return getattr(super(_Tree, self), name)(*args, **kwargs)
        args = tuple([stop_gradient(x) if in_trace(x) else x for x in args])
        kwargs = {key: stop_gradient(x) if in_trace(x) else x for key, x in kwargs.items()}
        if any(recorded_in(x) is not None for x in (self.points, *args, *kwargs.values())):
            return _asked(self, name, args, kwargs)
        return getattr(super(_Tree, self), name)(*args, **kwargs)

    method.__name__ = name
    method.__doc__ = f"As `scipy.spatial.KDTree.{name}`: piecewise constant in the points."
    return method


def _asked(tree: Any, name: str, args: Any, kwargs: Any) -> Any:
    """The near points, of points whose calls are recorded: the rest of the run is a branch."""
    given = stop_gradient(tree.points), tree.made, args, kwargs
    leaves, structure = flatten(given)
    leaves = [value_of(x) for x in leaves]
    places = [i for i, x in enumerate(leaves) if is_plain_array(x)]
    rest = tuple([None if i in places else x for i, x in enumerate(leaves)])
    shapes = tuple([(i, np.shape(leaves[i])) for i in places])
    if any(leaves[i].dtype != np.float64 for i in places):
        leaves = [np.asarray(x) for x in leaves]  # which no program does
    packed = np.concatenate([np.ravel(leaves[i]) for i in places])
    kind = spatial.KDTree if isinstance(tree, spatial.KDTree) else spatial.cKDTree
    return pickle.loads(branch_on(_question(kind, name, structure, rest, shapes), packed))  # noqa: S301


@functools.lru_cache(256)
def _question(kind: Any, name: str, structure: Any, rest: Any, shapes: Any) -> Any:
    """The function of all numbers in one vector that gives what is near, pickled."""

    def neighbors(packed: Any) -> bytes:
        leaves, at = list(rest), 0
        for i, shape in shapes:
            size = math.prod(shape)
            leaves[i] = packed[at : at + size].reshape(shape)
            at += size
        points, (more, named), args, kwargs = unflatten(structure, leaves)
        return pickle.dumps(getattr(kind(points, *more, **named), name)(*args, **kwargs))

    neighbors.__name__ = neighbors.__qualname__ = name
    return neighbors


def _shown(name: str) -> Any:
    def read(self: Any) -> Any:
        if in_trace(self.points):
            np.asarray(stop_gradient(self.points))  # says that no program does this
        return getattr(super(_Tree, self), name)

    return property(read)


for _name in ("data", "maxes", "mins", "indices", "tree"):
    setattr(_Tree, _name, _shown(_name))

for _name in ("count_neighbors", "query_ball_point", "query_ball_tree", "query_pairs"):
    setattr(_Tree, _name, _discrete(_name))


class KDTree(_Tree, spatial.KDTree):
    """`scipy.spatial.KDTree` of points that may be traced.

    Which points are near steps with the points, and carries no derivative; distances do.

    Examples
    --------
    >>> import tapegrad
    >>> points = np.array([[0.0, 0.0], [3.0, 4.0]])
    >>> def nearest(x):
    ...     return KDTree(points).query(x)[0]
    >>> tapegrad.grad(nearest)(np.array([6.0, 8.0]))
    array([0.6, 0.8])
    """


class cKDTree(_Tree, spatial.cKDTree):
    """`scipy.spatial.cKDTree` of points that may be traced: see `KDTree`."""


__all__ = ["KDTree", "cKDTree"]
