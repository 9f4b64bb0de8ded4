"""`torch.functional`: some functions of `torch`, under the name of PyTorch's file."""

from __future__ import annotations

from tapegrad.torch._ops.families import OPERATIONS
from tapegrad.torch._tensor.tensor import Tensor

atleast_1d = OPERATIONS["atleast_1d"]
atleast_2d = OPERATIONS["atleast_2d"]
atleast_3d = OPERATIONS["atleast_3d"]
block_diag = OPERATIONS["block_diag"]
broadcast_shapes = OPERATIONS["broadcast_shapes"]
broadcast_tensors = OPERATIONS["broadcast_tensors"]
cartesian_prod = OPERATIONS["cartesian_prod"]
cdist = OPERATIONS["cdist"]
chain_matmul = OPERATIONS["chain_matmul"]
einsum = OPERATIONS["einsum"]
istft = OPERATIONS["istft"]
lu = OPERATIONS["lu"]
meshgrid = OPERATIONS["meshgrid"]
norm = OPERATIONS["norm"]
pca_lowrank = OPERATIONS["pca_lowrank"]
split = OPERATIONS["split"]
stft = OPERATIONS["stft"]
svd_lowrank = OPERATIONS["svd_lowrank"]
tensordot = OPERATIONS["tensordot"]
unique = OPERATIONS["unique"]
unique_consecutive = OPERATIONS["unique_consecutive"]
unravel_index = OPERATIONS["unravel_index"]

__all__ = [
    "Tensor",
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "block_diag",
    "broadcast_shapes",
    "broadcast_tensors",
    "cartesian_prod",
    "cdist",
    "chain_matmul",
    "einsum",
    "istft",
    "lu",
    "meshgrid",
    "norm",
    "pca_lowrank",
    "split",
    "stft",
    "svd_lowrank",
    "tensordot",
    "unique",
    "unique_consecutive",
    "unravel_index",
]
