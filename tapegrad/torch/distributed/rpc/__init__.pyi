"""`torch.distributed.rpc`: there is one process.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.distributed.rpc import api as api
def is_available() -> _bool: ...
