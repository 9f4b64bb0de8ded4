"""The namespace `torch.utils.data`.

Written by docs/torch_stubs.py from what is there at run time: change that, not this.
"""

from tapegrad.torch.utils.data._collate import default_collate as default_collate
from tapegrad.torch.utils.data._collate import default_convert as default_convert
from tapegrad.torch.utils.data._datasets import ChainDataset as ChainDataset
from tapegrad.torch.utils.data._datasets import ConcatDataset as ConcatDataset
from tapegrad.torch.utils.data._datasets import Dataset as Dataset
from tapegrad.torch.utils.data._datasets import IterableDataset as IterableDataset
from tapegrad.torch.utils.data._datasets import StackDataset as StackDataset
from tapegrad.torch.utils.data._datasets import Subset as Subset
from tapegrad.torch.utils.data._datasets import TensorDataset as TensorDataset
from tapegrad.torch.utils.data._datasets import random_split as random_split
from tapegrad.torch.utils.data._loader import DataLoader as DataLoader
from tapegrad.torch.utils.data._samplers import BatchSampler as BatchSampler
from tapegrad.torch.utils.data._samplers import RandomSampler as RandomSampler
from tapegrad.torch.utils.data._samplers import Sampler as Sampler
from tapegrad.torch.utils.data._samplers import SequentialSampler as SequentialSampler
from tapegrad.torch.utils.data._samplers import SubsetRandomSampler as SubsetRandomSampler
from tapegrad.torch.utils.data._samplers import WeightedRandomSampler as WeightedRandomSampler
from tapegrad.torch.utils.data._workers import get_worker_info as get_worker_info
