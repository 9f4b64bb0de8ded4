"""Rotations: SciPy's class, of traced values by its own code for any library's arrays, adopted.

Functions on quaternions (x, y, z, w), the last axis of an array, are here where SciPy's have no
derivative or another one. Near the identity the rotation vector and its quaternion are smooth
functions of each other, which series compute where a quotient would be 0 / 0.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation as PlainRotation
from scipy.spatial.transform import Slerp as PlainSlerp
from scipy.spatial.transform import _rotation_xp as functions

import tapegrad.numpy
from tapegrad._adopt.names import layered
from tapegrad._core.types import Value
from tapegrad._core.values import any_true, in_trace, untraced
from tapegrad._errors import BatchingError, NotDifferentiableError
from tapegrad.scipy._copies import in_place_of, module_copy, own_copy
from tapegrad.scipy._mirrored import Mirrored, as_ours, asked, holds_mapped
from tapegrad.scipy._undetermined import without_derivative
from tapegrad.scipy.linalg import polar

_CLASS, _FUNCTIONS = (f"scipy.spatial.transform._rotation{end}" for end in ("", "_xp"))
_SMALL = 1e-3  # where the next term of a series is below the rounding


@in_place_of("scipy._lib.array_api_compat.common._helpers")
@in_place_of("scipy._external.array_api_compat.common._helpers")
def is_writeable_array(x: Any) -> bool:
    """Whether elements may be set, of arrays that are not NumPy's own whatever their memory."""
    return x.flags.writeable if type(x) is np.ndarray else hasattr(type(x), "__setitem__")


@in_place_of(_CLASS)
@in_place_of(_FUNCTIONS)
def array_namespace(*arrays: Any) -> Any:
    """NumPy's names as adopted code has them, of all arrays."""
    return _names()


@functools.cache
def _names() -> Any:
    """`any` there answers whether input is valid, which is a question about all examples."""
    found = own_copy(functions.array_namespace)(np.empty(0))
    made = layered(found, lambda name: getattr(found, name))
    vars(made)["any"] = _any
    return made


def _any(x: Any, **options: Any) -> Any:
    return tapegrad.numpy.any(x, **options) if options else any_true(x)


@in_place_of(_CLASS)
def _promote(*args: Any, xp: Any) -> Any:
    """Arrays of doubles."""
    made = [x if x is None else _double(x) for x in args]
    return made[0] if len(made) == 1 else made


def _indexed(x: Any) -> Any:
    """An array that takes positions which differ between the examples of a vmap."""
    return x if in_trace(x) else tapegrad.numpy.array(x)


def _double(x: Any) -> Any:
    if in_trace(x) and x.dtype == np.float64:
        return x
    return tapegrad.numpy.asarray(x, dtype=np.float64)


@in_place_of(_CLASS)
def select_backend(xp: Any, cython_compatible: bool) -> Any:
    """The functions that compute, of which the compiled ones are not differentiable."""
    return module_copy(_FUNCTIONS)


def _bilinear(of_two: Any) -> Any:
    """Coefficients of a function of SciPy's that is linear in each of two quaternions."""
    units = np.eye(4)
    return np.reshape(of_two(units[:, None], units), (16, -1))


_PRODUCT = _bilinear(functions.compose_quat)
_MATRIX = _bilinear(
    lambda p, q: sum(s * functions.as_matrix(x) for x, s in ((p + q, 0.5), (p, -0.5), (q, -0.5)))
)


def _products(p: Value, q: Value) -> Any:
    pairs = np.expand_dims(p, -1) * np.expand_dims(q, -2)
    return np.reshape(pairs, (*pairs.shape[:-2], 16))


@in_place_of(_FUNCTIONS)
def compose_quat(p: Value, q: Value) -> Any:
    """The quaternions of one rotation after another."""
    return _products(p, q) @ _PRODUCT


@in_place_of(_FUNCTIONS)
def as_matrix(quat: Value) -> Any:
    """The matrices of quaternions."""
    return np.reshape(_products(quat, quat) @ _MATRIX, (*quat.shape[:-1], 3, 3))


@in_place_of(_FUNCTIONS)
def _make_elementary_quat(axis: int, angle: Value, **options: Any) -> Any:
    """Quaternions of turns around an axis."""
    half, units = np.expand_dims(angle, -1) / 2, np.eye(4)
    return np.sin(half) * units[axis] + np.cos(half) * units[3]


