"""Rotations as unit quaternions (x, y, z, w), the last axis of an array.

Near the identity the rotation vector and its quaternion are smooth functions of each other, which
series compute where a quotient would be 0 / 0.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation as PlainRotation

from tapegrad._core.types import Value
from tapegrad._core.values import any_true, in_trace, innermost, lift, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.scipy.linalg import polar

_SMALL = 1e-3  # where the next term of a series is below the rounding


def _as_array(x: Any) -> Any:
    """In double precision, as SciPy computes."""
    x = lift(x)
    x = (x if hasattr(x, "ndim") else np.asarray(x)) * 1.0
    return x if x.dtype == np.float64 else x.astype(np.float64)


def _safe(condition: Any, x: Value, other: float) -> Value:
    return np.where(condition, other, x)


class Rotation(PlainRotation):
    """Rotations in three dimensions, as `scipy.spatial.transform.Rotation`.

    One rotation, or several along a first axis. An object is SciPy's, of a class that derives from
    SciPy's, unless it is made of traced values; then it has the methods that are defined here, and
    others raise NotDifferentiableError.
    """

    def __init__(
        self,
        quat: Value,
        normalize: bool = True,
        copy: bool = True,
        scalar_first: bool = False,
    ) -> None:
        if not _is_traced(quat):
            super().__init__(quat, normalize, copy, scalar_first)
            return
        q = _checked(_as_array(quat), 4)
        if scalar_first:
            q = np.concatenate([q[..., 1:], q[..., :1]], axis=-1)
        self._traced = q / np.linalg.norm(q, axis=-1, keepdims=True) if normalize else q

    @classmethod
    def _of(cls, quaternion: Value) -> Rotation:
        return cls(quaternion, normalize=False)

    @property
    def _quaternion(self) -> Any:
        return self._traced if "_traced" in vars(self) else super().as_quat()

    # -- making ------------------------------------------------------------------------------

    @classmethod
    def from_quat(cls, quat: Value, *, scalar_first: bool = False) -> Rotation:
        """Quaternions (x, y, z, w), or (w, x, y, z); they are normalised."""
        return cls(quat, scalar_first=scalar_first)

    @classmethod
    def from_rotvec(cls, rotvec: Value, degrees: bool = False) -> Rotation:
        """Vectors along the axis, as long as the angle."""
        v = _checked(_as_array(rotvec), 3)
        v = np.deg2rad(v) if degrees else v
        squares = np.sum(v * v, axis=-1, keepdims=True)
        near = squares < _SMALL**2
        angle = np.sqrt(_safe(near, squares, 1.0))
        # sin(angle / 2) / angle and cos(angle / 2), by the first terms in the square of the angle
        ratio = np.where(near, 0.5 - squares / 48 + squares**2 / 3840, np.sin(angle / 2) / angle)
        scalar = np.where(near, 1 - squares / 8 + squares**2 / 384, np.cos(angle / 2))
        return cls._of(np.concatenate([v * ratio, scalar], axis=-1))

    @classmethod
    def from_matrix(cls, matrix: Value) -> Rotation:
        """The rotations nearest to matrices of positive determinant; ValueError for others.

        A matrix that is orthogonal moves with the rotations: by the antisymmetric part alone.
        """
        m = _as_array(matrix)
        if m.shape[-2:] != (3, 3):
            raise ValueError(f"Rotation.from_matrix: expected shape (..., 3, 3), got {m.shape}.")
        if any_true(np.linalg.det(untraced(m)) <= 0):
            raise ValueError(
                "Rotation.from_matrix: expected matrices of positive determinant, got another: a "
                "reflection is no rotation. Turn one of its axes around."
            )
        m = polar(m)[0]
        trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
        diagonal = np.stack([m[..., 0, 0], m[..., 1, 1], m[..., 2, 2], trace], axis=-1)
        candidates = [_largest(m, trace, k) for k in range(4)]
        # Each column of 4 q q^T is a multiple of q; the one with the greatest entry is divided by.
        choice = np.argmax(untraced(diagonal), axis=-1)
        q = candidates[0]
        for k in range(1, 4):
            q = np.where((choice == k)[..., None], candidates[k], q)
        return cls(q)

    @classmethod
    def from_euler(cls, seq: str, angles: Value, degrees: bool = False) -> Rotation:
        """Turns about axes one after another: fixed ones for "xyz", the body's own for "XYZ"."""
        intrinsic, lower = seq.isupper(), seq.lower()
        if not 1 <= len(seq) <= 3 or set(lower) - set("xyz") or not (seq.islower() or intrinsic):
            raise ValueError(f"Rotation.from_euler: expected axes as 'xyz' or 'XYZ', got {seq!r}.")
        a = _as_array(angles)
        a = np.deg2rad(a) if degrees else a
        a = a if a.ndim else a[None]
        if a.shape[-1] != len(seq):
            raise ValueError(
                f"Rotation.from_euler: expected {len(seq)} angles each, got shape {a.shape}."
            )
        total: Rotation | None = None
        for k, name in enumerate(lower):
            unit = np.eye(3)["xyz".index(name)]
            turn = cls.from_rotvec(a[..., k, None] * unit)
            total = turn if total is None else total * turn if intrinsic else turn * total
        assert total is not None
        return total

    @classmethod
    def from_mrp(cls, mrp: Value) -> Rotation:
        """Modified Rodrigues parameters: along the axis, as long as tan(angle / 4)."""
        m = _checked(_as_array(mrp), 3)
        squares = np.sum(m * m, axis=-1, keepdims=True)
        return cls._of(np.concatenate([2 * m, 1 - squares], axis=-1) / (1 + squares))

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """All rotations along one first axis."""
        return cls._of(np.concatenate([np.atleast_2d(r._quaternion) for r in rotations]))

    # -- reading -----------------------------------------------------------------------------

    def as_quat(self, canonical: bool = False, *, scalar_first: bool = False) -> NDArray[Any]:
        """(x, y, z, w), or (w, x, y, z); canonical: of the two signs that with w >= 0."""
        q = self._quaternion
        if canonical:
            plain = untraced(q)
            sign = np.where(plain[..., 3:] < 0, -1.0, 1.0)
            q = q * sign
        return np.concatenate([q[..., 3:], q[..., :3]], axis=-1) if scalar_first else q

    def as_matrix(self) -> NDArray[Any]:
        """Matrices that turn column vectors."""
        x, y, z, w = (self._quaternion[..., k] for k in range(4))
        rows = [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
        return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)

    def as_rotvec(self, degrees: bool = False) -> NDArray[Any]:
        """Vectors along the axis, as long as the angle, which is at most pi."""
        q = self.as_quat(canonical=True)
        v, w = q[..., :3], q[..., 3:]
        squares = np.sum(v * v, axis=-1, keepdims=True)
        near = squares < _SMALL**2
        sine = np.sqrt(_safe(near, squares, 1.0))
        ratio = np.where(
            near, 2 + squares / 3 + 3 * squares**2 / 20, 2 * np.arctan2(sine, w) / sine
        )
        return np.rad2deg(v * ratio) if degrees else v * ratio

    def magnitude(self) -> Value:
        """The angle, from 0 to pi; its slope at 0 is 0."""
        return np.linalg.norm(self.as_rotvec(), axis=-1)

    def as_mrp(self) -> NDArray[Any]:
        """Vectors along the axis, as long as tan(angle / 4)."""
        q = self.as_quat(canonical=True)
        return q[..., :3] / (1 + q[..., 3:])

    # -- computing ---------------------------------------------------------------------------

    def apply(self, vectors: Value, inverse: bool = False) -> NDArray[Any]:
        """Turned vectors, the last axis of an array."""
        v = _checked(_as_array(vectors), 3)
        m = self.as_matrix()
        return np.einsum("...ji,...j->...i" if inverse else "...ij,...j->...i", m, v)

    def inv(self) -> Rotation:
        """The rotation back."""
        return Rotation._of(self._quaternion * np.array([-1.0, -1.0, -1.0, 1.0]))

    def __mul__(self, other: Rotation) -> Rotation:
        """First the other rotation, then this one."""
        given: tuple[Any, ...] = (self, other)
        p, q = (r._quaternion if isinstance(r, Rotation) else r.as_quat() for r in given)
        x, y, z, w = (p[..., k] for k in range(4))
        a, b, c, d = (q[..., k] for k in range(4))
        parts = [
            w * a + x * d + y * c - z * b,
            w * b - x * c + y * d + z * a,
            w * c + x * b - y * a + z * d,
            w * d - x * a - y * b - z * c,
        ]
        return Rotation._of(np.stack(parts, axis=-1))

    def __pow__(self, n: Value, modulus: None = None) -> Rotation:
        return Rotation.from_rotvec(self.as_rotvec() * n)

    @property
    def single(self) -> bool:
        """Whether this is one rotation."""
        return bool(self._quaternion.ndim == 1) if _is_traced(self) else super().single

    @property
    def shape(self) -> tuple[int, ...]:
        """The axes of the rotations."""
        return tuple(self._quaternion.shape[:-1]) if _is_traced(self) else super().shape

    def __repr__(self) -> str:
        return f"Rotation.from_quat({self._quaternion!r})"

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Rotation]:
        return (self[k] for k in range(len(self)))

    def __rmul__(self, other: Any) -> Any:
        return Rotation(other.as_quat(), normalize=False) * self

    def __len__(self) -> int:
        if self.single:
            raise TypeError("Single rotation has no len().")
        return int(self._quaternion.shape[0])

    def __getitem__(self, index: Any) -> Rotation:
        if self.single:
            raise TypeError("Single rotation is not subscriptable.")
        return Rotation._of(self._quaternion[index])


