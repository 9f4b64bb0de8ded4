"""`torch.amp.autocast_mode`: mixed precision, under the name of PyTorch's file.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.amp import autocast as autocast
from tapegrad.torch.amp import custom_bwd as custom_bwd
from tapegrad.torch.amp import custom_fwd as custom_fwd
from tapegrad.torch.amp import is_autocast_available as is_autocast_available
