"""`torch.cuda.memory`: there is no GPU whose memory is counted.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.cuda import empty_cache as empty_cache
from tapegrad.torch.cuda import max_memory_allocated as max_memory_allocated
from tapegrad.torch.cuda import mem_get_info as mem_get_info
from tapegrad.torch.cuda import memory_allocated as memory_allocated
from tapegrad.torch.cuda import memory_reserved as memory_reserved
from tapegrad.torch.cuda import memory_stats as memory_stats
from tapegrad.torch.cuda import memory_summary as memory_summary
from tapegrad.torch.cuda import reset_peak_memory_stats as reset_peak_memory_stats
