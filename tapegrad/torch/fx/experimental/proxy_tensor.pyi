"""`torch.fx.experimental.proxy_tensor`: programs are run, not traced into graphs.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

def get_proxy_mode() -> None: ...
def make_fx(*args: Any, **kwargs: Any) -> NoReturn: ...
