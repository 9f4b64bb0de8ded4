"""Transformers: layers of encoders and decoders, their stacks, and both together.

Knows how attention, norms and linear layers are put together. Must not know how they compute.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.torch._dtypes import device, dtype, require_cpu
from tapegrad.torch._ops.elementwise.activations import gelu
from tapegrad.torch._tensor.tensor import Tensor, of_value, plain_of
from tapegrad.torch.nn import init
from tapegrad.torch.nn.activation.functions import relu
from tapegrad.torch.nn.attention import functions as _attention
from tapegrad.torch.nn.attention.modules import MultiheadAttention
from tapegrad.torch.nn.containers.modules import ModuleList
from tapegrad.torch.nn.dropout.modules import Dropout
from tapegrad.torch.nn.linear import Linear
from tapegrad.torch.nn.module.factory import given_dtype
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.normalization.modules import LayerNorm

Activation = str | Callable[[Any], Any]


def _activation_of(given: Activation) -> Callable[[Any], Any]:
    if not isinstance(given, str):
        return given
    if given not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {given}")
    return relu if given == "relu" else gelu


class _Block(Module):
    """Base of the layers of encoders and decoders.

    activation ({"relu", "gelu"} or callable): The function between the two linear layers.
    RuntimeError: For another word as `activation`.
    """

    _attentions: tuple[str, ...] = ("self_attn",)
    self_attn: MultiheadAttention

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        require_cpu(device)
        given: dict[str, Any] = {"bias": bias, "device": device, "dtype": dtype}
        for name in self._attentions:
            attention = MultiheadAttention(
                d_model, nhead, dropout=dropout, batch_first=batch_first, **given
            )
            setattr(self, name, attention)
        self.linear1: Linear = Linear(d_model, dim_feedforward, **given)
        self.dropout: Dropout = Dropout(dropout)
        self.linear2: Linear = Linear(dim_feedforward, d_model, **given)
        self.norm_first = norm_first
        parts = range(1, len(self._attentions) + 2)
        for place in parts:
            setattr(self, f"norm{place}", LayerNorm(d_model, layer_norm_eps, **given))
        for place in parts:
            setattr(self, f"dropout{place}", Dropout(dropout))
        self.activation = _activation_of(activation)
        if len(self._attentions) == 1:  # PyTorch's encoder layers ask for it, also in files
            self.activation_relu_or_gelu = {relu: 1, gelu: 2}.get(self.activation, 0)

    def _wide(self, x: Any) -> Any:
        """The two linear layers."""
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _attend(
        self, attention: Module, x: Any, memory: Any, mask: Any, padding: Any, is_causal: bool
    ) -> Any:
        return attention(
            x,
            memory,
            memory,
            attn_mask=mask,
            key_padding_mask=padding,
            is_causal=is_causal,
            need_weights=False,
        )[0]


class TransformerEncoderLayer(_Block):
    """Attention of a sequence to itself, and two linear layers, each added to its input.

    >>> layer = torch.nn.TransformerEncoderLayer(4, 2, dim_feedforward=8)
    >>> layer(torch.ones(5, 3, 4)).shape
    torch.Size([5, 3, 4])
    """

    def forward(
        self,
        src: Any,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        padding_type = None if src_key_padding_mask is None else src_key_padding_mask.dtype
        mask_type = None if src_mask is None else src_mask.dtype
        padding = _attention.canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", mask_type, "src_mask", src.dtype
        )
        mask = _attention.canonical_mask(
            src_mask, "src_mask", padding_type, "", src.dtype, check=False
        )
        given = (mask, padding, is_causal)
        if self.norm_first:
            x = src + self._self_attention(self.norm1(src), *given)
            return x + self.dropout2(self._wide(self.norm2(x)))
        x = self.norm1(src + self._self_attention(src, *given))
        return self.norm2(x + self.dropout2(self._wide(x)))

    def _self_attention(self, x: Any, mask: Any, padding: Any, is_causal: bool) -> Any:
        return self.dropout1(self._attend(self.self_attn, x, x, mask, padding, is_causal))


class TransformerDecoderLayer(_Block):
    """Attention of a sequence to itself and to a memory, and two linear layers.

    >>> layer = torch.nn.TransformerDecoderLayer(4, 2, dim_feedforward=8)
    >>> layer(torch.ones(5, 3, 4), torch.ones(6, 3, 4)).shape
    torch.Size([5, 3, 4])
    """

    _attentions = ("self_attn", "multihead_attn")
    multihead_attn: MultiheadAttention

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = tgt + self._to_itself(self.norm1(tgt), own)
            x = x + self._to_memory(self.norm2(x), memory, other)
            return x + self.dropout3(self._wide(self.norm3(x)))
        x = self.norm1(tgt + self._to_itself(tgt, own))
        x = self.norm2(x + self._to_memory(x, memory, other))
        return self.norm3(x + self.dropout3(self._wide(x)))

    def _to_itself(self, x: Any, masks: Any) -> Any:
        return self.dropout1(self._attend(self.self_attn, x, x, *masks))

    def _to_memory(self, x: Any, memory: Any, masks: Any) -> Any:
        return self.dropout2(self._attend(self.multihead_attn, x, memory, *masks))


# --- Stacks -------------------------------------------------------------------------------------


def _copies(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


def _steps_of(x: Any, batch_first: bool) -> int:
    """The number of steps of a sequence, with or without batch."""
    return int(x.shape[1 if batch_first and x.ndim == 3 else 0])


def _is_causal_mask(mask: Any, given: bool | None, steps: int) -> bool:
    """Whether a mask is the causal one, unless the caller says so."""
    if given is not None or mask is None:
        return bool(given)
    value = plain_of(mask)
    return value.shape == (steps, steps) and bool(
        np.array_equal(value, plain_of(_causal_mask(steps)))
    )


def _causal_mask(size: int, given: dtype | None = None) -> Tensor:
    """-inf above the diagonal, else 0."""
    return of_value(np.triu(np.full((size, size), -np.inf, given_dtype(given)), 1))


class TransformerEncoder(Module):
    """Copies of a layer of an encoder, one after another, and perhaps a norm.

    encoder_layer (Module): The layer.
    enable_nested_tensor: Without effect: there are no nested tensors.
    mask_check: Without effect.

    >>> layer = torch.nn.TransformerEncoderLayer(4, 2, dim_feedforward=8)
    >>> torch.nn.TransformerEncoder(layer, 2)(torch.ones(5, 3, 4)).shape
    torch.Size([5, 3, 4])
    """

    def __init__(
        self,
        encoder_layer: Any,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers: ModuleList = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.use_nested_tensor = False
        self.mask_check = mask_check

    def forward(
        self,
        src: Any,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        mask_type = None if mask is None else mask.dtype
        padding = _attention.canonical_mask(
            src_key_padding_mask, "src_key_padding_mask", mask_type, "mask", src.dtype
        )
        mask = _attention.canonical_mask(mask, "mask", None, "", src.dtype, check=False)
        first = getattr(self.layers[0], "self_attn", None) if self.num_layers else None
        steps = _steps_of(src, bool(getattr(first, "batch_first", False)))
        causal = _is_causal_mask(mask, is_causal, steps)
        out = src
        for layer in self.layers:
            out = layer(out, src_mask=mask, is_causal=causal, src_key_padding_mask=padding)
        return out if self.norm is None else self.norm(out)


class TransformerDecoder(Module):
    """Copies of a layer of a decoder, one after another, and perhaps a norm.

    decoder_layer (Module): The layer.

    >>> layer = torch.nn.TransformerDecoderLayer(4, 2, dim_feedforward=8)
    >>> torch.nn.TransformerDecoder(layer, 2)(torch.ones(5, 3, 4), torch.ones(6, 3, 4)).shape
    torch.Size([5, 3, 4])
    """

    def __init__(self, decoder_layer: Any, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers: ModuleList = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Any,
        memory: Any,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        first = getattr(self.layers[0], "self_attn", None) if self.num_layers else None
        steps = _steps_of(tgt, bool(getattr(first, "batch_first", False)))
        causal = _is_causal_mask(tgt_mask, tgt_is_causal, steps)
        out = tgt
        for layer in self.layers:
            out = layer(
                out,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return out if self.norm is None else self.norm(out)


class Transformer(Module):
    """An encoder of a source, and a decoder of a target that attends to it.

    num_encoder_layers: How many layers the encoder has.
    num_decoder_layers: How many layers the decoder has.
    activation ({"relu", "gelu"} or callable): The function between the two linear layers.
    custom_encoder (Module): An encoder in place of the usual one.
    custom_decoder (Module): A decoder in place of the usual one.
    RuntimeError: For another word as `activation`.

    >>> model = torch.nn.Transformer(4, 2, 1, 1, dim_feedforward=8)
    >>> model(torch.ones(6, 3, 4), torch.ones(5, 3, 4)).shape
    torch.Size([5, 3, 4])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = relu,
        custom_encoder: Any = None,
        custom_decoder: Any = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        require_cpu(device)
        sizes = (d_model, nhead, dim_feedforward, dropout, activation)
        options: dict[str, Any] = {
            "layer_norm_eps": layer_norm_eps,
            "batch_first": batch_first,
            "norm_first": norm_first,
            "bias": bias,
            "device": device,
            "dtype": dtype,
        }

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        if custom_encoder is None:
            layer: Module = TransformerEncoderLayer(*sizes, **options)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm())
        else:
            self.encoder = custom_encoder
        if custom_decoder is None:
            layer = TransformerDecoderLayer(*sizes, **options)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, norm())
        else:
            self.decoder = custom_decoder
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: device | str | None = None, dtype: dtype | None = None
    ) -> Any:
        """The causal mask: -inf above the diagonal, else 0.

        sz: The number of steps.
        dtype: The dtype; the default one unless given.
        -> Tensor: Of shape (sz, sz).
        """
        require_cpu(device)
        return _causal_mask(sz, dtype)

    def forward(
        self,
        src: Any,
        tgt: Any,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        place = 0 if self.batch_first else 1
        if src.ndim == 3 and (tgt.ndim != 3 or src.shape[place] != tgt.shape[place]):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )


__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]
