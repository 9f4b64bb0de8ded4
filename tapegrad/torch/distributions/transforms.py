"""`torch.distributions.transforms`: invertible functions of samples, by PyTorch's names.

Knows which there are. Must not know distributions.
"""

from __future__ import annotations

from tapegrad.torch._methods import contents as _contents
from tapegrad.torch.distributions._number_transforms import (
    AbsTransform,
    AffineTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    PowerTransform,
    SigmoidTransform,
    SoftplusTransform,
    TanhTransform,
)
from tapegrad.torch.distributions._transform import (
    CatTransform,
    ComposeTransform,
    IndependentTransform,
    ReshapeTransform,
    StackTransform,
    Transform,
    identity_transform,
)
from tapegrad.torch.distributions._vector_transforms import (
    CorrCholeskyTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    SoftmaxTransform,
    StickBreakingTransform,
)

__all__ = list(_contents(globals()))
