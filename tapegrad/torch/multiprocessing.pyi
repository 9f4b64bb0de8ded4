"""`torch.multiprocessing`: processes are Python's.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

Array: Any
Barrier: Any
Condition: Any
Event: Any
JoinableQueue: Any
Lock: Any
Manager: Any
Pipe: Any
Pool: Any
Process: Any
class ProcessContext:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
Queue: Any
RLock: Any
Semaphore: Any
SimpleQueue: Any
class SpawnContext:
    def __init__(self, *args: Any, **kwargs: Any) -> None: ...
    def __getattr__(self, name: _str) -> Any: ...
Value: Any
active_children: Any
cpu_count: Any
current_process: Any
freeze_support: Any
def get_all_sharing_strategies() -> Any: ...
get_context: Any
def get_sharing_strategy() -> Any: ...
get_start_method: Any
def set_sharing_strategy(new_strategy: Any) -> Any: ...
set_start_method: Any
def spawn(*args: Any, **kwargs: Any) -> NoReturn: ...
def start_processes(*args: Any, **kwargs: Any) -> NoReturn: ...
