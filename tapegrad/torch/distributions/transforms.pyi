"""The namespace `torch.distributions.transforms`.

Written by docs/torch_stubs.py from what is there at run time: change that, not this.
"""

from tapegrad.torch.distributions._number_transforms import AbsTransform as AbsTransform
from tapegrad.torch.distributions._number_transforms import AffineTransform as AffineTransform
from tapegrad.torch.distributions._number_transforms import CumulativeDistributionTransform as CumulativeDistributionTransform
from tapegrad.torch.distributions._number_transforms import ExpTransform as ExpTransform
from tapegrad.torch.distributions._number_transforms import PowerTransform as PowerTransform
from tapegrad.torch.distributions._number_transforms import SigmoidTransform as SigmoidTransform
from tapegrad.torch.distributions._number_transforms import SoftplusTransform as SoftplusTransform
from tapegrad.torch.distributions._number_transforms import TanhTransform as TanhTransform
from tapegrad.torch.distributions._transform import CatTransform as CatTransform
from tapegrad.torch.distributions._transform import ComposeTransform as ComposeTransform
from tapegrad.torch.distributions._transform import IndependentTransform as IndependentTransform
from tapegrad.torch.distributions._transform import ReshapeTransform as ReshapeTransform
from tapegrad.torch.distributions._transform import StackTransform as StackTransform
from tapegrad.torch.distributions._transform import Transform as Transform
from tapegrad.torch.distributions._transform import identity_transform as identity_transform
from tapegrad.torch.distributions._vector_transforms import CorrCholeskyTransform as CorrCholeskyTransform
from tapegrad.torch.distributions._vector_transforms import LowerCholeskyTransform as LowerCholeskyTransform
from tapegrad.torch.distributions._vector_transforms import PositiveDefiniteTransform as PositiveDefiniteTransform
from tapegrad.torch.distributions._vector_transforms import SoftmaxTransform as SoftmaxTransform
from tapegrad.torch.distributions._vector_transforms import StickBreakingTransform as StickBreakingTransform
