"""`torch.utils.data`: datasets, the order in which they are read, and batches of them.

Knows tensors as what is stacked. Must not know models.
"""

from __future__ import annotations

from tapegrad.torch._methods import contents as _contents
from tapegrad.torch.utils.data._collate import default_collate, default_convert
from tapegrad.torch.utils.data._datasets import (
    ChainDataset,
    ConcatDataset,
    Dataset,
    IterableDataset,
    StackDataset,
    Subset,
    TensorDataset,
    random_split,
)
from tapegrad.torch.utils.data._loader import DataLoader
from tapegrad.torch.utils.data._samplers import (
    BatchSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from tapegrad.torch.utils.data._workers import get_worker_info

__all__ = list(_contents(globals()))
__dir__ = __all__.copy
