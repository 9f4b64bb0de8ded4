"""`torch.cuda.memory`: there is no GPU whose memory is counted.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

empty_cache: Any
max_memory_allocated: Any
mem_get_info: Any
memory_allocated: Any
memory_reserved: Any
memory_stats: Any
memory_summary: Any
reset_peak_memory_stats: Any