@in_place_of(_FUNCTIONS)
def from_rotvec(rotvec: Value, degrees: bool = False) -> Any:
    """The quaternions of vectors along the axis, as long as the angle."""
    if rotvec.shape[-1] != 3:
        raise ValueError(f"Expected `rot_vec` to have shape (..., 3), got {rotvec.shape}")
    v = np.deg2rad(rotvec) if degrees else rotvec
    squares = np.sum(v * v, axis=-1, keepdims=True)
    near = squares < _SMALL**2
    angle = np.sqrt(np.where(near, 1.0, squares))
    # sin(angle / 2) / angle and cos(angle / 2), by the first terms in the square of the angle
    ratio = np.where(near, 0.5 - squares / 48 + squares**2 / 3840, np.sin(angle / 2) / angle)
    scalar = np.where(near, 1 - squares / 8 + squares**2 / 384, np.cos(angle / 2))
    return np.concatenate([v * ratio, scalar], axis=-1)


@in_place_of(_FUNCTIONS)
def as_rotvec(quat: Value, degrees: bool = False) -> Any:
    """Vectors along the axis, as long as the angle, which is at most pi."""
    q = module_copy(_FUNCTIONS)._quat_canonical(quat)
    v, w = q[..., :3], q[..., 3:]
    squares = np.sum(v * v, axis=-1, keepdims=True)
    near = squares < _SMALL**2
    sine = np.sqrt(np.where(near, 1.0, squares))
    ratio = np.where(near, 2 + squares / 3 + 3 * squares**2 / 20, 2 * np.arctan2(sine, w) / sine)
    return np.rad2deg(v * ratio) if degrees else v * ratio


@in_place_of(_FUNCTIONS)
def from_matrix(matrix: Value, assume_valid: bool = False) -> Any:
    """The rotations nearest to matrices of positive determinant; ValueError for others.

    A matrix that is orthogonal moves with the rotations: by the antisymmetric part alone.
    """
    if matrix.shape[-2:] != (3, 3):
        raise ValueError(f"Expected `matrix` to have shape (..., 3, 3), got {matrix.shape}")
    if any_true(np.linalg.det(untraced(matrix)) <= 0):
        raise ValueError(
            "Rotation.from_matrix: expected matrices of positive determinant, got another: a "
            "reflection is no rotation. Turn one of its axes around."
        )
    return module_copy(_FUNCTIONS)._from_matrix_orthogonal(polar(matrix)[0])


@in_place_of(_FUNCTIONS)
def _normalize_quaternion(quat: Value) -> Any:
    norm = np.linalg.norm(quat, axis=-1, keepdims=True)
    if any_true(untraced(norm) == 0):
        raise ValueError("Found zero norm quaternions in `quat`.")
    return quat / norm


@in_place_of(_FUNCTIONS)
def align_vectors(a: Value, b: Value, weights: Any = None, *options: Any) -> Any:
    """SciPy's, which goes another way with an infinite weight."""
    if holds_mapped(weights):
        raise BatchingError(
            "Rotation.align_vectors: expected the same weights for all examples of a vmap, as an "
            "infinite one decides how it computes. Loop over the examples."
        )
    return own_copy(functions.align_vectors)(a, b, weights, *options)


@in_place_of(_FUNCTIONS)
def pow(quat: Value, n: Value) -> Any:  # noqa: A001
    """Rotations by n times the angle."""
    return from_rotvec(as_rotvec(quat) * n)


@in_place_of(_FUNCTIONS)
def _get_angles(*args: Any) -> Any:
    """SciPy's angles, with no derivatives in a gimbal lock, where SciPy sets one to zero."""
    cosine, sine = (np.hypot(*map(untraced, pair)) for pair in (args[4:6], args[6:8]))
    angles = own_copy(functions._get_angles)(*args)
    locked = np.expand_dims(np.minimum(cosine, sine) <= 0.5e-7, -1)
    return np.where(locked, without_derivative(angles, np.expand_dims(args[4], -1)), angles)


