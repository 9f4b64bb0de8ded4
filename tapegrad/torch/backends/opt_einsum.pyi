"""`torch.backends.opt_einsum`: NumPy chooses the order of products.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

enabled: _bool
def get_opt_einsum() -> None: ...
def is_available() -> _bool: ...
strategy: None
