"""The vector spaces of arrays."""

from __future__ import annotations

from tapegrad.autograd._spaces import (
    ArrayVSpace,
    ComplexArrayVSpace,
    EighResultVSpace,
    EigResultVSpace,
    NamedTupleVSpace,
    QRResultVSpace,
    SlogdetResultVSpace,
    SVDResultVSpace,
    VSpace,
)

__all__ = [
    "ArrayVSpace",
    "ComplexArrayVSpace",
    "EigResultVSpace",
    "EighResultVSpace",
    "NamedTupleVSpace",
    "QRResultVSpace",
    "SVDResultVSpace",
    "SlogdetResultVSpace",
    "VSpace",
]
