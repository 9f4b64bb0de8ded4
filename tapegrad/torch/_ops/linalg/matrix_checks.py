"""Which tensors `torch.linalg` takes for matrices, and its errors for others.

Must not know what is computed of them.
"""

from __future__ import annotations

from tapegrad._core.types import Value
from tapegrad.torch._dtypes import word_of


def require_two_dimensions(x: Value, text: str) -> None:
    """RuntimeError with this text for vectors and numbers: PyTorch has one for each function."""
    if len(x.shape) < 2:
        raise RuntimeError(text)


def require_matrices(word: str, x: Value, *, square: bool = False) -> None:
    """RuntimeError unless x holds matrices of inexact numbers, square ones where asked."""
    if len(x.shape) < 2:
        raise RuntimeError(f"{word}: The input tensor A must have at least 2 dimensions.")
    if square and x.shape[-1] != x.shape[-2]:
        raise RuntimeError(
            f"{word}: A must be batches of square matrices, but they are {x.shape[-2]} by "
            f"{x.shape[-1]} matrices"
        )
    require_inexact(word, x)


def require_inexact(word: str, x: Value) -> None:
    """RuntimeError unless x holds real or complex floats."""
    if x.dtype.kind not in "fc":
        raise RuntimeError(
            f"{word}: Expected a floating point or complex tensor as input. Got {word_of(x.dtype)}"
        )
