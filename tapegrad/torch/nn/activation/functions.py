"""Activations with what only `nn.functional` has: inplace, and a dim that may be left out.

Knows how they differ from those of the namespace `torch`. Must not know how these are computed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad._warning import warn
from tapegrad.torch._dtypes import dtype
from tapegrad.torch._ops.call_plans import planned
from tapegrad.torch._ops.declare import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor

Operation = Callable[..., Any]
_ELEMENTWISE = """\
The values of `torch.{name}`, of each element.

input: Numbers of any shape.
inplace: Write into the argument, which is returned.
-> Tensor: Of the shape of `input`.

>>> torch.nn.functional.{name}(torch.tensor([-1.0, 0.0, 2.0]))
tensor({result})
"""
_ALONG = """\
The {name} along a dimension.

input: Numbers of any shape.
dim: The dimension. Leaving it out warns.
_stacklevel: Without effect.
dtype: What the numbers are converted to first.
-> Tensor: Of the shape of `input`{sums}.

>>> torch.nn.functional.{name}(torch.tensor([0.0, 0.0]), 0)
tensor({result})
"""


def _activation(name: str, result: str) -> Operation:
    def call(input: Tensor, inplace: bool = False) -> Any:
        return OPERATIONS[f"{name}_" if inplace else name](input)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = _ELEMENTWISE.format(name=name, result=result)
    return call


relu = _activation("relu", "[0., 0., 2.]")
tanh = _activation("tanh", "[-0.7616,  0.0000,  0.9640]")
sigmoid = _activation("sigmoid", "[0.2689, 0.5000, 0.8808]")


def _along(word: str, sums: str, result: str) -> Operation:
    def along(
        input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
    ) -> Any:
        if dim is None:
            dim = _implicit_dim(word, input.ndim)
        return OPERATIONS[word](input, dim, dtype=dtype)

    along.__name__ = along.__qualname__ = word
    along.__doc__ = _ALONG.format(name=word, sums=sums, result=result)
    return planned(along)


def _implicit_dim(word: str, ndim: int) -> int:
    warn(
        f"Implicit dimension choice for {word} has been deprecated. Change the call to include "
        "dim=X as an argument."
    )
    return 0 if ndim in (0, 1, 3) else 1


softmax = _along("softmax", ", with sums of 1 along `dim`", "[0.5000, 0.5000]")
log_softmax = _along("log_softmax", "", "[-0.6931, -0.6931]")


@planned
def softmin(
    input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype | None = None
) -> Any:
    """The softmax of `-input`.

    input: Numbers of any shape.
    dim: The dimension along which the results sum to 1. Leaving it out warns.
    _stacklevel: Without effect.
    dtype: What the numbers are converted to first.
    -> Tensor: Of the shape of `input`.

    >>> F.softmin(torch.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])
    """
    return softmax(-input, dim, dtype=dtype)


__all__ = ["log_softmax", "relu", "sigmoid", "softmax", "softmin", "tanh"]
