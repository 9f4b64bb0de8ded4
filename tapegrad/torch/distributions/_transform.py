"""`Transform`: invertible functions of samples, their inverses, and several as one.

Knows tensors and constraints. Must not know any one function, nor distributions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad.torch._docstrings.sections import of_object
from tapegrad.torch._dtypes import Size
from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch.distributions import constraints
from tapegrad.torch.distributions._formulas import OfFormulas, formulas

Shape = Sequence[int]


def sum_last(value: Any, count: int) -> Any:
    """The sum over the last dimensions, `count` of them."""
    return value.sum(tuple(range(-count, 0))) if count else value


def broadcast_shape(shape: Shape, *others: Any) -> Any:
    """A shape broadcast with those of what may be tensors."""
    more = [value.shape for value in others if hasattr(value, "shape")]
    return OPERATIONS["broadcast_shapes"](tuple(shape), *more)


class Transform(OfFormulas):
    """A function y of x, with an inverse, and the logarithm of its derivative.

    This is the base class; a subclass is called with x, and `inv` with y. `domain` and `codomain`
    are the constraints of x and of y.

    ValueError: For another `cache_size`.
    Attribute bijective (bool): Whether the inverse is one on both sides.
    Attribute sign (int or Tensor): Of functions of numbers: +1 for those that grow, -1 for those
        that fall.

    >>> t = torch.distributions.AffineTransform(1.0, 2.0)
    >>> y = t(torch.tensor([0.0, 1.0]))
    >>> y, t.inv(y)
    (tensor([1., 3.]), tensor([0., 1.]))
    """

    bijective: Any = False
    domain: Any = constraints.real
    codomain: Any = constraints.real

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._pair: tuple[Any, Any] = (None, None)

    @property
    def event_dim(self) -> int:
        """The number of dimensions that it mixes; ValueError where it changes their number."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")
        return int(self.domain.event_dim)

    @property
    def sign(self) -> Any:
        """Whether it grows (+1) or falls (-1)."""
        raise NotImplementedError

    @property
    def inv(self) -> Transform:
        """The inverse transform."""
        return InverseTransform(self)

    def __call__(self, x: Any) -> Any:
        """The value y of the transform at x."""
        if not self._cache_size:
            return self._call(x)
        if self._pair[0] is not x:
            self._pair = x, self._call(x)
        return self._pair[1]

    def _inv_call(self, y: Any) -> Any:
        """The x whose value y is."""
        if not self._cache_size:
            return self._inverse(y)
        if self._pair[1] is not y:
            self._pair = self._inverse(y), y
        return self._pair[0]

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The transform with a cache, or without.

        cache_size ({0, 1}): As in the constructor.
        -> Transform: Itself if it is so already, else another.
        """
        if self._cache_size == cache_size:
            return self
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        Transform.__init__(made, cache_size)
        return made

    def _call(self, x: Any) -> Any:
        raise NotImplementedError

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        """The logarithm of |det dy/dx|.

        x (Tensor): A value of the domain.
        y (Tensor): That of the transform at x.
        -> Tensor: Of the shape of x without the dimensions that are mixed.
        NotImplementedError: For a transform without a formula, as those that are not bijective.
        """
        raise NotImplementedError

    def forward_shape(self, shape: Shape) -> Any:
        """The shape of y for the shape of x.

        shape (sequence of int): The shape of x.
        -> sequence of int: The shape of y.
        """
        return shape

    def inverse_shape(self, shape: Shape) -> Any:
        """The shape of x for the shape of y.

        shape (sequence of int): The shape of y.
        -> sequence of int: The shape of x.
        """
        return shape

    def _parts(self) -> dict[str, Any]:
        hidden = ("_cache_size", "_pair", "__doc__")
        return {name: value for name, value in self.__dict__.items() if name not in hidden}

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return False
        mine, theirs = self._parts(), other._parts()
        return mine.keys() == theirs.keys() and all(
            _equal(value, theirs[name]) for name, value in mine.items()
        )

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _equal(one: Any, other: Any) -> bool:
    found = one == other
    return bool(found.all()) if hasattr(found, "all") else bool(found)


class InverseTransform(Transform):
    """The inverse of a transform."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._of = transform
        self.domain, self.codomain = transform.codomain, transform.domain

    @property
    def bijective(self) -> bool:
        return bool(self._of.bijective)

    @property
    def sign(self) -> Any:
        return self._of.sign

    @property
    def inv(self) -> Transform:
        return self._of

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._of.with_cache(cache_size).inv

    def __call__(self, x: Any) -> Any:
        return self._of._inv_call(x)

    def _inv_call(self, y: Any) -> Any:
        return self._of(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        return -self._of.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Shape) -> Any:
        return self._of.inverse_shape(shape)

    def inverse_shape(self, shape: Shape) -> Any:
        return self._of.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._of!r})"


