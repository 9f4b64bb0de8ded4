"""`torch.distributed.nn`: there is one process.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.distributed.nn import functional as functional
from tapegrad.torch.distributed.nn.functional import all_gather as all_gather
from tapegrad.torch.distributed.nn.functional import all_reduce as all_reduce
from tapegrad.torch.distributed.nn.functional import broadcast as broadcast