def _is_traced(*values: Any) -> bool:
    for value in values:
        if isinstance(value, (list, tuple)):
            if _is_traced(*value):
                return True
        elif "_traced" in vars(value) if isinstance(value, Rotation) else in_trace(value):
            return True
    return innermost(values) is not None


def _as_ours(found: Any) -> Any:
    if type(found) is PlainRotation:
        found.__class__ = Rotation
    if isinstance(found, Iterator):
        return map(_as_ours, found)
    return tuple(map(_as_ours, found)) if isinstance(found, tuple) else found


def _of_either(name: str, theirs: Any, ours: Any) -> Any:
    """SciPy's method where no rotation and no argument is traced, ours elsewhere."""

    @functools.wraps(theirs)
    def method(*args: Any, **kwargs: Any) -> Any:
        if not _is_traced(*args, *kwargs.values()):
            return _as_ours(theirs(*args, **kwargs))
        if ours is None:
            raise NotDifferentiableError(
                f"scipy.spatial.transform.Rotation.{name}: not differentiable here. Compute with "
                "as_matrix(), as_quat() or as_rotvec()."
            )
        return ours(*args, **kwargs)

    return method


def _with_those_of_scipy() -> None:
    kept = ("__init__", "__new__", "__class__", "__getstate__", "__setstate__")
    for name, theirs in vars(PlainRotation).items():
        is_class = isinstance(theirs, classmethod)
        if isinstance(theirs, staticmethod) or is_class or inspect.isfunction(theirs):
            if name in kept or (name.startswith("_") and not name.startswith("__")):
                continue
            ours = vars(Rotation).get(name)
            if inspect.isfunction(theirs):
                setattr(Rotation, name, _of_either(name, theirs, ours))
            else:
                own = None if ours is None else getattr(Rotation, name)
                made = _of_either(name, getattr(PlainRotation, name), own)
                setattr(Rotation, name, staticmethod(made))


def _checked(x: Value, count: int) -> Value:
    if not x.ndim or x.shape[-1] != count:
        raise ValueError(f"Rotation: expected shape (..., {count}), got {x.shape}.")
    return x


def _largest(m: Value, trace: Value, k: int) -> Value:
    """Column k of 4 q q^T, from the elements of the matrix of q."""
    if k == 3:
        parts = [
            m[..., 2, 1] - m[..., 1, 2],
            m[..., 0, 2] - m[..., 2, 0],
            m[..., 1, 0] - m[..., 0, 1],
            1 + trace,
        ]
        return np.stack(parts, axis=-1)
    i, j = (k + 1) % 3, (k + 2) % 3
    parts = [trace] * 4
    parts[k] = 1 - trace + 2 * m[..., k, k]
    parts[i] = m[..., i, k] + m[..., k, i]
    parts[j] = m[..., j, k] + m[..., k, j]
    parts[3] = m[..., j, i] - m[..., i, j]
    return np.stack(parts, axis=-1)


_with_those_of_scipy()

__all__ = ["Rotation"]