class ComposeTransform(Transform):
    """Several transforms, the first applied first.

    parts (sequence of Transform): The transforms; of none the identity.

    >>> d = torch.distributions
    >>> t = d.ComposeTransform([d.AffineTransform(0.0, 2.0), d.ExpTransform()])
    >>> t(torch.tensor([0.0, 1.0]))
    tensor([1.0000, 7.3891])
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts: list[Transform] = [
            part.with_cache(cache_size) if cache_size else part for part in parts
        ]

    def _bounded(self, first: str, ends: list[Transform]) -> Any:
        """The constraint at one end, over as many dimensions as the parts in between mix."""
        if not ends:
            return constraints.real
        found = getattr(ends[0], first)
        other = "codomain" if first == "domain" else "domain"
        rank = getattr(ends[-1], other).event_dim
        for part in reversed(ends):
            rank += getattr(part, first).event_dim - getattr(part, other).event_dim
            rank = max(rank, getattr(part, first).event_dim)
        more = rank - found.event_dim
        return constraints.independent(found, more) if more > 0 else found

    @property
    def domain(self) -> Any:
        return self._bounded("domain", self.parts)

    @property
    def codomain(self) -> Any:
        return self._bounded("codomain", self.parts[::-1])

    @property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.parts)

    @property
    def sign(self) -> Any:
        return math.prod(part.sign for part in self.parts)

    def __call__(self, x: Any) -> Any:
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Any) -> Any:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        if not self.parts:
            return OPERATIONS["zeros_like"](x)
        total: Any = 0.0
        rank = self.domain.event_dim
        for part in self.parts:
            after = part(x)
            found = part.log_abs_det_jacobian(x, after)
            total = total + sum_last(found, rank - part.domain.event_dim)
            rank += part.codomain.event_dim - part.domain.event_dim
            x = after
        return total

    def with_cache(self, cache_size: int = 1) -> Transform:
        if self._cache_size == cache_size:
            return self
        return ComposeTransform(self.parts, cache_size)

    def forward_shape(self, shape: Shape) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Shape) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        listed = ",\n    ".join(map(repr, self.parts))
        return f"ComposeTransform(\n    {listed}\n)"


identity_transform = ComposeTransform([])
identity_transform.__doc__ = of_object("""The transform that returns what it is given: of no parts.

x (Tensor): What it is given, and returns.
-> Tensor: The same object.

