"""`torch.utils.data.sampler`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.utils.data import BatchSampler as BatchSampler
from tapegrad.torch.utils.data import RandomSampler as RandomSampler
from tapegrad.torch.utils.data import Sampler as Sampler
from tapegrad.torch.utils.data import SequentialSampler as SequentialSampler
from tapegrad.torch.utils.data import SubsetRandomSampler as SubsetRandomSampler
from tapegrad.torch.utils.data import WeightedRandomSampler as WeightedRandomSampler
