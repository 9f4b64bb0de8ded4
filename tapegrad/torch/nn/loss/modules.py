"""Losses as modules.

Knows `Module` and the functions. Must not know how these are computed.
"""

from __future__ import annotations

from typing import Any

from tapegrad._warning import warn
from tapegrad.torch._rules.losses import word_for
from tapegrad.torch._tensor.tensor import Tensor
from tapegrad.torch.nn import functional
from tapegrad.torch.nn.contents import own_names
from tapegrad.torch.nn.distance.modules import PairwiseDistance
from tapegrad.torch.nn.module.layers import layer
from tapegrad.torch.nn.module.module import Module

# --- Losses -------------------------------------------------------------------------------------


class _Loss(Module):
    reduction: str
    _not_kept = ("size_average", "reduce")

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


@layer("mse_loss", "size_average reduce reduction")
class MSELoss(_Loss):
    """Squares of `input - target`, and their mean or sum."""


@layer("l1_loss", "size_average reduce reduction")
class L1Loss(_Loss):
    """Absolute values of `input - target`, and their mean or sum."""


@layer("smooth_l1_loss")
class SmoothL1Loss(_Loss):
    """Squares where the two differ by less than `beta`, else absolute values."""


@layer("huber_loss", "reduction delta")
class HuberLoss(_Loss):
    """Squares where the two differ by at most `delta`, else absolute values."""


@layer("kl_div")
class KLDivLoss(_Loss):
    """The Kullback-Leibler divergence of `target` from the probabilities exp(`input`)."""


@layer("nll_loss")
class NLLLoss(_WeightedLoss):
    """The negative logarithms of the probabilities of given classes."""


@layer("cross_entropy")
class CrossEntropyLoss(_WeightedLoss):
    """The cross entropy of logits with classes, or with probabilities of classes."""


@layer("binary_cross_entropy")
class BCELoss(_WeightedLoss):
    """The binary cross entropy of probabilities with targets.

    >>> torch.nn.BCELoss()(torch.tensor([0.5, 0.9]), torch.tensor([1.0, 1.0]))
    tensor(0.3993)
    """


@layer("binary_cross_entropy_with_logits")
class BCEWithLogitsLoss(_Loss):
    """As `BCELoss` of `sigmoid(input)`, without the rounding of sigmoid.

    >>> torch.nn.BCEWithLogitsLoss()(torch.tensor([0.0, 2.0]), torch.tensor([1.0, 1.0]))
    tensor(0.4100)
    """


# --- Pairs and triplets -------------------------------------------------------------------------


@layer("margin_ranking_loss", margin=0.0)
class MarginRankingLoss(_Loss):
    """Which of two ranks higher."""


@layer("hinge_embedding_loss")
class HingeEmbeddingLoss(_Loss):
    """Distances, which should be small where the target is 1, and large where it is -1."""


@layer("cosine_embedding_loss", margin=0.0)
class CosineEmbeddingLoss(_Loss):
    """Directions, which should be alike where the target is 1, and not where it is -1."""


class _Triplet(_Loss):
    margin: float

    def _settle(self) -> None:
        if self.margin <= 0:
            raise ValueError(
                f"{self._get_name()}: expected margin to be greater than 0, got {self.margin} "
                "instead"
            )


@layer("triplet_margin_loss", p=2.0)
class TripletMarginLoss(_Triplet):
    """Vectors that should be nearer to a positive than to a negative.

    ValueError: Unless `margin` is positive.
    """


@layer("triplet_margin_with_distance_loss", "* distance_function margin swap reduction")
class TripletMarginWithDistanceLoss(_Triplet):
    """As `TripletMarginLoss`, with a distance of your own.

    distance_function (callable): The distances of two tensors of vectors; `PairwiseDistance()`
        unless given.
    ValueError: Unless `margin` is positive.
    """

    distance_function: Any

    def _settle(self) -> None:
        super()._settle()
        self.distance_function = self.distance_function or PairwiseDistance()


# --- Classes ------------------------------------------------------------------------------------


@layer("multi_margin_loss")
class MultiMarginLoss(_WeightedLoss):
    """How far scores of other classes come within a margin of that of the right class.

    ValueError: For another `p`, and a `weight` that is no vector.
    """

    p: int
    weight: Tensor | None

    def _settle(self) -> None:
        if self.p not in (1, 2):
            raise ValueError("only p == 1 and p == 2 supported")
        if self.weight is not None and self.weight.dim() != 1:
            raise ValueError(
                "MultiMarginLoss: expected weight to be None or 1D tensor, got "
                f"{self.weight.dim()}D instead"
            )


@layer("multilabel_margin_loss")
class MultiLabelMarginLoss(_Loss):
    """How far scores of other classes come within a margin of 1 of those of several classes."""


@layer("multilabel_soft_margin_loss")
class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Means over classes of the binary cross entropies of logits with targets."""


@layer("soft_margin_loss")
class SoftMarginLoss(_Loss):
    """Losses `log(1 + exp(-target * input))` of two classes, 1 and -1."""


# --- Likelihoods and alignments -----------------------------------------------------------------


@layer("poisson_nll_loss")
class PoissonNLLLoss(_Loss):
    """The negative logarithm of Poisson's probability of counts, up to a constant."""

    log_input: bool
    full: bool
    eps: float

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return functional.poisson_nll_loss(
            *(log_input, target, self.log_input, self.full),
            eps=self.eps,
            reduction=self.reduction,
        )


@layer("gaussian_nll_loss", "* full eps reduction")
class GaussianNLLLoss(_Loss):
    """The negative logarithm of the normal density of numbers, up to a constant."""


@layer("ctc_loss")
class CTCLoss(_Loss):
    """Sequences of labels, at times that are not known."""


class NLLLoss2d(NLLLoss):
    """The older name of `NLLLoss` for images.

    *args: Those of `NLLLoss`.
    **kwargs: Those of `NLLLoss`, by name.
    FutureWarning: At each construction.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.nn.NLLLoss2d()
    NLLLoss2d()
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            "`NLLLoss2d` has been deprecated. Please use `NLLLoss` instead as a drop-in "
            "replacement and see https://pytorch.org/docs/main/nn.html#torch.nn.NLLLoss for more "
            "details.",
            FutureWarning,
        )
        super().__init__(*args, **kwargs)


__all__ = list(own_names(__name__))
