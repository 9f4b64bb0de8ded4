"""`torch.functional`: some functions of `torch`, under the name of PyTorch's file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

Tensor: Any
atleast_1d: Any
atleast_2d: Any
atleast_3d: Any
block_diag: Any
broadcast_shapes: Any
broadcast_tensors: Any
cartesian_prod: Any
cdist: Any
chain_matmul: Any
einsum: Any
istft: Any
lu: Any
meshgrid: Any
norm: Any
pca_lowrank: Any
split: Any
stft: Any
svd_lowrank: Any
tensordot: Any
unique: Any
unique_consecutive: Any
unravel_index: Any
