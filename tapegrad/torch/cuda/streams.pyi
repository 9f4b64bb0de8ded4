"""`torch.cuda.streams`: there are no streams.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.cuda import Event as Event
from tapegrad.torch.cuda import ExternalStream as ExternalStream
from tapegrad.torch.cuda import Stream as Stream
