"""`torch.nn.parallel.comm`: there is one device.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.cuda.comm import broadcast as broadcast
from tapegrad.torch.cuda.comm import broadcast_coalesced as broadcast_coalesced
from tapegrad.torch.cuda.comm import gather as gather
from tapegrad.torch.cuda.comm import reduce_add as reduce_add
from tapegrad.torch.cuda.comm import reduce_add_coalesced as reduce_add_coalesced
from tapegrad.torch.cuda.comm import scatter as scatter
