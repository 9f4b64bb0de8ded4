"""`torch.utils.data.dataloader`: names that PyTorch has in this file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.utils.data import DataLoader as DataLoader
from tapegrad.torch.utils.data import default_collate as default_collate
from tapegrad.torch.utils.data import default_convert as default_convert
from tapegrad.torch.utils.data import get_worker_info as get_worker_info
