"""The functions of `numpy.polynomial`, once for all bases, from the recurrence of each.

NumPy's own convert their arguments to plain arrays first. Each definition here follows from the
recurrence P[k+1] = (a x + b) P[k] - d P[k-1] alone.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.polynomial._polybase import ABCPolyBase

from tapegrad._arrays.conversion import array, asarray
from tapegrad._core.forms import General, Linear
from tapegrad._core.types import Cotangent, Function, Tangent, Value
from tapegrad._core.values import holds_in_trace, untraced
from tapegrad._errors import NotDifferentiableError
from tapegrad.numpy.polynomial import _coefficients
from tapegrad.numpy.polynomial._coefficients import (
    coefficients,
    differentiable,
    extended,
    floating,
    primitive,
    trimmed,
    whole,
)
from tapegrad.rules.series import Steps, evaluate, next_of

# Methods not named as NumPy's functions end, because Python has functions of these names.
_METHODS = {"int": "antiderivative", "pow": "power"}


class Basis:
    """The functions of one module of `numpy.polynomial`, for traced arguments."""

    def __init__(self, module: types.ModuleType, prefix: str, steps: Steps) -> None:
        self.module = module
        self.prefix = prefix
        self.steps = steps
        self.derived = self._linear("der", self.plain("der"))
        self.integrated = self._linear("int", self._integrated)
        self.solved = primitive(self.plain("roots"), self._roots_rule)

    def plain(self, name: str) -> Function:
        """NumPy's function: `plain("val")` is chebval in the basis of Chebyshev."""
        return getattr(self.module, self.prefix + name)

    def function(self, name: str) -> Function:
        """The same for traced arguments too."""
        return differentiable(self.plain(name), getattr(self, _METHODS.get(name, name)))

    # -- values ----------------------------------------------------------------------------------

    def val(self, x: Value, c: Value, tensor: bool = True) -> Value:
        """The series at points."""
        c = floating(array(c, ndmin=1, copy=None))
        if isinstance(x, ABCPolyBase):
            return evaluate(self.steps, x, c)
        x = asarray(x)
        return evaluate(self.steps, x, c.reshape(c.shape + (1,) * x.ndim) if tensor else c)

    def _at_tuples(self, c: Value, *points: Value) -> Value:
        first, *others = map(asarray, points)
        if any(x.shape != first.shape for x in others):
            names = ", ".join("xyz"[: len(points)]) if len(points) in (2, 3) else "ordinates"
            raise ValueError(f"{names} are incompatible")
        c = self.val(first, c)
        for x in others:
            c = self.val(x, c, tensor=False)
        return c

    def val2d(self, x: Value, y: Value, c: Value) -> Value:
        return self._at_tuples(c, x, y)

    def val3d(self, x: Value, y: Value, z: Value, c: Value) -> Value:
        return self._at_tuples(c, x, y, z)

    def valnd(self, pts: Sequence[Value], c: Value) -> Value:
        return self._at_tuples(c, *pts)

    def grid2d(self, x: Value, y: Value, c: Value) -> Value:
        return self.val(y, self.val(x, c))

    def grid3d(self, x: Value, y: Value, z: Value, c: Value) -> Value:
        return self.val(z, self.grid2d(x, y, c))

    def vander(self, x: Value, deg: int) -> Value:
        """The basis at points, along a last axis."""
        degree = whole(deg, "deg")
        if degree < 0:
            raise ValueError("deg must be non-negative")
        x = floating(array(x, ndmin=1, copy=None))
        columns = [x * 0 + 1]
        before: Any = 0
        for k in range(degree):
            columns.append(next_of(self.steps, k, x, columns[-1], before))
            before = columns[-2]
        return np.stack(columns, axis=-1)

    def _vander_of(self, points: Value, degrees: Sequence[int]) -> Value:
        if len(degrees) != len(points):
            raise ValueError(f"Expected {len(points)} dimensions of degrees, got {len(degrees)}")
        points = array(list(points))
        made = self.vander(points[0], degrees[0])
        for x, degree in zip(points[1:], degrees[1:], strict=True):
            made = made[..., None] * np.expand_dims(
                self.vander(x, degree), tuple(range(x.ndim, made.ndim))
            )
        return made.reshape(*points.shape[1:], -1)

    def vander2d(self, x: Value, y: Value, deg: Sequence[int]) -> Value:
        return self._vander_of((x, y), deg)

    def vander3d(self, x: Value, y: Value, z: Value, deg: Sequence[int]) -> Value:
        return self._vander_of((x, y, z), deg)

    # -- linear maps of coefficients -------------------------------------------------------------

    def _linear(self, name: str, function: Function) -> Callable[[Value], Value]:
        """A map along axis 0 that NumPy computes; its transpose is that of its matrix."""

        def transpose(g: Cotangent, _out: Value, c: Value) -> Cotangent:
            return np.tensordot(function(np.eye(c.shape[0])).T, g, 1)

        return primitive(function, lambda call: Linear(call, [transpose], name=self._name(name)))

    def _name(self, name: str) -> str:
        return f"np.polynomial.{self.prefix}{name}"

    def der(self, c: Value, m: int = 1, scl: Value = 1, axis: int = 0) -> Value:
        """The derivative of a series."""
        c = floating(array(c, ndmin=1))
        count = whole(m, "the order of derivation")
        if count < 0:
            raise ValueError("The order of derivation must be non-negative")
        c = np.moveaxis(c, whole(axis, "the axis"), 0)
        for _ in range(min(count, len(c))):
            c = self.derived(c * scl)
        return np.moveaxis(c, 0, axis)

    def antiderivative(
        self, c: Value, m: int = 1, k: Value = (), lbnd: Value = 0, scl: Value = 1, axis: int = 0
    ) -> Value:
        """The antiderivative of a series."""
        c = floating(array(c, ndmin=1))
        constants = list(k) if np.iterable(k) else [k]
        count = whole(m, "the order of integration")
        if count < 0:
            raise ValueError("The order of integration must be non-negative")
        if len(constants) > count:
            raise ValueError("Too many integration constants")
        if np.ndim(lbnd) != 0 or np.ndim(scl) != 0:
            raise ValueError("lbnd and scl must be scalars.")
        constants += [0] * (count - len(constants))
        c = np.moveaxis(c, whole(axis, "the axis"), 0)
        for constant in constants:
            empty = len(c) == 1 and np.all(untraced(c) == 0)  # NumPy does not lengthen it
            c = self.integrated(c * scl)
            first = c[:1] + (constant - self.val(lbnd, c))
            c = first if empty else np.concatenate([first, c[1:]])
        return np.moveaxis(c, 0, axis)

    def _integrated(self, c: Value) -> Value:
        if len(c) == 1:  # NumPy's integral of a zero series is shorter
            return self.plain("int")(np.ones(1))[(...,) + (None,) * (c.ndim - 1)] * c
        return self.plain("int")(c)

    def mulx(self, c: Value) -> Value:
        """A series times x."""
        c = coefficients(c)
        return trimmed(self._times_x(len(c) + 1)[:, : len(c)] @ c)

    def _times_x(self, size: int) -> Value:
        """The matrix of a product with x: x P[k] is (P[k+1] - b P[k] + d P[k-1]) / a."""
        made = np.zeros((size + 1, size))
        for k in range(size):
            a, b, d = self.steps(k)
            made[k + 1, k] = 1 / a
            made[k, k] = -b / a
            if k:
                made[k - 1, k] = d / a
        return made[:size]

    def _mapped(self, name: str, series: Value) -> Value:
        """The linear map of series that is NumPy's function of this name, by its matrix."""
        c = coefficients(series)
        function = getattr(self.module, name)
        columns = [extended(function(np.eye(1, k + 1, k)[0]), len(c)) for k in range(len(c))]
        return trimmed(np.stack(columns, axis=1) @ c)

    def from_powers(self, pol: Value) -> Value:
        return self._mapped(f"poly2{self.prefix}", pol)

    def to_powers(self, c: Value) -> Value:
        return self._mapped(f"{self.prefix}2poly", c)

    # -- arithmetic ------------------------------------------------------------------------------

    def line(self, off: Value, scl: Value) -> Value:
        """`off + scl x` as a series."""
        a, b, _ = self.steps(0)
        if untraced(scl) == 0:
            return array([off])
        return array([off - scl * (b / a), scl / a])

    def add(self, c1: Value, c2: Value) -> Value:
        first, second = coefficients(c1), coefficients(c2)
        size = max(len(first), len(second))
        return trimmed(extended(first, size) + extended(second, size))

    def sub(self, c1: Value, c2: Value) -> Value:
        return self.add(c1, -coefficients(c2))

    def mul(self, c1: Value, c2: Value) -> Value:
        """The product of two series."""
        return trimmed(self._product(coefficients(c1), coefficients(c2)))

    def _product(self, first: Value, second: Value) -> Value:
        """The product: the first series of the matrix of "times x", applied to the second."""
        if len(first) > len(second):
            first, second = second, first
        size = len(first) + len(second) - 1
        times_x = self._times_x(size)
        second = extended(second, size)
        after, total = 0, first[-1] * second
        for k in range(len(first) - 2, -1, -1):
            a, b, _ = self.steps(k)
            _, _, d = self.steps(k + 1)
            after, total = total, first[k] * second + a * (times_x @ total) + b * total - d * after
        return total

    def div(self, c1: Value, c2: Value) -> tuple[Value, Value]:
        """Quotient and remainder of two series."""
        rest, divisor = coefficients(c1), coefficients(c2)
        if untraced(divisor)[-1] == 0:
            if len(trimmed(divisor)) == 1 and untraced(divisor)[0] == 0:
                raise ZeroDivisionError
            if holds_in_trace(divisor):
                raise NotDifferentiableError(
                    f"np.polynomial.{self.prefix}div: the divisor's leading coefficient is zero, "
                    "where quotients jump. Cut the zeros off the divisor."
                )
            divisor = trimmed(divisor)
        size = len(divisor)
        shown = max(len(trimmed(rest)) - size + 1, 1)  # as long as NumPy's
        if size == 1:
            return (rest / divisor[-1])[:shown], rest[:1] * 0
        if len(rest) < size:
            return rest[:1] * 0, trimmed(rest)
        quotient = []
        for k in range(len(rest) - size, -1, -1):
            product = self._product(np.eye(1, k + 1, k)[0], divisor)
            factor = rest[-1] / product[-1]
            rest = rest[:-1] - factor * product[:-1]
            quotient.append(factor)
        return np.stack(quotient[::-1])[:shown], trimmed(rest)

    def power(self, c: Value, pow: int, maxpower: int | None = 16) -> Value:
        """A series raised to a whole power."""
        c = coefficients(c)
        power = whole(pow, "the power")
        if power < 0:
            raise ValueError("Power must be a non-negative integer.")
        if maxpower is not None and power > maxpower:
            raise ValueError("Power is too large")
        product: Any = np.ones(1, c.dtype)
        for _ in range(power):
            product = self._product(product, c)
        return trimmed(product)

    def fromroots(self, roots: Value) -> Value:
        """The series with these roots, and 1 before the highest power."""
        parts = [self.line(-root, 1) for root in coefficients(roots)]
        while len(parts) > 1:  # by halves: series of similar lengths round least
            odd = parts[-1:] if len(parts) % 2 else []
            pairs = zip(parts[::2], parts[1::2], strict=False)
            parts = [self._product(first, second) for first, second in pairs] + odd
        return parts[0]

    def trim(self, c: Value, tol: Value = 0) -> Value:
        """A series without the small coefficients at its end."""
        return _coefficients.trim(c, tol)

    # -- roots and fits --------------------------------------------------------------------------

    def companion(self, c: Value) -> Value:
        """The companion matrix: only its last column depends on the series."""
        c = self._led(coefficients(c), "companion")
        if len(c) < 2:
            raise ValueError("Series must have maximum degree of at least 1.")
        size = len(c) - 1
        last = self.plain("companion")(np.eye(1, size + 1, size)[0])
        weights = (self.plain("companion")(np.ones(size + 1)) - last)[:, -1]
        column = (c[:-1] / c[-1]) * weights
        return last + column[:, None] * np.eye(1, size, size - 1)

    def _led(self, c: Value, name: str) -> Value:
        if untraced(c)[-1] == 0:
            raise NotDifferentiableError(
                f"np.polynomial.{self.prefix}{name}: the leading coefficient is zero, where the "
                "result changes its shape. Cut the zeros off the series."
            )
        return c

    def roots(self, c: Value) -> Value:
        """The roots of a series; their derivative by the implicit function theorem."""
        return self.solved(coefficients(c))

    def _roots_rule(self, call: Callable[[Value], Value]) -> General:
        def move(dots: Sequence[Tangent], roots: Value, c: Value) -> Tangent:
            (c_dot,) = dots
            return -self.val(roots, c_dot) / self.val(roots, self.der(c))

        return General(call, jvp=move, arrays=1, name=self._name("roots"))

    def fit(
        self,
        x: Value,
        y: Value,
        deg: Any,
        rcond: Value = None,
        full: bool = False,
        w: Value = None,
    ) -> Value:
        """The series closest to data."""
        if full:
            raise NotDifferentiableError(
                f"np.polynomial.{self.prefix}fit: full=True is not differentiable (about the "
                "conditioning of a scaled matrix). Fit without it."
            )
        plainly = [untraced(part) for part in (x, y, deg, rcond)]
        _, (_, rank, *_) = self.plain("fit")(*plainly, full=True, w=untraced(w))
        x, y, degrees = floating(asarray(x)), floating(asarray(y)), np.asarray(deg)
        used = np.sort(degrees) if degrees.ndim else np.arange(int(degrees) + 1)
        if rank < len(used):
            raise NotDifferentiableError(
                f"np.polynomial.{self.prefix}fit: the data do not determine the fit, which then "
                "jumps with them. Take a lower degree or more points."
            )
        matrix = self.vander(x, used[-1])[:, used]
        if w is not None:
            weights = floating(asarray(w))
            matrix, y = matrix * weights[:, None], (y.T * weights).T
        scale = np.linalg.norm(untraced(matrix), axis=0)
        found = _least_squares(matrix / scale, y)
        found = (found.T / scale).T
        if len(used) < used[-1] + 1:
            rows = np.eye(used[-1] + 1)[:, used]
            found = rows @ found
        return found


def _least_squares(matrix: Value, y: Value) -> Value:
    """The solution for a matrix of full rank, by QR: no condition number is squared."""
    q, r = np.linalg.qr(matrix)
    rows = np.conj(q.T) @ y
    return np.linalg.solve(r, rows)


def values_from_roots(x: Value, r: Value, tensor: bool = True) -> Value:
    """The product of x - r over the roots, at points."""
    x, r = asarray(x), floating(array(r, ndmin=1, copy=None))
    if tensor:
        r = r.reshape(r.shape + (1,) * x.ndim)
    elif x.ndim >= r.ndim:
        raise ValueError("x.ndim must be < r.ndim when tensor == False")
    return np.prod(x - r, axis=0)
