"""Transforms: invertible functions of samples, with the logarithm of their Jacobian.

Knows tensors. Must not know distributions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch.distributions import constraints


class Transform:
    """A function y of x with an inverse. `event_dim`: dimensions that it mixes."""

    bijective = True
    event_dim = 0
    sign: Any = +1
    domain: constraints.Constraint = constraints.real
    codomain: constraints.Constraint = constraints.real

    def __call__(self, x: Any) -> Any:
        """The value y of the transform at x."""
        return self._call(x)

    @property
    def inv(self) -> Transform:
        """The inverse transform."""
        return _Inverse(self)

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """log |dy/dx| of each element."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == getattr(other, "__dict__", None)

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__.lstrip('_')}()"


class _Inverse(Transform):
    def __init__(self, transform: Transform) -> None:
        self._of = transform
        self.event_dim = transform.event_dim
        self.domain, self.codomain = transform.codomain, transform.domain

    @property
    def inv(self) -> Transform:
        return self._of

    def _call(self, x: Any) -> Any:
        return self._of._inverse(x)

    def _inverse(self, y: Any) -> Any:
        return self._of._call(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """As `Transform.log_abs_det_jacobian`."""
        return -self._of.log_abs_det_jacobian(y, x)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._of!r})"


class ExpTransform(Transform):
    """exp(x)."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return x.exp()

    def _inverse(self, y: Any) -> Any:
        return y.log()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """As `Transform.log_abs_det_jacobian`."""
        return x


class SigmoidTransform(Transform):
    """1 / (1 + exp(-x))."""

    codomain = constraints.unit_interval

    def _call(self, x: Any) -> Any:
        return x.sigmoid()

    def _inverse(self, y: Any) -> Any:
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """As `Transform.log_abs_det_jacobian`."""
        return -_softplus(-x) - _softplus(x)


class TanhTransform(Transform):
    """tanh(x)."""

    codomain = constraints.Interval(-1.0, 1.0)

    def _call(self, x: Any) -> Any:
        return x.tanh()

    def _inverse(self, y: Any) -> Any:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """As `Transform.log_abs_det_jacobian`."""
        return 2.0 * (math.log(2.0) - x - _softplus(-2.0 * x))


class SoftplusTransform(Transform):
    """log(1 + exp(x))."""

    codomain = constraints.positive

    def _call(self, x: Any) -> Any:
        return _softplus(x)

    def _inverse(self, y: Any) -> Any:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """As `Transform.log_abs_det_jacobian`."""
        return -_softplus(-x)


class AffineTransform(Transform):
    """loc + scale * x."""

    def __init__(self, loc: Any, scale: Any, event_dim: int = 0) -> None:
        self.loc, self.scale, self.event_dim = loc, scale, event_dim

    def _call(self, x: Any) -> Any:
        return self.loc + self.scale * x

    def _inverse(self, y: Any) -> Any:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """As `Transform.log_abs_det_jacobian`."""
        scale = OPERATIONS["as_tensor"](self.scale, dtype=x.dtype)
        found = scale.abs().log().expand(x.shape)
        return found.sum(tuple(range(-self.event_dim, 0))) if self.event_dim else found


class PowerTransform(Transform):
    """x ** exponent, of positive numbers."""

    domain = codomain = constraints.positive

    def __init__(self, exponent: Any) -> None:
        self.exponent = exponent

    def _call(self, x: Any) -> Any:
        return x**self.exponent

    def _inverse(self, y: Any) -> Any:
        return y ** (1 / self.exponent)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """As `Transform.log_abs_det_jacobian`."""
        return (self.exponent * y / x).abs().log()


class ComposeTransform(Transform):
    """Several transforms, the first applied first."""

    def __init__(self, parts: Sequence[Transform]) -> None:
        self.parts = list(parts)
        self.event_dim = max((part.event_dim for part in self.parts), default=0)
        if self.parts:
            self.domain, self.codomain = self.parts[0].domain, self.parts[-1].codomain

    def _call(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inverse(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part._inverse(y)
        return y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """As `Transform.log_abs_det_jacobian`."""
        total: Any = 0.0
        for part in self.parts:
            after = part(x)
            found = part.log_abs_det_jacobian(x, after)
            more = self.event_dim - part.event_dim
            total = total + (found.sum(tuple(range(-more, 0))) if more else found)
            x = after
        return total


def _softplus(x: Any) -> Any:
    return x.clamp(min=0) + (-x.abs()).exp().log1p()


identity_transform = ComposeTransform([])

__all__ = [
    "AffineTransform",
    "ComposeTransform",
    "ExpTransform",
    "PowerTransform",
    "SigmoidTransform",
    "SoftplusTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]
