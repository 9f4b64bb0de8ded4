"""`torch.jit.annotations`: nothing is compiled, a model runs as it is.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

Any: Any
BroadcastingList1: Any
BroadcastingList2: Any
BroadcastingList3: Any
Dict: Any
List: Any
Optional: Any
Tuple: Any
Union: Any
