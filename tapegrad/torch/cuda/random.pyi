"""`torch.cuda.random`: there is no generator on a GPU.

Written by docs/torch_stubs.py from the table of what is not here: change that, not this.
"""

from builtins import bool as _bool, int as _int, str as _str
from typing import Any, NoReturn

get_rng_state: Any
get_rng_state_all: Any
initial_seed: Any
manual_seed: Any
manual_seed_all: Any
seed: Any
seed_all: Any
set_rng_state: Any
set_rng_state_all: Any
