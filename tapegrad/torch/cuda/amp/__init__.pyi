"""`torch.cuda.amp`: mixed precision, under an older name.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.cuda.amp import autocast_mode as autocast_mode
from tapegrad.torch.cuda.amp import grad_scaler as grad_scaler
from tapegrad.torch.cuda.amp import common as common
GradScaler: Any
autocast: Any
from tapegrad.torch.amp import custom_bwd as custom_bwd
from tapegrad.torch.amp import custom_fwd as custom_fwd
