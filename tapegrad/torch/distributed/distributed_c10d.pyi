"""`torch.distributed.distributed_c10d`: there is one process.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

from tapegrad.torch.distributed import GroupMember as GroupMember
from tapegrad.torch.distributed import ProcessGroup as ProcessGroup
from tapegrad.torch.distributed import ReduceOp as ReduceOp
from tapegrad.torch.distributed import get_rank as get_rank
from tapegrad.torch.distributed import get_world_size as get_world_size
