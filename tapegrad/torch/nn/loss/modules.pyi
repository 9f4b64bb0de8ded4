"""The layers of `tapegrad.torch.nn.loss`.

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


class _Loss(Module):
    reduction: _str
    def __init__(
        self,
        size_average: _bool | None = None,
        reduce: _bool | None = None,
        reduction: _str = 'mean',
    ) -> None: ...

class _WeightedLoss(_Loss):
    weight: Tensor | None
    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: _bool | None = None,
        reduce: _bool | None = None,
        reduction: _str = 'mean',
    ) -> None: ...

class MSELoss(_Loss):
    """Squares of `input - target`, and their mean or sum."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...

class L1Loss(_Loss):
    """Absolute values of `input - target`, and their mean or sum."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...

class SmoothL1Loss(_Loss):
    """Squares where the two differ by less than `beta`, else absolute values."""

    beta: _float
    def __init__(
        self,
        size_average: _bool | None = None,
        reduce: _bool | None = None,
        reduction: _str = 'mean',
        beta: _float = 1.0,
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...

class HuberLoss(_Loss):
    """Squares where the two differ by at most `delta`, else absolute values."""

    delta: _float
    def __init__(self, reduction: _str = 'mean', delta: _float = 1.0) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...

class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence of `target` from the probabilities exp(`input`)."""

    log_target: _bool
    def __init__(
        self,
        size_average: _bool | None = None,
        reduce: _bool | None = None,
        reduction: _str = 'mean',
        log_target: _bool = False,
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...

class NLLLoss(_WeightedLoss):
    """The negative logarithms of the probabilities of given classes."""

    ignore_index: _int
    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: _bool | None = None,
        ignore_index: _int = -100,
        reduce: _bool | None = None,
        reduction: _str = 'mean',
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...

class CrossEntropyLoss(_WeightedLoss):
    """The cross entropy of logits with classes, or with probabilities of classes."""

    ignore_index: _int
    label_smoothing: _float
    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: _bool | None = None,
        ignore_index: _int = -100,
        reduce: _bool | None = None,
        reduction: _str = 'mean',
        label_smoothing: _float = 0.0,
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...

class BCELoss(_WeightedLoss):
    """The binary cross entropy of probabilities with targets."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...

class BCEWithLogitsLoss(_Loss):
    """As `BCELoss` of `sigmoid(input)`, without the rounding of sigmoid."""

    weight: Tensor | None
    pos_weight: Tensor | None
    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: _bool | None = None,
        reduce: _bool | None = None,
        reduction: _str = 'mean',
        pos_weight: Tensor | None = None,
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...

class MarginRankingLoss(_Loss):
    """Which of two ranks higher."""

    margin: _float
    def __init__(
        self,
        margin: _float = 0.0,
        size_average: _bool | None = None,
        reduce: _bool | None = None,
        reduction: _str = 'mean',
    ) -> None: ...
    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor: ...

class HingeEmbeddingLoss(_Loss):
    """Distances, which should be small where the target is 1, and large where it is -1."""

    margin: _float
    def __init__(
        self,
        margin: _float = 1.0,
        size_average: _bool | None = None,
        reduce: _bool | None = None,
        reduction: _str = 'mean',
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...

class CosineEmbeddingLoss(_Loss):
    """Directions, which should be alike where the target is 1, and not where it is -1."""

    margin: _float
    def __init__(
        self,
        margin: _float = 0.0,
        size_average: _bool | None = None,
        reduce: _bool | None = None,
        reduction: _str = 'mean',
    ) -> None: ...
    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor: ...

class _Triplet(_Loss):
    margin: _float

class TripletMarginLoss(_Triplet):
    """Vectors that should be nearer to a positive than to a negative."""

    p: _float
    eps: _float
    swap: _bool
    def __init__(
        self,
        margin: _float = 1.0,
        p: _float = 2.0,
        eps: _float = 1e-06,
        swap: _bool = False,
        size_average: _bool | None = None,
        reduce: _bool | None = None,
        reduction: _str = 'mean',
    ) -> None: ...
    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...

class TripletMarginWithDistanceLoss(_Triplet):
    """As `TripletMarginLoss`, with a distance of your own."""

    distance_function: Any
    swap: _bool
    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Any] | None = None,
        margin: _float = 1.0,
        swap: _bool = False,
        reduction: _str = 'mean',
    ) -> None: ...
    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor: ...

class MultiMarginLoss(_WeightedLoss):
    """How far scores of other classes come within a margin of that of the right class."""

    p: _int
    margin: _float
    weight: Tensor | None
    def __init__(
        self,
        p: _int = 1,
        margin: _float = 1.0,
        weight: Tensor | None = None,
        size_average: _bool | None = None,
        reduce: _bool | None = None,
        reduction: _str = 'mean',
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...

class MultiLabelMarginLoss(_Loss):
    """How far scores of other classes come within a margin of 1 of those of several classes."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...

class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Means over classes of the binary cross entropies of logits with targets."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...

class SoftMarginLoss(_Loss):
    """Losses `log(1 + exp(-target * input))` of two classes, 1 and -1."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor: ...

class PoissonNLLLoss(_Loss):
    """The negative logarithm of Poisson's probability of counts, up to a constant."""

    log_input: _bool
    full: _bool
    eps: _float
    def forward(self, log_input: Tensor, target: Tensor) -> Tensor: ...
    def __init__(
        self,
        log_input: _bool = True,
        full: _bool = False,
        size_average: _bool | None = None,
        eps: _float = 1e-08,
        reduce: _bool | None = None,
        reduction: _str = 'mean',
    ) -> None: ...

class GaussianNLLLoss(_Loss):
    """The negative logarithm of the normal density of numbers, up to a constant."""

    full: _bool
    eps: _float
    def __init__(
        self, *, full: _bool = False, eps: _float = 1e-06, reduction: _str = 'mean'
    ) -> None: ...
    def forward(self, input: Tensor, target: Tensor, var: Tensor | _float) -> Tensor: ...

class CTCLoss(_Loss):
    """Sequences of labels, at times that are not known."""

    blank: _int
    zero_infinity: _bool
    def __init__(
        self, blank: _int = 0, reduction: _str = 'mean', zero_infinity: _bool = False
    ) -> None: ...
    def forward(
        self,
        log_probs: Tensor,
        targets: Tensor,
        input_lengths: Tensor | Sequence[_int],
        target_lengths: Tensor | Sequence[_int],
    ) -> Tensor: ...

class NLLLoss2d(NLLLoss):
    """The older name of `NLLLoss` for images."""

    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
