"""`torch.nn.parallel.parallel_apply`: there is one device.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

def get_a_var(*args: Any, **kwargs: Any) -> NoReturn: ...
def parallel_apply(*args: Any, **kwargs: Any) -> NoReturn: ...
