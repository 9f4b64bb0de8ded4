"""`torch.utils.data.dataset`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.utils.data import ChainDataset as ChainDataset
from tapegrad.torch.utils.data import ConcatDataset as ConcatDataset
from tapegrad.torch.utils.data import Dataset as Dataset
from tapegrad.torch.utils.data import IterableDataset as IterableDataset
from tapegrad.torch.utils.data import StackDataset as StackDataset
from tapegrad.torch.utils.data import Subset as Subset
from tapegrad.torch.utils.data import TensorDataset as TensorDataset
from tapegrad.torch.utils.data import random_split as random_split
