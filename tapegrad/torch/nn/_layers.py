"""Layers and losses as modules.

Knows `Module` and the functions of `nn.functional`. Must not know how these are computed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.torch._dtypes import as_numpy, default_float, device, dtype, require_cpu
from tapegrad.torch._ops.linalg.affine import linear
from tapegrad.torch._rules.reducing import word_for
from tapegrad.torch._tensor.tensor import Tensor, of_value
from tapegrad.torch.nn import functional, init
from tapegrad.torch.nn._module import Module
from tapegrad.torch.nn._parameter import Parameter

# --- Layers -------------------------------------------------------------------------------------


class Identity(Module):
    """A layer that returns its argument.

    Parameters
    ----------
    *args : object
        Without effect.
    **kwargs : object
        Without effect.

    Examples
    --------
    >>> import tapegrad.torch as torch
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

    Parameters
    ----------
    in_features : int
        The size of the last dimension of inputs.
    out_features : int
        The size of the last dimension of outputs.
    bias : bool, default True
        Whether there is a bias.
    device : device or str, optional
        The device, the CPU.
    dtype : dtype, optional
        The dtype of the parameters; the default one unless given.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.Linear(3, 2)(torch.ones(4, 3)).shape
    torch.Size([4, 2])
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        require_cpu(device)
        given = default_float() if dtype is None else as_numpy(dtype)
        self.in_features = in_features
        self.out_features = out_features
        self.weight: Parameter = Parameter(of_value(np.empty((out_features, in_features), given)))
        if bias:
            self.bias: Parameter = Parameter(of_value(np.empty(out_features, given)))
        else:
            self.register_parameter("bias", None)
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

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Flatten(Module):
    """Several dimensions joined into one.

    Parameters
    ----------
    start_dim : int, default 1
        The first of them.
    end_dim : int, default -1
        The last of them.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.Flatten()(torch.ones(2, 3, 4)).shape
    torch.Size([2, 12])
    """

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Dropout(Module):
    """Elements set to 0 at random while training, with the others scaled.

    Parameters
    ----------
    p : float, default 0.5
        The probability of each; the others are divided by 1 - p.
    inplace : bool, default False
        Write into the argument.

    Raises
    ------
    ValueError
        For a `p` outside of 0 and 1.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> layer = torch.nn.Dropout(0.5).eval()
    >>> layer(torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return functional.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


# --- Activations --------------------------------------------------------------------------------


class ReLU(Module):
    """The maximum of 0 and each element.

    Parameters
    ----------
    inplace : bool, default False
        Write into the argument.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return functional.relu(input, inplace=self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Tanh(Module):
    """The hyperbolic tangent of each element.

    Parameters
    ----------
    *args : object
        None are taken.
    **kwargs : object
        None are taken.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.Tanh()(torch.tensor([-1.0, 2.0]))
    tensor([-0.7616,  0.9640])
    """

    def forward(self, input: Tensor) -> Tensor:
        return functional.tanh(input)


class Sigmoid(Module):
    """The logistic function of each element, `1 / (1 + exp(-x))`.

    Parameters
    ----------
    *args : object
        None are taken.
    **kwargs : object
        None are taken.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.Sigmoid()(torch.tensor([-1.0, 2.0]))
    tensor([0.2689, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return functional.sigmoid(input)


class Softmax(Module):
    """Exponentials divided by their sum along a dimension.

    Parameters
    ----------
    dim : int, optional
        The dimension along which the results sum to 1; leaving it out warns at the call.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.Softmax(dim=0)(torch.tensor([0.0, 0.0]))
    tensor([0.5000, 0.5000])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return functional.softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """The logarithm of Softmax, without its rounding.

    Parameters
    ----------
    dim : int, optional
        The dimension along which the exponentials of the results sum to 1; leaving it out warns at
        the call.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.LogSoftmax(dim=0)(torch.tensor([0.0, 0.0]))
    tensor([-0.6931, -0.6931])
    """

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return functional.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


# --- Losses -------------------------------------------------------------------------------------


class _Loss(Module):
    reduction: str

    def __init__(
        self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
    ) -> None:
        super().__init__()
        self.reduction = word_for(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class MSELoss(_Loss):
    """Squares of `input - target`, and their mean or sum.

    Parameters
    ----------
    size_average : bool, optional
        An older form of `reduction`: False for the sum. It warns.
    reduce : bool, optional
        An older form of `reduction`: False for "none". It warns.
    reduction : {"mean", "sum", "none"}, default "mean"
        What is returned: the mean of the losses, their sum, or each of them.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.MSELoss()(torch.tensor([1.0, 2.0]), torch.zeros(2))
    tensor(2.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """Absolute values of `input - target`, and their mean or sum.

    Parameters
    ----------
    size_average : bool, optional
        An older form of `reduction`: False for the sum. It warns.
    reduce : bool, optional
        An older form of `reduction`: False for "none". It warns.
    reduction : {"mean", "sum", "none"}, default "mean"
        What is returned: the mean of the losses, their sum, or each of them.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.L1Loss()(torch.tensor([1.0, 2.0]), torch.zeros(2))
    tensor(1.5000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Squares where the two differ by less than `beta`, else absolute values.

    Parameters
    ----------
    size_average : bool, optional
        An older form of `reduction`: False for the sum. It warns.
    reduce : bool, optional
        An older form of `reduction`: False for "none". It warns.
    reduction : {"mean", "sum", "none"}, default "mean"
        What is returned: the mean of the losses, their sum, or each of them.
    beta : float, default 1.0
        Where the one form passes into the other; see `nn.functional.smooth_l1_loss`.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.SmoothL1Loss()(torch.tensor([0.5, 2.0]), torch.zeros(2))
    tensor(0.8125)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Squares where the two differ by at most `delta`, else absolute values.

    Parameters
    ----------
    reduction : {"mean", "sum", "none"}, default "mean"
        What is returned: the mean of the losses, their sum, or each of them.
    delta : float, default 1.0
        Where the one form passes into the other; see `nn.functional.huber_loss`.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.HuberLoss()(torch.tensor([0.5, 2.0]), torch.zeros(2))
    tensor(0.8125)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.huber_loss(input, target, self.reduction, self.delta)


class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence of `target` from the probabilities exp(`input`).

    Parameters
    ----------
    size_average : bool, optional
        An older form of `reduction`: False for the sum. It warns.
    reduce : bool, optional
        An older form of `reduction`: False for "none". It warns.
    reduction : {"mean", "sum", "none", "batchmean"}, default "mean"
        What is returned: the mean over all elements, with a warning, their sum, each of them, or
        the sum over the number of examples, which is the divergence.
    log_target : bool, default False
        Whether targets hold logarithms.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> loss = torch.nn.KLDivLoss(reduction="batchmean")
    >>> loss(torch.tensor([[0.25, 0.75]]).log(), torch.tensor([[0.5, 0.5]]))
    tensor(0.1438)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.kl_div(
            input, target, reduction=self.reduction, log_target=self.log_target
        )


class NLLLoss(_WeightedLoss):
    """The negative logarithms of the probabilities of given classes.

    Parameters
    ----------
    weight : Tensor, optional
        A factor for each class; the mean is then divided by the sum of the factors.
    size_average : bool, optional
        An older form of `reduction`: False for the sum. It warns.
    ignore_index : int, default -100
        A class whose elements do not count.
    reduce : bool, optional
        An older form of `reduction`: False for "none". It warns.
    reduction : {"mean", "sum", "none"}, default "mean"
        What is returned: the mean of the losses, their sum, or each of them.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> loss = torch.nn.NLLLoss()
    >>> loss(torch.tensor([[-0.5, -1.0], [-2.0, -0.1]]), torch.tensor([0, 1]))
    tensor(0.3000)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.nll_loss(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
        )


class CrossEntropyLoss(_WeightedLoss):
    """The cross entropy of logits with classes, or with probabilities of classes.

    Parameters
    ----------
    weight : Tensor, optional
        A factor for each class; the mean is then divided by the sum of the factors.
    size_average : bool, optional
        An older form of `reduction`: False for the sum. It warns.
    ignore_index : int, default -100
        A class whose elements do not count.
    reduce : bool, optional
        An older form of `reduction`: False for "none". It warns.
    reduction : {"mean", "sum", "none"}, default "mean"
        What is returned: the mean of the losses, their sum, or each of them.
    label_smoothing : float, default 0.0
        How much of the probability, between 0 and 1, is spread evenly over all classes.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> loss = torch.nn.CrossEntropyLoss()
    >>> loss(torch.tensor([[2.0, 0.0], [0.0, 0.0]]), torch.tensor([0, 1]))
    tensor(0.4100)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class BCELoss(_WeightedLoss):
    """The binary cross entropy of probabilities with targets.

    Parameters
    ----------
    weight : Tensor, optional
        Factors of the losses, which broadcast.
    size_average : bool, optional
        An older form of `reduction`: False for the sum. It warns.
    reduce : bool, optional
        An older form of `reduction`: False for "none". It warns.
    reduction : {"mean", "sum", "none"}, default "mean"
        What is returned: the mean of the losses, their sum, or each of them.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.BCELoss()(torch.tensor([0.5, 0.9]), torch.tensor([1.0, 1.0]))
    tensor(0.3993)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.binary_cross_entropy(
            input, target, self.weight, reduction=self.reduction
        )


class BCEWithLogitsLoss(_Loss):
    """As `BCELoss` of `sigmoid(input)`, without the rounding of sigmoid.

    Parameters
    ----------
    weight : Tensor, optional
        Factors of the losses, which broadcast.
    size_average : bool, optional
        An older form of `reduction`: False for the sum. It warns.
    reduce : bool, optional
        An older form of `reduction`: False for "none". It warns.
    reduction : {"mean", "sum", "none"}, default "mean"
        What is returned: the mean of the losses, their sum, or each of them.
    pos_weight : Tensor, optional
        Factors of the part of the loss that the target multiplies, which broadcast.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.BCEWithLogitsLoss()(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 1.0]))
    tensor(0.4100)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return functional.binary_cross_entropy_with_logits(
            input,
            target,
            self.weight,
            reduction=self.reduction,
            pos_weight=self.pos_weight,
        )


class CosineSimilarity(Module):
    """The cosines of the angles between vectors along a dimension.

    Parameters
    ----------
    dim : int, default 1
        The dimension along which vectors lie.
    eps : float, default 1e-08
        The least norm that vectors are divided by.

    Examples
    --------
    >>> import tapegrad.torch as torch
    >>> torch.nn.CosineSimilarity()(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return functional.cosine_similarity(x1, x2, self.dim, self.eps)