class Rotation(Mirrored, PlainRotation):
    """Rotations in three dimensions, as `scipy.spatial.transform.Rotation`.

    One rotation, or several along first axes. An object is SciPy's, of a class that derives from
    SciPy's, and has derivatives by what it is made of and what its methods are given.
    """

    _theirs = PlainRotation
    _differentiable = ("_quat",)
    _copied = True
    _asking = ("__iter__",)

    if TYPE_CHECKING:  # SciPy's methods, of which checkers know no types

        @classmethod
        def from_quat(cls, quat: Value, *, scalar_first: bool = False) -> Rotation: ...
        @classmethod
        def from_rotvec(cls, rotvec: Value, degrees: bool = False) -> Rotation: ...
        @classmethod
        def from_matrix(cls, matrix: Value, *, assume_valid: bool = False) -> Rotation: ...
        @classmethod
        def from_euler(cls, seq: str, angles: Value, degrees: bool = False) -> Rotation: ...
        def as_quat(
            self, canonical: bool = False, *, scalar_first: bool = False
        ) -> NDArray[Any]: ...
        def as_matrix(self) -> NDArray[Any]: ...
        def as_rotvec(self, degrees: bool = False) -> NDArray[Any]: ...
        def as_euler(self, seq: str, degrees: bool = False) -> NDArray[Any]: ...
        def apply(self, vectors: Value, inverse: bool = False) -> NDArray[Any]: ...
        def inv(self) -> Rotation: ...

    @staticmethod
    def _in_copy(theirs: Any) -> Any:
        held, functions = vars(theirs), module_copy(_FUNCTIONS)
        if not held or held["_backend"] is functions:
            return theirs
        made: Any = object.__new__(Rotation)
        names = module_copy(_CLASS).array_namespace(theirs._quat)
        vars(made).update(held, _backend=functions, _xp=names)
        return made

    def __iter__(self) -> Iterator[Any]:
        if self._is_plain():
            return map(as_ours, super().__iter__())
        return (self[k] for k in range(len(self)))

    def __rmul__(self, other: Any) -> Any:
        return self._in_copy(other) * self if isinstance(other, PlainRotation) else NotImplemented

    def __setitem__(self, indexer: Any, value: Any) -> None:
        raise NotDifferentiableError(
            "Rotation[...] = ...: not differentiable. Take Rotation.concatenate."
        )

    def reduce(self, left: Any = None, right: Any = None, return_indices: bool = False) -> Any:
        """Return the rotation multiplied by those of two groups that make its angle least.

        Parameters
        ----------
        left, right : Rotation, optional
            The groups, which are constants.
        return_indices : bool, default False
            Whether to return which have been taken, too.

        Returns
        -------
        Rotation or tuple
            The product; with `return_indices` and an array for each group.
        """
        given = asked(self.as_quat())
        if given is None:
            raise BatchingError("Rotation.reduce: not under vmap. Loop over the examples.")
        plain = PlainRotation(given[0], normalize=False)
        _, *indices = plain.reduce(left, right, return_indices=True)
        at = [None if index is None else np.reshape(index, self.shape) for index in indices]
        reduced = self if left is None else left[at[0]] * self
        reduced = reduced if right is None else reduced * right[at[1]]
        return (reduced, *indices) if return_indices else reduced

    @staticmethod
    def _from_raw_quat(quat: Value, xp: Any, backend: Any = None) -> Any:
        return own_copy(PlainRotation)._from_raw_quat(quat, xp, backend)


class Slerp(Mirrored, PlainSlerp):
    """Rotations between given ones at a constant rate, as `scipy.spatial.transform.Slerp`."""

    _theirs = PlainSlerp
    _differentiable = ("times", "timedelta", "rotations", "rotvecs")
    _copied = True

    @staticmethod
    def _in_copy(theirs: Any) -> Any:
        held = vars(theirs)
        if not held or "rotvecs" not in held:
            return theirs
        made: Any = object.__new__(Slerp)
        rotations = Rotation._in_copy(held["rotations"])
        vars(made).update(held, rotations=object.__new__(Rotation))
        vars(made.rotations).update(vars(rotations), _quat=_indexed(rotations._quat))
        for name in ("times", "timedelta", "rotvecs"):
            setattr(made, name, _indexed(held[name]))
        return made


__all__ = ["Rotation", "Slerp"]
