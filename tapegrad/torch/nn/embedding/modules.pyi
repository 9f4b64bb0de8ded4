"""The layers of `tapegrad.torch.nn.embedding`.

Written by docs/torch_stubs.py from what is there at run time: change that, not this.
"""

from builtins import bool as _bool, bytes as _bytes, complex as _complex, float as _float
from builtins import int as _int, str as _str, type as _type
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import IO, Any, Literal, NamedTuple, NoReturn, Self, TypeAlias, overload
import os

import numpy as np

from tapegrad.torch import return_types
from tapegrad.torch._dtypes import Size
from tapegrad.torch._dtypes import device as _device, dtype as _dtype
from tapegrad.torch._ops.create.generator import Generator
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.parameter import Parameter

# A number of Python, what stands for a tensor beside one, and integers one a dimension.
_Number: TypeAlias = _int | _float | _bool | _complex
_Operand: TypeAlias = Tensor | _Number | np.ndarray[Any, Any] | np.generic
_Sizes: TypeAlias = _int | Sequence[_int]
_Device: TypeAlias = _device | _str | _int


class _Table(Module):
    weight: Parameter
    padding_idx: _int | None
    def reset_parameters(self) -> None: ...

class Embedding(_Table):
    """A row for each whole number."""

    num_embeddings: _int
    embedding_dim: _int
    max_norm: _float | None
    norm_type: _float
    scale_grad_by_freq: _bool
    sparse: _bool
    def __init__(
        self,
        num_embeddings: _int,
        embedding_dim: _int,
        padding_idx: _int | None = None,
        max_norm: _float | None = None,
        norm_type: _float = 2.0,
        scale_grad_by_freq: _bool = False,
        sparse: _bool = False,
        _weight: Tensor | None = None,
        _freeze: _bool = False,
        device: _Device | None = None,
        dtype: _dtype | None = None,
    ) -> None: ...
    @classmethod
    def from_pretrained(
        self,
        embeddings: Tensor,
        freeze: _bool = True,
        padding_idx: _int | None = None,
        max_norm: _float | None = None,
        norm_type: _float = 2.0,
        scale_grad_by_freq: _bool = False,
        sparse: _bool = False,
    ) -> Any: ...
    def forward(self, input: Tensor) -> Tensor: ...

class EmbeddingBag(_Table):
    """Means, sums or maxima of bags of rows."""

    num_embeddings: _int
    embedding_dim: _int
    max_norm: _float | None
    norm_type: _float
    scale_grad_by_freq: _bool
    mode: _str
    sparse: _bool
    include_last_offset: _bool
    def __init__(
        self,
        num_embeddings: _int,
        embedding_dim: _int,
        max_norm: _float | None = None,
        norm_type: _float = 2.0,
        scale_grad_by_freq: _bool = False,
        mode: _str = 'mean',
        sparse: _bool = False,
        _weight: Tensor | None = None,
        include_last_offset: _bool = False,
        padding_idx: _int | None = None,
        device: _Device | None = None,
        dtype: _dtype | None = None,
    ) -> None: ...
    @classmethod
    def from_pretrained(
        self,
        embeddings: Tensor,
        freeze: _bool = True,
        max_norm: _float | None = None,
        norm_type: _float = 2.0,
        scale_grad_by_freq: _bool = False,
        mode: _str = 'mean',
        sparse: _bool = False,
        include_last_offset: _bool = False,
        padding_idx: _int | None = None,
    ) -> Any: ...
    def forward(
        self,
        input: Tensor,
        offsets: Tensor | None = None,
        per_sample_weights: Tensor | None = None,
    ) -> Tensor: ...
