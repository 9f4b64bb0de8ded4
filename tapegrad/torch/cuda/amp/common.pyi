"""`torch.cuda.amp.common`: mixed precision, under the name of PyTorch's file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

def amp_definitely_not_available() -> _bool: ...
