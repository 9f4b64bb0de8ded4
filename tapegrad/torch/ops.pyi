"""`torch.ops`: operators are called by the names of `torch`.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

def load_library(path: Any) -> NoReturn: ...