>>> torch.distributions.identity_transform(torch.tensor(3.0))
tensor(3.)
""")
__test__ = {"identity_transform": identity_transform.__doc__}  # doctest looks at no objects


class IndependentTransform(Transform):
    """A transform of whose batch dimensions the last count as dimensions of one event.

    base_transform: The transform.
    reinterpreted_batch_ndims: How many dimensions.

    >>> t = torch.distributions.IndependentTransform(torch.distributions.ExpTransform(), 1)
    >>> x = torch.tensor([1.0, 2.0])
    >>> t.log_abs_det_jacobian(x, t(x))
    tensor(3.)
    """

    _formulas = formulas(
        sign=lambda self: self.base_transform.sign,
        forward_shape=lambda self, shape: self.base_transform.forward_shape(shape),
        inverse_shape=lambda self, shape: self.base_transform.inverse_shape(shape),
    )

    def __init__(
        self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size)
        self.base_transform: Transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def domain(self) -> Any:
        count = self.reinterpreted_batch_ndims
        return constraints.independent(self.base_transform.domain, count)

    @property
    def codomain(self) -> Any:
        count = self.reinterpreted_batch_ndims
        return constraints.independent(self.base_transform.codomain, count)

    @property
    def bijective(self) -> bool:
        return bool(self.base_transform.bijective)

    def _call(self, x: Any) -> Any:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Any) -> Any:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        found = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_last(found, self.reinterpreted_batch_ndims)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class ReshapeTransform(Transform):
    """Another shape of the last dimensions.

    in_shape (sequence of int): The shape of an event of x.
    out_shape (sequence of int): That of y, of as many elements.
    ValueError: If the numbers of elements differ.

    >>> t = torch.distributions.ReshapeTransform((4,), (2, 2))
    >>> t(torch.arange(4.0))
    tensor([[0., 1.],
            [2., 3.]])
    """

    bijective = True
    _formulas = formulas(
        log_abs_det_jacobian=lambda self, x, y: x.new_zeros(
            tuple(x.shape[: x.dim() - len(self.in_shape)])
        ),
        forward_shape=lambda self, shape: _replaced(shape, self.in_shape, self.out_shape),
        inverse_shape=lambda self, shape: _replaced(shape, self.out_shape, self.in_shape),
    )

    def __init__(self, in_shape: Shape, out_shape: Shape, cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = Size(in_shape), Size(out_shape)
        if math.prod(in_shape) != math.prod(out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size)
        self.domain = constraints.independent(constraints.real, len(self.in_shape))
        self.codomain = constraints.independent(constraints.real, len(self.out_shape))

    def _parts(self) -> dict[str, Any]:
        return {"in_shape": self.in_shape, "out_shape": self.out_shape}

    def _call(self, x: Any) -> Any:
        kept = x.shape[: x.dim() - len(self.in_shape)]
        return x.reshape((*kept, *self.out_shape))

    def _inverse(self, y: Any) -> Any:
        kept = y.shape[: y.dim() - len(self.out_shape)]
        return y.reshape((*kept, *self.in_shape))


def _replaced(shape: Shape, old: Shape, new: Shape) -> Any:
    if len(shape) < len(old):
        raise ValueError("Too few dimensions on input")
    cut = len(shape) - len(old)
    if tuple(shape[cut:]) != tuple(old):
        raise ValueError(f"Shape mismatch: expected {tuple(shape[cut:])} but got {Size(old)}")
    return Size((*shape[:cut], *new))


class _OfParts(Transform):
    """Transforms of the parts of x along a dimension."""

    def __init__(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all(isinstance(part, Transform) for part in tseq):
            raise AssertionError("All elements of tseq must be Transform instances")
        super().__init__(cache_size)
        self.transforms: list[Transform] = [part.with_cache(cache_size) for part in tseq]
        self.dim = dim

    @property
    def bijective(self) -> bool:
        return all(part.bijective for part in self.transforms)


class CatTransform(_OfParts):
    """Transforms of parts of given lengths, one after the other along a dimension.

    lengths (sequence of int): The lengths of the parts; by default 1 each.
    AssertionError: If something in `tseq` is no transform, or the lengths are not as many.

    >>> d = torch.distributions
    >>> t = d.CatTransform([d.ExpTransform(), d.AffineTransform(0.0, 2.0)], lengths=[1, 2])
    >>> t(torch.tensor([0.0, 1.0, 2.0]))
    tensor([1., 2., 4.])
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(tseq, dim, cache_size)
        self.lengths: list[int] = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(
                f"lengths ({len(self.lengths)}) must match transforms ({len(self.transforms)})"
            )

    @property
    def event_dim(self) -> int:
        return max(part.event_dim for part in self.transforms)

    @property
    def length(self) -> int:
        """The sum of the lengths."""
        return sum(self.lengths)

    @property
    def domain(self) -> Any:
        return constraints.cat([part.domain for part in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:
        found = [part.codomain for part in self.transforms]
        return constraints.cat(found, self.dim, self.lengths)

    def _cut(self, x: Any) -> list[Any]:
        if x.size(self.dim) != self.length:
            raise AssertionError(
                f"Expected size {self.length} at dim {self.dim}, got {x.size(self.dim)}"
            )
        return list(x.split(self.lengths, self.dim))

    def _joined(self, parts: list[Any]) -> Any:
        return OPERATIONS["cat"](parts, self.dim)

    def _call(self, x: Any) -> Any:
        pairs = zip(self.transforms, self._cut(x), strict=True)
        return self._joined([part(piece) for part, piece in pairs])

    def _inverse(self, y: Any) -> Any:
        pairs = zip(self.transforms, self._cut(y), strict=True)
        return self._joined([part.inv(piece) for part, piece in pairs])

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        found = []
        for part, one, other in zip(self.transforms, self._cut(x), self._cut(y), strict=True):
            slope = part.log_abs_det_jacobian(one, other)
            found.append(sum_last(slope, self.event_dim - part.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        return OPERATIONS["cat"](found, dim) if dim < 0 else sum(found)


class StackTransform(_OfParts):
    """Transforms of parts of length one, without the dimension.

    AssertionError: If something in `tseq` is no transform.

    >>> d = torch.distributions
    >>> t = d.StackTransform([d.ExpTransform(), d.AffineTransform(0.0, 2.0)])
    >>> t(torch.tensor([[0.0, 0.0], [1.0, 2.0]]))
    tensor([[1., 1.],
            [2., 4.]])
    """

    _formulas = formulas(
        _call=lambda self, x: OPERATIONS["stack"](
            [part(piece) for part, piece in self._pairs(x)], self.dim
        ),
    )

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(tseq, dim, cache_size)

    @property
    def event_dim(self) -> int:
        return int(self.domain.event_dim)

    @property
    def domain(self) -> Any:
        return constraints.stack([part.domain for part in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:
        return constraints.stack([part.codomain for part in self.transforms], self.dim)

    def _pairs(self, x: Any) -> Any:
        if x.size(self.dim) != len(self.transforms):
            raise AssertionError(
                f"Expected size {len(self.transforms)} at dim {self.dim}, got {x.size(self.dim)}"
            )
        return zip(self.transforms, x.unbind(self.dim), strict=True)

    def _inverse(self, y: Any) -> Any:
        made = [part.inv(piece) for part, piece in self._pairs(y)]
        return OPERATIONS["stack"](made, self.dim)

    def log_abs_det_jacobian(self, x: Any, y: Any) -> Any:
        pieces = zip(self._pairs(x), y.unbind(self.dim), strict=True)
        found = [part.log_abs_det_jacobian(one, other) for (part, one), other in pieces]
        return OPERATIONS["stack"](found, self.dim)
