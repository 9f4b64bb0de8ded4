"""`torch.mtia`: there is no such device.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

def device_count() -> int: ...
def is_available() -> bool: ...
def is_initialized() -> bool: ...
