"""`torch.functional`: some functions of `torch`, under the name of PyTorch's file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch import Tensor as Tensor
from tapegrad.torch import atleast_1d as atleast_1d
from tapegrad.torch import atleast_2d as atleast_2d
from tapegrad.torch import atleast_3d as atleast_3d
from tapegrad.torch import block_diag as block_diag
from tapegrad.torch import broadcast_shapes as broadcast_shapes
from tapegrad.torch import broadcast_tensors as broadcast_tensors
from tapegrad.torch import cartesian_prod as cartesian_prod
from tapegrad.torch import cdist as cdist
from tapegrad.torch import chain_matmul as chain_matmul
from tapegrad.torch import einsum as einsum
from tapegrad.torch import istft as istft
from tapegrad.torch import lu as lu
from tapegrad.torch import meshgrid as meshgrid
from tapegrad.torch import norm as norm
from tapegrad.torch import pca_lowrank as pca_lowrank
from tapegrad.torch import split as split
from tapegrad.torch import stft as stft
from tapegrad.torch import svd_lowrank as svd_lowrank
from tapegrad.torch import tensordot as tensordot
from tapegrad.torch import unique as unique
from tapegrad.torch import unique_consecutive as unique_consecutive
from tapegrad.torch import unravel_index as unravel_index
