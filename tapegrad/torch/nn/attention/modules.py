"""Attention with several heads as a module.

Knows its parameters. Must not know how attention is computed.
"""

from __future__ import annotations

from tapegrad.torch._dtypes import device, dtype
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn import init
from tapegrad.torch.nn.attention import functions as _attention
from tapegrad.torch.nn.linear import Linear
from tapegrad.torch.nn.module.factory import add_parameters
from tapegrad.torch.nn.module.module import Module


class NonDynamicallyQuantizableLinear(Linear):
    """A Linear under the name that PyTorch gives to the output of MultiheadAttention."""


class MultiheadAttention(Module):
    """Attention with several heads, whose projections are parameters.

    Where keys and values have the size of the queries, `in_proj_weight` is that of all three; else
    they are `q_proj_weight`, `k_proj_weight` and `v_proj_weight`.

    embed_dim: The size of queries and outputs.
    num_heads: How many heads there are: a divisor of `embed_dim`.
    dropout: The probability with which a weight is set to 0 while training.
    bias: Whether projections have biases.
    add_bias_kv: Add a key and a value that are parameters.
    kdim: The size of keys; `embed_dim` unless given.
    vdim: The size of values; `embed_dim` unless given.
    ValueError: For sizes and numbers of 0 and below.
    AssertionError: For heads that do not divide `embed_dim`.
    See also tapegrad.torch.nn.functional.multi_head_attention_forward: The same as a function.

    >>> layer = torch.nn.MultiheadAttention(4, 2)
    >>> x = torch.ones(5, 3, 4)
    >>> out, weights = layer(x, x, x)
    >>> out.shape, weights.shape
    (torch.Size([5, 3, 4]), torch.Size([3, 5, 5]))
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and "
                f"num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim: int = embed_dim if kdim is None else kdim
        self.vdim: int = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim: int = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")
        same = self._qkv_same_embed_dim
        row = (1, 1, embed_dim) if add_bias_kv else None
        add_parameters(
            *(self, dtype, device),
            q_proj_weight=None if same else (embed_dim, embed_dim),
            k_proj_weight=None if same else (embed_dim, self.kdim),
            v_proj_weight=None if same else (embed_dim, self.vdim),
            in_proj_weight=(3 * embed_dim, embed_dim) if same else None,
            in_proj_bias=(3 * embed_dim,) if bias else None,
            bias_k=row,
            bias_v=row,
        )
        self.out_proj: NonDynamicallyQuantizableLinear = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for name in ("in_proj_weight", "q_proj_weight", "k_proj_weight", "v_proj_weight"):
            weight = self._parameters[name]
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend to keys, and project what comes of it.

        query: Of shape (l, batch, embed_dim), or (l, embed_dim).
        key: Of shape (s, batch, kdim), or (s, kdim).
        value: Of shape (s, batch, vdim), or (s, vdim).
        attn_mask: Of shape (l, s) or (batch * heads, l, s): True where a key is hidden, or numbers
            that are added.
        -> tuple: The output, (l, batch, embed_dim), and the weights: (batch, l, s), of each head
            (batch, heads, l, s), or None.
        """
        turned = self.batch_first and query.ndim == 3
        if turned:
            same, shared = query is key and key is value, key is value
            query = query.transpose(1, 0)
            key = query if same else key.transpose(1, 0)
            value = key if shared else value.transpose(1, 0)
        out, weights = _attention.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(1, 0) if turned else out), weights


__all__ = ["MultiheadAttention"]
