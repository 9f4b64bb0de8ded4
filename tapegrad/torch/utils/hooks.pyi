"""`torch.utils.hooks`: what registering a hook returns.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

class BackwardHook:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
RemovableHandle: Any
def unserializable_hook(f: Any) -> Any: ...
def warn_if_has_hooks(tensor: Any) -> None: ...
