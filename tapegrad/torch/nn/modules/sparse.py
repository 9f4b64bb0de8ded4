"""`torch.nn.modules.sparse`: embeddings, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch.nn.embedding.modules import Embedding, EmbeddingBag

__all__ = ["Embedding", "EmbeddingBag"]
