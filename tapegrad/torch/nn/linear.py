"""Linear and bilinear layers, and changes of shape, as modules.

Knows `Module` and the functions. Must not know how these are computed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tapegrad.torch._dtypes import device, dtype
from tapegrad.torch._graph.modes import no_grad
from tapegrad.torch._ops.linalg.affine import linear
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn import functional, init
from tapegrad.torch.nn.module.factory import add_parameters
from tapegrad.torch.nn.module.lazy import LazyModuleMixin
from tapegrad.torch.nn.module.module import Module
from tapegrad.torch.nn.parameter import Parameter, UninitializedParameter

# --- Layers -------------------------------------------------------------------------------------


class Identity(Module):
    """A layer that returns its argument.

    *args: Without effect.
    **kwargs: Without effect.

    >>> torch.nn.Identity(54)(torch.tensor([1.0]))
    tensor([1.])
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """A linear map, `input @ weight.T + bias`.

    The weight is (out_features, in_features), the bias (out_features,). Both are drawn uniformly
    between -k and k, where k = 1 / sqrt(in_features).

    in_features: The size of the last dimension of inputs.

    >>> torch.nn.Linear(3, 2)(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    _in_repr = "in_features out_features bias"
    weight: Parameter
    bias: Parameter

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        shape, row = (out_features, in_features), (out_features,) if bias else None
        add_parameters(self, dtype, device, weight=shape, bias=row)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        known = self._parameters
        try:
            return linear(input, known["weight"], known["bias"])
        except KeyError:  # replaced by tensors that are no parameters
            return linear(input, self.weight, self.bias)


class Flatten(Module):
    """Several dimensions joined into one.

    start_dim: The first of them.
    end_dim: The last of them.

    >>> torch.nn.Flatten()(torch.ones(2, 3, 4)).shape
    torch.Size([2, 12])
    """

    _in_repr = "start_dim end_dim"

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)


class Unflatten(Module):
    """One dimension as several.

    dim: The dimension.
    unflattened_size (tuple or list of int): The sizes.
    TypeError: For anything else than ints in a tuple or a list.

    >>> torch.nn.Unflatten(1, (2, 3))(torch.ones(4, 6)).shape
    torch.Size([4, 2, 3])
    """

    _in_repr = "dim unflattened_size"

    def __init__(self, dim: int, unflattened_size: Sequence[int]) -> None:
        super().__init__()
        if not isinstance(unflattened_size, (tuple, list)):
            raise TypeError(
                "unflattened_size must be a tuple of ints, but found type "
                f"{type(unflattened_size).__name__}"
            )
        for place, size in enumerate(unflattened_size):
            if not isinstance(size, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, but found element of type "
                    f"{type(size).__name__} at pos {place}"
                )
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)


class Bilinear(Module):
    """Products `input1 @ weight[k] @ input2` for every k, plus a bias.

    The weight is (out_features, in1_features, in2_features). It and the bias are drawn uniformly
    between -k and k, where k = 1 / sqrt(in1_features).

    in1_features: The size of the last dimension of first inputs, above 0.
    in2_features: The size of the last dimension of second inputs.
    ValueError: For no first features.

    >>> torch.nn.Bilinear(2, 3, 4)(torch.ones(5, 2), torch.ones(5, 3)).shape
    torch.Size([5, 4])
    """

    _in_repr = "in1_features in2_features out_features bias"
    weight: Parameter
    bias: Parameter

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        shape = (out_features, in1_features, in2_features)
        row = (out_features,) if bias else None
        add_parameters(self, dtype, device, weight=shape, bias=row)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        if self.in1_features <= 0:
            raise ValueError(
                f"in1_features must be > 0, but got (in1_features={self.in1_features})"
            )
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return functional.bilinear(input1, input2, self.weight, self.bias)


class LazyLinear(LazyModuleMixin, Linear):
    """A `Linear` whose in_features are the last size of its first input.

    >>> layer = torch.nn.LazyLinear(2)
    >>> layer
    LazyLinear(in_features=0, out_features=2, bias=True)
    >>> layer(torch.ones(4, 3)).shape, layer
    (torch.Size([4, 2]), Linear(in_features=3, out_features=2, bias=True))
    """

    cls_to_become = Linear
    weight: Any
    bias: Any

    def __init__(
        self,
        out_features: int,
        bias: bool = True,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(0, 0, False)
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_features = out_features
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw weight and bias anew, once they have shapes."""
        if self.in_features and not self.has_uninitialized_params():
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:
        """Take in_features from an input.

        input: The input.
        AssertionError: Where a loaded weight has others.
        """
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                self.weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        if self.in_features == 0:
            if input.shape[-1] != self.weight.shape[-1]:
                raise AssertionError(
                    f"The in_features inferred from input: {input.shape[-1]} is not equal to "
                    f"in_features from self.weight: {self.weight.shape[-1]}"
                )
            self.in_features: int = input.shape[-1]


__all__ = ["Bilinear", "Flatten", "Identity", "LazyLinear", "Linear", "Unflatten"]
