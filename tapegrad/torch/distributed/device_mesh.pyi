"""`torch.distributed.device_mesh`: there is one process.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

class DeviceMesh:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
def init_device_mesh(*args: Any, **kwargs: Any) -> NoReturn: ...
