"""AdaptiveLogSoftmaxWithLoss: a softmax over very many classes, of which few are frequent.

Knows the layers that it is made of. Must not know how these are computed.
"""

from __future__ import annotations

import itertools
from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from tapegrad.torch._dtypes import device, dtype
from tapegrad.torch._ops.declare import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn.containers.modules import ModuleList, Sequential
from tapegrad.torch.nn.linear import Linear
from tapegrad.torch.nn.module.module import Module

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])  # noqa: PYI024 - as PyTorch


class AdaptiveLogSoftmaxWithLoss(Module):
    """A softmax over frequent classes and clusters of rare ones.

    Called with inputs (n, in_features) and targets (n,), or (in_features,) and a number, it
    returns the logarithms of the targets' probabilities as `output`, and the mean of their
    negatives as `loss`.

    in_features: The size of inputs.
    n_classes: The number of classes, which are numbered by falling frequency.
    cutoffs (sequence of int): Where the clusters of classes begin.
    div_value: By what the size of each further cluster's projection is divided.
    head_bias: Whether the scores of the frequent classes have a bias.
    ValueError: Unless `cutoffs` increase from above 0 to below `n_classes`.
    Notes: E. Grave and others, Efficient softmax approximation for GPUs (2017).

    >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 10, cutoffs=[2, 5])
    >>> layer(torch.ones(3, 16), torch.tensor([0, 4, 9])).output.shape
    torch.Size([3])
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: device | str | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        if (
            cutoffs != sorted(set(cutoffs))
            or cutoffs[0] <= 0
            or cutoffs[-1] > n_classes - 1
            or any(int(cutoff) != cutoff for cutoff in cutoffs)
        ):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an "
                "increasing order, where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs: list[int] = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size: int = self.cutoffs[0]
        self.n_clusters: int = len(self.cutoffs) - 1
        self.head_size: int = self.shortlist_size + self.n_clusters
        self.head: Linear = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail: ModuleList = ModuleList()
        for place, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            hidden = int(in_features // div_value ** (place + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, False, device, dtype),
                    Linear(hidden, high - low, False, device, dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        pair: Any
        for pair in self.tail:
            narrow, wide = pair
            narrow.reset_parameters()
            wide.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> Any:
        _check(input_, target_)
        rows = input_ if target_.dim() else input_.unsqueeze(0)
        target = target_ if target_.dim() else target_.unsqueeze(0)
        if target.numel() and bool(((target < 0) | (target >= self.n_classes)).any()):
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        in_head = target.clone()
        output = rows.new_zeros(target.size(0))
        for place, (low, high) in enumerate(itertools.pairwise(self.cutoffs)):
            found = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if not found.numel():
                continue
            in_head = in_head.index_fill(0, found, self.shortlist_size + place)
            scores = self.tail[place](rows.index_select(0, found)).log_softmax(1)
            own = (target.index_select(0, found) - low).unsqueeze(1)
            output = output.index_copy(0, found, scores.gather(1, own).squeeze(1))
        scores = self.head(rows).log_softmax(1)
        output = output + scores.gather(1, in_head.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output if target_.dim() else output.squeeze(0), loss)

    def log_prob(self, input: Tensor) -> Any:
        """The logarithms of the probabilities of all classes.

        input: Of shape (n, in_features).
        -> Tensor: Of shape (n, n_classes).
        """
        return self._of_all(input, self.head(input))

    def _of_all(self, input: Tensor, head: Tensor) -> Any:
        scores = head.log_softmax(1)
        parts = [scores[:, : self.shortlist_size]]
        for place, module in enumerate(self.tail):
            cluster = scores[:, self.shortlist_size + place].unsqueeze(1)
            parts.append(module(input).log_softmax(1) + cluster)
        return OPERATIONS["cat"](parts, 1)

    def predict(self, input: Tensor) -> Any:
        """The most probable classes: `log_prob(input).argmax(1)`.

        The clusters are asked only where the head does not name a frequent class.

        input: Of shape (n, in_features).
        -> Tensor: Of shape (n,), int64.
        """
        head = self.head(input)
        found = head.argmax(1)
        rare = found >= self.shortlist_size
        if not bool(rare.any()):
            return found
        found[rare] = self._of_all(input[rare], head[rare]).argmax(1)
        return found


def _check(input: Tensor, target: Tensor) -> None:
    dim = target.dim()
    if dim not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if dim == 1 and input.size(0) != target.size(0):
        raise RuntimeError("Input and target should have the same size in the batch dimension.")
    if input.dim() != dim + 1:
        raise RuntimeError(
            f"{dim}D target tensor expects {dim + 1}D input tensors, but found inputs with size "
            f"{input.size()}"
        )


__all__ = ["AdaptiveLogSoftmaxWithLoss"]
