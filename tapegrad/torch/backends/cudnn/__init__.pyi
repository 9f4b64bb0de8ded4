"""`torch.backends.cudnn`: results are deterministic, whatever is set.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.backends.cudnn import rnn as rnn
allow_tf32: _bool
benchmark: _bool
benchmark_limit: _int
deterministic: _bool
enabled: _bool
def flags(*args: Any, **kwargs: Any) -> Any: ...
def is_acceptable(tensor: Any) -> _bool: ...
def is_available() -> _bool: ...
def version() -> None: ...
