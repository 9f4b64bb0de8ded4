"""`torch.autograd.profiler_legacy`: the profiler, under its old name.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.autograd.profiler_util import EventList as EventList
from tapegrad.torch.autograd.profiler_util import FunctionEvent as FunctionEvent
from tapegrad.torch.autograd.profiler import profile as profile
