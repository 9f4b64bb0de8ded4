"""`torch.jit.annotations`: nothing is compiled, a model runs as it is.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch._jit_internal import BroadcastingList1 as BroadcastingList1
from tapegrad.torch._jit_internal import BroadcastingList2 as BroadcastingList2
from tapegrad.torch._jit_internal import BroadcastingList3 as BroadcastingList3
Dict: Any
List: Any
Optional: Any
Tuple: Any
Union: Any
