"""Embeddings as modules: Embedding and EmbeddingBag.

Knows their parameters. Must not know how rows are looked up.
"""

from __future__ import annotations

from typing import Any

from tapegrad.torch._dtypes import device, dtype, require_cpu
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn import init
from tapegrad.torch.nn.embedding import functions as _embedding
from tapegrad.torch.nn.module.factory import empty_parameter
from tapegrad.torch.nn.module.layers import layer
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.parameter import Parameter


class _Table(Module):
    """A matrix with a row for each number: weight (num_embeddings, embedding_dim).

    NotImplementedError: For `sparse=True`.
    AssertionError: For a `padding_idx` outside, and a `_weight` of another shape.
    """

    weight: Parameter
    padding_idx: int | None
    _padding_word = "Padding_idx"

    def _add_weight(
        self,
        shape: tuple[int, int],
        given: Tensor | None,
        frozen: bool,
        dtype: dtype | None,
        device: device | str | None,
    ) -> None:
        self.num_embeddings, self.embedding_dim = shape
        if self.padding_idx is not None:
            self.padding_idx = _embedding._row_of_padding(
                self.padding_idx, shape[0], self._padding_word
            )
        if given is None:
            self.weight = empty_parameter(shape, dtype, device)
            self.weight.requires_grad_(not frozen)
            self.reset_parameters()
        else:
            if list(given.shape) != list(shape):
                raise AssertionError(
                    "Shape of weight does not match num_embeddings and embedding_dim"
                )
            self.weight = Parameter(given, requires_grad=not frozen)

    def reset_parameters(self) -> None:
        """Draw the rows from a normal distribution; that of padding is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                self.weight[self.padding_idx].fill_(0)


def _shape_of(embeddings: Tensor) -> tuple[int, int]:
    if embeddings.ndim != 2:
        raise AssertionError("Embeddings parameter is expected to be 2-dimensional")
    return embeddings.shape[0], embeddings.shape[1]


@layer("embedding", inputs="input")
class Embedding(_Table):
    """A row for each whole number.

    _freeze: Whether rows are not trained.

    >>> torch.nn.Embedding(10, 3)(torch.tensor([2, 0])).shape
    torch.Size([2, 3])
    """

    _in_repr = (
        "=num_embeddings =embedding_dim padding_idx? max_norm? norm_type? scale_grad_by_freq? "
        "sparse?"
    )

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        require_cpu(device)
        _embedding._require_dense(sparse)
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        self._add_weight((num_embeddings, embedding_dim), _weight, _freeze, dtype, device)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Any:
        """A module with given rows.

        -> Embedding: The module.
        AssertionError: For what is no matrix.
        """
        return cls(
            *_shape_of(embeddings),
            padding_idx=padding_idx,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            sparse=sparse,
            _weight=embeddings,
            _freeze=freeze,
        )


@layer("embedding_bag", inputs="input offsets per_sample_weights")
class EmbeddingBag(_Table):
    """Means, sums or maxima of bags of rows.

    padding_idx: A row that no bag counts, and that starts as zeros.

    >>> torch.nn.EmbeddingBag(10, 3)(torch.tensor([[2, 0], [1, 1]])).shape
    torch.Size([2, 3])
    """

    _in_repr = (
        "=num_embeddings =embedding_dim max_norm? norm_type? scale_grad_by_freq? mode! "
        "padding_idx?"
    )
    _padding_word = "padding_idx"

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        require_cpu(device)
        _embedding._require_dense(sparse)
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.mode = mode
        self.sparse = sparse
        self.include_last_offset = include_last_offset
        self._add_weight((num_embeddings, embedding_dim), _weight, False, dtype, device)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> Any:
        """A module with given rows.

        padding_idx: A row that no bag counts, and that starts as zeros.
        -> EmbeddingBag: The module.
        AssertionError: For what is no matrix.
        """
        made = cls(
            *_shape_of(embeddings),
            _weight=embeddings,
            max_norm=max_norm,
            norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq,
            mode=mode,
            sparse=sparse,
            include_last_offset=include_last_offset,
            padding_idx=padding_idx,
        )
        made.weight.requires_grad_(not freeze)
        return made


__all__ = ["Embedding", "EmbeddingBag"]
