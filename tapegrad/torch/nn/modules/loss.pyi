"""`torch.nn.modules.loss`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.nn import BCELoss as BCELoss
from tapegrad.torch.nn import BCEWithLogitsLoss as BCEWithLogitsLoss
from tapegrad.torch.nn import CTCLoss as CTCLoss
from tapegrad.torch.nn import CosineEmbeddingLoss as CosineEmbeddingLoss
from tapegrad.torch.nn import CrossEntropyLoss as CrossEntropyLoss
from tapegrad.torch.nn import GaussianNLLLoss as GaussianNLLLoss
from tapegrad.torch.nn import HingeEmbeddingLoss as HingeEmbeddingLoss
from tapegrad.torch.nn import HuberLoss as HuberLoss
from tapegrad.torch.nn import KLDivLoss as KLDivLoss
from tapegrad.torch.nn import L1Loss as L1Loss
from tapegrad.torch.nn import MSELoss as MSELoss
from tapegrad.torch.nn import MarginRankingLoss as MarginRankingLoss
from tapegrad.torch.nn import MultiLabelMarginLoss as MultiLabelMarginLoss
from tapegrad.torch.nn import MultiLabelSoftMarginLoss as MultiLabelSoftMarginLoss
from tapegrad.torch.nn import MultiMarginLoss as MultiMarginLoss
from tapegrad.torch.nn import NLLLoss as NLLLoss
from tapegrad.torch.nn import NLLLoss2d as NLLLoss2d
from tapegrad.torch.nn import PoissonNLLLoss as PoissonNLLLoss
from tapegrad.torch.nn import SmoothL1Loss as SmoothL1Loss
from tapegrad.torch.nn import SoftMarginLoss as SoftMarginLoss
from tapegrad.torch.nn import TripletMarginLoss as TripletMarginLoss
from tapegrad.torch.nn import TripletMarginWithDistanceLoss as TripletMarginWithDistanceLoss
from tapegrad.torch.nn.loss.modules import _Loss as _Loss
from tapegrad.torch.nn.loss.modules import _WeightedLoss as _WeightedLoss
