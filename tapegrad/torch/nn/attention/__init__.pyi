"""`torch.nn.attention`: there is one way to compute attention.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.nn.attention import bias as bias
from tapegrad.torch.nn.attention import flex_attention as flex_attention
SDPBackend: Any
WARN_FOR_UNFUSED_KERNELS: _bool
def sdpa_kernel(backends,set_priority=False) -> Any: ...
