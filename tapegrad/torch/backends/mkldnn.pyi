"""`torch.backends.mkldnn`: NumPy chooses its library of linear algebra.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

enabled: _bool
def flags(*args: Any, **kwargs: Any) -> Any: ...
def is_available() -> _bool: ...
