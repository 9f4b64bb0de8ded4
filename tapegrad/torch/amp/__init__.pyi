"""`torch.amp`: mixed precision, which changes nothing.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.amp import autocast_mode as autocast_mode
from tapegrad.torch.amp import grad_scaler as grad_scaler
from tapegrad.torch._mixed_precision import GradScaler as GradScaler
from tapegrad.torch._mixed_precision import autocast as autocast
def custom_bwd(bwd: Any=None, **kwargs: Any) -> Any: ...
def custom_fwd(fwd: Any=None, **kwargs: Any) -> Any: ...
def is_autocast_available(device_type: Any) -> _bool: ...
